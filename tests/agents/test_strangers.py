"""What the text of an agent can do: texts that files may name by themselves use the library's own data alone."""

import inspect
import itertools
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ttt_envs import agents
from ttt_envs.agents import pretrained

#: Texts that start a program, run code, open a file or reach a server; {folder} holds what they name.
HOSTILE = (
    "program:/bin/sh -c 'echo > {folder}/ran'",
    "program:seconds=1,/bin/sh -c 'echo > {folder}/ran'",
    "llm:model=x,url=http://127.0.0.1:9/v1",
    "{folder}/hostile.py:Name",
    "hostile.py:Name:depth=2",
    "hostile_package.hostile:Name",
    "hostile_package.hostile:Name:a=b",
    *(f"{name}:{{folder}}" for name in ("network", "lookahead", "guided", "tabular", "solved", "alphabeta")),
    "network:path={folder},average=true",
    "network:",
    "network:path=",
    "alphabeta:path=",
    "alphabeta:depth=1,path=runs/x",
    "tabular:.",
    "random:hostile.py:Name",
    ":",
    "oracle:fallback=",
    "nobody",
    "os:system",
)

#: Texts that use the library's own data alone, of all agents that can.
HARMLESS = (
    "random",
    "greedy",
    "greedy:samples=2",
    "mcts:simulations=2,exploration=1.2",
    "ismcts:simulations=2",
    "smmcts:simulations=2",
    "alphabeta",
    "alphabeta:depth=1",
    "expectimax:depth=1",
    "oracle",
    "trained:tic_tac_dice",
    "trained:super_tic_tac_toe/ppo",
    "trained:../../hostile.py:Name",
    "human",
)

#: An agent around another one, {} .
AROUND = (
    "oracle:{}",
    "oracle:fallback={}",
    "mixed:{}",
    "mixed:{},random=0.3",
    "mixed:agent={},random=0.3",
    "mixed:random=0.3,agent={}",
    "rounds:{}",
    "rounds:agent={}",
)

#: Loads each text that is no stranger, checks it, and lets some play; prints what Python's audit hooks say meanwhile.
AUDITED = """
import json, os, sys, warnings
import numpy as np
import ttt_envs
from ttt_envs import agents

warnings.simplefilter("ignore")
given = json.load(sys.stdin)
games = [ttt_envs.load("tic_tac_dice", rounds="single"), ttt_envs.load("operation_tic_tac_toe", mode="round")]
views = [ttt_envs.Batch(game, 1, seed=0).view(0) for game in games]
home = (os.path.dirname(ttt_envs.__file__), sys.prefix, sys.base_prefix, os.path.dirname(np.__path__[0]))
own = tuple(os.path.realpath(each) + os.sep for each in (*home, *given["own"]))
leaves = ("subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "os.spawn", "pty.", "socket.", "sqlite3.")
found, now = [], None

def hook(event, arguments):
    if now is None:
        return
    wrong = event.startswith(leaves)
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        place = os.path.realpath(os.fsdecode(arguments[0]))
        wrong = not place.startswith(own) and ".dist-info" not in place  # what packages are installed
    if event == "exec":
        place = getattr(arguments[0], "co_filename", "<")
        wrong = not place.startswith("<") and not os.path.realpath(place).startswith(own)
    if wrong:
        found.append([now, event, repr(arguments)[:200]])

sys.addaudithook(hook)
answers = {}
for now in given["texts"]:
    answers[now] = agents.stranger(now)
    if answers[now] is not None:
        continue
    try:
        agent = agents.load(now)
    except ValueError:  # such as a person in another agent
        continue
    for game, view in zip(games, views):
        try:
            agent.check(game)
        except ValueError:
            continue
        if now in given["play"] and not agent.interactive:
            agent.act(view)
now = None
print(json.dumps({"answers": answers, "found": found}))
"""


def nested(texts, depth):
    for text in texts:
        yield text
        if depth:
            yield from nested([around.replace("{}", text) for around in AROUND], depth - 1)


@pytest.fixture
def hostile(tmp_path):
    """A folder with code that notes that it is run, a package with it, and run folders."""
    code = f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Name:\n    def act(self, view): ...\n"
    (tmp_path / "hostile.py").write_text(code)
    (tmp_path / "hostile_package").mkdir()
    (tmp_path / "hostile_package" / "__init__.py").write_text(code)
    (tmp_path / "hostile_package" / "hostile.py").write_text(code)
    return tmp_path


#: Parameters that are texts, and reach nothing: the name of a shipped agent, and words of a fixed set.
CHECKED = {"trained": ["which"], "alphabeta": ["replies"]}


def test_every_agent_states_what_it_reaches():
    stated = set()
    for name in agents.AGENTS:
        found, _ = agents.find(name)
        reaches = vars(found).get("reaches")
        if reaches is None:
            assert name in {"program", "llm"}
            continue
        texts = {
            each.name
            for each in inspect.signature(found, eval_str=True).parameters.values()
            if re.search(r"\b(str|Path|Any|object)\b", str(each.annotation))
        }
        assert texts - set(CHECKED.get(name, ())) == set(reaches), name
        stated.add(name)
    played = {text.partition(":")[0] for text in (*HARMLESS, *AROUND, *HOSTILE[7:13])}
    assert stated == played | {"open_spiel"}  # that needs an extra, which may not be there to be played


def test_a_class_does_not_inherit_that_it_is_harmless(monkeypatch):
    random, _ = agents.find("random")
    monkeypatch.setattr(sys.modules[__name__], "Mine", type("Mine", (random,), {}), raising=False)
    monkeypatch.setitem(agents.AGENTS, "mine", f"{__name__}:Mine")
    assert agents.stranger("mine") == "mine"
    assert agents.stranger("mixed:mine,random=0.1") == "mine"


def test_a_text_that_is_no_stranger_uses_the_library_alone(hostile):
    texts = [each.format(folder=hostile) for each in HOSTILE]
    # Agents beside a hostile one, in one text.
    texts += [f"mixed:{one},random=0.1,{two}" for one, two in itertools.product(HARMLESS[:3], texts[:11])]
    refused = list(dict.fromkeys(["", *nested(texts, 1), *nested([texts[0], texts[5]], 2)]))
    taken = list(dict.fromkeys([*nested(HARMLESS, 1), *nested(["mcts:simulations=2"], 2)]))
    # Where solved games and machine code are kept: what other tests have made is used.
    own = [str(pretrained.folder()), *filter(None, map(os.environ.get, ("TTT_ENVS_CACHE", "NUMBA_CACHE_DIR")))]
    done = subprocess.run(
        [sys.executable, "-c", AUDITED],
        input=json.dumps({"texts": [*refused, *taken], "own": own, "play": [*HARMLESS, "mixed:oracle,random=0.3"]}),
        capture_output=True,
        text=True,
        cwd=hostile,
        env={**os.environ, "PYTHONPATH": f"{Path(agents.__file__).parents[2]}:{hostile}"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["found"] == []
    assert not (hostile / "ran").exists()
    assert [text for text in refused if found["answers"][text] is None] == []
    strange = [text for text in taken if found["answers"][text] is not None]
    for text in strange:
        with pytest.raises(ValueError, match="is given twice"):  # what cannot be read is one
            agents.load(text)
    assert len(taken) > 10 * len(strange)


def test_a_text_of_any_length_is_read_in_time():
    for text in (
        "mixed:" * 100_000 + "random",
        "oracle:" * 1500,
        "mixed:random" + ",random=0.1" * 100_000,
        "x" * 10**6,
    ):
        assert agents.stranger(text) is not None
    assert agents.stranger("mixed:" * 60 + "random") is None


def test_the_message_names_the_agent_inside_and_how_to_name_it_again():
    text = "mixed:oracle:fallback=program:./engine,random=0.1"
    words = r"x names the agent 'mixed:.*' with 'program:./engine.*' inside it.* if you want it to be run, say so"
    with pytest.raises(ValueError, match=words):
        agents.check_named(["random", text], "x", "say so")
    agents.check_named(["random", text], "x", "say so", [text])


def test_a_card_names_its_folder_alone(monkeypatch):
    card = pretrained.cards()[0]
    for text in (
        "hostile.py:Name",
        "network:{folder}/../x",
        "mixed:network:{folder},agent=network:/x",
        "program:{folder}",
    ):
        monkeypatch.setattr(pretrained, "cards", lambda text=text: [replace(card, agent=text)])
        with pytest.raises(ValueError, match=f"the card of {card.game}/{card.name} names more than its folder"):
            agents.load(f"trained:{card.game}")
