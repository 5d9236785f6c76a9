"""The verbs that measure agents: their arguments are those of their functions, and they overwrite nothing."""

import errno
import inspect
import json
import os
import re
import shlex
from dataclasses import fields
from importlib import import_module

import pytest

from ttt_envs import cli
from ttt_envs.cli.ladder import Ladder
from ttt_envs.cli.measures import Exploit, Exploitability, Mistakes, Regret
from ttt_envs.cli.tournament import Tournament
from ttt_envs.storage.files import locked_folder

DICE = ["tic_tac_dice", "--option", "rounds=single"]
DECK = ["colours=1", "copies=4", "flips=0", "wipe_outs=0", "double_plays=0", "hand_size=1", "max_turns=3"]
EXPLOITABILITY = ["exploitability", "tic_tac_match", "--option", *DECK, "--agents", "random"]
VERBS = {
    "tournament": ["super_tic_tac_toe", "--agents", "random", "greedy", "--games", "2"],
    "regret": [*DICE, "--agents", "random", "--games", "2"],
    "exploitability": EXPLOITABILITY[1:],
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty current folder, so that `runs` is a new one."""
    monkeypatch.chdir(tmp_path)


NOT_OF_THE_FUNCTION = ("game", "agents", "agent", "option", "json", "csv", "full")


@pytest.mark.parametrize("verb", [Tournament, Regret, Mistakes, Exploitability, Exploit, Ladder])
def test_a_verb_is_its_function_with_a_command_line(verb):
    module, name = verb.function.split(":")
    function = getattr(import_module(module), name)
    assert cli.VERBS[name] == f"{verb.__module__}:{verb.__name__}"
    theirs = inspect.signature(function).parameters
    ours = {each.name: each.default for each in fields(verb) if each.name not in (*NOT_OF_THE_FUNCTION, *verb.others)}
    usual = {k: p.default for k, p in theirs.items() if k not in ("game", "agents", "agent", "options", "quiet")}
    assert ours == usual


@pytest.mark.parametrize("verb", list(VERBS))
def test_results_are_never_overwritten(verb, tmp_path, capsys):
    assert cli.main([verb, *VERBS[verb]]) == 0
    assert cli.main([verb, *VERBS[verb]]) == 0
    first, second = tmp_path / "runs" / verb, tmp_path / "runs" / f"{verb}-2"
    # The folder has its number when the report is shown.
    last = "results.json" if verb != "tournament" else "results.json and games.jsonl"
    assert f"{last} are in runs/{verb}-2" in " ".join(capsys.readouterr().out.replace(",", "").split())
    texts = [(folder / "results.json").read_text() for folder in (first, second)]
    same = [{**json.loads(text), "seconds": 0, "seconds_by_agent": 0} for text in texts]
    assert same[0] == same[1]
    assert cli.main([verb, *VERBS[verb], "--out", str(first)]) == 2
    hint = "--resume goes on with the run in it; or " if verb == "tournament" else ""
    assert f"runs/{verb} exists and is not empty: {hint}choose another folder" in capsys.readouterr().err
    assert (first / "results.json").read_text() == texts[0]
    # The command of the report makes the same report.
    words = shlex.split(json.loads(texts[0])["command"])
    assert words[:2] == ["ttt", verb]
    assert cli.main([*words[1:], "--out", "again"]) == 0
    again = json.loads((tmp_path / "again" / "results.json").read_text())
    assert {**again, "seconds": 0, "seconds_by_agent": 0} == same[0]


def interrupt_after(monkeypatch, calls):
    from ttt_envs.agents.greedy import Greedy

    left, usual = iter(range(calls)), Greedy.policy

    def policy(self, view):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return usual(self, view)

    monkeypatch.setattr(Greedy, "policy", policy)


def changed(verb, **options):
    words = [verb]
    for word in VERBS[verb]:
        if word.startswith("--"):
            option = word
        if words == [verb] or option.removeprefix("--") not in options:
            words.append(word)
    return [*words, *(word for name, values in options.items() for word in (f"--{name}", *values))]


def test_a_full_disk_at_the_end_loses_no_results(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    assert cli.main(["regret", *VERBS["regret"]]) == 2
    shown = capsys.readouterr()
    assert "a decision" in shown.out, "what was found is printed"
    assert "report.md" not in shown.out
    words = "error: the regret is done, but its results are not saved: runs/regret/report.md cannot be written"
    assert words in shown.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", list(VERBS))
def test_a_folder_is_refused_that_another_process_is_writing(verb, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ttt_envs.evaluation.reports.progress.Work.__enter__", lambda work: pytest.fail("at work"))
    with locked_folder(tmp_path / "taken"):
        assert cli.main([verb, *VERBS[verb], "--out", "taken"]) == 2
    assert re.match(r"error: taken is being written by process \d+ on ", capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", list(VERBS))
def test_an_interrupt_before_anything_is_done_writes_nothing(verb, monkeypatch, capsys, tmp_path):
    words = changed(verb, agents=["greedy", *(["random"] if verb == "tournament" else [])])
    interrupt_after(monkeypatch, 1)
    assert cli.main(words) == 130
    assert "nothing is written" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
