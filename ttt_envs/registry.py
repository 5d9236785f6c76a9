"""The registry of games, one line per id. A game is imported on first use."""

import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any

import gymnasium
import pettingzoo

from ttt_envs.core.options import Parameter, parameters, parse_value, unknown, within
from ttt_envs.storage.untrusted import brief, with_tuples

if TYPE_CHECKING:  # core.game imports Numba, which an import of the package must not
    from importlib.resources.abc import Traversable

    import numpy as np

    from ttt_envs.core.game import Game
    from ttt_envs.core.presentation import Lesson

#: id -> "module:function", or the function itself, which takes the options and returns the Game.
GAMES: dict[str, "str | Callable[..., Game]"] = {
    "super_tic_tac_toe": "ttt_envs.games.super_tic_tac_toe:make",
    "martian_tic_tac_toe": "ttt_envs.games.martian_tic_tac_toe:make",
    "tic_tac_dice": "ttt_envs.games.tic_tac_dice:make",
    "big_tic_tac_dice": "ttt_envs.games.tic_tac_dice:make_big",
    "tic_tac_super_dice": "ttt_envs.games.tic_tac_dice:make_super",
    "tic_tac_match": "ttt_envs.games.tic_tac_match:make",
    "operation_tic_tac_toe": "ttt_envs.games.operation_tic_tac_toe:make",
}

_BUILT_IN = frozenset(GAMES)


def load(game_id: str, **options: Any) -> "Game":
    """Return the game with that id and these options; `ttt describe` lists the options.

    Args:
        game_id: an id of `GAMES`, or the beginning of one, see `full_id`; or "module:function" for an unregistered
            game, also on the command line.
        options: options of the game.

    Raises:
        ValueError: no such id (the known ones are listed), or a wrong value.
        TypeError: no such option (the known ones are listed), or one of a wrong type.
    """
    check_arguments("load", game_id, options)
    return _load(game_id, options)


def check_arguments(function: str, game_id: str, options: Mapping[str, Any], arguments: Iterable[str] = ()) -> None:
    """Raise TypeError for an unknown keyword argument of `function`: an option that the game does not have.

    The message names the options and the function's other `arguments`. Raises ValueError for an unknown id.
    """
    game_id = full_id(game_id)
    _, known = _maker(game_id)
    for option in options:
        if option not in known:
            reason = unknown("option", option, [*known, *arguments])
            raise TypeError(f"{function}() got an unexpected keyword argument {option!r}; {game_id}: {reason}")


def _load(game_id: str, options: Mapping[str, Any]) -> "Game":
    from ttt_envs.core.game import Game

    game_id = full_id(game_id)
    game = _make(_maker(game_id, options)[0], options)
    if not isinstance(game, Game):
        raise ValueError(f"the entry of {game_id!r} must make a Game, not {type(game).__name__}")
    if game_id in GAMES and game.id != game_id:
        raise ValueError(f"the entry of {game_id!r} makes a game whose id is {game.id!r}")
    if game_id in _PUBLISHED and game.version != _PUBLISHED[game_id][1]:
        raise ValueError(
            f"{game_id!r} is registered with version={_PUBLISHED[game_id][1]}, and its Game has version={game.version}"
        )
    return game


def resolve(game: "str | Game", options: Mapping[str, Any] | None = None) -> "Game":
    """Return the game for an id with options, or a given Game, which takes no options.

    Raises ValueError for an unknown id or option or a wrong value, and TypeError for options with a Game or of a wrong
    type.
    """
    from ttt_envs.core.game import Game

    if not isinstance(game, Game):
        return _load(game, options or {})
    if options:
        raise TypeError(f"{game} has its options already: {', '.join(options)} cannot be set here")
    return game


def game_for(function: Callable[..., Any], game: "str | Game", options: Mapping[str, Any]) -> "Game":
    """Return the game of a call of `function`, which takes the game's options as keyword arguments, as `make_aec` does.

    An unknown option may be a misspelt argument of `function`, so it raises TypeError. Otherwise as `resolve`.
    """
    if isinstance(game, str):
        parameters = inspect.signature(function).parameters.values()
        arguments = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
        check_arguments(function.__name__, game, options, arguments)
    return resolve(game, options)


def own_arguments(game: "str | Game", **arguments: Any) -> dict[str, Any]:
    """Return the arguments of a maker; raise ValueError if one has the name of a game option, which may be meant."""
    for rule in options_of(game) if isinstance(game, str) and any(arguments.values()) else ():
        if value := arguments.get(rule.name):
            raise ValueError(
                f"{game} has a rule {rule.name}, too: give the maker load({game!r}, {rule.name}={value}) for the rule, "
                f"or load({game!r}) and {rule.name}={value} for the maker's own"
            )
    return arguments


def game_of_file(game: "str | Game", options: Mapping[str, Any]) -> "Game":
    """Return the game named in a file, such as a record, ladder, network, run or tournament.

    Args:
        game: the id in the file. The game must be registered, because "module:function" could name any function. Or a
            Game, which is used with its own options.
        options: the options in the file, in JSON's types; lists represent tuples.

    Raises:
        ValueError: an unknown game, an option that it does not have, or a wrong value.
    """
    if isinstance(game, str) and game not in GAMES:
        reason = unknown("game", brief(game), list(GAMES))
        raise ValueError(f"{reason}; a game of your own must be registered first, by ttt_envs.register")
    game_id = game if isinstance(game, str) else game.id
    if not isinstance(options, Mapping):
        raise ValueError(f"{game_id}: options must be names with values, not {brief(repr(options))}")
    make, _ = _maker(game, options)
    try:
        return _make(make, {name: with_tuples(value) for name, value in options.items()})
    except (TypeError, ValueError) as error:
        raise ValueError(f"{game_id}: {error}") from None


def parse_options(game: "str | Game", texts: Iterable[str]) -> dict[str, Any]:
    """Return options given as texts, such as ["won_boards=closed"], as keyword arguments of `load`.

    The types come from the annotations of the game's `make`. `load` checks the values.

    Raises:
        ValueError: an unknown game or option (the known ones are listed), a text that is no `name=value`, a repeated
            name, or a value of a wrong type.
    """
    game_id, known = full_id(game) if isinstance(game, str) else game.id, _maker(game)[1]
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


def declared(file: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (game, table name, entries) from the TOML files with this name in the folders of the built-in games.

    The entry "options" is parsed as on a command line. The entry "game" names another game of the same folder.
    """
    for game_id in GAMES:
        if (folder := folder_of(game_id)) and (path := folder.joinpath(file)).is_file():
            for name, facts in tomllib.loads(path.read_text(encoding="utf-8")).items():
                game, texts = facts.pop("game", game_id), [f"{k}={v}" for k, v in facts.get("options", {}).items()]
                yield game, name, {**facts, "options": parse_options(game, texts)}


def folder_of(game_id: str) -> "Traversable | None":
    """Return the folder of a built-in game and its data; None for other games and variants in other folders."""
    place = GAMES[game_id]
    module = place.partition(":")[0] if isinstance(place, str) and game_id in _BUILT_IN else ""
    return resources.files(module) if module.endswith(f".{game_id}") else None


def options_of(game_id: str) -> list[Parameter]:
    """Return the options of a game as its `make` declares them; raise ValueError for an unknown id."""
    return parameters(_maker(game_id)[0])


def full_id(text: str) -> str:
    """Return the id of the game that a text names: the id itself or an unambiguous beginning of one.

    Words that all ids of this family contain may be left out, as in "dice". A text such as "module:function" is
    returned unchanged.

    Raises ValueError for a text that begins no id, naming the closest ids, or several, naming these.
    """
    if not isinstance(text, str):
        raise ValueError(unknown("game", text, list(GAMES)))
    if text in GAMES or _ENTRY.fullmatch(text):
        return text
    short = {_FAMILY.sub("", game_id) or game_id: game_id for game_id in GAMES}
    if text in short:
        return short[text]
    fits = [each for name, each in short.items() if text and (name.startswith(text) or each.startswith(text))]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise ValueError(f"{brief(repr(text))} is ambiguous: {', '.join(fits)}; type more of the name")
    raise ValueError(unknown("game", text, list(GAMES), short))


def _maker(game_id: "str | Game", options: Iterable[str] = ()) -> tuple[Callable[..., "Game"], dict[str, Any]]:
    """Return the function that makes a game, and its options with their annotated types.

    Raises ValueError for an unknown id, or if the game does not have one of `options`.
    """
    if isinstance(game_id, str):
        game_id = full_id(game_id)
        entry: Any = GAMES.get(game_id, game_id)
    else:
        entry = getattr(game_id, "factory", None)
    if entry is None:
        raise ValueError(unknown("game", game_id, list(GAMES)))
    make = entry if callable(entry) else _import(entry)
    parameters = inspect.signature(make, eval_str=True).parameters.values()
    for each in parameters:
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise ValueError(f"game {game_id!r}: its option {each.name} must have a default")
    known = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}
    for option in options:
        if option not in known:
            name = game_id if isinstance(game_id, str) else game_id.id
            raise ValueError(f"{name}: {unknown('option', option, list(known))}")
    return make, known


def _import(entry: str) -> Callable[..., "Game"]:
    module, name = entry.split(":")
    try:
        found = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists, but one of its imports is missing
        raise ValueError(f"game {entry!r}: there is no module {error.name!r} on Python's path") from None
    except AttributeError:
        raise ValueError(f"game {entry!r}: module {module!r} has no {name!r}") from None
    if not callable(found):
        raise ValueError(f"game {entry!r}: {name!r} must be a function that makes a Game, not {found!r}")
    make: Callable[..., Game] = found
    return make


def _make(make: Callable[..., "Game"], options: Mapping[str, Any]) -> "Game":
    try:
        # With the types, because True, 1 and 1.0 are equal as keys, but different as options.
        given = {**_defaults(make), **options}
        return _made(make, tuple((name, type(value), value) for name, value in sorted(given.items())))
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return make(**options)


def _defaults(make: Callable[..., "Game"]) -> dict[str, Any]:
    parameters = inspect.signature(make).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}


@lru_cache(maxsize=64)
def _made(make: Any, options: tuple[tuple[str, type, Any], ...]) -> "Game":
    game: Game = make(**{name: value for name, _, value in options})
    return game


#: The namespace of the library's environments.
OURS = "ttt_envs"

# The namespace and version of games registered with values other than the library's.
_PUBLISHED: dict[str, tuple[str, int]] = {}

_NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def _published(game_id: str) -> tuple[str, int]:
    return _PUBLISHED.get(game_id, (OURS, 0))


def environment_ids(game_id: str, namespace: str, version: int) -> tuple[str, str]:
    """Return a game's ids for PettingZoo and Gymnasium, such as "ttt_envs/super_game-v0", "ttt_envs/SuperGame-v0"."""
    words = "".join(word.capitalize() for word in game_id.split("_"))
    return f"{namespace}/{game_id}-v{version}", f"{namespace}/{words}-v{version}"


def gymnasium_id(game_id: str) -> str:
    """Return a registered game's id for Gymnasium, such as "ttt_envs/SuperTicTacToe-v0"."""
    return environment_ids(game_id, *_published(game_id))[1]


# The words of an id that only name the family of games.
_FAMILY = re.compile(r"tic_tac_toe_|_tic_tac_toe|tic_tac_")

_ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_ENTRY = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def check_id(game_id: str) -> None:
    """Raise TypeError or ValueError unless `game_id` consists of lower-case words joined by underscores."""
    if not isinstance(game_id, str):
        raise TypeError(f"a game's id must be text, not {game_id!r}")
    if not _ID.fullmatch(game_id):
        raise ValueError(f"a game's id must be lower-case words with underscores between them, not {game_id!r}")


def register(game_id: str, entry: "str | Callable[..., Game]", *, namespace: str = OURS, version: int = 0) -> None:
    """Register a game of your own in this process: `load`, environments and commands then know it by its id.

    This also registers it with PettingZoo and Gymnasium, for example as "ttt_envs/my_game-v0" and "ttt_envs/MyGame-v0";
    with namespace="my_lab", version=1 the ids are "my_lab/my_game-v1" and "my_lab/MyGame-v1". The same function may be
    registered again, for example by a notebook cell that is run twice: the latest definition counts.

    Args:
        game_id: lower-case words joined by underscores; the `id` of the Game.
        entry: the function that makes the Game; its keyword-only arguments are the game's options, each with a
            default. Or "package.module:function", which is imported on first use.
        namespace: the publisher's namespace in the ids of environments: letters, digits, - and _.
        version: the version in the ids of environments; it must equal `Game.version`.

    Raises:
        ValueError: the id is taken or has a wrong form, the entry is no "package.module:function", or a wrong namespace
            or version.
        TypeError: an argument of another type.
    """
    check_id(game_id)
    if not isinstance(entry, str) and not callable(entry):
        raise TypeError(f"{game_id}: the entry must be a function or 'package.module:function', not {entry!r}")
    if isinstance(entry, str) and not _ENTRY.fullmatch(entry):
        raise ValueError(f"{game_id}: the entry must be a function or 'package.module:function', not {entry!r}")
    if not isinstance(namespace, str) or not _NAMESPACE.fullmatch(namespace):
        raise ValueError(f"a namespace has letters, digits, - and _, such as 'my_lab', and not {namespace!r}")
    within(0, 10**6, version=version)
    if game_id in GAMES:
        if _named(GAMES[game_id]) != _named(entry):
            raise ValueError(f"the game id {game_id!r} is taken, by {GAMES[game_id]!r}")
        if _published(game_id) == (namespace, version):
            GAMES[game_id] = entry
            return
        unregister(game_id)
    wanted = environment_ids(game_id, namespace, version)[1]
    if wanted in gymnasium.registry:
        raise ValueError(f"the game id {game_id!r} is taken: Gymnasium knows {wanted!r}")
    GAMES[game_id], _PUBLISHED[game_id] = entry, (namespace, version)
    _register_environments(game_id)


def register_from(entry: str) -> str:
    """Register the game of "module:function" by its own id and return the id; replace a registration by its import.

    Raises ValueError for an id of the library, and the errors of `load`.
    """
    game = load(entry)
    namespace, _ = _published(game.id)
    if game.id in GAMES:  # keep the text, which can be passed to other processes
        unregister(game.id)
    register(game.id, entry, namespace=namespace, version=game.version)
    return game.id


def unregister(game_id: str) -> None:
    """Undo `register`. Raises ValueError for an unknown id or a game of the library."""
    if game_id not in GAMES:
        raise ValueError(unknown("game", brief(game_id), list(GAMES)))
    if game_id in _BUILT_IN:
        raise ValueError(f"{game_id!r} is a game of the library: only games of your own can be taken back")
    name, words = environment_ids(game_id, *_published(game_id))
    del GAMES[game_id]
    _PUBLISHED.pop(game_id, None)
    gymnasium.registry.pop(words, None)
    if hasattr(pettingzoo, "register"):
        from pettingzoo.env_registry.registration import aec_registry, parallel_registry

        for known in (aec_registry, parallel_registry):
            known.pop(name, None)


def _named(entry: "str | Callable[..., Game]") -> Any:
    """Return a function's module and name, which a redefinition keeps; return any other entry unchanged."""
    name = getattr(entry, "__qualname__", "<lambda>")
    return entry if isinstance(entry, str) or "<lambda>" in name else (entry.__module__, name)


def _register_environments(game_id: str) -> None:
    name, game = environment_ids(game_id, *_published(game_id))[0], {"game": game_id}
    if hasattr(pettingzoo, "register"):  # from 1.27 on
        pettingzoo.register("aec", name, entry_point="ttt_envs:make_aec", kwargs=game)
        pettingzoo.register("parallel", name, entry_point="ttt_envs:make_parallel", kwargs=game)
    gymnasium.register(
        gymnasium_id(game_id),
        entry_point="ttt_envs:make_single",
        vector_entry_point="ttt_envs:make_vec",
        kwargs=game,
    )


def register_built_in() -> None:
    """Register all games of `GAMES` with PettingZoo and Gymnasium, as `import ttt_envs` does."""
    for game_id in GAMES:
        _register_environments(game_id)


def shown(game_id: str, lesson: "Lesson") -> "tuple[Game, np.ndarray]":
    """Return a lesson's game with its options, and the position after the lesson's plies, structured (1,).

    Raises ValueError for an invalid position or an illegal action.
    """
    game = load(game_id, **parse_options(game_id, [f"{name}={value}" for name, value in lesson.options.items()]))
    states = game.parse_state(lesson.position)
    for ply in filter(None, map(str.strip, lesson.play.split(";"))):
        # In other games an action's name may contain a slash.
        names = ply.split("/") if game.simultaneous else [ply]
        chosen = [game.parse_action(name) for name in names]
        states = game.step(states, [chosen] if len(chosen) > 1 else chosen)
    return game, states
