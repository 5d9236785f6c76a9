"""The games, one line an id. Nothing of a game is imported before it is asked for."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium
import pettingzoo

from ttt_envs.core.options import parse_value, unknown

if TYPE_CHECKING:  # a Game brings Numba, which a mere import of the package does without
    from ttt_envs.core.game import Game

#: id -> "module:function", which takes the options and gives the Game.
GAMES: dict[str, str] = {
    "super_tic_tac_toe": "ttt_envs.games.super_tic_tac_toe:make",
    "martian_tic_tac_toe": "ttt_envs.games.martian_tic_tac_toe:make",
    "tic_tac_dice": "ttt_envs.games.tic_tac_dice:make",
    "big_tic_tac_dice": "ttt_envs.games.tic_tac_dice:make_big",
    "tic_tac_super_dice": "ttt_envs.games.tic_tac_dice:make_super",
    "tic_tac_match": "ttt_envs.games.tic_tac_match:make",
    "operation_tic_tac_toe": "ttt_envs.games.operation_tic_tac_toe:make",
}


def load(game_id: str, **options: Any) -> "Game":
    """The game with that id and these options; its page says what options there are.

    Raises:
        ValueError: no such id or option (the known ones are listed), or a wrong value.
        TypeError: an option of a wrong type.
    """
    return _load(game_id, options)


def _load(game_id: str, options: Mapping[str, Any], arguments: Iterable[str] = ()) -> "Game":
    make, known = _maker(game_id)
    for option in options:
        if option not in known:
            raise ValueError(f"{game_id}: {unknown('option', option, [*known, *arguments])}")
    try:
        # With the types, because True, 1 and 1.0 are one key, and not one option.
        game: Game = _made(make, tuple((name, type(value), value) for name, value in sorted(options.items())))
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        game = make(**options)
    return game


def resolve(game: "str | Game", options: Mapping[str, Any] | None = None, arguments: Iterable[str] = ()) -> "Game":
    """A game that is given as an id with options, or as a Game, which has its own.

    Raises ValueError and TypeError as `load`, and TypeError for options beside a Game. The error of an unknown option
    names the known ones and `arguments`, which a caller takes beside them.
    """
    from ttt_envs.core.game import Game

    if not isinstance(game, Game):
        return _load(game, options or {}, arguments)
    if options:
        raise TypeError(f"{game!r} has its options already: {', '.join(options)} cannot be set here")
    return game


def parse_options(game_id: str, texts: Iterable[str]) -> dict[str, Any]:
    """Options given as texts, such as ["won_boards=closed"], as keyword arguments of `load`.

    Types come from the annotations of the game's `make`. The values themselves are checked by `load`.

    Raises:
        ValueError: an unknown game or option (the known ones are listed), no `name=value`, a name given twice, or a
            value of a wrong type.
    """
    _, known = _maker(game_id)
    parsed: dict[str, Any] = {}
    for option in texts:
        key, equals, text = (part.strip() for part in option.partition("="))
        if key not in known:
            raise ValueError(f"{game_id}: {unknown('option', key, list(known))}")
        if not equals:
            raise ValueError(f"{game_id}: option {option!r} must be name=value, such as '{key}=...'")
        if key in parsed:
            raise ValueError(f"{game_id}: option {key!r} is given twice")
        try:
            parsed[key] = parse_value(known[key], text)
        except ValueError as error:
            raise ValueError(f"{game_id}: option {key}: {error}") from None
    return parsed


def _maker(game_id: str) -> tuple[Callable[..., "Game"], dict[str, Any]]:
    """The function that makes a game, and its options with their annotated types; ValueError for an unknown id."""
    if not isinstance(game_id, str) or game_id not in GAMES:
        raise ValueError(unknown("game", game_id, list(GAMES)))
    module, name = GAMES[game_id].split(":")
    make = getattr(import_module(module), name)
    parameters = inspect.signature(make, eval_str=True).parameters.values()
    return make, {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}


@lru_cache(maxsize=64)
def _made(make: Any, options: tuple[tuple[str, type, Any], ...]) -> "Game":
    game: Game = make(**{name: value for name, _, value in options})
    return game


def gymnasium_id(game_id: str) -> str:
    """Such as "ttt_envs/SuperTicTacToe-v0"."""
    return f"ttt_envs/{''.join(word.capitalize() for word in game_id.split('_'))}-v0"


def register() -> None:
    """Enter all games into PettingZoo's and Gymnasium's registries. `import ttt_envs` does it."""
    for game_id in GAMES:
        pettingzoo.register("aec", f"ttt_envs/{game_id}-v0", entry_point="ttt_envs:make_aec", kwargs={"game": game_id})
        pettingzoo.register(
            "parallel",
            f"ttt_envs/{game_id}-v0",
            entry_point="ttt_envs:make_parallel",
            kwargs={"game": game_id},
        )
        gymnasium.register(
            gymnasium_id(game_id),
            entry_point="ttt_envs:make_single",
            vector_entry_point="ttt_envs:make_vec",
            kwargs={"game": game_id},
        )
