"""The greedy agent, which looks one action and one reply ahead.

`draw_choices`, `can_be_beaten` and `score_rows` are templates, which are compiled for each game; `legal_mask` and
`step` in them are the game's kernels.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ttt_envs.agents.base import Agent, by_round, softmax_rows
from ttt_envs.core.compile import jit
from ttt_envs.core.loops import Kernels, advance_for
from ttt_envs.core.options import MOST, within
from ttt_envs.core.rng import Stream, choose, fold, stream_seeds
from ttt_envs.core.view import View


def draw_choices(state, seed, legal, joint):
    """Write a random legal action of each acting player to `joint`; legal bool (num_actions,) is scratch memory."""
    for player in range(joint.shape[0]):
        legal_mask(state, player, legal)
        joint[player] = choose(legal, fold(seed, player))


def can_be_beaten(states, player, seed, legal):
    """Return whether a side other than `player`'s may win immediately in states[0].

    Players of a side share their reward, so another side has won if some player's reward is positive and that of
    `player` is not. If several players act simultaneously, one rival at a time tries all actions while the others'
    choices are drawn at random. `states` (2,) contains the position and scratch memory.
    """
    joint = np.zeros(states[0]["rewards"].shape[0], np.int64)
    mover = states[0]["to_move"]
    if mover < 0:
        draw_choices(states[0], seed, legal, joint)
    for rival in range(joint.shape[0]):
        if rival == player or (mover >= 0 and rival != mover):
            continue
        legal_mask(states[0], rival, legal)
        drawn = joint[rival]
        for action in range(legal.shape[0]):
            if legal[action]:
                states[1] = states[0]
                joint[rival] = action
                step(states[1], joint)
                if states[1]["rewards"][rival] > 0 and not states[1]["rewards"][player] > 0:
                    return True
        joint[rival] = drawn
    return False


def score_rows(states, players, seeds, scores):
    """Add 1 to scores int64 (n, num_actions) for actions that win immediately, -1 for those that may lose immediately.

    states[i] is a world consistent with the view of players[i]. `seeds`, uint64 (n,), determine the simultaneous
    choices of the other players.
    """
    if states.shape[0] == 0:
        return
    legal = np.empty((2, scores.shape[1]), np.bool_)
    trial = np.empty(2, states.dtype)
    joint = np.zeros(states[0]["rewards"].shape[0], np.int64)
    for i in range(states.shape[0]):
        player = players[i]
        if states[i]["done"]:
            continue
        if states[i]["to_move"] < 0:
            draw_choices(states[i], seeds[i], legal[0], joint)
        legal_mask(states[i], player, legal[0])
        for action in range(scores.shape[1]):
            if not legal[0, action]:
                continue
            trial[0] = states[i]
            joint[player] = action
            step(trial[0], joint)
            if trial[0]["done"]:
                scores[i, action] += np.int64(np.sign(trial[0]["rewards"][player]))
            elif can_be_beaten(trial, player, fold(seeds[i], action), legal[1]):
                scores[i, action] -= 1


@cache
def _kernel(kernels: Kernels) -> Callable[..., Any]:
    bound: dict[str, Callable[..., Any]] = {"legal_mask": kernels.legal_mask, "step": advance_for(kernels)}
    bound["draw_choices"] = jit.specialise(draw_choices, **bound)
    bound["can_be_beaten"] = jit.specialise(can_be_beaten, **bound)
    return jit.specialise(score_rows, **bound)


class Greedy(Agent):
    """Wins immediately if it can; otherwise avoids actions that let another side win; otherwise plays at random.

    Plays any game. If an action's outcome depends on chance, hidden information or simultaneous choices, the agent
    chooses the action with the most wins minus losses over sampled worlds. In a match, it plays for the current round.
    """

    name = "greedy"
    reaches = {}

    def __init__(self, samples: int = 8) -> None:
        """Set the number of samples.

        Args:
            samples: worlds sampled for each decision. If a game has no chance and hides nothing, one world is used.
        """
        within(1, MOST, samples=samples)
        self.samples = samples

    def policy(self, view: View) -> np.ndarray:
        """Return the uniform policy over the best actions, float64 (n, num_actions)."""
        return by_round(view, self._policy)

    def _policy(self, view: View) -> np.ndarray:
        game = view.game
        certain = not (game.simultaneous or game.stochastic or game.hidden_information)
        scores = np.zeros((len(view), game.num_actions), np.int64)
        for sample in range(1 if certain else self.samples):
            seeds = stream_seeds(view.seeds, Stream.OTHERS, sample)
            _kernel(game.kernels)(view.sample_worlds(sample), view.players, seeds, scores)
        return softmax_rows(scores, view.masks, 0.0)
