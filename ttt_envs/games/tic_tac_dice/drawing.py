"""Draw the Tic-Tac-Dice table as SVG: the cards, the markers on them, the dice, and the points of a match."""

from typing import Any

from ttt_envs.core.presentation import Box
from ttt_envs.drawing.frame import (
    BLACK,
    FOOT,
    INK,
    INNER,
    LABEL,
    MARGIN,
    MARK_COLOURS,
    NOTE,
    PANEL,
    SOFT,
    TOP,
    WIDTH,
    Caption,
    chip,
    disc,
    picture,
    rect,
    struck,
    turn_chips,
)
from ttt_envs.drawing.lettering import text
from ttt_envs.drawing.theme import COLOURS
from ttt_envs.games.tic_tac_dice.rules import EMPTY, NONE, claimable, doubles
from ttt_envs.games.tic_tac_dice.text import (
    ENDS,
    action_names,
    is_round_over,
    result,
    round_result,
    winning_rows,
)

CARD, CARD_OPEN, CARD_SOFT = (COLOURS[name][0] for name in ("card", "card_open", "card_soft"))
GAP, DIE, BAR = 10, 52, 64

# The places of pips on a die, in steps from its middle; and the places that each number uses.
_PLACES = {"a": (-1, -1), "b": (1, -1), "c": (-1, 0), "d": (0, 0), "e": (1, 0), "f": (-1, 1), "g": (1, 1)}
_PIPS = ("", "d", "ag", "adg", "abfg", "abdfg", "abcefg")


def draw(state: Any, viewer: int | None = None) -> str:
    """Return SVG text, the same for every viewer.

    Cards that can be claimed are yellow and show which dice allow it. The card that was claimed last has a frame. A
    stroke goes through a winning row.
    """
    size = int(state["size"])
    ended = _is_ended(state)
    parts = [] if ended else [_dice(state)]
    parts += [_card(state, cell, ended) for cell in range(size * size)]
    for row in winning_rows(state):
        first, last = card_box(row[0], size), card_box(row[-1], size)
        x, y = first.width / 2, first.height / 2 + 6
        parts.append(struck(first.x + x, first.y + y, last.x + x, last.y + y))
    if state["target"]:
        parts += [_points(state, player) for player in (0, 1)]
    low = card_box(size * size - 1, size)
    return picture(_caption(state), low.y + low.height + 10 + FOOT, parts)


def spots(state: Any, viewer: int | None = None) -> dict[str, Box]:
    """Return the clickable area of each card by its name, such as "card A"; see `Faces.spots`."""
    size = int(state["size"])
    return {f"card {name}": card_box(cell, size) for cell, name in enumerate(action_names(size))}


def clicks(state: Any, action: int) -> tuple[str, ...]:
    """Return the spot to click for an action, a card; see `Faces.clicks`."""
    return (f"card {action_names(int(state['size']))[action]}",)


def _is_ended(state: Any) -> bool:
    return bool(state["done"] or is_round_over(state))


def _caption(state: Any) -> Caption:
    size, win = int(state["size"]), int(state["win_length"])
    title = f"Tic-Tac-Dice, {size}×{size}, {win} in a row"
    last = ""
    if state["last_claim"] != NONE:
        cell = int(state["last_claim"])
        last = f"{'XO'[state['owner'][cell] - 1]} claimed card {action_names(size)[cell]}"
    elif state["last"] and not _is_ended(state):
        last = f"the round before: {ENDS[state['last']]}"
    if not _is_ended(state):
        kind = int(state["to_move"]) + 1
        one, two = (int(number) for number in state["dice"])
        ranks = sorted({one, two, one + two} & {int(rank) for rank in state["rank"]})
        listed = " or ".join(filter(None, (", ".join(map(str, ranks[:-1])), str(ranks[-1]))))
        note = f"a yellow card: {listed}"
        if doubles(state):
            note += "; doubles roll again"
        return Caption(title, f"{'XO'[kind - 1]} to claim", note=note, last=last, **turn_chips([kind]))
    words, _, how = (result(state) if state["done"] else round_result(state)).partition(", ")
    winners = [int(state["rewards"].argmax()) + 1] if state["rewards"].any() else []
    if state["done"]:
        if words.endswith(" by forfeit"):
            words, how = words.removesuffix(" by forfeit"), "by forfeit"
        return Caption(title, words, note=how, last=last, **turn_chips(winners))
    if " for " in words:
        winners = [1 if words.endswith("X") else 2]
    return Caption(title, f"round over: {words}", note=how, last=last, **turn_chips(winners))


def card_box(cell: int, size: int) -> Box:
    """Return the place of a card."""
    width = min((INNER - (size - 1) * GAP) / size, 130.0)
    height, left = min(width, 106.0), (WIDTH - size * width - (size - 1) * GAP) / 2
    return Box(left + cell % size * (width + GAP), TOP + BAR + cell // size * (height + GAP), width, height)


def _dice(state: Any) -> str:
    mark, y = int(state["to_move"]) + 1, TOP + 26
    one, two = (int(number) for number in state["dice"])
    parts = [text("rolled", MARGIN, y + 6, LABEL, SOFT)]
    for k, number in enumerate((one, two)):
        parts.append(_die(number, Box(MARGIN + 58 + k * (DIE + 8), y - DIE / 2, DIE, DIE), MARK_COLOURS[mark]))
    return "".join(parts)


def _die(number: int, box: Box, edge: str) -> str:
    middle_x, middle_y, step = box.x + box.width / 2, box.y + box.height / 2, 0.26 * box.width
    pips = (_PLACES[place] for place in _PIPS[number])
    return rect(box, CARD, edge, 4, 11) + "".join(
        disc(middle_x + step * x, middle_y + step * y, 0.09 * box.width, BLACK) for x, y in pips
    )


def _points(state: Any, player: int) -> str:
    right, y = WIDTH - MARGIN, TOP + 10 + 34 * player
    points = int(state["points"][player])
    words = f"{points} of {state['target']} points" if points <= state["target"] else f"{points} points"
    return chip(player + 1, right - 128, y, 13) + text(words, right, y + 6, NOTE, SOFT, "end", room=108)


def _card(state: Any, cell: int, ended: bool) -> str:
    box, rank, owner = card_box(cell, int(state["size"])), int(state["rank"][cell]), int(state["owner"][cell])
    open_here = not ended and claimable(state) >> cell & 1
    x, y = box.x + box.width / 2, box.y + box.height / 2
    name = action_names(int(state["size"]))[cell]
    edge, thick = (INK, 4.0) if cell == state["last_claim"] != NONE else (SOFT, 1.5)  # the card claimed last is framed
    parts = [
        rect(box, CARD_OPEN if open_here else CARD if owner == EMPTY else PANEL, edge, thick, 9),
        text(name, box.x + 9, box.y + 20, LABEL, CARD_SOFT if owner == EMPTY else SOFT),
    ]
    if owner == EMPTY:
        parts.append(text(str(rank), x, y + (14 if open_here else 20), 50, BLACK, "middle"))
        if open_here:
            parts.append(
                text(_reason(state, rank), x, box.y + box.height - 9, NOTE, BLACK, "middle", room=box.width - 10)
            )
    else:
        parts.append(text(str(rank), box.x + box.width - 9, box.y + 20, LABEL, SOFT, "end"))
        parts.append(chip(owner, x, y + 6, 0.3 * box.height))
    return "".join(parts)


def _reason(state: Any, rank: int) -> str:
    one, two = (int(number) for number in state["dice"])
    return f"{one} + {two}" if rank == one + two else f"die {rank}"
