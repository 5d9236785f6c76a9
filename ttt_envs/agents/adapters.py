"""Adapters that turn functions, text models, objects with `act`, torch modules and SB3 models into agents."""

import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ttt_envs.agents.base import Agent, Fault, best_of, gathered, uniform
from ttt_envs.core.episodes import observes, wants
from ttt_envs.core.game import Game
from ttt_envs.core.observation_layout import Encoding
from ttt_envs.core.options import within
from ttt_envs.core.prompts import again, prompt, read_answer
from ttt_envs.core.view import Actor, View
from ttt_envs.storage.extras import require
from ttt_envs.storage.untrusted import brief


class FunctionAgent(Agent):
    """Plays with a function of one position: `f(observation, mask) -> action`.

    `observation` is int8 (observation size,), `mask` int8 (num_actions,), as in the PettingZoo environments.
    """

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], Any], name: str | None = None) -> None:
        """`name`: name in reports, by default the function's.

        Raises TypeError for a function that cannot be called with two arguments.
        """
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):  # some compiled functions have no signature
            return
        try:
            signature.bind(None, None)
        except TypeError:
            raise TypeError(
                f"a function that plays takes (observation, mask), but {self.name} takes {signature}"
            ) from None

    def act(self, view: View) -> np.ndarray:
        """Return one action per position, int64 (n,); -1 if the player has no legal action.

        Raises TypeError or ValueError with the agent's name if the function does not return the number of an action.
        """
        out = np.full(len(view), -1, np.int64)
        observations, masks = view.observations, view.masks
        for i in np.flatnonzero(masks.any(axis=1)):
            # Pass copies, because the function may change its arguments.
            answer = np.asarray(self.function(observations[i].copy(), masks[i].astype(np.int8)))
            if answer.size != 1 or answer.dtype.kind not in "iu":
                given = repr(answer.item()) if answer.size == 1 else f"an array of shape {answer.shape}"
                raise TypeError(f"agent {self.name} must answer one whole number, not {given}")
            if not 0 <= answer.item() < view.game.num_actions:
                raise ValueError(
                    f"agent {self.name} must answer a number from 0 to {view.game.num_actions - 1}, not {answer.item()}"
                )
            out[i] = answer.item()
        return out


class TextAgent(Agent):
    """Plays with a function that maps a prompt to an answer (both strings), such as a language model in this process.

    Prompts and answers are as in `make_text`. If an answer has no legal action, the prompt is repeated with the reason.
    """

    def __init__(self, answer: Callable[[str], str], retries: int = 2, rules: bool = True, name: str = "text") -> None:
        """Take the arguments of `from_text`."""
        if not callable(answer):
            raise TypeError(f"from_text takes a function from a prompt to an answer, not {answer!r}")
        within(0, 100, retries=retries)
        self.answer, self.retries, self.rules, self.name = answer, retries, rules, name
        self._counts: Counter[str] = Counter()

    def counts(self) -> Mapping[str, float]:
        """Return the number of answers, and the number of answers without a legal action."""
        return self._counts

    def act(self, view: View) -> np.ndarray:
        """Return one action per position, int64 (n,); -1 if the player has no legal action.

        Raises:
            AgentFailed: the answers in some positions named no legal action.
            TypeError: an answer is not text.
        """
        rows = np.flatnonzero(view.masks.any(axis=1)).tolist()
        return gathered(self.name, len(view), {i: self._decide(view, i) for i in rows})

    def _decide(self, view: View, i: int) -> int | Fault:
        asked, reason, text = prompt(view, i, rules=self.rules), "", ""
        for _ in range(self.retries + 1):
            text = self.answer(again(asked, reason))
            if not isinstance(text, str):
                raise TypeError(f"agent {self.name} must answer text, not {text!r}")
            self._counts["answers"] += 1
            try:
                return read_answer(view.game, view.masks[i], text)
            except ValueError as error:
                reason = str(error)
            self._counts["illegal answers"] += 1
        said = f"named no legal action in {self.retries + 1} answers"
        return Fault(f"{said}; the last one: {brief(text)!r}. {brief(reason, 500)}")


class ActorAgent(Agent):
    """Adapts an object with a method `act(view)` whose class is no `Agent`.

    If the object has `policy`, `action_values`, `value`, `check`, `observe`, `episodes_over`, `counts` or `close`, the
    agent uses these methods, too.
    """

    def __init__(self, actor: Actor) -> None:
        """`actor`: an object with `act(view) -> int64 (n,)`."""
        self.actor = actor
        self.name = str(getattr(actor, "name", type(actor).__name__))
        self.remembers, self.history = wants([actor])
        self.observes = observes(actor)
        for method in ("action_values", "value", "check", "observe", "episodes_over", "counts", "close"):
            if (own := self._method(method)) is not None:
                setattr(self, method, own)

    def act(self, view: View) -> np.ndarray:
        """Return the object's actions, int64 (n,)."""
        return self.actor.act(view)

    def policy(self, view: View) -> np.ndarray:
        """Return the object's policy; if it has none, probability 1 for the action that it chooses."""
        own = self._method("policy")
        return super().policy(view) if own is None else self._checked(own(view), view)

    def _method(self, name: str) -> Callable[..., Any] | None:
        """Return the object's method `name`; None if it is missing or not callable."""
        own = getattr(self.actor, name, None)
        return own if inspect.isroutine(own) else None


class SB3Agent(Agent):
    """Plays with a Stable-Baselines3 model with discrete actions: MaskablePPO, PPO, A2C, DQN, QRDQN.

    The model may be trained on `make_sb3`, `make_vec` or `make_single`, with any encoding and history, or on
    `make_parallel` through SuperSuit; the additional action `wait` of `make_parallel` is ignored. If the model's
    environment is a VecNormalize, observations are normalised in the same way. Illegal actions get probability 0.
    """

    def __init__(self, model: Any, name: str | None = None) -> None:
        """`model` may continue to learn. `name`: name in reports, by default from the model's class, such as "ppo".

        Raises TypeError unless the model has a policy over discrete actions and is not recurrent.
        """
        policy = getattr(model, "policy", None)
        discrete = getattr(getattr(model, "action_space", None), "n", None) is not None
        known = hasattr(policy, "get_distribution") or _q_network(policy)
        if not discrete or not known or hasattr(policy, "lstm_actor"):
            raise TypeError(f"from_sb3 takes a model such as MaskablePPO, PPO, A2C, DQN or QRDQN, not {model!r}")
        self.model = model
        self.name = name or type(model).__name__.lower()
        self._encoding = "flat"

    def policy(self, view: View) -> np.ndarray:
        """Return float64 (n, num_actions); for a model of Q values, uniform over the best legal actions.

        Raises ValueError for a game that the model was not made for.
        """
        masks, out = view.masks, np.zeros(view.masks.shape)
        found, _, rows = self._asked(view)
        if not len(rows):
            return out
        if _q_network(self.model.policy):
            out[rows] = uniform(best_of(found, masks[rows]))
            return out
        logits = np.where(masks[rows], found, -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        out[rows] = weights / weights.sum(axis=1, keepdims=True)
        return out

    def action_values(self, view: View) -> np.ndarray:
        """Return the model's Q values, float64 (n, num_actions); NaN for other models. Errors are those of `policy`."""
        if not _q_network(self.model.policy):
            return super().action_values(view)
        out = np.full(view.masks.shape, np.nan)
        found, _, rows = self._asked(view)
        out[rows] = np.where(view.masks[rows], found, np.nan)
        return out

    def value(self, view: View) -> np.ndarray:
        """Return the critic's value, or the best legal Q value: float64 (n,). Errors are those of `policy`."""
        if _q_network(self.model.policy):
            return super().value(view)
        out = np.full(len(view), np.nan)
        _, values, rows = self._asked(view)
        out[rows] = values
        return out

    def _asked(self, view: View) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Evaluate the model in the k positions with legal actions. Return logits or Q values (k, num_actions), the
        critic's values (k,) or for a model of Q values an empty array, and the positions' indices int64 (k,).
        """
        import torch

        self.check(view.game)
        policy, rows = self.model.policy, np.flatnonzero(view.masks.any(axis=1))
        if not len(rows):
            return np.zeros((0, view.game.num_actions)), np.zeros(0), rows
        part = view.take(rows)
        # As in the model's `predict`: evaluation mode disables dropout and fixes batch normalisation.
        policy.set_training_mode(False)
        with torch.no_grad():
            tensors, _ = policy.obs_to_tensor(self._observations(part))
            network, n = _q_network(policy), view.game.num_actions
            if network is not None:
                return network(tensors)[:, :n].cpu().numpy().astype(np.float64), np.zeros(0), rows
            logits, values = policy.get_distribution(tensors).distribution.logits, policy.predict_values(tensors)
        return logits[:, :n].cpu().numpy().astype(np.float64), values.cpu().numpy().astype(np.float64).ravel(), rows

    def check(self, game: Game) -> None:
        """Raise ValueError unless the model's spaces fit the game with some encoding and history."""
        actions, shape = self.model.action_space.n, self._space().shape
        found = game.encoding_of(shape)
        if actions not in (game.num_actions, game.num_actions + 1) or found is None:
            raise ValueError(
                f"agent {self.name} was made for observations of shape {shape} and {actions} actions, not for {game} "
                f"with {game.observation_size} features and {game.num_actions} actions"
            )
        self._encoding, self.history = found

    def _space(self) -> Any:
        space = self.model.observation_space
        return space["observation"] if hasattr(space, "spaces") else space

    def _observations(self, view: View) -> Any:
        # Copy, because torch warns about read-only arrays.
        observations: Any = view.encoded(self._encoding, history=self.history).copy()
        if hasattr(self.model.observation_space, "spaces"):
            observations = {"observation": observations, "action_mask": view.masks.astype(np.int8)}
        normalised = self.model.get_vec_normalize_env()
        return observations if normalised is None else normalised.normalize_obs(observations)


def _q_network(policy: Any) -> Callable[[Any], Any] | None:
    if hasattr(policy, "quantile_net"):
        return lambda observations: policy.quantile_net(observations).mean(dim=1)
    return getattr(policy, "q_net", None)


def from_sb3(model: Any, name: str | None = None) -> Agent:
    """Convert a Stable-Baselines3 model to an agent: `from_sb3(MaskablePPO.load("model.zip"))`.

    Args:
        model: MaskablePPO, PPO, A2C, DQN or QRDQN, trained on an environment of this library. A model's
            file does not include its VecNormalize: load both, `MaskablePPO.load(file, env=VecNormalize.load(statistics,
            ttt_envs.make_sb3(id, 1)))`.
        name: name in reports, by default from the model's class, such as "maskableppo".

    Raises TypeError for another kind of model. The agent's `check` raises ValueError for a game with other spaces.
    """
    return SB3Agent(model, name)


def from_text(answer: Callable[[str], str], *, retries: int = 2, rules: bool = True, name: str = "text") -> Agent:
    """Return an agent that plays with a function from prompt to answer. For a server, use the agent `llm`.

    Args:
        answer: the function, from str to str; its prompts and answers are those of `make_text`.
        retries: how often (0 to 100) a prompt is repeated after an answer without a legal action; then the game is
            lost.
        rules: whether prompts begin with the rules of the game.
        name: name in reports.

    Raises TypeError unless `answer` is a function, ValueError for a wrong number of retries.
    """
    return TextAgent(answer, retries, rules, name)


def from_torch(
    module: Any, *, encoding: Encoding = "flat", history: int = 0, temperature: float = 1.0, name: str = "torch"
) -> Agent:
    """Return an agent from a torch module: float32 (n, inputs) -> logits (n, num_actions).

    The additional logit for `wait`, which a module trained on `make_parallel` has, is ignored.

    Args:
        module: the module; its inputs are flat observations or flattened planes. If it has dropout or batch
            normalisation, call `module.eval()` first.
        encoding: "flat" or "planes".
        history: number of the player's past decisions in an observation, see `Game.layout`.
        temperature: 1 samples the softmax of the legal logits, lower values sharpen it, 0 plays the largest logit.
        name: name in reports.

    Raises:
    Raises:
        TypeError: `module` is no torch module.
        ValueError: an unknown encoding, a wrong history or a negative temperature. The agent's `check` raises this
            error for a game whose observations or actions do not fit.
        ImportError: torch is not installed; the message has the installation command.
    """
    require("train", "torch")
    from ttt_envs.agents.torch_policy import PolicyAgent

    agent = PolicyAgent(module, encoding, temperature, history=history)
    agent.name = name
    return agent
