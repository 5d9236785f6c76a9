"""The optimisers of the learners."""

import pytest
import torch

from ttt_envs.agents.networks import NetworkInfo
from ttt_envs.core.observation_layout import Part
from ttt_envs.learning.optimizers import Muon, muon
from ttt_envs.learning.torch_networks import TorchNetwork


@pytest.mark.parametrize("shape", [(24, 24), (24, 60), (60, 24)])
def test_muon_is_that_of_torch_in_higher_precision(shape):
    torch.manual_seed(1)
    own = torch.nn.Parameter(torch.randn(shape))
    other = torch.nn.Parameter(own.detach().clone())
    start = own.detach().clone()
    optimizers = (
        Muon([own], lr=0.01),
        torch.optim.Muon([other], 0.01, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
    )
    for _ in range(5):
        own.grad = torch.randn(shape)
        other.grad = own.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    # Bfloat16 has eight bits.
    assert (own - other).norm() < 0.02 * (other - start).norm()


def test_muon_takes_no_heads():
    parts = Part((0, 1), (0,)), Part((2, 3), (1,))
    info = NetworkInfo("toy", {}, "policy+value", 5, 2, (4, 4), 0, parts=parts, shared=(3,))
    network = TorchNetwork(info)
    taken = {id(each) for group in muon(network, 0.01)["muon"].param_groups for each in group["params"]}
    names = {name for name, each in network.named_parameters() if id(each) in taken}
    assert names == {"shared.0.weight", "body.0.weight", "body.1.weight"}
