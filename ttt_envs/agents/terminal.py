"""Terminal output for human players: colours if supported, columns, and handover between players."""

import shutil
import sys

from rich.console import Console
from rich.text import Text

from ttt_envs.core.game import Game

# Terminal codes: cursor to the top left, clear the screen, clear the scrollback.
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_SEPARATOR = "\n" + "=" * 72 + "\n"


def say(text: str = "", style: str = "", game: Game | None = None) -> None:
    """Print a text in a style of `rich` and with the `text_styles` of a game; to a file or pipe, print plain text.

    The environment variable NO_COLOR disables colours.
    """
    shown = Text(text, style)
    for pattern, each in game.faces.text_styles if game is not None else ():
        shown.highlight_regex(pattern, each)
    # A new console each time, because the standard output may have changed.
    Console(highlight=False, soft_wrap=True).print(shown)


def read(question: str) -> str:
    """Read a line from the terminal; raise SystemExit if it is `q` or the input has ended."""
    try:
        answer = input(question)
    except EOFError:
        print("\nthe input has ended: game left")
        raise SystemExit(0) from None
    if answer.strip().lower() in ("q", "quit", "exit"):
        print("game left")
        raise SystemExit(0)
    return answer


def columns(words: list[str]) -> str:
    """Return `words` in columns that fit the width of the terminal."""
    width = max(len(word) for word in words) + 3
    per_line = max((shutil.get_terminal_size().columns - 2) // width, 1)
    rows = [words[start : start + per_line] for start in range(0, len(words), per_line)]
    return "\n".join("  " + "".join(f"{word:<{width}}" for word in row).rstrip() for row in rows)


class Handover:
    """Shares one terminal among several people, so that each sees only their own questions and answers."""

    def __init__(self, game: Game) -> None:
        """Begin with nobody at the terminal."""
        self._game = game
        self._seat: int | None = None
        self._secret = False

    def ask(self, player: int) -> None:
        """Clear the screen and wait until the player is at the terminal. Call this before you show a question.

        Raises SystemExit if the person quits or the input ends.
        """
        self.show()
        if self._seat != player:
            name = self._game.player_names[player]
            read(f"\n{name} takes the seat; the others look away. Press Enter: ")
        self._seat, self._secret = player, True

    def show(self) -> None:
        """Clear the last player's secrets. Call this before you show anything to all players."""
        if self._secret:
            print(_CLEAR if sys.stdout.isatty() else _SEPARATOR, end="", flush=True)
        self._secret = False
