"""What command lines share: values and game options given as text."""

import inspect
import sys
import types
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from ttt_envs.core.options import unknown
from ttt_envs.registry import GAMES

_SCALARS = (int, float, bool, str)


def python() -> str:
    """How to call this Python from the current folder, for commands that are suggested to people."""
    here, program = Path.cwd(), Path(sys.executable)
    return str(program.relative_to(here)) if here in program.parents else "python"


def parse_value(annotation: Any, text: str) -> Any:
    """`text` as a value of the annotated type: int, float, bool, str, None, or a union of these.

    A union takes the first of int, float, bool, None, str that fits. An annotation of another kind, or none
    at all, is read as such a union too. Raises ValueError that names the types.
    """
    kinds = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    if not any(kind in _SCALARS for kind in kinds):
        kinds = (*_SCALARS, types.NoneType)
    word = text.strip().lower()
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                pass
    if bool in kinds and word in ("true", "false"):
        return word == "true"
    if types.NoneType in kinds and word == "none":
        return None
    if str in kinds:
        return text
    names = ["None" if kind is types.NoneType else kind.__name__ for kind in kinds]
    raise ValueError(f"{text!r} is not of type {' or '.join(names)}")


def parse_options(game_id: str, options: Iterable[str]) -> dict[str, Any]:
    """Options such as ["won_boards=closed"] as keyword arguments of `ttt_envs.load(game_id, ...)`.

    Types come from the annotations of the game's `make`. The values themselves are checked by `load`.

    Raises:
        ValueError: an unknown game or option (the known ones are listed), no `name=value`, a name given
            twice, or a value of a wrong type.
    """
    if game_id not in GAMES:
        raise ValueError(unknown("game", game_id, list(GAMES)))
    module, name = GAMES[game_id].split(":")
    signature = inspect.signature(getattr(import_module(module), name), eval_str=True)
    known = {p.name: p.annotation for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY}
    parsed: dict[str, Any] = {}
    for option in options:
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
