"""Connect Four, a game outside the package: copy this folder to begin a game of your own.

Two players drop discs into seven columns; the first with `line` of them in a row wins. `import connect_four` registers
it, and `ttt_envs.load("connect_four", line=4)` then gives the game.
"""

from functools import partial

import numpy as np

import ttt_envs
from ttt_envs.dev import Extras, Faces, Game, Kernels, whole

from . import encoding, manual, rules, symmetry, text
from .drawing import draw


def make(*, line: int = 4) -> Game:
    """The game with this option, 3 to 5; ValueError or TypeError for a wrong one."""
    prototype = np.zeros(1, rules.STATE)
    prototype["line"] = whole("line", line, 3, 5)
    return Game(
        id="connect_four",
        title="Connect Four",
        options={"line": line},
        factory=make,
        prototype=prototype,
        action_names=text.ACTION_NAMES,
        observation_layout=encoding.BLOCKS,
        simultaneous=False,
        chance="none",
        hidden_information=False,
        max_plies=rules.ROWS * rules.COLUMNS,
        teams=((0,), (1,)),
        rotate_players=symmetry.rotate_players,
        kernels=Kernels(rules.reset, rules.legal_mask, rules.step, encoding.observe, rules.resample),
        faces=Faces(
            format_state=text.format_state,
            read_state=partial(text.parse_state, prototype=prototype),
            draw=draw,
            action_format="a column's letter, a to g from the left",
            rules_text=manual.rules_text(line),
            player_names=tuple(text.DISCS[1:]),
        ),
        extras=Extras(
            symmetries=symmetry.symmetries,
        ),
    )


ttt_envs.register("connect_four", make)
