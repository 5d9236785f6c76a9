"""A tournament: all pairs of agents, or listed pairs, play each other, each seed from every seat.

Example::

    from ttt_envs import evaluation

    report = evaluation.tournament("some_game", ["random", "greedy", my_agent], games=200)
    print(report.ratings.elo, report.ratings.score)

The same on the command line: `ttt tournament some_game --agents random greedy my_agent.py:Mine --games 200`.

Seats: with two sides, each agent plays each seed from both sides. With more, each agent in turn plays one side against
the other agent on all other sides, from each side. Game k has the same seed in every pairing. A side is a team of
`game.teams`; an agent plays all seats of its team.

An agent that raises an error or answers with an illegal action loses that game, and the report states the reason.

Several processes or a Ray cluster can share the games, and a tournament in a folder can be resumed: see docs/ladder.md.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from ttt_envs.agents import Agent, load
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, choice, within
from ttt_envs.evaluation import pool
from ttt_envs.evaluation.arena.play import iter_seeds, join
from ttt_envs.evaluation.arena.seating import Result, by_unit, line_up, result_of, seatings
from ttt_envs.evaluation.records.log import GamesLog, as_settings, check_goes_on, read_settings
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.ratings import Ratings, connected, rate_pairs
from ttt_envs.evaluation.reports.report import Arguments
from ttt_envs.evaluation.reports.tournament import TournamentReport
from ttt_envs.registry import game_for
from ttt_envs.storage.files import locked_folder, new_folder
from ttt_envs.storage.runs import CONFIG
from ttt_envs.storage.untrusted import brief

#: The indices of two agents, and the numbers of the seeds that they play in all seatings.
Job = tuple[int, int, range]

# Games of a pairing's first job, and of its largest jobs; the jobs in between have as many games as all jobs before.
_FIRST, _MOST = 16, 256


def tournament(
    game: str | Game,
    agents: Any,
    *,
    games: int = 100,
    seed: int = 0,
    resamples: int = 1000,
    strict: bool = False,
    pairs: Any = (),
    workers: int | str = 1,
    resume: bool = False,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> TournamentReport:
    """Let agents play each other and rate them.

    Args:
        game: an id, or a Game.
        agents: two or more arguments of `agents.load`: texts, objects, functions; or {name: agent, ...}.
        games: games of each pairing, rounded up so that each seed is played from every seat.
        seed: determines all games and intervals.
        resamples: resamples of the bootstrap for the intervals.
        strict: whether an agent's error or illegal action ends the tournament, instead of losing the game.
        pairs: pairs of names or indices that play each other, such as [(0, 1), (0, 2)]; by default all pairs.
        workers: number of processes, "ray" or "ray:ADDRESS", see `ttt_envs.evaluation.pool.run`.
        resume: continue the tournament in `out`, with the same settings; `games` may be larger, and further agents may
            be appended.
        out: folder for report.md, report.html, results.json and games.jsonl, and for `resume`; None writes nothing.
        quiet: no progress bar.
        options: options of the game, if `game` is an id.

    Raises:
        ValueError, TypeError: wrong settings, an agent that is unknown, has the name of another, cannot play this
            game, or cannot be sent to a worker; before any game is played.
        FileExistsError, InUse, NotSaved: `out` contains files without `resume`; it is in use; or it cannot be written,
            and the error has the report.
        FileNotFoundError: a file that an agent needs does not exist, or there is nothing to resume.
        ChildProcessError: a worker was killed; `resume` continues the tournament.
        KeyboardInterrupt: interrupted before anything was finished. A later interrupt returns a partial report.
    """
    settings = Arguments(tournament, locals())
    within(1, MOST, games=games)
    within(0, MOST, resamples=resamples)
    within(0, 2**128 - 1, seed=seed)
    game = game_for(tournament, game, options)
    pool.check(workers)
    folder = None if out is None else Path(out)
    if resume:
        if folder is None:
            raise ValueError("resume needs the folder of the tournament: out")
        read_settings(folder)  # raises before the folder is made
    lock = locked_folder(folder) if resume and folder is not None else new_folder(folder, begun=CONFIG)
    with closing(line_up(game, agents, least=2)) as lineup, lock:
        if lineup.live and workers != 1:
            raise ValueError("a person plays in this process: leave workers out")
        settings["agents"] = list(lineup.texts)
        planned = pairs_of(pairs, lineup.names)
        settings["pairs"] = tuple(f"{a}-{b}" for a, b in planned) if pairs else ()

        log = GamesLog(folder, game, lineup.names, as_settings(game, settings))
        if resume and folder is not None:
            check_goes_on(folder, read_settings(folder), as_settings(game, settings))
            log.resume()
        schedule = Schedule(
            game, lineup.agents if workers == 1 else lineup.sent, planned, games, seed, strict, lineup.live
        )
        with Work(log.finished, "games", schedule.total(log.finished), hidden=quiet or lineup.live) as work:
            schedule.play(log, workers, lambda done, a, b: work.update(done, f"{lineup.names[a]} – {lineup.names[b]}"))
        results = schedule.results(log.finished)
        return TournamentReport(
            game=game,
            settings=settings,
            made=lineup.made,
            complete=work.complete,
            seconds=work.seconds,
            agents=tuple(lineup.names),
            results=[each for each in results if len(each)],
            ratings=rate(results, len(lineup.names), resamples, seed),
        ).kept(folder)


# --- schedule ---


def pairs_of(given: Any, names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the sorted pairs for the argument `pairs` of a tournament.

    Args:
        given: empty for all pairs; or a sequence of pairs of names or indices, or of texts such as "0-1".
        names: the agents' names, in order.

    Raises:
        ValueError: another value, an unknown agent, an agent against itself, or groups of agents that never play each
            other.
    """
    if not given:
        return list(combinations(range(len(names)), 2))
    listed = sorted({_pair(each, names) for each in ([given] if isinstance(given, str) else given)})
    if len(groups := connected(len(names), listed)) > 1:
        shown = " and ".join(brief("{" + ", ".join(names[k] for k in group) + "}") for group in groups[:3])
        raise ValueError(
            f"these pairs leave {len(groups)} groups of agents that no chain of games connects, so that their ratings "
            f"cannot be compared: {shown}{' ...' if len(groups) > 3 else ''}"
        )
    return listed


def _pair(given: Any, names: Sequence[str]) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", given) if isinstance(given, str) else None
    two = (int(match[1]), int(match[2])) if match else given
    if not isinstance(two, (tuple, list)) or len(two) != 2:
        raise ValueError(f"pairs must be pairs such as 0-1, not {brief(repr(given))}")
    numbers = []
    for each in two:
        if isinstance(each, str):
            choice("agent in pairs", each, tuple(names))
            numbers.append(names.index(each))
        else:
            within(0, len(names) - 1, **{"the number of an agent in pairs": each})
            numbers.append(int(each))
    if numbers[0] == numbers[1]:
        raise ValueError(f"pairs: {names[numbers[0]]} cannot play itself")
    return min(numbers), max(numbers)


@dataclass(frozen=True)
class Schedule:
    """The games of a tournament, in jobs that any process can play.

    Attributes:
        game: the game.
        agents: agents, or specs from which each job loads its own.
        pairs: the indices of the agents that play each other.
        games: games of each pair, rounded up so that each seed is played from every seat.
        seed: determines the games.
        strict: whether an agent's error or illegal action ends the tournament, instead of losing the game.
        one_by_one: whether games are played one after the other instead of concurrently.
    """

    game: Game
    agents: Sequence[Agent | str]
    pairs: Sequence[tuple[int, int]]
    games: int
    seed: int
    strict: bool = False
    one_by_one: bool = False

    def jobs(self, finished: Iterable[Result] = ()) -> list[Job]:
        """Return the unfinished jobs, pair by pair.

        Jobs depend only on the number of games, not on the workers. A pair's first jobs are small, so that results come
        early; with `one_by_one` each job is one seed.
        """
        size = len(seatings(self.game))
        units, edges, step = -(-self.games // size), [0], 1 if self.one_by_one else max(_FIRST // size, 1)
        while edges[-1] < units:
            edges.append(min(edges[-1] + step, units))
            step = 1 if self.one_by_one else min(edges[-1], max(_MOST // size, 1))
        done = {pair: set[int]() for pair in self.pairs}
        for each in finished:
            done.get((each.first, each.second), set()).update(each.units.tolist())
        jobs = []
        for pair in self.pairs:
            for start, stop in pairwise(edges):
                left = [unit for unit in range(start, stop) if unit not in done[pair]]
                if left:
                    jobs.append((*pair, range(left[0], stop)))
        return jobs

    def total(self, finished: Sequence[Result] = ()) -> int:
        """Return the number of all games, including the `finished` ones."""
        left = sum(len(seeds) for *_, seeds in self.jobs(finished))
        return sum(map(len, finished)) + left * len(seatings(self.game))

    def __call__(self, job: Job, progress: Callable[[int], None] | None = None) -> Result:
        """Play a job; call `progress` with the number of its finished games. Raises the errors of `play_games`."""
        first, second, seeds = job
        given, held = (self.agents[first], self.agents[second]), seatings(self.game)
        pair = tuple(load(each) if isinstance(each, str) else each for each in given)
        try:
            parts = iter_seeds(
                self.game,
                pair,
                held,
                self.seed,
                seeds,
                chunk=1 if self.one_by_one else len(seeds) * len(held),
                strict=self.strict,
                keep=True,
                progress=None if progress is None else lambda finished, _: progress(finished),
            )
            return result_of(first, second, [(seeds, join(list(parts), self.game, 2))], self.game)
        finally:
            for each, agent in zip(given, pair, strict=True):
                if isinstance(each, str):
                    agent.close()

    def play(self, log: GamesLog, workers: int | str, progress: Callable[[int, int, int], None]) -> None:
        """Play the jobs that are missing in the log, and add the result of each to the log.

        `progress` is called with the number of finished games, and the indices of two agents: those of the running or
        last finished job. Raises agents' errors in a strict tournament, and the errors of `pool.run`.
        """
        done, jobs = sum(map(len, log.finished)), self.jobs(log.finished)

        def here(job: Job) -> Result:
            return self(job, lambda finished: progress(done + finished, *job[:2]))

        for _, result in pool.run(here if workers == 1 else self, jobs, workers=workers):
            log.add(result)
            done += len(result)
            progress(done, result.first, result.second)

    def results(self, finished: Sequence[Result]) -> list[Result]:
        """Return the result of each pair; pairs without finished games have empty results."""
        return [
            result_of(*pair, [(each.seeds, each) for each in finished if (each.first, each.second) == pair], self.game)
            for pair in self.pairs
        ]


# --- rate ---


def rate(results: Sequence[Result], agents: int, resamples: int, seed: int, zero: int | None = None) -> Ratings:
    """Return the ratings of agents from the results of pairs, some of which may have no games yet."""
    pairs = [(each.first, each.second) for each in results]
    return rate_pairs(agents, pairs, *by_unit(results), resamples=resamples, seed=seed, zero=zero)
