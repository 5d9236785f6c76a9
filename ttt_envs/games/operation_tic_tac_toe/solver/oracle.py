"""The oracles of Operation Tic-Tac-Toe, of a single round and of a match."""

from functools import cache

import numpy as np

from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.solver.answers import Answers, answer, no_answers, positions_in
from ttt_envs.games.operation_tic_tac_toe.solver.positions import SINGLE_HANDS, in_hand, standing_named
from ttt_envs.games.operation_tic_tac_toe.solver.response import Policy, best_response
from ttt_envs.games.operation_tic_tac_toe.solver.rounds import Rounds

#: What a player holds: no specialist, one, or two.
Hand = str | tuple[str, str] | None


class RoundOracle:
    """Best play of a round: an equilibrium for both players in every position.

    See `ttt_envs.core.game.Oracle` for shapes. Values are exact up to rounding. What a pair of specialists needs is
    solved when it is first asked for, in a fraction of a second; if players hold two specialists each, in some seconds.
    """

    def __init__(
        self,
        max_idle_turns: int = 20,
        allow_pass: bool = False,
        draw_offers: bool = False,
        specialists: tuple[Hand, Hand] | None = None,
        first_placer: int | None = None,
    ) -> None:
        """The options of a game with mode="round"; NotImplementedError in words for those without a solution."""
        if draw_offers and not allow_pass:
            raise NotImplementedError(
                "no oracle for draw_offers=True with allow_pass=False: there an offer is the only way to pass"
            )
        self.max_idle_turns = max_idle_turns
        self.allow_pass = allow_pass
        self.draw_offers = draw_offers
        self._options = {"specialists": specialists, "first_placer": first_placer}
        hands = () if specialists is None else tuple(standing_named(*named(hand)) for hand in specialists)
        most = max(map(in_hand, hands), default=1)
        self._rounds = _rounds(SINGLE_HANDS if most <= 1 else hands, max_idle_turns, allow_pass)

    def round_value(self, first: Hand = None, second: Hand = None) -> float:
        """Value of a round for the player who places first, in reward units.

        Both hold one specialist, given by its name, or none. Two names are known to the oracle of a game with
        `specialists` of that kind. ValueError in words for others.
        """
        own, other = (standing_named(*named(hand)) for hand in (first, second))
        if not self._rounds.has(own, other):
            raise ValueError(f"this oracle has no rounds with {first!r} against {second!r}")
        self._rounds.ensure(own, other)
        return float(self._rounds.start_values(own, other)[0])

    def best_response(self, policy: Policy, player: int) -> float:
        """Expected reward of `player` in a round if he plays his best, and the other one the policy, which he knows.

        `policy(states, players)` gives float (n, num_actions) for states structured (n,) and players int64 (n,). See
        `response.best_response`, which tells more.
        """
        # Only here: that module is importing this one.
        from ttt_envs.games.operation_tic_tac_toe import make

        options = {name: getattr(self, name) for name in ("max_idle_turns", "allow_pass", "draw_offers")}
        game = make(mode="round", **options, **self._options)  # type: ignore[arg-type]
        return best_response(game, policy, player).value

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Bool (n,): all but rounds with other numbers of specialists than the game was made for."""
        states = self._checked(states)
        return states["done"] | (positions_in(self._rounds.book, states)[0] >= 0)

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n,): expected reward of `player` under best play by both; nan where not covered."""
        return self._answer(states, player).value

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, 234): the same after each action, if the other one plays the equilibrium that `policy` gives.

        Of an ability for both players, of a turn for the actions of `player`; nan where illegal or not covered.
        """
        return self._answer(states, player).worth

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, 234): an equilibrium; zeros where not covered or `player` does not act."""
        return self._answer(states, player).policy

    def _answer(self, states: np.ndarray, player: int | np.ndarray) -> Answers:
        states = self._checked(states)
        players = np.broadcast_to(np.asarray(player, np.int64), len(states))
        covered = positions_in(self._rounds.book, states)[0] >= 0
        found = no_answers(len(states))
        rows = np.flatnonzero(covered & ~states["done"])
        for whole, part in zip(found, answer(self._rounds, states[rows], players[rows]), strict=True):
            whole[rows] = part
        done = np.flatnonzero(states["done"])
        found.value[done] = states["rewards"][done, players[done]]
        found.value[~covered & ~states["done"]] = np.nan
        return found

    def _checked(self, states: np.ndarray) -> np.ndarray:
        if states.dtype != rules.STATE:
            raise ValueError("this oracle answers states of Operation Tic-Tac-Toe")
        if states["is_match"].any():
            raise ValueError("this oracle answers states of mode='round', not of a match")
        for name in ("max_idle_turns", "allow_pass", "draw_offers"):
            if (states[name] != getattr(self, name)).any():
                raise ValueError(f"this oracle was made for {name}={getattr(self, name)}, and is asked about another")
        return np.ascontiguousarray(states)


@cache
def _rounds(hands: tuple[int, ...], max_idle_turns: int, may_pass: bool) -> Rounds:
    return Rounds(hands, max_idle_turns, may_pass, np.zeros(1))


def named(hand: Hand) -> tuple[str, ...]:
    """The names in a hand."""
    return () if hand is None else (hand,) if isinstance(hand, str) else hand
