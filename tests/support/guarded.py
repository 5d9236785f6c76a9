"""Kernels as plain Python over guarded arrays, in which an index below zero or too large is an error.

Compiled code checks no index; NumPy's own arrays take -1 for the last entry, which hides a wrong one.
"""

import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np


class Guarded(np.ndarray):
    def __getitem__(self, index: Any) -> Any:
        _refuse_negative(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_negative(index)
        super().__setitem__(index, value)


def _refuse_negative(index: Any) -> None:
    for each in index if isinstance(index, tuple) else (index,):
        if isinstance(each, (int, np.integer)) and each < 0:
            raise IndexError(f"index {each} is below zero")


def guarded(array: np.ndarray) -> np.ndarray:
    return array.view(Guarded)


class Record:
    """A state as kernels see it, whose fields are guarded."""

    def __init__(self, states: np.ndarray, i: int) -> None:
        self._record = states[i]

    def __getitem__(self, field: str) -> Any:
        value = self._record[field]
        return guarded(value) if isinstance(value, np.ndarray) else value

    def __setitem__(self, field: str, value: Any) -> None:
        self._record[field] = value


def plain(kernel: Callable[..., Any], **changes: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel as plain Python, and all that it calls, with guarded tables.

    `changes`: functions that stand in the place of those of these names, wherever they are called.
    """
    spaces: dict[int, dict[str, Any]] = {}

    def namespace(names: dict[str, Any]) -> dict[str, Any]:
        if id(names) not in spaces:
            spaces[id(names)] = made = dict(names)  # known before it is filled: modules refer to each other
            made.update({name: converted(value) for name, value in names.items()})
            made.update({name: change for name, change in changes.items() if name in names})
        return spaces[id(names)]

    def converted(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return guarded(value)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("ttt_envs."):
            return types.SimpleNamespace(**namespace(vars(value)))
        function = inspect.unwrap(getattr(value, "py_func", value)) if callable(value) else None
        if isinstance(function, types.FunctionType) and function.__module__.startswith("ttt_envs."):
            return types.FunctionType(
                function.__code__, namespace(function.__globals__), function.__name__, function.__defaults__
            )
        return value

    return converted(kernel)  # type: ignore[no-any-return]
