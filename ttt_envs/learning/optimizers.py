"""The optimisers of learners, by name."""

from collections.abc import Callable, Iterable

import torch

from ttt_envs.learning.torch_networks import TorchNetwork

#: A learner's optimisers, by their names in a checkpoint.
Optimizers = dict[str, torch.optim.Optimizer]

# Coefficients of a Newton-Schulz step, which moves singular values toward 1, and number of steps: Jordan et al., 2024.
_QUINTIC = (3.4445, -4.7750, 2.0315)
_NEWTON_SCHULZ_STEPS = 5


class Muon(torch.optim.Optimizer):
    """Momentum whose steps are orthogonal matrices: Jordan et al., "Muon: an optimizer for hidden layers", 2024.

    The steps are scaled to the size of Adam's, so that both can use the same learning rate: Liu et al., "Muon is
    scalable for LLM training", 2025, section 2.2. There is no weight decay. `torch.optim.Muon` computes the same in
    bfloat16, which takes at least ten times as long on processors without instructions for it; here, products have the
    parameters' precision, subject to `torch.set_float32_matmul_precision`.
    """

    def __init__(self, matrices: Iterable[torch.nn.Parameter], lr: float, momentum: float = 0.95) -> None:
        """Take matrices, learning rate and Nesterov's momentum."""
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Change all matrices that have a gradient."""
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                state = self.state[matrix]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(matrix)
                momentum = state["momentum_buffer"].lerp_(matrix.grad, 1 - group["momentum"])
                ahead = matrix.grad.lerp(momentum, group["momentum"])
                size = 0.2 * max(matrix.shape) ** 0.5
                matrix.add_(orthogonal(ahead), alpha=-group["lr"] * size)


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """Return the matrix with its singular values, except tiny ones, moved to 0.7 to 1.2 by Newton-Schulz steps."""
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    wide = wide / wide.norm().clamp(min=1e-7)
    a, b, c = _QUINTIC
    for _ in range(_NEWTON_SCHULZ_STEPS):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide if matrix.shape[0] <= matrix.shape[1] else wide.T


def adam(network: TorchNetwork, rate: float, decay: float = 0.0) -> Optimizers:
    """Return Adam for all parameters: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015. With
    weight decay, return AdamW: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """
    return {"optimizer": torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=decay)}


def muon(network: TorchNetwork, rate: float, decay: float = 0.0) -> Optimizers:
    """Return Muon for the matrices of hidden layers, and Adam, with weight decay, for all other parameters."""
    heads = "heads.", "local."
    hidden = [each for name, each in network.named_parameters() if each.ndim == 2 and not name.startswith(heads)]
    chosen = set(map(id, hidden))
    others = [each for each in network.parameters() if id(each) not in chosen]
    return {"muon": Muon(hidden, lr=rate), "optimizer": torch.optim.AdamW(others, lr=rate, weight_decay=decay)}


#: Optimiser by its name.
OPTIMIZERS: dict[str, Callable[..., Optimizers]] = {"adam": adam, "muon": muon}
