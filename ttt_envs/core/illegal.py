"""Actions from outside: whether they are any, and the error for those that are not legal."""

from typing import Any

import numpy as np

from ttt_envs.core.state import SIMULTANEOUS


class IllegalAction(ValueError):
    """An action of the game that is not legal now."""


def check_actions(actions: Any, shape: tuple[int, ...], num_actions: int) -> np.ndarray:
    """`actions` as int64 of that shape, whole numbers from -1 (no action) to num_actions-1.

    Raises TypeError or ValueError naming what is wrong otherwise.
    """
    array = np.asarray(actions)
    if array.dtype.kind not in "iu":
        raise TypeError(f"actions must be whole numbers, not {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"actions must have shape {shape}, not {array.shape}")
    if array.size and not (array.min() >= -1 and array.max() < num_actions):
        wrong = array[(array < -1) | (array >= num_actions)].flat[0]
        raise ValueError(f"actions must be from 0 to {num_actions - 1}, not {wrong}")
    return np.ascontiguousarray(array, np.int64)


def explain(game: Any, who: str, action: int, mask: np.ndarray) -> str:
    """The message for an illegal action, with its name and those of the legal ones."""
    names = (*game.action_names, "wait")
    legal = [names[a] for a in np.flatnonzero(mask)]
    shown = ", ".join(legal[:20]) + (f" and {len(legal) - 20} more" if len(legal) > 20 else "")
    return f"{who} cannot play {names[action]!r} (action {action}) now; legal: {shown}"


def refusal(game: Any, states: np.ndarray, i: int, actions: np.ndarray, games: int) -> ValueError:
    """The error in `actions` for states[i], int64 (players,) or (1,) for the player to move; `games` were stepped."""
    mover = int(states["to_move"][i])
    if not SIMULTANEOUS <= mover < game.num_players:
        known = f"from 0 to {game.num_players - 1}, or {SIMULTANEOUS} for several at once"
        return ValueError(f"state {i} is no position of {game}: its field `to_move` is {mover}, and must be {known}")
    if mover == SIMULTANEOUS and len(actions) < game.num_players:
        shape = (games, game.num_players)
        return ValueError(f"several players act at once in game {i}: actions must have shape {shape}")
    mask = np.empty(game.num_actions, np.bool_)
    for player in range(game.num_players) if mover == SIMULTANEOUS else (mover,):
        game.loops.mask_one(states, i, player, mask)
        action = int(actions[player if len(actions) > 1 else 0])
        if mask.any() and action < 0:
            return ValueError(
                f"player {player} acts in game {i} and was given -1; actions are 0 to {game.num_actions - 1}"
            )
        if mask.any() and not mask[action]:
            return IllegalAction(explain(game, f"player {player} in game {i}", action, mask))
    raise AssertionError
