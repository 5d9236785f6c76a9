"""Learners whose network plays: what a run writes, that seeds decide it, that it is resumed, and interrupts."""

import json

import numpy as np
import pytest
from small_training import FILES, GAME, LEARNERS

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.networks import load_network
from ttt_envs.learning import alphazero, dqn, value_learning
from ttt_envs.learning.runs import loop
from ttt_envs.learning.runs.logs import read_log

METHODS = {"alphazero": alphazero, "dqn": dqn, "value_learning": value_learning}

#: Of each method: kind of network, files beside those of all, what its log has, and agents that play its network.
OWN = {
    "alphazero": ("policy+value", set(), {"train/loss"}, ("network:{}", "lookahead:{}", "guided:{},simulations=2")),
    "dqn": (
        "q",
        {"snapshots"},
        {"train/learning_rate", "train/exploration"},
        ("network:{},average=true", "lookahead:{}"),
    ),
    "value_learning": ("q", set(), {"train/loss", "time/steps_per_second"}, ("network:{}", "lookahead:{}")),
}


def trained(method, out, **changes):
    module = METHODS[method]
    return module.train(module.Config(**{**LEARNERS[method], **changes}, out=out))


@pytest.fixture(autouse=True)
def short_horizon(monkeypatch):
    monkeypatch.setattr(alphazero, "HORIZON", 8)


def outputs(folder):
    return np.concatenate(list(load_network(folder)(np.eye(191, dtype=np.int8)).values()), axis=1)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_as_all_runs_are(method, tmp_path):
    steps, (kind, more, logged, specs) = LEARNERS[method]["steps"], OWN[method]
    first = trained(method, tmp_path / "x", steps=steps // 2)
    assert (first.finished, first.steps) == (True, steps // 2)
    before = outputs(tmp_path / "x")
    for name, seed in (("y", 0), ("z", 1)):
        trained(method, tmp_path / name, steps=steps // 2, seed=seed)
        assert np.array_equal(before, outputs(tmp_path / name)) == (seed == 0)
    with pytest.raises(FileExistsError, match="--resume"):
        trained(method, tmp_path / "x")
    second = trained(method, tmp_path / "x", resume=True)
    assert (second.finished, second.steps) == (True, steps)
    assert {each.steps for each in second.points["score"]} == {0, steps // 2, steps}
    assert 0 < np.abs(outputs(tmp_path / "x") - before).max() < 0.5, "it goes on from what was learned"

    assert {path.name for path in (tmp_path / "x").iterdir()} == FILES | more
    info = load_network(tmp_path / "x").info
    assert (info.game, info.kind, info.hidden, info.steps) == (GAME, kind, (16,), steps)
    assert (info.squash, info.residual, info.values) == (kind != "q", kind != "q", 1)
    assert json.loads((tmp_path / "x" / "config.json").read_text())["settings"]["warm_up"] == 64
    assert logged < set().union(*read_log(tmp_path / "x" / "log.jsonl"))
    for spec in specs:
        batch = ttt_envs.Batch(ttt_envs.load(GAME), 4, seed=0)
        batch.step(agents.load(spec.format(tmp_path / "x")).act(batch.view()))
    snapshots = sorted(int(path.stem) for path in (tmp_path / "x").glob("snapshots/*"))
    assert snapshots == ([0, steps // 2, steps] if more else [])


@pytest.mark.parametrize("method", ["alphazero", "value_learning"])
def test_an_interrupt_loses_nothing(method, tmp_path, monkeypatch):
    rounds, add = [], loop.Buffer.add

    def added(self, *given):
        rounds.append(1)
        add(self, *given)

    def interrupted(self):
        if len(rounds) == 12:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop.Buffer, "add", added)
    monkeypatch.setattr(loop.Interrupts, "check", interrupted)
    result = trained(method, tmp_path / "x", eval_every=512)
    assert not result.finished
    assert result.steps == 12 * LEARNERS[method]["num_envs"]
    assert load_network(tmp_path / "x").info.steps == result.steps
