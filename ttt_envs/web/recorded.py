"""The files of records in a folder, and the games in each file."""

from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from ttt_envs.core.played_game import PlayedGame
from ttt_envs.evaluation.records import GameRecord, read
from ttt_envs.evaluation.records.replaying import replay
from ttt_envs.registry import GAMES, load
from ttt_envs.storage.files import existing
from ttt_envs.storage.tables import without_building
from ttt_envs.web.catalog import title_of
from ttt_envs.web.errors import Refused

#: The most files in the list, and the most games of a file.
MOST_FILES, COUNTED = 500, 1000


class Records:
    """The recorded games of a folder. Its methods read files, so call them in threads."""

    def __init__(self, folder: Path) -> None:
        """Read nothing yet. Raises FileNotFoundError, NotADirectoryError."""
        self.folder = existing(folder, "folder of records")
        if not self.folder.is_dir():
            raise NotADirectoryError(f"{folder} is a file: name the folder that it is in")

    def files(self) -> dict[str, Path]:
        """Return the latest `MOST_FILES` files of the folder and its subfolders by name, the latest first."""
        found = [path for end in ("jsonl", "jsonl.gz") for path in self.folder.rglob(f"*.{end}") if path.is_file()]
        latest = sorted(found, key=lambda path: -path.stat().st_mtime)
        names = {path.relative_to(self.folder).as_posix(): path for path in latest}
        # Names with invalid Unicode are left out, because a response cannot contain them.
        return dict(islice(((name, path) for name, path in names.items() if name.isprintable()), MOST_FILES))

    def listed(self) -> list[dict[str, Any]]:
        """Return for each file its name and time, and the number, titles and agents of its first `COUNTED` games."""
        times = {name: (path, path.stat().st_mtime) for name, path in self.files().items()}
        return [{"file": name, "touched": time, **_about(path, time)} for name, (path, time) in times.items()]

    def games(self, name: str) -> list[dict[str, Any]]:
        """Return the first `COUNTED` games of a file; raise Refused if it cannot be read."""
        try:
            return [_summary(k, record) for k, record in enumerate(islice(read(self._path(name)), COUNTED))]
        except (OSError, ValueError) as error:
            raise Refused(400, str(error)) from None

    def open(self, name: str, k: int) -> tuple[GameRecord, PlayedGame]:
        """Return game `k` of a file, counted from 0, replayed and checked; raise Refused if that fails."""
        try:
            record = next(islice(read(self._path(name)), k, None), None)
            if record is None:
                raise Refused(404, f"{name} has no game {k}")
            with without_building():
                (played,) = replay([record], unfinished=True)
        except (OSError, ValueError) as error:
            raise Refused(400, str(error)) from None
        live = PlayedGame(played.game, record.seed, played.actions.tolist())
        live.states[-1] = played.states[-1:].copy()  # over, if an agent has failed there
        return record, live

    def _path(self, name: str) -> Path:
        found = self.files()
        if name not in found:
            raise Refused(404, "there is no such file of records")
        return found[name]


@lru_cache(MOST_FILES)
def _about(path: Path, written: float) -> dict[str, Any]:
    try:
        games = list(islice(read(path), COUNTED + 1))
    except (OSError, ValueError) as error:
        return {"error": str(error)}
    ids = dict.fromkeys(each.game for each in games)
    agents = dict.fromkeys(agent for each in games for agent in each.agents)
    return {
        "games": [{"id": each, "title": _title(each)} for each in ids],
        "agents": [title_of(each) for each in agents],
        "count": min(len(games), COUNTED),
        "more": len(games) > COUNTED,
    }


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
    return load(game).title if game in GAMES else game
