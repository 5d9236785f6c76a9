"""A played game as an animated picture."""

import io
from pathlib import Path

import numpy as np

from ttt_envs.core.extras import require
from ttt_envs.core.files import write_whole
from ttt_envs.core.game import Game
from ttt_envs.drawing.raster import rasterise


def save_gif(
    path: Path, game: Game, states: np.ndarray, actions: np.ndarray, *, width: int = 360, seconds: float = 0.6
) -> None:
    """Draw a game as an animated picture, `width` pixels wide: its positions, one after the other.

    Where a round inside a match has ended, its board is shown before the next one; it stays longer, as does the last
    position. Needs the extra `render`.

    Args:
        path: file to write.
        game: from `ttt_envs.load`.
        states: structured (T + 1,), the positions.
        actions: int (T, players), what was played in all but the last one.
        width: the width of the picture, in pixels.
        seconds: the time for which each position is shown.
    """
    require("render", "PIL")
    from PIL import Image

    shown, durations = [states[0]], [seconds]
    for before, joint, after in zip(states, actions, states[1:], strict=False):
        finished = game.finished_round(before, joint, after)
        if finished is not None:
            shown.append(finished[0])
            durations.append(3 * seconds)
        shown.append(after)
        durations.append(seconds)
    durations[-1] = 4.0
    frames = [Image.fromarray(rasterise(game.draw(state, None), width)) for state in shown]
    # One palette for all, so that colours do not flicker from frame to frame.
    every = np.concatenate([np.asarray(frame) for frame in frames[:: max(len(frames) // 8, 1)]])
    palette = Image.fromarray(every).quantize(64)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    data = io.BytesIO()
    milliseconds = [int(1000 * each) for each in durations]
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:], duration=milliseconds, loop=0)
    write_whole(path, data.getvalue())
