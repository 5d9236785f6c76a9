"""The pictures of the pages: positions of every game, at full size and at 300 pixels, light and dark.

python -m tools.pictures

docs/<id>.svg is a position in mid-play. docs/pictures/<id>.svg has the opening, the middle and the end side by side,
and docs/pictures/<id>_light.png and <id>_dark.png the same with each picture 300 pixels wide.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

import ttt_envs
from ttt_envs import agents
from ttt_envs.core.game import Game
from ttt_envs.drawing.parts import split
from ttt_envs.drawing.raster import rasterise
from ttt_envs.drawing.theme import STYLE, Theme
from ttt_envs.evaluation.arena.play import play_games
from ttt_envs.storage.files import write_whole

#: Width of a small picture in pixels, and the space between pictures.
SMALL, SPACE = 300, 12

THEMES: tuple[Theme, ...] = ("light", "dark")


@dataclass(frozen=True)
class Config:
    """Settings."""

    out: Path = Path("docs")
    """Folder for the pictures."""
    agent: str = "greedy"
    """Agent that plays the game to be drawn."""
    seed: int = 3
    """Seed of the game."""


def positions(game: Game, agent: str, seed: int) -> list[np.void]:
    """The opening, the position two thirds through a game, and its end."""
    played = play_games(game, [agents.load(agent)], seats=[0] * game.num_players, games=1, seed=seed, record=[0])
    states = played.records[0].states
    return [states[0], states[2 * len(states) // 3], states[-1]]


def beside(pictures: list[str]) -> str:
    """Pictures of one size side by side, as one SVG."""
    drawings = [split(svg.replace(STYLE, "")) for svg in pictures]
    across, down = drawings[0].size
    width = len(drawings) * (across + SPACE) - SPACE
    parts = [
        drawing.opening(x=f"{k * (across + SPACE):g}", width=f"{across:g}", height=f"{down:g}")
        + "".join(drawing.elements)
        + "</svg>"
        for k, drawing in enumerate(drawings)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ttt" width="{width:g}" height="{down:g}" '
        f'viewBox="0 0 {width:g} {down:g}">{STYLE}{"".join(parts)}</svg>'
    )


def small(pictures: list[str], theme: Theme) -> bytes:
    """Pictures side by side as a PNG of few colours, each `SMALL` pixels wide."""
    from PIL import Image

    images = [Image.fromarray(rasterise(svg, SMALL, theme)) for svg in pictures]
    strip = Image.new("RGB", (len(images) * (SMALL + SPACE) - SPACE, images[0].height), "#808080")
    for k, image in enumerate(images):
        strip.paste(image, (k * (SMALL + SPACE), 0))
    data = io.BytesIO()
    strip.quantize(128, dither=Image.Dither.NONE).save(data, "PNG", optimize=True)
    return data.getvalue()


def main() -> None:
    """Command line."""
    config = tyro.cli(Config, description=__doc__)
    (config.out / "pictures").mkdir(parents=True, exist_ok=True)
    for game_id in ttt_envs.GAMES:
        game = ttt_envs.load(game_id)
        pictures = [game.draw(state, None) for state in positions(game, config.agent, config.seed)]
        write_whole(config.out / f"{game_id}.svg", pictures[1] + "\n")
        write_whole(config.out / "pictures" / f"{game_id}.svg", beside(pictures) + "\n")
        for theme in THEMES:
            write_whole(config.out / "pictures" / f"{game_id}_{theme}.png", small(pictures, theme))
        print(game_id)


if __name__ == "__main__":
    main()
