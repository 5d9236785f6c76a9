"""What a type checker knows of the makers: wrong values are errors before anything runs."""

import re
import sys
from pathlib import Path

import pytest

# Each line that ends with "# error: words" must be one with these words, and no other line may be one.
SNIPPET = """
import numpy as np
from numpy.typing import NDArray

import ttt_envs
from ttt_envs import agents

SUPER = "super_tic_tac_toe"
ttt_envs.make_aec("tic_tac_dice", size=4, render_mode="ansi", encoding="planes", illegal="raise", mask="info")
ttt_envs.make_single(SUPER, player=1, opponent={"random": 1, "greedy": 2})
ttt_envs.make_vec(SUPER, 2, player="alternate", opponent=[agents.load("random"), "greedy"], autoreset_mode="next_step")
ttt_envs.evaluation.play_games(SUPER, "random", games=2)
batch = ttt_envs.Batch(ttt_envs.load(SUPER), 2)
masks: NDArray[np.bool_] = batch.view().masks | ttt_envs.make_single(SUPER, dtype="float32").action_masks()
seen: NDArray[np.float32] = batch.observations()  # error: Incompatible types
paid: NDArray[np.int64] = batch.rewards  # error: Incompatible types
batch.play("random")  # error: "play"
ttt_envs.make_aec(SUPER, dtype="float64")  # error: "dtype"
ttt_envs.make_parallel(SUPER, reward=0.5)  # error: "reward"
ttt_envs.make_vec(SUPER, 2, render_mode="human")  # error: "render_mode"
ttt_envs.make_aec(SUPER, illegal="loose")  # error: "illegal"
ttt_envs.make_parallel(SUPER, encoding="plain")  # error: "encoding"
ttt_envs.make_single(SUPER, player="first")  # error: "player"
ttt_envs.make_single(SUPER, opponent=3)  # error: "opponent"
ttt_envs.make_single(SUPER, render_mode="text")  # error: "render_mode"
ttt_envs.make_vec(SUPER, 2, autoreset_mode="never")  # error: "autoreset_mode"
ttt_envs.make_text(SUPER, illegal="forfeit")  # error: "illegal"
ttt_envs.make_singel(SUPER)  # error: make_singel
ttt_envs.load("tic_tac_dice", sise=4)  # error: did you mean 'size'
ttt_envs.make_text("tic_tac_dice", sise=4)  # error: did you mean 'size'
"""

#: What the makers' types do not need; to read it takes most of the time.
UNSEEN = [
    *(f"ttt_envs.{name}" for name in ("cli", "drawing", "games", "learning", "solvers", "studies", "testing", "web")),
    *("PIL", "anyio", "jax", "matplotlib", "numba", "openai", "pandas", "pyarrow", "pygame", "ray", "rich"),
    *("safetensors", "sb3_contrib", "scipy", "stable_baselines3", "starlette", "torch", "tyro"),
]


def test_wrong_values_are_errors_of_types(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    path, config = tmp_path / "snippet.py", tmp_path / "mypy.ini"
    path.write_text(SNIPPET)
    config.write_text(
        f"[mypy]\npython_executable = {sys.executable}\nplugins = ttt_envs.integrations.mypy\nfollow_imports = silent\n"
        f"ignore_missing_imports = true\n[mypy-{','.join(f'{name}.*' for name in UNSEEN)}]\nfollow_imports = skip\n"
    )
    limit = sys.getrecursionlimit()
    told, _, _ = api.run(["--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), str(path)])
    sys.setrecursionlimit(limit)  # mypy raises it for the whole process
    found = {int(number): text for number, text in re.findall(r"snippet\.py:(\d+): error: (.*)", told)}
    wanted = {
        number: line.partition("# error: ")[2]
        for number, line in enumerate(SNIPPET.splitlines(), 1)
        if "# error: " in line
    }
    assert found.keys() == wanted.keys(), told
    for number, words in wanted.items():
        assert words in found[number]
