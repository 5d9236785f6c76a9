"""BenchMARL: a game as a task, in which each side of the game is a group of agents.

    Experiment(BenchMARLTask(ttt_envs.load("some_game", players=4)), MappoConfig.get_from_yaml(), ...)

MAPPO's critic sees all of a group, and QMIX mixes the values of its agents. What one group wins the others lose. Those
who do not act have the action `wait` alone.

Needs `benchmarl`, tested with 1.5.2 and torchrl 0.11.1.
"""

from collections.abc import Callable
from typing import Any

from benchmarl.environments.common import TaskClass
from torchrl.data import Composite
from torchrl.envs import PettingZooWrapper

from ttt_envs.core.game import Game
from ttt_envs.wrappers.parallel import ParallelGame

__all__ = ["BenchMARLTask"]


class BenchMARLTask(TaskClass):
    """A game as a task of BenchMARL, whose methods say what its environment is like.

    Attributes:
        game: the game.
        groups: the players of each group, by its name: `side_0` and so on.
    """

    def __init__(self, game: Game) -> None:
        """Take a game."""
        super().__init__(game.id, dict(game.options))
        self.game = game
        self.groups = {f"side_{k}": tuple(team) for k, team in enumerate(game.teams)}

    def get_env_fun(self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any) -> Callable[[], Any]:
        """A function that makes the environment, with observations as float32, which BenchMARL's networks take."""

        def make() -> Any:
            # The mask stands in the infos alone: TorchRL fails where it is in both and an info has more (round_reward).
            env = ParallelGame(self.game, mask="info", dtype="float32")
            names = env.possible_agents
            groups = {group: [names[player] for player in team] for group, team in self.groups.items()}
            return PettingZooWrapper(env, use_mask=True, group_map=groups, seed=seed, device=device)

        return make

    def supports_continuous_actions(self) -> bool:
        """False."""
        return False

    def supports_discrete_actions(self) -> bool:
        """True."""
        return True

    def has_render(self, env: Any) -> bool:
        """False: it makes no pictures."""
        return False

    def max_steps(self, env: Any) -> int:
        """The most plies of a game."""
        return self.game.max_plies

    def group_map(self, env: Any) -> dict[str, list[str]]:
        """The names of each group's agents."""
        return dict(env.group_map)

    def state_spec(self, env: Any) -> None:
        """None: there is no state beside the observations."""

    def action_spec(self, env: Any) -> Any:
        """The actions of each group."""
        return env.full_action_spec

    def info_spec(self, env: Any) -> None:
        """None: there is nothing to learn from in infos."""

    def observation_spec(self, env: Any) -> Any:
        """The observations of each group."""
        return self._part(env, "observation")

    def action_mask_spec(self, env: Any) -> Any:
        """The masks of each group."""
        return self._part(env, "action_mask")

    def _part(self, env: Any, name: str) -> Any:
        specs = {group: env.observation_spec[group].clone() for group in env.group_map}
        for spec in specs.values():
            for other in set(spec.keys()) - {name}:
                del spec[other]
        return Composite(specs)

    @staticmethod
    def env_name() -> str:
        """The library's name, for BenchMARL's logs."""
        return "ttt_envs"
