"""The whole job once, in about three minutes on two cores: train an agent by self-play, rate it, see the result.

    python -m training.demo

Interrupted, the next call goes on with what was trained.
"""

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console

import ttt_envs
from training import ppo
from ttt_envs import agents
from ttt_envs.agents.policy import load_policy
from ttt_envs.cli.shell import python
from ttt_envs.drawing.film import save_gif
from ttt_envs.evaluation import game_seeds, play_games, tournament
from ttt_envs.registry import parse_options

FILM = "game.gif"


@dataclass(frozen=True)
class Config:
    """Settings of the demo."""

    game: str = next(iter(ttt_envs.GAMES))
    """Id of the game."""
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An option of the game, as name=value; may be repeated."""
    steps: int = 4_000_000
    """Decisions to train on."""
    games: int = 100
    """Games of each pairing of the tournament."""
    rivals: tuple[str, ...] = ("random", "greedy", "mcts:simulations=200", "oracle")
    """Agents that the trained one is rated against; those that cannot play this game are left out."""
    seed: int = 0
    """Fixes everything that is random."""
    out: Path = Path("runs/demo")
    """Folder for the results."""


def run(config: Config) -> None:
    """Train, rate, film; print where everything is."""
    console = Console()
    started = time.perf_counter()
    game = ttt_envs.load(config.game, **parse_options(config.game, config.option))
    folder = config.out / "training"

    console.rule(f"1/3  Training by self-play: {game.title}")
    going_on = _unfinished(config)
    if not going_on:
        shutil.rmtree(folder, ignore_errors=True)
        (config.out / FILM).unlink(missing_ok=True)
    trained = ppo.train(
        ppo.Config(
            game=config.game,
            option=config.option,
            steps=config.steps,
            seed=config.seed,
            out=folder,
            resume=going_on,
        )
    )
    if not trained.finished:
        raise KeyboardInterrupt
    shutil.copyfile(folder / "curve.png", config.out / "curve.png")

    console.rule("2/3  Tournament")
    ours = f"ppo:{folder}"
    rivals = [spec for spec in config.rivals if _plays(spec, game)]
    result = tournament(game, [*rivals, ours], games=config.games, seed=config.seed)
    result.save(config.out / "tournament")
    if not result.complete:
        raise KeyboardInterrupt
    for table in result.tables()[:2]:
        console.print(table.rich())

    console.rule("3/3  A game on film")
    strongest = next(result.agents[i] for i in result.order if result.agents[i] != ours)
    lineup = [agents.load(ours), agents.load(strongest)]
    seats = np.minimum(np.arange(game.num_players), 1)
    film = play_games(game, lineup, seats, game_seeds(config.seed, 1), record=[0])
    save_gif(config.out / FILM, game, film.records[0].states, film.records[0].actions)
    console.print(
        f"player_0 is {ours}, the others are {strongest}: "
        f"{film.lengths[0]} plies, rewards {', '.join(f'{r:+g}' for r in film.rewards[0])}"
    )

    score = result.ratings.score[result.agents.index(ours)]
    lines = [
        "",
        f"Done in {time.perf_counter() - started:.0f} s. Scores of the trained agent, from all seats: "
        + ", ".join(f"{score[k]:.0%} against {name}" for k, name in enumerate(result.agents) if name != ours),
        f"  training curve   {config.out / 'curve.png'}",
        f"  crosstable       {config.out / 'tournament' / 'report.md'}",
        f"  a game           {config.out / 'game.gif'}",
        f"  play against it  {python()} -m ttt_envs play {config.game} --agents human {ours}",
    ]
    console.print("\n".join(lines), soft_wrap=True, highlight=False)


def _unfinished(config: Config) -> bool:
    """Whether the folder holds the training of an interrupted demo with the same settings. The film comes last."""
    folder = config.out / "training"
    if (config.out / FILM).exists() or not (folder / "resume.safetensors").is_file():
        return False
    try:
        saved = json.loads((folder / "config.json").read_text())
        load_policy(folder / "policy.safetensors")
    except (OSError, ValueError):
        return False
    return (saved.get("game"), saved.get("option"), saved.get("seed")) == (
        config.game,
        list(config.option),
        config.seed,
    )


def _plays(spec: str, game: ttt_envs.Game) -> bool:
    """Whether an agent can play this game: it is asked for one move."""
    try:
        batch = ttt_envs.Batch(game, 1, seed=0)
        player = next(p for p in range(game.num_players) if batch.acting(p)[0])
        agents.load(spec).act(batch.view(player))
    except (NotImplementedError, ValueError):
        return False
    return True


def main() -> None:
    """Command line."""
    config = tyro.cli(Config, description=__doc__)
    try:
        run(config)
    except (ValueError, TypeError, FileNotFoundError) as error:
        raise SystemExit(f"error: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit(f"interrupted; what is finished is in {config.out}, and the next call goes on") from None


if __name__ == "__main__":
    main()
