"""A round robin: every two agents play each other, each seed from every seat.

    from ttt_envs import evaluation

    report = evaluation.tournament("some_game", ["random", "greedy", my_agent], games=200)
    print(report.ratings.elo, report.ratings.score)

The same on the command line: `ttt tournament some_game --agents random greedy my_agent.py:Mine --games 200`.

Seats: between two sides an agent plays each seed from both. Between more, it plays one side against the other agent on
all others, from each side in turn, and the other way round. Game k has the same seed in every pairing. A side is a team
of `game.teams`; an agent plays all of its team's seats.

An agent that raises an error or answers with an illegal action loses that game, and the report says why.

Several processes or a Ray cluster can play it, and a tournament in a folder can go on after any end: see docs/scale.md.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ttt_envs.core.files import write_whole
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within
from ttt_envs.core.progress import Work
from ttt_envs.core.report import NotSaved, Report, Settings, Table
from ttt_envs.core.rng import settled
from ttt_envs.evaluation.engines import engine_for
from ttt_envs.evaluation.parts import Store, as_settings, check_same, results_folder
from ttt_envs.evaluation.play import Failure, Games, game_seeds, join
from ttt_envs.evaluation.ratings import Ratings, rate
from ttt_envs.evaluation.seating import Arrangement, arrangements, comparisons, line_up
from ttt_envs.evaluation.units import Agenda, Contest, Part, uncovered
from ttt_envs.evaluation.workers import Recipe, Tally, Unfinished
from ttt_envs.registry import resolve

# Number of failures whose position the report shows; results.json has all of them.
_SHOWN = 3


@dataclass
class Pairing:
    """The games of two agents, complete units only.

    Attributes:
        first, second: the agents' numbers.
        units: int64 (n,), the number of each game's seed; a seed's games are a unit, which may be resampled.
        games: unit after unit, in each unit the arrangements in order.
        seats: int64 (n, players), the agent in each seat.
        won, lost: float64 (n,), wins and losses of the first agent; see `comparisons`.
        planned: number of games to be played.
    """

    first: int
    second: int
    units: np.ndarray
    games: Games
    seats: np.ndarray
    won: np.ndarray
    lost: np.ndarray
    planned: int

    def mean_reward(self, agent: int) -> float:
        """Mean reward of `agent` in a seat of this pairing."""
        return float(self.games.rewards[self.seats == agent].mean())

    @property
    def distinct(self) -> int:
        """Number of games that went differently from each other."""
        return len(np.unique(self.games.moves))


@dataclass(kw_only=True)
class TournamentReport(Report):
    """The report of a tournament; `ratings.score[i, j]` is the score of agent i against j.

    Attributes:
        agents: names, in the order given.
        arrangements: the seatings of a pairing.
        pairings: pairings with at least one unit of games.
        ratings: Elo and scores with intervals; see `ttt_envs.evaluation.ratings`.
    """

    agents: tuple[str, ...]
    arrangements: tuple[Arrangement, ...]
    pairings: list[Pairing]
    ratings: Ratings

    verb, title = "tournament", "Tournament"
    files = ("report.md", "results.json", "games.npz")

    @cached_property
    def order(self) -> list[int]:
        """Agents from the strongest to the weakest; those without games last."""
        return [int(i) for i in np.argsort(-np.nan_to_num(self.ratings.elo, nan=-np.inf), kind="stable")]

    @cached_property
    def mean_reward(self) -> np.ndarray:
        """float64 (agents, agents): mean reward of the row agent in a seat against the column agent; or nan."""
        table = np.full((len(self.agents), len(self.agents)), np.nan)
        for pairing in self.pairings:
            a, b = pairing.first, pairing.second
            table[a, b], table[b, a] = pairing.mean_reward(a), pairing.mean_reward(b)
        return table

    @cached_property
    def side_scores(self) -> np.ndarray:
        """float64 (sides, agents, agents): score of the row agent where it alone holds that side."""
        sides = len(self.game.teams)
        won = np.zeros((2, sides, len(self.agents), len(self.agents)))
        for pairing in self.pairings:
            a, b = pairing.first, pairing.second
            for k, arrangement in enumerate(self.arrangements):
                mine = slice(k, None, len(self.arrangements))
                result = np.array([pairing.won[mine].sum(), pairing.lost[mine].sum()])
                if arrangement.first_alone:
                    won[:, arrangement.side, a, b] += result
                if not arrangement.first_alone or sides == 2:
                    other = 1 - arrangement.side if arrangement.first_alone else arrangement.side
                    won[:, other, b, a] += result[::-1]
        with np.errstate(invalid="ignore"):
            return np.asarray(won[0] / won.sum(axis=0))

    @property
    def failures(self) -> list[Failure]:
        """Errors and illegal actions, pairing after pairing."""
        return [each for pairing in self.pairings for each in pairing.games.failures]

    @cached_property
    def time(self) -> tuple[np.ndarray, np.ndarray]:
        """Seconds spent on decisions, float64 (agents,), and decisions, int64 (agents,)."""
        games = [pairing.games for pairing in self.pairings]
        return np.sum([each.seconds for each in games], axis=0), np.sum([each.decisions for each in games], axis=0)

    def facts(self) -> list[str]:
        """The number of games to be played."""
        seatings = len(self.arrangements)
        seeds = -(-self.settings["games"] // seatings)
        return [
            f"{seeds * seatings} games a pairing: {seeds} seeds, each played in all {seatings} seatings. "
            f"Seed {self.settings['seed']}."
        ]

    def tables(self) -> list[Table]:
        """Ratings, crosstable, crosstables by side, pairings, failures if there were any, time."""
        r = self.ratings

        def score(i: int, j: int) -> str:
            if np.isnan(r.score[i, j]):
                return "–"
            return f"{_share(r.score[i, j])} ({_bound(r.score_low[i, j])}–{_bound(r.score_high[i, j])})"

        note = "Score of the row against the column, a draw being half a win; in brackets its 95 % interval."
        found = [self._ratings(), self._crosstable("Crosstable", score, note)]
        for side, team in enumerate(self.game.teams):
            name, scores = " and ".join(f"player_{p}" for p in team), self.side_scores[side]
            note = f"Score of the row as {name}, the column having all other seats."
            found.append(self._crosstable(f"As {name}", lambda i, j, s=scores: _share(s[i, j]), note))  # type: ignore[misc]
        return [*found, self._pairings(), *([self._failures()] if self.failures else []), self._time()]

    def _ratings(self) -> Table:
        r = self.ratings
        rows = []
        for place, i in enumerate(self.order, 1):
            played = sum(len(p.games) for p in self.pairings if i in (p.first, p.second))
            elo = f"{r.elo[i]:+.0f}" if played else "–"
            between = f"{r.elo_low[i]:+.0f} to {r.elo_high[i]:+.0f}" if played else "–"
            mean = _share(np.nanmean(r.score[i]) if played else np.nan)
            rows.append([f"{place}  {self.agents[i]}", elo, between, mean, str(played)])
        note = "Elo by Bradley-Terry: a difference of 400 means ten wins for each loss. Score: mean over the opponents."
        return Table("Ratings", ["agent", "Elo", "95 % interval", "score", "games"], rows, note)

    def _crosstable(self, title: str, cell: Callable[[int, int], str], note: str) -> Table:
        rows = [
            [f"{place}  {self.agents[i]}", *(cell(i, j) for j in self.order)] for place, i in enumerate(self.order, 1)
        ]
        return Table(title, ["agent", *(str(k + 1) for k in range(len(rows)))], rows, note)

    def _pairings(self) -> Table:
        rows = []
        for p in self.pairings:
            share = p.won / np.maximum(p.won + p.lost, 1e-12)
            wins, losses = int((share > 0.5).sum()), int((share < 0.5).sum())
            rows.append(
                [
                    f"{self.agents[p.first]} – {self.agents[p.second]}",
                    str(len(p.games)) if len(p.games) == p.planned else f"{len(p.games)} of {p.planned}",
                    f"{wins}/{len(p.games) - wins - losses}/{losses}",
                    f"{p.mean_reward(p.first):+.3f}",
                    f"{p.games.lengths.mean():.1f}",
                    str(p.distinct),
                ]
            )
        note = (
            "Games won, drawn and lost by the first, and its mean reward. Plies: mean length. Distinct: games that "
            "went differently; where they are few, agents repeat themselves, and the intervals, which take seeds for "
            "independent, say little."
        )
        return Table("Pairings", ["pairing", "games", "W/D/L", "reward", "plies", "distinct"], rows, note)

    def _failures(self) -> Table:
        rows = []
        for i in self.order:
            mine = [each for each in self.failures if each.agent == self.agents[i]]
            if mine:
                played = sum(len(p.games) for p in self.pairings if i in (p.first, p.second))
                reasons = [shorten(each.reason, 70, placeholder=" …") for each in mine]
                usual = max(reasons, key=reasons.count)
                rows.append([self.agents[i], f"{len(mine)} of {played}", usual, str(reasons.count(usual))])
        note = (
            "Games that an agent lost by an error or an illegal action, the most frequent reason, and how often it was."
        )
        return Table("Failures", ["agent", "games lost", "reason", "times"], rows, note)

    def _time(self) -> Table:
        each = [(self.agents[i], self.time[0][i], self.time[1][i]) for i in self.order]
        rows = [[name, f"{1e6 * seconds / moves:.1f}" if moves else "–", str(moves)] for name, seconds, moves in each]
        note = (
            "Mean over many games side by side, compiling at the first move included. Only this table differs from run "
            "to run."
        )
        return Table("Time", ["agent", "µs a move", "moves"], rows, note)

    def texts(self) -> list[tuple[str, str]]:
        """The sections on the first failures."""
        found = []
        for each in self.failures[:_SHOWN]:
            who = f"{each.agent} as player_{each.player}"
            heading = f"{who} failed at ply {each.ply} of game {each.game}, seed {each.seed}"
            found.append((heading, f"{each.reason}\n\n{each.position}"))
        return found

    def remarks(self) -> list[str]:
        """A warning for each agent that failed."""
        names = dict.fromkeys(each.agent for each in self.failures)
        return [f"{name}: it lost games by errors or illegal actions; see Failures." for name in names]

    def data(self) -> dict[str, Any]:
        """Ratings, crosstables, pairings, failures."""
        r = self.ratings
        return {
            "elo": r.elo,
            "elo_interval": np.stack([r.elo_low, r.elo_high], axis=1),
            "score": r.score,
            "score_interval": np.stack([r.score_low, r.score_high], axis=2),
            "mean_reward": self.mean_reward,
            "side_score": self.side_scores,
            "pairings": [
                {
                    "agents": [self.agents[p.first], self.agents[p.second]],
                    "games": len(p.games),
                    "planned": p.planned,
                    "distinct": p.distinct,
                    "mean_length": p.games.lengths.mean(),
                }
                for p in self.pairings
            ],
            "failures": [asdict(each) for each in self.failures],
            "seconds_by_agent": self.time[0],
            "moves": self.time[1],
        }

    def save(self, folder: Path) -> None:
        """Write `files` into `folder`, each whole or not at all; games.npz has one row a game."""
        super().save(folder)
        units = [p.units for p in self.pairings]
        seeds = game_seeds(self.settings["seed"], max((u.max(initial=-1) + 1 for u in units), default=0))
        data = io.BytesIO()
        np.savez_compressed(
            data,
            agents=np.array(self.agents),
            pairing=np.repeat(np.arange(len(self.pairings)), [len(u) for u in units]),
            seed=np.concatenate([seeds[u] for u in units]),
            seats=np.concatenate([p.seats for p in self.pairings]).astype(np.int16),
            rewards=np.concatenate([p.games.rewards for p in self.pairings]),
            length=np.concatenate([p.games.lengths for p in self.pairings]).astype(np.int32),
            moves=np.concatenate([p.games.moves for p in self.pairings]),
        )
        write_whole(folder / "games.npz", data.getvalue())


def tournament(
    game: str | Game,
    agents: Any,
    *,
    options: Mapping[str, Any] | None = None,
    games: int = 100,
    seed: int | None = 0,
    resamples: int = 1000,
    chunk: int | None = None,
    strict: bool = False,
    workers: int | None = None,
    engine: str | None = None,
    address: str | None = None,
    resume: bool = False,
    add: Any = (),
    out: str | Path | None = None,
    quiet: bool = False,
) -> TournamentReport:
    """Let agents play each other and rate them.

    Args:
        game: an id, or a Game.
        agents: two or more of what `agents.load` takes: texts, objects, functions.
        options: options of the game, if it is given by its id.
        games: games of each pairing; rounded up, so that each seed is played from every seat.
        seed: fixes all games and intervals. None draws one of 128 bits, unknown to the
            agents until the report names it.
        resamples: resamples of the bootstrap that gives the intervals.
        chunk: games played side by side; by default a few seconds' worth. Changes no result.
        strict: an agent's error or illegal action ends the tournament, instead of losing the game.
        workers: workers that play at the same time; None: one, or with Ray one for each processor. Changes no result.
        engine: "processes" for workers that are processes of this machine, "ray" for actors on a Ray cluster; None for
            this process, or processes if there are several workers.
        address: of a Ray cluster, such as "127.0.0.1:6379"; None starts one on this machine.
        resume: go on with the tournament in `out`, with the same settings; `games` may be more than before.
        add: further agents for the tournament in `out`, whose games are kept.
        out: folder for report.md, results.json and games.npz, and for what `resume` and `add` need; nothing is written
            without one.
        quiet: no progress bar.

    Raises:
        ValueError, TypeError: wrong settings, an agent that is unknown, has the name of another, cannot play this
            game, or cannot be sent to a worker; before any game is played.
        FileExistsError: `out` holds files, and neither `resume` nor `add` is given.
        FileNotFoundError: a file that an agent needs is not there, or there is nothing to go on with.
        InUse: another process is writing `out`.
        NotSaved: `out` cannot be written in the end; the error has the report.
        Unfinished: the games of a pairing ended each worker that played them; the error has the report on the others.
        OSError: no worker can be started.
        KeyboardInterrupt: interrupted before anything was finished. Later, an interrupt gives a partial report.
    """
    settings = Settings(tournament, locals())
    within(1, MOST, games=games, chunk=1 if chunk is None else chunk)
    within(0, MOST, resamples=resamples)
    game = resolve(game, options)
    seats = arrangements(game)
    further = add if isinstance(add, (list, tuple)) else [add]
    with results_folder(out, resume or bool(further)) as (folder, before):
        if before is not None:
            seed = before["seed"] if seed is None else seed
            further = [each for each in further if getattr(each, "name", each) not in before["agents"]]
        lineup = line_up(game, [*(agents if isinstance(agents, (list, tuple)) else [agents]), *further], least=2)
        seed = settings["seed"] = settled(seed)
        settings["agents"] = names = lineup.names
        store = Store(folder, as_settings(game, settings), game.num_players)
        if before is not None:
            check_same(Path(str(out)), before, {**store.settings, "agents": names[: len(names) - len(further)]})
            store.read(len(seats))
        chunk = 1 if lineup.live and chunk is None else chunk
        contest = Contest(game, lineup.agents.__getitem__, seed, chunk=chunk, strict=strict)
        crew = engine_for(
            contest,
            lambda objects: Recipe.of(game, lineup, seed=seed, chunk=chunk, strict=strict, objects=objects),
            live=lineup.live,
            workers=workers,
            engine=engine,
            address=address,
        )
        units = -(-games // len(seats))
        pairs = list(combinations(range(len(names)), 2))
        covered = {pair: [part.unit for part in store.parts if part.unit.pair == pair] for pair in pairs}
        missing = {pair: uncovered(found, units) for pair, found in covered.items()}
        agenda = Agenda(missing, len(seats), workers=crew.workers, chunk=chunk)
        total = len(pairs) * units * len(seats)
        with Work(store.parts, "games", total, hidden=quiet or lineup.live) as work:
            tally = Tally(work, names, len(seats), total - agenda.left * len(seats))
            with closing(crew.run(agenda, tally)) as found:
                for part in found:
                    store.add(part)  # one by one, so that an interrupt keeps the finished ones
        if not store.parts:
            raise Unfinished(None, names, agenda.given_up)
        pairings = [_pairing(game, seats, names, store.parts, pair, units) for pair in pairs]
        pairings = [pairing for pairing in pairings if len(pairing.games)]
        wins = np.zeros((units, len(names), len(names)))
        for pairing in pairings:
            a, b, played = pairing.first, pairing.second, pairing.units[:: len(seats)]
            wins[played, a, b] = pairing.won.reshape(len(played), -1).sum(axis=1)
            wins[played, b, a] = pairing.lost.reshape(len(played), -1).sum(axis=1)
        report = TournamentReport(
            game=game,
            settings=settings,
            made=lineup.made,
            complete=work.complete and not agenda.given_up,
            seconds=store.seconds,
            agents=tuple(names),
            arrangements=seats,
            pairings=pairings,
            ratings=rate(wins, resamples=resamples, seed=seed),
        )
        try:
            store.merge()
        except OSError as error:
            raise NotSaved(report, error) from error
        report.kept(folder)
        if agenda.given_up:
            raise Unfinished(report, names, agenda.given_up)
        return report


def _pairing(
    game: Game,
    seats: Sequence[Arrangement],
    names: Sequence[str],
    parts: Sequence[Part],
    pair: tuple[int, int],
    units: int,
) -> Pairing:
    """A pairing's parts, put together in order."""
    mine = sorted((part for part in parts if part.unit.pair == pair), key=lambda part: part.unit)
    games = join([part.games for part in mine], game, 2)
    for name in ("seconds", "decisions"):  # those of two agents, as those of all
        every = np.zeros(len(names), getattr(games, name).dtype)
        every[list(pair)] = getattr(games, name)
        setattr(games, name, every)
    numbers = [np.arange(part.unit.start, part.unit.stop) for part in mine]
    played = np.concatenate([np.zeros(0, np.int64), *numbers])
    held = np.tile(np.stack([each.seats for each in seats]), (len(played), 1))
    won, lost = comparisons(games.rewards, held)
    return Pairing(
        *pair,
        units=np.repeat(played, len(seats)),
        games=games,
        seats=np.where(held, *pair),
        won=won,
        lost=lost,
        planned=units * len(seats),
    )


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _bound(value: float) -> str:
    """Shorter, so that crosstables stay narrow."""
    return "1" if value > 0.9995 else f"{value:.3f}".removeprefix("0")
