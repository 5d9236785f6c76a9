"""`ttt games` and `ttt describe`: what they say of a game."""

import csv
import io
import json
import re

import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.cli import main
from ttt_envs.core.game import Game
from ttt_envs.registry import options_of

SUPER = "super_tic_tac_toe"
IDS = list(ttt_envs.GAMES)


pytestmark = pytest.mark.usefixtures("narrow")


# --- games ---


def test_games_as_data(capsys):
    assert main(["games", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert main(["games", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["game"] for row in rows] == IDS == [each["game"] for each in found]
    assert [int(row["actions"]) for row in rows] == [ttt_envs.load(each).num_actions for each in IDS]
    assert found[0]["plies"] == ttt_envs.load(IDS[0]).max_plies


def test_describe_and_agents_as_data(capsys):
    def both(*words):
        assert main([*words, "--csv"]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert main([*words, "--json"]) == 0
        return rows, json.loads(capsys.readouterr().out)

    game = ttt_envs.load("tic_tac_match", players=4)
    rows, found = both("describe", game.id, "--option", "players=4")
    assert [row["name"] for row in rows] == list(game.action_names) == [each["name"] for each in found["actions"]]
    assert {each["name"]: each["value"] for each in found["options"]} == dict(game.options)
    assert found["legend"] == game.faces.legend != ""
    rows, found = both("agents", game.id)
    names = [name for name in agents.known() if name not in ("alphabeta", "oracle", "smmcts", "cfr")]
    assert {row["agent"] for row in rows} == {each["agent"] for each in found}
    listed = {row["agent"] for row in rows}
    assert {"random", "greedy", "ismcts"} <= {name for name in listed if ":" not in name} <= set(names)
    assert "trained:tic_tac_match/values" in listed
    assert next(each for each in found if each["agent"] == "random")["plays"] == [game.id]


def test_games_has_a_line_for_each(lines_of):
    assert main(["games"]) == 0
    head, *rows = lines_of()
    assert head.split()[0] == "game"
    assert [row.split()[0] for row in rows] == IDS
    for row in rows:
        game = ttt_envs.load(row.split()[0])
        numbers = [game.num_players, game.num_actions, game.observation_size, game.max_plies]
        assert [int(word) for word in row.split()[1:5]] == numbers
        assert ("chance" in row) == game.stochastic
        assert ("hidden" in row) == game.hidden_information
        assert ("simultaneous" in row) == game.simultaneous


# --- describe ---


@pytest.fixture
def no_oracle(monkeypatch):
    def refuse(self):
        raise NotImplementedError("not in this test")

    monkeypatch.setattr(Game, "oracle", refuse)


@pytest.mark.parametrize("game_id", IDS)
def test_describe_tells_all(game_id, no_oracle, lines_of):
    assert main(["describe", game_id]) == 0
    lines = lines_of()
    shown, game = "\n".join(lines), ttt_envs.load(game_id)
    flowing = " ".join(shown.split())
    assert lines[0] == f"{game.title} ({game_id})"
    for title in ("A start position", "Rules", "Options", "Actions", "Observation", "Optimal play"):
        assert any(line.startswith(title) for line in lines)
    for paragraph in game.rules_text.split("\n"):
        assert " ".join(paragraph.split()) in flowing
    for each in options_of(game_id):
        assert re.search(rf"^{each.name}=", shown, re.MULTILINE)
        assert " ".join(each.meaning.split()) in flowing
    start = 0
    for block in game.observation_layout:
        span = f"{start}-{start + block.size - 1}" if block.size > 1 else f"{start}"
        assert re.search(rf"^{span} +{re.escape(block.name)} ", shown, re.MULTILINE)
        start += block.size
    spans = [tuple(map(int, found)) for found in re.findall(r"^(\d+)-(\d+) +\d+  ", _part(shown, "Actions"), re.M)]
    spans += [(int(found), int(found)) for found in re.findall(r"^(\d+) +1  ", _part(shown, "Actions"), re.M)]
    assert sorted(k for low, high in spans for k in range(low, high + 1)) == list(range(game.num_actions))


def _part(shown, title):
    return re.split(rf"^{title}.*\n-+\n", shown, flags=re.MULTILINE)[1].split("\n\n")[0]


def test_describe_honours_options(no_oracle, lines_of):
    arguments = ["describe", "martian_tic_tac_toe", "--option", "size=5", "players=3", "repetition_limit=none"]
    assert main(arguments) == 0
    shown = "\n".join(lines_of())
    assert "5x5 cells" in shown
    assert "red, blue and yellow" in shown
    assert "size=5 (int, default 3)" in shown
    assert "repetition_limit=none (int or None, default 3)" in shown
    assert "occurred" not in _part(shown, "Observation")


def test_describe_shows_what_a_player_may_see(no_oracle, capsys):
    assert main(["describe", "tic_tac_match", "--seed", "4"]) == 0
    shown = _part(capsys.readouterr().out, "A start position")
    assert shown.startswith("as player 1 sees it:")
    assert "hand 0: 4 hidden" in shown


def test_describe_says_what_is_known_of_best_play(capsys):
    assert main(["describe", SUPER]) == 0
    shown = " ".join(_part(capsys.readouterr().out, "Optimal play").split())
    assert shown.startswith("An oracle exists; its values are exact. Value of the start position above")
    assert "+1 for player 0, -1 for player 1" in shown
    assert main(["describe", SUPER, "--option", "won_boards=closed"]) == 0
    assert "No oracle for won_boards='closed'" in _part(capsys.readouterr().out, "Optimal play")
    assert main(["describe", "tic_tac_match"]) == 0
    assert "No oracle: optimal play of this game is not known." in _part(capsys.readouterr().out, "Optimal play")


def test_describe_builds_no_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TTT_ENVS_CACHE", str(tmp_path / "empty"))
    game = ttt_envs.load("martian_tic_tac_toe", same_size_swap=True, max_plies=201)  # not one that a test has solved
    arguments = ["describe", game.id, "--option", "same_size_swap=true", "max_plies=201"]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    best = " ".join(_part(shown.out, "Optimal play").split())
    assert "table of optimal play is not built yet" in best
    assert "`ttt solve martian_tic_tac_toe --help`" in best
    assert not shown.err
    assert not (tmp_path / "empty").exists()
