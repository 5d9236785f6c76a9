"""Train an agent by self-play, plot its regret, rate it and film a game: about a minute on two cores.

    python -m training.demo tic_tac_dice

The same seed, machine and library versions give the same figures. After an interrupt, repeat the command to continue
the training.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.oracle import OracleAgent
from ttt_envs.cli import shell
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, command_line, within
from ttt_envs.drawing.film import save_film
from ttt_envs.evaluation import ladder, play_games, tournament
from ttt_envs.evaluation.arena.seating import line_up
from ttt_envs.evaluation.ladder import find
from ttt_envs.evaluation.regret import measure as measure_regret
from ttt_envs.learning import ntuple, ppo, value_learning
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.measurements import Point, draw_line, write_picture
from ttt_envs.learning.runs.settings import Result
from ttt_envs.registry import full_id, parse_options
from ttt_envs.storage.files import in_use, is_empty, locked_folder, write_whole

FILM = "game.gif"

#: Default options for games whose short form gives clearer results after a minute of training.
OPTIONS: dict[str, tuple[str, ...]] = {"tic_tac_dice": ("rounds=single",)}

#: Games per rung of a ladder; the demo rates the agent on the ladder if regret cannot be measured in the game.
RUNG_GAMES = 20

#: Games per measurement of regret, and number of measurements during training.
REGRET_GAMES, POINTS = 200, 12


@dataclass(frozen=True)
class Method:
    """A learner, and the agent that plays with the learner's result.

    Attributes:
        name: the learner's name.
        config: the class of the learner's settings.
        train: the learner's function `train`.
        steps: training steps that take about a minute or two.
        agent: string for `agents.load`; {folder} stands for the run's folder.
        settings: settings that differ from the learner's defaults.
    """

    name: str
    config: Callable[..., Any]
    train: Callable[[Any], Result]
    steps: int
    agent: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def method_for(game: Game) -> Method:
    """Return the method that was strongest in games of this kind; docs/results.md has the measurements."""
    if game.patterns is not None:
        return Method(ntuple.NAME, ntuple.Config, ntuple.train, 12_000_000, "alphabeta:{folder},depth=5")
    values = partial(Method, value_learning.NAME, value_learning.Config, value_learning.train)
    measuring: dict[str, Any] = {"eval_every": 10**9, "eval_games": 100}
    if game.simultaneous and game.num_players == 2 and not game.hidden_information:
        return values(200_000, "lookahead:{folder}", measuring)
    if len(game.teams) == 2 and not game.simultaneous and (game.stochastic or game.hidden_information):
        if game.hidden_information:
            return values(500_000, "lookahead:{folder}", measuring)
        return values(500_000, "lookahead:{folder},outcomes=36", {**measuring, "optimizer": "muon", "updates": 2})
    return Method(ppo.NAME, ppo.Config, ppo.train, 2_000_000, "network:{folder}")


@dataclass(frozen=True)
class Config:
    """Settings of the demo."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")] = "tic_tac_dice"
    """Id of the game; `ttt games` lists them."""
    option: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="[NAME=VALUE ...]")] = None
    """Options of the game, such as size=3; `ttt describe GAME` lists them. By default, rounds=single for tic_tac_dice,
    and the game's default options for other games."""
    steps: int | None = None
    """Training steps, in the learner's unit; the default takes a minute or two."""
    games: int = 100
    """Games per pairing of the tournament."""
    rivals: tuple[str, ...] = ()
    """Opponents of the trained agent in the tournament; by default random, greedy, a tree search and the oracle, as far
    as they can play the game."""
    seed: int = 0
    """Seed of all random numbers."""
    out: Path = Path("runs/demo")
    """Folder for the results; if it contains others, a number is appended to its name."""


def demo(config: Config) -> Path:
    """Train, rate and film an agent; return the folder of the results. Raises KeyboardInterrupt if interrupted."""
    game = full_id(config.game)
    config = replace(config, game=game, option=OPTIONS.get(game, ()) if config.option is None else config.option)
    options = parse_options(game, config.option or ())
    known = given_away(ttt_envs.load(config.game, **options), config.seed)
    folder, resume = folder_for(config, options, known)
    with locked_folder(folder):
        return _demo(config, options, known, folder, resume)


def given_away(game: Game, seed: int) -> dict[str, float]:
    """Return the regret per game of random and greedy, or {} if the oracle covers too few of their decisions."""
    per_game = {}
    for name in ("random", "greedy"):
        try:
            measured = measure_regret(game, agents.load(name), games=REGRET_GAMES, seed=seed)
        except ValueError:
            return {}
        if not measured.enough:
            return {}
        per_game[name] = measured.per_game
    return per_game


def draw_regret(path: Path, game: Game, points: Sequence[Point], known: Mapping[str, float]) -> None:
    """Plot the regret during training as a PNG; horizontal lines show other agents, and optimal play at 0."""

    def draw(axes: Any) -> None:
        steps, means, widths = np.array([(each.steps, each.value, each.half_width) for each in points]).T
        draw_line(axes, steps, means, widths, "the agent, with 95 % interval")
        for colour, (name, value) in zip(("tab:red", "tab:orange"), known.items(), strict=False):
            axes.axhline(value, color=colour, linestyle="--", label=f"{name}: {value:.3f}")
        axes.axhline(0, color="tab:green", linewidth=2, label="optimal play: 0")
        axes.set_ylim(-0.01, 1.05 * max([*known.values(), *means]))
        axes.legend(loc="upper right")

    write_picture(path, f"{game.title}: distance to optimal play", "positions", "regret per game (reward)", draw)


def _demo(config: Config, options: dict[str, Any], known: Mapping[str, float], folder: Path, resume: bool) -> Path:
    console = Console()
    started = time.perf_counter()
    game = ttt_envs.load(config.game, **options)
    rivals = config.rivals or default_rivals(game)
    line_up(game, rivals).close()  # names what is wrong with one before anything is trained
    within(1, MOST, games=config.games)

    console.rule(f"1/3  Training by self-play: {game.title}")
    training = folder / "training"
    method = method_for(game)
    console.print(f"The learner is {method.name}.", highlight=False)
    if known:
        others = ", ".join(f"{name} {value:.3f}" for name, value in known.items())
        console.print(f"Regret is the reward lost per game to optimal play: {others}, optimal play 0.", highlight=False)
    trained = method.train(training_config(config, options, known, training, resume=resume))
    if not trained.finished:
        raise KeyboardInterrupt(f"what was trained is in {training}, and the same command continues")
    if known:
        draw_regret(folder / "curve.png", game, trained.points["regret"], known)
    else:
        write_whole(folder / "curve.png", (training / "curve.png").read_bytes())

    console.rule("2/3  Tournament")
    ours = method.agent.format(folder=training)
    rated = tournament(game, [*rivals, ours], games=config.games, seed=config.seed)
    if not rated.complete:
        raise KeyboardInterrupt(f"what was trained is in {training}, and the same command continues")
    rated.save(folder / "tournament")
    for table in rated.tables()[:2]:
        console.print(table)
    if known and game.stochastic:
        console.print("Chance decides much of such a game, so ratings are close: regret, below, tells agents apart.")
    elif not known and OracleAgent.name in rated.agents:
        console.print(f"{OracleAgent.name} plays optimally where that is proven, and elsewhere as greedy does.")

    console.rule("3/3  A game on film")
    strongest = next(rated.agents[i] for i in rated.order if rated.agents[i] != ours)
    seats = np.minimum(np.arange(game.num_players), 1)
    film = play_games(
        game, [agents.load(ours), agents.load(strongest)], seats=seats, games=1, seed=config.seed, record=[0]
    )
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
    if known:
        own = measure_regret(game, agents.load(ours), games=REGRET_GAMES, seed=config.seed)
        others = ", ".join(f"{name} {value:.3f}" for name, value in known.items())
        lines += ["", f"It loses {own.per_game:.3f} per game to optimal play; {others}, optimal play 0."]
        if not ours.startswith("network:"):
            lines.append("The training curve is higher: it shows the network alone, without the search.")
    else:
        lines += place(game, ours, config.seed)
    console.print("\n".join(lines), soft_wrap=True, highlight=False)
    return folder


def place(game: Game, agent: str, seed: int) -> list[str]:
    """Return lines with the agent's rating on the game's ladder, or no lines if the game has no ladder."""
    try:
        rungs = find(game)
    except ValueError:
        return []
    found = ladder(game, agent, games=RUNG_GAMES, seed=seed, quiet=True)
    elo = dict(zip(rungs.rungs, rungs.elo, strict=True))
    top = max(elo, key=lambda rung: float(elo[rung]))
    known = [f"{name} {elo[name]:.0f}" for name in dict.fromkeys((rungs.zero, "greedy", top)) if name in elo]
    low, high = found.interval
    return [
        "",
        f"On the game's ladder it stands at {found.rating:.0f} Elo ({low:.0f} to {high:.0f}); {', '.join(known)}.",
    ]


def default_rivals(game: Game) -> list[str]:
    """Return the default opponents that can play the game."""
    search = agents.search_for(game)
    rivals = []
    for name in ("random", "greedy", *([f"{search}:simulations=200"] if search else []), "oracle"):
        try:
            agents.load(name).check(game)
        except ValueError:
            continue
        rivals.append(name)
    return rivals


def training_config(
    config: Config, options: dict[str, object], known: Mapping[str, float], folder: Path, *, resume: bool
) -> Any:
    """Return the settings of the training; it measures regret unless `known`, other agents' regret, is empty."""
    method = method_for(ttt_envs.load(config.game, **options))
    steps = method.steps if config.steps is None else config.steps
    measuring = {"eval_every": max(steps // POINTS, 1), "eval_games": 20, "regret_games": REGRET_GAMES}
    return method.config(
        game=config.game,
        options=options,
        steps=steps,
        seed=config.seed,
        out=folder,
        resume=resume,
        **{**method.settings, **(measuring if known else {})},
    )


def folder_for(config: Config, options: dict[str, object], known: Mapping[str, float]) -> tuple[Path, bool]:
    """Return the first of OUT, OUT-2, ... that is empty or has an interrupted demo with the same settings.

    The second value is whether to resume that demo. Folders that another process is writing are skipped. A demo makes
    its film last, so a folder without a film contains an interrupted demo.
    """
    for number in count(1):
        folder = config.out if number == 1 else config.out.with_name(f"{config.out.name}-{number}")
        if in_use(folder):
            continue
        if is_empty(folder):
            return folder, False
        if not (folder / FILM).exists():
            try:
                settings = training_config(config, options, known, folder / "training", resume=True)
                checkpoint.Run(settings, method_for(ttt_envs.load(config.game, **options)).name)
            except (ValueError, OSError):
                continue
            return folder, True
    raise AssertionError


def play_command(config: Config, game: Game, ours: str) -> str:
    """Return the command to play against the trained agent."""
    here, program = Path.cwd(), Path(sys.executable)
    python = str(program.relative_to(here)) if here in program.parents else "python"
    words = [python, "-m", "ttt_envs", "play", config.game]
    rest = {"option": config.option or (), "agents": ["human", *[ours] * (game.num_players - 1)]}
    return command_line(words, rest, {"option": ()})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    config = tyro.cli(Config, prog="python -m training.demo", description=__doc__, args=arguments)

    def run() -> None:
        demo(config)

    return shell.run(run)


if __name__ == "__main__":
    sys.exit(main())
