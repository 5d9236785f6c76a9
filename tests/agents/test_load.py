"""`agents.load`: every form in which an agent can be named, and what is said of each mistake."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.base import uniform
from ttt_envs.core.view import View

GAME = "super_tic_tac_toe"

MINE = '''
"""Agents of somebody's own."""

from __future__ import annotations

import numpy as np

from beside import OFFSET
from ttt_envs.agents import Agent
from ttt_envs.agents.base import uniform


class Mine(Agent):
    """Plays its n-th legal action."""

    def __init__(self, n: int = 0, weight: float = 1.0, word: str = "", deep=None):
        self.n, self.weight, self.word, self.deep = n, weight, word, deep

    def policy(self, view):
        order = np.cumsum(view.masks, axis=1) - 1
        return uniform(view.masks & (order == np.minimum(self.n, order[:, -1:])))


class Needs(Agent):
    def __init__(self, path: str, **more):
        self.path = path


class Unresolvable(Agent):
    def __init__(self, n: Nowhere = 3):
        self.n = n


def last(observation, mask):
    return int(np.flatnonzero(mask)[-1]) - OFFSET


def one(observation):
    return 0


second = Mine(1)
NUMBER = 3
_hidden = Mine(2)
'''


QUOTED = """
from ttt_envs.agents import Agent

class Said(Agent):
    def __init__(self, word: str, n: int = 1) -> None:
        self.word, self.n = word, n
    def act(self, view):
        return view.masks.argmax(axis=1)
"""


def some_view(n: int = 6) -> View:
    game = ttt_envs.load(GAME)
    states = np.repeat(game.new_state(0), n)
    return View(game, states, states["to_move"], np.arange(n, dtype=np.uint64))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file of agents and something beside it."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "beside.py").write_text("OFFSET = 0\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("beside", None)


def fails(kind: type[Exception], spec: object, *words: str) -> None:
    with pytest.raises(kind) as error:
        agents.load(spec)
    missing = [word for word in words if word not in str(error.value)]
    assert not missing, f"{missing} not in: {error.value}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"You are X, a player"', "You are X, a player"),
        ("'a=1, \"b\", it's'", 'a=1, "b", it\'s'),
        ('"plain"', "plain"),
        ('""', ""),
        ('{"top_k": 20}', '{"top_k": 20}'),
        ('\'{"top_k": 20, "min_p": 0}\'', '{"top_k": 20, "min_p": 0}'),
        ('"C:/a, b/c.py"', "C:/a, b/c.py"),
    ],
)
def test_a_value_in_quotes_may_hold_commas(folder: Path, text: str, wanted: str) -> None:
    (folder / "quoted.py").write_text(QUOTED)
    for spec in (f"quoted.py:Said:word={text},n=2", f"quoted.py:Said:{text},n=2", f"quoted.py:Said:n=2,word={text}"):
        agent = agents.load(spec)
        assert (agent.word, agent.n) == (wanted, 2)
    inner = agents.load(f"mixed:quoted.py:Said:word={text},n=2,random=0.1").agent
    assert (inner.word, inner.n) == (wanted, 2)


def first_actions() -> np.ndarray:
    return np.flatnonzero(some_view().masks[0])


# --- from a file ---


def test_a_class_in_a_file(folder: Path) -> None:
    agent = agents.load("mine.py:Mine")
    assert agent.name == "mine.py:Mine"
    assert (agent.act(some_view()) == first_actions()[0]).all()


def test_parameters_of_a_class_in_a_file(folder: Path) -> None:
    agent = agents.load("mine.py:Mine:2,weight=3,word=7,deep=4")
    assert (agent.act(some_view()) == first_actions()[2]).all()
    # The annotations count, although the file does not evaluate them.
    assert [agent.n, agent.weight, agent.word, agent.deep] == [2, 3.0, "7", 4]
    assert isinstance(agent.weight, float)
    assert agents.load("mine.py:Unresolvable:n=5").n == 5
    assert agents.load("mine.py:Needs:path=a:b").path == "a:b"


def test_an_object_in_a_file_keeps_its_own_name(folder: Path) -> None:
    agent = agents.load("mine.py:second")
    assert agent.name == "mine.py:second"
    assert (agent.act(some_view()) == first_actions()[1]).all()
    module = sys.modules[type(agent).__module__]
    assert module.second.name == "Mine"


def test_a_function_in_a_file(folder: Path) -> None:
    agent = agents.load("mine.py:last")
    assert agent.name == "mine.py:last"
    assert (agent.act(some_view()) == first_actions()[-1]).all()


def test_files_of_one_name_are_different_modules(folder: Path) -> None:
    for name, which in (("a-b", "argmax()"), ("a_b", "nonzero()[0][-1]")):
        (folder / name).mkdir()
        (folder / name / "it.py").write_text(f"def f(observation, mask):\n    return int(mask.{which})\n")
    actions = [int(agents.load(f"{name}/it.py:f").act(some_view())[0]) for name in ("a-b", "a_b")]
    assert actions == [first_actions()[0], first_actions()[-1]]


def test_a_file_is_run_once_and_again_when_it_was_edited(folder: Path) -> None:
    assert type(agents.load("mine.py:Mine")) is type(agents.load(f"{folder}/mine.py:Mine"))
    before = agents.load("mine.py:last").act(some_view())
    (folder / "mine.py").write_text(MINE.replace("[-1]", "[0]"))
    after = agents.load("mine.py:last").act(some_view())
    assert (before[0], after[0]) == (first_actions()[-1], first_actions()[0])


def test_a_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = folder / "lib" / "somebodys_agents"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "good.py").write_text(MINE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.syspath_prepend(folder / "lib")
    agent = agents.load("somebodys_agents.good:Mine:n=3")
    assert agent.name == "somebodys_agents.good:Mine:n=3"
    assert (agent.act(some_view()) == first_actions()[3]).all()
    fails(ValueError, "somebodys_agents.god:Mine", "no module 'somebodys_agents.god' can be found")
    fails(ValueError, "somebody:Mine", "unknown agent 'somebody'", "package.module:Name")
    fails(ValueError, "somebodys_agents.good:Min", "unknown name 'Min'; did you mean 'Mine'")


# --- objects ---


class Policy(agents.Agent):
    """Half its weight on each of two actions."""

    def policy(self, view: View) -> np.ndarray:
        return uniform(view.masks & (np.cumsum(view.masks, axis=1) <= 2))


class Act(agents.Agent):
    """The first legal action."""

    name = "first"

    def act(self, view: View) -> np.ndarray:
        return np.where(view.masks.any(axis=1), view.masks.argmax(axis=1), -1)


def test_a_subclass_with_policy_only() -> None:
    agent = agents.load(Policy())
    assert agent.name == "Policy"
    n = 2000
    view = some_view(n)
    actions = agent.act(view)
    assert actions.dtype == np.int64
    counts = np.bincount(actions, minlength=81)
    assert set(np.flatnonzero(counts)) == set(first_actions()[:2])
    assert np.abs(counts / n - agent.policy(view)[0]).max() < 2 / np.sqrt(n)
    # Whatever else is in the batch.
    rows = np.arange(n)[::-7]
    assert (agent.act(view.take(rows)) == actions[rows]).all()


def test_a_subclass_with_act_only() -> None:
    agent = agents.load(Act())
    assert agent.name == "first"
    policy = agent.policy(some_view())
    assert policy.dtype == np.float64
    assert (np.argwhere(policy == 1)[:, 1] == first_actions()[0]).all()
    assert policy.sum() == len(policy)
    # A player who does not act has no action.
    game = ttt_envs.load(GAME)
    waiting = View(game, game.new_state(0), np.array([1]), np.zeros(1, np.uint64))
    assert agent.policy(waiting).sum() == 0


def test_a_subclass_with_neither() -> None:
    class Neither(agents.Agent):
        pass

    for ask in (Neither().act, Neither().policy):
        with pytest.raises(NotImplementedError, match="Neither must define policy"):
            ask(some_view())


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: view.masks[:, :-1], "Wrong: its policy must have shape (6, 81), not (6, 80)"),
        (lambda view: np.where(view.masks, np.nan, 0), "must be numbers of at least 0"),
    ],
)
def test_a_wrong_policy_is_refused(answer: Callable[[View], np.ndarray], words: str) -> None:
    class Wrong(agents.Agent):
        def policy(self, view: View) -> np.ndarray:
            return answer(view)

    with pytest.raises(ValueError, match=re.escape(words)):
        Wrong().act(some_view())


# --- mistakes ---


@pytest.mark.parametrize(
    ("spec", "kind", "words"),
    [
        ("mine.py", ValueError, ["agent 'mine.py'", "mine.py:Name"]),
        ("nobody.py:Mine", FileNotFoundError, ["no agent file at nobody.py"]),
        ("beside.py:Mine", ValueError, ["unknown name 'Mine'", "known: none"]),
        ("mine.py:Mine:m=1", ValueError, ["agent mine.py:Mine", "unknown parameter 'm'", "known: n, weight"]),
        ("mine.py:Needs", ValueError, ["agent mine.py:Needs needs path", "mine.py:Needs:path=..."]),
        ("mine.py:last:n=1", ValueError, ["only a class takes parameters", "function"]),
        ("mine.py:one", TypeError, ["agent 'mine.py:one'", "takes (observation, mask)", "(observation)"]),
        ("mine.py:NUMBER", TypeError, ["agent 'mine.py:NUMBER'", "3 of type int"]),
        (3, TypeError, ["not 3 of type int", "f(observation, mask)"]),
        (Policy, TypeError, ["not the class Policy: write Policy()"]),
    ],
    ids=str,
)
def test_mistakes(folder: Path, spec: object, kind: type[Exception], words: list[str]) -> None:
    fails(kind, spec, *words)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = 1\nraise RuntimeError('the network is down')", ["RuntimeError: the network is down", "bad.py, line 2"]),
        ("import numpy\n\nnumpy.zeros(-1)", ["ValueError", "bad.py, line 3"]),
        ("def f(:\n", ["SyntaxError", "bad.py, line 1"]),
        ("import sys\nsys.exit(3)", ["SystemExit: 3", "bad.py, line 2"]),
    ],
    ids=["raises", "raises elsewhere", "syntax", "exits"],
)
def test_a_file_that_cannot_be_imported(folder: Path, code: str, words: list[str]) -> None:
    (folder / "bad.py").write_text(code)
    modules = set(sys.modules)
    for _ in range(2):  # the second time as well
        fails(ImportError, "bad.py:Mine", "the agent file bad.py cannot be imported", *words)
    assert not [name for name in set(sys.modules) - modules if name.startswith("ttt_envs_agent_")]


def test_an_interrupt_while_a_file_is_imported_is_no_fault_of_it(folder: Path) -> None:
    (folder / "slow.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        agents.load("slow.py:Mine")
