"""Carried: the state of a recurrent policy between the decisions of one player in one game."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ttt_envs.core.view import View


class _Kept(NamedTuple):
    """The state before and after the decision at a ply: one array for each that the policy has."""

    ply: int
    before: list[np.ndarray]
    after: list[np.ndarray]


class Carried:
    """The states of a recurrent policy by episode, see `View.episodes`.

    An agent may be asked about a decision several times, as for its policy and then for its action: it has the same
    state there. It restarts at an earlier decision than the last one, for example after a move was taken back.
    """

    def __init__(self) -> None:
        """No game has been played."""
        self._kept: dict[int, _Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def before(self, name: str, view: View, begin: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the states before these decisions; games that begin have `begin`, arrays (n, ...).

        Raises ValueError, naming the agent, for a view without episodes.
        """
        if view.episodes is None:
            raise ValueError(
                f"agent {name} carries a state from one decision of a game to the next, and this view is of no games "
                "that are played: it plays whole games, in tournaments and as an opponent"
            )
        states = [each.copy() for each in begin]
        for i, (episode, ply) in enumerate(zip(view.episodes.tolist(), view.plies.tolist(), strict=True)):
            kept = self._kept.get(episode)
            if kept is not None and kept.ply <= ply:
                for state, own in zip(states, kept.before if kept.ply == ply else kept.after, strict=True):
                    state[i] = own
        return states

    def keep(self, view: View, before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> None:
        """Keep the states of these decisions."""
        assert view.episodes is not None
        for i, (episode, ply) in enumerate(zip(view.episodes.tolist(), view.plies.tolist(), strict=True)):
            self._kept[episode] = _Kept(ply, [each[i].copy() for each in before], [each[i].copy() for each in after])

    def over(self, episodes: np.ndarray) -> None:
        """Forget these games, int64 (k,)."""
        for episode in episodes.tolist():
            self._kept.pop(episode, None)
