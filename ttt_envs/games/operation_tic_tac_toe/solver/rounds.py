"""All positions of a round, solved by backward induction.

A turn is a matrix game, see `matrix`. An ability is used once and a specialist never returns, so that what the players
hold only becomes less, and while it stays the same, the board fills up. Only one thing leaves everything as it was: a
spy that is blocked, or a pass. But that counts one idle turn more, and so it goes backward there too: from the draw
after the last idle turn to none.
"""

# mypy: disable-error-code="no-untyped-def"

from typing import NamedTuple

import numpy as np

from ttt_envs.core.jit import kernel
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import (
    ABILITY,
    EMPTY,
    KINDS,
    NO_ABILITY,
    NONE,
    NOWHERE,
    PASS,
    PLACE,
    PREDICT,
    REMOVE,
    ROOMS,
    TURN,
)
from ttt_envs.games.operation_tic_tac_toe.solver.matrix import solve
from ttt_envs.games.operation_tic_tac_toe.solver.positions import (
    Book,
    digits_of,
    height,
    lesser_standings,
    locate,
    make_book,
    position_of,
    put_board,
    put_standing,
    standing_of,
)

# So many idle turns never end the round: they are counted here, and not by the rules.
ENDLESS = 99

#: Of a turn: a pass, and a spy and two specialists into each room.
MOST_PLACEMENTS = 1 + 3 * ROOMS


class Solution(NamedTuple):
    """What positions are worth, for several worths of a draw at once.

    Attributes:
        values: float64 (positions + 3, draws), for the Placer, with no idle turns yet; nan where not solved. The last
            rows are what the end of a round is worth to him who would place next: see DRAWN, WON and LOST.
        draws: float64 (draws,), what a drawn round is worth to the Placer. They are mirrored: draws[-1 - d] is
            -draws[d], so that values[..., -1 - d] is what the next Placer makes of it.
    """

    values: np.ndarray
    draws: np.ndarray


#: Instead of the position after a turn: the round is over, and for the player who has placed it is this.
DRAWN, WON, LOST = -1, -2, -3


def make_solution(positions: int, draws: np.ndarray) -> Solution:
    """Nothing solved yet; `draws` are mirrored."""
    values = np.full((positions + 3, len(draws)), np.nan)
    values[DRAWN], values[WON], values[LOST] = draws, -1, 1
    return Solution(values, np.array(draws, np.float64))


class Turn(NamedTuple):
    """What the Placer may do in one turn, and room to work.

    Attributes:
        action: int64 (28,), the placement.
        room: int64 (28,), ascending; NOWHERE for a pass.
        waits: bool (28,), whether nothing but the idle turns changes when it is blocked; a pass waits anyway.
        free: float64 (draws, 28), what he gets if it is not predicted.
        blocked: float64 (draws, 28), what he gets if it is; not filled where it waits.
        first: int64 (9,), the first placement of each kind, or NONE.
        mask: bool (2, actions), for rules.legal_mask.
        trial: states (2,), to try out what follows.
        actions: int64 (2,).
    """

    action: np.ndarray
    room: np.ndarray
    waits: np.ndarray
    free: np.ndarray
    blocked: np.ndarray
    first: np.ndarray
    mask: np.ndarray
    trial: np.ndarray
    actions: np.ndarray


def make_turn(draws: int) -> Turn:
    """An empty Turn."""
    return Turn(
        np.zeros(MOST_PLACEMENTS, np.int64),
        np.zeros(MOST_PLACEMENTS, np.int64),
        np.zeros(MOST_PLACEMENTS, np.bool_),
        np.zeros((draws, MOST_PLACEMENTS)),
        np.zeros((draws, MOST_PLACEMENTS)),
        np.zeros(KINDS, np.int64),
        np.zeros((2, rules.NUM_ACTIONS), np.bool_),
        np.zeros(2, rules.STATE),
        np.zeros(2, np.int64),
    )


@kernel
def fill_turn(states, i, known, turn):
    """Fill a Turn with the placements in states[i]; gives how many there are.

    The state is in phase TURN, with no idle turns and ENDLESS of them allowed.

    Args:
        states, i: the state.
        known: the lookup of a Book; the values of a Solution, in which all that can follow is solved.
        turn: Turn.
    """
    lookup, values = known
    # Taken apart, since kernels are slow to take many arrays.
    room, waits, free, blocked, mask = turn.room, turn.waits, turn.free, turn.blocked, turn.mask
    trial, actions, first = turn.trial, turn.actions, turn.first
    placer = np.int64(states[i]["placer"])
    rules.legal_mask(states[i], placer, mask[0])
    first[:] = NONE
    n = 0
    if mask[0, PASS]:
        turn.action[0], room[0], waits[0] = PASS, NOWHERE, True
        n = 1
    for to in range(ROOMS):
        for kind in range(KINDS):
            action = PLACE + ROOMS * kind + to
            if mask[0, action]:
                turn.action[n], room[n] = action, to
                trial[0] = states[i]
                play(trial, actions, action, PASS)
                free[:, n] = -np.inf
                if trial[0]["phase"] == ABILITY:
                    rules.legal_mask(trial[0], placer, mask[1])
                    for ability in range(REMOVE, NO_ABILITY + 1):
                        if mask[1, ability]:
                            trial[1] = trial[0]
                            play(trial[1:], actions, ability, NONE)
                            improve(values, after_turn(trial, 1, placer, lookup), free, n)
                else:
                    improve(values, after_turn(trial, 0, placer, lookup), free, n)
                # A piece that was blocked leaves no trace of the room.
                if first[kind] == NONE:
                    first[kind] = n
                    trial[0] = states[i]
                    play(trial, actions, action, PREDICT + to)
                    waits[n] = trial[0]["idle"] > 0
                    if not waits[n]:
                        blocked[:, n] = -np.inf
                        improve(values, after_turn(trial, 0, placer, lookup), blocked, n)
                waits[n] = waits[first[kind]]
                for d in range(blocked.shape[0]):
                    blocked[d, n] = blocked[d, first[kind]]
                n += 1
    return n


@kernel
def play(trial, actions, action, prediction):
    """Step trial[0]: a placement against a prediction, or the use of an ability. A PASS predicts nothing."""
    placer = np.int64(trial[0]["placer"])
    actions[placer], actions[1 - placer] = action, prediction
    rules.step(trial[0], actions)


@kernel
def after_turn(trial, k, placer, lookup):
    """The position that trial[k] is, seen by the next Placer; or DRAWN, WON or LOST for the player who has placed."""
    if not trial[k]["done"]:
        return position_of(trial[k], 1 - placer, lookup)
    reward = trial[k]["rewards"][placer]
    return np.int64(DRAWN if reward == 0 else WON if reward > 0 else LOST)


@kernel
def improve(values, position, out, n):
    """Raise out[:, n], float64 (draws,), to what a position is worth to the player who has placed."""
    draws = out.shape[0]
    for d in range(draws):
        out[d, n] = max(out[d, n], -values[position, draws - 1 - d])


@kernel
def count_down(turns, counts, d, limits, left):
    """Values of two positions that are one, but for the Placer, from the draw after the last idle turn on.

    Args:
        turns: two Turns.
        counts: the number of placements of each.
        d: which worth of a draw it has to the first Placer; the last but d to the other.
        limits: for `matrix.solve`, of each.
        left: the draw's worth to the first Placer, and how many idle turns there are before it.

    Returns the values for the first Placer and for the other. `blocked` of the Turns, and `free` of a pass, become what
    they are with so many idle turns left.
    """
    draw, idle_turns = left
    one = part_of(turns[0], counts[0], d)
    two = part_of(turns[1], counts[1], turns[1].free.shape[0] - 1 - d)
    x, y = draw, -draw
    for _ in range(idle_turns):
        wait_for(-y, one)
        wait_for(-x, two)
        new_x, new_y = solve(one[0], one[2], one[3], limits[0])[0], solve(two[0], two[2], two[3], limits[1])[0]
        if new_x == x and new_y == y:
            break
        x, y = new_x, new_y
    return x, y


@kernel
def part_of(turn, n, d):
    """The first n placements of a Turn, with one worth of a draw: room, waits, free, blocked."""
    return turn.room[:n], turn.waits[:n], turn.free[d, :n], turn.blocked[d, :n]


@kernel
def wait_for(worth, part):
    """Put in what it is worth to the Placer if nothing but the idle turns changes; `part` as of `part_of`."""
    room, waits, free, blocked = part
    for a in range(room.shape[0]):
        if waits[a]:
            blocked[a] = worth
            if room[a] == NOWHERE:
                free[a] = worth


@kernel
def solve_both(states, numbers, known, turns, idle_turns):
    """Solve a position with either Placer.

    Args:
        states: structured (2,), in the form of `fill_turn`, with player k to place in states[k].
        numbers: of the two positions, each as its Placer sees it.
        known: the lookup of a Book, and a Solution with all that can follow.
        turns: two Turns.
        idle_turns: that make a draw.
    """
    lookup, solution = known
    counts = (
        fill_turn(states, 0, (lookup, solution.values), turns[0]),
        fill_turn(states, 1, (lookup, solution.values), turns[1]),
    )
    limits = prediction_limits(states[0]), prediction_limits(states[1])
    draws = solution.draws.shape[0]
    for d in range(draws):
        x, y = count_down(turns, counts, d, limits, (solution.draws[d], idle_turns))
        solution.values[numbers[0], d], solution.values[numbers[1], draws - 1 - d] = x, y


@kernel
def solve_boards(states, book, solution, turns, idle_turns):
    """As `solve_both`, for all boards with the standings in `states`; those of lesser standings are solved."""
    own = book.standing[standing_of(states[0], 0)]
    other = book.standing[standing_of(states[0], 1)]
    for board in range(book.code.shape[0]):
        first = book.first[own, other, book.group[board]] + board
        if first < 0 or book.over[board]:
            continue
        put_board(states, 0, book.code[board])
        second = position_of(states[1], 1, book.lookup)
        # With equal standings both may be one board; or the other one's, which is solved already.
        if second >= 0 and (own != other or second >= first):
            solve_both(states, (first, second), (book.lookup, solution), turns, idle_turns)


@kernel
def solve_positions(states, positions, book, solution, turns, idle_turns):
    """As `solve_both`, for positions int64 (n, 3), as `locate` gives them for player 0, in an order that allows it."""
    for k in range(positions.shape[0]):
        put_positions(states, positions[k : k + 1], book)
        numbers = position_of(states[0], 0, book.lookup), position_of(states[1], 1, book.lookup)
        solve_both(states, numbers, (book.lookup, solution), turns, idle_turns)


@kernel
def prediction_limits(state):
    """For `matrix.solve`: how many rooms the Predictor predicts at least and at most."""
    most = 2 if state["hacker_on"][1 - state["placer"]] else 1
    return (0 if state["allow_pass"] else most), most


# --- what can be reached ---


@kernel
def reach(states, queue, bounds, seen, known):
    """Add to a queue what follows from its positions in one turn, if it has not been seen; gives where the queue ends.

    Args:
        states: structured (2,), in the form of `fill_turn`, with player k to place in states[k]; to be filled.
        queue: int64 (positions, 3), as `locate` gives them for player 0.
        bounds: the first in the queue to go on from, and where it ends.
        seen: bool (positions,), as player 0 sees them.
        known: Book, Turn.
    """
    book, turn = known
    first, end = bounds
    for k in range(first, bounds[1]):
        put_positions(states, queue[k : k + 1], book)
        for i in range(2):
            rules.legal_mask(states[i], i, turn.mask[0])
            for action in range(PREDICT):
                if turn.mask[0, action]:
                    for prediction in (PREDICT + action % ROOMS, PASS):
                        turn.trial[0] = states[i]
                        play(turn.trial, turn.actions, action, prediction)
                        end = note(turn, queue, end, seen, book.lookup)
    return end


@kernel
def note_starts(starts, queue, seen, known):
    """Put states in phase TURN or ABILITY into an empty queue; gives where it ends."""
    book, turn = known
    end = 0
    for i in range(starts.shape[0]):
        turn.trial[0] = starts[i]
        end = note(turn, queue, end, seen, book.lookup)
    return end


@kernel
def note(turn, queue, end, seen, lookup):
    """Add turn.trial[0] to a queue, or all that an ability that is pending in it may lead to."""
    if turn.trial[0]["phase"] != ABILITY:
        return note_one(turn.trial[0], queue, end, seen, lookup)
    rules.legal_mask(turn.trial[0], turn.trial[0]["placer"], turn.mask[1])
    for ability in range(REMOVE, NO_ABILITY + 1):
        if turn.mask[1, ability]:
            turn.trial[1] = turn.trial[0]
            play(turn.trial[1:], turn.actions, ability, NONE)
            end = note_one(turn.trial[1], queue, end, seen, lookup)
    return end


@kernel
def note_one(state, queue, end, seen, lookup):
    """Add a state to a queue if the round goes on in it and it has not been seen; gives where the queue ends."""
    if not state["done"]:
        position = position_of(state, 0, lookup)
        if not seen[position]:
            seen[position] = True
            queue[end, 0], queue[end, 1], queue[end, 2] = locate(state, 0, lookup)
            end += 1
    return end


@kernel
def put_positions(states, positions, book):
    """Put the k-th of positions int64 (n, 3), as `locate` gives them for player 0, into states 2k and 2k + 1."""
    for k in range(positions.shape[0]):
        both = states[2 * k : 2 * k + 2]
        put_standing(both, 0, book.standings[positions[k, 0]])
        put_standing(both, 1, book.standings[positions[k, 1]])
        put_board(both, 0, book.code[positions[k, 2]])


def reachable(states: np.ndarray, starts: np.ndarray, seen: np.ndarray, book: Book) -> np.ndarray:
    """All positions that the rules allow after some states, and they themselves, but for those seen before.

    Args:
        states: structured (2,), as for `reach`.
        starts: structured (n,), in the form of `fill_turn`, in phase TURN or ABILITY.
        seen: bool (positions,), as player 0 sees them; changed.
        book: Book.

    Returns them as `locate` gives them for player 0: int64 (n, 3).
    """
    queue, turn = np.empty((len(seen) - int(seen.sum()), 3), np.int64), make_turn(1)
    first, end = 0, note_starts(starts, queue, seen, (book, turn))
    while first < end:
        first, end = end, reach(states, queue, (first, end), seen, (book, turn))
    return queue[:end].copy()


def levels(queue: np.ndarray, book: Book) -> list[np.ndarray]:
    """Positions as of `reachable`, in parts: what may follow from one of them is in an earlier part, or is the same."""
    if not len(queue):
        return []
    heights = np.array([height(int(standing)) for standing in book.standings])
    rank = heights[queue[:, 0]] + heights[queue[:, 1]]
    empty = (digits_of(book.code) == EMPTY).sum(axis=1)[queue[:, 2]]
    order = np.lexsort([empty, rank])
    changes = np.flatnonzero(np.diff(rank[order]) | np.diff(empty[order])) + 1
    return np.split(queue[order], changes)


# --- as far as they are asked for ---


class Rounds:
    """Rounds solved as far as they have been asked for."""

    def __init__(
        self, hands: tuple[int, ...], idle_turns: int, may_pass: bool, draws: np.ndarray, most: int | None = None
    ) -> None:
        """`hands` and `most` as for `make_book`; `idle_turns` make a draw, worth `draws`, see Solution."""
        self.book = make_book(hands, most)
        self.idle_turns = idle_turns
        self.may_pass = may_pass
        self.solution = make_solution(self.book.positions, draws)
        self._solved: set[tuple[int, int]] = set()
        self._turns = make_turn(len(draws)), make_turn(len(draws))
        self._states = self.posed(np.zeros(2, rules.STATE))
        self._states["phase"], self._states["to_move"], self._states["pending"] = TURN, SIMULTANEOUS, NOWHERE
        self._states["placer"] = 0, 1

    def has(self, own: int, other: int) -> bool:
        """Whether such rounds are among those that may begin."""
        numbers = self.book.standing[[own, other]]
        return bool((numbers >= 0).all() and self.book.first[numbers[0], numbers[1], 0] + self.book.board[0] >= 0)

    def ensure(self, own: int, other: int) -> None:
        """Solve all positions with these standings, and with what may become of them."""
        wanted = [(a, b) for a in lesser_standings(own) for b in lesser_standings(other)]
        for pair in sorted(wanted, key=lambda pair: height(pair[0]) + height(pair[1])):
            if pair in self._solved:
                continue
            for player, standing in enumerate(pair):
                put_standing(self._states, player, standing)
            solve_boards(self._states, self.book, self.solution, self._turns, self.idle_turns)
            self._solved |= {pair, pair[::-1]}

    def ensure_after(self, states: np.ndarray) -> None:
        """Solve only what may follow from some states of the book, in phase TURN or ABILITY, and they themselves."""
        seen = ~np.isnan(self.solution.values[: self.book.positions, 0])
        queue = reachable(self._states, self.posed(states), seen, self.book)
        for level in levels(queue, self.book):
            solve_positions(self._states, level, self.book, self.solution, self._turns, self.idle_turns)

    def start_values(self, own: int, other: int) -> np.ndarray:
        """Values of a round for the player who places first, with these standings: float64 (draws,)."""
        numbers = self.book.standing[[own, other]]
        values = self.solution.values[self.book.first[numbers[0], numbers[1], 0] + self.book.board[0]]
        return np.asarray(values)

    def posed(self, states: np.ndarray) -> np.ndarray:
        """Copies of states in the form that the kernels want: a single round without an end by idleness."""
        states = states.copy()
        states["is_match"], states["done"], states["draw_offers"] = False, False, False
        states["idle"], states["max_idle_turns"], states["allow_pass"] = 0, ENDLESS, self.may_pass
        return states
