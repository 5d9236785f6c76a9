"""Language models as agents, behind a server on this machine."""

import contextlib
import re
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from chat_server import INPUT_TOKENS, OUTPUT_TOKENS, ChatServer, chat_server, legal_in

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.agents.base import AgentFailed
from ttt_envs.agents.external.transcripts import read_transcripts
from ttt_envs.core.game import Game

pytest.importorskip("openai", reason="needs the extra llm")

DICE, SINGLE = "tic_tac_dice", {"rounds": "single"}


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server() as made:
        yield made


@pytest.fixture(autouse=True)
def environment(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.asked.clear()
    server.keys.clear()
    server.at_once = 0
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret")
    # Requests to this machine take no way round.
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def game() -> Game:
    return ttt_envs.load(DICE, **SINGLE)


def view_of(game: Game, n: int = 3) -> ttt_envs.View:
    return ttt_envs.Batch(game, n, seed=1).view()


def test_a_model_plays(game: Game, server: ChatServer) -> None:
    agent = agents.load("llm:model=first,temperature=0.5,max_tokens=50")
    agent.check(game)
    view = view_of(game)
    actions = agent.act(view)
    assert actions.tolist() == view.masks.argmax(axis=1).tolist()
    assert server.keys == {"Bearer a-secret"}
    body = server.asked[0]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("first", 0.5, 50)
    (message,) = body["messages"]
    assert message["role"] == "user"
    assert game.rules_text in message["content"]
    assert {len(legal_in(each["messages"][0]["content"])) for each in server.asked} == set(view.masks.sum(axis=1))
    assert agent.counts() == {
        "requests": 3,
        "repeated requests": 0,
        "input tokens": 3 * INPUT_TOKENS,
        "output tokens": 3 * OUTPUT_TOKENS,
    }


def test_settings_stand_in_the_request(game: Game, server: ChatServer) -> None:
    text = "llm:model=first,temperature=0.5,system=Be brief,legal=false,illegal=random,retries=0"
    agents.load(f'{text},extra_body={{"top_k": 20}}').act(view_of(game, 1))
    body = server.asked[0]
    assert (body["temperature"], body["top_k"]) == (0.5, 20)
    system, asked = body["messages"]
    assert (system["role"], system["content"]) == ("system", "Be brief")
    assert "YOUR LEGAL ACTIONS" not in asked["content"]
    for wrong in ("extra_body=3", "temperature=-1", "rules=often", "answers=xml"):
        with pytest.raises(ValueError, match=wrong.partition("=")[0]):
            agents.load(f"llm:model=first,{wrong}")


@pytest.mark.parametrize(
    ("form", "model"),
    [("json", "object"), ("tool", "calls play"), ("tool", "calls play play"), ("json", "first"), ("text", "parts")],
)
def test_answers_as_objects_and_as_calls(game: Game, server: ChatServer, form: str, model: str) -> None:
    view = view_of(game)
    assert agents.load(f"llm:model={model},answers={form}").act(view).tolist() == view.masks.argmax(axis=1).tolist()
    body = server.asked[0]
    assert ("tools" in body, "response_format" in body) == (form == "tool", form == "json")


def test_a_game_can_be_one_conversation(game: Game, server: ChatServer) -> None:
    agent = agents.load("llm:model=first,rules=first,system=Be brief")
    evaluation.play_games(game, [agent, "random"], games=2)
    firsts = [body for body in server.asked if len(body["messages"]) == 2]
    assert len(firsts) == 2
    for body in server.asked:
        asked = [each["content"] for each in body["messages"] if each["role"] == "user"]
        assert game.rules_text in asked[0]
        assert not any(game.rules_text in each for each in asked[1:])
    assert max(len(body["messages"]) for body in server.asked) > 4
    assert not agent._talks, "games that are over are forgotten"
    server.asked.clear()
    agents.load("llm:model=first,rules=never").act(view_of(game, 1))
    assert game.rules_text not in server.asked[0]["messages"][0]["content"]


def test_decisions_are_kept(game: Game, tmp_path: Path) -> None:
    path = tmp_path / "told.jsonl"
    for model in ("thinks", "wrong,illegal=random", "down,server_retries=0"):
        agent = agents.load(f"llm:model={model},retries=1,transcripts={path}")
        with contextlib.suppress(AgentFailed):
            agent.act(view_of(game, 1))
    with path.open("a") as file:
        file.write('{"model": "killed')
    thinks, wrong, down = read_transcripts(path)
    assert thinks["answers"][0]["reasoning"] == "The first is as good as any."
    assert thinks["answers"][0]["tokens"] == [INPUT_TOKENS, OUTPUT_TOKENS]
    assert thinks["action"] in game.action_names
    assert (thinks["game"], thinks["options"]["rounds"]) == (DICE, "single")
    assert [each["text"] for each in wrong["answers"]] == ["I play north"] * 2
    assert wrong["action"] in game.action_names
    assert (down["action"], down["answers"]) == (None, [])
    path.write_text('{"model": 1}\n')
    with pytest.raises(ValueError, match="line 1"):
        list(read_transcripts(path))


def test_the_url_is_a_parameter_and_a_key_may_be_missing(
    game: Game, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    agent = agents.load(f"llm:model=some/model:8b,url={server.url}/,key=MY_KEY")
    agent.act(view_of(game, 1))
    assert server.asked[0]["model"] == "some/model:8b"
    monkeypatch.setenv("MY_KEY", "mine")
    agent.act(view_of(game, 1))
    assert server.keys == {"Bearer none", "Bearer mine"}
    with pytest.raises(ValueError, match=r"needs a key for https://api.openai.com/v1 in the environment variable"):
        agents.load("llm:model=x")


def test_a_model_is_told_why_its_answer_could_not_be_used(game: Game, server: ChatServer) -> None:
    agent = agents.load("llm:model=doubtful,retries=2")
    view = view_of(game, 1)
    assert view.masks[0, agent.act(view)[0]]
    assert agent.counts()["illegal answers"] == 2
    last = server.asked[-1]["messages"]
    assert [each["role"] for each in last] == ["user", "assistant", "user", "assistant", "user"]
    assert last[1]["content"] == "I am not sure"
    assert "which is no action" in last[2]["content"]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("cut", "It was cut off"),
        ("out of tokens", "It was cut off"),
        ("calls look", "Call the tool `play`, and no other"),
        ("calls play look", "Call the tool `play`, and no other"),
        ("calls play twice-play", "with one action"),
        ("empty", "The answer is empty"),
    ],
)
def test_answers_that_are_not_read(game: Game, tmp_path: Path, model: str, reason: str) -> None:
    path = tmp_path / "told.jsonl"
    with pytest.raises(AgentFailed, match=reason):
        agents.load(f"llm:model={model},retries=0,transcripts={path}").act(view_of(game, 1))
    (told,) = read_transcripts(path)
    (answer,) = told["answers"]
    assert answer["finish_reason"] == ("length" if "cut off" in reason else "stop")
    assert reason in told["fault"]


def test_half_an_emoji_is_sent_back(game: Game, server: ChatServer) -> None:
    agent, view = agents.load("llm:model=half an emoji"), view_of(game, 1)
    assert view.masks[0, agent.act(view)[0]]
    assert server.asked[-1]["messages"][1]["content"] == "?"


def test_after_its_retries_a_model_forfeits_or_moves_at_random(game: Game) -> None:
    view = view_of(game)
    with pytest.raises(AgentFailed) as failed:
        agents.load("llm:model=wrong,retries=1").act(view)
    assert failed.value.actions.tolist() == [-1, -1, -1]
    assert "named no legal action in 2 answers; the last one: 'I play north'" in failed.value.faults[0].reason
    agent = agents.load("llm:model=wrong,retries=1,illegal=random")
    actions = agent.act(view)
    assert view.masks[np.arange(3), actions].all()
    assert (agent.act(view) == actions).all()  # by the view's seeds
    assert agent.counts()["random moves"] == 6
    with pytest.raises(AgentFailed, match="The answer is empty"):
        agents.load("llm:model=empty,retries=0").act(view)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("down,server_retries=0", "failed: InternalServerError: .* out of order, Bearer \\.\\.\\."),
        ("garbage,server_retries=0", 'no chat completion: {"object": "nothing"}'),
        ("error,server_retries=0", "no chat completion: .*quota exceeded"),
        ("null message,server_retries=0", 'no chat completion: .*"message": null'),
        ("text,server_retries=0", "no chat completion: no JSON"),
        ("control,server_retries=0", "failed: InternalServerError: .* \\[2J out of order$"),
        ("hangs,seconds=0.2", "gave no answer within 0.2 s"),
    ],
)
def test_a_server_that_fails(game: Game, tmp_path: Path, model: str, reason: str) -> None:
    agent = agents.load(f"llm:model={model},transcripts={tmp_path / 'told.jsonl'}")
    with pytest.raises(AgentFailed, match=reason) as failed:
        agent.act(view_of(game, 1))
    assert "a-secret" not in str(failed.value)
    assert agent.counts()["server failures"] == 1
    (told,) = read_transcripts(tmp_path / "told.jsonl")
    assert re.search(reason, told["fault"])
    assert told["answers"] == []


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("bomb", r"its answer is compressed \(gzip\), though that was not asked for"),
        ("endless", "its answer is longer than 4 MiB"),
        ("drip,seconds=0.3", "gave no answer within 0.3 s"),
    ],
)
def test_an_answer_that_takes_too_much_is_not_read(game: Game, model: str, reason: str) -> None:
    agent, view = agents.load(f"llm:model={model}"), view_of(game, 1)
    tracemalloc.start()
    begun = time.process_time()
    with pytest.raises(AgentFailed, match=reason):
        agent.act(view)
    assert time.process_time() - begun < 5
    assert tracemalloc.get_traced_memory()[1] < 40 << 20
    tracemalloc.stop()


def test_no_redirect_is_followed(game: Game, server: ChatServer) -> None:
    with chat_server() as other:
        other.moved = server.url
        agent = agents.load(f"llm:model=first,url={other.url},key=OPENAI_API_KEY")
        with pytest.raises(ValueError, match=rf"will not do: it redirects to {server.url}/models, which is not follow"):
            agent.check(game)
        with pytest.raises(AgentFailed, match="it redirects to"):
            agent.act(view_of(game, 1))
    assert not server.asked


def test_only_the_default_server_is_sent_what_the_environment_holds(
    game: Game, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_WEBHOOK_SECRET"):
        monkeypatch.setenv(name, "a-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: a-secret\nAuthorization: Bearer a-secret")
    view = view_of(game, 1)
    agents.load("llm:model=first").act(view)
    assert server.headers["x-mine"] == "a-secret"
    agents.load(f"llm:model=first,url={server.url}").act(view)
    assert server.headers["x-mine"] == "a-secret", "that is the default server, too"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    agents.load(f"llm:model=first,url={server.url}").act(view)
    assert "secret" not in str(server.headers)
    monkeypatch.setenv("MY_KEY", "mine")
    agents.load(f"llm:model=first,url={server.url},key=MY_KEY").act(view)
    assert server.headers["authorization"] == "Bearer mine"
    assert "secret" not in str(server.headers)
    with pytest.raises(ValueError, match="environment variable that `key` names, such as key=OPENAI_API_KEY"):
        agents.load("llm:model=x,url=https://api.openai.com/v1")
    monkeypatch.setenv("MY_KEY", "wrong")
    with pytest.raises(ValueError, match="refuses the key in the environment variable MY_KEY, which it may not know"):
        agents.load(f"llm:model=x,url={server.url},key=MY_KEY").check(game)


@pytest.mark.parametrize("model", ["flaky", "quota"])
def test_a_request_that_fails_is_tried_again(game: Game, server: ChatServer, model: str) -> None:
    server.failed.clear()
    agent = agents.load(f"llm:model={model}")
    agent.act(view_of(game, 2))
    assert agent.counts()["repeated requests"] == 2


def test_requests_are_made_at_the_same_time_and_not_too_many(game: Game, server: ChatServer) -> None:
    agents.load("llm:model=slow,at_once=3").act(view_of(game, 6))
    assert server.at_once == 3


def test_tokens_and_cost(game: Game) -> None:
    agent = agents.load("llm:model=first,input_price=2,output_price=10")
    agent.act(view_of(game, 1))
    assert agent.counts()["cost"] == pytest.approx((2 * INPUT_TOKENS + 10 * OUTPUT_TOKENS) / 1e6)
    uncounted = agents.load("llm:model=uncounted")
    uncounted.act(view_of(game, 1))
    assert uncounted.counts()["requests without token counts"] == 1
    boasting = agents.load("llm:model=boasts,input_price=2")
    boasting.act(view_of(game, 1))
    assert boasting.counts() == {"requests": 1, "repeated requests": 0, "requests without token counts": 1, "cost": 0}


def test_a_model_is_checked_before_any_game(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"no server answers at http://127.0.0.1:9/v1"):
        agents.load("llm:model=x,url=http://127.0.0.1:9/v1").check(game)
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with pytest.raises(ValueError, match="refuses the key in the environment variable OPENAI_API_KEY"):
        agents.load("llm:model=x").check(game)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("llm", "agent llm needs model"),
        ("llm:model=", "needs the name of a model"),
        ("llm:model=x,url=localhost:8000", "url must be like http://"),
        ("llm:model=x,url=http://me:secret@here/v1", "put the key into the environment"),
        ("llm:model=x,illegal=forfeit", "must be one of 'lose', 'random'"),
    ],
)
def test_wrong_parameters(spec: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        agents.load(spec)


def test_a_model_that_fails_loses_only_its_own_games(tmp_path: Path, server: ChatServer) -> None:
    names = ["random", "llm:model=first,input_price=1", "llm:model=down,server_retries=0", "llm:model=wrong,retries=0"]
    report = evaluation.tournament(DICE, names, **SINGLE, games=4, out=tmp_path / "t", quiet=True)
    failed = [each.agent for each in report.failures]
    # Where two of them meet, the one who is to begin fails.
    assert set(failed) == set(names[2:])
    assert len(failed) == 4 * 5
    assert report.ratings.score[0, 2] == report.ratings.score[1, 2] == report.ratings.score[1, 3] == 1
    assert 0 < report.counts[1]["requests"] == report.time[1][1]
    assert report.counts[1]["cost"] == pytest.approx(report.counts[1]["input tokens"] / 1e6)
    assert report.counts[0] == {}
    page = (tmp_path / "t" / "report.md").read_text()
    assert "## Used" in page
    assert "out of order" in page
    assert "a-secret" not in page + (tmp_path / "t" / "results.json").read_text()
    # The counts are kept with the games.
    again = evaluation.tournament(DICE, names, **SINGLE, games=4, out=tmp_path / "t", resume=True, quiet=True)
    assert again.counts == report.counts


def test_at_once_players_know_nothing_of_each_other(server: ChatServer) -> None:
    game = ttt_envs.load("operation_tic_tac_toe", mode="round", specialists="none,none", max_idle_turns=3)
    agent = agents.load("llm:model=first")
    batch = ttt_envs.Batch(game, 1, seed=0)
    joint = [[int(agent.act(batch.view(player))[0]) for player in (0, 1)]]
    batch.step(joint)
    names = [game.action_names[action] for action in joint[0]]
    for body, other in zip(server.asked, reversed(names), strict=True):
        assert f"\n{other}\n" not in body["messages"][0]["content"]
