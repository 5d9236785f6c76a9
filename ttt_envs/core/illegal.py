"""Illegal actions: the error and its message."""

import numpy as np

from ttt_envs.core.game import Game


class IllegalAction(ValueError):
    """An action of the game that is not legal now."""


def explain(game: Game, who: str, action: int, mask: np.ndarray) -> tuple[str, str, list[str]]:
    """The message for an illegal action, its name, and the names of the legal ones."""
    names = (*game.action_names, "wait")
    legal = [names[a] for a in np.flatnonzero(mask)]
    shown = ", ".join(legal[:20]) + (f" and {len(legal) - 20} more" if len(legal) > 20 else "")
    return f"{who} cannot play {names[action]!r} (action {action}) now; legal: {shown}", names[action], legal
