"""Super Tic-Tac-Toe: nine tic-tac-toe boards in one, where each move says in which board the next must be made.

- **What it adds**: depth. Perfect information, two players, 81 cells, no chance.
- **Action** `9*b + c`, written `b/c`: put your mark into cell c of small board b; 81 actions.
- **Rules**: a move in cell c sends the opponent to board c; if it is full they may play anywhere. Three in a row own a
  small board, for good; three owned boards in a row win; no move left is a draw.
- **Observation**: see `encoding.BLOCKS`; 191 features, or 7 planes of 9x9.
- **Options**: see `make`.
- **Oracle**: with `won_boards="open"` the start is a forced win for X in at most 43 plies; the oracle plays that proven
    strategy and covers every position on it.
"""

from functools import partial
from typing import Any

import numpy as np

from ttt_envs.core.game import Extras, Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.options import choice, whole
from ttt_envs.core.oracle import Oracle
from ttt_envs.core.presentation import Faces
from ttt_envs.core.symmetry import Patterns
from ttt_envs.games.super_tic_tac_toe import encoding, manual, rules, symmetry, text
from ttt_envs.games.super_tic_tac_toe.drawing import clicks, draw, spots
from ttt_envs.games.super_tic_tac_toe.lessons import LESSONS
from ttt_envs.games.super_tic_tac_toe.open_spiel import COUNTERPART
from ttt_envs.games.super_tic_tac_toe.tips import tips

ID = "super_tic_tac_toe"


def make(*, first_move: str = "center_board", won_boards: str = "open", random_opening_plies: int = 0) -> Game:
    """Return the game with these options.

    Args:
        first_move: "center_board" (the first mark goes into the centre board) or "anywhere".
        won_boards: "open" (marks may still be put into owned boards) or "closed" (they may
            not: the widely played "Ultimate" rule).
        random_opening_plies: 0 to 16: the number of first moves that are drawn at random, so that the
            forced win does not decide every game.

    Raises:
        ValueError: a wrong value of an option, which the message names.
        TypeError: an option of a wrong type.
    """
    options: dict[str, Any] = {
        "first_move": choice("first_move", first_move, ("center_board", "anywhere")),
        "won_boards": choice("won_boards", won_boards, ("open", "closed")),
        "random_opening_plies": whole("random_opening_plies", random_opening_plies, 0, rules.MOST_OPENING_PLIES),
    }
    prototype = np.zeros(1, rules.STATE)
    prototype["center_first"] = first_move == "center_board"
    prototype["closed"] = won_boards == "closed"
    prototype["random_opening_plies"] = random_opening_plies
    return Game(
        id=ID,
        title="Super Tic-Tac-Toe",
        options=options,
        factory=make,
        same_play={"random_opening_plies": ...},
        prototype=prototype,
        action_names=text.ACTION_NAMES,
        observation_layout=encoding.BLOCKS,
        parts=encoding.PARTS,
        simultaneous=False,
        chance="start" if random_opening_plies else "none",
        hidden_information=False,
        max_plies=81,
        teams=((0,), (1,)),
        rotate_players=symmetry.rotate_players,
        kernels=Kernels(
            rules.reset,
            rules.legal_mask,
            rules.step,
            encoding.observe,
            rules.resample,
            rules.is_legal,
            rules.random_action,
        ),
        faces=Faces(
            format_state=text.format_state,
            read_state=partial(text.parse_state, prototype=prototype),
            draw=draw,
            action_format="board/cell, each from 0 to 8, row by row from the top left",
            spoken_action_names=text.SPOKEN_NAMES,
            rules_text=manual.rules_text(**options),
            legend=manual.LEGEND,
            lessons=LESSONS,
            pitch=manual.PITCH,
            ending=text.ending,
            player_names=tuple(text.MARKS[1:]),
            text_styles=text.STYLES,
            spots=spots,
            clicks=clicks,
            tips=tips,
        ),
        extras=Extras(
            oracle=partial(_oracle, options),
            patterns=_patterns,
            symmetries=lambda: tuple(symmetry.symmetries()),
            counterpart=COUNTERPART if (first_move, won_boards) == ("anywhere", "closed") else None,
        ),
    )


def _patterns() -> Patterns:
    from ttt_envs.games.super_tic_tac_toe.patterns import PATTERNS

    return PATTERNS


def _oracle(options: dict[str, Any]) -> Oracle:
    from ttt_envs.games.super_tic_tac_toe.solver import oracle_for

    return oracle_for(**options)
