"""Trained networks as files and as NumPy functions, so that playing needs no torch.

A network file is a safetensors file of numbers and text; loading it runs no code. Its metadata contain the game, the
game's options and the kind of network. A foreign or damaged file raises BadNetworkFile.
"""

import json
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ttt_envs.core.game import Game
from ttt_envs.core.observation_layout import ENCODINGS, Part, check_history
from ttt_envs.core.options import choice
from ttt_envs.storage.files import existing
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors

FORMAT = "ttt-envs network 1"

#: Names in a learner's run folder: the file of the latest network, and the folder of earlier networks.
FILE, SNAPSHOTS = "network.safetensors", "snapshots"

#: Kind of network -> its heads. The head "policy" has logits (n, num_actions); for "value" see `NetworkInfo.values`.
#: The head "q" has the value of each action to the observing player (n, num_actions).
KINDS = {"policy": ("policy",), "q": ("q",), "value": ("value",), "policy+value": ("policy", "value")}

#: Name -> activation function of the hidden layers; it works in place.
ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0, out=x),
    "tanh": lambda x: np.tanh(x, out=x),
}


class _OneBlasThread:
    """Makes NumPy's matrix products use one thread inside this context.

    More threads do not speed up such small products. They wait for each other if another process occupies a core: a
    position then took 23 ms instead of 0.3 ms.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._blas = ThreadpoolController().select(user_api="blas")

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limiter = self._blas.limit(limits=1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.restore_original_limits()


# Created on first use, not at import, because the constructor scans all libraries that the process has loaded.
_one_blas_thread = cache(_OneBlasThread)


class BadNetworkFile(ValueError):
    """Raised for a file that is no network of this library, is damaged, or belongs to another game."""


@dataclass(frozen=True)
class NetworkInfo:
    """The metadata of a network file.

    Attributes:
        game: id of the game.
        options: the game's options at training.
        kind: one of `KINDS`.
        inputs: number of features of an observation in the network's `encoding`.
        actions: number of actions.
        hidden: sizes of the hidden layers.
        steps: number of positions or decisions in training.
        encoding: "flat" or "planes".
        activation: activation of the hidden layers, one of `ACTIVATIONS`.
        residual: whether hidden layers of the same size as their input add the input to the output.
        separate: whether each head has its own hidden layers; otherwise the heads share them.
        squash: whether the values pass through tanh at the end.
        values: number of outputs of the value head. In a game of two sides, there is one: the observing player's
            expected reward. Otherwise there is one per player, in turn order from the observing player.
        history: number of the player's past decisions in an observation, see `Game.layout`.
        also: further settings of the game's options that the network was trained for, in addition to `options`.
        parts: the parts of the board, see `Game.parts`; their `features` are indices of the network's inputs.
        shared: sizes of the layers through which each part of the board passes, with the same weights for all parts;
            empty without parts. The hidden layers receive the output of these layers and the inputs that belong to no
            part. A further linear layer adds each part's output to the policy or q values of the part's actions.
    """

    game: str
    options: dict[str, Any]
    kind: str
    inputs: int
    actions: int
    hidden: tuple[int, ...]
    steps: int
    encoding: str = "flat"
    activation: str = "relu"
    residual: bool = False
    separate: bool = False
    squash: bool = False
    values: int = 1
    history: int = 0
    also: tuple[Mapping[str, Any], ...] = ()
    parts: tuple[Part, ...] = ()
    shared: tuple[int, ...] = ()

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the heads."""
        return KINDS[self.kind]

    @property
    def bodies(self) -> tuple[str, ...]:
        """The names of the stacks of hidden layers: one stack for all heads, or one per head."""
        return tuple(f"bodies.{head}" for head in self.heads) if self.separate else ("body",)

    def outputs(self, head: str) -> int:
        """Return the number of a head's outputs for a position."""
        return self.values if head == "value" else self.actions

    @property
    def others(self) -> list[int]:
        """The indices of the inputs that belong to no part."""
        return sorted({*range(self.inputs)}.difference(*(part.features for part in self.parts)))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The widths of a stack of hidden layers: first of its input, then of each layer."""
        return len(self.others) + sum(len(self.parts) * size for size in self.shared[-1:]), *self.hidden

    @property
    def sizes_of_part(self) -> tuple[int, ...]:
        """The widths of the shared layers: first of their input, then of each layer; () if there are none."""
        return (len(self.parts[0].features), *self.shared) if self.shared else ()

    @property
    def local(self) -> tuple[str, ...]:
        """The heads to which the output of the shared layers is added."""
        return tuple(head for head in self.heads if head != "value") if self.shared else ()

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return tensor name -> shape: (outputs, inputs) for weights, (outputs,) for biases."""
        shapes: dict[str, tuple[int, ...]] = {}
        stacks = {"shared": self.sizes_of_part, **dict.fromkeys(self.bodies, self.sizes)}
        layers = [(f"{name}.{k}", *pair) for name, sizes in stacks.items() for k, pair in enumerate(pairwise(sizes))]
        layers += [(f"heads.{head}", self.sizes[-1], self.outputs(head)) for head in self.heads]
        layers += [(f"local.{head}", self.shared[-1], len(self.parts[0].actions)) for head in self.local]
        for name, inputs, outputs in layers:
            shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (outputs, inputs), (outputs,)
        return shapes

    def check(self) -> None:
        """Raise ValueError if the kind, encoding, activation or history is unknown; the message names it."""
        choice("kind", self.kind, tuple(KINDS))
        choice("encoding", self.encoding, ENCODINGS)
        choice("activation", self.activation, tuple(ACTIVATIONS))
        check_history(self.history)


class Network:
    """A multilayer perceptron in NumPy, preceded by shared layers for the parts of the board, if any."""

    def __init__(self, info: NetworkInfo, tensors: Mapping[str, np.ndarray], name: str = "the network") -> None:
        """`tensors`: as in `info.shapes()`, float16 or float32 (converted to float32). `name`: name in messages."""
        self.info, self.name, self.tensors = info, name, tensors
        self._fits: Game | None = None

        def layer(name: str) -> tuple[np.ndarray, np.ndarray]:
            weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
            return np.ascontiguousarray(weight.T, np.float32), np.asarray(bias, np.float32)

        self._shared = [layer(f"shared.{k}") for k in range(len(info.shared))]
        self._local = {head: layer(f"local.{head}") for head in info.local}
        self._parts = np.array([part.features for part in info.parts], np.intp)
        self._actions = np.array([part.actions for part in info.parts], np.intp).ravel()
        self._others = np.array(info.others, np.intp)
        self._bodies = [[layer(f"{body}.{k}") for k in range(len(info.hidden))] for body in info.bodies]
        self._heads = {head: layer(f"heads.{head}") for head in info.heads}

    def __call__(self, observations: np.ndarray) -> dict[str, np.ndarray]:
        """Evaluate encoded observations int8 (n, inputs); return head -> float32 array, see `KINDS`.

        The results for a position may differ by rounding between batches.
        """
        n, x = len(observations), observations.astype(np.float32)
        with _one_blas_thread():
            if self._shared:
                parts, size = self._parts.shape
                local = self._through(self._shared, x[:, self._parts].reshape(n * parts, size))
                x = np.concatenate([local.reshape(n, parts * self.info.shared[-1]), x[:, self._others]], axis=1)
            hidden = [self._through(body, x) for body in self._bodies]
            # If the heads share a body, `hidden` has only one entry, which all heads use.
            outputs = {
                head: hidden[min(k, len(hidden) - 1)] @ weight + bias
                for k, (head, (weight, bias)) in enumerate(self._heads.items())
            }
            for head, (weight, bias) in self._local.items():
                outputs[head][:, self._actions] += (local @ weight + bias).reshape(n, len(self._actions))
        if self.info.squash and "value" in outputs:
            np.tanh(outputs["value"], out=outputs["value"])
        return outputs

    def _through(self, layers: Sequence[tuple[np.ndarray, np.ndarray]], x: np.ndarray) -> np.ndarray:
        activate = ACTIVATIONS[self.info.activation]
        for weight, bias in layers:
            y = x @ weight
            y += bias
            activate(y)
            if self.info.residual and weight.shape[0] == weight.shape[1]:
                y += x
            x = y
        return x

    def layers(self, head: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the weights float32 (inputs, outputs) and biases (outputs,) of all layers that lead to a head.

        Raises ValueError for a network with shared layers, which this list cannot represent.
        """
        if self._shared:
            raise ValueError(f"{self.name} has shared layers, and is no plain multilayer perceptron")
        body = self.info.heads.index(head) if self.info.separate else 0
        return [*self._bodies[body], self._heads[head]]

    def evaluate(self, game: Game, observations: np.ndarray, symmetric: bool = False) -> dict[str, np.ndarray]:
        """Evaluate flat observations int8 (n, size), with the past that the network needs; return head -> array.

        If `symmetric`, average over the board's symmetries, which is possible only without history. This takes time in
        proportion to the number of symmetries, except for very few positions.
        """
        if not symmetric:
            return self(self._encoded(game, observations))
        symmetries = game.proper_symmetries
        turned = [observations, *(observations[:, symmetry.features] for symmetry in symmetries)]
        outputs = {}
        # Evaluate all transformed observations in one call: for few positions, this takes hardly longer than one.
        for head, values in self(self._encoded(game, np.concatenate(turned))).items():
            mean, *others = np.split(values, len(turned))
            for symmetry, other in zip(symmetries, others, strict=True):
                mean[:, slice(None) if head == "value" else symmetry.actions] += other
            outputs[head] = mean / np.float32(len(turned))
        return outputs

    def _encoded(self, game: Game, observations: np.ndarray) -> np.ndarray:
        if self.info.encoding == "planes":
            observations = game.to_planes(observations).reshape(len(observations), -1)
        return observations

    def expected_rewards(
        self, game: Game, observations: np.ndarray, masks: np.ndarray, players: np.ndarray, symmetric: bool = False
    ) -> np.ndarray:
        """Return each player's expected reward, float64 (n, num_players), by player number.

        Args:
            game: a game that the network was trained for.
            observations: int8 (n, size), flat observations of `players`.
            masks: bool (n, num_actions), the players' legal actions; only a q network uses them.
            players: int64 (n,), the observing players.
            symmetric: as for `evaluate`.
        """
        outputs = self.evaluate(game, observations, symmetric)
        if "value" in outputs:
            values = outputs["value"].astype(np.float64)
        else:
            values = np.where(masks, outputs["q"], -np.inf).max(axis=1).astype(np.float64)[:, None]
        return for_all_players(game, np.clip(values, -1, 1), players)

    def check(self, game: Game, *, past: bool = False) -> None:
        """Raise BadNetworkFile unless the network was trained for this game's actions and observations.

        For a network with a history, `past` must be true: the caller then provides the player's past decisions. Other
        options of the same game cause only a warning, so that you can measure transfer. Options that make no difference
        (`Game.same_play`) cause no warning.
        """
        info, needed = self.info, values_of(game)
        if info.history and not past:
            raise BadNetworkFile(
                f"{self.name} was trained with history={info.history}: the agent network plays it, and a search, which "
                "looks at positions to come, cannot"
            )
        if self._fits is game:
            return
        form: dict[str, Any] = {"encoding": info.encoding, "history": info.history, "also": info.also}
        reason = misfit(game, self.name, info.game, info.options, info.inputs, info.actions, **form)
        if not reason and "value" in info.heads and info.values != needed:
            reason = f"{self.name} gives {info.values} values of a position; {game} needs {needed}"
        if reason:
            raise BadNetworkFile(reason)
        self._fits = game


def misfit(
    game: Game,
    name: str,
    trained: str,
    options: Mapping[str, Any],
    inputs: int,
    actions: int,
    *,
    encoding: str = "flat",
    history: int = 0,
    also: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the reason why a trained network does not fit a game, or ""; warn if it fits but relevant options differ.

    Args:
        game: the game.
        name: the network's name, for the message.
        trained: id of the game at training.
        options: the game's options at training.
        inputs: number of features of an encoded observation at training.
        actions: number of actions at training.
        encoding: "flat" or "planes".
        history: number of past decisions in an observation at training.
        also: further settings of the game's options that the network was trained for.
    """
    now = int(np.prod(game.encoded_shape(encoding, history)))
    if (trained, actions, inputs) != (game.id, game.num_actions, now):
        return (
            f"{name} was trained for {trained} with options {options} ({inputs} features, {actions} actions), "
            f"not for {game} ({now} features, {game.num_actions} actions)"
        )
    try:
        other = min((game.differences(each) for each in (options, *also)), key=len)
    except (TypeError, ValueError) as error:
        return f"{name} is of no {game.id} of this version: {error}"
    if other:
        before, after = (json.dumps({name: both[k] for name, both in sorted(other.items())}) for k in range(2))
        warnings.warn(f"{name} was trained with options {before}, and plays with {after}", stacklevel=3)
    return ""


def values_of(game: Game) -> int:
    """Return how many values a network gives for a position: 1 in a game of two sides, otherwise one per player."""
    return 1 if len(game.teams) == 2 else game.num_players


def for_all_players(game: Game, values: np.ndarray, players: np.ndarray) -> np.ndarray:
    """Convert values (n, `values_of(game)`), as seen by `players` (n,), to one per player: (n, num_players)."""
    if values.shape[1] == 1:
        return np.asarray(np.where(game.sides[players][:, None] == game.sides, values, -values))
    order = (np.arange(game.num_players) - players[:, None]) % game.num_players
    return np.take_along_axis(values, order, axis=1)


def as_seen(game: Game, rewards: np.ndarray, players: np.ndarray) -> np.ndarray:
    """Invert `for_all_players`: rewards (n, num_players) -> values (n, `values_of(game)`)."""
    order = (np.arange(values_of(game)) + players[:, None]) % game.num_players
    return np.take_along_axis(rewards, order, axis=1)


def save_network(path: Path, info: NetworkInfo, tensors: Mapping[str, np.ndarray]) -> None:
    """Write a network file atomically. `tensors` as in `info.shapes()`."""
    write_tensors(path, FORMAT, asdict(info), {name: tensors[name] for name in info.shapes()})


def network_file(path: Path) -> Path:
    """Return the file at `path` or in the run folder `path`; raise FileNotFoundError if there is none."""
    path = existing(path, "network file")
    path = path / FILE if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(f"no network file at {path}")
    return path


def network_with_values(path: str | Path | Network, purpose: str) -> Network:
    """Return `path` if it is a network, else load it.

    Raises ValueError if the network has no values, and the errors of `load_network`. `purpose` completes the message.
    """
    network = path if isinstance(path, Network) else load_network(Path(path))
    if network.info.kind == "policy":
        raise ValueError(f"{path} gives no values to {purpose}; network plays it")
    return network


def load_network(path: Path) -> Network:
    """Read a network file, or the one in a run folder; raise FileNotFoundError or BadNetworkFile."""
    path = network_file(path)
    try:
        facts, tensors = read_tensors(path, FORMAT)
    except BadTensorFile as error:
        raise BadNetworkFile(str(error)) from None
    try:
        lists: dict[str, Any] = {name: tuple(facts[name]) for name in ("also", "shared", "hidden")}
        lists["parts"] = tuple(Part(*map(tuple, part)) for part in facts["parts"])
        info = NetworkInfo(**{**facts, **lists})
        info.check()
        shapes = info.shapes()
    except (KeyError, TypeError, ValueError) as error:
        raise BadNetworkFile(f"{path}: its metadata cannot be read ({type(error).__name__}: {error})") from None
    for name, shape in shapes.items():
        check_tensor(path, name, tensors.get(name), shape)
    return Network(info, tensors, str(path))


def check_tensor(path: Path, name: str, tensor: np.ndarray | None, shape: tuple[int, ...]) -> None:
    """Raise BadNetworkFile unless the tensor has this shape and is float16 or float32."""
    if tensor is None or tensor.shape != shape or tensor.dtype not in (np.float16, np.float32):
        raise BadNetworkFile(f"{path}: tensor {name} is missing, or is not float16 or float32 of shape {shape}")


def load_snapshots(run: Path, share: float = 1.0) -> list[Network]:
    """Return the latest `share` of a run folder's snapshots, oldest first.

    Raises FileNotFoundError if there are none, BadNetworkFile if one is damaged or from another run.
    """
    files = sorted((run / SNAPSHOTS).glob("[!.]*.safetensors"))  # skips temporary files of a killed run
    if not files:
        raise FileNotFoundError(f"no snapshots to be averaged in {run / SNAPSHOTS}")
    networks = [load_network(file) for file in files[-max(round(share * len(files)), 1) :]]
    for each in networks:
        if replace(each.info, steps=0) != replace(networks[-1].info, steps=0):
            raise BadNetworkFile(f"{each.name} is of another run than {networks[-1].name}: their average means nothing")
    return networks
