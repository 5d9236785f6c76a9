"""The reference of the library: which modules it has."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module


def modules(package: str, packages_only: bool = False) -> Iterator[str]:
    """Yield the names of a package and of the public modules that lie directly in it, or of the packages in it."""
    yield package
    for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        if module.ispkg == packages_only and not module.name.rpartition(".")[2].startswith("_"):
            yield module.name


def sections(packages: list[str], packages_only: bool = False) -> str:
    """Return a section for each of these modules, from its docstrings."""
    names = [name for package in packages for name in modules(package, packages_only)]
    return "\n".join(f"## `{name}`\n\n```{{eval-rst}}\n.. automodule:: {name}\n```\n" for name in names)
