"""The ladder: fixed opponents of a game, from random to optimal play, and the rating of agents by games against them.

Example::

    from ttt_envs import evaluation

    report = evaluation.ladder("some_game", "greedy")
    print(report.rating, report.interval)

On the command line: `ttt ladder some_game --agent greedy`; `--show` shows the rungs, `--make` measures them.

A game's ladders are JSON files in the folder `ladders` of its module, one per set of options. The version of a ladder
fixes its rungs and their ratings, so that different people's ratings share one scale.

The agent plays every rung with the same seeds, from every seat. In the model of Bradley and Terry (1952), an agent with
rating r has the expected score 1 / (1 + 10 ** ((b - r) / 400)) against a rung with rating b; a draw is half a win. The
rating is the maximum likelihood estimate, with the rungs' ratings taken as exact. The interval comes from the Bayesian
bootstrap over seeds; `python -m tools.coverage` simulates its coverage.
"""

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

from ttt_envs.agents import check_named, labelled, several
from ttt_envs.agents.pretrained import digests
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, as_text, within
from ttt_envs.evaluation import pool
from ttt_envs.evaluation.arena.play import Failure
from ttt_envs.evaluation.arena.seating import Result, by_unit, line_up, rounding
from ttt_envs.evaluation.records.log import GamesLog
from ttt_envs.evaluation.reports.charts import Whisker, Whiskers
from ttt_envs.evaluation.reports.intervals import student
from ttt_envs.evaluation.reports.page import PagedReport
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.ratings import ELO
from ttt_envs.evaluation.reports.report import Arguments, Table
from ttt_envs.evaluation.tournament import Schedule, rate, tournament
from ttt_envs.registry import game_for, game_of_file
from ttt_envs.storage.files import check_writable, existing, new_folder, write_whole
from ttt_envs.storage.rows import Rows
from ttt_envs.storage.runs import plain_options
from ttt_envs.storage.untrusted import read_json

#: Version of the file format.
FORMAT = 3

# The numbers that a ladder file has for each rung.
_NUMBERS = ("elo", "half_width", "seconds")

# Elo beyond the lowest or highest rung: a rating is searched up to _REACH, and counts as unreliable from _BEYOND.
_REACH, _BEYOND = 3000.0, 100.0

# Resamples of the bootstrap over the games of the rungs.
_RESAMPLES = 1000

# Steps of the search for the most likely rating: the error is less than a millionth of a point.
_STEPS = 40


@dataclass(frozen=True)
class Ladder(Rows):
    """Rungs, from the weakest to the strongest.

    Attributes:
        game: id of the game.
        options: options of the game, in JSON's types.
        version: number of this ladder for the game and options.
        rungs: texts for `agents.load`.
        elo: float64 (rungs,), the ratings; that of `random`, or else of the weakest rung, is 0.
        half_width: float64 (rungs,), half the width of the 95 % interval of the difference from the rung with 0.
        seconds: float64 (rungs,), measured time per decision.
        made: how the ladder was made: the command, versions of libraries, and `digests` of the trained agents.
    """

    game: str
    options: Mapping[str, Any]
    version: int
    rungs: tuple[str, ...]
    elo: np.ndarray
    half_width: np.ndarray
    seconds: np.ndarray
    made: Mapping[str, Any]

    def is_of(self, game: Game) -> bool:
        """Return whether the ladder is for this game with its options; raise ValueError for unknown options."""
        return self.game == game.id and game_of_file(game, self.options).options == game.options

    @property
    def zero(self) -> str:
        """The rung with rating 0."""
        return self.rungs[int(np.argmin(np.abs(self.elo)))]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per rung, the weakest first."""
        columns = self.rungs, self.elo.tolist(), self.half_width.tolist(), self.seconds.tolist()
        return [dict(zip(("agent", *_NUMBERS), row, strict=True)) for row in zip(*columns, strict=True)]

    def table(self) -> Table:
        """Return the table of rungs, the strongest first."""
        rows = [
            [
                f"{place}  {row['agent']}",
                f"{row['elo']:.0f}" + (f" ± {row['half_width']:.0f}" if row["half_width"] else ""),
                f"{1e6 * row['seconds']:.0f}",
            ]
            for place, row in enumerate(reversed(self.rows()), 1)
        ]
        note = (
            f"Version {self.version}. Elo by Bradley-Terry, with the 95 % interval of the difference from {self.zero}, "
            f"which is 0 by definition. {self.made.get('command', '')}"
        )
        return Table("Ladder", ["agent", "Elo", "µs a move"], rows, note.rstrip())

    def text(self) -> str:
        """Return the file's contents: JSON with one line per rung."""
        facts = {"format": FORMAT, "game": self.game, "options": self.options, "version": self.version}
        rungs = map(json.dumps, self.rows())
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in {**facts, "made": self.made}.items()]
        return "{\n" + ",\n".join([*lines, ' "rungs": [\n  ' + ",\n  ".join(rungs) + "\n ]"]) + "\n}\n"


# --- files ---


def versions() -> dict[str, str]:
    """Return the versions that may affect the agents' play."""
    return {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}


def find(game: Game) -> Ladder:
    """Return the newest ladder of the game with its options.

    Raises ValueError if there is none, naming the options for which there are ladders; and the errors of `read`.
    """
    folder = Path(str(sys.modules[game.factory.__module__].__file__)).parent / "ladders"
    ladders = [ladder for ladder in map(read, sorted(folder.glob("*.json"))) if ladder.game == game.id]
    fitting = [ladder for ladder in ladders if ladder.is_of(game)]
    if fitting:
        return max(fitting, key=lambda ladder: ladder.version)
    others = "; ".join(", ".join(f"{k}={as_text(v)}" for k, v in ladder.options.items()) for ladder in ladders)
    known = f"; it has one with {others}" if others else ""
    raise ValueError(f"{game} comes with no ladder{known}; `ttt ladder {game.id} --make` makes one")


def read(path: str | Path) -> Ladder:
    """Read a ladder file; raise FileNotFoundError, or ValueError for a damaged file or another format."""
    text = existing(path, "ladder").read_text(encoding="utf-8", errors="replace")
    try:
        data = read_json(text)
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']}, not {FORMAT}")
        rungs = data["rungs"]
        numbers = {name: np.array([each[name] for each in rungs], np.float64) for name in _NUMBERS}
        if len(rungs) < 2 or not np.isfinite(list(numbers.values())).all():
            raise ValueError("it must have two rungs or more, with finite ratings and times")
        return Ladder(
            game=str(data["game"]),
            options=dict(data["options"]),
            version=int(data["version"]),
            rungs=tuple(str(each["agent"]) for each in rungs),
            **numbers,
            made=dict(data["made"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} is no ladder, or damaged: {type(error).__name__}: {error}") from None


def make_ladder(
    game: str | Game,
    rungs: Sequence[str],
    *,
    games: int = 400,
    version: int = 1,
    seed: int = 0,
    workers: int | str = 1,
    out: str | Path,
    quiet: bool = False,
    **options: Any,
) -> Ladder:
    """Measure the rungs of a ladder by a tournament between them, and write the ladder to the file `out`.

    Args:
        game: an id, or a Game.
        rungs: texts for `agents.load`, in any order.
        games, seed, workers, quiet: as for `tournament`.
        version: number of the ladder.
        out: the file.
        options: options of the game, if `game` is an id.

    Raises the errors of `tournament`, and KeyboardInterrupt if it is interrupted.
    """
    check_writable(Path(out))
    named = game if isinstance(game, str) else game.id
    game = game_for(make_ladder, game, options)
    report = tournament(
        game, list(rungs), games=games, seed=seed, resamples=0, workers=workers, strict=True, quiet=quiet
    )
    if not report.complete:
        raise KeyboardInterrupt("the ladder is not finished, and nothing is written")
    order = np.argsort(report.ratings.elo, kind="stable")
    zero = rungs.index("random") if "random" in rungs else int(order[0])
    rated = rate(report.results, len(rungs), _RESAMPLES, seed, zero)
    seconds, moves = report.time
    chosen = " ".join(f"--option {name}={as_text(value)}" for name, value in game.chosen.items())
    numbers = f"--games {games} --version {version} --seed {seed}"
    command = " ".join(["ttt ladder", named, "--make --rungs", *rungs, numbers, chosen]).strip()
    made = Ladder(
        game=game.id,
        options=plain_options(game.options),
        version=version,
        rungs=tuple(rungs[i] for i in order),
        elo=np.round(rated.elo[order], 2) + 0.0,
        half_width=np.round((rated.elo_high - rated.elo_low)[order] / 2, 2),
        seconds=np.array([float(f"{each:.2g}") for each in (seconds / np.maximum(moves, 1))[order]]),
        made={"command": command, "versions": versions(), "trained": digests(rungs)},
    )
    write_whole(Path(out), made.text())
    return made


# --- the rating of an agent ---


@dataclass(kw_only=True)
class LadderReport(PagedReport):
    """The rating of an agent on a ladder.

    Attributes:
        agent: the agent's name.
        ladder: the ladder.
        results: the results against each rung that was played; the agent is the first of the two agents.
        rating: the rating in Elo.
        interval: the 95 % interval of the rating.
    """

    agent: str
    ladder: Ladder
    results: list[Result]
    rating: float
    interval: tuple[float, float]

    verb, title = "ladder", "Place on the ladder"

    @property
    def games(self) -> int:
        """Number of games."""
        return sum(len(each) for each in self.results)

    @property
    def failures(self) -> list[Failure]:
        """Errors and illegal actions of the agent and of rungs."""
        return [failure for each in self.results for failure in each.failures]

    def expected(self, result: Result) -> float:
        """Return the score against a rung that the agent's rating predicts."""
        return float(1 / (1 + np.exp((self.ladder.elo[result.second - 1] - self.rating) / ELO)))

    def facts(self) -> list[str]:
        """Return sentences on the ladder and the number of games."""
        return [
            f"Ladder version {self.ladder.version}, {self.settings['games']} games per rung, each seed from all seats."
        ]

    def tables(self) -> list[Table]:
        """Return the rating, and the games against each rung."""
        low, high = self.interval
        seconds, moves = (sum(float(getattr(p, name)[0]) for p in self.results) for name in ("seconds", "decisions"))
        row = [self.agent, f"{self.rating:.0f}", f"{low:.0f} to {high:.0f}", str(self.games)]
        note = f"Elo by Bradley-Terry on ladder version {self.ladder.version}, {self.ladder.zero} at 0."
        place = Table(
            "Rating", ["agent", "Elo", "95 % interval", "games", "µs a move"],
            [[*row, f"{1e6 * seconds / max(moves, 1):.1f}"]], note,
        )  # fmt: skip
        rows = []
        for each in reversed(self.results):
            won, drawn, lost = np.sum(each.by_seating(), axis=0)
            wins, losses = (float(part.sum()) for part in each.compared)
            score = wins / (wins + losses)
            name, elo = self.ladder.rungs[each.second - 1], self.ladder.elo[each.second - 1]
            shown = [name, f"{elo:.0f}", str(len(each)), f"{won}/{drawn}/{lost}", f"{score:.3f}"]
            rows.append([*shown, f"{self.expected(each):.3f}", str(each.distinct)])
        header = ["rung", "Elo", "games", "W/D/L", "score", "expected", "distinct"]
        note = "Expected: the score that the rating gives. Distinct: games that went differently."
        return [place, Table("Games against the rungs", header, rows, note)]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row: the agent's rating."""
        low, high = self.interval
        return [{"agent": self.agent, "elo": self.rating, "elo_low": low, "elo_high": high, "games": self.games}]

    def charts(self) -> list[Whiskers]:
        """Return a chart of the agent among the rungs, the strongest first."""
        places = [(elo, elo, elo, name) for name, elo in zip(self.ladder.rungs, self.ladder.elo, strict=True)]
        rows = [
            Whisker(name, low, value, high, f"{value:.0f}" + (f" ({low:.0f} to {high:.0f})" if low < high else ""))
            for value, low, high, name in sorted(
                [*places, (self.rating, *self.interval, f"{self.agent} (rated here)")], reverse=True
            )
        ]
        return [Whiskers("Place on the ladder, Elo with the 95 % interval", rows, before="Rating")]

    def remarks(self) -> list[str]:
        """Return the reasons to doubt the rating, one sentence each."""
        remarks = rounding(self.settings["games"], len(self.results[0].held))
        for end, sign, word in ((-1, 1, "stronger"), (0, -1, "weaker")):
            if sign * (self.rating - self.ladder.elo[end]) > _BEYOND:
                remarks.append(
                    f"The agent is far {word} than every rung: its rating rests on few games that were open."
                )
        if self.agent in self.ladder.rungs:
            elo = self.ladder.elo[self.ladder.rungs.index(self.agent)]
            remarks.append(f"The agent is a rung itself, with {elo:.0f} Elo by the ladder's own games.")
        distinct = sum(each.distinct for each in self.results)
        if 2 * distinct < self.games:
            remarks.append(f"Only {distinct} of {self.games} games went differently: the interval takes them for more.")
        for name in dict.fromkeys(each.agent for each in self.failures):
            reasons = [each.reason for each in self.failures if each.agent == name]
            remarks.append(f"{name}: it lost {len(reasons)} games by errors or illegal actions, such as: {reasons[0]}")
        return remarks

    def data(self) -> dict[str, Any]:
        """Return the rating, and the games against each rung."""
        return {
            "ladder": {"version": self.ladder.version, "rungs": list(self.ladder.rungs), "elo": self.ladder.elo},
            "versions": versions(),
            "rating": self.rating,
            "interval": list(self.interval),
            "games_played": self.games,
            "rungs": [
                {
                    "agent": self.ladder.rungs[each.second - 1],
                    "elo": self.ladder.elo[each.second - 1],
                    "games": len(each),
                    "seatings": each.by_seating(),
                    "expected": self.expected(each),
                    "distinct": each.distinct,
                }
                for each in self.results
            ],
            "failures": [asdict(each) for each in self.failures],
        }


def ladder(
    game: str | Game,
    agent: Any,
    *,
    games: int = 100,
    seed: int = 0,
    resamples: int = 1000,
    strict: bool = False,
    table: str | Path | None = None,
    rungs: Sequence[str] = (),
    workers: int | str = 1,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> LadderReport:
    """Rate an agent by games against every rung of a game's ladder.

    Args:
        game: an id, or a Game.
        agent: an argument of `agents.load`.
        games: games against each rung, rounded up so that each seed is played from every seat.
        seed: determines the games; the agent plays the same seeds against all rungs.
        resamples: resamples of the bootstrap for the interval.
        strict: whether an agent's error or illegal action ends the measurement, instead of losing the game.
        table: file of the ladder; by default the bundled one.
        rungs: untrusted rungs of `table` that may run, such as programs; see `agents.stranger`.
        workers: number of processes, "ray" or "ray:ADDRESS", see `ttt_envs.evaluation.pool.run`.
        out: folder for report.md, report.html and results.json; None writes nothing.
        quiet: no progress bar.
        options: options of the game, if `game` is an id.

    Raises:
        ValueError, TypeError: wrong settings, an agent that is unknown or cannot play this game, a game without a
            ladder, a ladder of another game, or one with a rung that `rungs` must name.
        FileNotFoundError: the table or a file that the agent needs does not exist.
        FileExistsError, InUse, NotSaved, ChildProcessError: see `tournament`.
        KeyboardInterrupt: interrupted before anything was finished. A later interrupt returns a partial report.
    """
    settings = Arguments(ladder, locals())
    within(1, MOST, games=games)
    within(0, MOST, resamples=resamples)
    within(0, 2**128 - 1, seed=seed)
    game = game_for(ladder, game, options)
    pool.check(workers)
    scale = find(game) if table is None else read(table)
    if not scale.is_of(game):
        raise ValueError(f"the ladder {table} is one of {scale.game} with options {scale.options}, not of {game}")
    with ExitStack() as stack:
        mine = stack.enter_context(closing(line_up(game, [agent])))
        settings["agent"] = mine.texts[0]
        if table is not None:
            settings["table"] = str(table)
            named = (*several(rungs), mine.texts[0])
            check_named(scale.rungs, f"the ladder {table}", "name it with --rungs", named)
        if mine.live and workers != 1:
            raise ValueError("a person plays in this process: leave workers out")
        rivals = stack.enter_context(closing(line_up(game, list(scale.rungs))))
        # If the agent is a rung, games against itself give no information.
        own = labelled(mine.texts[0])[1]
        pairs = [(0, k) for k, rung in enumerate(scale.rungs, 1) if rung != own]
        log = GamesLog(None, game, [*mine.names, *scale.rungs], {})
        here = [*mine.agents, *rivals.agents] if workers == 1 else [*mine.sent, *rivals.sent]
        schedule = Schedule(game, here, pairs, games, seed, strict, mine.live)
        with new_folder(out) as folder:
            with Work(log.finished, "games", schedule.total(), hidden=quiet or mine.live) as work:
                schedule.play(log, workers, lambda done, _, rung: work.update(done, scale.rungs[rung - 1]))
            results = [each for each in schedule.results(log.finished) if len(each)]
            elo = np.array([scale.elo[each.second - 1] for each in results])
            best, low, high = rating(elo, *by_unit(results), resamples, seed)
            return LadderReport(
                game=game,
                settings=settings,
                made=mine.made,
                complete=work.complete,
                seconds=work.seconds,
                agent=mine.names[0],
                ladder=scale,
                results=results,
                rating=best,
                interval=(low, high),
            ).kept(folder)


def rating(elo: np.ndarray, won: np.ndarray, lost: np.ndarray, resamples: int, seed: int) -> tuple[float, float, float]:
    """Return the most likely rating of an agent, and its 95 % interval.

    Args:
        elo: float64 (k,), ratings of the rungs.
        won, lost: float64 (seeds, k), the agent's wins and losses against each rung; a draw is half of both; both are 0
            for unplayed seeds.
        resamples, seed: number of resamples and seed of the bootstrap over seeds.

    Returns:
        The rating and the ends of the interval, which are nan for fewer than two seeds or without resamples.
    """
    seeds, k = won.shape
    played = ((won + lost) > 0).any(axis=1).sum()
    # A prior, one drawn seed that is divided among the rungs, keeps the rating finite if all games are won or lost.
    worth = (won + lost).sum() / max(((won + lost) > 0).sum(), 1) / 2
    best = float(_most_likely(elo, won.sum(axis=0)[None] + worth / k, lost.sum(axis=0)[None] + worth / k)[0])
    if played < 2 or not resamples:
        return best, np.nan, np.nan
    rng = np.random.default_rng(seed)
    weights = rng.standard_exponential((resamples, seeds))
    ups, downs = (weights @ each + rng.standard_gamma(1 / k, (resamples, k)) * worth for each in (won, lost))
    low, high = np.percentile(_most_likely(elo, ups, downs), (2.5, 97.5))
    wider = student(int(played) - 1) / 1.96 * np.sqrt((played + 1) / (played - 1))
    return best, min(best + wider * (low - best), best), max(best + wider * (high - best), best)


def _most_likely(elo: np.ndarray, won: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Return the ratings, float64 (r,), at which r agents' expected wins equal their wins, `won` summed over rungs."""
    low, high = np.full(len(won), elo.min() - _REACH), np.full(len(won), elo.max() + _REACH)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        chance = 1 / (1 + np.exp((elo - middle[:, None]) / ELO))
        more = (won - (won + lost) * chance).sum(axis=1) > 0
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.asarray((low + high) / 2)
