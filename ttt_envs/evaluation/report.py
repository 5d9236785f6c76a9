"""Tables for people: the same rows on the terminal and in Markdown."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rich.box
import rich.markup
import rich.table

from ttt_envs.core.files import write_whole


@dataclass
class Table:
    """A titled table of texts; the first column names the row, the others are numbers.

    Attributes:
        title: of the table.
        header: one text a column.
        rows: each as long as the header.
        note: a sentence below it.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def rich(self) -> rich.table.Table:
        """For `rich.print`."""
        table = rich.table.Table(
            title=rich.markup.escape(self.title),
            title_justify="left",
            caption=rich.markup.escape(self.note) or None,
            caption_justify="left",
            box=rich.box.SIMPLE_HEAD,
            collapse_padding=True,
            pad_edge=False,
        )
        # A narrow terminal breaks the names of rows, not the numbers; an interval stands below its number.
        for k, name in enumerate(self.header):
            table.add_column(rich.markup.escape(name), justify="right" if k else "left", no_wrap=k > 0, overflow="fold")
        for row in self.rows:
            table.add_row(*(rich.markup.escape(text.replace(" (", "\n(") if k else text) for k, text in enumerate(row)))
        return table

    def markdown(self) -> str:
        """A heading, the table, the note."""
        lines = [
            f"## {self.title}",
            "",
            _line(self.header),
            _line([":--", *("--:" for _ in self.header[1:])]),
            *(_line(row) for row in self.rows),
        ]
        return "\n".join([*lines, "", self.note, ""] if self.note else [*lines, ""])


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON, whole or not at all; nan, which JSON lacks, becomes null."""
    write_whole(path, json.dumps(_plain(data), indent=2, allow_nan=False) + "\n")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _plain(data: Any) -> Any:
    """The same in JSON's types."""
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray):
        return _plain(data.tolist())
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, np.generic):
        return _plain(data.item())
    if isinstance(data, float) and not np.isfinite(data):
        return None
    return data
