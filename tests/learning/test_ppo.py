"""Self-play with PPO: what it learns from, what it writes, its command line."""

import json
import re
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from small_training import DICE, EXPLOITED, FILES, GAME, SMALL_DECK, TINY, tiny
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.agents.networks import FORMAT, load_network
from ttt_envs.cli import main
from ttt_envs.evaluation.exploitability import measure as measure_exploitability
from ttt_envs.evaluation.regret import measure as measure_regret
from ttt_envs.learning import ppo
from ttt_envs.learning.ppo import Config, train
from ttt_envs.learning.runs.measurements import Point, Score, read_rows
from ttt_envs.learning.runs.settings import command_line
from ttt_envs.storage.tensors import read_tensors


def scalars(folder: Path, name: str) -> list[tuple[int, float]]:
    """What TensorBoard shows under a name, all calls of a run one after the other."""
    found = []
    for path in sorted((folder / "tensorboard").glob("events*"), key=lambda path: path.stat().st_mtime_ns):
        events = EventAccumulator(str(path))
        events.Reload()
        if name in events.Tags()["scalars"]:  # a call with nothing left to do writes none
            found += [(each.step, each.value) for each in events.Scalars(name)]
    return found


def tensors_of(path: Path) -> dict[str, np.ndarray]:
    return read_tensors(path, FORMAT)[1]


def test_run_folder(run: Path) -> None:
    assert {path.name for path in run.iterdir()} == FILES | {"snapshots"}
    info = load_network(run).info
    assert (info.game, info.kind, info.inputs, info.actions, info.steps) == (GAME, "policy+value", 191, 81, 512)
    steps = [int(path.stem) for path in sorted((run / "snapshots").iterdir())]
    assert steps == [0, 128, 256, 384, 512]
    curve = read_rows(run / "curve.csv", Point)
    assert [(e.steps, e.metric) for e in curve] == [
        (steps, f"eval/{agent}") for steps in (0, 256, 512) for agent in ("random", "greedy")
    ]
    assert Image.open(run / "curve.png").size[0] > 300
    assert scalars(run, "eval/random")[-1] == (512, pytest.approx(curve[-2].value))


def test_the_current_self_is_the_policy_as_it_learns(tmp_path: Path) -> None:
    model = ppo.make_model(tiny(tmp_path), ttt_envs.load(GAME))
    actor, seen = ppo.ActorNet(model.policy), torch.zeros(1, 191)
    with torch.no_grad():
        before = actor(seen)
        model.policy.action_net.bias += 1
        assert torch.allclose(actor(seen), before + 1)


def test_same_seed_same_policy(tmp_path: Path, run: Path) -> None:
    train(tiny(tmp_path / "again", steps=256))
    train(tiny(tmp_path / "other", steps=256, seed=1))
    mine = tensors_of(run / "snapshots" / "000000000256.safetensors")
    again, other = (tensors_of(tmp_path / name / "network.safetensors") for name in ("again", "other"))
    assert all(np.array_equal(mine[name], again[name]) for name in mine)
    assert any(not np.array_equal(mine[name], other[name]) for name in mine)


# --- metrics ---


def test_a_policy_with_a_history(tmp_path: Path) -> None:
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    changes = {**DICE, "history": 2}
    train(tiny(tmp_path, **changes))
    args = ["--resume", "--out", str(tmp_path), "--steps", "640", "--quiet"]
    config = command_line(Config, "ppo", None, args)
    assert config.history == 2
    train(config)
    agent = agents.load(f"network:{tmp_path}")
    info = agent.network.info
    assert (agent.history, info.history, info.steps) == (2, 2, 640)
    assert info.inputs == np.prod(game.encoded_shape("flat", 2)) > np.prod(game.encoded_shape("flat"))
    batch = ttt_envs.Batch(game, 20, seed=0, history=2)
    first = agents.load("random").act(batch.view())
    batch.step(first)
    view = batch.view()
    policy = ppo.read_snapshot(tmp_path / "network.safetensors").policy(view)
    assert np.abs(agent.policy(view) - policy).max() < 1e-5
    assert np.isfinite(agent.value(view)).all()
    evaluation.play_games(game, [agent, "random"], games=5)
    with pytest.raises(ValueError, match="0 decisions of the past"):
        agent.policy(ttt_envs.View(game, batch.states, batch.to_move, np.arange(20)))
    with pytest.raises(ValueError, match="history"):
        train(replace(config, history=1, steps=768))
    with pytest.raises(ValueError, match="trained with history=2"):
        agents.load(f"lookahead:{tmp_path}").check(game)
    with pytest.raises(ValueError, match="history=2, which symmetric=true cannot turn"):
        agents.load(f"network:{tmp_path},symmetric=true")


def test_curve_of_regret(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    result = train(tiny(tmp_path / "with", steps=256, **DICE, quiet=False))
    assert re.search(r"regret per game: \d\.\d{3} ± \d\.\d{3}\n", capsys.readouterr().out)
    curve = read_rows(tmp_path / "with" / "regret.csv", Point)
    assert curve == result.points["regret"]
    assert [each.steps for each in curve] == [0, 256]
    assert Image.open(tmp_path / "with" / "regret.png").size[0] > 300
    # The last one is that of the policy which was saved, acting as it does elsewhere.
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    found = measure_regret(game, agents.load(f"network:{result.folder}"), games=20)
    assert curve[-1].value == pytest.approx(found.per_game)
    assert 0 < curve[-1].half_width == pytest.approx(found.per_game_half_width)
    assert scalars(result.folder, "eval/regret")[-1] == (256, pytest.approx(found.per_game, rel=1e-5))
    # Measuring does not disturb training.
    train(tiny(tmp_path / "without", steps=256, **{**DICE, "regret_games": 0}))
    assert not list((tmp_path / "without").glob("regret*"))
    with_it, without = (tmp_path / name / "network.safetensors" for name in ("with", "without"))
    assert with_it.read_bytes() == without.read_bytes()


def test_what_is_measured_where_nothing_is_said() -> None:
    for game, options, regret in (("super_tic_tac_toe", {}, False), ("tic_tac_dice", {"rounds": "single"}, True)):
        settings = Config(game=game, options=options, steps=1000)
        found = settings.measurements(settings.load())
        assert {each.name: each.every for each in found} == {"score": 100, **({"regret": 100} if regret else {})}


def test_curve_of_exploitability(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    before = train(tiny(folder, steps=256, **EXPLOITED)).points["exploitability"]
    result = train(tiny(folder, resume=True, **EXPLOITED))
    curve = result.points["exploitability"]
    assert [each.steps for each in curve] == [0, 0, 256, 256, 512, 512]
    assert curve[:4] == before
    assert curve[0].value == pytest.approx(curve[1].value, rel=1e-9)  # a mean of one, rounded elsewhere
    assert {each.half_width for each in curve} == {0.0}
    assert Image.open(folder / "exploitability.png").size[0] > 300
    # The last ones are those of what plays elsewhere.
    game = ttt_envs.load("tic_tac_match", **SMALL_DECK)
    for point, average in zip(curve[-2:], ("", ",average=0.5"), strict=True):
        agent = agents.load(f"network:{folder}{average}")
        assert measure_exploitability(game, agent).exploitability == pytest.approx(point.value)
        assert scalars(folder, point.metric)[-1][1] == pytest.approx(point.value)
    assert curve[-2].value != curve[-1].value


def test_a_symmetric_policy_can_be_measured(tmp_path: Path) -> None:
    one, other = (train(tiny(tmp_path / str(flag), symmetric=flag, steps=256, eval_games=30)) for flag in (False, True))
    policies = [(result.folder / "network.safetensors").read_bytes() for result in (one, other)]
    assert policies[0] == policies[1]
    assert one.points["score"] != other.points["score"]
    played = agents.load(f"network:{other.folder},symmetric=true")
    again = Score(ttt_envs.load(GAME), every=1, agents=("random", "greedy"), games=30).measure(played, other.steps)
    assert again == other.points["score"][-2:]


def test_the_weight_of_entropy_changes_linearly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    update = ppo.MaskablePPO.train
    monkeypatch.setattr(ppo.MaskablePPO, "train", lambda model: (used.append(model.ent_coef), update(model))[1])
    train(tiny(tmp_path / "rising", entropy=0.1, entropy_final=0.3, steps=256))
    assert used == pytest.approx([0.2, 0.3])
    used.clear()
    falling = tiny(tmp_path / "falling", entropy=0.1, entropy_final=0.0, steps=256)
    train(falling)
    train(replace(falling, resume=True, steps=512))
    assert used == pytest.approx([0.05, 0.0, 0.0, 0.0])


def test_the_learning_rate_falls_to_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tiny(tmp_path / "x", anneal=True, steps=256)
    train(config)
    capsys.readouterr()
    train(replace(config, resume=True, steps=512, quiet=False))
    assert "The schedules of this run have ended" in capsys.readouterr().out
    rates = [round(value, 9) for _, value in scalars(tmp_path / "x", "train/learning_rate")]
    assert rates == pytest.approx([0.5e-3, 0.0, 0.0, 0.0])


def test_an_interrupted_rollout_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, step = [], ppo.SB3PlayerEnv.step_wait

    def interrupted(env):
        calls.append(env)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return step(env)

    monkeypatch.setattr(ppo.SB3PlayerEnv, "step_wait", interrupted)
    config = tiny(tmp_path / "x", steps=128)
    result = train(config)
    assert (result.finished, result.steps, len(calls)) == (False, 0, 3)
    monkeypatch.undo()
    train(replace(config, resume=True))
    train(tiny(tmp_path / "whole", steps=128))
    files = [(tmp_path / name / "network.safetensors").read_bytes() for name in ("x", "whole")]
    assert files[0] == files[1]


# --- settings ---


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"game": "super_tictactoe"}, "super_tic_tac_toe"),
        ({"opponents": ("ismcts",), "game": "operation_tic_tac_toe"}, "simultaneous"),
        ({"eval_agents": ("random", "random")}, "agent 'random' is listed twice"),
        ({"eval_agents": ("mcts",), "game": "tic_tac_match"}, "hidden information"),
        ({"regret_games": 1}, "regret_games must be 0, or at least 2"),
        ({"regret_games": 9, "options": {"won_boards": "closed"}}, "regret cannot be measured"),
        (
            {"exploitability_every": 9, "game": "martian_tic_tac_toe", "options": {"size": 5, "players": 3}},
            "two players",
        ),
        ({"history": 1, "exploitability_every": 9}, "exploitability_every is for history=0"),
        ({"learning_rate": None}, "learning_rate must be of type float, not None"),
        ({"num_envs": 10**6, "rollout": 10**6}, "num_envs * rollout must be at most 10,000,000"),
        ({"anneal": 1}, "anneal must be of type bool, not 1"),
    ],
)
def test_bad_settings_are_refused(tmp_path: Path, changes: dict, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        train(tiny(tmp_path / "x", **changes))
    assert not (tmp_path / "x").exists()


class Last(agents.Agent):
    """Plays the last legal action."""

    name = "last"

    def act(self, view):
        return np.where(view.masks, np.arange(view.masks.shape[1]), -1).max(axis=1)


def test_agents_may_be_objects_and_options_are_a_dict(tmp_path: Path) -> None:
    asked = []

    def first(observation, mask):
        asked.append(len(observation))
        return int(mask.argmax())

    config = tiny(
        tmp_path / "x",
        game="tic_tac_dice",
        options={"rounds": "single"},
        opponents=(Last(),),
        eval_agents=(first, "random"),
        self_weight=0.0,
        past_weight=0.0,
        steps=128,
    )
    result = train(config)
    assert {each.metric for each in result.points["score"]} == {"eval/first", "eval/random"}
    assert asked
    assert load_network(result.folder).info.options["rounds"] == "single"
    settings = json.loads((result.folder / "config.json").read_text())["settings"]
    assert (settings["opponents"], settings["eval_agents"]) == (["last"], ["first", "random"])
    assert settings["options"] == dict(config.load().options)
    # The run is continued with the same objects.
    assert train(replace(config, resume=True, steps=256)).steps == 256


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "x"
    words = ["tic_tac_dice", "--out", str(out), "--steps", "128", "--option", "rounds=single", "size=3"]
    words += ["--eval-agents", "random", "--opponents", "random", "greedy"]
    for name, value in TINY.items():
        if name not in ("game", "hidden"):
            words += [f"--{name.replace('_', '-')}", str(value)]
    assert main(["train", "ppo", *words, "--hidden", "16"]) == 0
    assert f"The run is in {out}" in capsys.readouterr().out
    settings = json.loads((out / "config.json").read_text())["settings"]
    assert settings["options"] == dict(ttt_envs.load("tic_tac_dice", rounds="single", size=3).options)
    assert settings["opponents"] == ["random", "greedy"]
    assert main(["train", "ppo", *words]) == 2
    assert "holds a run already" in capsys.readouterr().err
    assert main(["train", "ppo", "tic_tac_dice", "--option", "sise=3", "--out", str(tmp_path / "y")]) == 2
    assert "did you mean 'size'?" in capsys.readouterr().err
    with pytest.raises(SystemExit) as status:
        main(["train", "ppo", "--steps", "128"])
    assert status.value.code == 2
    assert "GAME" in capsys.readouterr().err
    # Settings that are not given are those of the run.
    assert main(["train", "ppo", "--resume", "--out", str(out), "--steps", "256"]) == 0
    assert load_network(out).info.steps == 256
    assert main(["train", "ppo", "--resume", f"--out={out}", "--hidden", "128", "128"]) == 2
    assert "hidden is [16] there and [128, 128] here" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.slow
def test_self_play_gets_close_to_best_play_where_dice_decide(tmp_path: Path) -> None:
    """With the settings of the game's page: a regret below 0.02 a round, and more than half of the rounds won."""
    settings = {"learning_rate": 5e-3, "anneal": True, "gamma": 1.0, "gae_lambda": 0.3, "entropy": 0.0005}
    result = train(
        Config(
            game="tic_tac_dice",
            options={"rounds": "single"},
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
    trained = agents.load(f"network:{result.folder},symmetric=true")
    assert measure_regret(game, trained, games=1000, seed=9).per_game < 0.02
    (against,) = Score(game, every=1, agents=["greedy"], games=4000, seed=7).measure(trained, 0)
    assert against.value - 1.5 * against.half_width > 0.5
