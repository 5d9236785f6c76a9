"""A game played in a window: people click on the board."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ttt_envs
from ttt_envs.agents import load
from ttt_envs.core.game import Game
from ttt_envs.drawing.choosing import Chooser, cover
from ttt_envs.drawing.window import Window

#: Pictures a second, so that the moves of agents can be followed.
_FPS = 1.25


def play_in_window(
    game: Game, agents: Sequence[Any], seed: int | None = None, window: Window | None = None
) -> np.ndarray:
    """Play one game in a window, which shows the last position until it is closed; returns the final state.

    A person clicks on what they choose; Escape takes back the clicks of a choice that has not been completed. One
    person in a game with hidden information sees what their player may see; several take turns at the window, and
    click when the others look away.

    Args:
        game: the game.
        agents: whatever `ttt_envs.agents.load` takes, one a player, in the order of play.
        seed: seed of the game and of the agents; None draws one.
        window: to play in; None makes one.

    Raises:
        ValueError, TypeError, FileNotFoundError: a wrong number of agents, or an agent that cannot play this game.
        ImportError: the extra `render` is missing.
        SystemExit: the window is closed before the game is over.
    """
    players = [load(each) for each in agents]
    if len(players) != game.num_players:
        names = ", ".join(player.name for player in players)
        raise ValueError(
            f"{game!r} has {game.num_players} players and needs as many agents, not {len(players)}: {names}"
        )
    for player in players:
        player.check(game)
    people = [p for p, player in enumerate(players) if player.interactive]
    table = _Table(game, people, window or Window(game.title, _FPS))
    batch = ttt_envs.Batch(game, 1, seed=seed)
    while not batch.done[0]:
        acting = [p for p in range(game.num_players) if batch.acting(p)[0]]
        if not any(p in people for p in acting):
            table.show(batch.states[0])
        joint = np.full((1, game.num_players), -1)
        for p in acting:
            view = batch.view(p)
            several = sum(each in people for each in acting) > 1
            joint[0, p] = (
                table.ask(batch.states[0], p, view.masks[0], several) if p in people else players[p].act(view)[0]
            )
        before = batch.states[0].copy()
        batch.step(joint)
        finished = game.finished_round(before, joint[0], batch.states[0])
        if finished is not None:
            table.show(finished[0])
    final = batch.states[0].copy()
    table.end(final)
    return final


class _Table:
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

    def ask(self, state: Any, player: int, mask: np.ndarray, several: bool) -> int:
        """The action that a person chooses by clicks."""
        if (several or self.game.hidden_information) and len(self.people) > 1:
            self._change_seats(player)
        chooser = Chooser(self.game, state, player, np.flatnonzero(mask).tolist())
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
