"""Train an agent by self-play, rate it in a tournament, and film a game: about three minutes on two cores.

    python -m training.demo tic_tac_dice

With the same seed, machine and library versions the figures are the same. After an interrupt, the same command
continues with what was trained.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console

import ttt_envs
from training import checkpoint, ppo
from ttt_envs import agents
from ttt_envs.cli import shell
from ttt_envs.core.files import in_use, is_empty, locked_folder, write_whole
from ttt_envs.core.game import Game
from ttt_envs.core.options import command_line
from ttt_envs.drawing.film import save_gif
from ttt_envs.evaluation import game_seeds, play_games, tournament
from ttt_envs.registry import parse_options

FILM = "game.gif"
#: Decisions to train on, where 4 million take much more than two minutes.
STEPS = {"tic_tac_match": 1_000_000, "operation_tic_tac_toe": 800_000}
DEFAULT_GAME = next(iter(ttt_envs.GAMES))


@dataclass(frozen=True)
class Config:
    """Settings of the demo."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")] = DEFAULT_GAME
    """Id of the game; `ttt games` lists them."""
    option: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[NAME=VALUE ...]")] = ()
    """Options of the game, such as size=3; `ttt describe GAME` lists them."""
    steps: int | None = None
    """Decisions to train on; by default what takes about two minutes."""
    games: int = 100
    """Games of each pairing of the tournament."""
    rivals: tuple[str, ...] = ()
    """Agents that the trained one is rated against; by default random, greedy, a tree search and best play, as far as
    they can play the game."""
    seed: int = 0
    """Seed of all random numbers."""
    out: Path = Path("runs/demo")
    """Folder for the results; gets a number if it holds others."""


def demo(config: Config) -> Path:
    """Train, rate, film; returns the folder with the results. Raises KeyboardInterrupt if it is interrupted."""
    options = parse_options(config.game, config.option)
    folder, resume = folder_for(config, options)
    with locked_folder(folder):
        return _demo(config, options, folder, resume)


def _demo(config: Config, options: dict[str, Any], folder: Path, resume: bool) -> Path:
    """Train, rate, film, in a folder that is locked."""
    console = Console()
    started = time.perf_counter()
    game = ttt_envs.load(config.game, **options)
    rivals = config.rivals or default_rivals(game)

    console.rule(f"1/3  Training by self-play: {game.title}")
    training = folder / "training"
    trained = ppo.train(training_config(config, options, training, resume))
    if not trained.finished:
        raise KeyboardInterrupt(f"what was trained is in {training}, and the same command continues")
    write_whole(folder / "curve.png", (training / "curve.png").read_bytes())

    console.rule("2/3  Tournament")
    ours = f"network:{training}"
    rated = tournament(game, [*rivals, ours], games=config.games, seed=config.seed)
    if not rated.complete:
        raise KeyboardInterrupt(f"what was trained is in {training}, and the same command continues")
    rated.save(folder / "tournament")
    for table in rated.tables()[:2]:
        console.print(table.rich())

    console.rule("3/3  A game on film")
    strongest = next(rated.agents[i] for i in rated.order if rated.agents[i] != ours)
    seats = np.minimum(np.arange(game.num_players), 1)
    film = play_games(game, [agents.load(ours), agents.load(strongest)], seats, game_seeds(config.seed, 1), record=[0])
    save_gif(folder / FILM, game, film.records[0].states, film.records[0].actions)
    console.print(
        f"player_0 is {ours}, the others are {strongest}: "
        f"{film.lengths[0]} plies, rewards {', '.join(f'{r:+g}' for r in film.rewards[0])}",
        highlight=False,
        soft_wrap=True,
    )

    score = rated.ratings.score[rated.agents.index(ours)]
    scores = [f"{score[k]:.0%} against {name}" for k, name in enumerate(rated.agents) if name != ours]
    lines = [
        "",
        f"Done in {time.perf_counter() - started:.0f} s. Scores of the trained agent, from all seats: "
        + ", ".join(scores),
        f"  training curve   {folder / 'curve.png'}",
        f"  crosstable       {folder / 'tournament' / 'report.md'}",
        f"  a game           {folder / FILM}",
        f"  play against it  {play_command(config, game, ours)}",
    ]
    console.print("\n".join(lines), soft_wrap=True, highlight=False)
    return folder


def default_rivals(game: Game) -> list[str]:
    """Those of the usual agents that can play the game."""
    search = agents.search_for(game)
    found = []
    for name in ("random", "greedy", *([f"{search}:simulations=200"] if search else []), "oracle"):
        try:
            agents.load(name).check(game)
        except ValueError:
            continue
        found.append(name)
    return found


def training_config(config: Config, options: dict[str, object], folder: Path, resume: bool) -> ppo.Config:
    """The settings of the training."""
    steps = config.steps or STEPS.get(config.game, 2_000_000)
    return ppo.Config(game=config.game, options=options, steps=steps, seed=config.seed, out=folder, resume=resume)


def folder_for(config: Config, options: dict[str, object]) -> tuple[Path, bool]:
    """The first of OUT, OUT-2, OUT-3, ... that is empty, or holds an interrupted demo with the same settings.

    A folder that another process is writing is left out. Returns also whether to resume. The film is made last: a demo
    without it was interrupted.
    """
    for number in count(1):
        folder = config.out if number == 1 else config.out.with_name(f"{config.out.name}-{number}")
        if in_use(folder):
            continue
        if is_empty(folder):
            return folder, False
        if not (folder / FILM).exists():
            try:
                checkpoint.Run(training_config(config, options, folder / "training", resume=True), ppo.NAME)
            except (ValueError, OSError):
                continue
            return folder, True
    raise AssertionError


def play_command(config: Config, game: Game, ours: str) -> str:
    """The command to play against the trained agent."""
    words = [shell.python(), "-m", "ttt_envs", "play", config.game]
    rest = {"option": config.option, "agents": ["human", *[ours] * (game.num_players - 1)]}
    return command_line(words, rest, {"option": ()})


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    config = tyro.cli(Config, prog="python -m training.demo", description=__doc__, args=arguments)

    def run() -> None:
        demo(config)

    return shell.run(run)


if __name__ == "__main__":
    sys.exit(main())
