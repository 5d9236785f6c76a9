"""Tips for the picture of Operation Tic-Tac-Toe: what its pieces do."""

import re
from typing import Any

from ttt_envs.core.presentation import Box
from ttt_envs.games.operation_tic_tac_toe.drawing import is_pick, room_box, shown_specialists, tile
from ttt_envs.games.operation_tic_tac_toe.manual import SPECIALISTS
from ttt_envs.games.operation_tic_tac_toe.rules import EMPTY, IN_HAND, OFFERED, SPY, USED, kind_of, owner_of
from ttt_envs.games.operation_tic_tac_toe.text import MARKS, ROOM_NAMES, SPECIALIST_NAMES

# What each specialist does, without the names of actions, which are not needed for clicking.
_ABILITIES = tuple(re.sub(r" \('.*?'\)", "", each) for each in SPECIALISTS)

_STANDING = {IN_HAND: "in hand", OFFERED: "on offer", USED: "used up"}


def tips(state: Any, viewer: int | None = None) -> list[tuple[Box, str]]:
    """Return explanations of each piece and each specialist; see `Faces.tips`."""
    shown = []
    if is_pick(state):
        shown += [(room_box(k), each) for k, each in enumerate(_ABILITIES)]
    else:
        for room, name in enumerate(ROOM_NAMES):
            piece = int(state["board"][room])
            if piece != EMPTY:
                shown.append((room_box(room), f"Room {name}, {_piece(piece)}"))
    for player in (0, 1):
        for k in shown_specialists(state, player):
            standing = _STANDING.get(int(state["standing"][player, k]), "not yet used")
            whose = f"{MARKS[player]}'s {SPECIALIST_NAMES[k]} ({standing}),"
            shown.append((tile(state, player, k), f"{whose}{_ABILITIES[k].partition(',')[2]}"))
    return shown


def _piece(piece: int) -> str:
    owner, kind = MARKS[int(owner_of(piece))], int(kind_of(piece))
    if kind == SPY:
        return f"a spy of {owner}: three pieces of {owner} in a row win the round."
    return f"{owner}'s {SPECIALIST_NAMES[kind - 1]}: no ability affects it. Three pieces of {owner} in a row win."
