"""Chance, enumerated: what comes of a start or a step must be what the ordinary kernels draw, as often as they do."""

from fractions import Fraction

import kuhn_poker
import numpy as np
import pytest
import toy_coin
from changed import changed

import ttt_envs
from ttt_envs.core import chance, rng
from ttt_envs.core.chance import chance_of
from ttt_envs.core.compile import jit

KUHN = kuhn_poker.make()

TOO_MANY = rng.MOST_OUTCOMES

#: A deck with a card of each special kind, small enough to be dealt in all ways.
MATCH = {"colours": 1, "copies": 3, "flips": 1, "wipe_outs": 1, "double_plays": 0, "hand_size": 2, "max_turns": 2}


def started(reset):
    return changed(KUHN, reset=reset)


def cards(game) -> dict[tuple[int, int], Fraction]:
    probabilities, states = chance_of(game).starts()
    return {
        (int(a), int(b)): Fraction(p).limit_denominator(1000)
        for (a, b), p in zip(states["card"], probabilities, strict=True)
    }


# --- by hand ---


def test_the_deals_of_kuhn_poker():
    probabilities, states = chance_of(KUHN).starts()
    assert cards(KUHN) == {(a, b): Fraction(1, 6) for a in range(3) for b in range(3) if a != b}
    assert probabilities.sum() == pytest.approx(1, abs=1e-15)
    assert (states["rng"] == 0).all()
    assert (states["said"] == kuhn_poker.NONE).all()
    assert (states["ply"] == 0).all()


def test_a_step_without_chance_has_one_outcome():
    _, states = chance_of(KUHN).starts()
    rows, probabilities, after = chance_of(KUHN).outcomes(states, np.full((6, 2), kuhn_poker.BET))
    assert rows.tolist() == list(range(6))
    assert probabilities.tolist() == [1.0] * 6
    assert (after["said"][:, 0] == kuhn_poker.BET).all()
    assert (after["ply"] == 1).all()
    expected = states.copy()
    KUHN.loops.step_rows(expected, np.arange(6), np.full((6, 2), kuhn_poker.BET))
    assert after.tobytes() == expected.tobytes()


def tossing():
    """The coin game where the teller may toss again, with the two ways to go on from heads and from tails."""
    game = toy_coin.make(tosses=1)
    _, states = chance_of(game).starts()
    states["phase"], states["to_move"] = toy_coin.TOSS, 0
    return game, states, np.array([[toy_coin.TOSS_AGAIN, 0], [toy_coin.KEEP, 0]])


def test_dice_where_any_roll_fits():
    """With all numbers of a die unclaimed no roll is repeated: 36 rolls, 21 different ones."""
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    states = game.new_state(0)
    states["rank"], states["owner"], states["dice"] = [1, 2, 3, 4, 5, 6, 7, 8, 8], 0, (2, 6)
    states["to_move"], states["rng"] = 1, 0
    rows, probabilities, after = chance_of(game).outcomes(states, np.array([[0, 8]]))
    assert rows.tolist() == [0] * 21
    found = {
        (int(a), int(b)): Fraction(p).limit_denominator(1000)
        for (a, b), p in zip(after["dice"], probabilities, strict=True)
    }
    assert found == {(a, b): Fraction(1 if a == b else 2, 36) for a in range(1, 7) for b in range(a, 7)}
    assert (after["owner"][:, 8] == 2).all()
    assert (after["to_move"] == 0).all()


many_draws = pytest.mark.skipif(jit.DISABLED, reason="minutes without the JIT")


@many_draws
def test_rolling_until_something_fits_is_refused():
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    with pytest.raises(ValueError, match=r"tic_tac_dice.*cannot be enumerated.*draws again until"):
        chance_of(game).starts()
    states = game.new_state(0)
    states["rank"], states["owner"], states["dice"] = [1, 2, 8, 8, 8, 8, 8, 8, 8], 0, (1, 6)
    states["to_move"] = 0
    with pytest.raises(ValueError, match="draws again until something fits"):
        chance_of(game).outcomes(states, np.array([[0, 0]]))  # claims the only 1


def test_a_finished_game_has_no_outcomes():
    states = KUHN.new_state(0)
    states["done"] = True
    with pytest.raises(ValueError, match="finished"):
        chance_of(KUHN).outcomes(states, np.zeros((1, 2), np.int64))


def counted(game, states, probabilities, sampled):
    """How often each enumerated state was drawn; every one drawn must be among them. Returns chi-square per freedom."""
    sampled = sampled.copy()
    sampled["rng"] = 0
    place = {state.tobytes(): k for k, state in enumerate(states)}
    assert len(place) == len(states), "an outcome twice"
    seen = np.bincount([place[state.tobytes()] for state in sampled], minlength=len(states))
    expected = probabilities * len(sampled)
    assert expected.min() > 5, "too few samples"
    return ((seen - expected) ** 2 / expected).sum(), len(states) - 1


def assert_as_often(game, states, probabilities, sampled):
    """The chi-square test at six standard deviations; all seeds are fixed."""
    found, freedom = counted(game, states, probabilities, sampled)
    assert abs(found - freedom) < 6 * np.sqrt(2 * freedom) + 1e-9, (found, freedom)


@pytest.mark.skipif(jit.DISABLED, reason="many games")
@pytest.mark.parametrize(
    ("game", "number"),
    [
        (KUHN, 6),
        (toy_coin.make(players=3), 2),
        (ttt_envs.load("super_tic_tac_toe", random_opening_plies=2), 80),
        (ttt_envs.load("super_tic_tac_toe", first_move="anywhere", random_opening_plies=1), 81),
        (ttt_envs.load("tic_tac_match", **MATCH), None),
    ],
    ids=["kuhn", "coin", "choose two", "choose one", "cards"],
)
def test_starts_are_as_often_as_drawn(game, number):
    probabilities, states = chance_of(game).starts()
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert number in (None, len(states))
    drawn = ttt_envs.Batch(game, 20_000, seed=5).states
    if number is None:
        # Rare deals are left out of the count, and must be drawn rarely.
        common = probabilities * len(drawn) > 5
        keys = {state.tobytes() for state in states[common]}
        zeroed = drawn.copy()
        zeroed["rng"] = 0
        kept = np.array([state.tobytes() in keys for state in zeroed])
        share = probabilities[common].sum()
        assert abs(kept.mean() - share) < 6 * np.sqrt(share * (1 - share) / len(drawn)) + 1e-9
        probabilities, states, drawn = probabilities[common] / share, states[common], drawn[kept]
        assert len(states) > 50
    assert_as_often(game, states, probabilities, drawn)


@pytest.mark.skipif(jit.DISABLED, reason="many games")
def test_steps_are_as_often_as_drawn():
    game = ttt_envs.load("tic_tac_match", **MATCH)
    batch = ttt_envs.Batch(game, 40, seed=3)
    masks = batch.masks()
    actions = np.array([np.flatnonzero(mask)[-1] for mask in masks])
    joint = np.repeat(actions[:, None], 2, axis=1)
    rows, probabilities, after = chance_of(game).outcomes(batch.states, joint)
    assert np.bincount(rows, probabilities) == pytest.approx(np.ones(40), abs=1e-12)
    assert (np.diff(rows) >= 0).all()
    assert len(set(actions)) > 1
    for row in range(0, 40, 10):
        mine = rows == row
        copies = np.repeat(batch.states[row : row + 1], 8_000)
        for k, copy in enumerate(copies):
            rng.start(copy, np.uint64(k))
        game.loops.step_rows(copies, np.arange(len(copies)), np.repeat(joint[row : row + 1], len(copies), axis=0))
        assert_as_often(game, after[mine], probabilities[mine], copies)


# --- the first draws alone ---


def claimed_to_the_last_three():
    """A round of dice, in which three cards of ranks 7 and 8 are left when X has claimed a 1 with dice 1 and 6."""
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    states = game.new_state(0)
    states["rank"], states["dice"] = [1, 7, 8, 8, 2, 2, 3, 3, 4], (1, 6)
    states["owner"], states["to_move"] = [0, 0, 0, 0, 1, 2, 2, 1, 2], 0
    return game, states


def test_stratified_sampling_enumerates_the_first_roll_alone():
    """The 11 of 36 rolls with a sum of 7 or 8 are dice of the next turn; the others pass the dice on, and are drawn."""
    game, states = claimed_to_the_last_three()
    rows, probabilities, after = chance_of(game).stratified(states, np.array([[0, 0]]), most=36)
    assert (rows == 0).all()
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert len({each.tobytes() for each in after}) == len(after)
    assert (after["rng"] == 0).all()
    sums = after["dice"].sum(axis=1)
    assert set(sums) == {7, 8}
    # 25 continuations are drawn: 6 in 11 of those that fit are sevens, and all start with the other player.
    assert 6 / 36 < probabilities[sums == 7].sum() < 31 / 36
    # With fewer outcomes than rolls one die is enumerated, with one outcome none.
    for most, least in ((35, 6), (5, 1)):
        _, probabilities, _ = chance_of(game).stratified(states, np.array([[0, 0]]), most)
        assert probabilities.sum() == pytest.approx(1, abs=1e-12)
        shares = probabilities * least
        assert np.abs(shares - shares.round()).max() < 1e-9
        assert len(probabilities) <= least


@many_draws
def test_stratified_means_are_those_of_ordinary_steps():
    game, states = claimed_to_the_last_three()
    found = []
    for seed in range(200):
        rng.start(states[0], np.uint64(seed))
        _, probabilities, after = chance_of(game).stratified(states, np.array([[0, 0]]), most=36)
        found.append([probabilities @ (after["dice"].sum(axis=1) == 7), probabilities @ (after["to_move"] == 0)])
    copies = np.repeat(states, 20_000)
    for k, copy in enumerate(copies):
        rng.start(copy, np.uint64(k))
    game.loops.step_rows(copies, np.arange(len(copies)), np.zeros((len(copies), 1), np.int64))
    drawn = np.stack([copies["dice"].sum(axis=1) == 7, copies["to_move"] == 0], axis=1)
    # The 25 of 36 that are drawn have at most the variance of a coin, a 36th of the weight each, and are independent.
    error = 6 * np.sqrt(25 / 4 / 36**2 / len(found) + 0.25 / len(copies))
    assert np.abs(np.mean(found, axis=0) - drawn.mean(axis=0)).max() < error
    assert np.std(found, axis=0).max() < 3 * np.sqrt(25 / 4 / 36**2)


def test_stratified_outcomes_are_all_where_few_are_drawn():
    game, states, joint = tossing()
    for one, other in zip(
        chance_of(game).stratified(states, joint, 2), chance_of(game).outcomes(states, joint), strict=True
    ):
        assert one.tobytes() == other.tobytes()
    with pytest.raises(ValueError, match="most must be a whole number from 1 to 2,048"):
        chance_of(game).stratified(states, joint, 0)


# --- ways to draw ---


@jit.kernel
def reset_by_the_first_draw(state, seed):
    """How many may be drawn depends on what was drawn; some ends are the same."""
    rng.start(state, seed)
    if rng.below(state, 2) == 0:
        state["card"][0] = rng.below(state, 3)
    else:
        state["card"][0] = rng.below(state, 5) // 2
    state["card"][1] = rng.below(state, 1)  # no choice at all


def test_a_number_of_outcomes_that_depends_on_the_draws():
    assert cards(started(reset_by_the_first_draw)) == {
        (0, 0): Fraction(1, 6) + Fraction(1, 5),
        (1, 0): Fraction(1, 6) + Fraction(1, 5),
        (2, 0): Fraction(1, 6) + Fraction(1, 10),
    }


@jit.kernel
def reset_in_all_ways(state, seed):
    rng.start(state, seed)
    mask = np.zeros(4, np.bool_)
    mask[1] = mask[3] = True
    state["card"][0] = rng.pick(state, mask)
    if rng.mix(rng.fold(np.uint64(3), np.uint64(4))) > 0:
        state["card"][1] = rng.below(state, 2) + 10 * rng.below(state, 2)
    mask[:] = False
    state["ply"] = rng.pick(state, mask)


def test_all_ways_to_draw():
    assert cards(started(reset_in_all_ways)) == {(a, b): Fraction(1, 8) for a in (1, 3) for b in (0, 1, 10, 11)}
    _, states = chance_of(started(reset_in_all_ways)).starts()
    assert (states["ply"] == -1).all()


def test_pick_without_a_script_takes_the_next_number_of_the_generator():
    one, two = KUHN.new_state(3), KUHN.new_state(3)
    masks = np.random.default_rng(0).random((50, 9)) < 0.3
    masks[7] = False
    drawn = [rng.pick(one[0], mask) for mask in masks]
    assert drawn == [rng.choose(mask, np.uint64(rng.draw(two[0]))) for mask in masks]
    assert all(mask[k] if k >= 0 else not mask.any() for k, mask in zip(drawn, masks, strict=True))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("id", ttt_envs.GAMES)
def test_every_game_follows_a_script(id):
    game = ttt_envs.load(id)
    for tape in range(3 if jit.DISABLED else 50):
        states = game.prototype.copy()
        states["script"] = rng.SCRIPT | np.uint64(7919 * tape)
        prototype = states.copy()
        game.loops.reset_one(states, 0, prototype, tape)
        assert states["rng"][0] == 0 or states["script"][0] & rng.BROKEN
    batch = ttt_envs.Batch(game, 8 if jit.DISABLED else 50, seed=2)
    joint = np.empty((game.num_players, batch.n), np.int64)
    seeds = np.arange(batch.n, dtype=np.uint64)
    for ply in range(12):
        for player in range(game.num_players):
            rng.choose_rows(batch.masks(player), seeds + np.uint64(1000 * ply), joint[player])
        scripted = batch.states.copy()
        scripted["script"] = rng.SCRIPT | (seeds * np.uint64(7919 + ply))
        game.loops.step_rows(scripted, np.arange(batch.n), joint.T.copy())
        kept = scripted["rng"] == batch.states["rng"]
        assert (kept | (scripted["script"] & rng.BROKEN > 0)).all()
        batch.step(joint.T)


# --- refusals ---


@jit.kernel
def reset_with_a_raw_number(state, seed):
    rng.start(state, seed)
    state["card"][0] = rng.draw(state) % np.uint64(3)


@jit.kernel
def reset_with_the_seed(state, seed):
    rng.start(state, seed)
    state["card"][0] = seed % np.uint64(2)
    state["card"][1] = rng.below(state, 3)


@jit.kernel
def reset_from_too_many(state, seed):
    rng.start(state, seed)
    state["ply"] = rng.below(state, TOO_MANY)


@jit.kernel
def reset_without_end(state, seed):
    rng.start(state, seed)
    while rng.below(state, 2) > 0:
        state["card"][0] += 1


@jit.kernel
def reset_with_many(state, seed):
    rng.start(state, seed)
    state["ply"] = rng.below(state, 2000)


@pytest.mark.parametrize(
    ("reset", "words"),
    [
        (reset_with_a_raw_number, "draws otherwise than by rng.below"),
        (reset_with_the_seed, "depends on the seed"),
        (reset_from_too_many, "too many outcomes"),
        pytest.param(reset_without_end, "until something fits", marks=many_draws),
        (reset_with_many, "leads to 1500 different states or more"),
    ],
    ids=lambda each: getattr(each, "__name__", "").removeprefix("reset_"),
)
def test_what_cannot_be_enumerated_is_refused(reset, words, monkeypatch):
    monkeypatch.setattr(chance, "MOST_STATES", 1500)
    with pytest.raises(ValueError, match=r"the chance in kuhn_poker cannot be enumerated") as caught:
        chance_of(started(reset)).starts()
    assert words in str(caught.value)


@jit.kernel
def step_with_a_raw_number(state, actions):
    state["card"][0] = rng.draw(state) % np.uint64(3)


def test_a_step_with_a_raw_draw_is_refused():
    game = changed(KUHN, step=step_with_a_raw_number)
    with pytest.raises(ValueError, match="draws otherwise than"):
        chance_of(game).outcomes(KUHN.new_state(5), np.zeros((1, 2), np.int64))


def test_the_generator_of_a_state_means_nothing():
    game, states, joint = tossing()
    expected = chance_of(game).outcomes(states, joint)
    states["rng"] = 77, 78
    for one, other in zip(chance_of(game).outcomes(states, joint), expected, strict=True):
        assert one.tobytes() == other.tobytes()
    assert (expected[2]["rng"] == 0).all()
    assert (expected[2]["script"] == 0).all()
    assert (states["script"] == 0).all()
