"""`tools.gpu` on a machine without a GPU; tests/cuda has its games."""

from importlib.util import find_spec

import pytest

if find_spec("numba.cuda") is None:
    pytest.skip("this Numba has no CUDA: the extra cuda brings it", allow_module_level=True)

from numba import cuda

from tools import gpu
from ttt_envs.learning import mmd, value_learning


@pytest.mark.skipif(cuda.is_available(), reason="there is a GPU")
def test_a_machine_without_a_gpu_is_told(capsys: pytest.CaptureFixture) -> None:
    assert gpu.main(["--games", "tic_tac_dice"]) == 2
    assert "nvidia-smi" in capsys.readouterr().err


@pytest.mark.skipif(cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("method", [mmd, value_learning])
def test_learners_on_a_gpu_say_what_they_need(method) -> None:
    with pytest.raises(ValueError, match=r"torch .* finds none; nvidia-smi"):
        method.Config(game="tic_tac_dice", device="cuda").check()
