"""Checks of a game's facts and rules."""

import copy
from dataclasses import replace

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.testing.positions import (
    FEW,
    after,
    difference,
    masks_of,
    observations_of,
    players_of,
    positions,
    random_actions,
    random_play,
    without_rng,
    worlds_of,
)


def check_facts(game: Game) -> None:
    """The game's facts are consistent, and its factory makes an equal game, as unpickling requires."""
    members = sorted(player for team in game.teams for player in team)
    assert members == list(players_of(game)), f"teams {game.teams} must hold each of {game.num_players} players once"
    assert game.prototype.shape == (1,), f"prototype must have shape (1,), not {game.prototype.shape}"
    assert not game.prototype["done"][0], "the prototype is a finished game"
    assert game.title, "the title is empty"
    again = game.factory(**game.options)
    made = again.id, again.options
    assert made == (game.id, game.options), f"factory(**options) gives {made[0]} with {dict(made[1])}"
    assert again == game, "factory(**options) gives other kernels: define them in a module, not in a function"
    assert again.prototype.tobytes() == game.prototype.tobytes(), "factory(**options) gives another prototype"
    assert again.loops is game.loops, "equal rules are compiled twice"
    assert copy.deepcopy(game) is game, "deepcopy makes another game"


def check_masks(game: Game) -> None:
    """Exactly the acting players have legal actions, no player after the end; every mask entry is written."""
    states = positions(game)
    masks = np.stack([masks_of(game, states, player) for player in players_of(game)])
    zeroed = np.zeros_like(masks[0])
    game.loops.mask_rows(states, np.zeros(len(states), np.int64), zeroed)
    assert np.array_equal(zeroed, masks[0]), "legal_mask does not write every entry"
    acts = np.any(masks, axis=2)
    to_move, done = states["to_move"], states["done"]
    assert not acts[:, done].any(), "a finished game has legal actions"
    assert acts.any(axis=0)[~done].all(), "nobody can act, and the game goes on"
    for player in players_of(game):
        alone = ~done & (to_move != SIMULTANEOUS)
        wrong = alone & (acts[player] != (to_move == player))
        assert not wrong.any(), f"player {player}'s legal actions do not fit to_move={to_move[wrong]}"
    together = (to_move[~done] == SIMULTANEOUS).any()
    assert game.simultaneous or not together, "several players act at once, and the game says simultaneous=False"


def check_is_legal(game: Game) -> None:
    """`is_legal`, if the game has it, agrees with the mask, and returns False for any other number."""
    if game.kernels.is_legal is None:
        return
    states, strange = positions(game, FEW), (-1, 2**31, -(2**63), 2**63 - 1)
    for player in (*players_of(game), game.num_players, *strange):
        masks = masks_of(game, states, player)
        for action in (*range(game.num_actions), game.num_actions, *strange):
            legal = masks[:, action] if 0 <= action < game.num_actions else np.zeros(len(states), bool)
            said = np.array([game.kernels.is_legal(state, player, action) for state in states])
            wrong = np.flatnonzero(said != legal)
            assert not len(wrong), (
                f"player {player}, action {action}: is_legal says {said[wrong[0]]} in a position whose mask says "
                f"otherwise:\n{game.format_state(states[wrong[0]], None)}"
            )


def check_random_action(game: Game) -> None:
    """`random_action`, if the game has it, draws the same as `rng.choose` from the mask of an acting player."""
    if game.kernels.random_action is None:
        return
    states = positions(game)
    masks = np.empty((len(states), game.num_actions), np.bool_)
    draws = np.random.default_rng(0).integers(2**64, size=(len(states), FEW), dtype=np.uint64)
    draws[:, :2] = 0, 2**64 - 1
    for player in range(game.num_players):
        game.loops.mask_rows(states, np.full(len(states), player), masks)
        for i in np.flatnonzero(~states["done"] & np.isin(states["to_move"], (player, SIMULTANEOUS))):
            state, before = states[i], states[i].tobytes()
            for x in draws[i]:
                wanted, drawn = rng.choose(masks[i], x), game.kernels.random_action(state, player, x)
                assert drawn == wanted, (
                    f"random_action draws {drawn} by {x} for player {player} where the mask gives {wanted}:\n"
                    f"{game.format_state(state, None)}"
                )
            assert state.tobytes() == before, "random_action changes the state"


def check_rewards(game: Game) -> None:
    """Rewards agree with the facts `rewards`, `zero_sum` and `teams`; some random games end in a win."""
    states = random_play(game).states
    rewards, done = states["rewards"].astype(float), states["done"]
    ends = rewards[-1]
    assert np.isfinite(rewards).all(), "a reward is no number"
    if game.rewards == "end":
        assert not rewards[~done].any(), "a reward before the end, which needs rewards='steps'"
    if game.zero_sum:
        assert np.allclose(rewards.sum(axis=-1), 0, atol=1e-5), "rewards do not sum to zero, which needs zero_sum=False"
    if game.zero_sum and game.rewards == "end":
        assert (np.maximum(ends, 0).sum(axis=1) <= 1 + 1e-6).all(), "the winners get more than +1 in all"
    for team in game.teams:
        assert (rewards[..., team] == rewards[..., team[:1]]).all(), "players of one team get different rewards"
    if not ends.any():
        # With some options random games rarely end in a win, so only default options are checked for wins.
        usual = replace(game.factory(), kernels=game.kernels)
        rewarded = usual.options != game.options and random_play(usual).states["rewards"].any()
        assert rewarded, "all rewards are zero"


def check_round_rewards(game: Game) -> None:
    """A match's round rewards are 0 at the start, equal within a team, and change when rounds end."""
    if game.extras.round_rewards is None:
        return
    states = random_play(game).states
    paid = np.full(states["rewards"].shape, np.nan, np.float32)
    for at, out in zip(states, paid, strict=True):
        game.extras.round_rewards(at, out)
    assert not paid[0].any(), "round_rewards is not 0 at the start"
    assert np.isfinite(paid).all(), "round_rewards is no number"
    assert paid.any(), "round_rewards is 0 in all games"
    if game.zero_sum:
        assert np.allclose(paid.sum(axis=-1), 0, atol=1e-4), "round_rewards does not sum to zero"
    for team in game.teams:
        assert (paid[..., team] == paid[..., team[:1]]).all(), "round_rewards differs within a team"


def check_states(game: Game) -> None:
    """`Game.check_states` accepts all states of random play, worlds sampled from them, and symmetric images."""
    game.check_states(random_play(game).states.ravel())
    states = positions(game)
    for player in players_of(game):
        game.check_states(worlds_of(game, states, player, seed=2))
    for symmetry in game.symmetries:
        game.check_states(symmetry.states(states))


def check_plies(game: Game) -> None:
    """`ply` counts the steps until the end; a finished game does not change."""
    states = random_play(game).states
    assert (states["ply"] <= game.max_plies).all(), f"a game is longer than max_plies={game.max_plies}"
    going = ~states[:-1]["done"]
    assert (states[1:]["ply"] - states[:-1]["ply"] == going).all(), "ply does not count the steps"
    wrong = difference(states[1:][~going], states[:-1][~going])
    assert not wrong, f"a finished game changes: {wrong}"


def check_kernels_only_read(game: Game) -> None:
    """Masks, observations, text and drawing change nothing; a step depends only on state and actions."""
    states = positions(game)
    before = states.tobytes()
    for player in players_of(game):
        masks_of(game, states, player)
        observations_of(game, states, player)
        for state in states[:FEW]:
            game.format_state(state, player)
            game.draw(state, player)
    assert states.tobytes() == before, "legal_mask, observe, format_state or draw changes the state"
    joint = random_actions(game, states, np.random.default_rng(0))
    stepped = after(game, states, joint)
    assert after(game, states, joint).tobytes() == stepped.tobytes(), "the same step gives another state"
    other = np.where(joint < 0, game.num_actions - 1, joint)
    wrong = difference(stepped, after(game, states, other))
    assert not wrong, f"a step reads the action of a player who does not act: {wrong}"


def check_starts(game: Game) -> None:
    """`chance` is "none" exactly if equal choices give equal games, and "start" only if later steps are not random."""

    def first_choices(seed: int, later: int | None = None) -> bytes:
        states = game.new_state(seed)
        if later is not None:
            states["rng"] = later
        trace = [without_rng(states).tobytes()]
        while not states["done"][0]:
            legal = [masks_of(game, states, player)[0] for player in players_of(game)]
            states = after(game, states, np.array([[mask.argmax() if mask.any() else -1 for mask in legal]]))
            trace.append(without_rng(states).tobytes())
        return b"".join(trace)

    different = len({first_choices(seed) for seed in range(4 if jit.DISABLED else 20)})
    assert (different > 1) == game.stochastic, f"{different} different games, chance={game.chance!r}"
    if game.stochastic:
        assert first_choices(3) == first_choices(3), "one seed gives two different games"
    if game.chance == "start":
        different = len({first_choices(3, later) for later in range(4 if jit.DISABLED else 20)})
        assert different == 1, f"{different} different games from one start, chance='start'"
