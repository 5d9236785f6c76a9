"""The loop of the policy gradient methods, checked against MaskablePPO, and the methods on it, on Kuhn poker."""

from dataclasses import replace
from importlib import import_module
from typing import Any

import kuhn_poker
import numpy as np
import pytest
import torch
import toy_coin

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.agents.networks import load_network
from ttt_envs.learning import mmd, policy_gradient, ppo, rnad
from ttt_envs.learning.episodes import Rollout, WholeGames
from ttt_envs.learning.policy_gradient import masked
from ttt_envs.learning.runs.checkpoint import RESUME_FORMAT
from ttt_envs.learning.runs.logs import read_log
from ttt_envs.storage.tensors import read_tensors
from ttt_envs.studies.tasks import task_of

KUHN = "kuhn_poker"
TINY: dict[str, Any] = {
    "game": KUHN,
    "num_envs": 64,
    "steps": 600,
    "hidden": (16,),
    "eval_every": 300,
    "eval_games": 4,
    "eval_agents": ("random",),
    "save_every": 300,
    "quiet": True,
}
METHODS = ("mmd", "rnad", "nfsp", "escher")
# In the place of TINY, so that each has done all that it does.
OWN: dict[str, dict[str, Any]] = {
    "nfsp": {"num_envs": 32, "steps": 1120, "buffer": 2000, "reservoir": 1000},
    "escher": {"num_envs": 32, "batch": 64, "reservoir": 500},
}
LOGGED = {
    "nfsp": {"train/loss", "train/average_loss"},
    "escher": {"train/regrets_loss", "train/average_loss"},
}


@pytest.fixture(scope="module", autouse=True)
def kuhn():
    ttt_envs.register(KUHN, kuhn_poker.make)
    yield
    ttt_envs.unregister(KUHN)


def uniform(observations, masks, *_):
    drawn = np.random.default_rng(len(masks)).random(masks.shape)
    with np.errstate(divide="ignore"):
        log_probs = np.where(masks, -np.log(np.maximum(masks.sum(axis=1, keepdims=True), 1)), -1e8)
    values = observations @ np.linspace(-1, 1, observations.shape[1])
    return np.where(masks, drawn, -1).argmax(axis=1), log_probs.astype(np.float32), values.astype(np.float32)


@pytest.mark.parametrize("game", [kuhn_poker.make(), toy_coin.make(players=2, tosses=2)], ids=["in turn", "at once"])
def test_each_players_decisions_are_followed(game):
    found = WholeGames(game, 40, seed=1).play(uniform)
    assert found.plies[-1].stop == len(found)
    gamma, lam = 0.9, 0.8
    advantages, others = found.advantages(gamma, lam), found.of_others(found.values)
    for number in range(40):
        for player in (0, 1):
            rows = np.flatnonzero((found.games == number) & (found.players == player))
            assert np.array_equal(found.following[rows], [*rows[1:], -1][: len(rows)])
            assert not found.rewards[rows[:-1]].any()
            ply = np.array([next(k for k, each in enumerate(found.plies) if each.start <= r < each.stop) for r in rows])
            theirs = np.flatnonzero((found.games == number) & (found.players != player))
            their_ply = np.array(
                [next(k for k, each in enumerate(found.plies) if each.start <= r < each.stop) for r in theirs]
            )
            total = 0.0
            for k in reversed(range(len(rows))):
                after = found.values[rows[k + 1]] if k + 1 < len(rows) else 0.0
                total = found.rewards[rows[k]] + gamma * after - found.values[rows[k]] + gamma * lam * total
                assert advantages[rows[k]] == pytest.approx(total, abs=1e-5)
                until = ply[k + 1] if k + 1 < len(rows) else np.inf
                mine = theirs[(their_ply >= ply[k]) & (their_ply < until)]
                assert others[rows[k]] == pytest.approx(found.values[mine].sum(), abs=1e-5)
    last = found.following == -1
    assert found.rewards[last].sum() == pytest.approx(0, abs=1e-4), "what one wins the other loses"
    assert found.rewards.any()


class Plain(policy_gradient.PolicyGradient[policy_gradient.Config]):
    """PPO on the loop."""

    minibatches = 1

    def policy_loss(self, log_probs, sample, done):
        entropy = policy_gradient.entropy_of(log_probs).mean()
        return policy_gradient.clipped(log_probs, sample, 0.2) - 0.01 * entropy


def test_an_update_is_that_of_maskable_ppo(tmp_path):
    game = kuhn_poker.make()
    shared = {"game": KUHN, "out": tmp_path, "num_envs": 32, "hidden": (16, 16), "learning_rate": 3e-3}
    theirs = ppo.make_model(ppo.Config(**shared, rollout=4, batch=128, entropy=0.01), game)
    ours = Plain(policy_gradient.Config(**shared, steps=100), game)
    found = ppo.network_of(theirs, ppo.Config(**shared), game)[1]
    weights = {name: each.copy() for name, each in found.items()}
    ours.network.load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()})
    weights = {name: each.copy() for name, each in weights.items()}

    rng = np.random.default_rng(0)
    found = WholeGames(game, 500, seed=0).play(ours.act)
    rows = np.arange(128)
    found = Rollout(
        *(getattr(found, name)[rows] for name in ("observations", "masks", "actions", "log_probs", "values")),
        *(found.games[rows], found.players[rows], np.full(128, -1), rng.normal(size=128).astype(np.float32)),
        (slice(0, 128),),
    )
    buffer = theirs.rollout_buffer
    buffer.reset()
    sample = ours.sample_of(found)

    def rounds(values):
        return np.asarray(values).reshape(4, 32, *np.shape(values)[1:])

    buffer.observations[:] = rounds(found.observations)
    buffer.actions[:] = rounds(found.actions)[..., None]
    buffer.action_masks[:] = rounds(found.masks)
    buffer.log_probs[:] = rounds(found.log_probs[rows, found.actions])
    buffer.values[:] = rounds(found.values)
    buffer.advantages[:], buffer.returns[:] = rounds(sample.advantages), rounds(sample.returns)
    buffer.pos, buffer.full = 4, True
    theirs.set_logger(ppo.Logger(None, []))
    theirs.train()
    ours.learn(found, 0.0)
    changed = ppo.network_of(theirs, ppo.Config(**shared), game)[1]
    moved = max(np.abs(changed[name] - weights[name]).max() for name in weights)
    assert moved > 1e-3
    for name, each in ours.network.tensors().items():
        assert each == pytest.approx(changed[name], abs=2e-5), name


def test_actions_are_drawn_by_their_probabilities():
    torch.manual_seed(0)
    logits, masks = torch.tensor([0.1, 0.6, 0.2, 0.7]).log(), torch.tensor([True, False, True, True])
    found = policy_gradient.drawn(policy_gradient.masked(logits.repeat(40_000, 1), masks.repeat(40_000, 1)))
    assert np.bincount(found, minlength=4) / 40_000 == pytest.approx([0.1, 0.0, 0.2, 0.7], abs=0.01)
    assert 1 not in found, "it is not legal"


def of(method: str, **changes: Any) -> Any:
    module = import_module(f"ttt_envs.learning.{method}")
    return module.train(module.Config(**{**TINY, **OWN.get(method, {}), **changes}))


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_as_all_runs_are(method, tmp_path):
    first = of(method, out=tmp_path / "x", exploitability_every=300)
    assert first.finished
    assert first.steps >= 600
    files = {f"{name}.{end}" for name in ("curve", "exploitability") for end in ("csv", "png")}
    files |= {"config.json", "log.jsonl", "network.safetensors", "resume.safetensors", "tensorboard"}
    assert {path.name for path in (tmp_path / "x").iterdir()} == files
    info = load_network(tmp_path / "x").info
    kind = "policy" if method in OWN else "policy+value"
    assert (info.kind, info.steps, info.hidden) == (kind, first.steps, (16,))
    logged = LOGGED.get(method, {"train/policy_loss", "train/value_loss"})
    assert {"train/learning_rate", *logged} < set().union(*read_log(tmp_path / "x/log.jsonl"))
    # What is measured on the way is what the folder plays.
    game = kuhn_poker.make()
    (kept,) = evaluation.exploitability(game, [f"network:{tmp_path / 'x'}"], quiet=True).measurements
    assert kept.exploitability == pytest.approx(first.points["exploitability"][-1].value, abs=1e-6)
    # The same seed learns the same, and a resumed run goes on.
    of(method, out=tmp_path / "y")
    eye = np.eye(game.observation_size, dtype=np.int8)
    one, two = (load_network(tmp_path / name)(eye)["policy"] for name in "xy")
    assert np.array_equal(one, two)
    again = of(method, out=tmp_path / "y", steps=1200, resume=True)
    assert again.steps >= 1200
    assert 0 < np.abs(load_network(tmp_path / "y")(eye)["policy"] - two).max() < 1


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("mmd", {"learning_rate": 1e-3}),
        ("rnad", {"learning_rate": 5e-3, "target_share": 0.1}),
        slow("escher", {"num_envs": 64, "batch": 512, "reservoir": 100_000, "updates": 4}),
        slow("nfsp", {"steps": 80_000, "num_envs": 128, "buffer": 20_000, "reservoir": 80_000, "hidden": (64,)}),
    ],
)
def test_it_comes_near_an_equilibrium(method, changes, tmp_path, monkeypatch):
    """Of 0.23 that is lost by random play little is left after some seconds."""
    monkeypatch.setattr(rnad, "ITERATIONS", 5)  # for so few steps
    more = {"steps": 60_000, "num_envs": 512, "hidden": (32,), "eval_every": 60_000, "exploitability_every": 60_000}
    rates = {"learning_rate": 3e-3, **changes}
    found = of(method, out=tmp_path / "x", **{**more, **rates}).points["exploitability"]
    assert found[0].value > 0.2
    assert found[-1].value < 0.12


@pytest.mark.parametrize("moves", [{"magnet_rate": 0.25}, {"magnet_copies": 4}])
def test_a_magnet_that_moves(moves, tmp_path):
    method = mmd.MMD(mmd.Config(**{**TINY, **moves}), kuhn_poker.make())
    method.begin(np.random.default_rng(0))
    magnet = [each.clone() for each in method.magnet.parameters()]
    for done in (0.0, 0.1, 0.3):
        method.one_round(done)
        share = moves.get("magnet_rate", float(done == 0.3))
        latest = [each.detach() for each in method.network.parameters()]
        magnet = [old.lerp(new, share) for old, new in zip(magnet, latest, strict=True)]
        for mine, expected in zip(method.magnet.parameters(), magnet, strict=True):
            assert torch.allclose(mine, expected)
    sample = method.sample_of(method.games.play(method.act))
    with torch.no_grad():
        policies = [masked(net(sample.observations)["policy"], sample.masks) for net in (method.network, method.magnet)]
        divergence = (policies[0].exp() * (policies[0] - policies[1])).sum(dim=1).mean()
        loss = method.policy_loss(policies[0], sample, 0.0)
        method.config = replace(method.config, magnet=0.0, magnet_final=0.0)
        assert float(loss - method.policy_loss(policies[0], sample, 0.0)) == pytest.approx(0.2 * float(divergence))
    config = {**TINY, **moves, "out": tmp_path / "x"}
    mmd.train(mmd.Config(**config))
    assert "magnet" in {
        name.partition(".")[0] for name in read_tensors(tmp_path / "x/resume.safetensors", RESUME_FORMAT)[1]
    }
    assert mmd.train(mmd.Config(**{**config, "steps": 1200, "resume": True})).steps >= 1200


def test_two_ways_to_move_a_magnet_are_refused():
    with pytest.raises(ValueError, match="magnet_rate and magnet_copies both move the magnet"):
        mmd.Config(**TINY, magnet_rate=0.1, magnet_copies=2).check()


def rnad_of(**changes: Any) -> rnad.RNaD:
    return rnad.RNaD(rnad.Config(**{**TINY, **changes}), kuhn_poker.make())


def test_rnad_values_what_was_not_tried():
    """With no regularisation the mean of many estimates is the value of an action against random play."""
    found = WholeGames(kuhn_poker.make(), 20_000, seed=3).play(rnad_of().act)
    zeros = np.zeros(len(found), np.float32)
    values, targets = rnad_of(eta=0.0).estimates(found, np.zeros_like(found.log_probs), zeros)
    king_after_a_bet = (
        (found.observations[:, 2] == 1) & (found.observations[:, 7] == 1) & (found.observations[:, 12] == 0)
    )
    assert values.numpy()[king_after_a_bet].mean(axis=0) == pytest.approx([-0.5, 1.0], abs=0.05)
    assert np.array_equal(targets.numpy()[found.following == -1], found.rewards[found.following == -1])


def test_rnad_lets_each_player_pay_the_other():
    found = WholeGames(kuhn_poker.make(), 50, seed=3).play(uniform)
    ratio = np.random.default_rng(0).normal(size=found.log_probs.shape).astype(np.float32)
    _, targets = rnad_of(eta=0.3).estimates(found, ratio, np.zeros(len(found), np.float32))
    paid = 0.3 * (np.exp(found.log_probs) * ratio).sum(axis=1)
    for number in range(50):
        mine = np.flatnonzero((found.games == number) & (found.players == 0))
        first, rows = mine[0], np.flatnonzero(found.games == number)
        signs = np.where(found.players[rows] == 0, -1, 1)
        assert targets[first] == pytest.approx(found.rewards[mine[-1]] + (signs * paid[rows]).sum(), abs=1e-5)


def test_neurd_moves_logits_but_not_beyond_the_threshold():
    logits = torch.tensor([[3.0, -3.0, 9.0]], requires_grad=True)
    masks = torch.tensor([[True, True, False]])
    for advantages, moves in (([1.0, 1.0, 0.0], [0.5, -0.5]), ([-1.0, 0.0, 0.0], [0.5, -0.5])):
        (gradient,) = torch.autograd.grad(rnad.neurd_loss(logits, masks, torch.tensor([advantages]), 2.0), logits)
        assert gradient[0].tolist() == pytest.approx([*moves, 0.0])


def test_open_spiel_measures_the_same_exploitability(tmp_path):
    pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms import exploitability as theirs
    from open_spiel_policy import OpenSpielPolicy

    from ttt_envs.integrations.open_spiel import SpielGame
    from ttt_envs.solvers import tree

    task = task_of("match-mini")
    game = ttt_envs.load(task.game, **task.options)
    of("escher", out=tmp_path / "x", game=task.game, options=task.options)
    walked, agent = tree.walk(game), agents.load(f"network:{tmp_path / 'x'}")
    tables = [np.concatenate([agent.policy(view) for view in walked.views(player)]) for player in (0, 1)]
    spiel = SpielGame(game)
    (ours,) = evaluation.exploitability(game, [agent], quiet=True).measurements
    assert ours.exploitability == pytest.approx(
        theirs.exploitability(spiel, OpenSpielPolicy(spiel, walked, walked.policy(tables))), abs=1e-6
    )
