"""One page from many result files: who is how good at which game, by each measure, with the file that says so.

    from ttt_envs import evaluation

    board = evaluation.leaderboard("runs", out="board")
    print(board.markdown())

The same on the command line: `ttt leaderboard runs --out board`. Every file that ends in .json is read, in all folders
below. `KINDS` has a reader for each verb whose results are known; what no reader takes is left out, with the reason.
Results are grouped by the game and its options: with other options it is another game. Answers to a set of questions
are grouped by the set.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text
from ttt_envs.core.version import __version__
from ttt_envs.evaluation.best_play import MEASURED_ENOUGH
from ttt_envs.evaluation.reports.charts import Whisker, Whiskers
from ttt_envs.evaluation.reports.intervals import percent
from ttt_envs.evaluation.reports.page import page, section
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.registry import GAMES, game_of_file, load
from ttt_envs.storage.files import existing, new_folder, write_whole
from ttt_envs.storage.outside import brief, printable, read_json, with_tuples
from ttt_envs.storage.rows import Rows
from ttt_envs.storage.runs import CONFIG

# Bytes of a file of results: that of a tournament of a hundred agents has a tenth of it.
_LARGEST = 1 << 26

# No rating and no reward is farther from 0.
_FARTHEST = 1e9


@dataclass(frozen=True)
class Entry:
    """The results of one agent in a file.

    Attributes:
        agent: its name.
        value, low, high: the measured value and its 95 % interval; nan for what is not known.
        cells: further columns of the table.
        before: what stands before the value, such as "≥ " for a lower bound.
        ranked: whether the value says so much that it has a place among the others; else it stands below them.
        version: of what it was measured by, in the last column; results of older versions stand below the newest.
        questions: name of the set that was asked; "" for a result in the file's game.
    """

    agent: str
    value: float
    low: float
    high: float
    cells: tuple[str, ...]
    before: str = ""
    ranked: bool = True
    version: int = 0
    questions: str = ""

    def __post_init__(self) -> None:
        if self.low > self.high:  # False for nan
            raise ValueError(f"an interval begins at {self.low:g} and ends at {self.high:g}")


@dataclass(frozen=True)
class Kind:
    """A kind of result files.

    Attributes:
        title: of its tables.
        header: names of the value and of the further columns.
        note: a sentence below the table.
        form: format of a value.
        highest_first: whether a high value is good.
        read: the results of a file, given as JSON; raises KeyError, TypeError or ValueError if it is not as expected.
    """

    title: str
    header: tuple[str, ...]
    note: str
    form: str
    highest_first: bool
    read: Callable[[dict[str, Any]], Iterator[Entry]]


def _ladder(saved: dict[str, Any]) -> Iterator[Entry]:
    """Keys: agent, rating, interval (two numbers), games_played, and ladder with its version."""
    low, high = map(_number, saved["interval"])
    version = int(saved["ladder"]["version"])
    cells = str(int(saved["games_played"])), str(version)
    yield Entry(_text(saved["agent"]), _number(saved["rating"]), low, high, cells, version=version)


def _tournament(saved: dict[str, Any]) -> Iterator[Entry]:
    """Keys: agents, elo, elo_interval (two numbers an agent), games."""
    agents, elo, intervals = saved["agents"], saved["elo"], saved["elo_interval"]
    for agent, value, (low, high) in zip(agents, elo, intervals, strict=True):
        cells = str(len(agents)), str(int(saved["games"]))
        yield Entry(_text(agent), _number(value), _number(low), _number(high), cells)


def _regret(saved: dict[str, Any]) -> Iterator[Entry]:
    """Keys: measurements, each with agent, opponent, per_game, per_game_interval (two numbers), measured, games."""
    for each in saved["measurements"]:
        value, measured = _number(each["per_game"]), _number(each["measured"])
        opponent = "itself" if each["opponent"] is None else _text(each["opponent"])
        share = percent(measured)
        enough = not measured < MEASURED_ENOUGH
        before = "≥ " if enough else f"{share} measured: ≥ "
        cells = opponent, share, str(int(each["games"]))
        ends = _ends(each, "per_game", value)
        yield Entry(_text(each["agent"]), value, *ends, cells, before if 0 < measured < 1 else "", enough)


def _exploitability(saved: dict[str, Any]) -> Iterator[Entry]:
    """Keys: measurements, each with agent, exploitability, interval (two numbers), samples."""
    for each in saved["measurements"]:
        value = _number(each["exploitability"])
        cells = ("estimated" if each["samples"] else "exact policy",)
        yield Entry(_text(each["agent"]), value, *_ends(each, "", value), cells, "≈ " if each["samples"] else "")


def _exploit(saved: dict[str, Any]) -> Iterator[Entry]:
    """Keys: agent, reward, interval (two numbers), games, and steps or, if that is null, minutes."""
    value, steps = _number(saved["reward"]), saved["steps"]
    learned = f"{_number(saved['minutes']):g} minutes" if steps is None else f"{int(steps):,} decisions"
    yield Entry(_text(saved["agent"]), value, *_ends(saved, "", value), (learned, str(int(saved["games"]))), "≥ ")


def _mistakes(saved: dict[str, Any]) -> Iterator[Entry]:
    """Keys: measurements, each with agent, share, interval (two numbers), mean_loss, positions; and least."""
    for each in saved["measurements"]:
        yield _share(each, f"{_number(saved['least']):g}")


def _answers(saved: dict[str, Any]) -> Iterator[Entry]:
    """Keys: rows, each with set, its version, and questions, which has the keys of a measurement of mistakes."""
    for row in saved["rows"]:
        version = int(row["version"])
        yield _share(row["questions"], str(version), version=version, questions=_text(row["set"]))


def _share(each: dict[str, Any], last: str, **facts: Any) -> Entry:
    """The share of positions in which an agent makes a mistake."""
    value = _number(each["share"])
    cells = f"{_number(each['mean_loss']):.4f}", str(int(each["positions"])), last
    return Entry(_text(each["agent"]), value, *_ends(each, "", value), cells, **facts)


def _ends(measured: dict[str, Any], name: str, value: float) -> tuple[float, float]:
    """The interval of a measurement; in files of earlier versions it stands as a half width."""
    start = f"{name}_" if name else ""
    if f"{start}half_width" in measured:
        half = _number(measured[f"{start}half_width"])
        return value - half, value + half
    low, high = measured[f"{start}interval"]
    return _number(low), _number(high)


#: Verb that made a file -> how it is read. Each file also has the keys verb, game, options and version.
KINDS: dict[str, Kind] = {
    "ladder": Kind(
        "Rating on the ladder",
        ("rating", "games", "ladder"),
        "Elo against fixed opponents: ratings on the same version of the ladder can be compared.",
        ".0f",
        True,
        _ladder,
    ),
    "tournament": Kind(
        "Tournaments",
        ("Elo", "agents", "games a pairing"),
        "Elo is relative to the field of the tournament: compare within a file only.",
        "+.0f",
        True,
        _tournament,
    ),
    "regret": Kind(
        "Regret",
        ("a game", "against", "measured", "games"),
        "Reward lost against best play by one side in one game. ≥: not all decisions could be measured.",
        ".4f",
        False,
        _regret,
    ),
    "exploitability": Kind(
        "Exploitability",
        ("exploitability", "by"),
        "What a best response wins against the agent, in units of reward, as the mean over both seats.",
        ".4f",
        False,
        _exploitability,
    ),
    "exploit": Kind(
        "Learned best response",
        ("the opponent wins", "after", "games"),
        "What an opponent that learned against the agent wins, in units of reward: a lower bound of exploitability, "
        "which says little where the opponent learned little.",
        ".4f",
        False,
        _exploit,
    ),
    "mistakes": Kind(
        "Mistakes",
        ("share of positions", "mean loss", "positions", "loses more than"),
        "Share of solved positions in which the agent's action loses so much against the best one, in units of reward.",
        ".3f",
        False,
        _mistakes,
    ),
    "llm-eval": Kind(
        "Questions",
        ("answered wrongly", "mean loss", "questions", "version"),
        "Share of the set's questions whose answer is a mistake. Where not all were asked, the file says which.",
        ".3f",
        False,
        _answers,
    ),
}


@dataclass
class Leaderboard(Rows):
    """All results that were found.

    Attributes:
        results: by the game's id and its options as text, or by a set of questions and "", and by verb: the results
            with the files that say so.
        left_out: files that were not read, and the reason.
        folder: the folder of the pages, or None.
    """

    results: dict[tuple[str, str], dict[str, list[tuple[Entry, str]]]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    folder: Path | None = None

    title = "Leaderboard"

    def tables(self) -> Iterator[tuple[str, list[tuple[Table, Whiskers]]]]:
        """The heading of each game with its options, and its tables with their charts."""
        for (game_id, options), by_verb in sorted(self.results.items()):
            heading = f"{_title_of(game_id)}{f' ({options})' if options else ''}"
            yield heading, [_table(KINDS[verb], by_verb[verb]) for verb in KINDS if verb in by_verb]

    def rows(self) -> list[dict[str, Any]]:
        """One row a result, with the verb that found it and its file."""
        return [
            {
                **{"game": game_id, "options": options, "verb": verb, "agent": each.agent, "value": each.value},
                **{"low": each.low, "high": each.high, "ranked": each.ranked, "file": source},
            }
            for (game_id, options), by_verb in sorted(self.results.items())
            for verb, results in by_verb.items()
            for each, source in results
        ]

    def markdown(self) -> str:
        """The page as Markdown."""
        lines = [f"# {self.title}", "", self._facts(), ""]
        for heading, tables in self.tables():
            lines += [f"## {heading}", "", *(table.markdown().replace("## ", "### ", 1) for table, _ in tables)]
        if self.left_out:
            lines.append(self._left_out().markdown())
        return "\n".join(lines)

    def html(self) -> str:
        """The page as HTML; see `ttt_envs.evaluation.reports.page`."""
        from html import escape

        parts = [f"<p>{escape(self._facts())}</p>"]
        for heading, tables in self.tables():
            inner = "".join(section(table, [chart], level=3) for table, chart in tables)
            parts.append(f"<section><h2>{escape(heading)}</h2>{inner}</section>")
        if self.left_out:
            parts.append(section(self._left_out()))
        return page(self.title, "".join(parts))

    def _facts(self) -> str:
        files = {source for kinds in self.results.values() for entries in kinds.values() for _, source in entries}
        return f"{len(files)} files of results, gathered by ttt-envs {__version__}. Intervals are those of 95 %."

    def _left_out(self) -> Table:
        return Table("Left out", ["file", "reason"], [list(each) for each in self.left_out])


def leaderboard(folder: str | Path, *, out: str | Path | None = None) -> Leaderboard:
    """Gather all results in a folder and the folders below it.

    Args:
        folder: holds files of results, such as results.json of a tournament.
        out: folder for leaderboard.md and leaderboard.html; nothing is written without one.

    Raises:
        FileNotFoundError: there is no such folder.
        NotADirectoryError: it is a file.
        ValueError: no file in it could be read.
        FileExistsError, InUse: `out` holds files, or another process is writing it.
    """
    folder = existing(folder, "folder of results")
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file: name the folder that holds the files of results")
    board = Leaderboard()
    with new_folder(out) as place:
        for path in sorted(each for each in folder.rglob("*.json") if each.name != CONFIG):
            source = path.relative_to(folder).as_posix()
            try:
                verb, results = read_results(path)
            except (OSError, ValueError) as error:
                board.left_out.append((source, str(error)))
                continue
            for group, each in results:
                board.results.setdefault(group, {}).setdefault(verb, []).append((each, source))
        if not board.results:
            read = f": of {len(board.left_out)} files none could be read" if board.left_out else ""
            raise ValueError(f"there are no results in {folder}{read}")
        if place is not None:
            write_whole(place / "leaderboard.md", board.markdown())
            write_whole(place / "leaderboard.html", board.html())
            board.folder = place
    return board


def read_results(path: Path, game: Game | None = None) -> tuple[str, list[tuple[tuple[str, str], Entry]]]:
    """A file's verb and its results, each with the game and its options as text, or with a set of questions and "".

    `game` is that of the file, if it is not registered. Raises ValueError for what is no known file.
    """
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST} bytes")
    try:
        saved = read_json(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    verb = saved.get("verb") if isinstance(saved, dict) else None
    if not isinstance(verb, str) or verb not in KINDS:
        raise ValueError(f"it is of no known kind: its key 'verb' must be one of {', '.join(KINDS)}")
    try:
        entries = list(KINDS[verb].read(saved))
        played = ("", "") if all(each.questions for each in entries) else _game_in(saved, game)
        return verb, [((each.questions, "") if each.questions else played, each) for each in entries]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        what = f"the key {error} is missing" if isinstance(error, KeyError) else brief(str(error))
        raise ValueError(f"the results of `ttt {verb}` are damaged: {what}") from None


def _game_in(saved: dict[str, Any], game: Game | None) -> tuple[str, str]:
    """The game that a file names, and its options as text."""
    options = saved["options"]
    with suppress(ValueError):  # of a game that is not known here they are shown as they are
        options = game_of_file(game if game and game.id == saved["game"] else saved["game"], options).options
    return _text(saved["game"]), _options_text(options)


def measured_tables(game: Game, paths: Iterable[str | Path]) -> list[tuple[Table, Whiskers]]:
    """The tables of some results of one game, with their charts, for the report of another measurement.

    Args:
        game: the game.
        paths: files of results, or folders with a results.json.

    Raises:
        FileNotFoundError: a file is not there.
        ValueError: one is of no known kind, of another game, or of other options.
    """
    entries: dict[str, list[tuple[Entry, str]]] = {}
    for path in map(Path, paths):
        file = existing(path / "results.json" if path.is_dir() else path, "file of results")
        try:
            verb, results = read_results(file, game)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        wanted = game.id, _options_text(game.options)
        for group, each in results:
            if group != wanted:
                raise ValueError(f"{file} is of {' '.join(filter(None, group))}, not of {' '.join(wanted)}")
            entries.setdefault(verb, []).append((each, str(path)))
    return [_table(KINDS[verb], entries[verb]) for verb in KINDS if verb in entries]


def _options_text(options: Mapping[str, Any]) -> str:
    """Options as one text, whatever their order."""
    return _text(" ".join(f"{name}={as_text(with_tuples(value))}" for name, value in sorted(options.items())))


def _table(kind: Kind, results: Sequence[tuple[Entry, str]]) -> tuple[Table, Whiskers]:
    """The table of a kind, the best first, and its chart."""
    sign, newest = -1 if kind.highest_first else 1, max((each.version for each, _ in results), default=0)

    def place(entry: Entry) -> tuple[bool, int, float]:
        return not entry.ranked, -entry.version, np.nan_to_num(sign * entry.value, nan=np.inf)

    rows, bars = [], []
    for entry, source in sorted(results, key=lambda each: place(each[0])):
        value, low, high = (
            "–" if np.isnan(each) else format(each, kind.form) for each in (entry.value, entry.low, entry.high)
        )
        text = entry.before + (value if low == high or np.isnan(entry.low) else f"{value} ({low} to {high})")
        older = " (older)" if entry.version < newest else ""
        rows.append([entry.agent, text, *entry.cells[:-1], entry.cells[-1] + older, source])
        bars.append(Whisker(f"{entry.agent}, {source}{older}", entry.low, entry.value, entry.high, text))
    table = Table(kind.title, ["agent", *kind.header, "file"], rows, kind.note)
    return table, Whiskers("", bars, before=kind.title)


def _title_of(game_id: str) -> str:
    try:
        return load(game_id).title if game_id in GAMES else game_id
    except (TypeError, ValueError):
        return game_id


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is expected, not {brief(repr(value))}")
    return brief(" ".join(printable(value).split()), 300)


def _number(value: Any) -> float:
    """A number; null is nan."""
    if value is None:
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"a number is expected, not {brief(repr(value))}")
    number = float(value)
    if abs(number) > _FARTHEST:  # nan is not
        raise ValueError(f"a number from -{_FARTHEST:g} to {_FARTHEST:g} is expected, not {number:g}")
    return number
