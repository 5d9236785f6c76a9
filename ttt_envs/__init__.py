"""Variants of tic-tac-toe that pose different multi-agent problems, behind one fast API.

`load` gives a Game: facts, compiled rules, text, oracle. `Batch` steps many games at once. `make_aec`,
`make_parallel`, `make_single`, `make_vec` and `make_sb3` give PettingZoo, Gymnasium and Stable-Baselines3
environments. Importing this package compiles nothing and registers the games with PettingZoo and Gymnasium.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ttt_envs.registry import GAMES, load, register

if TYPE_CHECKING:
    from ttt_envs.core.batch import Batch as Batch
    from ttt_envs.core.game import Game as Game
    from ttt_envs.core.view import View as View
    from ttt_envs.wrappers.aec import AECGame
    from ttt_envs.wrappers.parallel import ParallelGame
    from ttt_envs.wrappers.sb3 import SB3SeatEnv
    from ttt_envs.wrappers.single import SeatEnv
    from ttt_envs.wrappers.vector import SeatVectorEnv

__version__ = "0.1.0"

__all__ = [
    "GAMES",
    "Batch",
    "Game",
    "View",
    "load",
    "make_aec",
    "make_parallel",
    "make_sb3",
    "make_single",
    "make_vec",
]

# Numba is imported with the first of these, not with the package.
_LAZY = {"Batch": "core.batch", "Game": "core.game", "View": "core.view"}

_ENVIRONMENT = ("render_mode", "encoding", "illegal")
_SEATS = ("opponent", "seat", "encoding", "illegal", "threads")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"ttt_envs.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'ttt_envs' has no attribute {name!r}")


def _split(arguments: dict[str, Any], own: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A game's options, and the environment's own arguments."""
    options = {name: value for name, value in arguments.items() if name not in own}
    return options, {name: arguments[name] for name in own if name in arguments}


def make_aec(game_id: str, **arguments: Any) -> "AECGame":
    """A PettingZoo AEC environment: `make_aec("id", render_mode=, encoding=, illegal=, **options of the game)`."""
    from ttt_envs.wrappers.aec import AECGame

    options, own = _split(arguments, _ENVIRONMENT)
    return AECGame(load(game_id, **options), **own)


def make_parallel(game_id: str, **arguments: Any) -> "ParallelGame":
    """A PettingZoo Parallel environment; arguments as for `make_aec`."""
    from ttt_envs.wrappers.parallel import ParallelGame

    options, own = _split(arguments, _ENVIRONMENT)
    return ParallelGame(load(game_id, **options), **own)


def make_single(game_id: str, **arguments: Any) -> "SeatEnv":
    """A Gymnasium environment: one seat learns. Arguments of `SeatEnv`, and options of the game."""
    from ttt_envs.wrappers.single import SeatEnv

    options, own = _split(arguments, (*_SEATS[:-1], "render_mode"))
    return SeatEnv(load(game_id, **options), **own)


def make_vec(game_id: str, num_envs: int, **arguments: Any) -> "SeatVectorEnv":
    """A Gymnasium VectorEnv of `num_envs` games. Arguments of `SeatVectorEnv`, and options of the game."""
    from ttt_envs.wrappers.vector import SeatVectorEnv

    if arguments.pop("render_mode", None) is not None:
        raise ValueError("vector environments draw nothing: leave render_mode out, or use make_single")
    options, own = _split(arguments, _SEATS)
    return SeatVectorEnv(load(game_id, **options), num_envs, **own)


def make_sb3(game_id: str, num_envs: int, **arguments: Any) -> "SB3SeatEnv":
    """A Stable-Baselines3 VecEnv of `num_envs` games. Arguments of `SB3SeatEnv`, and options of the game."""
    from ttt_envs.wrappers.sb3 import SB3SeatEnv

    options, own = _split(arguments, _SEATS)
    return SB3SeatEnv(load(game_id, **options), num_envs, **own)


register()
