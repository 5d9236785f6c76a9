"""The games of a calibration: what each two agents scored against each other, kept in a file."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents import load
from ttt_envs.agents.shipped import digests
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST
from ttt_envs.evaluation.arena.bout import Bout, Results
from ttt_envs.evaluation.arena.seating import arrangements, held_seats, per_unit
from ttt_envs.evaluation.placements.ladder import Ladder, Pair, fit, plain_options
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import write_json
from ttt_envs.registry import game_of_file
from ttt_envs.storage.files import existing
from ttt_envs.storage.outside import brief, read_json

#: The file of a calibration's games, from which it goes on.
PAIRS = "pairs.json"

# What no number of games, decisions or seconds comes to.
_LARGEST = 1e12


@dataclass
class Played:
    """The scores of two agents so far, in the order of their names; see `Pair`.

    Attributes:
        seconds, decisions: processor time of both agents, and how often they chose.
    """

    units: dict[tuple[float, float], int] = field(default_factory=dict)
    seatings: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    plies: int = 0
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(2))
    decisions: np.ndarray = field(default_factory=lambda: np.zeros(2, np.int64))

    @property
    def count(self) -> int:
        """Number of units."""
        return sum(self.units.values())

    def add(self, results: Results) -> None:
        """Add games."""
        for won, lost in zip(*results.by_unit(), strict=True):
            kind = float(won), float(lost)
            self.units[kind] = self.units.get(kind, 0) + 1
        seatings = np.array(results.by_seating(), np.int64)
        self.seatings = self.seatings + seatings if len(self.seatings) else seatings
        self.plies += int(results.games.lengths.sum())
        self.seconds = self.seconds + results.games.seconds
        self.decisions = self.decisions + results.games.decisions

    def fault(self, game: Game) -> str:
        """The first fault of numbers that come from a file, as text; empty if games of two agents can have them."""
        for name in ("seatings", "decisions", "seconds"):
            value = getattr(self, name)
            if not ((value >= 0) & (value < _LARGEST)).all():
                return f"{name} has {value.tolist()}, and must be numbers from 0 to {_LARGEST:g}"
        seatings = arrangements(game)
        games, most = self.count * len(seatings), per_unit(held_seats(seatings))
        for (won, lost), units in self.units.items():
            if not (won >= 0 and lost >= 0 and won + lost <= most and 0 < units < MOST):
                return f"units has {[won, lost, units]}: a unit has {most:g} comparisons, and there is one or more"
        if len(self.seatings) != len(seatings) or (self.seatings.sum(axis=1) != self.count).any():
            return f"seatings must have {self.count} games for each of {len(seatings)} seatings"
        if not 0 <= self.plies <= games * game.max_plies:
            return f"plies is {self.plies}, and must be from 0 to {games * game.max_plies}"
        return ""


class Pairs:
    """The games of agents, two by two, kept in a folder if there is one."""

    def __init__(self, game: Game, seed: int, folder: Path | None, chunk: int | None) -> None:
        """Take up the games of the folder; ValueError if they are of another game or seed."""
        self.game, self.seed, self.folder, self.chunk = game, seed, folder, chunk
        self.held = held_seats(arrangements(game))
        self.played: dict[tuple[str, str], Played] = {}
        self._agents: dict[str, Any] = {}
        if folder is not None and (folder / PAIRS).exists():
            self._read(folder / PAIRS)

    def units(self, games: int) -> int:
        """The units of so many games."""
        return -(-games // len(self.held))

    def agent(self, name: str) -> Any:
        """An agent, loaded once."""
        if name not in self._agents:
            self._agents[name] = load(name)
        return self._agents[name]

    def play(self, one: str, other: str, games: int, work: Work) -> None:
        """Play until the two have so many games, and write them."""
        first, second = sorted((one, other))
        played = self.played.get((first, second), Played())
        missing = range(played.count, self.units(games))
        if not missing:
            return
        work.update(sum(each.count for each in self.played.values()), f"{first} – {second}")
        pair = self.agent(first), self.agent(second)
        bout = Bout(self.game, pair, self.held, self.seed, f"{first} – {second}")
        results = Results.none(self.game, self.held)
        wall, processor = time.perf_counter(), time.process_time()
        try:
            results.extend(self.game, bout.play(missing, chunk=self.chunk))
        finally:
            if results.count:
                # On a busy machine, clocks on the wall measure what others do.
                busy = (time.process_time() - processor) / max(time.perf_counter() - wall, 1e-9)
                results.games.seconds = results.games.seconds * min(busy, 1.0)
                played.add(results)
                self.played[first, second] = played
                self._write()

    def seconds(self, name: str) -> float:
        """Processor time of a decision of an agent: the median over its opponents, since some games compile."""
        times = []
        for pair, played in self.played.items():
            if name in pair and played.decisions[k := pair.index(name)]:
                times.append(played.seconds[k] / played.decisions[k])
        return float(np.median(times)) if times else 0.0

    def ladder(self, rungs: Sequence[str], version: int, made: Mapping[str, Any]) -> Ladder:
        """The ladder of these agents by the games so far."""
        pairs = []
        for i, j in combinations(range(len(rungs)), 2):
            first, second = sorted((i, j), key=lambda k: rungs[k])
            played = self.played.get((rungs[first], rungs[second]))
            if played is not None:
                units = tuple((won, lost, n) for (won, lost), n in sorted(played.units.items()))
                seatings = tuple((int(won), int(drawn), int(lost)) for won, drawn, lost in played.seatings)
                pairs.append(Pair(first, second, units, seatings, played.plies))
        seconds = np.array([self.seconds(name) for name in rungs])
        return fit(self.game, rungs, pairs, seconds, version=version, made=made)

    def _facts(self) -> dict[str, Any]:
        return {"game": self.game.id, "options": plain_options(self.game), "seed": self.seed}

    def _write(self) -> None:
        if self.folder is None:
            return
        pairs = [
            {
                "agents": list(names),
                "units": [[*kind, n] for kind, n in sorted(played.units.items())],
                "seatings": played.seatings,
                "plies": played.plies,
                "seconds": played.seconds,
                "decisions": played.decisions,
            }
            for names, played in self.played.items()
        ]
        trained = digests(name for names in self.played for name in names)
        write_json(self.folder / PAIRS, {**self._facts(), "trained": trained, "pairs": pairs})

    def _read(self, path: Path) -> None:
        try:
            data = read_json(existing(path, "calibration").read_bytes())
            facts = {name: data[name] for name in self._facts()}
            if facts["game"] == self.game.id:
                facts["options"] = plain_options(game_of_file(self.game, facts["options"]))
            then = dict(data.get("trained", {}))
            for each in data["pairs"]:
                first, second = each["agents"]
                played = Played(
                    {(float(won), float(lost)): int(n) for won, lost, n in each["units"]},
                    np.array(each["seatings"], np.int64).reshape(-1, 3),
                    int(each["plies"]),
                    np.array(each["seconds"], np.float64).reshape(2),
                    np.array(each["decisions"], np.int64).reshape(2),
                )
                if not isinstance(first, str) or not isinstance(second, str) or first >= second:
                    raise ValueError(f"agents must be two names in order, not {brief(repr(each['agents']))}")
                if reason := played.fault(self.game):
                    raise ValueError(f"{brief(first)} – {brief(second)}: {reason}")
                self.played[first, second] = played
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        for name, now in digests(name for names in self.played for name in names).items():
            if then.get(name, now) != now:
                raise ValueError(f"{path} has games of {name}, which has changed since: choose another folder")
        for name, value in self._facts().items():
            if facts[name] != value:
                raise ValueError(f"{path} has games with {name} {facts[name]}, not {value}: choose another folder")
