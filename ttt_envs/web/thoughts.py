"""Thoughts: what the oracle, a search or an agent thinks of the actions in a position, and what moves have lost.

The oracle answers where it covers a position. Elsewhere the tree search that plays the game estimates, from what the
deciding player may know alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ttt_envs import agents
from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Oracle
from ttt_envs.core.tables import TableMissing, without_building
from ttt_envs.core.view import View
from ttt_envs.evaluation.asking import probabilities
from ttt_envs.evaluation.decisions import oracle_for
from ttt_envs.evaluation.regret import judge
from ttt_envs.web.workers import Shelf

#: Simulations for a position that the oracle does not cover.
SIMULATIONS = 4000

_ORACLE = "oracle"

# Probabilities below this are not shown.
_LEAST = 0.005


@dataclass(frozen=True)
class Thoughts:
    """What is thought of a decision.

    Attributes:
        player: the player who decides.
        source: "oracle", or the text of the search that estimates; "" where nobody knows.
        values: action -> expected reward of the player, where it is known.
        estimated: the actions whose values are a search's estimates.
        best: the best actions; for a mixed policy those that it plays.
        best_probabilities: action -> probability under best play, where it is mixed.
        agent: text of the agent that decides; None for a person.
        probabilities: action -> probability with which that agent plays it.
    """

    player: int
    source: str
    values: dict[int, float]
    estimated: list[int]
    best: list[int]
    best_probabilities: dict[int, float]
    agent: str | None
    probabilities: dict[int, float]


@dataclass(frozen=True)
class Judgement:
    """What one decision lost.

    Attributes:
        ply: plies before it.
        player: the player who decided.
        played: their action.
        best: a best action; None if it is not known.
        regret: the expected reward lost; None if it is not known.
        source: as of `Thoughts`.
    """

    ply: int
    player: int
    played: int
    best: int | None
    regret: float | None
    source: str


def oracle_at_hand(game: Game) -> Oracle | None:
    """The oracle that judges decisions, if there is one and its table need not be built."""
    try:
        with without_building():
            return oracle_for(game)
    except TableMissing:
        return None


def think(shelf: Shelf, view: View, agent: str | None) -> Thoughts:
    """The thoughts on the one decision of a view; `agent` is the text of the agent that decides."""
    player, mask = int(view.players[0]), view.masks[0]
    source, values, policy = _best_play(shelf, view)
    estimated = mask & (np.isnan(values) | (source != _ORACLE))
    if source == _ORACLE and estimated.any():
        values = np.where(estimated, _estimate(shelf, view)[1], values)
    known = np.flatnonzero(~np.isnan(values) & mask)
    best = np.flatnonzero(policy > _LEAST)
    found = np.zeros(view.game.num_actions)
    if agent is not None:
        with without_building(), shelf.take(agent) as asked:
            found = probabilities(asked, view)[0]
    return Thoughts(
        player=player,
        source=source,
        values={int(action): round(float(values[action]), 4) for action in known},
        estimated=np.flatnonzero(estimated).tolist(),
        best=best[np.argsort(-policy[best], kind="stable")].tolist(),
        best_probabilities=_shown(policy) if 0 < policy.max(initial=0) < 1 else {},
        agent=agent,
        probabilities=_shown(found),
    )


def _best_play(shelf: Shelf, view: View) -> tuple[str, np.ndarray, np.ndarray]:
    """Who knows, the values of the actions float64 (num_actions,), nan if unknown, and a best policy, likewise."""
    game = view.game
    oracle = oracle_at_hand(game)
    if oracle is not None:
        # What is still to be drawn is drawn anew; with nothing hidden, the rest is the position itself.
        world = view.sample_worlds()
        if oracle.covers(world)[0]:
            return _ORACLE, oracle.action_values(world, view.players)[0], oracle.policy(world, view.players)[0]
    return _estimate(shelf, view)


def _estimate(shelf: Shelf, view: View) -> tuple[str, np.ndarray, np.ndarray]:
    """The same by the tree search that plays the game."""
    game, player = view.game, int(view.players[0])
    name = agents.search_for(game)
    unknown = np.full(game.num_actions, np.nan)
    if name is None:
        return "", unknown, np.zeros(game.num_actions)
    if view.masks[0].sum() == 1:  # not searched
        return "", unknown, view.masks[0].astype(np.float64)
    spec = f"{name}:simulations={SIMULATIONS}"
    with shelf.take(spec) as search:
        visits, sums = (rows[0] for rows in search.search(view))  # type: ignore[attr-defined]
        policy = search.policy(view)[0]
    side = next(team for team in game.teams if player in team)
    with np.errstate(invalid="ignore"):
        values = (2 * sums / visits - 1) / len(side)  # a search counts wins of the side from 0 to 1
    return spec, values, policy


def _shown(policy: np.ndarray) -> dict[int, float]:
    return {int(action): round(float(policy[action]), 4) for action in np.flatnonzero(policy >= _LEAST)}


def review(shelf: Shelf, views: Sequence[tuple[int, View, int]]) -> list[Judgement]:
    """What decisions lost.

    Args:
        shelf: for the search that estimates what the oracle does not know.
        views: of each decision, the plies before it, what the player was given, and their action.
    """
    found = []
    for ply, view, action in views:
        game, player = view.game, int(view.players[0])
        oracle = oracle_at_hand(game)
        best, regret, source = -1, np.nan, ""
        if oracle is not None:
            _, lost, tops, _ = judge(game, oracle, view.sample_worlds(), view.players, np.array([action]))
            best, regret, source = int(tops[0]), float(lost[0]), _ORACLE
        if np.isnan(regret):
            source, values, policy = _estimate(shelf, view)
            if source and not np.isnan(values[action]):
                best = int(policy.argmax())
                # The search's choice is the one that it visited most; its estimate of others is rougher.
                regret = max(float(values[best] - values[action]), 0.0)
        found.append(
            Judgement(
                ply=ply,
                player=player,
                played=action,
                best=None if best < 0 else best,
                regret=None if np.isnan(regret) else round(max(regret, 0.0), 4),
                source=source,
            )
        )
    return found


def named(game: Game, thoughts: Thoughts) -> dict[str, Any]:
    """Thoughts as a JSON object, with the actions by their names."""

    def by_name(found: dict[int, float]) -> dict[str, float]:
        return {game.action_names[action]: value for action, value in found.items()}

    return {
        "player": thoughts.player,
        "source": thoughts.source,
        "values": by_name(thoughts.values),
        "estimated": [game.action_names[action] for action in thoughts.estimated],
        "best": [game.action_names[action] for action in thoughts.best],
        "best_probabilities": by_name(thoughts.best_probabilities),
        "agent": thoughts.agent,
        "probabilities": by_name(thoughts.probabilities),
    }
