"""Enumeration of chance: all outcomes of a start or a step, each with its probability.

A game draws its dice and cards with `rng.below` and `rng.pick`, so it need not list the outcomes. This module runs its
kernels `reset` and `step` on states with a script (see `core.rng`), one script after the other, to find every outcome.

Example::

    chance = chance_of(game)
    probabilities, states = chance.starts()
    rows, probabilities, states = chance.outcomes(states, joint)
    rows, probabilities, states = chance.stratified(states, joint, most=36)

Outcomes with equal states are merged. The field `rng` of all returned states is 0, so generators make no difference.

Two kinds of chance cannot be enumerated and raise ValueError: redrawing until some condition holds, which has no upper
limit, and draws other than `below` and `pick`. `stratified` enumerates only the first draws and accepts every game.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.loops import Kernels, advance_for
from ttt_envs.core.options import within

#: Limit of the number of different states after one start or step.
MOST_STATES = 1 << 20

#: The most outcomes of first draws that `stratified` enumerates. With many more, scripts could not tell where to stop.
MOST_STRATA = 2048

# Every outcome has a probability of at least 1 / MOST_OUTCOMES, so what is left below this is a rounding error.
_NOTHING = 0.5 / rng.MOST_OUTCOMES

_ONE, _ZERO = np.uint64(1), np.uint64(0)

# Starts are enumerated with both seeds, to find starts that depend on the seed itself. The two differ in every bit, and
# in their remainders by small divisors.
_SEEDS = (_ONE, np.uint64(2**64 - 2))


class NotEnumerable(Exception):
    """Raised if a script does not determine a kernel's result; the argument gives the reason."""


def begin(state, seed):
    """Start a new game instead of playing a step; the result must not depend on `seed`, uint64 (1,)."""
    reset(state, seed[0])


class OutcomeBuffers(NamedTuple):
    """Arrays for the outcomes of some steps.

    Attributes:
        outcomes: structured (size,), out.
        words: uint64 (size, words of a state), the same memory.
        chances: float64 (size,), out: the probability of each outcome.
        owners: int64 (size,), out: the row of each outcome.
        slots: int64 (power of two, more than size), zeros: the hash table of `seek`.
    """

    outcomes: np.ndarray
    words: np.ndarray
    chances: np.ndarray
    owners: np.ndarray
    slots: np.ndarray


def buffers_for(dtype: np.dtype, size: int) -> OutcomeBuffers:
    """Allocate memory for this number of outcomes."""
    outcomes = np.empty(size, dtype)
    words, slots = outcomes.view(np.uint64).reshape(size, -1), np.zeros(2 << size.bit_length(), np.int64)
    return OutcomeBuffers(outcomes, words, np.empty(size), np.empty(size, np.int64), slots)


def outcomes_rows(states, joint, most, buffers):
    """Write the outcomes of the actions joint[k] in states[k], for each k in turn, to `buffers`; merge equal states.

    In this template, `play` is `begin` for starts, or `loops.advance` of a game for steps.

    Args:
        states: structured (n,).
        joint: int64 (n, players); for `begin` the seeds.
        most: enumerate the first draws as long as they have at most this many outcomes; the following draws come from
            the generator. 0 enumerates all draws.
        buffers: `OutcomeBuffers`.

    Returns:
        The number of rows that fit into the buffers, and the number of their outcomes. Raises NotEnumerable.
    """
    outcomes, words, chances, owners, slots = buffers
    end = 0
    # The larger a script's product is at the start, the fewer draws it prescribes.
    said = np.uint64((rng.MOST_OUTCOMES - 1) // most if most else 1)
    for row in range(states.shape[0]):
        first, tape, left = end, _ZERO, 1.0
        while left > _NOTHING:
            if end == outcomes.shape[0]:
                return row, first
            outcomes[end] = states[row]
            state = outcomes[end]
            state["script"] = rng.SCRIPT * said | tape
            if most:
                state["rng"] = rng.fold(state["rng"], tape)  # what follows two outcomes is independent
            play(state, joint[row])
            product = rng.script_product(state)
            if not most:
                if state["script"] & rng.BROKEN:
                    raise NotEnumerable("there are too many outcomes, or it draws again until something fits")
                if state["rng"] != states[row]["rng"]:
                    raise NotEnumerable("it draws otherwise than by rng.below(state, n) and rng.pick(state, mask)")
            tape += _ONE
            if product == 0:
                continue  # the tape has more digits than there were draws: a shorter tape gave the same outcome
            chance = np.float64(said) / product
            left -= chance
            state["rng"] = state["script"] = _ZERO
            place = seek(words, slots, first, end)
            if place == end:
                chances[end], owners[end] = 0.0, row
                end += 1
            chances[place] += chance
    return states.shape[0], end


@jit.kernel
def seek(words, slots, first, last):
    """Return the index of the first of words[first:last + 1] that equals words[last].

    `slots` is a hash table of indices + 1 into `words`; indices below `first` count as empty. New words are inserted.
    """
    digest = _ZERO
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


@cache
def _rows_for(kernels: Kernels, start: bool) -> Callable[..., Any]:
    """Return `outcomes_rows` of one game's starts or steps."""
    play = jit.specialise(begin, reset=kernels.reset) if start else advance_for(kernels)
    return jit.specialise(outcomes_rows, play=play)


@dataclass(frozen=True, eq=False)
class Chance:
    """All outcomes of a game's starts and steps. Make one with `chance_of`."""

    game: Any  # a Game: its module imports this one

    def starts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the different states with which a game may start: their probabilities float64 (k,), states (k,).

        Raises ValueError with the reason if they cannot be enumerated.
        """
        halves = []
        for seed in _SEEDS:
            before = self.game.prototype.copy()
            before["rng"] = seed  # this detects kernels that read the generator, too
            halves.append(self._enumerate(True, before, np.array([[seed]]))[1:])
        (probabilities, states), (others, other_states) = halves
        if probabilities.tobytes() != others.tobytes() or states.tobytes() != other_states.tobytes():
            raise self._refusal("its start depends on the seed in another way than through rng.start")
        return probabilities, states

    def outcomes(self, states: np.ndarray, joint: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return all outcomes of n steps.

        Args:
            states: structured (n,), none of them finished.
            joint: int64 (n, players), legal actions; entries of players who do not act are ignored.

        Returns:
            For each outcome: its row, int64 (k,), ascending; its probability, float64 (k,), with a sum of 1 per row;
            its state, structured (k,), different from the others of the row.

        Raises:
            ValueError: a game is finished, or the outcomes cannot be enumerated; the message says why.
        """
        return self._enumerate(False, states, np.ascontiguousarray(joint, np.int64))

    def stratified(self, states: np.ndarray, joint: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return outcomes of n steps by stratified sampling: all first draws, each with one sample of the later draws.

        Args:
            states: structured (n,), none of them finished; their generators make the draws that are not enumerated.
            joint: int64 (n, players), as for `outcomes`.
            most: from 1 to `MOST_STRATA`; the first draws are enumerated as long as they have at most this many
                outcomes.

        Returns arrays as `outcomes` does; raises ValueError for a finished game. The weighted mean over the outcomes is
        an unbiased estimate of the expectation. The estimate is exact if the steps have no further draws.
        """
        within(1, MOST_STRATA, most=most)
        return self._enumerate(False, states, np.ascontiguousarray(joint, np.int64), most)

    def _enumerate(
        self, start: bool, states: np.ndarray, joint: np.ndarray, most: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if states["done"].any():
            raise ValueError("a finished game has no outcomes")
        kernel, n, done, size = _rows_for(self.game.kernels, start), len(states), 0, max(4 * len(states), 256)
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        while done < n or not parts:
            buffers = buffers_for(states.dtype, size)
            try:
                rows, end = kernel(states[done:], joint[done:], most, buffers)
            except NotEnumerable as error:
                raise self._refusal(str(error)) from None
            if rows or not n:
                parts.append((buffers.owners[:end] + done, buffers.chances[:end], buffers.outcomes[:end]))
                done += rows
            elif size < MOST_STATES:
                size = min(4 * size, MOST_STATES)
            else:
                raise self._refusal(f"one start or step leads to {MOST_STATES} different states or more")
        owners, chances, outcomes = (np.concatenate(each) for each in zip(*parts, strict=True))
        return owners, chances, outcomes

    def _refusal(self, why: str) -> ValueError:
        return ValueError(f"the chance in {self.game} cannot be enumerated: {why}")


@cache
def chance_of(game: Any) -> Chance:
    """Return the enumeration of a game's chance."""
    return Chance(game)
