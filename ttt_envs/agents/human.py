"""A person at a terminal."""

from difflib import get_close_matches

import numpy as np

from ttt_envs.agents.base import Agent
from ttt_envs.core.view import View

HELP = "a name or a number of an action; ? lists the legal ones; q quits"

# Legal actions shown without being asked for.
_SHOWN = 9


class Human(Agent):
    """Asks a person at the terminal for each move, showing what that player may see."""

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
        names = view.game.action_names
        legal = [names[action] for action in np.flatnonzero(view.masks[i])]
        print(f"\n{view.text(i)}\n")
        more = "" if len(legal) <= _SHOWN else f" ... ({len(legal)} in all, ? lists them)"
        print(f"player {view.players[i]} chooses; legal: {', '.join(legal[:_SHOWN])}{more}")
        while True:
            try:
                answer = input("your move (? for help): ").strip()
            except EOFError:
                print("\nthe input has ended: game left")
                raise SystemExit(0) from None
            if answer.lower() in ("q", "quit", "exit"):
                print("game left")
                raise SystemExit(0)
            if answer in ("", "?"):
                print(f"{HELP}\nactions: {view.game.action_format}\nlegal: {', '.join(legal)}")
                continue
            try:
                action = view.game.parse_action(answer)
            except ValueError:
                print(f"{answer!r} is no action{_suggest(answer, legal)} Wanted: {HELP}.")
                continue
            if view.masks[i, action]:
                return action
            print(f"{names[action]} is not legal now{_suggest(answer, legal)} Legal: {', '.join(legal)}")


def _suggest(answer: str, legal: list[str]) -> str:
    close = get_close_matches(answer.lower(), legal, n=3)
    return f"; did you mean {' or '.join(close)}?" if close else "."
