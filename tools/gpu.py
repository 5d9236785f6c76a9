"""Play on this machine's GPU of NVIDIA: are games equal to those of a Batch, and how fast? See docs/cuda.md.

    python -m tools.gpu --games super_tic_tac_toe

Asks for numba-cuda and NVIDIA's driver; for networks, torch, and for the peer, Pgx and JAX, all with that GPU.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import tyro

import ttt_envs
from tools.cuda import BLOCK, OnDevice, cuda, look_kernel, looking, looks_of, played
from tools.peers import play_batch, plies_of_pgx
from tools.timings import GAMES_AT_ONCE
from ttt_envs.core.batch import Batch
from ttt_envs.core.looks import Anew, Episodes, Told, looks_for
from ttt_envs.core.loops import Kernels
from ttt_envs.core.rng import choose, fold, mix

#: Plies of a launch that plays on without being asked.
MANY = 100

#: How arrays lie: a row a game, or with the index of the games running fastest, so that a warp writes side by side.
LAYOUTS: dict[Literal["C", "F"], str] = {"C": "a row a game", "F": "games side by side"}


@dataclass(frozen=True)
class Config:
    """Play on this machine's GPU of NVIDIA: are games equal to those of a Batch, and how fast?"""

    games: tuple[str, ...] = tuple(ttt_envs.GAMES)
    """Ids of games."""
    compared: int = 1000
    """Number of games that are played by both."""
    plies: int = 60
    """Number of plies of each."""
    at_once: tuple[int, ...] = (65_536, 1_048_576)
    """Numbers of games whose speed is measured."""
    seconds: float = 1.0
    """Least time of a run, of which there are five; the median counts."""


class OnGpu:
    """A Batch's arrays on the GPU, by Numba, with the plays of kernels over them."""

    def __init__(self, batch: OnDevice, layout: Literal["C", "F"]) -> None:
        """`layout` is that of observations and masks, a key of LAYOUTS."""
        wide = (cuda.to_device(np.asarray(each, order=layout)) for each in batch.told[:2])
        self.told = Told(*wide, *map(cuda.to_device, batch.told[2:]))
        self.states = cuda.to_device(batch.states)
        self.actions = cuda.to_device(np.zeros((batch.n, self.told.masks.shape[1]), np.int64))
        self.anew = Anew(*map(cuda.to_device, batch.anew()))
        self.episodes = Episodes(*map(cuda.to_device, batch.running()))
        self._shape = -(-batch.n // BLOCK), BLOCK

    def launch(self, kernel: Any, *given: Any, actions: Any = None) -> None:
        """Launch a kernel for all games, with these arguments between the source of new games and the arrays."""
        games = self.states, self.actions if actions is None else actions
        kernel[self._shape](self.anew, *given, games, self.told, self.episodes)


def playing(kernels: Kernels) -> Any:
    """A kernel that plays so many plies at random from number `first` on, as `played` draws, and looks after each."""
    look = cuda.jit(device=True)(looking(looks_for(kernels).play_rows))

    def play(anew, first, plies, games, told, episodes):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        _, actions = games
        viewers = told.masks.shape[1]
        if i < told.masks.shape[0]:
            for ply in range(first, first + plies):
                for viewer in range(viewers):
                    seed = fold(np.uint64(i), np.uint64(ply * viewers + viewer))
                    actions[i, viewer] = choose(told.masks[i, viewer], mix(seed))
                look(anew, True, games, told, episodes)

    return cuda.jit(play)


def timed(launch: Callable[[int], object], seconds: float) -> float:
    """Seconds that a launch takes, of many behind each other; it is told its number. The median of five runs."""
    launch(0)  # built
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


def speeds(game_id: str, games: int, seconds: float) -> Iterator[tuple[str, float]]:
    """Plies a second of that many games on the GPU, by what is done."""
    batch = OnDevice(ttt_envs.load(game_id), games)
    play = playing(batch.game.kernels)

    def play_on(there: OnGpu, plies: int, number: int) -> None:
        there.launch(play, number * plies, plies)

    for layout, name in LAYOUTS.items():
        for plies in (1, MANY):
            taken = timed(partial(play_on, OnGpu(batch, layout), plies), seconds)
            yield f"looks, {name}, {plies} a launch", games * plies / taken
    if find_spec("torch"):
        for name, decide in deciding(batch):
            yield name, games / timed(decide, seconds)


def deciding(batch: OnDevice) -> Iterator[tuple[str, Callable[[int], object]]]:
    """Functions by which a network on the GPU plays a ply of games there, and of those of a Batch on the CPU.

    It has two layers of 256 and numbers of 16 bits; actions are drawn from its policy.
    """
    torch: Any = import_module("torch")
    game, n = batch.game, batch.n
    sizes = (game.observation_size, 256, 256, game.num_actions)
    layers = [layer for wide in pairwise(sizes) for layer in (torch.nn.Linear(*wide), torch.nn.ReLU())]
    network = torch.nn.Sequential(*layers[:-1]).cuda().half()

    def drawn(observations: Any, masks: Any) -> Any:
        with torch.no_grad():
            logits = network(observations.half()).float().masked_fill(~masks, -1e9)
            return (logits - torch.empty_like(logits).exponential_().log_()).argmax(-1)  # as Gumbel's noise has it

    def decide(there: OnGpu, seen: Any, legal: Any, actions: Any, _: int) -> None:
        actions.copy_(drawn(seen, legal))
        there.launch(look_kernel(game.kernels), True, actions=cuda.as_cuda_array(actions))

    for layout, name in LAYOUTS.items():
        there = OnGpu(batch, layout)
        seen, legal = (torch.as_tensor(each, device="cuda") for each in there.told[:2])
        actions = torch.zeros(legal.shape[:2], dtype=torch.int64, device="cuda")
        yield f"a network, {name}", partial(decide, there, seen, legal, actions)
        yield f"the network alone, {name}", partial(lambda seen, legal, _: drawn(seen, legal), seen, legal)

    def decide_here(here: Batch, room: list[Any], _: int) -> None:
        for there, each in zip(room, looks_of(here), strict=True):
            there.numpy()[:] = each
        actions = drawn(*(each.cuda(non_blocking=True) for each in room)).cpu().numpy()
        here.step(actions if game.simultaneous else actions[:, 0])

    here = Batch(game, n, seed=0, auto_reset=True)
    room = [torch.from_numpy(each).pin_memory() for each in looks_of(here)]
    yield "a network, games on the CPU", partial(decide_here, here, room)


def measure(config: Config) -> Iterator[tuple[str, int, str, float]]:
    """Plies a second by game, number of games and what is done; beside one core's, and Pgx on the same GPU."""
    for game_id in config.games:
        title, on_a_core = ttt_envs.load(game_id).title, play_batch(game_id)
        on_a_core(0.1)  # compiled
        yield title, GAMES_AT_ONCE, "looks, one core of the CPU", on_a_core(config.seconds)
        for games in config.at_once:
            for what, rate in speeds(game_id, games, config.seconds):
                yield title, games, what, rate
    for games in config.at_once if find_spec("pgx") else ():
        play = plies_of_pgx("tic_tac_toe", games)
        yield "Pgx, tic_tac_toe", games, "looks", play() / timed(lambda _: play(), config.seconds)  # noqa: B023


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status, 1 where games are not equal."""
    config = tyro.cli(Config, args=arguments, prog="python -m tools.gpu", description=Config.__doc__)
    if not cuda.is_available():
        print("error: there is no GPU of NVIDIA, or no driver, that Numba finds", file=sys.stderr)
        return 2
    same = True
    for game_id in config.games:
        (ours, ended), theirs = (played(game_id, config.compared, config.plies, each) for each in (False, True))
        equal = theirs == (ours, ended)
        same &= equal
        said = f"{config.compared} games, {config.plies} plies, {ended} ends: {'equal' if equal else 'NOT equal'}"
        print(f"{game_id}: {said}, {ours[:16]}", flush=True)
    print(f"\n{cuda.get_current_device().name}\n\n| game | games | what | plies a second |\n|:--|--:|:--|--:|")
    for title, games, what, rate in measure(config):
        print(f"| {title} | {games:,} | {what} | {rate / 1e6:,.4g} million |", flush=True)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
