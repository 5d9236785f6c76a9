"""Torch modules as agents, which may go on learning while they play."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ttt_envs.agents.base import Agent, softmax_rows
from ttt_envs.agents.recurrent_state import Carried
from ttt_envs.core.game import Game
from ttt_envs.core.observation_layout import ENCODINGS, check_history
from ttt_envs.core.options import choice, within
from ttt_envs.core.view import View
from ttt_envs.storage.extras import require

if TYPE_CHECKING:  # so that agents can be listed and described without the extra
    import torch


class PolicyAgent(Agent):
    """Plays by a policy network in torch. A network file is played by `network_agents.NetworkAgent`, without torch."""

    def __init__(
        self,
        network: "torch.nn.Module",
        encoding: str = "flat",
        temperature: float = 1.0,
        symmetric: bool = False,
        *,
        history: int = 0,
    ) -> None:
        """`network`: float32 (n, inputs) -> logits (n, num_actions); it may go on learning.

        One more logit per position is for `wait`, from training on the parallel environment; it does not count. One
        with a method `initial_state` carries a state, see `adapters.from_torch`.

        `temperature`: 1 samples the policy itself, less sharpens it, 0 plays its most likely action. `symmetric`: the
            logits are the mean over the game's symmetries; it costs as many times more, and evens out one-sided
            training. `history`: of the observations, see `Game.layout`.

        Raises TypeError if `network` is no torch module; ValueError for an unknown encoding, a wrong history, a
        negative temperature, or symmetries of observations with a history or of a network with a state.
        """
        require("train", "torch")
        import torch

        if not isinstance(network, torch.nn.Module):
            raise TypeError(f"a network must be a torch module, not {network!r} of type {type(network).__name__}")
        self.network = network
        within(0.0, 1e6, temperature=temperature)
        self.encoding: str = choice("encoding", encoding, ENCODINGS)
        self.history = check_history(history)
        self._carried = Carried() if callable(getattr(network, "initial_state", None)) else None
        if symmetric and (history or self._carried is not None):
            raise ValueError("symmetric=True is for a network without a state, and with history=0")
        self.temperature = temperature
        self.symmetric = symmetric

    def logits(self, view: View) -> np.ndarray:
        """Return float32 (n, num_actions), not masked.

        Raises ValueError if the network does not fit the game, or gives numbers that are not finite; and of one with a
        state for a view without episodes.
        """
        game, observations = view.game, view.encoded(history=self.history)
        if self._carried is None:
            result = self._forward(game, observations)
        else:
            begin = _arrays(self.network.initial_state(len(view)))  # type: ignore[operator]
            before = self._carried.before(self.name, view, begin)
            result = self._forward(game, observations, before)
            self._carried.keep(view, before, self._after)
        if self.symmetric:
            for symmetry in game.proper_symmetries:
                result[:, symmetry.actions] += self._forward(game, observations[:, symmetry.features])
            result /= 1 + len(game.proper_symmetries)
        if not np.isfinite(result).all():
            raise ValueError(f"agent {self.name}: its network gives numbers that are not finite")
        return result

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Forget the states of these games: int64 (k,), float32 (k,)."""
        if self._carried is not None:
            self._carried.over(episodes)

    def _forward(self, game: Game, observations: np.ndarray, states: Sequence[np.ndarray] | None = None) -> np.ndarray:
        """Return the logits; a network with a state leaves its next one in `_after`."""
        import torch

        if self.encoding == "planes":
            planes = game.to_planes(observations)
            observations = planes.reshape(len(planes), int(np.prod(planes.shape[1:])))
        weights = next(self.network.parameters(), None)
        inputs = torch.from_numpy(np.ascontiguousarray(observations, np.float32))
        with torch.inference_mode():
            try:
                inputs = inputs if weights is None else inputs.to(weights.device)
                if states is None:
                    logits = self.network(inputs)
                else:
                    given = tuple(torch.from_numpy(each).to(inputs.device) for each in states)
                    logits, after = self.network(inputs, given if len(given) > 1 else given[0])
                    self._after = _arrays(after)
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
        states = None if self._carried is None else _arrays(self.network.initial_state(1))  # type: ignore[operator]
        self._forward(game, np.zeros((1, game.encoded_size(self.history)), np.int8), states)

    def policy(self, view: View) -> np.ndarray:
        """Return float64 (n, num_actions): the probabilities of `act`'s answers; zeros where illegal."""
        return softmax_rows(self.logits(view), view.masks, self.temperature)


def _arrays(state: Any) -> list[np.ndarray]:
    return [each.detach().cpu().numpy() for each in (state if isinstance(state, (tuple, list)) else (state,))]
