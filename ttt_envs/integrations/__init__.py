"""Adapters to other frameworks. Each module needs its framework."""

from typing import TYPE_CHECKING

from ttt_envs.storage.lazy import modules_of

__all__ = ["open_spiel", "sb3"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = modules_of(__name__, __all__)
