"""Torch modules as agents, which may go on learning while they play."""

from typing import TYPE_CHECKING

import numpy as np

from ttt_envs.agents.base import Agent
from ttt_envs.agents.network import softmax_rows
from ttt_envs.core.game import Game
from ttt_envs.core.options import choice, within
from ttt_envs.core.view import ENCODINGS, View
from ttt_envs.storage.extras import require

if TYPE_CHECKING:  # so that agents can be listed and described without the extra
    import torch


class PolicyAgent(Agent):
    """Plays by a policy network in torch. A network file is played by `network.NetworkAgent`, without torch."""

    def __init__(
        self,
        net: "torch.nn.Module",
        encoding: str = "flat",
        temperature: float = 1.0,
        symmetric: bool = False,
    ) -> None:
        """`net`: float32 (n, inputs) -> logits (n, num_actions); it may go on learning.

        One more logit a position is that of `wait`, from training on the parallel environment; it does not count.

        `temperature`: 1 samples the policy itself, less sharpens it, 0 plays its most likely action. `symmetric`: the
        logits are the mean over the game's symmetries; it costs that many times more, and evens out what
        was learned on one side of the board only.

        Raises ValueError for an unknown encoding or a negative temperature, TypeError if `net` is no torch module.
        """
        require("train", "torch")
        import torch

        if not isinstance(net, torch.nn.Module):
            raise TypeError(f"a network must be a torch module, not {net!r} of type {type(net).__name__}")
        self.net = net
        within(0.0, 1e6, temperature=temperature)
        self.encoding: str = choice("encoding", encoding, ENCODINGS)
        self.temperature = temperature
        self.symmetric = symmetric

    def logits(self, view: View) -> np.ndarray:
        """float32 (n, num_actions), not masked.

        Raises ValueError if the network does not fit the game, or gives numbers that are not finite.
        """
        game, observations = view.game, view.observations
        result = self._forward(game, observations)
        if self.symmetric:
            # The identity is counted above, whether the game names it or not.
            symmetries = [s for s in game.symmetries if (s.features != np.arange(game.observation_size)).any()]
            for symmetry in symmetries:
                result[:, symmetry.actions] += self._forward(game, observations[:, symmetry.features])
            result /= 1 + len(symmetries)
        if not np.isfinite(result).all():
            raise ValueError(f"agent {self.name}: its network gives numbers that are not finite")
        return result

    def _forward(self, game: Game, observations: np.ndarray) -> np.ndarray:
        import torch

        if self.encoding == "planes":
            observations = game.to_planes(observations).reshape(len(observations), game.plane_index.size)
        weights = next(self.net.parameters(), None)
        inputs = torch.from_numpy(np.ascontiguousarray(observations, np.float32))
        with torch.inference_mode():
            try:
                logits = self.net(inputs if weights is None else inputs.to(weights.device))
            except RuntimeError as error:
                raise ValueError(
                    f"agent {self.name}: its network cannot take the {inputs.shape[1]} features of {game}: {error}"
                ) from error
        result, n, actions = np.asarray(logits.float().cpu().numpy()), len(observations), game.num_actions
        if result.shape not in ((n, actions), (n, actions + 1)):
            raise ValueError(
                f"agent {self.name}: its network gives an array of shape {result.shape} for {n} positions of {game}; "
                f"it must be ({n}, {actions}), or ({n}, {actions + 1}) with `wait`"
            )
        return result[:, :actions]

    def check(self, game: Game) -> None:
        """Raise ValueError unless the network fits the game's observations and actions."""
        super().check(game)
        self._forward(game, np.zeros((1, game.observation_size), np.int8))

    def policy(self, view: View) -> np.ndarray:
        """float64 (n, num_actions): the probabilities of `act`'s answers; zeros where illegal."""
        return softmax_rows(self.logits(view), view.masks, self.temperature)
