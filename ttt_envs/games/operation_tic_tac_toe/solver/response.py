"""The best response to a policy in a round: the expected reward of a player who knows the policy.

The policy is queried in every possible position with every number of idle turns. Positions are solved backward as in
`rounds`, but neither player mixes: one follows the policy, and the other plays a best response. Symmetric positions are
queried one by one, unless the policy is declared equivariant.

A policy is measured as a function of the position. In the states of its queries everything else is constant: there is
no previous turn, as at the start of a round, and every specialist on the board is a hacker. A policy that depends on
the previous turn is therefore measured as if it had not seen that turn.
"""

# mypy: disable-error-code="no-untyped-def"

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Policy, Progress
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import (
    ABILITY,
    DRAWN,
    EMPTY,
    NO_ABILITY,
    NOBODY,
    NONE,
    NOWHERE,
    OFFER_DRAW,
    PASS,
    PREDICT,
    PREDICTED,
    REMOVE,
    ROOMS,
    SPY,
    TURN,
)
from ttt_envs.games.operation_tic_tac_toe.solver.positions import (
    SINGLE_HANDS,
    make_book,
    names_of,
    position_of,
    put_positions,
    put_standing,
)
from ttt_envs.games.operation_tic_tac_toe.solver.reach import levels, reachable
from ttt_envs.games.operation_tic_tac_toe.solver.turns import ENDLESS, MOST_PLACEMENTS, make_turn, play

# Number of boards that are processed together; the policy is queried in twice as many states.
_BOARDS = 4096


@dataclass(frozen=True)
class BestResponse:
    """The best response to a policy: its value, and what it was computed from.

    Attributes:
        value: the player's expected reward.
        rounds: for each combination with which the game can begin: (hands of players 0 and 1, first Placer, value).
        asked: number of states in which the policy was queried.
    """

    value: float
    rounds: tuple[tuple[tuple[tuple[str, ...], tuple[str, ...]], int, float], ...]
    asked: int


class PositionBlock(NamedTuple):
    """The placements in n states, and their values to the responder.

    Attributes:
        placements: int64 (n,), number of placements.
        action: int64 (n, 28), the placement, PASS included.
        waits: bool (n, 28), whether only the number of idle turns changes if it is blocked.
        free: float64 (n, 28), the placement's value if it is not predicted.
        blocked: float64 (n, 28), the placement's value if it is predicted; unset where `waits` is true.
        abilities: structured (k,), the states after a placement in which the other player decides on an ability.
        source: int64 (k, 2), for each of `abilities`, the index of the state and of the placement before it.
    """

    placements: np.ndarray
    action: np.ndarray
    waits: np.ndarray
    free: np.ndarray
    blocked: np.ndarray
    abilities: np.ndarray
    source: np.ndarray


def make_block(states: int) -> PositionBlock:
    """Return an empty `PositionBlock` for this number of states."""
    shape, abilities = (states, MOST_PLACEMENTS), states * MOST_PLACEMENTS
    return PositionBlock(
        np.zeros(states, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.bool_),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(abilities, rules.STATE),
        np.zeros((abilities, 2), np.int64),
    )


# --- a block of states ---


@kernel
def fill_block(states, player, known, block):
    """Fill `block` for `states` and a responder; return the number of `block.abilities`.

    Args:
        states: structured (n,), as `turns.fill_turn` requires them.
        player: the responder.
        known: the lookup of a Book; the responder's values, float64 (2, positions), indexed by [placer, position in
            player 0's view]; a Turn.
        block: `PositionBlock`, out.
    """
    lookup, values, turn = known
    abilities = 0
    for i in range(states.shape[0]):
        placer, n = np.int64(states[i]["placer"]), 0
        rules.legal_mask(states[i], placer, turn.mask[0])
        if turn.mask[0, PASS]:
            block.action[i, 0], n = PASS, 1
        for action in range(PREDICT):
            if turn.mask[0, action]:
                block.action[i, n] = action
                turn.trial[0] = states[i]
                play(turn.trial, turn.actions, action, PREDICT + action % ROOMS)
                block.waits[i, n] = turn.trial[0]["idle"] > 0
                if not block.waits[i, n]:
                    block.blocked[i, n] = worth(turn.trial, 0, player, lookup, values)
                turn.trial[0] = states[i]
                play(turn.trial, turn.actions, action, PASS)
                if turn.trial[0]["phase"] != ABILITY:
                    block.free[i, n] = worth(turn.trial, 0, player, lookup, values)
                elif placer == player:
                    block.free[i, n] = best_ability(turn, player, lookup, values)
                else:
                    block.free[i, n] = 0
                    block.abilities[abilities] = turn.trial[0]
                    block.source[abilities, 0], block.source[abilities, 1] = i, n
                    abilities += 1
                n += 1
        block.placements[i] = n
    return abilities


@kernel
def worth(states, i, player, lookup, values):
    """Return the value of states[i], in which a turn has just ended, to the player."""
    if states[i]["done"]:
        return np.float64(states[i]["rewards"][player])
    return values[states[i]["placer"], position_of(states[i], 0, lookup)]


@kernel
def best_ability(turn, player, lookup, values):
    """Return the value, to the player who decides, of the best decision on the ability pending in turn.trial[0]."""
    rules.legal_mask(turn.trial[0], player, turn.mask[1])
    best = -np.inf
    for action in range(REMOVE, NO_ABILITY + 1):
        if turn.mask[1, action]:
            turn.trial[1] = turn.trial[0]
            play(turn.trial[1:], turn.actions, action, NONE)
            best = max(best, worth(turn.trial, 1, player, lookup, values))
    return best


@kernel
def use_abilities(policies, player, known, block):
    """Add to `block.free` what `block.abilities` are worth to `player` under `policies`, float64 (k, actions)."""
    lookup, values, turn = known
    for k in range(policies.shape[0]):
        i, n = block.source[k]
        for action in range(REMOVE, NO_ABILITY + 1):
            if policies[k, action] > 0:
                turn.trial[0] = block.abilities[k]
                play(turn.trial, turn.actions, action, NONE)
                block.free[i, n] += policies[k, action] * worth(turn.trial, 0, player, lookup, values)


@kernel
def respond(states, policies, player, block, waiting):
    """Compute the responder's best expected reward in each state.

    Args:
        states: structured (n,), in phase TURN, as the policy was queried in them.
        policies: float64 (n, actions), the other player's policy.
        player: the responder.
        block: `PositionBlock`, filled for these states.
        waiting: float64 (n,), in: the responder's value if only the number of idle turns changes; out: the responder's
            value.
    """
    cover, gain = np.empty(ROOMS), np.empty(ROOMS)
    for i in range(states.shape[0]):
        policy, wait = policies[i], waiting[i]
        # An offer by one player counts as a pass; two offers are a draw, with value 0.
        if states[i]["placer"] == player:
            fill_cover(policy, cover)
            best = -np.inf
            for n in range(block.placements[i]):
                action = block.action[i, n]
                if action == PASS:
                    best = max(best, wait)
                else:
                    blocked = wait if block.waits[i, n] else block.blocked[i, n]
                    best = max(best, block.free[i, n] + cover[action % ROOMS] * (blocked - block.free[i, n]))
        else:
            gain[:] = 0
            nothing = (policy[PASS] + policy[OFFER_DRAW]) * wait
            for n in range(block.placements[i]):
                action = block.action[i, n]
                if action != PASS:
                    blocked = wait if block.waits[i, n] else block.blocked[i, n]
                    nothing += policy[action] * block.free[i, n]
                    gain[action % ROOMS] += policy[action] * (blocked - block.free[i, n])
            gain.sort()
            best = nothing + gain[ROOMS - 1]
            if states[i]["hacker_on"][player]:
                best += gain[ROOMS - 2]
            if states[i]["allow_pass"]:
                best = max(best, nothing)
            if states[i]["draw_offers"]:
                best = max(best, nothing - policy[OFFER_DRAW] * wait)
        if states[i]["draw_offers"] and states[i]["placer"] == player:
            best = max(best, (1 - policy[OFFER_DRAW]) * wait)
        waiting[i] = best


@kernel
def fill_cover(policy, cover):
    """Write to `cover`, float64 (9,), the probability with which `policy` predicts each room."""
    cover[:] = 0
    for action in range(PREDICT, REMOVE):
        if policy[action] > 0:
            for room in range(ROOMS):
                if PREDICTED[action] >> room & 1:
                    cover[room] += policy[action]


# --- all of it ---


class Responder:
    """Computes the best response to a policy, block by block of positions."""

    def __init__(self, game: Game, policy: Policy, player: int, *, equivariant: bool = False) -> None:
        """`player` responds, and the other player follows the policy. Raises ValueError unless `game` has mode="round".

        `equivariant`: whether the policy is queried in one position of each symmetry class only.
        """
        if game.prototype["is_match"]:
            raise ValueError("a best response is worked out for mode='round', not for a match")
        if player not in (0, 1):
            raise ValueError(f"player must be 0 or 1, not {player!r}")
        self.game = game
        self.policy = policy
        self.player = player
        self.hands = _hands_given(game.prototype[0]["given"])
        standings = {standing for pair in self.hands for standing in pair}
        self.book = make_book(tuple(sorted(standings)), mirrored=equivariant)
        #: The responder's value: float64 (2, positions), [placer, position in player 0's view].
        self.values = np.full((2, self.book.positions), np.nan)
        self.asked = 0
        self._turn = make_turn(1)
        self._block = make_block(2 * _BOARDS)

    def states(self, n: int) -> np.ndarray:
        """Return n states as for `turns.fill_turn`, with empty boards and hands; player k % 2 places in states[k]."""
        states = np.repeat(self.game.prototype, n)
        states["phase"], states["to_move"], states["pending"] = TURN, SIMULTANEOUS, NOWHERE
        states["round"], states["last"], states["last_ability"] = 1, NONE, NONE
        states["placer"] = np.arange(n) % 2
        first = int(self.game.prototype["given_first"][0])
        states["first"] = states["placer"] if first == NOBODY else first
        states["draw_offers"], states["max_idle_turns"] = False, ENDLESS
        return states

    def reachable(self) -> np.ndarray:
        """Return all positions that can arise, int64 (n, 3), as from `locate` for player 0."""
        starts = self.states(len(self.hands))
        for i, pair in enumerate(self.hands):
            for player, standing in enumerate(pair):
                put_standing(starts[i : i + 1], player, standing)
        return reachable(self.states(2), starts, np.zeros(self.values.shape[1], np.bool_), self.book)

    def blocks(self) -> Iterator[tuple[np.ndarray, float]]:
        """Yield blocks of positions, successors first, each with the share of all positions that precedes it."""
        queue, done = self.reachable(), 0
        for level in levels(queue, self.book):
            for first in range(0, len(level), _BOARDS):
                part = level[first : first + _BOARDS]
                yield part, done / len(queue)
                done += len(part)

    def work_out(self, positions: np.ndarray) -> None:
        """Compute the entries of `values` for positions, int64 (n, 3), whose successors have them already."""
        states = self.states(2 * len(positions))
        put_positions(states, positions, self.book)
        states["ply"] = (states["board"] != EMPTY).sum(axis=1)
        known = self.book.lookup, self.values, self._turn
        abilities = self._block.abilities[: fill_block(states, self.player, known, self._block)]
        if len(abilities):
            use_abilities(self._ask(abilities), self.player, known, self._block)
        states["draw_offers"] = self.game.prototype["draw_offers"]
        worth = waiting = np.zeros(len(states))
        for idle in range(int(self.game.prototype["max_idle_turns"][0]) - 1, -1, -1):
            states["idle"] = idle
            worth = waiting
            respond(states, self._ask(states), self.player, self._block, worth)
            # If nothing changes, the other player places next: exchange the values of each pair of states.
            waiting = worth.reshape(-1, 2)[:, ::-1].ravel()
        numbers = self.book.first[positions[:, 0], positions[:, 1], self.book.group[positions[:, 2]]] + positions[:, 2]
        self.values[:, numbers] = worth.reshape(-1, 2).T

    def _ask(self, states: np.ndarray) -> np.ndarray:
        """Return the policy, float64 (n, actions); raise ValueError if it is not a distribution over legal actions."""
        states = states.copy()
        for name in ("draw_offers", "max_idle_turns"):
            states[name] = self.game.prototype[name]
        parts = [self._ask_some(states[k : k + 2 * _BOARDS]) for k in range(0, len(states), 2 * _BOARDS)]
        return np.concatenate(parts)

    def _ask_some(self, states: np.ndarray) -> np.ndarray:
        players = np.full(len(states), 1 - self.player, np.int64)
        masks = self.game.masks(states, players, check=False)
        probabilities = np.asarray(self.policy(states, players), np.float64)
        self.asked += len(states)
        if probabilities.shape != masks.shape:
            raise ValueError(
                f"a policy for {len(states)} states must have shape {masks.shape}, not {probabilities.shape}"
            )
        wrong = ~((probabilities >= 0).all(axis=1) & (np.abs(np.where(masks, probabilities, 0).sum(axis=1) - 1) < 1e-6))
        if wrong.any():
            text = self.game.format_state(states[int(wrong.argmax())], None)
            raise ValueError(
                "a policy must give probabilities from 0 on that add up to 1 over the legal actions; not so for player "
                f"{1 - self.player} in\n{text}"
            )
        return probabilities

    def start_value(self, pair: tuple[int, int], placer: int) -> float:
        """Return the responder's value of a round with these standings and this first Placer, once it is solved."""
        own, other = self.book.standing[list(pair)]
        return float(self.values[placer, self.book.first[own, other, 0] + self.book.board[0]])


def best_response(
    game: Game, policy: Policy, player: int, progress: Progress = lambda share: None, *, equivariant: bool = False
) -> BestResponse:
    """Return the best response to a policy.

    Args:
        game: a game with mode="round". With specialists=None, all 64 pairs are solved.
        policy: the other player's policy, called with up to 8,192 states at once, in each position with every number of
            idle turns.
        player: the responder.
        progress: called with the finished share.
        equivariant: whether the policy in a symmetric position is the transformed policy. Only one position of each
            symmetry class is then queried, which takes a seventh of the time.

    Raises ValueError for a match, or for a policy that does not return probabilities.
    """
    responder = Responder(game, policy, player, equivariant=equivariant)
    for positions, share in responder.blocks():
        progress(share)
        responder.work_out(positions)
    progress(1.0)
    first = int(game.prototype["given_first"][0])
    rounds = tuple(
        ((names_of(pair[0]), names_of(pair[1])), placer, responder.start_value(pair, placer))
        for pair in responder.hands
        for placer in ((0, 1) if first == NOBODY else (first,))
    )
    return BestResponse(float(np.mean([value for _, _, value in rounds])), rounds, responder.asked)


def _hands_given(given: np.ndarray) -> list[tuple[int, int]]:
    """Return the pairs of standings with which a round can start; `given`: the field of a state."""
    if (given == DRAWN).any():
        return [(own, other) for own in SINGLE_HANDS[1:] for other in SINGLE_HANDS[1:]]
    own, other = (sum(1 << (int(kind) - 1) for kind in held if kind != SPY) for held in given)
    return [(own, other)]
