"""The benchmark."""

import json
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import ttt_envs
from tools import arena, benchmark, searches
from tools.timings import GOALS
from ttt_envs import agents, registry
from ttt_envs.agents.search import mcts
from ttt_envs.core import jit
from ttt_envs.core.view import View

SUPER = "super_tic_tac_toe"


@pytest.fixture
def toy(monkeypatch):
    """The toy game as a registered one."""
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")


QUICK = benchmark.Config(seconds=0.02, repeats=2)


@pytest.mark.parametrize("part", ["aec", "wrappers", "batch", "threads", "cursor", "search"])
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


@pytest.mark.parametrize("part", ["aec", "batch", "threads", "search"])
def test_benchmark_measures_any_kind_of_game(toy, part):
    """Three players who choose at once; tree search refuses them."""
    found = list(benchmark.measure(replace(QUICK, only=(part,), games=("toy_coin",))))
    assert all(m.value > 0 for m in found) == (part != "search")
    if part == "search":
        assert "skipped: agent mcts:simulations=1000 plays only games" in found[0].note


@pytest.mark.parametrize("game_id", ["toy_coin", "operation_tic_tac_toe"])  # one player begins the latter alone
def test_playouts_by_a_cursor_are_for_games_in_which_one_player_acts_at_a_time(toy, game_id):
    (found,) = benchmark.measure(replace(QUICK, only=("cursor",), games=(game_id,)))
    assert found.note == "skipped: several players act at once"


def test_what_was_measured_before_an_error_is_kept(tmp_path, monkeypatch, capsys):
    def measured(config, progress):
        yield benchmark.Timing(SUPER, "cursor", 5.0, "plies/s")
        raise ValueError("no more")

    monkeypatch.setattr(benchmark, "measure", measured)
    assert benchmark.main(["--out", str(tmp_path)]) == 2
    assert "error: no more" in capsys.readouterr().err
    kept = json.loads((tmp_path / "benchmark.json").read_text())
    assert (kept["complete"], [each["value"] for each in kept["measurements"]]) == (False, [5.0])


@pytest.mark.slow  # compiles a search three times more, each time anew
@pytest.mark.skipif(jit.DISABLED, reason="counts the cycles of compiled kernels")
def test_the_parts_of_a_search_are_those_of_the_same_search(monkeypatch):
    game, spec = ttt_envs.load(SUPER), "mcts:simulations=50"
    watch = searches.Watch(("simulate",))
    view = View(game, game.new_state(0), np.zeros(1, np.int64), np.zeros(1, np.uint64))
    wanted = agents.load(spec).search(view)
    monkeypatch.setattr(jit, "specialise", watch.specialise)
    monkeypatch.setattr(mcts, "kernel_for", mcts.kernel_for.__wrapped__)
    assert np.array_equal(agents.load(spec).search(view), wanted)
    calls = {kernel: int(number) for (_, kernel), (number, _) in watch.counts.items()}
    assert calls["back_up"] == calls["resample"] == 50
    assert calls["legal_mask"] == calls["best_child"] >= 50 + calls["arrive"]
    monkeypatch.undo()
    monkeypatch.setattr(searches, "SPECS", (spec,))
    assert not list(searches.bench_kernels("tic_tac_match", QUICK)), "MCTS does not play it"
    whole, *parts = searches.bench_kernels(SUPER, QUICK)
    assert whole.value > 0
    (playouts,) = (m.value for m in parts if m.what.startswith(f"{spec}, simulate: playout,"))
    assert 30 < playouts < 130
    monkeypatch.setattr(searches, "SPECS", ("alphabeta:depth=2",))
    assert any(", search: expand," in part.what for part in searches.bench_kernels(SUPER, QUICK))


def test_benchmark_of_tournaments(toy, monkeypatch):
    """The loop plays every pair from all seats, as the tournament does."""
    game = ttt_envs.load("toy_coin")
    loop = arena.play_loop(game, ["random", "greedy", "mixed:random"], 0.001)
    assert loop.games % 6 == 0
    assert loop.games >= 6
    assert loop.moves >= 2 * loop.games
    assert 0 < loop.thinking < loop.seconds
    asked = []
    usual = arena.tournament

    def tournament(*given, workers=None, **settings):
        asked.append((settings["games"], workers))
        return usual(*given, **settings)

    monkeypatch.setattr(arena, "tournament", tournament)
    monkeypatch.setattr(arena, "find", lambda game: SimpleNamespace(rungs=("random", "greedy")))
    found = {m.what: m for m in arena.bench_arena("toy_coin", QUICK, {"arena / ladder": 1e9})}
    assert all(m.value > 0 for m in found.values())
    assert [workers for _, workers in asked[-2:]] == [2, None]
    assert asked[-1][0] == asked[-2][0] == arena.MORE * asked[-3][0]
    whole, several = found["ladder: tournament"], found["ladder: loop over make_aec"]
    ratio = found["ladder: tournament / loop"]
    assert ratio.value == pytest.approx(whole.value / several.value)
    assert ratio.met is False
    assert found["random, greedy: tournament / loop"].met is None


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
