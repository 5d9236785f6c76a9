"""Searching agents where chance plays a part: MCTS with positions that it knows again, and expectimax."""

from functools import cache

import numpy as np
import pytest
import test_agents
import toy_coin
import toy_race
from asking import check_decisions, check_time, some_view, thoughts
from changed import changed

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.expectimax import Expectimax
from ttt_envs.agents.search import mcts
from ttt_envs.agents.search.mcts import MCTS
from ttt_envs.core.game import Game
from ttt_envs.core.view import View

SPECS = (
    "mcts:simulations=200",
    "mcts:simulations=200,threads=3",
    "expectimax:samples=8",
    "expectimax:depth=3,samples=2",
)


def test_a_position_is_recognised_by_every_word() -> None:
    tree, index = np.zeros(40, mcts.NODE), np.zeros(40, mcts.INDEX)
    memories = [np.arange(6, dtype=np.uint64)]
    for word in range(6):
        for bit in (0, 63):
            memories.append(memories[0].copy())
            memories[-1][word] ^= np.uint64(1) << np.uint64(bit)
    places = []
    for number, memory in enumerate(memories):
        tree[0]["visits"] = number
        places.append(mcts.recognise(0, tree, index, 0, memory))
    assert places == [number + 1 for number in range(len(memories))]
    assert [mcts.recognise(0, tree, index, 0, memory) for memory in memories] == places


def test_of_the_most_visited_actions_the_best_is_played() -> None:
    masks = np.array([[True, True, True, False]])
    visits, values = np.array([[5.0, 5, 2, 0]]), np.array([[1.0, 2, 2, 0]])
    assert mcts.most_visited(masks, visits, values).tolist() == [[False, True, False, False]]
    assert mcts.most_visited(masks, visits, np.ones((1, 4))).tolist() == [[True, True, False, False]]


def dice(**options: object) -> Game:
    return ttt_envs.load("tic_tac_dice", **{"rounds": "single", **options})


def view_of(game: Game, states: np.ndarray) -> View:
    """Each state seen by its player to move, each with another seed."""
    return View(game, states, states["to_move"], np.arange(len(states), dtype=np.uint64))


def choices(game: Game, n: int, empty: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Positions of random games, n at most, with so many cards left and more than one of them to claim."""
    batch = ttt_envs.Batch(game, 30 * n, seed=seed)
    generator = np.random.default_rng(seed)
    found = []
    while not batch.done.all():
        masks = batch.masks()
        rows = ~batch.done & (masks.sum(axis=1) > 1)
        rows &= np.isin((batch.states["owner"] == 0).sum(axis=1), empty)
        found.append(batch.states[rows])
        batch.step(np.where(batch.done, -1, (generator.random(masks.shape) * masks).argmax(axis=1)))
    return np.concatenate(found)[:n]


# --- exact values of a round, from its rules once more ---

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
ROLLS = [(one, two) for one in range(1, 7) for two in range(1, 7)]


@cache
def about_to_roll(ranks: tuple[int, ...], owners: tuple[int, ...]) -> tuple[float, float]:
    """Reward of player 0 under optimal play if player 0, and if player 1, is about to roll."""
    for player in (0, 1):
        if any(all(owners[cell] == player + 1 for cell in line) for line in LINES):
            return (1 - 2 * player,) * 2
    if 0 not in owners:
        return (0.5 * np.sign(owners.count(1) - owners.count(2)),) * 2
    # Where nothing can be claimed the board stays, and the one or the other rolls: two equations in two unknowns.
    left, right = np.eye(2), np.zeros(2)
    for player in (0, 1):
        for roll in ROLLS:
            values = after_claims(ranks, owners, player, roll)
            if values:
                right[player] += (max, min)[player](values.values()) / 36
            else:
                left[player, player if roll[0] == roll[1] else 1 - player] -= 1 / 36
    return tuple(np.linalg.solve(left, right).tolist())


def after_claims(
    ranks: tuple[int, ...], owners: tuple[int, ...], player: int, roll: tuple[int, int]
) -> dict[int, float]:
    """Reward of player 0 under optimal play after each claim that the roll allows."""
    following = player if roll[0] == roll[1] else 1 - player
    return {
        cell: about_to_roll(ranks, (*owners[:cell], player + 1, *owners[cell + 1 :]))[following]
        for cell in range(9)
        if owners[cell] == 0 and ranks[cell] in (*roll, sum(roll))
    }


def exact_values(states: np.ndarray) -> np.ndarray:
    """float64 (n, 9): reward of the player to move after each claim; nan where it is not allowed."""
    out = np.full((len(states), 9), np.nan)
    for i, state in enumerate(states):
        player = int(state["to_move"])
        roll = int(state["dice"][0]), int(state["dice"][1])
        ranks, owners = tuple(state["rank"].tolist()), tuple(state["owner"].tolist())
        for cell, value in after_claims(ranks, owners, player, roll).items():
            out[i, cell] = value if player == 0 else -value
    return out


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("rounds", ["single", pytest.param("match", marks=pytest.mark.slow)])
def test_a_decision_depends_on_the_view_alone(spec: str, rounds: str) -> None:
    game = dice(rounds=rounds, target_points=2)
    view = some_view(game, 24, seed=3)
    assert not view.masks.any(axis=1).all()
    policy = check_decisions(agents.load(spec), view)
    assert (agents.load(spec.replace("threads=3", "threads=1")).policy(view) == policy).all()


@pytest.mark.parametrize("spec", SPECS)
def test_no_decision_knows_the_dice_to_come(spec: str) -> None:
    game = dice()
    states = choices(game, 4, (5, 6)).repeat(20)
    other = states.copy()
    other["rng"] = np.random.default_rng(0).integers(1 << 63, size=len(states), dtype=np.uint64)
    seeds = np.arange(len(states), dtype=np.uint64)
    views = [View(game, each, each["to_move"], seeds) for each in (states, other)]
    found = [thoughts(agents.load(spec), view) for view in views]
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("spec", ["mcts:simulations=200", "expectimax", "expectimax:depth=1"])
def test_a_row_is_claimed_at_once(spec: str) -> None:
    states = dice().parse_state("""
        X claims by dice 2 5
        A 2X   B 3X   C 5*
        D 1O   E 4O   F 6
        G 7*   H 5*   I 1
        ply 4
    """)
    assert agents.load(spec).act(view_of(dice(), states.repeat(20))).tolist() == [2] * 20


def test_values_come_to_be_exact() -> None:
    game = dice()
    states = np.concatenate([choices(game, 12, (2,)), choices(game, 12, (3,), seed=1)])
    exact, legal = exact_values(states), view_of(game, states).masks
    assert len(states) == 24
    assert (~np.isnan(exact) == legal).all()
    gaps = np.nanmax(exact, axis=1) - np.nanmin(exact, axis=1)
    assert (gaps > 0.1).sum() >= 10

    found = Expectimax(depth=3, samples=600, playouts=1).action_values(view_of(game, states))
    assert (np.isnan(found) == np.isnan(exact)).all()
    assert np.abs(found - exact)[legal].max() < 0.15
    assert np.abs(found - exact)[legal].mean() < 0.02

    visits, values = MCTS(simulations=20_000).search(view_of(game, states))
    best = visits.argmax(axis=1)
    rows = np.arange(len(states))
    assert np.abs(2 * values[rows, best] / visits[rows, best] - 1 - exact[rows, best]).max() < 0.04
    for chosen in (best, np.nanargmax(found, axis=1)):
        assert (np.nanmax(exact, axis=1) - exact[rows, chosen]).max() < 0.03


@pytest.mark.parametrize("spec", ["mcts", "expectimax"])
@pytest.mark.parametrize("fact", ["simultaneous", "hidden_information"])
def test_other_games_are_refused_in_words(spec: str, fact: str) -> None:
    game = changed(dice(), **{fact: True})
    for ask in (agents.load(spec).act, agents.load(spec).policy):
        with pytest.raises(ValueError, match=f"agent {spec} plays only games without {fact.replace('_', ' ')}"):
            ask(view_of(game, game.new_state(0)))
        with pytest.raises(ValueError, match=f"agent {spec} plays only games without"):
            ask(some_view(toy_coin.make(), 4, seed=0))


def test_mcts_by_time_is_the_same_search() -> None:
    game = dice()
    check_time(MCTS, view_of(game, choices(game, 1, (9,))), seconds=0.1)


def test_mcts_where_chance_is_over_once_the_game_begins() -> None:
    options = {"random_opening_plies": 5}
    view = test_agents.position(test_agents.X_WINS_IN_3, 5, **options)
    assert test_agents.chosen("mcts:simulations=3000", view) == {"3/8"}


# --- expectimax ---


@pytest.mark.slow
@pytest.mark.parametrize("lucky", [False, True])
def test_expectimax_with_three_players(lucky: bool) -> None:
    """Each looks after himself: against exact values."""
    game = toy_race.make(lucky=lucky)
    for stones in (2, 3):
        states = np.repeat(game.new_state(0), 3)
        states["stones"], states["to_move"] = stones, (0, 1, 2)
        _, exact = toy_race.values(stones, lucky)
        found = Expectimax(depth=3, samples=800).action_values(view_of(game, states))
        assert np.abs(found - exact).max() < (0.1 if lucky else 1e-9)


def test_expectimax_without_chance() -> None:
    wins = test_agents.position(test_agents.X_THREATENS.format(mover="X", board=2, extra="O"), 10)
    assert test_agents.chosen("expectimax:playouts=20", wins) == {"2/2"}
    threatened = test_agents.position(test_agents.X_THREATENS.format(mover="O", board=7, extra="."), 30)
    assert "7/2" not in test_agents.chosen("expectimax:playouts=20", threatened)
    assert (agents.load("expectimax").policy(wins) == agents.load("expectimax:samples=1").policy(wins)).all()


def test_expectimax_shares_among_equals() -> None:
    states = dice().parse_state("""
        X claims by dice 3 4
        A 3*   B 2O   C 3*
        D 2X   E 4O   F 2X
        G 1O   H 5X   I 1O
        ply 7
    """)
    policy = agents.load("expectimax").policy(view_of(dice(), states.repeat(20)))
    assert (policy == [0.5, 0, 0.5, 0, 0, 0, 0, 0, 0]).all()


def test_expectimax_forced_actions_are_not_searched() -> None:
    states = dice().new_state(0)
    states["rank"], states["dice"] = np.arange(9) % 8 + 1, (1, 1)
    states["rank"][0, 8] = 3
    view = view_of(dice(), states)
    assert view.masks.sum() == 2
    states["rank"][0, 1] = 4
    view = view_of(dice(), states)
    assert view.masks.sum() == 1
    assert np.isnan(agents.load("expectimax").action_values(view)).all()
    assert agents.load("expectimax").act(view).tolist() == [0]


@pytest.mark.parametrize("options", [{}, {"won_boards": "closed", "first_move": "anywhere"}])
def test_playouts_without_masks_are_the_same_playouts(options: dict[str, str]) -> None:
    game = ttt_envs.load("super_tic_tac_toe", **options)
    assert game.kernels.random_action is not None
    by_masks = changed(game, random_action=None)
    for spec in ("mcts:simulations=300", "ismcts:simulations=300"):
        search = agents.load(spec).search
        visits, other = (search(some_view(each, 4, 3))[0] for each in (game, by_masks))
        assert visits.sum() >= 300
        assert np.array_equal(visits, other)


def test_a_playout_that_is_cut_off_counts_as_a_draw() -> None:
    game = dice()
    view = view_of(game, choices(game, 4, (9, 8)))  # nobody can have a row within the next ply
    for spec in ("mcts:simulations=40,playout_plies=0", "ismcts:simulations=40,playout_plies=0"):
        visits, values = agents.load(spec).search(view)
        assert visits.sum(axis=1).tolist() == [40.0] * len(view)
        assert np.array_equal(values, visits / 2)
    cut = agents.load("mcts:simulations=40,playout_plies=1000").search(view)
    whole = agents.load("mcts:simulations=40").search(view)
    assert np.array_equal(cut, whole)
    assert not np.array_equal(whole[1], whole[0] / 2)
