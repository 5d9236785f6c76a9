"""Stable-Baselines3: a features extractor for `encoding="planes"`.

Example::

    MaskablePPO("MlpPolicy", ttt_envs.make_sb3(game, 256, encoding="planes"),
                policy_kwargs={"features_extractor_class": PlanesExtractor})

SB3's own `NatureCNN` needs images of at least 36 x 36 pixels; boards here have 3 to 9 rows.
"""

from itertools import pairwise

import torch
from gymnasium.spaces import Box
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

__all__ = ["PlanesExtractor"]


class PlanesExtractor(BaseFeaturesExtractor):
    """Convolutions of 3 x 3 that keep the board's size, then one linear layer."""

    def __init__(self, observation_space: Box, features_dim: int = 128, channels: int = 32, layers: int = 2) -> None:
        """Make the layers.

        Args:
            observation_space: a space of shape (channels, rows, columns), such as that of `encoding="planes"`.
            features_dim: number of output features.
            channels: number of channels of each convolution.
            layers: number of convolutions.

        Raises ValueError for observations of another shape.
        """
        if len(observation_space.shape) != 3:
            raise ValueError(
                "PlanesExtractor takes observations of shape (channels, rows, columns), as encoding='planes' gives "
                f"them, not {observation_space.shape}"
            )
        super().__init__(observation_space, features_dim)
        planes, rows, columns = observation_space.shape
        widths = [planes, *([channels] * layers)]
        convolutions = [
            part for before, after in pairwise(widths) for part in (nn.Conv2d(before, after, 3, padding=1), nn.ReLU())
        ]
        last = nn.Linear(widths[-1] * rows * columns, features_dim)
        self.layers = nn.Sequential(*convolutions, nn.Flatten(), last, nn.ReLU())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Map float32 (n, channels, rows, columns) to (n, features_dim)."""
        features: torch.Tensor = self.layers(observations)
        return features
