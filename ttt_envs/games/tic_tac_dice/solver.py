"""Best play of the Tic-Tac-Dice family."""

from typing import Any

from ttt_envs.core.game import Oracle


def oracle_for(**options: Any) -> Oracle:
    """Best play with these options; NotImplementedError where there is none."""
    raise NotImplementedError(f"no oracle for these options: {options}")
