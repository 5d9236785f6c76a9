"""Fields that verbs share, so that the same word means the same thing in each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

import ttt_envs
from ttt_envs.registry import parse_options

if TYPE_CHECKING:  # a Game brings Numba, which `--help` does without
    from ttt_envs.core.game import Game


@dataclass(frozen=True, kw_only=True)
class GameArguments:
    """The game of a verb: its id, the first word after the verb, and its options."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """Id of the game; `ttt games` lists them."""
    option: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[NAME=VALUE ...]")] = ()
    """Options of the game, such as size=3; `ttt describe GAME` lists them."""

    def load(self) -> "Game":
        """The game with these options; ValueError or TypeError as from `ttt_envs.load`."""
        return ttt_envs.load(self.game, **parse_options(self.game, self.option))
