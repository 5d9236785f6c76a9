"""Format and parse positions and actions of Tic-Tac Match as text."""

import re
from typing import Any

import numpy as np

from ttt_envs.core.lines import lines as rows_of
from ttt_envs.core.lines import where
from ttt_envs.games.tic_tac_match.rules import (
    CELLS,
    NONE,
    NOTHING,
    completes_line,
    flip_of,
    read_board,
)

COLOURS = ("red", "blue", "yellow", "green")
SYMBOLS = "XO"
CELL_NAMES = "ABCDEFGHI"
ACTION_CARDS = ("flip", "wipe-out", "double play")

#: See `Faces.text_styles`: cards in their colours.
STYLES = tuple(
    (rf"\b{colour[0]}[{SYMBOLS}]\b|\b{colour} [{SYMBOLS}]\b", f"bold {'bright_blue' if colour == 'blue' else colour}")
    for colour in COLOURS
)

_NOBODY, _HIDDEN = "none", "hidden"


def kind_names(colours: int) -> tuple[str, ...]:
    """Return the names of the kinds: `red X`, `red O`, `blue X`, ..., then those of the cards without a symbol."""
    return (*(f"{colour} {symbol}" for colour in COLOURS[:colours] for symbol in SYMBOLS), *ACTION_CARDS)


def short_names(colours: int) -> tuple[str, ...]:
    """Return short names of at most two letters: `rX`, `rO`, `bX`, ..., F, W, D."""
    return (*(f"{colour[0]}{symbol}" for colour in COLOURS[:colours] for symbol in SYMBOLS), *"FWD")


def action_names(players: int, colours: int, short: bool = False) -> tuple[str, ...]:
    """Return the names of actions: `red X to E`, `flip`, `wipe-out +1` (against the next player), `double play`.

    If `short`, they are `rX to E`, `F`, `W +1` and `D`.
    """
    kinds = short_names(colours) if short else kind_names(colours)
    return (
        *(f"{kind} to {cell}" for kind in kinds[:-3] for cell in CELL_NAMES),
        kinds[-3],
        *(f"{kinds[-2]} +{k}" for k in range(1, players)),
        kinds[-1],
    )


# --- writing ---


def format_state(state: Any, viewer: int | None = None) -> str:
    """Return a position as text: turn or result, top cards, ID cards, hands, other heaps, counts, and the last play.

    For a viewer, the text has only the viewer's own hand and ID card, and the size of the pile. Without a viewer it has
    everything, and `parse_state` can read it.
    """
    names = short_names(_colours(state))
    lines = [headline(state)]
    for row in range(3):
        cells = (names[top] if top != NOTHING else "." for top in state["top"][3 * row : 3 * row + 3])
        lines.append("  ".join(f"{CELL_NAMES[3 * row + k]} {cell:<2}" for k, cell in enumerate(cells)).rstrip())
    mine = "" if viewer is None else f" (yours: {SYMBOLS[state['identity'][viewer]]})"
    lines.append("ID cards: " + " ".join(SYMBOLS[symbol] for symbol in state["identity"]) + mine)
    for player, hand in enumerate(state["hand"]):
        lines.append(f"hand {player}: {_cards(hand, names, viewer in (None, player))}")
    lines.append(f"covered: {_cards(state['covered'], names)}")
    lines.append(f"discards: {_cards(state['discard'], names)}")
    lines.append(f"pile: {_cards(state['pile'], names, viewer is None)}")
    lines.append(f"turn {state['turn']}, ply {state['ply']}")
    if state["last_action"] != NONE:
        lines.append(f"last play: {last_play(state)}")
    return "\n".join(lines)


def last_play(state: Any) -> str:
    """Return the seat and the action of the last play, such as `1 red X to E` for seat 1."""
    names = action_names(len(state["identity"]), _colours(state))
    return f"{state['last_player']} {names[state['last_action']]}"


def _colours(state: Any) -> int:
    return flip_of(state) // 2


def headline(state: Any, how: bool = True) -> str:
    """Return the first line: the player to move, or the winner and, unless `how=False`, how the game ended."""
    if state["done"]:
        winners = np.flatnonzero(state["rewards"] > 0)
        if not len(winners):
            why = f"{state['turn']} turns" if state["turn"] >= state["max_turns"] else "no legal play"
            return f"over: draw, {why}" if how else "over: draw"
        seats = f"seat{'s' if len(winners) > 1 else ''} {' and '.join(map(str, winners))}"
        result = f"over: {SYMBOLS[state['identity'][winners[0]]]} wins, {seats}"
        return f"{result}, {_lines(state) or 'by forfeit'}" if how else result
    left = int(state["pending"])
    rest = f", {left} more {'card' if left == 1 else 'cards'} of a double play" if left else ""
    return f"seat {state['to_move']} plays{rest}"


def ending(state: Any) -> str:
    """Return the reason why a finished game ended; see `Faces.ending`."""
    names = kind_names(_colours(state))
    rows = [f"three {names[state['top'][row[0]]]} {where(row, 3)}" for row in winning_rows(state)]
    if state["rewards"].any():
        return " and ".join(rows) or "the other side made no legal choice"
    why = headline(state).removeprefix("over: draw, ")
    return f"nobody won in {why}" if why.endswith(" turns") else why


def winning_rows(state: Any) -> list[list[int]]:
    """Return the cells of each row of three cards of one kind."""
    top = state["top"]
    return [row.tolist() for row in rows_of(3, 3, 3) if top[row[0]] != NOTHING and (top[row] == top[row[0]]).all()]


def _lines(state: Any) -> str:
    rows = winning_rows(state)
    if not rows:
        return ""
    cells = " and ".join(" ".join(CELL_NAMES[cell] for cell in row) for row in rows)
    kind = short_names(_colours(state))[state["top"][rows[0][0]]]
    return f"line{'s' if len(rows) > 1 else ''} of {kind} on {cells}"


def _cards(cards: np.ndarray, names: tuple[str, ...], shown: bool = True) -> str:
    if not shown:
        return f"{cards.sum()} {_HIDDEN}"
    return ", ".join(f"{n} {names[kind]}" for kind, n in enumerate(cards) if n) or _NOBODY


# --- reading ---


def parse_state(text: str, prototype: np.ndarray) -> np.ndarray:
    """Return the position, structured (1,), from a text of `format_state` without a viewer.

    The options come from `prototype`. The lines "pile" and "last play" and the kind of ending may be missing; the pile
    is always the rest of the deck. Raises ValueError, which names the wrong part.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or [""]
    states = prototype.copy()
    state = states[0]
    state["top"] = _read_board(lines[1:4], short_names(_colours(state)))
    if len(lines) < 4:
        raise ValueError("a position needs a line that says who plays, and three rows of three cells, each like 'A rX'")
    heaps = _read_heaps(lines[4:], state)
    _read_cards(heaps, state)
    _read_identities(heaps["ID cards"], state)
    _read_progress(heaps, state)
    _read_last_play(heaps.get("last play"), state)
    _read_turn(lines[0], state)
    return states


def _read_board(lines: list[str], names: tuple[str, ...]) -> list[int]:
    words = " ".join(lines).split()
    if words[::2] != list(CELL_NAMES) or len(words) != 2 * CELLS:
        raise ValueError("the board must be three rows of three cells, A to I, each like 'A rX' or 'A .'")
    for word in words[1::2]:
        if word != "." and word not in names[:-3]:
            raise ValueError(f"a cell holds '.' or one of {', '.join(names[:-3])}, not {word!r}")
    return [NOTHING if word == "." else names.index(word) for word in words[1::2]]


def _read_heaps(lines: list[str], state: Any) -> dict[str, str]:
    wanted = ["ID cards", *(f"hand {player}" for player in range(len(state["hand"]))), "covered", "discards", "pile"]
    heaps: dict[str, str] = {}
    for line in lines:
        name, colon, rest = line.partition(":")
        if line.startswith("turn "):
            name, rest = "turn", line
        elif not colon or name not in (*wanted, "last play"):
            raise ValueError(f"after the board there are lines {', '.join(wanted)}, turn and last play, not {line!r}")
        if name in heaps:
            raise ValueError(f"the line {name!r} stands there twice")
        heaps[name] = rest.strip()
    for name in (*wanted[:-1], "turn"):
        if name not in heaps:
            raise ValueError(f"the line {name!r} is missing")
    return heaps


def _read_cards(heaps: dict[str, str], state: Any) -> None:
    names = short_names(_colours(state))
    for player in range(len(state["hand"])):
        state["hand"][player] = _read_counts(f"hand {player}", heaps[f"hand {player}"], names)
    state["covered"] = _read_counts("covered", heaps["covered"], names)
    state["discard"] = _read_counts("discards", heaps["discards"], names)
    tops = np.bincount(state["top"][state["top"] != NOTHING], minlength=len(names))
    rest = state["deck"].astype(int) - tops - state["hand"].sum(axis=0) - state["covered"] - state["discard"]
    for kind, left in enumerate(rest):
        if left < 0:
            raise ValueError(f"the deck has {state['deck'][kind]} cards {names[kind]}, and here are {-left} more")
    state["pile"] = rest
    if "pile" in heaps and _read_counts("pile", heaps["pile"], names) != rest.tolist():
        raise ValueError(f"the pile must be the rest of the deck: {_cards(rest, names)}")


def _read_counts(heap: str, text: str, names: tuple[str, ...]) -> list[int]:
    counts = [0] * len(names)
    if text == _NOBODY:
        return counts
    for word in text.split(","):
        read = re.fullmatch(r"([0-9]{1,2}) (\w+)", word.strip())
        if not read or read[2] not in names:
            raise ValueError(f"{heap}: cards are like '2 {names[0]}' (of {', '.join(names)}), not {word.strip()!r}")
        counts[names.index(read[2])] += int(read[1])
    if max(counts) > np.iinfo(np.int8).max:
        raise ValueError(f"{heap}: no deck has {max(counts)} cards of a kind")
    return counts


def _read_identities(text: str, state: Any) -> None:
    words = text.split()
    if len(words) != len(state["identity"]) or any(word not in tuple(SYMBOLS) for word in words):
        raise ValueError(f"ID cards: one X or O for each of {len(state['identity'])} players, not {text!r}")
    state["identity"] = [SYMBOLS.index(word) for word in words]


def _read_progress(heaps: dict[str, str], state: Any) -> None:
    read = re.fullmatch(r"turn ([0-9]{1,9}), ply ([0-9]{1,9})", heaps["turn"])
    if not read:
        raise ValueError(f"the count of turns is like 'turn 3, ply 4', not {heaps['turn']!r}")
    state["turn"], state["ply"] = int(read[1]), int(read[2])


def _read_last_play(words: str | None, state: Any) -> None:
    """Parse the last play; a symbol card must lie on the cell to which it was played."""
    state["last_action"] = state["last_player"] = NONE
    if words is None:
        return
    names = action_names(len(state["identity"]), _colours(state))
    player, _, name = words.partition(" ")
    if name not in names or player not in map(str, range(len(state["identity"]))):
        raise ValueError(f"the last play is a seat and what it played, such as '1 {names[0]}', not {words!r}")
    action = names.index(name)
    if action < CELLS * flip_of(state) and state["top"][action % CELLS] != action // CELLS:
        raise ValueError(f"{words!r} was not the last play: another card lies on {CELL_NAMES[action % CELLS]}")
    state["last_action"], state["last_player"] = action, int(player)


def _read_turn(line: str, state: Any) -> None:
    top = state["top"]
    lines = [
        int(top[cell])
        for cell in range(CELLS)
        if top[cell] != NOTHING and completes_line(read_board(state), top[cell], cell)
    ]
    if line.startswith("over:"):
        _read_end(line, state, lines)
        return
    read = re.fullmatch(r"seat ([0-3]) plays(?:, ([12]) more cards? of a double play)?", line)
    if not read:
        raise ValueError(f"the first line must be like 'seat 1 plays' or 'over: draw', not {line!r}")
    state["to_move"], state["pending"] = int(read[1]), int(read[2] or 0)


def _read_end(line: str, state: Any, lines: list[int]) -> None:
    state["done"] = True
    won = state["identity"] == lines[0] % 2 if lines else np.zeros(0, bool)
    if won.any() and not won.all():
        state["rewards"] = np.where(won, 1 / won.sum(), -1 / (~won).sum())
    if line not in (headline(state), headline(state, how=False)):
        raise ValueError(f"the first line must be {headline(state)!r}, as the board has it")
