"""JAX: purejaxrl-style PPO, one compiled `lax.scan` whose steps of the environments are calls of the host.

    python examples/jax_ppo.py [learner's decisions]  # one run: 0.863 (0.827 to 0.890) against random

After purejaxrl (Lu et al., 2022). The environments keep their state on the host, so that no step may be repeated or
dropped: `step_of` sees to it. For pure steps of states see `mctx_gumbel.py`.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "jax==0.10.2", "optax==0.2.8"]
# ///

import sys

import jax
import jax.numpy as jnp
import optax
from jax_glue import CompiledAgent, step_of

import ttt_envs
from ttt_envs import evaluation

GAME, GAMES, LENGTH, EPOCHS = ttt_envs.load("super_tic_tac_toe"), 256, 32, 8
STEPS = int(sys.argv[1]) if sys.argv[1:] else 500_000
envs = ttt_envs.make_vec(GAME, GAMES, opponent=["random", "greedy"])
play, optimizer = step_of(envs), optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3, eps=1e-5))


def forward(net, seen, mask):  # log-probabilities and value
    for weights, bias in net[:-1]:
        seen = jnp.tanh(seen @ weights + bias)
    out = seen @ net[-1][0] + net[-1][1]
    return jax.nn.log_softmax(jnp.where(mask == 1, out[..., :-1], -1e9)), out[..., -1]


def step(carry, key):
    net, seen, mask = carry
    action = jax.random.categorical(key, forward(net, seen, mask)[0])
    *following, reward, ended = play(action)
    return (net, *following), (seen, mask, action, reward, 1 - ended)


def loss(net, seen, mask, action, old, gain, target):
    logs, value = forward(net, seen, mask)
    ratio = jnp.exp(jnp.take_along_axis(logs, action[..., None], -1)[..., 0] - old)
    clipped = jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain).mean()
    entropy = -jnp.sum(jnp.exp(logs) * logs * mask, axis=-1).mean()
    return 0.5 * jnp.square(value - target).mean() - clipped - 0.01 * entropy


@jax.jit
def update(net, memory, seen, mask, key):
    (_, *last), (o, m, a, reward, going) = jax.lax.scan(step, (net, seen, mask), jax.random.split(key, LENGTH))
    logs, value = forward(net, o, m)
    following = jnp.concatenate([value[1:], forward(net, *last)[1][None]])

    def back(gain, t):  # generalised advantages
        gain = t[0] + 0.99 * t[1] * (t[2] + 0.95 * gain) - t[3]
        return gain, gain

    gains = jax.lax.scan(back, jnp.zeros(GAMES), (reward, going, following, value), reverse=True)[1]
    batch = (o, m, a, jnp.take_along_axis(logs, a[..., None], -1)[..., 0], gains / (gains.std() + 1e-8), gains + value)
    for _ in range(EPOCHS):
        change, memory = optimizer.update(jax.grad(loss)(net, *batch), memory)
        net = optax.apply_updates(net, change)
    return net, memory, *last


sizes = [(GAME.observation_size, 128), (128, 128), (128, GAME.num_actions + 1)]
keys = jax.random.split(jax.random.key(0), 3 + STEPS // (GAMES * LENGTH))
net = [(jax.random.normal(k, s) * s[0] ** -0.5, jnp.zeros(s[1])) for k, s in zip(keys, sizes, strict=False)]
state = (net, optimizer.init(net), *envs.reset(seed=0)[0].values())  # observation and mask
for key in keys[3:]:
    state = update(*state, key)

agent = CompiledAgent(jax.jit(lambda seen, mask, _: forward(state[0], seen, mask)[0].argmax(-1)), name="jax_ppo")
report = evaluation.tournament(GAME, [agent, "random", "greedy"], games=400)
report.show()
print(report.comparison("jax_ppo", "random"))
