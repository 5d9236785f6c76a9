"""The pictures of the pages: a position of every game in mid-play, as docs/<id>.svg.

python -m tools.pictures
"""

from dataclasses import dataclass
from pathlib import Path

import tyro

import ttt_envs
from ttt_envs import agents
from ttt_envs.core.files import write_whole
from ttt_envs.evaluation.play import game_seeds, play_games


@dataclass(frozen=True)
class Config:
    """Settings."""

    out: Path = Path("docs")
    """Folder for the pictures."""
    agent: str = "greedy"
    """Agent that plays the game to be drawn."""
    seed: int = 3
    """Seed of the game."""


def picture(game_id: str, agent: str, seed: int) -> str:
    """SVG of the position two thirds through a game."""
    game = ttt_envs.load(game_id)
    played = play_games(game, [agents.load(agent)], [0] * game.num_players, game_seeds(seed, 1), record=[0])
    states = played.records[0].states
    return game.draw(states[2 * len(states) // 3], None)


def main() -> None:
    """Command line."""
    config = tyro.cli(Config, description=__doc__)
    for game_id in ttt_envs.GAMES:
        path = config.out / f"{game_id}.svg"
        write_whole(path, picture(game_id, config.agent, config.seed) + "\n")
        print(path)


if __name__ == "__main__":
    main()
