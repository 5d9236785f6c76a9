"""A person at a terminal."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ttt_envs.agents.base import Agent
from ttt_envs.agents.terminal import columns, read, say
from ttt_envs.core.presentation import closest
from ttt_envs.core.view import View


@dataclass(frozen=True)
class Command:
    """A command that a person can type instead of an action.

    Attributes:
        usage: name and argument of the command, such as "save FILE".
        meaning: description of the command in the help.
        run: called with the view, the row of the position in the view, and the text after the name. It prints its
            output. If the function raises ValueError or OSError, the person sees the message.
    """

    usage: str
    meaning: str
    run: Callable[[View, int, str], None]


class Human(Agent):
    """Asks a person at the terminal for each move and shows the position from that player's view.

    Attributes:
        commands: name -> command; `ttt play` adds some.
    """

    name = "human"
    interactive = True
    reaches = {}

    def __init__(self) -> None:
        """Start without commands."""
        self.commands: dict[str, Command] = {}

    def act(self, view: View) -> np.ndarray:
        """Ask for one action per position; return int64 (n,), -1 if the player has no legal action.

        Raises SystemExit if the person quits or the input ends. Of a command's errors, it catches ValueError and
        OSError.
        """
        return np.array([self._ask(view, i) if view.masks[i].any() else -1 for i in range(len(view))], np.int64)

    def _ask(self, view: View, i: int) -> int:
        game, player = view.game, view.game.player_names[view.players[i]]
        legal = np.flatnonzero(view.masks[i])
        names = [game.action_names[action] for action in legal]
        # Do not number the list if some action's name is a number, because the person could confuse the two.
        numbered = not any(name.isdecimal() for name in game.action_names)
        listed = columns([f"{k + 1}: {name}" for k, name in enumerate(names)] if numbered else names)
        say()
        say(view.text(i), game=game)
        say(f"\nYou are {player}. You can play:", "bold")
        say(listed)
        while True:
            answer = read(f"{player}, your move (? for help): ").strip()
            word, _, rest = answer.partition(" ")
            if word.lower() in ("", "?", "help"):
                say(f"{self._help(game.faces.action_format, numbered)}\n\n{player} can play:\n{listed}")
                continue
            if word.lower() in self.commands and answer.lower() not in map(str.lower, game.action_names):
                try:
                    self.commands[word.lower()].run(view, i, rest.strip())
                except (ValueError, OSError) as error:
                    say(str(error), "red")
                continue
            if numbered and answer.isdecimal():
                if 1 <= int(answer) <= len(legal):
                    return int(legal[int(answer) - 1])
                say(f"{answer} is not a number of the list, which has 1 to {len(legal)}.", "red")
                continue
            try:
                action = game.parse_action(answer)
            except ValueError:
                hint = _suggest(answer, [*names, *self.commands])
                say(f"{answer!r} is no action{hint} Type the name of an action, or its number; ? helps.", "red")
                continue
            if view.masks[i, action]:
                return action
            name = game.action_names[action]
            say(f"{name} is not legal now{_suggest(name, names)} ? lists the legal actions.", "red")

    def _help(self, action_format: str, numbered: bool) -> str:
        number = ", or its number in the list" if numbered else ""
        entries = [
            ("an action", f"its name{number}; case and signs do not matter; written as {action_format}"),
            *((each.usage, each.meaning) for each in self.commands.values()),
            ("?", "this help, and the list of actions again"),
            ("q", "leave the game"),
        ]
        return "\n".join(f"  {usage:<10} {meaning}" for usage, meaning in entries)


def _suggest(answer: str, legal: list[str]) -> str:
    close = closest(answer, legal)
    return f"; did you mean {' or '.join(close)}?" if close else "."
