"""Value functions for the leaves of an alpha-beta search, as templates for its kernels.

Each function maps (state, mover, valuation) to the value of the position to `mover`, who has just moved. `legal_mask`,
`observe` and `find` in the templates are the game's kernels.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined, assignment"

import math
from typing import NamedTuple

import numpy as np

from ttt_envs.agents.networks import Network
from ttt_envs.core.compile import jit

# Less than the value of any action.
_LEAST = -1e9


class Valuation(NamedTuple):
    """A value function and the memory to compute it.

    Attributes:
        sides: int64 (players,), each player's side.
        weights: float32 (numbers,), the weights of an n-tuple network, or those returned by `flattened`.
        form: int64, a network's layers, see `flattened`.
        present: int64 (patterns of a position,), scratch memory.
        features: int8 (observation size,), scratch memory.
        activations: float32 (2, the widest layer), scratch memory.
        legal: bool (num_actions,), scratch memory.
    """

    sides: np.ndarray
    weights: np.ndarray
    form: np.ndarray
    present: np.ndarray
    features: np.ndarray
    activations: np.ndarray
    legal: np.ndarray


@jit.allocates_nothing
def evaluate_patterns(state, mover, valuation):
    """Return an n-tuple network's estimate of the value of the position to `mover`, who has just moved."""
    present, weights = valuation.present, valuation.weights
    find(state, mover, present)
    total = 0.0
    for k in range(present.shape[0]):
        total += weights[present[k]]
    return math.tanh(total)


@jit.kernel
@jit.allocates_nothing
def forward(features, weights, form, activations):
    """Evaluate a network given by `flattened`; return the index of the row of `activations` that has the outputs.

    features: the inputs, int8 (n,), most of them 0; activations: float32 (2, widest layer), scratch memory.
    """
    place, now = 0, 0
    for layer in range(form[0]):
        inputs, outputs = form[4 + layer], form[5 + layer]
        # Contiguous slices let the compiler vectorise the loops below.
        before, after = activations[now], activations[1 - now]
        row = weights[place + inputs * outputs :]
        for j in range(outputs):
            after[j] = row[j]
        for i in range(inputs):
            x = np.float32(features[i]) if layer == 0 else before[i]
            if x != 0:
                row = weights[place + i * outputs :]
                for j in range(outputs):
                    after[j] += x * row[j]
        if layer < form[0] - 1:
            residual = form[3] & 2 and layer > 0 and inputs == outputs
            for j in range(outputs):
                y = np.float32(math.tanh(after[j])) if form[3] & 1 else max(after[j], np.float32(0))
                after[j] = y + before[j] if residual else y
        place += (inputs + 1) * outputs
        now = 1 - now
    return now


@jit.allocates_nothing
def evaluate_network(state, mover, valuation):
    """Return a multilayer perceptron's estimate of the value of the position to `mover`, who has just moved."""
    sides, weights, form, _, features, activations, legal = valuation
    player = state["to_move"]
    observe(state, player, features)
    now = forward(features, weights, form, activations)
    value = np.float64(activations[now, 0])
    if form[1]:
        legal_mask(state, player, legal)
        value = _LEAST
        for j in range(legal.shape[0]):
            if legal[j]:
                value = max(value, np.float64(activations[now, j]))
    if form[2]:
        value = math.tanh(value)
    value = min(max(value, -1.0), 1.0)
    return value if sides[player] == sides[mover] else -value


@jit.allocates_nothing
def evaluate_nothing(state, mover, valuation):
    """Return 0 for every position."""
    return 0.0


#: Kind of value function -> its template.
TEMPLATES = {"patterns": evaluate_patterns, "network": evaluate_network, "nothing": evaluate_nothing}


def flattened(network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights that compute a network's value, float32 (numbers,), and their form, int64.

    The form contains the number of layers, whether the head is q, whether tanh follows it, flags (1: hidden layers use
    tanh, 2: residual), and the sizes of all layers.
    """
    info = network.info
    head = "q" if info.kind == "q" else "value"
    layers = network.layers(head)
    sizes = [layers[0][0].shape[0], *(bias.size for _, bias in layers)]
    flags = (info.activation == "tanh") + 2 * info.residual
    form = np.array([len(layers), head == "q", info.squash and head == "value", flags, *sizes], np.int64)
    return np.concatenate([part.ravel() for layer in layers for part in layer]).astype(np.float32), form
