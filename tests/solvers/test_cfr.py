"""CFR+ and exploitability against games whose equilibria are known, brute force, and OpenSpiel."""

import importlib.util
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import toy_coin
import toy_kuhn

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.random import RandomAgent
from ttt_envs.core import jit
from ttt_envs.core.view import View
from ttt_envs.evaluation import exploitability
from ttt_envs.solvers import cfr, tree

KUHN = toy_kuhn.make()
KUHN_VALUE = -1 / 36  # of player 0, with rewards of half of what is won

#: Small decks in which a hidden hand is worth something; with the larger tree, who never mixes can be seen through too.
MATCH = {"colours": 1, "copies": 4, "flips": 1, "wipe_outs": 0, "double_plays": 0, "hand_size": 2, "max_turns": 3}
LARGER = {**MATCH, "hand_size": 1, "max_turns": 5}

#: A tree that is walked in no time.
SMALL = {**MATCH, "hand_size": 1, "flips": 0}


@pytest.fixture(scope="module")
def kuhn():
    """Its tree."""
    return tree.walk(KUHN)


@pytest.fixture(scope="module")
def solved(kuhn):
    """Kuhn poker after 2000 iterations."""
    solver = cfr.Solver(kuhn)
    solver.run(2000)
    return solver


# --- Kuhn poker, written down once more ---

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
    """Of a game from here on, to player 0. policies[player][card, said] is the probability of a bet."""
    if said in ENDS:
        return payoff(cards, said)
    bet = policies[len(said) % 2][cards[len(said) % 2], said]
    return bet * worth(policies, cards, said + BET) + (1 - bet) * worth(policies, cards, said + PASS)


def mean_worth(policies):
    """Over all deals."""
    return sum(worth(policies, cards) for cards in DEALS) / len(DEALS)


PLACES = [
    [(card, said) for card in range(3) for said in ("", "pb")],
    [(card, said) for card in range(3) for said in ("p", "b")],
]


def brute_force_response(policies, player):
    """The best of all 64 pure policies."""
    sign = 1 - 2 * player
    found = []
    for bets in itertools.product((0.0, 1.0), repeat=6):
        mine = dict(zip(PLACES[player], bets, strict=True))
        found.append(sign * mean_worth([mine, policies[1]] if player == 0 else [policies[0], mine]))
    return max(found)


def as_written(found, policy):
    """A policy of the tree of Kuhn poker, in the form of above."""
    written = []
    for player, mine in enumerate(found.players):
        table = found.table(player, policy[player])
        said = ["".join("pb"[each] for each in row if each != toy_kuhn.NONE) for row in mine.states["said"]]
        cards = mine.states["card"][:, player].tolist()
        written.append({place: table[k, toy_kuhn.BET] for k, place in enumerate(zip(cards, said, strict=True))})
    return written


def random_policy(found, seed):
    """Some policy of a tree."""
    generator = np.random.default_rng(seed)
    tables = [generator.random((len(mine.sets), found.game.num_actions)) for mine in found.players]
    policy = found.policy(tables)
    parts = []
    for mine, part in zip(found.players, policy, strict=True):
        total = np.add.reduceat(part[1:], mine.sets["first"] - 1)
        parts.append(np.concatenate([[1.0], part[1:] / np.repeat(total, mine.sets["count"])]))
    return tuple(parts)


# --- the tree ---


def test_the_tree_of_kuhn_poker(kuhn):
    assert (kuhn.positions, kuhn.finished, kuhn.plies, kuhn.sets) == (6 * 9, 6 * 5, 3, 12)
    for player, mine in enumerate(kuhn.players):
        assert sorted(as_written(kuhn, kuhn.uniform())[player]) == sorted(PLACES[player])
        assert mine.sequences == 13
        assert len(mine.payoff) == 30
        assert mine.payoff.sum() == pytest.approx((-1) ** player * sum(payoff(c, e) for c in DEALS for e in ENDS) / 6)
        # Who has passed and meets a bet comes from his own pass.
        again = mine.plies == 2
        assert (mine.sets["parent"][~again] == 0).all()
        assert (mine.actions[mine.sets["parent"][again]] == toy_kuhn.PASS).all()
        assert again.sum() == (3 if player == 0 else 0)


def test_choices_at_once_are_made_without_seeing_each_other():
    """The guesser has one information set at the start, and knows of the claim and of his guess later."""
    found = tree.walk(toy_coin.make(tosses=0))
    teller, guesser = found.players
    assert len(guesser.sets) == 1 + 2
    assert np.bincount(guesser.plies).tolist() == [1, 2]
    # The teller sees the coin; later he also knows what was said and, after an answer, the answer.
    assert np.bincount(teller.plies).tolist() == [2, 4, 8]
    assert found.positions == 2 + 2 * 4 + 2 * 2 + 2 * 4 + 2 * 4


def test_each_information_set_comes_after_what_leads_to_it():
    found = tree.walk(toy_coin.make(tosses=2))
    for mine in found.players:
        assert (mine.sets["parent"] < mine.sets["first"]).all()
        assert (np.diff(mine.sets["first"]) == mine.sets["count"][:-1]).all()
        owner = np.concatenate([[-1], np.repeat(np.arange(len(mine.sets)), mine.sets["count"])])
        before = owner[mine.sets["parent"]]
        assert (mine.plies[before[before >= 0]] < mine.plies[before >= 0]).all()
        assert len(np.unique(mine.digests, axis=0)) == len(mine.sets)


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


def test_tables_and_policies_are_the_same(kuhn):
    policy = random_policy(kuhn, 1)
    tables = [kuhn.table(player, part) for player, part in enumerate(policy)]
    assert all(table.sum(axis=1) == pytest.approx(1) for table in tables)
    assert all((a == b).all() for a, b in zip(kuhn.policy(tables), policy, strict=True))
    for mine, part in zip(kuhn.players, policy, strict=True):
        again = np.empty_like(part)
        tree.fill_policy(mine.sets, tree.plan_of(mine, part), again)
        assert again == pytest.approx(part)


@pytest.mark.parametrize("seed", range(6))
def test_best_responses_are_those_of_brute_force(kuhn, seed):
    policy = random_policy(kuhn, seed)
    written = as_written(kuhn, policy)
    found = tree.exploitability(kuhn, policy)
    assert found.best_responses == pytest.approx([brute_force_response(written, player) for player in (0, 1)])
    assert found.expected == pytest.approx(mean_worth(written))
    assert found.nash_conv == pytest.approx(sum(found.best_responses))
    assert found.value == found.nash_conv / 2
    for player in (0, 1):
        value, answer = tree.best_response(kuhn, player, tree.plan_of(kuhn.players[1 - player], policy[1 - player]))
        both = (answer, policy[1]) if player == 0 else (policy[0], answer)
        assert tree.exploitability(kuhn, both).expected * (1 - 2 * player) == pytest.approx(value)


@pytest.mark.skipif(jit.DISABLED, reason="many games")
def test_what_is_expected_is_what_random_games_pay():
    game = ttt_envs.load("tic_tac_match", **SMALL)
    found = tree.walk(game)
    rewards = []
    batch = ttt_envs.Batch(game, 20_000, seed=2)
    agent = RandomAgent()
    while not batch.done.all():
        batch.step(agent.act(batch.view()))
    rewards = batch.rewards[:, 0]
    expected = tree.exploitability(found, found.uniform()).expected
    assert expected != 0
    assert abs(rewards.mean() - expected) < 5 * rewards.std() / np.sqrt(len(rewards))


def test_the_limit_is_kept_and_said():
    game = toy_coin.make(tosses=2)
    whole = tree.walk(game).positions
    assert tree.walk(game, limit=whole).positions == whole
    with pytest.raises(tree.TooLarge, match=rf"more than {whole - 1} positions: \d+ up to ply \d, and at least \d+"):
        tree.walk(game, limit=whole - 1)
    told = []
    with pytest.raises(tree.TooLarge, match="more than 1000 positions"):
        tree.walk(
            ttt_envs.load("super_tic_tac_toe"), limit=1000, tell=lambda ply, positions: told.append((ply, positions))
        )
    # Nine first moves; eight boards of nine and one of eight to answer in; then 8 * (9 * 9 - 2) + 8 * 9.
    assert told == [(1, 10), (2, 90), (3, 794)]


@jit.kernel
def pay_both(state, actions):
    """Both win at the end."""
    toy_kuhn.step(state, actions)
    if state["done"]:
        state["rewards"][:] = 1.0


@jit.kernel
def nobody_acts(state, player, out):
    """A position without a choice that is not finished."""
    out[:] = False


@pytest.mark.parametrize(
    ("game", "words"),
    [
        (toy_coin.make(players=3), r"two players.*Game\('toy_coin'.* has 3"),
        (ttt_envs.load("tic_tac_dice", rounds="single"), "cannot be enumerated.*draws again until"),
        (replace(KUHN, rules=KUHN.rules._replace(step=pay_both)), "only zero-sum games"),
        (replace(KUHN, rules=KUHN.rules._replace(legal_mask=nobody_acts)), "nobody has a legal action"),
    ],
    ids=["three players", "dice", "not zero-sum", "nobody acts"],
)
def test_other_games_are_refused_in_words(game, words):
    with pytest.raises(ValueError, match=words):
        tree.walk(game)


def test_a_wrong_limit():
    with pytest.raises(ValueError, match="limit must be a whole number of at least 1, not 0"):
        tree.walk(KUHN, limit=0)


# --- the solver ---


def test_kuhn_poker_is_solved(solved):
    """The family of equilibria: player 0 bluffs at a rate a of at most 1/3, and player 1 plays the only one."""
    found = solved.exploitability()
    assert found.value < 1e-4
    assert found.expected == pytest.approx(KUHN_VALUE, abs=1e-4)
    assert -found.best_responses[1] <= KUHN_VALUE <= found.best_responses[0]
    first, second = as_written(solved.tree, solved.average())
    bluff = first[0, ""]
    assert 0 <= bluff <= 1 / 3 + 0.01
    assert first[1, ""] == pytest.approx(0, abs=0.01)
    assert first[2, ""] == pytest.approx(3 * bluff, abs=0.03)
    assert [first[card, "pb"] for card in range(3)] == pytest.approx([0, bluff + 1 / 3, 1], abs=0.02)
    assert [second[card, "b"] for card in range(3)] == pytest.approx([0, 1 / 3, 1], abs=0.02)
    assert [second[card, "p"] for card in range(3)] == pytest.approx([1 / 3, 0, 1], abs=0.02)


def test_it_begins_uniform_and_improves(kuhn):
    solver = cfr.Solver(kuhn)
    assert all((a == b).all() for a, b in zip(solver.average(), kuhn.uniform(), strict=True))
    values = [solver.exploitability().value]
    assert values[0] == pytest.approx(0.9166666 / 4)  # known for stakes of 1, twice ours
    for _ in range(4):
        solver.run(solver.iterations + 10)
        values.append(solver.exploitability().value)
    assert (np.diff(values) < 0).all()
    assert values[-1] < 1e-3


@pytest.mark.parametrize(("tosses", "value"), [(0, 0), (1, 1 / 2), (2, 3 / 4)])
def test_choices_at_once_are_solved(tosses, value):
    """The teller says anything, and tosses again while the guess is right, which it is half of the time."""
    solver = cfr.Solver(tree.walk(toy_coin.make(tosses=tosses)))
    solver.run(200)
    found = solver.exploitability()
    assert found.value < 1e-3
    assert found.expected == pytest.approx(value, abs=1e-3)


def test_a_game_without_a_choice_or_a_payment():
    """One turn wins nothing."""
    solver = cfr.Solver(tree.walk(ttt_envs.load("tic_tac_match", **{**SMALL, "max_turns": 1})))
    solver.run(2)
    assert len(solver.tree.players[0].sets) == 0
    assert solver.exploitability() == tree.Exploitability(0.0, 0.0, (0.0, 0.0), 0.0)


def test_the_same_numbers_every_time(kuhn):
    solvers = [cfr.Solver(tree.walk(KUHN)), cfr.Solver(kuhn)]
    solvers[0].run(30)
    for _ in range(30):
        solvers[1].run(1)
    for one, other in zip(*(solver.average() for solver in solvers), strict=True):
        assert one.tobytes() == other.tobytes()


def rounded(found, policy):
    """The likeliest action everywhere."""
    likeliest = [found.table(player, part).argmax(axis=1) for player, part in enumerate(policy)]
    return found.policy([np.eye(found.game.num_actions)[actions] for actions in likeliest])


@jit.kernel
def observe_all(state, player, out):
    """Both players' cards, one's own first."""
    half = out.shape[0] // 2
    observe_match(state, player, out[:half])
    observe_match(state, 1 - player, out[half:])


observe_match = ttt_envs.load("tic_tac_match", **MATCH).rules.observe


@pytest.mark.skipif(jit.DISABLED, reason="300,000 positions")
def test_hidden_hands_are_solved():
    """And they matter: with open hands the game is worth something else."""
    game = ttt_envs.load("tic_tac_match", **MATCH)
    solver = cfr.Solver(tree.walk(game))
    assert (solver.tree.positions, solver.tree.sets) == (296_426, 6_734)
    solver.run(100)
    found = solver.exploitability()
    assert found.value < 1e-3
    blocks = game.observation + tuple(replace(block, name=f"other {block.name}") for block in game.observation)
    shown = replace(game, rules=game.rules._replace(observe=observe_all), observation=blocks)
    opened = cfr.Solver(tree.walk(shown))
    opened.run(100)
    seen = opened.exploitability()
    assert seen.value < 1e-3
    assert opened.tree.positions == solver.tree.positions
    assert opened.tree.sets > solver.tree.sets
    assert -found.best_responses[1] - seen.best_responses[0] > 0.005


@pytest.mark.slow
def test_more_hidden_hands_are_solved():
    """And who follows its likeliest actions can be seen through."""
    solver = cfr.Solver(tree.walk(ttt_envs.load("tic_tac_match", **LARGER)))
    assert solver.tree.positions == 6_700_882
    solver.run(100)
    assert solver.exploitability().value < 1e-3
    assert tree.exploitability(solver.tree, rounded(solver.tree, solver.average())).value > 0.01


# --- the command of the solver ---


def options(given) -> list[str]:
    """As on a command line."""
    return [word for name, value in given.items() for word in ("--option", f"{name}={value}")]


def test_the_command(tmp_path, capsys):
    arguments = ["--game", "tic_tac_match", *options(SMALL), "--iterations", "60", "--out", str(tmp_path)]
    assert cfr.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "Exploitability" in shown
    assert str(tmp_path) in shown.replace("\n", "")
    names = ["exploitability.csv", "exploitability.png", "policy.npz", "report.md", "results.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    header, *rows = (tmp_path / "exploitability.csv").read_text().splitlines()
    assert header == "iteration,seconds,exploitability,nash_conv,best_response_0,best_response_1,expected"
    iterations = [int(row.split(",")[0]) for row in rows]
    assert iterations[:9] == [*range(1, 9), 10]
    assert iterations[-1] == 60
    assert float(rows[-1].split(",")[2]) < 1e-3
    assert (tmp_path / "exploitability.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads((tmp_path / "results.json").read_text())
    assert result["complete"]
    assert result["positions"] == 17_724
    assert result["options"] == {**result["options"], **SMALL}
    assert result["command"] in (tmp_path / "report.md").read_text()


def test_a_saved_policy_is_the_same(kuhn, solved, tmp_path):
    path = tmp_path / "policy.npz"
    cfr.save_policy(path, kuhn, solved.average(), iterations=2000)
    again = cfr.load_policy(path, kuhn)
    assert all((a == b).all() for a, b in zip(again, solved.average(), strict=True))
    with np.load(path, allow_pickle=False) as file:
        assert json.loads(str(file["facts"])) == {"game": "toy_kuhn", "options": {}, "iterations": 2000}
    with pytest.raises(ValueError, match=r"is no policy for Game\('toy_coin'"):
        cfr.load_policy(path, tree.walk(toy_coin.make(tosses=0)))
    with pytest.raises(FileNotFoundError):
        cfr.load_policy(tmp_path / "missing.npz", kuhn)
    for content in (b"", b"no zip", path.read_bytes()[:200]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"policy\.npz is damaged, or"):
            cfr.load_policy(path, kuhn)


def test_it_stops_at_the_target():
    config = cfr.Config(game="toy_kuhn", iterations=10_000, target=1e-3, out=None)
    report = cfr.run(config, KUHN, quiet=True)
    assert report.complete
    assert report.reached
    last = report.measurements[-1]
    assert last.exploitability <= 1e-3
    assert last.iteration < 200
    assert all(each.exploitability > 1e-3 for each in report.measurements[:-1])
    assert report.remarks() == []


def test_a_target_that_is_not_reached_is_said():
    report = cfr.run(cfr.Config(game="toy_kuhn", iterations=3, target=1e-6, out=None), KUHN, quiet=True)
    assert not report.reached
    assert report.complete
    assert "target 1e-06 was not reached: after 3 iterations it is" in report.remarks()[0]
    assert report.remarks()[0] in report.markdown()


def interrupt_at(monkeypatch, owner, name, number):
    """Ctrl-C when a method is called for the so-many-th time."""
    calls, original = itertools.count(1), getattr(owner, name)

    def interrupted(*arguments, **more):
        if next(calls) == number:
            raise KeyboardInterrupt
        return original(*arguments, **more)

    monkeypatch.setattr(owner, name, interrupted)


def test_who_interrupts_it_keeps_what_is_done(monkeypatch, tmp_path, capsys):
    """Between the updates of the two players of iteration 25."""
    interrupt_at(monkeypatch, cfr._Learner, "learn", 50)
    arguments = ["--game", "tic_tac_match", *options(SMALL), "--iterations", "60", "--out", str(tmp_path)]
    assert cfr.main(arguments) == 130
    assert "Partial" in capsys.readouterr().out
    result = json.loads((tmp_path / "results.json").read_text())
    assert not result["complete"]
    assert result["measurements"][-1]["iteration"] == 24
    assert "**Partial" in (tmp_path / "report.md").read_text()
    monkeypatch.undo()
    solver = cfr.Solver(tree.walk(ttt_envs.load("tic_tac_match", **SMALL)))
    solver.run(24)
    assert result["measurements"][-1]["exploitability"] == solver.exploitability().value
    kept = cfr.load_policy(tmp_path / "policy.npz", solver.tree)
    assert all((a == b).all() for a, b in zip(kept, solver.average(), strict=True))


def test_an_interrupt_before_anything_is_done(monkeypatch, tmp_path, capsys):
    interrupt_at(monkeypatch, cfr._Learner, "learn", 2)
    arguments = ["--game", "tic_tac_match", *options(SMALL), "--out", str(tmp_path / "out")]
    assert cfr.main(arguments) == 130
    assert "nothing is written" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--game", "tic_tac_mat"], "did you mean 'tic_tac_match'"),
        (["--game", "tic_tac_match", "--option", "flip=1"], "did you mean 'flips'"),
        (["--game", "tic_tac_match", "--option", "players=4"], "only games of two players"),
        (["--game", "super_tic_tac_toe", "--limit", "100"], "more than 100 positions"),
        (["--game", "tic_tac_dice"], "draws again until something fits"),
        (["--game", "tic_tac_match", "--iterations", "0"], "iterations must be a whole number of at least 1, not 0"),
        (["--game", "tic_tac_match", "--target", "0"], "target must be more than 0, not 0.0"),
    ],
)
def test_wrong_settings_of_the_command(arguments, words, capsys):
    assert cfr.main([*arguments, "--out", "none"]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


# --- exploitability of agents ---


class ByTable:
    """Plays a policy of Kuhn poker, found by what it sees."""

    name = "table"

    def __init__(self, found, policy):
        self.rows = {}
        for player, part in enumerate(policy):
            table = found.table(player, part)
            for view in found.views(player):
                self.rows |= {seen.tobytes(): row for seen, row in zip(view.observations, table, strict=True)}

    def policy(self, view):
        return np.stack([self.rows[seen.tobytes()] for seen in view.observations])

    def act(self, view):
        raise AssertionError("its policy says all")


class Moves:
    """Has moves alone: it bets one time in four, by its seeds."""

    name = "moves"

    def act(self, view):
        return (view.seeds % np.uint64(4) == 0).astype(np.int64)


class MovesExactly(Moves):
    """The same, with its probabilities."""

    name = "exactly"

    def policy(self, view):
        return np.tile([0.75, 0.25], (len(view), 1))


class Samples(Moves):
    """The same, with probabilities that depend on its seeds."""

    name = "samples"

    def policy(self, view):
        bets = self.act(view) == 1
        return np.where(bets[:, None], [0.25, 0.75], [1 - 1 / 12, 1 / 12])


def test_the_exploitability_of_a_policy_as_an_agent(kuhn, solved):
    for policy in (random_policy(kuhn, 3), solved.average()):
        found, wanted = exploitability.measure(KUHN, ByTable(kuhn, policy)), tree.exploitability(kuhn, policy)
        assert found.samples == 0
        assert found.exploitability == pytest.approx(wanted.value)
        assert found.best_responses == pytest.approx(wanted.best_responses)
        assert found.expected == pytest.approx(wanted.expected)


def test_the_random_agent(kuhn):
    found = exploitability.measure(KUHN, agents.load("random"))
    assert (found.exploitability, found.samples) == (pytest.approx(0.9166666 / 4), 0)


@pytest.mark.parametrize("agent", [Moves(), Samples()], ids=["moves", "samples"])
def test_what_is_no_exact_policy_is_estimated(agent):
    wanted = exploitability.measure(KUHN, MovesExactly())
    assert wanted.samples == 0
    rough = exploitability.measure(KUHN, agent, samples=20)
    assert rough.samples == 20
    fine = exploitability.measure(KUHN, agent, samples=2000)
    assert fine.samples == 2000
    assert fine.exploitability == pytest.approx(wanted.exploitability, abs=0.02)
    assert abs(fine.exploitability - wanted.exploitability) < abs(rough.exploitability - wanted.exploitability)


def test_samples_are_told_and_reproduced(kuhn):
    shares = []
    found = exploitability.measure(KUHN, Moves(), samples=4, found=kuhn, tell=shares.append)
    assert shares == [0.5, 1.0]
    assert found == exploitability.measure(KUHN, Moves(), samples=4)


class SamplesLate(MovesExactly):
    """The same, with probabilities that depend on its seeds where somebody has bet before."""

    name = "samples late"

    def __init__(self):
        self.asked = 0

    def policy(self, view):
        self.asked += len(view)
        late, some = view.observations[:, 7] + view.observations[:, 9] > 0, Samples().policy(view)
        return np.where(late[:, None], some, super().policy(view))


def test_seeds_that_matter_somewhere_are_noticed(kuhn):
    """All is averaged then, also what was asked with one seed before."""
    agent = SamplesLate()
    found = exploitability.measure(KUHN, agent, samples=2000)
    assert found.samples == 2000
    assert agent.asked > 2000 * kuhn.sets
    wanted = exploitability.measure(KUHN, MovesExactly())
    assert found.exploitability == pytest.approx(wanted.exploitability, abs=0.02)
    # It is the mean of its policies, at the places of the tree's information sets.
    tables = [
        np.mean([np.concatenate([agent.policy(v) for v in kuhn.views(player, seed)]) for seed in range(2000)], axis=0)
        for player in (0, 1)
    ]
    exact = tree.exploitability(kuhn, kuhn.policy(tables))
    assert found.best_responses == pytest.approx(exact.best_responses)


def test_a_policy_is_not_asked_for_moves():
    """The mean of probabilities is a better estimate than that of as many moves."""

    class Silent(Samples):
        act = None

    def error(agent):
        return abs(exploitability.measure(KUHN, agent, samples=50).exploitability - wanted)

    Silent.policy = lambda self, view: Samples.policy(Moves(), view)
    wanted = exploitability.measure(KUHN, MovesExactly()).exploitability
    assert error(Silent()) < error(Moves())


def test_seeds_that_matter_late_are_noticed_in_a_large_block():
    """A part of the positions is tried, spread over all of them."""

    class Late:
        name = "late"

        def policy(self, view):
            return np.where((view.seeds % np.uint64(2) == 0)[:, None], [1.0, 0.0], [self.other, 1 - self.other])

        act = None

    states = np.repeat(KUHN.new_state(seed=0), 5000)

    def views(seeds):
        return [View(KUHN, states, np.zeros(5000), np.arange(5000, dtype=np.uint64) + k) for k in range(seeds)]

    agent = Late()
    agent.other = 1.0
    asked = exploitability.Asked(agent)
    assert (asked(views(asked.seeds)) == [1, 0]).all()
    agent.other = 0.9
    with pytest.raises(exploitability.SeedsMatter):
        asked(views(asked.seeds))


class Wrong(Moves):
    """Its policy is what it is told."""

    name = "wrong"

    def __init__(self, row):
        self.row = row

    def policy(self, view):
        return np.tile(self.row, (len(view), 1))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([0.5, 0.6], "no distribution over the legal actions in this position:\ncards:"),
        ([1.5, -0.5], "no distribution"),
        ([np.nan, 1.0], "no distribution"),
        ([0.5, 0.25, 0.25], r"must have shape \(6, 2\), not \(6, 3\)"),
    ],
)
def test_a_wrong_policy_is_refused(row, words):
    with pytest.raises(ValueError, match=f"agent 'wrong': its policy .*{words}"):
        exploitability.measure(KUHN, Wrong(row))


def test_a_policy_over_illegal_actions_is_refused():
    class Uniform:
        name = "uniform"

        def policy(self, view):
            return np.full((len(view), view.game.num_actions), 1 / view.game.num_actions)

        act = None

    with pytest.raises(ValueError, match="agent 'uniform': its policy is no distribution over the legal actions"):
        exploitability.measure(toy_coin.make(tosses=0), Uniform())


def test_a_person_is_not_asked_everywhere():
    with pytest.raises(ValueError, match="agent 'human' cannot be measured"):
        exploitability.measure(KUHN, agents.load("human"))


class Responder:
    """An oracle that answers best, by the tree, of which the command must know nothing."""

    def __init__(self, found):
        self.found, self.asked = found, 0

    def best_response(self, policy, player, tell):
        self.asked += 1
        tell(0.5)
        other = self.found.players[1 - player]
        table = policy(other.states, np.full(len(other.states), 1 - player))
        tables = [np.ones((len(mine.sets), 2)) / 2 for mine in self.found.players]
        tables[1 - player] = table
        plan = tree.plan_of(other, self.found.policy(tables)[1 - player])
        tell(1.0)
        return tree.best_response(self.found, player, plan)[0]


@pytest.mark.parametrize("agent", [MovesExactly(), Moves()], ids=["exact", "estimated"])
def test_an_oracle_may_answer_best(kuhn, agent):
    responder, shares = Responder(kuhn), []
    game = replace(KUHN, make_oracle=lambda: responder)
    found = exploitability.measure(game, agent, samples=500, limit=1, tell=shares.append)
    wanted = exploitability.measure(KUHN, MovesExactly())
    exact = hasattr(agent, "policy")
    # Without a policy to be tried, the first question shows that seeds matter.
    assert responder.asked == 2 + (not exact)
    assert shares[-4:] == [0.25, 0.5, 0.75, 1.0]
    assert np.isnan(found.expected)
    assert found.samples == (0 if exact else 500)
    assert found.exploitability == pytest.approx(wanted.exploitability, abs=1e-12 if exact else 0.05)
    report = exploitability.run(
        exploitability.Config("toy_kuhn", ("it",), out=None, limit=1), {"it": agent}, game=game, quiet=True
    )
    assert report.tree is None
    assert "the game's oracle" in report.markdown()


class FromStarts:
    """An oracle that answers from given starts: the whole game's answer, and a part that depends on the start."""

    def __init__(self, responder, parts):
        self.responder, self.parts, self.starts = responder, parts, []

    def best_response_from(self, policy, starts, player, tell):
        self.starts.append(starts)
        value = self.responder.best_response(policy, player, tell)
        # What is good for one player is bad for the other, but for the policy's losses.
        fortune = np.where(starts["card"][:, 0] > starts["card"][:, 1], 0.7, -0.7) * (1 - 2 * player)
        return value + fortune + self.parts[starts["card"][:, 0]]


def test_an_oracle_may_answer_from_starts(kuhn, tmp_path):
    parts = np.array([0.0, 0.3, 0.6])
    oracle, shares = FromStarts(Responder(kuhn), parts), []
    game = replace(KUHN, make_oracle=lambda: oracle)
    whole = exploitability.measure(KUHN, MovesExactly())
    found = exploitability.measure(game, MovesExactly(), starts=600, seed=3, tell=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]
    assert (oracle.starts[0] == oracle.starts[1]).all()
    drawn = parts[oracle.starts[0]["card"][:, 0]]
    assert found.starts == 600
    assert found.exploitability == pytest.approx(whole.exploitability + drawn.mean())
    # The fortune of the cards is in the best responses, and not in the interval.
    assert found.half_width == pytest.approx(1.96 * drawn.std(ddof=1) / np.sqrt(600))
    assert abs(drawn.mean() - 0.3) < found.half_width * 1.5
    assert found == exploitability.measure(game, MovesExactly(), starts=600, seed=3)
    assert found != exploitability.measure(game, MovesExactly(), starts=600, seed=4)
    config = exploitability.Config("toy_kuhn", ("it",), starts=600, seed=3, out=tmp_path)
    report = exploitability.run(config, {"it": MovesExactly()}, game=game, quiet=True)
    assert report.results[0].exploitability == found.exploitability
    text = (tmp_path / "report.md").read_text()
    assert f"{found.exploitability:.4f} ± {found.half_width:.4f}" in text
    assert "exact from each of 600 starts" in text
    assert "--starts 600 --seed 3" in text
    with pytest.raises(ValueError, match="starts must be a whole number of at least 2, for an interval, not 1"):
        exploitability.measure(game, MovesExactly(), starts=1)


@pytest.mark.skipif(jit.DISABLED, reason="many worlds")
def test_the_command_for_agents(tmp_path, capsys):
    arguments = ["--game", "tic_tac_match", *options(SMALL), "--agent", "random", "--agent", "greedy"]
    assert exploitability.main([*arguments, "--samples", "5", "--out", str(tmp_path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "greedy: what it does depends on its seeds, and is estimated as the mean over 5 of them" in shown
    assert "random: " not in shown
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.md", "results.json"]
    results = {each["agent"]: each for each in json.loads((tmp_path / "results.json").read_text())["results"]}
    assert results["random"]["samples"] == 0
    found = tree.walk(ttt_envs.load("tic_tac_match", **SMALL))
    assert results["random"]["exploitability"] == tree.exploitability(found, found.uniform()).value
    assert 0 < results["greedy"]["exploitability"] < results["random"]["exploitability"]


def test_an_interrupted_measurement_keeps_what_is_done(monkeypatch, tmp_path):
    interrupt_at(monkeypatch, exploitability, "measure", 2)
    config = exploitability.Config("toy_kuhn", ("random", "it"), out=tmp_path)
    report = exploitability.run(config, {"it": Moves()}, game=KUHN, quiet=True)
    assert not report.complete
    assert [each.agent for each in report.results] == ["random"]
    text = (tmp_path / "report.md").read_text()
    assert "**Partial" in text
    assert "Not measured, since it was interrupted: it." in text
    assert "Called from Python, which made it" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--agent", "random", "--agent", "random"], "listed twice"),
        (["--agent", "randon"], "did you mean 'random'"),
        (["--agent", "mcts"], "hidden information"),
        (["--agent", "random", "--samples", "0"], "samples must be a whole number of at least 1, not 0"),
        (["--agent", "random", "--limit", "10"], "more than 10 positions"),
    ],
)
def test_wrong_settings_of_the_command_for_agents(arguments, words, capsys):
    assert exploitability.main(["--game", "tic_tac_match", *options(SMALL), *arguments, "--out", "none"]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


# --- OpenSpiel ---


@pytest.mark.skipif(importlib.util.find_spec("pyspiel") is None, reason="open_spiel is not installed")
@pytest.mark.parametrize(
    "game",
    [KUHN, toy_coin.make(tosses=1), ttt_envs.load("tic_tac_match", **{**SMALL, "max_turns": 2})],
    ids=lambda game: game.id,
)
def test_open_spiel_finds_the_same_exploitability(game):
    from open_spiel.python.algorithms import exploitability as theirs
    from open_spiel_adapter import OpenSpielGame, OpenSpielPolicy

    found, same = tree.walk(game), OpenSpielGame(game)
    solver = cfr.Solver(found)
    solver.run(20)
    for policy in (found.uniform(), random_policy(found, 0), solver.average()):
        ours, their_policy = tree.exploitability(found, policy), OpenSpielPolicy(same, found, policy)
        assert theirs.exploitability(same, their_policy) == pytest.approx(ours.value, abs=1e-6)
        assert theirs.nash_conv(same, their_policy) == pytest.approx(ours.nash_conv, abs=1e-6)
