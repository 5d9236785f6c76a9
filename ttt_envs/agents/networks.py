"""Trained networks as files, and as NumPy functions: playing needs no torch.

A network file is safetensors: plain numbers and text, nothing that could run when it is loaded. Its metadata name the
game, options and kind that it was trained for, so that a foreign or damaged file raises BadNetworkFile.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.extras import require
from ttt_envs.core.files import existing, write_whole
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within

FORMAT = "ttt-envs network 1"

#: Kind of network -> its heads. "policy" gives logits (n, num_actions); "q" the value of each action to the observing
#: player (n, num_actions); "value" that of the position to them (n, 1).
KINDS = {"policy": ("policy",), "q": ("q",), "value": ("value",), "policy+value": ("policy", "value")}


class BadNetworkFile(ValueError):
    """Raised for a file that is no network of this library, is damaged, or belongs to another game."""


@dataclass(frozen=True)
class NetworkInfo:
    """The metadata of a network file.

    Attributes:
        game: id of the game.
        options: the game's options at training.
        kind: one of `KINDS`.
        inputs: features of a flat observation.
        actions: number of actions.
        hidden: sizes of the hidden layers, each followed by a ReLU.
        steps: positions it was trained on.
    """

    game: str
    options: dict[str, Any]
    kind: str
    inputs: int
    actions: int
    hidden: tuple[int, ...]
    steps: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors of such a network and their shapes; names as in a torch module of `body` and `heads`."""
        found: dict[str, tuple[int, ...]] = {}
        sizes = (self.inputs, *self.hidden)
        layers = [(f"body.{2 * k}", sizes[k], size) for k, size in enumerate(self.hidden)]
        layers += [(f"heads.{head}", sizes[-1], 1 if head == "value" else self.actions) for head in KINDS[self.kind]]
        for name, inputs, outputs in layers:
            found[f"{name}.weight"], found[f"{name}.bias"] = (outputs, inputs), (outputs,)
        return found


class Network:
    """A multilayer perceptron with ReLU, in NumPy."""

    def __init__(self, info: NetworkInfo, tensors: Mapping[str, np.ndarray]) -> None:
        """`tensors`: those of `info.shapes()`, float16 or float32; computed with as float32."""
        self.info = info

        def layer(name: str) -> tuple[np.ndarray, np.ndarray]:
            weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
            return np.ascontiguousarray(weight.T, np.float32), np.asarray(bias, np.float32)

        self._body = [layer(f"body.{2 * k}") for k in range(len(info.hidden))]
        self._heads = {head: layer(f"heads.{head}") for head in KINDS[info.kind]}

    def __call__(self, observations: np.ndarray) -> dict[str, np.ndarray]:
        """Flat observations int8 (n, inputs) -> float32 arrays by head; see `KINDS`."""
        x = np.asarray(observations, np.float32)
        for weight, bias in self._body:
            x = x @ weight
            x += bias
            np.maximum(x, 0, out=x)
        return {head: x @ weight + bias for head, (weight, bias) in self._heads.items()}

    def evaluate(self, game: Game, observations: np.ndarray, symmetric: bool = False) -> dict[str, np.ndarray]:
        """The heads as from a call; with `symmetric` their mean over the symmetries, which multiplies the time."""
        found = self(observations)
        if symmetric:
            # The identity is counted above, whether the game names it or not.
            turns = [s for s in game.symmetries if (s.features != np.arange(game.observation_size)).any()]
            for turn in turns:
                for head, values in self(observations[:, turn.features]).items():
                    if head == "value":
                        found[head] += values
                    else:
                        found[head][:, turn.actions] += values
            for values in found.values():
                values /= 1 + len(turns)
        return found

    def check(self, game: Game) -> None:
        """Raise BadNetworkFile unless the network was trained for this game's actions and observations.

        Other options of the same game are accepted: how well a network transfers is worth measuring.
        """
        info = self.info
        if (info.game, info.inputs, info.actions) != (game.id, game.observation_size, game.num_actions):
            raise BadNetworkFile(
                f"the network was trained for {info.game} with options {info.options} ({info.inputs} features, "
                f"{info.actions} actions), not for {game!r} ({game.observation_size} features, "
                f"{game.num_actions} actions)"
            )


def save_network(path: Path, info: NetworkInfo, tensors: Mapping[str, np.ndarray]) -> None:
    """Write a network file, whole or not at all. `tensors` as in `info.shapes()`."""
    require("train", "safetensors")
    from safetensors.numpy import save

    # One entry, because safetensors puts several in a random order: the same contents are the same bytes.
    metadata = {"ttt_envs": json.dumps({"format": FORMAT, **asdict(info)})}
    write_whole(path, save({name: np.ascontiguousarray(tensors[name]) for name in info.shapes()}, metadata))


def load_network(path: Path) -> Network:
    """Read a network file, or that of a run folder; raises FileNotFoundError or BadNetworkFile."""
    require("train", "safetensors")
    from safetensors import SafetensorError, safe_open

    path = existing(path, "network file")
    path = path / "network.safetensors" if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(f"no network file at {path}")
    try:
        with safe_open(path, framework="np") as file:
            facts = json.loads((file.metadata() or {}).get("ttt_envs", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise BadNetworkFile(f"{path} is damaged, or is no network file ({error})") from None
    form = facts.pop("format", None) if isinstance(facts, dict) else None
    if form != FORMAT:
        raise BadNetworkFile(f"{path} is no file of the form {FORMAT!r}; it says {form!r}")
    try:
        info = NetworkInfo(**{**facts, "hidden": tuple(facts["hidden"])})
        sizes = {f"hidden[{k}]": size for k, size in enumerate(info.hidden)}
        within(1, MOST, inputs=info.inputs, actions=info.actions, **sizes)
        within(0, 10**18, steps=info.steps)
        if not isinstance(info.game, str) or not isinstance(info.options, dict):
            raise TypeError("game must be a text, and options names with values")
        shapes = info.shapes()
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BadNetworkFile(f"{path}: its metadata cannot be read ({type(error).__name__}: {error})") from None
    for name, shape in shapes.items():
        found = tensors.get(name)
        if found is None or found.shape != shape or found.dtype not in (np.float16, np.float32):
            raise BadNetworkFile(f"{path}: tensor {name} is missing, or is not float16 or float32 of shape {shape}")
        if not np.isfinite(found).all():
            raise BadNetworkFile(f"{path}: tensor {name} holds numbers that are not finite")
    return Network(info, tensors)
