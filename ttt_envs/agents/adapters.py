"""Other people's players as agents: functions, objects with `act`, torch modules, Stable-Baselines3 models."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ttt_envs.agents.base import Agent, best_of, uniform
from ttt_envs.core.game import Game
from ttt_envs.core.view import Actor, View


class FunctionAgent(Agent):
    """Plays by a function of one position: `f(observation, mask) -> action`.

    `observation` is int8 (observation size,), `mask` int8 (num_actions,), as in the PettingZoo environments.
    """

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], Any], name: str | None = None) -> None:
        """`name`: for reports; by default the function's own."""
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))

    def act(self, view: View) -> np.ndarray:
        """int64 (n,); -1 where the player has no legal action.

        Raises TypeError, naming the agent, if the function answers something else than a whole number.
        """
        out = np.full(len(view), -1, np.int64)
        masks = view.masks.astype(np.int8)
        for i in np.flatnonzero(view.masks.any(axis=1)):
            answer = np.asarray(self.function(view.observations[i].copy(), masks[i].copy()))
            if answer.size != 1 or answer.dtype.kind not in "iu":
                raise TypeError(f"agent {self.name!r} must answer one whole number, not {answer!r}")
            out[i] = answer.item()
        return out


class ActorAgent(Agent):
    """An object with a method `act(view)` that is no subclass of `Agent`; its own `policy` and `check` are used."""

    def __init__(self, actor: Actor) -> None:
        """`actor`: has `act(view) -> int64 (n,)`."""
        self.actor = actor
        self.name = str(getattr(actor, "name", type(actor).__name__))

    def act(self, view: View) -> np.ndarray:
        """What the object answers."""
        return self.actor.act(view)

    def policy(self, view: View) -> np.ndarray:
        """The object's own policy if it has one; else 1 for what it answers."""
        own = getattr(self.actor, "policy", None)
        return super().policy(view) if own is None else np.asarray(own(view), np.float64)

    def check(self, game: Game) -> None:
        """The object's own check, if it has one."""
        own = getattr(self.actor, "check", None)
        if own is not None:
            own(game)


class SB3Agent(Agent):
    """Plays a Stable-Baselines3 model: MaskablePPO, PPO, A2C or DQN, trained on `make_sb3`, `make_vec` or
    `make_single`.

    What the model does with illegal actions is left out: the others keep their proportions.
    """

    def __init__(self, model: Any, name: str | None = None) -> None:
        """`model`: any with a discrete action space and an observation space of this library."""
        self.model = model
        self.name = name or type(model).__name__.lower()

    def policy(self, view: View) -> np.ndarray:
        """float64 (n, num_actions): of a model of Q values the best legal actions."""
        import torch

        policy, masks = self.model.policy, view.masks
        rows = np.flatnonzero(masks.any(axis=1))
        out = np.zeros(masks.shape)
        if not len(rows):
            return out
        with torch.no_grad():
            tensors, _ = policy.obs_to_tensor(self._observations(view.take(rows)))
            if hasattr(policy, "q_net"):
                out[rows] = uniform(best_of(policy.q_net(tensors).cpu().numpy(), masks[rows]))
                return out
            distribution = policy.get_distribution(tensors)
            logits = distribution.distribution.logits.cpu().numpy().astype(np.float64)
        logits = np.where(masks[rows], logits, -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        out[rows] = weights / weights.sum(axis=1, keepdims=True)
        return out

    def check(self, game: Game) -> None:
        """Raise ValueError unless the model's spaces are the game's."""
        actions = getattr(self.model.action_space, "n", None)
        shape = self._space().shape
        known = {(game.observation_size,)} | ({game.plane_index.shape} if game.has_planes else set())
        if actions != game.num_actions or shape not in known:
            raise ValueError(
                f"agent {self.name} was made for observations of shape {shape} and {actions} actions, not for {game!r} "
                f"with {game.observation_size} features and {game.num_actions} actions"
            )

    def _space(self) -> Any:
        space = self.model.observation_space
        return space["observation"] if hasattr(space, "spaces") else space

    def _observations(self, view: View) -> Any:
        observations = view.observations
        if self._space().shape != observations.shape[1:]:
            observations = view.game.to_planes(observations)
        if hasattr(self.model.observation_space, "spaces"):
            return {"observation": observations, "action_mask": view.masks.astype(np.int8)}
        return observations


def from_sb3(model: Any, name: str | None = None) -> Agent:
    """A Stable-Baselines3 model as an agent: `from_sb3(MaskablePPO.load("model.zip"))`."""
    return SB3Agent(model, name)


def from_torch(module: Any, *, encoding: str = "flat", temperature: float = 1.0, name: str = "torch") -> Agent:
    """A torch module, float32 (n, inputs) -> logits (n, num_actions), as an agent.

    Args:
        module: gets flat observations, or planes flattened.
        encoding: "flat" or "planes".
        temperature: 1 samples the softmax of the legal logits, less sharpens it, 0 plays the largest.
        name: for reports.
    """
    from ttt_envs.agents.policy import PolicyAgent

    agent = PolicyAgent(module, encoding, temperature)
    agent.name = name
    return agent
