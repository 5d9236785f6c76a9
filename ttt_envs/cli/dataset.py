"""`ttt dataset`: recorded games as an offline data set."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from ttt_envs.cli.common import RecordFilters

if TYPE_CHECKING:
    from ttt_envs.evaluation.records import GameRecord


@dataclass(frozen=True, kw_only=True)
class Dataset(RecordFilters):
    """Make an offline data set of recorded games, or one of solved positions, in Parquet with a card that describes it.

    Of recorded games it is a file with one row a decision; all games must be of one kind with one set of options. Of
    solved positions (--sets) it is a folder, with the value of every action. Interrupted (Ctrl-C), it leaves nothing
    behind.
    """

    files: Annotated[
        tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE [FILE ...]", help_behavior_hint="")
    ] = ()
    """Files of records, or folders that `ttt tournament --record` has made."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File to write, which ends in .parquet and must not exist yet; the card is the .md file beside it. With --sets a
    folder, in which the card is README.md."""
    sets: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SET [SET ...]", help_behavior_hint="")] = ()
    """Sets of solved positions to build instead, or all; without files and without --out they are listed."""
    rows: Annotated[int, tyro.conf.arg(help_behavior_hint="(default: all)")] = 0
    """Largest number of positions of each set."""
    minari: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None
    """Make a Minari data set of this name and version instead, such as mine/random-v0."""
    values: Literal["oracle", "search", "none"] = "oracle"
    """Add values of the actions and the regret: by the oracle, where the game has one and nothing is hidden; where it
    knows nothing, also estimated by a search; or none."""
    simulations: int = 400
    """Simulations of that search, for each decision."""

    def run(self) -> None:
        """Replay the games and write the data set, with progress shown."""
        from ttt_envs.evaluation.reports.progress import Work

        if self.sets or not self.files:
            return self._solved()
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

    def _solved(self) -> None:
        """Build sets of solved positions, or list them."""
        from rich.console import Console

        from ttt_envs.evaluation.reports.progress import Work
        from ttt_envs.evaluation.solved.dataset import build, overview, set_of, solved_sets

        if self.files or self.minari is not None:
            raise ValueError("solved positions (--sets) need neither files of records nor --minari")
        names = list(solved_sets()) if "all" in self.sets else [set_of(name).name for name in dict.fromkeys(self.sets)]
        if not names and self.out is None:
            Console().print(overview())
            return
        if not names or self.out is None:
            raise ValueError("name sets of solved positions and a folder: --sets SET --out FOLDER, or files of records")
        with Work([], "sets", float(len(names))) as work:
            built = build(
                self.out,
                names,
                rows=self.rows,
                progress=lambda name, share: work.update(names.index(name) + share, name),
            )
        for each in built:
            print(f"{each.solved_set.name}: {', '.join(f'{name} {number}' for name, number in each.rows.items())}")
        print(f"the card is {self.out / 'README.md'}")

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
        made = write_parquet(
            self.out, self._records(), values=self.values, simulations=self.simulations, progress=progress
        )
        return f"{made.decisions} decisions of {made.games} games are in {self.out}, described in {self.out.stem}.md"

    def _records(self) -> "Iterator[GameRecord]":
        for path in self.files:
            yield from self.read(path)
