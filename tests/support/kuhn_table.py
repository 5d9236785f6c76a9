"""The table of docs/train_and_rate.md on Kuhn poker: what each method comes to, over three seeds.

python tests/support/kuhn_table.py --steps 600000 --out runs/kuhn
"""

import argparse
import time
from importlib import import_module
from pathlib import Path

import toy_kuhn

import ttt_envs
from ttt_envs.evaluation.reports.intervals import of_seeds, t_interval
from ttt_envs.learning import METHODS

ID = "toy_kuhn"
METHODS_HERE = ["mmd", "rnad", "nfsp", "escher", "ppo", "value_learning", "dqn"]
# Where the defaults are for games of another kind.
OWN = {"ppo": {"entropy": 0.2, "entropy_final": 0.005, "anneal": True}}


def main() -> None:
    """Train each method with each seed, and print a row for each method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=METHODS_HERE)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600_000)
    parser.add_argument("--out", type=Path, default=Path("runs/kuhn"))
    given = parser.parse_args()
    ttt_envs.register(ID, toy_kuhn.make)
    every = given.steps // 6
    settings = {"game": ID, "steps": given.steps, "exploitability_every": every, "eval_every": given.steps}
    settings |= {"eval_agents": ("random",), "quiet": True}
    for name in given.methods:
        method, started, rows = import_module(METHODS[name]), time.process_time(), []
        for seed in range(given.seeds):
            own = {**OWN.get(name, {}), **({} if name == "ppo" else {"save_every": given.steps})}
            config = method.Config(**settings, **own, seed=seed, out=given.out / name / f"seed-{seed}")
            rows.append([row.policy for row in method.train(config).rows["exploitability"]])
        seconds = (time.process_time() - started) / given.seeds
        means = [t_interval(each)[0] for each in zip(*rows, strict=True)]
        last = t_interval([each[-1] for each in rows])
        cells = [*(f"{mean:.3f}" for mean in means[1:-1]), of_seeds(last, given.seeds, 4)]
        cells += [", ".join(f"{each[-1]:.4f}" for each in rows), f"{seconds:.0f} s"]
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
