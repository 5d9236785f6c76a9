"""`ttt agents`, and what it and `ttt describe` say of parameters and options."""

import sys

import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.cli import main
from ttt_envs.core.options import parameters
from ttt_envs.registry import options_of

SUPER = "super_tic_tac_toe"
IDS = list(ttt_envs.GAMES)


pytestmark = pytest.mark.usefixtures("narrow")


@pytest.mark.parametrize("game_id", IDS)
def test_every_option_has_a_meaning_and_a_type(game_id):
    declared = options_of(game_id)
    assert [each.name for each in declared] == list(ttt_envs.load(game_id).options)
    for each in declared:
        assert each.meaning.endswith("."), each.name
        assert each.type_name, each.name


def test_every_parameter_has_a_meaning():
    for name, found in agents.known().items():
        for each in parameters(found):
            assert each.meaning.endswith("."), f"{name}: {each.name}"
            assert each.type_name, f"{name}: {each.name}"


# --- agents ---


def listed(lines_of):
    """Agent -> its line, by what is not indented; an empty line ends the list."""
    found, name = {}, ""
    for line in lines_of():
        if not line:
            break
        if not line.startswith(" "):
            name, _, line = line.partition("  ")
        found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


def test_agents_lists_all_in_a_line_or_two(lines_of):
    assert main(["agents"]) == 0
    found = listed(lines_of)
    assert list(found) == list(agents.AGENTS)
    assert found["random"] == "Plays a uniformly chosen legal action."


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("random", "plays: every game"),
        ("mcts", "simulations=400 (int) simulations for each decision."),
        ("smmcts", "operation_tic_tac_toe"),
        ("network", "path (str or Path or Network) a run folder"),
    ],
)
def test_an_agent_is_explained_with_its_parameters(name, words, lines_of):
    assert main(["agents", name]) == 0
    text = " ".join(" ".join(lines_of()).split())
    assert text.startswith(f"{name}: ")
    assert words in text


def test_an_agent_whose_extra_is_missing_is_listed_and_says_so_of_the_game_that_it_plays(lines_of, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    assert main(["agents", SUPER, "--option", "won_boards=closed", "first_move=anywhere"]) == 0
    assert "open_spiel" in listed(lines_of)
    agent = agents.load("open_spiel:mcts=10")
    with pytest.raises(ValueError, match="open_spiel"):
        agent.check(ttt_envs.load(SUPER))
    with pytest.raises(ImportError, match="crosscheck"):
        agent.check(ttt_envs.load(SUPER, won_boards="closed", first_move="anywhere"))


def test_agents_of_a_game_are_those_that_play_it(lines_of):
    assert main(["agents", "tic_tac_match"]) == 0
    found = listed(lines_of)
    bundled = [f"trained:tic_tac_match/{name}" for name in ("ppo", "search", "values")]
    assert [name for name in found if not name.startswith("trained:")] == [
        *("random", "greedy", "ismcts", "mixed", "rounds", "trained", "network", "lookahead", "guided", "tabular"),
        *("solved", "program", "llm", "human"),
    ]
    assert set(bundled) <= set(found)
    assert main(["agents", SUPER]) == 0
    assert "oracle" in listed(lines_of)
    assert main(["agents", SUPER, "--option", "won_boards=closed"]) == 0
    found = listed(lines_of)
    assert "oracle" not in found
    assert "trained:super_tic_tac_toe/ppo" not in found
