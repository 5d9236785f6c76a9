"""`ttt replay`: recorded games as text and as films."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ttt_envs import agents, cli
from ttt_envs import load as load_game
from ttt_envs.drawing.film import frames_of, strip
from ttt_envs.drawing.parts import split
from ttt_envs.evaluation import records
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.web.recorded import Records

DICE = ["tic_tac_dice", "--option", "rounds=single"]
FILM = ["replay", "bad.jsonl", "--game", "0", "--film", "bad.svg"]


@pytest.fixture(autouse=True)
def recorded(tmp_path, monkeypatch):
    """A folder with the records of 8 games, which is the current one."""
    monkeypatch.chdir(tmp_path)
    game, seeds = load_game("tic_tac_dice", rounds="single"), game_seeds(2, 8)
    players = [agents.load("random"), agents.load("greedy")]
    games = play_games(game, players, seats=[0, 1], seeds=seeds, keep=range(8))
    records.write("games.jsonl", records.of_games(game, games, ["random", "greedy"], [0, 1], seeds))
    return list(records.read("games.jsonl"))


def test_replay_lists_games(recorded, capsys):
    assert cli.main(["replay", "games.jsonl"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == "8 games"
    assert len(lines) == 8
    for line, record in zip(lines, recorded, strict=True):
        assert line.startswith(f"{record.number}: random – greedy, {len(record.actions)} plies, ")
    assert cli.main(["replay", "games.jsonl", "--winner", "greedy"]) == 0
    won = [record for record in recorded if record.winners == ("greedy",)]
    assert len(capsys.readouterr().out.splitlines()) == len(won) + 1


def test_replay_shows_a_game_move_by_move(recorded, capsys, monkeypatch):
    assert cli.main(["replay", "games.jsonl", "--game", "3"]) == 0
    shown = capsys.readouterr().out
    record = recorded[3]
    assert f"seed {record.seed}" in shown
    moves = re.findall(r"^ply \d+: (random|greedy) \(player \d\): (.*)$", shown, re.M)
    assert [name for _, name in moves] == list(record.actions)
    assert shown.count("\nply 2\n") == 1, "every position is shown once"
    winner = record.winners[0] if record.winners else "draw"
    assert winner in shown.splitlines()[-1]
    # Two lines of input, and then its end: the rest is shown at once.
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n"))
    assert cli.main(["replay", "games.jsonl", "--game", "3", "--step"]) == 0
    stepped = capsys.readouterr().out
    assert stepped.count("Enter: ") == 3
    assert stepped.replace("Enter: ", "") == shown


def test_names_in_a_file_do_not_control_the_terminal(recorded, capsys):
    bad = "\x1b]52;c;aGk=\x07"
    records.write("bad.jsonl", [replace(recorded[0], number=0, agents=(bad, "greedy"), library=bad)])
    for words in (["replay", "bad.jsonl"], ["replay", "bad.jsonl", "--game", "0"], FILM):
        assert cli.main(words) == 0
        shown = capsys.readouterr().out
        assert "]52;c;aGk=" in shown
        assert not {"\x1b", "\x07"} & set(shown)
    assert "\x1b" not in Path("bad.svg").read_text()


def test_replay_refuses_what_it_cannot_show(capsys):
    for words, reason in (
        (["games.jsonl", "--game", "99"], "games.jsonl has no game 99"),
        (["games.jsonl", "--step"], "--step needs the game"),
        (["missing.jsonl"], "no file of records at missing.jsonl"),
        (["twice.jsonl", "--game", "3"], "twice.jsonl has 2 games with number 3, such as on line 4 and line 12"),
    ):
        Path("twice.jsonl").write_text(2 * Path("games.jsonl").read_text())
        assert cli.main(["replay", *words]) == 2
        assert reason in " ".join(capsys.readouterr().err.split())


def test_a_recorded_game_is_drawn_as_a_strip(recorded, capsys):
    assert cli.main(["replay", "games.jsonl", "--game", "2", "--film", "strip.svg"]) == 0
    found = split(Path("strip.svg").read_text())
    inner = [each for each in found.elements if each.startswith("<svg")]
    texts = [each for each in found.elements if each.startswith("<path aria-label=")]
    assert len(inner) == len(texts) == len(recorded[2].actions) + 1
    assert 'aria-label="start"' in texts[0]
    for k, (text, action) in enumerate(zip(texts[1:], recorded[2].actions, strict=True), 1):
        assert re.search(rf'aria-label="{k}\. (random|greedy): {re.escape(action)}"', text)
    assert cli.main(["replay", "games.jsonl", "--game", "2", "--film", "strip.svg"]) == 2
    assert "strip.svg exists" in capsys.readouterr().err


def test_a_strip_draws_every_position_with_common_parts_once():
    from ttt_envs.drawing.raster import rasterise

    game = load_game("tic_tac_dice", rounds="single")
    games = play_games(game, [agents.load("random")], seats=[0, 0], games=1, seed=5, record=[0])
    kept = games.records[0]
    svg = strip(game, kept.states, kept.actions, columns=3)
    drawn = sum(len(game.draw(state, None)) for state in kept.states)
    assert len(svg) < 0.8 * drawn
    picture = rasterise(svg)
    for k in (0, 4):  # each picture of the strip is the position's own
        alone = rasterise(game.draw(kept.states[k], None), 260).astype(int)
        left, top = 14 + (k % 3) * 274, 14 + (k // 3) * (alone.shape[0] + 40)
        part = picture[top + 1 : top + alone.shape[0] - 1, left : left + 260].astype(int)
        best = min(
            np.abs(part[:, :] - np.roll(alone, shift, axis=0)[1:-1]).mean() for shift in (-1, 0, 1)
        )  # a height is no whole number of pixels
        assert best < 6
    assert strip(game, kept.states, kept.actions, agents=["<a>", "&"]).count("&lt;a&gt;") > 0
    assert len(frames_of(game, kept.states, kept.actions)) == len(kept.states)


def test_a_recorded_game_is_filmed(recorded):
    from PIL import Image

    film = ["replay", "games.jsonl", "--game", "1", "--width", "90", "--film"]
    assert cli.main([*film, "f.gif"]) == 0
    with Image.open("f.gif") as shown:
        assert shown.n_frames == len(recorded[1].actions) + 1
        assert shown.size[0] == 90
        light = shown.convert("RGB").getpixel((45, 20))
    assert cli.main([*film, "dark.gif", "--theme", "dark"]) == 0
    with Image.open("dark.gif") as shown:
        assert sum(shown.convert("RGB").getpixel((45, 20))) < sum(light) / 3


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--film", "f.gif"], "--film needs the game"),
        (["--game", "3", "--film", "f.avi"], "a drawing is a file that ends in .gif or .svg, not f.avi"),
        (["--game", "3", "--film", "f.gif", "--width", "5"], "width must be"),
        (["--game", "8", "--film", "f.svg"], "has no game 8"),
    ],
)
def test_a_wrong_film_is_refused(words, reason, capsys, tmp_path):
    assert cli.main(["replay", "games.jsonl", *words]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["games.jsonl"]


def test_what_a_file_names_is_shown_and_never_run(tmp_path, capsys):
    (tmp_path / "mine.py").write_text("open('ran', 'a')\nfrom ttt_envs.agents.random import RandomAgent as Mine\n")
    lines = Path("games.jsonl").read_text().splitlines()
    for agent in ("mine.py:Mine", "oracle:fallback=program:/bin/sh -c 'echo > ran'", "mine:Mine"):
        records = [{**json.loads(line), "agents": [agent, "greedy"]} for line in lines]
        Path("names.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
        Path("film.svg").unlink(missing_ok=True)
        assert cli.main(["replay", "names.jsonl"]) == 0
        assert cli.main(["replay", "names.jsonl", "--game", "1"]) == 0
        assert cli.main(["replay", "names.jsonl", "--game", "1", "--film", "film.svg"]) == 0
        served = Records(tmp_path)
        assert served.games("names.jsonl")[0]["agents"][0] == agent
        assert served.open("names.jsonl", 0)[0].agents[0] == agent
    Path("game.jsonl").write_text("".join(json.dumps({**each, "game": "mine:Mine"}) + "\n" for each in records))
    for words in (["replay"], ["replay", "--game", "0", "--film", "y.svg"]):
        assert cli.main([*words, "game.jsonl"]) == 2
        assert "unknown game 'mine:Mine'" in capsys.readouterr().err
    assert not Path("ran").exists()
