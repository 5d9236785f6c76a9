"""Loads a package's modules on first use."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any


def modules_of(package: str, names: Sequence[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package that lists these modules and loads them on first use."""

    def getattr_(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return getattr_, lambda: sorted(names)
