"""The trained agents that come with the library: they play, without torch, and their pages say what their cards say."""

import shutil
import subprocess
import sys
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from option_sets import OPTIONS

import ttt_envs
from training import ship
from ttt_envs import agents
from ttt_envs.agents import pretrained
from ttt_envs.agents.networks import BadNetworkFile
from ttt_envs.agents.per_round import Rounds
from ttt_envs.agents.pretrained import Card, cards, folder, read_card
from ttt_envs.evaluation import tournament

CARDS = cards()
each_card = pytest.mark.parametrize("card", CARDS, ids=lambda card: f"{card.game}/{card.name}")

OPTION_SETS = [(game_id, options) for game_id, sets in OPTIONS.items() for options in sets]

#: Agents whose games and searches are compiled for no other quick test.
LONG = {
    "martian_tic_tac_toe/ntuple",
    "martian_tic_tac_toe/ntuple_4x4",
    "martian_tic_tac_toe/ntuple_5x5_3p",
    "martian_tic_tac_toe/ppo_4x4",
    "martian_tic_tac_toe/ppo_5x5_3p",
    "big_tic_tac_dice/values",
    "tic_tac_super_dice/values",
    "tic_tac_match/values_4p",
    "tic_tac_match/search_4p",
}


def view_for(card: Card) -> ttt_envs.View:
    game = ttt_envs.load(card.game, **card.options)
    batch, other = ttt_envs.Batch(game, 2, seed=0), agents.load("random")
    if not game.simultaneous:
        for _ in range(3):
            batch.step(other.act(batch.view()))
        return batch.view(rows=np.flatnonzero(~batch.done))
    return batch.view(0)


def test_some_agents_are_shipped():
    assert CARDS
    assert max(Counter((card.game, *sorted(card.options.items())) for card in CARDS if card.best).values()) == 1
    assert {f"{card.game}/{card.name}" for card in CARDS} <= set(ship.recipes())


@pytest.mark.parametrize(
    "card",
    [
        pytest.param(card, marks=[pytest.mark.slow] if name in LONG else [], id=name)
        for card in CARDS
        for name in (f"{card.game}/{card.name}",)
    ],
)
def test_it_plays(card):
    view = view_for(card)
    agent = agents.load(f"trained:{card.game}/{card.name}")
    assert agent.name == f"trained:{card.game}/{card.name}"
    agent.check(view.game)
    actions = agent.act(view)
    acting = view.masks.any(axis=1)
    assert acting.any()
    assert view.masks[acting, actions[acting]].all()
    policy = agent.policy(view)
    assert np.abs(policy.sum(axis=1) - acting).max() < 1e-6
    if card.best:
        assert (agents.load(f"trained:{card.game}").act(view) == actions).all()


@each_card
def test_its_card_is_what_its_recipe_says_and_its_files_are_small(card):
    recipe = ship.recipes()[f"{card.game}/{card.name}"]
    for name in ("title", "agent", "method", "weaknesses"):
        assert getattr(card, name) == recipe[name]
    assert card.train == ship.training_of(recipe)
    assert [each.measure for each in card.outcomes] == [each["measure"] for each in recipe["outcomes"]]
    for each, wanted in zip(card.outcomes, recipe["outcomes"], strict=True):
        assert each.low <= each.value <= each.high
        assert each.games == wanted.get("games", 0)
        assert each.options == wanted.get("options", {})
    network = folder() / card.game / card.name / "network.safetensors"
    assert network.exists() == bool(card.train)
    assert not card.train or network.stat().st_size < 2_000_000


def test_all_files_together_are_small():
    assert sum(path.stat().st_size for path in folder().rglob("*") if path.is_file()) < 12e6


def test_the_pages_are_those_of_the_cards():
    for card in CARDS:
        assert (folder() / card.game / card.name / "README.md").read_text() == ship.page(card)
    assert ship.RESULTS.read_text() == ship.results(CARDS)
    shown = [tuple(line.split(" | ")[1].split("`")[1::2]) for line in ship.table(CARDS).splitlines()[2:]]
    assert sorted(shown) == sorted((card.name,) for card in CARDS)
    best = [each for card in CARDS if card.best for each in card.outcomes]
    assert all(each.low > 0.5 for each in best if (each.measure, each.against) == ("score", "greedy")), "the first line"


def test_the_perfect_agent_wins_every_game_as_x_and_the_report_names_it():
    report = tournament(
        "super_tic_tac_toe", ["trained:super_tic_tac_toe", "mcts:simulations=30"], games=8, seed=1, quiet=True
    )
    assert report.chosen == {"trained:super_tic_tac_toe": "trained:super_tic_tac_toe/perfect"}
    assert "With these options trained:super_tic_tac_toe is trained:super_tic_tac_toe/perfect." in report.markdown()
    assert report.side_scores[0][0, 1] == 1


def test_playing_needs_no_torch():
    names, ppo = [f"trained:{card.game}/{card.name}" for card in CARDS], folder() / "super_tic_tac_toe" / "ppo"
    code = f"""
import sys
sys.modules["torch"] = sys.modules["stable_baselines3"] = None
import ttt_envs
from ttt_envs import agents
loaded = [agents.load(name) for name in {names}]
batch = ttt_envs.Batch(ttt_envs.load("super_tic_tac_toe"), 5, seed=0)
for spec in ("network:{ppo},symmetric=true", "lookahead:{ppo}"):
    batch.step(agents.load(spec).act(batch.view()))
print(batch.states["ply"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[2, 2, 2, 2, 2]\n", "")


def test_the_best_agent_is_the_one_for_the_options():
    for card in CARDS:
        if card.best:
            found = agents.load(f"trained:{card.game}").agent_for(ttt_envs.load(card.game, **card.options))
            found = found.agent if isinstance(found, Rounds) else found
            assert found.name == card.agent.format(folder=folder() / card.game / card.name)
            assert pretrained.full_name(f"trained:{card.game}", ttt_envs.load(card.game, **card.options)) == (
                f"trained:{card.game}/{card.name}"
            )
    with pytest.raises(ValueError, match="plays only games without chance"):
        agents.load("trained:super_tic_tac_toe").check(ttt_envs.load("tic_tac_dice"))


def test_of_several_that_can_play_it_is_the_one_with_the_fewest_other_options(monkeypatch):
    (card,) = (card for card in CARDS if card.name == "perfect")

    def made_for(depth, **options):
        return replace(card, agent=f"alphabeta:depth={depth}", outcomes=(replace(card.outcomes[0], options=options),))

    choices = [
        made_for(1),
        made_for(2, random_opening_plies=4),
        made_for(3, random_opening_plies=4, won_boards="closed"),
    ]
    monkeypatch.setattr(pretrained, "cards", lambda: choices)
    agent = agents.load("trained:super_tic_tac_toe")
    for options, depth in (({}, 1), ({"random_opening_plies": 4}, 2), ({"random_opening_plies": 2}, 1)):
        assert agent.agent_for(ttt_envs.load(card.game, **options)).depth == depth


OPERATION = {"mode": "round", "max_idle_turns": 3}


@pytest.mark.parametrize(
    ("name", "game_id", "options", "words"),
    [
        (
            "super_tic_tac_toe/ppo",
            "super_tic_tac_toe",
            {"won_boards": "closed", "first_move": "anywhere"},
            r"there is \S+/ntuple_closed or \S+/alphazero$",
        ),
        ("super_tic_tac_toe", "super_tic_tac_toe", {"won_boards": "closed"}, "there is no trained agent, but mcts: "),
        ("martian_tic_tac_toe", "martian_tic_tac_toe", {"same_size_swap": True}, "/ntuple_4x4 for size=4; "),
        ("martian_tic_tac_toe/ppo", "martian_tic_tac_toe", {"size": 4}, r"there is \S+/ntuple_4x4 or \S+/ppo_4x4$"),
        ("tic_tac_match", "tic_tac_match", {"copies": 5}, "but ismcts: trained:tic_tac_match/search for the default"),
        (
            "operation_tic_tac_toe/spies",
            "operation_tic_tac_toe",
            OPERATION,
            "there is trained:operation_tic_tac_toe/pairs$",
        ),
    ],
)
def test_other_options_are_refused_naming_what_fits(name, game_id, options, words):
    game = ttt_envs.load(game_id, **options)
    with pytest.raises(ValueError, match=f"agent trained:{name} was not made for .*; for these options .*{words}"):
        agents.load(f"trained:{name}").check(game)


@pytest.mark.parametrize(
    ("name", "game_id", "options"),
    [
        ("super_tic_tac_toe/ppo", "super_tic_tac_toe", {"random_opening_plies": 3}),
        ("martian_tic_tac_toe/ppo", "martian_tic_tac_toe", {"max_plies": 200}),
        ("tic_tac_dice", "tic_tac_dice", {"target_points": 2}),
        ("tic_tac_match/ppo", "tic_tac_match", {"max_turns": 30}),
        ("operation_tic_tac_toe/ppo_rounds", "operation_tic_tac_toe", {"mode": "round", "first_placer": 0}),
        ("operation_tic_tac_toe/pairs", "operation_tic_tac_toe", {**OPERATION, "specialists": "mole,sniper"}),
        ("operation_tic_tac_toe", "operation_tic_tac_toe", {"rounds_to_win": 2, "max_rounds": 9}),
    ],
)
def test_options_that_make_no_difference_are_taken_without_a_word(name, game_id, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agents.load(f"trained:{name}").check(ttt_envs.load(game_id, **options))


def test_weights_of_patterns_are_for_their_options():
    place = folder() / "super_tic_tac_toe" / "ntuple"
    agent = agents.load(f"alphabeta:{place},depth=1")
    agent.check(ttt_envs.load("super_tic_tac_toe", random_opening_plies=4))
    with pytest.raises(
        BadNetworkFile, match=r"trained for super_tic_tac_toe with options .*, not with won_boards=closed"
    ):
        agent.check(ttt_envs.load("super_tic_tac_toe", won_boards="closed"))


@pytest.mark.parametrize("options", OPTION_SETS)
def test_options_that_make_no_difference_are_not_those_of_the_board(options):
    game_id, given = options
    game = ttt_envs.load(game_id, **given)
    values = {"random_opening_plies": 1, "first_placer": 1, "specialists": ("mole", None)}
    for name, covers in game.same_play.items():
        value = values.get(name, game.options[name] + 1 if isinstance(game.options[name], int) else None)
        other = ttt_envs.load(game_id, **{**given, name: value})
        assert [(b.name, b.shape) for b in other.observation_layout] == [
            (b.name, b.shape) for b in game.observation_layout
        ]
        assert other.action_names == game.action_names
        plain = {key: each for key, each in game.options.items() if key != name}
        assert other.differences({**plain, name: game.options[name] if covers is ... else covers}) == {}
        if covers is not ... and game.options[name] == covers:
            assert game.differences({**plain, name: value}) == {name: (value, covers)}


def test_a_trained_agent_is_equivariant_if_all_that_it_may_play_by_are():
    for name, wanted in (("operation_tic_tac_toe", True), ("super_tic_tac_toe", False)):
        agent = agents.load(f"trained:{name}")
        assert agent.equivariant == wanted
        assert {each.equivariant for _, each in agent.choices} == {wanted}


def test_unknown_agents_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=f"unknown trained agent 'nothing'.*{CARDS[0].game}"):
        agents.load("trained:nothing")


def test_figures_are_measured_again_without_training(tmp_path, monkeypatch):
    name, measured = "super_tic_tac_toe/ntuple", []
    shutil.copytree(folder() / name, tmp_path / name)
    monkeypatch.setattr(ship, "TRAINED", tmp_path)
    monkeypatch.setattr(ship, "figure", lambda *given: measured.append(given[2]["measure"]) or (0.5, 0.4, 0.6))
    recipe = ship.recipes()[name]
    recipe = {**recipe, "title": "new", "outcomes": [*recipe["outcomes"], {"measure": "regret", "games": 3}]}
    before = read_card(tmp_path / name)
    ship.remeasure(name, recipe, ship.Config(measure=("score:greedy",)), ship.Console(quiet=True))
    after = read_card(tmp_path / name)
    assert measured == ["score", "regret"]
    assert (after.title, after.seconds, after.outcomes[1:-1]) == ("new", before.seconds, before.outcomes[1:])
    assert (after.outcomes[0].value, after.outcomes[0].seeds) == (0.5, before.outcomes[0].seeds)
    assert (after.outcomes[-1].low, after.outcomes[-1].games, after.outcomes[-1].seeds) == (0.4, 3, ())
    ship.remeasure(
        name, {**recipe, "agent": "random"}, ship.Config(measure=("score:greedy",)), ship.Console(quiet=True)
    )
    assert read_card(tmp_path / name).outcomes[0].seeds == (), "those were of another agent"
    ship.write_card(tmp_path / name, before)
    monkeypatch.setattr(ship, "measured", lambda *given: replace(before.outcomes[0], seeds=()))
    for agent, seeds in ((before.agent, before.outcomes[0].seeds), ("random", ())):
        changed = {**recipe, "agent": agent}
        ship.remeasure(name, changed, ship.Config(measure=("score:greedy",)), ship.Console(quiet=True))
        assert read_card(tmp_path / name).outcomes[0].seeds == seeds, "a command need not name the agent"
    with pytest.raises(SystemExit, match="no figure 'score:nobody'"):
        ship.remeasure(name, recipe, ship.Config(measure=("score:nobody",)), ship.Console(quiet=True))


def test_a_figure_may_be_a_mean_over_several_games(monkeypatch):
    name = "operation_tic_tac_toe/spies"
    of_weights = {str(folder() / name): 1.0, "seed-1": 5.0, "seed-2": 7.0}

    def figure(game, text, wanted, seed, quiet):
        assert (wanted["measure"], seed, quiet) == ("exploitability", 1, True)
        return of_weights[text] + game.options["first_placer"], 0.0, 9.0

    monkeypatch.setattr(ship, "figure", figure)
    monkeypatch.setattr(ship, "ProcessPoolExecutor", lambda mp_context: ThreadPoolExecutor())
    wanted = {
        "measure": "exploitability",
        "against": "mean",
        "options": {"mode": "round", "max_idle_turns": 2},
        "over": [{"first_placer": 0}, {"first_placer": 1}],
    }
    runs = [folder() / name, Path("seed-1"), Path("seed-2")]
    for each_seed, seeds in ((False, ()), (True, (5.5, 7.5))):
        recipe, asked = {"agent": "{folder}"}, {**wanted, "each_seed": each_seed}
        found = ship.measured(name, recipe, asked, runs, seed=1)
        assert (found.value, found.low, found.high, found.seeds) == (1.5, 1.5, 1.5, seeds)
        assert (found.options, found.against) == (wanted["options"], "mean")
        assert found.command == f"python -m training.ship {name} --measure exploitability:mean"


def test_a_digest_is_of_the_text_and_of_the_networks_that_it_names(tmp_path, monkeypatch):
    dice, perfect = "trained:tic_tac_dice/values", "trained:super_tic_tac_toe/perfect"
    texts = [f"mixed:{dice},random=0.2", f"rounds:{dice}", perfect, "random", "trained:tic_tac_dice/nobody"]
    before = pretrained.digests(texts)
    assert set(before) == {dice, perfect}
    for part in ("tic_tac_dice/values", "super_tic_tac_toe/perfect", "super_tic_tac_toe/ntuple"):
        shutil.copytree(pretrained.folder() / part, tmp_path / part)
    monkeypatch.setattr(pretrained, "folder", lambda: tmp_path)
    assert pretrained.digests(texts) == before
    assert set(pretrained.digests(["trained:super_tic_tac_toe"])) == {"trained:super_tic_tac_toe"}
    weights = tmp_path / "super_tic_tac_toe" / "ntuple" / "network.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    changed = pretrained.digests(texts)
    assert (changed[dice], changed[perfect] == before[perfect]) == (before[dice], False), "it searches by n-tuples"
    card = tmp_path / "tic_tac_dice" / "values" / pretrained.CARD
    card.write_text(card.read_text().replace("depth=2", "depth=1"))
    assert pretrained.digests([dice]) != {dice: before[dice]}
