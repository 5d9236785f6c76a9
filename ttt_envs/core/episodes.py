"""Bookkeeping of running games, for agents with a memory: episode numbers and digests of the players' information."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.information import Known
from ttt_envs.core.view import Actor, View


class Memory:
    """The bookkeeping of n games. The loop that plays them calls `begin`, `watched`, `note` and `over`.

    Attributes:
        episodes: int64 (n, players), see `View.episodes`.
        known: the players' information; None until an agent requires it.
    """

    def __init__(self, game: Game, n: int) -> None:
        """Begin all games."""
        self._game = game
        self.episodes = np.zeros((n, game.num_players), np.int64)
        self.known: Known | None = None
        self.begin(np.arange(n))

    def keep_for(self, agents: Iterable[Any]) -> None:
        """Track the information that these agents require, in games that begin from now on."""
        remembers, history = wants(agents)
        if self.known is None and (remembers or history):
            self.known = Known(self._game, len(self.episodes), digests=remembers, history=history)
        elif self.known is not None:
            self.known.keep(digests=remembers, history=history)

    def begin(self, rows: np.ndarray) -> None:
        """Begin new games in `rows`, int64 (k,): draw their episode numbers, and reset the players' information."""
        # Draw from the system's entropy, so that the numbers reveal nothing about a game.
        drawn = np.frombuffer(os.urandom(8 * len(rows) * self.episodes.shape[1]), np.uint64)
        self.episodes[rows] = (drawn >> np.uint64(11)).reshape(len(rows), -1)
        if self.known is not None:
            self.known.begin(rows)

    def of(self, rows: np.ndarray, players: np.ndarray) -> dict[str, Any]:
        """Return the keyword arguments of a View of these players, int64 (k,), in the games `rows`."""
        known = {} if self.known is None else self.known.of(rows, players)
        return {"episodes": self.episodes[rows, players], **known}

    def looks(self, watchers: Mapping[int, Actor]) -> bool:
        """Return whether `watched` is needed; if not, the caller need not copy records for it."""
        return bool(watchers) or self.known is not None

    def watched(
        self, rows: np.ndarray, states: np.ndarray, seeds: np.ndarray, keys: np.ndarray, watchers: Mapping[int, Actor]
    ) -> Iterator[tuple[int, View, np.ndarray]]:
        """Let all players observe the current positions of the games `rows`, none of them over.

        Args:
            rows: int64 (k,).
            states: structured (k,).
            seeds: uint64 (k,), the episodes' seeds.
            keys: int64 (k, players), the key of each player's agent.
            watchers: the agents, by key, that observe every ply, see `observers`.

        Yields for each watcher: its key, the view for `observe`, and which entries of `rows` the view shows, int64.
        """
        if self.known is not None:
            self.known.show(rows, states)
        for key in watchers:
            at, by = np.nonzero(keys == key)
            if len(at):
                yield key, View.unchecked(self._game, states.take(at), by, seeds[at], **self.of(rows[at], by)), at

    def note(self, rows: np.ndarray, states: np.ndarray, actions: np.ndarray) -> None:
        """Record the actions, int64 (k, players), that are about to be played; -1 for players who do not act.

        `states`, structured (n,), are the positions of all games before the step.
        """
        if self.known is not None:
            self.known.note(rows, states.take(rows), actions)

    def over(self, rows: np.ndarray, rewards: np.ndarray, keys: np.ndarray, agents: Mapping[int, Actor] | Any) -> None:
        """Tell the agents that the games `rows`, int64 (k,), are over.

        `keys`, int64 (k, players): the key in `agents` of each seat's agent, -1 for none. `rewards`: float32 (k,
        players).
        """
        for key in among(keys):
            tell = getattr(agents[key], "episodes_over", None)
            if tell is not None:
                mine = keys == key
                tell(self.episodes[rows][mine], rewards[mine])


def among(keys: np.ndarray) -> list[int]:
    """Return the distinct keys in int64 (...), ascending, without -1."""
    if keys.size < 16:
        return sorted({key for key in keys.ravel().tolist() if key >= 0})
    return np.unique(keys[keys >= 0]).tolist()


def observers(agents: Mapping[int, Any]) -> dict[int, Any]:
    """Return the agents that observe every ply; see `ttt_envs.agents.Agent.observes`."""
    return {key: agent for key, agent in agents.items() if observes(agent)}


def wants(agents: Iterable[Any]) -> tuple[bool, int]:
    """Return whether any agent uses `View.info_state_keys`, and the longest `View.past` that an agent uses."""
    remembers, history = False, 0
    for agent in agents:
        remembers |= bool(getattr(agent, "remembers", False))
        own = getattr(agent, "history", 0)
        history = max(history, own if isinstance(own, int) else 0)  # a foreign class may use the name for a list
    return remembers, history


def observes(agent: Any) -> bool:
    """Return whether an agent observes every ply."""
    return bool(getattr(agent, "observes", callable(getattr(agent, "observe", None))))
