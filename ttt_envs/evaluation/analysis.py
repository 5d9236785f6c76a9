"""Analysis: values of the actions in a position by the oracle, a search or an agent, and judgements of the loss of
moves.

The oracle answers where it covers a position; an action whose value it does not know is not proven there, and compared
with nothing. Elsewhere the tree search that plays the game estimates, from the deciding player's knowledge alone.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field

import numpy as np

from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.agents.search.mcts import MCTS
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.policies import probabilities
from ttt_envs.storage.tables import TableMissing, without_building

#: Simulations for a position that the oracle does not cover.
SIMULATIONS = 4000

#: From these losses of expected reward on, a decision is no longer good.
GRADES = (("inaccuracy", 0.02), ("mistake", 0.1), ("blunder", 0.3))

#: The source of a known value, if it is no estimate.
ORACLE = "oracle"

# Smaller probabilities than the first are hidden, but for the largest; from the second on, an action is in the mix.
_LEAST, _MIXED = 0.005, 0.05

#: Gives the agent of a text for use within a context.
Take = Callable[[str], AbstractContextManager[Agent]]


class NoAnswer(Exception):
    """Raised if an oracle does not know the best action; the message is a sentence with the reason."""


@dataclass(frozen=True)
class BestPlay:
    """The optimal play in a decision, as far as it is known or estimated.

    Attributes:
        source: "oracle", or the text of the search that estimates; "" if the value is unknown.
        values: float64 (num_actions,), expected reward of the player after each action; nan if it is not known.
        policy: float64 (num_actions,), a best policy; all zeros if none is known.
        value: expected reward of the player under optimal play; None if it is not known.
        error: the largest error of an oracle's values.
        visits: float64 (num_actions,), the simulations of a search that began with each action.
    """

    source: str
    values: np.ndarray
    policy: np.ndarray
    value: float | None = None
    error: float = 0.0
    visits: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Thoughts:
    """What is known of a decision: the values of actions, and the probabilities of the agent that decides.

    Attributes:
        player: the player who decides.
        source: "oracle", or the text of the search that estimates; "" if the value is unknown.
        silence: the reason why the oracle does not answer, as a sentence; "" if it does.
        value: expected reward of the player under optimal play, if the oracle answers.
        error: the largest error of the oracle's values.
        values: action -> expected reward of the player, where it is known.
        unproved: the legal actions of unknown value, if the oracle answers.
        losses: action -> expected reward lost by it: against optimal play if the oracle answers, or else against the
            estimate of the search's own policy.
        visits: action -> simulations that began with it, where a search estimates.
        best: the best actions; for a mixed policy the actions it plays, the likeliest first.
        best_probabilities: action -> probability under optimal play, where it is mixed.
        agent: text of the agent that decides; None for a person.
        probabilities: action -> probability with which that agent plays it.
    """

    player: int
    source: str
    silence: str
    value: float | None
    error: float
    values: dict[int, float]
    unproved: list[int]
    losses: dict[int, float]
    visits: dict[int, int]
    best: list[int]
    best_probabilities: dict[int, float]
    agent: str | None
    probabilities: dict[int, float]


@dataclass(frozen=True)
class Judgement:
    """A judgement of one decision: its regret, and the best action.

    Attributes:
        ply: plies before it.
        player: the player who decided.
        played: their action.
        best: a best action; None if it is not known.
        regret: the expected reward lost; None if it is not known, also where the oracle has not proven the action.
        value: expected reward of the player before the decision, under optimal play by all; None if it is not known.
        source: as of `Thoughts`.
    """

    ply: int
    player: int
    played: int
    best: int | None
    regret: float | None
    value: float | None
    source: str


def loaded(spec: str) -> AbstractContextManager[Agent]:
    """Return the agent of a text, loaded for this once."""
    return closing(agents.load(spec))


def by_oracle(view: View) -> BestPlay:
    """Return the oracle's optimal play for a view with one position.

    Raises NoAnswer where there is none, where it says nothing, and where its table would have to be built.
    """
    if view.game.hidden_information:
        raise NoAnswer("There is no oracle for players who do not know the whole position.")
    try:
        with without_building():
            oracle = view.game.oracle()
            # Future chance is redrawn; with nothing hidden, the rest is the position itself.
            world = view.sample_worlds()
            if not oracle.covers(world)[0]:
                raise NoAnswer("The oracle does not cover this position.")
            return BestPlay(
                ORACLE,
                oracle.action_values(world, view.players)[0],
                oracle.policy(world, view.players)[0],
                float(oracle.value(world, view.players)[0]),
                oracle.error,
            )
    except NotImplementedError:
        raise NoAnswer("There is no oracle for this game with these options.") from None
    except TableMissing:  # an oracle may read it when the first question is asked
        raise NoAnswer("The oracle's table is not built yet: `ttt solve` builds it.") from None


def by_search(view: View, take: Take = loaded, simulations: int = SIMULATIONS) -> BestPlay:
    """Return optimal play in the one decision of a view, as the tree search that plays the game estimates it."""
    game = view.game
    name = agents.search_for(game)
    unknown = np.full(game.num_actions, np.nan)
    if name is None:
        return BestPlay("", unknown, np.zeros(game.num_actions))
    if view.masks[0].sum() == 1:  # not searched
        return BestPlay("", unknown, view.masks[0].astype(np.float64))
    spec = f"{name}:simulations={simulations}"
    with take(spec) as search:
        assert isinstance(search, MCTS)
        policy, values, visits = search.policy(view), search.action_values(view), search.search(view)[0]
    return BestPlay(spec, values[0], policy[0], visits=visits[0])


def think(
    view: View,
    agent: str | None = None,
    *,
    take: Take = loaded,
    oracle: Callable[[View], BestPlay] = by_oracle,
    simulations: int = SIMULATIONS,
) -> Thoughts:
    """Return the thoughts on the one decision of a view, from its player's knowledge.

    Args:
        view: of one position.
        agent: the text of the agent that decides; None for a person.
        take: gives that agent and the search.
        oracle: asks the oracle; it raises NoAnswer where that says nothing.
        simulations: simulations of the search.
    """
    player, mask = int(view.players[0]), view.masks[0]
    answer, silence = _asked(view, take, oracle, simulations)
    values, lost, visits = answer.values, _lost(answer), answer.visits
    best = np.flatnonzero(answer.policy > min(_LEAST, answer.policy.max() / 2))
    likely = np.zeros(view.game.num_actions)
    if agent is not None:
        with without_building(), take(agent) as asked:
            likely = probabilities(asked, view)[0]
    return Thoughts(
        player=player,
        source=answer.source,
        silence=silence,
        value=answer.value,
        error=answer.error,
        values={int(action): round(float(values[action]), 4) for action in np.flatnonzero(~np.isnan(values) & mask)},
        unproved=np.flatnonzero(mask & np.isnan(values)).tolist() if answer.source == ORACLE else [],
        losses={int(action): round(float(lost[action]), 4) for action in np.flatnonzero(~np.isnan(lost))},
        visits={int(action): int(visits[action]) for action in np.flatnonzero(visits)},
        best=best[np.argsort(-answer.policy[best], kind="stable")].tolist(),
        best_probabilities=_shown(answer.policy) if 0 < answer.policy.max() < 1 else {},
        agent=agent,
        probabilities=_shown(likely),
    )


def _asked(view: View, take: Take, oracle: Callable[[View], BestPlay], simulations: int) -> tuple[BestPlay, str]:
    """Return the oracle's answer and "", or else a search's and the reason why the oracle does not answer."""
    try:
        return oracle(view), ""
    except NoAnswer as error:
        return by_search(view, take, simulations), str(error)


def _lost(answer: BestPlay) -> np.ndarray:
    """Return the loss of each action, nan where it is unknown.

    It is the one judge of all that is shown: proven values are compared with optimal play, and estimates with the mean
    estimate of the search's own policy. What that mixes loses nothing: two such estimates differ by noise alone.
    """
    top = np.sum(answer.values * answer.policy, where=answer.policy > 0)
    if answer.source == ORACLE:
        top = np.nanmax([answer.value, *answer.values])
    return np.where(answer.policy >= _MIXED, 0.0 * answer.values, np.maximum(top - answer.values, 0.0))


def grade_of(loss: float) -> str:
    """Return the name of a loss: "" for a good decision, or one of GRADES."""
    return next((name for name, least in reversed(GRADES) if loss >= least), "")


def _shown(policy: np.ndarray) -> dict[int, float]:
    return {int(action): round(float(policy[action]), 4) for action in np.flatnonzero(policy >= _LEAST)}


def review(
    decisions: Iterable[tuple[int, View, int]],
    *,
    take: Take = loaded,
    oracle: Callable[[View], BestPlay] = by_oracle,
    simulations: int = SIMULATIONS,
) -> list[Judgement]:
    """Judge the loss of the decisions of a game.

    Args:
        decisions: for each, the plies before it, the player's view, and their action.
        take: gives the search that estimates where the oracle does not answer.
        oracle: as of `think`.
        simulations: simulations of this search.
    """
    judged = []
    for ply, view, action in decisions:
        judge, _ = _asked(view, take, oracle, simulations)
        regret = float(_lost(judge)[action])
        judged.append(
            Judgement(
                ply=ply,
                player=int(view.players[0]),
                played=action,
                best=int(judge.policy.argmax()) if judge.policy.any() and judge.source else None,
                regret=None if np.isnan(regret) else round(regret, 4),
                value=_worth(judge),
                source=judge.source,
            )
        )
    return judged


def _worth(judge: BestPlay) -> float | None:
    """Return the expected reward of a position under the judge's optimal play; None if unknown."""
    worth, played = judge.value, judge.policy > 0
    if worth is None and played.any():
        worth = float(np.average(judge.values[played], weights=judge.policy[played]))
    return None if worth is None or np.isnan(worth) else round(worth, 4)
