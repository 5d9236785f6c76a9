"""Reports as pages: one self-contained HTML file from the same tables as the Markdown.

A page also has the report's charts. External text, such as agents' names, is escaped, and the page's content security
policy forbids loading anything and running scripts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import ClassVar

from ttt_envs.evaluation.reports.charts import Whiskers
from ttt_envs.evaluation.reports.report import Report, Table
from ttt_envs.storage.files import write_whole

# A cell that begins with a share, such as "0.530 (.490–.570)".
_SHARE = re.compile(r"[01]\.\d+")

# A longer cell contains words and is wrapped.
_LONG = 36


@dataclass(kw_only=True)
class PagedReport(Report):
    """A report that is also saved as a page, report.html."""

    files: ClassVar[tuple[str, ...]] = ("report.md", "report.html", "results.json")

    def charts(self) -> Sequence[Whiskers]:
        """Return charts of the figures."""
        return ()

    def html(self) -> str:
        """Return the whole report as a page."""
        options = ", ".join(f"<code>{escape(f'{name}={value}')}</code>" for name, value in self.game.options.items())
        notes = "".join(f"<li>{escape(each)}</li>" for each in self.notes())
        parts = [
            f"<p>Options: {options or 'none'}. {escape(' '.join(self.how()))}</p>",
            f"<pre>{escape(self.command)}</pre>",
            f'<ul class="remark">{notes}</ul>' if notes else "",
        ]
        tables = [_section(each, self.charts()) for each in self.tables()]
        texts = [f"<h3>{escape(heading)}</h3><pre>{escape(text)}</pre>" for heading, text in self.texts()]
        if texts:
            tables.append(f"<section><h2>Positions</h2>{''.join(texts)}</section>")
        title = escape(f"{self.title}: {self.game.title}")
        policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
            f"<style>{_asset('base.css')}{_asset('page.css')}</style></head>\n"
            f"<body><main><h1>{title}</h1>{''.join([*parts, *tables])}</main></body></html>\n"
        )

    def save_others(self, folder: Path) -> None:
        """Write report.md and report.html."""
        super().save_others(folder)
        write_whole(folder / "report.html", self.html())


def _section(table: Table, charts: Sequence[Whiskers]) -> str:
    drawn = "".join(each.html() for each in charts if each.before == table.title)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f"<section><h2>{escape(table.title)}</h2>{drawn}{html_table(table)}{note}</section>"


def html_table(table: Table) -> str:
    """Return a table as HTML; a wide one has its own scroll bar."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = []
    for first, *rest in table.rows:
        cells = "".join(_cell(text, table.heat) for text in rest)
        rows.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(table.title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(text: str, heat: bool) -> str:
    """Return a cell as HTML; with `heat`, a share has a stronger colour the further it is from one half."""
    if len(text) > _LONG:
        return f'<td class="words">{escape(text)}</td>'
    match = _SHARE.match(text) if heat else None
    colour = ""
    if match:
        share = float(match[0])
        colour = f' class="{"more" if share > 0.5 else "less"}" style="--much:{120 * abs(share - 0.5):.0f}%"'
    value, bracket, rest = text.partition(" (")
    small = f" <small>({escape(rest)}</small>" if bracket else ""
    return f"<td{colour}>{escape(value)}{small}</td>"


@cache
def _asset(name: str) -> str:
    return resources.files("ttt_envs.evaluation.reports").joinpath(name).read_text(encoding="utf-8")
