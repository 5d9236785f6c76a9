"""Reports as pages: one HTML file that needs no network and no other file, from the same tables as the Markdown.

A page has charts, and sample games to step through, where the report gives some. What comes from outside, such as the
names of agents, is escaped; and the page's own policy forbids the browser to load anything, and to run any script but
the one that steps through games.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import ClassVar, Protocol

from ttt_envs.drawing.film import frames_of, move_text
from ttt_envs.drawing.parts import Parts
from ttt_envs.evaluation.records import GameRecord
from ttt_envs.evaluation.records.replaying import ReplayedGame, replay
from ttt_envs.evaluation.reports.report import Report, Table
from ttt_envs.storage.files import write_whole

#: Sample games of a page, and the pictures of one; a longer game is shown up to there.
SAMPLES, PICTURES = 4, 150

# A cell that begins with a share, such as "0.530 (.490–.570)".
_SHARE = re.compile(r"[01]\.\d+")


# A longer cell holds words, which are broken into lines.
_LONG = 36


class Chart(Protocol):
    """A picture of numbers; see `ttt_envs.evaluation.reports.charts`."""

    @property
    def before(self) -> str:
        """Title of the table that it stands before."""

    def html(self) -> str:
        """The chart as HTML."""


@dataclass(kw_only=True)
class PagedReport(Report):
    """A report that is also saved as a page, report.html."""

    files: ClassVar[tuple[str, ...]] = ("report.md", "report.html", "results.json")

    def charts(self) -> Sequence[Chart]:
        """Pictures of the numbers."""
        return ()

    def samples(self) -> Iterable[GameRecord]:
        """Games to step through, the most interesting one first."""
        return ()

    def html(self) -> str:
        """The whole report as a page."""
        options = ", ".join(f"<code>{escape(f'{name}={value}')}</code>" for name, value in self.game.options.items())
        parts = [
            f"<p>Options: {options or 'none'}. {escape(' '.join(self.facts()))}</p>",
            f"<pre>{escape(self.command)}</pre>",
        ]
        if not self.complete:
            parts.insert(0, f'<p class="remark">Partial: only the {escape(self.unit)} finished by then count.</p>')
        if self.made:
            words = f"Called from Python with objects, which the command cannot name: {', '.join(self.made)}."
            parts.append(f"<p>{escape(words)}</p>")
        if self.remarks():
            parts.append(f'<ul class="remark">{"".join(f"<li>{escape(each)}</li>" for each in self.remarks())}</ul>')
        tables = [section(each, self.charts()) for each in self.tables()]
        texts = [f"<h3>{escape(heading)}</h3><pre>{escape(text)}</pre>" for heading, text in self.texts()]
        if texts:
            tables.append(f"<section><h2>Positions</h2>{''.join(texts)}</section>")
        games = list(replay(self.samples(), game=self.game))
        if games:
            tables.append(sample_games(games))
        return page(f"{self.title}: {self.game.title}", "".join([*parts, *tables]))

    def save_others(self, folder: Path) -> None:
        """Write report.md and report.html."""
        super().save_others(folder)
        write_whole(folder / "report.html", self.html())


def page(title: str, body: str) -> str:
    """A whole page; `title` is text, `body` HTML."""
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<style>{_asset('base.css')}{_asset('page.css')}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>{body}</main><script>{script}</script></body></html>\n"
    )


def section(table: Table, charts: Sequence[Chart] = (), level: int = 2) -> str:
    """A table with its heading of that level, its note, and the charts that belong to it."""
    drawn = "".join(each.html() for each in charts if each.before == table.title)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    heading = f"<h{level}>{escape(table.title)}</h{level}>"
    return f"<section>{heading}{drawn}{html_table(table)}{note}</section>"


def html_table(table: Table) -> str:
    """A table alone; one that is too wide is scrolled by itself."""
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
    """A cell; with `heat` the further a share is from one half, the stronger its colour."""
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


def sample_games(games: Sequence[ReplayedGame]) -> str:
    """Games to step through. What their pictures have in common is in the page once."""
    parts, data, shown = Parts(), [], []
    for k, each in enumerate(games):
        record = each.record
        frames = frames_of(each.game, each.states, each.actions)
        pictures, captions = [], []
        for frame in frames[:PICTURES]:
            pictures.append(parts.add(each.game.draw(frame.state, None)))
            joint = each.actions[frame.ply - 1] if frame.ply else None
            words = "start" if joint is None else move_text(each.game, joint, _seated(record))
            captions.append(f"ply {frame.ply}: {words}" + ", end of a round" * frame.ended_round)
        if record.failures and len(frames) <= PICTURES:
            captions[-1] += "; then " + "; ".join(f"player {f.player} failed: {f.reason}" for f in record.failures)
        data.append({"pictures": pictures, "captions": captions})
        cut = f" Shown up to ply {frames[PICTURES - 1].ply}." if len(frames) > PICTURES else ""
        shown.append(_stepper(k, record, "".join(parts.texts[n] for n in pictures[0]) + "</svg>", len(pictures), cut))
    text = json.dumps({"parts": parts.texts, "games": data}, separators=(",", ":"), ensure_ascii=False)
    # Within a script element only this can end it, or begin another one.
    safe = text.replace("<", "\\u003c")
    note = "The arrow keys, Home and End step through a game that has the focus."
    return (
        f'<section><h2>Sample games</h2><p class="note">{note}</p><div class="games">{"".join(shown)}</div>'
        f'<script type="application/json" id="games">{safe}</script></section>'
    )


def _seated(record: GameRecord) -> list[str]:
    return [f"{agent} (player {player})" for player, agent in enumerate(record.agents)]


def _stepper(k: int, record: GameRecord, first: str, pictures: int, cut: str) -> str:
    """The frame of one game, with its first picture."""
    title = " – ".join(_seated(record))
    result = f"won by {' and '.join(record.winners)}" if record.winners else "drawn"
    words = f"Game {record.number}, seed {record.seed}, {len(record.actions)} plies, {result}.{cut}"
    buttons = "".join(
        f'<button type="button" data-to="{to}" aria-label="{label}">{sign}</button>'
        for to, label, sign in (
            ("first", "first position", "«"),
            ("back", "one ply back", "‹"),
            ("next", "next ply", "›"),
            ("last", "last position", "»"),
        )
    )
    return (
        f'<figure class="game" data-game="{k}" tabindex="0" aria-label="{escape(title)}"><h3>{escape(title)}</h3>'
        f'<p class="note">{escape(words)}</p><div class="board" role="img" aria-label="position">{first}</div>'
        f'<p class="caption" aria-live="polite">ply 0: start</p><div class="steps">{buttons}'
        f'<input type="range" min="0" max="{pictures - 1}" value="0" aria-label="position in the game"></div></figure>'
    )


@cache
def _asset(name: str) -> str:
    return resources.files("ttt_envs.evaluation.reports").joinpath(name).read_text(encoding="utf-8")
