"""The report of a tournament: ratings, crosstables, pairings, cycles, failures, and the recorded games."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from shlex import join
from textwrap import shorten
from typing import Any

import numpy as np

from ttt_envs.agents import stranger
from ttt_envs.core.options import choice
from ttt_envs.evaluation.arena.play import Failure, added
from ttt_envs.evaluation.arena.seating import Result, rounding
from ttt_envs.evaluation.records.record import RECORDS
from ttt_envs.evaluation.reports.charts import Whisker, Whiskers
from ttt_envs.evaluation.reports.intransitivity import Circles, circles
from ttt_envs.evaluation.reports.page import PagedReport
from ttt_envs.evaluation.reports.ratings import Ratings
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.evaluation.reports.seat_advantage import Seats, seats
from ttt_envs.registry import GAMES

# The most agents in a crosstable.
_CROSSTABLE = 40

# The most failures whose positions the report shows; results.json has all of them.
_SHOWN = 3


@dataclass(kw_only=True)
class TournamentReport(PagedReport):
    """The report of a tournament; `ratings.score[i, j]` is the score of agent i against j.

    Attributes:
        agents: the agents' names, in the order given.
        results: one for each pairing with at least one seed.
        ratings: Elo and scores with intervals; see `ttt_envs.evaluation.reports.ratings`.
    """

    agents: tuple[str, ...]
    results: list[Result]
    ratings: Ratings

    verb, title = "tournament", "Tournament"
    files = ("report.md", "report.html", "results.json", RECORDS)

    @property
    def first(self) -> int:
        """Ratings and crosstable."""
        return 1 + (len(self.agents) <= _CROSSTABLE)

    @cached_property
    def order(self) -> list[int]:
        """Agents from the strongest to the weakest; those without games last."""
        return [int(i) for i in np.argsort(-np.nan_to_num(self.ratings.elo, nan=-np.inf), kind="stable")]

    @cached_property
    def mean_reward(self) -> np.ndarray:
        """float64 (agents, agents): mean reward per seat of the row agent against the column agent; nan if unplayed."""
        table = np.full((len(self.agents), len(self.agents)), np.nan)
        for each in self.results:
            a, b = each.first, each.second
            table[a, b], table[b, a] = each.mean_reward(a), each.mean_reward(b)
        return table

    @cached_property
    def side_scores(self) -> np.ndarray:
        """float64 (sides, agents, agents): score of the row agent where it alone holds that side."""
        sides = len(self.game.teams)
        won = np.zeros((2, sides, len(self.agents), len(self.agents)))
        for each in self.results:
            a, b = each.first, each.second
            for k in range(len(each.held)):
                found = np.array([part[k :: len(each.held)].sum() for part in each.compared])
                if k < sides:  # the first agent is alone on that side
                    won[:, k, a, b] += found
                if k >= sides or sides == 2:
                    won[:, (k + 1) % 2 if sides == 2 else k - sides, b, a] += found[::-1]
        with np.errstate(invalid="ignore"):
            return np.asarray(won[0] / won.sum(axis=0))

    def comparison(self, first: str, second: str) -> str:
        """Return the score of one agent against another with its 95 % interval, as a sentence.

        Raises ValueError for an unknown name.
        """
        for name in (first, second):
            choice("agent", name, self.agents)
        i, j, r = self.agents.index(first), self.agents.index(second), self.ratings
        games = sum(len(p) for p in self.results if {p.first, p.second} == {i, j})
        if not games:
            return f"{first} has not played against {second}."
        low, high = r.score_low[i, j], r.score_high[i, j]
        verdict = "is better" if low > 0.5 else "is worse" if high < 0.5 else "cannot be told from it"
        score = f"{_share(r.score[i, j])} ({_share(low)} to {_share(high)})"
        return f"{first} scores {score} against {second} in {games} games: it {verdict}."

    @cached_property
    def circles(self) -> Circles:
        """A summary of how transitive the crosstable is: cycles and Nash averaging."""
        wins = np.zeros((len(self.agents), len(self.agents)))
        for p in self.results:
            wins[p.first, p.second], wins[p.second, p.first] = (each.sum() for each in p.compared)
        return circles(wins, self.ratings)

    @cached_property
    def seats(self) -> Seats:
        """The scores of the seats, averaged over the agents; draws; and lengths of games."""
        rewards = np.concatenate([each.rewards for each in self.results])
        return seats(self.game, rewards, np.concatenate([each.lengths for each in self.results]))

    @property
    def planned(self) -> int:
        """The planned number of games per pairing."""
        size = len(self.results[0].held)
        return -(-int(self.settings["games"]) // size) * size

    @property
    def failures(self) -> list[Failure]:
        """Errors and illegal actions, pairing after pairing."""
        return [failure for each in self.results for failure in each.failures]

    @cached_property
    def time(self) -> tuple[np.ndarray, np.ndarray]:
        """Seconds spent on decisions, float64 (agents,), and decisions, int64 (agents,)."""
        seconds, decisions = np.zeros(len(self.agents)), np.zeros(len(self.agents), np.int64)
        for p in self.results:
            seconds[[p.first, p.second]] += p.seconds
            decisions[[p.first, p.second]] += p.decisions
        return seconds, decisions

    @cached_property
    def counts(self) -> list[dict[str, float]]:
        """Each agent's total use of resources, such as tokens; see `Agent.counts`."""
        sides = [(agent, used) for p in self.results for agent, used in zip((p.first, p.second), p.counts, strict=True)]
        return [added(used for agent, used in sides if agent == k) for k in range(len(self.agents))]

    @cached_property
    def games_of(self) -> list[int]:
        """The number of games of each agent."""
        return [sum(len(p) for p in self.results if k in (p.first, p.second)) for k in range(len(self.agents))]

    def facts(self) -> list[str]:
        """Return a sentence on the planned number of games."""
        size = len(self.results[0].held)
        some = f"{len(self.results)} pairings, of a list. " if self.settings["pairs"] else ""
        return [
            f"{self.planned} games a pairing: {self.planned // size} seeds, each played in all {size} seatings. "
            f"{some}Seed {self.settings['seed']}."
        ]

    def tables(self) -> list[Table]:
        """Return the tables of ratings, scores, scores by side, pairings, failures (if any) and time.

        There are no crosstables for many agents.
        """
        r = self.ratings

        def score(i: int, j: int) -> str:
            if np.isnan(r.score[i, j]):
                return "–"
            return f"{_share(r.score[i, j])} ({_bound(r.score_low[i, j])}–{_bound(r.score_high[i, j])})"

        note = "Score of the row against the column, a draw being half a win; in brackets its 95 % interval."
        tables, few = [self._ratings()], len(self.agents) <= _CROSSTABLE
        tables += [self._crosstable("Crosstable", score, note)] if few else []
        for side, team in enumerate(self.game.teams) if few else ():
            name, scores = " and ".join(f"player_{p}" for p in team), self.side_scores[side]
            note = f"Score of the row as {name}, the column having all other seats."
            tables.append(self._crosstable(f"As {name}", lambda i, j, s=scores: _share(s[i, j]), note))  # type: ignore[misc]
        tables += [*self.circles.tables(self.agents, self.order), self.seats.table(), self._pairings()]
        tables += [self._failures()] if self.failures else []
        return [*tables, *([self._used()] if any(self.counts) else []), self._time()]

    def _ratings(self) -> Table:
        r = self.ratings
        rows = []
        for place, i in enumerate(self.order, 1):
            played = self.games_of[i]
            elo = f"{r.elo[i]:+.0f}" if played else "–"
            between = "–" if np.isnan(r.elo_low[i]) else f"{r.elo_low[i]:+.0f} to {r.elo_high[i]:+.0f}"
            rows.append([f"{place}  {self.agents[i]}", elo, between, _share(self.mean_score(i)), str(played)])
        note = "Elo by Bradley-Terry: a difference of 400 means ten wins for each loss. Score: mean over the opponents."
        return Table("Ratings", ["agent", "Elo", "95 % interval", "score", "games"], rows, note)

    def _crosstable(self, title: str, cell: Callable[[int, int], str], note: str) -> Table:
        rows = [
            [f"{place}  {self.agents[i]}", *(cell(i, j) for j in self.order)] for place, i in enumerate(self.order, 1)
        ]
        return Table(title, ["agent", *(str(k + 1) for k in range(len(rows)))], rows, note, heat=True)

    def _pairings(self) -> Table:
        rows = []
        for p in self.results:
            wins, drawn, losses = np.sum(p.by_seating(), axis=0)
            first = seats(self.game, p.rewards, p.lengths)
            rows.append(
                [
                    f"{self.agents[p.first]} – {self.agents[p.second]}",
                    str(len(p)) if len(p) == self.planned else f"{len(p)} of {self.planned}",
                    f"{wins}/{drawn}/{losses}",
                    f"{p.mean_reward(p.first):+.3f}",
                    f"{first.score[0]:.3f}",
                    f"{p.lengths.mean():.1f}",
                    str(p.distinct),
                ]
            )
        note = (
            "Games won, drawn and lost by the first, and its mean reward. First seat: score of player_0, whoever sits "
            "there. Plies: mean length. Distinct: games that "
            "went differently; where they are few, agents repeat themselves, and the intervals, which take seeds for "
            "independent, say little."
        )
        return Table("Pairings", ["pairing", "games", "W/D/L", "reward", "first seat", "plies", "distinct"], rows, note)

    def _failures(self) -> Table:
        rows = []
        for i in self.order:
            mine = [each for each in self.failures if each.agent == self.agents[i]]
            if mine:
                played = self.games_of[i]
                reasons = [shorten(each.reason, 70, placeholder=" …") for each in mine]
                usual = max(reasons, key=reasons.count)
                rows.append([self.agents[i], f"{len(mine)} of {played}", usual, str(reasons.count(usual))])
        note = (
            "Games that an agent lost by an error or an illegal action, the most frequent reason, and how often it was."
        )
        return Table("Failures", ["agent", "games lost", "reason", "times"], rows, note)

    def _used(self) -> Table:
        names = list(dict.fromkeys(name for i in self.order for name in self.counts[i]))
        rows = [
            [self.agents[i], *(f"{self.counts[i][name]:,.10g}" if name in self.counts[i] else "–" for name in names)]
            for i in self.order
            if self.counts[i]
        ]
        note = "Totals of all games. The cost is in the unit of the prices that the agent was given."
        return Table("Used", ["agent", *names], rows, note)

    def _time(self) -> Table:
        each = [(self.agents[i], self.time[0][i], self.time[1][i]) for i in self.order]
        rows = [[name, f"{1e6 * seconds / moves:.1f}" if moves else "–", str(moves)] for name, seconds, moves in each]
        note = (
            "Mean over many games side by side, compiling at the first move included. Only this table differs from run "
            "to run."
        )
        return Table("Time", ["agent", "µs a move", "moves"], rows, note)

    def texts(self) -> list[tuple[str, str]]:
        """Return the sections on the first failures."""
        texts = []
        for each in self.failures[:_SHOWN]:
            who = f"{each.agent} as player_{each.player}"
            heading = f"{who} failed at ply {each.ply} of game {each.game}, seed {each.seed}"
            stderr = f"\n\nThe end of what it wrote on its standard error:\n{each.stderr}" if each.stderr else ""
            texts.append((heading, f"{each.reason}\n\n{each.position}{stderr}"))
        return texts

    def remarks(self) -> list[str]:
        """Return remarks on additional games, cycles, failed agents, and the resumption of a partial tournament."""
        names = dict.fromkeys(each.agent for each in self.failures)
        remarks = rounding(self.settings["games"], len(self.results[0].held))
        remarks += self.circles.remarks(self.agents, self.ratings)
        remarks += [f"{name}: it lost games by errors or illegal actions; see Failures." for name in names]
        if not self.complete and self.folder is not None:
            words = ["ttt", "tournament", "--resume", "--out", str(self.folder)]
            if self.game.id not in GAMES:
                words.insert(2, str(self.settings.game or self.game.id))
            if any(map(stranger, self.settings["agents"])):  # resumption must name untrusted agents again
                words += ["--agents", *self.settings["agents"]]
            remarks.append(f"The other games are played by: {join(words)}")
        return remarks

    def data(self) -> dict[str, Any]:
        """Return ratings, crosstables, pairings, failures."""
        r = self.ratings
        return {
            "agents": list(self.agents),
            "elo": r.elo,
            "elo_interval": np.stack([r.elo_low, r.elo_high], axis=1),
            "score": r.score,
            "score_interval": np.stack([r.score_low, r.score_high], axis=2),
            "mean_reward": self.mean_reward,
            "side_score": self.side_scores,
            "pairings": [
                {
                    "agents": [self.agents[p.first], self.agents[p.second]],
                    "games": len(p),
                    "planned": self.planned,
                    "score": r.score[p.first, p.second],
                    "score_interval": [r.score_low[p.first, p.second], r.score_high[p.first, p.second]],
                    "mean_reward": p.mean_reward(p.first),
                    "distinct": p.distinct,
                    "mean_length": p.lengths.mean(),
                }
                for p in self.results
            ],
            **self.circles.data(self.agents),
            "seats": asdict(self.seats),
            "failures": [asdict(each) for each in self.failures],
            "counts": self.counts,
            "seconds_by_agent": self.time[0],
            "moves": self.time[1],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per agent, the strongest first."""
        r = self.ratings
        return [
            {
                "agent": self.agents[i],
                "elo": r.elo[i],
                "elo_low": r.elo_low[i],
                "elo_high": r.elo_high[i],
                "score": self.mean_score(i),
                "games": self.games_of[i],
                "failures": sum(each.agent == self.agents[i] for each in self.failures),
            }
            for i in self.order
        ]

    def mean_score(self, agent: int) -> float:
        """Return the mean of an agent's scores against the opponents that it has played; nan if there are none."""
        scores = self.ratings.score[agent]
        return float(np.nanmean(scores)) if np.isfinite(scores).any() else np.nan

    def charts(self) -> list[Whiskers]:
        """Return ratings with their intervals."""
        r = self.ratings
        rows = [
            Whisker(
                self.agents[i], r.elo_low[i], r.elo[i], r.elo_high[i],
                f"{r.elo[i]:+.0f} ({r.elo_low[i]:+.0f} to {r.elo_high[i]:+.0f})",
            )
            for i in self.order
            if not np.isnan(r.elo[i])
        ]  # fmt: skip
        return [Whiskers("Elo with 95 % intervals", rows, before="Ratings")]


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _bound(value: float) -> str:
    return "1" if value > 0.9995 else f"{value:.3f}".removeprefix("0")
