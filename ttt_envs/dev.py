"""The public names for authors of games and agents. docs/your_own_game.md and docs/your_own_agent.md use it.

For a game: the dtype of a state (`state_dtype`, `between`, `option`, `whole`); compiled rules (`kernel`,
`allocates_nothing`, `refuse`, `rng`, `SIMULTANEOUS`); and the parts of a `Game` (`Kernels`, `Block`, `Faces`, `Extras`,
`Symmetry`, `rotate_header`, an `Oracle`; `solved_oracle` returns the oracle of a small game). For an agent: `Agent`;
its input, a `View`; `uniform` and `best_of` for policies; the `State` that `Game.start` returns; `stream_seeds` and
`Stream` for random numbers; `ISMCTS` to search your own sampled worlds.
"""

from ttt_envs.agents.base import Agent, best_of, uniform
from ttt_envs.agents.search.ismcts import ISMCTS
from ttt_envs.core import rng
from ttt_envs.core.compile.jit import allocates_nothing, kernel
from ttt_envs.core.cursor import State
from ttt_envs.core.game import Extras, Game
from ttt_envs.core.loops import Kernels, refuse
from ttt_envs.core.observation_layout import Block
from ttt_envs.core.options import whole
from ttt_envs.core.oracle import Oracle
from ttt_envs.core.presentation import Faces
from ttt_envs.core.rng import Stream, stream_seeds
from ttt_envs.core.state import SIMULTANEOUS, between, option, state_dtype
from ttt_envs.core.symmetry import Symmetry, rotate_header
from ttt_envs.core.view import View

__all__ = [
    "ISMCTS",
    "SIMULTANEOUS",
    "Agent",
    "Block",
    "Extras",
    "Faces",
    "Game",
    "Kernels",
    "Oracle",
    "State",
    "Stream",
    "Symmetry",
    "View",
    "allocates_nothing",
    "best_of",
    "between",
    "kernel",
    "option",
    "refuse",
    "rng",
    "rotate_header",
    "solved_oracle",
    "state_dtype",
    "stream_seeds",
    "uniform",
    "whole",
]


def solved_oracle(game: Game) -> Oracle:
    """Return the oracle of a small game of perfect information, for `Extras(oracle=...)`.

    The first query solves the game, see `ttt_envs.solvers.positions.solve`, and writes the result to the cache folder;
    later processes read it. Raises ValueError for a game of another kind.
    """
    from ttt_envs.solvers.positions import solved_oracle as solved  # on demand, because playing needs no solver

    return solved(game)


def __dir__() -> list[str]:
    return __all__
