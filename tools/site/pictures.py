"""Pictures of games: positions that are given as text, and recorded games."""

import hashlib
import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ttt_envs
from ttt_envs import cli
from ttt_envs.core.game import Game
from ttt_envs.evaluation import records
from ttt_envs.evaluation.records.replaying import replay
from ttt_envs.registry import parse_options
from ttt_envs.storage.files import write_whole


class Picture(NamedTuple):
    """A picture for a page.

    Attributes:
        path: its file.
        said: what it shows, for those who do not see it; Markdown without links.
    """

    path: Path
    said: str


def played(game: Game, text: str, plies: Sequence[str]) -> np.ndarray:
    """The position of a text after some plies: structured (1,).

    A ply is an action's name; in a game in which players act at once the names of their actions with "/" between them.
    Raises ValueError for what is no position, or no legal action.
    """
    states = game.parse_state(text)
    for ply in plies:
        # Elsewhere an action's own name may hold a slash.
        names = ply.split("/") if game.simultaneous else [ply]
        chosen = [game.parse_action(name) for name in names]
        states = game.step(states, [chosen] if len(chosen) > 1 else chosen)
    return states


def position(folder: Path, words: str, text: str, *, play: str = "", viewer: int | None = None) -> Picture:
    """Draw a position into a folder.

    Args:
        folder: where the picture is put; its name follows from what it shows.
        words: id and options of the game, such as "tic_tac_dice rounds=single".
        text: the position.
        play: the plies that follow it, with ";" between them.
        viewer: the player through whose eyes it is drawn; None shows everything.

    Raises ValueError or TypeError for an unknown game or option, and for what is no position or no legal action.
    """
    game_id, *given = words.split()
    game = ttt_envs.load(game_id, **parse_options(game_id, given))
    state = played(game, text, [ply.strip() for ply in play.split(";") if ply.strip()])[0]
    drawing = game.draw(state, viewer) + "\n"
    path = folder / f"{hashlib.sha256(drawing.encode()).hexdigest()[:16]}.svg"
    write_whole(path, drawing)
    return Picture(path, f"{game.title}: {game.format_state(state, viewer).splitlines()[0]}")


def film(folder: Path, record: Path) -> Picture:
    """Draw the first recorded game of a file into a folder, unless this library has drawn it there already.

    Raises OSError or ValueError for a file that is missing, or no record of a game by these rules.
    """
    (game,) = replay([next(records.read(record))])
    path = folder / f"{hashlib.sha256(record.read_bytes() + _sources()).hexdigest()[:16]}.gif"
    if not path.exists():
        words = ["film", "--record", str(record), "--game", str(game.record.number), "--out", str(path)]
        with redirect_stdout(io.StringIO()):
            if cli.main(words):
                raise ValueError(f"this command failed: ttt {' '.join(words)}")
    return Picture(path, f"{game.game.title}: {' against '.join(game.record.agents)}, a recorded game")


@cache
def _sources() -> bytes:
    """A digest of the library."""
    digest = hashlib.sha256()
    for path in sorted(Path(ttt_envs.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()
