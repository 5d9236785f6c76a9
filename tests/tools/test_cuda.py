"""`tools.cuda`: the simulator plays the games that a Batch plays, and what machine code needs is read and reckoned."""

from importlib.util import find_spec

import pytest

if find_spec("numba.cuda") is None:
    pytest.skip("this Numba has no CUDA: numba-cuda brings it", allow_module_level=True)

from tools import cuda


def test_the_simulator_plays_the_same_games():
    digest, ended = cuda.played("tic_tac_dice", 30, 40)
    assert ended > 10
    assert cuda.simulated("tic_tac_dice", 30, 40) == (digest, ended)
    assert cuda.played("tic_tac_dice", 30, 39)[0] != digest


@pytest.mark.parametrize(("registers", "share"), [(32, 1), (64, 0.5), (65, 0.4375), (128, 0.25), (255, 0.125)])
def test_registers_limit_the_warps(registers, share):
    """As NVIDIA's occupancy calculator has it, for blocks of 128 threads."""
    assert cuda.Built(registers, 0, 0, 0, 0).occupancy == share


def test_a_figure_that_is_the_same_is_written_once():
    assert cuda.cells([cuda.Built(64, 8, 0, 5, 4), cuda.Built(128, 8, 0, 5, 4)]) == [
        "64 / 128", "8", "0", "50% / 25%", "5", "4",
    ]  # fmt: skip


def test_what_is_missing_is_said(monkeypatch, capsys):
    monkeypatch.setattr(cuda, "assembler", lambda: None)
    assert cuda.main(["--games", "tic_tac_dice", "--plies", "0"]) == 2
    assert "pip install" in capsys.readouterr().err


@pytest.mark.skipif(
    find_spec("numba_cuda") is None or cuda.assembler() is None, reason=f"not installed: {cuda.INSTALL}"
)
def test_kernels_are_built():
    found = dict(cuda.builds("tic_tac_dice"))
    for built in found.values():
        assert all(each.registers > 0 for each in built)
    assert found["mask"][0].bytewise == found["mask"][0].stores
