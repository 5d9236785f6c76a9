"""Best play: what an oracle answers, what a game's solver can work out, and where its tables are kept."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

#: `policy(states, players)` gives float64 (n, num_actions) for states structured (n,) and players int64 (n,).
Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: Is told the share of the work that is done, from 0 to 1.
Tell = Callable[[float], None]

#: Is told what is being done, and the share of it that is done.
TellPart = Callable[[str, float], None]

Table = TypeVar("Table")


class Oracle(Protocol):
    """Best play. `states` is a structured array (n,); `player` an int or int (n,)."""

    @property
    def error(self) -> float:
        """The largest error of a value, in reward units: 0 where values are exact up to rounding."""

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Bool (n,): the states that it answers, exactly or within `error`."""

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n,): expected reward of `player` under best play by all; nan where not covered."""

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, num_actions): the same after each action; nan where illegal or not known."""

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, num_actions): a best (or equilibrium) policy; a row of zeros where not covered."""


@runtime_checkable
class BestResponder(Protocol):
    """An oracle that computes best responses to a policy from the structure of its game."""

    def best_response(self, policy: Policy, player: int, tell: Tell = lambda share: None) -> float:
        """Expected reward of `player`, who plays best against the others' `policy`."""


@runtime_checkable
class StartResponder(Protocol):
    """An oracle that computes best responses to a policy in games from given starts, which all players see."""

    def best_response_from(
        self, policy: Policy, starts: np.ndarray, player: int, tell: Tell = lambda share: None
    ) -> np.ndarray:
        """float64 (n,): as `BestResponder.best_response`, in the game from each of `starts`, structured (n,)."""


class SolveCommand(Protocol):
    """Something that a game's solver works out, as `ttt solve` runs it.

    A dataclass: each field is an option of the command line, and the line below it its help. The class's docstring is
    the help of the command.
    """

    def run(self, options: Mapping[str, Any], tell: TellPart) -> str:
        """Work it out for a game with these options, write files if any, and return the text to print.

        Files are written whole, so that an interrupt leaves the old file or none. Raises ValueError for a field that
        makes no sense, NotImplementedError for options of the game that cannot be solved, and OSError for a file that
        cannot be written, if possible before the work.
        """


# --- tables in files ---


class BadTable(ValueError):
    """A file that is no table of this version and these options, or is damaged."""


class TableMissing(Exception):
    """A table would have to be built, which takes long and was not wanted; see `without_building`."""


_MAY_BUILD = ContextVar("may_build", default=True)


@contextmanager
def without_building() -> Iterator[None]:
    """A context in which an oracle whose table is missing raises TableMissing, where it would build the table."""
    before = _MAY_BUILD.set(False)
    try:
        yield
    finally:
        _MAY_BUILD.reset(before)


def table_folder() -> Path:
    """The folder of tables that do not come with the package: TTT_ENVS_CACHE, or else the user's cache folder."""
    from platformdirs import user_cache_path

    folder = os.environ.get("TTT_ENVS_CACHE")
    return Path(folder) if folder else user_cache_path("ttt_envs")


def load_or_build(
    path: Path,
    read: Callable[[Path], Table],
    build: Callable[[TellPart], Table],
    write: Callable[[Path, Table], None],
) -> Table:
    """The table of a file. If the file is missing or damaged, the table is built, and written if that is possible.

    Progress is shown on stderr. Raises TableMissing instead, if it would have to be built `without_building`.

    Args:
        path: the file.
        read: raises OSError or BadTable if there is no good table.
        build: works the table out.
        write: raises OSError if it cannot.
    """
    from rich.console import Console
    from rich.progress import Progress

    why = "it is needed for the first time"
    try:
        return read(path)
    except FileNotFoundError:
        pass
    except (OSError, BadTable) as error:
        why = str(error)
    if not _MAY_BUILD.get():
        raise TableMissing(f"the table of best play is not built yet: {why}")
    console = Console(stderr=True, force_jupyter=False)

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, highlight=False, markup=False)

    say(f"Building the table of best play, once: {why}")
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("", total=1.0)
        table = build(lambda what, share: progress.update(task, description=what, completed=share))
    try:
        write(path, table)
        table = read(path)
        say(f"It is kept in {path}")
    except (OSError, BadTable) as error:
        say(f"It cannot be kept as {path}, and is used from memory ({error}). TTT_ENVS_CACHE chooses another folder.")
    return table
