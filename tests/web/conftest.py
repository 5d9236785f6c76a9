"""What the tests of the web server share; it needs the extra web, which a test without it may lack."""

import pytest

from ttt_envs import agents, registry


@pytest.fixture
def toys(monkeypatch):
    """The toy games as registered ones, and agents that are slow or fail."""
    from web_games import COIN, KUHN, Slow

    monkeypatch.setitem(registry.GAMES, COIN, "toy_coin:make")
    monkeypatch.setitem(registry.GAMES, KUHN, "toy_kuhn:make")
    monkeypatch.setitem(agents.AGENTS, "slow", "web_games:Slow")
    monkeypatch.setitem(agents.AGENTS, "broken", "web_games:Broken")
    Slow.go.clear()
    Slow.calls = 0
    yield
    Slow.go.set()


@pytest.fixture
def server(tmp_path, toys):
    from web_games import Server

    with Server(tmp_path / "games.sqlite", more=("slow", "broken")) as server:
        yield server
