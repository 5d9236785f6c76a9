"""Tournaments in several processes and after an end on the way: the same games, each played once."""

import json

import numpy as np
import pytest
import toy_coin
from stubborn import Stubborn
from tournaments import TOY, begun, games_of, interrupted, resumed, wait_for_the_end_of

from ttt_envs import cli, evaluation
from ttt_envs.agents import Agent
from ttt_envs.evaluation.tournament import Schedule
from ttt_envs.storage.files import InUse, locked_folder


def play(out, agents=("random", "greedy", "mine"), **changes):
    """A tournament of the toy game, in which "mine" stands for an object."""
    given = [Stubborn(name="mine") if each == "mine" else each for each in agents]
    return evaluation.tournament(TOY, given, **{"games": 40, "resamples": 10, "out": out, "quiet": True, **changes})


@pytest.fixture
def played(monkeypatch):
    """The jobs that are played; with a limit, Ctrl-C comes when so many are finished."""

    class Jobs(list):
        limit = None

    found, usual = Jobs(), Schedule.__call__

    def play(schedule, job, progress=None):
        if len(found) == found.limit:
            raise KeyboardInterrupt
        games = usual(schedule, job, progress)
        found.append(job)
        return games

    monkeypatch.setattr(Schedule, "__call__", play)
    return found


def test_jobs_follow_from_the_number_of_games_alone():
    game = toy_coin.make()
    edges = [(seeds.start, seeds.stop) for *_, seeds in Schedule(game, [], [(0, 1)], 1000, 0).jobs()]
    assert edges == [(0, 8), (8, 16), (16, 32), (32, 64), (64, 128), (128, 256), (256, 384), (384, 500)]
    jobs = Schedule(game, [], [(0, 1)], 6, 0, one_by_one=True).jobs()
    assert jobs == [(0, 1, range(0, 1)), (0, 1, range(1, 2)), (0, 1, range(2, 3))]
    schedule = Schedule(game, ["random", "random", "greedy"], [(0, 1), (0, 2)], 64, 0)
    finished = [schedule(job) for job in ((0, 1, range(0, 8)), (0, 1, range(16, 20)), (0, 2, range(0, 8)))]
    left = [(0, 1, range(8, 16)), (0, 1, range(20, 32)), (0, 2, range(8, 16)), (0, 2, range(16, 32))]
    assert schedule.jobs(finished) == left
    assert schedule.total(finished) == 2 * 64


def test_games_are_the_same_whoever_plays_and_after_an_end_on_the_way(tmp_path):
    report, same = play(tmp_path / "one"), play(tmp_path / "two", workers=2)
    assert same.complete
    for one, two in zip(report.results, same.results, strict=True):
        np.testing.assert_array_equal(one.decisions, two.decisions)
    np.testing.assert_array_equal(report.ratings.elo_low, same.ratings.elo_low)
    play(tmp_path / "pieces", games=20)
    play(tmp_path / "pieces", resume=True)
    assert games_of(tmp_path / "two") == games_of(tmp_path / "pieces") == games_of(tmp_path / "one")


@pytest.mark.slow
def test_a_ray_cluster_plays_the_same(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'ttt-envs[distributed]'")
    play(tmp_path / "one")
    play(tmp_path / "ray", workers="ray")
    assert games_of(tmp_path / "ray") == games_of(tmp_path / "one")


@pytest.mark.parametrize("end", ["killed", pytest.param("interrupted", marks=pytest.mark.slow)])
def test_a_tournament_goes_on_where_it_was(end, tmp_path):
    (tmp_path / "slow").touch()
    lineup = ["random", "greedy", f"slow_agent:Slow:{tmp_path}/slow"]
    with begun(tmp_path / "x", lineup, "--workers", "2") as process:
        if end == "killed":
            process.kill()
            process.communicate()
            wait_for_the_end_of(process)
        else:
            interrupted(process, tmp_path / "x")
    (tmp_path / "slow").unlink()
    resumed(tmp_path / "x", lineup)
    play(tmp_path / "whole", lineup, games=60)
    assert games_of(tmp_path / "x") == games_of(tmp_path / "whole")


class Person(Agent):
    interactive = True


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"workers": -1}, "workers"),
        ({"agents": ["random", Person()], "workers": 2}, "a person"),
        ({"out": None, "resume": True}, "resume"),
    ],
)
def test_wrong_settings_are_refused(changes, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        play(**{"agents": ["random", "greedy"], "out": tmp_path / "x", **changes})
    assert not (tmp_path / "x").exists()


def test_an_interrupted_tournament_goes_on(tmp_path, played):
    play(tmp_path / "whole")
    del played[:]
    for limit in (1, 3, 4):
        played.limit = limit
        report = play(tmp_path / "x", resume=limit > 1)
        assert not report.complete
        assert sum(len(each) for each in report.results) == sum(2 * len(seeds) for *_, seeds in played)
    played.limit = None
    assert play(tmp_path / "x", resume=True).complete
    assert (tmp_path / "x" / "games.jsonl").read_text().count("\n") == 120
    found = [(*pair, seed) for *pair, seeds in played for seed in seeds]
    assert len(found) == len(set(found)) == 60, "each seed once"
    assert games_of(tmp_path / "x") == games_of(tmp_path / "whole")
    results = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("x", "whole")]
    one, whole = ({**each, "seconds": 0, "seconds_by_agent": 0} for each in results)
    assert one == whole


@pytest.mark.parametrize("cut", [1, 3000])
def test_what_a_kill_cut_off_is_played_again(cut, tmp_path, played):
    play(tmp_path / "x")
    whole, path = games_of(tmp_path / "x"), tmp_path / "x" / "games.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert play(tmp_path / "x", resume=True).complete
    assert games_of(tmp_path / "x") == whole
    lines = path.read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(120))


def test_further_agents_and_more_games_replay_nothing(tmp_path, played):
    lineup = ["random", "greedy", "greedy:samples=1"]
    play(tmp_path / "whole", lineup, games=60)
    play(tmp_path / "x", lineup[:2])
    del played[:]
    play(tmp_path / "x", lineup[:2], games=60, resume=True)
    assert played == [(0, 1, range(20, 30))]
    del played[:]
    words = ["--agents", *lineup, "--out", str(tmp_path / "x")]
    assert cli.main(["tournament", TOY, "--resume", *words]) == 0
    assert {job[:2] for job in played} == {(0, 2), (1, 2)}
    assert games_of(tmp_path / "x") == games_of(tmp_path / "whole")


def test_failures_are_kept(tmp_path, played):
    def usual(out, **changes):
        def wrong(observation, mask):
            return int(mask.argmin())

        return play(out, ["random", wrong], **changes)

    whole = usual(tmp_path / "whole")
    played.limit = len(played) + 2
    assert 0 < len(usual(tmp_path / "x").failures) < len(whole.failures)
    played.limit = None
    assert usual(tmp_path / "x", resume=True).failures == whole.failures


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 1}, "seed"),
        ({"games": 38}, "games"),
        ({"agents": ["greedy", "random"]}, "agents"),
        ({"pairs": [(0, 1)]}, "pairs"),
    ],
)
def test_other_settings_are_refused_by_name(changes, words, tmp_path):
    play(tmp_path / "x", ["random", "greedy"])
    before = {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir() if path.is_file()}
    with pytest.raises(ValueError, match=f"x has other settings: {words} is"):
        play(**{"out": tmp_path / "x", "agents": ["random", "greedy"], "resume": True, **changes})
    assert {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir() if path.is_file()} == before


def test_a_folder_that_does_not_go_on(tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        play(tmp_path / "x", resume=True)
    assert not (tmp_path / "x").exists()
    play(tmp_path / "x", ["random", "greedy"])
    with pytest.raises(FileExistsError, match="--resume"):
        play(tmp_path / "x", ["random", "greedy"])
    with locked_folder(tmp_path / "x"), pytest.raises(InUse):
        play(tmp_path / "x", ["random", "greedy"], resume=True)
    assert cli.main(["tournament", "--resume"]) == 2
    assert "--out" in capsys.readouterr().err
    path = tmp_path / "x" / "games.jsonl"
    path.write_text(path.read_text().replace('"greedy"', '"gready"'))
    with pytest.raises(ValueError, match=r"games.jsonl, line \d+ is damaged, or of another tournament"):
        play(tmp_path / "x", ["random", "greedy"], resume=True)
    (tmp_path / "x" / "config.json").write_text('{"settings": {"agents": 3}}')
    with pytest.raises(ValueError, match=r"config\.json is damaged"):
        play(tmp_path / "x", ["random", "greedy"], resume=True)


def test_another_game_than_that_of_the_folder_is_named(tmp_path, capsys):
    words = ["--option", "rounds=single", "--agents", "random", "greedy", "--games", "2", "--out", str(tmp_path / "x")]
    assert cli.main(["tournament", "dice", *words]) == 0
    assert cli.main(["tournament", "dice", "--resume", "--out", str(tmp_path / "x")]) == 0
    assert cli.main(["tournament", "super", "--resume", "--out", str(tmp_path / "x")]) == 2
    assert "x is of tic_tac_dice, not of super_tic_tac_toe" in capsys.readouterr().err


def test_what_a_folder_names_is_run_only_if_it_is_named(tmp_path, capsys, monkeypatch):
    ran = tmp_path / "ran"
    (tmp_path / "mine.py").write_text(
        f"open({str(ran)!r}, 'a')\nfrom ttt_envs.agents.random import RandomAgent as Mine\nfrom toy_coin import make\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    mine, folder = f"{tmp_path}/mine.py:Mine", tmp_path / "x"
    play(folder, ["random", "greedy"], games=4)
    config = json.loads((folder / "config.json").read_text())

    def names(**changes):
        (folder / "config.json").write_text(json.dumps({"settings": {**config["settings"], **changes}}))

    def refused(words, *arguments):
        assert cli.main(["tournament", *arguments, "--resume", "--out", str(folder)]) == 2
        assert words in capsys.readouterr().err
        assert not ran.exists()

    for agent in (mine, f"mixed:{mine},random=0.1", f"oracle:fallback={mine}"):
        names(agents=["random", agent])
        refused("name all its agents with --agents", TOY)
    names(game="mine:make", game_id="toy_coin")
    refused("is of 'mine:make', which is not registered")
    for changes in ({"games": "--workers=ray"}, {"agents": "--workers=ray"}, {"option": {"--workers": "ray"}}):
        names(**changes)
        refused("toy_coin" if "option" in changes else "config.json is damaged", TOY)
    names(agents=["random", "--workers=ray"])
    refused("names the agent '--workers=ray'", TOY)
    names(agents=["random", mine])
    (folder / "games.jsonl").unlink()
    assert cli.main(["tournament", TOY, "--resume", "--agents", "random", mine, "--out", str(folder)]) == 0
    assert ran.exists()


def test_the_hint_how_to_go_on_names_what_must_be_named(tmp_path, played):
    played.limit = 1
    found = play(tmp_path / "x y", ["random", "greedy"]).remarks()[-1]
    assert found.endswith(f"ttt tournament {TOY} --resume --out '{tmp_path / 'x y'}'")
    played.limit = 2
    found = play(tmp_path / "z", ["random", "tests/support/stubborn.py:Stubborn"]).remarks()[-1]
    assert found.endswith("/z --agents random tests/support/stubborn.py:Stubborn")


def test_listed_pairs_play(tmp_path):
    report = play(tmp_path / "x", pairs=[("mine", "random"), (0, 1)])
    assert [(pairing.first, pairing.second) for pairing in report.results] == [(0, 1), (0, 2)]
    assert report.settings["pairs"] == ("0-1", "0-2")
    assert "--pairs 0-1 0-2" in report.command
    assert "2 pairings, of a list" in report.markdown()
    assert np.isnan(report.ratings.score[1, 2])


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (["0-0"], "cannot play itself"),
        (["0-7"], "the number of an agent"),
        ([("random", "gredy")], "gredy"),
        (["swiss"], "swiss"),
        (["0-1"], "no chain of games"),
    ],
)
def test_wrong_pairs_are_refused(pairs, words):
    with pytest.raises(ValueError, match=words):
        play(None, pairs=pairs)
