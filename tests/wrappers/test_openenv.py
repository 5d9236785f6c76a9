"""The OpenEnv package of examples/openenv_ttt: its server, started here, played by its client."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

pytest.importorskip("openenv", reason="OpenEnv is not installed; it wants an environment of its own")

from examples.openenv_ttt import TttAction, TttEnv

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "examples.openenv_ttt.server.app", "--port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 300  # it imports a great deal
        while True:
            assert server.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not answer"
            try:
                with urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                    break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.parametrize(
    ("game", "options", "opponent"),
    [
        ("tic_tac_dice", {"rounds": "single"}, "greedy"),
        ("operation_tic_tac_toe", {"mode": "round", "max_idle_turns": 3}, "random"),
    ],
)
def test_games_are_played_to_their_end(url: str, game: str, options: dict[str, object], opponent: str) -> None:
    seats, rewards = set(), []
    with TttEnv(base_url=url).sync() as env:
        for seed in range(4):
            result = env.reset(game=game, options=options, opponent=opponent, seed=seed)
            while not result.done:
                observation = result.observation
                assert result.reward == 0
                assert f"[{observation.legal_actions[0]}]" in observation.prompt
                result = env.step(TttAction(message=f"I play [{observation.legal_actions[-1]}]"))
                assert result.observation.illegal is None
            assert result.observation.prompt == ""
            seats.add(result.observation.player)
            rewards.append(result.reward)
            assert env.state().step_count > 0
    assert seats == {0, 1}
    assert set(rewards) <= {-1.0, -0.5, 0.0, 0.5, 1.0}


def test_sessions_are_apart_and_answers_that_cannot_be_used_lose(url: str) -> None:
    options = {"game": "tic_tac_dice", "options": {"rounds": "single"}, "seed": 2}
    with TttEnv(base_url=url).sync() as one, TttEnv(base_url=url).sync() as other:
        first = one.reset(**options)
        same = other.reset(**options)
        assert first.observation.prompt == same.observation.prompt
        for _ in range(2):
            refused = one.step(TttAction(message="no idea"))
            assert not refused.done
            assert "which is no action" in refused.observation.illegal
            assert refused.observation.prompt.startswith(first.observation.prompt)
        lost = one.step(TttAction(message="no idea"))
        assert lost.done
        assert lost.reward == -1
        again = other.step(TttAction(message=same.observation.legal_actions[0]))
        assert again.observation.illegal is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"game": "chess"}, "unknown game 'chess'"),
        ({"opponent": "program:rm -rf x"}, "unknown opponent 'program:rm -rf x'"),
        ({"options": {"size": 9}}, "size=9"),
        ({"colour": "red"}, "unknown arguments: colour"),
    ],
)
def test_the_server_refuses(url: str, wrong: dict[str, object], words: str) -> None:
    with TttEnv(base_url=url).sync() as env, pytest.raises(Exception, match=words):
        env.reset(**{"game": "tic_tac_dice", **wrong})


def test_the_manifest_is_valid() -> None:
    command = [Path(sys.executable).with_name("openenv"), "validate", "examples/openenv_ttt", "--level", "static"]
    done = subprocess.run([*command, "--skip-build"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
