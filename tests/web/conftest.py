"""What the tests of the web server share; it needs the extra web and a browser, which a test without them may lack."""

import pytest

from ttt_envs import agents, registry


@pytest.fixture
def toys(monkeypatch):
    """The toy games as registered ones, and agents that are slow or fail."""
    from web_games import COIN, KUHN, Slow

    monkeypatch.setitem(registry.GAMES, COIN, "toy_coin:make")
    monkeypatch.setitem(registry.GAMES, KUHN, "kuhn_poker:make")
    monkeypatch.setitem(agents.AGENTS, "slow", "web_games:Slow")
    monkeypatch.setitem(agents.AGENTS, "broken", "web_games:Broken")
    Slow.go.clear()
    Slow.calls = 0
    yield
    Slow.go.set()


@pytest.fixture
def page(tmp_path, toys):
    from web_games import Page

    with Page(tmp_path, more=("slow", "broken", "broken:error=SystemExit")) as page:
        yield page


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A server with a file of two recorded games."""
    from tools.serving import Served
    from ttt_envs.evaluation import records
    from ttt_envs.evaluation.arena.play import game_seeds, play_games

    folder = tmp_path_factory.mktemp("serve")
    game = registry.load("tic_tac_dice", rounds="single")
    names, seeds = ["random", "greedy"], game_seeds(0, 2)
    games = play_games(game, [agents.load(name) for name in names], seats=(0, 1), seeds=seeds, keep=range(2))
    records.write(folder / "games.jsonl", records.of_games(game, games, names, (0, 1), seeds))
    with Served(folder) as served:
        yield served


@pytest.fixture(scope="module")
def chromium():
    from web_people import CHROMIUM, api

    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def people(chromium, site):
    """Lets people come, each with a browser of their own."""
    from web_people import Person

    found = []

    def come(**settings):
        found.append(Person(chromium, site, **settings))
        return found[-1]

    yield come
    for each in found:
        each.close()
