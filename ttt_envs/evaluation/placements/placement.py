"""The place of an agent on a game's ladder of fixed opponents.

    from ttt_envs import evaluation

    report = evaluation.ladder("some_game", "greedy:samples=3")
    print(report.rating, report.interval)

The same on the command line: `ttt ladder some_game --agent greedy:samples=3`.

The agent plays rung after rung, each time the one from whose games most is learned for their time, until its rating is
known as well as asked for. Each seed is played from every seat. Unit u against a rung has the same seed in every
placement with one `seed`, whatever was played before. The rungs do not play each other: `ladder` says
what is known about them, `estimate` how the rating is found. The times of rungs are the
ladder's, and the agent's is `pace`, so that the same call plays the same games.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from rich.console import Console

from ttt_envs.agents import Agent, check_named, labelled, load, several
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within
from ttt_envs.core.rng import settled
from ttt_envs.evaluation.arena.bout import Bout, Results
from ttt_envs.evaluation.arena.play import Failure, ask, join
from ttt_envs.evaluation.arena.seating import arrangements, held_seats, line_up, per_unit
from ttt_envs.evaluation.placements.estimate import Placement, spread_of
from ttt_envs.evaluation.placements.ladder import Ladder, find, read, versions
from ttt_envs.evaluation.reports.charts import Whisker, Whiskers
from ttt_envs.evaluation.reports.page import Chart, PagedReport
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Arguments, Table
from ttt_envs.evaluation.reports.seats import Seats, seats
from ttt_envs.registry import game_for
from ttt_envs.storage.files import new_folder
from ttt_envs.storage.rows import Rows

# Seconds a decision beside those of the agents.
_OVERHEAD = 2e-5

# Positions in which an agent is timed.
_TRIED = 2

# A rating so far beyond the last rung rests on few games that are not won or lost anyway.
_BEYOND = 200.0


@dataclass(kw_only=True)
class LadderReport(PagedReport):
    """The place of an agent on a ladder.

    Attributes:
        agent: its name.
        ladder: the ladder.
        placement: the rating, and the results against each rung.
        bouts: the games against each rung that was played, by its number.
        reached: whether the interval is as narrow as asked for.
    """

    agent: str
    ladder: Ladder
    placement: Placement
    bouts: dict[int, Results]
    reached: bool

    verb, title = "ladder", "Ladder"

    @property
    def rating(self) -> float:
        """The mean of what the rating may be, in Elo."""
        return self.placement.posterior.mean

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the rating."""
        return self.placement.posterior.low, self.placement.posterior.high

    @property
    def games(self) -> int:
        """Number of games played."""
        return sum(len(bout.games) for bout in self.bouts.values())

    @property
    def failures(self) -> list[Failure]:
        """Errors and illegal actions, rung after rung."""
        return [each for bout in self.bouts.values() for each in bout.games.failures]

    @cached_property
    def seats(self) -> Seats:
        """The scores of the seats, and draws and lengths."""
        parts, units = [bout.games for bout in self.bouts.values()], []
        for k, bout in enumerate(self.bouts.values()):
            units.append(k * MOST + np.arange(len(bout.games)) // len(bout.held))
        games = join(parts, self.game, 2)
        return seats(self.game, games.rewards, games.lengths, np.concatenate(units))

    @cached_property
    def time(self) -> tuple[float, int]:
        """Seconds that the agent spent on decisions, and their number."""
        games = [bout.games for bout in self.bouts.values()]
        return sum(float(each.seconds[0]) for each in games), sum(int(each.decisions[0]) for each in games)

    def facts(self) -> list[str]:
        """The ladder, and how the games were chosen."""
        made = self.ladder
        return [
            f"Ladder version {made.version} (`{made.digest}`), {len(made)} rungs. {self.games} games, each seed played "
            f"from every seat. Seed {self.settings['seed']}."
        ]

    def tables(self) -> list[Table]:
        """The rating, the games against each rung, the seats."""
        seconds, moves = self.time
        low, high = self.interval
        row = [self.agent, f"{self.rating:.0f}", f"{low:.0f} to {high:.0f}", str(self.games)]
        row += [f"{1e6 * seconds / max(moves, 1):.1f}", f"{self.seconds:.0f}"]
        note = (
            f"Elo by Bradley-Terry on ladder version {self.ladder.version}, {self.ladder.zero} at 0: a difference of "
            "400 means ten wins for each loss."
        )
        rating = Table("Rating", ["agent", "Elo", "95 % interval", "games", "µs a move", "seconds"], [row], note)
        rows = []
        for k in sorted(self.bouts, reverse=True):
            bout = self.bouts[k]
            won, drawn, lost = np.sum(bout.by_seating(), axis=0)
            share = bout.won.sum() / (bout.won.sum() + bout.lost.sum())
            rows.append(
                [
                    self.ladder.rungs[k],
                    f"{self.ladder.elo[k]:.0f}",
                    str(len(bout.games)),
                    f"{won}/{drawn}/{lost}",
                    f"{share:.3f}",
                    f"{self.placement.expected(k):.3f}",
                    f"{bout.games.lengths.mean():.1f}",
                    str(bout.distinct),
                ]
            )
        header = ["rung", "Elo", "games", "W/D/L", "score", "expected", "plies", "distinct"]
        note = "Expected: the score that the rating gives. Distinct: games that went differently."
        return [rating, Table("Games against the rungs", header, rows, note), self.seats.table()]

    def rows(self) -> list[dict[str, Any]]:
        """One row: the agent's rating."""
        seconds, moves = self.time
        low, high = self.interval
        found = {"agent": self.agent, "elo": self.rating, "elo_low": low, "elo_high": high, "games": self.games}
        return [{**found, "reached": self.reached, "seconds_a_move": seconds / max(moves, 1)}]

    def charts(self) -> Sequence[Chart]:
        """The agent among the rungs, from the strongest one down."""
        whiskers = [(self.rating, *self.interval, f"{self.agent} (rated here)")]
        for name, elo, half in zip(self.ladder.rungs, self.ladder.elo, self.ladder.half_widths, strict=True):
            whiskers.append((elo, elo - half, elo + half, name))
        rows = [
            Whisker(name, low, value, high, f"{value:.0f} ({low:.0f} to {high:.0f})")
            for value, low, high, name in sorted(whiskers, reverse=True)
        ]
        return [Whiskers("Place on the ladder, Elo with 95 % intervals", rows, before="Rating")]

    def remarks(self) -> list[str]:
        """The reasons to doubt the rating, one sentence each."""
        remarks, half = [], self.placement.posterior.half_width
        if not self.reached:
            wanted = self.settings["target"]
            remarks.append(
                f"The interval is ±{half:.0f}, not ±{wanted:g}: {self.games} games were played, see --games."
            )
        for end, sign, word in ((-1, 1, "stronger"), (0, -1, "weaker")):
            if sign * (self.rating - self.ladder.elo[end]) > _BEYOND:
                remarks.append(
                    f"The agent is far {word} than every rung: its rating rests on few games that were open."
                )
        if self.agent in self.ladder.rungs:
            k = self.ladder.rungs.index(self.agent)
            elo, width = self.ladder.elo[k], self.ladder.half_widths[k]
            remarks.append(f"The agent is a rung itself, with {elo:.0f} ± {width:.0f} Elo by the ladder's own games.")
        for name in self.ladder.changed:
            remarks.append(f"{name} has changed since the ladder was measured: its rungs may be of another strength.")
        chi_squared, freedom = self.placement.misfit()
        if freedom and _unlikely(chi_squared, freedom):
            remarks.append(
                f"The scores against single rungs do not fit one rating (chi-squared {chi_squared:.0f} with {freedom} "
                "degrees of freedom): the agent suits some opponents better than others."
            )
        distinct = sum(bout.distinct for bout in self.bouts.values())
        if 2 * distinct < self.games:
            remarks.append(f"Only {distinct} of {self.games} games went differently: the interval takes them for more.")
        for name in dict.fromkeys(each.agent for each in self.failures):
            number = sum(each.agent == name for each in self.failures)
            reason = next(each.reason for each in self.failures if each.agent == name)
            remarks.append(f"{name}: it lost {number} games by errors or illegal actions, such as: {reason}")
        return remarks

    def data(self) -> dict[str, Any]:
        """The rating, and the games against each rung."""
        chi_squared, freedom = self.placement.misfit()
        seconds, moves = self.time
        return {
            "ladder": {
                "version": self.ladder.version,
                "digest": self.ladder.digest,
                "rungs": list(self.ladder.rungs),
                "elo": self.ladder.elo,
            },
            "versions": versions(),
            "rating": self.rating,
            "interval": list(self.interval),
            "reached": self.reached,
            "games_played": self.games,
            "dispersion": spread_of(self.ladder, self.placement.records),
            "chi_squared": chi_squared,
            "degrees_of_freedom": freedom,
            "rungs": [
                {
                    "agent": self.ladder.rungs[k],
                    "elo": self.ladder.elo[k],
                    "games": len(bout.games),
                    "units": self.placement.records[k].units,
                    "seatings": bout.by_seating(),
                    "expected": self.placement.expected(k),
                    "mean_length": bout.games.lengths.mean(),
                    "distinct": bout.distinct,
                }
                for k, bout in sorted(self.bouts.items())
            ],
            "seats": self.seats.data(),
            "failures": [asdict(each) for each in self.failures],
            "agent_seconds": seconds,
            "moves": moves,
        }


@dataclass
class LadderReports(Rows):
    """The places of several agents on one ladder.

    Attributes:
        reports: one an agent, in the order given; after an interrupt those that were begun.
        complete: False if it was interrupted.
    """

    reports: list[LadderReport]
    complete: bool = True

    def rows(self) -> list[dict[str, Any]]:
        """One row an agent, from the strongest one on."""
        found = [row for report in self.reports for row in report.rows()]
        return sorted(found, key=lambda row: -row["elo"])

    def show(self, console: Console | None = None) -> None:
        """Print the places."""
        cells = [
            [
                each["agent"],
                f"{each['elo']:.0f}",
                f"{each['elo_low']:.0f} to {each['elo_high']:.0f}",
                str(each["games"]),
            ]
            for each in self.rows()
        ]
        note = "Each against the rungs alone. Of two agents, the difference is known less well than either of them."
        (console or Console()).print(Table("Places", ["agent", "Elo", "95 % interval", "games"], cells, note))


def _ladders(game: Game, agents: Sequence[Any], out: str | Path | None, settings: dict[str, Any]) -> LadderReports:
    """The agents' places, one after the other; each has a folder in `out`, numbered from 1 on."""
    line_up(game, agents).close()  # names what is wrong with one before another plays
    reports: list[LadderReport] = []
    with new_folder(out) as folder:
        for number, agent in enumerate(agents, 1):
            place = None if folder is None else folder / str(number)
            try:
                report = ladder(game, agent, out=place, **settings)
            except KeyboardInterrupt:
                if not reports:
                    raise
                return LadderReports(reports, complete=False)
            reports.append(report)
            if not report.complete:
                return LadderReports(reports, complete=False)
        return LadderReports(reports)


@overload
def ladder(game: str | Game, agent: list[Any] | tuple[Any, ...], **settings: Any) -> LadderReports: ...


@overload
def ladder(game: str | Game, agent: Any, **settings: Any) -> LadderReport: ...


def ladder(
    game: str | Game,
    agent: Any,
    *,
    table: str | Path | None = None,
    rungs: Sequence[str] = (),
    target: float = 25.0,
    games: int = 4000,
    minutes: float | None = None,
    pace: float | None = None,
    seed: int | None = 0,
    chunk: int | None = None,
    strict: bool = False,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> LadderReport | LadderReports:
    """Place an agent on a game's ladder, or several.

    Args:
        game: an id, or a Game.
        agent: what `agents.load` takes; or a list of it, or {name: agent, ...} with several, for a LadderReports.
        table: file of the ladder; by default the one that comes with the game.
        rungs: those of `table` that may do more than use the library's own data, such as programs, named again: they
            are run only then, see `agents.stranger`.
        target: half width of the 95 % interval, in Elo, at which it stops.
        games: stop after so many games even so; rounded up, so that each seed is played from every seat.
        minutes: stop after so many minutes even so; the games under way are finished.
        pace: seconds that the agent takes for a move, for the choice of opponents; by default the order of magnitude is
            measured, and the report has it.
        seed: fixes the games. None draws one of 128 bits, unknown to the agent until the report names it.
        chunk: games played side by side; by default a few seconds' worth. Changes no result.
        strict: an error or an illegal action of the agent ends it all, instead of losing the game.
        out: folder for report.md, report.html and results.json, of several agents a folder for each; nothing is written
            without one.
        quiet: no progress bar.
        options: of the game, if `game` is an id.

    Raises:
        ValueError, TypeError: wrong settings, an agent that is unknown or cannot play this game, a game without a
            ladder, a ladder of another game, or one with a rung that `rungs` must name.
        FileNotFoundError: no such table, or a file that the agent needs is not there.
        FileExistsError, InUse, NotSaved: as from `tournament`.
        KeyboardInterrupt: interrupted before anything was finished. Later, an interrupt gives a partial report.
    """
    if isinstance(agent, (list, tuple)) or (isinstance(agent, Mapping) and len(agent) > 1):
        given = {name: value for name, value in locals().items() if name not in ("game", "agent", "options", "out")}
        return _ladders(game_for(ladder, game, options), several(agent), out, {**given, "seed": settled(seed)})
    settings = Arguments(ladder, locals())
    seed = settings["seed"] = settled(seed)
    within(1, MOST, games=games, chunk=1 if chunk is None else chunk)
    within(1.0, 1e4, target=target)
    within(0.0, 1e6, minutes=0 if minutes is None else minutes, pace=0 if pace is None else pace)
    if table is None and rungs:
        raise ValueError("rungs are named again for a table of your own: there is no table")
    game = game_for(ladder, game, options)
    held = held_seats(arrangements(game))
    lineup = line_up(game, [agent])
    scale = find(game) if table is None else read(table)
    try:
        fits = scale.is_of(game)
    except ValueError as error:
        raise ValueError(f"the ladder {table} is damaged: {error}") from None
    if not fits:
        raise ValueError(f"the ladder {table} is one of {scale.game} with options {scale.options}, not of {game}")
    if table is not None:
        check_named(scale.rungs, f"the ladder {table}", "name it with --rungs", (*several(rungs), lineup.texts[0]))
    settings["agent"] = lineup.texts[0]
    pace = settings["pace"] = _pace(game, lineup.agents[0]) if pace is None else pace
    if table is not None:
        settings["table"] = str(table)
    placement, bouts = Placement(scale, per_unit(held)), dict[int, Results]()
    opponents: dict[int, Agent] = {}
    # An agent that is a rung learns nothing from itself.
    allowed = np.array([name != labelled(lineup.texts[0])[1] for name in scale.rungs])
    chunk = 1 if lineup.live and chunk is None else chunk
    with new_folder(out) as folder:
        with Work(bouts, "games", None, hidden=quiet or lineup.live) as work:
            started = time.perf_counter()
            while placement.units == 0 or (
                placement.posterior.half_width > target
                and placement.units * len(held) < games
                and (minutes is None or time.perf_counter() - started < 60 * minutes)
            ):
                k = placement.choice(scale.seconds + pace + _OVERHEAD, allowed)
                if k not in opponents:
                    opponents[k] = load(scale.rungs[k])
                    opponents[k].check(game)
                bout = Bout(game, (lineup.agents[0], opponents[k]), held, seed, f"ladder {scale.rungs[k]}")
                results = bouts.get(k) or Results.none(game, held)
                first, most = results.count, -(-games // len(held)) - placement.units
                units = range(first, first + min(placement.batch(), most))
                try:
                    work.update(0, _progress(placement, scale.rungs[k]))
                    results.extend(game, bout.play(units, chunk=chunk, strict=strict))
                finally:
                    if results.count > first:
                        bouts[k] = results
                        placement.add(k, *results.by_unit(first))
        return LadderReport(
            game=game,
            settings=settings,
            made=lineup.made,
            complete=work.complete,
            seconds=work.seconds,
            agent=lineup.names[0],
            ladder=scale,
            placement=placement,
            bouts=bouts,
            reached=placement.posterior.half_width <= target,
        ).kept(folder)


def _progress(placement: Placement, rung: str) -> str:
    posterior = placement.posterior
    return f"{posterior.mean:.0f} ± {posterior.half_width:.0f} Elo, now against {rung}"


def _pace(game: Game, agent: Agent) -> float:
    """Seconds that an agent takes for a move at the start of a game, as a power of ten."""
    if agent.interactive:
        return 1.0
    batch = Batch(game, _TRIED, seed=0)
    player = next(player for player in range(game.num_players) if batch.acting(player).any())
    rows = np.flatnonzero(batch.acting(player))
    seconds = 0.0
    for _ in range(2):  # the first time it may compile
        view, started = batch.view(np.full(_TRIED, player), rows), time.perf_counter()
        ask(agent, view, strict=False)
        seconds = (time.perf_counter() - started) / len(rows)
    return float(10.0 ** np.round(np.log10(max(seconds, 1e-6))))


def _unlikely(chi_squared: float, freedom: int) -> bool:
    """Progress whether chance exceeds it once in a hundred times at most (Wilson and Hilferty, PNAS 17, 1931)."""
    spread = 2 / (9 * freedom)
    return ((chi_squared / freedom) ** (1 / 3) - (1 - spread)) / spread**0.5 > 2.326
