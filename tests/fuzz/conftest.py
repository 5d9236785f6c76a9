"""How many examples are tried: few, and always the same, by default; many, and ever others, by `make fuzz`."""

import random
import time

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.support.models.common import CALLS

# Compiling takes longer than any deadline.
_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}

settings.register_profile(
    "few",
    **_COMMON,
    derandomize=True,
    database=None,
    max_examples=6,
    stateful_step_count=12,
    phases=[Phase.generate],  # such examples are small, and making them smaller takes minutes
)
settings.register_profile(
    "many",
    **_COMMON,
    database=DirectoryBasedExampleDatabase("runs/fuzz/examples"),
    max_examples=20,
    stateful_step_count=50,
    print_blob=True,
)
# `--hypothesis-profile` comes after this.
settings.load_profile("few")

_UNTIL = "--fuzz-until"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Pytest reads this only if this folder is named on its command line, as `make fuzz` does."""
    parser.addoption(_UNTIL, type=float, help="skip the tests that would begin after this time (seconds since 1970)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In another order with each seed, so that it is not always the same tests for which the time is too short."""
    if config.getoption(_UNTIL, None) is not None:
        random.Random(config.getoption("hypothesis_seed")).shuffle(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the rest when the time is over."""
    until = item.config.getoption(_UNTIL, None)
    if until is not None and time.time() > until:
        pytest.skip("the time is over")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much was tried; `tools.fuzz` reads this line."""
    counts = ", ".join(f"{name} {count}" for name, count in sorted(CALLS.items()))
    terminalreporter.write_line(f"fuzzed: {counts or 'nothing'}")
