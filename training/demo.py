"""Train an agent by self-play, rate it in a tournament, and film a game: about three minutes on two cores.

    python -m training.demo tic_tac_dice

With the same seed, machine and library versions the figures are the same. After an interrupt, the same command
continues with what was trained.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console

import ttt_envs
from ttt_envs import agents
from ttt_envs.cli import shell
from ttt_envs.core.game import Game
from ttt_envs.core.options import command_line
from ttt_envs.drawing.film import save_film
from ttt_envs.evaluation import game_seeds, play_games, tournament
from ttt_envs.learning import checkpoint, ntuple, ppo, value_learning
from ttt_envs.learning.settings import Result
from ttt_envs.registry import parse_options
from ttt_envs.storage.files import in_use, is_empty, locked_folder, write_whole

FILM = "game.gif"
DEFAULT_GAME = next(iter(ttt_envs.GAMES))


@dataclass(frozen=True)
class Method:
    """A learner, and how what it made plays.

    Attributes:
        name: the learner's module.
        config: its settings.
        train: its function `train`.
        steps: steps of about a minute or two.
        agent: text for `agents.load`, in which {folder} stands for the run folder.
        settings: settings other than the learner's own.
    """

    name: str
    config: Callable[..., Any]
    train: Callable[[Any], Result]
    steps: int
    agent: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def method_for(game: Game) -> Method:
    """The strongest method for such a game, as far as it was measured; docs/results.md has the figures."""
    if game.patterns is not None:
        return Method(ntuple.NAME, ntuple.Config, ntuple.train, 12_000_000, "alphabeta:{folder},depth=5")
    values = partial(Method, value_learning.NAME, value_learning.Config, value_learning.train)
    measuring = {"eval_every": 10**9, "eval_games": 100}
    if game.simultaneous and game.num_players == 2 and not game.hidden_information:
        return values(200_000, "lookahead:{folder}", measuring)
    if len(game.teams) == 2 and not game.simultaneous and (game.stochastic or game.hidden_information):
        return values(500_000, "lookahead:{folder}", measuring)
    return Method(ppo.NAME, ppo.Config, ppo.train, 2_000_000, "network:{folder}")


@dataclass(frozen=True)
class Config:
    """Settings of the demo."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")] = DEFAULT_GAME
    """Id of the game; `ttt games` lists them."""
    option: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[NAME=VALUE ...]")] = ()
    """Options of the game, such as size=3; `ttt describe GAME` lists them."""
    steps: int | None = None
    """Steps to train on, in the learner's unit; by default what takes a minute or two."""
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
    method = method_for(game)
    console.print(f"The learner is {method.name}.", highlight=False)
    trained = method.train(training_config(config, options, training, resume))
    if not trained.finished:
        raise KeyboardInterrupt(f"what was trained is in {training}, and the same command continues")
    write_whole(folder / "curve.png", (training / "curve.png").read_bytes())

    console.rule("2/3  Tournament")
    ours = method.agent.format(folder=training)
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
    save_film(folder / FILM, game, film.records[0].states, film.records[0].actions)
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


def training_config(config: Config, options: dict[str, object], folder: Path, resume: bool) -> Any:
    """The settings of the training."""
    method = method_for(ttt_envs.load(config.game, **options))
    return method.config(
        game=config.game,
        options=options,
        steps=config.steps or method.steps,
        seed=config.seed,
        out=folder,
        resume=resume,
        **method.settings,
    )


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
                settings = training_config(config, options, folder / "training", resume=True)
                checkpoint.Run(settings, method_for(ttt_envs.load(config.game, **options)).name)
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
