"""A tournament: every two agents play each other, or chosen pairs of them, each seed from every seat.

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

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents import load, several
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within
from ttt_envs.core.rng import settled
from ttt_envs.evaluation.arena.play import Games, join
from ttt_envs.evaluation.arena.seating import arrangements, held_seats, line_up, text_of
from ttt_envs.evaluation.reports.leaderboard import measured_tables
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.ratings import connected, rate_pairs
from ttt_envs.evaluation.reports.report import Arguments, NotSaved
from ttt_envs.evaluation.tournaments.engines import engine_for
from ttt_envs.evaluation.tournaments.jobs import Agenda, Contest, FinishedJob, Pair, uncovered
from ttt_envs.evaluation.tournaments.pairs import pairs_of
from ttt_envs.evaluation.tournaments.parts import PartStore, as_settings, check_goes_on, results_folder
from ttt_envs.evaluation.tournaments.report import Pairing, TournamentReport
from ttt_envs.evaluation.tournaments.workers import GamesFinished, Recipe, Unfinished
from ttt_envs.registry import game_for


def tournament(
    game: str | Game,
    agents: Any,
    *,
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
    pairs: Any = (),
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> TournamentReport:
    """Let agents play each other and rate them.

    Args:
        game: an id, or a Game.
        agents: two or more of what `agents.load` takes: texts, objects, functions; or {name: agent, ...}.
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
        pairs: who plays whom, where there are too many agents for every two: a number, of opponents an agent is drawn
            against; "swiss" or "swiss:8", for rounds between agents of about equal score; or pairs of names or numbers.
        out: folder for report.md, report.html, results.json, games.safetensors and, with `record`, games.jsonl, and for
            what `resume` and `add` need; nothing is written without one.
        quiet: no progress bar.
        options: of the game, if `game` is an id.

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
    game = game_for(tournament, game, options)
    seats = arrangements(game)
    measured = several(measured)
    settings["measured"] = tuple(map(str, measured))
    tables = measured_tables(game, measured)
    further = several(add)
    with ExitStack() as stack:
        folder, before = stack.enter_context(results_folder(game, out, resume or bool(further)))
        if before is not None:
            seed = before["seed"] if seed is None else seed
            further = [each for each in further if (text_of(each) or load(each).name) not in before["agents"]]
        everybody = [*several(agents), *further]
        lineup = stack.enter_context(closing(line_up(game, everybody, least=2, isolate=isolate)))
        seed = settings["seed"] = settled(seed)
        names, texts = lineup.names, list(lineup.texts)
        settings["agents"] = texts
        chosen = pairs_of(pairs, names)
        settings["pairs"] = chosen.texts()
        store = PartStore(folder, as_settings(game, settings), game)
        if before is not None:
            if chosen.kind == "swiss" and (further or before["games"] != games):
                raise ValueError("the pairs of a Swiss tournament follow from its games: it goes on with the same ones")
            check_goes_on(Path(str(out)), before, {**store.settings, "agents": texts[: len(texts) - len(further)]})
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
        planned: list[Pair] = []  # of all rounds so far
        given_up: dict[Pair, str] = {}

        def points(pairs: Sequence[Pair]) -> np.ndarray:
            """The points of each agent: the sum over these pairs of its share of the comparisons."""
            found, by_pair = np.zeros(len(names)), _by_pair(store.parts)
            for pairing in (_pairing(game, by_pair.get(pair, []), pair, units) for pair in pairs):
                won, lost = pairing.won.sum(), pairing.lost.sum()
                if won + lost:
                    found[[pairing.first, pairing.second]] += np.array([won, lost]) / (won + lost)
            return found

        rounds = chosen.rounds(len(names), seed, points)
        each_round = next(rounds)
        total = len(each_round) * chosen.number_of_rounds(len(names)) * units * len(seats)
        with Work(store.parts, "games", total, hidden=quiet or lineup.live) as work:
            finished = 0
            while each_round:
                planned += each_round
                by_pair = _by_pair(store.parts)
                missing = {pair: uncovered([p.job for p in by_pair.get(pair, [])], units) for pair in each_round}
                agenda = Agenda(missing, len(seats), workers=crew.workers, chunk=chunk)
                finished += len(each_round) * units * len(seats)
                tally = GamesFinished(work, names, len(seats), finished - agenda.left * len(seats))
                try:
                    with closing(crew.run(agenda, tally)) as jobs:
                        for part in jobs:
                            store.add(part)  # one by one, so that an interrupt keeps the finished ones
                finally:
                    given_up |= agenda.given_up
                each_round = next(rounds, [])
        if not store.parts:
            raise Unfinished(None, names, given_up)
        by_pair = _by_pair(store.parts)
        planned = sorted({*planned, *by_pair})  # what was played by an earlier call counts in any case
        pairings = [_pairing(game, by_pair[pair], pair, units) for pair in planned if pair in by_pair]
        won, lost = np.zeros((2, units, len(planned)))
        column = {pair: k for k, pair in enumerate(planned)}
        for pairing in pairings:
            rows = pairing.units[:: len(seats)], column[pairing.first, pairing.second]
            won[rows], lost[rows] = pairing.by_unit()
        if len(connected(len(names), planned)) > 1:  # a Swiss tournament that was interrupted
            planned, won, lost = _with_links(len(names), planned, won, lost)
        report = TournamentReport(
            game=game,
            settings=settings,
            made=lineup.made,
            complete=work.complete and not given_up,
            seconds=store.seconds,
            agents=tuple(names),
            arrangements=seats,
            pairings=pairings,
            ratings=rate_pairs(len(names), planned, won, lost, resamples=resamples, seed=seed),
            measured=tables,
        )
        try:
            store.merge()
        except OSError as error:
            raise NotSaved(report, error) from error
        report.kept(folder)
        if given_up:
            raise Unfinished(report, names, given_up)
        return report


def _by_pair(parts: Iterable[FinishedJob]) -> dict[Pair, list[FinishedJob]]:
    """The parts of each pair."""
    found: dict[Pair, list[FinishedJob]] = {}
    for part in parts:
        found.setdefault(part.job.pair, []).append(part)
    return found


def _with_links(
    agents: int, pairs: Sequence[Pair], won: np.ndarray, lost: np.ndarray
) -> tuple[list[Pair], np.ndarray, np.ndarray]:
    """The pairs with such without games, so that all are connected: by the prior of the ratings alone."""
    first, *others = connected(agents, pairs)
    links = [(first[0], group[0]) for group in others]
    nothing = np.zeros((len(won), len(links)))
    return [*pairs, *links], np.hstack([won, nothing]), np.hstack([lost, nothing])


def _pairing(game: Game, parts: Iterable[FinishedJob], pair: Pair, units: int) -> Pairing:
    """A pairing's parts, put together in order."""
    mine = sorted(parts, key=lambda part: part.job)
    held, played, before = held_seats(arrangements(game)), list[Games](), 0
    for part in mine:
        # A part numbers its games from 0 on.
        played.append(replace(part.games, actions={before + k: each for k, each in part.games.actions.items()}))
        before += len(part.games)
    games = join(played, game, 2)
    numbers = [np.zeros(0, np.int64), *(np.arange(part.job.start, part.job.stop) for part in mine)]
    return Pairing(
        held=held,
        games=games,
        first=pair[0],
        second=pair[1],
        units=np.repeat(np.concatenate(numbers), len(held)),
        planned=units * len(held),
    )
