"""Whole games in which the learner plays all seats, for on-policy methods.

Each player's future rewards are summed along that player's own decisions. Players may move in turn or simultaneously,
with different information.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players


@dataclass(frozen=True)
class Rollout:
    """All d decisions of some finished games, ordered by ply.

    Attributes:
        observations: int8 (d, size), the deciding players' observations.
        masks: bool (d, num_actions).
        actions: int64 (d,).
        log_probs: float32 (d, num_actions), log-probabilities of the policy that played; very negative if illegal.
        values: float32 (d,), the value network's estimates.
        games, players: int64 (d,), the game and the deciding player.
        following: int64 (d,), index of the player's next decision in the game; -1 for the last one.
        rewards: float32 (d,), the player's final reward at the player's last decision, otherwise 0.
        plies: for each ply, the slice of its decisions.
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
        """Return generalised advantages along each player's decisions, float32 (d,); `rewards` replaces `self.rewards`.

        Source: Schulman et al., "High-dimensional continuous control using generalized advantage estimation", 2016.
        """
        rewards = self.rewards if rewards is None else rewards
        # `following` is -1 at a player's last decision, so the row after it is the appended row of zeros.
        values, advantages = np.append(self.values, np.float32(0)), np.zeros(len(self) + 1, np.float32)
        for ply in reversed(self.plies):
            after = self.following[ply]
            advantages[ply] = rewards[ply] + gamma * (values[after] + lam * advantages[after]) - values[ply]
        return advantages[:-1]

    def of_others(self, numbers: np.ndarray) -> np.ndarray:
        """For each decision, sum the `numbers`, float32 (d,), of the other players' decisions in the same game from
        then until its player decides again or the game ends. Simultaneous decisions are included.
        """
        sums = np.zeros(len(self), np.float32)
        waiting = np.zeros((self.games.max() + 1, self.players.max() + 1), np.float32)
        for ply in reversed(self.plies):
            games, players, own = self.games[ply], self.players[ply], numbers[ply]
            # Add each number to the sums of all players of the game, then remove the player's own.
            np.add.at(waiting, games, own[:, None])
            waiting[games, players] -= own
            sums[ply] = waiting[games, players]
            waiting[games, players] = 0
        return sums


#: Chooses actions for k decisions: (observations int8 (k, size), masks bool (k, num_actions), games int64 (k,), players
#: int64 (k,)) -> (actions int64 (k,), log-probabilities float32 (k, num_actions), values float32 (k,)).
Act = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class WholeGames:
    """Plays `n` games at a time to their ends."""

    def __init__(self, game: Game, n: int, seed: int) -> None:
        """`game`: any game; `seed`: determines its chance."""
        self.game, self._batch, self._fresh = game, Batch(game, n, seed=seed), True

    def play(self, act: Act) -> Rollout:
        """Play `n` new games to the end and return all decisions; `act` chooses for all players."""
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
