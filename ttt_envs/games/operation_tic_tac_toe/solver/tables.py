"""Files with the values of rounds, from which matches are solved: one file in the package, others in a cache folder."""

import zlib
from pathlib import Path

import numpy as np

from ttt_envs.core.oracle import StageProgress
from ttt_envs.games.operation_tic_tac_toe.solver.match import HANDS, PAIR_HANDS, round_values
from ttt_envs.storage import tables
from ttt_envs.storage.tables import BadTable, load_or_build, table_folder

#: Version of the file format and of the contents.
VERSION = 2

_KIND = "operation_tic_tac_toe"

#: The package's file, and the options max_idle_turns and allow_pass for which it was computed: the game's defaults.
SHIPPED = Path(__file__).with_name("round_values.table")
DEFAULTS = 20, False

#: The number of values of a draw for which rounds are solved: with one specialist per player, and with two.
POINTS, PAIR_POINTS = 129, 65

# A file with more values of a draw is rejected as damaged.
_MOST_POINTS = 10_001

# Rounding may put a value this far outside -1 to 1.
_ROUNDING = 1e-6


def table_path(max_idle_turns: int, may_pass: bool) -> Path:
    """Return the path of the file with the values of rounds with these options."""
    if (max_idle_turns, may_pass) == DEFAULTS:
        return SHIPPED
    return table_folder() / f"operation_tic_tac_toe-{max_idle_turns}{'-pass' if may_pass else ''}.table"


def write_tables(path: Path, single: np.ndarray, pairs: np.ndarray, max_idle_turns: int, may_pass: bool) -> None:
    """Write the values of rounds with these options atomically; see `match.round_values`.

    `pairs` may be empty. Raises OSError if the file cannot be written.
    """
    facts = {
        "version": VERSION,
        "max_idle_turns": max_idle_turns,
        "allow_pass": may_pass,
        "points": single.shape[2],
        "pair_points": pairs.shape[2] if len(pairs) else 0,
    }
    values = np.concatenate([single.ravel(), pairs.ravel()]).astype("<f4")
    tables.write_table(path, _KIND, facts, zlib.compress(values.tobytes(), 9))


def read_tables(path: Path, max_idle_turns: int, may_pass: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return `single` and `pairs` of a `match.Match` from a file; `pairs` is float64 (0, 0, 1) if the file has none.

    Raises FileNotFoundError, or BadTable naming the fault.
    """
    wanted = {"version": VERSION, "max_idle_turns": max_idle_turns, "allow_pass": may_pass}
    facts, body = tables.read_table(path, _KIND, wanted)
    points, pair_points = facts.get("points"), facts.get("pair_points")
    for number, least in ((points, 2), (pair_points, 0)):
        if type(number) is not int or not least <= number <= _MOST_POINTS or number == 1:
            raise BadTable(f"{path} is damaged: it says that it has values for {number!r} worths of a draw")
    assert isinstance(points, int)
    assert isinstance(pair_points, int)
    sizes = len(HANDS) ** 2 * points, len(PAIR_HANDS) ** 2 * pair_points
    try:
        raw = zlib.decompressobj().decompress(body.tobytes(), 4 * sum(sizes) + 1)
    except zlib.error as error:
        raise BadTable(f"{path} is damaged: {error}") from None
    if len(raw) != 4 * sum(sizes):
        raise BadTable(f"{path} is damaged: it must have {sum(sizes)} values, not {len(raw) // 4}")
    values = np.frombuffer(raw, "<f4").astype(np.float64)
    if not (np.abs(values) <= 1 + _ROUNDING).all():  # true also if a value is nan
        raise BadTable(f"{path} is damaged: it has values that are not from -1 to 1")
    single = values[: sizes[0]].reshape(len(HANDS), len(HANDS), points)
    if not pair_points:
        return single, np.empty((0, 0, 1))
    return single, values[sizes[0] :].reshape(len(PAIR_HANDS), len(PAIR_HANDS), pair_points)


def load_tables(max_idle_turns: int, may_pass: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the values from their file; if it is missing or damaged, solve all rounds except overtime and write it.

    The file in the package is never replaced. Raises FileNotFoundError or BadTable if that file is missing or damaged.
    """
    path = table_path(max_idle_turns, may_pass)
    if path == SHIPPED:
        try:
            return read_tables(path, max_idle_turns, may_pass)
        except BadTable as error:
            raise BadTable(f"{error}; it comes with the package: install ttt-envs again") from None
    return load_or_build(
        path,
        lambda path: read_tables(path, max_idle_turns, may_pass),
        lambda progress: make_tables(max_idle_turns, may_pass, False, progress),
        lambda path, values: write_tables(path, *values, max_idle_turns, may_pass),
    )


def make_tables(
    max_idle_turns: int, may_pass: bool, overtime: bool, progress: StageProgress = lambda what, share: None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the values of rounds: in a minute; with `overtime`, in 18 minutes of processor time and 6.1 GiB."""
    pairs = np.empty((0, 0, 1))
    one, two = "rounds with one specialist per player", "rounds with two specialists per player"
    single = round_values(HANDS, max_idle_turns, may_pass, POINTS, lambda share: progress(one, share))
    if overtime:
        pairs = round_values(PAIR_HANDS, max_idle_turns, may_pass, PAIR_POINTS, lambda share: progress(two, share))
    return single, pairs
