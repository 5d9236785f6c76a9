"""Extras: optional packages for parts of the library."""

from importlib.util import find_spec


def require(extra: str, *modules: str) -> None:
    """Raise ImportError with the command that installs the extra, unless all its `modules` are installed.

    The check imports nothing. Call this function just before the import of the modules.
    """
    missing = [module for module in modules if not _installed(module)]
    if missing:
        raise ImportError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; "
            f"install the extra {extra!r}: pip install 'ttt-envs[{extra}]'",
            name=missing[0],
        )


def _installed(module: str) -> bool:
    try:
        spec = find_spec(module)
        return spec is not None and spec.origin is not None  # a mere folder with this name has no origin
    except (ImportError, ValueError):  # the module is blocked or half imported
        return False
