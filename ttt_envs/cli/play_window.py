"""A game played in a window: people click on the board."""

from collections.abc import Sequence
from typing import Any

from ttt_envs.cli.common import seated
from ttt_envs.core.game import Game
from ttt_envs.core.live import LiveGame
from ttt_envs.drawing.choosing import Chooser, cover
from ttt_envs.drawing.window import Window
from ttt_envs.evaluation.arena.play import ask

#: Pictures a second, so that the moves of agents can be followed.
_FPS = 1.25


def play_in_window(live: LiveGame, agents: Sequence[Any], window: Window | None = None) -> None:
    """Play a game on to its end in a window, which shows the last position until it is closed.

    A person clicks on what they choose; Escape takes back the clicks of a choice that has not been completed. One
    person in a game with hidden information sees what their player may see; several take turns at the window, and
    click when the others look away.

    Args:
        live: the game.
        agents: whatever `ttt_envs.agents.load` takes, one a player, in the order of play.
        window: to play in; None makes one.

    Raises:
        ValueError, TypeError, FileNotFoundError: a wrong number of agents, or an agent that cannot play this game.
        ImportError: the extra `render` is missing.
        SystemExit: the window is closed before the game is over.
    """
    game = live.game
    players = seated(game, agents)
    people = [p for p, player in enumerate(players) if player.interactive]
    desk = _Desk(game, people, window or Window(game.title, _FPS))
    while not live.over:
        acting = live.acting()
        if not any(p in people for p in acting):
            desk.show(live.state[0])
        several = sum(p in people for p in acting) > 1
        for p in acting:
            if p in people:
                action = desk.ask(live.state[0], p, live.legal(p), several)
            else:
                action = int(ask(players[p], live.view(p))[0][0])
            live.choose(p, action)
        finished = live.ended_round(live.ply)
        if finished is not None:
            desk.show(finished[0])
    desk.end(live.state[0])


class _Desk:
    """The window, and the people who sit at it."""

    def __init__(self, game: Game, people: Sequence[int], window: Window) -> None:
        self.game, self.people, self.window = game, people, window
        self._seated: int | None = people[0] if len(people) == 1 else None

    def show(self, state: Any) -> None:
        """Show a position between choices: as one person sees it, or nothing that is hidden from several."""
        if self.game.hidden_information and len(self.people) > 1:
            return
        self.window.show(self.game.draw(state, self.people[0] if len(self.people) == 1 else None))
        self._check()

    def ask(self, state: Any, player: int, legal: Sequence[int], several: bool) -> int:
        """The action that a person chooses by clicks."""
        if (several or self.game.hidden_information) and len(self.people) > 1:
            self._change_seats(player)
        chooser = Chooser(self.game, state, player, legal)
        while True:
            self.window.show(chooser.picture)
            found = self._click()
            if isinstance(found, str):
                if found == "escape":
                    chooser.chosen = ()
                continue
            action = chooser.click(*found)
            if action is not None:
                return action

    def end(self, state: Any) -> None:
        """Show the last position until the window is closed."""
        self.window.show(self.game.draw(state, None))
        self.window.wait()

    def _change_seats(self, player: int) -> None:
        """Hide the table until the next person has taken the seat."""
        if self._seated == player:
            return
        self._seated = player
        self.window.show(
            cover([f"{self.game.player_names[player]} takes the seat", "the others look away", "click to go on"])
        )
        while isinstance(self._click(), str):
            pass

    def _click(self) -> tuple[float, float] | str:
        found = self.window.click()
        self._check()
        assert found is not None
        return found

    def _check(self) -> None:
        if self.window.closed:
            print("the window is closed: game left")
            raise SystemExit(0)
