"""Tournaments that go on: what is finished is kept and not played again, and what does not fit is refused."""

import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest
import toy_coin
from stubborn import Stubborn

from ttt_envs import cli, evaluation
from ttt_envs.evaluation.arena.play import Failure
from ttt_envs.evaluation.arena.seating import line_up
from ttt_envs.evaluation.tournaments import parts as parts_module
from ttt_envs.evaluation.tournaments.jobs import Agenda, Contest, FinishedJob, Job, uncovered, without_repeats
from ttt_envs.evaluation.tournaments.parts import read_parts, write_parts
from ttt_envs.evaluation.tournaments.workers import Unfinished
from ttt_envs.storage.files import InUse, locked_folder
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors

TOY = "toy_coin:make"
COIN = toy_coin.make()


def play(out, agents=("random", "greedy", "mine"), **changes):
    """A tournament of the toy game, in which "mine" stands for an object."""
    given = [Stubborn(name="mine") if each == "mine" else each for each in agents]
    return evaluation.tournament(TOY, given, **{"games": 40, "resamples": 10, "out": out, "quiet": True, **changes})


def rows(folder):
    return (folder / "games.safetensors").read_bytes()


@pytest.fixture
def played(monkeypatch):
    """The jobs that are played; with a limit, Ctrl-C comes when so many are finished."""
    found, usual = [], Contest.play

    def play(contest, job, progress=None):
        if found.limit is not None and len(found) == found.limit:
            raise KeyboardInterrupt
        games = usual(contest, job, progress)
        found.append(job)
        return games

    class Jobs(list):
        limit = None

        @property
        def pairs(self):
            return sorted({job.pair for job in self})

    found = Jobs()
    monkeypatch.setattr(Contest, "play", play)
    return found


def test_an_interrupted_tournament_goes_on(tmp_path, played):
    play(tmp_path / "whole")
    del played[:]
    for limit in (1, 3, 4):
        played.limit = limit
        report = play(tmp_path / "x", chunk=8, resume=limit > 1)
        assert not report.complete
        assert sum(len(pairing.games) for pairing in report.pairings) == 8 * limit
    played.limit = None
    report = play(tmp_path / "x", resume=True)
    assert report.complete
    assert rows(tmp_path / "x") == rows(tmp_path / "whole")
    found = [(*job.pair, seed) for job in played for seed in range(job.start, job.stop)]
    assert len(found) == len(set(found)) == 60, "each seed once"
    results = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("x", "whole")]
    timed = "seconds", "seconds_by_agent"
    one, whole = ({**each, **dict.fromkeys(timed)} for each in results)
    assert one == whole
    assert results[0]["seconds"] > 0


def test_what_was_not_yet_written_when_it_was_killed_is_played_again(tmp_path, played):
    play(tmp_path / "whole")
    played.limit = len(played) + 3
    play(tmp_path / "x", chunk=8)
    (file,) = (tmp_path / "x" / "parts").iterdir()
    _, found = read_parts(file, ["random", "greedy", "mine"], COIN, 40)
    # As if killed between writing one file of all and deleting the others, with the middle one never written.
    write_parts(file.with_stem("000007"), found[:1], ["random", "greedy", "mine"], 0.0)
    write_parts(file.with_stem("000009"), [found[2], found[0]], ["random", "greedy", "mine"], 0.0)
    file.unlink()
    played.limit = None
    del played[:]
    assert play(tmp_path / "x", resume=True).complete
    assert rows(tmp_path / "x") == rows(tmp_path / "whole")
    assert sum(job.stop - job.start for job in played) == 60 - 8
    assert len(list((tmp_path / "x" / "parts").iterdir())) == 1


def test_further_agents_replay_nothing(tmp_path, played, capsys):
    whole = ["random", "greedy", "greedy:samples=1", "greedy:samples=2"]
    play(tmp_path / "whole", whole)
    words = [
        "tournament",
        TOY,
        "--agents",
        *whole[:2],
        "--games",
        "40",
        "--resamples",
        "10",
        "--out",
        str(tmp_path / "x"),
    ]
    assert cli.main(words) == 0
    del played[:]
    assert cli.main(["tournament", TOY, "--add", *whole[2:], "--out", str(tmp_path / "x")]) == 0
    assert played.pairs == [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert rows(tmp_path / "x") == rows(tmp_path / "whole")
    text = (tmp_path / "x" / "report.md").read_text()
    assert f"ttt tournament {TOY} --agents {' '.join(whole)} --games 40 --resamples 10\n" in text
    # Once more: they are there already.
    del played[:]
    assert cli.main(["tournament", TOY, f"--out={tmp_path / 'x'}", "--add", whole[3]]) == 0
    assert not played


def test_more_games_replay_nothing(tmp_path, played):
    play(tmp_path / "whole", games=60)
    play(tmp_path / "x")
    del played[:]
    play(tmp_path / "x", games=60, resume=True)
    assert {(job.start, job.stop) for job in played} <= {(20, 24), (24, 30)}
    assert rows(tmp_path / "x") == rows(tmp_path / "whole")


def test_failures_are_kept(tmp_path, played):
    def usual(out, **changes):
        def wrong(observation, mask):
            return int(mask.argmin())

        return evaluation.tournament(TOY, ["random", wrong], **{"games": 40, "out": out, "quiet": True, **changes})

    whole = usual(tmp_path / "whole")
    played.limit = len(played) + 2
    assert 0 < len(usual(tmp_path / "x", chunk=8).failures) < len(whole.failures)
    played.limit = None
    assert usual(tmp_path / "x", resume=True).failures == whole.failures


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 1}, "x has other settings: seed is 0 there and 1 here"),
        ({"tosses": 2}, r'option is {"players": "2", "tosses": "1"} there and {.*"2"} here'),
        ({"strict": True, "games": 38}, "games is 40 there and 38 here; strict is false there and true here"),
        ({"agents": ["random"]}, "at least 2 agents"),
        (
            {"agents": ["greedy", "random"]},
            r'agents is \["random", "greedy"\] there .*further agents are given by --add',
        ),
        ({"out": None}, "resume and add need the folder of the tournament: out"),
    ],
)
def test_other_settings_are_refused_by_name(changes, words, tmp_path):
    play(tmp_path / "x", ["random", "greedy"])
    before = {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir() if path.is_file()}
    with pytest.raises(ValueError, match=words):
        play(**{"out": tmp_path / "x", "agents": ["random", "greedy"], "resume": True, **changes})
    assert {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir() if path.is_file()} == before


def test_the_time_of_earlier_calls_counts_once(tmp_path):
    """Each file of parts says how long it took up to then, earlier files and calls included."""
    play(tmp_path / "x", ["random", "greedy"])
    (file,) = (tmp_path / "x" / "parts").iterdir()
    _, found = read_parts(file, ["random", "greedy"], COIN, 40)
    for number, seconds in ((1, 1000.0), (2, 3000.0), (3, 2000.0)):
        write_parts(file.with_stem(f"{number:06}"), found, ["random", "greedy"], seconds)
    for call in range(2):
        report = play(tmp_path / "x", ["random", "greedy"], games=42 + 2 * call, resume=True)
        assert 3000 < report.seconds < 3500
    assert 3000 < json.loads((tmp_path / "x" / "results.json").read_text())["seconds"] < 3500


def test_a_secret_seed_is_that_of_the_folder(tmp_path):
    first = play(tmp_path / "x", seed=None)
    assert play(tmp_path / "x", seed=None, resume=True).settings["seed"] == first.settings["seed"] > 2**64


def test_a_folder_that_does_not_go_on(tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match=r"no tournament to go on with: no file .*x/config.json"):
        play(tmp_path / "x", resume=True)
    assert not (tmp_path / "x").exists()
    play(tmp_path / "x", ["random", "greedy"])
    with pytest.raises(FileExistsError, match=r"x exists .*--resume"):
        play(tmp_path / "x")
    with locked_folder(tmp_path / "x"), pytest.raises(InUse):
        play(tmp_path / "x", resume=True)
    assert cli.main(["tournament", "--resume"]) == 2
    assert "--resume and --add need --out FOLDER, the folder of the tournament" in capsys.readouterr().err
    assert cli.main(["tournament", TOY, "--resume", "--out", str(tmp_path / "x"), "--seed", "3"]) == 2
    assert "seed is 0 there and 3 here" in capsys.readouterr().err
    (tmp_path / "x" / "config.json").write_text('{"settings": {"agents": 3}}')
    with pytest.raises(ValueError, match=r"config.json is damaged, or of no tournament"):
        play(tmp_path / "x", resume=True)


def test_another_game_than_that_of_the_folder_is_named(tmp_path, capsys):
    words = ["--option", "rounds=single", "--agents", "random", "greedy", "--games", "2", "--out", str(tmp_path / "x")]
    assert cli.main(["tournament", "dice", *words]) == 0
    assert cli.main(["tournament", "dice", "--resume", "--out", str(tmp_path / "x")]) == 0
    assert cli.main(["tournament", "super", "--resume", "--out", str(tmp_path / "x")]) == 2
    assert "x is of tic_tac_dice, not of super_tic_tac_toe" in capsys.readouterr().err


def test_what_a_folder_names_is_run_only_if_it_is_named(tmp_path, capsys, monkeypatch):
    """Code and games of somebody else's; and nothing in a folder becomes another word of the command line."""
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
        assert cli.main(["tournament", *arguments, "--out", str(folder)]) == 2
        assert words in capsys.readouterr().err
        assert not ran.exists()

    for agent in (mine, f"mixed:{mine},random=0.1", f"oracle:fallback={mine}"):
        names(agents=["random", agent])
        for arguments in (["--resume"], ["--add", "greedy:samples=1"]):
            refused("if you want it to be run, name all its agents with --agents", TOY, *arguments)
    names(game="mine:make", game_id="toy_coin")
    refused("is of 'mine:make', which is not registered: name it after the verb", "--resume")
    for changes in (
        {"chunk": "--engine=ray"},
        {"strict": "--engine=ray"},
        {"isolate": ["--engine=ray"]},
        {"option": {"--engine": "ray"}},
        {"agents": "--engine=ray"},
        {"agents": {"random": 1}},
    ):
        names(**changes)
        refused("config.json is damaged, or of no tournament: a setting is of a wrong type", TOY, "--resume")
    names(agents=["random", "--engine=ray"])
    refused("names the agent '--engine=ray'", TOY, "--resume")
    names(agents=["random", mine])
    (folder / "parts").rename(folder / "old")
    assert cli.main(["tournament", TOY, "--resume", "--agents", "random", mine, "--out", str(folder)]) == 0
    assert ran.exists()


def test_the_hint_how_to_go_on_names_what_must_be_named(tmp_path, played):
    played.limit = 1
    found = play(tmp_path / "x y", ["random", "greedy"], chunk=8).remarks()[-1]
    assert found.endswith(f"ttt tournament {TOY} --resume --out '{tmp_path / 'x y'}'")
    played.limit = 2
    found = play(tmp_path / "z", ["random", "tests/support/stubborn.py:Stubborn"], chunk=8).remarks()[-1]
    assert found.endswith("/z --agents random tests/support/stubborn.py:Stubborn")


def test_a_full_disk_on_the_way_loses_nothing(tmp_path, monkeypatch):
    fault = OSError(28, "No space left on device")

    def fail(*_):
        raise fault

    monkeypatch.setattr(parts_module, "_LEAST", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with (
            pytest.warns(UserWarning, match="finished games are in memory only: .*No space left"),
            pytest.raises(OSError, match=r"results are not saved: .*x/config.json") as raised,
        ):
            play(tmp_path / "x", chunk=8)
    assert raised.value.report.complete
    assert not (tmp_path / "x").exists()


class Kills:
    """An engine whose workers die of everything."""

    workers = 1

    def run(self, agenda, tally):
        while (job := agenda.take()) is not None:
            agenda.put_back(job, "killed")
        yield from ()


def test_a_tournament_of_which_nothing_can_be_played(tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys.modules["ttt_envs.evaluation.tournaments.tournament"], "engine_for", lambda *_, **__: Kills()
    )
    with pytest.raises(
        Unfinished, match=r"random – greedy: its games 0 to 7 ended their worker 3 times \(killed\)"
    ) as raised:
        play(tmp_path / "x", ["random", "greedy"])
    assert raised.value.report is None
    assert not (tmp_path / "x").exists()


# --- files of parts ---


@pytest.fixture
def some(tmp_path):
    """A file of two parts, and these."""
    game = toy_coin.make()
    contest = Contest(game, line_up(game, ["random", "greedy"]).agents.__getitem__, 0)
    found = [FinishedJob(job, contest.play(job)) for job in (Job(0, 1, 0, 3), Job(0, 1, 5, 6))]
    found[1].games.failures.append(Failure("random", 11, 2**64 - 1, 0, 3, "why | not", "a\nposition"))
    write_parts(tmp_path / "file", found, ["random", "greedy"], 1.5)
    return tmp_path / "file", found


def test_parts_are_read_as_they_were_written(some):
    path, written = some
    seconds, found = read_parts(path, ["random", "greedy", "later"], COIN, 12)
    assert seconds == 1.5
    for one, two in zip(written, found, strict=True):
        assert one.job == two.job
        assert one.games.failures == two.games.failures
        for name in ("rewards", "lengths", "moves", "seconds", "decisions"):
            left, right = getattr(one.games, name), getattr(two.games, name)
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right)


def test_damaged_and_foreign_parts_are_named(some):
    path, (first, second) = some
    whole = path.read_bytes()
    for place in (len(whole) - 1, len(whole) // 2, 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(BadTensorFile, match="file is damaged"):
            read_parts(path, ["random", "greedy"], COIN, 12)
    path.write_bytes(whole[:-5])
    with pytest.raises(BadTensorFile, match="file is damaged"):
        read_parts(path, ["random", "greedy"], COIN, 12)
    path.write_bytes(whole)
    for agents, game, most, words in (
        (["greedy", "random"], COIN, 12, "it has the agents random, greedy. Without it, its games are played again"),
        (["random", "greedy"], toy_coin.make(players=3), 36, r"rewards has shape \(8, 2\), not \(24, 3\)"),
        (["random", "greedy"], COIN, 10, "it has seed number 5, and 10 games of a pairing do not"),
    ):
        with pytest.raises(BadTensorFile, match=words):
            read_parts(path, agents, game, most)
    write_parts(path, [first, replace(second, job=Job(1, 2, 5, 6))], ["random", "greedy"], 0.0)
    with pytest.raises(BadTensorFile, match="its jobs are not those of a tournament"):
        read_parts(path, ["random", "greedy"], COIN, 12)


def changed(name, value, place=-1):
    """The arrays with one number changed."""

    def change(facts, tensors):
        array = tensors[name].copy()
        array.reshape(-1)[place] = value
        tensors[name] = array

    return change


def said(**given):
    """The facts with others; `failure` changes the one failure."""

    def change(facts, tensors):
        facts["failures"][1][0].update(given.pop("failure", {}))
        facts.update(given)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda facts, tensors: tensors.update(kept=np.arange(3)), "its actions do not say which games"),
        (changed("rewards", np.nan), "rewards has nan, and must be numbers from -1e"),
        (changed("rewards", np.inf), "rewards has inf, and must be"),
        (changed("lengths", 3, 0), "the actions of game 0 of its job 0 are not those of so many plies"),
        (changed("spent", -1.0), "spent has -1.0, and must be"),
        (changed("decisions", -(2**62)), "decisions has -4611686018427387904, and must be"),
        (changed("units", 10**9), "it has seed number 999999999, and 12 games of a pairing do not"),
        (changed("actions", 10**9), "its actions must be -1, or actions 0 to 5 of toy_coin"),
        (changed("kept", 10**9, 1), "the actions of game 1000000000 of its job 0"),
        (lambda facts, tensors: tensors.update(lengths=tensors["lengths"] / 2), "lengths has the type float64"),
        (lambda facts, tensors: tensors.update(units=tensors["units"] + np.inf), "damaged, or of another tournament"),
        (said(seconds=float("inf")), "seconds must be a number from 0 to .*, not inf"),
        (said(counts=[[{}, {}], [{}, {"tokens": float("nan")}]]), "its counts are not those of two agents"),
        (said(failure={"game": 9}), "the game of a failure must be a whole number from 10 to 11, not 9"),
        (said(failure={"seed": 2**64}), "the seed of a failure must be .*, not 18446744073709551616"),
        (said(failure={"player": 2}), "the player of a failure must be a whole number from 0 to 1, not 2"),
        (said(failure={"reason": "\ud800"}), "damaged, or of another tournament: .*surrogates not allowed"),
        (said(failure={"agent": 3}), "damaged, or of another tournament"),
    ],
)
def test_parts_with_numbers_that_no_game_has_are_refused(change, words, some):
    """A checksum is no proof: whoever wrote the file could write that, too."""
    path, _ = some
    facts, tensors = read_tensors(path, parts_module.FORM)
    del facts["sha256"]
    assert len(tensors["kept"])
    change(facts, tensors)
    write_tensors(path, parts_module.FORM, {**facts, "sha256": parts_module._digest(facts, tensors)}, tensors)
    with pytest.raises(BadTensorFile, match=words) as raised:
        read_parts(path, ["random", "greedy"], COIN, 12)
    assert str(path) in str(raised.value)


def test_an_illegal_action_in_parts_is_named(tmp_path):
    play(tmp_path, ["random", "greedy"])
    (path,) = (tmp_path / "parts").iterdir()
    facts, tensors = read_tensors(path, parts_module.FORM)
    del facts["sha256"]
    changed("actions", COIN.action_names.index("stay"), 0)(facts, tensors)
    write_tensors(path, parts_module.FORM, {**facts, "sha256": parts_module._digest(facts, tensors)}, tensors)
    with pytest.raises(ValueError, match=r"parts, game 0 of (random – greedy|greedy – random), ply 0: .* cannot play"):
        play(tmp_path, ["random", "greedy"], resume=True)


# --- what is left to be played ---


def test_what_no_unit_covers():
    jobs = [Job(0, 1, 5, 7), Job(0, 1, 0, 2), Job(0, 1, 1, 2)]
    assert uncovered(jobs, 10) == [range(2, 5), range(7, 10)]
    assert uncovered(jobs, 7) == [range(2, 5)]
    assert uncovered(jobs, 4) == [range(2, 4)]
    assert uncovered([], 3) == [range(3)]
    assert uncovered([Job(0, 1, 0, 3)], 3) == []


def test_repeats_are_left_out():
    jobs = [Job(0, 1, 0, 2), Job(0, 1, 0, 9), Job(0, 1, 2, 9), Job(0, 2, 0, 2), Job(0, 1, 9, 11)]
    found = without_repeats([FinishedJob(job, None) for job in jobs])
    assert [part.job for part in found] == [jobs[1], jobs[4], jobs[3]]


def take_all(agenda, seconds):
    """The sizes of all jobs, with the time that each seed takes."""
    found = []
    while (job := agenda.take()) is not None:
        found.append(job)
        agenda.finished(job, seconds * (job.stop - job.start))
    return found


def test_units_grow_with_the_pace():
    missing = {(0, 1): [range(3000)], (0, 2): [range(3, 5), range(9, 40)]}
    quick = take_all(Agenda(missing, 2), 1e-6)
    assert [(u.start, u.stop) for u in quick if u.second == 1] == [
        (0, 4),
        (4, 36),
        (36, 292),
        (292, 2340),
        (2340, 3000),
    ]
    assert [(u.start, u.stop) for u in quick if u.second == 2] == [(3, 5), (9, 25), (25, 40)]
    slow = take_all(Agenda({(0, 1): [range(8)]}, 2), 60)
    assert [(u.start, u.stop) for u in slow] == [(0, 4), (4, 5), (5, 6), (6, 7), (7, 8)]
    shared = take_all(Agenda({(0, 1): [range(100)]}, 2, workers=2), 1e-6)
    assert [u.stop - u.start for u in shared] == [4, 32, 32, 16, 8, 4, 2, 1, 1]
    asked = take_all(Agenda({(0, 1): [range(10)]}, 2, chunk=9), 1e-6)
    assert [u.stop - u.start for u in asked] == [4, 4, 2]
    one = take_all(Agenda({(0, 1): [range(3)]}, 6, chunk=1), 1e-6)
    assert [u.stop - u.start for u in one] == [1, 1, 1]


def test_a_unit_that_ends_its_worker_is_tried_again_and_then_given_up():
    agenda = Agenda({(0, 1): [range(8)], (0, 2): [range(8)]}, 2, chunk=8)
    first, second = agenda.take(), agenda.take()
    assert (first, second) == (Job(0, 1, 0, 4), Job(0, 1, 4, 8))
    for death in range(2):
        assert agenda.left == 8
        agenda.put_back(first, "killed")
        assert agenda.left == 12
        assert agenda.take() == first
        assert not agenda.given_up, death
    agenda.put_back(second, "killed")
    agenda.put_back(first, "killed")
    assert agenda.given_up == {(0, 1): "its games 0 to 7 ended their worker 3 times (killed)"}
    assert agenda.left == 8
    assert agenda.take() == Job(0, 2, 0, 4)
    agenda.put_back(second, "killed")
    assert agenda.take() == Job(0, 2, 4, 8), "of a pairing that is given up nothing is played"
