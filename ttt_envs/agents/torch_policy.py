"""Agents that play with torch modules, which may continue to learn."""

from typing import TYPE_CHECKING

import numpy as np

from ttt_envs.agents.base import Agent, softmax_rows
from ttt_envs.core.game import Game
from ttt_envs.core.observation_layout import ENCODINGS, check_history
from ttt_envs.core.options import choice, within
from ttt_envs.core.view import View
from ttt_envs.storage.extras import require

if TYPE_CHECKING:  # agents can be listed and described without torch
    import torch


class PolicyAgent(Agent):
    """Plays with a policy network in torch. `network_agents.NetworkAgent` plays network files without torch."""

    def __init__(
        self,
        network: "torch.nn.Module",
        encoding: str = "flat",
        temperature: float = 1.0,
        symmetric: bool = False,
        *,
        history: int = 0,
    ) -> None:
        """Set the network and how to play with it.

        Args:
            network: float32 (n, inputs) -> logits (n, num_actions); it may continue to learn. An additional logit per
                position, for `wait` in the parallel environment, is ignored.
            encoding: "flat" or "planes".
            temperature: 1 samples the policy itself, lower values sharpen it, 0 plays the most likely action.
            symmetric: average the logits over the game's symmetries, which compensates one-sided training. The time is
                proportional to the number of symmetries.
            history: number of the player's past decisions in an observation, see `Game.layout`.

        Raises TypeError if `network` is no torch module; ValueError for an unknown encoding, a wrong history, a
        negative temperature, or symmetries together with a history.
        """
        require("train", "torch")
        import torch

        if not isinstance(network, torch.nn.Module):
            raise TypeError(f"a network must be a torch module, not {network!r} of type {type(network).__name__}")
        self.network = network
        within(0.0, 1e6, temperature=temperature)
        self.encoding: str = choice("encoding", encoding, ENCODINGS)
        self.history = check_history(history)
        if symmetric and history:
            raise ValueError("symmetric=True is for history=0")
        self.temperature = temperature
        self.symmetric = symmetric

    def logits(self, view: View) -> np.ndarray:
        """Return unmasked logits, float32 (n, num_actions).

        Raises ValueError if the network does not fit the game or its outputs are not finite.
        """
        game, observations = view.game, view.encoded(history=self.history)
        result = self._forward(game, observations)
        if self.symmetric:
            for symmetry in game.proper_symmetries:
                result[:, symmetry.actions] += self._forward(game, observations[:, symmetry.features])
            result /= 1 + len(game.proper_symmetries)
        if not np.isfinite(result).all():
            raise ValueError(f"agent {self.name}: its network gives numbers that are not finite")
        return result

    def _forward(self, game: Game, observations: np.ndarray) -> np.ndarray:
        import torch

        if self.encoding == "planes":
            planes = game.to_planes(observations)
            observations = planes.reshape(len(planes), int(np.prod(planes.shape[1:])))
        weights = next(self.network.parameters(), None)
        inputs = torch.from_numpy(np.ascontiguousarray(observations, np.float32))
        with torch.inference_mode():
            try:
                inputs = inputs if weights is None else inputs.to(weights.device)
                logits = self.network(inputs)
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
        self._forward(game, np.zeros((1, game.encoded_size(self.history)), np.int8))

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions); zeros where illegal."""
        return softmax_rows(self.logits(view), view.masks, self.temperature)
