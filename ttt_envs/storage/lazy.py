"""Modules of a package that load when they are first asked for."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any


def modules_of(package: str, names: Sequence[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that shows these modules, and loads them when asked."""

    def getattr_(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return getattr_, lambda: sorted(names)
