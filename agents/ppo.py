"""A policy trained by `training.self_play`."""

from pathlib import Path

import numpy as np

from agents.policy import BadPolicyFile, PolicyAgent, load_policy, network
from ttt_envs.core.game import Game
from ttt_envs.core.view import View


class PPO(PolicyAgent):
    """Plays a trained policy, from a run folder or a policy file."""

    def __init__(self, path: str, temperature: float = 1.0, symmetric: bool = False) -> None:
        """Load the policy.

        Args:
            path: a run folder, or a .safetensors file in it.
            temperature: 1 samples the policy itself, less sharpens it, 0 plays its most likely action.
            symmetric: average the policy over the board's symmetries: stronger, and as many times slower.

        Raises:
            FileNotFoundError: nothing there.
            BadPolicyFile: damaged, or no policy.
            ValueError: a negative temperature.
        """
        if not temperature >= 0:
            raise ValueError(f"temperature must be at least 0, not {temperature}")
        where = Path(path)
        self.path = where / "policy.safetensors" if where.is_dir() else where
        self.info, tensors = load_policy(self.path)
        super().__init__(network(self.info, tensors), self.info.encoding, temperature, symmetric)
        self._fits: Game | None = None

    def policy(self, view: View) -> np.ndarray:
        """float64 (n, num_actions). Raises BadPolicyFile for a game that it was not trained for."""
        if self._fits is not view.game:
            self.check(view.game)
        return super().policy(view)

    def check(self, game: Game) -> None:
        """Raise BadPolicyFile unless the policy was trained for this game's actions and observations.

        Other options are no obstacle: one may want to see how it does there.
        """
        inputs = game.plane_index.size if self.encoding == "planes" else game.observation_size
        if (self.info.game, self.info.inputs, self.info.actions) != (game.id, inputs, game.num_actions):
            raise BadPolicyFile(
                f"{self.path} was trained for {self.info.game} with options {self.info.options} "
                f"({self.info.inputs} features, {self.info.actions} actions), not for {game!r} "
                f"({inputs} features, {game.num_actions} actions)"
            )
        self._fits = game
