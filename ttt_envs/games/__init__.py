"""One folder a game. Only `ttt_envs.registry` imports from here."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a game is loaded without the wrappers
    from ttt_envs.wrappers.aec import AECGame
    from ttt_envs.wrappers.parallel import ParallelGame


def environments(
    game_id: str,
) -> tuple[Callable[..., "AECGame"], Callable[..., "AECGame"], Callable[..., "ParallelGame"]]:
    """`env`, `raw_env` and `parallel_env` of a game's folder, as PettingZoo's modules have them.

    They take what `ttt_envs.make_aec` and `make_parallel` take. `env` is `raw_env`: it checks everything itself.
    """

    def env(**arguments: Any) -> "AECGame":
        """A PettingZoo AEC environment; arguments as for `ttt_envs.make_aec`."""
        from ttt_envs import make_aec

        return make_aec(game_id, **arguments)

    def parallel_env(**arguments: Any) -> "ParallelGame":
        """A PettingZoo Parallel environment; arguments as for `ttt_envs.make_parallel`."""
        from ttt_envs import make_parallel

        return make_parallel(game_id, **arguments)

    return env, env, parallel_env
