"""Variants of tic-tac-toe that pose different multi-agent problems, behind one fast API.

`load` returns a Game: facts, compiled rules, text, oracle. `Batch` steps many games at once. `make_aec`,
`make_parallel`, `make_single`, `make_vec` and `make_sb3` return PettingZoo, Gymnasium and Stable-Baselines3
environments; `make_text` returns a game by prompts and answers. `register` adds a game of your own;
`ttt_envs.testing.check_game` checks it. The modules `agents`, `evaluation`, `learning`, `solvers`, `integrations`,
`testing` and `dev` (for authors of games and agents) load on first use. Importing this package compiles nothing, and
registers the games with PettingZoo and Gymnasium.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from ttt_envs.core.version import __version__ as __version__
from ttt_envs.registry import (
    GAMES,
    game_for,
    load,
    own_arguments,
    register,
    register_built_in,
    unregister,
)
from ttt_envs.storage.extras import require

if TYPE_CHECKING:
    from gymnasium.vector import AutoresetMode

    from ttt_envs import agents as agents
    from ttt_envs import dev as dev
    from ttt_envs import evaluation as evaluation
    from ttt_envs import integrations as integrations
    from ttt_envs import learning as learning
    from ttt_envs import solvers as solvers
    from ttt_envs import testing as testing
    from ttt_envs.core.batch import Batch as Batch
    from ttt_envs.core.game import Game as Game
    from ttt_envs.core.observation_layout import Encoding
    from ttt_envs.core.view import Actor
    from ttt_envs.core.view import View as View
    from ttt_envs.wrappers.aec import AECGame
    from ttt_envs.wrappers.common import DType, Illegal, MaskIn, RenderMode
    from ttt_envs.wrappers.opponents import OpponentLike, Opponents
    from ttt_envs.wrappers.parallel import ParallelGame
    from ttt_envs.wrappers.rewards import RewardFunction
    from ttt_envs.wrappers.sb3 import SB3PlayerEnv
    from ttt_envs.wrappers.self_play import Autoreset
    from ttt_envs.wrappers.single import PlayerEnv
    from ttt_envs.wrappers.text import TextGame
    from ttt_envs.wrappers.vector import PlayerVectorEnv

__all__ = [
    "GAMES",
    "Batch",
    "Game",
    "View",
    "__version__",
    "load",
    "make_aec",
    "make_parallel",
    "make_sb3",
    "make_single",
    "make_text",
    "make_vec",
    "register",
    "unregister",
]

# These load on first use, because they import Numba.
_LAZY = {"Batch": "core.batch", "Game": "core.game", "View": "core.view"}
_MODULES = ("agents", "dev", "evaluation", "integrations", "learning", "solvers", "testing")


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _LAZY:
            return getattr(import_module(f"ttt_envs.{_LAZY[name]}"), name)
        if name in _MODULES:
            return import_module(f"ttt_envs.{name}")
        raise AttributeError(f"module 'ttt_envs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])


def _load_opponent(given: Any, game: "Game") -> "Actor":
    """Load an opponent with `agents.load` and check that it plays the game; raise ValueError or TypeError if not."""
    from ttt_envs.agents import load as load_agent

    agent = load_agent(given)
    agent.check(game)
    return agent


def _opponents(game: "Game", opponent: Any, partner: Any) -> "Opponents":
    """Return opponents with a function that loads agents: environments, in a lower layer, cannot import it."""
    from ttt_envs.wrappers.opponents import Opponents

    return Opponents(game, opponent, partner=partner, load=_load_opponent)


def make_aec(
    game: "str | Game",
    *,
    render_mode: "RenderMode | None" = None,
    encoding: "Encoding" = "flat",
    illegal: "Illegal" = "lose",
    mask: "MaskIn" = "both",
    max_plies: int | None = None,
    history: int = 0,
    reward: "RewardFunction | None" = None,
    dtype: "DType" = "int8",
    **options: Any,
) -> "AECGame":
    """Return a PettingZoo AEC environment.

    Args:
        game: an id of `GAMES`, or a Game from `load`.
        render_mode: "human" (a window), "rgb_array", "ansi" or None.
        encoding: "flat" or "planes".
        illegal: an illegal action loses the game ("lose": the offender gets -1, the others share +1), or raises
            IllegalAction ("raise").
        mask: "both" puts the action mask into the observation and into the infos; "info" only into the infos, so that
            the observation is a plain array.
        max_plies: plies after which a game is cut off: all agents are truncated. None plays each game to its end.
        history: 0 to 100, the number of the player's past decisions (observation and choice) after the present
            observation, the newest first; see `Game.layout`. Useful for policies without a memory.
        reward: replaces the game's reward, for example for reward shaping: a function of the states before and after a
            step, structured (k,), and of players, int64 (k,), which returns numbers (k,). The states include hidden
            information; `after["rewards"]` is what the game itself has paid so far. In an AEC environment a step is a
            ply, and k is the number of players.
        dtype: dtype of observations: "int8", or "float32", which some frameworks need. Masks are int8.
        options: options of the game, if `game` is an id.

    Raises:
        ValueError: an unknown id, or a wrong value.
        TypeError: an unknown option (the known ones are listed) or one of a wrong type, or options with a Game.
    """
    from ttt_envs.wrappers.aec import AECGame

    return AECGame(
        game_for(make_aec, game, options),
        render_mode=render_mode,
        encoding=encoding,
        illegal=illegal,
        mask=mask,
        **own_arguments(game, max_plies=max_plies, history=history),
        reward=reward,
        dtype=dtype,
    )


def make_parallel(
    game: "str | Game",
    *,
    render_mode: "RenderMode | None" = None,
    encoding: "Encoding" = "flat",
    illegal: "Illegal" = "lose",
    mask: "MaskIn" = "both",
    max_plies: int | None = None,
    history: int = 0,
    reward: "RewardFunction | None" = None,
    dtype: "DType" = "int8",
    **options: Any,
) -> "ParallelGame":
    """Return a PettingZoo Parallel environment; arguments and errors as for `make_aec`."""
    from ttt_envs.wrappers.parallel import ParallelGame

    return ParallelGame(
        game_for(make_parallel, game, options),
        render_mode=render_mode,
        encoding=encoding,
        illegal=illegal,
        mask=mask,
        **own_arguments(game, max_plies=max_plies, history=history),
        reward=reward,
        dtype=dtype,
    )


def make_single(
    game: "str | Game",
    *,
    opponent: "OpponentLike" = "random",
    partner: "OpponentLike | None" = None,
    player: int | Literal["alternate"] = "alternate",
    render_mode: "RenderMode | None" = None,
    encoding: "Encoding" = "flat",
    illegal: "Illegal" = "lose",
    mask: "MaskIn" = "both",
    max_plies: int | None = None,
    history: int = 0,
    reward: "RewardFunction | None" = None,
    dtype: "DType" = "int8",
    **options: Any,
) -> "PlayerEnv":
    """Return a Gymnasium environment: one player learns, the others move inside `step`.

    Args:
        game, render_mode, encoding, mask, max_plies, dtype, options: as for `make_aec`.
        opponent: the agent of all other players, in a form that `ttt_envs.agents.load` accepts, such as "greedy". Or
            several, of which each game draws one: a list, or a mapping of agents to weights, such as
            {"random": 1, "greedy": 3}. Or by player, such as {1: "greedy", 2: ["random", agent]}.
        partner: in a game of teams, the agent of the learner's partners, in the same forms except by player; None:
            `opponent` plays them, too.
        player: the learner's number, or "alternate" from game to game.
        illegal: an illegal action loses the game for the learner ("lose") or raises IllegalAction ("raise").
        history: 0 to 100, the number of the learner's past decisions in an observation, as for `make_aec`.
        reward: replaces the game's reward, as for `make_aec`; called only for the learner, once per step, with the
            states before and after the step.

    Raises:
        ValueError: an unknown id or agent (the known ones are listed), a wrong value, or an opponent that cannot play
            the game.
        TypeError: an unknown option (the known ones are listed), an argument of a wrong type, or options with a Game.
    """
    from ttt_envs.wrappers.single import PlayerEnv

    made = game_for(make_single, game, options)
    return PlayerEnv(
        made,
        opponent=_opponents(made, opponent, partner),
        player=player,
        render_mode=render_mode,
        encoding=encoding,
        illegal=illegal,
        mask=mask,
        **own_arguments(game, max_plies=max_plies, history=history),
        reward=reward,
        dtype=dtype,
    )


def make_vec(
    game: "str | Game",
    num_envs: int,
    *,
    opponent: "OpponentLike" = "random",
    partner: "OpponentLike | None" = None,
    player: int | Literal["alternate"] = "alternate",
    encoding: "Encoding" = "flat",
    illegal: "Illegal" = "lose",
    mask: "MaskIn" = "both",
    autoreset_mode: "AutoresetMode | Autoreset" = "same_step",
    render_mode: Literal["rgb_array", "ansi"] | None = None,
    max_plies: int | None = None,
    history: int = 0,
    reward: "RewardFunction | None" = None,
    dtype: "DType" = "int8",
    **options: Any,
) -> "PlayerVectorEnv":
    """Return a Gymnasium VectorEnv of `num_envs` games; other arguments and errors as for `make_single`.

    Args:
        num_envs: number of games.
        autoreset_mode: when a finished game restarts: in the "same_step" or in the "next_step"; or Gymnasium's
            AutoresetMode.
        render_mode: "rgb_array", "ansi" or None.
        reward: as for `make_single`, called once per step for all games.
    """
    from ttt_envs.wrappers.vector import PlayerVectorEnv

    made = game_for(make_vec, game, options)
    return PlayerVectorEnv(
        made,
        num_envs,
        opponent=_opponents(made, opponent, partner),
        player=player,
        encoding=encoding,
        illegal=illegal,
        mask=mask,
        autoreset_mode=autoreset_mode,
        render_mode=render_mode,
        **own_arguments(game, max_plies=max_plies, history=history),
        reward=reward,
        dtype=dtype,
    )


def make_sb3(
    game: "str | Game",
    num_envs: int,
    *,
    opponent: "OpponentLike" = "random",
    partner: "OpponentLike | None" = None,
    player: int | Literal["alternate"] = "alternate",
    encoding: "Encoding" = "flat",
    illegal: "Illegal" = "lose",
    render_mode: Literal["rgb_array"] | None = None,
    max_plies: int | None = None,
    history: int = 0,
    reward: "RewardFunction | None" = None,
    dtype: "DType" = "int8",
    **options: Any,
) -> "SB3PlayerEnv":
    """Return a Stable-Baselines3 VecEnv of `num_envs` games; arguments and errors as for `make_vec`.

    Observations are arrays; the method `action_masks` returns the masks. With render_mode "rgb_array" the games can be
    drawn and filmed, for example by SB3's VecVideoRecorder.

    Raises ImportError with the installation command if the extra `train` is missing.
    """
    require("train", "stable_baselines3")
    from ttt_envs.wrappers.sb3 import SB3PlayerEnv

    made = game_for(make_sb3, game, options)
    return SB3PlayerEnv(
        made,
        num_envs,
        opponent=_opponents(made, opponent, partner),
        player=player,
        encoding=encoding,
        illegal=illegal,
        render_mode=render_mode,
        **own_arguments(game, max_plies=max_plies, history=history),
        reward=reward,
        dtype=dtype,
    )


def make_text(
    game: "str | Game",
    *,
    opponent: "OpponentLike | None" = None,
    partner: "OpponentLike | None" = None,
    player: int | Literal["alternate"] = "alternate",
    retries: int = 2,
    illegal: Literal["lose", "random"] = "lose",
    rules: bool = True,
    max_plies: int | None = None,
    reward: "RewardFunction | None" = None,
    **options: Any,
) -> "TextGame":
    """Return a game by prompts and answers, for language models and other players who read and write text.

    Args:
        game, partner, max_plies, options: as for `make_single`.
        opponent: as for `make_single`, for all players but one; None: all players answer prompts.
        player: with an opponent, the number of the player who answers prompts, or "alternate" from game to game; the
            seed decides the first one.
        retries: number of further answers that a player may give if an answer names no legal action.
        illegal: the consequence when the retries are used up: the player's side loses ("lose"), or a legal action is
            drawn ("random").
        rules: whether each prompt begins with the rules.
        reward: as for `make_aec`, called at each step that ends a turn.

    Raises ValueError or TypeError as `make_aec`.
    """
    from ttt_envs.wrappers.text import TextGame

    made = game_for(make_text, game, options)
    if opponent is None and (partner is not None or player != "alternate"):
        raise ValueError("partner and player go with an opponent: without one all players are asked")
    return TextGame(
        made,
        opponents=None if opponent is None else _opponents(made, opponent, partner),
        player=player,
        retries=retries,
        illegal=illegal,
        rules=rules,
        **own_arguments(game, max_plies=max_plies),
        reward=reward,
    )


# `gymnasium.make` reads this before it allows "rgb_array_list", which its own wrapper makes.
make_single.__dict__["metadata"] = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 4}
register_built_in()
