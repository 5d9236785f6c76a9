"""Draw pictures of games: lessons (positions given as text) and recorded games."""

import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import ttt_envs
from ttt_envs.core.presentation import Lesson
from ttt_envs.drawing.film import save_film
from ttt_envs.evaluation import records
from ttt_envs.evaluation.records.replaying import replay
from ttt_envs.registry import shown
from ttt_envs.storage.files import write_whole


class Picture(NamedTuple):
    """A picture for a page.

    Attributes:
        path: the picture's file.
        said: the alternative text, Markdown without links.
    """

    path: Path
    said: str


def lesson(folder: Path, game_id: str, given: Lesson) -> Picture:
    """Draw a lesson of a game into a folder; the file's name is a digest of the drawing."""
    game, states = shown(game_id, given)
    drawing = game.draw(states[0], given.viewer) + "\n"
    path = folder / f"{hashlib.sha256(drawing.encode()).hexdigest()[:16]}.svg"
    write_whole(path, drawing)
    return Picture(path, f"{game.title}: {game.format_state(states[0], given.viewer).splitlines()[0]}")


def film(folder: Path, record: Path) -> Picture:
    """Draw the first recorded game of a file into a folder, unless the same library code already drew it there.

    Raises OSError or ValueError if the file is missing, or is no record of a game with the present rules.
    """
    (game,) = replay([next(records.read(record))])
    path = folder / f"{hashlib.sha256(record.read_bytes() + _sources()).hexdigest()[:16]}.gif"
    if not path.exists():
        save_film(path, game.game, game.states, game.actions)
    return Picture(path, f"{game.game.title}: {' against '.join(game.record.agents)}, a recorded game")


@cache
def _sources() -> bytes:
    """Return a digest of the library's source files."""
    digest = hashlib.sha256()
    for path in sorted(Path(ttt_envs.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()
