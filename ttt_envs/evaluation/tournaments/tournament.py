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

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within
from ttt_envs.core.rng import settled
from ttt_envs.evaluation.arena.play import Games, join
from ttt_envs.evaluation.arena.seating import arrangements, held_seats, line_up
from ttt_envs.evaluation.reports.leaderboard import measured_tables
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.ratings import rate
from ttt_envs.evaluation.reports.report import Arguments, NotSaved
from ttt_envs.evaluation.tournaments.engines import engine_for
from ttt_envs.evaluation.tournaments.jobs import Agenda, Contest, FinishedJob, uncovered
from ttt_envs.evaluation.tournaments.parts import PartStore, as_settings, check_goes_on, results_folder
from ttt_envs.evaluation.tournaments.report import Pairing, TournamentReport
from ttt_envs.evaluation.tournaments.workers import GamesFinished, Recipe, Unfinished
from ttt_envs.registry import resolve


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
    isolate: bool = False,
    record: bool = False,
    measured: Sequence[str | Path] = (),
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
        isolate: each agent plays in a process of its own, see `agents.load_isolated`; all must be texts then. Random
            choices of these agents are not fixed by the seed.
        record: every game is kept, action by action; see `ttt_envs.evaluation.records`.
        measured: files or folders of results of `regret`, `exploitability` or a ladder, of the same game, whose figures
            the report shows, too.
        out: folder for report.md, report.html, results.json, games.safetensors and, with `record`, games.jsonl, and for
            what `resume` and `add` need; nothing is written without one.
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
    settings = Arguments(tournament, locals())
    within(1, MOST, games=games, chunk=1 if chunk is None else chunk)
    within(0, MOST, resamples=resamples)
    game = resolve(game, options)
    seats = arrangements(game)
    settings["measured"] = tuple(map(str, measured))
    tables = measured_tables(game, measured)
    further = add if isinstance(add, (list, tuple)) else [add]
    with ExitStack() as stack:
        folder, before = stack.enter_context(results_folder(game, out, resume or bool(further)))
        if before is not None:
            seed = before["seed"] if seed is None else seed
            further = [each for each in further if getattr(each, "name", each) not in before["agents"]]
        everybody = [*(agents if isinstance(agents, (list, tuple)) else [agents]), *further]
        lineup = stack.enter_context(closing(line_up(game, everybody, least=2, isolate=isolate)))
        seed = settings["seed"] = settled(seed)
        settings["agents"] = names = lineup.names
        store = PartStore(folder, as_settings(game, settings), game)
        if before is not None:
            check_goes_on(Path(str(out)), before, {**store.settings, "agents": names[: len(names) - len(further)]})
            store.read()
        chunk = 1 if lineup.live and chunk is None else chunk
        contest = Contest(game, lineup.agents.__getitem__, seed, chunk=chunk, strict=strict, record=record)
        crew = engine_for(
            contest,
            lambda objects: Recipe.of(
                game,
                lineup,
                seed=seed,
                chunk=chunk,
                strict=strict,
                record=record,
                isolate=isolate,
                objects=objects,
            ),
            live=lineup.live,
            workers=workers,
            engine=engine,
            address=address,
        )
        units = -(-games // len(seats))
        pairs = list(combinations(range(len(names)), 2))
        covered = {pair: [part.job for part in store.parts if part.job.pair == pair] for pair in pairs}
        missing = {pair: uncovered(jobs, units) for pair, jobs in covered.items()}
        agenda = Agenda(missing, len(seats), workers=crew.workers, chunk=chunk)
        total = len(pairs) * units * len(seats)
        with Work(store.parts, "games", total, hidden=quiet or lineup.live) as work:
            tally = GamesFinished(work, names, len(seats), total - agenda.left * len(seats))
            with closing(crew.run(agenda, tally)) as jobs:
                for part in jobs:
                    store.add(part)  # one by one, so that an interrupt keeps the finished ones
        if not store.parts:
            raise Unfinished(None, names, agenda.given_up)
        pairings = [_pairing(game, len(names), store.parts, pair, units) for pair in pairs]
        pairings = [pairing for pairing in pairings if len(pairing.games)]
        wins = np.zeros((units, len(names), len(names)))
        for pairing in pairings:
            a, b, played = pairing.first, pairing.second, pairing.units[:: len(seats)]
            wins[played, a, b], wins[played, b, a] = pairing.by_unit()
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
            measured=tables,
        )
        try:
            store.merge()
        except OSError as error:
            raise NotSaved(report, error) from error
        report.kept(folder)
        if agenda.given_up:
            raise Unfinished(report, names, agenda.given_up)
        return report


def _pairing(game: Game, agents: int, parts: Sequence[FinishedJob], pair: tuple[int, int], units: int) -> Pairing:
    """A pairing's parts, put together in order; `agents`: how many play in the tournament."""
    mine = sorted((part for part in parts if part.job.pair == pair), key=lambda part: part.job)
    held, played, before = held_seats(arrangements(game)), list[Games](), 0
    for part in mine:
        # A part numbers its games from 0 on.
        played.append(replace(part.games, actions={before + k: each for k, each in part.games.actions.items()}))
        before += len(part.games)
    games = join(played, game, 2)
    for name in ("seconds", "decisions"):  # those of two agents, as those of all
        every = np.zeros(agents, getattr(games, name).dtype)
        every[list(pair)] = getattr(games, name)
        setattr(games, name, every)
    mine_of = dict(zip(pair, games.counts, strict=True))
    games.counts = [mine_of.get(agent, {}) for agent in range(agents)]
    numbers = [np.zeros(0, np.int64), *(np.arange(part.job.start, part.job.stop) for part in mine)]
    return Pairing(
        held=held,
        games=games,
        first=pair[0],
        second=pair[1],
        units=np.repeat(np.concatenate(numbers), len(held)),
        planned=units * len(held),
    )
