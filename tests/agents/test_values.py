"""What agents think that actions and positions are worth: one way to ask all of them."""

import kuhn_poker
import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.agents.epsilon_random import Mixed
from ttt_envs.agents.network_agents import Lookahead, NetworkAgent
from ttt_envs.agents.networks import Network, NetworkInfo
from ttt_envs.agents.oracle import OracleAgent
from ttt_envs.agents.per_round import Rounds
from ttt_envs.agents.search.alphabeta import AlphaBeta
from ttt_envs.agents.search.guided import Guided
from ttt_envs.agents.search.mcts import MCTS
from ttt_envs.agents.tabular import ActionTable, TabularAgent, keys_of, pair_of
from ttt_envs.core.batch import Batch

DICE = ttt_envs.load("tic_tac_dice", rounds="single")
MATCH = ttt_envs.load("tic_tac_dice")
SUPER = ttt_envs.load("super_tic_tac_toe")


def views(game, n=12, plies=2, seed=0):
    """Positions after some plies, seen by those to move; none of them over."""
    batch = Batch(game, n, seed=seed)
    for _ in range(plies):
        batch.step(agents.load("random").act(batch.view()))
    return batch.view(rows=~batch.done)


class Knowing(Agent):
    """Takes the lowest legal action, and values action a with a/100."""

    def act(self, view):
        return view.masks.argmax(axis=1)

    def action_values(self, view):
        return np.where(view.masks, np.arange(view.game.num_actions) / 100, np.nan)


class Duck:
    """No subclass of Agent."""

    def act(self, view):
        return view.masks.argmax(axis=1)

    def value(self, view):
        return np.full(len(view), 0.25)


def same(found, expected):
    return np.array_equal(found, expected, equal_nan=True)


def test_those_who_do_not_know_say_so():
    view = views(DICE)
    for name in ("random", "greedy"):
        agent = agents.load(name)
        assert np.isnan(agent.action_values(view)).all()
        assert agent.action_values(view).shape == view.masks.shape
        assert np.isnan(agent.value(view)).all()
        assert agent.value(view).shape == (len(view),)


def test_a_value_is_the_mean_of_what_is_played():
    view = views(DICE)
    assert same(Knowing().value(view), view.masks.argmax(axis=1) / 100)

    class Even(Knowing):
        def policy(self, view):
            return view.masks / view.masks.sum(axis=1, keepdims=True)

    assert Even().value(view) == pytest.approx(np.nanmean(Even().action_values(view), axis=1))

    class Partly(Even):
        def action_values(self, view):
            values = super().action_values(view)
            values[0, view.masks[0].argmax()] = np.nan
            return values

    assert np.isnan(Partly().value(view)).tolist() == [True] + [False] * (len(view) - 1)


def test_wrappers_pass_values_on():
    view, inner = views(DICE), Knowing()
    for agent in (Mixed(inner, random=0.5), agents.load(inner), OracleAgent(inner)):
        if not isinstance(agent, OracleAgent):
            assert same(agent.action_values(view), inner.action_values(view))
            assert same(agent.value(view), inner.value(view))
    duck = agents.load(Duck())
    assert duck.value(view).tolist() == [0.25] * len(view)
    assert np.isnan(duck.action_values(view)).all()

    match = views(MATCH)
    rows, part = match.current_round()
    assert len(rows)
    expected = np.full(match.masks.shape, np.nan)
    expected[rows] = inner.action_values(part)
    assert same(Rounds(inner).action_values(match), expected)
    assert same(Rounds(inner).value(match)[rows], inner.value(part))


def test_the_oracle_and_its_substitute():
    view = views(DICE)
    oracle, worlds = DICE.oracle(), view.sample_worlds()
    agent = OracleAgent(Knowing())
    covered = oracle.covers(worlds)
    assert covered.all()
    assert same(agent.action_values(view), np.where(view.masks, oracle.action_values(worlds, view.players), np.nan))
    assert same(agent.value(view), oracle.value(worlds, view.players))
    # An action's value is that of optimal play after it: the best action's is the position's.
    assert np.nanmax(agent.action_values(view), axis=1) == pytest.approx(agent.value(view), abs=1e-6)


def test_searches_value_what_they_visited():
    view = views(DICE, n=6)
    exact = DICE.oracle().action_values(view.sample_worlds(), view.players)
    search = MCTS(simulations=3000)
    visits, sums = search.search(view)
    values = search.action_values(view)
    searched = view.masks.sum(axis=1) > 1
    assert searched.any()
    assert np.isnan(values[~view.masks]).all()
    assert np.isnan(values[~searched]).all()
    seen = searched[:, None] & (visits > 0)
    assert values[seen] == pytest.approx((2 * sums / np.maximum(visits, 1) - 1)[seen])
    often = searched[:, None] & (visits > 1000)
    assert often.any()
    assert np.abs(values - exact)[often].max() < 0.15
    best = search.policy(view)[searched] > 0
    assert np.nanmax(np.abs(search.value(view)[searched, None] - values[searched])[best]) < 1e-9


def test_a_search_asked_twice_about_a_view_searches_once(monkeypatch):
    planted = []
    monkeypatch.setattr(MCTS, "_plant", lambda self, *args, plant=MCTS._plant: planted.append(1) or plant(self, *args))
    view, search = views(DICE, n=4), MCTS(simulations=20)
    first = search.search(view)[0]
    once = len(planted)
    search.policy(view), search.action_values(view), search.value(view)
    assert len(planted) == once > 0
    other = view.take(np.arange(len(view)))
    assert same(search.search(other)[0], first)
    assert len(planted) == 2 * once
    MCTS(simulations=20).search(view)
    assert len(planted) == 3 * once
    with pytest.raises(ValueError, match="read-only"):
        search.search(view)[0][:] = 0


def test_alphabeta_says_what_is_proved():
    view = views(SUPER, n=60, plies=62)
    view = view.take(view.masks.sum(axis=1) > 1)
    agent = AlphaBeta(depth=6)
    scores, values = agent.scores(view), agent.action_values(view)
    best = np.nanargmax(scores, axis=1)
    top = scores[np.arange(len(view)), best]
    proved = np.abs(top) > 1.5
    assert proved.any()
    assert not proved.all()
    assert (values[proved, best[proved]] == np.sign(top[proved])).all()
    assert np.isnan(values[~proved]).all()
    assert (~np.isnan(values)).sum() == proved.sum()
    assert same(agent.value(view)[proved], np.sign(top[proved]))


def network(game, kind):
    info = NetworkInfo(game.id, dict(game.options), kind, game.observation_size, game.num_actions, (8,), 0)
    rng = np.random.default_rng(0)
    return Network(info, {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in info.shapes().items()})


@pytest.mark.parametrize("kind", ["q", "policy+value", "policy"])
def test_networks(kind):
    view, net = views(DICE), network(DICE, kind)
    agent, found = NetworkAgent(net), net.evaluate(DICE, view.observations)
    if kind == "q":
        assert same(agent.action_values(view), np.where(view.masks, found["q"], np.nan).astype(np.float64))
        assert agent.value(view) == pytest.approx(np.nanmax(agent.action_values(view), axis=1))
    else:
        assert np.isnan(agent.action_values(view)).all()
        expected = np.clip(found["value"][:, 0], -1, 1) if kind == "policy+value" else np.full(len(view), np.nan)
        assert agent.value(view) == pytest.approx(expected, nan_ok=True)
    if kind != "policy":
        ahead = Lookahead(net, worlds=2)
        assert (np.isnan(ahead.action_values(view)) == ~view.masks).all()
        assert ahead.value(view) == pytest.approx(np.nanmax(ahead.action_values(view), axis=1))
        guided = Guided(net, simulations=8)
        forced = view.masks.sum(axis=1) == 1
        assert same(np.isnan(guided.value(view)), forced)
        assert same(np.isnan(guided.action_values(view)), ~view.masks | forced[:, None])


def test_tables():
    view = views(DICE)
    keys = keys_of(view.observations, (), DICE.num_actions)[0]
    row, action = np.nonzero(view.masks[:3])
    pairs, first = np.unique(pair_of(keys[row], action), return_index=True)
    agent = TabularAgent(ActionTable(pairs, action[first].astype(np.float32)))
    known = np.isin(keys, keys[:3])
    assert same(agent.action_values(view), np.where(view.masks & known[:, None], np.arange(DICE.num_actions), np.nan))
    assert agent.value(view)[known] == pytest.approx(np.nanmax(agent.action_values(view)[known], axis=1))
    assert np.isnan(agent.value(view)[~known]).all()


def test_shipped_agents_know_values():
    view = views(DICE, n=3, plies=5)
    agent = agents.load("trained:tic_tac_dice")
    own = agent.agent_for(DICE)
    assert same(agent.action_values(view), own.action_values(view))
    assert same(agent.value(view), own.value(view))
    exact = DICE.oracle().value(view.sample_worlds(), view.players)
    assert np.abs(agent.value(view) - exact).mean() < 0.1


def test_critics_and_q_networks_of_sb3():
    sb3 = pytest.importorskip("stable_baselines3")
    game = kuhn_poker.make()
    view = Batch(game, 6, seed=0).view()
    env = ttt_envs.make_sb3(game, 4)
    ppo = agents.from_sb3(sb3.PPO("MlpPolicy", env, n_steps=8, batch_size=8, device="cpu", seed=0))
    tensors, _ = ppo.model.policy.obs_to_tensor(view.observations.copy())
    assert ppo.value(view) == pytest.approx(ppo.model.policy.predict_values(tensors).detach().numpy().ravel(), abs=1e-6)
    assert np.isnan(ppo.action_values(view)).all()
    dqn = agents.from_sb3(sb3.DQN("MlpPolicy", env, device="cpu", seed=0))
    assert (np.isnan(dqn.action_values(view)) == ~view.masks).all()
    assert dqn.value(view) == pytest.approx(np.nanmax(dqn.action_values(view), axis=1))
