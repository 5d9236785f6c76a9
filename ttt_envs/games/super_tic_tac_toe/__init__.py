"""Super Tic-Tac-Toe: nine tic-tac-toe boards in one; each move determines the board of the next move.

- **What it adds**: depth. Perfect information, two players, 81 cells, no chance.
- **Action** `9*b + c`, written `b/c`: put your mark in cell c of small board b; 81 actions.
- **Rules**: a move in cell c sends the opponent to board c; if that board is full, the opponent may play in any board.
  Three in a row win a small board permanently. Three won boards in a row win the game. Without a legal move, the game
  is a draw.
- **Observation**: see `encoding.BLOCKS`; 191 features, or 7 planes of 9x9.
- **Options**: see `make`.
- **Oracle**: with `won_boards="open"`, X has a forced win from the start in at most 43 plies. The oracle plays this
  proven strategy and covers every position that can arise from it.
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
        won_boards: "open" (owned boards stay playable) or "closed" (they do not, as in the common "Ultimate" rules).
        random_opening_plies: 0 to 16: number of random moves at the start, so that the forced win does not decide every
            game.

    Raises:
        ValueError: an option has a wrong value; the message names the option.
        TypeError: an option has a wrong type.
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
