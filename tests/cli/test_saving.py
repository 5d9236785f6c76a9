"""Games that are saved, read again, and gone on with."""

import json
import re
from pathlib import Path

import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.cli import main
from ttt_envs.cli.saving import SavedGame

SUPER, DICE = "super_tic_tac_toe", "tic_tac_dice"


def typed(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    lines = iter(answers)

    def read(question: str) -> str:
        print(question, end="")
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)


def test_a_game_is_saved_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "new" / "game.json"

    def shown(*arguments: str) -> str:
        with pytest.raises(SystemExit):
            main(["play", *arguments])
        return capsys.readouterr().out

    def moves(text: str) -> list[str]:
        return re.findall(r"^\d+\. .*$", text, re.MULTILINE)

    typed(monkeypatch, "1", "1", f"save {saved}", "history", "1")
    first = shown(DICE, "--option", "rounds=single", "--agents", "human", "random", "--seed", "1")
    assert f"saved; `ttt play --load {saved}` goes on from here, and so can you" in first
    assert len(moves(first)) >= 2
    record = json.loads(saved.read_text())
    assert record["agents"] == ["human", "random"]
    load = ("--load", str(saved))
    typed(monkeypatch, "history", "1")
    second = shown(*load)
    assert second.startswith("Tic-Tac-Dice: X (you), O (random)")
    assert moves(second) == moves(first)
    # The same dice, and the same answers of the other player.
    assert second.split("your move (? for help): ")[-1] == first.split("your move (? for help): ")[-1]
    # It is saved again to the same file, and to no other that is there.
    typed(monkeypatch, "undo", f"save {saved}", f"save {tmp_path}", f"save {__file__}")
    third = shown(DICE, *load)
    assert third.count("saved;") == 1
    assert third.count("exists: choose another name") == 2
    assert len(json.loads(saved.read_text())["actions"]) < len(record["actions"])
    typed(monkeypatch, "1")
    assert "X (you), O (greedy)" in shown(*load, "--agents", "human", "greedy")

    def refused(words: str, *arguments: str) -> None:
        assert main(["play", *arguments]) == 2
        assert words in capsys.readouterr().err

    refused("leave out yours", *load, "--seed", "3")
    refused("leave out yours", *load, "--option", "rounds=match")
    refused(f"is a game of {DICE}, not of {SUPER}", SUPER, *load)
    refused("no file of records at", "--load", str(tmp_path / "none.json"))
    for change, words in (
        ({"agents": ["human", "program:rm -rf x"]}, "names the agent 'program:rm -rf x', which may run programs"),
        (
            {"agents": ["human", "my_agent.py:Mine"]},
            "if you want it to be run, name all agents of the game with --agents",
        ),
        ({"agents": ["human", "oracle:fallback=program:/bin/sh -c 'echo > ran'"]}, 'with "program:/bin/sh -c'),
        ({"actions": [record["actions"][0]] * 2}, "cannot play"),
        ({"digest": "0" * 16}, "its digest differs"),
        ({"game": "os:system"}, "unknown game 'os:system'"),
    ):
        saved.write_text(json.dumps({**record, **change}))
        refused(words, *load)
    saved.write_text("no JSON")
    refused("it is no JSON", *load)


def test_saving_and_taking_back_at_once(tmp_path: Path) -> None:
    for game, people in (
        (ttt_envs.load("operation_tic_tac_toe", mode="round", max_idle_turns=4), [1]),
        (ttt_envs.load("tic_tac_match", max_turns=12), [0, 1]),
    ):
        live = SavedGame.begin(game, 3)
        live.agents = ("random", "random")
        player = agents.load("random")
        while not live.over:
            joint = [-1, -1]
            for p in live.acting():
                joint[p] = int(player.act(live.view(p))[0])
            live.play(joint)
            path = tmp_path / f"{game.id}{live.ply}.jsonl"
            live.save(path)
            again = SavedGame.read(path)
            assert again.states == live.states
            assert again.actions == live.actions
            assert again.agents == live.agents
        assert again.ply > 3
        while (ply := again.last_decision(people)) is not None:
            again.take_back(ply)
            assert again.states == live.states[: ply + 1]
            assert set(again.acting()) & set(people)
        assert not any(joint[p] >= 0 for joint in again.actions for p in people)
