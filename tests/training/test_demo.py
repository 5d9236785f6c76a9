"""The demo: every game, and what happens to results that are there already."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import ttt_envs
from training import demo
from ttt_envs import agents


@pytest.fixture(autouse=True)
def few_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "REGRET_GAMES", 20)
    monkeypatch.setattr(demo, "POINTS", 2)


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    config = demo.Config(
        game="tic_tac_dice",
        option=("rounds=single",),
        steps=3000,
        games=4,
        rivals=("random", "mcts:simulations=2", "oracle"),
        out=tmp_path / "demo",
    )
    folder = demo.demo(config)
    assert folder == config.out
    printed = capsys.readouterr().out
    assert re.search(
        r"It loses 0\.\d{3} per game to optimal play; random 0\.\d{3}, greedy 0\.\d{3}, optimal play 0\.", printed
    )
    for name in ("curve.png", "tournament/report.md", "game.gif"):
        assert (folder / name).is_file()
        assert str(folder / name) in printed
    assert "oracle" in (folder / "tournament" / "report.md").read_text()
    film = Image.open(folder / "game.gif")
    assert film.n_frames > 5  # no round is shorter
    colours = np.asarray(film.convert("RGB")).reshape(-1, 3)
    assert len(np.unique(colours, axis=0)) > 3


def test_where_regret_is_not_known_the_ladder_says_how_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "RUNG_GAMES", 4)
    assert demo.given_away(ttt_envs.load("super_tic_tac_toe"), 0) == {}
    said = " ".join(demo.place(ttt_envs.load("super_tic_tac_toe"), "random", 0))
    found = re.search(r"stands at -?\d+ Elo \((-?\d+) to (-?\d+)\); random 0, greedy \d+, \S+ \d+\.$", said)
    assert found
    assert int(found[1]) < 0 < int(found[2])
    without = ttt_envs.load("tic_tac_match", colours=1, copies=4, hand_size=1)
    assert demo.place(without, "random", 0) == []


def test_an_interrupted_demo_continues_and_a_finished_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = demo.Config("tic_tac_dice", ("rounds=single",), 1000, 2, ("random",), out=tmp_path / "demo")
    policy = config.out / "training" / "network.safetensors"

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(demo, "tournament", interrupt)
        with pytest.raises(KeyboardInterrupt):
            demo.demo(config)
    trained = policy.stat().st_mtime_ns
    known = demo.given_away(ttt_envs.load("tic_tac_dice", rounds="single"), config.seed)
    assert 0 < known["greedy"] < known["random"]
    numbered = tmp_path / "demo-2", False
    assert demo.folder_for(replace(config, seed=1), {"rounds": "single"}, known) == numbered, (
        "another demo is not this one"
    )
    assert demo.folder_for(config, {}, known) == numbered
    assert demo.demo(config) == config.out
    assert policy.stat().st_mtime_ns == trained
    # Done: asked again, it leaves the results alone.
    assert demo.folder_for(config, {"rounds": "single"}, known) == numbered


@pytest.mark.parametrize("game_id", list(ttt_envs.GAMES))
def test_every_game_has_a_learner_an_agent_that_plays_what_it_makes_and_rivals(game_id: str, tmp_path: Path) -> None:
    game = ttt_envs.load(game_id)
    method = demo.method_for(game)
    config = demo.training_config(demo.Config(game_id, seed=3), {}, {}, tmp_path / "x", resume=False)
    config.check()
    assert (config.game, config.seed, config.steps) == (game_id, 3, method.steps)
    with pytest.raises(FileNotFoundError, match="no network file"):
        agents.load(method.agent.format(folder=tmp_path))
    rivals = demo.default_rivals(game)
    assert {"random", "greedy"} < set(rivals)
    for name in rivals:
        agents.load(name).check(game)


def test_what_is_wrong_is_said_before_anything_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "given_away", lambda game, seed: {})
    for changes, words in (
        ({"games": 0}, "games must be a whole number from 1"),
        ({"rivals": ("random", "nobody")}, "unknown agent 'nobody'"),
        ({"rivals": ("random", "random")}, "two agents are called 'random'"),
        ({"steps": 0}, "steps must be a whole number from 1"),
    ):
        with pytest.raises(ValueError, match=words):
            demo.demo(demo.Config("tic_tac_dice", out=tmp_path / "x", **changes))
        assert not (tmp_path / "x").exists()


def test_a_short_name_of_a_game_is_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "given_away", lambda game, seed: {})
    monkeypatch.setattr(demo, "_demo", lambda config, *_: config)
    assert (found := demo.demo(demo.Config("dice", out=tmp_path))) == demo.demo(demo.Config(out=tmp_path))
    assert (found.game, found.option) == ("tic_tac_dice", ("rounds=single",))
