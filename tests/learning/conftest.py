"""A small training run that several tests look at."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def run(tmp_path_factory) -> Path:
    """The folder of a finished run."""
    from small_training import tiny

    from ttt_envs.learning.ppo import train

    folder = tmp_path_factory.mktemp("runs") / "x"
    result = train(tiny(folder))
    assert result.finished
    assert result.steps == 512
    return folder
