"""`ttt ladder`, `ttt rungs` and `ttt calibrate`: an agent is placed on a ladder, which is shown, and made."""

import json
import re

import pytest

from ttt_envs import cli, registry


@pytest.fixture(autouse=True)
def toy(tmp_path, monkeypatch):
    """The toy game as a registered one, and an empty current folder."""
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")


CALIBRATE = ["calibrate", "toy_coin", "--games", "24"]
TABLE = ["--table", "runs/calibrate/ladder.json"]


def test_calibrate_place_and_show(tmp_path, capsys):
    assert cli.main([*CALIBRATE, "--rungs", "random", "greedy"]) == 0
    assert cli.main(["ladder", "toy_coin", "--agent", "greedy:samples=2", *TABLE, "--games", "30"]) == 0
    data = json.loads((tmp_path / "runs" / "ladder" / "results.json").read_text())
    assert (data["games_played"], data["agent"], data["reached"]) == (30, "greedy:samples=2", False)
    assert data["command"].startswith(
        "ttt ladder toy_coin --agent greedy:samples=2 --table runs/calibrate/ladder.json --games 30"
    )
    capsys.readouterr()
    assert cli.main(["rungs", *TABLE]) == 0
    printed = capsys.readouterr().out
    made = json.loads((tmp_path / "runs" / "calibrate" / "ladder.json").read_text())["made"]
    assert made["command"] in printed
    assert "1  greedy" in printed
    assert "2  random" in printed
    # The command that a ladder names makes it again.
    assert cli.main([*made["command"].split()[1:], "--out", "again"]) == 0
    first, again = ((tmp_path / name / "ladder.json").read_text() for name in ("runs/calibrate", "again"))
    assert json.loads(first)["pairs"] == json.loads(again)["pairs"]


def test_more_games_go_on_from_fewer(tmp_path):
    assert cli.main([*CALIBRATE, "--rungs", "random", "greedy", "--out", "c"]) == 0
    few = json.loads((tmp_path / "c" / "ladder.json").read_text())["pairs"][0]
    more = [*CALIBRATE[:-1], "60", "--rungs", "greedy", "random", "--out", "c", "--resume"]
    assert cli.main(more) == 0
    pair = json.loads((tmp_path / "c" / "ladder.json").read_text())["pairs"][0]
    assert (sum(map(sum, few["seatings"])), sum(map(sum, pair["seatings"]))) == (24, 60)
    for before, after in zip(few["seatings"], pair["seatings"], strict=True):
        assert all(a <= b for a, b in zip(before, after, strict=True))


def test_rungs_of_a_table_are_run_only_if_they_are_named(tmp_path, capsys):
    assert cli.main([*CALIBRATE, "--rungs", "random", "greedy"]) == 0
    path, ran = tmp_path / "runs" / "calibrate" / "ladder.json", tmp_path / "ran"
    (tmp_path / "mine.py").write_text("open('ran', 'a')\nfrom ttt_envs.agents.random import RandomAgent as Mine\n")
    table = json.loads(path.read_text())
    for agent in ("mine.py:Mine", "mixed:mine.py:Mine,random=0.1"):
        table["rungs"][0]["agent"] = agent
        path.write_text(json.dumps(table))
        assert cli.main(["rungs", *TABLE]) == 0  # it is shown
        words = ["ladder", "toy_coin", "--agent", "greedy:samples=2", *TABLE, "--games", "8"]
        assert cli.main(words) == 2
        said = capsys.readouterr().err
        assert f"the ladder {path.relative_to(tmp_path)} names the agent {agent!r}" in said
        assert "if you want it to be run, name it with --rungs" in said
        assert not ran.exists()
    assert cli.main([*words, "--rungs", agent, "--minutes", "0.01"]) == 0


def test_names_in_the_pairs_of_a_calibration_are_not_loaded(tmp_path):
    assert cli.main([*CALIBRATE, "--rungs", "random", "greedy", "--out", "c"]) == 0
    (tmp_path / "mine.py").write_text("open('ran', 'a')\n")
    pairs = json.loads((tmp_path / "c" / "pairs.json").read_text())
    pairs["pairs"].append({**pairs["pairs"][0], "agents": ["mine.py:Mine", "random"]})
    (tmp_path / "c" / "pairs.json").write_text(json.dumps(pairs))
    assert cli.main([*CALIBRATE[:-1], "30", "--rungs", "random", "greedy", "--out", "c", "--resume"]) == 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["calibrate", "toy_coin", "--resume"], "--resume needs --out"),
        (["calibrate", "toy_coin", "--resume", "--out", "nothing"], "no calibration to resume at nothing"),
        (["calibrate", "toy_coin", "--rungs", "random"], "at least 2 agents must be given, not 1"),
        (["ladder", "toy_coin", "--agent", "random"], "comes with no ladder; `ttt calibrate toy_coin` makes one"),
        (["ladder", "toy_coin", "--agent", "random", "--table", "missing.json"], "no ladder at missing.json"),
        (
            ["ladder", "toy_coin", "--agent", "random", "--target", "0"],
            "target must be a number from 1 to 10,000, not 0",
        ),
        (["ladder", "toy_coin", "--agent", "random", "--rungs", "greedy"], "rungs are named again for a table"),
        (["rungs", "toy_coin"], "comes with no ladder"),
        (["rungs", "toy_coin", *TABLE], "a --table names its game and its options itself"),
        (["rungs", "--option", "tosses=1"], "name a game"),
    ],
)
def test_wrong_lines(words, message, capsys):
    assert cli.main(words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["ladder", "rungs", "calibrate"])
def test_no_option_belongs_to_one_use_of_a_verb(verb, capsys):
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    assert re.search(r"\b(With|Without) --", capsys.readouterr().out) is None
