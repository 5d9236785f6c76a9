"""Regret: what an agent's decisions lose against best play, in games that have an oracle.

    python -m ttt_envs.evaluation.regret --game tic_tac_dice --option rounds=single --agents random greedy

The same in Python:

    import ttt_envs
    from ttt_envs import agents
    from ttt_envs.evaluation import regret

    found = regret.measure(ttt_envs.load("tic_tac_dice", rounds="single"), agents.load("greedy"), games=200)
    print(found.per_game, found.per_game_half_width)

The regret of a decision is the oracle's value of the best action minus its value of the action that was played, for the
player who decides, in units of reward; it is never negative. It is measured where the agent itself gets to: it plays
whole games, by default holding all seats (self-play), or else against `opponent`, each seed from every side. Decisions
with one legal action count too.

- **A decision**: the mean over the agent's decisions, a ratio of two random sums.
- **A game**: the sum over the decisions of one side (a player, or a team) in one game; the mean over games and sides.

How that relates to value lost: between two sides with opposite rewards, best play keeps a side's expected reward where
it is, and a decision of regret r lowers it by r. So the expected reward of a side is the value of the start, minus its
own regret a game, plus its opponent's. Against the oracle, which has none, the regret a game is exactly what the agent
gives away; against others, their mistakes may pay it back. With more sides, or with choices at once, regret is the loss
if all play on as the oracle does, and no such sum holds.

Not all may be known. A decision is `covered` where the oracle answers for the position, and `measured` where it also
knows the value of the action that was played. Only measured decisions enter the means, and the report says how many
they are. Where they are not all, the regret a game is that of the measured ones: a lower bound.

Intervals (95 %) take seeds for independent, with all games and decisions of a seed as one cluster: 1.96 standard errors
of a ratio estimator (W. G. Cochran, "Sampling Techniques", 3rd edition 1977, chapter 6). An agent without a mistake in
n seeds gets 0 +- 0; by the rule of three, up to a share 3/n of seeds may then still hold one. What an oracle itself may
be wrong by, where it is not exact, is not in the intervals.
"""

import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

import ttt_envs
from ttt_envs.agents import Agent
from ttt_envs.core.files import write_whole
from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Oracle
from ttt_envs.evaluation.play import Progress, game_seeds, name_of, play_games
from ttt_envs.evaluation.report import Table, write_json
from ttt_envs.evaluation.tournament import arrangements, ready
from ttt_envs.registry import parse_options

#: A regret above this is a mistake; below it are differences of rounding.
MISTAKE = 1e-9

_FIRST_BLOCK, _LARGEST_BLOCK, _BLOCK_SECONDS = 32, 1024, 4.0


@dataclass(frozen=True)
class Mistake:
    """A decision that lost something.

    Attributes:
        regret: in units of reward.
        player: who decided.
        played, best: names of actions; `best` is one of the best, "" if the oracle does not say which it is.
        position: the whole position as text, for `Game.parse_state`.
    """

    regret: float
    player: int
    played: str
    best: str
    position: str


@dataclass(frozen=True)
class Result:
    """What was measured of one agent; see the module for the terms.

    Attributes:
        agent: its name.
        opponent: the name of who held the other seats; None if the agent held all.
        per_decision: mean regret of a measured decision; nan if none was measured.
        per_decision_half_width: of its 95 % interval; nan with fewer than two seeds.
        per_game: mean regret of a side in a game: per_game * sides = per_decision * the number of measured decisions.
        per_game_half_width: of its 95 % interval; nan with fewer than two seeds.
        games: games played to the end.
        sides: pairs of a game and a side that the agent held.
        seeds: independent units that the intervals rest on.
        decisions: of the agent, measured or not.
        covered: share of the decisions in positions that the oracle answers.
        measured: share of the decisions of known regret.
        mistakes: share of the measured decisions of a regret above `MISTAKE`; nan if none was measured.
        worst: the largest mistake; None if there was none.
    """

    agent: str
    opponent: str | None
    per_decision: float
    per_decision_half_width: float
    per_game: float
    per_game_half_width: float
    games: int
    sides: int
    seeds: int
    decisions: int
    covered: float
    measured: float
    mistakes: float
    worst: Mistake | None


@dataclass
class Sums:
    """Of the agent's decisions in n seeds, each array (n,), seed by seed: all games of a seed together.

    Attributes:
        regret: float64, sum over the measured decisions.
        decisions, covered, measured, mistakes: int64, numbers of decisions.
        worst: the largest mistake of all of them.
    """

    regret: np.ndarray
    decisions: np.ndarray
    covered: np.ndarray
    measured: np.ndarray
    mistakes: np.ndarray
    worst: Mistake | None


def oracle_of(game: Game) -> Oracle:
    """The oracle that regret is measured by; ValueError in words for a game where that cannot be."""
    if game.hidden_information:
        raise ValueError(
            f"regret cannot be measured in {game!r}: its players do not know the whole position, and what is best in "
            "a position is not what is best for who does not know it"
        )
    try:
        return game.oracle()
    except NotImplementedError as error:
        raise ValueError(f"regret cannot be measured in {game!r}: {error}") from None


def measure(
    game: Game,
    agent: Agent,
    *,
    games: int = 1000,
    seed: int = 0,
    opponent: Agent | None = None,
    chunk: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Let an agent play, and measure what its decisions lose.

    Args:
        game: from `ttt_envs.load`.
        agent: who is measured; nothing but the seeds decides about its random numbers.
        games: to be played; with an opponent rounded up, so that each seed is played from every side.
        seed: fixes all games.
        opponent: holds all seats but those of one side; None lets the agent hold all.
        chunk: games played side by side; None chooses so that they take a few seconds. Changes no result.
        progress: told how many games are finished.

    Raises:
        ValueError, TypeError: no oracle for this game, hidden information, wrong numbers; an illegal action.
    """
    parts = list(blocks(game, agent, games=games, seed=seed, opponent=opponent, chunk=chunk, progress=progress))
    return summary(game, agent, opponent, parts)


def blocks(
    game: Game,
    agent: Agent,
    *,
    games: int = 1000,
    seed: int = 0,
    opponent: Agent | None = None,
    chunk: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Sums]:
    """As `measure`, block by block of whole seeds, for `summary`: who is interrupted keeps what is finished."""
    for name, value in (("games", games), ("chunk", chunk)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    oracle = oracle_of(game)
    held = seatings(game, opponent is not None)
    lineup = [agent] if opponent is None else [agent, opponent]
    units = -(-games // len(held))
    seeds = game_seeds(seed, units)
    size, first = max((chunk or _FIRST_BLOCK) // len(held), 1), 0
    while first < units:
        started = time.perf_counter()
        mine = seeds[first : first + size]
        yield _play(game, oracle, lineup, held, mine, chunk, progress, first * len(held), units * len(held))
        first += len(mine)
        if chunk is None:
            pace = _BLOCK_SECONDS / max(time.perf_counter() - started, 1e-3)
            size = int(np.clip(size * min(pace, 4.0), 1, max(_LARGEST_BLOCK // len(held), 1)))


def seatings(game: Game, opponent: bool) -> np.ndarray:
    """bool (games of a seed, players), the agent's seats: all of them, or with an opponent each side in turn.

    Raises ValueError for an opponent in a game with one side.
    """
    if not opponent:
        return np.ones((1, game.num_players), np.bool_)
    return np.stack([each.seats for each in arrangements(game) if each.first_alone])


def summary(game: Game, agent: Agent, opponent: Agent | None, parts: Sequence[Sums]) -> Result:
    """The result of some blocks; ValueError if there are none."""
    regret, decisions, covered, measured, mistakes = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("regret", "decisions", "covered", "measured", "mistakes")
    )
    seeds, total = len(regret), int(measured.sum())
    # Each side is the agent's once a seed: in one game, or in as many games as there are sides.
    sides = np.full(seeds, len(game.teams))
    nothing = (np.nan, np.nan)
    per_decision, per_decision_half_width = ratio(regret, measured) if total else nothing
    per_game, per_game_half_width = ratio(regret, sides) if total else nothing
    found = [part.worst for part in parts if part.worst is not None]
    return Result(
        agent=name_of(agent),
        opponent=None if opponent is None else name_of(opponent),
        per_decision=per_decision,
        per_decision_half_width=per_decision_half_width,
        per_game=per_game,
        per_game_half_width=per_game_half_width,
        games=seeds * len(seatings(game, opponent is not None)),
        sides=int(sides.sum()),
        seeds=seeds,
        decisions=int(decisions.sum()),
        covered=_share(covered.sum(), decisions.sum()),
        measured=_share(total, decisions.sum()),
        mistakes=_share(mistakes.sum(), total),
        worst=max(found, key=lambda each: each.regret, default=None),
    )


def ratio(sums: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """Ratio of the totals of float (n,) and int (n,) over n independent units, and its interval's half width.

    With equal counts this is the mean and its usual standard error, times 1.96. The half width is nan for n < 2.
    """
    n, total = len(sums), counts.sum()
    mean = sums.sum() / total
    if n < 2:
        return float(mean), np.nan
    spread = ((sums - mean * counts) ** 2).sum() * n / (n - 1)
    return float(mean), float(1.96 * np.sqrt(spread) / total)


def _share(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else np.nan


def _play(
    game: Game,
    oracle: Oracle,
    lineup: Sequence[Agent],
    held: np.ndarray,
    seeds: np.ndarray,
    chunk: int | None,
    progress: Progress | None,
    before: int,
    planned: int,
) -> Sums:
    """Play the games of these seeds, all seatings of a seed next to each other, and judge them all at once."""
    n, tell = len(seeds) * len(held), None
    if progress is not None:

        def tell(finished: int, _: int) -> None:
            progress(before + finished, planned)

    games = np.tile(held, (len(seeds), 1))
    records = play_games(
        game,
        lineup,
        np.where(games, 0, len(lineup) - 1),
        np.repeat(seeds, len(held)),
        record=range(n),
        chunk=min(chunk or n, n),
        progress=tell,
    ).records
    # Game after game, so that an oracle which works position by position finds what belongs together.
    owner = np.repeat(np.arange(n), [len(records[k].actions) for k in range(n)])
    states = np.concatenate([records[k].states[:-1] for k in range(n)])
    joint = np.concatenate([records[k].actions for k in range(n)])
    row, players = np.nonzero((joint >= 0) & games[owner])
    states, actions, unit = states[row], joint[row, players], owner[row] // len(held)
    covered, regret, best = judge(game, oracle, states, players, actions)
    measured, mistakes = ~np.isnan(regret), regret > MISTAKE
    worst = None
    if mistakes.any():
        k = int(np.nanargmax(regret))
        worst = Mistake(
            regret=float(regret[k]),
            player=int(players[k]),
            played=game.action_names[actions[k]],
            best=game.action_names[best[k]] if best[k] >= 0 else "",
            position=game.format_state(states[k], None),
        )
    return Sums(
        regret=np.bincount(unit, np.where(measured, regret, 0), len(seeds)),
        decisions=np.bincount(unit, minlength=len(seeds)),
        covered=np.bincount(unit[covered], minlength=len(seeds)),
        measured=np.bincount(unit[measured], minlength=len(seeds)),
        mistakes=np.bincount(unit[mistakes], minlength=len(seeds)),
        worst=worst,
    )


def judge(
    game: Game, oracle: Oracle, states: np.ndarray, players: np.ndarray, actions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What n decisions lose.

    Args:
        game: of the states.
        oracle: of the game.
        states: structured (n,), none of them finished.
        players: int64 (n,), who decides.
        actions: int64 (n,), legal ones.

    Returns:
        covered bool (n,); regret float64 (n,), nan where it is not known; a best action int64 (n,), -1 if not known.
    """
    n = len(states)
    if not n:
        return np.zeros(0, np.bool_), np.zeros(0), np.zeros(0, np.int64)
    masks = np.empty((n, game.num_actions), np.bool_)
    game.loops.mask_rows(states, players, masks)
    covered = np.asarray(oracle.covers(states))
    values = np.where(masks & covered[:, None], oracle.action_values(states, players), np.nan)
    known = np.where(np.isnan(values), -np.inf, values)
    best, top = known.argmax(axis=1), known.max(axis=1)
    # An action of unknown value may be better than all others: then the position's own value says what was lost.
    partly = np.flatnonzero(covered & (masks & np.isnan(values)).any(axis=1))
    if len(partly):
        value = np.asarray(oracle.value(states[partly], players[partly]))
        best[partly[~(top[partly] >= value - MISTAKE)]] = -1
        top[partly] = np.fmax(top[partly], value)
    best[~covered] = -1
    return covered, top - values[np.arange(n), actions], best


# --- the command ---


@dataclass
class Config:
    """Measure what agents lose against best play. Interrupted (Ctrl-C), it reports on the games finished by then."""

    game: str
    """Id of the game."""
    agents: Annotated[tuple[str, ...], tyro.conf.arg(aliases=("--agent",))]
    """One or more agents, such as random, greedy, mcts:simulations=200 or ppo:runs/x."""
    opponent: str | None = None
    """The agent in the other seats; by default each agent holds all seats, and all its decisions count."""
    games: int = 1000
    """Games of each agent; with an opponent rounded up, so that each seed is played from every side."""
    seed: int = 0
    """Fixes all games; they are the same for each agent."""
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An option of the game, as name=value; may be repeated."""
    out: Path | None = Path("runs/regret")
    """Folder for report.md and results.json."""
    chunk: int | None = None
    """Games played side by side; by default a few seconds' worth. Changes no result."""


@dataclass
class Report:
    """What the command found.

    Attributes:
        config: of the measurement.
        game: that was played.
        results: of the agents with at least one seed, in the order given.
        planned: games of each agent that were to be played.
        complete: False if it was interrupted.
        given: agents that no command line names, since they were objects in Python.
        folder: where the files are, or None.
    """

    config: Config
    game: Game
    results: list[Result]
    planned: int
    complete: bool
    given: tuple[str, ...] = ()
    folder: Path | None = None

    @property
    def command(self) -> str:
        """The command line that makes this report."""
        config = self.config
        words = ["python", "-m", "ttt_envs.evaluation.regret", "--game", config.game, "--agents", *config.agents]
        if config.opponent is not None:
            words += ["--opponent", config.opponent]
        words += ["--games", str(config.games), "--seed", str(config.seed)]
        for option in config.option:
            words += ["--option", option]
        if config.out is not None:
            words += ["--out", str(config.out)]
        return shlex.join(words)

    def tables(self) -> list[Table]:
        """Regret, what it rests on, and the worst mistakes if there were any."""
        rows = [
            [
                r.agent,
                ("≥ " if 0 < r.measured < 1 else "") + _interval(r.per_game, r.per_game_half_width),
                _interval(r.per_decision, r.per_decision_half_width),
                _percent(r.mistakes),
                _percent(r.measured),
            ]
            for r in self.results
        ]
        note = (
            "Reward lost against best play, in brackets the half width of the 95 % interval; a game: by one side in "
            "one game. Mistakes: share of the measured decisions that lost anything."
        )
        regret = Table("Regret", ["agent", "a game", "a decision", "mistakes", "measured"], rows, note)
        rows = [
            [
                r.agent,
                str(r.games) if r.games == self.planned else f"{r.games} of {self.planned}",
                str(r.decisions),
                _percent(r.covered),
                _percent(r.measured),
            ]
            for r in self.results
        ]
        note = (
            "Covered: share of the decisions in positions that the oracle answers. Measured: share whose loss it "
            "knows; only these count."
        )
        decisions = Table("Decisions", ["agent", "games", "decisions", "covered", "measured"], rows, note)
        rows = [
            [r.agent, f"{r.worst.regret:.4f}", f"player_{r.worst.player}", r.worst.played, r.worst.best or "not known"]
            for r in self.results
            if r.worst is not None
        ]
        header = ["agent", "lost", "by", "played", "best"]
        worst = Table("Worst decisions", header, rows, "The position of each is below.")
        return [regret, decisions, worst] if rows else [regret, decisions]

    def remarks(self) -> list[str]:
        """Sentences about what the numbers do not say."""
        found = []
        missing = self.config.agents[len(self.results) :]
        if missing:
            found.append(f"Not measured, since it was interrupted: {', '.join(missing)}.")
        for r in self.results:
            if not r.measured:
                found.append(f"{r.agent}: the oracle knows of no decision what it lost, so there is no figure.")
            elif r.measured < 1:
                found.append(
                    f"{r.agent}: only {_percent(r.measured)} of its decisions could be measured. The others are left "
                    "out; with them the regret a game would be higher, or the same."
                )
            if 0 < r.measured < r.covered:
                found.append(
                    f"{r.agent}: in {_percent(r.covered - r.measured)} of its decisions the oracle knows the position, "
                    "but not what the action played there is worth. If these are mistakes, all figures are too low."
                )
            if r.measured == 1 and r.worst is None:
                found.append(
                    f"{r.agent}: no mistake was seen in {r.seeds} seeds; with 95 % confidence fewer than "
                    f"{_percent(min(3 / r.seeds, 1.0))} of them hold one."
                )
        return found

    def positions(self) -> list[tuple[str, str]]:
        """Headings and texts of the positions with the worst decisions."""
        return [(f"{r.agent}, the worst decision", r.worst.position) for r in self.results if r.worst is not None]

    def markdown(self) -> str:
        """The report."""
        lines = [f"# Regret: {self.game.title}", ""]
        if not self.complete:
            lines += ["**Partial: it was interrupted. Only the games finished by then count.**", ""]
        options = ", ".join(f"`{name}={value}`" for name, value in self.game.options.items())
        opponent = self.config.opponent
        others = "held by the agent too" if opponent is None else f"held by {opponent}, each seed from every side"
        lines += [
            f"Options: {options or 'none'}.",
            f"{self.planned} games of each agent; the other seats are {others}. Seed {self.config.seed}.",
            "",
            "```",
            self.command,
            "```",
            "",
        ]
        if self.given:
            lines += [f"Called from Python, which made {', '.join(self.given)}; the command cannot.", ""]
        regret, *more = self.tables()
        remarks = [f"- {remark}" for remark in self.remarks()]
        lines += [regret.markdown(), *remarks, *([""] if remarks else []), *(each.markdown() for each in more)]
        for heading, text in self.positions():
            lines += [f"### {heading}", "", "```", text.rstrip("\n"), "```", ""]
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """The results for programs, as in results.json."""
        return {
            "game": self.game.id,
            "options": dict(self.game.options),
            "command": self.command,
            "version": ttt_envs.__version__,
            "complete": self.complete,
            "seed": self.config.seed,
            "planned": self.planned,
            "results": [asdict(r) for r in self.results],
        }

    def save(self, folder: Path) -> None:
        """Write report.md and results.json into `folder`, each whole or not at all."""
        write_whole(folder / "report.md", self.markdown())
        write_json(folder / "results.json", self.json())
        self.folder = folder


def _interval(value: float, half_width: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{value:.4f}" + ("" if np.isnan(half_width) else f" (±{half_width:.4f})")


def _percent(share: float) -> str:
    """No share is rounded to nothing or to all."""
    if np.isnan(share):
        return "–"
    text = f"{100 * share:.1f} %"
    if text == "0.0 %" and share > 0:
        return "< 0.1 %"
    return "> 99.9 %" if text == "100.0 %" and share < 1 else text


def run(config: Config, players: Mapping[str, Agent] | None = None, *, quiet: bool = False) -> Report:
    """Measure all agents, and write the files unless `config.out` is None.

    Args:
        config: what to measure.
        players: agents that exist already, by the name they have in `config`; others are loaded.
        quiet: no progress bar.

    Raises:
        ValueError, TypeError: wrong settings, a game without oracle, an agent that is unknown, listed twice or cannot
            play this game; before any game is played. An agent's illegal action, later.
        FileNotFoundError: a file that an agent needs is not there.
        KeyboardInterrupt: interrupted before anything was finished. Later, an interrupt gives a partial report.
    """
    game = ttt_envs.load(config.game, **parse_options(config.game, config.option))
    names = tuple(config.agents)
    if not names:
        raise ValueError("name at least one agent to be measured")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"agent {name!r} is listed twice; both would measure the same")
    for label, value in (("games", config.games), ("chunk", config.chunk)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ValueError(f"{label} must be a whole number of at least 1, not {value!r}")
    game_seeds(config.seed, 1)
    oracle_of(game)
    per_seed = len(seatings(game, config.opponent is not None))
    lineup = [ready(name, game, players or {}) for name in names]
    opponent = None if config.opponent is None else ready(config.opponent, game, players or {})
    # A person plays one game after the other, and needs the terminal.
    live = any(getattr(agent, "interactive", False) for agent in (*lineup, opponent))
    chunk = 1 if live and config.chunk is None else config.chunk

    planned = -(-config.games // per_seed) * per_seed
    results: list[Result] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("games"),
        TimeRemainingColumn(),
    )
    complete = False
    try:
        with Bar(*columns, console=Console(stderr=True), disable=quiet or live, transient=True) as bar:
            task = bar.add_task("", total=len(lineup) * planned)
            for done, (name, agent) in enumerate(zip(names, lineup, strict=True)):
                bar.update(task, description=name)

                def tell(finished: int, _: int, before: int = done * planned) -> None:
                    bar.update(task, completed=before + finished)

                parts: list[Sums] = []
                try:
                    for part in blocks(
                        game,
                        agent,
                        games=config.games,
                        seed=config.seed,
                        opponent=opponent,
                        chunk=chunk,
                        progress=tell,
                    ):
                        parts.append(part)  # one by one: an interrupt finds what is finished
                finally:
                    if parts:
                        results.append(_named(summary(game, agent, opponent, parts), name, config.opponent))
        complete = True
    except (KeyboardInterrupt, SystemExit):
        if not results:
            raise
    given = tuple(name for name in (*names, config.opponent) if name is not None and name in (players or {}))
    report = Report(config, game, results, planned, complete, given)
    if config.out is not None:
        report.save(config.out)
    return report


def _named(result: Result, agent: str, opponent: str | None) -> Result:
    """Under the names of the command line, which an object given in Python need not bear."""
    return Result(**{**result.__dict__, "agent": agent, "opponent": opponent})


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    config = tyro.cli(Config, args=arguments, prog="python -m ttt_envs.evaluation.regret", description=Config.__doc__)
    console, errors = Console(), Console(stderr=True)
    try:
        report = run(config)
    except (ValueError, TypeError, NotImplementedError, OSError) as error:
        errors.print(f"error: {error}", style="red", markup=False, highlight=False)
        return 2
    except KeyboardInterrupt:
        errors.print("interrupted before any game was finished: nothing is written")
        return 130
    for table in report.tables():
        console.print()
        console.print(table.rich())
    for heading, text in report.positions():
        console.print(f"\n{heading}:\n{text}", markup=False, highlight=False)
    for remark in report.remarks():
        console.print(remark, style="yellow", markup=False, highlight=False)
    if not report.complete:
        console.print("Partial: interrupted; only the games finished by then count.", style="yellow")
    if report.folder is not None:
        console.print(f"report.md and results.json are in {report.folder}", highlight=False)
    return 0 if report.complete else 130


if __name__ == "__main__":
    sys.exit(main())
