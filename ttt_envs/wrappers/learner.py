"""Common parts of the Gymnasium and SB3 environments of a learner: looking at their games, and options of a reset."""

from typing import Any

from numpy.typing import NDArray

from ttt_envs.core.options import unknown
from ttt_envs.core.view import View
from ttt_envs.wrappers.self_play import PlayerGames

RESET_OPTIONS = ("player", "opponent")


class LooksAtGames:
    """A base of the environments for learners, with the looks at their games, `_games`.

    It stands before the framework's class among the bases.
    """

    _games: PlayerGames
    _live: bool = False

    def set_opponents(self, opponent: Any) -> None:
        """Draw opponents from these from now on, at each game's next reset; as `opponent` of `make_single`."""
        self._games.set_opponents(opponent)

    @property
    def opponent_names(self) -> dict[int, str]:
        """The names of the agents that `info["opponent"]` numbers."""
        return self._games.opponent_names

    @property
    def states(self) -> NDArray[Any]:
        """The positions with all that is hidden, to be looked at: structured (games,), read-only, a copy."""
        self._check_live("states")
        return self._games.states

    def view(self) -> View:
        """The view of all learners, for an agent of this library: `agents.load("greedy").act(env.view())`."""
        self._check_live("view")
        return self._games.view()

    def _check_live(self, what: str) -> None:
        if not self._live:
            raise RuntimeError(f"call reset() before {what}()")


def reset_options(options: dict[str, Any] | None, known: tuple[str, ...] = RESET_OPTIONS) -> dict[str, Any]:
    """The options of a Gymnasium `reset` as arguments of `PlayerGames.reset`; ValueError for an unknown one."""
    if not isinstance(options, dict | None):
        raise TypeError(f"reset(): options must be a dict, not {options!r}")
    for name in options or {}:
        if name not in known:
            raise ValueError(f"reset(): {unknown('option', name, list(known))}")
    return dict(options or {})
