"""Solvers for any small game: optimal play with perfect information; else its tree in sequence form, and counterfactual
regret minimisation."""

from typing import TYPE_CHECKING

from ttt_envs.storage.lazy import modules_of

__all__ = ["cfr", "positions", "sequence", "tree"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = modules_of(__name__, __all__)
