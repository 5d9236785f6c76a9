"""Hints: what the oracle says where it covers the position, else what a search finds."""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Oracle
from ttt_envs.core.tables import TableMissing, without_building
from ttt_envs.core.view import View

# Simulations of a search: a second or two in the longest game.
_SIMULATIONS = {"mcts": 4000, "ismcts": 2000, "smmcts": 20000}

# Seconds to wait for an oracle.
_PATIENCE = 10.0

# Actions that are named, and the smallest difference of values that is one.
_NAMED, _EQUAL = 5, 1e-6


class Adviser:
    """Gives hints. An oracle that has to work long goes on in the background, and a search answers meanwhile."""

    def __init__(self) -> None:
        """Nothing is under way."""
        self._work: threading.Thread | None = None

    def hint(self, view: View, states: np.ndarray) -> Iterator[str]:
        """Lines of advice for the player of a view of one position; it knows no more than that player.

        Args:
            view: the view, of one position.
            states: structured (1,), that position; the oracle is asked about it where nothing is hidden.
        """
        if not view.game.hidden_information:
            yield "The oracle is asked ..."
            lines, says = self._in_time(partial(_of_oracle, view, states.copy()))
            yield from lines
            if says:
                return
        yield from _of_search(view)

    def _in_time(self, ask: Callable[[], tuple[list[str], bool]]) -> tuple[list[str], bool]:
        """The answer of `ask`, if it does so in time; it is called in a thread, one at a time."""
        found: list[tuple[list[str], bool]] = []
        if self._work is not None:
            self._work.join(_PATIENCE)
        if self._work is None or not self._work.is_alive():
            self._work = threading.Thread(target=lambda: found.append(ask()), daemon=True)
            self._work.start()
            self._work.join(_PATIENCE)
        if found:
            return found[0]
        still = self._work.is_alive()
        return ["It is still at work; a later hint may have its answer." if still else "It failed."], False


def _of_oracle(view: View, states: np.ndarray) -> tuple[list[str], bool]:
    """The oracle's answer; or why it says nothing, and False."""
    try:
        with without_building():
            oracle = view.game.oracle()
            if not oracle.covers(states)[0]:
                return ["It does not cover this position."], False
            return list(_best_play(view, oracle, states)), True
    except NotImplementedError:
        return ["There is none for this game with these options."], False
    except TableMissing:
        return ["Its table is not built yet: `ttt solve` builds it."], False


def _best_play(view: View, oracle: Oracle, states: np.ndarray) -> Iterator[str]:
    game, player = view.game, int(view.players[0])
    policy, values = oracle.policy(states, player)[0], oracle.action_values(states, player)[0]
    worth = float(oracle.value(states, player)[0])
    error = "exact" if oracle.error == 0 else f"off by at most {oracle.error:.2g}"
    yield f"Best play is worth {_signed(worth)} to you (from -1, a loss, to +1, a win; {error})."
    if (policy > _EQUAL).sum() > 1 and game.simultaneous:
        order = np.argsort(-policy, kind="stable")
        order = order[policy[order] > 0.005]
        named = ", ".join(f"{game.action_names[a]} {policy[a]:.0%}" for a in order[: 2 * _NAMED])
        more = f", and {len(order) - 2 * _NAMED} others" if len(order) > 2 * _NAMED else ""
        yield f"Draw your move at random, so that nobody can foresee it: {named}{more}."
        return
    best = np.flatnonzero(policy > _EQUAL)
    yield f"Best: {_named(game, best)}."
    others = view.masks[0] & np.isfinite(values) & (policy <= _EQUAL)
    worse = sorted(np.flatnonzero(others).tolist(), key=lambda action: -values[action])
    if worse:
        named = ", ".join(f"{game.action_names[a]} ({_signed(values[a])})" for a in worse[:_NAMED])
        yield f"Others: {named}{f', and {len(worse) - _NAMED} more' if len(worse) > _NAMED else ''}."


def _of_search(view: View) -> Iterator[str]:
    from ttt_envs import agents
    from ttt_envs.agents.search.mcts import MCTS

    game, name = view.game, agents.search_for(view.game)
    if name is None:
        yield "No search of the library plays this game."
        return
    agent = agents.load(f"{name}:simulations={_SIMULATIONS[name]}")
    assert isinstance(agent, MCTS)
    policy, (visits, values) = agent.policy(view)[0], (each[0] for each in agent.search(view))
    mean = 2 * values / np.maximum(visits, 1) - 1
    order = np.argsort(-np.where(policy > 0, 1e9 * policy, visits), kind="stable")
    order = order[(visits > 0)[order]]
    if len(order) == 1:
        yield f"{game.action_names[order[0]]} is your only move."
        return
    yield f"A search ({name}, {_SIMULATIONS[name]:,} simulations) estimates, from the best on, -1 a loss and +1 a win:"
    for action in order[:_NAMED].tolist():
        often = f"{policy[action]:.0%} of the time" if game.simultaneous else f"tried {visits[action]:,.0f} times"
        yield f"  {game.action_names[action]}: {often}, worth about {_signed(mean[action])}"


def _named(game: Game, actions: Sequence[int] | np.ndarray) -> str:
    names = [game.action_names[action] for action in actions]
    more = f" and {len(names) - 2 * _NAMED} more" if len(names) > 2 * _NAMED else ""
    return f"{', '.join(names[: 2 * _NAMED])}{more}"


def _signed(value: float) -> str:
    """A value from -1 to +1."""
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0"
