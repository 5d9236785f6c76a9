"""All checks of states, players and actions that come from outside.

Compiled kernels use counts and cells of a state as array indices. Therefore input from a user, a file or bytes is
checked here first: its dtype and the range of each field. For valid states kernels stay within their arrays and
terminate.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ttt_envs.core.state import SIMULTANEOUS, Bound, Range, plain, ranges_of, read_only

_INT8 = np.iinfo(np.int8)


class Validity:
    """The checks of the states of one game.

    Fields of int8 and bool, options and padding are compared together as bytes, which is much faster.
    """

    def __init__(
        self,
        dtype: np.dtype,
        *,
        ranges: Mapping[str, Range] | None = None,
        prototype: np.ndarray | None = None,
        max_plies: int | None = None,
        simultaneous: bool = True,
        at_end: bool = True,
        name: str = "this game",
    ) -> None:
        """Prepare the checks.

        Args:
            dtype: dtype of the states.
            ranges: ranges of the fields by name; None takes the ranges declared with the dtype.
            prototype: a state, structured (1,), whose options all states must have; None allows any options in range.
            max_plies: the most steps of a game; None for no limit.
            simultaneous: whether several players may act simultaneously.
            at_end: whether rewards are 0 before the end.
            name: the game's name in error messages.
        """
        self.dtype = plain(dtype)
        self.name = name
        self._prototype = prototype
        self._max_plies = max_plies
        self._at_end = at_end
        players = self.dtype["rewards"].shape[0]
        self._ranges = {
            "script": Range(0, 0),
            "ply": Range(0, np.iinfo(np.int32).max if max_plies is None else max_plies),
            "to_move": Range(SIMULTANEOUS if simultaneous else 0, players - 1),
            **(ranges_of(dtype) if ranges is None else ranges),
        }
        assert self.dtype.names is not None
        for field in self.dtype.names:
            if field.startswith("padding_"):
                self._ranges[field] = Range(0, 0)
            elif self.dtype[field].base == np.bool_:
                self._ranges.setdefault(field, Range(0, 1))
        self._low = np.full(self.dtype.itemsize, _INT8.min, np.int8)
        self._high = np.full(self.dtype.itemsize, _INT8.max, np.int8)
        self._slow = [field for field in self._ranges if not self._compare_as_bytes(field)]
        self._low, self._high = read_only(self._low), read_only(self._high)

    def _compare_as_bytes(self, field: str) -> bool:
        """Convert a field's range to bounds of its bytes; return False if bytes cannot express the range."""
        assert self.dtype.fields is not None
        kind, offset, *_ = self.dtype.fields[field]
        place, given = slice(offset, offset + kind.itemsize), self._ranges[field]
        if given.is_option and self._prototype is not None:
            self._low[place] = self._high[place] = np.frombuffer(self._prototype[field].tobytes(), np.int8)
            return True
        if kind.base.itemsize > 1 or (isinstance(given.high, str) and self._prototype is None):
            return False
        low, high = given.low, given.high if self._prototype is None else self._limit(given.high)
        # Bytes are compared as int8, so unsigned values above 127 would count as negative.
        if np.min(low) < (0 if kind.base.kind == "u" else _INT8.min) or np.max(high) > _INT8.max:
            return False
        self._low[place] = np.broadcast_to(low, kind.shape).ravel()
        self._high[place] = np.broadcast_to(high, kind.shape).ravel()
        return True

    def _limit(self, high: Bound) -> Any:
        return int(self._prototype[high][0]) if isinstance(high, str) and self._prototype is not None else high

    def check(self, states: Any) -> np.ndarray:
        """Return the states, structured (n,), if all are valid; else raise ValueError or TypeError naming the error.

        A record counts as an array of one.
        """
        if isinstance(states, np.void):
            states = np.array([states])
        if not isinstance(states, np.ndarray) or states.dtype.names is None:
            kind = f"an array of {states.dtype}" if isinstance(states, np.ndarray) else type(states).__name__
            raise TypeError(f"states must be a structured array of shape (n,), not {kind}")
        if states.dtype != self.dtype:
            raise ValueError(f"these are no states of {self.name}: they have other fields, or fields of other sizes")
        if states.ndim != 1:
            raise ValueError(f"states must have shape (n,), not {states.shape}")
        checked: np.ndarray = np.require(states, requirements=["C", "A"]).view(self.dtype, np.ndarray)
        raw = checked.view(np.int8).reshape(len(checked), self.dtype.itemsize)
        if ((raw < self._low) | (raw > self._high)).any() or any(self._wrong(checked, f).any() for f in self._slow):
            self._explain(checked)
        going, rewards = ~checked["done"], checked["rewards"]
        payable = np.isfinite(rewards).all(axis=1)
        if self._at_end:
            payable &= ((rewards == 0) | ~going[:, None]).all(axis=1)
        if not payable.all():
            i = int(payable.argmin())
            rule = "they must be finite" + ", and 0 before the end of a game" * self._at_end
            raise self._fault(i, f"its rewards are {rewards[i].tolist()}; {rule}")
        if self._max_plies is not None and (late := going & (checked["ply"] >= self._max_plies)).any():
            rule = f"it goes on after {self._max_plies} plies, and no game is longer"
            raise self._fault(int(late.argmax()), rule)
        return checked

    def _values(self, states: np.ndarray, field: str) -> np.ndarray:
        values: np.ndarray = states[field]
        # Compare bools as bytes: as a bool, a byte that is neither 0 nor 1 would count as True.
        return values.view(np.uint8) if values.dtype == np.bool_ else values

    def _bounds(self, states: np.ndarray, field: str) -> tuple[Any, Any]:
        given = self._ranges[field]
        if given.is_option and self._prototype is not None:
            only = self._values(self._prototype, field)
            return only, only
        if isinstance(given.high, str):
            axes = tuple(range(1, 1 + len(self.dtype[field].shape)))
            return given.low, np.expand_dims(states[given.high], axes)
        return given.low, given.high

    def _wrong(self, states: np.ndarray, field: str) -> np.ndarray:
        values, (low, high) = self._values(states, field), self._bounds(states, field)
        return np.asarray((values < low) | (values > high))

    def _explain(self, states: np.ndarray) -> None:
        """Raise ValueError for the first field with a value out of its range."""
        for field in self._ranges:
            wrong = self._wrong(states, field)
            if not wrong.any():
                continue
            at = tuple(int(each) for each in np.argwhere(wrong)[0])
            if field.startswith("padding_"):
                raise self._fault(at[0], "the padding between its fields must be 0")
            name = f"`{field}`{list(at[1:]) or ''}"
            low, high = (int(np.broadcast_to(each, wrong.shape)[at]) for each in self._bounds(states, field))
            right = f"from {low} to {high}" if low < high else f"{low}"
            raise self._fault(at[0], f"its field {name} is {self._values(states, field)[at]}, and must be {right}")

    def _fault(self, i: int, rule: str) -> ValueError:
        return ValueError(f"state {i} is no position of {self.name}: {rule}")


def check_players(players: Any, n: int, num_players: int) -> np.ndarray:
    """Return `players`, one number or int (n,), as int64 (n,); raise TypeError or ValueError for anything else."""
    array = np.asarray(players)
    if array.dtype.kind not in "iu":
        raise TypeError(f"player must be a whole number, or an array of them, not {players!r}")
    if array.shape not in ((), (n,)):
        raise ValueError(f"player must be one number or have shape {(n,)}, not {array.shape}")
    if array.size and not (array.min() >= 0 and array.max() < num_players):
        raise ValueError(f"player must be from 0 to {num_players - 1}, not {players!r}")
    # A copy, because kernels are compiled for writeable arrays.
    return np.array(np.broadcast_to(array, (n,)), np.int64)


def check_rows(rows: Any, every: np.ndarray, once: bool = False) -> np.ndarray:
    """Return the game numbers, int64 (k,), that `rows` selects from `every`, which is 0 to n-1.

    `rows` is int (k,), without repetition if `once`; or bool (n,), or a slice. Raises TypeError or ValueError for
    anything else.
    """
    if isinstance(rows, slice):
        return every[rows]
    array, n = np.asarray(rows), len(every)
    if array.shape == (0,):
        return every[:0]
    if array.dtype == np.bool_:
        if array.shape != (n,):
            raise ValueError(f"rows of truth values must have shape {(n,)}, not {array.shape}")
        return np.flatnonzero(array)
    if array.dtype.kind not in "iu":
        raise TypeError(f"rows must be whole numbers or truth values, not {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"rows must have one dimension, not shape {array.shape}")
    if array.min() < 0 or array.max() >= n:
        wrong = array[(array < 0) | (array >= n)][0]
        raise ValueError(f"rows must be from 0 to {n - 1}, not {wrong}")
    array = np.ascontiguousarray(array, np.int64)
    if once and len(array) > 1:
        times = np.bincount(array)
        if times.max() > 1:
            raise ValueError(f"rows must differ, but game {times.argmax()} comes {times.max()} times")
    return array


# --- actions ---


class IllegalAction(ValueError):
    """An action of the game that is not legal now."""


def check_actions(actions: Any, shape: tuple[int, ...], num_actions: int) -> np.ndarray:
    """Return `actions` as int64 of this shape: whole numbers from -1 (no action) to num_actions-1.

    Raises TypeError or ValueError, naming the error, for anything else.
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
    """Return the message for an illegal action: its name and the legal actions."""
    names = (*game.action_names, "wait")
    legal = [names[a] for a in np.flatnonzero(mask)]
    shown = ", ".join(legal[:20]) + (f" and {len(legal) - 20} more" if len(legal) > 20 else "")
    return f"{who} cannot play {names[action]!r} (action {action}) now; legal: {shown}"


def refusal(game: Any, states: np.ndarray, i: int, actions: np.ndarray, games: int) -> ValueError:
    """Return the error for `actions`, int64 (players,) or (1,) for the mover, in states[i] of `games` games."""
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
