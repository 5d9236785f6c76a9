"""A method of one's own for studies: external-sampling Monte Carlo CFR, with a table of information states.

    [methods.mccfr]
    train = "examples/methods/mccfr.py:train"

It is for two players who act in turn. Source: Lanctot et al., "Monte Carlo sampling for regret minimization in
extensive games", NeurIPS 2009.
"""

import time
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from ttt_envs.dev import Agent, Game, State, View


class Average(Agent):
    """Plays the average policy of the table; evenly where it has no entry."""

    name = "mccfr"
    remembers = True  # it asks for `view.info_state_keys`

    def __init__(self, sums: Mapping[bytes, np.ndarray]) -> None:
        self.sums = sums

    def policy(self, view: View) -> np.ndarray:
        """Return float64 (n, num_actions)."""
        assert view.info_state_keys is not None
        keys = [key.tobytes() for key in view.info_state_keys]
        weights = np.array([self.sums.get(key, mask) for key, mask in zip(keys, view.masks, strict=True)], np.float64)
        return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)


def train(game: Game, seed: int, budget: float) -> Average:
    """Learn for `budget` seconds of processor time."""
    generator, until = np.random.default_rng(seed), time.process_time() + budget
    regrets, sums = (defaultdict[bytes, np.ndarray](lambda: np.zeros(game.num_actions)) for _ in range(2))

    def walk(state: State, learner: int) -> float:
        """Return the learner's value of a position: try all own actions, draw the other player's and chance."""
        if state.over:
            return state.returns()[learner]
        legal, key = state.legal_actions(), state.info_state_key(state.player)
        positive = regrets[key][legal].clip(0) + 1e-12
        policy = positive / positive.sum()
        tried = range(len(legal))
        if state.player != learner:
            sums[key][legal] += policy
            tried = [generator.choice(len(legal), p=policy)]
        values = np.zeros(len(legal))
        for k in tried:
            after = state.clone()
            after.apply(legal[k])
            values[k] = walk(after, learner)
        if state.player != learner:
            return float(values.sum())
        regrets[key][legal] += values - policy @ values
        return float(policy @ values)

    while time.process_time() < until:
        for learner in (0, 1):
            walk(game.start(int(generator.integers(2**62)), recall=True), learner)
    return Average(sums)
