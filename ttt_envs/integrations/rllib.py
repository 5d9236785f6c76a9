"""RLlib, its new API stack: a multi-agent environment, and a random module that keeps to the masks.

    PPOConfig().environment(RLlibGame, env_config={"game": "some_game"})

Only players who act get an observation, as RLlib wants it of games in turns; at the end all get one, so that a loss
arrives as -1 with the loser's last action. Observations have the keys and the dtype that RLlib's own
`ActionMaskingTorchRLModule` takes. RLlib's `RandomRLModule` samples actions that are not legal and loses at once.

Needs `ray[rllib]`, which pins a version of Gymnasium.
"""

from collections.abc import Mapping
from inspect import signature
from typing import Any

import gymnasium
import numpy as np
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module import RLModule
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from ttt_envs import registry
from ttt_envs.wrappers.parallel import ParallelGame

__all__ = ["MaskedRandomRLModule", "RLlibGame"]


class RLlibGame(MultiAgentEnv):
    """A game whose agents are `player_0`, `player_1`, ...

    Observations are `{"observations": float32, "action_mask": float32 (num_actions,)}`. Players who choose at once
    all get one in the same step. In the observation after the end the mask is all ones: nothing is chosen there, and a
    mask of zeros would leave a distribution without an action.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """`config`: the arguments of `ttt_envs.make_parallel` but `mask`, such as `game`, and the game's options.

        Raises ValueError or TypeError as that does, and for a config without a game.
        """
        super().__init__()
        given = dict(config)
        if "game" not in given:
            raise ValueError(f"env_config needs a 'game', such as {next(iter(registry.GAMES))!r}, not only {given}")
        game, ours = given.pop("game"), ("game", "mask")  # the mask stands in the observations
        arguments = [name for name in signature(ParallelGame).parameters if name not in ours]
        chosen = {"dtype": "float32"} | {name: given.pop(name) for name in arguments if name in given}
        if isinstance(game, str):
            for name, value in chosen.items():
                registry.own_argument(game, **{name: value})
            registry.check_arguments("RLlibGame", game, given, arguments)
        self.env = ParallelGame(registry.resolve(game, given), **chosen)
        actions = self.env.wait
        space = gymnasium.spaces.Dict(
            {
                "observations": self.env.observation_spaces["player_0"]["observation"],
                "action_mask": gymnasium.spaces.Box(0, 1, (actions,), np.float32),
            }
        )
        self.possible_agents = list(self.env.possible_agents)
        self.agents = self.possible_agents[:]  # RLlib wants all of them there after the end, too
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = dict.fromkeys(self.possible_agents, gymnasium.spaces.Discrete(actions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a game; `seed` fixes it and all that follow. There are no options: they are named in a warning."""
        observations, _ = self.env.reset(seed=seed, options=options)
        return self._shown(observations), {}

    def step(self, action_dict: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Play the actions of those who were given an observation."""
        actions = {name: action_dict.get(name, self.env.wait) for name in self.possible_agents}
        observations, rewards, terminations, truncations, _ = self.env.step(actions)
        over, cut_off = any(terminations.values()), any(truncations.values())
        shown = self._shown(observations)
        terminated = dict.fromkeys([*shown, "__all__"], over)
        truncated = dict.fromkeys([*shown, "__all__"], cut_off)
        return shown, {name: rewards[name] for name in shown}, terminated, truncated, {}

    def _shown(self, observations: dict[str, Any]) -> dict[str, Any]:
        """The observations of those who act; after the end of all."""
        shown = {}
        for name, each in observations.items():
            mask = each["action_mask"][:-1].astype(np.float32)
            if not self.env.agents:
                mask[:] = 1
            elif not mask.any():
                continue
            shown[name] = {"observations": each["observation"], "action_mask": mask}
        return shown


class MaskedRandomRLModule(RLModule):
    """Plays random legal actions. It cannot be trained: leave it out of `policies_to_train`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._generator = np.random.default_rng()

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        masks = np.asarray(batch[Columns.OBS]["action_mask"])
        # The largest of independent random numbers stands at each legal place equally often.
        return {Columns.ACTIONS: (self._generator.random(masks.shape) * (masks > 0)).argmax(axis=-1)}

    def _forward_train(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("MaskedRandomRLModule cannot be trained: leave it out of policies_to_train")

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: there is no network. RLlib calls it on all modules."""
