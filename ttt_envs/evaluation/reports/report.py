"""Reports: results as readable tables and as JSON, with the command line that reproduces them."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import rich.box
import rich.table
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from ttt_envs.agents.pretrained import full_name
from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text, command_line
from ttt_envs.core.version import __version__
from ttt_envs.registry import full_id
from ttt_envs.storage.files import reason_of, write_whole
from ttt_envs.storage.rows import Rows, as_json, flat

# Arguments that a report does not keep, because they do not change results or are saved elsewhere.
_OF_A_CALL = ("game", "options", "out", "quiet", "workers", "resume")

# The beginning of text that Markdown would parse as HTML.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")

# The least width of the column of names.
_LEAST = 12

# Parts of a text; a cell is wrapped only between them, so that simulations=4000 is not split after 400.
_PART = re.compile(r"[^:,/– ]+[:,/– ]*|[:,/– ]+")


class _Cell:
    """A cell that wraps between the parts of its text (see `_PART`), and within a part only if necessary."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, Text(self.text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = []
        for line in self.text.splitlines():
            lines.append("")
            for part in _PART.findall(line):
                if lines[-1] and len(lines[-1] + part.rstrip()) > options.max_width:
                    lines.append("")
                lines[-1] += part
        yield Text("\n".join(lines), overflow="fold")


@dataclass
class Table:
    """A titled table of texts; the first column names the row, the others are numbers.

    Attributes:
        title: the title of the table.
        header: one text per column.
        rows: each as long as the header.
        note: a sentence below it.
        heat: whether cells that begin with a share from 0 to 1 are coloured by it.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    heat: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Return the table for `rich.print`: title, table, and note wrapped to the width of the terminal.

        In a narrow terminal, row names wrap first. If there is still no room, numbers wrap too, and each interval goes
        below its number.
        """
        header = [Text(name) for name in self.header]
        rows = [[_Cell(text.replace(" (", "\n(") if k else text) for k, text in enumerate(row)] for row in self.rows]
        widths = [
            max(Measurement.get(console, options, cell).maximum for cell in column)
            for column in zip(header, *rows, strict=True)
        ]
        room = options.max_width - sum(width + 2 for width in widths[1:])
        table = rich.table.Table(box=rich.box.SIMPLE_HEAD, show_edge=False, collapse_padding=True, pad_edge=False)
        for k, name in enumerate(header):
            whole = k > 0 and room >= _LEAST
            table.add_column(name, justify="right" if k else "left", no_wrap=whole, overflow="fold")
        for row in rows:
            table.add_row(*row)
        yield Text(self.title, "bold")
        yield table
        if self.note:
            yield Text(self.note, "dim")

    def markdown(self) -> str:
        """Return a heading, the table, the note."""
        lines = [
            f"## {self.title}",
            "",
            _line(self.header),
            _line([":--", *("--:" for _ in self.header[1:])]),
            *(_line(row) for row in self.rows),
        ]
        return "\n".join([*lines, "", self.note, ""] if self.note else [*lines, ""])


class Arguments(dict[str, Any]):
    """The arguments of the function that made a report, except those that do not change results.

    Names and values are those of the command line, so agents are specs.

    Attributes:
        game: the id that was given as the game; None if a Game was given.
        defaults: the defaults of the function.
    """

    def __init__(self, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
        """`given`: the function's arguments by name."""
        self.game = full_id(given["game"]) if isinstance(given["game"], str) else None
        self.defaults = inspect.getfullargspec(function).kwonlydefaults or {}
        super().__init__({k: v for k, v in given.items() if k not in _OF_A_CALL})


@dataclass(kw_only=True)
class Report(Rows):
    """Base class of results of a function. `show` prints the report, `save` writes it to files.

    Attributes:
        game: the game that was played or solved.
        settings: the arguments of the function, under their names on the command line.
        made: names of agents that were given as Python objects, which the command line cannot express.
        complete: False if the computation was interrupted.
        seconds: the time that the computation took.
        folder: the folder of the files, or None.
    """

    game: Game
    settings: Arguments
    made: tuple[str, ...] = ()
    complete: bool = True
    seconds: float = 0.0
    folder: Path | None = None

    #: The verb of the command line, the heading of the report, the unit of its counts, and the usual files.
    verb: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str] = "games"
    files: ClassVar[tuple[str, ...]] = ("report.md", "results.json")

    @property
    def command(self) -> str:
        """The command line that reproduces this report."""
        chosen = {name: as_text(value) for name, value in self.game.chosen.items()}
        program = ["ttt", self.verb, self.settings.game or self.game.id]
        return command_line(program, {**self.settings, "option": chosen}, self.settings.defaults)

    @property
    def first(self) -> int | None:
        """The number of tables shown by default; None: all."""
        return None

    def facts(self) -> list[str]:
        """Return sentences on the measurement, shown above the tables."""
        return []

    def how(self) -> list[str]:
        """Return the facts, and a remark on agents given as objects, which the command cannot name."""
        made = [f"Called from Python with objects, which the command cannot name: {', '.join(self.made)}."]
        return [*self.facts(), *(made if self.made else [])]

    @cached_property
    def chosen(self) -> dict[str, str]:
        """Spec such as trained:GAME -> full name of the bundled agent that it means with the game's options."""
        named = [*self.settings.get("agents", ()), self.settings.get("agent", ""), self.settings.get("opponent", "")]
        texts = [each for each in named if isinstance(each, str) and each not in self.made]
        return {text: name for text in texts if (name := full_name(text, self.game)) is not None}

    def tables(self) -> list[Table]:
        """Return the results."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """Return sentences about the limits of the numbers."""
        return []

    def notes(self) -> list[str]:
        """Return all remarks on the results: if they are partial, which bundled agents the specs mean, and others."""
        partial = f"Partial: it was interrupted. Only the {self.unit} finished by then count."
        chosen = [f"With these options {text} is {name}." for text, name in self.chosen.items()]
        return [*([] if self.complete else [partial]), *chosen, *self.remarks()]

    def unmeasured(self, measured: int) -> list[str]:
        """Return a remark on the agents that were not measured: those after the first `measured`."""
        missing = self.settings["agents"][measured:]
        return [f"Not measured, since it was interrupted: {', '.join(missing)}."] if missing else []

    def texts(self) -> list[tuple[str, str]]:
        """Return headings and preformatted texts, such as positions."""
        return []

    def data(self) -> dict[str, Any]:
        """Return the results for `json`, in addition to the facts common to all reports."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per measured agent."""
        return [flat(each) for each in self.data()["measurements"]]

    def markdown(self) -> str:
        """Return the whole report."""
        options = ", ".join(f"`{name}={value}`" for name, value in self.game.options.items())
        lines = [f"# {self.title}: {self.game.title}", "", f"Options: {options or 'none'}.", *self.how()]
        lines += ["", "```", self.command, "```", ""]
        lines += [f"- {note}" for note in self.notes()] + [""] * bool(self.notes())
        lines += [table.markdown() for table in self.tables()]
        for heading, text in self.texts():
            lines += [f"### {heading}", "", "```", text.rstrip("\n"), "```", ""]
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """Return the results for programs, as in results.json."""
        return {
            "verb": self.verb,
            "game": self.game.id,
            "options": dict(self.game.options),
            "command": self.command,
            "version": __version__,
            "complete": self.complete,
            "seconds": self.seconds,
            **self.settings,
            **({"chosen": self.chosen} if self.chosen else {}),
            **self.data(),
        }

    def save(self, folder: str | Path) -> None:
        """Write `files` to `folder`, each atomically; results.json is written last and marks completeness."""
        self.folder = folder = Path(folder)
        (folder / "results.json").unlink(missing_ok=True)  # remove that of an earlier call, which would not match
        self.save_others(folder)
        write_json(folder / "results.json", self.json())

    def save_others(self, folder: Path) -> None:
        """Write the files other than results.json; a subclass adds its own."""
        write_whole(folder / "report.md", self.markdown())

    def kept(self, folder: Path | None) -> Self:
        """Save this report unless `folder` is None, and return it; raise NotSaved if this fails."""
        if folder is not None:
            try:
                self.save(folder)
            except OSError as error:
                self.folder = None
                raise NotSaved(self, error) from error
        return self

    def show(self, console: Console | None = None, *, full: bool = False) -> None:
        """Print tables, texts and remarks like the command; unless `full`, only the first `self.first` tables."""
        console = console or Console()
        tables = self.tables()
        left_out = [] if full or self.first is None else tables[self.first :]
        for table in tables[: len(tables) - len(left_out)]:
            console.print()
            console.print(table)
        console.print()
        for heading, text in self.texts():
            console.print(f"\n{heading}:\n{text}", markup=False, highlight=False)
        for note in self.notes():
            console.print(note, style="yellow", markup=False, highlight=False)
        if left_out:
            titles = ", ".join(table.title for table in left_out)
            text = f"--full, in Python show(full=True), shows as well: {titles}"
            console.print(text, style="dim", markup=False, highlight=False)
        if self.folder is not None:
            *names, last = self.files
            console.print(f"{', '.join(names)} and {last} are in {self.folder}", highlight=False, soft_wrap=True)


class NotSaved(OSError):
    """Raised if the files of a report cannot be written; no result is lost.

    Attributes:
        report: the report; `report.save(folder)` writes it elsewhere.
    """

    def __init__(self, report: Any, error: OSError) -> None:
        """`error`: the reason."""
        super().__init__(error.errno, f"the {report.verb} is done, but its results are not saved: {reason_of(error)}")
        self.report = report


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON atomically."""
    write_whole(path, as_json(data) + "\n")


def _line(cells: Sequence[str]) -> str:
    """Return a Markdown table row; names are arbitrary text, which is escaped so that it cannot end cell or row."""
    texts = (" ".join(cell.splitlines()).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(_TAG.sub("&lt;", text) for text in texts) + " |"
