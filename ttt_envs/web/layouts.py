"""Layouts: how many kinds of states the server takes, as the machine code of each stays in its memory until it ends."""

from collections.abc import Hashable

from ttt_envs.core.game import Game
from ttt_envs.registry import load
from ttt_envs.web.guard import ASKER
from ttt_envs.web.refusals import Refused

#: Layouts that are taken for one address, and for all together, beside those of the games with their usual options.
OF_ONE, OF_ALL = 8, 24


class Layouts:
    """The layouts that the server has taken. Options that are numbers of plies, rounds or points share one."""

    def __init__(self) -> None:
        """Take none yet."""
        self._taken: dict[Hashable, str] = {}

    def take(self, game: Game) -> None:
        """Take a game, for the address of `ASKER`; raises Refused for one too many whose states are laid out anew.

        A game with its usual options is always taken, and so is one that is laid out like one that was taken.
        """
        layout, usual = _layout(game), load(game.id)
        if layout in self._taken or layout == _layout(usual):
            return
        asker = ASKER.get()
        of_one = sum(each == asker for each in self._taken.values())
        if of_one < OF_ONE and len(self._taken) < OF_ALL:
            self._taken[layout] = asker
            return
        whose, most = ("your address has", OF_ONE) if of_one >= OF_ONE else ("all visitors together have", OF_ALL)
        raise Refused(
            503,
            f"{whose} begun games with {most} unusual kinds of boards and decks, as many as this server takes until it "
            f"is started anew: {game.title} is always played with its usual options, and with those of a game that was "
            "begun before",
        )


def _layout(game: Game) -> Hashable:
    """What decides which machine code a game needs."""
    return game.state_dtype, game.kernels
