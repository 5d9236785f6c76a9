"""Chance, enumerated: all that may come of a start or of a step, each with its probability.

A game draws its dice and cards from `core.rng` and need not list them. Here its kernels `reset` and `step` are copied,
with all that they call, and the copies draw from a script instead (`core.scripted_rng`); running them with one script
after the other shows every outcome. The game's own kernels stay as they are.

    chance = chance_of(game)
    probabilities, states = chance.starts()
    rows, probabilities, states = chance.outcomes(states, joint)

Outcomes that are the same state are one. The script's state is no part of it: the field `rng` of all states here is 0.

What cannot be enumerated is refused in words: drawing again until something fits, which never ends with certainty, and
draws other than `below(state, n)`, `scale(draw(state), n)` and `choose(mask, draw(state))`.

`every_outcome` and `outcomes_rows` are templates, compiled for one game; in them `play` stands for its copied `step`,
or for `begin` with its copied `reset`.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from ttt_envs.core import jit, rng, scripted_rng
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Rules, advance

#: One start or step must lead to fewer different states.
MOST_STATES = 1 << 20

# No outcome is less likely than 1 / MOST, and float64 adds up that many of them far more exactly than this.
_NOTHING = 0.5 / scripted_rng.MOST

_LOW, _S32, _S56 = np.uint64(2**32 - 1), np.uint64(32), np.uint64(56)
_START, _ONE = scripted_rng.START, np.uint64(1)

# --- enumeration ---


def begin(state, actions):
    """A new game, in the place of a step; `actions` is the seed, which must not matter."""
    reset(state, np.uint64(actions[0]))


def every_outcome(source, actions, found, words, chances, slots, first):
    """Append to found[first:] what `actions` in `source` may lead to, each state once, and its chances.

    Args:
        source: state record.
        actions: int64 (players,).
        found: structured (room,), with what is found.
        words: uint64 (room, words of a state), the same memory.
        chances: float64 (room,).
        slots: int64 (power of two, more than room), an index of `found` by content: places + 1. What lies before
            `first` counts as empty.
        first: where there is room.

    Returns:
        The end of what was found; -1 if there was no room for it. Raises OverflowError for too many outcomes.
    """
    end, tape, left = first, np.uint64(0), 1.0
    while left > _NOTHING:
        if end == found.shape[0]:
            return -1
        found[end] = source
        found[end]["rng"] = _START | tape
        play(found[end], actions)
        script = found[end]["rng"]
        if script >> _S56:
            raise ValueError("a raw draw")
        tape += _ONE
        if script & _LOW:
            continue  # more digits than this outcome has: it was met with a shorter tape
        chance = 1.0 / np.float64(script >> _S32)
        left -= chance
        found[end]["rng"] = np.uint64(0)
        place = seek(words, slots, first, end)
        if place == end:
            chances[end] = 0.0
            end += 1
        chances[place] += chance
    return end


@jit.kernel
def seek(words, slots, first, last):
    """The first of words[first:last + 1] that equals words[last]; entered into `slots` if it is new."""
    digest = np.uint64(0)
    for k in range(words.shape[1]):
        digest = rng.mix(digest ^ words[last, k])
    slot = np.int64(digest & np.uint64(slots.shape[0] - 1))
    while slots[slot] > first:
        place = slots[slot] - 1
        same = True
        for k in range(words.shape[1]):
            same = same and words[place, k] == words[last, k]
        if same:
            return place
        slot = (slot + 1) & (slots.shape[0] - 1)
    slots[slot] = last + 1
    return last


def outcomes_rows(states, joint, found, words, chances, slots, ends):
    """`every_outcome` of joint[k] in states[k] for each k; ends int64 (n,): where those of row k end in `found`.

    Returns the number of rows for which there was room.
    """
    end = 0
    for k in range(states.shape[0]):
        end = every_outcome(states[k], joint[k], found, words, chances, slots, end)
        if end < 0:
            return k
        ends[k] = end
    return states.shape[0]


class Chance:
    """All outcomes of a game's starts and steps. Make one with `chance_of`."""

    def __init__(self, game: Game) -> None:
        """Nothing is compiled yet."""
        self.game = game

    @cached_property
    def _kernels(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        try:
            return _kernels_for(self.game.rules)
        except ValueError as error:
            raise self._refusal(str(error)) from None

    def starts(self) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities float64 (k,), and the different states structured (k,), that a game may start with.

        Raises ValueError in words if they cannot be enumerated.
        """
        found = []
        for seed in (0, 1):
            # The seed, as if it were an action. It means nothing to a script.
            _, chances, states = self._enumerate(0, self.game.prototype, np.array([[seed]]))
            found.append((chances, states))
        if found[0][0].tobytes() != found[1][0].tobytes() or found[0][1].tobytes() != found[1][1].tobytes():
            raise self._refusal("its start depends on the seed in another way than through rng.start")
        return found[0]

    def outcomes(self, states: np.ndarray, joint: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What n steps may lead to.

        Args:
            states: structured (n,), none of them finished.
            joint: int64 (n, players), legal actions; those of players who do not act are ignored.

        Returns:
            Of each outcome the row that it belongs to, int64 (k,), ascending; its probability, float64 (k,), which add
            up to 1 a row; the state, structured (k,), different from the others of its row.

        Raises:
            ValueError: in words, if they cannot be enumerated, or if a game is finished.
        """
        if states["done"].any():
            raise ValueError("a finished game has no outcomes")
        return self._enumerate(1, states, np.ascontiguousarray(joint, np.int64))

    def _enumerate(
        self, which: int, states: np.ndarray, joint: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """By the kernel for starts (0) or steps (1); see `outcomes`."""
        kernel, n, done, room = self._kernels[which], len(states), 0, max(4 * len(states), 256)
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        while done < n or not parts:
            found, chances = np.empty(room, states.dtype), np.empty(room)
            slots = np.zeros(2 << int(room).bit_length(), np.int64)
            words = found.view(np.uint64).reshape(room, -1)
            ends = np.zeros(n - done, np.int64)
            try:
                rows = kernel(states[done:], joint[done:], found, words, chances, slots, ends)
            except OverflowError:
                raise self._refusal(
                    f"something has less than one chance in {scripted_rng.MOST}; either there are too many outcomes, "
                    "or it draws again until something fits"
                ) from None
            except (NumbaError, TypeError, AttributeError, ValueError) as error:
                raise self._refusal(
                    "it draws otherwise than by rng.below(state, n), rng.scale(rng.draw(state), n) or "
                    f"rng.choose(mask, rng.draw(state)) ({_words(error)})"
                ) from error
            if not rows and n > done:
                if room >= MOST_STATES:
                    raise self._refusal(f"one start or step leads to {MOST_STATES} different states or more")
                room = min(4 * room, MOST_STATES)
                continue
            end = ends[rows - 1] if rows else 0
            owners = np.repeat(np.arange(done, done + rows), np.diff(ends[:rows], prepend=0))
            parts.append((owners, chances[:end], found[:end]))
            done += rows
        if len(parts) == 1:
            return parts[0]
        owners, chances, found = (np.concatenate(each) for each in zip(*parts, strict=True))
        return owners, chances, found

    def _refusal(self, why: str) -> ValueError:
        return ValueError(f"the chance in {self.game!r} cannot be enumerated: {why}")


@cache
def chance_of(game: Game) -> Chance:
    """The enumeration of a game's chance."""
    return Chance(game)


def _words(error: Exception) -> str:
    """What went wrong: the first line that says something, of a compiler's message that may be pages long."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line and not line.startswith("Failed in ")), type(error).__name__)


@cache
def _kernels_for(rules: Rules) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`outcomes_rows` of starts and of steps."""
    copier = _Copier()
    plays = (
        jit.specialise(begin, reset=copier.copy(rules.reset)),
        jit.specialise(advance, step=copier.copy(rules.step)),
    )
    first, second = (
        jit.specialise(outcomes_rows, every_outcome=jit.specialise(every_outcome, play=play, seek=seek))
        for play in plays
    )
    return first, second


# --- copies of kernels ---

#: The functions of `rng`, and what they are called there.
_OF_RNG = {
    value: name
    for name, value in vars(rng).items()
    if callable(value) and getattr(value, "__module__", None) == rng.__name__
}

_FOREIGN = frozenset({"numpy", "numba", *sys.stdlib_module_names})


class _Copier:
    """Makes copies of kernels, in which the names of `rng` and of other kernels that draw mean the scripted ones."""

    def __init__(self) -> None:
        self._copies: dict[FunctionType, Callable[..., Any]] = {}

    def copy(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The scripted copy of a kernel; the kernel itself if nothing that it calls draws."""
        source = _source(kernel)
        assert source is not None
        if source in self._copies:
            return self._copies[source]
        reached: dict[FunctionType, bool] = {}
        if not _draws(source, reached):
            return kernel
        for each in reached:
            if "rng" in each.__code__.co_consts:
                raise ValueError(f"{each.__name__} uses the field rng, the generator, itself")
        # Numba crashes when it calls machine code from disk that calls itself.
        recursive = any(_source(value) is each for each in reached for value in _mentioned(each))
        kept = not recursive and all(jit._digest_for(each) and not hasattr(each, jit._ANEW) for each in reached)
        names = dict(source.__globals__)
        cells = tuple(CellType() for _ in source.__closure__ or ())
        copy = FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells or None)
        copy.__qualname__, copy.__module__ = source.__qualname__, source.__module__
        if not kept:
            setattr(copy, jit._ANEW, True)
        # Entered before what it calls is copied: that may be itself. Nothing is compiled before the first call.
        self._copies[source] = jit._compile(copy, "scripted" if kept else None)
        used = source.__code__.co_names
        for name in used:
            if name in names:
                names[name] = self._replaced(names[name], used)
        for cell, original in zip(cells, source.__closure__ or (), strict=True):
            cell.cell_contents = self._replaced(original.cell_contents, used)
        return self._copies[source]

    def _replaced(self, value: Any, used: Sequence[str]) -> Any:
        """What a global stands for in a copy; `used`: the names in the code, some of them attributes of modules."""
        if value is rng:
            return scripted_rng
        if isinstance(value, ModuleType) and not _is_foreign(value.__name__):
            parts = {name: getattr(value, name) for name in used if hasattr(value, name)}
            replaced = {name: self._replaced(part, used) for name, part in parts.items()}
            if all(replaced[name] is part for name, part in parts.items()):
                return value
            shadow = ModuleType(value.__name__)
            vars(shadow).update(replaced)
            return shadow
        if (source := _source(value)) is None:
            return value
        if value not in _OF_RNG:
            return self.copy(value)
        if not hasattr(scripted_rng, _OF_RNG[value]):
            raise ValueError(f"rng.{_OF_RNG[value]} ({source.__name__}) has no scripted form")
        return getattr(scripted_rng, _OF_RNG[value])


def _is_foreign(module: str) -> bool:
    """Whether a module can hold no kernel."""
    return module.split(".")[0] in _FOREIGN


def _source(value: Any) -> FunctionType | None:
    """The Python function of a kernel; None for anything else."""
    source = getattr(value, "py_func", value)
    return source if isinstance(source, FunctionType) and not _is_foreign(source.__module__ or "") else None


def _draws(function: FunctionType, reached: dict[FunctionType, bool]) -> bool:
    """Whether a kernel calls a function of `rng`, itself or through others; `reached` gets all kernels it calls."""
    reached[function] = True
    found = False
    for value in _mentioned(function):
        if value is rng or (_source(value) is not None and value in _OF_RNG):
            found = True
        elif (source := _source(value)) is not None and source not in reached:
            found = _draws(source, reached) or found
    return found


def _mentioned(function: FunctionType) -> Iterator[Any]:
    """What the names in a function's code may mean: globals, cells, attributes of modules."""
    used = function.__code__.co_names
    values = [function.__globals__[name] for name in used if name in function.__globals__]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    while values:
        value = values.pop()
        yield value
        if isinstance(value, ModuleType) and value is not rng and not _is_foreign(value.__name__):
            values += [getattr(value, name) for name in used if hasattr(value, name)]
