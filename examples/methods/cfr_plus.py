"""The solver as a method of a study: predictive CFR+ on the whole tree of a game, until its time is over.

    [methods.solver]
    train = "examples/methods/cfr_plus.py:train"

A study calls `train` for each run and measures the agent that it returns: docs/study.md.
"""

import tempfile
import time
from pathlib import Path

from ttt_envs import agents
from ttt_envs.dev import Agent, Game
from ttt_envs.solvers import cfr, sequence, tree


def train(game: Game, seed: int, budget: float) -> Agent:
    """Return the average policy as an agent after `budget` seconds of processor time; `seed` changes nothing."""
    until = time.process_time() + budget
    whole = tree.walk(game)
    solver = cfr.Solver(whole)
    solver.run(1)
    while time.process_time() < until:
        solver.run(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.safetensors"
        sequence.save_policy(path, whole, solver.average())
        return agents.load(f"solved:{path}")
