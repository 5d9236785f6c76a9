"""mctx: Gumbel AlphaZero. The search runs on the true rules, pure functions of states that travel as bytes.

    python examples/mctx_gumbel.py [plies of self-play]

`game.step` neither changes nor keeps anything, so that JAX may repeat or drop a call: `pure_callback` is sound.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "jax==0.10.2", "optax==0.2.8", "mctx==0.0.71"]
# ///

import sys

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import optax

import ttt_envs
from ttt_envs import evaluation
from ttt_envs.agents import Agent

GAME, GAMES, LENGTH, SIMULATIONS = "super_tic_tac_toe", 128, 16, 8
STEPS = int(sys.argv[1]) if sys.argv[1:] else 60_000
game = ttt_envs.load(GAME)
size, actions, features = game.state_dtype.itemsize, game.num_actions, game.observation_size


def rules(carried, chosen):  # the glue: a step of the true rules, its reward seen by the player who moved
    states = game.from_bytes(carried)
    after = game.step(states, np.asarray(chosen))
    reward = after["rewards"][np.arange(len(after)), states["to_move"]]
    return game.to_bytes(after), game.observations(after), game.masks(after), reward, after["done"]


def recurrent(net, key, chosen, carried):
    n = len(chosen)
    kinds = [((n, size), jnp.uint8), ((n, features), jnp.int8), ((n, actions), bool), ((n,), jnp.float32), ((n,), bool)]
    after, seen, mask, reward, done = jax.pure_callback(
        rules, [jax.ShapeDtypeStruct(*kind) for kind in kinds], carried, chosen, vmap_method="sequential"
    )
    logits, value = forward(net, seen, mask)
    discount = jnp.where(done, 0.0, -1.0)  # the next to move is the opponent, whose gain is a loss here
    return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), after


def forward(net, seen, mask):
    for weights, bias in net[:-1]:
        seen = jax.nn.relu(seen @ weights + bias)
    out = seen @ net[-1][0] + net[-1][1]
    return jnp.where(mask, out[:, :-1], -1e9), jnp.tanh(out[:, -1])


@jax.jit
def search(net, key, carried, seen, mask):
    logits, value = forward(net, seen, mask)
    root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=carried)
    found = mctx.gumbel_muzero_policy(net, key, root, recurrent, SIMULATIONS, ~mask, max_num_considered_actions=4)
    return found.action, found.action_weights, found.search_tree.summary().value


@jax.jit
def learn(net, memory, seen, mask, weights, target):
    def loss(net):
        logits, value = forward(net, seen, mask)
        return optax.softmax_cross_entropy(logits, weights).mean() + jnp.square(value - target).mean()

    change, memory = optimizer.update(jax.grad(loss)(net), memory)
    return optax.apply_updates(net, change), memory


class Gumbel(Agent):
    """Plays the search's choice, always for as many positions at once as it was compiled for."""

    def act(self, view):
        out = []
        for rows in np.array_split(np.arange(len(view)), -(-len(view) // GAMES)):
            part = view.take(np.resize(rows, GAMES))
            given = game.to_bytes(part.sample_worlds()), part.observations, part.masks
            out.append(np.asarray(search(net, jax.random.key(0), *given)[0])[: len(rows)])
        return np.concatenate(out).astype(np.int64)


sizes = [(features, 128), (128, 128), (128, actions + 1)]
keys = jax.random.split(jax.random.key(0), 3 + STEPS // GAMES)
net = [(jax.random.normal(k, s) * s[0] ** -0.5, jnp.zeros(s[1])) for k, s in zip(keys, sizes, strict=False)]
optimizer, generator = optax.adam(1e-3), np.random.default_rng(0)
memory, batch, history = optimizer.init(net), ttt_envs.Batch(game, GAMES, seed=0, auto_reset=True), []
for key in keys[3:]:
    seen, mask, mover = batch.observations(), batch.masks(), batch.to_move.copy()
    chosen, weights, value = search(net, key, game.to_bytes(batch.states), seen, mask)
    batch.step(np.asarray(chosen, np.int64))
    history.append((seen, mask, weights, batch.rewards[np.arange(GAMES), mover], batch.done.copy(), value))
    if len(history) == LENGTH:
        targets = [value]  # of the last ply what the search expects, of the others what came of it
        for *_, reward, done, _ in reversed(history[:-1]):
            targets.append(reward - (1 - done) * targets[-1])
        data = [np.concatenate(column) for column in [*list(zip(*history, strict=True))[:3], targets[::-1]]]
        for rows in np.array_split(generator.permutation(GAMES * LENGTH), 8):
            net, memory = learn(net, memory, *(column[rows] for column in data))
        history = []

report = evaluation.tournament(GAME, [Gumbel(), "random", "greedy"], games=200, chunk=200)
report.show()
print(report.comparison("Gumbel", "random"))
