"""A game to solve by hand: a pile of 5 to 8 stones.

Each player in turn takes 1, 2 or 3. Who takes the last one wins. After each turn but the last, a coin decides whether
one more stone goes; if that was the last, nobody wins.
"""

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Extras, Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.observation_layout import Block
from ttt_envs.core.presentation import Faces
from ttt_envs.core.state import state_dtype

#: Stones left -> the values of taking 1, 2, 3 of them, for the one of two players who is to move.
BY_HAND = {
    1: (1.0,),
    2: (-0.5, 1.0),
    3: (-1.0, -0.5, 1.0),
    4: (-1.0, -1.0, -0.5),
    5: (-0.25, -1.0, -1.0),
    6: (0.375, -0.25, -1.0),
    7: (-0.0625, 0.375, -0.25),
    8: (-0.375, -0.0625, 0.375),
}

STATE = {players: state_dtype(players=players, fields=[("left", np.int8)]) for players in (2, 3)}


@kernel
def reset(state, seed):
    rng.start(state, seed)
    state["left"] = 5 + rng.below(state, 4)
    state["to_move"] = 0


@kernel
def legal_mask(state, player, out):
    for action in range(3):
        out[action] = player == state["to_move"] and action < state["left"]


@kernel
def step(state, actions):
    player, players = state["to_move"], state["rewards"].shape[0]
    state["left"] -= actions[player] + 1
    if state["left"] == 0:
        state["rewards"][:] = -1 / (players - 1)
        state["rewards"][player] = 1
    else:
        state["left"] -= rng.below(state, 2)
    state["done"] = state["left"] == 0
    state["to_move"] = (player + 1) % players


@kernel
def observe(state, player, out):
    for k in range(9):
        out[k] = k == state["left"]


@kernel
def resample(state, player, seed):
    rng.start(state, seed)


class PileOracle:
    """All play for themselves, and take the fewest of equally good numbers. Knows piles of up to `most` stones.

    `unknown`: pairs of (stones, action) of which it does not know the value.
    """

    error = 0.0

    def __init__(self, players, most=8, unknown=()):
        self.most = most
        self.actions = np.full((9, 3, players), np.nan)  # [..., k]: of who moves k turns later
        for left in range(1, 9):
            for action in range(min(3, left)):
                after = left - action - 1
                outcome = np.full(players, -1 / (players - 1))
                outcome[0] = 1
                if after:
                    outcome = np.roll(0.5 * self.best(after) + 0.5 * self.best(after - 1), 1)
                self.actions[left, action] = outcome
        self.known = ~np.isnan(self.actions[:, :, 0])
        for left, action in unknown:
            self.known[left, action] = False

    def best(self, left):
        values = self.actions[left]
        return values[np.nanargmax(values[:, 0])] if left else np.zeros(values.shape[1])

    def covers(self, states):
        return states["left"] <= self.most

    def value(self, states, player):
        later = (np.asarray(player) - states["to_move"]) % self.actions.shape[2]
        found = np.array([self.best(s["left"])[k] for s, k in zip(states, later, strict=True)])
        return np.where(states["done"], states["rewards"][np.arange(len(states)), player], found)

    def action_values(self, states, player):
        later = (np.asarray(player) - states["to_move"]) % self.actions.shape[2]
        values = np.where(self.known[states["left"]], self.actions[states["left"], :, later], np.nan)
        return np.where(self.covers(states)[:, None], values, np.nan)

    def policy(self, states, player):
        values = np.nan_to_num(self.action_values(states, player), nan=-np.inf)
        best = values.max(axis=1, keepdims=True)
        return ((values == best) & np.isfinite(best)) / np.maximum((values == best).sum(axis=1, keepdims=True), 1)


def pile(*, players: int = 2, most: int = 8) -> Game:
    """The game with its oracle."""
    return Game(
        id="pile",
        title="Pile of Stones",
        options={"players": players, "most": most},
        factory=pile,
        prototype=np.zeros(1, STATE[players]),
        action_names=("one", "two", "three"),
        observation_layout=(Block("left", (9,), "so many stones are left"),),
        simultaneous=False,
        chance="play",
        hidden_information=False,
        max_plies=8,
        teams=tuple((player,) for player in range(players)),
        kernels=Kernels(reset, legal_mask, step, observe, resample),
        faces=Faces(
            format_state=lambda state, viewer: f"left {state['left']}",
            read_state=NotImplemented,
            draw=NotImplemented,
            action_format="a number",
        ),
        extras=Extras(
            oracle=lambda: PileOracle(players, most),
        ),
    )
