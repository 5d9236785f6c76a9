"""`ttt questions`: the sets of questions with exact answers, and files of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ttt_envs.cli.common import Printing


@dataclass(frozen=True, kw_only=True)
class Questions(Printing):
    """List the sets of questions with exact answers, or write one as JSON lines."""

    set: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[SET]", help_behavior_hint="")] = None
    """Name of the set to write; without one the sets are listed."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File for the questions, which must not exist; by default SET.jsonl."""

    def run(self) -> None:
        """List the sets, or write one."""
        from rich.console import Console

        from ttt_envs.evaluation.solved.questions import listed, overview, set_of
        from ttt_envs.storage.rows import Listed

        if self.set is None:
            if self.out is not None:
                raise ValueError("--out needs the name of a set before it")
            if not self.printed(Listed(listed())):
                Console().print(overview())
            return
        if self.json or self.csv:
            raise ValueError("--json and --csv print the list of sets; a set is written to a file, as JSON lines")
        found, path = set_of(self.set), self.out or Path(f"{self.set}.jsonl")
        if path.exists():
            raise FileExistsError(f"{path} is there already; name another file with --out")
        found.write(path)
        print(f"{found.positions} questions are in {path}")
