"""The games' kernels bear any number as an action or a player: they reach nothing but their own record, and end."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import masks_of, positions

STRANGE = (-1, -2, 2**7, 2**31, 2**32 + 1, 2**63 - 1, -(2**63))

#: One form of record each; a match, as it has choices that a round has not.
FIRST = [
    ttt_envs.load(game_id, **options[1 if game_id == "operation_tic_tac_toe" else 0])
    for game_id, options in OPTIONS.items()
]
ALL = [ttt_envs.load(game_id, **options) for game_id, sets in OPTIONS.items() for options in sets]


def strange_players(game: Game) -> tuple[int, ...]:
    return (game.num_players, *STRANGE)


def masks_of_all(game: Game, states: np.ndarray) -> np.ndarray:
    return np.stack([masks_of(game, states, player) for player in range(game.num_players)], axis=1)


def joint_actions(game: Game, states: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Joint actions int64 (n, players) for these states, and in which of them a game goes on by it, bool (n,).

    One player after the other plays each action and each number that is none, while the others who act play something
    legal; then all of them play the same.
    """
    masks = masks_of_all(game, states)
    acts = masks.any(axis=2)
    usual = np.where(acts, masks.argmax(axis=2), -1)
    for varied in (*([player] for player in range(game.num_players)), list(range(game.num_players))):
        for number in (*range(game.num_actions), game.num_actions, *STRANGE):
            joint = usual.copy()
            joint[:, varied] = number
            fits = ~acts
            for player in range(game.num_players):
                if player not in varied:
                    fits[:, player] = True
                elif 0 <= number < game.num_actions:
                    fits[:, player] |= masks[:, player, number]
            yield joint, fits.all(axis=1) & ~states["done"]


# --- compiled ---


def between(states: np.ndarray) -> np.ndarray:
    """Structured (n, 3): each state between two records of nothing but ones, which no kernel may touch."""
    triples = np.repeat(states, 3)
    triples.view(np.uint8).reshape(len(states), 3, -1)[:, ::2] = 255
    return triples.reshape(-1, 3)


def check_compiled(game: Game, states: np.ndarray) -> None:
    """Run the compiled loops; what lies beside the records and outputs must not change."""
    loops, n = game.loops, len(states)
    clean = between(states)
    middle, scratch = 3 * np.arange(n) + 1, np.empty(game.num_actions, np.bool_)
    for joint, legal in joint_actions(game, states):
        triples = clean.copy()
        loops.step_rows(triples.reshape(-1), middle, joint)
        assert triples[:, ::2].tobytes() == clean[:, ::2].tobytes(), f"{joint[0]} changes another game"
        after = triples[:, 1]
        assert (after["ply"] - states["ply"] == legal).all()
        assert after[~legal].tobytes() == states[~legal].tobytes(), f"{joint[0]} is not legal, and changes a game"
        exists = ((joint >= -1) & (joint < game.num_actions)).all(axis=1)
        first = np.flatnonzero(~exists | ~(legal | states["done"]))
        found = loops.find_illegal(clean.reshape(-1), middle, joint, scratch)
        assert found == (middle[first[0]] if len(first) else -1)
    masks, seen = np.empty((n, 3, game.num_actions), np.bool_), np.empty((n, 3, game.observation_size), np.int8)
    for player in strange_players(game):
        masks[:], seen[:] = True, 7
        triples = clean.copy()
        for i in range(n):
            players = np.full(1, player)
            loops.mask_rows(states[i : i + 1], players, masks[i, 1:2])
            loops.observe_rows(states[i : i + 1], players, seen[i, 1:2])
            loops.resample_rows(triples[i, 1:2], players, np.ones(1, np.uint64))
        assert masks[:, ::2].all()
        assert (seen[:, ::2] == 7).all()
        assert not masks[:, 1].any()
        assert not seen[:, 1].any()
        assert triples[:, ::2].tobytes() == clean[:, ::2].tobytes()


@pytest.mark.parametrize("game", FIRST, ids=lambda game: game.id)
def test_compiled_kernels(game: Game) -> None:
    check_compiled(game, positions(game, 40))


@pytest.mark.slow
@pytest.mark.parametrize("game", ALL, ids=repr)
def test_compiled_kernels_in_many_positions(game: Game) -> None:
    check_compiled(game, positions(game, 2000))


@pytest.mark.slow
def test_kernels_with_numbas_own_check_of_indices(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "", "-k", "test_compiled_kernels"]
    done = subprocess.run([*words, __file__], env=environment, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout[-5000:]
    assert f"{len(FIRST) + len(ALL)} passed" in done.stdout
