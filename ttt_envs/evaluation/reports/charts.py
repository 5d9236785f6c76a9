"""Charts for pages: values with intervals as HTML and inline SVG, without scripts, readable at any width.

Positions in the SVG are percentages, so that bars use the width of the page and lines stay thin. The numbers of every
bar are shown as text next to it and are its label for screen readers. Colours are the page's, see `page.css`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np


@dataclass(frozen=True)
class Whisker:
    """A value with an interval.

    Attributes:
        name: the label.
        low, value, high: in increasing order; nan for an unknown value.
        text: the numbers next to it.
    """

    name: str
    low: float
    value: float
    high: float
    text: str


@dataclass(frozen=True)
class Whiskers:
    """Values with intervals on one scale.

    Attributes:
        title: the title of the chart.
        rows: the rows from top to bottom.
        before: title of the table that follows the chart.
    """

    title: str
    rows: Sequence[Whisker]
    before: str = ""

    def html(self) -> str:
        """Return the chart; empty if no value is known."""
        known = [each for each in self.rows if np.isfinite([each.low, each.value, each.high]).all()]
        if not known:
            return ""
        low, high = min(each.low for each in known), max(each.high for each in known)
        margin = 0.03 * (high - low) or 1.0
        low, high = low - margin, high + margin

        def at(value: float) -> str:
            return f"{100 * (value - low) / (high - low):.2f}%"

        marks = [(at(each), f"{each:g}") for each in ticks(low, high)]
        grid = "".join(f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="100%"/>' for x, _ in marks)
        rows = []
        for each in self.rows:
            bar = grid
            if each in known:
                bar += f'<line class="whisker" x1="{at(each.low)}" x2="{at(each.high)}" y1="50%" y2="50%"/>'
                bar += f'<circle class="value" cx="{at(each.value)}" cy="50%" r="4.5"/>'
            rows.append(_row(each.name, bar, each.text))
        axis = "".join(f'<text x="{x}" y="75%">{text}</text>' for x, text in marks)
        rows.append(_row("", axis, "", kind="axis"))
        return f'<figure class="chart"><h3>{escape(self.title)}</h3>{"".join(rows)}</figure>'


def ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers from `low` to `high`."""
    step = 10.0 ** np.floor(np.log10((high - low) / 4))
    step *= next(k for k in (1, 2, 5, 10) if (high - low) / (step * k) <= 6)
    first = int(np.ceil(low / step))
    return [round(k * step, 10) + 0.0 for k in range(first, int(np.floor(high / step)) + 1)]


def _row(name: str, bar: str, text: str, kind: str = "bar") -> str:
    return (
        f'<div class="row"><span class="name">{escape(name)}</span><svg class="{kind}" role="img" '
        f'aria-label="{escape(f"{name}: {text or kind}")}">{bar}</svg><span class="number">{escape(text)}</span></div>'
    )
