"""Hints: by the oracle if it covers the position, otherwise by a search."""

import threading
from collections.abc import Iterator, Sequence

from ttt_envs import agents
from ttt_envs.core.game import Game
from ttt_envs.core.view import View
from ttt_envs.evaluation.analysis import ORACLE, BestPlay, NoAnswer, Thoughts, by_oracle, think

# Seconds to wait for the oracle's answer.
_PATIENCE = 10.0

# The most actions that a hint names.
_NAMED = 5


class Adviser:
    """Gives hints. A slow oracle goes on in the background, for later hints, while a search gives this one."""

    def __init__(self) -> None:
        """No oracle is at work yet."""
        self._work: threading.Thread | None = None

    def hint(self, view: View) -> Iterator[str]:
        """Yield lines of advice for the player of `view`, a view of one position, from what that player knows."""
        game = view.game
        if not game.hidden_information:
            yield "The oracle is asked ..."
        search = agents.search_for(game)
        simulations = agents.load(search).hint_simulations if search else 0
        found = think(view, oracle=self._in_time, simulations=simulations)
        if found.silence and not game.hidden_information:
            yield found.silence
        if found.source == ORACLE:
            yield from _best_play(game, found)
        elif found.source:
            yield f"A search ({found.source}) estimates your expected reward, from the best action on:"
            yield from _estimates(game, found)
        elif found.best:
            yield f"{game.action_names[found.best[0]]} is your only move."
        else:
            yield "No search of the library plays this game."

    def _in_time(self, view: View) -> BestPlay:
        """Return the oracle's answer if it comes within `_PATIENCE` seconds; at most one thread asks the oracle."""
        found: list[BestPlay | NoAnswer] = []

        def ask() -> None:
            try:
                found.append(by_oracle(view))
            except NoAnswer as error:
                found.append(error)

        if self._work is not None:
            self._work.join(_PATIENCE)
        if self._work is None or not self._work.is_alive():
            self._work = threading.Thread(target=ask, daemon=True)
            self._work.start()
            self._work.join(_PATIENCE)
        if not found:
            still = self._work.is_alive()
            raise NoAnswer("It is still at work; a later hint may have its answer." if still else "It failed.")
        if isinstance(found[0], NoAnswer):
            raise found[0]
        return found[0]


def _best_play(game: Game, found: Thoughts) -> Iterator[str]:
    error = "exact" if found.error == 0 else f"off by at most {found.error:.2g}"
    yield f"Optimal play is worth {_signed(found.value or 0.0)} to you (the expected reward, {error})."
    if game.simultaneous and len(found.best) > 1:
        likely = [f"{game.action_names[action]} {_share(found, action):.0%}" for action in found.best]
        yield f"Draw your move at random, so that nobody can foresee it: {_some(likely, 2 * _NAMED)}."
        return
    yield f"Best: {_some([game.action_names[action] for action in found.best], 2 * _NAMED)}."
    worse = [action for action in found.values if action not in found.best]
    if worse:
        worse.sort(key=lambda action: -found.values[action])
        told = [f"{game.action_names[action]} ({_signed(found.values[action])})" for action in worse]
        yield f"Others: {_some(told, _NAMED)}."
    if found.unproved:
        yield f"Not proved: {_some([game.action_names[action] for action in found.unproved], _NAMED)}."


def _estimates(game: Game, found: Thoughts) -> Iterator[str]:
    others = sorted(set(found.visits) - set(found.best), key=lambda action: (-found.visits[action], action))
    for action in [*found.best, *others][:_NAMED]:
        share, visits = _share(found, action), found.visits[action]
        tried = f"{share:.0%} of the time" if game.simultaneous else f"tried {visits:,} times"
        yield f"  {game.action_names[action]}: {tried}, worth about {_signed(found.values[action])}"


def _share(found: Thoughts, action: int) -> float:
    return found.best_probabilities.get(action, 0.0) if found.best_probabilities else float(action in found.best)


def _some(names: Sequence[str], most: int) -> str:
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _signed(value: float) -> str:
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0"
