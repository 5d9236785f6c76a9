"""Look up states in solved rounds: their values, equilibria, and the value of each action against the equilibrium."""

# mypy: disable-error-code="no-untyped-def"

from typing import NamedTuple

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import (
    ABILITY,
    NO_ABILITY,
    NONE,
    NOWHERE,
    NUM_ACTIONS,
    OFFER_DRAW,
    PAIRS,
    PASS,
    PREDICT,
    PREDICT_TWO,
    REMOVE,
    ROOMS,
    TURN,
)
from ttt_envs.games.operation_tic_tac_toe.solver.matrix import Placements, equilibrium, split_pairs
from ttt_envs.games.operation_tic_tac_toe.solver.positions import Book, position_of, standing_of
from ttt_envs.games.operation_tic_tac_toe.solver.rounds import Rounds, count_down, prediction_limits
from ttt_envs.games.operation_tic_tac_toe.solver.turns import after_turn, fill_turn, improve, make_turn, play

# Uses of an ability whose values differ by less are equally probable.
_CLOSE = 1e-11


class Answers(NamedTuple):
    """The results for n states, each from the view of one player.

    Attributes:
        value: float64 (n,), the player's expected reward if both players play optimally.
        policy: float64 (n, actions), the player's equilibrium strategy; zeros if the player does not act.
        worth: float64 (n, actions), the player's expected reward for each action if the other player plays the
            equilibrium; nan if illegal.
    """

    value: np.ndarray
    policy: np.ndarray
    worth: np.ndarray


@kernel
def answer_rows(states, asked, known, answers):
    """Write the results for all states to `answers`.

    Args:
        states: structured (n,), from `Rounds.posed`, in phase TURN or ABILITY; their positions are in the Book.
        asked: int64 (n, 2): the player whose results are wanted, and the number of idle turns until a draw.
        known: a Book, its Solution, in which all successors are solved, and two Turns as scratch memory.
        answers: Answers from `no_answers`; out.
    """
    pair = np.empty(2, states.dtype)
    for i in range(states.shape[0]):
        placer = np.int64(states[i]["placer"])
        pair[0] = states[i]
        pair[1] = states[i]
        pair[1 - placer]["placer"] = 1 - placer
        if states[i]["phase"] == ABILITY:
            answer_ability(pair, placer, known, (answers.value[i:], answers.policy[i], answers.worth[i]))
            if asked[i, 0] != placer:
                answers.policy[i] = 0
                for action in range(answers.worth.shape[1]):  # negation of a whole row takes seconds to compile
                    answers.worth[i, action] = -answers.worth[i, action]
        else:
            answer_turn(pair, (placer, asked[i]), known, (answers.value[i:], answers.policy[i], answers.worth[i]))
        if asked[i, 0] != placer:
            answers.value[i] = -answers.value[i]


@kernel
def answer_ability(states, placer, known, answer):
    """Write the Placer's results for states[placer] to `answer`: value (1,) or longer, policy and worth (actions,)."""
    book, solution, turns = known
    turn = turns[0]
    value, policy, worth = answer
    rules.legal_mask(states[placer], placer, turn.mask[0])
    d = 0 if placer == 0 else solution.draws.shape[0] - 1
    value[0] = -np.inf
    for action in range(REMOVE, NO_ABILITY + 1):
        if turn.mask[0, action]:
            turn.trial[0] = states[placer]
            play(turn.trial, turn.actions, action, NONE)
            turn.free[:, 0] = -np.inf
            improve(solution.values, after_turn(turn.trial, 0, placer, book.lookup), turn.free, 0)
            worth[action] = turn.free[d, 0]
            value[0] = max(value[0], worth[action])
    for action in range(REMOVE, NO_ABILITY + 1):
        policy[action] = worth[action] >= value[0] - _CLOSE
    policy /= policy.sum()


@kernel
def answer_turn(states, asked, known, answer):
    """Write a player's results for a turn to `answer`; in states[k], player k is the Placer.

    `asked`: the turn's Placer, and the state's row of `asked` in `answer_rows`.
    """
    book, solution, turns = known
    placer, (player, left) = asked
    value, policy, worth = answer
    counts = (
        fill_turn(states, 0, (book.lookup, solution.values), turns[0]),
        fill_turn(states, 1, (book.lookup, solution.values), turns[1]),
    )
    limits = prediction_limits(states[0]), prediction_limits(states[1])
    values = count_down(turns, counts, 0, limits, (solution.draws[0], left, False))
    value[0] = values[placer]
    turn, n = turns[placer], counts[placer]
    d = 0 if placer == 0 else solution.draws.shape[0] - 1
    placements = Placements(turn.room[:n], turn.free[d, :n], turn.blocked[d, :n])
    mix, cover = np.empty(n), np.empty(ROOMS)
    equilibrium(placements, limits[placer], mix, cover)
    if player == placer:
        for a in range(n):
            covered = cover[turn.room[a]] if turn.room[a] != NOWHERE else 0.0
            policy[turn.action[a]] = mix[a]
            worth[turn.action[a]] = placements.free[a] - covered * (placements.free[a] - placements.blocked[a])
    else:
        write_predictions(cover, limits[placer], policy)
        # The Placer's value if nothing is predicted, and by how much the prediction of each room reduces it.
        nothing, taken = 0.0, np.zeros(ROOMS)
        for a in range(n):
            nothing += mix[a] * placements.free[a]
            if turn.room[a] != NOWHERE:
                taken[turn.room[a]] += mix[a] * (placements.free[a] - placements.blocked[a])
        if limits[placer][1] == 1:
            for room in range(ROOMS):
                worth[PREDICT + room] = taken[room] - nothing
        else:
            for pair in range(len(PAIRS)):
                worth[PREDICT_TWO + pair] = taken[PAIRS[pair, 0]] + taken[PAIRS[pair, 1]] - nothing
        if states[placer]["allow_pass"]:
            worth[PASS] = -nothing


@kernel
def write_predictions(cover, limits, policy):
    """Write a Predictor's policy: it predicts each room with its probability in `cover`, and otherwise passes."""
    most = limits[1]
    if most == 1:
        for room in range(ROOMS):
            policy[PREDICT + room] = cover[room]
    else:
        pairs = np.empty((ROOMS, ROOMS))
        split_pairs(cover, pairs)
        for pair in range(len(PAIRS)):
            policy[PREDICT_TWO + pair] = pairs[PAIRS[pair, 0], PAIRS[pair, 1]] * cover.sum() / most
    if limits[0] < most:
        policy[PASS] = max(1 - cover.sum() / most, 0.0)


@kernel
def position_rows(states, book, positions, standings):
    """Write the positions of states in a Book, int64 (n,), -1 if not in it, and both players' standings, int64 (n, 2).

    In phase ABILITY, this is the position to which not using the ability would lead. If it is in the Book, so are the
    positions after each use.
    """
    for i in range(states.shape[0]):
        placer = states[i]["placer"] & 1  # & 1 because a finished game from outside may have NOBODY, -1
        placer = placer if states[i]["phase"] == TURN else 1 - placer
        positions[i] = position_of(states[i], placer, book.lookup)
        for player in range(2):
            standings[i, player] = standing_of(states[i], player)


def no_answers(n: int) -> Answers:
    """Return Answers for n states, with value 0, policy 0 and action values nan."""
    return Answers(np.zeros(n), np.zeros((n, NUM_ACTIONS)), np.full((n, NUM_ACTIONS), np.nan))


def answer(rounds: Rounds, states: np.ndarray, players: np.ndarray) -> Answers:
    """Return the results for unfinished states in phase TURN or ABILITY, whose positions are in the book of `rounds`.

    Values are in units of a round: 1 for a win, -1 for a loss. All successors of the states, structured (n,), must be
    solved. `players`, int (n,), has the player for each state from whose view the results are.
    """
    answers = no_answers(len(states))
    asked = np.stack([players, rounds.idle_turns - states["idle"].astype(np.int64)], axis=1)
    draws = len(rounds.solution.draws)
    known = rounds.book, rounds.solution, (make_turn(draws), make_turn(draws))
    answer_rows(rounds.posed(states), np.ascontiguousarray(asked, np.int64), known, answers)
    # In the equilibrium the other player never offers a draw, so an own offer counts as a pass.
    answers.worth[:, OFFER_DRAW] = np.where(states["draw_offers"], answers.worth[:, PASS], np.nan)
    return answers


def positions_in(book: Book, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of states, int64 (n,), -1 if not in the book, and both players' standings, int64 (n, 2)."""
    positions, standings = np.empty(len(states), np.int64), np.empty((len(states), 2), np.int64)
    position_rows(states, book, positions, standings)
    return positions, standings
