"""An exam for language models, and for any agents: fixed questions with exact answers, and fixed games.

    from ttt_envs import evaluation

    report = evaluation.llm_eval("llm:model=qwen3:8b,url=http://localhost:11434/v1", sets=["dice-round"], games=10)
    report.show()

The same on the command line: `ttt llm-eval --agents "llm:model=qwen3:8b,url=..." --sets dice-round --games 10`.

Every agent is asked the questions of the sets (`ttt_envs.evaluation.solved.questions`), and plays games of it against
`OPPONENTS`, from all seats with the same seeds. `random`, `greedy` and the agent that is shipped for the game are rows
of every table. A question costs one decision and tells how much it loses exactly, where a game costs many decisions and
tells who won: a few hundred questions say more than as many games.

Questions that an agent does not answer with a legal action are failures, and count as the worst answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from ttt_envs.agents import Agent, load
from ttt_envs.agents.external.llm import LanguageModel
from ttt_envs.agents.external.transcripts import Transcripts, read_transcripts
from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text, command_line, within
from ttt_envs.core.version import __version__
from ttt_envs.evaluation.arena.bout import Bout, Results
from ttt_envs.evaluation.arena.seating import arrangements, held_seats
from ttt_envs.evaluation.reports.intervals import percent
from ttt_envs.evaluation.reports.page import page, section
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.ratings import rate
from ttt_envs.evaluation.reports.report import NotSaved, Table, write_json
from ttt_envs.evaluation.solved.positions import MeasuredMistakes, Positions, measure
from ttt_envs.evaluation.solved.questions import QuestionSet, question_sets, set_of
from ttt_envs.storage.files import new_folder, write_whole
from ttt_envs.storage.rows import Rows, flat

#: The opponents of the games that a model plays.
OPPONENTS = ("random", "greedy")

#: The file of transcripts in the folder of the results.
TRANSCRIPTS = "transcripts.jsonl"

# Decisions of language models that the page shows.
_SHOWN = 40


@dataclass(frozen=True)
class Row:
    """One agent in one set.

    Attributes:
        questions: its answers.
        seconds: wall-clock time a question, on average.
        used: what it has used for questions and games, see `Agent.counts`.
        scores: opponent -> score and both ends of its 95 % interval; empty without games.
        failures: games that it lost because it gave no legal action.
    """

    questions: MeasuredMistakes
    seconds: float
    used: Mapping[str, float]
    scores: Mapping[str, tuple[float, float, float]]
    failures: int


@dataclass(kw_only=True)
class Exam(Rows):
    """The results of agents in sets of questions and in games.

    Attributes:
        answers: by the name of the set, and by agent.
        left_out: (set, agent) -> the reason why it was not asked.
        settings: the arguments, by the names that they have on the command line.
        complete: False if it was interrupted.
        seconds: the time that it took.
        folder: the folder of the results, or None.
    """

    answers: dict[tuple[str, str], Row] = field(default_factory=dict)
    left_out: dict[tuple[str, str], str] = field(default_factory=dict)
    settings: dict[str, Any]
    complete: bool = True
    seconds: float = 0.0
    folder: Path | None = None

    verb: ClassVar[str] = "llm-eval"
    files: ClassVar[tuple[str, ...]] = ("report.md", "report.html", "results.json")

    @property
    def command(self) -> str:
        """The command line that makes it again."""
        return command_line(["ttt", "llm-eval"], self.settings, {"questions": 0, "games": 20, "seed": 0})

    def tables(self) -> list[Table]:
        """Two for each set: answers and games, and what was used."""
        found = []
        for name in self.settings["sets"]:
            mine = {agent: row for (each, agent), row in self.answers.items() if each == name}
            if mine:
                found += _tables(set_of(name), mine)
        return found

    def remarks(self) -> list[str]:
        """The agents that were left out of a set, with the reasons."""
        return [f"{name}: {agent} is left out: {why}" for (name, agent), why in self.left_out.items()]

    def show(self, console: Console | None = None) -> None:
        """Print the tables, who was left out, and where the results are."""
        console = console or Console()
        for table in self.tables():
            console.print()
            console.print(table)
        for remark in self.remarks():
            console.print(remark, style="yellow", markup=False, highlight=False)
        if not self.complete:
            console.print("Partial: interrupted; only what was finished by then counts.", style="yellow")
        if self.folder is not None:
            console.print(f"{', '.join(self.files)} are in {self.folder}", highlight=False, soft_wrap=True)

    def save(self, folder: Path) -> None:
        """Write report.md, report.html and results.json, each whole or not at all."""
        self.folder = folder
        partial = "**Partial: it was interrupted.**\n\n" * (not self.complete)
        remarks = "".join(f"- {each}\n" for each in self.remarks())
        tables = "\n".join(table.markdown() for table in self.tables())
        write_whole(folder / "report.md", f"# Exam\n\n{partial}```\n{self.command}\n```\n\n{remarks}\n{tables}")
        parts = [f"<pre>{escape(self.command)}</pre>", *(f"<p>{escape(each)}</p>" for each in self.remarks())]
        parts += [section(table) for table in self.tables()]
        write_whole(folder / "report.html", page("Exam", "".join([*parts, *_decisions(folder / TRANSCRIPTS)])))
        write_json(folder / "results.json", self.json())

    def rows(self) -> list[dict[str, Any]]:
        """One row an agent in a set: its answers as numbers, the score against each opponent, and what it used."""
        return [
            {
                "set": name,
                "version": set_of(name).version,
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
            for (name, agent), row in self.answers.items()
        ]

    def json(self) -> dict[str, Any]:
        """The results for programs, as in results.json."""
        rows = [
            {"set": name, "version": set_of(name).version, "agent": agent, **asdict(row)}
            for (name, agent), row in self.answers.items()
        ]
        left_out = [{"set": name, "agent": agent, "reason": why} for (name, agent), why in self.left_out.items()]
        facts = {"verb": self.verb, "command": self.command, "version": __version__, "complete": self.complete}
        return {**facts, "seconds": self.seconds, **self.settings, "rows": rows, "left_out": left_out}


def llm_eval(
    agents: Any = (),
    *,
    sets: Sequence[str] = (),
    questions: int = 0,
    games: int = 20,
    seed: int = 0,
    out: str | Path | None = None,
    quiet: bool = False,
) -> Exam:
    """Ask agents fixed questions with exact answers, and let them play fixed games.

    Args:
        agents: what `agents.load` takes, or several of these; each is asked besides random, greedy and the agent that
            is shipped for the game.
        sets: names of sets of questions, see `question_sets`; none for all.
        questions: how many of each set, drawn by the seed; 0 for all.
        games: games of each set against each of `OPPONENTS`; rounded up, so that each seed is played from every seat.
            0 for none.
        seed: fixes the games, and the random choices of agents that draw by it.
        out: folder for report.md, report.html, results.json and the transcripts of language models; nothing is written
            without one.
        quiet: no progress bar.

    Raises:
        ValueError, TypeError: wrong settings, an unknown set, or an agent that is unknown or has the name of another.
        FileExistsError, InUse: `out` holds files, or is being written.
        NotSaved: `out` cannot be written in the end; the error has the results.
        OSError: a transcript cannot be written.
        KeyboardInterrupt: interrupted before an agent was finished with a set. Later, what was finished is given.
    """
    chosen = [set_of(name) for name in ([sets] if isinstance(sets, str) else sets) or question_sets()]
    within(0, 10**6, questions=questions, games=games)
    within(0, 2**128 - 1, seed=seed)
    given = agents if isinstance(agents, (list, tuple)) else [agents]
    loaded = [load(each) for each in given]
    names = [agent.name for agent in loaded]
    if len(set(names)) < len(names):
        raise ValueError(f"two agents have one name: {', '.join(names)}")
    settings = {
        "agents": names,
        "sets": [each.name for each in chosen],
        "questions": questions,
        "games": games,
        "seed": seed,
    }
    exam = Exam(settings=settings)
    with new_folder(out) as folder, ExitStack() as stack:
        for agent in loaded:
            if isinstance(agent, LanguageModel) and agent.transcripts is None and folder is not None:
                agent.transcripts = Transcripts(folder / TRANSCRIPTS)
                stack.callback(setattr, agent, "transcripts", None)  # it may be the caller's own
        lines = {each.name: _lines(each, loaded) for each in chosen}
        with Work(exam.answers, "agents", sum(map(len, lines.values())), hidden=quiet) as work:
            for each in chosen:
                drawn = None
                for name, agent in lines[each.name]:
                    work.update(len(exam.answers) + len(exam.left_out), f"{each.name}: {name}")
                    try:
                        (agent := load(agent)).check(each.load())
                    except ValueError as error:
                        exam.left_out[each.name, name] = str(error)
                        continue
                    drawn = drawn or _some(each, questions, seed)
                    exam.answers[each.name, name] = _row(each, agent, drawn, games, seed)
        exam.complete, exam.seconds = work.complete, work.seconds
        if folder is not None:
            try:
                exam.save(folder)
            except OSError as error:
                exam.folder = None
                raise NotSaved(exam, error) from error
    return exam


def _lines(asked: QuestionSet, loaded: Sequence[Agent]) -> list[tuple[str, Any]]:
    """The agents that are asked: names of rows, and agents or texts."""
    usual = [("random", "random"), ("greedy", "greedy"), ("trained", f"trained:{asked.game}")]
    names = [agent.name for agent in loaded]
    return [*(pair for pair in usual if pair[0] not in names), *zip(names, loaded, strict=True)]


def _some(asked: QuestionSet, number: int, seed: int) -> Positions:
    """All positions of a set, or so many of them."""
    drawn = asked.draw()
    if not 0 < number < len(drawn):
        return drawn
    rows = np.sort(np.random.default_rng(seed).permutation(len(drawn))[:number])
    kept: dict[str, Any] = {name: each[rows] for name, each in vars(drawn).items() if isinstance(each, np.ndarray)}
    return replace(drawn, **kept)


def _row(asked: QuestionSet, agent: Agent, drawn: Positions, games: int, seed: int) -> Row:
    game, before = asked.load(), dict(agent.counts())
    started = perf_counter()
    answers = measure(game, agent, drawn, least=asked.least, seed=seed, strict=False)
    seconds = (perf_counter() - started) / len(drawn)
    scores, failures = {}, 0
    for opponent in OPPONENTS if games else ():
        score, failed = _games(game, agent, load(opponent), games, seed)
        scores[opponent], failures = score, failures + failed
    used = {name: count - before.get(name, 0) for name, count in agent.counts().items()}
    return Row(answers, seconds, used, scores, failures)


def _games(game: Game, agent: Agent, other: Agent, games: int, seed: int) -> tuple[tuple[float, float, float], int]:
    """The score of an agent against another one with its interval, and the games that it lost by a failure."""
    held = held_seats(arrangements(game))
    bout, found = Bout(game, (agent, other), held, seed), Results.none(game, held)
    found.extend(game, bout.play(range(-(-games // len(held))), strict=False))
    won, lost = found.by_unit()
    wins = np.zeros((len(won), 2, 2))
    wins[:, 0, 1], wins[:, 1, 0] = won, lost
    rated = rate(wins, seed=seed)
    failed = {each.game for each in found.games.failures if held[each.game % len(held), each.player]}
    return (rated.score[0, 1], rated.score_low[0, 1], rated.score_high[0, 1]), len(failed)


# --- the report ---


def _tables(asked: QuestionSet, rows: Mapping[str, Row]) -> list[Table]:
    against = next(iter(rows.values())).scores
    names = list(dict.fromkeys(name for row in rows.values() for name, count in row.used.items() if count))
    shown, used = [], []
    for agent, row in rows.items():
        m = row.questions
        low, high = (percent(1 - end) for end in reversed(m.interval))
        scores = [f"{score:.2f} ({low:.2f} to {high:.2f})" for score, low, high in row.scores.values()]
        shown.append([agent, f"{percent(1 - m.share)} ({low} to {high})", f"{m.mean_loss:.3f}", *scores])
        counts = (f"{row.used.get(name, 0):,.10g}" for name in names)
        used.append([agent, f"{1000 * row.seconds:,.1f}", str(m.failures), str(row.failures), *counts])
    number = next(iter(rows.values())).questions.positions
    note = (
        f"{number} questions of {asked.name}, version {asked.version}. Results kept: the share of answers that lose no "
        f"more than {asked.least:g} against the best action, with its 95 % interval; mean loss: of all answers, in "
        "units of reward."
    )
    games = " Then the score in games against these opponents, a draw being half a win." * bool(against)
    return [
        Table(
            asked.title,
            ["agent", "results kept", "mean loss", *(f"against {name}" for name in against)],
            shown,
            note + games,
        ),
        Table(
            f"{asked.name}: what it took",
            ["agent", "ms", "no answer", "games", *names],
            used,
            "Wall-clock time a question; questions without a legal action, and games lost by one; what questions and "
            "games have used.",
        ),
    ]


def _decisions(path: Path) -> Iterator[str]:
    """Decisions of language models as HTML, those without a legal action first."""
    told: list[dict[str, Any]] = []
    with suppress(FileNotFoundError):
        told = list(read_transcripts(path))
    told.sort(key=lambda each: each["action"] is not None)
    if not told:
        return
    words = f"{min(len(told), _SHOWN)} of {len(told)}, those without a legal action first; all are in {path.name}."
    yield f'<section><h2>Decisions</h2><p class="note">{escape(words)}</p>'
    for each in told[:_SHOWN]:
        title = f"{each['model']}: {each['action'] or each['fault']}"
        texts = [f"<pre>{escape(each['prompt'])}</pre>"]
        for answer in each["answers"]:
            facts = f"{answer['seconds']:.1f} s" + (f", refused: {answer['refused']}" if answer["refused"] else "")
            thought = f"<p>Reasoning:</p><pre>{escape(answer['reasoning'])}</pre>" if answer["reasoning"] else ""
            texts.append(f"{thought}<p>Answer ({escape(facts)}):</p><pre>{escape(answer['text'])}</pre>")
        yield f"<details><summary>{escape(as_text(title))}</summary>{''.join(texts)}</details>"
    yield "</section>"
