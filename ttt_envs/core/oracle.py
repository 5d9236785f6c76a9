"""Optimal play: what an oracle answers, and what a game's solver can work out."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

#: `policy(states, players)` gives float64 (n, num_actions) for states structured (n,) and players int64 (n,).
Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: A callback for the share of the work that is done, from 0 to 1.
Progress = Callable[[float], None]

#: A callback for the name of the stage that is under way, and the share of it that is done.
StageProgress = Callable[[str, float], None]


class Oracle(Protocol):
    """Optimal play. `states` is a structured array (n,); `player` an int or int (n,)."""

    @property
    def error(self) -> float:
        """The largest error of a value, in reward units: 0 where values are exact up to rounding."""

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Return bool (n,): the states that it answers, exactly or within `error`."""

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n,): expected reward of `player` under optimal play by all; nan where not covered."""

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, num_actions): the same after each action; nan where illegal or not known."""

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, num_actions): a best (or equilibrium) policy; a row of zeros where not covered."""


@runtime_checkable
class BestResponder(Protocol):
    """An oracle that computes best responses to a policy from the structure of its game."""

    def best_response(
        self, policy: Policy, player: int, progress: Progress = lambda share: None, *, equivariant: bool = False
    ) -> float:
        """Return the expected reward of `player`, who plays best against the others' `policy`.

        With `equivariant` the policy of a position that a symmetry of the game turns is the turned policy, so that one
        of such positions need be asked about.
        """


@runtime_checkable
class StartResponder(Protocol):
    """An oracle that computes best responses to a policy in games from given starts, which all players see."""

    def best_response_from(
        self, policy: Policy, starts: np.ndarray, player: int, progress: Progress = lambda share: None
    ) -> np.ndarray:
        """Return float64 (n,): as `BestResponder.best_response`, in the game from each of `starts`, structured (n,)."""


@runtime_checkable
class Drawer(Protocol):
    """An oracle that has its game solved as a whole, and draws positions from it."""

    def draw_positions(self, starts: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw `starts` positions, structured (n,), with their lengths, int64 (n,).

        The player to move wins or draws in each. They are sampled evenly by length: the plies left under optimal play,
        or -1 for an endless draw. Options are those of the starts.
        """


class SolveCommand(Protocol):
    """Something that a game's solver works out, as `ttt solve` runs it.

    A dataclass: each field is an option of the command line, and the line below it its help. The class's docstring is
    the help of the command.
    """

    def run(self, options: Mapping[str, Any], progress: StageProgress) -> str:
        """Work it out for a game with these options, write files if any, and return the text to print.

        Files are written whole, so that an interrupt leaves the old file or none. Raises ValueError for a field that
        makes no sense, NotImplementedError for options of the game that cannot be solved, and OSError for a file that
        cannot be written, if possible before the work.
        """
