"""Tournaments: their figures add up, their files hold what they should, failures and interrupts are reported."""

import asyncio
import json

import numpy as np
import pytest
import toy_coin
from stubborn import Interrupts, Stubborn, Wrong

from ttt_envs import agents, evaluation, registry
from ttt_envs.agents import Agent
from ttt_envs.evaluation import records
from ttt_envs.evaluation.arena.play import game_seeds, play_games

SUPER = "super_tic_tac_toe"


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")


def small(**changes):
    given = {"game": SUPER, "agents": ["random", "greedy", "mcts:simulations=8"], "games": 40, "quiet": True}
    return evaluation.tournament(**{**given, **changes})


def test_report_and_files(tmp_path):
    report = small(random_opening_plies=2, seed=3, out=tmp_path / "t")
    assert report.complete
    assert report.folder == tmp_path / "t"
    text = (tmp_path / "t" / "report.md").read_text()
    assert text == report.markdown()
    command = "ttt tournament super_tic_tac_toe --agents random greedy mcts:simulations=8 --games 40 --seed 3 --option"
    assert f"\n{command} random_opening_plies=2\n" in text
    for part in ("## Ratings", "## Crosstable", "## As player_0", "## As player_1", "## Pairings", "## Time"):
        assert part in text
    assert "95 % interval" in text
    assert "Partial" not in text
    assert "Failures" not in text
    data = json.loads((tmp_path / "t" / "results.json").read_text())
    assert data["agents"] == list(report.agents)
    assert data["elo"][0] < data["elo"][1]
    assert data["score"][0][0] is None
    assert data["failures"] == []
    assert (data["games"], data["seed"], data["resamples"]) == (40, 3, 1000)
    played = list(records.read(tmp_path / "t"))
    assert [each.number for each in played] == list(range(120))
    np.testing.assert_array_equal([each.seed for each in played[:40:2]], game_seeds(3, 20))


def test_crosstable_adds_up():
    report = small()
    score = report.ratings.score
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose((score + score.T)[off], 1)
    np.testing.assert_allclose((report.mean_reward + report.mean_reward.T)[off], 0, atol=1e-7)
    np.testing.assert_allclose(score[off], ((1 + report.mean_reward) / 2)[off], atol=1e-7)
    np.testing.assert_allclose(report.side_scores.mean(axis=0)[off], score[off])
    for pairing in report.results:
        assert pairing.decisions.sum() == pairing.lengths.sum()
    assert report.folder is None


def test_seats_and_seeds_are_paired(tmp_path):
    lineup = [Stubborn(name="a"), Random("b")]
    report = small(agents=lineup, games=9, random_opening_plies=4, seed=2, out=tmp_path)
    (pairing,) = report.results
    assert pairing.seats.tolist() == [[0, 1], [1, 0]] * 5
    seeds = np.array([each.seed for each in records.read(tmp_path)], np.uint64)
    np.testing.assert_array_equal(seeds[::2], game_seeds(2, 5))
    np.testing.assert_array_equal(seeds[::2], seeds[1::2])
    again = play_games(report.game, lineup, seats=pairing.seats, seeds=seeds)
    np.testing.assert_array_equal(pairing.moves, again.moves)
    assert "with objects, which the command cannot name: a, b." in report.markdown()


class Random(agents.load("random").__class__):
    """The random agent by another name."""

    def __init__(self, name):
        self.name = name


def test_adding_an_agent_leaves_other_games_alone():
    two = small(agents=["random", "mcts:simulations=8"])
    three = small()
    np.testing.assert_array_equal(two.results[0].moves, three.results[1].moves)


def test_wins_are_counted_for_both_sides(toy):
    report = small(game="toy_coin", agents=[Stubborn(name="a"), Stubborn(last=True, name="b")], games=40)
    (pairing,) = report.results
    first = pairing.rewards[np.arange(40), pairing.seats.argmin(axis=1)]
    assert 0 < (first > 0).mean() != 0.5
    assert report.ratings.score[0, 1] == (first > 0).mean()
    assert report.ratings.score[1, 0] == (first < 0).mean()


def test_three_players(toy):
    report = small(game="toy_coin", agents=["random", "greedy"], games=600, players=3)
    assert len(report.results[0]) == 600
    score = report.ratings.score
    assert score[0, 1] + score[1, 0] == pytest.approx(1)
    assert report.side_scores.shape == (3, 2, 2)
    text = report.markdown()
    assert "100 seeds, each played in all 6 seatings" in text
    assert "## As player_2" in text


def test_interrupt_keeps_what_is_finished(tmp_path):
    whole = small(agents=["random", "greedy"], games=20)
    # Enough for a job of sixteen games against `random`, and not for the next one.
    report = small(agents=["random", "greedy", Interrupts(70)], games=20, out=tmp_path / "t")
    assert not report.complete
    assert [len(p) for p in report.results] == [20, 16]
    np.testing.assert_array_equal(report.results[0].moves, whole.results[0].moves)
    text = (tmp_path / "t" / "report.md").read_text()
    assert "Partial: it was interrupted." in text
    assert "| 16 of 20 |" in text
    assert json.loads((tmp_path / "t" / "results.json").read_text())["complete"] is False
    assert len(list(records.read(tmp_path / "t"))) == 36


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
    report = small(agents=["random", Person(120)], games=10)
    assert not report.complete
    assert 0 < len(report.results[0]) < 10
    with pytest.raises(SystemExit):
        small(agents=["random", Person(0)], games=10)


def test_repeated_games_are_told():
    report = small(agents=[Stubborn(), Stubborn(last=True)], games=20)
    assert report.results[0].distinct == 2
    assert "| 2 |" in report.markdown()


class LosesItsMind(Random):
    """Fails in games that begin with an even seed."""

    def act(self, view):
        if (view.seeds % np.uint64(7) == 0).any():
            raise RuntimeError("lost | its\nmind")
        return super().act(view)


def test_failures_lose_and_are_reported(tmp_path):
    lineup = ["random", LosesItsMind("ill"), Wrong(np.array([0]))]
    report = small(agents=lineup, games=20, out=tmp_path)
    assert report.complete
    ill, wrong = ([each for each in report.failures if each.agent == name] for name in ("ill", "wrong"))
    assert 0 < len(ill) <= 40
    # It may not begin with 0/0; as O it may not answer in another board, or has lost before.
    assert len(wrong) >= 20
    assert len(ill) + len(wrong) == len(report.failures)
    assert report.ratings.score[0, 2] == 1
    text = report.markdown()
    assert f"| ill | {len(ill)} of 40 | RuntimeError: lost \\| its mind | {len(ill)} |" in text
    assert f"| wrong | {len(wrong)} of 40 |" in text
    assert "ill: it lost games by errors or illegal actions; see Failures." in text
    first = report.failures[0]
    assert f"### {first.agent} as player_{first.player} failed at ply {first.ply} of game {first.game}" in text
    assert first.position in text
    data = json.loads((tmp_path / "results.json").read_text())
    assert len(data["failures"]) == len(report.failures)
    assert data["failures"][0]["reason"] == first.reason
    with pytest.raises(RuntimeError, match="lost"):
        small(agents=lineup[:2], games=20, strict=True)
    with pytest.raises(ValueError, match="agent 'wrong'"):
        small(agents=[lineup[0], lineup[2]], games=20, strict=True)


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, asyncio.CancelledError])
def test_what_would_end_the_process_loses_the_game(error):
    def ends(observation, mask):
        raise error("now")

    report = small(agents=["random", ends], games=4)
    assert report.complete
    assert {each.reason for each in report.failures} == {f"{error.__name__}: now"}
    assert report.ratings.score[0, 1] == 1


class Refuses(Agent):
    name = "refuses"

    def check(self, game):
        raise ValueError(f"agent refuses cannot play {game!r}: needs dice")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"agents": ["random"]}, "at least 2 agents must be given, not 1"),
        ({"agents": ["random", Refuses()]}, "agent refuses cannot play Game.*needs dice"),
        ({"agents": ["random", "oracle"], "won_boards": "closed"}, "no oracle for won_boards='closed'"),
        ({"games": 0}, "games must be a whole number from 1 to 1,000,000,000, not 0"),
    ],
)
def test_wrong_settings_are_refused(changes, words, tmp_path):
    with pytest.raises((TypeError, ValueError), match=words):
        small(**changes, out=tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_a_comparison_is_a_sentence():
    report = evaluation.tournament("super_tic_tac_toe", ["greedy", "random"], games=40, quiet=True)
    score, low, high = (x[0, 1] for x in (report.ratings.score, report.ratings.score_low, report.ratings.score_high))
    told = f"greedy scores {score:.3f} ({low:.3f} to {high:.3f}) against random in 40 games: it is better."
    assert report.comparison("greedy", "random") == told
    assert report.comparison("random", "greedy").endswith("against greedy in 40 games: it is worse.")
    report.ratings.score_low[0, 1] = 0.4
    assert report.comparison("greedy", "random").endswith("it cannot be told from it.")
    with pytest.raises(ValueError, match="agent='gredy' must be one of 'greedy', 'random'"):
        report.comparison("gredy", "random")


def test_agents_have_the_names_that_they_are_given():
    mine = agents.load("random")
    lineup = {"fast": "greedy", "mine": mine, "self": lambda observation, mask: int(mask.argmax())}
    report = evaluation.tournament("toy_coin:make", lineup, games=8, quiet=True)
    assert report.agents == ("fast", "mine", "self")
    assert report.made == ("mine", "self")
    assert mine.name == "random", "an object keeps its own name"
    assert "--agents fast=greedy mine self" in report.command
    assert agents.load("fast=mixed:greedy,random=0.5").name == "fast"
    assert agents.load({"fast": "greedy"}).name == "fast"
    assert agents.stranger("fast=greedy") is None
    assert agents.stranger("fast=x.py:Name") == "x.py:Name"
    with pytest.raises(ValueError, match=r"an agent with a name is given as \{name: agent\}"):
        agents.load({"a": "random", "b": "greedy"})
    with pytest.raises(ValueError, match=r"two agents are called 'greedy'.*\{name: agent\} names one"):
        evaluation.tournament("toy_coin:make", ["greedy", agents.load("greedy")], games=8, quiet=True)
    games = evaluation.play_games(toy_coin.make(), {"a": "random", "b": "greedy"}, games=4)
    assert len(games) == 4
    assert (
        evaluation.regret("tic_tac_dice", {"x": "greedy"}, games=2, quiet=True, rounds="single").rows()[0]["agent"]
        == "x"
    )
