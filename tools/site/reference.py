"""The library's reference: a section for each public module."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module


def modules(package: str, packages_only: bool = False) -> Iterator[str]:
    """Yield the names of a package and of its direct public modules, or with `packages_only` of its direct packages."""
    yield package
    for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        if module.ispkg == packages_only and not module.name.rpartition(".")[2].startswith("_"):
            yield module.name


def sections(packages: list[str], packages_only: bool = False) -> str:
    """Return a section for each module of these packages; Sphinx fills it with the module's docstrings."""
    names = [name for package in packages for name in modules(package, packages_only)]
    return "\n".join(f"## `{name}`\n\n```{{eval-rst}}\n.. automodule:: {name}\n```\n" for name in names)
