"""Programs as agents: what they are told, their limits, and whatever they may do wrong."""

import copy
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import toy_coin
from stubborn import Stubborn

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.agents.base import AgentFailed
from ttt_envs.agents.external.processes import Broken, Process, environment
from ttt_envs.core.options import as_text, parameters
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.play import Games, game_seeds, play_games

ROOT = Path(__file__).resolve().parents[2]
MISCHIEF = ROOT / "tests" / "support" / "mischief.py"
EXAMPLES = ROOT / "agents" / "programs"
GAME = toy_coin.make()
SEATS = np.array([[0, 1], [1, 0]])


def spec(how: str, folder: Path, limits: str = "") -> str:
    return f"program:{limits}{sys.executable} -I -S {MISCHIEF} '{how}' {folder}"


def played(how: str, folder: Path, limits: str = "") -> Games:
    """Two games against an agent that always plays its first legal action, one from each seat."""
    agent = agents.load(spec(how, folder, limits))
    agent.name = how
    try:
        agent.check(GAME)
        return play_games(GAME, [agent, Stubborn()], seats=SEATS, games=2, seed=0, strict=False)
    finally:
        agent.close()


def pids(folder: Path) -> list[int]:
    return [int(each) for each in (folder / "pids").read_text().split()]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(found: list[int], seconds: float = 5) -> bool:
    """Wait a while for all of them to end; return whether they have."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        states = [Path(f"/proc/{pid}/stat") for pid in found if alive(pid)]
        if not any(path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z" for path in states):
            return True
        time.sleep(0.02)
    return False


def one_view(player: int = 0, games: tuple[int, ...] | None = None, n: int = 1) -> View:
    states = np.repeat(GAME.new_state(0), n)
    numbers = None if games is None else np.array(games)
    return View.unchecked(GAME, states, np.full(n, player), np.arange(n, dtype=np.uint64), episodes=numbers)


# --- what they do wrong ---

FAULTS = {
    "crash": "was ended by SIGSEGV",
    "exit": "ended with status 3",
    "raise": "ended with status 1",
    "hang": "gave no answer within 1 s",
    "hang with a child": "gave no answer within 1 s",
    "garbage": "answered with 'resign \\x1b[31m', which is no object of JSON",
    "too long": "answered with more than 65536 bytes without an end of line",
    "no type": "whose type is not 'answer'",
    "old": "when it was asked question",
    "illegal": "as player 1 cannot play",
    "no such action": "answered with the action 99, and not with a name or a number from 0 to 5",
    "no such name": "answered with an unknown action 'resign'",
    "output": "closed its standard output",
    "errors": "gave no answer within 1 s",
}


@pytest.mark.parametrize("how", list(FAULTS))
def test_a_program_loses_only_the_games_in_which_it_fails(how: str, tmp_path: Path) -> None:
    seconds = 1 if "within 1 s" in FAULTS[how] else 20
    games = played(how, tmp_path, f"seconds={seconds},")
    assert [(each.game, each.player, each.ply) for each in games.failures] == [(1, 1, 0)]
    for failure in games.failures:
        assert FAULTS[how] in failure.reason
        assert failure.agent == how
        assert failure.seed == game_seeds(0, 2)[failure.game]
        assert GAME.parse_state(failure.position)["ply"] == 0
        assert failure.stderr.startswith("x" * 1000 if how == "errors" else f"hello from {how}")
    if how == "raise":
        assert "ZeroDivisionError" in games.failures[0].stderr
    assert games.rewards[1].tolist() == [1, -1]
    # The other game goes on as if nothing were.
    assert games.moves[0] == play_games(GAME, [Stubborn()], seats=[0, 0], games=2, seed=0).moves[0]
    assert gone(pids(tmp_path), 0.5 if how != "hang with a child" else 5)
    assert len(pids(tmp_path)) >= 2, "it is started again"


@pytest.mark.parametrize("how", ["name", "many errors", "nothing"])
def test_no_fault(how: str, tmp_path: Path) -> None:
    games = played(how, tmp_path)
    assert games.failures == []
    assert (games.moves == play_games(GAME, [Stubborn()], seats=[0, 0], games=2, seed=0).moves).all()
    assert len(pids(tmp_path)) == 1
    assert gone(pids(tmp_path), 0.5)
    assert (tmp_path / "pids").read_text().endswith("\n\n"), "it ends by itself when it is told to quit"


def test_a_program_that_does_not_read_is_not_waited_for() -> None:
    process = Process(["sleep", "1000"], environment())
    with pytest.raises(Broken, match=r"gave no answer within 0.3 s"):
        process.ask(b"x" * 1_000_000, 0.3)


def test_lines_longer_than_a_pipe() -> None:
    process = Process(["cat"], environment())
    line = b"x" * 1_000_000
    assert process.ask(line + b"\n", 20, longest=len(line)) == line
    process.quit()


def test_the_time_of_a_game(tmp_path: Path) -> None:
    agent = agents.load(spec("slow", tmp_path, "game_seconds=0.5,"))
    for _ in range(2):
        assert agent.act(one_view(1, (5,))) == [0]
        assert agent.act(one_view(1, (6,))) == [0]
    for _ in range(3):
        assert agent.act(one_view(1)) == [0]
    with pytest.raises(AgentFailed, match=r"has used up its 0\.5 s for the game"):
        agent.act(one_view(1, (5,)))
    agent.episodes_over(np.array([6]), np.zeros(1, np.float32))
    assert agent.act(one_view(1, (6,))) == [0]
    with pytest.raises(AgentFailed, match=r"has used up its 0\.5 s for the game"):  # a new process gives no new time
        agent.act(one_view(1, (5,)))
    agent.close()


# --- starts ---


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("refuse", "does not play toy_coin: only chess"),
        ("version", "could not be started: it speaks version 2 of the protocol, and not 1"),
        ("no greeting", "could not be started: it answered 'hello' with"),
        ("silent", "could not be started: it gave no answer within 1.5 s; it wrote:\nhello from silent"),
        ("no start", "could not be started: it ended with status 1; it wrote:\nhello from no start\nno licence"),
    ],
)
def test_a_program_that_does_not_start_ends_a_tournament_before_its_games(how: str, words: str, tmp_path: Path) -> None:
    limits = "start_seconds=1.5," if how == "silent" else ""
    with pytest.raises(ValueError, match="program:") as error:
        evaluation.tournament(GAME, [spec(how, tmp_path, limits), "random"], games=2, quiet=True)
    assert words in str(error.value)
    assert gone(pids(tmp_path), 0.5)


def test_a_program_that_starts_no_more_is_given_up(tmp_path: Path) -> None:
    agent = agents.load(spec("one start", tmp_path))
    agent.check(GAME)
    with pytest.raises(AgentFailed) as error:
        agent.act(one_view(n=6))
    reasons = [fault.reason for fault in error.value.faults.values()]
    failed = "could not be started: it ended with status 1"
    assert reasons == [
        "ended with status 4",
        *[failed] * 3,
        *["was not started again: its last 3 starts have failed"] * 2,
    ]
    assert len(pids(tmp_path)) == 4


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("program", ValueError, "agent program needs command, such as 'program:command=...'"),
        ("program:./nothing --fast", FileNotFoundError, "no program at ./nothing"),
        ("program:no-such-engine", FileNotFoundError, "no program 'no-such-engine' on the path"),
        ("program:second=1,sh", FileNotFoundError, "limits stand before it, such as program:seconds=1,"),
        (f"program:{ROOT}/README.md", PermissionError, "README.md cannot be executed; chmod +x"),
        ("program:sh -c 'exit", ValueError, "cannot be read: No closing quotation"),
    ],
)
def test_mistakes(text: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as error:
        agents.load(text)
    assert words in str(error.value)


def test_limits_stand_before_the_command_and_the_rest_is_the_command() -> None:
    agent = agents.load("program:seconds=2,game_seconds=none,sh -c 'a b' --x=1,seconds=3 c:d")
    assert (agent.seconds, agent.game_seconds) == (2, None)
    assert agent.command == "sh -c 'a b' --x=1,seconds=3 c:d"
    assert agents.load("program:command=sh a,b").command == "sh a,b"
    assert agents.load("program:sh a=b").command == "sh a=b"


# --- what they are told ---


def test_the_page_shows_a_true_conversation(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "your_own_agent.md").read_text()
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    agent = agents.load(spec("nothing", tmp_path))
    play_games(game, [agent, agents.load("random")], seats=[0, 1], games=1, seed=0)
    agent.close()
    sent = (tmp_path / "lines").read_text().splitlines()
    shown = re.findall(r"^    > (.*)$", page, re.M)
    number = str(json.loads(sent[1])["game"])
    left_out = len(sent) - len(shown)
    for line, real in zip(shown, sent[:4] + sent[4 + left_out :], strict=True):
        parts = [re.escape(part) for part in line.split("...")]
        assert re.fullmatch(".*".join(parts), real.replace(number, "3386600842708125")), line
    answers = [json.loads(line) for line in re.findall(r"^    < (.*)$", page, re.M)]
    assert answers[0] == {"type": "ready", "protocol": 1}
    for answer, question in zip(answers[1:], sent[2:4], strict=True):
        legal = json.loads(question)
        assert answer["type"] == "answer"
        assert answer["id"] == legal["id"]
        assert answer["action"] in (legal["legal"][0], legal["names"][0])
    for limit in re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.M):
        default = {each.name: each.default for each in parameters(type(agent))}[limit[0]]
        assert as_text(default) in (limit[1], f"{limit[1]}.0")


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "lines").read_text().splitlines()]


def test_what_is_sent(tmp_path: Path) -> None:
    games = played("nothing", tmp_path)
    hello, *others = lines(tmp_path)
    assert hello["type"] == "hello"
    assert hello["protocol"] == 1
    assert hello["game"] == "toy_coin"
    assert hello["options"] == {"players": 2, "tosses": 1}
    assert hello["actions"] == list(GAME.action_names)
    assert sum(int(np.prod(block["shape"])) for block in hello["observation"]) == GAME.observation_size
    assert others.pop() == {"type": "quit"}
    told: dict[int, list[dict]] = {}
    for message in others:
        told.setdefault(message["game"], []).append(message)
    assert len(told) == 2
    assert all(0 <= number < 2**53 for number in told)
    for first, *questions, last in told.values():
        assert first == {"type": "start", "game": first["game"], "player": first["player"]}
        assert last["type"] == "end"
        assert questions
        for question in questions:
            assert set(question) == {
                *("type", "id", "game", "player", "seconds", "legal", "names", "observation", "position")
            }
            assert question["names"] == [GAME.action_names[action] for action in question["legal"]]
            assert question["seconds"] == 10
            assert len(question["observation"]) == GAME.observation_size
            assert ("coin: ?" in question["position"]) == (question["player"] == 1)
    ends = sorted((each[0]["player"], each[-1]["reward"]) for each in told.values())
    assert ends == sorted((seat, games.rewards[k, seat]) for k, seat in enumerate([0, 1]))
    identities = [each["id"] for each in others if each["type"] == "question"]
    assert identities == list(range(1, len(identities) + 1))
    # Programs that do not parse JSON rely on the beginning of a line.
    for line in (tmp_path / "lines").read_text().splitlines():
        assert line.startswith('{"type":"')
        assert " " not in line.partition('"names"')[0].partition('"library"')[0]
        assert line.isascii()


def test_each_player_of_a_game_has_a_number_of_its_own(tmp_path: Path) -> None:
    agent = agents.load(spec("nothing", tmp_path))
    play_games(GAME, [agent], seats=[0, 0], games=3, seed=0)
    agent.close()
    starts = [(each["game"], each["player"]) for each in lines(tmp_path) if each["type"] == "start"]
    assert len({game for game, _ in starts}) == 6
    assert sorted(player for _, player in starts) == [0, 0, 0, 1, 1, 1]


def test_nothing_hidden_and_no_seed_is_sent(tmp_path: Path) -> None:
    agent = agents.load(spec("nothing", tmp_path))
    states = np.concatenate([GAME.new_state(seed) for seed in range(8)])
    assert len(set(states["coin"].tolist())) == 2
    assert len(set(states["rng"].tolist())) == 8
    agent.act(View(GAME, states, np.ones(8, np.int64), game_seeds(3, 8)))
    agent.close()
    questions = [{**each, "id": 0} for each in lines(tmp_path) if each["type"] == "question"]
    assert len(questions) == 8
    assert all(each == questions[0] for each in questions)


def test_the_process_has_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    monkeypatch.setenv("TTT_ENVS_CACHE", str(tmp_path))
    monkeypatch.setenv("LANG", "C.UTF-8")
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        played("nothing", tmp_path)
    process = json.loads((tmp_path / "process").read_text())
    allowed = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "LC_CTYPE"}  # the last is Python's own
    assert set(process["environment"]) <= allowed
    assert process["environment"]["LANG"] == "C.UTF-8"
    assert sorted(process["files"])[:3] == [0, 1, 2]
    assert len([fd for fd in process["files"] if fd > 2]) <= 1, "but for the folder that it lists"
    assert process["session"] == pids(tmp_path)[0]


def test_another_game_gets_another_process(tmp_path: Path) -> None:
    agent = agents.load(spec("nothing", tmp_path))
    agent.check(GAME)
    agent.check(toy_coin.make())
    assert len(pids(tmp_path)) == 1
    agent.check(toy_coin.make(tosses=2))
    assert [each["options"]["tosses"] for each in lines(tmp_path) if each["type"] == "hello"] == [1, 2]
    assert gone(pids(tmp_path)[:1], 0.5)
    agent.close()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_a_copy_has_a_process_of_its_own(copied, tmp_path: Path) -> None:
    agent = agents.load(spec("nothing", tmp_path))
    assert agent.act(one_view()) == [0]
    other = copied(agent)
    assert other.name == agent.name
    assert other.act(one_view()) == [0]
    other.close()
    assert agent.act(one_view()) == [0]
    assert len(pids(tmp_path)) == 2
    agent.close()


RUNS = """
import os, sys, time
import numpy as np
import toy_coin
from ttt_envs import agents, evaluation
game = toy_coin.make()
agent = agents.load(sys.argv[1])
agent.check(game)
if sys.argv[2] == "ends":
    sys.exit()
if sys.argv[2] == "forks":
    child = os.fork()
    if child == 0:
        agent.close()
        del agent
        sys.exit()
    os.waitpid(child, 0)
    state = game.new_state(0)
    from ttt_envs.core.view import View
    assert agent.act(View(game, state, 0, np.zeros(1, np.uint64))) == [0]
    sys.exit()
evaluation.tournament(game, [agent, "random"], games=2, quiet=True)
"""


@pytest.mark.parametrize("how", ["SIGINT", *(pytest.param(each, marks=pytest.mark.slow) for each in ("ends", "forks"))])
def test_nothing_is_left_behind(how: str, tmp_path: Path) -> None:
    folders = [str(ROOT), str(ROOT / "tests" / "support")]
    process = subprocess.Popen(
        [sys.executable, "-c", RUNS, spec("hang with a child", tmp_path, "seconds=1000,"), how],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        stderr=subprocess.PIPE,
        # It hears Ctrl-C even if the tests do not, as those that a script runs in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    if how == "SIGINT":
        end = time.monotonic() + 60
        while not (tmp_path / "pids").exists() or len(pids(tmp_path)) < 2:
            assert time.monotonic() < end
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    if how != "SIGINT":
        assert process.returncode == 0, stderr
    assert gone(pids(tmp_path))


def test_an_agent_that_nobody_has_any_more_has_no_process(tmp_path: Path) -> None:
    agent = agents.load(spec("hang", tmp_path))
    agent.check(GAME)
    assert alive(pids(tmp_path)[0])
    del agent
    assert not alive(pids(tmp_path)[0])


def test_the_report_names_failures_with_position_and_standard_error(tmp_path: Path) -> None:
    bad, good = (spec(how, tmp_path) for how in ("raise", "nothing"))
    report = evaluation.tournament(GAME, [bad, good, "random"], games=4, quiet=True, out=tmp_path / "t")
    assert report.complete
    text = (tmp_path / "t" / "report.md").read_text()
    assert f"{bad} as player_1 failed at ply 0 of game 1" in text
    assert "ended with status 1\n\nphase: claim" in text
    assert "The end of what it wrote on its standard error:\nhello from raise\nTraceback" in text
    failures = json.loads((tmp_path / "t" / "results.json").read_text())["failures"]
    assert [each["agent"] for each in failures] == [bad] * 4
    assert all("ZeroDivisionError" in each["stderr"] for each in failures)
    assert gone(pids(tmp_path), 0.5)


def example(name: str, folder: Path) -> str:
    """The text of an example, compiled if it must be; skips the test where its language is not installed."""
    if name.endswith(".c"):
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("there is no C compiler (cc)")
        warnings = ["-Wall", "-Wextra", "-Werror", "-std=c11"]
        subprocess.run([compiler, *warnings, "-o", folder / "program", EXAMPLES / name], check=True)
        return f"program:{folder}/program"
    if name.endswith(".mjs") and shutil.which("node") is None:
        pytest.skip("Node (node) is not installed")
    return f"program:{EXAMPLES / name}"


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if path.suffix != ".md"))
def test_an_example_plays(name: str, tmp_path: Path) -> None:
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    agent = agents.load(example(name, tmp_path))
    agent.check(game)
    games = play_games(game, [agent, agents.load("random")], seats=[[0, 1], [1, 0]] * 20, games=40, seed=0)
    assert games.failures == []
    if name == "last_move.c":
        usual = play_games(
            game, [Stubborn(last=True), agents.load("random")], seats=[[0, 1], [1, 0]] * 20, games=40, seed=0
        )
        assert (games.moves == usual.moves).all()
    state = game.new_state(0)
    assert agent.act(View(game, state, state["to_move"], np.zeros(1, np.uint64))) >= 0  # outside of a game
    agent.close()


def test_the_page_names_every_example() -> None:
    page = (ROOT / "agents" / "README.md").read_text()
    for path in EXAMPLES.iterdir():
        assert f"(programs/{path.name})" in page
        assert "ttt tournament" in path.read_text()
