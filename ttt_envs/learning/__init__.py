"""Training: one file per method, and shared parts. `ttt train METHOD GAME` runs one.

A method is a module with its settings, `Config`, and `train(config)`. All methods share `runs`. Several methods use
`policy_gradient` and `episodes` (mmd and rnad), `reservoir` (a uniform sample of the past), `opponents` (a pool of
opponents), `optimizers`, and `torch_networks` (networks as torch modules). `exploit` measures a lower bound of
exploitability by a `counted_table`. All modules except `exploit` and `counted_table` need the extra `train`.
"""

from typing import TYPE_CHECKING

from ttt_envs.storage.lazy import modules_of

__all__ = [
    "METHODS",
    "alphazero",
    "dqn",
    "escher",
    "exploit",
    "mmd",
    "nfsp",
    "ntuple",
    "ppo",
    "rnad",
    "value_learning",
]

#: Name of a method -> its module, in the order of the help.
METHODS: dict[str, str] = {
    name: f"{__name__}.{name}"
    for name in (
        "ppo",
        "value_learning",
        "ntuple",
        "alphazero",
        "dqn",
        "mmd",
        "rnad",
        "nfsp",
        "escher",
    )
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = modules_of(__name__, __all__)
