"""An agent on the ladders of all games: in turn, side by side, interrupted."""

import json
import os
import signal
import time
from importlib import import_module

import pytest
import toy_coin
from stubborn import Stubborn
from tournaments import started, wait_for_the_end_of

from ttt_envs import cli, evaluation, registry
from ttt_envs.core import jit
from ttt_envs.evaluation.placements import ladder as rungs

ladders = import_module("ttt_envs.evaluation.placements.ladders")  # `evaluation.ladders` is the function

QUICK = {"games": 8, "pace": 1e-4, "quiet": True}


def bare(*, players: int = 2, tosses: int = 1):
    """The toy game under an id that has no ladder."""
    return toy_coin.make(players=players, tosses=tosses).replace(id="bare", factory=bare)


def three(*, players: int = 3, tosses: int = 1):
    """The toy game of three players under an id of its own."""
    return toy_coin.make(players=players, tosses=tosses).replace(id="three", factory=three)


@pytest.fixture
def toys(monkeypatch, tmp_path):
    """Two toy games with a ladder and one without, and an empty current folder."""
    games = {"toy_coin": toy_coin.make, "three": three, "bare": bare}
    for module in (registry, ladders):
        monkeypatch.setattr(module, "GAMES", games)
    folder = tmp_path / "ladders"
    folder.mkdir()
    monkeypatch.setattr(rungs, "folder_of", lambda game: folder)
    for game_id in ("toy_coin", "three"):
        report = evaluation.calibrate(game_id, ["random", "greedy"], games=24, quiet=True)
        (folder / f"{game_id}.json").write_text(report.ladder.text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_an_agent_is_placed_in_every_game(toys, tmp_path, capsys):
    assert cli.main(["ladders", "--agent", "greedy:samples=2", "--games", "8", "--out", "x"]) == 0
    printed = capsys.readouterr().out
    assert "bare is left out: bare comes with no ladder" in printed
    found = {path.name: json.loads((path / "results.json").read_text()) for path in (tmp_path / "x").glob("t*")}
    assert set(found) == {"toy_coin", "three"}
    assert found["toy_coin"]["games_played"] == 8
    assert found["three"]["games_played"] == 12, "each seed from all six seats"
    for game_id, results in found.items():
        assert results["command"].startswith(f"ttt ladder {game_id} --agent greedy:samples=2 --games 8")
        assert f"{results['rating']:.0f}" in printed
    board = (tmp_path / "x" / "leaderboard" / "leaderboard.md").read_text()
    assert "three/results.json" in board
    alone = evaluation.ladder("three", "greedy:samples=2", **QUICK)
    assert evaluation.ladders("greedy:samples=2", **QUICK).places["three"].rating == alone.rating


def test_all_ladders_are_shown(toys, capsys):
    assert cli.main(["rungs"]) == 0
    printed = capsys.readouterr().out
    assert "toy_coin" in printed
    assert "three" in printed
    assert "bare" not in printed


def test_an_interrupt_keeps_what_is_done(toys, tmp_path, monkeypatch):
    usual = ladders.ladder

    def ladder(game, agent, **given):
        if game == "three":
            raise KeyboardInterrupt
        return usual(game, agent, **given)

    monkeypatch.setattr(ladders, "ladder", ladder)
    found = evaluation.ladders("greedy:samples=2", out=tmp_path / "x", **QUICK)
    assert not found.complete
    assert set(found.places) == {"toy_coin"}
    assert (tmp_path / "x" / "leaderboard" / "leaderboard.html").exists()
    monkeypatch.setattr(registry, "GAMES", {"three": three})
    monkeypatch.setattr(ladders, "GAMES", {"three": three})
    with pytest.raises(KeyboardInterrupt, match="no ladders were finished"):
        evaluation.ladders("greedy:samples=2", **QUICK)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agent", "mcts"], "agent 'mcts' has a place in no game: toy_coin: agent mcts plays only games"),
        (["--agent", "radnom"], "did you mean 'random'"),
        (["--agent", "human", "--workers", "2"], "a person plays in this process"),
    ],
)
def test_wrong_lines(toys, words, message, capsys):
    assert cli.main(["ladders", *words]) == 2
    assert message in capsys.readouterr().err


def test_unknown_settings_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'tragte'"):
        evaluation.ladders("random", tragte=3)


def test_objects_are_not_sent_to_processes():
    with pytest.raises(TypeError, match="several workers need an agent that is named by a text"):
        evaluation.ladders(Stubborn(), workers=2, **QUICK)


# --- processes ---


class Sent:
    """Stands for the process of a placement."""

    def __init__(self, serve, placing):
        self.placing, self.process = placing, None

    def read(self):
        return None if self.placing.game_id == "three" else self.placing.place()


def test_a_process_that_is_killed_loses_its_game_alone(toys, monkeypatch, capsys):
    ended = []
    monkeypatch.setattr(ladders, "Worker", Sent)
    monkeypatch.setattr(ladders, "with_news", lambda team: team[:1])
    monkeypatch.setattr(ladders, "end", ended.extend)
    monkeypatch.setattr(ladders, "ending_of", lambda process: "killed by SIGKILL")
    words = ["ladders", "--agent", "greedy:samples=2", "--games", "8", "--workers", "2", "--out", "x"]
    assert cli.main(words) == 2
    printed = capsys.readouterr().out
    assert "three is lost: its process ended: killed by SIGKILL" in printed
    assert "toy_coin" in printed
    assert len(ended) == 2


@pytest.mark.slow
@pytest.mark.skipif(jit.DISABLED, reason="processes need seconds to start without the JIT, too")
def test_processes_change_no_result(tmp_path, monkeypatch):
    given = {"games": 16, "pace": 1e-4, "quiet": True}
    several = evaluation.ladders("greedy:samples=2", workers=2, out=tmp_path / "x", **given)
    assert several.complete
    assert len(several.places) == len(registry.GAMES)
    for game_id in ("super_tic_tac_toe", "tic_tac_super_dice"):
        alone = evaluation.ladder(game_id, "greedy:samples=2", **given)
        assert several.places[game_id].rating == alone.rating


@pytest.mark.slow
@pytest.mark.skipif(jit.DISABLED, reason="processes need seconds to start without the JIT, too")
@pytest.mark.parametrize("everybody", [False, True], ids=["first", "terminal"])
def test_ctrl_c_keeps_what_processes_have(everybody, tmp_path):
    """Sent to the first process alone, or to all as a terminal does."""
    words = "ladders", "--agent", "greedy", "--target", "1", "--games", "1000000", "--workers", "2"
    with started(*words, "--out", str(tmp_path / "x")) as process:
        latest = time.monotonic() + 100
        while len(list((tmp_path / "x").glob("*/.lock"))) < 2:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < latest
            time.sleep(0.1)
        time.sleep(20)  # some games
        (os.killpg if everybody else os.kill)(process.pid, signal.SIGINT)
        printed, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
        assert "Traceback" not in said, said
        assert "Partial: interrupted" in printed
        wait_for_the_end_of(process)
    found = [json.loads(path.read_text()) for path in (tmp_path / "x").glob("*/results.json")]
    assert 0 < len(found) <= 2
    assert all(each["games_played"] > 0 and not each["complete"] for each in found)
