"""Games that differ from one of the library in single parts."""

from dataclasses import replace
from typing import Any

from ttt_envs.core.game import Extras, Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.presentation import Faces


def changed(game: Game, **parts: Any) -> Game:
    """The game with other facts, or with other kernels, faces and extras by their own names."""
    inner: dict[str, Any] = {}
    for record, names in (("faces", Faces.__dataclass_fields__), ("extras", Extras.__dataclass_fields__)):
        if mine := {name: parts.pop(name) for name in names if name in parts}:
            inner[record] = replace(getattr(game, record), **mine)
    if mine := {name: parts.pop(name) for name in Kernels._fields if name in parts}:
        inner["kernels"] = game.kernels._replace(**mine)
    return replace(game, **parts, **inner)
