"""An exam for language models and other agents: fixed questions with exact answers, and fixed games.

Example::

    from ttt_envs import evaluation

    report = evaluation.exam("some_game", "llm:model=qwen3:8b,url=http://localhost:11434/v1", games=10)
    report.show()

The same on the command line: `ttt exam some_game --agents "llm:model=qwen3:8b,url=..." --games 10`.

Every agent answers the questions of the game (`ttt_envs.evaluation.questions`) and plays against `OPPONENTS`, from all
seats with the same seeds. Every table includes `random`, `greedy` and the bundled agent of the game. A question costs
one decision and gives its exact loss; a game costs many decisions and gives only the winner. So a few hundred questions
are more informative than as many games.

If an agent does not answer a question with a legal action, this is a failure and counts as the worst answer. If the
server of a language model fails or is too slow in any decision, the model gets no score, and the report states why.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ttt_envs.agents import Agent, load
from ttt_envs.agents.external.llm import FAILED, LanguageModel
from ttt_envs.agents.external.transcripts import Transcripts, read_transcripts
from ttt_envs.core.game import Game
from ttt_envs.core.options import command_line, within
from ttt_envs.evaluation.arena.seating import line_up
from ttt_envs.evaluation.mistakes import MeasuredMistakes, Positions, measure
from ttt_envs.evaluation.questions import QuestionSet, questions_of
from ttt_envs.evaluation.reports.intervals import percent
from ttt_envs.evaluation.reports.page import PagedReport
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Arguments, Table
from ttt_envs.evaluation.tournament import tournament
from ttt_envs.storage.files import new_folder
from ttt_envs.storage.rows import flat

#: The opponents in the games.
OPPONENTS = ("random", "greedy")

#: The agents in every table.
ROWS = ("random", "greedy", "trained")

#: The file of transcripts in the results folder.
TRANSCRIPTS = "transcripts.jsonl"

# The most decisions without a legal action that the report shows.
_SHOWN = 3


@dataclass(frozen=True)
class Row:
    """The results of one agent.

    Attributes:
        questions: the agent's answers to the questions.
        seconds: mean wall-clock time per question.
        used: resources used for questions and games, see `Agent.counts`.
        scores: opponent -> score and both ends of its 95 % interval; empty without games.
        failures: games that the agent lost because it gave no legal action.
    """

    questions: MeasuredMistakes
    seconds: float
    used: Mapping[str, float]
    scores: Mapping[str, tuple[float, float, float]]
    failures: int


@dataclass(kw_only=True)
class ExamReport(PagedReport):
    """The results of agents in questions and in games.

    Attributes:
        asked: the set of questions.
        answers: agent -> results.
        left_out: agent -> the reason why it has no results.
    """

    asked: QuestionSet
    answers: dict[str, Row]
    left_out: dict[str, str]

    verb, title, unit = "exam", "Exam", "agents"

    @property
    def command(self) -> str:
        """The command line that reproduces this report; the game's options are those of the question set."""
        return command_line(["ttt", self.verb, self.game.id], self.settings, self.settings.defaults)

    @property
    def failed(self) -> bool:
        """Whether a named agent has no results."""
        return not self.left_out.keys() <= set(ROWS)

    def tables(self) -> list[Table]:
        """Return the tables of answers and games, and of used resources."""
        against = next(iter(self.answers.values())).scores
        names = list(dict.fromkeys(name for row in self.answers.values() for name, count in row.used.items() if count))
        shown, used = [], []
        for agent, row in self.answers.items():
            m = row.questions
            low, high = (percent(1 - end) for end in reversed(m.interval))
            scores = [f"{score:.2f} ({low:.2f} to {high:.2f})" for score, low, high in row.scores.values()]
            shown.append([agent, f"{percent(1 - m.share)} ({low} to {high})", f"{m.mean_loss:.3f}", *scores])
            counts = (f"{row.used.get(name, 0):,.10g}" for name in names)
            used.append([agent, f"{1000 * row.seconds:,.1f}", str(m.failures), str(row.failures), *counts])
        number = next(iter(self.answers.values())).questions.positions
        note = (
            f"{number} questions of {self.asked.name}, version {self.asked.version}. Results kept: the share of "
            f"answers that lose no more than {self.asked.least:g} against the best action, with its 95 % interval; "
            "mean loss: of all answers, in units of reward."
        )
        if against:
            note += " Then the score in games against these opponents, a draw being half a win."
        header = ["agent", "results kept", "mean loss", *(f"against {name}" for name in against)]
        took = (
            "Wall-clock time a question; questions without a legal action, and games lost by one; what questions and "
            "games have used."
        )
        return [
            Table(self.asked.title, header, shown, note),
            Table("What it took", ["agent", "ms", "no answer", "games", *names], used, took),
        ]

    def texts(self) -> list[tuple[str, str]]:
        """Return the first decisions of language models that gave no legal action."""
        if self.folder is None or not (path := self.folder / TRANSCRIPTS).is_file():
            return []
        silent = (each for each in read_transcripts(path) if each["action"] is None)
        return [
            (f"{each['model']}: {each['fault']}", "\n\n".join([each["prompt"], *map(_answer, each["answers"])]))
            for each in islice(silent, _SHOWN)
        ]

    def remarks(self) -> list[str]:
        """Return the agents without results, with the reasons."""
        return [f"{agent} is left out: {why}" for agent, why in self.left_out.items()]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per agent: figures for its answers, the score against each opponent, and used resources."""
        return [
            {
                **flat(asdict(row.questions)),
                "agent": agent,
                "seconds_a_question": row.seconds,
                **{
                    f"score_{opponent}{end}": value
                    for opponent, score in row.scores.items()
                    for end, value in zip(("", "_low", "_high"), score, strict=True)
                },
                "failed_games": row.failures,
                **{name.replace(" ", "_"): count for name, count in row.used.items()},
            }
            for agent, row in self.answers.items()
        ]

    def data(self) -> dict[str, Any]:
        """Return the answers and games of each agent."""
        return {
            "set": self.asked.name,
            "set_version": self.asked.version,
            "rows": [{"agent": agent, **asdict(row)} for agent, row in self.answers.items()],
            "left_out": self.left_out,
        }


def exam(
    game: str,
    agents: Any = (),
    *,
    questions: int = 0,
    games: int = 20,
    seed: int = 0,
    out: str | Path | None = None,
    quiet: bool = False,
) -> ExamReport:
    """Give agents fixed questions with exact answers, and let them play fixed games.

    Args:
        game: id of a game with questions; its options are those of the question set.
        agents: one or more arguments of `agents.load`; random, greedy and the bundled agent of the game are added.
        questions: number of questions, drawn with the seed; 0 for all.
        games: games against each of `OPPONENTS`, rounded up so that each seed is played from every seat; 0 for none.
        seed: determines the games and the agents' seeds.
        out: folder for report.md, report.html, results.json and transcripts of language models; None writes nothing.
        quiet: no progress bar.

    Raises:
        ValueError, TypeError: wrong settings, a game without questions, or an agent that is unknown, cannot play the
            game or has the name of another.
        FileExistsError, InUse, NotSaved: `out` holds files, is in use, or cannot be written; NotSaved has the report.
        OSError: a transcript cannot be written.
        KeyboardInterrupt: interrupted before an agent was finished. A later interrupt returns a partial report.
    """
    settings = Arguments(exam, locals())
    within(0, 10**6, questions=questions, games=games)
    within(0, 2**128 - 1, seed=seed)
    asked = questions_of(game)
    played, answers, left_out = asked.load(), dict[str, Row](), dict[str, str]()
    lineup = line_up(played, agents, least=0)
    settings["agents"] = list(lineup.texts)
    with new_folder(out) as folder, ExitStack() as stack:
        for agent in lineup.agents:
            if isinstance(agent, LanguageModel) and agent.transcripts is None and folder is not None:
                agent.transcripts = Transcripts(folder / TRANSCRIPTS)
                stack.callback(setattr, agent, "transcripts", None)  # the agent may be the caller's object
        lines: dict[str, Any] = dict(zip(ROWS, ("random", "greedy", f"trained:{asked.game}"), strict=True))
        lines |= {agent.name: agent for agent in lineup.agents}
        with Work(answers, "agents", len(lines), hidden=quiet) as work:
            drawn = _some(asked, questions, seed)
            for name, given in lines.items():
                work.update(len(answers) + len(left_out), name)
                try:
                    (agent := load(given)).check(played)
                except ValueError as error:
                    left_out[name] = str(error)
                    continue
                row = _row(asked, played, agent, drawn, games, seed)
                if isinstance(row, Row):
                    answers[name] = row
                else:
                    left_out[name] = row
        return ExamReport(
            game=played,
            settings=settings,
            made=lineup.made,
            complete=work.complete,
            seconds=work.seconds,
            asked=asked,
            answers=answers,
            left_out=left_out,
        ).kept(folder)


def _answer(answer: Mapping[str, Any]) -> str:
    return f"Answer (it ended by {answer['finish_reason']!r}):\n{answer['text']}"


def _some(asked: QuestionSet, number: int, seed: int) -> Positions:
    drawn = asked.draw()
    if not 0 < number < len(drawn):
        return drawn
    rows = np.sort(np.random.default_rng(seed).permutation(len(drawn))[:number])
    kept: dict[str, Any] = {name: each[rows] for name, each in vars(drawn).items() if isinstance(each, np.ndarray)}
    return replace(drawn, **kept)


def _row(asked: QuestionSet, game: Game, agent: Agent, drawn: Positions, games: int, seed: int) -> Row | str:
    """Return the results of an agent or, if its server failed, that failure instead."""
    before, started = dict(agent.counts()), perf_counter()
    answers = measure(game, agent, drawn, least=asked.least, seed=seed, strict=False)
    seconds = (perf_counter() - started) / len(drawn)
    scores, failures = dict[str, tuple[float, float, float]](), 0
    for opponent in OPPONENTS if games else ():
        if agent.counts().get(FAILED, 0) > before.get(FAILED, 0):
            break
        report = tournament(game, [agent, {"the other": opponent}], games=games, seed=seed, quiet=True)
        found = report.ratings
        scores[opponent] = found.score[0, 1], found.score_low[0, 1], found.score_high[0, 1]
        failures += len({each.game for each in report.failures if each.agent == agent.name})
    used = {name: count - before.get(name, 0) for name, count in agent.counts().items()}
    if used.get(FAILED):
        return f"in {used[FAILED]:g} decisions it gave no answer, the last time as it {getattr(agent, 'failure', '')}"
    return Row(answers, seconds, used, scores, failures)
