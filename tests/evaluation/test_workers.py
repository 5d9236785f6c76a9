"""Tournaments in several processes: the same rows, whatever happens to the processes."""

import json
import multiprocessing
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import toy_coin
from stubborn import Stubborn
from tournaments import TOY, begun, environment, interrupted, resumed, wait_for_the_end_of

from ttt_envs import evaluation
from ttt_envs.agents import Agent
from ttt_envs.core import jit
from ttt_envs.evaluation.arena.seating import line_up
from ttt_envs.evaluation.tournaments import workers
from ttt_envs.evaluation.tournaments.jobs import Contest, Job
from ttt_envs.evaluation.tournaments.workers import Failed, Recipe, Unfinished

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="processes need seconds to start without the JIT, too")


def play(out, agents, **changes):
    """A tournament of the toy game, and the bytes of its rows."""
    report = evaluation.tournament(TOY, agents, **{"games": 60, "resamples": 10, "out": out, "quiet": True, **changes})
    return report, (out / "games.safetensors").read_bytes()


def deadly(folder, kills=0):
    """The name of an agent that will kill so many processes."""
    folder.mkdir(exist_ok=True)
    for kill in range(kills):
        (folder / f"kill-{kill}").touch()
    return f"deadly:Deadly:{folder}"


def records(out):
    """The games of a tournament as they are recorded, but for their times."""
    found = [json.loads(line) for line in (out / "games.jsonl").read_text().splitlines()]
    return [{name: value for name, value in each.items() if name != "seconds"} for each in found]


def test_rows_and_records_are_the_same_whoever_plays_and_after_an_end_on_the_way(tmp_path):
    lineup = ["random", "greedy", Stubborn()]
    report, rows = play(tmp_path / "one", lineup, record=True)
    several, same = play(tmp_path / "two", lineup, workers=2, chunk=16, record=True)
    assert rows == same
    assert several.complete
    for one, two in zip(report.pairings, several.pairings, strict=True):
        np.testing.assert_array_equal(one.games.decisions, two.games.decisions)
    assert not multiprocessing.active_children()
    play(tmp_path / "pieces", lineup, games=20, record=True)
    play(tmp_path / "pieces", lineup, resume=True, record=True)
    assert records(tmp_path / "two") == records(tmp_path / "pieces") == (whole := records(tmp_path / "one"))
    assert [each["number"] for each in whole] == list(range(180))


@pytest.mark.slow
def test_a_killed_process_costs_nothing_but_time(tmp_path):
    agent = deadly(tmp_path / "d", kills=2)
    report, rows = play(tmp_path / "two", ["random", agent, "greedy"], workers=2, chunk=16)
    assert report.complete
    assert [len(pairing.games) for pairing in report.pairings] == [60, 60, 60]
    assert not list((tmp_path / "d").iterdir()), "both have killed"
    assert rows == play(tmp_path / "one", ["random", agent, "greedy"])[1]


@pytest.mark.slow
def test_a_pairing_that_kills_each_process_is_named_and_the_others_are_played(tmp_path):
    agent = deadly(tmp_path / "d", kills=1000)
    words = (
        r"not all pairings could be played: random – deadly:Deadly:.*: its games 0 to 15 ended their worker 3 times "
        r"\(killed by SIGKILL\); deadly:Deadly:.* – greedy: its games"
    )
    with pytest.raises(Unfinished, match=words) as raised:
        play(tmp_path / "x", ["random", agent, "greedy"], workers=1, engine="processes", chunk=16)
    report = raised.value.report
    assert not report.complete
    assert [(p.first, p.second, len(p.games)) for p in report.pairings] == [(0, 2, 60)]
    assert (tmp_path / "x" / "results.json").exists()
    assert len(list((tmp_path / "d").iterdir())) == 1000 - 6


@pytest.mark.slow
def test_an_error_in_a_strict_tournament_comes_from_a_worker_too(tmp_path):
    agent = deadly(tmp_path / "d")
    (tmp_path / "d" / "error").touch()
    with pytest.raises(RuntimeError, match="ZeroDivisionError: as it was told") as raised:
        play(tmp_path / "x", ["random", agent], workers=2, strict=True)
    assert "deadly.py" in raised.value.__notes__[0]
    assert not multiprocessing.active_children()


def test_errors_keep_their_kind():
    assert str(Failed.of(ValueError("a")).error()) == "a"
    assert isinstance(Failed.of(FileNotFoundError("a")).error(), FileNotFoundError)
    assert isinstance(Failed.of(UnicodeError("a")).error(), ValueError)
    assert str(Failed.of(UnicodeError("a")).error()) == "UnicodeError: a"


# --- what is sent ---


def recipe(agents, **changes):
    """The recipe of a tournament of the toy game."""
    game = toy_coin.make()
    return Recipe.of(game, line_up(game, agents), **{"seed": 0, "chunk": None, "strict": False, **changes})


def test_agents_that_cannot_be_sent_are_named():
    def local(observation, mask):
        return int(mask.argmax())

    words = r"agent 'local' cannot be sent to another process: .*; name it by a text such as my_agent.py:Name, or play"
    with pytest.raises(TypeError, match=words):
        evaluation.tournament(TOY, ["random", local], workers=2, quiet=True)
    with pytest.raises(TypeError, match="'first' is a Python object"):
        recipe(["random", Stubborn()], objects=False)
    game = toy_coin.make().replace(factory=lambda: None)
    with pytest.raises(TypeError, match=r"toy_coin.* cannot be sent to another process.*define it in a mod"):
        Recipe.of(game, line_up(game, ["random"]), seed=0, chunk=None, strict=False)


def test_what_cannot_be_made_in_a_worker_is_named():
    found = recipe(["random", Stubborn()])
    made = found.make()
    assert made.agent(0) is made.agent(0)
    assert made.agent(1).name == "first"
    gone = pickle.dumps(Stubborn()).replace(b"stubborn", b"nowhere_")
    with pytest.raises(TypeError, match="'first' cannot be made"):
        replace(found, agents=("random", gone)).make().agent(1)


def test_other_sources_are_refused(monkeypatch):
    found = recipe(["random"])
    monkeypatch.setattr(workers, "sources", lambda: {**found.sources, "numpy": "0.1"})
    with pytest.raises(ImportError, match=r"numpy is 0.1 in the worker, and \d.* where the work was begun"):
        found.make()


class Person(Agent):
    interactive = True


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"workers": 0}, "workers must be a whole number from 1 to 10,000, not 0"),
        ({"engine": "threads"}, "engine='threads' must be one of 'processes', 'ray'"),
        ({"address": "here:1"}, "address 'here:1' is that of a Ray cluster: it needs engine ray"),
        ({"agents": ["random", Person()], "workers": 2}, "a person plays in this process"),
    ],
)
def test_wrong_settings_are_refused(changes, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        evaluation.tournament(TOY, **{"agents": ["random", "greedy"], "out": tmp_path / "x", "quiet": True, **changes})
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_a_script_without_a_guard_is_told(tmp_path):
    """Its processes would start processes in turn; none begins."""
    script = tmp_path / "script.py"
    script.write_text(
        f"from ttt_envs import evaluation\nevaluation.tournament({TOY!r}, ['random', 'greedy'], workers=2)"
    )
    done = subprocess.run([sys.executable, str(script)], env=environment(), capture_output=True, text=True, timeout=100)
    assert done.returncode
    assert (
        "OSError: workers cannot be started (exit status 1). A script that starts some needs `if __name__"
        in done.stderr
    )


# --- ends ---


@pytest.mark.parametrize(
    "words", [pytest.param((), id="one"), pytest.param(("--workers", "2"), id="two", marks=pytest.mark.slow)]
)
def test_a_killed_tournament_goes_on_where_it_was(words, tmp_path, monkeypatch, capsys):
    agent, out = deadly(tmp_path / "d"), tmp_path / "x"
    lineup = ["random", "greedy", agent]
    (tmp_path / "d" / "slow").touch()
    with begun(out, lineup, *words) as process:
        process.kill()
        process.communicate()
        wait_for_the_end_of(process)
    (tmp_path / "d" / "slow").unlink()
    _, rows = play(tmp_path / "whole", lineup)
    assert resumed(out, lineup, monkeypatch) == rows
    assert not [path for path in out.rglob(".*") if path.is_file()]
    assert [path.name for path in (out / "parts").iterdir()] != []


def test_ctrl_c_keeps_what_is_finished(tmp_path, monkeypatch):
    agent = deadly(tmp_path / "d")
    (tmp_path / "d" / "slow").touch()
    with begun(tmp_path / "x", ["random", "greedy", agent], "--workers", "2") as process:
        interrupted(process, tmp_path / "x")
    (tmp_path / "d" / "slow").unlink()
    _, rows = play(tmp_path / "whole", ["random", "greedy", agent])
    assert resumed(tmp_path / "x", ["random", "greedy", agent], monkeypatch) == rows


def test_units_do_not_depend_on_each_other():
    game = toy_coin.make(players=3)
    lineup = line_up(game, ["random", "greedy"]).agents
    contest = Contest(game, lineup.__getitem__, 5)
    whole, part = contest.play(Job(0, 1, 0, 9)), contest.play(Job(0, 1, 4, 7))
    np.testing.assert_array_equal(whole.rewards[4 * 6 : 7 * 6], part.rewards)
    np.testing.assert_array_equal(whole.moves[4 * 6 : 7 * 6], part.moves)
