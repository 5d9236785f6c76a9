"""Compare the speed of this library with similar ones. `make bench-peers` runs this in a separate environment.

    python -m tools.peers --games super_tic_tac_toe --chart docs/peers.svg --page docs/performance.md

This library and a peer do the same kind of work in alternating runs, in one process and on one core. Rates are per CPU
second; a ratio is the median over pairs of consecutive runs. Peers that are not installed are left out; the extra
`peers` installs all of them.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import tyro
from rich.console import Console

import ttt_envs
from tools.environments import (
    MANY,
    TICTACTOE,
    Chooser,
    play_aec,
    play_sb3,
    playouts_by_cursor,
    playouts_by_open_spiel,
    search_by_open_spiel,
)
from tools.timings import GAMES_AT_ONCE, GOALS, Playing, alternate, clocked
from ttt_envs import agents
from ttt_envs.core.view import View
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.storage.files import write_whole

#: The game that OpenSpiel also has, and OpenSpiel's name for it.
SUPER, SPIEL = next((name, goals["open_spiel"]) for name, goals in GOALS["games"].items() if "open_spiel" in goals)
SIMULATIONS = 1000

#: A function that repeats one kind of work for the given CPU seconds and returns its rate.
Work = Callable[[float], float]


@dataclass(frozen=True)
class Config:
    """Measure speed compared with PettingZoo, OpenSpiel, Pgx and Stable-Baselines3's masking recipe."""

    games: tuple[str, ...] = ("all",)
    """Ids of games to compare with Pgx, or all."""
    seconds: float = 6.0
    """CPU seconds per kind of work, divided among its repeats."""
    repeats: int = 9
    """Number of runs; their median is reported."""
    chart: Path | None = None
    """SVG file for a bar chart of the ratios; none is drawn by default."""
    page: Path | None = None
    """Markdown file in which this run's table replaces the one between two comments."""


@dataclass(frozen=True)
class Pair:
    """A row of the table: the work, the peer, and the rates of alternating runs."""

    what: str
    peer: str
    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """Median of `ours` / `theirs` over pairs of consecutive runs."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))


def play_batch(game_id: str) -> Work:
    """Return work that steps a batch of games, with observations, masks and random actions."""
    game = ttt_envs.load(game_id)
    return partial(clocked, Playing(ttt_envs.Batch(game, GAMES_AT_ONCE, seed=0, auto_reset=True)))


def plies_of_pgx(name: str, games: int) -> Callable[[], int]:
    """Return a function that plays 50 random plies in `games` games of Pgx, compiled by XLA, and returns the number of
    plies. Games restart by Pgx's `auto_reset`."""
    jax, pgx, wrapper = import_module("jax"), import_module("pgx"), import_module("pgx.experimental.wrappers")
    env = pgx.make(name)
    step = jax.vmap(wrapper.auto_reset(env.step, env.init))

    def turn(carry: Any, _: Any) -> Any:
        states, key = carry
        key, drawn, anew = jax.random.split(key, 3)
        logits = jax.numpy.where(states.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(drawn, logits)
        states = step(states, actions, jax.random.split(anew, games))
        return (states, key), (states.observation.any(), states.rewards.sum())

    steps = 50
    run = jax.jit(lambda carry: jax.lax.scan(turn, carry, None, length=steps))
    keys = jax.random.split(jax.random.PRNGKey(0), games)
    carry = [(jax.jit(jax.vmap(env.init))(keys), jax.random.PRNGKey(1))]

    def once() -> int:
        carry[0], told = run(carry[0])
        jax.block_until_ready(told)
        return steps * games

    return once


def play_pgx() -> Work:
    """Return the work of `play_batch` for Pgx's `tic_tac_toe`."""
    return partial(clocked, plies_of_pgx("tic_tac_toe", GAMES_AT_ONCE))


class TurnByTurn(gymnasium.Env[Any, int]):
    """A PettingZoo game in which one learner plays both seats, as in PettingZoo's tutorial on action masks."""

    def __init__(self, env: Any) -> None:
        self._env = env
        first = env.possible_agents[0]
        self.observation_space = env.observation_space(first)["observation"]
        self.action_space = env.action_space(first)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Start a game."""
        self._env.reset(seed=seed)
        return self._env.observe(self._env.agent_selection)["observation"], {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play `action` for the player to move; return what the next player to move sees."""
        self._env.step(int(action))
        observation, reward, ended, cut, info = self._env.last()
        return observation["observation"], float(reward), ended, cut, info

    def action_masks(self) -> np.ndarray:
        """Return bool (num_actions,)."""
        return np.asarray(self._env.observe(self._env.agent_selection)["action_mask"], np.bool_)


def play_recipe(seconds: float) -> float:
    """Play randomly in SB3's DummyVecEnv of `TurnByTurn`, with masks from sb3-contrib; return steps per second."""
    vectors = import_module("stable_baselines3.common.vec_env")
    masks_of = import_module("sb3_contrib.common.maskable.utils").get_action_masks
    env = vectors.DummyVecEnv([lambda: TurnByTurn(pettingzoo.make("aec", f"classic/{TICTACTOE}"))] * MANY)
    env.reset()
    choose_all, steps, start = Chooser(MANY), 0, time.process_time()
    while time.process_time() - start < seconds:
        env.step(choose_all(masks_of(env)))
        steps += MANY
    return steps / (time.process_time() - start)


def search() -> Work:
    """Return work that runs MCTS simulations from the opening."""
    game, agent = ttt_envs.load(SUPER), agents.load(f"mcts:simulations={SIMULATIONS}")
    state, seeds = game.new_state(0), np.zeros(1, np.uint64)

    def once() -> int:
        np.add(seeds, np.uint64(1), out=seeds)
        agent.act(View.unchecked(game, state, np.zeros(1, np.int64), seeds))
        return SIMULATIONS

    return partial(clocked, once)


def looped(play: Callable[[Any, float], float], make: Callable[[], Any]) -> Work:
    """Return work that runs a loop of `tools.environments` on an object that `make` creates once."""
    return partial(play, make())


def from_open_spiel(work: Callable[[Any, float], float]) -> Work:
    """Return `work` bound to OpenSpiel's Ultimate Tic-Tac-Toe."""
    return partial(work, import_module("pyspiel").load_game(SPIEL))


def pairs(config: Config) -> Iterator[tuple[str, str, Callable[[], Work], Callable[[], Work]]]:
    """Yield the work's name, the peer's name, and functions that prepare our work and the peer's."""
    yield (
        "PettingZoo's loop, Super",
        f"PettingZoo, {TICTACTOE}",
        lambda: looped(play_aec, lambda: ttt_envs.make_aec(SUPER)),
        lambda: looped(play_aec, lambda: pettingzoo.make("aec", f"classic/{TICTACTOE}")),
    )
    yield (
        f"Stable-Baselines3 with masks, {MANY} games, Super",
        f"the recipe, {TICTACTOE}",
        lambda: looped(play_sb3, lambda: ttt_envs.make_sb3(SUPER, MANY)),
        lambda: play_recipe,
    )
    yield (
        "playouts in Python, Super",
        f"OpenSpiel's states, {SPIEL}",
        lambda: looped(playouts_by_cursor, lambda: ttt_envs.load(SUPER).start(seed=0)),
        lambda: from_open_spiel(lambda game, seconds: playouts_by_open_spiel(game.new_initial_state(), seconds)),
    )
    yield (
        f"MCTS, {SIMULATIONS} simulations, Super",
        f"OpenSpiel's C++, {SPIEL}",
        search,
        lambda: from_open_spiel(lambda game, seconds: search_by_open_spiel(game, SIMULATIONS, seconds)),
    )
    for game_id in ttt_envs.GAMES if config.games == ("all",) else config.games:
        what = f"batch of {GAMES_AT_ONCE}, {ttt_envs.load(game_id).title}"
        yield what, "Pgx, tic_tac_toe", partial(play_batch, game_id), play_pgx


def measure(config: Config) -> Iterator[Pair | str]:
    """Yield each measured pair, or a message if its peer is not installed."""
    for what, peer, ours, theirs in pairs(config):
        try:
            players = {"ours": ours(), "theirs": theirs()}
            runs = alternate(players, config)
        except ImportError as error:
            yield f"{what}: left out, as {error.name or error} is not installed"
            continue
        yield Pair(what, peer, runs["ours"], runs["theirs"])


def chart(found: Sequence[Pair]) -> str:
    """Return an SVG bar chart of the ratios on a logarithmic scale; a vertical line marks equal speed."""
    height, left, width = 26, 330, 660
    low = min(-0.05, *(np.log10(pair.ratio) for pair in found))
    high = max(1.0, *(np.log10(pair.ratio) for pair in found))

    def at(ratio: float) -> float:
        return float(left + (width - left - 60) * (np.log10(ratio) - low) / (high - low))

    parts = []
    for k, pair in enumerate(found):
        y, start, end = 10 + k * height, *sorted((at(1.0), at(pair.ratio)))
        label = escape(f"{pair.what} / {pair.peer}")
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end" font-size="11">{label}</text>')
        parts.append(f'<rect x="{start:.1f}" y="{y + 2}" width="{end - start:.1f}" height="16" fill="#3b6ea8"/>')
        parts.append(f'<text x="{end + 5:.1f}" y="{y + 15}" font-size="12">{pair.ratio:.2g}</text>')
    bottom = 14 + len(found) * height
    parts.append(f'<line x1="{at(1):.1f}" x2="{at(1):.1f}" y1="6" y2="{bottom}" stroke="#333"/>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 6}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{width}" height="{bottom + 6}" fill="#fff"/>', *parts, "</svg>", ""])


#: The command replaces the text between these two lines of a page.
BEGIN, END = "<!-- written by make bench-peers -->", "<!-- end of what make bench-peers writes -->"


def write_page(page: Path, table: Table) -> None:
    """Replace a page's text between BEGIN and END; raise ValueError if the page lacks one of these lines."""
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no place for the table: a line {BEGIN!r}, and after it a line {END!r}")
    # The added # makes the table's heading third-level, because the table is inside a section.
    write_whole(page, f"{before}{begin}\n\n#{table.markdown()}\n{end}{after}")


def machine() -> str:
    """Return the processor, its load, and the versions of the measured libraries."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    versions = []
    for name in ("numba", "pettingzoo", "open_spiel", "pgx", "jax", "stable_baselines3"):
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    busy = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"One core of {models[0] if models else 'an unknown processor'}{busy}; {', '.join(versions)}."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    config = tyro.cli(Config, args=arguments, prog="python -m tools.peers", description=Config.__doc__)
    found, rows = list[Pair](), list[tuple[str, ...]]()
    console = Console(width=160)
    for each in measure(config):
        if isinstance(each, str):
            console.print(each)
            continue
        found.append(each)
        rates = (f"{statistics.median(runs):,.0f}" for runs in (each.ours, each.theirs))
        rows.append((f"{each.what} / {each.peer}", *rates, f"{each.ratio:.2f}"))
    table = Table("Ratios", ("ours / theirs", "ours /s", "theirs /s", "ratio"), rows, machine())
    console.print(table)
    if config.chart is not None and found:
        write_whole(config.chart, chart(found))
    if config.page is not None:
        write_page(config.page, table)
    return 0


def on_one_core() -> None:
    """Restrict this process to one core, before libraries such as JAX start threads."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["OMP_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


if __name__ == "__main__":
    on_one_core()
    sys.exit(main())
