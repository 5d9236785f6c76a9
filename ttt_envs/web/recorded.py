"""Recorded games in a folder that the server's owner has named: its files, their games, and each position.

A request names a file by its place in the list, so that no path from the outside reaches the file system.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from ttt_envs.drawing.film import Frame, frames_of, move_text
from ttt_envs.evaluation.records import GameRecord, read
from ttt_envs.evaluation.records.replaying import ReplayedGame, replay
from ttt_envs.evaluation.thoughts import Judgement
from ttt_envs.registry import GAMES, load
from ttt_envs.storage.files import existing
from ttt_envs.storage.tables import without_building
from ttt_envs.web.catalog import title_of
from ttt_envs.web.refusals import Refused
from ttt_envs.web.shown import result, still

#: Files that are listed, games that are counted in a file, and games of one file in one answer.
MOST_FILES, COUNTED, PAGE = 500, 1000, 100

# Replayed games that are kept.
_KEPT = 16


@dataclass(eq=False)
class OpenedGame:
    """A recorded game, replayed.

    Attributes:
        played: the game.
        frames: its pictures: positions, and boards of rounds that ended.
        review: what its decisions have lost, once somebody has asked.
        reviewing: held while that is worked out.
    """

    played: ReplayedGame
    frames: list[Frame]
    review: list[Judgement] | None = None
    reviewing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Records:
    """The recorded games of a folder. Its methods read files: they are for threads, except `frame`."""

    def __init__(self, folder: Path | None) -> None:
        """`folder`: None for none. Raises FileNotFoundError, NotADirectoryError."""
        self.folder = None if folder is None else existing(folder, "folder of records").resolve()
        if self.folder is not None and not self.folder.is_dir():
            raise NotADirectoryError(f"{folder} is a file: name the folder that it is in")
        self._lock = Lock()
        self._told: dict[Path, tuple[float, dict[str, Any]]] = {}
        self._opened: OrderedDict[tuple[Path, float, int], OpenedGame] = OrderedDict()

    def files(self) -> list[Path]:
        """The files of the folder and the folders in it, in order.

        Links that lead out of it are left out, and names that are no Unicode, which no answer can hold.
        """
        if self.folder is None:
            return []
        found = sorted(path for end in ("jsonl", "jsonl.gz") for path in self.folder.rglob(f"*.{end}"))
        inside = [path for path in found if path.is_file() and path.resolve().is_relative_to(self.folder)]
        names = [str(path.relative_to(self.folder)) for path in inside]
        named = [
            path for path, name in zip(inside, names, strict=True) if name == name.encode(errors="ignore").decode()
        ]
        return named[:MOST_FILES]

    def list(self) -> list[dict[str, Any]]:
        """These files: name, time of writing, and of their first `COUNTED` games the number, the titles and agents."""
        found = []
        for path in self.files():
            time, told = self._told.get(path, (None, {}))
            if time != (now := path.stat().st_mtime):
                told = self._about(path)
                self._told[path] = now, told
            found.append({"file": str(path.relative_to(self.folder or "")), "touched": now, **told})
        return found

    def _about(self, path: Path) -> dict[str, Any]:
        """The contents of a file, or its fault."""
        try:
            games = list(islice(read(path), COUNTED + 1))
        except (OSError, ValueError) as error:
            return {"error": self._without_folder(error)}
        ids = dict.fromkeys(each.game for each in games)
        agents = dict.fromkeys(agent for each in games for agent in each.agents)
        return {
            "games": [{"id": each, "title": _title(each)} for each in ids],
            "agents": [title_of(each) for each in agents],
            "count": min(len(games), COUNTED),
            "more": len(games) > COUNTED,
        }

    def games(self, name: str, first: int) -> dict[str, Any]:
        """`PAGE` games of a file from number `first` on, and whether there are more; raises Refused."""
        path = self._path(name)
        try:
            found = list(islice(read(path), first, first + PAGE + 1))
        except (OSError, ValueError) as error:
            raise Refused(400, self._without_folder(error)) from None
        return {
            "file": name,
            "first": first,
            "more": len(found) > PAGE,
            "games": [_summary(first + k, record) for k, record in enumerate(found[:PAGE])],
        }

    def open(self, name: str, k: int) -> OpenedGame:
        """Game `k` of a file, counted from 0, replayed and checked; raises Refused."""
        path = self._path(name)
        key = path, path.stat().st_mtime, k
        opened = self._opened.get(key)
        if opened is None:
            try:
                record = next(islice(read(path), k, None), None)
                if record is None:
                    raise Refused(404, f"{name} has no game {k}")
                with without_building():
                    (played,) = replay([record])
            except (OSError, ValueError) as error:
                raise Refused(400, self._without_folder(error)) from None
            opened = OpenedGame(played, frames_of(played.game, played.states, played.actions))
            with self._lock:
                self._opened[key] = opened
                while len(self._opened) > _KEPT:
                    self._opened.popitem(last=False)
        return opened

    def _path(self, name: str) -> Path:
        """The file of that name in the list; raises Refused if it is not there."""
        found = {str(path.relative_to(self.folder or "")): path for path in self.files()}
        if name not in found:
            raise Refused(404, "there is no such file of records")
        return found[name]

    def _without_folder(self, error: Exception) -> str:
        """An error's text, which does not tell where the folder is."""
        return str(error).replace(f"{self.folder}/", "")


def _summary(k: int, record: GameRecord) -> dict[str, Any]:
    return {
        "index": k,
        "number": record.number,
        "title": _title(record.game),
        "agents": [title_of(agent) for agent in record.agents],
        "plies": len(record.actions),
        "winners": [title_of(agent) for agent in record.winners],
    }


def _title(game: str) -> str:
    """The title of a game that a file names, which may be no registered one."""
    return load(game).title if game in GAMES else game


def frame(opened: OpenedGame, k: int) -> dict[str, Any]:
    """Picture `k` of a recorded game, all cards open, and what led to it; raises Refused if there is none."""
    played, frames = opened.played, opened.frames
    if k >= len(frames):
        raise Refused(404, f"the game has {len(frames)} pictures")
    shown, game = frames[k], played.game
    seats = [f"{name}, {title_of(agent)}" for name, agent in zip(game.player_names, played.record.agents, strict=True)]
    return {
        "frame": k,
        "frames": len(frames),
        "ply": shown.ply,
        "ended_round": shown.ended_round,
        "game": {"id": game.id, "title": game.title, "rules": game.faces.rules_text},
        "agents": seats,
        "number": played.record.number,
        "players": game.player_names,
        "move": move_text(game, played.actions[shown.ply - 1], game.player_names, spoken=True)
        if shown.ply
        else "start",
        **still(game, shown.state, None),
        "result": result(game, played.states[-1]) if k == len(frames) - 1 else None,
    }
