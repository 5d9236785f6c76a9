"""Draw a mid-game position of each game for the pages, as docs/<id>.svg.

python -m tools.pictures
"""

from dataclasses import dataclass
from pathlib import Path

import tyro

import ttt_envs
from ttt_envs import agents
from ttt_envs.core.game import Game
from ttt_envs.evaluation.arena.play import play_games
from ttt_envs.storage.files import write_whole


@dataclass(frozen=True)
class Config:
    """Settings."""

    out: Path = Path("docs")
    """Folder for the pictures."""
    agent: str = "greedy"
    """Agent that plays the game to be drawn."""
    seed: int = 3
    """Seed of the game."""


def picture(game: Game, agent: str, seed: int) -> str:
    """Return an SVG drawing of the position two thirds through a game."""
    played = play_games(game, [agents.load(agent)], seats=[0] * game.num_players, games=1, seed=seed, record=[0])
    states = played.records[0].states
    return game.draw(states[2 * len(states) // 3], None) + "\n"


def main() -> None:
    """Run the command line."""
    config = tyro.cli(Config, description=__doc__)
    for game_id in ttt_envs.GAMES:
        write_whole(config.out / f"{game_id}.svg", picture(ttt_envs.load(game_id), config.agent, config.seed))
        print(game_id)


if __name__ == "__main__":
    main()
