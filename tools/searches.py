"""Where the time of a search goes, by the kernels that it calls.

Each kernel that a template of the search names is put between two looks at the processor's counter of cycles. The
search decides the same, and takes somewhat longer; what two looks take by themselves is taken off each call.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import Any, NamedTuple
from unittest import mock

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

import ttt_envs
from tools.timings import Effort, Timing
from ttt_envs import agents
from ttt_envs.agents import expectimax
from ttt_envs.agents.search import alphabeta, ismcts, mcts, smmcts
from ttt_envs.core import jit
from ttt_envs.core.view import View

# No call of a kernel takes so many cycles: another process had the processor meanwhile.
_INTERRUPTED = 100_000

# Runs, in turn, of the search with each kind of template watched, and as it is.
_ROUNDS = 5

# Smaller shares are not told: of so short calls the two looks take most of the time.
_LEAST = 0.005

_INT = ir.IntType(64)

# Called without the first argument of its definition.
_intrinsic: Any = intrinsic


class Kind(NamedTuple):
    """A kind of search: the module with its templates, the function there that compiles them, and their names.

    The kernels of `inner` templates are looked at by themselves, as these are kernels of `outer` ones.
    """

    module: Any
    compiler: str
    outer: tuple[str, ...]
    inner: tuple[str, ...]


KINDS = {
    "mcts": Kind(mcts, "kernel_for", ("simulate",), ("playout",)),
    "ismcts": Kind(ismcts, "kernel_for", ("simulate",), ("playout",)),
    "smmcts": Kind(smmcts, "kernel_for", ("simulate",), ("playout", "fill_masks")),
    "expectimax": Kind(expectimax, "kernel_for", ("weigh", "guess"), ("playout",)),
    "alphabeta": Kind(alphabeta, "_kernels", ("search",), ("expand",)),
}


#: The searches that are looked at.
SPECS = (
    "mcts:simulations=1000",
    "ismcts:simulations=1000",
    "smmcts:simulations=1000",
    "expectimax",
    "alphabeta:depth=4",
)


class Part(NamedTuple):
    """A kernel, by the template that calls it: its share of a decision's time, and its calls in one."""

    template: str
    kernel: str
    share: float
    calls: float


@_intrinsic
def _cycles(typingctx):  # type: ignore[no-untyped-def]
    """The processor's counter of cycles, int64."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(_INT, []))
        return builder.call(counter, [])

    return types.int64(), generate


@_intrinsic
def _note(typingctx, address, took):  # type: ignore[no-untyped-def]
    """Add to the two int64 at an address: one call, and the cycles that it took."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        place = builder.inttoptr(args[0], ir.PointerType(_INT))
        for k, more in enumerate((ir.Constant(_INT, 1), args[1])):
            at = builder.gep(place, [ir.Constant(_INT, k)])
            builder.store(builder.add(builder.load(at), more), at)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


class Watch:
    """Counts of calls and cycles of the kernels that some templates name, int64 (2,) for each."""

    def __init__(self, templates: tuple[str, ...]) -> None:
        self._templates, self._usual = templates, jit.specialise
        self.counts: dict[tuple[str, str], np.ndarray] = {}

    def specialise(self, template: Callable[..., Any], **kernels: Any) -> Callable[..., Any]:
        """`jit.specialise`, for these templates with kernels that are watched."""
        name = template.__name__
        if name in self._templates:
            known = {**template.__globals__, **kernels}
            kernels = {
                each: self._watched((name, each), known[each])
                for each in template.__code__.co_names
                if isinstance(known.get(each), Dispatcher) and each != "deeper"  # it is what is watched again
            } | {each: kernel for each, kernel in kernels.items() if each == "deeper"}
        return self._usual(template, **kernels)

    def _watched(self, key: tuple[str, str], kernel: Any) -> Any:
        # Templates of one name count together.
        counts = self.counts.setdefault(key, np.zeros(2, np.int64))
        address = counts.ctypes.data

        @numba.njit(nogil=True)
        def watched(*given):  # type: ignore[no-untyped-def]
            start = _cycles()
            result = kernel(*given)
            took = _cycles() - start
            _note(address, took if took < _INTERRUPTED else 0)
            return result

        return watched


@cache
def _clock() -> tuple[float, float]:
    """Cycles in a nanosecond, and cycles that two looks at the counter take."""

    @numba.njit
    def two_looks(times):  # type: ignore[no-untyped-def]
        total = 0
        for _ in range(times):
            start = _cycles()
            took = _cycles() - start
            total += took if took < _INTERRUPTED else 0
        return total / times

    @numba.njit
    def look():  # type: ignore[no-untyped-def]
        return _cycles()

    two_looks(1), look()
    began, first = time.perf_counter_ns(), look()
    overhead = two_looks(1_000_000)
    return (look() - first) / (time.perf_counter_ns() - began), overhead


def _decisions(game: Any, spec: str) -> Callable[[float], tuple[int, int]]:
    """A function that makes decisions from some openings for so long: how many, and the processor's nanoseconds."""
    agent, numbers = agents.load(spec), count()
    states = ttt_envs.Batch(game, 4, seed=0).states
    players = np.maximum(states["to_move"], 0).astype(np.int64)

    def decide(seconds: float) -> tuple[int, int]:
        done, start = 0, time.process_time_ns()
        while (spent := time.process_time_ns() - start) < 1e9 * seconds or not done:
            agent.act(View.unchecked(game, states, players, np.full(len(states), next(numbers), np.uint64)))
            done += len(states)
        return done, spent

    return decide


def profile(game_id: str, spec: str, seconds: float) -> tuple[float, list[Part]]:
    """Microseconds of a decision, and the kernels' parts in it: those of outer templates, then of inner ones.

    Raises ValueError if the agent cannot play the game.
    """
    kind, game = KINDS[spec.partition(":")[0]], ttt_envs.load(game_id)
    plain, watches = list[float](), [Watch(kind.outer), Watch(kind.inner)]
    # An agent each, as an agent may keep the kernels with which it has begun.
    decide, *watched = (_decisions(game, spec) for _ in range(3))
    decide(0.0)  # compiles
    compilers = [cache(getattr(kind.module, kind.compiler).__wrapped__) for _ in watches]
    made = [0, 0]
    for turn in range(-2, 2 * _ROUNDS):
        which = turn % 2
        with (
            mock.patch.object(jit, "specialise", watches[which].specialise),
            mock.patch.object(kind.module, kind.compiler, compilers[which]),
        ):
            if turn < 0:
                watched[which](0.0)
                for counts in watches[which].counts.values():
                    counts[:] = 0
                continue
            made[which] += watched[which](seconds / 4 / _ROUNDS)[0]
        done, spent = decide(seconds / 4 / _ROUNDS)
        plain.append(spent / done)
    (per_nanosecond, overhead), whole, parts = _clock(), statistics.median(plain), list[Part]()
    for watch, decisions in zip(watches, made, strict=True):
        for (template, kernel), (calls, cycles) in watch.counts.items():
            took = max(cycles - calls * overhead, 0.0) / per_nanosecond / decisions
            parts.append(Part(template, kernel, took / whole, calls / decisions))
    return whole / 1e3, parts


def bench_kernels(game_id: str, config: Effort) -> Iterator[Timing]:
    """The parts of each search that can play the game."""
    for spec in SPECS:
        try:
            took, parts = profile(game_id, spec, config.seconds)
        except ValueError:
            continue
        yield Timing(game_id, spec, took, "us a decision")
        for part in parts:
            if part.share > _LEAST:
                what = f"{spec}, {part.template}: {part.kernel}, {part.calls:,.0f} times"
                yield Timing(game_id, what, 100 * part.share, "%")
