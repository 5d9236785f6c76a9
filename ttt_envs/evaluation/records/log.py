"""The log of a tournament: its settings and its games, so that it can be resumed after any interruption.

The folder of a tournament holds `config.json`, with the settings that decide the games, and `games.jsonl`, to which the
games of each finished job are appended, one line per game (see `ttt_envs.evaluation.records.record`). The last line of
a job also has the key `job`, with data on all its games. A job without this line was cut off, and is played again.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text
from ttt_envs.core.version import __version__
from ttt_envs.evaluation.arena.play import Failure, Games, game_seeds
from ttt_envs.evaluation.arena.seating import Result, result_of, seatings
from ttt_envs.evaluation.records.record import RECORDS, GameRecord, of_games, record_of
from ttt_envs.evaluation.reports.report import Arguments
from ttt_envs.registry import GAMES, parse_options
from ttt_envs.storage.runs import CONFIG, check_same, read_config, write_config

#: Settings that may differ when a tournament is resumed. There may be more games and agents; `game` may be another name
#: of the same game.
MAY_CHANGE = ("game", "games", "resamples", "agents")


class GamesLog:
    """The results of a tournament, appended to a file; without a folder, only in memory.

    Attributes:
        finished: results of jobs, without actions, in order of completion.
    """

    def __init__(self, folder: Path | None, game: Game, names: Sequence[str], settings: Mapping[str, Any]) -> None:
        """`folder`: locked by the caller, or None. `names`: the agents' names. `settings`: see `as_settings`."""
        self._path = None if folder is None else folder / RECORDS
        self._game, self._names, self._settings = game, tuple(names), settings
        self._held = seatings(game)
        self._lines, self._configured = 0, False
        self.finished: list[Result] = []

    def resume(self) -> None:
        """Read the jobs of earlier calls, and drop an incomplete last line.

        Raises ValueError, naming the line, for a file that is damaged or from another tournament.
        """
        assert self._path is not None
        if not self._path.is_file():
            return
        whole, records = 0, list[GameRecord]()
        with self._path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                records.append(record_of(line, f"{self._path}, line {number}"))
                if records[-1].job is not None:
                    self.finished.append(self._job_of(records))
                    whole, self._lines, records = file.tell(), number, []
        os.truncate(self._path, whole)

    def _job_of(self, records: Sequence[GameRecord]) -> Result:
        last = records[-1]
        facts, size = last.job, len(self._held)
        try:
            (first, second), seeds = facts["agents"], range(*facts["seeds"])  # type: ignore[index]
            pair = self._names[first], self._names[second]
            seated = [tuple(np.where(held, *pair)) for held in self._held] * len(seeds)
            if [each.agents for each in records] != seated or {each.game for each in records} != {self._game.id}:
                raise ValueError("its games are not those of its job")
            games = _games(records, seeds.start * size, facts)  # type: ignore[arg-type]
            return result_of(first, second, [(seeds, games)], self._game)
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{last.place} is damaged, or of another tournament: {error}") from None

    def add(self, result: Result) -> None:
        """Add the result of a job; raise OSError if it cannot be written."""
        if self._path is not None:
            if not self._configured:
                write_config(self._path.parent, self._settings, {"numpy": "numpy", "numba": "numba"})
                self._configured = True
            seeds = game_seeds(self._settings["seed"], result.seeds.stop)[result.units]
            first = result.seeds.start * len(self._held)
            counted = replace(result, failures=[replace(each, game=each.game - first) for each in result.failures])
            *others, last = of_games(self._game, counted, self._names, result.seats, seeds, self._lines)
            job_of = {
                "agents": [result.first, result.second],
                "seeds": [result.seeds.start, result.seeds.stop],
                "seconds": result.seconds.tolist(),
                "decisions": result.decisions.tolist(),
                "counts": result.counts,
            }
            lines = [*others, replace(last, job=job_of)]
            with self._path.open("ab") as file:
                file.write("".join(f"{line.json()}\n" for line in lines).encode())
            self._lines += len(lines)
        self.finished.append(replace(result, actions={}))


def _games(records: Sequence[GameRecord], first: int, facts: Mapping[str, Any]) -> Games:
    """Return a job's games from their records; `first`: the number of the job's first game in its pairing."""
    return Games(
        rewards=np.array([each.rewards for each in records], np.float32),
        lengths=np.array([len(each.actions) for each in records]),
        moves=np.array([each.digest for each in records], np.uint64),
        seconds=np.array(facts["seconds"], np.float64),
        decisions=np.array(facts["decisions"], np.int64),
        spent=np.array([each.seconds for each in records], np.float64),
        failures=[
            Failure(
                each.agents[failure.player], first + k, each.seed, failure.player, len(each.actions), failure.reason,
                failure.position, failure.stderr,
            )
            for k, each in enumerate(records)
            for failure in each.failures
        ],
        counts=list(facts["counts"]),
    )  # fmt: skip


# --- settings ---


def as_settings(game: Game, settings: Arguments) -> dict[str, Any]:
    """Return the settings of a tournament in JSON's types, including those in `MAY_CHANGE`."""
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
    options = {name: as_text(value) for name, value in game.options.items()}
    return {"game": settings.game or game.id, "game_id": game.id, "option": options, **plain, "ttt_envs": __version__}


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of the tournament in a folder, see `as_settings`.

    Raises FileNotFoundError if there is nothing to resume, ValueError if the file is damaged.
    """
    settings: dict[str, Any] = read_config(folder, "no tournament to go on with")["settings"]
    try:
        kinds = {"agents": list, "pairs": list, "option": dict, "games": int, "seed": int, "resamples": int}
        kinds |= {"strict": bool, "game": str, "game_id": str, "ttt_envs": str}
        words = [*settings["agents"], *settings["pairs"], *settings["option"].values()]
        if [type(settings[name]) for name in kinds] != [*kinds.values()] or {*map(type, words)} - {str}:
            raise TypeError("a setting is of a wrong type")
        if settings["game_id"] in GAMES:
            parse_options(settings["game_id"], [f"{name}={text}" for name, text in settings["option"].items()])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / CONFIG} is damaged, or of no tournament: {error}") from None
    return settings


def check_goes_on(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise ValueError, naming settings that must not differ, unless `here` may continue the tournament `there`."""
    may_change = set(MAY_CHANGE)
    if here["games"] < there["games"]:
        may_change.remove("games")
    if here["agents"][: len(there["agents"])] != there["agents"]:
        may_change.remove("agents")
    check_same(f"the tournament in {folder}", there, here, may_change)
