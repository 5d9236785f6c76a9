"""`ttt llm-eval`: fixed questions with exact answers, and fixed games, for language models and other agents."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ttt_envs.cli.common import Printing
from ttt_envs.cli.shell import DONE, INTERRUPTED
from ttt_envs.storage.files import unused

if TYPE_CHECKING:
    from ttt_envs.evaluation.solved.exam import Exam


@dataclass(frozen=True, kw_only=True)
class LlmEval(Printing):
    """Ask language models, or any agents, fixed questions with exact answers, and let them play fixed games.

    The agents random and greedy, and the one that is shipped for each game, are asked the same.
    """

    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = ()
    """Agents, such as llm:model=NAME,url=URL or greedy; `ttt agents` lists them."""
    sets: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[SET ...]", help_behavior_hint="")] = ()
    """Sets of questions, by default all; `ttt questions` lists them."""
    questions: int = 0
    """Questions of each set, drawn by the seed; 0 for all."""
    games: int = 20
    """Games of each set against each of random and greedy; 0 for none."""
    seed: int = 0
    """Seed of the games, and of the agents that draw by it."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder for the results, which must be empty; by default runs/llm-eval, numbered if that is taken."""

    def run(self) -> int:
        """Ask the agents; returns the exit status."""
        from ttt_envs.evaluation.reports.report import NotSaved
        from ttt_envs.evaluation.solved.exam import llm_eval

        self.check_form()
        out = self.out or unused(Path("runs") / "llm-eval", numbered=True)
        try:
            report = llm_eval(
                self.agents, sets=self.sets, questions=self.questions, games=self.games, seed=self.seed, out=out
            )
        except NotSaved as error:  # all is asked, and cannot be written
            self._show(error.report)
            raise
        self._show(report)
        return DONE if report.complete else INTERRUPTED

    def _show(self, report: "Exam") -> None:
        if not self.printed(report, report.json):
            report.show()
