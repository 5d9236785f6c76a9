"""Without the extra `train`, as in `make test-range`, the tests that make environments for SB3 are skipped."""

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    try:
        return (yield)
    except ImportError as error:
        if (error.name or "").split(".")[0] in ("stable_baselines3", "sb3_contrib"):
            pytest.skip(str(error))
        raise
