"""Compiling ahead of time: all that play needs, and nothing twice."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import toy_coin

from ttt_envs import cli
from ttt_envs.evaluation.arena.precompile import warm

ROOT = Path(__file__).resolve().parents[2]
TOY = "toy_coin:make"


def test_what_is_compiled_is_said_part_by_part():
    game, lineup = toy_coin.make(), ["random", "greedy:samples=2"]
    assert [what for what, _, _ in warm(game, lineup)] == ["game loops", *lineup]
    assert not any(kernels for _, kernels, _ in warm(game, lineup)), "all was compiled before"
    with pytest.raises(ValueError, match="agent mcts plays only games without"):
        next(warm(game, ["mcts"]))


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ([], "GAME"),
        (["nowhere"], "unknown game 'nowhere'"),
        ([TOY, TOY, "--option", "players=3"], "--option needs one game"),
        ([TOY, "--agents", "nobody"], "unknown agent 'nobody'"),
    ],
)
def test_wrong_words_are_refused(words, fault, capsys):
    with suppress(SystemExit):  # tyro's
        assert cli.main(["warm", *words]) == 2
    shown = capsys.readouterr()
    assert fault in shown.err + shown.out


def command(folder: Path, *words: str) -> str:
    """Return the output of the command, with machine code in a folder of its own."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])
    done = subprocess.run(
        [sys.executable, "-m", "ttt_envs", *words],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "code"), "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.slow
def test_after_it_nothing_is_left_to_compile(tmp_path):
    first = command(tmp_path, "warm", TOY, "--agents", "random", "greedy")
    found = re.search(r"^(\d+) kernels compiled in [\d.]+ s. They are kept below (.*)$", first, re.M)
    assert found
    assert int(found[1]) > 20
    assert found[2].startswith(str(tmp_path / "code"))
    before = {path.name for path in tmp_path.rglob("*.nbc")}
    assert before
    assert re.search(
        r"^All was compiled before; ", command(tmp_path, "warm", TOY, "--agents", "random", "greedy"), re.M
    )
    command(tmp_path, "tournament", TOY, "--agents", "random", "greedy", "--games", "4", "--resamples", "10")
    assert {path.name for path in tmp_path.rglob("*.nbc")} == before
