"""Alpha-beta search for games of perfect information without chance.

With more than two sides, the search assumes that all other sides act together against the searching player: the
paranoid algorithm (Sturtevant and Korf, "On pruning techniques for multi-player games", AAAI 2000). With
`replies="own"`, it is opponent-model search (Iida et al., "Potential applications of opponent-model search", ICCA
Journal 16(4), 1993): each other side plays for itself and makes the move whose successor has the highest value for it.

The search is negamax with alpha-beta pruning (Knuth and Moore, "An analysis of alpha-beta pruning", Artificial
Intelligence 6, 1975), iterative deepening, a transposition table and killer moves; actions are ordered by the values of
their successors. `reduce` adds late-move reductions and null windows (Reinefeld, "An improvement to the Scout tree
search algorithm", ICCA Journal 6(4), 1983). An n-tuple network or any network with values evaluates the leaves.

`expand`, `reply` and `search` are templates, which are compiled for each game; `legal_mask` and `step` in them are the
game's kernels, and `evaluate` is one of the value functions of `ttt_envs.agents.search.horizon`.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined, assignment"

import math
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.agents.base import Agent, by_round, kept
from ttt_envs.agents.networks import Network
from ttt_envs.agents.ntuples import NTuples, load_values
from ttt_envs.agents.search import horizon
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels, advance_for
from ttt_envs.core.options import choice, within
from ttt_envs.core.state import position_start
from ttt_envs.core.view import View

#: A frame of the search stack describes one position on the path from the root to the current position.
FRAME = np.dtype(
    [
        ("alpha", np.float64),
        ("beta", np.float64),
        ("low", np.float64),  # the initial alpha
        ("best", np.float64),
        ("key", np.uint64),
        ("mover", np.int32),
        ("move", np.int32),  # the best action so far, or -1
        ("count", np.int32),  # number of legal actions
        ("next", np.int32),  # number of actions tried
        ("left", np.int32),  # remaining plies
        ("trial", np.int32),  # how the latest action was searched: FULL, NARROW or FEWER
        ("again", np.bool_),  # whether the latest action must be searched again
    ],
    align=True,
)

#: An entry of the transposition table; new entries replace old ones.
ENTRY = np.dtype(
    [("key", np.uint64), ("value", np.float64), ("move", np.int32), ("depth", np.int16), ("bound", np.int16)],
    align=True,
)
_EXACT, _AT_LEAST, _AT_MOST = 0, 1, 2
_ENTRIES = 1 << 17

#: A finished game's value is its reward times this factor, or slightly more in shorter games. A win thus has a higher
#: value than any unfinished position.
_CERTAIN = 2.0

# A score above this is a proven win.
_PROVED = 1.5
_SOONER = 1e-3
_INFINITE = 1e9

# How a frame's latest action is searched. FULL: full depth and window. FEWER: a null window and a reduced depth.
# NARROW: a null window of width _WIDTH, which only tells whether the action beats the best one.
FULL, NARROW, FEWER = 0, 1, 2
_WIDTH = 1e-6

#: The largest depth.
MOST_PLIES = 64

# Number of positions that are evaluated between two checks of the clock.
_CHUNK = 20_000


@jit.kernel
@jit.allocates_nothing
def digest_of(memory, start):
    """Return a hash, uint64, of the position record `memory`, uint64 (words,); `start` differs between searches."""
    digest = start
    for k in range(memory.shape[0]):
        digest = rng.mix(digest ^ memory[k])
    return digest


class Scratch(NamedTuple):
    """Preallocated arrays for a search of at most `depth` plies.

    Attributes:
        stack: states (depth + 1,), the positions from the root to the current one.
        memory: uint64 (depth + 1, words), the part of `stack` that identifies positions, in the same memory.
        frames: FRAME (depth + 1,). The caller of `search` fills in the root's frame.
        place: int64 (1,), the index of the current position in `stack`, called its level.
        table: ENTRY (k,), the transposition table; k is a power of two.
        killers: int32 (depth + 1, 2), for each level the two latest actions that caused a beta cutoff.
        order: int32 (depth + 1, num_actions), for each level the legal actions in the order in which they are searched.
        guess: float64 (depth + 1, 2, num_actions), for each level and action the successor's value to the player who
            chose the action, and 1 if the game is then over, else 0.
        scores: float64 (num_actions,), the values of the root's actions that were searched so far. Only the highest is
            exact; the others are upper bounds.
        legal: bool (num_actions,).
        joint: int64 (players,).
        reductions: int32 (plies, actions), the number of plies by which a search is shortened, for each number of
            remaining plies and each place in `order`. Shape (0, 0) disables reductions.
    """

    stack: np.ndarray
    memory: np.ndarray
    frames: np.ndarray
    place: np.ndarray
    table: np.ndarray
    killers: np.ndarray
    order: np.ndarray
    guess: np.ndarray
    scores: np.ndarray
    legal: np.ndarray
    joint: np.ndarray
    reductions: np.ndarray


@jit.allocates_nothing
def expand(level, remaining, scratch, valuation):
    """Try every legal action in scratch.stack[level]; write actions and values to scratch.order and scratch.guess.

    `remaining`: number of plies left; wins with more plies left get higher values. Returns the number of actions.
    """
    stack, order, guess, legal, joint = scratch.stack, scratch.order, scratch.guess, scratch.legal, scratch.joint
    state, child = stack[level], stack[level + 1]
    mover = np.int64(state["to_move"])
    legal_mask(state, mover, legal)
    count = 0
    for action in range(legal.shape[0]):
        if legal[action]:
            stack[level + 1] = stack[level]
            joint[mover] = action
            step(child, joint)
            if child["done"]:
                guess[level, 0, action] = child["rewards"][mover] * (_CERTAIN + _SOONER * remaining)
                guess[level, 1, action] = 1.0
            else:
                guess[level, 0, action] = evaluate(child, mover, valuation)
                guess[level, 1, action] = 0.0
            order[level, count] = action
            count += 1
    return count


@jit.kernel
@jit.allocates_nothing
def sort_actions(order, count, values, first, killers):
    """Sort the actions order[:count] by decreasing values. Action `first` comes first; `killers` get a small bonus."""
    for k in range(1, count):
        action = order[k]
        worth = rank(action, values, first, killers)
        j = k - 1
        while j >= 0 and rank(order[j], values, first, killers) < worth:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = action


@jit.kernel
@jit.allocates_nothing
def rank(action, values, first, killers):
    """Return the sort key of an action; actions with higher keys are searched earlier."""
    if action == first:
        return _INFINITE
    bonus = 0.1 if action in (killers[0], killers[1]) else 0.0
    return values[action] + bonus


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def improve(level, action, value, scratch):
    """Record the value of an action in the frame of its level, and at the root also in scratch.scores."""
    frame = scratch.frames[level]
    if value > frame["best"]:
        frame["best"], frame["move"] = value, action
        frame["alpha"] = max(frame["alpha"], value)
    if level == 0:
        scratch.scores[action] = value


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def take(level, action, value, scratch):
    """Record the value of an action by `improve`, or mark the action for a full search if a cheap one raised alpha."""
    frame = scratch.frames[level]
    if value > frame["alpha"] and (frame["trial"] == FEWER or (frame["trial"] == NARROW and value < frame["beta"])):
        frame["next"] -= 1
        frame["again"] = True
    else:
        improve(level, action, value, scratch)


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def begin_trial(frame, reductions):
    """Choose the depth and the window for the next action; return the plies and the window's upper end.

    Late moves are searched with a null window and fewer plies, see `Scratch.reductions`.
    """
    plies, high = frame["left"] - 1, frame["beta"]
    frame["trial"] = FULL
    if reductions.shape[0] and frame["next"] > 1 and not frame["again"]:
        fewer = min(reductions[plies, frame["next"] - 1], plies - 1)
        plies -= fewer
        frame["trial"], high = FEWER if fewer > 0 else NARROW, min(high, frame["alpha"] + _WIDTH)
    frame["again"] = False
    return plies, high


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def look_up(entry, key, plies, window):
    """Return whether a table entry can replace a search of `plies` plies in `window`, its value, its action or -1."""
    if entry["key"] != key:
        return False, 0.0, np.int64(-1)
    value, bound, (alpha, beta) = entry["value"], entry["bound"], window
    fits = bound == _EXACT or (bound == _AT_LEAST and value >= beta) or (bound == _AT_MOST and value <= alpha)
    return entry["depth"] >= plies and fits, value, np.int64(entry["move"])


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def store(frame, entry, killers):
    """Write the result of a frame to its table entry. After a beta cutoff, also add the best action to `killers`."""
    entry["key"], entry["value"] = frame["key"], frame["best"]
    entry["move"], entry["depth"] = frame["move"], frame["left"]
    entry["bound"] = _AT_MOST if frame["best"] <= frame["low"] else _EXACT
    if frame["best"] >= frame["beta"]:
        entry["bound"] = _AT_LEAST
        if killers[0] != frame["move"]:
            killers[0], killers[1] = frame["move"], killers[0]


@jit.allocates_nothing
def reply(level, scratch, valuation):
    """Play on in scratch.stack[level], in place, until the root's side is to move or the game is over.

    Each player makes the move whose successor has the highest value for them. Returns the number of evaluations.
    """
    state, order, guess, joint = scratch.stack[level], scratch.order[level], scratch.guess[level, 0], scratch.joint
    valued = 0
    while not state["done"] and valuation.sides[state["to_move"]] != 0:
        count = expand(level, 1, scratch, valuation)
        valued += count
        best = order[0]
        for k in range(1, count):
            if guess[order[k]] > guess[best]:
                best = order[k]
        joint[state["to_move"]] = best
        step(state, joint)
    return valued


@jit.allocates_nothing
def search(depth, start, budget, own_replies, scratch, valuation):
    """Begin or continue the search of the root, scratch.stack[0]; return whether it is complete.

    Args:
        depth: plies, at least 2.
        start: uint64 that distinguishes this root's table entries from those of other roots.
        budget: number of positions after which the search pauses; another call continues it.
        own_replies: whether other sides move as in `reply`; plies then count only moves of the root's side.
        scratch: `Scratch` with the root's frame, order and guess filled in.
        valuation: a `Valuation` whose `sides` are 0 for the root's player and partners, 1 for all others.
    """
    stack, memory, frames, place, table, killers, order, guess, _, _, joint, reductions = scratch
    sides = valuation.sides
    size = np.uint64(table.shape[0] - 1)
    level = place[0]
    while budget > 0:
        frame = frames[level]
        if frame["next"] == frame["count"] or frame["best"] >= frame["beta"]:
            store(frame, table[np.int64(frame["key"] & size)], killers[level])
            if level == 0:
                return True
            level -= 1
            value = frame["best"] if sides[frame["mover"]] == sides[frames[level]["mover"]] else -frame["best"]
            take(level, order[level, frames[level]["next"] - 1], value, scratch)
            continue
        action = order[level, frame["next"]]
        frame["next"] += 1
        if guess[level, 1, action] > 0:
            improve(level, action, guess[level, 0, action], scratch)
            continue
        below = level + 1
        stack[below] = stack[level]
        joint[frame["mover"]] = action
        step(stack[below], joint)
        if own_replies:
            budget -= reply(below, scratch, valuation)
            if stack[below]["done"]:
                value = stack[below]["rewards"][frame["mover"]] * (_CERTAIN + _SOONER * (frame["left"] - 1))
                improve(level, action, value, scratch)
                continue
        mover = np.int64(stack[below]["to_move"])
        same = sides[mover] == sides[frame["mover"]]
        remaining, high = begin_trial(frame, reductions)
        alpha, beta = (frame["alpha"], high) if same else (-high, -frame["alpha"])
        key = digest_of(memory[below], start)
        known, value, first = look_up(table[np.int64(key & size)], key, remaining, (alpha, beta))
        if not known:
            count = expand(below, depth - below, scratch, valuation)
            budget -= count
            if remaining == 1:
                known = True
                value = -_INFINITE
                for k in range(count):
                    value = max(value, guess[below, 0, order[below, k]])
        if known:
            take(level, action, value if same else -value, scratch)
            continue
        sort_actions(order[below], count, guess[below, 0], first, killers[below])
        inner = frames[below]
        inner["alpha"], inner["beta"], inner["low"], inner["best"] = alpha, beta, alpha, -_INFINITE
        inner["key"], inner["mover"], inner["move"] = key, mover, -1
        inner["count"], inner["next"], inner["left"], inner["again"] = count, 0, remaining, False
        level = below
    place[0] = level
    return False


class _Kernels(NamedTuple):
    """The compiled templates for one game and one kind of value function."""

    expand: Callable[..., Any]
    search: Callable[..., Any]


@cache
def _kernels(kernels: Kernels, kind: str, find: Callable[..., Any] | None) -> _Kernels:
    bound: dict[str, Any] = {"legal_mask": kernels.legal_mask, "step": advance_for(kernels), "observe": kernels.observe}
    bound["evaluate"] = jit.specialise(horizon.TEMPLATES[kind], **bound, **({} if find is None else {"find": find}))
    bound["expand"] = jit.specialise(expand, **bound)
    bound["reply"] = jit.specialise(reply, **bound)
    return _Kernels(bound["expand"], jit.specialise(search, **bound))


class AlphaBeta(Agent):
    """Searches to a fixed depth or for a fixed time, and evaluates the leaves with a trained value function.

    Plays games of perfect information without chance after the start, in which one player acts at a time. With more
    than two sides, it assumes that all others play against it or, with `replies="own"`, that each plays for itself.
    """

    name = "alphabeta"
    plays = {"simultaneous": False, "hidden_information": False}
    reaches = {"path": "file"}

    def __init__(
        self,
        path: str | Path | Network | NTuples = "",
        depth: int = 5,
        seconds: float | None = None,
        reduce: float = 0.0,
        replies: str = "worst",
    ) -> None:
        """Load the value function.

        Args:
            path: a run folder or file of an n-tuple network, or of a network with values. Without a path, all leaves
                have value 0, so the search sees only finished games.
            depth: plies to look ahead; with `seconds`, the largest depth.
            seconds: time for each decision. The result is then not reproducible, because the depth depends on the
                machine and its load. By default, the search has no time limit.
            reduce: strength of late-move reductions; 0 disables them. The depth of an action's search is reduced by
                `reduce` times log(depth) times log(place in the order). An action whose reduced search beats the best
                action is searched again at full depth. Reductions let the search look further ahead in the same time,
                but it may overlook a good move.
            replies: how the search expects the other sides to move. "worst": the moves that are worst for the searching
                player. "own": each side's own best move, found one ply deep; `depth` then counts only the plies of the
                searching side.

        Raises:
            FileNotFoundError: there is no such path.
            BadNetworkFile: the file is damaged or no network.
            ValueError: a parameter out of range, or a network without values.
        """
        within(1, MOST_PLIES, depth=depth)
        within(0.0, 10.0, reduce=reduce)
        if seconds is not None:
            within(1e-6, 1e6, seconds=seconds)
        choice("replies", replies, ("worst", "own"))
        self.depth, self.seconds, self.reduce, self.replies = depth, seconds, reduce, replies
        self.values: Network | NTuples | None = None
        if isinstance(path, (Network, NTuples)):
            self.values = path
        elif str(path):
            self.values = load_values(Path(path))
        if isinstance(self.values, Network):
            info = self.values.info
            if info.kind == "policy" or info.encoding != "flat" or info.shared:
                raise ValueError(
                    f"{path}: alphabeta needs values, of flat observations and without shared layers; this network has "
                    "no such ones"
                )
        self._game: Game | None = None

    def check(self, game: Game) -> None:
        """Raise ValueError, naming the reason, if the agent cannot play `game`."""
        super().check(game)
        game.check_rewards(f"agent {self.name}")
        if len(game.teams) < 2:
            raise ValueError(f"agent {self.name} plays games of two sides or more; {game} does not fit")
        if len(game.teams) > 2 and isinstance(self.values, Network):
            raise ValueError(f"agent {self.name} takes a network in games of two sides alone; {game} does not fit")
        if game.chance == "play":
            raise ValueError(f"agent {self.name} plays only games without chance; {game} does not fit")
        if self.values is not None:
            self.values.check(game)

    def policy(self, view: View) -> np.ndarray:
        """Return float64 (n, num_actions): 1 for the best action. The seed decides between equal actions."""
        scores = self.scores(view)
        out = np.zeros(scores.shape)
        rows = np.flatnonzero(view.masks.any(axis=1))
        out[rows, np.nanargmax(scores[rows], axis=1)] = 1
        return out

    def action_values(self, view: View) -> np.ndarray:
        """Return the value of the best action, float64 (n, num_actions); all others are NaN.

        The best action's value is NaN, too, unless it is a proven win or loss, or comes from a network in a game of two
        sides. With more than two sides, only wins are proven, because the search assumes that all others join forces.
        """
        game, scores = view.game, self.scores(view)
        out, rows = np.full(scores.shape, np.nan), np.flatnonzero(view.masks.any(axis=1))
        best = np.nanargmax(scores[rows], axis=1)
        found = scores[rows, best]
        proved = np.abs(found) > _PROVED if len(game.teams) == 2 else found > _PROVED
        known = proved | ((self.values is not None) & (len(game.teams) == 2))
        out[rows, best] = np.where(known, np.clip(found, -1, 1), np.nan) / game.sharers[view.players[rows]]
        return out

    @kept
    def scores(self, view: View) -> np.ndarray:
        """Return the best action's score and upper bounds for the others: float64 (n, num_actions), NaN where illegal.

        A proven win scores slightly above 2 and a proven loss slightly below -2; the sooner the game ends, the further
        from 0. A forced action is not searched: its score is the value of its successor. Without a value function, each
        round of a match is searched as a separate game.
        """
        return by_round(view, self._values) if self.values is None else self._values(view)

    def _values(self, view: View) -> np.ndarray:
        game = view.game
        if self._game is not game:
            self.check(game)
            own = self.replies == "own"
            self._game, self._search = game, _Search(game, self.values, self.depth, self.reduce, own)
        out = np.full(view.masks.shape, np.nan)
        worlds = view.sample_worlds()
        seeds = rng.stream_seeds(view.seeds, rng.Stream.SEARCH)
        for i in np.flatnonzero(view.masks.any(axis=1)):
            self._search(worlds[i : i + 1], int(seeds[i]), self.depth, self.seconds, out[i])
        return out


def reductions_of(reduce: float, depth: int, actions: int) -> np.ndarray:
    """Return `Scratch.reductions` for late-move reductions of strength `reduce`."""
    if not reduce:
        return np.zeros((0, 0), np.int32)
    plies, place = np.log(np.maximum(np.arange(depth + 1), 1)), np.log(np.arange(1, actions + 1))
    return (reduce * plies[:, None] * place).astype(np.int32)


class _Search:
    """The memory for searches of one game, reused for each decision."""

    def __init__(
        self, game: Game, values: Network | NTuples | None, depth: int, reduce: float, own_replies: bool
    ) -> None:
        self.own_replies = own_replies
        actions = game.num_actions
        stack = np.repeat(game.prototype, depth + 1)
        words = stack.view(np.uint64).reshape(depth + 1, -1)
        self.scratch = Scratch(
            stack=stack,
            memory=words[:, position_start(game.state_dtype) // 8 :],
            frames=np.zeros(depth + 1, FRAME),
            place=np.zeros(1, np.int64),
            table=np.zeros(_ENTRIES, ENTRY),
            killers=np.full((depth + 1, 2), -1, np.int32),
            order=np.zeros((depth + 1, actions), np.int32),
            guess=np.zeros((depth + 1, 2, actions)),
            scores=np.zeros(actions),
            legal=np.zeros(actions, np.bool_),
            joint=np.zeros(game.num_players, np.int64),
            reductions=reductions_of(reduce, depth, actions),
        )
        self.teams = game.sides
        find, count = None, 0
        weights, form, kind = np.zeros(1, np.float32), np.zeros(1, np.int64), "nothing"
        if isinstance(values, NTuples):
            patterns = game.patterns
            assert patterns is not None  # checked before
            weights, kind, find, count = values.weights, "patterns", patterns.find, patterns.number
        elif values is not None:
            weights, form = horizon.flattened(values)
            kind = "network"
        self.valuation = horizon.Valuation(
            sides=np.zeros(game.num_players, np.int64),
            weights=weights,
            form=form,
            present=np.zeros(count, np.int64),
            features=np.zeros(game.observation_size, np.int8),
            activations=np.zeros((2, int(form[4:].max(initial=1))), np.float32),
            legal=np.zeros(actions, np.bool_),
        )
        self.kernels = _kernels(game.kernels, kind, find)
        self.searches = 0

    def __call__(self, root: np.ndarray, seed: int, depth: int, seconds: float | None, out: np.ndarray) -> None:
        """Search ever deeper, until `depth` or the time limit; write the scores of the root's actions to `out`."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        self.searches += 1
        start = np.uint64(rng.mix(np.uint64(self.searches)))
        scratch = self.scratch
        scratch.stack[0] = root[0]
        self.valuation.sides[:] = self.teams != self.teams[root["to_move"][0]]
        scratch.killers[:] = -1
        count = self.kernels.expand(0, depth, scratch, self.valuation)
        actions = scratch.order[0, :count].copy()
        scores = scratch.guess[0, 0].copy()
        # Shuffle the actions to break ties at random, because the search prefers the first of equal actions.
        actions = np.random.default_rng(seed).permutation(actions)
        out[actions] = scores[actions]
        for plies in range(2, depth + 1):
            best = scores[actions].max()
            if count == 1 or best > _PROVED or time.monotonic() >= deadline:
                break
            actions = actions[np.argsort(-scores[actions], kind="stable")]
            scratch.order[0, :count] = actions
            frame = scratch.frames[0]
            frame["alpha"] = frame["low"] = frame["best"] = -_INFINITE
            frame["beta"], frame["key"], frame["mover"] = _INFINITE, start, root["to_move"][0]
            frame["move"], frame["count"], frame["next"] = -1, count, 0
            frame["left"], frame["again"] = plies, False
            scratch.scores[:], scratch.place[0] = -_INFINITE, 0
            done = False
            while not done and time.monotonic() < deadline:
                done = self.kernels.search(plies, start, _CHUNK, self.own_replies, scratch, self.valuation)
            bounds = scratch.scores.copy()
            # If time runs out, actions not searched to this depth get a score below that of all others.
            if not done and bounds.max() == -_INFINITE:
                break
            scores = bounds
            out[actions] = np.where(bounds[actions] == -_INFINITE, -_CERTAIN - 1, bounds[actions])
            if not done:
                break
        # Only the best action's score is exact. Bounds of other actions may equal it, so lower them slightly.
        best_action = actions[np.argmax(out[actions])]
        others = actions[actions != best_action]
        out[others] = np.minimum(out[others], np.nextafter(out[best_action], -np.inf))
