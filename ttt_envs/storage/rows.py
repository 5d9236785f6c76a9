"""Results as rows of plain values, for JSON, CSV and pandas."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas


class Rows:
    """Base class of results that can be read as a table of plain values."""

    def rows(self) -> list[dict[str, Any]]:
        """Return the main results: one row per agent, rung or step, as name -> value; an interval is two values."""
        raise NotImplementedError

    def to_csv(self) -> str:
        """Return `rows` as CSV with a header line; unknown values are empty."""
        text, rows = io.StringIO(), as_plain(self.rows())
        writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def to_pandas(self) -> "pandas.DataFrame":
        """Return `rows` as a data frame. Raises ImportError with the command that installs pandas if it is missing."""
        try:
            import pandas
        except ImportError:
            raise ImportError("pandas is not installed, which to_pandas needs: pip install pandas") from None
        return pandas.DataFrame(self.rows())


class Listed(Rows):
    """Results that consist of given rows."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """`rows`: one mapping of names to values per row."""
        self._rows = [dict(row) for row in rows]

    def rows(self) -> list[dict[str, Any]]:
        """Return the given rows."""
        return self._rows


def flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's plain values: an interval becomes `..._low` and `..._high`; other nested values are dropped."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if name.endswith("interval"):
            start, (low, high) = name.removesuffix("interval"), value
            found |= {f"{start}low": low, f"{start}high": high}
        elif value is None or isinstance(value, (str, int, float, np.generic)):
            found[name] = value
    return found


def as_json(data: Any) -> str:
    """Return `data` as JSON; nan, which JSON lacks, becomes null."""
    return json.dumps(as_plain(data), indent=2, allow_nan=False)


def as_plain(data: Any) -> Any:
    """Return `data` converted to JSON's types."""
    if isinstance(data, Mapping):
        return {str(key): as_plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray):
        return as_plain(data.tolist())
    if isinstance(data, list | tuple):
        return [as_plain(value) for value in data]
    if isinstance(data, np.generic):
        return as_plain(data.item())
    if isinstance(data, float) and not np.isfinite(data):
        return None
    return data
