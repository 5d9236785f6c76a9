"""The table of values of a match in the package."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.storage.files import write_whole

MATCH_VALUES = Path(__file__).with_name("match_values.json")


def match_values() -> tuple[np.ndarray, np.ndarray]:
    """Return the value of a match for a player, in reward units, and its standard error: two float64 (10, 10).

    Entry [a, b] is for the start of a round, before the roll for the start, if the player needs `a` more points and the
    opponent `b`.
    """
    stored = json.loads(MATCH_VALUES.read_text(encoding="utf-8"))
    return np.array(stored["values"]), np.array(stored["standard_errors"])


def write_match_values(path: Path, table: dict[str, Any]) -> None:
    """Write the result of `match.make_match_values` atomically. Raises OSError if the file cannot be written."""
    write_whole(path, json.dumps(table, indent=1) + "\n")
