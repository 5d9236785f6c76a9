"""A played game as an animated picture, or as a strip of its positions."""

import io
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.drawing.frame import INK, PAPER
from ttt_envs.drawing.lettering import text
from ttt_envs.drawing.parts import split
from ttt_envs.drawing.raster import rasterise
from ttt_envs.drawing.theme import STYLE, Theme
from ttt_envs.storage.extras import require
from ttt_envs.storage.files import write_whole

# In a strip: a picture's width, the height of its caption, and the space between pictures.
_WIDTH, _CAPTION, _SPACE = 260, 26, 14

# Elements that a strip repeats in each position, because they draw nothing themselves or others refer to them.
_FIXED = ("<defs", "<style", "<title", "<desc", "<linearGradient", "<radialGradient", "<clipPath", "<mask", "<filter")


class Frame(NamedTuple):
    """A picture of a game.

    Attributes:
        state: the record to draw.
        ply: number of plies before the picture.
        ended_round: whether the picture shows the final board of a round inside a match.
    """

    state: Any
    ply: int
    ended_round: bool = False


def frames_of(game: Game, states: np.ndarray, actions: np.ndarray) -> list[Frame]:
    """Return the pictures of a game: its positions, and the final boards of rounds inside it.

    Args:
        game: from `ttt_envs.load`.
        states: structured (T + 1,), the positions.
        actions: int (T, players), the actions in all positions but the last.
    """
    frames = [Frame(states[0], 0)]
    for ply, (before, joint, after) in enumerate(zip(states, actions, states[1:], strict=False), 1):
        finished = game.faces.finished_round(before, joint, after)
        if finished is not None:
            frames.append(Frame(finished[0], ply, ended_round=True))
        frames.append(Frame(after, ply))
    return frames


def move_text(game: Game, joint: Sequence[int] | np.ndarray, agents: Sequence[str] = (), spoken: bool = False) -> str:
    """Return the actions of one ply, int (players,), as text, such as "player 0: 4/4"; `agents` replaces "player 0".

    `spoken`: whether to use `Faces.spoken_action_names`.
    """
    names = (game.faces.spoken_action_names if spoken else ()) or game.action_names
    return ", ".join(
        f"{agents[player] if agents else f'player {player}'}: {names[action]}"
        for player, action in enumerate(joint)
        if action >= 0
    )


def save_film(
    path: Path,
    game: Game,
    states: np.ndarray,
    actions: np.ndarray,
    *,
    width: int = 360,
    seconds: float = 0.6,
    theme: Theme = "light",
) -> None:
    """Write `film` to a file."""
    write_whole(path, film(game, states, actions, width=width, seconds=seconds, theme=theme))


def film(
    game: Game,
    states: np.ndarray,
    actions: np.ndarray,
    *,
    width: int = 360,
    seconds: float = 0.6,
    theme: Theme = "light",
) -> bytes:
    """Return a game as an animated GIF of its positions.

    The final board of a round inside a match is shown before the next round. This board and the last position of the
    game stay longer than other positions. Needs the extra `render`.

    Args:
        game: from `ttt_envs.load`.
        states: structured (T + 1,), the positions.
        actions: int (T, players), the actions in all positions but the last.
        width: width of the picture in pixels.
        seconds: duration of each position.
        theme: colours, "light" or "dark".

    Raises ImportError with the command that installs the extra `render` if it is missing.
    """
    shown = frames_of(game, states, actions)
    durations = [3 * seconds if each.ended_round else seconds for each in shown]
    durations[-1] = 4.0

    def image(k: int) -> np.ndarray:
        return rasterise(game.draw(shown[k].state, None), width, theme)

    return _gif(image, durations)


def _gif(image: Callable[[int], np.ndarray], durations: Sequence[float]) -> bytes:
    """Return an animated GIF that shows image k, uint8 (height, width, 3), for durations[k] seconds."""
    require("render", "PIL")
    from PIL import Image

    # One palette for all frames, so that colours do not flicker.
    some = range(0, len(durations), max(len(durations) // 8, 1))
    palette = Image.fromarray(np.concatenate([image(k) for k in some])).quantize(64)
    # Each frame has 8 bits per pixel, because a long film in full colour would need too much memory.
    frames = [
        Image.fromarray(image(k)).quantize(palette=palette, dither=Image.Dither.NONE) for k in range(len(durations))
    ]
    data = io.BytesIO()
    milliseconds = [int(1000 * each) for each in durations]
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:], duration=milliseconds, loop=0)
    return data.getvalue()


def strip(game: Game, states: np.ndarray, actions: np.ndarray, *, agents: Sequence[str] = (), columns: int = 6) -> str:
    """Return a game as one SVG: its positions side by side, each with the actions before it as a caption.

    Parts that are the same in several positions are stored once in the SVG. Needs no extra.

    Args:
        game: from `ttt_envs.load`.
        states: structured (T + 1,), the positions.
        actions: int (T, players), the actions in all positions but the last.
        agents: names of the players' agents, for the captions.
        columns: number of positions per row.
    """
    shown = frames_of(game, states, actions)
    drawings = [split(game.draw(each.state, None).replace(STYLE, "")) for each in shown]
    times = Counter(text for each in drawings for text in each.elements)
    common = {
        text: f"p{k}"
        for k, (text, n) in enumerate(times.items())
        if n > 1 and not text.startswith(_FIXED) and " id=" not in text
    }
    height = max(_WIDTH * down / across for across, down in (each.size for each in drawings))
    columns = min(columns, len(shown))
    rows = -(-len(shown) // columns)
    wide, high = columns * (_WIDTH + _SPACE) + _SPACE, rows * (height + _CAPTION + _SPACE) + _SPACE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ttt" width="{wide}" height="{high:g}" '
        f'viewBox="0 0 {wide} {high:g}">{STYLE}',
        f'<rect width="{wide}" height="{high:g}" fill="{PAPER}"/><defs>',
        *(f'<g id="{name}">{text}</g>' for text, name in common.items()),
        "</defs>",
    ]
    for k, (frame, drawing) in enumerate(zip(shown, drawings, strict=True)):
        left = _SPACE + (k % columns) * (_WIDTH + _SPACE)
        top = _SPACE + (k // columns) * (height + _CAPTION + _SPACE)
        place = {"x": f"{left}", "y": f"{top:g}", "width": f"{_WIDTH}", "height": f"{height:g}"}
        parts.append(drawing.opening(**place))
        parts += [f'<use href="#{common[text]}"/>' if text in common else text for text in drawing.elements]
        words = f"{frame.ply}. {move_text(game, actions[frame.ply - 1], agents)}" if frame.ply else "start"
        words = shorten(words, 60, placeholder=" …")
        parts.append("</svg>" + text(words, left, top + height + 18, 14, INK, room=_WIDTH))
    return "".join(parts) + "</svg>"
