"""JAX: rules and environments inside compiled functions, and compiled functions as agents."""

import numpy as np
import pytest
from toy_coin import make as make_coin

import ttt_envs
from ttt_envs.core.checks import IllegalAction

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install jax")
import jax.numpy as jnp  # noqa: E402
from jax_glue import CompiledAgent, rules_of, step_of  # noqa: E402

GAME = ttt_envs.load("super_tic_tac_toe")


def test_compiled_rules_are_the_rules():
    step, batch = jax.jit(rules_of(GAME)), ttt_envs.Batch(GAME, 8, seed=0)
    carried, generator = jnp.asarray(GAME.to_bytes(batch.states)), np.random.default_rng(0)
    for _ in range(81):
        actions = (generator.random((8, 81)) * batch.masks()).argmax(axis=1)
        mover, over = batch.to_move.copy(), batch.done.copy()[:, None]
        found = step(carried, actions)
        batch.step(actions)
        carried = found.states
        assert np.array_equal(carried, GAME.to_bytes(batch.states))
        assert np.array_equal(found.observations, batch.observations())
        assert np.array_equal(found.masks, batch.masks())
        assert np.array_equal(found.rewards, np.where(over, 0, batch.rewards))
        assert np.array_equal(found.movers, mover)
        assert np.array_equal(found.done, batch.done)
    assert batch.done.all()


def test_compiled_rules_are_pure():
    step = rules_of(GAME)
    start = jnp.asarray(GAME.to_bytes(GAME.new_state(seed=0)))

    @jax.jit
    def play(actions):
        return jax.lax.scan(lambda states, action: (step(states, action[None]).states, None), start, actions)[0]

    games = jnp.asarray([[40, 36, 0], [40, 37, 9]])
    mapped = jax.vmap(play)(games)
    for row, actions in zip(mapped, games, strict=True):
        states = GAME.new_state(seed=0)
        for action in actions:
            states = GAME.step(states, [int(action)])
        assert np.array_equal(row, GAME.to_bytes(states))


def test_what_compiled_rules_refuse():
    with pytest.raises(ValueError, match="one player acts at a time"):
        rules_of(make_coin())
    step = jax.jit(rules_of(GAME))
    after = GAME.step(GAME.new_state(seed=0), [40])
    with pytest.raises((IllegalAction, jax.errors.JaxRuntimeError), match="player 1 in game 0 cannot play '0/0'"):
        jax.block_until_ready(step(GAME.to_bytes(after), np.zeros(1, np.int32)))


def test_a_game_that_is_cut_off_has_ended():
    env = ttt_envs.make_vec(GAME, 2, player=0, max_plies=4, dtype="float32")
    step, (_, info) = jax.jit(step_of(env)), env.reset(seed=0)
    seen, masks, _, ended = step(info["action_mask"].argmax(axis=1))
    assert (seen.dtype, ended.tolist()) == (np.float32, [False, False])
    *_, ended = step(masks.argmax(axis=1))
    assert ended.all()


@pytest.mark.parametrize("mask", ["both", "info"])
def test_steps_of_environments_keep_their_order(mask):
    ours, theirs = (ttt_envs.make_vec(GAME, 4, opponent="random", mask=mask) for _ in range(2))
    step = step_of(theirs)

    @jax.jit
    def roll(legal):
        def one(legal, _):
            observation, following, reward, ended = step(legal.argmax(-1))
            return following, (observation, legal, reward, ended)

        return jax.lax.scan(one, legal, length=60)[1]

    _, info = ours.reset(seed=3)
    history = roll(theirs.reset(seed=3)[1]["action_mask"])
    assert any(history[3].ravel())
    for observation, legal, reward, ended in zip(*history, strict=True):
        assert np.array_equal(legal, info["action_mask"])
        seen, rewards, terminated, _, info = ours.step(info["action_mask"].argmax(axis=-1))
        assert np.array_equal(observation, seen["observation"] if mask == "both" else seen)
        assert np.array_equal(reward, rewards)
        assert np.array_equal(ended, terminated)


def test_a_compiled_function_plays_as_many_positions_as_there_are():
    sizes = []

    @jax.jit
    def choose(observations, masks, states):
        sizes.append((observations.shape, masks.shape, states.shape))  # once: a shape is compiled once
        return masks.argmax(-1)

    agent, batch = CompiledAgent(choose, size=5, name="first"), ttt_envs.Batch(GAME, 12, seed=0)
    assert agent.act(batch.view(player=1)).tolist() == [-1] * 12
    assert np.array_equal(agent.act(batch.view()), batch.masks().argmax(axis=1))
    assert agent.act(batch.view().take(np.arange(3))).shape == (3,)
    assert sizes == [((5, 191), (5, 81), (5, GAME.state_dtype.itemsize))]
