"""`ttt dataset`: recorded games as an offline data set."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ttt_envs.cli.common import RecordFilters

if TYPE_CHECKING:
    from ttt_envs.evaluation.records import GameRecord


@dataclass(frozen=True, kw_only=True)
class Dataset(RecordFilters):
    """Make an offline data set of recorded games: a Parquet file with one row a decision, and a card that describes it.

    All games must be of one kind with one set of options. Interrupted (Ctrl-C), it leaves nothing behind.
    """

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE [FILE ...]")]
    """Files of records, or folders that `ttt tournament --record` has made."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File to write, which ends in .parquet and must not exist yet; the card is the .md file beside it."""
    minari: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None
    """Make a Minari data set of this name and version instead, such as mine/random-v0."""
    values: bool = True
    """Add the oracle's values of the actions and the regret, where the game has an oracle and nothing is hidden."""

    def run(self) -> None:
        """Replay the games and write the data set, with progress shown."""
        from ttt_envs.evaluation.reports.progress import Work

        if not self.files:
            raise ValueError("name at least one file of records")
        if (self.out is None) == (self.minari is None):
            raise ValueError("say where the data set goes: --out FILE.parquet, or --minari NAME")
        with Work([], "games") as work:
            if self.minari is not None:
                from ttt_envs.evaluation.records.dataset import write_minari

                episodes = write_minari(self.minari, self._records(), progress=lambda n: work.update(n, f"{n} games"))
                words = f"{episodes} episodes are in Minari's data set {self.minari}"
            else:
                words = self._parquet(lambda n: work.update(n, f"{n} games"))
        print(words)

    def _parquet(self, progress: Callable[[int], None]) -> str:
        from ttt_envs.evaluation.records.dataset import write_parquet
        from ttt_envs.storage.files import check_writable

        assert self.out is not None
        if self.out.suffix != ".parquet":
            raise ValueError(f"a data set is a .parquet file, not {self.out.name}")
        for path in (self.out, self.out.with_suffix(".md")):
            if path.exists():
                raise FileExistsError(f"{path} exists: choose another file, or delete this one first")
        check_writable(self.out)
        made = write_parquet(self.out, self._records(), values=self.values, progress=progress)
        return f"{made.decisions} decisions of {made.games} games are in {self.out}, described in {self.out.stem}.md"

    def _records(self) -> "Iterator[GameRecord]":
        for path in self.files:
            yield from self.read(path)
