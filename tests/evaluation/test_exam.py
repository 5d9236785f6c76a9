"""Questions with exact answers, and the exam of agents by them and by games."""

import dataclasses
import json

import numpy as np
import pytest
from chat_server import INPUT_TOKENS, chat_server

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.agents import Agent
from ttt_envs.agents.external.transcripts import read_transcripts
from ttt_envs.cli import main
from ttt_envs.core.view import View
from ttt_envs.evaluation.exam import _some
from ttt_envs.evaluation.mistakes import measure
from ttt_envs.evaluation.questions import draw_endings, question_sets, questions_of
from ttt_envs.storage.rows import as_plain

DICE = "tic_tac_dice"


class Silent(Agent):
    """Fails in every position with an even number of legal actions."""

    name = "silent"

    def act(self, view):
        if (view.masks.sum(axis=1) % 2 == 0).any():
            raise RuntimeError("nothing to say")
        return view.masks.argmax(axis=1)


def test_a_set_is_the_same_for_ever(tmp_path, monkeypatch, capsys):
    path = tmp_path / "dice.jsonl"
    assert main(["exam", DICE, "--write", str(path)]) == 0
    head, *questions = map(json.loads, path.read_text().splitlines())
    assert (head["set"], head["version"], len(questions)) == ("dice-round", 1, 300)
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    oracle = game.oracle()
    for each in questions[::40]:
        state, player = game.parse_state(each["position"]), each["player"]
        values = oracle.action_values(state, player)[0]
        assert each["values"] == {
            game.action_names[a]: pytest.approx(values[a], abs=1e-6) for a in np.flatnonzero(~np.isnan(values))
        }
        top = max(each["values"].values())
        assert each["best"] == [name for name, value in each["values"].items() if value == top]
        assert top - min(each["values"].values()) > head["least"]
        for name in each["values"]:
            assert f"\n{name}\n" in each["prompt"]
    assert main(["exam", DICE, "--write", str(path)]) == 2
    assert "is there already" in capsys.readouterr().err
    changed = dataclasses.replace(questions_of(DICE), seed=2)
    with pytest.raises(ValueError, match="'dice-round' of version 1 cannot be drawn"):
        changed.draw()
    with pytest.raises(ValueError, match="has no questions"):
        questions_of("big_tic_tac_dice")


def test_every_set_names_a_game():
    names = {each.name for each in question_sets().values()}
    assert names == {"martian-3x3", "dice-round", "match-small", "operation-spies", "super-endings"}
    for each in question_sets().values():
        each.load()


@pytest.mark.slow  # solves a round
def test_choices_at_once_are_judged_against_the_equilibrium():
    spies = questions_of("operation_tic_tac_toe")
    game, drawn = spies.load(), spies.draw()
    assert set(drawn.players.tolist()) == {0, 1}
    assert measure(game, agents.load("oracle"), drawn, least=spies.least).share == 0
    assert measure(game, agents.load("random"), drawn, least=spies.least).share > 0.3
    question = next(iter(spies.questions()))
    assert sum(question["equilibrium"].values()) == pytest.approx(1, abs=1e-4)
    values = question["values"]
    top = max(values.values())
    assert all(values[name] == pytest.approx(top, abs=1e-4) for name in question["equilibrium"])


def worth(game, state, player):
    """The result of optimal play for a player, found by trying everything."""
    if state["done"]:
        return float(state["rewards"][player])
    mover = int(state["to_move"])
    values = [worth(game, after, player) for _, after in children(game, state)]
    return max(values) if mover == player else min(values)


def children(game, state):
    batch = ttt_envs.Batch(game, 1)
    batch.set_states(state[None])
    for action in np.flatnonzero(batch.masks(int(state["to_move"]))[0]).tolist():
        batch.set_states(state[None])
        batch.step(np.array([action]))
        yield action, batch.states[0].copy()


def test_some_questions_are_drawn_by_the_seed():
    asked = questions_of(DICE)
    whole, (some, again, others) = asked.draw(), (_some(asked, 60, seed) for seed in (0, 0, 1))
    assert len(some) == 60
    assert (some.states == again.states).all()
    for each in (whole.states[:60], others.states):
        assert (some.states != each).any()


def test_ends_of_games_are_searched_to_the_end():
    game = ttt_envs.load("super_tic_tac_toe")
    drawn = draw_endings(game, 12, least=0.5, seed=3, remaining=(3, 6))
    assert set(np.unique(drawn.values[~np.isnan(drawn.values)])) <= {-1.0, 0.0, 1.0}
    assert len(set(drawn.lengths.tolist())) > 2
    for k, state in enumerate(drawn.states):
        player = int(drawn.players[k])
        assert 3 <= 81 - int(state["ply"]) <= 6
        expected = np.full(81, np.nan)
        for action, after in children(game, state):
            expected[action] = worth(game, after, player)
        np.testing.assert_array_equal(drawn.values[k], expected)
    again = draw_endings(game, 12, least=0.5, seed=3, remaining=(3, 6))
    assert (again.states == drawn.states).all()
    with pytest.raises(ValueError, match="of 60 positions"):
        draw_endings(game, 60, least=1.5, seed=3, remaining=(1, 2))
    with pytest.raises(ValueError, match="cannot be searched"):
        draw_endings(ttt_envs.load("tic_tac_dice", rounds="single"), 1, least=0.5, seed=0, remaining=(1, 2))


def test_hidden_hands_are_judged_against_the_equilibrium():
    small = questions_of("tic_tac_match")
    game, drawn = small.load(), small.draw()
    assert drawn.policy is not None
    loss, played = drawn.loss, drawn.policy
    assert np.nanmax(np.where(played > 0.05, loss, 0)) < 0.02, "what the equilibrium plays loses nothing"
    np.testing.assert_allclose(np.nansum(played, axis=1), 1)
    looks = View(game, drawn.states, drawn.players, np.zeros(len(drawn), np.uint64)).observations
    assert len({(player, look.tobytes()) for player, look in zip(drawn.players.tolist(), looks, strict=True)}) == 300
    assert measure(game, agents.load("greedy"), drawn, least=small.least).share < 0.1
    assert measure(game, agents.load("random"), drawn, least=small.least).share > 0.3
    question = next(iter(small.questions(drawn)))
    assert sum(question["equilibrium"].values()) == pytest.approx(1, abs=1e-3)


def test_positions_without_a_legal_answer_count_as_the_worst():
    dice = questions_of(DICE)
    game, drawn = dice.load(), dice.draw()
    found = measure(game, Silent(), drawn, least=dice.least, strict=False)
    even = (~np.isnan(drawn.values)).sum(axis=1) % 2 == 0
    assert 0 < found.failures == even.sum() < len(drawn)
    first = np.nanargmax(~np.isnan(drawn.values), axis=1)
    lost = np.where(even, np.nanmax(drawn.loss, axis=1), drawn.loss[np.arange(len(drawn)), first])
    assert found.share == pytest.approx((lost > dice.least).mean())
    assert found.mean_loss == pytest.approx(lost.mean())
    with pytest.raises(RuntimeError, match="nothing to say"):
        measure(game, Silent(), drawn)


def test_models_are_asked_like_agents(tmp_path, monkeypatch):
    pytest.importorskip("openai", reason="needs the extra llm")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with chat_server() as server:
        first, wrong = (f"llm:model={model},url={server.url},retries=0" for model in ("first", "wrong"))
        mine = agents.load(first)
        report = evaluation.exam(
            DICE,
            [mine, wrong, "tests/evaluation/test_exam.py:Silent"],
            questions=12,
            games=2,
            out=tmp_path / "exam",
            quiet=True,
        )
    rows = report.answers
    assert set(rows) == {"random", "greedy", "trained", first, wrong, "tests/evaluation/test_exam.py:Silent"}
    assert rows["trained"].questions.share <= rows["greedy"].questions.share < rows["random"].questions.share
    assert (rows[wrong].questions.share, rows[wrong].questions.failures) == (1.0, 12)
    assert rows[wrong].failures == 4
    assert rows[wrong].scores["greedy"][0] == 0.0
    used = rows[first].used
    assert used["input tokens"] == INPUT_TOKENS * used["requests"]
    text = (tmp_path / "exam" / "report.md").read_text()
    assert "12 questions of dice-round, version 1" in text
    assert "### wrong: " in text, "decisions without a legal action are shown"
    told = list(read_transcripts(tmp_path / "exam" / "transcripts.jsonl"))
    assert len(told) == used["requests"] + rows[wrong].used["requests"]
    assert {each["model"] for each in told} == {"first", "wrong"}
    assert mine.transcripts is None, "what it is asked elsewhere does not go to this folder"
    assert told[0]["answers"][0]["text"].endswith(f"I play [{told[0]['action']}].")
    found = json.loads((tmp_path / "exam" / "results.json").read_text())
    assert [each["agent"] for each in found["rows"]] == list(rows)
    assert found == as_plain(report.json())
    flat = {row["agent"]: row for row in report.rows()}
    assert list(flat) == list(rows)
    assert (flat[wrong]["share"], flat[wrong]["score_greedy"], flat[wrong]["failed_games"]) == (1.0, 0.0, 4)
    assert flat["random"]["low"] <= flat["random"]["share"] <= flat["random"]["high"]


@pytest.mark.parametrize(("model", "reason"), [("down", "out of order"), ("error", "quota"), ("hangs", "within 0.2 s")])
def test_a_server_that_fails_gives_no_score(tmp_path, monkeypatch, capsys, model, reason):
    pytest.importorskip("openai", reason="needs the extra llm")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    out = tmp_path / "exam"
    with chat_server() as server:
        agent = f"llm:model={model},url={server.url},server_retries=0,seconds=0.2"
        assert main(["exam", DICE, "--agents", agent, "--questions", "3", "--games", "2", "--out", str(out)]) == 2
        assert len(server.asked) == 3, "no games are played then"
    said = json.loads((out / "results.json").read_text())
    assert agent not in [row["agent"] for row in said["rows"]]
    assert "in 3 decisions it gave no answer" in said["left_out"][agent]
    for text in (said["left_out"][agent], (out / "report.md").read_text(), (out / "transcripts.jsonl").read_text()):
        assert reason in text
