"""The networks of `ttt_envs.agents.networks` as torch modules, for training."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from ttt_envs.agents.networks import FORMAT, NetworkInfo, load_network
from ttt_envs.storage.tensors import read_tensors

#: Name in `ttt_envs.agents.networks.ACTIVATIONS` -> activation function.
ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


class TorchNetwork(torch.nn.Module):
    """The network that `info` describes, with new weights; tensors have the names of `info.shapes()`."""

    parts: torch.Tensor
    actions: torch.Tensor
    others: torch.Tensor

    def __init__(self, info: NetworkInfo) -> None:
        super().__init__()
        self.info = info

        def stack(sizes: tuple[int, ...]) -> torch.nn.ModuleList:
            return torch.nn.ModuleList(torch.nn.Linear(*pair) for pair in pairwise(sizes))

        if info.shared:
            self.shared = stack(info.sizes_of_part)
            self.local = torch.nn.ModuleDict(
                {head: torch.nn.Linear(info.shared[-1], len(info.parts[0].actions)) for head in info.local}
            )
            indices = {
                "parts": [part.features for part in info.parts],
                "actions": [action for part in info.parts for action in part.actions],
                "others": info.others,
            }
            for name, index in indices.items():
                # Real memory even under `torch.device("meta")`, because these indices are not loaded later like
                # weights.
                self.register_buffer(name, torch.tensor(index, dtype=torch.int64, device="cpu"), persistent=False)
        if info.separate:
            self.bodies = torch.nn.ModuleDict({head: stack(info.sizes) for head in info.heads})
        else:
            self.body = stack(info.sizes)
        self.activate = ACTIVATIONS[info.activation]()
        self.heads = torch.nn.ModuleDict(
            {head: torch.nn.Linear(info.sizes[-1], info.outputs(head)) for head in info.heads}
        )

    def forward(self, observations: torch.Tensor) -> dict[str, torch.Tensor]:
        """Map observations, float32 (n, inputs), to outputs by head, like `ttt_envs.agents.networks.Network`."""
        if self.info.shared:
            local = self.through(self.shared, observations[:, self.parts])
            observations = torch.cat([local.flatten(1), observations[:, self.others]], dim=1)
        if self.info.separate:
            hidden = {head: self.through(self.bodies[head], observations) for head in self.info.heads}
        else:
            hidden = dict.fromkeys(self.info.heads, self.through(self.body, observations))
        outputs = {head: self.heads[head](x) for head, x in hidden.items()}
        for head in self.info.local:
            outputs[head] = outputs[head].index_add(1, self.actions, self.local[head](local).flatten(1))
        if self.info.squash and "value" in outputs:
            outputs["value"] = torch.tanh(outputs["value"])
        return outputs

    def through(self, layers: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        """Apply a stack of layers: float32 (..., inputs) -> (..., size of the last layer)."""
        assert isinstance(layers, torch.nn.ModuleList)
        for layer in layers:
            y: torch.Tensor = self.activate(layer(x))
            x = x + y if self.info.residual and x.shape == y.shape else y
        return x

    def tensors(self) -> dict[str, np.ndarray]:
        """Return copies of the weights by name, as `Network` and `save_network` need them."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.state_dict().items()}


class Logits(torch.nn.Module):
    """A network's policy head as a module that returns logits, for `ttt_envs.agents.torch_policy.PolicyAgent`."""

    def __init__(self, network: TorchNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Map observations, float32 (n, inputs), to the policy's logits (n, actions)."""
        weight = next(self.network.parameters())
        logits: torch.Tensor = self.network(observations.to(weight.device))["policy"]
        return logits.to(observations.device)


def load_torch_network(path: Path) -> TorchNetwork:
    """Return a network file as a module; raises the errors of `load_network`.

    In training, agents play with this module, because it is faster there than `Network`: torch is limited to one
    thread, while NumPy's matrix products use several, which slow each other down when other programs run.
    """
    network = TorchNetwork(load_network(path).info)
    _, tensors = read_tensors(path, FORMAT)
    network.load_state_dict({name: torch.from_numpy(tensors[name]) for name in network.state_dict()})
    return network
