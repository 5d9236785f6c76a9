"""`ttt exam`: fixed questions with exact answers, and fixed games, for language models and other agents."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ttt_envs.cli.common import Printing
from ttt_envs.cli.shell import DONE, ERROR, INTERRUPTED
from ttt_envs.storage.files import unused


@dataclass(frozen=True, kw_only=True)
class Exam(Printing):
    """Ask language models, or any agents, fixed questions with exact answers, and let them play fixed games.

    The agents random and greedy, and the one that is bundled for the game, are asked the same.
    """

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """Id of a game; its options are those of its questions."""
    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = ()
    """Agents, such as llm:model=NAME,url=URL or greedy; `ttt agents` lists them."""
    questions: int = 0
    """How many questions, drawn by the seed; 0 for all."""
    games: int = 20
    """Games against each of random and greedy; 0 for none."""
    seed: int = 0
    """Seed of the games, and of the agents that draw by it."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder for the results, which must be empty; by default runs/exam, numbered if that is taken."""
    write: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the questions to this file, which must not exist, as JSON lines, and ask nobody."""

    def run(self) -> int:
        """Ask the agents or write the questions; return the exit status."""
        from ttt_envs.evaluation.exam import exam
        from ttt_envs.evaluation.questions import questions_of

        if self.write is not None:
            if self.write.exists():
                raise FileExistsError(f"{self.write} is there already; name another file")
            found = questions_of(self.game)
            found.write(self.write)
            print(f"{found.positions} questions are in {self.write}")
            return DONE
        self.check_form()
        given: dict[str, Any] = {"questions": self.questions, "games": self.games, "seed": self.seed}
        given["out"] = self.out or unused(Path("runs/exam"), numbered=True)
        report: Any = self.reported(lambda: exam(self.game, self.agents, **given))
        if not report.complete:
            return INTERRUPTED
        return ERROR if report.failed else DONE
