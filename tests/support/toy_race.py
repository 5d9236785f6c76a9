"""A toy game for the tests: a race to the last stone, with three players, chance, and several turns in a row."""

from functools import cache

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.observation_layout import Block
from ttt_envs.core.presentation import Faces
from ttt_envs.core.state import state_dtype

STATE = state_dtype(players=3, fields=[("stones", np.int8), ("lucky", np.bool_)])


@kernel
def reset(state, seed):
    """Seven stones."""
    rng.start(state, seed)
    state["stones"] = 7


@kernel
def legal_mask(state, player, out):
    """Take one stone or two."""
    out[0] = player == state["to_move"]
    out[1] = player == state["to_move"] and state["stones"] > 1


@kernel
def step(state, actions):
    """The player who takes the last stone wins, and the next one loses. After one stone a lucky player goes on."""
    player = state["to_move"]
    state["stones"] -= 1 + actions[player]
    if state["stones"] == 0:
        state["done"] = True
        state["rewards"][player] = 1
        state["rewards"][(player + 1) % 3] = -1
    elif actions[player] == 1 or not state["lucky"] or rng.below(state, 10) >= 3:
        state["to_move"] = (player + 1) % 3


@kernel
def observe(state, player, out):
    """The number of stones left."""
    for k in range(8):
        out[k] = state["stones"] == k


@kernel
def resample(state, player, seed):
    """Luck to come."""
    rng.start(state, seed)


def make(*, lucky: bool = True) -> Game:
    prototype = np.zeros(1, STATE)
    prototype["lucky"] = lucky
    return Game(
        id="race",
        title="Race",
        options={"lucky": lucky},
        factory=make,
        prototype=prototype,
        action_names=("one", "two"),
        observation_layout=(Block("stones", (8,), "that many are left"),),
        simultaneous=False,
        chance="play" if lucky else "none",
        hidden_information=False,
        max_plies=7,
        teams=((0,), (1,), (2,)),
        kernels=Kernels(reset, legal_mask, step, observe, resample),
        faces=Faces(
            format_state=lambda state, viewer: f"{state['stones']} stones, player {state['to_move']}",
            read_state=lambda text: prototype.copy(),
            draw=lambda state, viewer: "<svg/>",
            action_format="one or two",
        ),
    )


@cache
def values(stones: int, lucky: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Under optimal play: rewards of the player to move and of the next ones; and theirs after each action."""
    results = []
    for taken in range(1, min(stones, 2) + 1):
        if taken == stones:
            results.append((1.0, -1.0, 0.0))
            continue
        again, _ = values(stones - taken, lucky)
        passed = (again[2], again[0], again[1])
        stay = 0.3 if lucky and taken == 1 else 0.0
        results.append(tuple(stay * a + (1 - stay) * p for a, p in zip(again, passed, strict=True)))
    return max(results), tuple(r[0] for r in results)
