"""Self-play from both sides: the learner plays every player, and each ply is one of its decisions.

Between two sides what one wins the other loses, so that the value of the next position, if the other side moves there,
enters an advantage negated. With one player a game, as in `SB3PlayerEnv`, no such sign is needed, but the plies of the
others are learned nothing from.
"""

from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

from ttt_envs.agents.random import RandomAgent
from ttt_envs.core.game import Game
from ttt_envs.wrappers.sb3 import SB3PlayerEnv
from ttt_envs.wrappers.self_play import PlayerGames


class MoverGames(PlayerGames):
    """Games in which the learner is the player to move, whichever that is.

    Attributes:
        same_side: bool (n,), whether the side that made the last ply moves again.
    """

    def __init__(self, game: Game, n: int) -> None:
        """`n` games; raises ValueError for a game that is not of two sides that move one at a time."""
        if game.simultaneous or len(game.teams) != 2:
            raise ValueError(f"learning from both sides takes two sides that move one at a time, not {game}")
        self._side = np.array([player in game.teams[1] for player in range(game.num_players)])
        self.same_side = np.zeros(n, np.bool_)
        super().__init__(game, n, opponent=RandomAgent())  # which never plays

    def step(self, actions: Any) -> list[tuple[int, int]]:
        """Play the movers' actions int (n,); as `PlayerGames.step`."""
        movers = self.players.copy()
        offences = super().step(actions)
        self.players = self.batch.to_move.astype(np.int64)
        self.same_side = self._side[movers] == self._side[self.players]
        return offences

    def _begin_episodes(self, rows: np.ndarray) -> None:
        self._pay.begin(rows)
        self.players[rows] = self.batch.to_move[rows]
        self._started[rows] += 1
        self.lengths[rows] = 0

    def _play_on(self, rows: np.ndarray) -> None:
        """Nobody else moves."""


class BothSidesEnv(SB3PlayerEnv):
    """`num_envs` games of which the learner plays all players; a reward is that of the player who has just moved."""

    _games: MoverGames

    def __init__(self, game: Game, num_envs: int) -> None:
        """Environments for `game`; ValueError as `MoverGames`."""
        super().__init__(game, num_envs, opponent=RandomAgent())
        self._games = MoverGames(game, num_envs)

    @property
    def games(self) -> MoverGames:
        """The games, which say whose side has just moved."""
        return self._games


class ZeroSumBuffer(MaskableRolloutBuffer):
    """Generalised advantage estimation between two sides: what follows counts negated where the other side moves."""

    def __init__(self, *args: Any, games: MoverGames, **named: Any) -> None:
        """As `MaskableRolloutBuffer`, for the decisions made in `games`."""
        self.games = games
        super().__init__(*args, **named)

    def reset(self) -> None:
        """Forget all decisions."""
        self.signs = np.ones((self.buffer_size, self.n_envs), np.float32)
        super().reset()

    def add(self, *args: Any, **named: Any) -> None:
        """Add the decision that was just made in each game."""
        self.signs[self.pos] = np.where(self.games.same_side, 1, -1)
        super().add(*args, **named)

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: np.ndarray) -> None:
        """Advantages and returns of all decisions, from the values float (n,) of the positions after the last ones."""
        following = last_values.clone().cpu().numpy().flatten()
        advantages, over = np.zeros(self.n_envs, np.float32), dones
        for k in reversed(range(self.buffer_size)):
            weight = self.gamma * self.signs[k] * (1.0 - over)
            advantages = self.rewards[k] + weight * (following + self.gae_lambda * advantages) - self.values[k]
            self.advantages[k] = advantages
            following, over = self.values[k], self.episode_starts[k]
        self.returns = self.advantages + self.values
