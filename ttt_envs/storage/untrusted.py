"""Untrusted input: JSON with limited nesting, and texts for display."""

import json
from typing import Any

#: The most levels of nested lists and objects. Files of this library have fewer than ten.
MOST_LEVELS = 64


def read_json(data: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises ValueError for invalid JSON, and for more than `MOST_LEVELS` levels, because `json` can read deeper nesting
    than `repr` or a recursive function can handle.
    """
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError("it has too many levels") from None
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [each for each in level if isinstance(each, (dict, list))]
        if not level:
            return value
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    raise ValueError(f"it has more than {MOST_LEVELS} levels")


def with_tuples(value: Any) -> Any:
    """Return a value from JSON with lists converted to tuples."""
    if isinstance(value, dict):
        return {name: with_tuples(each) for name, each in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value


def printable(text: str) -> str:
    """Return a text for reports and terminals, with control characters and invalid Unicode replaced by blanks."""
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text.expandtabs()).strip()


def brief(text: str, most: int = 200) -> str:
    """Return a text for a message; if it is longer than `most`, only its beginning and its end."""
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 2 :]}"
