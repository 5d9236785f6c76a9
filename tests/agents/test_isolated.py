"""Python agents in processes of their own: they play as they do here, are handed no secrets, and fail alone."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs import agents, cli, evaluation
from ttt_envs.agents.base import AgentFailed
from ttt_envs.agents.external.processes import Process
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.play import game_seeds, play_games

GAME = toy_coin.make()
SEATS = [[0, 1], [1, 0]] * 4

MINE = """
import os, sys, time
from ttt_envs.agents import Agent

class Mine(Agent):
    def __init__(self, how="", first=False):
        self.how, self.first = how, first
        print("loaded", file=sys.stderr)

    def check(self, game):
        if self.how == "refuses":
            raise ValueError("plays no such game")

    def act(self, view):
        print("thinking", flush=True)  # on the standard output, where the answers go
        assert len(view) <= 32
        if (view.players == 1).any():
            if self.how == "raises":
                raise RuntimeError("lost its mind")
            if self.how == "crashes":
                os.abort()
            if self.how == "hangs":
                time.sleep(1000)
            if self.how == "lacks" and len(view) > 1:
                return [0]
            if self.how == "lacks":
                return view.masks.argmax(axis=1)[1:]
            if self.how == "illegal":
                return view.masks.argmin(axis=1)
            if self.how == "eats":
                bytearray(1 << 31)  # twice its limit, and not all that a machine has
        if self.how == "reads":
            assert sys.stdin.read() == ""
            assert "SOME_TOKEN" not in os.environ
        return view.masks.argmax(axis=1)

def anyone(observation, mask):
    return int(mask.nonzero()[0][-1])
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of agents in the current folder."""
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOME_TOKEN", "secret")
    return tmp_path


@pytest.mark.parametrize("spec", ["mine.py:Mine:how=reads,first=true", "mine.py:anyone"])
def test_it_plays_as_it_does_here(spec: str, mine: Path) -> None:
    other = agents.load("random")
    found = []
    for agent in (
        agents.load(spec) if "reads" not in spec else agents.load("mine.py:Mine"),
        agents.load_isolated(spec),
    ):
        agent.check(GAME)
        found.append(play_games(GAME, [agent, other], seats=SEATS, games=8, seed=0))
        agent.close()
    assert agent.name == spec
    assert (found[0].moves == found[1].moves).all()


@pytest.mark.parametrize(
    ("kind", "error"), [([], ValueError), ({}, ValueError), (None, ValueError), ("OSError", ValueError)]
)
def test_a_refusal_of_any_kind_is_one(kind: object, error: type[Exception]) -> None:
    """An agent could write to the pipe itself."""
    with pytest.raises(error, match="reason"):
        agents.load("isolated:random")._welcome(GAME, {"type": "refuse", "kind": kind, "reason": ["a reason"]})


FAULTS = {
    "raises": "RuntimeError: lost its mind",
    "crashes": "was ended by SIGABRT",
    "hangs": "gave no answer within 1 s",
    "lacks": "actions must have shape (1,), not (0,)",
    "illegal": "as player 1 cannot play",
    "eats": "MemoryError",
}


@pytest.mark.parametrize(
    "how", [pytest.param(each, marks=[] if each == "crashes" else [pytest.mark.slow]) for each in FAULTS]
)
def test_it_loses_only_the_games_in_which_it_fails(how: str, mine: Path) -> None:
    """Games are asked about together; those of a question that fails are asked about one by one."""
    seconds = 1 if how == "hangs" else 60
    agent = agents.load(f"isolated:seconds={seconds},memory=1024,mine.py:Mine:{how}")
    agent.check(GAME)
    games = play_games(GAME, [agent, agents.load("random")], seats=SEATS[:2], games=2, seed=0, strict=False)
    agent.close()
    assert [(each.game, each.player, each.ply) for each in games.failures] == [(1, 1, 0)]
    for failure in games.failures:
        assert FAULTS[how] in failure.reason
        assert "loaded" in failure.stderr
    usual = play_games(GAME, [agents.load("mine.py:Mine"), agents.load("random")], seats=SEATS[:2], games=2, seed=0)
    assert games.moves[0] == usual.moves[0]


@pytest.mark.parametrize(
    ("spec", "kind", "words"),
    [
        ("mine.py:Mine:refuses", ValueError, "plays no such game"),
        ("nothing.py:Mine", FileNotFoundError, "no agent file at nothing.py"),
        # Refusals as the first one.
        pytest.param("mine.py:Nobody", ValueError, "unknown name 'Nobody'", marks=pytest.mark.slow),
        pytest.param(
            *("mcts", ValueError, "agent mcts plays only games without simultaneous choices"), marks=pytest.mark.slow
        ),
        ("human", ValueError, "agent 'human' waits for a person, and a process of its own has no terminal"),
    ],
)
def test_what_is_wrong_is_said_before_the_games(spec: str, kind: type[Exception], words: str, mine: Path) -> None:
    with pytest.raises(kind) as error:
        agents.load(f"isolated:{spec}").check(GAME)
    assert words in str(error.value)


def test_mistakes_in_the_text() -> None:
    with pytest.raises(ValueError, match="needs agent, such as"):
        agents.load("isolated")
    with pytest.raises(ValueError, match="has a process of its own already: leave out 'isolated:'"):
        agents.load("isolated:program:./engine")
    agent = agents.load("isolated:seconds=3,memory=none,mcts:simulations=5,seconds=4")
    assert (agent.agent, agent.seconds, agent.memory) == ("mcts:simulations=5,seconds=4", 3, None)


def test_what_it_is_handed_is_a_world_drawn_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the game's generator, and of the coin no more than its player knows."""
    sent = []
    ask = Process.ask
    monkeypatch.setattr(Process, "ask", lambda self, lines, *rest: sent.append(lines) or ask(self, lines, *rest))
    states = np.repeat(GAME.new_state(0), 64)
    seeds = game_seeds(0, 64)
    agent = agents.load("isolated:random")
    for player in (0, 1):
        agent.act(View(GAME, states, np.full(64, player), seeds))
    agent.close()
    hello, *questions = map(json.loads, sent)
    assert set(hello) == {"type", "protocol", "agent", "game"}
    assert all(set(each) == {"type", "id", "players", "states"} for each in questions)
    worlds = [np.frombuffer(base64.b64decode(each["states"]), GAME.state_dtype) for each in questions]
    assert [len(each) for each in worlds] == [32] * 4
    teller, guesser = np.concatenate(worlds[:2]), np.concatenate(worlds[2:])
    assert (teller["coin"] == states["coin"]).all()
    assert 10 < (guesser["coin"] == states["coin"]).sum() < 54
    generators = np.concatenate([teller, guesser])["rng"]
    assert len(set(generators.tolist())) == 128
    # What a view gives to an agent of this process, which comes from the game's seed.
    views = [View(GAME, states, np.full(64, player), seeds) for player in (0, 1)]
    known = {each for view in views for each in (*view.seeds.tolist(), *view.sample_worlds()["rng"].tolist())}
    assert not known & set(generators.tolist())
    assert states["rng"][0] not in generators


@pytest.mark.slow
def test_a_search_plays() -> None:
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    report = evaluation.tournament(game, ["random", "mcts:simulations=30"], games=60, isolate=True, quiet=True)
    assert report.failures == []
    assert report.agents == ("random", "mcts:simulations=30")
    assert report.ratings.score[1, 0] > 0.5


@pytest.mark.slow
def test_all_agents_of_a_tournament_by_the_command_line(mine: Path) -> None:
    words = "tournament tic_tac_dice --option rounds=single --agents random mine.py:Mine:raises --games 4 --isolate"
    assert cli.main([*words.split(), "--out", "t"]) == 0
    data = json.loads((mine / "t" / "results.json").read_text())
    assert data["isolate"] is True
    assert "--isolate" in data["command"]
    assert {each["agent"] for each in data["failures"]} == {"mine.py:Mine:raises"}
    with pytest.raises(ValueError, match="is named by a text, such as"):
        evaluation.tournament("tic_tac_dice", ["random", agents.load("greedy")], isolate=True, quiet=True)


def test_an_error_names_the_agent(mine: Path) -> None:
    agent = agents.load("isolated:mine.py:Mine:raises")
    with pytest.raises(AgentFailed, match=r"agent 'isolated:mine.py:Mine:raises' RuntimeError: lost its mind"):
        agent.act(View(GAME, GAME.new_state(0), 1, np.zeros(1, np.uint64)))
    agent.close()
