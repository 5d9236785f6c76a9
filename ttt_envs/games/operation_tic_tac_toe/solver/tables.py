"""The values of rounds that matches are solved with: some come with the package, others are kept in a cache folder."""

import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from ttt_envs.core.files import write_whole
from ttt_envs.games.operation_tic_tac_toe.solver.match import HANDS, PAIR_HANDS, round_values

#: Changes with the form or the contents of a file.
VERSION = 1

#: With the default options.
SHIPPED = Path(__file__).with_name("round_values.npz")
DEFAULTS = 20, False

#: Worths of a draw that rounds are solved for, with one specialist a player and with two.
POINTS, PAIR_POINTS = 129, 65


class BadTable(ValueError):
    """A file that is no table of this version and these options, or is damaged."""


def table_path(max_idle_turns: int, may_pass: bool) -> Path:
    """Where the values of rounds with these options are kept."""
    if (max_idle_turns, may_pass) == DEFAULTS:
        return SHIPPED
    folder = os.environ.get("TTT_ENVS_CACHE")
    name = f"operation_tic_tac_toe-{max_idle_turns}{'-pass' if may_pass else ''}.npz"
    return (Path(folder) if folder else user_cache_path("ttt_envs")) / name


def write_tables(path: Path, single: np.ndarray, pairs: np.ndarray) -> None:
    """Write the values, see `match.round_values`, whole or not at all; OSError if that cannot be."""
    file = io.BytesIO()
    np.savez_compressed(
        file, version=np.array(VERSION), single=single.astype(np.float32), pairs=pairs.astype(np.float32)
    )
    write_whole(path, file.getvalue())


def read_tables(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The values of a file: float64 (8, 8, points), and (28, 28, points) or (0, 0, 1).

    Raises FileNotFoundError, or BadTable in words.
    """
    try:
        with np.load(path) as stored:
            version, single, pairs = (stored[name] for name in ("version", "single", "pairs"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BadTable(f"{path} is damaged ({error})") from None
    if int(version) != VERSION:
        raise BadTable(f"{path} is a table of version {version}, not of {VERSION}")
    for values, sizes in ((single, (len(HANDS),)), (pairs, (len(PAIR_HANDS), 0))):
        if values.ndim != 3 or values.shape[0] not in sizes or values.shape[1] != values.shape[0]:
            raise BadTable(f"{path} is damaged: it has values of shape {values.shape}")
    return single.astype(np.float64), pairs.astype(np.float64)


def load_tables(max_idle_turns: int, may_pass: bool) -> tuple[np.ndarray, np.ndarray]:
    """The values from their file; if that is missing or damaged they are worked out, overtime left out, and kept.

    What comes with the package is not replaced: FileNotFoundError or BadTable.
    """
    path = table_path(max_idle_turns, may_pass)
    if path == SHIPPED:
        return read_tables(path)
    try:
        return read_tables(path)
    except FileNotFoundError:
        why = "they are needed for the first time"
    except BadTable as error:
        why = str(error)
    values = make_tables(max_idle_turns, may_pass, False, why)
    try:
        write_tables(path, *values)
        _say(f"They are kept in {path}")
    except OSError as error:
        _say(f"They cannot be kept as {path} ({error}). TTT_ENVS_CACHE chooses another folder.")
    return values


def make_tables(max_idle_turns: int, may_pass: bool, overtime: bool, why: str) -> tuple[np.ndarray, np.ndarray]:
    """Work the values out, with progress on stderr: about a minute, and with overtime half an hour and 6.1 GiB."""
    from rich.progress import Progress

    _say(f"Working out the values of rounds, once: {why}")
    pairs = np.empty((0, 0, 1))
    with Progress(console=_console(), transient=True) as progress:

        def tell(share: float) -> None:
            progress.update(task, completed=share)

        task = progress.add_task("rounds with one specialist a player", total=1.0)
        single = round_values(HANDS, max_idle_turns, may_pass, POINTS, tell)
        if overtime:
            task = progress.add_task("rounds with two", total=1.0)
            pairs = round_values(PAIR_HANDS, max_idle_turns, may_pass, PAIR_POINTS, tell)
    return single, pairs


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True, force_jupyter=False)


def _say(words: str) -> None:
    _console().print(words, soft_wrap=True, highlight=False, markup=False)
