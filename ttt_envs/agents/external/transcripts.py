"""Transcripts: the decisions of language models as JSON lines, with prompts, answers, tokens and times."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ttt_envs.storage.untrusted import read_json


class Transcripts:
    """A file to which decisions are appended, one per line; several processes may append to the same file."""

    def __init__(self, path: str | Path) -> None:
        """`path`: the file, which is created at the first decision."""
        self.path = Path(path)

    def add(self, decision: Mapping[str, Any]) -> None:
        """Append a decision; raise OSError if this fails."""
        line = json.dumps(decision, ensure_ascii=True).encode() + b"\n"
        # A single write to a file opened for appending, so that lines of several processes do not mix.
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line)
        finally:
            os.close(file)


def read_transcripts(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a file in order. If a killed process left an unfinished last line, skip that line.

    Raises FileNotFoundError, and ValueError with the number of an invalid line.
    """
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines[:-1], 1):
        found = read_json(line)
        if not isinstance(found, dict) or not {"model", "prompt", "answers", "action", "fault"} <= found.keys():
            raise ValueError(f"{path}, line {number}: no decision of a language model")
        yield found
