"""A policy trained by `training.ppo`."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from ttt_envs.agents.policy import BadPolicyFile, PolicyAgent, load_policy, network
from ttt_envs.core.extras import require
from ttt_envs.core.files import existing
from ttt_envs.core.game import Game
from ttt_envs.core.view import View


class PPO(PolicyAgent):
    """Plays a trained policy, from a run folder or a policy file, or the average of a run's snapshots."""

    def __init__(
        self, path: str, temperature: float = 1.0, symmetric: bool = False, average: bool | float = False
    ) -> None:
        """Load the policy.

        Args:
            path: a run folder, or a .safetensors file in it.
            temperature: 1 samples the policy itself, less sharpens it, 0 plays its most likely action.
            symmetric: average the policy over the board's symmetries: stronger, and slower by their number.
            average: play the average of the run's snapshots: true averages all, a number from 0 to 1 that share of
                them, the latest. It is the mean of their probabilities in each position, with equal weights. The
                average of fictitious play differs: there a policy counts by how likely it is to lead to the
                position. Slower by the number of snapshots.

        Raises:
            FileNotFoundError: there is no such path, or there are no snapshots to average.
            BadPolicyFile: the file is damaged, or no policy.
            ValueError: a negative temperature, or a share that is not from 0 to 1.
        """
        require("train", "torch", "safetensors")
        if not 0 <= average <= 1:
            raise ValueError(f"average must be true, false, or a share of the snapshots from 0 to 1, not {average}")
        where = existing(path, "policy file")
        self.path = where / "policy.safetensors" if where.is_dir() else where
        files = snapshots(where, float(average)) if average else [self.path]
        found = [load_policy(file) for file in files]
        self.info = found[-1][0]
        for file, (info, _) in zip(files, found, strict=True):
            if replace(info, steps=self.info.steps) != self.info:
                raise BadPolicyFile(f"{file} is of another run than {files[-1]}: their average means nothing")
        nets = [network(info, tensors) for info, tensors in found]
        super().__init__(nets, self.info.encoding, temperature, symmetric)
        self._fits: Game | None = None

    def policy(self, view: View) -> np.ndarray:
        """float64 (n, num_actions). Raises BadPolicyFile for a game that it was not trained for."""
        if self._fits is not view.game:
            self.check(view.game)
        return super().policy(view)

    def check(self, game: Game) -> None:
        """Raise BadPolicyFile unless the policy was trained for this game's actions and observations.

        Other options of the same game are accepted, with a warning: how well a policy transfers is worth measuring.
        """
        inputs = game.plane_index.size if self.encoding == "planes" else game.observation_size
        if (self.info.game, self.info.inputs, self.info.actions) != (game.id, inputs, game.num_actions):
            raise BadPolicyFile(
                f"{self.path} was trained for {self.info.game} with options {self.info.options} "
                f"({self.info.inputs} features, {self.info.actions} actions), not for {game!r} "
                f"({inputs} features, {game.num_actions} actions)"
            )
        foreign = [name for name in self.info.options if name not in game.options]
        if foreign:
            raise BadPolicyFile(
                f"{self.path} says options that {game.id} does not have: {', '.join(map(repr, foreign))}; "
                f"it has {', '.join(game.options) or 'none'}"
            )
        # As JSON, in which the file has them.
        then, now = (json.dumps(dict(options), sort_keys=True) for options in (self.info.options, game.options))
        if then != now:
            warnings.warn(f"{self.path} was trained with options {then}, and plays with {now}", stacklevel=2)
        self._fits = game


def snapshots(run: Path, share: float = 1.0) -> list[Path]:
    """The latest `share` of a run folder's snapshots, oldest first; raises FileNotFoundError if there are none."""
    files = sorted((run / "snapshots").glob("*.safetensors"))
    if not files:
        raise FileNotFoundError(
            f"no snapshots to be averaged in {run / 'snapshots'}: a run folder of training.ppo has them"
        )
    return files[-max(round(share * len(files)), 1) :]
