"""Shared by the models: values to pass by mistake, the errors that they should raise, and checks."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS

#: The calls made in this process, by the model that made them.
CALLS: Counter[str] = Counter()

#: What a program may pass by mistake for an action, a seed, an agent, a position or numbers of games.
GARBAGE: tuple[Any, ...] = (
    *(None, True, False, np.True_, 0.0, 1.5, float("nan"), float("inf"), 1j, "", "0", "player_9", b"", b"\0" * 99),
    *(-1, -(2**63), 2**31, 2**64, 2**200, np.int8(-1), np.uint64(2**64 - 1), np.float32(1), [], [0], (), {}, {0: 1}),
    *(np.array(0), np.array(1.0), np.array([0]), np.zeros((2, 2), int), np.array(["0"]), np.array(None), object, len),
    *([[0], [0, 1]], {"player_0": 0}, {"player_0": None, "player_1": [1]}, np.zeros(3, np.uint8), np.ones(5, bool)),
    *(np.zeros((3, 0), int), np.datetime64("2020-01-01"), slice(None), slice(0, 10**9, -1), range(3), Ellipsis),
)


def check(holds: Any, what: str) -> None:
    """Raise AssertionError unless it holds, also where Python leaves `assert` out."""
    if not holds:
        raise AssertionError(what)


def attempt(call: Callable[[], Any], wanted: type[Exception] | None, what: str) -> Any:
    """The result of the call; AssertionError unless it raises `wanted`, or nothing where that is None."""
    try:
        found = call()
    except Exception as error:
        if wanted is None or not isinstance(error, wanted):
            raise AssertionError(f"{what} raises {type(error).__name__}, not {wanted}: {error}") from error
        check(str(error), f"{what}: the error says nothing")
        return None
    check(wanted is None, f"{what} raises no {wanted}")
    return found


def one_number(value: Any) -> Any:
    """What an array of one entry holds; anything else as it is."""
    return value.reshape(())[()] if isinstance(value, np.ndarray) and value.size == 1 else value


def fault_of_number(value: Any, end: float) -> type[Exception] | None:
    """The error of a value that must be a whole number from 0 to below `end`, or an array of one."""
    value = one_number(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        return TypeError
    return None if 0 <= int(value) < end else ValueError


def fault_of_seed(seed: Any) -> type[Exception] | None:
    """The error of a seed."""
    if seed is None:
        return None
    return TypeError if isinstance(seed, np.ndarray) else fault_of_number(seed, 2**128)


def masks_of(game: Game, states: np.ndarray, i: int = 0) -> np.ndarray:
    """bool (players, num_actions): all that is legal in game i, by the kernel alone."""
    masks = np.zeros((game.num_players, game.num_actions), np.bool_)
    mover = int(states["to_move"][i])
    for player in range(game.num_players):
        if not states["done"][i] and mover in (player, SIMULTANEOUS):
            game.loops.mask_one(states, i, player, masks[player])
    return masks


def check_rewards(game: Game, states: np.ndarray) -> None:
    """Nothing is paid before the end; then sides share +1 and -1, or nobody gets anything."""
    rewards, done = states["rewards"].astype(float), states["done"]
    check(not rewards[~done].any(), "a reward before the end")
    check((abs(rewards.sum(axis=1)) < 1e-6).all(), "rewards do not sum to 0")
    check((np.maximum(rewards, 0).sum(axis=1) < 1 + 1e-6).all(), "the winners get more than 1")
    for team in game.teams:
        check((rewards[:, team] == rewards[:, team[:1]]).all(), "players of one side get different rewards")
    check((states["ply"] <= game.max_plies).all(), f"a game is longer than {game.max_plies} plies")
