"""Input from outside: JSON with bounds that hold for whatever handles it next, and texts that are shown."""

import json
from typing import Any

#: Levels of lists and objects, one in another. Nothing of this library has ten.
MOST_LEVELS = 64


def read_json(data: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises ValueError for what is no JSON, and for more levels than `MOST_LEVELS`: Python reads more of them than `repr`
    or a function that calls itself bears.
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
    """Return a value of JSON with its lists as tuples, which JSON lacks."""
    if isinstance(value, dict):
        return {name: with_tuples(each) for name, each in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value


def printable(text: str) -> str:
    """Return a text for reports and terminals: control characters and what is no Unicode become blanks."""
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text.expandtabs()).strip()


def brief(text: str, most: int = 200) -> str:
    """Return a text for a message: its beginning and its end, if it is longer than `most`."""
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 2 :]}"
