"""Tips for the picture of Tic-Tac Match: the effects of its cards."""

from typing import Any

from ttt_envs.core.presentation import Box
from ttt_envs.games.tic_tac_match.drawing import cell_box, places
from ttt_envs.games.tic_tac_match.rules import CELLS, NOTHING, flip_of
from ttt_envs.games.tic_tac_match.text import CELL_NAMES, SYMBOLS, kind_names

_SPECIALS = (
    "Flip: every player's ID card is turned over, so that the sides want the other symbol.",
    "Wipe-Out: a player of your choice discards the whole hand, draws a new one and takes the next turn.",
    "Double Play: then you play exactly two more cards, each a symbol or a Flip.",
)


def tips(state: Any, viewer: int | None = None) -> list[tuple[Box, str]]:
    """Return explanations of ID cards, and of the cards on the board and in visible hands."""
    flip = int(flip_of(state))
    names = kind_names(flip // 2)
    shown = []
    for cell in range(CELLS):
        kind = int(state["top"][cell])
        what = "empty: any symbol card goes here" if kind == NOTHING else _covered(names[kind])
        shown.append((cell_box(cell), f"Cell {CELL_NAMES[cell]}, {what}."))
    for player in range(len(state["identity"])):
        seat, symbol = places(state, player, viewer), SYMBOLS[state["identity"][player]]
        shown.append((seat.identity, f"Seat {player} wants three {symbol} of one colour in a row, whoever lays them."))
        for kind, box in zip(seat.kinds, seat.places, strict=True):
            if viewer in (None, player):
                shown.append((box, _card(names[kind]) if kind < flip else _SPECIALS[kind - flip]))
            else:
                shown.append((box, f"A card of seat {player}, which its hand hides."))
    return shown


def _others(name: str) -> str:
    """Return the cards with either the same colour or the same symbol as a card, but not both."""
    colour, symbol = name.split()
    other = SYMBOLS[1 - SYMBOLS.index(symbol)]
    return f"a {colour} {other} or an {symbol} of another colour" if symbol in "XO" else ""


def _covered(name: str) -> str:
    return f"a {name}: {_others(name)} can cover it"


def _card(name: str) -> str:
    return f"A {name}: onto an empty cell, or onto {_others(name)}."
