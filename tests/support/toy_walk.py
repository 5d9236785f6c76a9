"""A game in which play can go round in circles: two players move one token from node to node of a random graph.

Some nodes end the game with a result for player 0. `slips`: with that chance in 4 the token ends up at the next node
instead. A game is a draw after `max_plies`.
"""

import numpy as np

from ttt_envs.dev import Block, Extras, Faces, Game, Kernels, between, kernel, option, refuse, rng, state_dtype

NODES, WAYS = 60, 2
_DRAWN = np.random.default_rng(2788)  # the longest win takes 30 plies
TO = _DRAWN.integers(0, NODES, (NODES, WAYS))
#: What player 0 gets where the game ends, 9 where it goes on.
RESULT = np.where(_DRAWN.random(NODES) < 0.25, _DRAWN.choice([-1.0, -0.5, 0.5, 1.0], NODES), 9.0)
RESULT[0] = 9.0

STATE = state_dtype(
    players=2,
    fields=[
        ("node", np.int8, between(0, NODES - 1)),
        ("limit", np.int32, option(1, 1000)),
        ("slips", np.int8, option(0, 3)),
    ],
)


@kernel
def reset(state, seed):
    rng.start(state, seed)


@kernel
def legal_mask(state, player, out):
    for way in range(WAYS):
        out[way] = player == state["to_move"]


@kernel
def step(state, actions):
    player = np.int64(state["to_move"])
    way = actions[player]
    if not 0 <= way < WAYS:
        refuse(state)
        return
    slip = state["slips"] > 0 and rng.below(state, 4) < state["slips"]
    node = (TO[state["node"], way] + slip) % NODES
    state["node"] = node
    state["to_move"] = 1 - player
    if RESULT[node] != 9.0:
        state["done"] = True
        state["rewards"][0], state["rewards"][1] = RESULT[node], -RESULT[node]
    elif state["ply"] + 1 >= state["limit"]:
        state["done"] = True


@kernel
def observe(state, player, out):
    for node in range(NODES):
        out[node] = node == state["node"]


@kernel
def resample(state, player, seed):
    rng.start(state, seed)


def without_past(states):
    new = states.copy()
    new["ply"] = 0
    return new


def make(*, slips: int = 0, max_plies: int = 60) -> Game:
    prototype = np.zeros(1, STATE)
    prototype["limit"], prototype["slips"] = max_plies, slips
    return Game(
        id="toy_walk",
        title="Walk",
        options={"slips": slips, "max_plies": max_plies},
        factory=make,
        prototype=prototype,
        action_names=("left", "right"),
        observation_layout=(Block("node", (NODES,), "the token is there"),),
        simultaneous=False,
        chance="play" if slips else "none",
        hidden_information=False,
        max_plies=max_plies,
        teams=((0,), (1,)),
        players_differ="the results are drawn at random",
        kernels=Kernels(reset, legal_mask, step, observe, resample),
        faces=Faces(
            format_state=lambda state, viewer: f"node {state['node']}",
            read_state=NotImplemented,
            draw=NotImplemented,
            action_format="a way",
        ),
        extras=Extras(without_past=without_past),
    )
