"""Martian Tic-Tac-Toe: pyramids of three sizes that are swapped and captured, so a game may never end.

- **What it adds**: loops and captures. Perfect information, two to four players, no chance.
- **Action** `3*cell + (size-1)`, written `b2=3`: put a pyramid of this size, 1 to 3, from your stash in the cell.
- **Rules**: see `manual.rules_text`. A player who cannot move passes inside the step.
- **Observation**: see `encoding.blocks`; 94 features on the 3x3 board with two players.
- **Options**: see `make`.
- **Boards from 6x6 on** have more cells than two players have pieces. Unless the players fight for a line, the game is
  a draw: by `max_plies`, or because no player can move when all pieces are on the board. Random games on them hardly
  ever have a winner.
- **Oracle**: the 3x3 game of two players is solved completely: see `solver`. `examples/martian_coalition.py` computes
  what each of three players can force alone against the two others.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ttt_envs.core.game import Extras, Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.options import choice, whole
from ttt_envs.core.oracle import Oracle, SolveCommand
from ttt_envs.core.presentation import Faces
from ttt_envs.core.symmetry import Patterns
from ttt_envs.games.martian_tic_tac_toe import encoding, manual, rules, symmetry, text
from ttt_envs.games.martian_tic_tac_toe.drawing import clicks, draw, spots
from ttt_envs.games.martian_tic_tac_toe.lessons import LESSONS
from ttt_envs.games.martian_tic_tac_toe.tips import tips

ID = "martian_tic_tac_toe"

#: The least `max_plies` on the 3x3 board: the length of the longest game under optimal play after any opening.
LEAST_PLIES = 152

#: The smallest `size` for four players.
FOUR_PLAYERS = 5


def make(
    *,
    size: int = 3,
    players: int = 2,
    repetition_limit: int | None = 3,
    max_plies: int | None = None,
    same_size_swap: bool = False,
) -> Game:
    """Return the game with these options.

    Args:
        size: 3 to 8: number of rows and columns. Each player has this number of pieces of each size, at most 5, and the
            same number in a row wins.
        players: 2 or 3, and from size 5 on also 4. The original rules allow more than two players on larger boards
            only.
        repetition_limit: 2 to 9: the game is a draw when a position occurs for the limit-th time; None for no limit.
            The board is compared with the boards of the last 300 moves, or on larger boards of 25 moves per cell.
        max_plies: the game is a draw after this many moves, at least 152 on the 3x3 board; None for 300 on the 3x3
            board and 25 per cell on larger boards.
        same_size_swap: True: a piece may also be swapped for one of the same size.

    Raises:
        ValueError: an option has a wrong value; the message names the option.
        TypeError: an option has a wrong type.
    """
    size = whole("size", size, 3, 8)
    most = 4 if size >= FOUR_PLAYERS else 3
    players = whole("players", players, 2, most, unless="" if most == 4 else f"size={FOUR_PLAYERS} allows up to 4")
    if repetition_limit is not None:
        repetition_limit = whole("repetition_limit", repetition_limit, 2, 9)
    if max_plies is None:
        max_plies = rules.usual_plies(size)
    max_plies = whole("max_plies", max_plies, LEAST_PLIES if size == 3 else players, rules.MOST_PLIES)
    options: dict[str, Any] = {
        "size": size,
        "players": players,
        "repetition_limit": repetition_limit,
        "max_plies": max_plies,
        "same_size_swap": choice("same_size_swap", same_size_swap, (False, True)),
    }
    pieces = line = rules.row_length(size)
    prototype = np.zeros(1, rules.state_dtype_for(size, players, repetition_limit is not None))
    prototype["size"], prototype["line"], prototype["pieces"] = size, line, pieces
    prototype["repetition_limit"] = repetition_limit or 0
    prototype["max_plies"], prototype["same_size_swap"] = max_plies, same_size_swap
    return Game(
        id=ID,
        title="Martian Tic-Tac-Toe",
        options=options,
        factory=make,
        same_play={"max_plies": ...},
        prototype=prototype,
        action_names=text.action_names(size),
        observation_layout=encoding.blocks(size, players, pieces, repetition_limit or 0),
        simultaneous=False,
        chance="none",
        hidden_information=False,
        max_plies=max_plies,
        teams=tuple((player,) for player in range(players)),
        rotate_players=symmetry.rotate_players,
        kernels=Kernels(rules.reset, rules.legal_mask, rules.step, encoding.observe, rules.resample),
        faces=Faces(
            format_state=text.format_state,
            read_state=partial(text.parse_state, prototype=prototype),
            draw=draw,
            spoken_action_names=text.spoken_names(size),
            action_format="cell=size, such as b2=1: columns are letters, rows numbers from the top, sizes 1 to 3",
            rules_text=manual.rules_text(**options),
            legend=manual.LEGEND,
            lessons=LESSONS,
            pitch=manual.PITCH,
            ending=text.ending,
            player_names=manual.COLOURS[:players],
            text_styles=text.STYLES,
            spots=spots,
            clicks=clicks,
            tips=tips,
        ),
        extras=Extras(
            oracle=partial(_oracle, options),
            patterns=partial(_patterns, size, pieces, players),
            solve_commands=_solve_commands,
            symmetries=lambda: tuple(symmetry.symmetries(size, players, pieces, repetition_limit or 0)),
        ),
    )


def _oracle(options: dict[str, Any]) -> Oracle:
    from ttt_envs.games.martian_tic_tac_toe.solver import oracle_for

    return oracle_for(**options)


def _patterns(size: int, pieces: int, players: int) -> Patterns:
    # Imported on first use, because the import builds the tables of all boards, which takes a while.
    from ttt_envs.games.martian_tic_tac_toe.patterns import patterns_for

    return patterns_for(size, pieces, players)


def _solve_commands() -> Mapping[str, type[SolveCommand]]:
    from ttt_envs.games.martian_tic_tac_toe.solver.command import COMMANDS

    return COMMANDS
