"""`ttt ladder`: an agent is placed on a ladder, which is shown, and made."""

import json

import pytest

from ttt_envs import cli, registry


@pytest.fixture(autouse=True)
def toy(tmp_path, monkeypatch):
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")


LADDER = ["ladder", "toy_coin"]
MAKE = [*LADDER, "--make", "--games", "24", "--rungs", "random", "greedy", "--out", "ladder.json"]
TABLE = ["--table", "ladder.json"]


def test_make_show_and_place(tmp_path, capsys):
    assert cli.main(MAKE) == 0
    assert "1  greedy" in capsys.readouterr().out
    assert cli.main([*LADDER, "--show", *TABLE]) == 0
    assert "2  random" in capsys.readouterr().out
    assert cli.main([*LADDER, "--show", *TABLE, "--json"]) == 0
    assert [row["agent"] for row in json.loads(capsys.readouterr().out)] == ["random", "greedy"]
    assert cli.main([*LADDER, "--agent", "greedy:samples=2", *TABLE, "--games", "30"]) == 0
    data = json.loads((tmp_path / "runs" / "ladder" / "results.json").read_text())
    assert (data["games_played"], data["agent"]) == (60, "greedy:samples=2")
    assert data["command"] == "ttt ladder toy_coin --agent greedy:samples=2 --games 30 --table ladder.json"
    # The command that a ladder names makes it again.
    made = json.loads((tmp_path / "ladder.json").read_text())
    assert cli.main([*made["made"]["command"].split()[1:], "--out", "again.json"]) == 0
    again = json.loads((tmp_path / "again.json").read_text())
    assert [each["elo"] for each in again["rungs"]] == [each["elo"] for each in made["rungs"]]


def test_rungs_of_a_table_are_run_only_if_they_are_named(tmp_path, capsys):
    assert cli.main(MAKE) == 0
    path, ran = tmp_path / "ladder.json", tmp_path / "ran"
    (tmp_path / "mine.py").write_text("open('ran', 'a')\nfrom ttt_envs.agents.random import RandomAgent as Mine\n")
    table = json.loads(path.read_text())
    for agent in ("mine.py:Mine", "mixed:mine.py:Mine,random=0.1"):
        table["rungs"][0]["agent"] = agent
        path.write_text(json.dumps(table))
        assert cli.main([*LADDER, "--show", *TABLE]) == 0
        words = [*LADDER, "--agent", "greedy:samples=2", *TABLE, "--games", "8"]
        assert cli.main(words) == 2
        said = capsys.readouterr().err
        assert f"the ladder ladder.json names the agent {agent!r}" in said
        assert "if you want it to be run, name it with --rungs" in said
        assert not ran.exists()
    assert cli.main([*words, "--rungs", agent]) == 0
    assert ran.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agent", "random"], "comes with no ladder; `ttt ladder toy_coin --make` makes one"),
        (["--agent", "random", "--table", "missing.json"], "no ladder at missing.json"),
        (["--show"], "comes with no ladder"),
        ([], "give one of --agent AGENT, --show and --make"),
        (["--show", "--agent", "random"], "give one of --agent AGENT, --show and --make"),
        (["--make", "--rungs", "random", "greedy"], "--make writes a file"),
        (["--make", "--rungs", "random", "--out", "x.json"], "at least 2 agents"),
    ],
)
def test_wrong_lines(words, message, capsys):
    assert cli.main([*LADDER, *words]) == 2
    assert message in capsys.readouterr().err
