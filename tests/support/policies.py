"""Policies for tests of games in sequence form."""

import numpy as np


def random_policy(found, seed):
    """Some policy of a tree."""
    generator = np.random.default_rng(seed)
    tables = [generator.random((len(mine.sets), found.game.num_actions)) for mine in found.players]
    policy = found.policy(tables)
    parts = []
    for mine, part in zip(found.players, policy, strict=True):
        total = np.add.reduceat(part[1:], mine.sets["first"] - 1)
        parts.append(np.concatenate([[1.0], part[1:] / np.repeat(total, mine.sets["count"])]))
    return tuple(parts)
