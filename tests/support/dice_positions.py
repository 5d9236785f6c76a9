"""Positions of the Tic-Tac-Dice family for its tests."""

import numpy as np
from slow_tic_tac_dice import next_decisions

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import masks_of

IDS = ("tic_tac_dice", "big_tic_tac_dice", "tic_tac_super_dice")

MATCH = ttt_envs.load("tic_tac_dice")
SINGLE = ttt_envs.load("tic_tac_dice", rounds="single")

X_HAS_FIVE = """
{who} claims by dice {dice}
A 1X   B 2O   C 3X
D 4X   E 5O   F 6O
G 7{g}   H 8X   I 1{i}
{facts}
"""

DRAWN_4X4 = """
X claims by dice {dice}
A 1X   B 2X   C 3O   D 4O
E 5O   F 6O   G 7X   H 8X
I 1X   J 2X   K 3O   L 4O
M 5O   N 6O   O 7X   P 8*
{facts}
"""

ROW_ON_TOP = """
{first}
A 1X   B 2X   C 3{c}
D 4O   E 5    F 6O
G 7    H 8    I 1{i}
{facts}
"""


def blank(game: Game, n: int) -> np.ndarray:
    """n positions without markers, ranks 1 to 8 over and over, X to claim by dice 1 and 2."""
    states = np.repeat(game.prototype, n)
    states["rank"] = np.arange(states["rank"].shape[1]) % 8 + 1
    states["dice"] = 1, 2
    return states


def claimed(game: Game, states: np.ndarray, cells: np.ndarray | int) -> np.ndarray:
    """The positions after the player to move has claimed these cells, which the dice must allow."""
    states = states.copy()
    actions = np.broadcast_to(np.asarray(cells, np.int64), states.shape)
    game.loops.step_rows(states, np.arange(len(states)), np.ascontiguousarray(actions[:, None]))
    return states


def reseeded(game: Game, states: np.ndarray, seed: int = 0) -> np.ndarray:
    """The same positions with other futures, one for each."""
    states = states.copy()
    seeds = np.arange(len(states), dtype=np.uint64) + np.uint64(seed << 32)
    game.loops.resample_rows(states, states["to_move"].astype(np.int64), seeds)
    return states


def decisions(states: np.ndarray) -> np.ndarray:
    """How often each player claims by each pair of dice, the lower one first: (2, 7, 7)."""
    counts = np.zeros((2, 7, 7))
    np.add.at(counts, (states["to_move"], states["dice"][:, 0], states["dice"][:, 1]), 1)
    return counts


def decision_chances(ranks: set[int], roller: int) -> np.ndarray:
    """Their exact chances when `roller` rolls and cards of these ranks are unclaimed."""
    chances = np.zeros((2, 7, 7))
    for (player, a, b), chance in next_decisions(ranks, roller).items():
        chances[player, min(a, b), max(a, b)] += float(chance)
    assert abs(chances.sum() - 1) < 1e-12
    return chances


def played(game: Game, text: str, cell: str, futures: int = 20) -> np.ndarray:
    """What comes of claiming a cell that the dice allow, with several futures."""
    states = np.repeat(game.parse_state(text), futures)
    assert game.format_state(states[0]).splitlines()[1:] == text.strip().splitlines()[1:]
    action = game.parse_action(cell)
    for player in (0, 1):
        assert masks_of(game, states, player)[0, action] == (states["to_move"][0] == player)
    after = claimed(game, reseeded(game, states), action)
    assert (after["ply"] == states["ply"] + 1).all()
    return after


def full_text(last: str, dice: str, facts: str) -> str:
    """The 3x3 board without a row, one card before it is full: X will have five markers, whoever is last."""
    marks = {"g": "O", "i": "X"}
    marks[last.lower()] = "*"
    return X_HAS_FIVE.format(who="XO"[last == "G"], dice=dice, facts=facts, **marks)
