"""A person at a terminal."""

import shutil
import sys

import numpy as np

from ttt_envs.agents.base import Agent
from ttt_envs.core.game import closest
from ttt_envs.core.view import View

HELP = "the name of an action, or its number in the list; ? shows the list again; q quits"

# Terminal codes: cursor to the top left, clear the screen, clear the scrollback.
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_SEPARATOR = "\n" + "=" * 72 + "\n"


class Human(Agent):
    """Asks a person at the terminal for each move, and shows what that player may see."""

    name = "human"
    interactive = True

    def __init__(self) -> None:
        """No settings."""

    def act(self, view: View) -> np.ndarray:
        """int64 (n,), asked for one after the other; -1 where the player has no legal action.

        Raises SystemExit if the person quits or the input ends.
        """
        return np.array([self._ask(view, i) if view.masks[i].any() else -1 for i in range(len(view))], np.int64)

    def _ask(self, view: View, i: int) -> int:
        legal = np.flatnonzero(view.masks[i])
        names = [view.game.action_names[action] for action in legal]
        # Where actions are named by numbers, a number in the list would be taken for a name.
        numbered = not any(name.isdecimal() for name in view.game.action_names)
        listed = columns([f"{k + 1}: {name}" for k, name in enumerate(names)] if numbered else names)
        print(f"\n{view.text(i)}\n\nplayer {view.players[i]} chooses:\n{listed}")
        while True:
            answer = read("your move (? for help): ").strip()
            if answer in ("", "?"):
                print(f"{HELP}\nactions: {view.game.action_format}\nlegal:\n{listed}")
                continue
            if numbered and answer.isdecimal():
                if 1 <= int(answer) <= len(legal):
                    return int(legal[int(answer) - 1])
                print(f"{answer} is not a number of the list, which has 1 to {len(legal)}.")
                continue
            try:
                action = view.game.parse_action(answer)
            except ValueError:
                print(f"{answer!r} is no action{_suggest(answer, names)} Wanted: {HELP}.")
                continue
            if view.masks[i, action]:
                return action
            name = view.game.action_names[action]
            print(f"{name} is not legal now{_suggest(name, names)} ? lists the legal actions.")


class Terminal:
    """One terminal shared by several people: nobody sees what another was asked or has answered."""

    def __init__(self) -> None:
        """Start with nobody having been asked."""
        self._seat: int | None = None
        self._secret = False

    def ask(self, player: int) -> None:
        """Clear the screen and wait for the player; then the question may be shown.

        Raises SystemExit if the person quits or the input ends.
        """
        self.show()
        if self._seat != player:
            read(f"\nplayer {player} takes the seat; the others look away. Press Enter: ")
        self._seat, self._secret = player, True

    def show(self) -> None:
        """Clear what only one player may see, before anything is shown to all."""
        if self._secret:
            print(_CLEAR if sys.stdout.isatty() else _SEPARATOR, end="", flush=True)
        self._secret = False


def read(question: str) -> str:
    """A line from the person at the terminal; raises SystemExit if it is `q` or the input has ended."""
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
    """`words` one after the other, in lines as wide as the terminal."""
    width = max(len(word) for word in words) + 3
    per_line = max((shutil.get_terminal_size().columns - 2) // width, 1)
    rows = [words[start : start + per_line] for start in range(0, len(words), per_line)]
    return "\n".join("  " + "".join(f"{word:<{width}}" for word in row).rstrip() for row in rows)


def _suggest(answer: str, legal: list[str]) -> str:
    close = closest(answer, legal)
    return f"; did you mean {' or '.join(close)}?" if close else "."
