"""The oracles of Operation Tic-Tac-Toe, of a single round and of a match."""

from collections import OrderedDict
from functools import cache, cached_property
from typing import Any

import numpy as np

from ttt_envs.core.checks import Validity, check_players
from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Policy, Progress
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import (
    ABILITY,
    PICK,
    ROLE,
    ROUNDS_OF_OFFERS,
    SPECIALISTS,
    TURN,
)
from ttt_envs.games.operation_tic_tac_toe.solver.answers import Answers, answer, no_answers, positions_in
from ttt_envs.games.operation_tic_tac_toe.solver.match import (
    Match,
    Values,
    answer_choices,
    draw_worth,
    fill_ends,
    offers_from,
    solve_match,
)
from ttt_envs.games.operation_tic_tac_toe.solver.positions import SINGLE_HANDS, in_hand, make_book, standing_named
from ttt_envs.games.operation_tic_tac_toe.solver.possible import requirements
from ttt_envs.games.operation_tic_tac_toe.solver.response import best_response
from ttt_envs.games.operation_tic_tac_toe.solver.rounds import Rounds
from ttt_envs.games.operation_tic_tac_toe.solver.tables import load_tables
from ttt_envs.games.operation_tic_tac_toe.text import Hand

# Limit in bytes of the solved rounds that the oracle of a match keeps; it always keeps the newest.
_KEEP = 256 << 20

_STATES = Validity(rules.STATE, name="Operation Tic-Tac-Toe")

# The options in which a state must agree with the oracle.
_OF_ROUNDS = "max_idle_turns", "allow_pass", "draw_offers"
_OF_MATCHES = "rounds_to_win", "max_rounds", *_OF_ROUNDS


class RoundOracle:
    """Optimal play of a round: an equilibrium for both players in every position.

    See `ttt_envs.core.oracle.Oracle` for shapes. Values are exact up to rounding. A pair of hands is solved when it is
    first needed: in a fraction of a second, or in some seconds if the players have two specialists each.
    """

    error = 0.0

    def __init__(self, game: Game) -> None:
        """`game` has mode="round". Raises ValueError otherwise, NotImplementedError for options without a solution."""
        self.game = _solved(game, "round")
        specialists = self.game.options["specialists"] or ()
        hands = tuple(standing_named(*_names(hand)) for hand in specialists)
        if max(map(in_hand, hands), default=1) <= 1:
            hands = SINGLE_HANDS
        self._rounds = _rounds(hands, self.game.options["max_idle_turns"], self.game.options["allow_pass"])

    def round_value(self, first: Hand = None, second: Hand = None) -> float:
        """Return the value of a round for the player who places first, in reward units.

        Each hand is a specialist's name or None. Pairs of names are allowed if the game's option `specialists` has such
        pairs. Raises ValueError for other hands.
        """
        own, other = (standing_named(*_names(hand)) for hand in (first, second))
        if not self._rounds.has(own, other):
            raise ValueError(f"this oracle has no rounds with {first!r} against {second!r}")
        self._rounds.ensure(own, other)
        return float(self._rounds.start_values(own, other)[0])

    def best_response(
        self, policy: Policy, player: int, progress: Progress = lambda share: None, *, equivariant: bool = False
    ) -> float:
        """Return the expected reward of a best response by `player` to the other player's policy in a round.

        `policy(states, players)` gives float (n, num_actions) for states structured (n,) and players int64 (n,);
        `progress` is called with the finished share. See `response.best_response` for details.
        """
        player = int(check_players(player, 1, 2)[0])
        return best_response(self.game, policy, player, progress, equivariant=equivariant).value

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Return bool (n,): False for unfinished states with hands that this oracle does not solve."""
        states = _checked(states, self.game, _OF_ROUNDS)
        return states["done"] | (positions_in(self._rounds.book, states)[0] >= 0)

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n,): the expected reward of `player` if both play optimally; nan where not covered."""
        return self._answer(states, player).value

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, 234): `value` after each action, if the other player plays the equilibrium.

        If an ability is to be decided, the Placer's actions have values for either player; in a turn, only the actions
        of `player` have values. All other values are nan.
        """
        return self._answer(states, player).worth

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, 234): the equilibrium strategy; zeros where not covered or `player` does not act."""
        return self._answer(states, player).policy

    def _answer(self, states: np.ndarray, player: int | np.ndarray) -> Answers:
        states = _checked(states, self.game, _OF_ROUNDS)
        players = check_players(player, len(states), 2)
        positions, standings = positions_in(self._rounds.book, states)
        covered = positions >= 0
        answers = no_answers(len(states))
        rows = np.flatnonzero(covered & ~states["done"])
        for own, other in np.unique(standings[rows], axis=0).tolist():
            self._rounds.ensure(own, other)
        _put(answer(self._rounds, states[rows], players[rows]), rows, answers)
        done = np.flatnonzero(states["done"])
        answers.value[done] = states["rewards"][done, players[done]]
        answers.value[~covered & ~states["done"]] = np.nan
        return answers


class MatchOracle:
    """Optimal play of a match.

    See `ttt_envs.core.oracle.Oracle` for shapes. While roles and specialists are chosen, the value of the coming round
    is interpolated between rounds that were solved for some values of a draw: see `error`. During a round, the round
    itself is solved exactly, and only the values after its end are interpolated. Rounds are solved when they are first
    needed, in a fraction of a second per score, and the newest are kept.

    Attributes:
        overtime: how the rounds from the ninth on are valued: "exact" if there is a table of rounds with two
            specialists per player; otherwise "even race": each player wins each of these rounds with the same
            probability.
    """

    #: Bound on the interpolation error of `value` and `action_values` before a round, in reward units. Measured with
    #: the default options against tables with four times as many values of a draw, the error is at most 2.8e-4 in
    #: rounds, 8.4e-4 in overtime (for the worst pair) and 5.3e-5 in matches.
    error = 1.5e-3

    def __init__(self, game: Game) -> None:
        """`game` has mode="match". Raises ValueError otherwise, NotImplementedError for options without a solution."""
        self.game = _solved(game, "match")
        self._solved: OrderedDict[tuple[float, int, int], Rounds] = OrderedDict()

    @cached_property
    def _match(self) -> Match:
        options = self.game.options
        single, pairs = load_tables(options["max_idle_turns"], options["allow_pass"])
        return Match(options["rounds_to_win"], options["max_rounds"], single, pairs)

    @cached_property
    def _values(self) -> Values:
        return solve_match(self._match)

    @property
    def overtime(self) -> str:
        """The attribute `overtime`: how the rounds from the ninth on are valued."""
        return "exact" if len(self._match.pairs) else "even race"

    def start_value(self) -> float:
        """Return the value of a match for player 0, who chooses the roles in its first round."""
        return float(self._values.single[0, 0, 0, 0, 0])

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Return bool (n,): False for turns of overtime in which a player has two specialists, in hand or in rooms.

        If `overtime` is "even race", no unfinished state of overtime is covered.
        """
        states = _checked(states, self.game, _OF_MATCHES)
        return states["done"] | self._choosing(states) | self._playing(states)

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n,): the expected reward of `player` if both play optimally; nan where not covered."""
        return self._answer(states, player).value

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, 234): `value` after each action, if the other player plays the equilibrium.

        If a role or an ability is to be decided, the decider's actions have values for either player; otherwise only
        the actions of `player` have values. All other values are nan.
        """
        return self._answer(states, player).worth

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, 234): the equilibrium strategy; zeros where not covered or `player` does not act."""
        return self._answer(states, player).policy

    def _known(self, states: np.ndarray) -> np.ndarray:
        exact = (states["round"] <= ROUNDS_OF_OFFERS) | (self.overtime == "exact")
        return np.asarray(~states["done"] & exact)

    def _choosing(self, states: np.ndarray) -> np.ndarray:
        return self._known(states) & ((states["phase"] == ROLE) | (states["phase"] == PICK))

    def _playing(self, states: np.ndarray) -> np.ndarray:
        turns = self._known(states) & ((states["phase"] == TURN) | (states["phase"] == ABILITY))
        turns[turns] = positions_in(make_book(SINGLE_HANDS), states[turns])[0] >= 0
        return np.asarray(turns)

    def _answer(self, states: np.ndarray, player: int | np.ndarray) -> Answers:
        states = _checked(states, self.game, _OF_MATCHES)
        players = check_players(player, len(states), 2)
        answers = no_answers(len(states))
        answers.value[:] = np.nan
        done = np.flatnonzero(states["done"])
        answers.value[done] = states["rewards"][done, players[done]]
        rows = np.flatnonzero(self._choosing(states))
        if len(rows):
            part = no_answers(len(rows))
            known = self._match, self._values, tuple(offers_from(left) for left in range(SPECIALISTS + 1))
            answer_choices(states[rows], players[rows], known, part)
            _put(part, rows, answers)
        rows = np.flatnonzero(self._playing(states))
        if len(rows):
            _put(self._answer_turns(states[rows], players[rows]), rows, answers)
        return answers

    def _answer_turns(self, states: np.ndarray, players: np.ndarray) -> Answers:
        ends = np.empty((len(states), 3))
        fill_ends(states, self._match, self._values, ends)
        draws = np.array([draw_worth(tuple(each)) for each in ends])
        _, standings = positions_in(make_book(SINGLE_HANDS), states)
        answers = no_answers(len(states))
        keys, groups = np.unique(np.column_stack([draws, standings]), axis=0, return_inverse=True)
        for number, (draw, own, other) in enumerate(keys.tolist()):
            rows = np.flatnonzero(groups == number)
            rounds = self._rounds(draw, int(own), int(other))
            rounds.ensure_after(states[rows])
            _put(answer(rounds, states[rows], players[rows]), rows, answers)
        # Convert from a round's units to the match's, for each state's player.
        sign = np.where(players == 0, 1.0, -1.0)
        scale, middle = (ends[:, 0] - ends[:, 2]) / 2, sign * (ends[:, 0] + ends[:, 2]) / 2
        return Answers(middle + scale * answers.value, answers.policy, middle[:, None] + scale[:, None] * answers.worth)

    def _rounds(self, draw: float, own: int, other: int) -> Rounds:
        """Return solved rounds with these standings and this value of a draw to player 0; the newest are kept."""
        key = draw, own, other
        rounds = self._solved.pop(key, None)
        if rounds is None:
            hands, options = tuple(sorted({own, other})), self.game.options
            draws = np.array([draw, -draw])
            rounds = Rounds(hands, options["max_idle_turns"], options["allow_pass"], draws, most=1)
            size = rounds.solution.values.nbytes
            while self._solved and size + sum(each.solution.values.nbytes for each in self._solved.values()) > _KEEP:
                self._solved.popitem(last=False)
        self._solved[key] = rounds
        return rounds


def _put(part: Answers, rows: np.ndarray, answers: Answers) -> None:
    for whole, piece in zip(answers, part, strict=True):
        whole[rows] = piece


def _solved(game: Game, mode: str) -> Game:
    if game.options["mode"] != mode:
        raise ValueError(f"this oracle is of games with mode={mode!r}, not {game}")
    if game.options["draw_offers"] and not game.options["allow_pass"]:
        raise NotImplementedError(
            "no oracle for draw_offers=True with allow_pass=False: there an offer is the only way to pass"
        )
    return game


def _checked(states: np.ndarray, game: Game, names: tuple[str, ...]) -> np.ndarray:
    """Return the states; raise ValueError if they are invalid or differ from the game in mode or options `names`."""
    states = _STATES.check(states)
    if (states["is_match"] != game.prototype["is_match"]).any():
        raise ValueError(f"this oracle answers states of mode={game.options['mode']!r}")
    for name in names:
        if (states[name] != game.prototype[name]).any():
            raise ValueError(f"this oracle was made for {name}={game.options[name]}, and is asked about another")
    stuck = ~states["done"]
    for player in range(2):
        stuck &= ~game.masks(states, player, check=False).any(axis=1)
    if stuck.any():
        raise ValueError(f"state {int(stuck.argmax())} is no position to be valued: nobody has a legal action")
    for meets, requirement in requirements(states):
        wrong = ~(meets | states["done"])
        if wrong.any():
            raise ValueError(f"state {int(wrong.argmax())} is no position to be valued: {requirement}")
    return states


@cache
def _rounds(hands: tuple[int, ...], max_idle_turns: int, may_pass: bool) -> Rounds:
    return Rounds(hands, max_idle_turns, may_pass, np.zeros(1))


def _names(hand: Any) -> tuple[str, ...]:
    names = () if hand is None else (hand,) if isinstance(hand, str) else tuple(hand) if _is_pair(hand) else None
    if names is None:
        raise ValueError(f"a hand must be None, a specialist's name or two different names, not {hand!r}")
    return names


def _is_pair(hand: Any) -> bool:
    return isinstance(hand, (tuple, list)) and len(hand) == 2 and all(isinstance(name, str) for name in hand)
