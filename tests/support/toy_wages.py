"""A game that pays at each step, and whose rewards do not add up to 0.

In each round one of three jobs is chosen, never the last one again. Job k pays the player who does it (k + 1) / 4, and
each other player -1/8. Once everybody has had a turn, it is the turn of the k-th player after this one, so that the
same may act again. With `at_once`, all choose at once in every third round.
"""

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.observation_layout import Block
from ttt_envs.core.presentation import Faces
from ttt_envs.core.state import SIMULTANEOUS, between, option, state_dtype

JOBS = 3
OWN, OTHERS = 0.25, -0.125
MOST = 12

STATE = {
    players: state_dtype(
        players=players,
        fields=[
            ("last", np.int8, between(0, JOBS)),  # the job that nobody may choose now, + 1
            ("rounds", np.int8, option(1, MOST)),  # option of that name
            ("at_once", np.bool_, option(0, 1)),  # option of that name
        ],
    )
    for players in (2, 3)
}


@kernel
def reset(state, seed):
    rng.start(state, seed)
    state["to_move"] = rng.below(state, state["rewards"].shape[0])


@kernel
def legal_mask(state, player, out):
    acts = state["to_move"] == SIMULTANEOUS or player == state["to_move"]
    for action in range(JOBS):
        out[action] = acts and action != state["last"] - 1


@kernel
def step(state, actions):
    players, mover, last = state["rewards"].shape[0], state["to_move"], 0
    for player in range(players):
        if mover == SIMULTANEOUS or player == mover:
            for other in range(players):
                state["rewards"][other] += OWN * (actions[player] + 1) if other == player else OTHERS
            last += actions[player]
    state["last"] = last % JOBS + 1
    state["done"] = state["ply"] + 1 == state["rounds"]
    if state["at_once"] and state["ply"] % 3 == 1 and not state["done"]:
        state["to_move"] = SIMULTANEOUS
    else:
        state["to_move"] = (max(mover, 0) + (1 if state["ply"] + 1 < players else last)) % players


@kernel
def observe(state, player, out):
    out[:] = 0
    out[state["last"]] = 1
    out[JOBS + 1] = player == state["to_move"]


@kernel
def resample(state, player, seed):
    rng.start(state, seed)


def text_of(state, viewer):
    """The whole position, which all know."""
    return f"ply {state['ply']}, last {state['last']}, to move {state['to_move']}, paid {state['rewards'].tolist()}"


def picture_of(state, viewer):
    """Hardly a picture."""
    return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10" width="10" height="10"></svg>'


def wages(*, players: int = 2, rounds: int = 8, at_once: bool = False) -> Game:
    """The game."""
    prototype = np.zeros(1, STATE[players])
    prototype["rounds"], prototype["at_once"] = rounds, at_once
    return Game(
        id="wages",
        title="Wages",
        options={"players": players, "rounds": rounds, "at_once": at_once},
        factory=wages,
        prototype=prototype,
        action_names=("sweep", "cook", "build"),
        observation_layout=(Block("last", (JOBS + 1,), "that was the last job"), Block("mine", (1,), "my turn")),
        simultaneous=at_once,
        chance="start",
        hidden_information=False,
        max_plies=rounds,
        teams=tuple((player,) for player in range(players)),
        rewards="steps",
        zero_sum=False,
        kernels=Kernels(reset, legal_mask, step, observe, resample),
        faces=Faces(format_state=text_of, read_state=NotImplemented, draw=picture_of, action_format="a job"),
    )
