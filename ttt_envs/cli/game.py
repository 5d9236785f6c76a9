"""`ttt game new`: the folder of a game of your own, and `ttt game check`, which checks one."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ttt_envs.cli.common import GameArguments
from ttt_envs.cli.layout import paragraphs
from ttt_envs.cli.shell import parse

#: The example that is copied, and where it is: in the installed package, and in a checkout.
_EXAMPLE = "connect_four"
_PLACES = (Path(__file__).parent / _EXAMPLE, Path(__file__).resolve().parents[2] / "examples" / _EXAMPLE)


@dataclass(frozen=True, kw_only=True)
class NewGame:
    """Make the folder of a game of your own: a whole game, Connect Four, under your name, to be changed file by file.

    The page "Your own game" of the documentation goes through the files.
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Id of the game and name of the folder: lower-case words with underscores between them, such as my_game."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder in which the game's folder is made; by default the current one."""

    def run(self) -> None:
        """Write the folder, and print the next steps."""
        from ttt_envs import registry
        from ttt_envs.storage.files import new_folder, write_whole

        registry.check_id(self.name)
        if self.name in registry.GAMES or self.name == _EXAMPLE:
            raise ValueError(f"the name {self.name!r} is taken: choose another one")
        example = next(place for place in _PLACES if place.is_dir())
        title = " ".join(word.capitalize() for word in self.name.split("_"))
        with new_folder((self.out or Path()) / self.name) as folder:
            assert folder is not None
            paths = sorted(example.glob("*.py"))
            for path in paths:
                text = path.read_text(encoding="utf-8").replace(_EXAMPLE, self.name).replace("Connect Four", title)
                if path.name == "__init__.py":
                    text = re.sub(r", a game outside the package: copy .*", ", a game of your own.", text, count=1)
                write_whole(folder / path.name, text)
        lines = (
            f"{', '.join(path.name for path in paths)} are in {folder}",
            f"It plays by the rules of Connect Four until you change them: begin with {folder / 'rules.py'}",
            f"From the folder above it, `ttt game check {self.name}:make` checks it, and `ttt play {self.name}:make` "
            "plays it.",
        )
        print("\n".join(line for each in lines for line in paragraphs(each)))


@dataclass(frozen=True, kw_only=True)
class CheckGame(GameArguments):
    """Check a game of your own: its rules, texts, pictures and symmetries against each other, in random games.

    The checks do not know the rules.
    """

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """Your game as module:function, such as my_game:make; or the id of a registered one."""

    def run(self) -> None:
        """Print each check that the game passes; the first one that it fails is an error."""
        from ttt_envs.testing import check_game

        game = self.load()
        try:
            number = len(check_game(game, progress=lambda line: print("\n".join(paragraphs(f"- {line}")), flush=True)))
        except AssertionError as error:
            raise ValueError(str(error)) from None
        print(f"{game} passes all {number} checks")


@dataclass(frozen=True)
class GameVerb:
    """Write a game of your own: `ttt game new NAME` makes its folder, `ttt game check GAME` checks it."""

    @classmethod
    def narrowed(cls, arguments: Sequence[str]) -> Any:
        """Return the command that the words after the verb name."""
        return parse({"new": NewGame, "check": CheckGame}, arguments, "ttt game", inspect.getdoc(cls) or "")
