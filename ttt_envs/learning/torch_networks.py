"""Networks of `ttt_envs.agents.networks` as torch modules, to train them."""

from pathlib import Path

import numpy as np
import torch

from ttt_envs.agents.networks import FORMAT, NetworkInfo, load_network
from ttt_envs.storage.tensors import read_tensors

#: Activation function by its name in `ttt_envs.agents.networks.ACTIVATIONS`.
ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


class TorchNetwork(torch.nn.Module):
    """The network that `info` describes, with new weights; its tensors have the names of `info.shapes()`."""

    def __init__(self, info: NetworkInfo) -> None:
        super().__init__()
        self.info = info
        sizes = (info.inputs, *info.hidden)

        def body() -> torch.nn.ModuleList:
            return torch.nn.ModuleList(torch.nn.Linear(sizes[k], size) for k, size in enumerate(info.hidden))

        if info.separate:
            self.bodies = torch.nn.ModuleDict({head: body() for head in info.heads})
        else:
            self.body = body()
        self.activate = ACTIVATIONS[info.activation]()
        self.heads = torch.nn.ModuleDict({head: torch.nn.Linear(sizes[-1], info.outputs(head)) for head in info.heads})

    def forward(self, observations: torch.Tensor) -> dict[str, torch.Tensor]:
        """float32 (n, inputs) -> the outputs by head, as `ttt_envs.agents.networks.Network` gives them."""
        if self.info.separate:
            hidden = {head: self.through(self.bodies[head], observations) for head in self.info.heads}
        else:
            hidden = dict.fromkeys(self.info.heads, self.through(self.body, observations))
        outputs = {head: self.heads[head](x) for head, x in hidden.items()}
        if self.info.squash and "value" in outputs:
            outputs["value"] = torch.tanh(outputs["value"])
        return outputs

    def through(self, layers: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        """Apply a stack of hidden layers: float32 (n, inputs) -> (n, the last size)."""
        assert isinstance(layers, torch.nn.ModuleList)
        for layer in layers:
            y: torch.Tensor = self.activate(layer(x))
            x = x + y if self.info.residual and x.shape == y.shape else y
        return x

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights as `Network` and `save_network` take them, copied."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.state_dict().items()}


class Logits(torch.nn.Module):
    """The policy head of a network alone, as `ttt_envs.agents.torch_policy.PolicyAgent` takes it."""

    def __init__(self, network: TorchNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """float32 (n, inputs) -> logits (n, actions)."""
        logits: torch.Tensor = self.network(observations)["policy"]
        return logits


def load_torch_network(path: Path) -> TorchNetwork:
    """A network file as a module; raises as `load_network`.

    Beside training, torch plays better than NumPy: its threads are limited to one, while those of NumPy's matrix
    products get in each other's way as soon as something else runs.
    """
    network = TorchNetwork(load_network(path).info)
    _, tensors = read_tensors(path, FORMAT)
    network.load_state_dict({name: torch.from_numpy(tensors[name]) for name in network.state_dict()})
    return network
