"""Regret: the loss of an agent's decisions against optimal play, in games that have an oracle.

Example::

    from ttt_envs import evaluation

    report = evaluation.regret("some_game", ["random", "greedy"], games=200)
    print(report.measurements[0].per_game, report.measurements[0].per_game_interval)

The same on the command line: `ttt regret some_game --agents random greedy --games 200`.

The regret of a decision is the oracle's value of the best action minus its value of the chosen action, for the deciding
player, in reward units; it is never negative. It is measured in the positions that the agent reaches in whole games: by
default in self-play, or against `opponent`, with each seed from every side. Decisions with one legal action count, too.

- **Per decision**: the mean over the agent's decisions, which is a ratio of two random sums.
- **Per game**: the sum over the decisions of one side (a player or a team) in one game, averaged over games and sides.

Relation to the lost value: between two sides with opposite rewards, optimal play keeps a side's expected reward
constant, and a decision with regret r lowers it by r. So the expected reward of a side is the value of the start, minus
its own regret per game, plus its opponent's. Against the oracle, which has no regret, the regret per game is exactly
the agent's loss; against other opponents, the agent may lose less, because they also make mistakes. With more sides or
simultaneous choices, regret is the loss if all others continue as the oracle, and no such equation holds.

The oracle may not know everything. A decision is `covered` if the oracle knows the position, and `measured` if it also
knows the value of the chosen action. The means include only measured decisions, and the report states their share. If
some decisions are not measured, the regret per game is a lower bound.

95 % intervals treat seeds as independent, with all games and decisions of a seed as one cluster; few seeds and rare
mistakes widen them, see `reports.intervals.mean_interval`. The intervals do not include the error of an inexact oracle.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents import Agent, as_agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within
from ttt_envs.evaluation.arena.play import Games, GamesProgress, iter_seeds
from ttt_envs.evaluation.arena.seating import line_up, seatings
from ttt_envs.evaluation.judging import ROUNDING, judge, oracle_of
from ttt_envs.evaluation.reports.intervals import mean_interval, percent, shown
from ttt_envs.evaluation.reports.page import PagedReport
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Arguments, Table
from ttt_envs.registry import game_for
from ttt_envs.storage.files import new_folder

#: If the share of measured decisions is smaller, the report's headline is this share.
MEASURED_ENOUGH = 0.1

# The largest loss of a side in a game: rewards are from -1 to 1.
_RANGE = 2.0

_COUNTS = ("decisions", "covered", "measured", "suboptimal")
_SUMS = np.dtype([("regret", np.float64), *((name, np.int64) for name in _COUNTS)])


@dataclass(frozen=True)
class WorstDecision:
    """The decision with the largest regret.

    Attributes:
        regret: the decision's regret in reward units.
        player: the player who decided.
        played, best: names of actions; `best` is a best action, "" if the oracle does not know any.
        position: the whole position as text, for `Game.parse_state`.
    """

    regret: float
    player: int
    played: str
    best: str
    position: str


@dataclass(frozen=True)
class MeasuredRegret:
    """One agent's regret; see the module for the terms.

    Attributes:
        agent: its name.
        opponent: the name of the agent in the other seats; None for self-play.
        per_decision: mean regret of a measured decision; nan if none was measured.
        per_decision_interval: 95 % interval, both ends; nan with fewer than two seeds.
        per_game: mean regret of a side in a game: per_game * sides = per_decision * number of measured decisions.
        per_game_interval: 95 % interval, both ends; nan with fewer than two seeds.
        games: number of finished games.
        sides: number of pairs of a game and a side that the agent held.
        seeds: number of seeds. The intervals treat all games of a seed as one cluster, independent of other seeds.
        decisions: number of the agent's decisions, measured or not.
        covered: share of the decisions in positions that the oracle knows.
        measured: share of the decisions with known regret.
        suboptimal: share of the measured decisions with any regret; nan if none was measured.
        worst: the decision with the largest regret; None if none has regret.
    """

    agent: str
    opponent: str | None
    per_decision: float
    per_decision_interval: tuple[float, float]
    per_game: float
    per_game_interval: tuple[float, float]
    games: int
    sides: int
    seeds: int
    decisions: int
    covered: float
    measured: float
    suboptimal: float
    worst: WorstDecision | None

    @property
    def per_game_half_width(self) -> float:
        """Half the width of `per_game_interval`."""
        return (self.per_game_interval[1] - self.per_game_interval[0]) / 2

    @property
    def enough(self) -> bool:
        """Whether enough decisions were measured to judge the agent."""
        return self.measured >= MEASURED_ENOUGH


def measure(
    game: Game,
    agent: Agent,
    *,
    opponent: Agent | None = None,
    games: int = 1000,
    seed: int = 0,
    chunk: int | None = None,
    progress: GamesProgress | None = None,
) -> MeasuredRegret:
    """Let an agent play and measure the regret of its decisions.

    For arguments and errors see `regret`. `progress`: callback for the numbers of finished games and of all games.
    """
    tally = Tally(game, agent, games, seed, opponent)
    tally.play(chunk, progress)
    return tally.measurement()


class Tally:
    """Plays games and accumulates the regret of an agent's decisions, seed by seed. For arguments see `measure`.

    Attributes:
        planned: number of games to be played.
        played: number of games finished so far.
    """

    def __init__(self, game: Game, agent: Agent, games: int, seed: int, opponent: Agent | None = None) -> None:
        within(1, MOST, games=games)
        self.game, self.oracle = game, oracle_of(game)
        self.lineup = tuple(as_agent(each) for each in (agent, opponent) if each is not None)
        self.held = np.ones((1, game.num_players), np.bool_)
        if opponent is not None:
            self.held = seatings(game)[: len(game.teams)]
        self.seed, self.units = seed, range(-(-games // len(self.held)))
        self.planned, self.played = len(self.units) * len(self.held), 0
        self._sums = np.zeros(len(self.units), _SUMS)
        self._worst: WorstDecision | None = None

    def play(self, chunk: int | None = None, progress: GamesProgress | None = None) -> None:
        """Play all games. If this is interrupted, the measurement has the seeds of the chunks finished before."""
        how: dict[str, Any] = {"chunk": chunk, "record": True, "progress": progress}
        for part in iter_seeds(self.game, self.lineup, self.held, self.seed, self.units, **how):
            self._take(part)

    def _take(self, part: Games) -> None:
        # Judge the decisions game after game: an oracle with a cache is faster if related positions follow each other.
        records = [part.records[k] for k in sorted(part.records)]
        owner = np.repeat(np.arange(self.played, self.played + len(part)), [len(each.actions) for each in records])
        joint = np.concatenate([each.actions for each in records])
        row, players = np.nonzero((joint >= 0) & self.held[owner % len(self.held)])
        states = np.concatenate([each.states[:-1] for each in records])[row]
        actions, unit = joint[row, players], owner[row] // len(self.held)
        covered, regret, best, _ = judge(self.game, self.oracle, states, players, actions)
        measured, suboptimal = ~np.isnan(regret), regret > ROUNDING
        weights = [np.where(measured, regret, 0), np.ones(len(unit)), covered, measured, suboptimal]
        for name, each in zip(("regret", *_COUNTS), weights, strict=True):
            np.add.at(self._sums[name], unit, each.astype(_SUMS[name]))
        if suboptimal.any():
            k = int(np.nanargmax(regret))
            if self._worst is None or regret[k] > self._worst.regret:
                names = (*self.game.action_names, "")
                position = self.game.format_state(states[k], None)
                self._worst = WorstDecision(
                    float(regret[k]), int(players[k]), names[actions[k]], names[best[k]], position
                )
        self.played += len(part)

    def measurement(self) -> MeasuredRegret:
        """Return the figures of all seeds whose games are finished; at least one seed must be."""
        seeds = self.played // len(self.held)
        sums = self._sums[:seeds]
        total, decisions = int(sums["measured"].sum()), int(sums["decisions"].sum())
        # For each seed, the agent plays each side once: all sides in one game or, with an opponent, a side per game.
        sides = np.full(seeds, len(self.game.teams))
        most = _RANGE * len(self.game.teams)
        per_decision, per_game = (
            mean_interval(sums["regret"], counts, most) if total else (np.nan, (np.nan, np.nan))
            for counts in (sums["measured"], sides)
        )
        agent, *opponent = (each.name for each in self.lineup)
        return MeasuredRegret(
            agent=agent,
            opponent=opponent[0] if opponent else None,
            per_decision=per_decision[0],
            per_decision_interval=per_decision[1],
            per_game=per_game[0],
            per_game_interval=per_game[1],
            games=seeds * len(self.held),
            sides=int(sides.sum()),
            seeds=seeds,
            decisions=decisions,
            covered=_share(sums["covered"].sum(), decisions),
            measured=_share(total, decisions),
            suboptimal=_share(sums["suboptimal"].sum(), total),
            worst=self._worst,
        )


# --- the report ---


@dataclass(kw_only=True)
class RegretReport(PagedReport):
    """A report on agents' losses against optimal play.

    Attributes:
        measurements: one for each agent with at least one seed, in the order given.
        planned: planned number of games of each agent.
    """

    measurements: list[MeasuredRegret]
    planned: int

    verb, title = "regret", "Regret"

    def facts(self) -> list[str]:
        """Return sentences on the number of games and the opponent."""
        opponent = self.settings["opponent"]
        others = "held by the agent too" if opponent is None else f"held by {opponent}, each seed from every side"
        return [f"{self.planned} games of each agent; the other seats are {others}. Seed {self.settings['seed']}."]

    def tables(self) -> list[Table]:
        """Return the tables of regret, of the measured decisions, and of the worst decisions, if any."""
        losses, decisions, worst = [], [], []
        for m in self.measurements:
            per_game = ("≥ " if 0 < m.measured < 1 else "") + shown(m.per_game, m.per_game_interval)
            figures = [per_game, shown(m.per_decision, m.per_decision_interval), percent(m.suboptimal)]
            if m.measured > 0 and not m.enough:
                figures = [f"{percent(m.measured)} measured* (≥ {m.per_game:.4f})", "–*", f"{figures[2]}*"]
            losses.append([m.agent, *figures, percent(m.measured)])
            games = str(m.games) if m.games == self.planned else f"{m.games} of {self.planned}"
            decisions.append([m.agent, games, str(m.decisions), percent(m.covered), percent(m.measured)])
            if m.worst is not None:
                best = m.worst.best or "not known"
                worst.append([m.agent, f"{m.worst.regret:.4f}", f"player_{m.worst.player}", m.worst.played, best])
        note = (
            "Reward lost to optimal play, in brackets the 95 % interval; a game: by one side in one game. Not best: "
            "share of the measured decisions that lost anything. Upper ends allow for a loss somewhat larger than any "
            "seen, or the largest possible one if none was; if far larger ones are rare, these ends are too low."
        )
        if not all(m.enough for m in self.measurements):
            note += f" * So few decisions were measured, less than {percent(MEASURED_ENOUGH)}, that this is no regret."
        tables = [Table("Regret", ["agent", "a game", "a decision", "not best", "measured"], losses, note)]
        note = (
            "Covered: share of the decisions in positions that the oracle answers. Measured: share whose loss it "
            "knows; only these count."
        )
        tables.append(Table("Decisions", ["agent", "games", "decisions", "covered", "measured"], decisions, note))
        note = "The position of each is below."
        header = ["agent", "lost", "by", "played", "best"]
        return [*tables, Table("Worst decisions", header, worst, note)] if worst else tables

    def remarks(self) -> list[str]:
        """Return notes on unmeasured decisions and on the meaning of a result without regret."""
        remarks = self.unmeasured(len(self.measurements))
        for m in self.measurements:
            if not m.measured:
                remarks.append(f"{m.agent}: the oracle knows of no decision what it lost, so there is no figure.")
            elif m.measured < 1:
                remarks.append(
                    f"{m.agent}: only {percent(m.measured)} of its decisions could be measured. The others are left "
                    "out; with them the regret per game would be higher, or the same."
                )
            if 0 < m.measured < m.covered:
                remarks.append(
                    f"{m.agent}: in {percent(m.covered - m.measured)} of its decisions the oracle knows the position, "
                    "but not what the action played there is worth. If these lose anything, all figures are too low."
                )
            if m.measured == 1 and m.worst is None:
                remarks.append(
                    f"{m.agent}: no loss was seen in {m.seeds} seeds; with 95 % confidence fewer than "
                    f"{percent(1 - 0.05 ** (1 / m.seeds))} of them have one."
                )
        return remarks

    def texts(self) -> list[tuple[str, str]]:
        """Return the positions with the worst decisions."""
        return [(f"{m.agent}, the worst decision", m.worst.position) for m in self.measurements if m.worst is not None]

    def data(self) -> dict[str, Any]:
        """Return the measurements."""
        return {"planned": self.planned, "measurements": [asdict(m) for m in self.measurements]}


def regret(
    game: str | Game,
    agents: Any,
    *,
    opponent: Any = None,
    games: int = 1000,
    seed: int = 0,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> RegretReport:
    """Measure agents' losses against optimal play.

    Args:
        game: an id or a Game, with an oracle and without hidden information.
        agents: one or more arguments of `agents.load`: texts, objects, functions.
        opponent: the agent in the other seats; None lets each agent hold all seats.
        games: games of each agent; with an opponent rounded up so that each seed is played from every side.
        seed: determines the seeds of all games, which are the same for each agent.
        out: folder for report.md, report.html and results.json; None writes nothing.
        quiet: no progress bar.
        options: options of the game, if `game` is an id.

    Raises:
        ValueError, TypeError: wrong settings, a game without an oracle, an agent that is unknown, has the name of
            another or cannot play this game; raised before any game. During the
            games, an agent's illegal action.
        FileExistsError, InUse, NotSaved: `out` holds files, is in use, or cannot be written; NotSaved has the report.
        FileNotFoundError: a file that an agent needs does not exist.
        KeyboardInterrupt: interrupted before anything was finished. A later interrupt returns a partial report.
    """
    settings = Arguments(regret, locals())
    within(1, MOST, games=games)
    game = game_for(regret, game, options)
    oracle_of(game)
    lineup = line_up(game, agents)
    others = line_up(game, [] if opponent is None else [opponent], least=0)
    other = others.agents[0] if others.agents else None
    settings |= {"agents": list(lineup.texts), "opponent": next(iter(others.texts), None)}
    live = lineup.live or others.live
    tallies = [Tally(game, agent, games, seed, other) for agent in lineup.agents]
    planned, measurements = tallies[0].planned, list[MeasuredRegret]()
    with new_folder(out) as folder:
        with Work(measurements, "games", len(tallies) * planned, hidden=quiet or live) as work:
            for done, (name, tally) in enumerate(zip(lineup.names, tallies, strict=True)):
                try:
                    tally.play(1 if live else None, work.part(done * planned, name))
                finally:
                    if tally.played:
                        measurements.append(tally.measurement())
        return RegretReport(
            game=game,
            settings=settings,
            made=(*lineup.made, *others.made),
            complete=work.complete,
            seconds=work.seconds,
            measurements=measurements,
            planned=planned,
        ).kept(folder)


def _share(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else np.nan


def regrets(game: Game, given: Sequence[Agent], layouts: int, games: int = 40, seed: int = 1) -> np.ndarray:
    """Return the regret per side and round on individually solved layouts, float64 (agents, layouts).

    The regret is the mean over the rounds and both seats.

    Args:
        game: a game of single rounds whose `solve_commands` include "layout", which solves one layout.
        given: the agents.
        layouts: number of layouts to deal and solve.
        games: rounds on each layout.
        seed: seed of the first layout and its dice; the next layouts use the next seeds.

    Raises ValueError for another game, an agent that cannot play it, or a number that is not positive.
    """
    layout: Any = game.solve_commands.get("layout")
    if layout is None:
        raise ValueError(f"the rounds of this game have no layouts to solve: {game!r}")
    within(1, 10**6, layouts=layouts, games=games)
    for agent in given:
        agent.check(game)
    players = [agent.act for agent in given]
    return np.stack([layout(seed=seed + k).regrets(game, players, games) for k in range(layouts)], axis=1)


def over_layouts(found: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Return the mean of an agent's regret on layouts, float (layouts,), and its 95 % interval, as `mean_interval`."""
    return mean_interval(found, np.ones(len(found)), _RANGE)
