"""Common parts of sets of questions and sets of solved positions.

Each is a game with its options and a seed, in a TOML file of the game's folder, and is drawn anew from these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

from ttt_envs.core.game import Game
from ttt_envs.core.options import unknown
from ttt_envs.registry import declared, load


@dataclass(frozen=True, kw_only=True)
class PositionSet:
    """A set of positions.

    Attributes:
        name: its name.
        game: id of the game.
        options: the game's options.
        seed: fixes the positions.
        version: raised when anything of it changes.
        title: what it is, as a phrase.
    """

    name: str
    game: str
    options: Mapping[str, Any]
    seed: int
    version: int
    title: str

    def load(self) -> Game:
        """The game with these options."""
        return load(self.game, **self.options)

    @classmethod
    @cache
    def declared(cls, file: str) -> dict[str, Self]:
        """The sets in the files of that name of all games' folders, by name."""
        return {name: cls(name=name, game=game, **facts) for game, name, facts in declared(file)}


def named(what: str, name: str, sets: Mapping[str, Any]) -> Any:
    """The set of that name; ValueError, with the known names, if there is none."""
    if name not in sets:
        raise ValueError(unknown(what, name, list(sets)))
    return sets[name]
