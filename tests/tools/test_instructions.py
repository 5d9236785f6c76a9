"""`tools.instructions`: machine code is counted, and clocked."""

import re
import subprocess
import sys

import pytest

from tools.instructions import branches, cycles
from ttt_envs.core import jit


def test_branches_are_the_conditional_ones() -> None:
    code = ["movq %rax, %rbx", "je .LBB0_1", "jmp .LBB0_2", "jae .LBB0_2", "retq"]
    assert branches(code) == 2
    assert cycles(code) == "", "not where there are branches"


@pytest.mark.skipif(jit.DISABLED, reason="needs the JIT")
def test_kernels_of_a_game_are_counted_and_clocked() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tools.instructions", "tic_tac_dice"], capture_output=True, text=True, check=True
    ).stdout
    for name in ("observe", "legal_mask", "step"):
        counted = re.search(rf"^\| {name}: {name} \| (\d+) \| (\d+) \|", told, re.MULTILINE)
        assert counted, told
        assert int(counted[1]) > int(counted[2])
    for name in ("observation", "mask", "step"):
        clocked = re.search(rf"^\| {name} \| ([\d.]+) \| ([\d.]+) \|", told, re.MULTILINE)
        assert clocked, told
        assert float(clocked[1]) > 0
