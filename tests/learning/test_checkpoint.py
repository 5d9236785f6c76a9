"""What a run folder keeps: settings, versions, what a resumed run needs."""

import errno
import json
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_training import GAME, copy_files, tiny

import ttt_envs
from ttt_envs.agents.networks import load_network
from ttt_envs.cli import main
from ttt_envs.learning import ppo, value_learning
from ttt_envs.learning.ppo import Config, train
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.logs import read_log
from ttt_envs.learning.runs.measurements import Point, read_rows
from ttt_envs.learning.runs.settings import command_line
from ttt_envs.storage.files import InUse, locked_folder
from ttt_envs.storage.tensors import BadTensorFile, read_tensors


def test_config_says_what_is_needed_to_repeat_the_run(run: Path) -> None:
    found = json.loads((run / "config.json").read_text())
    assert found["versions"]["ttt_envs"] == ttt_envs.__version__
    assert found["versions"]["torch"] == torch.__version__
    assert {"python", "numpy", "numba", "stable_baselines3", "sb3_contrib"} < set(found["versions"])
    assert found["seconds"] > 0
    assert found["settings"]["hidden"] == [16]
    assert not {"out", "resume", "quiet"} & set(found["settings"])
    words = shlex.split(found["command"])
    assert words[:4] == ["ttt", "train", "ppo", GAME]
    assert command_line(Config, "x", None, [*words[3:], "--quiet"]) == tiny(run)


def test_settings_may_be_texts_and_lists() -> None:
    given = Config(game="super", out="runs/x", hidden=[16], eval_agents=["greedy"])  # type: ignore[arg-type]
    given.check()
    assert given == Config(game=GAME, out=Path("runs/x"), hidden=(16,), eval_agents=("greedy",))


def test_a_command_with_every_kind_of_setting() -> None:
    options = {"rounds": "single", "size": 3}
    config = tiny(Path("a b"), game="tic_tac_dice", options=options, opponents=(), anneal=True, entropy_final=0.5)
    words = shlex.split(checkpoint.Run(config, "ppo").command)
    assert command_line(Config, "x", None, [*words[3:], "--quiet"]) == config


def test_resume_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    episodes, reset = [], ppo.SB3PlayerEnv.reset

    def noted(env: ppo.SB3PlayerEnv) -> Any:
        found = reset(env)
        episodes.append(set(env._games.batch.episode_seeds.tolist()))
        return found

    monkeypatch.setattr(ppo.SB3PlayerEnv, "reset", noted)
    config = tiny(tmp_path / "x", steps=256, snapshot_every=256)
    train(config)
    seconds = json.loads((config.out / "config.json").read_text())["seconds"]
    result = train(replace(config, resume=True, steps=512))
    assert result.steps == 512
    assert len(episodes) == 2
    assert not episodes[0] & episodes[1], "the games of the beginning are played again"
    assert sorted(int(path.stem) for path in (config.out / "snapshots").iterdir()) == [0, 256, 512]
    curve = read_rows(config.out / "curve.csv", Point)
    assert curve == result.points["score"]
    assert [e.steps for e in curve] == [0, 0, 256, 256, 512, 512]
    found = json.loads((config.out / "config.json").read_text())
    assert found["settings"]["steps"] == 512
    assert found["seconds"] > seconds


def test_resumed_model_is_the_saved_one(tmp_path: Path, run: Path) -> None:
    fresh = ppo.make_model(tiny(run, seed=9), ttt_envs.load(GAME))
    steps, done = checkpoint.restore(run, ppo.parts_of(fresh))
    assert steps == 512
    checkpoint.save(tmp_path, steps, ppo.parts_of(fresh), done)
    # The optimiser's moments are there too, and the file written back is the same.
    _, tensors = read_tensors(run / "resume.safetensors", checkpoint.RESUME_FORMAT)
    assert tensors["optimizer.0.exp_avg"].any()
    assert (tmp_path / "resume.safetensors").read_bytes() == (run / "resume.safetensors").read_bytes()


def test_resume_of_a_finished_run_does_nothing(run: Path) -> None:
    def files() -> dict[Path, bytes]:
        return {path: re.sub(rb'"seconds": [\d.]+', b"", path.read_bytes()) for path in run.glob("*.*")}

    before = files()
    assert train(tiny(run, resume=True)).steps == 512
    assert files() == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden": (8, 8), "seed": 3}, "seed is 0 there and 3 here; hidden is [16] there and [8, 8] here"),
        ({"options": {"won_boards": "closed"}}, 'options is {"first_move": "center_board", "won_boards": "open", '),
    ],
)
def test_other_settings_are_not_resumed(run: Path, changes: dict, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"the run in {run} has other settings: {words}")):
        train(tiny(run, resume=True, steps=1024, **changes))


def test_another_game_than_that_of_the_run_is_named(run: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(f"the run in {run} is of {GAME}, not of tic_tac_dice")):
        command_line(Config, "ppo", None, ["dice", "--resume", "--out", str(run)])


def test_fewer_steps_than_were_trained_are_refused(run: Path) -> None:
    before = (run / "config.json").read_bytes()
    with pytest.raises(ValueError, match="has been trained on 512 decisions already, more than --steps, 400"):
        train(tiny(run, resume=True, steps=400))
    assert (run / "config.json").read_bytes() == before


def test_another_method_than_that_of_the_run_is_named(run: Path) -> None:
    with pytest.raises(ValueError, match=r"of another method: .*; it was made by ttt train ppo "):
        command_line(value_learning.Config, "value_learning", None, ["--resume", "--out", str(run)])


def test_nothing_to_resume(run: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing to resume: no file \S+config\.json"):
        train(tiny(tmp_path, resume=True))
    (tmp_path / "config.json").write_bytes((run / "config.json").read_bytes())
    with pytest.raises(FileNotFoundError, match=r"nothing to resume: no file \S+resume\.safetensors"):
        train(tiny(tmp_path, resume=True))


def test_files_of_another_method_or_network(run: Path, tmp_path: Path) -> None:
    folder = copy_files(run, tmp_path / "x")
    (folder / "config.json").write_text('{"settings": {"tables": 3}, "seconds": 1}')
    with pytest.raises(ValueError, match="damaged, or of another method"):
        checkpoint.saved(Config, folder)
    other = ppo.make_model(tiny(run, hidden=(8,)), ttt_envs.load(GAME))
    with pytest.raises(BadTensorFile, match="does not fit"):
        checkpoint.restore(folder, ppo.parts_of(other))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learning_rate": None}, "learning_rate must be of type float, not None"),
        ({"gamma": 1e300}, "gamma must be a number from 0 to 1, not 1e+300"),
        ({"tables": 3}, "unexpected keyword argument 'tables'"),
        ({"eval_agents": [3]}, "an agent is a text such as 'random'"),
        ({"options": {"won_bords": "open"}}, "did you mean 'won_boards'"),
    ],
)
def test_a_config_with_wrong_values_is_an_error_of_one_line(
    run: Path, tmp_path: Path, changes: dict, words: str, capsys: pytest.CaptureFixture
) -> None:
    folder = copy_files(run, tmp_path / "x")
    found = json.loads((folder / "config.json").read_text())
    found["settings"].update(changes)
    (folder / "config.json").write_text(json.dumps(found))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert main(["train", "ppo", "--resume", "--out", str(folder), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("setting", ["opponents", "eval_agents"])
def test_what_a_run_folder_names_is_run_only_if_it_is_named(
    run: Path, tmp_path: Path, setting: str, capsys: pytest.CaptureFixture
) -> None:
    folder, ran = copy_files(run, tmp_path / "x"), tmp_path / "ran"
    (tmp_path / "mine.py").write_text(
        f"open({str(ran)!r}, 'a')\nfrom ttt_envs.agents.random import RandomAgent as Mine\n"
    )
    found = json.loads((folder / "config.json").read_text())

    def names(**changes: Any) -> None:
        (folder / "config.json").write_text(json.dumps({**found, "settings": {**found["settings"], **changes}}))

    words, flag = ["--resume", "--out", str(folder), "--quiet"], f"--{setting.replace('_', '-')}"
    for agent in (f"{tmp_path}/mine.py:Mine", f"mixed:oracle:{tmp_path}/mine.py:Mine,random=0.1"):
        names(**{setting: ["random", agent]})
        assert main(["train", "ppo", *words]) == 2
        said = capsys.readouterr().err
        assert f"which may run programs or open files: if you want it to be run, name all agents of {flag}" in said
        with pytest.raises(ValueError, match="if you want it to be run"):
            checkpoint.saved(Config, folder)
        resumed = command_line(Config, "x", None, [*words, flag, "random", agent])
        assert getattr(resumed, setting) == ("random", agent)
        again = shlex.split(checkpoint.Run(resumed, "ppo").resume_command)
        assert again == ["ttt", "train", "ppo", *words[:3], flag, "random", agent]
    names(game=f"{tmp_path.name}.mine:make")
    assert main(["train", "ppo", *words]) == 2
    assert "name the game beside --resume" in capsys.readouterr().err
    assert not ran.exists()


def test_a_run_folder_names_no_server(tmp_path: Path) -> None:
    config = value_learning.Config(game=GAME, out=tmp_path, wandb="mine", quiet=True)
    this = checkpoint.Run(config, value_learning.NAME)
    this.write_config()
    assert checkpoint.saved(value_learning.Config, tmp_path).wandb is None
    assert this.resume_command.endswith(f"--out {tmp_path} --wandb mine")


def test_a_run_is_written_by_one_process(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = copy_files(run, tmp_path / "x")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with locked_folder(folder):
        words = rf"x is being written by process {os.getpid()} on "
        for config in (tiny(folder), tiny(folder, resume=True, steps=1024)):
            with pytest.raises(InUse, match=words):
                train(config)
        assert main(["train", "ppo", "--resume", "--out", str(folder), "--quiet", "--steps", "1024"]) == 2
        assert re.search(words, capsys.readouterr().err)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_full_disk_loses_at_most_a_rollout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    real, calls, full = os.fsync, 0, 10**9

    def fsync(number: int) -> None:
        nonlocal calls
        calls += 1
        if calls > full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    out = tmp_path / "x"
    words = [GAME, "--out", str(out), "--steps", "256", "--num-envs", "16", "--rollout", "8", "--hidden", "8"]
    words += ["--eval-games", "2", "--eval-agents", "random", "--snapshot-every", "128", "--quiet"]
    full = 2
    assert main(["train", "ppo", *words]) == 2
    assert re.search(r"network\.safetensors cannot be written: No space left", capsys.readouterr().err)
    assert not (out / "resume.safetensors").exists(), "nothing to resume: the same command begins anew"
    for more in (5, 1, 2, 3, 4):
        calls, full = 0, more
        assert main(["train", "ppo", *words]) == 2
        said = capsys.readouterr().err
        assert "cannot be written: No space left on device\n" in said
        assert "Traceback" not in said
        assert not list(out.rglob(".*")), "neither locks nor parts of files"
        assert load_network(out).info.steps >= 0
        assert "ttt train ppo --resume --out" in said
        words = ["--resume", "--out", str(out), "--quiet"]
    full = 10**9
    assert main(["train", "ppo", *words]) == 0
    assert load_network(out).info.steps == 256


def test_a_resumed_run_counts_what_it_collected_before(tmp_path: Path) -> None:
    """A warm-up of 400 positions, in two halves of 300: the second learns after 100."""
    small: dict[str, Any] = {"game": GAME, "num_envs": 50, "batch": 20, "hidden": (8,), "warm_up": 400, "quiet": True}
    least: dict[str, Any] = {"eval_every": 10**6, "eval_games": 2, "eval_agents": ("random",), "regret_games": 0}
    config = value_learning.Config(**small, **least, steps=300, out=tmp_path / "x")
    value_learning.train(config)
    first = load_network(tmp_path / "x").tensors
    value_learning.train(replace(config, steps=600, resume=True))
    second = load_network(tmp_path / "x").tensors
    assert any(not np.array_equal(first[name], second[name]) for name in first)
    lines = read_log(tmp_path / "x/log.jsonl")
    rates = [line["train/learning_rate"] for line in lines if "train/learning_rate" in line]
    assert rates
    assert max(rates) == pytest.approx(config.learning_rate / 100), "a schedule that has ended does not begin again"


def test_a_schedule_never_goes_back(tmp_path: Path) -> None:
    config = tiny(tmp_path / "x", steps=512)
    train(config)
    parts = ppo.parts_of(ppo.make_model(config, ttt_envs.load(GAME)))
    more = checkpoint.Run(replace(config, steps=2048, resume=True), "ppo")
    more.restore(parts)
    assert [more.done(steps) for steps in (512, 1024)] == [1.0, 1.0]
    checkpoint.save(config.out, 512, parts, 0.5)
    more.restore(parts)
    assert [more.done(steps) for steps in (512, 1024, 1536, 4096)] == [0.5, 0.5, 0.75, 1.0]
