"""One folder a game. Only `ttt_envs.registry` imports from here."""

from collections.abc import Callable
from typing import Any

#: Makers of environments from a game's id and arguments, "aec" and "parallel". These stand above the games, and
#: `import ttt_envs` hands them in.
MAKERS: dict[str, Callable[..., Any]] = {}


def environments(game_id: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """`env`, `raw_env` and `parallel_env` of a game's folder, as PettingZoo's modules have them.

    They take what `ttt_envs.make_aec` and `make_parallel` take. `env` is `raw_env`: it checks everything itself.
    """

    def env(**arguments: Any) -> Any:
        """A PettingZoo AEC environment; arguments as for `ttt_envs.make_aec`."""
        return MAKERS["aec"](game_id, **arguments)

    def parallel_env(**arguments: Any) -> Any:
        """A PettingZoo Parallel environment; arguments as for `ttt_envs.make_parallel`."""
        return MAKERS["parallel"](game_id, **arguments)

    return env, env, parallel_env
