"""Connect Four, a game outside the package: copy this folder to begin a game of your own.

Two players drop discs into columns; the first with `line` of them in a row wins. `import connect_four` registers
it, and `ttt_envs.load("connect_four", line=4)` then gives the game.
"""

from functools import partial

import numpy as np

import ttt_envs
from ttt_envs.dev import Extras, Faces, Game, Kernels, Oracle, solved_oracle, whole

from . import encoding, manual, rules, symmetry, text
from .drawing import draw

#: Boards with at most so many cells are solved within seconds.
SOLVED = 20


def make(*, line: int = 4, rows: int = 6, columns: int = 7) -> Game:
    """Return the game with these options; ValueError or TypeError for a wrong one.

    Args:
        line: 3 to 5: discs in a row that win.
        rows: 4 to 8: cells of a column.
        columns: 4 to 8: number of columns.
    """
    options = {
        "line": whole("line", line, 3, 5),
        "rows": whole("rows", rows, 4, 8),
        "columns": whole("columns", columns, 4, 8),
    }
    prototype = np.zeros(1, rules.state_dtype_for(rows, columns))
    prototype["line"] = line
    return Game(
        id="connect_four",
        title="Connect Four",
        options=options,
        factory=make,
        prototype=prototype,
        action_names=text.action_names(columns),
        observation_layout=encoding.blocks(rows, columns),
        simultaneous=False,
        chance="none",
        hidden_information=False,
        max_plies=rows * columns,
        teams=((0,), (1,)),
        rotate_players=symmetry.rotate_players,
        kernels=Kernels(rules.reset, rules.legal_mask, rules.step, encoding.observe, rules.resample),
        faces=Faces(
            format_state=text.format_state,
            read_state=partial(text.parse_state, prototype=prototype),
            draw=draw,
            action_format=f"a column's letter, a to {text.action_names(columns)[-1]} from the left",
            rules_text=manual.rules_text(rows, columns, line),
            player_names=tuple(text.DISCS[1:]),
        ),
        extras=Extras(
            symmetries=partial(symmetry.symmetries, rows, columns),
            oracle=partial(_oracle, options) if rows * columns <= SOLVED else None,
        ),
    )


def _oracle(options: dict[str, int]) -> Oracle:
    return solved_oracle(make(**options))


ttt_envs.register("connect_four", make)
