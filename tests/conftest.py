"""Settings of all tests: solved games are kept beside pytest's own cache, and windows do not wait for an eye."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("TTT_ENVS_CACHE", str(Path(__file__).resolve().parent.parent / ".pytest_cache" / "ttt_envs"))


@pytest.fixture(autouse=True, scope="session")
def pictures_at_full_speed() -> Iterator[None]:
    """A human looks at each picture of an environment for a quarter of a second; the tests render thousands."""
    from ttt_envs.wrappers import common

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(common, "RENDER_FPS", 1000)
        yield
