"""Build the games' kernels for GPUs of NVIDIA, and play in CUDA's simulator; needs no GPU. See docs/cuda.md.

    python -m tools.cuda --games super_tic_tac_toe

To build asks for numba-cuda and NVIDIA's compilers; Numba alone has the simulator.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numba
import numpy as np
import tyro

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.looks import Anew, Episodes, Told, looks_for, room_to_tell
from ttt_envs.core.loops import Kernels, kernels_of
from ttt_envs.core.rng import choose, choose_rows, fold_all, mix

# By name: numba-cuda takes its place, with other types.
cuda: Any = import_module("numba.cuda")

INSTALL = 'pip install "numba-cuda[cu12]==0.30.4"'

#: Threads of a block; a thread plays one game.
BLOCK = 128

CAPABILITIES = ((8, 0), (9, 0))  # of an A100 and of an H100

# Of a multiprocessor of both, by the technical specifications in NVIDIA's programming guide.
_WARP, _MOST_WARPS, _REGISTERS = 32, 64, 65536

# Registers are shared out to warps by its four schedulers, so many at a time.
_SCHEDULERS, _REGISTERS_AT_ONCE = 4, 256

_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Config:
    """Build the games' kernels for GPUs of NVIDIA, and play in CUDA's simulator; needs no GPU."""

    games: tuple[str, ...] = tuple(ttt_envs.GAMES)
    """Ids of games."""
    simulated: int = 200
    """Number of games to play in the simulator."""
    plies: int = 60
    """Number of plies of each; 0 leaves the simulator out."""
    build: bool = True
    """Build machine code, which takes minutes a game."""


class Built(NamedTuple):
    """What a kernel's machine code needs, by `ptxas`, and its instructions that write memory, by its PTX.

    Attributes:
        registers: of a thread.
        stack: bytes of a thread's own memory.
        spilled: bytes of it that stand in for registers, written and read.
        stores: instructions that write to the arrays.
        bytewise: those of them that write a single byte.
    """

    registers: int
    stack: int
    spilled: int
    stores: int
    bytewise: int

    @property
    def occupancy(self) -> float:
        """The share of the most warps of a multiprocessor for which there are registers."""
        of_a_warp = -(-self.registers * _WARP // _REGISTERS_AT_ONCE) * _REGISTERS_AT_ONCE
        warps = _REGISTERS // _SCHEDULERS // of_a_warp * _SCHEDULERS
        of_a_block = BLOCK // _WARP
        return min(warps // of_a_block * of_a_block, _MOST_WARPS) / _MOST_WARPS


# --- the kernels: what the library has, for one game a thread ---


def looking(play_rows: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for a step of all games with a look after it: the library's loop, over arrays of one game each.

    Arrays come in tuples, as the simulator hands over those as they are.
    """

    def look(anew, again, games, told, episodes):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        states, actions = games
        if i < states.shape[0]:
            one_told = Told(
                told.observations[i : i + 1],
                told.masks[i : i + 1],
                told.rewards[i : i + 1],
                told.done[i : i + 1],
                told.joint[i : i + 1],
                told.ended[i : i + 1],
            )
            one_episode = Episodes(episodes.games[i : i + 1], episodes.following[i : i + 1], episodes.seeds[i : i + 1])
            play_rows(anew, again, states[i : i + 1], actions[i : i + 1], one_told, one_episode)

    return look


def kernels(game: Game) -> Mapping[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Kernels with a thread a game, by name, and arguments of the types that they are for."""
    bound, looks = kernels_of(game.kernels), looks_for(game.kernels)
    reset, step, legal_mask, observe = (bound[name] for name in ("reset", "step", "legal_mask", "observe"))
    states, seeds = game.prototype.copy(), np.zeros(1, np.uint64)
    told = room_to_tell(game, np.zeros((1, game.num_players), np.float32), np.zeros(1, np.bool_))
    masks, seen, key = told.masks[:, 0].copy(), told.observations[:, 0].copy(), np.zeros(2, np.uint64)
    actions = told.joint if game.simultaneous else told.joint[:, :1].copy()
    anew, episodes = Anew(key, game.prototype), Episodes(seeds, seeds, seeds)

    def one_reset(states, seeds):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < states.shape[0]:
            reset(states[i], seeds[i])

    def one_step(states, joint):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < states.shape[0]:
            step(states[i], joint[i])

    def one_mask(states, masks):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < states.shape[0]:
            legal_mask(states[i], states[i]["to_move"], masks[i])

    def one_observation(states, seen):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < states.shape[0]:
            observe(states[i], states[i]["to_move"], seen[i])

    def one_choice(masks, seeds, joint):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < masks.shape[0]:
            joint[i, 0] = choose(masks[i], mix(seeds[i]))

    return {
        "reset": (one_reset, (states, seeds)),
        "step": (one_step, (states, told.joint)),
        "mask": (one_mask, (states, masks)),
        "observation": (one_observation, (states, seen)),
        "choice": (one_choice, (masks, seeds, told.joint)),
        "look": (looking(looks.play_rows), (anew, True, (states, actions), told, episodes)),
    }


# --- machine code ---


def assembler() -> str | None:
    """The path of `ptxas`, from NVIDIA's wheel or the toolkit; None without one."""
    spec = find_spec("nvidia.cuda_nvcc") if find_spec("nvidia") else None
    places = [str(Path(place, "bin")) for place in (spec.submodule_search_locations or ())] if spec else []
    return shutil.which("ptxas", path=os.pathsep.join([*places, os.environ.get("PATH", "")]))


def build(kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Built]:
    """What the kernel needs, for each of CAPABILITIES; raises what the compilers raise."""
    dispatcher: Any = import_module("numba.cuda.dispatcher")
    # Numba asks the driver, which is not there, for what device the functions are that the kernel calls.
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=CAPABILITIES[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code, _ = cuda.compile_ptx(kernel, numba.void(*map(numba.typeof, arguments)), cc=CAPABILITIES[0])
    return [assembled(code, capability) for capability in CAPABILITIES]


def assembled(code: str, capability: tuple[int, int]) -> Built:
    """What `ptxas` says of the PTX of one kernel."""
    program = assembler()
    assert program is not None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(code)
        architecture = "sm_{}{}".format(*capability)
        command = [program, "-v", f"-arch={architecture}", "-o", str(source.with_suffix(".cubin")), str(source)]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
    report = said.stdout + said.stderr

    def total(pattern: str) -> int:
        return sum(map(int, re.findall(pattern, report)))

    stores = re.findall(r"\bst(?:\.global)?(?:\.v\d)?\.[usbf]\d+", code)
    return Built(
        total(r"Used (\d+) registers"),
        total(r"(\d+) bytes stack frame"),
        total(r"(\d+) bytes spill (?:stores|loads)"),
        len(stores),
        sum(each.endswith("8") and ".v" not in each for each in stores),
    )


def reason(error: Exception) -> str:
    """Why there is no machine code, in a line."""
    made = re.search(r"function (zeros|empty|ones|full)>", str(error))
    if made:
        return f"it makes an array by `np.{made[1]}`, which device code cannot"
    return f"{type(error).__name__}: {next(iter(str(error).split(chr(10))), '')}"


def builds(game_id: str) -> Iterator[tuple[str, list[Built] | str]]:
    """Each kernel of a game by name: what it needs for each of CAPABILITIES, or why there is no machine code."""
    for name, (kernel, arguments) in kernels(ttt_envs.load(game_id)).items():
        try:
            yield name, build(kernel, arguments)
        except Exception as error:  # whatever it is, it is the finding
            yield name, reason(error)


# --- the simulator ---


@cache
def look_kernel(of: Kernels) -> Any:
    """The kernel of a step with a look after it, which is built when it is first launched."""
    return cuda.jit(looking(looks_for(of).play_rows))


class OnDevice(Batch):
    """A Batch whose steps are launches of a kernel, for which all arrays go to the GPU and back.

    `told` has what each step tells; ended games start anew.
    """

    def __init__(self, game: Game, n: int, *, seed: int = 0) -> None:
        """As a Batch with `auto_reset`."""
        super().__init__(game, n, seed=seed, auto_reset=True)
        self.told = room_to_tell(game, self.rewards, self.done)
        looks_for(game.kernels).see_rows(self.states, self._rows, self.told.observations, self.told.masks)

    def step(self, actions: np.ndarray) -> None:
        """Play in all games and look at them; int64 (n,) or (n, players)."""
        threads = min(self.n, BLOCK)  # the simulator starts each, also those without a game
        launch = look_kernel(self.game.kernels)[-(-self.n // threads), threads]
        joint = self._check_actions(self._rows, actions)
        launch(self.anew(), True, (self.states, joint), self.told, self.running())

    def anew(self) -> Anew:
        """The source of new games, in arrays of the same kind as those of a GPU: they can be written to."""
        return Anew(self._key.copy(), self.game.prototype.copy())

    def running(self) -> Episodes:
        """The episodes that are played."""
        return Episodes(self._rows.view(np.uint64), self._episodes, self._episode_seeds)


def looks_of(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Observations and masks of whoever is to move, or of all players, (n, viewers, ...) as in `Told`."""
    if isinstance(batch, OnDevice):
        return batch.told.observations, batch.told.masks
    viewers = range(batch.game.num_players) if batch.game.simultaneous else (None,)
    return tuple(np.stack([each(viewer) for viewer in viewers], axis=1) for each in (batch.observations, batch.masks))  # type: ignore[return-value]


def played(game_id: str, games: int, plies: int, on_device: bool = False) -> tuple[str, int]:
    """Play at random: a digest of all states, observations, masks and rewards, and how many games have ended."""
    game = ttt_envs.load(game_id)
    batch = OnDevice(game, games) if on_device else Batch(game, games, seed=0, auto_reset=True)
    digest, ended = hashlib.sha256(), 0
    numbers, seeds = np.arange(games, dtype=np.uint64), np.empty(games, np.uint64)
    for ply in range(plies):
        masks, joint = looks_of(batch)[1], []
        for viewer in range(masks.shape[1]):
            fold_all(numbers, ply * masks.shape[1] + viewer, seeds)
            joint.append(np.empty(games, np.int64))
            choose_rows(np.ascontiguousarray(masks[:, viewer]), seeds, joint[-1])
        batch.step(joint[0] if len(joint) == 1 else np.stack(joint, axis=1))
        for array in (batch.states, batch.episode_seeds, *looks_of(batch), batch.rewards, batch.done):
            digest.update(array.tobytes())
        ended += int(batch.done.sum())
    return digest.hexdigest(), ended


def simulated(game_id: str, games: int, plies: int) -> tuple[str, int]:
    """The same in CUDA's simulator."""
    digest, ended = in_simulator(f"print(*cuda.played({game_id!r}, {games}, {plies}, on_device=True))").split()
    return digest, int(ended)


def in_simulator(code: str) -> str:
    """What code prints that finds this module as `cuda`: the simulator, plain Python, asks for a process of its own."""
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", f"from tools import cuda\n{code}"]
    return subprocess.run(command, check=True, cwd=_ROOT, env=env, stdout=subprocess.PIPE, text=True).stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    config = tyro.cli(Config, args=arguments, prog="python -m tools.cuda", description=Config.__doc__)
    if config.build and (find_spec("numba_cuda") is None or assembler() is None):
        print(f"error: to build asks for {INSTALL}; --no-build plays in the simulator alone", file=sys.stderr)
        return 2
    same = True
    for game_id in config.games if config.plies else ():
        (ours, ended), theirs = (do(game_id, config.simulated, config.plies) for do in (played, simulated))
        equal = theirs == (ours, ended)
        same &= equal
        said = "equal" if equal else "NOT equal"
        print(
            f"{game_id}: {config.simulated} games, {config.plies} plies, {ended} ends: {said}, {ours[:16]}", flush=True
        )
    if config.build:
        print("| game | kernel | registers | stack | spilled | occupancy | stores | of a byte |")
        print("|:--|:--|--:|--:|--:|--:|--:|--:|")
        for game_id in config.games:
            for name, found in builds(game_id):
                row = [found] + [""] * 5 if isinstance(found, str) else cells(found)
                print(f"| {ttt_envs.load(game_id).title} | {name} | {' | '.join(row)} |", flush=True)
    return 0 if same else 1


def cells(found: Sequence[Built]) -> list[str]:
    """The cells of a row, each with the figure of each of CAPABILITIES, once where all are the same."""
    columns = zip(*((*map(str, each[:3]), f"{each.occupancy:.0%}", *map(str, each[3:])) for each in found), strict=True)
    return [" / ".join(dict.fromkeys(column)) for column in columns]


if __name__ == "__main__":
    sys.exit(main())
