"""Variants of tic-tac-toe as an OpenEnv environment: a server that plays, and the client of it."""

from .client import TttEnv
from .models import TttAction, TttObservation

__all__ = ["TttAction", "TttEnv", "TttObservation"]
