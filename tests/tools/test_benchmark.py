"""The benchmark."""

import json
from dataclasses import replace
from importlib.util import find_spec

import pytest

from tools import benchmark
from tools.timings import GOALS
from ttt_envs import registry

SUPER = "super_tic_tac_toe"


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")


QUICK = benchmark.Config(seconds=0.02, repeats=2)


@pytest.mark.parametrize("part", ["aec", "wrappers", "batch", "cursor", "search"])
def test_benchmark_measures(part):
    found = list(benchmark.measure(replace(QUICK, only=(part,), games=(SUPER,))))
    assert found
    assert len({m.what for m in found}) == len(found)
    for m in found:
        assert m.value > 0 or m.note == "skipped: pyspiel is not installed"
        assert m.game == SUPER
    goals = {name: v for name, v in GOALS["games"][SUPER].items() if name.startswith(part)}
    if find_spec("pyspiel") is None:  # a ratio to OpenSpiel is then not measured
        goals.pop("cursor / ultimate_tic_tac_toe", None)
    assert [m.goal for m in found if m.goal is not None] == list(goals.values())


@pytest.mark.parametrize("part", ["aec", "batch", "search"])
def test_benchmark_measures_any_kind_of_game(toy, part):
    found = list(benchmark.measure(replace(QUICK, only=(part,), games=("toy_coin",))))
    assert all(m.value > 0 for m in found) == (part != "search")
    if part == "search":
        assert "skipped: agent mcts:simulations=1000 plays only games" in found[0].note


@pytest.mark.parametrize("game_id", ["toy_coin", "operation_tic_tac_toe"])  # one player begins the latter alone
def test_playouts_by_a_cursor_are_for_games_in_which_one_player_acts_at_a_time(toy, game_id):
    (found,) = benchmark.measure(replace(QUICK, only=("cursor",), games=(game_id,)))
    assert found.note == "skipped: several players act at once"


def test_benchmark_of_training(monkeypatch):
    names = {learner.what: learner for learner in benchmark.LEARNERS}
    quick = [replace(names["masked DQN"], steps=2000), replace(names["n-tuple TD learning"], steps=2000)]
    monkeypatch.setattr(benchmark, "LEARNERS", tuple(quick))
    first, second = benchmark.measure(replace(QUICK, only=("training",), games=("tic_tac_dice",)))
    assert first.value > 0
    assert first.unit == "decisions/s"
    assert "skipped: " in second.note, "the game has no patterns"


def test_benchmark_of_a_fresh_process(tmp_path):
    assert 0 < benchmark.start_seconds("import ttt_envs", tmp_path) < 60
    with pytest.raises(RuntimeError, match="no such thing"):
        benchmark.start_seconds("raise SystemExit('no such thing')", tmp_path)


def test_goals_are_judged_honestly():
    fast, slow = (benchmark.Timing("g", "w", v, "moves/s", goal=10.0) for v in (10.0, 9.9))
    quick, late = (benchmark.Timing("g", "w", v, "s", goal=1.0) for v in (1.0, 1.1))
    none = benchmark.Timing("g", "w", float("nan"), "s", goal=1.0, note="skipped: not there")
    assert [m.met for m in (fast, slow, quick, late, none)] == [True, False, True, False, None]
    (table,) = benchmark.tables([fast, slow, quick, late, none])
    assert [row[-1] for row in table.rows] == ["met", "NOT met", "met", "NOT met", ""]
    assert table.note == "w: skipped: not there\n2 of 4 goals met"


def test_benchmark_command_line(tmp_path, capsys):
    words = ["--only", "search", "--seconds", "0.02", "--repeats", "1", "--out", str(tmp_path)]
    assert benchmark.main([*words, "--games", SUPER]) == 0
    assert "mcts" in capsys.readouterr().out
    data = json.loads((tmp_path / "benchmark.json").read_text())
    assert data["complete"]
    assert data["measurements"][0]["value"] > 0
    assert benchmark.main([*words, "--games", "super_tic_tac"]) == 2
    assert "did you mean 'super_tic_tac_toe'" in capsys.readouterr().err
    assert benchmark.main([*words, "--seconds", "0"]) == 2


def test_interrupted_benchmark_keeps_what_is_measured(tmp_path, monkeypatch):
    def interrupted(game_id, config):
        raise KeyboardInterrupt

    monkeypatch.setitem(benchmark.PARTS, "training", interrupted)
    words = ["--only", "search", "training", "--seconds", "0.02", "--repeats", "1", "--out", str(tmp_path)]
    assert benchmark.main([*words, "--games", SUPER]) == 130
    data = json.loads((tmp_path / "benchmark.json").read_text())
    assert {each["game"] for each in data["measurements"]} == {SUPER}
    assert not data["complete"]
