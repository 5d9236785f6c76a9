"""Opponents of a learner, drawn by weight at each game's reset."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ttt_envs.core.episodes import among
from ttt_envs.core.game import Game
from ttt_envs.core.rng import Purpose, derive_rows
from ttt_envs.core.view import Actor, as_actor, name_of

#: An agent in a form that `ttt_envs.agents.load` accepts.
AgentLike = str | Actor | Callable[..., Any]

#: Opponents in a form that `Opponents` accepts.
OpponentLike = AgentLike | Sequence[AgentLike] | Mapping[Any, Any]

#: Keys of agents, and their cumulative probabilities of being drawn.
_Pool = tuple[np.ndarray, np.ndarray]


class Opponents:
    """The agents of the other players. Each game draws its agents at the reset, from the episode's seed.

    Attributes:
        by_key: number of an agent (its key) -> the agent, for all that can be drawn or are in play.
    """

    def __init__(
        self,
        game: Game,
        opponent: Any,
        *,
        partner: Any = None,
        load: Callable[[Any, Game], Actor] = lambda given, game: as_actor(given, "an opponent"),
    ) -> None:
        """See `replace` for `opponent`.

        Args:
            game: the game.
            opponent: the agents of the other players.
            partner: in a game of teams, the agents of the learner's partners; None: `opponent` plays them, too.
            load: (an agent or its text, game) -> the agent; raises ValueError if the agent cannot play the game.

        Raises TypeError or ValueError for an invalid opponent, or for a partner in a game without teams.
        """
        self.game = game
        self._load = load
        self.by_key: dict[int, Actor] = {}
        self._next_key = 0
        self._texts: dict[str, Actor] = {}
        if partner is not None and len(game.teams) == game.num_players:
            raise ValueError(f"{game} has no teams of several players: leave partner out")
        self._pools = self._read(opponent)
        self._partner = None if partner is None else self._pool_of(partner)

    def replace(self, opponent: Any, player: int | None) -> None:
        """Draw from the agents `opponent` from now on.

        Args:
            opponent: an agent for all other players; a list of agents, from which each game draws one; a mapping of
                agents to weights; or a mapping of player numbers to any of these, for each player other than the
                learner.
            player: the learner's number; None if any player may be the learner.

        Raises TypeError or ValueError for invalid agents, before any change.
        """
        pools = self._read(opponent)
        self.check_player(player, pools)
        self._pools = pools

    def draw(self, seeds: np.ndarray, learners: np.ndarray) -> np.ndarray:
        """Draw agents for k games; return their keys, int64 (k, players), with -1 for the learner.

        `seeds`: uint64 (k,), the episodes' seeds. `learners`: int (k,), the learner's number in each game.
        """
        shape, usual = (len(seeds), self.game.num_players), self._pools.get(None)
        if usual is not None and len(usual[0]) == 1 and self._partner is None:  # faster than a draw
            out = np.empty(shape, np.int64)
            out[:] = usual[0][0]
            out[np.arange(len(seeds)), learners] = -1
            return out
        out = np.full(shape, -1)
        for player, pool in self._pools.items():
            if player is None:
                out[:] = self._drawn(pool, seeds, 0)[:, None]
            else:
                out[:, player] = self._drawn(pool, seeds, 1 + player)
        rows = np.arange(len(seeds))
        if self._partner is not None:
            ours = self.game.sides == self.game.sides[learners][:, None]
            out = np.where(ours, self._drawn(self._partner, seeds, 1 + self.game.num_players)[:, None], out)
        out[rows, learners] = -1
        return out

    def draw_uniformly(self, keys: np.ndarray) -> bool:
        """Return whether all agents with these keys, int64 (...), -1 for none, play exactly like `agents.random`.

        The agent's own class must declare `draws_uniformly`: subclasses and agents with a replaced `act` do not count.
        """
        for key in self.among(keys):
            agent = self.by_key[key]
            if not vars(type(agent)).get("draws_uniformly", False) or "act" in getattr(agent, "__dict__", {}):
                return False
        return True

    def among(self, keys: np.ndarray) -> list[int]:
        """Return the distinct keys of agents in int64 (...), without -1."""
        if len(self.by_key) == 1 and keys.size >= 16:
            return list(self.by_key) if (keys >= 0).any() else []
        return among(keys)

    @property
    def names(self) -> dict[int, str]:
        """The agents' names, by key."""
        return {key: name_of(agent) for key, agent in self.by_key.items()}

    def told(self, keys: np.ndarray) -> np.ndarray:
        """Return `info["opponent"]`: one key per game, (k,), or all `keys`, (k, players), if opponents differ."""
        several = self._partner is not None or None not in self._pools
        return keys.copy() if several else np.asarray(keys.max(axis=1))

    def forget(self, in_use: np.ndarray) -> None:
        """Remove agents that can no longer be drawn, except those whose keys int64 (...) are in use."""
        kept = set(np.unique(in_use).tolist())
        for pool in (*self._pools.values(), self._partner):
            if pool is not None:
                kept.update(pool[0].tolist())
        self.by_key = {key: agent for key, agent in self.by_key.items() if key in kept}

    def _read(self, given: Any) -> dict[int | None, _Pool]:
        """Return player -> pool, or None -> the pool of all players."""
        if not (isinstance(given, Mapping) and given and all(map(_is_number, given))):
            return {None: self._pool_of(given)}
        players = self.game.num_players
        for player in given:
            if not 0 <= player < players:
                raise ValueError(f"opponents by player: players are 0 to {players - 1}, not {player}")
        return {int(player): self._pool_of(each) for player, each in given.items()}

    def check_player(self, player: int | None, pools: Mapping[int | None, _Pool] | None = None) -> None:
        """Raise ValueError if a player other than the learner `player`, None for any, has no agent."""
        pools = self._pools if pools is None else pools
        missing = [p for p in range(self.game.num_players) if p != player and p not in pools]
        if None not in pools and missing:
            raise ValueError(f"opponents by player: player {missing[0]} has none")

    def _pool_of(self, given: Any) -> _Pool:
        weights: Iterable[Any] | None = None
        if isinstance(given, Mapping):
            weights, given = list(given.values()), list(given)
        agents = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        if not agents:
            raise ValueError("there must be at least one opponent")
        keys = [self._key(each) for each in agents]
        try:
            chances = np.ones(len(keys)) if weights is None else np.asarray(weights, np.float64)
            fits = chances.shape == (len(keys),) and (chances >= 0).all() and 0 < chances.sum() < np.inf
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ValueError(f"weights must be {len(keys)} numbers of at least 0, not all 0; not {weights!r}")
        return np.array(keys), np.cumsum(chances / chances.sum())

    def _key(self, given: Any) -> int:
        agent = self._texts.get(given) if isinstance(given, str) else None
        if agent is None:
            agent = self._load(given, self.game)
            if isinstance(given, str):
                self._texts[given] = agent
        for key, other in self.by_key.items():
            if other is agent:
                return key
        self.by_key[self._next_key] = agent
        self._next_key += 1
        return self._next_key - 1

    def _drawn(self, pool: _Pool, seeds: np.ndarray, number: int) -> np.ndarray:
        keys, chances = pool
        if len(keys) == 1:
            return np.full(len(seeds), keys[0])
        draws = np.empty(len(seeds), np.uint64)
        derive_rows(seeds, int(Purpose.OPPONENT), number, draws)
        return keys[np.minimum(np.searchsorted(chances, draws / 2.0**64, side="right"), len(keys) - 1)]


def _is_number(key: Any) -> bool:
    return isinstance(key, (int, np.integer)) and not isinstance(key, bool)
