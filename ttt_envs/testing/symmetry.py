"""Checks of a game's symmetries: those of the board and the rotation of the players."""

from collections.abc import Callable

import numpy as np

from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import (
    after,
    assert_same_distribution,
    difference,
    masks_of,
    observations_of,
    players_of,
    positions,
    some_steps,
    with_random_rng,
    without_rng,
)

# For steps with chance: number of steps to check per symmetry, and of samples per step.
_STEPS, _SAMPLES = 2, 100 if jit.DISABLED else 500

DECLARE = (
    "the game must say whether its players are alike: give Game rotate_players, a function that maps states to those "
    "in which each player's part is the next one's; or, if they are not the same, players_differ, a reason"
)


def check_symmetries(game: Game) -> None:
    """Transforming the board commutes with stepping; masks and observations permute alike."""
    states, joint = some_steps(game, 1)
    seen = [observations_of(game, states, player) for player in players_of(game)]
    legal = [masks_of(game, states, player) for player in players_of(game)]
    for symmetry in game.symmetries:
        name, turned = symmetry.name, symmetry.states(states)
        for player in players_of(game):
            same = np.array_equal(observations_of(game, turned, player), seen[player][:, symmetry.features])
            assert same, f"{name}: the observation of player {player} is not permuted by `features`"
            same = np.array_equal(masks_of(game, turned, player), legal[player][:, symmetry.actions])
            assert same, f"{name}: the mask of player {player} is not permuted by `actions`"
        renamed = np.array([symmetry.action(action) for action in range(game.num_actions)] + [-1])
        _check_commutes(game, name, symmetry.states, states, (joint, renamed[joint]))


def check_egocentric(game: Game) -> None:
    """After a rotation of seats, each player has the view and actions of the previous one, or the game says why not."""
    assert (game.rotate_players is None) == bool(game.players_differ), DECLARE
    if game.rotate_players is None:
        return
    states = positions(game)
    rotated = game.rotate_players(states)
    for player in players_of(game):
        following = (player + 1) % game.num_players
        for kind, what in ((observations_of, "observation"), (masks_of, "mask")):
            same = np.array_equal(kind(game, rotated, following), kind(game, states, player))
            assert same, f"player {following} in the place of player {player} has another {what}: it is not egocentric"


def check_seats(game: Game) -> None:
    """Rotating seats commutes with stepping, rewards included: the rules are the same for all players."""
    if game.rotate_players is None:
        assert game.players_differ, DECLARE
        return
    states, joint = some_steps(game, 2)
    _check_commutes(game, "rotate_players", game.rotate_players, states, (joint, np.roll(joint, 1, axis=1)))


def check_without_past(game: Game) -> None:
    """The fields that `Extras.without_past` ignores do not matter, except that they may end a game as a draw."""
    bare = game.extras.without_past
    if bare is None:
        return
    states, joint = some_steps(game, 3)
    left = bare(states)
    assert not (wrong := difference(bare(left), left)), f"without_past changes what it gave: {wrong}"
    for symmetry in game.symmetries:
        wrong = difference(bare(symmetry.states(states)), symmetry.states(left))
        assert not wrong, f"without_past and {symmetry.name} do not commute: {wrong}"
    for player in players_of(game):
        same = np.array_equal(masks_of(game, left, player), masks_of(game, states, player))
        assert same, "without_past changes a mask"
    one, two = after(game, states, joint), after(game, left, joint)
    same = (one["done"] == two["done"]) & (one["rewards"] == two["rewards"]).all(axis=1)
    drawn = one["done"] & (one["rewards"] == 0).all(axis=1)
    assert (same | drawn).all(), "without_past changes how a game ends"
    going = ~one["done"]
    wrong = difference(bare(one[going]), bare(two[going]), but=("rng",))
    assert not wrong, f"without_past changes what a step leads to: {wrong}"


def _check_commutes(
    game: Game,
    name: str,
    transform: Callable[[np.ndarray], np.ndarray],
    states: np.ndarray,
    joints: tuple[np.ndarray, np.ndarray],
) -> None:
    """Check that a step from transformed states leads to the transformed successors, or to the same distribution.

    `joints`: the actions int64 (n, players), and the same actions after the transformation.
    """
    joint, transformed = joints
    expected, stepped = transform(after(game, states, joint)), after(game, transform(states), transformed)
    rows = np.flatnonzero(stepped != expected)
    if not len(rows):
        return
    drawn, by_chance = without_rng(after(game, states[rows], joint[rows])), np.zeros(len(rows), bool)
    for seed in range(8):
        by_chance |= without_rng(after(game, with_random_rng(states[rows], seed), joint[rows])) != drawn
    certain = rows[~by_chance]
    wrong = difference(stepped[certain], expected[certain])
    assert not wrong, f"{name} does not commute with a step: {wrong}"
    for row in rows[:: max(len(rows) // _STEPS, 1)][:_STEPS]:
        many = np.repeat(states[row : row + 1], _SAMPLES)
        one = transform(after(game, with_random_rng(many, 1), np.repeat(joint[row : row + 1], _SAMPLES, axis=0)))
        two = after(game, with_random_rng(transform(many), 2), np.repeat(transformed[row : row + 1], _SAMPLES, axis=0))
        assert_same_distribution(one, two, f"{name} does not commute with a step, in distribution: ")
