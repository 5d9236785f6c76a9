"""The slow, obvious second version of Operation Tic-Tac-Toe, to check the fast one against.

Written from the rule text alone, without a look at the fast version, so that the two share no mistake. The first part
is a round: positions are tuples, one function lists what may be done, another what comes of it. The second part is the
match around the rounds, played by the names of actions; what is offered at random comes from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

SPY = "spy"
SPECIALISTS = ("sniper", "ninja", "assassin", "courier", "mole", "pusher", "grappler", "hacker")

LETTERS = "ABCDEFGHI"
ROOMS = range(9)
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
DIRECTIONS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}


def step_on(room: int, direction: str) -> int | None:
    row, column = room // 3 + DIRECTIONS[direction][0], room % 3 + DIRECTIONS[direction][1]
    return 3 * row + column if 0 <= row < 3 and 0 <= column < 3 else None


#: room -> the rooms beside it; all around it; in its row and its column.
ORTHOGONAL = {room: [r for d in DIRECTIONS if (r := step_on(room, d)) is not None] for room in ROOMS}
ADJACENT = {
    room: [r for r in ROOMS if r != room and abs(r // 3 - room // 3) <= 1 and abs(r % 3 - room % 3) <= 1]
    for room in ROOMS
}
ROW_OR_COLUMN = {room: [r for r in ROOMS if r != room and (r // 3 == room // 3 or r % 3 == room % 3)] for room in ROOMS}

# --- a round ---

#: A piece is (owner, kind): kind is SPY or one of SPECIALISTS.
Piece = tuple[int, str]
Board = tuple[Piece | None, ...]

LINE_OF = ("line of X", "line of O")
BOTH_LINES, NO_ROOM, IDLE, AGREED = "both lines", "no room", "idle", "agreed"

EMPTY_BOARD: Board = (None,) * 9


class Position(NamedTuple):
    """A round between two turns.

    Attributes:
        board: the nine rooms.
        placer: who places in the coming turn, or placed in the last one if the round is over.
        hands: each player's active specialists that are neither placed nor blocked, in alphabetical order.
        hackers: whether each player predicts two rooms.
        idle: turns in a row that changed neither the board nor a specialist's standing.
        ended: None while the round goes on; else LINE_OF[winner], BOTH_LINES, NO_ROOM, IDLE or AGREED.
    """

    board: Board
    placer: int
    hands: tuple[tuple[str, ...], tuple[str, ...]]
    hackers: tuple[bool, bool]
    idle: int
    ended: str | None

    @property
    def winner(self) -> int | None:
        """Who won; None in a drawn round and before the end."""
        return LINE_OF.index(self.ended) if self.ended in LINE_OF else None


def start(placer: int, specialists: Sequence[Iterable[str]]) -> Position:
    hands = tuple(sorted(specialists[0])), tuple(sorted(specialists[1]))
    return Position(EMPTY_BOARD, placer, hands, (False, False), 0, None)


def may_enter(board: Board, player: int, kind: str, room: int) -> bool:
    """Whether the player's piece of that kind may be placed there."""
    if kind == "assassin":
        return board[room] == (1 - player, SPY)
    if kind == "courier":
        return board[room] == (player, SPY) and any(board[beside] is None for beside in ORTHOGONAL[room])
    return board[room] is None


def placements(position: Position) -> list[tuple[str, int]]:
    """All that the Placer can place: (kind, room)."""
    kinds = (SPY, *position.hands[position.placer])
    return [(kind, r) for kind in kinds for r in ROOMS if may_enter(position.board, position.placer, kind, r)]


#: All that a Predictor can name, without and with his hacker.
PREDICTIONS = {
    False: [frozenset([room]) for room in ROOMS],
    True: [frozenset(rooms) for rooms in combinations(ROOMS, 2)],
}


def predictions(position: Position) -> list[frozenset[int]]:
    return PREDICTIONS[position.hackers[1 - position.placer]]


def changed(board: Board, changes: dict[int, Piece | None]) -> Board:
    return tuple(changes.get(room, board[room]) for room in ROOMS)


def push(board: Board, room: int, direction: str) -> Board | None:
    """The board after the pusher in that room has moved; None where it cannot."""
    if step_on(room, direction) is None:
        return None
    moving, at = [room], step_on(room, direction)
    while at is not None and board[at] is not None:
        if board[at][1] != SPY:
            return None
        moving.append(at)
        at = step_on(at, direction)
    changes: dict[int, Piece | None] = {room: None}
    for each in moving:
        to = step_on(each, direction)
        if to is not None:
            changes[to] = board[each]
    return changed(board, changes)


def abilities(board: Board, room: int) -> dict[str, Board]:
    """What the specialist just put there may do: name of the action -> board. Nothing where it has no choice."""
    player, kind = board[room]
    friend, enemy = (player, SPY), (1 - player, SPY)
    found = {}
    if kind in ("sniper", "ninja"):
        for target in {"sniper": ROW_OR_COLUMN, "ninja": ADJACENT}[kind][room]:
            if board[target] == enemy:
                found[f"remove {LETTERS[target]}"] = changed(board, {target: None})
    elif kind == "courier":
        for target in ORTHOGONAL[room]:
            if board[target] is None:
                found[f"move to {LETTERS[target]}"] = changed(board, {target: friend})
    elif kind == "mole":
        for a, b in combinations(ADJACENT[room], 2):
            if {board[a], board[b]} == {friend, enemy}:
                found[f"swap {LETTERS[a]} {LETTERS[b]}"] = changed(board, {a: board[b], b: board[a]})
    elif kind == "pusher":
        for direction in DIRECTIONS:
            pushed = push(board, room, direction)
            if pushed is not None:
                found[f"push {direction}"] = pushed
    elif kind == "grappler":
        for target in ORTHOGONAL[room]:
            if board[target] == enemy:
                found[f"grapple {LETTERS[target]}"] = changed(board, {room: enemy, target: (player, kind)})
    if found and kind not in ("courier", "mole"):
        found["no ability"] = board
    return found


@lru_cache(maxsize=100_000)
def has_line(board: Board, player: int) -> bool:
    """Three of the player's pieces in a row, spies or specialists."""
    return any(all(board[room] is not None and board[room][0] == player for room in line) for line in LINES)


def no_room(position: Position) -> bool:
    """Whether at most one room is empty, and no specialist in hand could enter an occupied room now."""
    board = position.board
    if board.count(None) > 1:
        return False
    return not any(
        board[room] is not None and may_enter(board, player, kind, room)
        for player in (0, 1)
        for kind in position.hands[player]
        for room in ROOMS
    )


def end_of_turn(before: Position, after: Position, max_idle_turns: int) -> Position:
    """The round after a turn that made `after` of `before`: it is over, or the roles swap."""
    same = (after.board, after.hands, after.hackers) == (before.board, before.hands, before.hackers)
    idle = before.idle + 1 if same else 0
    lines = [player for player in (0, 1) if has_line(after.board, player)]
    if len(lines) == 2:
        ended = BOTH_LINES
    elif lines:
        ended = LINE_OF[lines[0]]
    elif no_room(after):
        ended = NO_ROOM
    elif idle >= max_idle_turns:
        ended = IDLE
    else:
        return after._replace(idle=idle, placer=1 - after.placer)
    return after._replace(idle=idle, ended=ended)


def blocked(position: Position, placement: tuple[str, int]) -> Position:
    """The specialist is used up, a spy is not; a hacker of the Predictor is switched off."""
    kind, placer = placement[0], position.placer
    hands = [tuple(name for name in position.hands[player] if (player, name) != (placer, kind)) for player in (0, 1)]
    hackers = [player == placer and position.hackers[player] for player in (0, 1)]
    return position._replace(hands=tuple(hands), hackers=tuple(hackers))


def placed(position: Position, placement: tuple[str, int]) -> Position:
    """The piece stands in the room, in the place of a spy that was there; its ability is still to come."""
    (kind, room), placer = placement, position.placer
    hands = [tuple(name for name in position.hands[player] if (player, name) != (placer, kind)) for player in (0, 1)]
    hackers = [position.hackers[player] or (player, "hacker") == (placer, kind) for player in (0, 1)]
    board = changed(position.board, {room: (placer, kind)})
    return position._replace(board=board, hands=tuple(hands), hackers=tuple(hackers), idle=0)


def resolve(
    position: Position, placement: tuple[str, int] | None, prediction: Iterable[int], max_idle_turns: int = 20
) -> dict[str | None, Position]:
    """What comes of a turn: name of what the Placer chooses for his ability -> the position after the turn.

    `placement` None and an empty `prediction` are passes. Where nothing is to be chosen, the only key is None.
    """
    if placement is None:
        return {None: end_of_turn(position, position, max_idle_turns)}
    if placement[1] in prediction:
        return {None: end_of_turn(position, blocked(position, placement), max_idle_turns)}
    after = placed(position, placement)
    boards = abilities(after.board, placement[1]) or {None: after.board}
    return {
        choice: end_of_turn(position, after._replace(board=board), max_idle_turns) for choice, board in boards.items()
    }


# --- the match ---

PLACE_FIRST, PREDICT_FIRST, PASS, OFFER_DRAW = "place first", "predict first", "pass", "offer draw"

#: What is decided next.
ROLE, PICK, TURN, ABILITY = "role", "pick", "turn", "ability"

#: Rounds with specialists offered and used up; so many are offered, and so many are picked afterwards.
ROUNDS_WITH_OFFERS, OFFERED, PICKED_LATER = 8, 3, 2


def place_name(kind: str, room: int) -> str:
    return f"{kind} to {LETTERS[room]}"


def predict_name(rooms: Iterable[int]) -> str:
    return f"predict {'+'.join(LETTERS[room] for room in sorted(rooms))}"


def choose_name(specialists: Iterable[str]) -> str:
    return f"choose {' and '.join(sorted(specialists, key=SPECIALISTS.index))}"


@lru_cache(maxsize=1000)
def placement_names(position: Position) -> tuple[str, ...]:
    return tuple(place_name(kind, room) for kind, room in placements(position))


#: Names of actions -> what they mean.
PLACED = {place_name(kind, room): (kind, room) for kind in (SPY, *SPECIALISTS) for room in ROOMS}
PREDICTED = {predict_name(rooms): rooms for rooms in (*PREDICTIONS[False], *PREDICTIONS[True])}
PREDICTION_NAMES = {rooms: name for name, rooms in PREDICTED.items()}
CHOSEN = {choose_name(names): names for number in (1, 2) for names in combinations(SPECIALISTS, number)}


class SlowOperation:
    """One game, played on in place by the names of actions.

    Attributes:
        phase: what is decided next, ROLE, PICK, TURN or ABILITY; None when the game is over.
        round, wins: the number of the round from 1, and rounds won.
        decider: who decides who places first in this round.
        first: who places first in this round; None before that is decided.
        unused, offered: each player's specialists; those that are offered are not yet used.
        position: the round; None before its first turn.
        submitted: names of what each player submitted in the last turn of this round; empty before.
        used_ability: name of what the ability was used for in that turn; None if it was not asked.
        pending: in phase ABILITY the room of the specialist, which `position` has placed; None else.
        outcomes: what that ability may be used for -> the position after the turn.
        last_end: how the last round ended.
        done, rewards: the end, and what each player gets.
    """

    def __init__(
        self,
        mode: str = "match",
        rounds_to_win: int = 4,
        max_rounds: int = 40,
        max_idle_turns: int = 20,
        allow_pass: bool = False,
        draw_offers: bool = False,
        specialists: Sequence[Iterable[str]] = ((), ()),
        first_placer: int | None = None,
    ) -> None:
        self.mode = mode
        self.rounds_to_win = rounds_to_win
        self.max_rounds = max_rounds
        self.max_idle_turns = max_idle_turns
        self.allow_pass = allow_pass
        self.draw_offers = draw_offers
        self._legal: dict[int, list[str]] = {}
        self.wins = [0, 0]
        self.round = 1
        self.ply = 0
        self.last_end: str | None = None
        self.done = False
        self.rewards = (0.0, 0.0)
        self.decider: int | None = None
        self.pending: int | None = None
        self.unused: list[set[str]] = [set(), set()]
        if mode == "match":
            self.unused = [set(SPECIALISTS), set(SPECIALISTS)]
            self.start_round(decider=0)
        else:
            self.offered: list[set[str]] = [set(), set()]
            self.start_turns(first_placer, specialists)

    def start_round(self, decider: int) -> None:
        self.phase: str | None = ROLE
        self.decider = decider
        self.first: int | None = None
        self.offered = [set(), set()]
        self.position: Position | None = None
        self.submitted: list[str] = []
        self.used_ability: str | None = None
        if self.round > ROUNDS_WITH_OFFERS:
            self.unused = [set(SPECIALISTS), set(SPECIALISTS)]

    def start_turns(self, first: int, specialists: Sequence[Iterable[str]]) -> None:
        self.phase = TURN
        self.first = first
        self.position = start(first, specialists)
        self.submitted = []
        self.used_ability = None

    def acting(self) -> tuple[int, ...]:
        if self.phase == ROLE:
            return (self.decider,)
        if self.phase == ABILITY:
            return (self.position.placer,)
        return () if self.done else (0, 1)

    def legal(self, player: int) -> list[str]:
        if player not in self._legal:
            self._legal[player] = self.find_legal(player) if player in self.acting() else []
        return self._legal[player]

    def find_legal(self, player: int) -> list[str]:
        if self.phase == ROLE:
            return [PLACE_FIRST, PREDICT_FIRST]
        if self.phase == PICK:
            if self.round <= ROUNDS_WITH_OFFERS:
                return [choose_name([name]) for name in self.offered[player]]
            return [choose_name(names) for names in combinations(SPECIALISTS, PICKED_LATER)]
        if self.phase == ABILITY:
            return list(self.outcomes)
        if player == self.position.placer:
            names = [*placement_names(self.position)]
        else:
            names = [PREDICTION_NAMES[rooms] for rooms in predictions(self.position)]
        if self.allow_pass or not names:
            names.append(PASS)
        if self.draw_offers:
            names.append(OFFER_DRAW)
        return names

    def play(self, actions: Sequence[str | None], offered: Sequence[set[str]] = ((), ())) -> None:
        """One step: the actions of those who act, and what chance then offers each player, if it is to offer now."""
        for player in self.acting():
            if actions[player] not in self.legal(player):
                raise ValueError(f"player {player} cannot play {actions[player]}")
        self._legal = {}
        self.ply += 1
        if self.phase == ROLE:
            decides = actions[self.decider]
            self.first = self.decider if decides == PLACE_FIRST else 1 - self.decider
            self.phase = PICK
            if self.round <= ROUNDS_WITH_OFFERS:
                self.offer(offered)
        elif self.phase == PICK:
            picks = [CHOSEN[action] for action in actions]
            for player in (0, 1):
                self.unused[player] -= set(picks[player])
            self.offered = [set(), set()]
            self.start_turns(self.first, picks)
        elif self.phase == TURN:
            self.turn(actions)
        else:
            self.used_ability = actions[self.position.placer]
            self.after_turn(self.outcomes[self.used_ability])

    def offer(self, offered: Sequence[set[str]]) -> None:
        for player in (0, 1):
            number = min(OFFERED, len(self.unused[player]))
            if len(offered[player]) != number or not offered[player] <= self.unused[player]:
                raise ValueError(f"{offered[player]} offered of {self.unused[player]}")
        self.offered = [set(names) for names in offered]

    def turn(self, actions: Sequence[str]) -> None:
        self.submitted = list(actions)
        self.used_ability = None
        placer = self.position.placer
        if actions[0] == actions[1] == OFFER_DRAW:
            self.after_turn(self.position._replace(ended=AGREED))
            return
        placement = PLACED.get(actions[placer])
        prediction = PREDICTED.get(actions[1 - placer], frozenset())
        self.outcomes = resolve(self.position, placement, prediction, self.max_idle_turns)
        if None in self.outcomes:
            self.after_turn(self.outcomes[None])
        else:
            self.phase = ABILITY
            self.pending = placement[1]
            self.position = placed(self.position, placement)

    def after_turn(self, position: Position) -> None:
        self.phase = TURN
        self.pending = None
        self.position = position
        if position.ended is None:
            return
        self.last_end = position.ended
        winner = position.winner
        if self.mode == "round":
            self.end_game(winner)
            return
        if winner is not None:
            self.wins[winner] += 1
        if max(self.wins) == self.rounds_to_win:
            self.end_game(winner)
        elif self.round == self.max_rounds:
            self.end_game(None if self.wins[0] == self.wins[1] else self.wins.index(max(self.wins)))
        else:
            self.round += 1
            self.start_round(1 - self.first if winner is None else 1 - winner)

    def end_game(self, winner: int | None) -> None:
        self.done = True
        self.phase = None
        if winner is not None:
            self.rewards = (1.0, -1.0) if winner == 0 else (-1.0, 1.0)
