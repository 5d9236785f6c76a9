"""Plain text in columns and paragraphs, as wide as the terminal, or 80 columns without a terminal."""

import shutil
import textwrap
from collections.abc import Collection, Iterator, Sequence

_MOST = 100  # longer lines are hard to read


def width() -> int:
    """Return the width of the text in columns."""
    return min(shutil.get_terminal_size().columns, _MOST)


def table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> Iterator[str]:
    """Yield the lines of a table without cutting cells; the columns `right` are right-aligned.

    Only the last column is wrapped, with its own indentation.
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    start = sum(widths[:-1]) + 2 * (len(widths) - 1)
    for row in rows:
        cells = [cell.rjust(widths[k]) if k in right else cell.ljust(widths[k]) for k, cell in enumerate(row[:-1])]
        last = textwrap.wrap(row[-1], max(width() - start, 20)) or [""]
        yield "  ".join([*cells, last[0]]).rstrip()
        yield from (" " * start + line for line in last[1:])


def indented(text: str, indent: int = 4) -> list[str]:
    """Return the wrapped lines of a paragraph, each indented by `indent` columns."""
    return textwrap.wrap(text, width(), initial_indent=" " * indent, subsequent_indent=" " * indent)


def entries(items: Sequence[tuple[str, str]], indent: int = 0) -> Iterator[str]:
    """Yield names with explanations, which are indented below the names."""
    for name, text in items:
        yield " " * indent + name
        yield from indented(text, indent + 4)


def paragraphs(markdown: str) -> Iterator[str]:
    """Yield wrapped lines of a text such as `Game.rules_text`, in which each paragraph and list item is one line."""
    for line in markdown.splitlines():
        hanging = "  " if line.startswith("- ") else ""
        yield from textwrap.wrap(line, width(), subsequent_indent=hanging) or [""]
