"""Solvers for small games. With perfect information, `positions` finds optimal play. For other two-player zero-sum
games, `tree` and `sequence` build the sequence form, and `cfr` approximates an equilibrium."""

from typing import TYPE_CHECKING

from ttt_envs.storage.lazy import modules_of

__all__ = ["cfr", "positions", "sequence", "tree"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = modules_of(__name__, __all__)
