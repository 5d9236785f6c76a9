"""Optimal play: the interfaces of oracles and of a game's solver."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

#: `policy(states, players)` returns float64 (n, num_actions) for states structured (n,) and players int64 (n,).
Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: A callback that receives the finished share of the work, from 0 to 1.
Progress = Callable[[float], None]

#: A callback that receives the name of the current stage and its finished share.
StageProgress = Callable[[str, float], None]


class Oracle(Protocol):
    """Optimal play. `states` is a structured array (n,); `player` an int or int (n,)."""

    @property
    def error(self) -> float:
        """The largest error of a value, in reward units; 0 if values are exact up to rounding."""

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Return bool (n,): whether the oracle knows each state, exactly or within `error`."""

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n,): the expected reward of `player` if all play optimally; nan for unknown states."""

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, num_actions): the expected reward after each action; nan if illegal or unknown."""

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, num_actions): a best (or equilibrium) policy; a row of zeros for unknown states."""


@runtime_checkable
class BestResponder(Protocol):
    """An oracle that computes best responses to a policy from the structure of its game."""

    def best_response(
        self, policy: Policy, player: int, progress: Progress = lambda share: None, *, equivariant: bool = False
    ) -> float:
        """Return the expected reward of a best response by `player` to the others' `policy`.

        `equivariant` declares that the policy commutes with the game's symmetries. The oracle then queries only one of
        the positions that are equal up to symmetry.
        """


@runtime_checkable
class StartResponder(Protocol):
    """An oracle that computes best responses in games from given starts, which all players know."""

    def best_response_from(
        self, policy: Policy, starts: np.ndarray, player: int, progress: Progress = lambda share: None
    ) -> np.ndarray:
        """Return `BestResponder.best_response` for the game from each of `starts`, structured (n,): float64 (n,)."""


@runtime_checkable
class Drawer(Protocol):
    """An oracle of a completely solved game, which can draw positions."""

    def draw_positions(self, starts: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw a position for each of the starts, structured (n,), with the options of the start. Return the positions,
        structured (n,), and their lengths, int64 (n,): the remaining plies under optimal play, or -1 for an endless
        draw. The player to move wins or draws, and all lengths are equally likely.
        """


class SolveCommand(Protocol):
    """A command of a game's solver, run by `ttt solve`.

    It is a dataclass: each field is a command-line option, and the docstring below the field is the option's help. The
    class's docstring is the command's help text in `ttt solve`.
    """

    def run(self, options: Mapping[str, Any], progress: StageProgress) -> str:
        """Run the command for a game with these options, write its files, and return the text to print.

        Files are written atomically, so an interrupt leaves the old file or none. Raises ValueError for an invalid
        field, NotImplementedError if the game cannot be solved with its options, and OSError for a file that cannot be
        written, before the computation if possible.
        """
