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
    KINDS,
    NO_ABILITY,
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
    height,
    lesser_standings,
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
        values: float64 (positions, draws), for the Placer, with no idle turns yet; nan where not solved.
        draws: float64 (draws,), what a drawn round is worth to the Placer. They are mirrored: draws[-1 - d] is
            -draws[d], so that values[..., -1 - d] is what the next Placer makes of it.
    """

    values: np.ndarray
    draws: np.ndarray


class Turn(NamedTuple):
    """What the Placer may do in one turn, and room to work.

    Attributes:
        action: int64 (28,), the placement.
        room: int64 (28,), ascending; NOWHERE for a pass.
        waits: bool (28,), whether nothing but the idle turns changes when it is blocked; a pass waits anyway.
        free: float64 (draws, 28), what he gets if it is not predicted.
        blocked: float64 (draws, 28), what he gets if it is; not filled where it waits.
        mask: bool (2, actions), for rules.legal_mask.
        trial: states (2,), to try out what follows.
        actions: int64 (2,).
    """

    action: np.ndarray
    room: np.ndarray
    waits: np.ndarray
    free: np.ndarray
    blocked: np.ndarray
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
        np.zeros((2, rules.NUM_ACTIONS), np.bool_),
        np.zeros(2, rules.STATE),
        np.zeros(2, np.int64),
    )


@kernel
def fill_turn(states, i, book, solution, turn):
    """Fill a Turn with the placements in states[i]; gives how many there are.

    The state is in phase TURN, with no idle turns and ENDLESS of them allowed. What follows is solved already.
    """
    placer = np.int64(states[i]["placer"])
    rules.legal_mask(states[i], placer, turn.mask[0])
    n = 0
    if turn.mask[0, PASS]:
        turn.action[0], turn.room[0], turn.waits[0] = PASS, NOWHERE, True
        n = 1
    for room in range(ROOMS):
        for action in range(PLACE + room, PLACE + room + ROOMS * KINDS, ROOMS):
            if turn.mask[0, action]:
                turn.action[n], turn.room[n] = action, room
                turn.free[:, n] = -np.inf
                follow(states, i, action, PASS, turn)
                if turn.trial[0]["phase"] == ABILITY:
                    best_ability(book, solution, turn, turn.free[:, n])
                else:
                    improve(turn, 0, placer, (book, solution), turn.free[:, n])
                follow(states, i, action, PREDICT + room, turn)
                turn.waits[n] = turn.trial[0]["idle"] > 0
                if not turn.waits[n]:
                    turn.blocked[:, n] = -np.inf
                    improve(turn, 0, placer, (book, solution), turn.blocked[:, n])
                n += 1
    return n


@kernel
def follow(states, i, placement, prediction, turn):
    """Play a turn from states[i] in turn.trial[0]. A PASS predicts nothing."""
    placer = np.int64(states[i]["placer"])
    turn.actions[placer], turn.actions[1 - placer] = placement, prediction
    turn.trial[0] = states[i]
    rules.step(turn.trial[0], turn.actions)


@kernel
def best_ability(book, solution, turn, out):
    """Raise out float64 (draws,) to what the best use of the ability that is pending in turn.trial[0] is worth."""
    placer = np.int64(turn.trial[0]["placer"])
    rules.legal_mask(turn.trial[0], placer, turn.mask[1])
    for action in range(REMOVE, NO_ABILITY + 1):
        if turn.mask[1, action]:
            turn.trial[1] = turn.trial[0]
            turn.actions[placer] = action
            rules.step(turn.trial[1], turn.actions)
            improve(turn, 1, placer, (book, solution), out)


@kernel
def improve(turn, k, player, known, out):
    """Raise out float64 (draws,) to what turn.trial[k], the end of a turn, is worth to the player who has placed."""
    book, solution = known
    state = turn.trial[k]
    draws = out.shape[0]
    if state["done"]:
        reward = state["rewards"][player]
        for d in range(draws):
            out[d] = max(out[d], reward if reward != 0 else solution.draws[d])
    else:
        position = position_of(state, 1 - player, book)
        for d in range(draws):
            out[d] = max(out[d], -solution.values[position, draws - 1 - d])


@kernel
def solve_idle(turn, n, d, waiting, limits):
    """The value of a turn for the Placer if a turn that changes nothing is worth `waiting` to him."""
    for a in range(n):
        if turn.waits[a]:
            turn.blocked[d, a] = waiting
            if turn.room[a] == NOWHERE:
                turn.free[d, a] = waiting
    return solve(turn.room[:n], turn.free[d, :n], turn.blocked[d, :n], limits)[0]


@kernel
def count_down(turns, counts, d, limits, left):
    """Values of two positions that are one, but for the Placer, from the draw after the last idle turn on.

    Args:
        turns: two Turns.
        counts: the number of placements of each.
        d: which worth of a draw it has to the first Placer; the last but d to the other.
        limits: for `solve`, of each.
        left: the draw's worth to the first Placer, and how many idle turns there are before it.

    Returns the value for the first Placer, for the other, and what waiting was worth to each.
    """
    draw, idle_turns = left
    other = turns[1].free.shape[0] - 1 - d
    x, y, before_x, before_y = draw, -draw, draw, -draw
    for _ in range(idle_turns):
        before_x, before_y = -y, -x
        new_x = solve_idle(turns[0], counts[0], d, before_x, limits[0])
        new_y = solve_idle(turns[1], counts[1], other, before_y, limits[1])
        if new_x == x and new_y == y:
            break
        x, y = new_x, new_y
    return x, y, before_x, before_y


@kernel
def solve_boards(states, book, solution, turns, idle_turns):
    """Solve all positions of two standings, with either Placer.

    Args:
        states: structured (2,), with these standings, player k to place in states[k], otherwise as in `fill_turn`.
        book: Book.
        solution: Solution; positions of lesser standings are solved.
        turns: two Turns.
        idle_turns: that make a draw.
    """
    own = book.standing[standing_of(states[0], 0)]
    other = book.standing[standing_of(states[0], 1)]
    limits = prediction_limits(states[0]), prediction_limits(states[1])
    for board in range(book.code.shape[0]):
        first = book.first[own, other, book.group[board]] + board
        if first < 0 or book.over[board]:
            continue
        put_board(states, 0, book.code[board])
        second = position_of(states[1], 1, book)
        if second < 0 or (own == other and second < first):
            continue  # the same as the other one's, which is solved
        counts = (
            fill_turn(states, 0, book, solution, turns[0]),
            fill_turn(states, 1, book, solution, turns[1]),
        )
        draws = solution.draws.shape[0]
        for d in range(draws):
            x, y, _, _ = count_down(turns, counts, d, limits, (solution.draws[d], idle_turns))
            solution.values[first, d], solution.values[second, draws - 1 - d] = x, y


@kernel
def prediction_limits(state):
    """For `matrix.solve`: how many rooms the Predictor predicts at least and at most."""
    most = 2 if state["hacker_on"][1 - state["placer"]] else 1
    return (0 if state["allow_pass"] else most), most


class Rounds:
    """Rounds solved as far as they have been asked for."""

    def __init__(self, hands: tuple[int, ...], idle_turns: int, may_pass: bool, draws: np.ndarray) -> None:
        """Each player may begin with any of these standings; `idle_turns` make a draw, worth `draws`, see Solution."""
        self.book, positions = make_book(hands)
        self.idle_turns = idle_turns
        self.may_pass = may_pass
        self.solution = Solution(np.full((positions, len(draws)), np.nan), np.array(draws, np.float64))
        self._solved: set[tuple[int, int]] = set()

    def has(self, own: int, other: int) -> bool:
        """Whether such rounds are among those that may begin."""
        numbers = self.book.standing[[own, other]]
        return bool((numbers >= 0).all() and self.book.first[numbers[0], numbers[1], 0] + self.book.board[0] >= 0)

    def ensure(self, own: int, other: int) -> None:
        """Solve all that can follow from these standings."""
        wanted = [(a, b) for a in lesser_standings(own) for b in lesser_standings(other)]
        states = self.posed(np.zeros(2, rules.STATE))
        states["phase"], states["to_move"], states["pending"] = TURN, SIMULTANEOUS, NOWHERE
        states["placer"] = 0, 1
        turns = make_turn(len(self.solution.draws)), make_turn(len(self.solution.draws))
        for pair in sorted(wanted, key=lambda pair: height(pair[0]) + height(pair[1])):
            if pair in self._solved:
                continue
            for player, standing in enumerate(pair):
                put_standing(states, player, standing)
            solve_boards(states, self.book, self.solution, turns, self.idle_turns)
            self._solved |= {pair, pair[::-1]}

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
