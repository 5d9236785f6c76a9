"""PCFR+ and the sequence form against games whose equilibria are known, brute force, and OpenSpiel."""

import importlib.util
import itertools
import json
from dataclasses import replace

import kuhn_poker
import numpy as np
import pytest
import toy_coin
from changed import changed
from policies import random_policy

import ttt_envs
from ttt_envs.agents.solved import read_policy
from ttt_envs.core import information
from ttt_envs.core.compile import jit
from ttt_envs.evaluation import solve
from ttt_envs.solvers import cfr, sequence, tree

KUHN = kuhn_poker.make()
KUHN_VALUE = -1 / 36  # of player 0, with rewards of half of what is won

#: Small decks in which a hidden hand is worth something; with the larger tree, who never mixes can be seen through too.
MATCH = {"colours": 1, "copies": 4, "flips": 1, "wipe_outs": 0, "double_plays": 0, "hand_size": 2, "max_turns": 3}
#: A tree that is walked in no time.
SMALL = {**MATCH, "hand_size": 1, "flips": 0}


@pytest.fixture(scope="module")
def kuhn():
    return tree.walk(KUHN)


@pytest.fixture(scope="module")
def solved(kuhn):
    solver = cfr.Solver(kuhn)
    solver.run(500)
    return solver


PASS, BET = "p", "b"
ENDS = {"pp", "pbp", "pbb", "bp", "bb"}
DEALS = list(itertools.permutations(range(3), 2))


def payoff(cards, said):
    """What player 0 wins, in units of reward: half a stake of 1, or of 2 after a call."""
    if said == "bp":
        return 0.5
    if said == "pbp":
        return -0.5
    stake = 1.0 if said.endswith("bb") else 0.5
    return stake if cards[0] > cards[1] else -stake


def worth(policies, cards, said=""):
    """The value of a game from here on, to player 0. policies[player][card, said] is the probability of a bet."""
    if said in ENDS:
        return payoff(cards, said)
    bet = policies[len(said) % 2][cards[len(said) % 2], said]
    return bet * worth(policies, cards, said + BET) + (1 - bet) * worth(policies, cards, said + PASS)


def mean_worth(policies):
    return sum(worth(policies, cards) for cards in DEALS) / len(DEALS)


PLACES = [
    [(card, said) for card in range(3) for said in ("", "pb")],
    [(card, said) for card in range(3) for said in ("p", "b")],
]


def brute_force_response(policies, player):
    sign = 1 - 2 * player
    found = []
    for bets in itertools.product((0.0, 1.0), repeat=6):
        mine = dict(zip(PLACES[player], bets, strict=True))
        found.append(sign * mean_worth([mine, policies[1]] if player == 0 else [policies[0], mine]))
    return max(found)


def as_written(found, policy):
    written = []
    for player, mine in enumerate(found.players):
        table = found.table(player, policy[player])
        said = ["".join("pb"[each] for each in row if each != kuhn_poker.NONE) for row in mine.states["said"]]
        cards = mine.states["card"][:, player].tolist()
        written.append({place: table[k, kuhn_poker.BET] for k, place in enumerate(zip(cards, said, strict=True))})
    return written


# --- the tree ---


def test_the_tree_of_kuhn_poker(kuhn):
    assert (kuhn.positions, kuhn.finished, kuhn.plies, kuhn.sets) == (6 * 9, 6 * 5, 3, 12)
    for player, mine in enumerate(kuhn.players):
        assert sorted(as_written(kuhn, kuhn.uniform())[player]) == sorted(PLACES[player])
        assert mine.sequences == 13
        assert len(mine.payoff) == 30
        assert mine.payoff.sum() == pytest.approx((-1) ** player * sum(payoff(c, e) for c in DEALS for e in ENDS) / 6)
        # A player who has passed and meets a bet comes from their own pass.
        again = mine.plies == 2
        assert (mine.sets["parent"][~again] == 0).all()
        assert (mine.actions[mine.sets["parent"][again]] == kuhn_poker.PASS).all()
        assert again.sum() == (3 if player == 0 else 0)


def test_choices_at_once_are_made_without_seeing_each_other():
    found = tree.walk(toy_coin.make(tosses=0))
    teller, guesser = found.players
    assert len(guesser.sets) == 1 + 2
    assert np.bincount(guesser.plies).tolist() == [1, 2]
    # The teller sees the coin; later they also know what was said and, after an answer, the answer.
    assert np.bincount(teller.plies).tolist() == [2, 4, 8]
    assert found.positions == 2 + 2 * 4 + 2 * 2 + 2 * 4 + 2 * 4


def test_views_show_what_the_player_knows(kuhn):
    for player, mine in enumerate(kuhn.players):
        views = list(kuhn.views(player, seed=3, chunk=4))
        assert [len(view) for view in views] == [4, 2]
        masks = np.concatenate([view.masks for view in views])
        assert (masks.sum(axis=1) == mine.sets["count"]).all()
        assert (np.concatenate([view.players for view in views]) == player).all()
        seeds = np.concatenate([view.seeds for view in views])
        assert len(set(seeds)) == 6
        assert not (seeds == np.concatenate([view.seeds for view in kuhn.views(player, seed=4)])).any()


@pytest.mark.parametrize("seed", range(2))
def test_best_responses_are_those_of_brute_force(kuhn, seed):
    policy = random_policy(kuhn, seed)
    written = as_written(kuhn, policy)
    found = sequence.exploitability(kuhn, policy)
    assert found.best_responses == pytest.approx([brute_force_response(written, player) for player in (0, 1)])
    assert found.expected == pytest.approx(mean_worth(written))
    assert found.nash_conv == pytest.approx(sum(found.best_responses))
    assert found.value == found.nash_conv / 2
    for player in (0, 1):
        value, answer = sequence.best_response(
            kuhn, player, sequence.plan_of(kuhn.players[1 - player], policy[1 - player])
        )
        both = (answer, policy[1]) if player == 0 else (policy[0], answer)
        assert sequence.exploitability(kuhn, both).expected * (1 - 2 * player) == pytest.approx(value)


def test_values_of_an_information_set(kuhn):
    policy = random_policy(kuhn, 5)
    bets = as_written(kuhn, policy)[0]
    mine, reach = kuhn.players[1], tree.reaches(kuhn, policy)[1]
    values = sequence.action_values(kuhn, 1, policy, reach)
    assert ((reach > 0) & (reach < 1 / 3)).all()
    for k, state in enumerate(mine.states):
        said = [each for each in state["said"] if each != kuhn_poker.NONE]
        if said == [kuhn_poker.BET]:
            card = int(state["card"][1])
            likely = {other: bets[other, ""] / 6 for other in range(3) if other != card}
            called = sum(weight * (1 if card > other else -1) for other, weight in likely.items())
            assert reach[k] == pytest.approx(sum(likely.values()))
            assert values[k, kuhn_poker.BET] == pytest.approx(called / sum(likely.values()))
            assert values[k, kuhn_poker.PASS] == pytest.approx(-0.5)


def test_a_tree_that_is_far_too_large_is_refused_at_once():
    def progress(ply, positions):
        raise AssertionError("it was walked through")

    with pytest.raises(tree.TooLarge, match=r"more than 15000000 positions, by far: at least \d+e\+\d\d"):
        tree.walk(ttt_envs.load("super_tic_tac_toe"), progress=progress)


def test_the_limit_is_kept_and_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tree, "_FAR", np.inf)
    game = toy_coin.make(tosses=2)
    whole = tree.walk(game).positions
    assert tree.walk(game, limit=whole).positions == whole
    with pytest.raises(tree.TooLarge, match=rf"more than {whole - 1} positions: \d+ up to ply \d, and at least \d+"):
        tree.walk(game, limit=whole - 1)
    told = []
    with pytest.raises(tree.TooLarge, match="more than 1000 positions"):
        tree.walk(
            ttt_envs.load("super_tic_tac_toe"),
            limit=1000,
            progress=lambda ply, positions: told.append((ply, positions)),
        )
    # Nine first moves; eight boards of nine and one of eight to answer in; then 8 * (9 * 9 - 2) + 8 * 9.
    assert told == [(1, 10), (2, 90), (3, 794)]


@jit.kernel
def pay_both(state, actions):
    kuhn_poker.step(state, actions)
    if state["done"]:
        state["rewards"][:] = 1.0


@jit.kernel
def nobody_acts(state, player, out):
    out[:] = False


@pytest.mark.parametrize(
    ("game", "words"),
    [
        (toy_coin.make(players=3), r"two players.*toy_coin.* has 3"),
        (changed(KUHN, step=pay_both), "only zero-sum games"),
        (changed(KUHN, legal_mask=nobody_acts), "nobody has a legal action"),
    ],
    ids=["three players", "not zero-sum", "nobody acts"],
)
def test_other_games_are_refused_in_words(game, words):
    with pytest.raises(ValueError, match=words):
        tree.walk(game)


# --- the solver ---


def test_kuhn_poker_is_solved(solved):
    """The family of equilibria: player 0 bluffs at a rate a of at most 1/3, and player 1 plays the only one."""
    found = solved.exploitability()
    assert found.value < 1e-6, "CFR+ comes to 9e-5"
    assert found.expected == pytest.approx(KUHN_VALUE, abs=1e-6)
    assert -found.best_responses[1] <= KUHN_VALUE <= found.best_responses[0]
    first, second = as_written(solved.tree, solved.average())
    bluff = first[0, ""]
    assert 0 <= bluff <= 1 / 3 + 0.01
    assert first[1, ""] == pytest.approx(0, abs=0.01)
    assert first[2, ""] == pytest.approx(3 * bluff, abs=0.03)
    assert [first[card, "pb"] for card in range(3)] == pytest.approx([0, bluff + 1 / 3, 1], abs=0.02)
    assert [second[card, "b"] for card in range(3)] == pytest.approx([0, 1 / 3, 1], abs=0.02)
    assert [second[card, "p"] for card in range(3)] == pytest.approx([1 / 3, 0, 1], abs=0.02)


def advantages(mine: sequence.InformationSets, plan: np.ndarray, policy: np.ndarray) -> np.ndarray:
    """What each action is worth more than the policy in its information set, by a walk down from it: (sequences,)."""
    paid, found = sequence.payoffs(mine, plan), np.zeros(mine.sequences)

    def value(action):
        return paid[action] + sum(mean(each) for each in mine.sets[mine.sets["parent"] == action])

    def mean(one):
        return sum(policy[action] * value(action) for action in actions(one))

    def actions(one):
        return range(one["first"], one["first"] + one["count"])

    for one in mine.sets:
        for action in actions(one):
            found[action] = value(action) - mean(one)
    return found


def test_three_iterations_by_hand(kuhn):
    """Players are updated in turn, against what the other has just learned, and each takes the next advantages for
    those of now; the n-th policy counts n * n times."""
    solver = cfr.Solver(kuhn)
    regrets, totals = [np.zeros(mine.sequences) for mine in kuhn.players], [np.zeros(m.sequences) for m in kuhn.players]
    policies = list(kuhn.uniform())
    for iteration in (1, 2, 3):
        solver.run(1)
        for player, mine in enumerate(kuhn.players):
            against = sequence.plan_of(kuhn.players[1 - player], policies[1 - player])
            more = advantages(mine, against, policies[player])
            regrets[player] = np.maximum(regrets[player] + more, 0)
            predicted = np.maximum(regrets[player] + more, 0)
            for one in mine.sets:
                place = slice(one["first"], one["first"] + one["count"])
                total = predicted[place].sum()
                policies[player][place] = predicted[place] / total if total else 1 / one["count"]
        for player, mine in enumerate(kuhn.players):
            totals[player] += iteration**2 * sequence.plan_of(mine, policies[player])
            assert np.allclose(solver._learners[player].regrets, regrets[player], atol=1e-12)
            assert np.allclose(solver._learners[player].policy, policies[player], atol=1e-12)
    for learner, total in zip(solver._learners, totals, strict=True):
        assert np.allclose(learner.total, total, atol=1e-12)


@pytest.mark.parametrize(("tosses", "value"), [(0, 0), (1, 1 / 2), (2, 3 / 4)])
def test_choices_at_once_are_solved(tosses, value):
    solver = cfr.Solver(tree.walk(toy_coin.make(tosses=tosses)))
    solver.run(200)
    found = solver.exploitability()
    assert found.value < 1e-3
    assert found.expected == pytest.approx(value, abs=1e-3)


def test_a_game_without_a_choice_or_a_payment():
    solver = cfr.Solver(tree.walk(ttt_envs.load("tic_tac_match", **{**SMALL, "max_turns": 1})))
    solver.run(2)
    assert len(solver.tree.players[0].sets) == 0
    assert solver.exploitability() == sequence.Exploitability(0.0, 0.0, (0.0, 0.0), 0.0)


def test_the_same_numbers_every_time(kuhn):
    solvers = [cfr.Solver(tree.walk(KUHN)), cfr.Solver(kuhn)]
    solvers[0].run(30)
    for _ in range(30):
        solvers[1].run(1)
    for one, other in zip(*(solver.average() for solver in solvers), strict=True):
        assert one.tobytes() == other.tobytes()


@jit.kernel
def observe_all(state, player, out):
    half = out.shape[0] // 2
    observe_match(state, player, out[:half])
    observe_match(state, 1 - player, out[half:])


observe_match = ttt_envs.load("tic_tac_match", **MATCH).kernels.observe


def test_hidden_hands_are_solved():
    game = ttt_envs.load("tic_tac_match", **MATCH)
    solver = cfr.Solver(tree.walk(game))
    assert (solver.tree.positions, solver.tree.sets) == (296_426, 6_734)
    solver.run(100)
    found = solver.exploitability()
    assert found.value < 1e-3
    blocks = game.observation_layout + tuple(
        replace(block, name=f"other {block.name}") for block in game.observation_layout
    )
    shown = changed(game, observe=observe_all, observation_layout=blocks)
    opened = cfr.Solver(tree.walk(shown))
    opened.run(100)
    seen = opened.exploitability()
    assert seen.value < 1e-3
    assert opened.tree.positions == solver.tree.positions
    assert opened.tree.sets > solver.tree.sets
    assert -found.best_responses[1] - seen.best_responses[0] > 0.005


# --- the report of the solver ---


def test_report_and_files(tmp_path, capsys):
    report = solve("tic_tac_match", **SMALL, iterations=60, out=tmp_path / "out")
    assert report.complete
    report.show()
    shown = capsys.readouterr().out
    assert "Exploitability" in shown
    assert str(tmp_path / "out") in shown.replace("\n", "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(report.files)
    result = json.loads((tmp_path / "out" / "results.json").read_text())
    assert result["complete"]
    assert result["positions"] == 17_724
    assert result["options"] == {**result["options"], **SMALL}
    text = (tmp_path / "out" / "report.md").read_text()
    assert f"\n{result['command']}\n" in text
    assert result["command"].startswith("ttt solve tic_tac_match --iterations 60 --option ")
    assert set(result["command"].split(" --option ")[1].split()) == {f"{k}={v}" for k, v in SMALL.items()}
    with pytest.raises(FileExistsError):
        solve(KUHN, iterations=1, out=tmp_path / "out")


def test_it_stops_at_the_target_or_says_how_far_it_came():
    report = solve(KUHN, iterations=10_000, target=1e-3, quiet=True)
    assert (report.complete, report.remarks()) == (True, [])
    assert report.points[-1].iteration < 200
    assert [each.exploitability <= 1e-3 for each in report.points] == [False] * (len(report.points) - 1) + [True]
    missed = solve(KUHN, iterations=3, target=1e-6, quiet=True)
    assert missed.complete
    assert "target 1e-06 was not reached: after 3 iterations it is" in missed.markdown()


def interrupt_at(monkeypatch, owner, name, number):
    calls, original = itertools.count(1), getattr(owner, name)

    def interrupted(*arguments, **more):
        if next(calls) == number:
            raise KeyboardInterrupt
        return original(*arguments, **more)

    monkeypatch.setattr(owner, name, interrupted)


def test_an_interrupt_keeps_what_is_done(monkeypatch, tmp_path):
    """Between the updates of the two players of iteration 25."""
    interrupt_at(monkeypatch, cfr._Learner, "learn", 50)
    assert not solve("tic_tac_match", **SMALL, iterations=60, out=tmp_path, quiet=True).complete
    result = json.loads((tmp_path / "results.json").read_text())
    assert not result["complete"]
    assert result["points"][-1]["iteration"] == 24
    assert "Partial" in (tmp_path / "report.md").read_text()
    monkeypatch.undo()
    solver = cfr.Solver(tree.walk(ttt_envs.load("tic_tac_match", **SMALL)))
    solver.run(24)
    assert result["points"][-1]["exploitability"] == solver.exploitability().value
    kept, _ = read_policy(tmp_path)
    assert all((a.probabilities == b[1:]).all() for a, b in zip(kept, solver.average(), strict=True))


@pytest.mark.parametrize(("owner", "name", "number"), [(cfr._Learner, "learn", 2), (information, "show", 2)])
def test_an_interrupt_before_anything_is_done(monkeypatch, tmp_path, owner, name, number):
    interrupt_at(monkeypatch, owner, name, number)
    with pytest.raises(KeyboardInterrupt, match="nothing is written"):
        solve(KUHN, out=tmp_path / "out", quiet=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("game", "settings", "words"),
    [
        ("tic_tac_match", {"players": 4}, "only games of two players"),
        ("super_tic_tac_toe", {"limit": 100}, "more than 100 positions"),
        ("tic_tac_match", {"iterations": 0}, "iterations must be a whole number from 1 to 1,000,000,000, not 0"),
        ("tic_tac_match", {"target": 0}, "target must be more than 0, not 0"),
    ],
)
def test_wrong_settings_are_refused(game, settings, words, tmp_path):
    with pytest.raises((TypeError, ValueError), match=words):
        solve(game, **settings, out=tmp_path / "out", quiet=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(importlib.util.find_spec("pyspiel") is None, reason="open_spiel is not installed")
@pytest.mark.parametrize(
    "game",
    [KUHN, toy_coin.make(tosses=1)],
    ids=lambda game: game.id,
)
def test_open_spiel_finds_the_same_exploitability(game):
    from open_spiel.python.algorithms import exploitability as theirs
    from open_spiel_policy import OpenSpielPolicy

    from ttt_envs.integrations.open_spiel import SpielGame

    found, same = tree.walk(game), SpielGame(game)
    solver = cfr.Solver(found)
    solver.run(20)
    for policy in (random_policy(found, 0), solver.average()):
        ours, their_policy = sequence.exploitability(found, policy), OpenSpielPolicy(same, found, policy)
        assert theirs.exploitability(same, their_policy) == pytest.approx(ours.value, abs=1e-6)
        assert theirs.nash_conv(same, their_policy) == pytest.approx(ours.nash_conv, abs=1e-6)
