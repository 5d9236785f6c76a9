"""The slow, obvious second version of Tic-Tac Match, to check the fast one against.

Written from the rule text alone, without a look at the fast version, so that the two share no mistake. Chance comes
from outside: whoever makes a game says which card of the pile is drawn, one by one, so that this version can be driven
by what the fast one drew. It then has to find by itself how many cards are drawn, by whom, and from which pile.

The second part lists, card by card, what a player must hold possible who does not see the other hands. The third gives
names to numbers: of all this it alone knows how the fast version writes a position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations

SYMBOLS = ("X", "O")
COLOURS = ("red", "blue", "yellow", "green")

#: A symbol card is a pair of symbol and colour, any other card its name.
Card = tuple[str, str] | str
FLIP, WIPE_OUT, DOUBLE_PLAY = "flip", "wipe-out", "double play"

#: What can be done: a card, and the cell that it is played to, or the player that it is played against, or None.
Action = tuple[Card, int | None]

#: What is no action, but seen by all: a hand without a legal play is thrown away.
EXCHANGE: Action = ("exchange", None)

ROWS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

#: So many hands in a row without a legal play are thrown away; then the game is a draw.
MOST_EXCHANGES = 1000


def kinds_of(colours: int) -> list[Card]:
    """All kinds of cards, in the order in which they are numbered."""
    return [*((symbol, colour) for colour in COLOURS[:colours] for symbol in SYMBOLS), FLIP, WIPE_OUT, DOUBLE_PLAY]


def is_symbol(card: Card) -> bool:
    return not isinstance(card, str)


def can_lie_on(card: Card, top: Card | None) -> bool:
    """Whether a symbol card may be played to a cell: an empty one, or one in which it matches in exactly one thing."""
    return top is None or (card[0] == top[0]) + (card[1] == top[1]) == 1


def line_of(board: list[Card | None]) -> Card | None:
    """The kind of three like cards in a row, or None."""
    for a, b, c in ROWS:
        if board[a] is not None and board[a] == board[b] == board[c]:
            return board[a]
    return None


def plays(board: list[Card | None], hand: list[Card]) -> list[Action]:
    """What symbol cards and Flips can be played: one card, whatever comes after it."""
    found: list[Action] = []
    for card in set(hand):
        if card == FLIP:
            found.append((card, None))
        elif is_symbol(card):
            found.extend((card, cell) for cell in range(9) if can_lie_on(card, board[cell]))
    return found


def first_plays(board: list[Card | None], hand: list[Card]) -> list[Action]:
    """What can be the first of two cards: it must end the game or leave a second one."""
    found = []
    for card, cell in plays(board, hand):
        rest = list(hand)
        rest.remove(card)
        after = list(board)
        if cell is not None:
            after[cell] = card
        if line_of(after) is not None or plays(after, rest):
            found.append((card, cell))
    return found


def actions_of(board: list[Card | None], hand: list[Card], pending: int, others: list[int]) -> list[Action]:
    """All that a player with this hand may do. `pending`: cards of a Double Play still to be played."""
    if pending == 2:
        return first_plays(board, hand)
    found = plays(board, hand)
    if pending == 0:
        if WIPE_OUT in hand:
            found.extend((WIPE_OUT, other) for other in others)
        if DOUBLE_PLAY in hand:
            rest = list(hand)
            rest.remove(DOUBLE_PLAY)
            if first_plays(board, rest):
                found.append((DOUBLE_PLAY, None))
    return found


class SlowTicTacMatch:
    """One game, played on in place. `draw(n)` says which card of a pile of n is drawn: 0 to n - 1.

    Attributes:
        pile: the draw pile, sorted, as its order means nothing.
        stacks: for each cell the cards that lie there, the top one last.
        identities: the symbol that each player's ID card shows.
        pending: cards of a Double Play that are still to be played.
        legal: what the mover may do.
        log: (player, action) of each card played, and of each hand exchanged.
    """

    def __init__(
        self,
        draw: Callable[[int], int],
        players: int = 2,
        teams: bool = True,
        colours: int = 4,
        copies: int = 6,
        flips: int = 4,
        wipe_outs: int = 4,
        double_plays: int = 4,
        hand_size: int = 4,
        max_turns: int = 1000,
    ) -> None:
        self.draw = draw
        self.players = players
        self.hand_size = hand_size
        self.max_turns = max_turns
        self.dealer_side = {0, 2} if players == 4 and teams else {0}
        self.kinds = kinds_of(colours)
        self.number = {kind: k for k, kind in enumerate(self.kinds)}
        self.pile: list[Card] = []
        for kind in self.kinds:
            many = {FLIP: flips, WIPE_OUT: wipe_outs, DOUBLE_PLAY: double_plays}.get(kind, copies)
            self.pile.extend([kind] * many)
        self.discards: list[Card] = []
        self.stacks: list[list[Card]] = [[] for _ in range(9)]
        self.hands: list[list[Card]] = [[] for _ in range(players)]
        self.pending = 0
        self.turns = 0
        self.log: list[tuple[int, Action]] = []
        self.reshuffles = 0
        self.done = False
        self.rewards = [0.0] * players
        self.deal()

    # --- cards ---

    def board(self) -> list[Card | None]:
        return [stack[-1] if stack else None for stack in self.stacks]

    def covered(self) -> list[Card]:
        return [card for stack in self.stacks for card in stack[:-1]]

    def drawn(self) -> Card:
        """A card from the pile. If it was the last one, the pile is made anew at once."""
        card = self.pile.pop(self.draw(len(self.pile)))
        if not self.pile:
            self.pile = sorted(self.discards + self.covered(), key=self.number.__getitem__)
            self.discards = []
            self.stacks = [stack[-1:] for stack in self.stacks]
            self.reshuffles += 1
        return card

    def refill(self, player: int) -> None:
        while len(self.hands[player]) < self.hand_size:
            self.hands[player].append(self.drawn())

    def throw_away(self, player: int) -> None:
        """The whole hand to the discards, and a new one."""
        self.discards += self.hands[player]
        self.hands[player] = []
        self.refill(player)

    # --- the course of the game ---

    def deal(self) -> None:
        """Seat 0 deals; the first symbol from the pile lies in the centre and says who is what."""
        for player in range(self.players):
            self.refill(player)
        card = self.drawn()
        while not is_symbol(card):
            self.discards.append(card)
            card = self.drawn()
        self.stacks[4].append(card)
        symbol = card[0]
        other = "O" if symbol == "X" else "X"
        self.identities = [symbol if player in self.dealer_side else other for player in range(self.players)]
        self.begin_turn(1)

    def begin_turn(self, player: int) -> None:
        self.to_move = player
        exchanges = 0
        self.find_legal()
        while not self.legal and exchanges < MOST_EXCHANGES:
            self.log.append((player, EXCHANGE))
            self.throw_away(player)
            self.find_legal()
            exchanges += 1
        if not self.legal:
            self.over()

    def others(self) -> list[int]:
        return [(self.to_move + k) % self.players for k in range(1, self.players)]

    def find_legal(self) -> None:
        self.legal = actions_of(self.board(), self.hands[self.to_move], self.pending, self.others())

    def play(self, action: Action) -> None:
        """One card, and what it does."""
        if action not in self.legal:
            raise ValueError(f"{action} is not legal on {self.board()} with {self.hands[self.to_move]}")
        card, target = action
        mover = self.to_move
        self.log.append((mover, action))
        self.hands[mover].remove(card)
        if is_symbol(card):
            self.stacks[target].append(card)
            line = line_of(self.board())
            if line is not None:
                self.win(line[0])
                return
        else:
            self.discards.append(card)
        if card == FLIP:
            self.identities = ["O" if symbol == "X" else "X" for symbol in self.identities]

        if card == DOUBLE_PLAY:
            self.pending = 2
            self.find_legal()
        elif self.pending == 2:
            self.pending = 1
            self.find_legal()
        else:
            self.pending = 0
            self.end_turn(mover, target if card == WIPE_OUT else None)

    def end_turn(self, mover: int, victim: int | None) -> None:
        """The hand is filled up; after a Wipe-Out the victim gets a new one and the turn."""
        self.turns += 1
        if self.turns == self.max_turns:
            self.over()
            return
        self.refill(mover)
        if victim is None:
            self.begin_turn((mover + 1) % self.players)
        else:
            self.throw_away(victim)
            self.begin_turn(victim)

    def win(self, symbol: str) -> None:
        """Those whose ID card shows the symbol share +1, the others -1."""
        winners = [player for player in range(self.players) if self.identities[player] == symbol]
        for player in range(self.players):
            self.rewards[player] = 1 / len(winners) if player in winners else -1 / (self.players - len(winners))
        self.over()

    def over(self) -> None:
        self.done = True
        self.legal = []


# --- what a player cannot know ---


def possible_worlds(
    hidden: list[Card], sizes: list[int], mover: int | None, can_play: Callable[[list[Card]], bool]
) -> Counter[tuple[tuple[Card, ...], ...]]:
    """Hands of these sizes, out of cards that are not seen -> in how many ways they can be dealt, cards told apart.

    Only those in which the mover can play. `mover`: the number of his hand, or None if it is not one of these.
    """

    def deals(left: tuple[int, ...], sizes: list[int]) -> Iterator[list[tuple[int, ...]]]:
        if not sizes:
            yield []
            return
        for hand in combinations(left, sizes[0]):
            rest = tuple(card for card in left if card not in hand)
            for others in deals(rest, sizes[1:]):
                yield [hand, *others]

    found: Counter[tuple[tuple[Card, ...], ...]] = Counter()
    for hands in deals(tuple(range(len(hidden))), sizes):
        named = tuple(tuple(hidden[card] for card in sorted(hand)) for hand in hands)
        if mover is None or can_play(list(named[mover])):
            found[named] += 1
    return found


# --- in the fast version's numbers ---


@cache
def numbers(players: int, colours: int) -> dict[tuple[int, Action], int]:
    """(player, what he does) -> the fast version's number of it."""
    found: dict[tuple[int, Action], int] = {}
    for player in range(players):
        known: list[Action] = [(card, cell) for card in kinds_of(colours)[:-3] for cell in range(9)]
        known += [(FLIP, None), *((WIPE_OUT, (player + k) % players) for k in range(1, players)), (DOUBLE_PLAY, None)]
        found |= {(player, action): number for number, action in enumerate([*known, EXCHANGE])}
    return found


def counted(cards: list[Card], kinds: list[Card]) -> list[int]:
    return [cards.count(kind) for kind in kinds]


def shown(slow: SlowTicTacMatch) -> dict[str, object]:
    """The slow version's position in the fast version's numbers. After the end it is nobody's turn, which is 0."""
    kinds = slow.kinds
    return {
        "rewards": slow.rewards,
        "ply": sum(action != EXCHANGE for _, action in slow.log),
        "to_move": 0 if slow.done else slow.to_move,
        "done": slow.done,
        "top": [-1 if card is None else kinds.index(card) for card in slow.board()],
        "identity": ["XO".index(symbol) for symbol in slow.identities],
        "hand": [counted(hand, kinds) for hand in slow.hands],
        "pile": counted(slow.pile, kinds),
        "discard": counted(slow.discards, kinds),
        "covered": counted(slow.covered(), kinds),
        "pending": 0 if slow.done else slow.pending,
        "turn": slow.turns,
    }
