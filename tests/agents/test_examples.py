"""The examples in `agents/`: they run as their pages say, learn, and play legally."""

import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.core.game import Game
from ttt_envs.core.view import View

FOLDER = Path(__file__).resolve().parents[2] / "agents"
HEURISTIC = f"{FOLDER}/heuristic.py:heuristic"
DICE = {"rounds": "single"}


def rewards(game: Game, first: agents.Agent, second: agents.Agent, n: int) -> np.ndarray:
    """float32 (2n,): the rewards of `first`, in n games from each seat."""
    found = []
    for seat in (0, 1):
        lineup = (first, second) if seat == 0 else (second, first)
        batch = ttt_envs.Batch(game, n, seed=seat)
        while not batch.done.all():
            joint = np.full((n, 2), -1)
            for player, agent in enumerate(lineup):
                rows = np.flatnonzero(batch.acting(player))
                joint[rows, player] = agent.act(batch.view(np.full(n, player), rows))
            batch.step(joint)
        found.append(batch.states["rewards"][:, seat])
    return np.concatenate(found)


def part(name: str) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(FOLDER / name)))


def run(name: str, *arguments: str, folder: Path) -> None:
    done = subprocess.run([sys.executable, FOLDER / name, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_example_is_on_the_page_and_says_how_to_rate_it() -> None:
    page = (FOLDER / "README.md").read_text()
    files = sorted(FOLDER.glob("*.py"))
    assert [path.name for path in files] == [
        "card_counter.py",
        "heuristic.py",
        "rules_of_thumb.py",
        "sb3_model.py",
        "tabular.py",
    ]
    for path in files:
        assert f"({path.name})" in page
        assert f"agents/{path.name}:" in runpy.run_path(str(path))["__doc__"]
        assert "ttt tournament" in runpy.run_path(str(path))["__doc__"]


# --- the heuristic ---


def test_the_heuristic_beats_random() -> None:
    found = rewards(ttt_envs.load("super_tic_tac_toe"), agents.load(HEURISTIC), agents.load("random"), 40)
    assert found.mean() > 0.6  # over 600 games it is 0.82


@pytest.mark.parametrize(("cells", "expected"), [("XX.OO....", "4/2"), (".X.....OO", "4/6")], ids=["takes", "blocks"])
def test_the_heuristic_takes_and_blocks(cells: str, expected: str) -> None:
    game = ttt_envs.load("super_tic_tac_toe")
    batch = ttt_envs.Batch(game, 1, seed=0)
    for player, mark in enumerate("XO"):
        batch.states["marks"][0, player, 4] = sum(1 << cell for cell in range(9) if cells[cell] == mark)
    assert game.action_names[agents.load(HEURISTIC).act(batch.view())[0]] == expected


def test_the_heuristic_sends_the_opponent_to_no_gift() -> None:
    game = ttt_envs.load("super_tic_tac_toe")
    batch = ttt_envs.Batch(game, 1, seed=0)
    assert game.action_names[agents.load(HEURISTIC).act(batch.view())[0]] == "4/4"
    batch.states["marks"][0, 1, [0, 8]] = 0b11  # O lacks one mark in boards 0 and 8
    batch.states["marks"][0, 0, 4] = 1 << 4
    assert game.action_names[agents.load(HEURISTIC).act(batch.view())[0]] in ("4/2", "4/6")


# --- rules of thumb ---


def test_a_table_of_boards_learns_without_ranks() -> None:
    """Over 500 rounds, with seeds 0 to 4 and six times as many games to learn from, it loses 0.016 to 0.019."""
    table = f"{FOLDER.parent}/examples/methods/board_table.py:BoardTable"
    untrained, learned, again = (agents.load(f"{table}:rounds={rounds}") for rounds in (1, 60, 60))
    assert (learned.paid == again.paid).all()
    found = [evaluation.regret("tic_tac_dice", each, games=100, quiet=True, **DICE) for each in (untrained, learned)]
    before, after = (each.measurements[0].per_game for each in found)
    assert after < 0.05 < 0.1 < before


def test_rules_of_thumb_break_greedy_s_ties() -> None:
    """Over 1,000 rounds: greedy 0.159, by place 0.191, by chances 0.033, greedy's ties 0.065 and 0.027."""
    place = f"{FOLDER}/rules_of_thumb.py"
    texts = ["greedy", f"{place}:by_place", f"{place}:TieBreak", f"{place}:by_chances"]
    found = evaluation.regret("tic_tac_dice", texts, games=60, quiet=True, **DICE)
    greedy, by_place, ties, by_chances = (each.per_game for each in found.measurements)
    assert by_chances < ties < min(greedy, by_place)
    assert by_chances < 0.06 < 0.12 < by_place
    with pytest.raises(ValueError, match="known: by_place, by_chances"):
        agents.load(f"{place}:TieBreak:rule=by_luck")


def test_chances_are_those_of_two_dice() -> None:
    example = part("rules_of_thumb.py")
    rolls = [sum(rank in (a, b, a + b) for a in range(1, 7) for b in range(1, 7)) for rank in range(1, 9)]
    assert example.ROLLS.tolist() == rolls
    game = ttt_envs.load("tic_tac_dice", **DICE)
    text = "X claims by dice 2 3\nA 1    B 2*   C 3X\nD 4    E 5*   F 6O\nG 7X   H 8    I 8\nply 3"
    view = View(game, game.parse_state(text), 0, np.zeros(1, np.uint64))
    worth = example.chances(view.observations)[0]
    # Of the rows of E: A-E-I and B-E-H are open to both, C-E-G is X's, D-E-F is O's.
    a, b, d, h, i = (rolls[rank - 1] / 36 for rank in (1, 2, 4, 8, 8))
    assert worth[4] == pytest.approx(1e6 * (2 * a * i + 2 * b * h + 1 + d), abs=1)


# --- the table ---


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tabular")
    run("tabular.py", "--games", "4000", "--out", "new/table.npz", folder=folder)
    return folder / "new" / "table.npz"


def test_the_table_learns(table: Path) -> None:
    game = ttt_envs.load("tic_tac_dice", **DICE)
    agent = agents.load(f"{FOLDER}/tabular.py:Tabular:path={table}")
    agent.check(game)
    found = rewards(game, agent, agents.load("random"), 1000)
    # 2000 games of random play differ from 0 by less than 0.05. After 30,000 games of training it is 0.21.
    assert found.mean() > 0.08


def test_training_is_repeatable(table: Path) -> None:
    example = part("tabular.py")
    one, two, other = (example.train(30, seed) for seed in (1, 1, 2))
    assert one == two != other


def test_the_table_is_no_pickle_and_its_agent_knows_its_game(table: Path) -> None:
    with np.load(table, allow_pickle=False) as file:
        assert file["states"].dtype == np.int8
        assert len(file["states"]) == len(file["values"]) > 1000
    agent = agents.load(f"{FOLDER}/tabular.py:Tabular:{table}")
    for wrong in (ttt_envs.load("tic_tac_dice"), ttt_envs.load("super_tic_tac_toe")):
        with pytest.raises(ValueError, match=r"agent .*tabular.py:Tabular.* was trained for single rounds"):
            agent.check(wrong)
    with pytest.raises(FileNotFoundError, match=r"runs/tabular.npz"):
        agents.load(f"{FOLDER}/tabular.py:Tabular")


@pytest.mark.slow
def test_the_model_is_trained_and_plays(tmp_path: Path) -> None:
    run("sb3_model.py", "tic_tac_dice", "--steps", "1024", "--out", "new/model.zip", folder=tmp_path)
    agent = agents.load(f"{FOLDER}/sb3_model.py:Model:path={tmp_path}/new/model.zip")
    game = ttt_envs.load("tic_tac_dice")
    agent.check(game)
    view = ttt_envs.Batch(game, 20, seed=0).view()
    policy = agent.policy(view)
    assert np.allclose(policy.sum(axis=1), 1)
    assert (policy[~view.masks] == 0).all()
    assert view.masks[np.arange(20), agent.act(view)].all()
    with pytest.raises(ValueError, match="was made for observations of shape"):
        agent.check(ttt_envs.load("super_tic_tac_toe"))


# --- the card counter ---

SMALL = {"flips": 0, "wipe_outs": 0, "double_plays": 0, "colours": 2, "copies": 4, "hand_size": 3}


@pytest.fixture(scope="module")
def watched() -> list[tuple[np.ndarray, ttt_envs.View, np.ndarray]]:
    """Of games of random play: states, what player 0 sees of them, and the worlds that the card counter believes in."""
    game = ttt_envs.load("tic_tac_match", **SMALL)
    batch, counter = ttt_envs.Batch(game, 15, seed=0), agents.load(f"{FOLDER}/card_counter.py:CardCounter")
    found = []
    for _ in range(40):
        rows = np.flatnonzero(~batch.done)
        view = batch.view(0, rows)
        counter.observe(view)
        found.append((batch.states[rows].copy(), view, counter.possible_worlds(view)))
        batch.step(agents.load("random").act(batch.view()))
    return found


def test_the_card_counter_believes_in_what_it_has_seen(watched: list) -> None:
    certain = 0
    for states, view, worlds in watched:
        game, k = view.game, worlds.shape[1]
        game.check_states(worlds.ravel())
        assert (game.observations(worlds.ravel(), 0) == np.repeat(view.observations, k, axis=0)).all()
        hands = worlds["hand"][:, :, 1]
        known = (hands == hands[:, :1]).all(axis=(1, 2))
        assert (hands[known, 0] == states["hand"][known, 1]).all()
        certain += known.sum()
    assert certain > 15


def test_the_card_counter_knows_more_than_one_who_only_looks(watched: list) -> None:
    def shared(hands: np.ndarray, states: np.ndarray) -> np.ndarray:
        """How many cards of the real hand are in each of these, in the mean: float (n,)."""
        return np.minimum(hands, states["hand"][:, 1][:, None]).sum(axis=2).mean(axis=1)

    counted = np.concatenate([shared(worlds["hand"][:, :, 1], states) for states, _, worlds in watched])
    looked = [np.stack([view.sample_worlds(i)["hand"][:, 1] for i in range(20)], axis=1) for _, view, _ in watched]
    drawn = np.concatenate([shared(hands, states) for hands, (states, _, _) in zip(looked, watched, strict=True)])
    # Over these 500 and some positions the standard errors are below 0.05 cards of 3.
    assert counted.mean() > drawn.mean() + 0.15


def test_the_card_counter_plays_a_game_the_same_whatever_is_played_beside_it() -> None:
    lineup = [f"{FOLDER}/card_counter.py:CardCounter:simulations=20", "random"]
    seeds = evaluation.game_seeds(3, 6)
    many = evaluation.play_games("tic_tac_match", lineup, seeds=seeds, **SMALL)
    alone = evaluation.play_games("tic_tac_match", lineup, seeds=seeds[4:5], **SMALL)
    assert alone.lengths == many.lengths[4]
    assert (alone.rewards == many.rewards[4]).all()


def test_the_card_counter_refuses_other_decks() -> None:
    with pytest.raises(ValueError, match="with symbol cards alone"):
        agents.load(f"{FOLDER}/card_counter.py:CardCounter").check(ttt_envs.load("tic_tac_match"))


@pytest.mark.slow
def test_the_card_counter_beats_itself_without_a_memory() -> None:
    lineup = [f"{FOLDER}/card_counter.py:CardCounter", "ismcts:simulations=400"]
    report = evaluation.tournament("tic_tac_match", lineup, games=1000, **SMALL)
    assert report.ratings.score_low[0, 1] > 0.5
