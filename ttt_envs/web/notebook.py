"""A board in a notebook: play against agents with the mouse, with the losses of moves by the oracle or a search.

It is the board of `ttt serve` as a Jupyter widget; the games run in the notebook's kernel. Needs the extra `notebook`.
"""

import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ttt_envs import agents, registry
from ttt_envs.agents import Agent
from ttt_envs.core.checks import check_players
from ttt_envs.core.game import Game
from ttt_envs.core.played_game import PlayedGame
from ttt_envs.evaluation.analysis import think
from ttt_envs.evaluation.arena.play import ask
from ttt_envs.web import render
from ttt_envs.web.threads import said

__all__ = ["Board"]

_STATIC = Path(__file__).parent / "static"


@cache
def _module() -> str:
    """Return the JavaScript modules of the widget joined into one, because a widget has a single module."""
    parts = [(_STATIC / f"{name}.js").read_text(encoding="utf-8") for name in ("tools", "board", "widget")]
    return re.sub(r"^(import .*|export (?!default))", "", "\n".join(parts), flags=re.MULTILINE)


@cache
def _style() -> str:
    base = resources.files("ttt_envs.evaluation.reports") / "base.css"
    rules = base.read_text(encoding="utf-8") + (_STATIC / "style.css").read_text(encoding="utf-8")
    return f".ttt-envs {{\n{rules.replace(':root', '&')}\n}}\n"


class Board(anywidget.AnyWidget):
    """A game between a person, who clicks on the board, and agents.

    Attributes:
        live: the game so far, as a `core.played_game.PlayedGame`; do not change it.
        values: whether the board shows the loss of each move, by the oracle or else by a search.
        position: what the widget shows, as JSON; the page of `ttt serve` gets the same entries.
    """

    _esm = _module()
    _css = _style()
    values = traitlets.Bool(False).tag(sync=True)
    position = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        game: str | Game,
        opponent: Any = "greedy",
        *,
        player: int = 0,
        seed: int | None = None,
        values: bool = False,
        **options: Any,
    ) -> None:
        """Begin a game.

        Args:
            game: an id or a Game.
            opponent: the agent in all other seats, an argument of `agents.load`.
            player: the person's seat.
            seed: seed of the first game; each later game's is one higher. None: random seeds.
            values: whether to show the loss of each move.
            options: options of the game, if `game` is an id.

        Raises the errors of `load` and `agents.load`, and ValueError for a seat that does not exist or an agent that
        cannot play the game.
        """
        super().__init__()
        given = registry.load(game, **options) if isinstance(game, str) else game
        self._player = int(check_players(player, 1, given.num_players)[0])
        self._agent: Agent = agents.load(opponent)
        self._agent.check(given)
        self._seed = seed
        self.values = values
        self.on_msg(self._told)
        self.observe(lambda _: self._show(), "values")
        self._begin(given)

    def __repr__(self) -> str:
        return f"Board({self.live.game!r}, ply {self.live.ply})"

    def choose(self, action: str) -> None:
        """Choose an action by its name, as a click does, and let the agents move.

        Raises ValueError for an unknown name, and IllegalAction, a ValueError, for an action that is not legal now.
        """
        names = self.live.game.action_names
        if action not in names:
            raise ValueError(f"there is no action {action!r}: wanted {self.live.game.faces.action_format}")
        self.live.choose(self._player, names.index(action))
        self._answer()

    def hint(self) -> str:
        """Return the name of a best action and mark it on the board; "" if none is known or it is not your turn."""
        found = self._thoughts()
        best = found["best"][0] if found and found["best"] else ""
        self.position = {**self.position, "hint": best}
        return best

    def again(self) -> None:
        """Begin a new game, with the next seed."""
        self._seed = None if self._seed is None else self._seed + 1
        self._begin(self.live.game)

    def _begin(self, game: Game) -> None:
        self.live = PlayedGame.begin(game, self._seed)
        self._answer()

    def _answer(self) -> None:
        """Let the agents move until the person is to move or the game is over; raises the agents' errors."""
        live, self._trouble = self.live, ""
        try:
            while not live.over and (others := [each for each in live.asked() if each != self._player]):
                for each in others:
                    actions, _ = ask(self._agent, live.view(each))
                    live.choose(each, int(actions[0]))
        except BaseException as error:  # what a click leads to is raised where nobody looks
            self._trouble = f"The opponent {self._agent.name} failed, with {said(error)}; begin a new game."
            raise
        finally:
            self._show()

    def _thoughts(self) -> dict[str, Any] | None:
        live = self.live
        if not live.legal(self._player):
            return None
        return render.named(live.game, think(live.view(self._player)))

    def _show(self) -> None:
        live, game, me = self.live, self.live.game, self._player
        state = live.state[0]
        found = {**render.position(game, state, me), **render.clickable(game, state, me, live.legal(me))}
        found["you"] = game.player_names[me]
        names = ["You" if player == me else name for player, name in enumerate(game.player_names)]
        found["over"] = render.result(game, state, names) if live.over else None
        found["trouble"] = self._trouble
        found["last"] = [
            [game.player_names[k], name] for ply in render.moves(game, live.actions[-1:]) for k, name in ply
        ]
        found["thoughts"] = self._thoughts() if self.values else None
        self.position = found

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        found = super()._repr_mimebundle_()
        data, about = found or ({}, {})
        return {**data, "image/svg+xml": self.live.game.draw(self.live.state[0], self._player)}, about

    def _told(self, _: Any, message: Any, __: Any) -> None:
        """Handle a message of the widget. An illegal click, such as the second of two quick ones, is ignored."""
        wanted = message.get("do") if isinstance(message, dict) else None
        if wanted == "choose" and message.get("action") in {each["name"] for each in self.position["actions"]}:
            self.choose(message["action"])
        elif wanted == "hint":
            self.hint()
        elif wanted == "again":
            self.again()
