"""Positions of Operation Tic-Tac-Toe, as the library and as the slow rules have them."""

import numpy as np
from slow_operation_tic_tac_toe import SPECIALISTS, SPY, Position

import ttt_envs
from ttt_envs.games.operation_tic_tac_toe import rules

ID = "operation_tic_tac_toe"
ROUND = ttt_envs.load(ID, mode="round")
KINDS = (SPY, *SPECIALISTS)


def some(states: np.ndarray, n: int, seed: int) -> np.ndarray:
    return states[np.random.default_rng(seed).choice(len(states), n, replace=False)]


def slow_position(state: np.void) -> Position:
    """A state in phase TURN as the slow rules have it."""
    board = tuple(None if piece == 0 else (int(piece - 1) // 9, KINDS[int(piece - 1) % 9]) for piece in state["board"])
    hands = tuple(
        tuple(sorted(name for name, standing in zip(SPECIALISTS, held, strict=True) if standing == rules.IN_HAND))
        for held in state["standing"]
    )
    hackers = bool(state["hacker_on"][0]), bool(state["hacker_on"][1])
    return Position(board, int(state["placer"]), hands, hackers, int(state["idle"]), None)
