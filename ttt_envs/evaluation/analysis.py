"""Analysis of positions and moves: action values by the oracle, a search or an agent, and the loss of moves.

The oracle gives the values of the positions that it covers. An action whose value the oracle does not know is unproven;
no loss is computed for it. In other positions, the game's tree search estimates the values from the deciding player's
view.
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
from ttt_envs.evaluation.judging import MISTAKE
from ttt_envs.storage.tables import TableMissing, without_building

#: Simulations for a position that the oracle does not cover.
SIMULATIONS = 4000

#: The grades of a decision, with the least loss of expected reward for each.
GRADES = (("inaccuracy", 0.02), ("mistake", MISTAKE), ("blunder", 0.3))

#: The `source` of values that an oracle knows.
ORACLE = "oracle"

# _LEAST: smaller probabilities are not shown, unless they are the largest. _MIXED: actions that a best policy plays
# with at least this probability count as lossless.
_LEAST, _MIXED = 0.005, 0.05

#: (spec) -> a context with the agent.
Take = Callable[[str], AbstractContextManager[Agent]]


class NoAnswer(Exception):
    """Raised if an oracle does not know the best action; the message states the reason in a sentence."""


@dataclass(frozen=True)
class BestPlay:
    """Known or estimated optimal play in a decision.

    Attributes:
        source: "oracle", or the spec of the search that estimates; "" if the value is unknown.
        values: float64 (num_actions,), the player's expected reward after each action; nan if unknown.
        policy: float64 (num_actions,), a best policy; all zeros if unknown.
        value: the player's expected reward under optimal play; None if unknown.
        error: the largest error of an oracle's values.
        visits: float64 (num_actions,), the search's simulations that began with each action.
    """

    source: str
    values: np.ndarray
    policy: np.ndarray
    value: float | None = None
    error: float = 0.0
    visits: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Thoughts:
    """The analysis of a decision: the values of its actions and, if an agent decides, the agent's probabilities.

    Attributes:
        player: the player who decides.
        source: "oracle", or the spec of the search that estimates; "" if the value is unknown.
        silence: the reason why the oracle does not answer, as a sentence; "" if it does.
        value: the player's expected reward under optimal play, if the oracle answers.
        error: the largest error of the oracle's values.
        values: action -> the player's expected reward, for known actions.
        unproved: the legal actions of unknown value, if the oracle answers.
        losses: action -> loss of expected reward: compared with optimal play if the oracle answers, otherwise with the
            value of the search's own policy.
        visits: action -> simulations that began with it, if a search estimates.
        best: the best actions; if optimal play is mixed, the actions that it plays, the likeliest first.
        best_probabilities: action -> probability under optimal play, if this is mixed.
        agent: the spec of the agent that decides; None for a person.
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
        played: the player's action.
        best: a best action; None if unknown.
        regret: the loss of expected reward; None if unknown, also if the oracle has not proven the action.
        value: the player's expected reward before the decision, under optimal play by all; None if unknown.
        source: as in `Thoughts`.
    """

    ply: int
    player: int
    played: int
    best: int | None
    regret: float | None
    value: float | None
    source: str


def loaded(spec: str) -> AbstractContextManager[Agent]:
    """Return a context with an agent that is loaded from its spec for a single use."""
    return closing(agents.load(spec))


def by_oracle(view: View) -> BestPlay:
    """Return the oracle's optimal play for a view with one position.

    Raises NoAnswer if there is no oracle, if it does not know the position, or if its table would have to be built.
    """
    if view.game.hidden_information:
        raise NoAnswer("There is no oracle for players who do not know the whole position.")
    try:
        with without_building():
            oracle = view.game.oracle()
            # Without hidden information, the sampled world is the position itself, but with other future dice or cards.
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
    except TableMissing:  # an oracle may read its table at the first query
        raise NoAnswer("The oracle's table is not built yet: `ttt solve` builds it.") from None


def by_search(view: View, take: Take = loaded, simulations: int = SIMULATIONS) -> BestPlay:
    """Return the tree search's estimate of optimal play for a view with one position."""
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
    """Return the analysis of a view with one position, from its player's information.

    Args:
        view: a view with one position.
        agent: the spec of the agent that decides; None for a person.
        take: (spec) -> a context with that agent; loads `agent` and the search.
        oracle: queries the oracle; raises NoAnswer if it does not know the position.
        simulations: number of simulations of the search.
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
    """Return the oracle's answer and "", or else a search's answer and the oracle's reason not to answer."""
    try:
        return oracle(view), ""
    except NoAnswer as error:
        return by_search(view, take, simulations), str(error)


def _lost(answer: BestPlay) -> np.ndarray:
    """Return the loss of each action, nan if unknown.

    An oracle's values are compared with optimal play; a search's estimates, with the mean estimate under the search's
    own policy. Actions that the answer's policy plays with at least `_MIXED` lose nothing: differences between their
    estimates are noise.
    """
    top = np.sum(answer.values * answer.policy, where=answer.policy > 0)
    if answer.source == ORACLE:
        top = np.nanmax([answer.value, *answer.values])
    return np.where(answer.policy >= _MIXED, 0.0 * answer.values, np.maximum(top - answer.values, 0.0))


def grade_of(loss: float) -> str:
    """Return the grade of a loss: "" for a good decision, or a name in GRADES."""
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
    """Judge the decisions of a game by their losses.

    Args:
        decisions: for each decision, the plies before it, the player's view and the action.
        take: loads the search that estimates if the oracle does not answer.
        oracle: the argument of `think`.
        simulations: number of simulations of the search.
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
    """Return the player's expected reward under the optimal play that `judge` knows or estimates; None if unknown."""
    worth, played = judge.value, judge.policy > 0
    if worth is None and played.any():
        worth = float(np.average(judge.values[played], weights=judge.policy[played]))
    return None if worth is None or np.isnan(worth) else round(worth, 4)
