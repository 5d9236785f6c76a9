"""The optimisers that a learner may choose from, by name."""

from collections.abc import Callable

import torch

from ttt_envs.learning.torch_networks import TorchNetwork

#: Optimisers by the names of their parts of a checkpoint.
Optimizers = dict[str, torch.optim.Optimizer]


def adam(network: TorchNetwork, rate: float) -> Optimizers:
    """Adam for all parameters: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015."""
    return {"optimizer": torch.optim.Adam(network.parameters(), lr=rate)}


def muon(network: TorchNetwork, rate: float) -> Optimizers:
    """Muon for the matrices of hidden layers, and Adam for the heads and for what is no matrix.

    Muon's steps are orthogonal matrices: Jordan et al., "Muon: an optimizer for hidden layers in neural networks",
    2024. They are as large as those of Adam, so that both have one learning rate: Liu et al., "Muon is scalable for LLM
    training", 2025, section 2.2.
    """
    hidden = [each for name, each in network.named_parameters() if each.ndim == 2 and not name.startswith("heads.")]
    chosen = set(map(id, hidden))
    others = [each for each in network.parameters() if id(each) not in chosen]
    return {
        "muon": torch.optim.Muon(hidden, lr=rate, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
        "optimizer": torch.optim.Adam(others, lr=rate),
    }


#: Optimiser by its name.
OPTIMIZERS: dict[str, Callable[[TorchNetwork, float], Optimizers]] = {"adam": adam, "muon": muon}
