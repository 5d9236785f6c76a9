"""The finished jobs of a tournament, kept in its folder as they come, so that it can go on after any end.

The folder holds `config.json`, with the settings that decide the games, and `parts/`, files of arrays with checksums,
each written whole or not at all. A tournament that goes on reads them all; at its end they become one.
"""

import hashlib
import json
import re
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text, within
from ttt_envs.core.version import __version__
from ttt_envs.evaluation.arena.play import Failure, Games
from ttt_envs.evaluation.arena.seating import arrangements
from ttt_envs.evaluation.reports.report import Arguments
from ttt_envs.evaluation.tournaments.jobs import FinishedJob, Job, without_repeats
from ttt_envs.registry import GAMES, game_of_file, parse_options
from ttt_envs.storage.files import locked_folder, new_folder, reason_of
from ttt_envs.storage.runs import CONFIG, check_same, read_config, write_config
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors

PARTS = "parts"
FORM = "ttt-envs tournament part 2"

#: Settings that may differ when a tournament goes on. `games` may grow; `game` is how the game was named.
MAY_CHANGE = ("game", "games", "resamples", "chunk", "measured")

# The arrays with one row a game, and those with one row a job.
_OF_GAMES = {"rewards": np.float32, "lengths": np.int64, "moves": np.uint64, "spent": np.float64}
_OF_JOBS = {"seconds": np.float64, "decisions": np.int64}

# What no time, reward and count comes to.
_LONGEST = 1e12

# A file is written when so many seconds have passed since the last one; in a long tournament this share of its time,
# so that there are not too many files.
_LEAST, _SHARE, _MOST = 1.0, 0.01, 30.0


@contextmanager
def results_folder(
    game: Game, out: str | Path | None, goes_on: bool
) -> Iterator[tuple[Path | None, dict[str, Any] | None]]:
    """The folder of the results, locked, and the settings of the tournament in it if that goes on."""
    if not goes_on:
        with new_folder(out, begun=CONFIG) as folder:
            yield folder, None
        return
    if out is None:
        raise ValueError("resume and add need the folder of the tournament: out")
    read_settings(Path(out), game)  # before a folder is made
    with locked_folder(Path(out)):
        yield Path(out), read_settings(Path(out), game)


class PartStore:
    """The parts of a tournament, those of earlier calls included; without a folder they are in memory only.

    Attributes:
        parts: all of them, in no order.
    """

    def __init__(self, folder: Path | None, settings: Mapping[str, Any], game: Game) -> None:
        """Nothing is written before the first part is there.

        Args:
            folder: of the tournament, locked by the caller.
            settings: what `config.json` is to hold, see `as_settings`.
            game: the game.
        """
        self.folder, self.settings, self.game = folder, dict(settings), game
        self.parts: list[FinishedJob] = []
        self._waiting: list[FinishedJob] = []
        self._files: list[Path] = []
        self._before = 0.0
        self._began = self._written = time.monotonic()
        self._configured = False

    @property
    def seconds(self) -> float:
        """Wall time spent on the tournament, earlier calls included."""
        return self._before + time.monotonic() - self._began

    def read(self) -> None:
        """Take in the parts of earlier calls.

        Raises BadTensorFile, naming the file, for one that is damaged or of another tournament.
        """
        assert self.folder is not None
        self._files = sorted((self.folder / PARTS).glob("*.safetensors"))
        finished: list[FinishedJob] = []
        for path in self._files:
            seconds, parts = read_parts(path, self.settings["agents"], self.game, self.settings["games"])
            self._before = max(self._before, seconds)
            finished += parts
        self.parts = without_repeats(finished)

    def add(self, part: FinishedJob) -> None:
        """Keep a part. It is written with others, after a second or some.

        Where it cannot be written, a warning says so, and it stays in memory.
        """
        self.parts.append(part)
        self._waiting.append(part)
        pause = min(max(_LEAST, _SHARE * self.seconds), _MOST)
        if self.folder is not None and time.monotonic() > self._written + pause:
            try:
                self.write()
            except OSError as error:
                warnings.warn(f"finished games are in memory only: {reason_of(error)}", stacklevel=2)
            self._written = time.monotonic()

    def write(self) -> None:
        """Write what is not written yet; raises OSError if that is not possible."""
        if self.folder is None or not self._waiting:
            return
        if not self._configured:
            write_config(self.folder, self.settings, {"numpy": "numpy", "numba": "numba"})
            self._configured = True
        self._write(self._waiting)
        self._waiting = []

    def merge(self) -> None:
        """Make one file of all; raises OSError if it cannot be written."""
        self.write()
        if len(self._files) > 1:
            old = list(self._files)
            self._write(without_repeats(self.parts))
            for path in old:
                path.unlink()
                self._files.remove(path)

    def _write(self, parts: Sequence[FinishedJob]) -> None:
        assert self.folder is not None
        last = int(self._files[-1].stem) if self._files else 0
        path = self.folder / PARTS / f"{last + 1:06}.safetensors"
        try:
            write_parts(path, parts, self.settings["agents"], self.seconds)
        except OSError:
            with suppress(OSError):
                path.parent.rmdir()  # if there is nothing else in it
            raise
        self._files.append(path)


def as_settings(game: Game, settings: Arguments) -> dict[str, Any]:
    """The settings of a tournament as JSON's types; those in `MAY_CHANGE` included."""
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
    named = {"game": settings.game or game.id, "game_id": game.id, "option": _texts(game)}
    return {**named, **plain, "ttt_envs": __version__}


def _texts(game: Game) -> dict[str, str]:
    return {name: as_text(value) for name, value in game.options.items()}


def read_settings(folder: Path, game: Game | None = None) -> dict[str, Any]:
    """The settings of the tournament in a folder, see `as_settings`; `game` is that of it, if it is not registered.

    Raises FileNotFoundError if there is nothing to go on with, ValueError if the file is damaged.
    """
    settings: dict[str, Any] = read_config(folder, "no tournament to go on with")["settings"]
    try:
        agents, options = settings["agents"], settings["option"]
        texts = [settings["game"], settings["game_id"], settings["ttt_envs"], *agents, *options.values()]
        texts += settings.setdefault("pairs", [])
        numbers = [settings["games"], settings["seed"], settings["resamples"]]
        numbers += [each for each in [settings.get("chunk")] if each is not None]
        flags = [settings.get(name, False) for name in ("strict", "record", "isolate")]
        kinds = ((texts, str), (numbers, int), (flags, bool))
        if (
            not isinstance(agents, list)
            or not all(type(each) is kind for some, kind in kinds for each in some)
            or not all(name.isidentifier() for name in options)
            or not all(re.fullmatch(r"[a-z0-9][a-z0-9:-]*", each) for each in settings["pairs"])
        ):
            raise ValueError("a setting is of a wrong type")
        known: str | Game = settings["game_id"] if game is None or game.id != settings["game_id"] else game
        if known is game or known in GAMES:
            given = parse_options(known, [f"{name}={text}" for name, text in options.items()])
            settings["option"] = _texts(game_of_file(known, given))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / CONFIG} is damaged, or of no tournament: {error}") from None
    return settings


def check_goes_on(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise ValueError, naming them, if settings differ that may not, or if there are to be fewer games than before."""
    fewer = here["games"] < there["games"]
    may_change = [name for name in MAY_CHANGE if not (fewer and name == "games")]
    hint = "; further agents are given by --add" if here["agents"] != there["agents"] else ""
    check_same(f"the tournament in {folder}", there, here, may_change, hint)


def write_parts(path: Path, parts: Sequence[FinishedJob], agents: Sequence[str], seconds: float) -> None:
    """Write parts in one file, whole or not at all; `seconds`: spent on the tournament so far."""
    games = [part.games for part in parts]
    tensors = {
        "units": np.array([[p.job.first, p.job.second, p.job.start, p.job.stop] for p in parts], np.int64),
        **{name: np.concatenate([getattr(each, name) for each in games]) for name in _OF_GAMES},
        **{name: np.stack([getattr(each, name) for each in games]) for name in _OF_JOBS},
        **_kept(games),
    }
    failures = [[asdict(failure) for failure in each.failures] for each in games]
    facts = {
        "agents": list(agents),
        "seconds": seconds,
        "failures": failures,
        "counts": [each.counts for each in games],
    }
    write_tensors(path, FORM, {**facts, "sha256": _digest(facts, tensors)}, tensors)


def read_parts(path: Path, agents: Sequence[str], game: Game, most: int) -> tuple[float, list[FinishedJob]]:
    """The seconds and parts of a file by `write_parts`, of a tournament with at most so many games of a pairing.

    Raises BadTensorFile, naming it and the fault, if it is damaged, or does not belong to these agents or this game. A
    checksum says only that the file is as somebody wrote it: all numbers in it are checked.
    """
    seatings, players = len(arrangements(game)), game.num_players
    facts, tensors = read_tensors(path, FORM)
    try:
        if facts.pop("sha256") != _digest(facts, tensors):
            raise ValueError("its checksum is wrong")
        if facts["agents"] != list(agents[: len(facts["agents"])]):
            raise ValueError(f"it has the agents {', '.join(facts['agents'])}")
        jobs = [Job(*map(int, row)) for row in tensors["units"]]
        if not all(0 <= u.first < u.second < len(facts["agents"]) and 0 <= u.start < u.stop for u in jobs):
            raise ValueError("its jobs are not those of a tournament")
        last = max((job.stop for job in jobs), default=0)
        if last > -(-most // seatings):
            raise ValueError(f"it has seed number {last - 1}, and {most} games of a pairing do not")
        ends = np.cumsum([(job.stop - job.start) * seatings for job in jobs]).tolist()
        n = ends[-1] if ends else 0
        shapes = {"rewards": (n, players), "lengths": (n,), "moves": (n,), "spent": (n, players)}
        for name, shape in {**shapes, **dict.fromkeys(_OF_JOBS, (len(jobs), 2))}.items():
            if tensors[name].shape != shape:
                raise ValueError(f"{name} has shape {tensors[name].shape}, not {shape}")
        for name in (*shapes, *_OF_JOBS):
            _check_numbers(name, tensors[name], game)
        within(0.0, _LONGEST, seconds=facts["seconds"])
        actions = _actions(tensors, jobs, game)
        parts = []
        for k, (job, failures, counts) in enumerate(zip(jobs, facts["failures"], facts["counts"], strict=True)):
            numbers = [number for each in counts for number in each.values()]
            if len(counts) != 2 or not all(type(each) in (int, float) and abs(each) < _LONGEST for each in numbers):
                raise ValueError("its counts are not those of two agents")
            rows = slice(ends[k - 1] if k else 0, ends[k])
            arrays: dict[str, Any] = {name: tensors[name][rows].astype(kind) for name, kind in _OF_GAMES.items()}
            arrays |= {name: tensors[name][k].astype(kind) for name, kind in _OF_JOBS.items()}
            failed = [_failure(each, range(job.start * seatings, job.stop * seatings), game) for each in failures]
            games = Games(**arrays, actions=actions[k], failures=failed, counts=counts)
            parts.append(FinishedJob(job, games))
        return float(facts["seconds"]), parts
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise BadTensorFile(
            f"{path} is damaged, or of another tournament: {error}. Without it, its games are played again"
        ) from None


def _kept(games: Sequence[Games]) -> dict[str, np.ndarray]:
    """The actions of the games of which they were kept: whose they are, and one row a ply."""
    mine = [(job, k, each) for job, some in enumerate(games) for k, each in some.actions.items()]
    rows = [each.astype(np.int32) for _, _, each in mine]
    return {
        "kept": np.array([(job, k, len(each)) for job, k, each in mine], np.int64).reshape(-1, 3),
        "actions": np.concatenate(rows) if rows else np.zeros((0, 1), np.int32),
    }


def _check_numbers(name: str, array: np.ndarray, game: Game) -> None:
    """Raise ValueError, naming the wrong one, unless the numbers of an array of a file can be those of games."""
    kind = {**_OF_GAMES, **_OF_JOBS}[name]
    if not np.can_cast(array.dtype, kind, "same_kind"):
        raise ValueError(f"{name} has the type {array.dtype}")
    low, high = {"rewards": (-_LONGEST, _LONGEST), "lengths": (0, game.max_plies)}.get(name, (0, _LONGEST))
    wrong = ~((array >= low) & (array <= high)) if name != "moves" else np.zeros(0, np.bool_)
    if wrong.any():
        raise ValueError(f"{name} has {array[wrong][0]}, and must be numbers from {low:g} to {high:g}")


def _failure(saved: Mapping[str, Any], numbers: range, game: Game) -> Failure:
    """A failure of a file; TypeError or ValueError if it is none in games of these numbers."""
    failure = Failure(**saved)
    for text in (failure.agent, failure.reason, failure.position, failure.stderr):
        text.encode()  # UnicodeEncodeError for what no report can hold
    within(numbers.start, numbers.stop - 1, **{"the game of a failure": failure.game})
    within(0, 2**64 - 1, **{"the seed of a failure": failure.seed})
    within(0, game.num_players - 1, **{"the player of a failure": failure.player})
    within(0, game.max_plies, **{"the ply of a failure": failure.ply})
    return failure


def _actions(tensors: Mapping[str, np.ndarray], jobs: Sequence[Job], game: Game) -> list[dict[int, np.ndarray]]:
    """The actions by game, job by job, as `_kept` wrote them; ValueError if they do not fit."""
    kept, rows, players = tensors["kept"], tensors["actions"], game.num_players
    if kept.ndim != 2 or kept.shape[1] != 3 or not np.issubdtype(kept.dtype, np.integer):
        raise ValueError("its actions do not say which games they belong to")
    ends = np.cumsum(kept[:, 2]) if len(kept) else np.zeros(0, np.int64)
    whole = len(rows) == (ends[-1] if len(ends) else 0) and (not len(rows) or rows.shape[1:] == (players,))
    if not whole or (kept < 0).any() or (kept[:, 0] >= len(jobs)).any():
        raise ValueError("its actions do not fit its games")
    if not np.issubdtype(rows.dtype, np.integer) or (rows < -1).any() or (rows >= game.num_actions).any():
        raise ValueError(f"its actions must be -1, or actions 0 to {game.num_actions - 1} of {game.id}")
    sizes = [(job.stop - job.start) * len(arrangements(game)) for job in jobs]
    starts = np.cumsum([0, *sizes])
    actions: list[dict[int, np.ndarray]] = [{} for _ in jobs]
    for (job, k, plies), end in zip(kept.tolist(), ends.tolist(), strict=True):
        if k >= sizes[job] or k in actions[job] or plies != tensors["lengths"][starts[job] + k]:
            raise ValueError(f"the actions of game {k} of its job {job} are not those of so many plies")
        actions[job][k] = rows[end - plies : end].astype(np.int64)
    return actions


def _digest(facts: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> str:
    """Hex digest of all that a file holds."""
    digest = hashlib.sha256(json.dumps(dict(facts), sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape} ".encode() + np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()
