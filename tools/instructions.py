"""How many instructions a game's kernels have, and what is left of their time where no branch is guessed wrong.

    python -m tools.instructions tic_tac_match

Machine code is compiled anew, into a folder that goes afterwards, and counted function by function, whether all of it
is run or not. Where `llvm-mca` is at hand it tells how many cycles functions without branches take at least. Kernels
are clocked as `tools.kernels` does, where no position is met twice, and again in the same positions each time.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

_FUNCTION = re.compile(r"^([A-Za-z_]\S*):.*?\n(.*?)^\.Lfunc_end", re.MULTILINE | re.DOTALL)
_ROUNDS, _TURNS = 300, 5


def bodies(game: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    """The functions of a kernel, named shortly, with their instructions; none that Numba adds for Python."""
    import numba
    import numpy as np

    record = numba.typeof(game.prototype.copy()).dtype
    room: dict[str, tuple[Any, ...]] = {
        "observe": (numba.int64, numba.typeof(np.empty(1, np.int8))),
        "legal_mask": (numba.int64, numba.typeof(np.empty(1, np.bool_))),
        "step": (numba.typeof(np.empty(1, np.int64)),),
    }
    kernel = getattr(game.kernels, name)
    kernel.compile((record, *room[name]))
    for symbol, body in _FUNCTION.findall(kernel.inspect_asm()[kernel.signatures[0]]):
        if "cpython" not in symbol and "NRT" not in symbol:
            short = re.search(r"\d+([a-z_]+)_[0-9a-f]{12}", symbol)
            yield short[1] if short else symbol, re.findall(r"^\t([a-z].*)$", body, re.MULTILINE)


def branches(code: list[str]) -> int:
    """The number of conditional branches."""
    return sum(line.startswith("j") and not line.startswith("jmp") for line in code)


def cycles(code: list[str]) -> str:
    """The least number of cycles by llvm-mca; "" for code with branches or calls, or without llvm-mca."""
    program = shutil.which("llvm-mca")
    straight = [line for line in code if not line.startswith("ret")]
    if program is None or any(line.startswith(("j", "call")) for line in straight):
        return ""
    command = [program, "-mcpu=native", "-iterations=100"]
    told = subprocess.run(command, input="\n".join(straight), capture_output=True, text=True, check=False).stdout
    total = re.search(r"Total Cycles: +(\d+)", told)
    return f"{int(total[1]) / 100:.0f}" if total else ""


def again(game: Any) -> list[float]:
    """Nanoseconds a game of observation, mask and step in 1,024 positions, always the same; medians."""
    import numpy as np

    import ttt_envs

    batch = ttt_envs.Batch(game, 1024, seed=0, auto_reset=True)
    batch.rollout(30)
    states, rows, mover = batch.states, np.arange(batch.n), np.maximum(batch.to_move, 0).astype(np.int64)
    viewers = [np.full(batch.n, k) for k in range(game.num_players)] if game.simultaneous else [mover]
    seen = np.empty((batch.n, game.observation_size), np.int8)
    legal, joint = np.empty((batch.n, game.num_actions), np.bool_), np.zeros((batch.n, game.num_players), np.int64)
    kept = states.copy()
    for player in range(game.num_players):
        game.loops.mask_rows(states, np.full(batch.n, player), legal)
        joint[:, player] = np.where(legal, np.random.default_rng(player).random(legal.shape), -1).argmax(axis=1)
    took: list[list[int]] = [[], [], []]
    for _ in range(_ROUNDS):
        states[:] = kept
        for k, work in enumerate(
            (
                lambda: [game.loops.observe_rows(states, each, seen) for each in viewers],
                lambda: [game.loops.mask_rows(states, each, legal) for each in viewers],
                lambda: game.loops.step_rows(states, rows, joint),
            )
        ):
            start = time.process_time_ns()
            work()
            took[k].append(time.process_time_ns() - start)
    return [statistics.median(each) / batch.n for each in took]


def main(arguments: Sequence[str]) -> int:
    """The tables for each of these games."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder  # code from a cache cannot be read
        import ttt_envs
        from tools.kernels import costs

        for game_id in arguments:
            game = ttt_envs.load(game_id)
            print(f"\n| {game.title} | instructions | branches | cycles at least |\n|:--|--:|--:|--:|")
            for name in ("observe", "legal_mask", "step"):
                for short, code in bodies(game, name):
                    print(f"| {name}: {short} | {len(code)} | {branches(code)} | {cycles(code)} |")
            print("\n| nanoseconds a game | new positions | the same again |\n|:--|--:|--:|")
            # In turn, and the least of each, as others may slow the machine down for a while.
            runs = [(costs(game_id), again(game)) for _ in range(_TURNS)]
            for k, name in enumerate(("observation", "mask", "step")):
                new, same = min(getattr(run, name) for run, _ in runs), min(run[k] for _, run in runs)
                print(f"| {name} | {new:.1f} | {same:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
