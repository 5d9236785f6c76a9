"""Observations with the last decisions behind them: a Batch, views and environments tell the same."""

import kuhn_poker
import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs.agents import Agent
from ttt_envs.agents.random import RandomAgent
from ttt_envs.core.batch import Batch
from ttt_envs.evaluation import play_games

GAMES = [kuhn_poker.make(), toy_coin.make(), ttt_envs.load("tic_tac_dice")]
LONG = GAMES[2]


def by_hand(game, seen, decisions, history):
    parts = [seen]
    for ago in range(history):
        if ago < len(decisions):
            then, action = decisions[-1 - ago]
            parts += [then, np.eye(game.num_actions, dtype=np.int8)[action]]
        else:
            parts.append(np.zeros(game.observation_size + game.num_actions, np.int8))
    return np.concatenate(parts)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.id)
def test_the_last_decisions_stand_behind_the_observation(game):
    history, n = 2, 5
    batch = Batch(game, n, seed=3, history=history, auto_reset=True)
    rng, log = np.random.default_rng(0), [[[] for _ in range(game.num_players)] for _ in range(n)]
    for _ in range(40):
        joint = np.full((n, game.num_players), 0)  # entries of those who do not act count for nothing
        for player in range(game.num_players):
            seen, masks, acting = batch.observations(player), batch.masks(player), batch.acting(player)
            view = batch.view(np.full(n, player))
            assert (view.encoded(history=history) == seen).all()
            assert (view.encoded(history=1) == seen[:, : game.encoded_size(1)]).all()
            assert (view.take([1]).encoded(history=history) == seen[1:2]).all()
            assert view.take(np.arange(0)).encoded(history=history).shape == (0, seen.shape[1])
            for i in range(n):
                now = seen[i, : game.observation_size]
                assert (seen[i] == by_hand(game, now, log[i][player], history)).all()
                if acting[i]:
                    joint[i, player] = rng.choice(np.flatnonzero(masks[i]))
                    log[i][player].append((now.copy(), joint[i, player]))
        batch.step(joint)
        for i in np.flatnonzero(batch.done):
            log[i] = [[] for _ in range(game.num_players)]


def test_games_that_stay_as_they_are_add_no_decision():
    batch = Batch(LONG, 2, seed=0, history=2)
    mover = batch.to_move.astype(np.int64)
    before = batch.observations(mover)
    batch.step(batch.masks().argmin(axis=1), check=False)  # illegal, which a kernel refuses
    assert (batch.states["ply"] == 0).all()
    assert (batch.observations(mover) == before).all()
    batch.step(batch.masks().argmax(axis=1)[:1], [0])
    assert batch.observations(mover)[:, LONG.observation_size :].any(axis=1).tolist() == [True, False]
    batch.set_states(batch.states.copy())
    assert not batch.observations(mover)[:, LONG.observation_size :].any()


def test_layouts_and_shapes_agree():
    for game in GAMES:
        assert sum(block.size for block in game.layout(3)) == game.encoded_size(3)
        assert game.layout() == game.observation_layout
        names = [block.name for block in game.layout(2)]
        assert len(set(names)) == len(names)
    seen = Batch(LONG, 4, seed=1, history=2).observations()
    planes = LONG.to_planes(seen)
    assert planes.shape[1:] == LONG.encoded_shape("planes", 2)
    channels = LONG.plane_index.shape[0]
    assert (planes[:, :channels] == LONG.to_planes(seen[:, : LONG.observation_size])).all()
    for wrong in (-1, 101, 1.5, "3", True):
        with pytest.raises(ValueError, match="history"):
            Batch(LONG, 2, history=wrong)
        with pytest.raises(ValueError, match="history"):
            ttt_envs.make_aec(LONG, history=wrong)
        with pytest.raises(ValueError, match="history must be"):
            LONG.start(seed=0).observation(0, history=wrong)
    with pytest.raises(ValueError, match="history=3"):
        Batch(LONG, 2, history=2).view().encoded(history=3)
    with pytest.raises(ValueError, match="encoding"):
        Batch(LONG, 2).view().encoded("round")


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.id)
def test_pettingzoo_shows_and_saves_the_history(game):
    aec, parallel = ttt_envs.make_aec(game, history=3), ttt_envs.make_parallel(game, history=3, encoding="flat")
    aec.reset(seed=2)
    seen, _ = parallel.reset(seed=2)
    while parallel.agents:
        assert all((aec.observe(name)["observation"] == seen[name]["observation"]).all() for name in parallel.agents)
        joint = {name: int(np.asarray(seen[name]["action_mask"]).argmax()) for name in parallel.agents}
        for name in parallel.agents:
            if joint[name] != parallel.wait:
                aec.step(joint[name])
        seen = parallel.step(joint)[0]
        if parallel.agents:
            for env in (aec, parallel):
                other = type(env)(game, history=3)
                other.reset(seed=9)
                other.set_state(env.get_state())
                for name in env.possible_agents:
                    past = env.view(name).past
                    assert (past == other.view(name).past).all()
                with pytest.raises(ValueError, match="history"):
                    type(env)(game, history=2).set_state(env.get_state())
    assert any(each["observation"][game.observation_size :].any() for each in seen.values())


class Copycat(Agent):
    history = 2

    def __init__(self):
        self.seen, self.random = [], RandomAgent()

    def act(self, view):
        self.seen.append((view.episodes.copy(), view.encoded(history=2).copy()))
        return self.random.act(view)


def test_agents_that_ask_for_it_are_given_their_last_decisions():
    agent = Copycat()
    play_games(LONG, [agent, "greedy"], games=6)
    inside = ttt_envs.make_vec(LONG, 3, opponent=agent)
    inside.reset(seed=0)
    for _ in range(5):
        inside.step(inside.reset()[1]["action_mask"].argmax(axis=1))
    alone, over = ttt_envs.make_single(LONG, opponent=agent, player=0), False
    alone.reset(seed=1)
    while not over:
        _, _, over, _, _ = alone.step(int(alone.action_masks().argmax()))
    size, width = LONG.observation_size, LONG.observation_size + LONG.num_actions
    latest, followed = {}, 0
    for episodes, seen in agent.seen:
        for episode, row in zip(episodes.tolist(), seen, strict=True):
            if episode in latest:  # what was seen there stands behind, and what stood behind is one further
                assert (row[size : 2 * size] == latest[episode][:size]).all()
                assert row[2 * size : size + width].sum() == 1
                assert (row[size + width :] == latest[episode][size : size + width]).all()
                followed += 1
            else:
                assert not row[size:].any()
            latest[episode] = row
    assert followed > 10
