"""Self-play training, policy files and the demo."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from training import ppo
from ttt_envs.core import jit

if jit.DISABLED:
    pytest.skip("training is far too slow without the JIT", allow_module_level=True)

import torch
from PIL import Image
from safetensors.torch import save_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import ttt_envs
from training import demo
from training.ppo import Config, due, read_curve, read_exploited, read_regret, train
from ttt_envs import agents
from ttt_envs.agents.policy import BadPolicyFile, load_policy, save_policy
from ttt_envs.core.files import write_whole
from ttt_envs.evaluation.exploitability import Measurement
from ttt_envs.evaluation.exploitability import measure as measure_exploitability
from ttt_envs.evaluation.regret import measure
from ttt_envs.registry import parse_options

ROOT = Path(__file__).resolve().parents[2]
GAME = "super_tic_tac_toe"
TINY = {"game": GAME, "games": 16, "rollout": 8, "batch": 64, "hidden": (16,), "eval_games": 4, "quiet": True}


def tiny(out: Path, **changes) -> Config:
    return Config(**{**TINY, "steps": 512, "eval_every": 256, "snapshot_every": 128, "out": out, **changes})


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "x"
    result = train(tiny(folder))
    assert result.finished
    assert result.steps == 512
    return folder


def view(n: int = 40, game: ttt_envs.Game | None = None):
    batch = ttt_envs.Batch(game or ttt_envs.load(GAME), n, seed=5)
    player = agents.load("random")
    for _ in range(9):
        batch.step(player.act(batch.view()))
    return batch.view()


def test_run_folder(run: Path) -> None:
    assert json.loads((run / "config.json").read_text())["game"] == GAME
    info, tensors = load_policy(run / "policy.safetensors")
    assert (info.game, info.inputs, info.actions, info.steps) == (GAME, 190, 81, 512)
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
    steps = [int(path.stem) for path in sorted((run / "snapshots").iterdir())]
    assert steps == [0, 128, 256, 384, 512]
    curve = read_curve(run / "curve.csv")
    assert [(e.steps, e.agent) for e in curve] == [(s, a) for s in (0, 256, 512) for a in ("random", "greedy")]
    assert all(abs(e.win + e.draw + e.loss - 1) < 1e-6 for e in curve)
    assert Image.open(run / "curve.png").size[0] > 300
    assert list((run / "tensorboard").iterdir())


def test_policy_changes_while_it_learns(run: Path) -> None:
    first, last = (load_policy(run / "snapshots" / f"{steps:012d}.safetensors")[1] for steps in (0, 512))
    assert any(not torch.equal(first[name], last[name]) for name in first)


def test_same_seed_same_policy(tmp_path: Path, run: Path) -> None:
    train(tiny(tmp_path / "again"))
    train(tiny(tmp_path / "other", seed=1))
    mine, again, other = (
        load_policy(folder / "policy.safetensors")[1] for folder in (run, tmp_path / "again", tmp_path / "other")
    )
    assert all(torch.equal(mine[name], again[name]) for name in mine)
    assert any(not torch.equal(mine[name], other[name]) for name in mine)


def test_resume_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    train(tiny(folder, steps=256))
    before = load_policy(folder / "policy.safetensors")[0]
    result = train(Config(out=folder, resume=True, steps=512, quiet=True))
    assert before.steps == 256
    assert result.steps == 512
    # All other settings are those of the run, and the curve is one.
    assert load_policy(folder / "policy.safetensors")[0].hidden == (16,)
    assert [e.steps for e in read_curve(folder / "curve.csv")] == [0, 0, 256, 256, 512, 512]


DICE = {"game": "tic_tac_dice", "option": ("rounds=single",), "regret_games": 20}


#: A small game whose whole tree is known, and how often a best response to the learner is computed.
EXPLOITED = {
    "game": "tic_tac_match",
    "option": tuple(
        f"{name}={value}"
        for name, value in {
            "colours": 1,
            "copies": 4,
            "flips": 0,
            "wipe_outs": 0,
            "double_plays": 0,
            "hand_size": 1,
            "max_turns": 3,
        }.items()
    ),
    "exploitability_every": 256,
}


def test_curve_of_exploitability(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    train(tiny(folder, steps=256, **EXPLOITED))
    before = read_exploited(folder / "exploitability.csv")
    result = train(Config(out=folder, resume=True, steps=512, quiet=True))
    curve = read_exploited(folder / "exploitability.csv")
    assert curve == result.exploited
    assert [(each.steps, each.snapshots) for each in curve] == [(0, 1), (256, 2), (512, 2)]
    assert curve[:2] == before
    assert curve[0].policy == curve[0].average
    assert {(each.policy_half_width, each.average_half_width) for each in curve} == {(0.0, 0.0)}
    assert Image.open(folder / "exploitability.png").size[0] > 300
    # The last ones are those of what plays elsewhere.
    game = ttt_envs.load("tic_tac_match", **parse_options("tic_tac_match", EXPLOITED["option"]))
    for name, found in ((f"ppo:{folder}", curve[-1].policy), (f"ppo:{folder},average=0.5", curve[-1].average)):
        assert measure_exploitability(game, agents.load(name)).exploitability == pytest.approx(found)
    assert curve[-1].policy != curve[-1].average
    events = EventAccumulator(str(max((folder / "tensorboard").glob("events*"), key=lambda p: p.stat().st_mtime_ns)))
    events.Reload()
    for name, found in (("", curve[-1].policy), ("_of_average", curve[-1].average)):
        assert events.Scalars(f"eval/exploitability{name}")[-1].value == pytest.approx(found)


def test_measuring_exploitability_is_no_training(tmp_path: Path) -> None:
    """Neither the policy nor the speed hears of it."""

    def slow(*_, tell, **__):
        time.sleep(1)
        return Measurement("it", 0.5, 1.0, (0.5, 0.5), np.nan, 0, 20, 0.25)

    plain = train(tiny(tmp_path / "plain", **{**EXPLOITED, "exploitability_every": 0}))
    assert not (plain.folder / "exploitability.csv").exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ppo, "measure_exploitability", slow)
        watched = train(tiny(tmp_path / "watched", **EXPLOITED))
    assert [(each.policy, each.policy_half_width) for each in watched.exploited] == [(0.5, 0.25)] * 3
    files = [folder / "policy.safetensors" for folder in (plain.folder, watched.folder)]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert watched.steps_per_second > 512 / 6, "6 measurements take 6 seconds"


def test_an_interrupt_while_exploitability_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_, tell, **__):
        signal.raise_signal(signal.SIGINT)
        tell(0.5)
        raise AssertionError("it was told, and went on")

    monkeypatch.setattr(ppo, "measure_exploitability", interrupted)
    result = train(tiny(tmp_path / "x", **EXPLOITED))
    assert (result.finished, result.steps, result.exploited) == (False, 0, [])
    monkeypatch.undo()
    result = train(Config(out=tmp_path / "x", resume=True, steps=256, quiet=True))
    assert [each.steps for each in result.exploited] == [256]


@pytest.mark.parametrize(("last", "rest"), [(0.0, [0.05, 0.0]), (0.3, [0.2, 0.3])])
def test_the_weight_of_entropy_changes_linearly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: float, rest: list[float]
) -> None:
    """Also over an interruption: the line is drawn to the end of the whole run."""
    used = []
    update = ppo.MaskablePPO.train
    monkeypatch.setattr(ppo.MaskablePPO, "train", lambda model: (used.append(model.ent_coef), update(model))[1])
    train(tiny(tmp_path / "x", entropy=0.1, steps=256))
    train(tiny(tmp_path / "y", entropy=0.1, entropy_final=last, steps=256))
    assert used[:2] == [0.1, 0.1]
    assert used[2:] == pytest.approx(rest)
    one, other = ((tmp_path / name / "policy.safetensors").read_bytes() for name in "xy")
    assert one != other
    train(Config(resume=True, out=tmp_path / "y", steps=512, quiet=True))
    assert used[4:] == pytest.approx([0.1 + (last - 0.1) * share for share in (0.75, 1.0)])


def test_the_average_of_snapshots(run: Path, tmp_path: Path) -> None:
    positions = view()
    files = sorted((run / "snapshots").iterdir())
    policies = [agents.load(f"ppo:{file}").policy(positions) for file in files]
    for text, some in (("true", 5), ("1", 5), ("0.6", 3), ("0.01", 1)):
        agent = agents.load(f"ppo:{run},average={text}")
        assert len(agent.nets) == some
        assert np.allclose(agent.policy(positions), np.mean(policies[-some:], axis=0), atol=1e-12)
        actions = agent.act(positions)
        assert positions.masks[np.arange(40), actions].all()
    assert not np.allclose(policies[0], policies[-1], atol=1e-4)
    latest = agents.load(f"ppo:{run}").policy(positions)
    for text in ("false", "0"):
        assert (agents.load(f"ppo:{run},average={text}").policy(positions) == latest).all()
    sharp = agents.load(f"ppo:{run},average=true,temperature=0").policy(positions)
    assert np.allclose(sharp, np.mean([policy == policy.max(axis=1, keepdims=True) for policy in policies], axis=0))
    turned = agents.load(f"ppo:{run},average=true,symmetric=true").policy(positions)
    each = [agents.load(f"ppo:{file},symmetric=true").policy(positions) for file in files]
    assert np.allclose(turned, np.mean(each, axis=0), atol=1e-12)


def test_what_cannot_be_averaged_is_refused(run: Path, tmp_path: Path) -> None:
    folder = _copy(run, tmp_path / "x")
    with pytest.raises(FileNotFoundError, match="no snapshots to be averaged in"):
        agents.load(f"ppo:{folder},average=true")
    with pytest.raises(FileNotFoundError, match="no snapshots to be averaged in"):
        agents.load(f"ppo:{run / 'policy.safetensors'},average=true")
    for share in ("-0.5", "2", "nan"):
        with pytest.raises(ValueError, match="average must be true, false, or a share of the snapshots from 0 to 1"):
            agents.load(f"ppo:{run},average={share}")
    (folder / "snapshots").mkdir()
    for k, path in enumerate(sorted((run / "snapshots").iterdir())[:2]):
        info, tensors = load_policy(path)
        save_policy(folder / "snapshots" / path.name, replace(info, options={**info.options, "k": k}), tensors)
    with pytest.raises(BadPolicyFile, match="is of another run than"):
        agents.load(f"ppo:{folder},average=true")


def test_curve_of_regret(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    train(tiny(folder, steps=256, **DICE))
    before = read_regret(folder / "regret.csv")
    result = train(Config(out=folder, resume=True, steps=512, quiet=True))
    curve = read_regret(folder / "regret.csv")
    assert curve == result.regrets
    assert [each.steps for each in curve] == [0, 256, 512]
    assert curve[:2] == before
    assert Image.open(folder / "regret.png").size[0] > 300
    # The last one is that of the policy which was saved, acting as it does elsewhere.
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    found = measure(game, agents.load(f"ppo:{folder}"), games=20)
    assert (curve[-1].per_game, curve[-1].mistakes) == pytest.approx((found.per_game, found.mistakes))
    assert 0 < curve[-1].per_game_half_width == pytest.approx(found.per_game_half_width)
    assert curve[-1].measured == 1
    logged = EventAccumulator(str(folder / "tensorboard"))
    logged.Reload()
    last = logged.Scalars("eval/regret")[-1]
    assert (last.step, last.value) == (512, pytest.approx(found.per_game, rel=1e-5))


def test_measuring_regret_does_not_disturb_training(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    train(tiny(tmp_path / "with", steps=256, **DICE, quiet=False))
    assert re.search(r"regret a game: \d\.\d{3} ± \d\.\d{3}\n", capsys.readouterr().out)
    train(tiny(tmp_path / "without", steps=256, **{**DICE, "regret_games": 0}))
    assert not list((tmp_path / "without").glob("regret*"))
    with_it, without = (tmp_path / name / "policy.safetensors" for name in ("with", "without"))
    assert with_it.read_bytes() == without.read_bytes()


def test_regret_where_the_oracle_knows_little(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    train(tiny(tmp_path / "x", steps=128, regret_games=20, quiet=False))
    assert re.search(r"regret a game: at least 0\.000 ± 0\.000, \S+% of decisions measured", capsys.readouterr().out)
    assert read_regret(tmp_path / "x" / "regret.csv")[-1].measured < 0.05
    train(tiny(tmp_path / "y", steps=128, regret_games=2, quiet=False, option=("random_opening_plies=16",)))
    assert "regret: not known of any decision" in capsys.readouterr().out
    assert np.isnan(read_regret(tmp_path / "y" / "regret.csv")[-1].per_game)
    assert (tmp_path / "y" / "regret.png").is_file()


def test_resumed_model_is_the_saved_one(tmp_path: Path, run: Path) -> None:
    config = tiny(run)
    game = ttt_envs.load(GAME)
    fresh = ppo.make_model(config, game, seed=9)
    ppo.load_resume(run / "resume.safetensors", fresh)
    ppo.save_resume(tmp_path / "again.safetensors", fresh, fresh.num_timesteps)
    assert fresh.num_timesteps == 512
    # The optimiser's moments are there too: the file written back is the same.
    assert (tmp_path / "again.safetensors").read_bytes() == (run / "resume.safetensors").read_bytes()


def test_resume_of_a_finished_run_does_nothing(run: Path) -> None:
    before = (run / "policy.safetensors").read_bytes()
    assert train(Config(out=run, resume=True, steps=512, quiet=True)).steps == 512
    assert (run / "policy.safetensors").read_bytes() == before


def _start(out: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "training.ppo", "--game", GAME, "--out", str(out), "--steps", "100000000"]
    command += ["--games", "64", "--rollout", "8", "--hidden", "16", "--eval-games", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 90
    while _steps(out) < 2000:
        assert time.monotonic() < deadline, "training does not get going"
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.2)
    return process


def _steps(out: Path) -> int:
    try:
        return load_policy(out / "policy.safetensors")[0].steps
    except FileNotFoundError:
        return -1


def test_killed_it_loses_at_most_a_rollout(tmp_path: Path) -> None:
    out = tmp_path / "x"
    process = _start(out)
    seen = _steps(out)
    process.kill()
    process.wait()
    saved = _steps(out)
    assert saved >= seen
    result = train(Config(out=out, resume=True, steps=saved + 512, quiet=True))
    assert saved + 512 <= result.steps < saved + 1024 + 512


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "x"
    process = _start(out)
    process.send_signal(number)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130, printed
    assert f"--resume --out {out}" in printed.replace("\n", " ")
    assert "Traceback" not in printed


def test_there_need_be_no_fixed_opponents(tmp_path: Path) -> None:
    assert train(tiny(tmp_path / "x", fixed=(), self_weight=0.5, past_weight=0.2, steps=256)).finished


def test_opponents_are_self_past_and_fixed(run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pools = []
    original = ppo.SB3SeatEnv.set_opponents
    monkeypatch.setattr(
        ppo.SB3SeatEnv,
        "set_opponents",
        lambda env, pool, weights: (pools.append((list(pool), list(weights))), original(env, pool, weights))[1],
    )
    train(tiny(tmp_path / "x", past=2, self_weight=0.5, past_weight=0.3))
    assert [len(pool) for pool, _ in pools] == [3, 4, 4, 4, 4]  # self, 1 or 2 snapshots, random
    for pool, weights in pools:
        assert np.isclose(sum(weights), 1)
        assert np.isclose(weights[0], 0.5)
        assert np.isclose(weights[-1], 0.2)
        assert pool[-1].name == "random"
    # Self is the same object throughout and learns; the past is frozen and changes.
    assert len({id(pool[0]) for pool, _ in pools}) == 1
    assert len({id(pool[2]) for pool, _ in pools[1:]}) > 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"games": 0}, "games must be at least 1"),
        ({"self_weight": 0.9, "past_weight": 0.2}, "at most 1 together"),
        ({"hidden": ()}, "one or more sizes"),
        ({"activation": "sigmoid"}, "tanh"),
        ({"encoding": "pixels"}, "planes"),
        ({"game": "super_tictactoe"}, "super_tic_tac_toe"),
        ({"option": ("won_board=closed",)}, "won_boards"),
        ({"fixed": ("radnom",)}, "random"),
        ({"eval_agents": ("mcts:simulation=3",)}, "simulations"),
        ({"seed": -1}, "seed"),
        ({"regret_games": -1}, "regret_games must be 0, or at least 2"),
        ({"regret_games": 1}, "regret_games must be 0, or at least 2"),
        ({"regret_games": 9, "option": ("won_boards=closed",)}, "regret cannot be measured"),
        ({"regret_games": 9, "game": "big_tic_tac_dice"}, "no oracle for size=4"),
        ({"exploitability_starts": 1}, "exploitability_starts must be at least 2"),
        ({"exploitability_every": -1}, "exploitability_every must be at least 0, not -1"),
        ({"exploitability_every": 9, "game": "tic_tac_dice"}, "chance in Game('tic_tac_dice', "),
        ({"entropy": -0.1}, "entropy must be at least 0, not -0.1"),
        ({"entropy_final": -0.1}, "entropy_final must be at least 0, not -0.1"),
        ({"entropy_final": float("nan")}, "entropy_final must be at least 0, not nan"),
    ],
)
def test_bad_settings_are_refused_in_words(tmp_path: Path, changes: dict, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        train(tiny(tmp_path / "x", **changes))
    assert not (tmp_path / "x" / "policy.safetensors").exists()


def test_a_run_is_not_overwritten(run: Path) -> None:
    before = (run / "policy.safetensors").read_bytes()
    with pytest.raises(FileExistsError, match="--resume"):
        train(tiny(run))
    assert (run / "policy.safetensors").read_bytes() == before


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing to resume"):
        train(Config(out=tmp_path, resume=True, quiet=True))


def _copy(run: Path, folder: Path) -> Path:
    folder.mkdir()
    for path in run.glob("*.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_damaged_resume_file(run: Path, tmp_path: Path) -> None:
    folder = _copy(run, tmp_path / "x")
    path = folder / "resume.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadPolicyFile, match="damaged"):
        train(Config(out=folder, resume=True, steps=1024, quiet=True))
    (folder / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json is damaged"):
        train(Config(out=folder, resume=True, steps=1024, quiet=True))


def test_damaged_and_foreign_policies(run: Path, tmp_path: Path) -> None:
    good = (run / "policy.safetensors").read_bytes()
    path = tmp_path / "policy.safetensors"
    for data in (b"", b"nonsense", good[:200], good[:-1], b"\xff" * 8 + good[8:]):
        path.write_bytes(data)
        with pytest.raises(BadPolicyFile, match="is damaged, or was not written by"):
            agents.load(f"ppo:{path}")
    save_file({"w": torch.zeros(3)}, path)
    with pytest.raises(BadPolicyFile, match="is no file of the form"):
        agents.load(f"ppo:{path}")
    info, tensors = load_policy(run / "policy.safetensors")
    save_policy(path, info, {**tensors, "action_net.weight": torch.zeros(80, 16)})
    with pytest.raises(BadPolicyFile, match=r"action_net\.weight is missing or not of shape \(81, 16\)"):
        agents.load(f"ppo:{path}")
    save_policy(path, info, {**tensors, "action_net.bias": torch.full((81,), torch.nan)})
    with pytest.raises(BadPolicyFile, match="not finite"):
        agents.load(f"ppo:{path}")
    with pytest.raises(FileNotFoundError, match="no policy file at"):
        agents.load(f"ppo:{tmp_path / 'nowhere'}")
    with pytest.raises(ValueError, match="temperature"):
        agents.load(f"ppo:{run},temperature=-1")


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self):
            return (write_whole, (tmp_path / "sprung", "x"))

    path = tmp_path / "policy.safetensors"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(BadPolicyFile):
        agents.load(f"ppo:{path}")
    assert not (tmp_path / "sprung").exists()


def test_policy_of_another_game_is_refused(run: Path) -> None:
    import toy_coin

    with pytest.raises(BadPolicyFile, match="was trained for super_tic_tac_toe"):
        agents.load(f"ppo:{run}").act(ttt_envs.Batch(toy_coin.make(), 3, seed=0).view(0))


def test_trained_policy_plays(run: Path) -> None:
    positions = view()
    agent = agents.load(f"ppo:{run}")
    policy = agent.policy(positions)
    assert policy.shape == (40, 81)
    assert np.allclose(policy.sum(axis=1), 1)
    assert not policy[~positions.masks].any()
    assert (policy[positions.masks] > 0).all()
    actions = agent.act(positions)
    assert positions.masks[np.arange(40), actions].all()
    assert (agent.act(positions.take(np.arange(40)[::3])) == actions[::3]).all()
    sharp = agents.load(f"ppo:{run},temperature=0")
    assert (sharp.act(positions) == policy.argmax(axis=1)).all()


def test_a_symmetric_policy_is_the_same_on_a_turned_board(run: Path) -> None:
    game, plain = ttt_envs.load(GAME), agents.load(f"ppo:{run}")
    states = ttt_envs.Batch(game, 20, seed=4)
    for _ in range(5):
        states.step(agents.load("random").act(states.view()))
    agent, before = agents.load(f"ppo:{run},symmetric=true"), states.view()
    logits = agent.logits(before)
    mean = np.zeros_like(logits)
    for symmetry in game.symmetries:
        states.states[:] = symmetry.states(before.sample_worlds())
        turned = states.view()
        assert np.allclose(agent.logits(turned), logits[:, symmetry.actions], atol=1e-5), symmetry.name
        mean[:, symmetry.actions] += plain.logits(turned) / len(game.symmetries)
    assert np.allclose(mean, logits, atol=1e-5)
    assert not np.allclose(plain.logits(before), logits, atol=1e-3)


def test_a_symmetric_policy_can_be_evaluated(tmp_path: Path) -> None:
    """The curve is of what is then played as ppo:...,symmetric=true; the training itself is the same."""
    one, other = (
        train(tiny(tmp_path / str(flag), symmetric=flag, steps=256, eval_games=100)) for flag in (False, True)
    )
    policies = [(tmp_path / str(flag) / "policy.safetensors").read_bytes() for flag in (False, True)]
    assert policies[0] == policies[1]
    assert one.evaluations != other.evaluations
    game, opponents = ttt_envs.load(GAME), {spec: agents.load(spec) for spec in Config().eval_agents}
    played = agents.load(f"ppo:{tmp_path / 'True'},symmetric=true")
    again = ppo.evaluate(game, played, opponents, 100, 0, other.steps)
    assert again == other.evaluations[-len(again) :]


def test_the_learning_rate_falls_to_zero(tmp_path: Path) -> None:
    """Also over an interruption: the line is drawn to the end of the whole run."""
    train(tiny(tmp_path / "x", anneal=True, steps=256))
    train(Config(resume=True, out=tmp_path / "x", steps=512, quiet=True))
    rates = []
    for path in sorted((tmp_path / "x" / "tensorboard").glob("events*"), key=lambda path: path.stat().st_mtime_ns):
        events = EventAccumulator(str(path))
        events.Reload()
        rates += [round(event.value, 9) for event in events.Scalars("train/learning_rate")]
    # Two rollouts of 128 toward 256 decisions, then two from 256 toward 512.
    assert rates == pytest.approx([0.5e-3, 0.0, 0.25e-3, 0.0])


def test_actions_are_drawn_from_the_policy(run: Path) -> None:
    agent = agents.load(f"ppo:{run}")
    batch = ttt_envs.Batch(ttt_envs.load(GAME), 20_000, seed=1)
    positions = batch.view()  # all at the same start, each with its own seed
    counts = np.bincount(agent.act(positions), minlength=81)
    expected = agent.policy(positions.take(np.array([0])))[0] * batch.n
    legal = expected > 0
    chi_square = ((counts - expected)[legal] ** 2 / expected[legal]).sum()
    assert chi_square < 27  # 8 degrees of freedom: passed by chance alone with probability 0.9993
    assert not counts[~legal].any()


def test_planes_can_be_trained_on(tmp_path: Path) -> None:
    result = train(tiny(tmp_path / "x", encoding="planes", steps=128, activation="tanh"))
    agent = agents.load(f"ppo:{result.folder}")
    positions = view(8)
    assert positions.masks[np.arange(8), agent.act(positions)].all()
    assert agent.info.inputs == 6 * 81


def test_due() -> None:
    assert due(0, -1, 100)
    assert due(100, 0, 100)
    assert due(250, 199, 100)
    assert not due(199, 100, 100)
    assert not due(50, 0, 100)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sub" / "file"
    write_whole(path, "old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "demo"
    demo.run(demo.Config(steps=20_000, games=4, rivals=("random", "mcts:simulations=2", "oracle"), out=out))
    printed = capsys.readouterr().out
    for name in ("curve.png", "tournament/report.md", "game.gif"):
        assert (out / name).is_file()
        assert str(out / name) in printed
    assert "oracle" in (out / "tournament" / "report.md").read_text()
    film = Image.open(out / "game.gif")
    assert film.n_frames > 17  # no game is shorter
    colours = np.asarray(film.convert("RGB")).reshape(-1, 3)
    assert len(np.unique(colours, axis=0)) > 3


def test_an_interrupted_demo_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = demo.Config(steps=10_000, games=2, rivals=("random",), out=tmp_path / "demo")
    policy = config.out / "training" / "policy.safetensors"

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(demo, "tournament", interrupt)
        with pytest.raises(KeyboardInterrupt):
            demo.run(config)
    trained = policy.stat().st_mtime_ns
    assert demo._unfinished(config)
    assert not demo._unfinished(replace(config, seed=1)), "another demo is not this one"
    assert not demo._unfinished(replace(config, option=("won_boards=closed",)))
    demo.run(config)
    assert policy.stat().st_mtime_ns == trained
    # Done: asked again, it starts anew.
    assert not demo._unfinished(config)


@pytest.mark.slow
def test_demo_agent_beats_random(tmp_path: Path) -> None:
    """What `make demo` trains wins at least 90 % against random, both seats together."""
    result = train(Config(game=GAME, steps=demo.Config().steps, out=tmp_path / "x", quiet=True))
    trained = agents.load(f"ppo:{result.folder}")
    found = ppo.evaluate(ttt_envs.load(GAME), trained, {"random": agents.load("random")}, 2000, 7, 0)
    assert found[0].win >= 0.9


@pytest.mark.slow
def test_self_play_gets_close_to_best_play_where_dice_decide(tmp_path: Path) -> None:
    """With the settings of the game's page: a regret below 0.02 a round, and more than half of the rounds won."""
    settings = {"learning_rate": 5e-3, "anneal": True, "gamma": 1.0, "gae_lambda": 0.3, "entropy": 0.0005}
    result = train(
        Config(
            game="tic_tac_dice",
            option=("rounds=single",),
            steps=8_000_000,
            self_weight=1.0,
            past_weight=0.0,
            eval_every=8_000_000,
            out=tmp_path / "x",
            quiet=True,
            **settings,
        )
    )
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    trained = agents.load(f"ppo:{result.folder},symmetric=true")
    assert measure(game, trained, games=1000, seed=9).per_game < 0.02
    (against,) = ppo.evaluate(game, trained, {"greedy": agents.load("greedy")}, 4000, 7, 0)
    assert against.score - 1.5 * against.half_width > 0.5
