"""The values of rounds that matches are solved with: some come with the package, others are kept in a cache folder."""

import io
import zipfile
import zlib
from pathlib import Path

import numpy as np

from ttt_envs.core.files import write_whole
from ttt_envs.core.oracle import BadTable, TellPart, load_or_build, table_folder
from ttt_envs.games.operation_tic_tac_toe.solver.match import HANDS, PAIR_HANDS, round_values

#: Changes with the form or the contents of a file.
VERSION = 1

#: The file of the package, and its options max_idle_turns and allow_pass: the default ones.
SHIPPED = Path(__file__).with_name("round_values.npz")
DEFAULTS = 20, False

#: Worths of a draw that rounds are solved for, with one specialist a player and with two.
POINTS, PAIR_POINTS = 129, 65


def table_path(max_idle_turns: int, may_pass: bool) -> Path:
    """The path of the file with the values of rounds with these options."""
    if (max_idle_turns, may_pass) == DEFAULTS:
        return SHIPPED
    return table_folder() / f"operation_tic_tac_toe-{max_idle_turns}{'-pass' if may_pass else ''}.npz"


def write_tables(path: Path, single: np.ndarray, pairs: np.ndarray) -> None:
    """Write the values, see `match.round_values`, whole or not at all. Raises OSError if that is not possible."""
    file = io.BytesIO()
    np.savez_compressed(
        file, version=np.array(VERSION), single=single.astype(np.float32), pairs=pairs.astype(np.float32)
    )
    write_whole(path, file.getvalue())


def read_tables(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The values of a file: float64 (8, 8, points), and (28, 28, points) or (0, 0, 1).

    Raises FileNotFoundError, or BadTable naming the fault.
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

    The file that comes with the package is not replaced. Raises FileNotFoundError or BadTable if there is no such.
    """
    path = table_path(max_idle_turns, may_pass)
    if path == SHIPPED:
        return read_tables(path)
    return load_or_build(
        path,
        read_tables,
        lambda tell: make_tables(max_idle_turns, may_pass, False, tell),
        lambda path, values: write_tables(path, *values),
    )


def make_tables(
    max_idle_turns: int, may_pass: bool, overtime: bool, tell: TellPart = lambda what, share: None
) -> tuple[np.ndarray, np.ndarray]:
    """Work the values out: about a minute, and with overtime half an hour and 6.1 GiB."""
    pairs = np.empty((0, 0, 1))
    one, two = "rounds with one specialist a player", "rounds with two specialists a player"
    single = round_values(HANDS, max_idle_turns, may_pass, POINTS, lambda share: tell(one, share))
    if overtime:
        pairs = round_values(PAIR_HANDS, max_idle_turns, may_pass, PAIR_POINTS, lambda share: tell(two, share))
    return single, pairs
