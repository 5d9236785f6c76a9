"""Transcripts: the decisions of language models as JSON lines, with prompts, answers, tokens and times."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ttt_envs.storage.untrusted import read_json


class Transcripts:
    """A file to which decisions are added, a line each; several processes may add to the same one."""

    def __init__(self, path: str | Path) -> None:
        """Nothing is written before the first decision."""
        self.path = Path(path)

    def add(self, decision: Mapping[str, Any]) -> None:
        """Add a decision; raises OSError if that cannot be written."""
        line = json.dumps(decision, ensure_ascii=True).encode() + b"\n"
        # One write to a file that is open for appending: lines of several processes do not mix.
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line)
        finally:
            os.close(file)


def read_transcripts(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a file, in order; a last line that a killed process left unfinished is passed over.

    Raises FileNotFoundError, and ValueError naming a line that is no decision.
    """
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines[:-1], 1):
        found = read_json(line)
        if not isinstance(found, dict) or not {"model", "prompt", "answers", "action", "fault"} <= found.keys():
            raise ValueError(f"{path}, line {number}: no decision of a language model")
        yield found
