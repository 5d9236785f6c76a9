"""Settings of all tests: solved games are kept beside pytest's own cache, and nothing waits for an eye or a disk."""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

# The tests' networks are small, and threads for their products would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TTT_ENVS_CACHE", str(Path(__file__).resolve().parent.parent / ".pytest_cache" / "ttt_envs"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests are never garbage: to look through them again and again takes a tenth of all the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def no_waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A human looks at each picture for a quarter of a second, and each file waits until it is on the disk.

    SB3 makes a folder for each model that learns, in the system's temporary folder if it is told no other.

    The picture of a curve takes a tenth of a second: what is drawn once in a file of tests stands for the next ones.
    """
    from ttt_envs.learning.runs import measurements
    from ttt_envs.wrappers import common

    usual, drawn = measurements.write_picture, dict[tuple[str, str], bytes]()

    def write_picture(path: Path, title: str, *given: Any) -> None:
        place = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0], title
        if place not in drawn:
            usual(path, title, *given)
            drawn[place] = path.read_bytes()
        path.write_bytes(drawn[place])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurements, "write_picture", write_picture)
        patch.setattr(common, "RENDER_FPS", 1000)
        patch.setattr(os, "fsync", lambda file: None)
        patch.setenv("SB3_LOGDIR", str(tmp_path_factory.mktemp("sb3")))
        yield
