"""A played game as an animated picture."""

import io
from pathlib import Path

import numpy as np

from ttt_envs.core.extras import require
from ttt_envs.core.files import write_whole
from ttt_envs.core.game import Game
from ttt_envs.drawing.raster import rasterise


def save_gif(path: Path, game: Game, states: np.ndarray, *, width: int = 360, seconds: float = 0.6) -> None:
    """Draw states (T,), one frame each, `width` pixels wide; the last one stays longer. Needs the extra `render`."""
    require("render", "PIL")
    from PIL import Image

    frames = [Image.fromarray(rasterise(game.draw(state, None), width)) for state in states]
    # One palette for all, so that colours do not flicker from frame to frame.
    every = np.concatenate([np.asarray(frame) for frame in frames[:: max(len(frames) // 8, 1)]])
    palette = Image.fromarray(every).quantize(64)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations = [int(1000 * seconds)] * (len(frames) - 1) + [4000]
    data = io.BytesIO()
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    write_whole(path, data.getvalue())
