"""Arena, ratings, tournament, benchmark: against slow loops, closed forms and simulated truth."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import toy_coin

import ttt_envs
from tools import benchmark
from ttt_envs import agents, registry
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.evaluation import tournament
from ttt_envs.evaluation.play import game_seeds, iter_games, join, play_games
from ttt_envs.evaluation.ratings import ELO, rate, strengths
from ttt_envs.evaluation.tournament import Config, arrangements, comparisons, run

SUPER = "super_tic_tac_toe"


@pytest.fixture
def toy(monkeypatch):
    """The toy game as a registered one."""
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")
    return toy_coin.make


def play_slowly(game, lineup, seats, seed):
    """One game after the other, one player after the other."""
    n = len(seats)
    batch = ttt_envs.Batch(game, n, seed=seed)
    for k in range(n):
        rows = np.array([k])
        while not batch.states["done"][k]:
            joint = np.full((1, game.num_players), -1)
            for player in range(game.num_players):
                if batch.states["to_move"][k] in (player, SIMULTANEOUS) and batch.masks(player)[k].any():
                    view = batch.view(player, rows)
                    joint[0, player] = lineup[seats[k, player]].act(view)[0]
            game.loops.step_rows(batch.states, rows, joint)
    return batch.states


def some_game(which):
    """A game, agents that play it, and seats for 30 games."""
    game = ttt_envs.load(SUPER, random_opening_plies=3) if which == SUPER else toy_coin.make(players=int(which[-1]))
    lineup = [agents.load("random"), agents.load("greedy")]
    return game, lineup, np.random.default_rng(0).integers(0, 2, (30, game.num_players))


class Stubborn:
    """Plays the first or the last legal action."""

    def __init__(self, last=False):
        self.name = "last" if last else "first"
        self.last = last

    def act(self, view):
        first = view.masks.argmax(axis=1)
        return view.masks.shape[1] - 1 - view.masks[:, ::-1].argmax(axis=1) if self.last else first


# --- arena ---


@pytest.mark.parametrize("which", [SUPER, "toy 2", "toy 3"])
def test_arena_plays_as_a_slow_loop_does(which):
    game, lineup, seats = some_game(which)
    states = play_slowly(game, lineup, seats, seed=5)
    seen = []
    games = play_games(
        game,
        lineup,
        seats,
        game_seeds(5, 30),
        chunk=7,
        record=[3, 29],
        progress=lambda k, n: seen.append((k, n)),
    )
    np.testing.assert_array_equal(games.rewards, states["rewards"])
    np.testing.assert_array_equal(games.lengths, states["ply"])
    assert seen[0] == (0, 30)
    assert seen[-1] == (30, 30)
    assert seen == sorted(seen)
    assert games.decisions.sum() >= games.lengths.sum() - 30 * 3
    assert (games.seconds > 0).all()
    for k, record in games.records.items():
        assert record.states[-1].tobytes() == states[k].tobytes()
        replay = record.states[:1].copy()
        for t, actions in enumerate(record.actions):
            game.loops.step_one(replay, 0, actions)
            assert replay[0].tobytes() == record.states[t + 1].tobytes()
    assert set(games.records) == {3, 29}


@pytest.mark.parametrize("which", [SUPER, "toy 3"])
def test_chunks_change_nothing(which):
    game, lineup, seats = some_game(which)
    whole, *others = [play_games(game, lineup, seats, game_seeds(1, 30), chunk=c) for c in (None, 1, 11, 30)]
    for other in others:
        for name in ("rewards", "lengths", "moves", "decisions"):
            np.testing.assert_array_equal(getattr(whole, name), getattr(other, name))


def test_game_seeds_are_those_of_a_batch():
    game = ttt_envs.load(SUPER)
    np.testing.assert_array_equal(game_seeds(9, 20), ttt_envs.Batch(game, 20, seed=9).episode_seeds)
    np.testing.assert_array_equal(game_seeds(9, 5), game_seeds(9, 20)[:5])


def test_digest_tells_games_apart():
    game = ttt_envs.load(SUPER)
    same = play_games(game, [Stubborn(), Stubborn(last=True)], [0, 1], game_seeds(0, 20))
    assert len(np.unique(same.moves)) == 1
    different = play_games(game, [agents.load("random")], [0, 0], game_seeds(0, 500))
    assert len(np.unique(different.moves)) == 500
    coins = play_games(toy_coin.make(), [Stubborn()], [0, 0], game_seeds(0, 50))
    assert len(np.unique(coins.moves)) == 2  # the same actions, but the coin shows otherwise


def test_no_games():
    game = ttt_envs.load(SUPER)
    games = play_games(game, [Stubborn()], [0, 0], game_seeds(0, 0))
    assert len(games) == 0
    assert games.rewards.shape == (0, 2)
    assert join([], game, 3).seconds.shape == (3,)


class Wrong:
    """Answers with what it was given."""

    name = "wrong"

    def __init__(self, answer):
        self.answer = answer

    def act(self, view):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (np.array([0]), ValueError, "agent 'wrong' as player 0 cannot play '0/0'.*legal: 4/0"),
        (np.array([-1]), ValueError, "agent 'wrong' as player 0 gave no action"),
        (np.array([81]), ValueError, "agent 'wrong': actions must be from 0 to 80, not 81"),
        (np.array([36, 36]), ValueError, "agent 'wrong': actions must have shape"),
        (np.array([36.0]), TypeError, "agent 'wrong': actions must be whole numbers"),
        (None, TypeError, "agent 'wrong': actions must be whole numbers"),
    ],
)
def test_wrong_answers_name_the_agent(answer, error, words):
    with pytest.raises(error, match=words):
        play_games(ttt_envs.load(SUPER), [Wrong(answer)], [0, 0], game_seeds(0, 1))


@pytest.mark.parametrize(
    ("seats", "chunk", "words"),
    [
        ([0, 0, 0], None, "seats must be whole numbers of shape"),
        ([0.0, 0.0], None, "seats must be whole numbers of shape"),
        ([0, 1], None, "seats must name agents 0 to 0"),
        ([-1, 0], None, "seats must name agents 0 to 0"),
        ([0, 0], 0, "chunk must be at least 1"),
    ],
)
def test_wrong_arguments_of_the_arena(seats, chunk, words):
    with pytest.raises(ValueError, match=words):
        list(iter_games(ttt_envs.load(SUPER), [Stubborn()], seats, game_seeds(0, 2), chunk=chunk))


# --- ratings ---


def simulated(theta, units, rng):
    """Wins of a round robin without draws, two games a unit, for log-strengths `theta`."""
    k = len(theta)
    chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    wins = np.zeros((units, k, k))
    for i in range(k):
        for j in range(i):
            wins[:, i, j] = rng.binomial(2, chance[i, j], units)
            wins[:, j, i] = 2 - wins[:, i, j]
    return wins, chance


def test_two_agents_have_a_closed_form():
    wins = np.zeros((100, 2, 2))
    wins[:63, 0, 1] = 1
    wins[63:90, 1, 0] = 1
    wins[90:, 0, 1] = wins[90:, 1, 0] = 0.5
    ratings = rate(wins, prior=0, resamples=0)
    assert ratings.elo[0] - ratings.elo[1] == pytest.approx(400 * np.log10(68 / 32), abs=1e-9)
    assert ratings.score[0, 1] == pytest.approx(0.68)
    weak = rate(wins, resamples=0)
    assert weak.elo[0] - weak.elo[1] == pytest.approx(400 * np.log10(68.5 / 32.5), abs=1e-9)


def test_strengths_are_those_of_hunters_mm():
    wins, _ = simulated(np.array([0, 0.4, 1, 2, 2.2]), 30, np.random.default_rng(1))
    wins = wins.sum(axis=0)
    games, p = wins + wins.T, np.ones(5)
    for _ in range(5000):
        p = wins.sum(axis=1) / (games / (p[:, None] + p[None, :])).sum(axis=1)
        p /= p.sum()
    theta = np.log(p) - np.log(p).mean()
    np.testing.assert_allclose(strengths(wins[None])[0], theta, atol=1e-8)


@pytest.mark.parametrize("theta", [[0, 0.5, 1, 2], [0, 1, 5, 5.5]])
def test_intervals_cover_the_truth(theta):
    theta, rng = np.array(theta, float), np.random.default_rng(2)
    elo_in, score_in = [], []
    for trial in range(200):
        wins, chance = simulated(theta, 50, rng)
        r = rate(wins, resamples=200, seed=trial)
        truth = ELO * (theta - theta @ r.weights)
        elo_in.append((r.elo_low <= truth) & (truth <= r.elo_high))
        inside = (r.score_low <= chance) & (chance <= r.score_high)
        score_in.append(inside[np.triu_indices(len(theta), 1)])
    assert (np.mean(elo_in, axis=0) >= 0.88).all()
    assert (np.mean(score_in, axis=0) >= 0.88).all()
    assert np.mean(score_in) <= 0.99  # nor so wide that they say nothing


def test_pairs_are_the_units():
    """Where one game of a pair is won for each that is lost, the score is known much better."""
    paired = np.zeros((100, 2, 2))
    paired[:, 0, 1] = paired[:, 1, 0] = 1
    single = np.zeros((200, 2, 2))
    single[:100, 0, 1] = single[100:, 1, 0] = 1
    widths = [float((r.score_high - r.score_low)[0, 1]) for r in (rate(paired), rate(single))]
    assert widths[0] < widths[1] / 3


def test_order_of_agents_does_not_matter():
    wins, _ = simulated(np.array([0, 0.5, 1, 3]), 40, np.random.default_rng(3))
    order = [2, 0, 3, 1]
    there, here = rate(wins[:, order][:, :, order]), rate(wins)
    np.testing.assert_allclose(there.elo, here.elo[order], atol=1e-6)
    np.testing.assert_allclose(there.score_low, here.score_low[order][:, order], atol=0.02)


def test_clean_records_stay_finite():
    wins = np.zeros((100, 3, 3))
    for i in range(3):
        wins[:, i, :i] = 2
    ratings = rate(wins)
    assert np.isfinite([ratings.elo, ratings.elo_low, ratings.elo_high]).all()
    assert (np.diff(ratings.elo) > 300).all()
    assert ratings.score[1, 0] == ratings.score_high[1, 0] == 1
    assert 0.96 < ratings.score_low[1, 0] < 0.99
    with pytest.raises(ValueError, match="without a prior"):
        rate(wins, prior=0)


def test_agents_without_games():
    wins = np.zeros((10, 3, 3))
    wins[:, 0, 1], wins[:, 1, 0] = 1, 1
    ratings = rate(wins)
    assert np.isnan(ratings.elo).tolist() == [False, False, True]
    assert np.isnan(ratings.score[0]).tolist() == [True, False, True]
    assert ratings.elo[0] == pytest.approx(0, abs=1e-9)


def test_same_seed_same_intervals():
    wins, _ = simulated(np.array([0, 1]), 40, np.random.default_rng(4))
    first, again, other = rate(wins, seed=1), rate(wins, seed=1), rate(wins, seed=2)
    np.testing.assert_array_equal(first.elo_low, again.elo_low)
    assert (first.elo_low != other.elo_low).all()


@pytest.mark.parametrize(
    "wins", [np.zeros((3, 2)), np.zeros((3, 2, 3)), -np.ones((1, 2, 2)), np.full((1, 2, 2), np.nan)]
)
def test_wrong_results(wins):
    with pytest.raises(ValueError, match="wins must"):
        rate(wins)


# --- seats and scores ---


def test_two_sides_swap():
    found = arrangements(ttt_envs.load(SUPER))
    assert [a.seats.tolist() for a in found] == [[True, False], [False, True]]


def test_three_sides_rotate_both_ways(toy):
    found = arrangements(toy(players=3))
    alone = [[True, False, False], [False, True, False], [False, False, True]]
    assert [a.seats.tolist() for a in found[:3]] == alone
    assert [(~a.seats).tolist() for a in found[3:]] == alone
    assert [(a.side, a.first_alone) for a in found] == [(0, 1), (1, 1), (2, 1), (0, 0), (1, 0), (2, 0)]


class Facts:
    """What `arrangements` asks of a game."""

    def __init__(self, teams):
        self.teams = teams
        self.num_players = sum(map(len, teams))


def test_teams_sit_together():
    found = arrangements(Facts(((0, 2), (1, 3))))
    assert [a.seats.tolist() for a in found] == [[True, False, True, False], [False, True, False, True]]
    with pytest.raises(ValueError, match="one side only"):
        arrangements(Facts(((0, 1),)))


def test_comparisons():
    rewards = np.array([[1, -1], [-1, 1], [0, 0]])
    won, lost = comparisons(rewards, np.array([[True, False], [True, False], [False, True]]))
    assert won.tolist() == [1, 0, 0.5]
    assert lost.tolist() == [0, 1, 0.5]
    third = -1 / 3
    four = np.array([[1, third, third, third], [third, 1, third, third], [0, 0, 0, 0]])
    won, lost = comparisons(four, np.tile([True, False, False, False], (3, 1)))
    assert won.tolist() == [3, 0, 1.5]
    assert lost.tolist() == [0, 1, 1.5]


def test_comparisons_estimate_strength():
    """Four players who win in proportion to their strengths 3 : 1 : 1 : 1, or 1 : 3 : 3 : 3."""
    rng = np.random.default_rng(0)
    n = 40_000
    held = np.tile([True, False, False, False], (n, 1))
    rewards = np.full((n, 4), -1 / 3)
    rewards[np.arange(n), rng.choice(4, n, p=np.array([3, 1, 1, 1]) / 6)] = 1
    won, lost = comparisons(rewards, held)
    assert won.sum() / lost.sum() == pytest.approx(3, rel=0.05)
    won, lost = comparisons(rewards, ~held)
    assert lost.sum() / won.sum() == pytest.approx(3, rel=0.05)


# --- tournament ---


def small(tmp_path, **changes):
    """Settings of a quick tournament."""
    given = {
        "game": SUPER,
        "agents": ("random", "greedy", "mcts:simulations=8"),
        "games": 40,
        "out": tmp_path / "t",
    }
    return Config(**{**given, **changes})


def without_time(text):
    """A report up to its table of times."""
    return text[: text.index("## Time")]


def test_report_and_files(tmp_path):
    config = small(tmp_path, option=("random_opening_plies=2",), seed=3)
    result = run(config, quiet=True)
    assert result.complete
    text = (tmp_path / "t" / "report.md").read_text()
    assert text == result.markdown()
    assert f"--option random_opening_plies=2 --out {tmp_path / 't'}" in text
    assert (
        "python -m ttt_envs.evaluation.tournament --game super_tic_tac_toe --agents random greedy mcts:simulations=8"
        in text
    )
    for part in ("## Ratings", "## Crosstable", "## As player_0", "## As player_1", "## Pairings", "## Time"):
        assert part in text
    assert "95 % interval" in text
    assert "Partial" not in text
    data = json.loads((tmp_path / "t" / "results.json").read_text())
    assert data["agents"] == list(config.agents)
    assert data["elo"][0] < data["elo"][1]
    assert data["score"][0][0] is None
    games = np.load(tmp_path / "t" / "games.npz")
    assert games["rewards"].shape == (120, 2)
    np.testing.assert_array_equal(games["seed"][:40:2], game_seeds(3, 20))


def test_crosstable_adds_up(tmp_path):
    result = run(small(tmp_path, out=None), quiet=True)
    score = result.ratings.score
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose((score + score.T)[off], 1)
    np.testing.assert_allclose((result.mean_reward + result.mean_reward.T)[off], 0, atol=1e-7)
    np.testing.assert_allclose(score[off], ((1 + result.mean_reward) / 2)[off], atol=1e-7)
    np.testing.assert_allclose(result.side_scores.mean(axis=0)[off], score[off])
    for pairing in result.pairings:
        assert pairing.games.decisions.sum() == pairing.games.lengths.sum()
        assert pairing.games.decisions[[k for k in range(3) if k not in (pairing.first, pairing.second)]] == 0
    assert result.folder is None


def test_seats_and_seeds_are_paired(tmp_path):
    lineup = {"a": Stubborn(), "b": agents.load("random")}
    config = Config(SUPER, ("a", "b"), games=9, option=("random_opening_plies=4",), seed=2, out=tmp_path)
    result = run(config, lineup, quiet=True)
    (pairing,) = result.pairings
    assert pairing.seats.tolist() == [[0, 1], [1, 0]] * 5
    seeds = np.load(tmp_path / "games.npz")["seed"]
    np.testing.assert_array_equal(seeds[::2], game_seeds(2, 5))
    np.testing.assert_array_equal(seeds[::2], seeds[1::2])
    again = play_games(result.game, list(lineup.values()), pairing.seats, seeds)
    np.testing.assert_array_equal(pairing.games.moves, again.moves)
    assert "made a, b; the command cannot" in result.markdown()


def test_reproducible_whatever_the_chunks(tmp_path):
    reports = [run(small(tmp_path, chunk=c), quiet=True) for c in (None, 1, 13)]
    first, *others = [without_time(r.markdown()) for r in reports]
    assert others == [first, first]
    other = run(small(tmp_path, seed=1), quiet=True)
    assert without_time(other.markdown()) != first


def test_adding_an_agent_leaves_other_games_alone(tmp_path):
    two = run(small(tmp_path, agents=("random", "mcts:simulations=8"), out=None), quiet=True)
    three = run(small(tmp_path, out=None), quiet=True)
    np.testing.assert_array_equal(two.pairings[0].games.moves, three.pairings[1].games.moves)


def test_three_players(toy, tmp_path):
    config = Config("toy_coin", ("random", "greedy"), games=600, option=("players=3",), out=tmp_path)
    result = run(config, quiet=True)
    assert len(result.pairings[0].games) == 600
    score = result.ratings.score
    assert score[0, 1] + score[1, 0] == pytest.approx(1)
    assert result.side_scores.shape == (3, 2, 2)
    text = result.markdown()
    assert "100 seeds, each played in all 6 seatings" in text
    assert "## As player_2" in text


def test_equal_agents_score_one_half(toy):
    """Two random players of different name, three players: nobody is favoured by how seats are given."""

    class Other:
        def act(self, view):
            k = view.seeds % np.maximum(view.masks.sum(axis=1), 1).astype(np.uint64)
            return np.array([np.flatnonzero(m)[int(j)] for m, j in zip(view.masks, k, strict=True)])

    config = Config("toy_coin", ("random", "other"), games=3000, option=("players=3",), out=None)
    ratings = run(config, {"other": Other()}, quiet=True).ratings
    assert ratings.score_low[0, 1] - 0.02 < 0.5 < ratings.score_high[0, 1] + 0.02


class Interrupts(Stubborn):
    """Is interrupted after some calls."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def act(self, view):
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return super().act(view)


def test_interrupt_keeps_what_is_finished(tmp_path):
    config = Config(SUPER, ("random", "greedy", "i"), games=20, chunk=5, out=tmp_path / "t")
    whole = run(Config(SUPER, ("random", "greedy"), games=20, out=None), quiet=True)
    # Enough for one chunk of five games against `random`: two pairs of games, and half of a third.
    result = run(config, {"i": Interrupts(60)}, quiet=True)
    assert not result.complete
    assert [len(p.games) for p in result.pairings] == [20, 4]
    np.testing.assert_array_equal(result.pairings[0].games.moves, whole.pairings[0].games.moves)
    text = (tmp_path / "t" / "report.md").read_text()
    assert "**Partial: it was interrupted." in text
    assert "| 4 of 20 |" in text
    assert json.loads((tmp_path / "t" / "results.json").read_text())["complete"] is False
    assert np.load(tmp_path / "t" / "games.npz")["length"].shape == (24,)


def test_interrupt_before_anything_is_finished(tmp_path):
    config = Config(SUPER, ("i", "random"), out=tmp_path / "t")
    with pytest.raises(KeyboardInterrupt):
        run(config, {"i": Interrupts(1)}, quiet=True)
    assert not (tmp_path / "t").exists()


class Person(Stubborn):
    """Counts the games it is shown at a time, and quits after some moves."""

    interactive = True

    def __init__(self, moves):
        super().__init__()
        self.moves = moves

    def act(self, view):
        assert len(view) == 1
        self.moves -= 1
        if self.moves < 0:
            raise SystemExit
        return super().act(view)


def test_a_person_plays_one_game_at_a_time_and_may_quit():
    config = Config(SUPER, ("random", "person"), games=10, out=None)
    result = run(config, {"person": Person(120)})
    assert not result.complete
    assert 0 < len(result.pairings[0].games) < 10
    with pytest.raises(SystemExit):
        run(config, {"person": Person(0)})


class Refuses:
    def act(self, view):
        raise ValueError("needs dice")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"agents": ("random",)}, "at least two agents, not 1"),
        ({"agents": ("random", "greedy", "random")}, "'random' is listed twice"),
        ({"agents": ("random", "gredy")}, "unknown agent 'gredy'; did you mean 'greedy'"),
        ({"agents": ("random", "refuses")}, "agent 'refuses' cannot play Game.*needs dice"),
        ({"agents": ("random", "wrong")}, "agent 'wrong' as player 0 cannot play"),
        (
            {"agents": ("random", "oracle"), "option": ("won_boards=closed",)},
            "no oracle for won_boards='closed'",
        ),
        ({"game": "chess"}, "unknown game 'chess'"),
        ({"option": ("won_bords=closed",)}, "unknown option 'won_bords'; did you mean 'won_boards'"),
        ({"option": ("won_boards=half",)}, "must be one of 'open', 'closed'"),
        ({"games": 0}, "games must be a whole number of at least 1, not 0"),
        ({"games": 1.5}, "games must be a whole number"),
        ({"resamples": -1}, "resamples must be"),
        ({"seed": -1}, "seed must be from 0"),
        ({"chunk": 0}, "chunk must be at least 1"),
    ],
)
def test_errors_in_words(changes, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        run(small(tmp_path, **changes), {"refuses": Refuses(), "wrong": Wrong(np.array([0]))}, quiet=True)
    assert not (tmp_path / "t").exists()


def test_command_line(tmp_path, capsys, monkeypatch):
    words = ["--game", SUPER, "--agents", "random", "greedy", "--games", "4", "--out", str(tmp_path / "t")]
    words += ["--option", "won_boards=closed", "--option", "random_opening_plies=2"]
    assert tournament.main(words) == 0
    out = capsys.readouterr().out
    assert "Ratings" in out
    assert "report.md" in out
    command = re.search(r"```\n(.*)\n```", (tmp_path / "t" / "report.md").read_text()).group(1)
    assert set(words) <= set(command.split())
    assert tournament.main([*words[:3], "random", "nobody"]) == 2
    assert "unknown agent 'nobody'" in capsys.readouterr().err
    monkeypatch.setattr("ttt_envs.agents.greedy.Greedy.act", Interrupts(1).act)
    assert tournament.main(words) == 130
    assert "nothing is written" in capsys.readouterr().err


def test_interrupted_command_line_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("ttt_envs.agents.greedy.Greedy.act", Interrupts(60).act)
    words = ["--game", SUPER, "--agents", "random", "greedy", "--games", "40", "--chunk", "5"]
    assert tournament.main([*words, "--out", str(tmp_path / "t")]) == 130
    assert "Partial" in capsys.readouterr().out
    assert "of 40" in (tmp_path / "t" / "report.md").read_text()


def test_repeated_games_are_told():
    lineup = {"a": Stubborn(), "b": Stubborn(last=True)}
    result = run(Config(SUPER, ("a", "b"), games=20, out=None), lineup, quiet=True)
    assert result.pairings[0].distinct == 2
    assert "| 2 |" in result.markdown()


# --- benchmark ---

QUICK = benchmark.Config(seconds=0.02, repeats=2)


@pytest.mark.parametrize("part", ["aec", "batch", "search"])
def test_benchmark_measures(part):
    found = list(benchmark.measure(replace(QUICK, only=(part,), games=(SUPER,))))
    assert found
    assert len({m.what for m in found}) == len(found)
    for m in found:
        assert m.value > 0 or m.note == "skipped: pyspiel is not installed"
        assert m.game == SUPER
    goals = [m.goal for m in found if m.goal is not None]
    assert goals == [v for name, v in benchmark.GOALS["games"][SUPER].items() if name.startswith(part)]


@pytest.mark.parametrize("part", ["aec", "batch", "search"])
def test_benchmark_measures_any_kind_of_game(toy, part):
    """Three players who choose at once; tree search refuses them."""
    found = list(benchmark.measure(replace(QUICK, only=(part,), games=("toy_coin",))))
    assert all(m.value > 0 for m in found) == (part != "search")
    if part == "search":
        assert "skipped: agent mcts plays only games" in found[0].note


def test_benchmark_of_training(monkeypatch):
    monkeypatch.setattr(benchmark, "_TRAINING_GAMES", 8)
    assert benchmark.train(SUPER, 1) > 0


def test_benchmark_of_a_fresh_process(tmp_path):
    assert 0 < benchmark.start_seconds("import ttt_envs", tmp_path) < 60
    with pytest.raises(RuntimeError, match="no such thing"):
        benchmark.start_seconds("raise SystemExit('no such thing')", tmp_path)


def test_goals_are_judged_honestly():
    fast, slow = (benchmark.Measurement("g", "w", v, "moves/s", goal=10.0) for v in (10.0, 9.9))
    quick, late = (benchmark.Measurement("g", "w", v, "s", goal=1.0) for v in (1.0, 1.1))
    none = benchmark.Measurement("g", "w", float("nan"), "s", goal=1.0, note="skipped: not there")
    assert [m.met for m in (fast, slow, quick, late, none)] == [True, False, True, False, None]
    (table,) = benchmark.tables([fast, slow, quick, late, none])
    assert [row[-1] for row in table.rows] == ["met", "NOT met", "met", "NOT met", ""]
    assert table.note == "w: skipped: not there\n2 of 4 goals met"


def test_benchmark_command_line(tmp_path, capsys):
    words = ["--only", "search", "--seconds", "0.02", "--repeats", "1", "--out", str(tmp_path)]
    assert benchmark.main([*words, "--games", SUPER]) == 0
    assert "mcts" in capsys.readouterr().out
    data = json.loads((tmp_path / "benchmark.json").read_text())
    assert data["complete"]
    assert data["measurements"][0]["value"] > 0
    assert benchmark.main([*words, "--games", "super_tic_tac"]) == 2
    assert "did you mean 'super_tic_tac_toe'" in capsys.readouterr().err
    assert benchmark.main([*words, "--seconds", "0"]) == 2


def test_interrupted_benchmark_keeps_what_is_measured(tmp_path, monkeypatch):
    def interrupted(game_id, config):
        raise KeyboardInterrupt

    monkeypatch.setitem(benchmark.PARTS, "training", interrupted)
    words = ["--only", "search", "training", "--seconds", "0.02", "--repeats", "1", "--out", str(tmp_path)]
    assert benchmark.main([*words, "--games", SUPER]) == 130
    data = json.loads((tmp_path / "benchmark.json").read_text())
    assert len(data["measurements"]) == 1
    assert not data["complete"]
