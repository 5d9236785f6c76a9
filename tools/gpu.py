"""Play and train on this machine's NVIDIA GPU in less than 8 minutes; docs/gpu.md has the results.

    python -m tools.gpu

The script checks that games on the GPU equal those on the CPU, compares their speed with Pgx if that is installed, and
trains agents. It needs the extras `cuda` and `train`, and a torch build for the GPU. The exit status is 1 if games
differ or a training fails.
"""

import hashlib
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import ttt_envs
from tools.peers import plies_of_pgx
from ttt_envs.core.rng import choose, choose_rows, fold, fold_all, mix

_MEASURED_AT_THE_END = "--regret-games 0 --eval-agents random --eval-games 20 --eval-every 1000000000"

#: Game -> trainings. A training is a tuple of commands, the words after `python -m`; RUN stands for a new folder.
TRAININGS: dict[str, list[tuple[str, ...]]] = {
    "tic_tac_dice": [
        (
            f"ttt_envs train value_learning GAME --option rounds=single --out RUN --device cuda {_MEASURED_AT_THE_END}"
            " --regret-games 500 --seeds 3 --num-envs 2048 --batch 8192 --hidden 512 512 --learning-rate 1e-3"
            " --steps 2400000",
        )
    ],
    "operation_tic_tac_toe": [
        (
            "ttt_envs train mmd GAME --option mode=round max_idle_turns=3 specialists=none,none --out RUN --device cuda"
            f" {_MEASURED_AT_THE_END} --exploitability-every 1000000000 --save-every 10000000 --num-envs 4096"
            " --hidden 256 256 --magnet 0.5 --magnet-final 0.05 --learning-rate 1e-3 --steps 70000000",
        )
    ],
    "super_tic_tac_toe": [
        (
            "training.ppo_self_play --game GAME --options= --device cuda --regret-games 0"
            " --num-envs 262144 --batch 262144 --steps 150000000",
        ),
        (
            f"ttt_envs train value_learning GAME --out RUN --device cuda {_MEASURED_AT_THE_END} --save-every 5000000"
            " --num-envs 4096 --batch 8192 --buffer 1000000 --average 0.02 --hidden 1024 1024 1024 --residual"
            " --optimizer muon --precision medium --steps 45000000",
            "ttt_envs tournament GAME --agents lookahead:RUN mcts:simulations=1000 --games 200",
        ),
    ],
}


#: Name, in a run's log, of the training steps per second without measurements.
SPEED = "time/steps_per_second"


@dataclass(frozen=True)
class Config:
    """Play and train on this machine's NVIDIA GPU."""

    games: tuple[str, ...] = tuple(ttt_envs.GAMES)
    """Ids of games."""
    compared: int = 1000
    """Number of games that are compared with those of a Batch on the CPU."""
    plies: int = 60
    """Number of plies to compare in each game."""
    at_once: tuple[int, ...] = (65_536, 1_048_576)
    """Batch sizes whose speed is measured."""
    seconds: float = 0.3
    """Minimum time of a run; the median of five runs is reported."""
    trainings: tuple[str, ...] = tuple(TRAININGS)
    """Games to train in."""


def digest(game_id: str, games: int, plies: int, device: str) -> tuple[str, int]:
    """Play randomly; return a digest of everything that the batch returned, and the number of games that ended."""
    game = ttt_envs.load(game_id)
    batch: Any = ttt_envs.Batch(game, games, seed=0, auto_reset=True, device=device)
    viewers = range(game.num_players) if game.simultaneous else (None,)
    found, ended = hashlib.sha256(), 0
    numbers, seeds = np.arange(games, dtype=np.uint64), np.empty(games, np.uint64)

    def note(*arrays: Any) -> list[np.ndarray]:
        arrays = tuple(np.ascontiguousarray(np.asarray(array)) for array in arrays)
        for array in arrays:
            found.update(array.tobytes())
        return list(arrays)

    for ply in range(plies):
        joint = np.empty((games, len(viewers)), np.int64)
        for column, viewer in enumerate(viewers):
            masks, _ = note(batch.masks(viewer), batch.observations(viewer))
            fold_all(numbers, ply * len(viewers) + column, seeds)
            choose_rows(masks, seeds, joint[:, column])
        actions = joint if game.simultaneous else joint[:, 0]
        batch.step(actions if device == "cpu" else on_gpu(actions))
        states = batch.states if device == "cpu" else batch.get_states()
        note(states, batch.episode_seeds, batch.rewards, batch.done, batch.to_move)
        ended += int(np.asarray(batch.done).sum())
    return found.hexdigest()[:16], ended


def on_gpu(array: np.ndarray) -> Any:
    """Return a copy of the array on the GPU."""
    return import_module("ttt_envs.cuda.arrays").on_device(array)


def timed(launch: Callable[[int], object], seconds: float) -> float:
    """Return the seconds of a call of `launch`, which takes the call's number: the median of five runs."""
    cuda = import_module("numba.cuda")
    launch(0)  # compiled
    cuda.synchronize()
    taken, done, many = list[float](), 1, 1
    while len(taken) < 5:
        start = time.perf_counter()
        for number in range(done, done + many):
            launch(number)
        cuda.synchronize()
        passed, done = time.perf_counter() - start, done + many
        if passed < seconds:
            many *= 2
        else:
            taken.append(passed / many)
    return statistics.median(taken)


def speed(game_id: str, games: int, seconds: float) -> float:
    """Return plies per second. A ply takes two kernels: one draws random legal actions, one steps and observes."""
    cuda: Any = import_module("numba.cuda")
    batch: Any = ttt_envs.Batch(ttt_envs.load(game_id), games, seed=0, auto_reset=True, device="cuda")
    masks = batch._outputs.masks
    joint = on_gpu(np.zeros((games, masks.shape[1]) if batch.game.simultaneous else games, np.int64))
    actions = import_module("ttt_envs.cuda.arrays").columns(joint)

    @cuda.jit
    def draw(masks, actions, ply):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < masks.shape[0]:
            for viewer in range(masks.shape[1]):
                seed = fold(np.uint64(i), np.uint64(ply * masks.shape[1] + viewer))
                actions[i, viewer] = choose(masks[i, viewer], mix(seed))

    def ply(number: int) -> None:
        draw[-(-games // 128), 128](masks, actions, number)
        batch.step(joint)

    taken = timed(ply, seconds)
    batch.check()
    return games / taken


def peer_speed(games: int, seconds: float) -> float:
    """Return plies per second of Pgx's `tic_tac_toe`, with 50 plies per call."""
    play = plies_of_pgx("tic_tac_toe", games)
    return play() / timed(lambda _: play(), seconds)


def one_game(game_id: str, config: Config, lock: Any) -> tuple[bool, str]:
    """Return whether GPU and CPU play equal games, and a row of the table; `lock` is held while speed is measured."""
    began = time.perf_counter()
    here, there = (digest(game_id, config.compared, config.plies, device) for device in ("cpu", "cuda"))
    took = time.perf_counter() - began
    with lock:
        rates = [f"{speed(game_id, games, config.seconds) / 1e6:,.0f}" for games in config.at_once]
    said = f"{'equal' if here == there else 'NOT equal'}, `{there[0]}`"
    return (
        here == there,
        f"| {ttt_envs.load(game_id).title} | {here[1]} | {said} | {' | '.join(rates)} | {took:.0f} s |",
    )


def train(game_id: str, commands: Sequence[str]) -> bool:
    """Run the commands of a training and show their output; return whether all succeeded."""
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            command = command.replace("GAME", game_id).replace("RUN", f"{folder}/run")
            print(f"$ python -m {command}", flush=True)
            if subprocess.run([sys.executable, "-m", *command.split()]).returncode:
                return False
        for log in sorted(Path(folder).rglob("log.jsonl")):
            *_, last = (line for line in map(json.loads, log.read_text().splitlines()) if SPEED in line)
            print(
                f"{last['steps']:,} steps, {last[SPEED]:,.0f} a second, {last['steps'] / last[SPEED]:.1f} s", flush=True
            )
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    config = tyro.cli(Config, args=arguments, prog="python -m tools.gpu", description=Config.__doc__)
    cuda: Any = import_module("numba.cuda")
    if not cuda.is_available():
        print("error: Numba finds no GPU of NVIDIA; nvidia-smi shows whether there is one", file=sys.stderr)
        return 2
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes most of the memory else
    at_once = " | ".join(f"M plies/s, {games:,} games" for games in config.at_once)
    print(
        f"{cuda.get_current_device().name}\n\n| game | ends | digest | {at_once} | compiled and compared |", flush=True
    )
    spawn, fine = multiprocessing.get_context("spawn"), True
    with spawn.Manager() as manager, ProcessPoolExecutor(max(len(config.games), 1), spawn) as pool:
        lock = manager.Lock()
        for same, row in pool.map(partial(one_game, config=config, lock=lock), config.games):
            fine &= same
            print(row, flush=True)
    if find_spec("pgx"):
        rates = [peer_speed(games, config.seconds) / 1e6 for games in config.at_once]
        print(f"| Pgx, tic_tac_toe | | | {' | '.join(f'{rate:,.0f}' for rate in rates)} | |", flush=True)
    for game_id in config.trainings:
        for commands in TRAININGS[game_id]:
            began = time.perf_counter()
            fine &= train(game_id, commands)
            print(f"{time.perf_counter() - began:.0f} s in all\n", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
