"""Resets: each begins the next episode of the same run, in every environment the same ones."""

from collections.abc import Callable

import numpy as np
import pytest
import toy_coin

from ttt_envs.agents.random import RandomAgent
from ttt_envs.core.batch import Batch
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.testing.positions import random_joint
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.parallel import ParallelGame
from ttt_envs.wrappers.self_play import PlayerGames

GAME = toy_coin.make()


def with_rows(batch: Batch) -> Callable[..., None]:
    def reset(seed: int | None = None) -> None:
        if seed is not None:
            batch.reset(seed)
        else:
            for row in range(batch.n):
                batch.reset_rows(np.array([row]))

    return reset


def environments() -> dict[str, tuple[Callable[..., object], Callable[[], int]]]:
    aec, parallel = AECGame(GAME), ParallelGame(GAME)
    batch, rows = Batch(GAME, 3), Batch(GAME, 3)
    seats = PlayerGames(GAME, 3, opponent=RandomAgent(), player=0)
    return {
        "aec": (aec.reset, lambda: int(aec._episode_seed)),
        "parallel": (parallel.reset, lambda: int(parallel._episode_seed)),
        "batch": (batch.reset, lambda: int(batch.episode_seeds[0])),
        "rows": (with_rows(batch=rows), lambda: int(rows.episode_seeds[0])),
        "seats": (seats.reset, lambda: int(seats.batch.episode_seeds[0])),
    }


@pytest.mark.parametrize("name", environments())
def test_a_reset_is_the_next_episode_and_a_seed_the_first(name):
    reset, episode = environments()[name]
    found = []
    for seed in (3, None, None, 3, None, 4):
        reset(seed=seed)
        found.append(episode())
    first, second, third = episode_seeds(new_key(3), np.zeros(3, np.uint64), np.arange(3, dtype=np.uint64)).tolist()
    assert found[:5] == [first, second, third, first, second]
    assert len({*found}) == 4


def test_a_game_that_ends_is_followed_by_its_next_episode():
    batch = Batch(GAME, 20, seed=3, auto_reset=True)
    ended = 0
    for _ in range(GAME.max_plies):
        before = batch.episode_seeds.copy()
        batch.step(random_joint(batch))
        assert np.array_equal(before != batch.episode_seeds, batch.done)
        assert not batch.states["done"].any()
        assert (batch.states["ply"][batch.done] == 0).all()
        ended += batch.done.sum()
    assert ended >= 20


def test_a_decision_has_seeds_of_its_own():
    batch = Batch(GAME, 20, seed=3)
    seen = [batch.view(player).seeds for player in range(GAME.num_players)]
    batch.step(random_joint(batch))
    seen += [batch.view(player).seeds for player in range(GAME.num_players)]
    assert len(np.unique(np.concatenate(seen))) == 40 * GAME.num_players


def test_a_reset_forgets_what_was_committed():
    env, fresh = AECGame(GAME), AECGame(GAME)
    for each in (env, fresh):
        each.reset(seed=3)
    while not (env._committed >= 0).any():
        assert env.agents, "nobody chooses while another one does"
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    env.reset(seed=3)
    assert env.get_state() == fresh.get_state()
    assert env.agent_selection == fresh.agent_selection
