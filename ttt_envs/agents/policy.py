"""Trained policies as files, and as agents.

A policy file is safetensors: plain numbers and text, nothing that could run when it is loaded. Its metadata name
the game, options and encoding it was trained for, so that a foreign or damaged file raises BadPolicyFile.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ttt_envs.agents.base import Agent
from ttt_envs.core import jit
from ttt_envs.core.extras import require
from ttt_envs.core.files import existing, write_whole
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, choice, within
from ttt_envs.core.view import View
from ttt_envs.wrappers.common import ENCODINGS

if TYPE_CHECKING:  # so that agents can be listed and described without the extra
    import torch

FORMAT = "ttt-envs policy 1"


def _tanh() -> "torch.nn.Module":
    import torch

    return torch.nn.Tanh()


def _relu() -> "torch.nn.Module":
    import torch

    return torch.nn.ReLU()


#: Name -> the function that makes the layer.
ACTIVATIONS = {"tanh": _tanh, "relu": _relu}


class BadPolicyFile(ValueError):
    """Raised for a file that is no policy of this library, is damaged, or belongs to another game."""


@dataclass(frozen=True)
class PolicyInfo:
    """The metadata of a policy file.

    Attributes:
        game: id of the game.
        options: the game's options at training.
        encoding: "flat" or "planes".
        inputs: features that the first layer takes.
        actions: outputs of the last layer.
        hidden: sizes of the hidden layers, of the policy and of the value network alike.
        activation: "tanh" or "relu".
        steps: number of the learner's decisions it was trained on.
    """

    game: str
    options: dict[str, Any]
    encoding: str
    inputs: int
    actions: int
    hidden: tuple[int, ...]
    activation: str
    steps: int


def save_policy(path: Path, info: PolicyInfo, tensors: "Mapping[str, torch.Tensor]") -> None:
    """Write a policy file, whole or not at all. `tensors` are a MaskableActorCriticPolicy's, by its own names."""
    write_tensors(path, FORMAT, asdict(info), tensors)


def load_policy(path: Path) -> "tuple[PolicyInfo, dict[str, torch.Tensor]]":
    """Read a policy file; raises FileNotFoundError or BadPolicyFile."""
    require("train", "torch", "safetensors")
    import torch

    if not existing(path, "policy file").is_file():
        raise FileNotFoundError(f"no policy file at {path}, which is no file")
    fields, tensors = read_tensors(path, FORMAT)
    try:
        info = PolicyInfo(**{**fields, "hidden": tuple(fields["hidden"])})
        within(
            1, MOST, inputs=info.inputs, actions=info.actions, **{f"hidden[{k}]": n for k, n in enumerate(info.hidden)}
        )
        within(0, 10**18, steps=info.steps)
        if not isinstance(info.game, str) or not isinstance(info.options, dict):
            raise TypeError("game must be a text, and options names with values")
    except (KeyError, TypeError, ValueError) as error:
        raise BadPolicyFile(f"{path}: its metadata cannot be read ({error})") from None
    if info.activation not in tuple(ACTIVATIONS) or info.encoding not in ENCODINGS:
        raise BadPolicyFile(
            f"{path}: activation {info.activation!r} must be one of {', '.join(ACTIVATIONS)}, "
            f"and encoding {info.encoding!r} one of {', '.join(ENCODINGS)}"
        )
    sizes = (info.inputs, *info.hidden, info.actions)
    for (weight, bias), inputs, outputs in zip(_layer_names(len(info.hidden)), sizes[:-1], sizes[1:], strict=True):
        for name, shape in ((weight, (outputs, inputs)), (bias, (outputs,))):
            if name not in tensors or tensors[name].shape != shape:
                raise BadPolicyFile(f"{path}: layer {name} is missing or not of shape {shape}")
            if tensors[name].dtype != torch.float32:
                raise BadPolicyFile(f"{path}: layer {name} holds {tensors[name].dtype}, not torch.float32")
        if not all(torch.isfinite(tensors[name]).all() for name in (weight, bias)):
            raise BadPolicyFile(f"{path}: layer {weight} holds numbers that are not finite")
    return info, tensors


def write_tensors(path: Path, form: str, facts: Mapping[str, Any], tensors: "Mapping[str, torch.Tensor]") -> None:
    """Write tensors and facts (for JSON) as safetensors, whole or not at all."""
    require("train", "torch", "safetensors")
    from safetensors.torch import save

    # One entry, because safetensors puts several in a random order: the same contents are the same bytes.
    metadata = {"ttt_envs": json.dumps({"format": form, **facts})}
    write_whole(path, save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata))


def read_tensors(path: Path, form: str) -> "tuple[dict[str, Any], dict[str, torch.Tensor]]":
    """Facts and tensors of a file by `write_tensors`; raises BadPolicyFile if it is damaged or of another form."""
    require("train", "torch", "safetensors")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
        facts = json.loads(metadata.get("ttt_envs", "{}"))
    except (SafetensorError, OSError, ValueError, RecursionError, AttributeError, TypeError) as error:
        raise BadPolicyFile(f"{path} is damaged, or was not written by training.ppo ({error})") from None
    found = facts.pop("format", None) if isinstance(facts, dict) else None
    if found != form:
        raise BadPolicyFile(f"{path} is no file of the form {form!r} that training.ppo writes; it says {found!r}")
    return facts, tensors


def _layer_names(hidden: int) -> list[tuple[str, str]]:
    """Names of the policy network's weights and biases in Stable-Baselines3's MLP policies, first layer first."""
    names = [f"mlp_extractor.policy_net.{2 * k}" for k in range(hidden)] + ["action_net"]
    return [(f"{name}.weight", f"{name}.bias") for name in names]


def network(info: PolicyInfo, tensors: "Mapping[str, torch.Tensor]") -> "torch.nn.Module":
    """The policy network alone: float32 (n, inputs) -> logits float32 (n, actions)."""
    import torch

    layers: list[torch.nn.Module] = []
    for weight, bias in _layer_names(len(info.hidden)):
        outputs, inputs = tensors[weight].shape
        layer = torch.nn.Linear(inputs, outputs)
        layer.load_state_dict({"weight": tensors[weight], "bias": tensors[bias]})
        layers += [layer, ACTIVATIONS[info.activation]()]
    return torch.nn.Sequential(*layers[:-1]).eval()


class PolicyAgent(Agent):
    """Plays by a policy network, or by the mean of several."""

    def __init__(
        self,
        net: "torch.nn.Module | Sequence[torch.nn.Module]",
        encoding: str = "flat",
        temperature: float = 1.0,
        symmetric: bool = False,
    ) -> None:
        """`net`: float32 (n, inputs) -> logits; it may go on learning. With several, their probabilities are averaged.

        `temperature`: 1 samples the policy itself, less sharpens it, 0 plays its most likely action. `symmetric`: the
        logits are the mean over the game's symmetries; it costs that many times more, and evens out what
        was learned on one side of the board only.

        Raises ValueError for an unknown encoding or a negative temperature, TypeError if a network is no torch module.
        """
        require("train", "torch")
        import torch

        self.nets = tuple(net) if isinstance(net, (list, tuple)) else (net,)
        for each in self.nets:
            if not isinstance(each, torch.nn.Module):
                raise TypeError(f"a network must be a torch module, not {each!r} of type {type(each).__name__}")
        within(0.0, 1e6, temperature=temperature)
        self.encoding: str = choice("encoding", encoding, ENCODINGS)
        self.temperature = temperature
        self.symmetric = symmetric

    def logits(self, view: View, which: int = 0) -> np.ndarray:
        """float32 (n, num_actions) of one of the networks, not masked.

        Raises ValueError if the network does not fit the game, or gives numbers that are not finite.
        """
        game, observations, net = view.game, view.observations, self.nets[which]
        result = self._forward(net, game, observations)
        if self.symmetric:
            # The identity is counted above, whether the game names it or not.
            turns = [s for s in game.symmetries if (s.features != np.arange(game.observation_size)).any()]
            for turn in turns:
                result[:, turn.actions] += self._forward(net, game, observations[:, turn.features])
            result /= 1 + len(turns)
        if not np.isfinite(result).all():
            raise ValueError(f"agent {self.name}: its network gives numbers that are not finite")
        return result

    def _forward(self, net: "torch.nn.Module", game: Game, observations: np.ndarray) -> np.ndarray:
        import torch

        if self.encoding == "planes":
            observations = game.to_planes(observations).reshape(len(observations), game.plane_index.size)
        weights = next(net.parameters(), None)
        inputs = torch.from_numpy(np.ascontiguousarray(observations, np.float32))
        with torch.inference_mode():
            try:
                logits = net(inputs if weights is None else inputs.to(weights.device))
            except RuntimeError as error:
                raise ValueError(
                    f"agent {self.name}: its network cannot take the {inputs.shape[1]} features of {game!r}: {error}"
                ) from error
        result = np.asarray(logits.float().cpu().numpy())
        # The kernels below trust the shape.
        if result.shape != (len(observations), game.num_actions):
            raise ValueError(
                f"agent {self.name}: its network gives an array of shape {result.shape} for {len(observations)} "
                f"positions of {game!r}; it must be ({len(observations)}, {game.num_actions})"
            )
        return result

    def check(self, game: Game) -> None:
        """Raise ValueError unless the networks fit the game's observations and actions."""
        super().check(game)
        for net in self.nets:
            self._forward(net, game, np.zeros((1, game.observation_size), np.int8))

    def policy(self, view: View) -> np.ndarray:
        """float64 (n, num_actions): the probabilities of `act`'s answers; zeros where illegal."""
        out = np.zeros((len(view), view.game.num_actions))
        for which in range(len(self.nets)):
            _add_softmax(self.logits(view, which), view.masks, float(self.temperature), out)
        out /= len(self.nets)
        return out


@jit.kernel
def _add_softmax(logits, masks, temperature, out):  # type: ignore[no-untyped-def]
    """Add each row's masked softmax to `out`; temperature 0 puts all on the largest logit."""
    for i in range(logits.shape[0]):
        best = -1
        for a in range(logits.shape[1]):
            if masks[i, a] and (best < 0 or logits[i, a] > logits[i, best]):
                best = a
        if best < 0:
            continue
        if temperature <= 0:
            out[i, best] += 1.0
            continue
        total = 0.0
        for a in range(logits.shape[1]):
            if masks[i, a]:
                total += np.exp((np.float64(logits[i, a]) - np.float64(logits[i, best])) / temperature)
        for a in range(logits.shape[1]):
            if masks[i, a]:
                out[i, a] += np.exp((np.float64(logits[i, a]) - np.float64(logits[i, best])) / temperature) / total
