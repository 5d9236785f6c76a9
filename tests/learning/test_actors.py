"""Actors: the same games whoever plays them, in turn with the learning or beside it."""

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from counting import Counter

from ttt_envs.agents.networks import load_network
from ttt_envs.learning import actors, alphazero, value_learning
from ttt_envs.learning.actors import InTurn, Threads, WithActors, shares
from ttt_envs.learning.torch_networks import TorchNetwork

ROOT = Path(__file__).resolve().parents[2]

SUPER: dict[str, Any] = {"game": "super_tic_tac_toe", "num_envs": 9, "eval_games": 2, "eval_agents": ("random",)}
TINY: dict[Any, dict[str, Any]] = {
    value_learning: {**SUPER, "warm_up": 20, "batch": 16, "steps": 90, "eval_every": 90, "hidden": (8,)},
    alphazero: {**SUPER, "warm_up": 20, "batch": 16, "steps": 630, "eval_every": 630, "hidden": (8,), "buffer": 800},
}
TINY[alphazero].update(simulations=2, eval_simulations=2)
SCRIPTS = pytest.mark.parametrize("script", TINY, ids=lambda script: script.__name__.rpartition(".")[2])


def learned(script: Any, out: Path, **changes: Any) -> np.ndarray:
    """The outputs of a network that was trained with these settings."""
    assert script.train(script.Config(**TINY[script], out=out, quiet=True, **changes)).finished
    found = load_network(out)(np.eye(191, dtype=np.int8))
    return np.concatenate([found[head] for head in sorted(found)], axis=1)


def test_a_round_is_played_with_the_network_of_the_round_before():
    net = TorchNetwork(Counter.info)

    def rounds(crew):
        found = []
        for k in range(3):
            with torch.no_grad():
                next(net.parameters()).fill_(k)
            found.append([rows["seen"][0].tolist() for rows in crew.round(net, k / 10)])
        return found

    assert rounds(InTurn([Counter()])) == [[[1, 0, 0]], [[2, 1, 0.1]], [[3, 2, 0.2]]]
    with actors.crew_of([Counter(), Counter()], WithActors(game="x", actors=2)) as crew:
        assert isinstance(crew, Threads)
        assert rounds(crew) == [[[1, 0, 0]] * 2, [[2, 0, 0]] * 2, [[3, 1, 0.1]] * 2]


def test_random_numbers_of_the_learner_are_left_alone():
    net = TorchNetwork(Counter.info)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    actors._play(Counter(), net.tensors(), 0.0)
    assert torch.rand(1) == expected


def test_games_are_shared_out():
    config, generator = WithActors(game="x", num_envs=10, actors=3), np.random.default_rng(0)
    parts = shares(config, 0, generator)
    assert [size for size, _ in parts] == [4, 3, 3]
    drawn = [own.integers(2**60) for _, own in (*parts, *shares(config, 100, generator))]
    assert len(set(drawn)) == 6
    assert shares(replace(config, actors=0), 0, generator) == [(10, generator)]


@pytest.mark.slow
@SCRIPTS
def test_an_actor_goes_on_where_it_was(script, tmp_path, monkeypatch):
    """Sent to another process after each round, as to a lost node's successor, actors teach the same."""
    threads = learned(script, tmp_path / "threads", actors=2)

    def sent(actor, weights, done, usual=actors._play):
        copy = pickle.loads(pickle.dumps(actor))
        rows = usual(copy, weights, done)
        again = usual(pickle.loads(pickle.dumps(actor)), weights, done)
        for name in rows:
            np.testing.assert_array_equal(rows[name], again[name])
        vars(actor).update(vars(copy))
        return rows

    monkeypatch.setattr(actors, "_play", sent)
    np.testing.assert_array_equal(learned(script, tmp_path / "sent", actors=2), threads)
    assert (learned(script, tmp_path / "three", actors=3) != threads).any(), "of other random numbers"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"actors": 10}, "actors must be at most num_envs, 9, not 10"),
        ({"engine": "fork"}, "engine='fork' must be one of 'threads', 'ray'"),
        ({"actors": 2, "address": "here:1"}, "address='here:1' is that of a Ray cluster"),
    ],
)
def test_wrong_settings_are_refused(changes, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        learned(value_learning, tmp_path / "x", **changes)
    assert not (tmp_path / "x").exists()


# --- Ray ---


@pytest.fixture
def on_ray(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The settings for actors on Ray."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'ttt-envs[distributed]'")
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",
        "RAY_worker_niceness": "0",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")]))
    return {"engine": "ray"}


@pytest.mark.slow
@SCRIPTS
def test_ray_teaches_the_same_as_threads(script, on_ray, tmp_path):
    found = learned(script, tmp_path / "ray", actors=2, **on_ray)
    np.testing.assert_array_equal(found, learned(script, tmp_path / "threads", actors=2))


@pytest.mark.slow
def test_a_killed_process_costs_nothing_but_time(on_ray, tmp_path):
    """Two are killed in the middle of a round, with what their actors had by then."""
    config, net = WithActors(game="x", actors=2), TorchNetwork(Counter.info)

    def rounds(config):
        with actors.crew_of([Counter(tmp_path), Counter(tmp_path)], config) as crew:
            return [[rows["drawn"].tolist() for rows in crew.round(net, 0.0)] for _ in range(4)]

    alive = rounds(config)
    for kill in range(2):
        (tmp_path / f"kill-{kill}").touch()
    assert rounds(replace(config, **on_ray)) == alive
    assert not list(tmp_path.iterdir()), "both have been"


@pytest.mark.slow
def test_an_error_of_an_actor_comes_from_the_cluster_too(on_ray, tmp_path):
    (tmp_path / "error").touch()
    config = WithActors(game="x", actors=1, **on_ray)
    with actors.crew_of([Counter(tmp_path)], config) as crew, pytest.raises(ZeroDivisionError, match="as it was told"):
        crew.round(TorchNetwork(Counter.info), 0.0)


def test_without_actors_the_settings_need_no_ray():
    with pytest.raises(ValueError, match="needs actors"):
        value_learning.Config(**TINY[value_learning], engine="ray").check()
