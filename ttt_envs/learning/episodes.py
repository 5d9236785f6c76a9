"""Whole games that the learner plays from all seats, for on-policy methods.

A decision's consequences are followed separately for each player, from one of their own decisions to the next: it does
not matter whether players move in turn or simultaneously, or what the others know.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players


@dataclass(frozen=True)
class Rollout:
    """All d decisions of some games, ply after ply.

    Attributes:
        observations: int8 (d, size), of the players who decide.
        masks: bool (d, num_actions).
        actions: int64 (d,).
        log_probs: float32 (d, num_actions), the sampling policy's; very negative where illegal.
        values: float32 (d,), the rewards that the players expected.
        games, players: int64 (d,), who decides in which game.
        following: int64 (d,), the same player's next decision in the game; -1 for the last one.
        rewards: float32 (d,), the player's reward of the game at their last decision; else 0.
        plies: slices of the decisions of each ply.
    """

    observations: np.ndarray
    masks: np.ndarray
    actions: np.ndarray
    log_probs: np.ndarray
    values: np.ndarray
    games: np.ndarray
    players: np.ndarray
    following: np.ndarray
    rewards: np.ndarray
    plies: tuple[slice, ...]

    def __len__(self) -> int:
        return len(self.actions)

    def advantages(self, gamma: float, lam: float, rewards: np.ndarray | None = None) -> np.ndarray:
        """Return generalised advantages along each player's decisions, float32 (d,); `rewards` in place of the own.

        Source: Schulman et al., "High-dimensional continuous control using generalized advantage estimation", 2016.
        """
        rewards = self.rewards if rewards is None else rewards
        # The last row, of zeros, stands for what follows the last decision of an episode.
        values, advantages = np.append(self.values, np.float32(0)), np.zeros(len(self) + 1, np.float32)
        for ply in reversed(self.plies):
            after = self.following[ply]
            advantages[ply] = rewards[ply] + gamma * (values[after] + lam * advantages[after]) - values[ply]
        return advantages[:-1]

    def of_others(self, numbers: np.ndarray) -> np.ndarray:
        """Sum the numbers float32 (d,) of the others' decisions after each decision, up to the player's next one.

        Simultaneous choices of others count as after the player's own.
        """
        sums = np.zeros(len(self), np.float32)
        waiting = np.zeros((self.games.max() + 1, self.players.max() + 1), np.float32)
        for ply in reversed(self.plies):
            games, players, own = self.games[ply], self.players[ply], numbers[ply]
            # A player decides once a ply, so that each place is added to once for each of the others.
            np.add.at(waiting, games, own[:, None])
            waiting[games, players] -= own
            sums[ply] = waiting[games, players]
            waiting[games, players] = 0
        return sums


#: Observations int8 (k, size), masks bool (k, num_actions), numbers of the games and of the players who decide, both
#: int64 (k,) -> actions int64 (k,), log-probabilities float32 (k, num_actions), values float32 (k,).
Act = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class WholeGames:
    """`n` games at a time, each played to its end."""

    def __init__(self, game: Game, n: int, seed: int) -> None:
        """`game`: of any kind; `seed`: of its chance."""
        self.game, self._batch, self._fresh = game, Batch(game, n, seed=seed), True

    def play(self, act: Act) -> Rollout:
        """Play new games to the end, all players by `act`."""
        batch, game = self._batch, self.game
        if not self._fresh:
            batch.reset()
        self._fresh = False
        parts: list[tuple[np.ndarray, ...]] = []
        latest = np.full((batch.n, game.num_players), -1)
        plies, following, first = [], [], 0
        while len(rows := np.flatnonzero(~batch.states["done"])):
            games, players = acting_players(game, batch.states, rows)
            states = batch.states[games]
            observations = game.observations(states, players, check=False)
            masks = game.masks(states, players, check=False)
            actions, log_probs, values = act(observations, masks, games, players)
            parts.append((observations, masks, actions, log_probs, values, games, players))
            joint = np.full((batch.n, game.num_players), -1)
            joint[games, players] = actions
            batch.step(joint[rows], rows, check=False)
            numbers = first + np.arange(len(games))
            before = latest[games, players]
            following.append((before[before >= 0], numbers[before >= 0]))
            latest[games, players] = numbers
            plies.append(slice(first, first + len(games)))
            first += len(games)
        after = np.full(first, -1)
        for earlier, later in following:
            after[earlier] = later
        rewards, decided = np.zeros(first, np.float32), latest >= 0
        rewards[latest[decided]] = batch.states["rewards"][decided]
        observations, masks, actions, log_probs, values, games, players = (
            np.concatenate(each) for each in zip(*parts, strict=True)
        )
        return Rollout(*(observations, masks, actions, log_probs, values, games, players), after, rewards, tuple(plies))
