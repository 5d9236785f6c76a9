"""A uniform sample of a learner's whole past, for methods that average over it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ttt_envs.core.game import Game
from ttt_envs.learning.runs.loop import Rows


class Reservoir(torch.nn.Module):
    """A uniform sample of all rows that were added. It is a torch module, so that it is saved with the networks.

    Source: Vitter, "Random sampling with a reservoir", ACM Transactions on Mathematical Software 1985.
    """

    added: torch.Tensor

    def __init__(self, size: int, rows: Mapping[str, tuple[tuple[int, ...], torch.dtype]]) -> None:
        """`size`: number of rows that are kept; `rows`: name -> shape and dtype of a column's entries."""
        super().__init__()
        self.size, self.names = size, tuple(rows)
        for name, (shape, dtype) in rows.items():
            self.register_buffer(name, torch.zeros((size, *shape), dtype=dtype))
        self.register_buffer("added", torch.zeros((), dtype=torch.int64))

    def state_dict(self, *args: Any, **named: Any) -> dict[str, Any]:  # type: ignore[override]
        """Return the state of the module, without unused rows."""
        tensors, filled = super().state_dict(*args, **named), min(int(self.added), self.size)
        return {name: tensor[:filled] if name in self.names else tensor for name, tensor in tensors.items()}

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **named: Any) -> Any:
        """Load the state of the module; raise ValueError if the rows do not match the number added."""
        filled = min(int(state_dict["added"]), self.size)
        tensors = dict(state_dict)
        for name in self.names:
            if filled < 0 or tensors[name].ndim == 0 or len(tensors[name]) != filled:
                raise ValueError(f"a reservoir to which {int(state_dict['added'])} rows were added has other {name}")
            empty = torch.zeros((self.size - filled, *tensors[name].shape[1:]), dtype=tensors[name].dtype)
            tensors[name] = torch.cat([tensors[name], empty])
        return super().load_state_dict(tensors, *args, **named)

    def add(self, rows: Rows, generator: np.random.Generator) -> None:
        """Add arrays (n, ...) by name. Each row ever added is then kept with the probability size / added."""
        n = len(next(iter(rows.values())))
        numbers = int(self.added) + np.arange(n)
        places = np.where(numbers < self.size, numbers, (generator.random(n) * (numbers + 1)).astype(np.int64))
        kept = np.flatnonzero(places < self.size)
        for name, values in rows.items():
            self._of(name).numpy()[places[kept]] = values[kept]
        self.added += n

    def sample(self, n: int, generator: np.random.Generator) -> dict[str, torch.Tensor]:
        """Return n rows, drawn with replacement, as tensors (n, ...) by name."""
        rows = torch.from_numpy(generator.integers(0, min(int(self.added), self.size), n))
        return {name: self._of(name)[rows] for name in self.names}

    def _of(self, name: str) -> torch.Tensor:
        found = getattr(self, name)
        assert isinstance(found, torch.Tensor)
        return found


def of_decisions(
    game: Game, **more: tuple[tuple[int, ...], torch.dtype]
) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
    """Return the `rows` argument for a reservoir of decisions: observations, masks, and further columns."""
    seen = {"observations": ((game.observation_size,), torch.int8), "masks": ((game.num_actions,), torch.bool)}
    return {**seen, **more}
