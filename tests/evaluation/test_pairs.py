"""Tournaments in which not every two agents meet: who meets whom, what is refused, and that they go on."""

import json

import numpy as np
import pytest
import toy_coin

from ttt_envs import agents, cli, evaluation
from ttt_envs.evaluation.reports import ratings
from ttt_envs.evaluation.reports.ratings import ELO, connected, rate, rate_pairs
from ttt_envs.evaluation.tournaments.jobs import Contest
from ttt_envs.evaluation.tournaments.pairs import Pairs, pairs_of

TOY = "toy_coin:make"
FIELD = {f"mixed {k}": f"mixed:greedy,random={k / 8}" for k in range(8)}


def play(out=None, **changes):
    given = {"games": 8, "resamples": 20, "quiet": True, "pairs": 3, "out": out}
    return evaluation.tournament(TOY, changes.pop("agents", FIELD), **{**given, **changes})


def met(report):
    return [(pairing.first, pairing.second) for pairing in report.pairings]


# --- who meets whom ---


def no_points(pairs):
    raise AssertionError("these pairs follow from the seed alone")


@pytest.mark.parametrize("number", [2, 3, 8])
@pytest.mark.parametrize("seed", [0, 1])
def test_sampled_pairs(number, seed):
    (found,) = Pairs("sampled", number).rounds(300, seed, no_points)
    assert found == sorted(set(found))
    assert all(a < b for a, b in found)
    assert len(connected(300, found)) == 1
    degrees = np.bincount(np.ravel(found))
    assert degrees.min() >= number // 2
    assert degrees.mean() == pytest.approx(number, rel=0.05)
    assert degrees.max() <= 3 * number
    assert next(Pairs("sampled", number).rounds(300, seed + 5, no_points)) != found
    (fewer,) = Pairs("sampled", number).rounds(200, seed, no_points)
    assert fewer == [pair for pair in found if max(pair) < 200], "further agents leave the pairs of the others alone"


def test_as_many_opponents_as_there_are_is_all():
    assert len(next(Pairs("sampled", 4).rounds(5, 0, no_points))) == 10
    assert met(play(pairs=7)) == met(play(pairs=())) == met(play(pairs=None))


@pytest.mark.parametrize("number", [6, 7, 30])
def test_a_swiss_tournament(number):
    """The better one of two always wins: equals meet, nobody meets twice, and the best one is found."""
    asked = []

    def points(pairs):
        asked.append(list(pairs))
        found = np.zeros(number)
        for pair in pairs:
            found[max(pair)] += 1
        return found

    rounds = list(Pairs("swiss").rounds(number, 3, points))
    assert len(rounds) == int(np.ceil(np.log2(number))) + 2
    every = [pair for each in rounds for pair in each]
    assert len(set(every)) == len(every)
    for each in rounds:
        assert len(set(np.ravel(each).tolist())) == 2 * len(each) == number - number % 2
    for k, pairs in enumerate(asked, 1):
        assert sorted(pairs) == sorted(pair for each in rounds[:k] for pair in each), "of the rounds before"
    assert points(every).argmax() == number - 1
    assert len(connected(number, every)) == 1


def test_a_swiss_tournament_that_falls_apart_gets_a_last_round():
    *_, last = Pairs("swiss", 1).rounds(6, 0, no_points)
    assert len(last) == 2
    assert len({a for a, _ in last}) == 1


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        *(((), ()), (None, ()), (8, ("8",)), ("8", ("8",)), (["8"], ("8",)), ("swiss", ("swiss",))),
        *((["swiss:4"], ("swiss:4",)), ([("c", "b"), (0, 1)], ("0-1", "1-2")), (["1-0", "1-2"], ("0-1", "1-2"))),
    ],
)
def test_forms(given, texts):
    found = pairs_of(given, ["a", "b", "c"])
    assert found.texts() == texts
    assert pairs_of(texts, ["a", "b", "c"]) == found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (1, "pairs must be a whole number from 2"),
        ("swiss:0", "the rounds of pairs must be a whole number from 1"),
        ("swizz", "pairs must be a number of opponents such as 8, 'swiss' or 'swiss:6', or pairs such as 0-1"),
        (3.5, "pairs must be a number of opponents"),
        ([("a", "x")], "pairs: unknown agent 'x'; known: a, b, c, d"),
        (["0-4"], "the number of an agent in pairs must be a whole number from 0 to 3, not 4"),
        (["0-0"], "pairs: a cannot play itself"),
        (["0-1", "2-3"], r"2 groups of agents that no chain of games connects.*\{a, b\} and \{c, d\}"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        pairs_of(given, ["a", "b", "c", "d"])


# --- tournaments ---


def rows(folder):
    return (folder / "games.safetensors").read_bytes()


def test_a_sampled_tournament(tmp_path):
    report = play(tmp_path / "x")
    assert report.complete
    assert met(report) == next(Pairs("sampled", 3).rounds(8, 0, no_points))
    assert np.isfinite(report.ratings.elo).all()
    assert np.isnan(report.ratings.score).sum() == 64 - 2 * len(report.pairings)
    assert f"{len(report.pairings)} pairings, drawn by the seed, about 3 opponents an agent" in report.markdown()
    assert rows(tmp_path / "x") == (play(tmp_path / "again"), rows(tmp_path / "again"))[1]
    data = json.loads((tmp_path / "x" / "results.json").read_text())
    assert data["agents"] == list(FIELD)
    assert data["pairings"][0]["score"] == report.ratings.score[met(report)[0]]
    # The games are those of the tournament of all.
    whole = {(p.first, p.second): p for p in play(pairs=()).pairings}
    for pairing in report.pairings:
        np.testing.assert_array_equal(pairing.games.moves, whole[pairing.first, pairing.second].games.moves)


@pytest.mark.parametrize("pairs", [3, "swiss"])
def test_it_goes_on(pairs, tmp_path, monkeypatch):
    play(tmp_path / "whole", pairs=pairs)
    usual, played = Contest.play, []

    def stops(contest, job, progress=None):
        if len(played) == 5:
            raise KeyboardInterrupt
        played.append(job)
        return usual(contest, job, progress)

    monkeypatch.setattr(Contest, "play", stops)
    report = play(tmp_path / "x", pairs=pairs)
    assert not report.complete
    assert np.isfinite(report.ratings.elo).sum() >= 2
    monkeypatch.setattr(Contest, "play", usual)
    assert cli.main(["tournament", TOY, "--resume", "--out", str(tmp_path / "x")]) == 0
    assert rows(tmp_path / "x") == rows(tmp_path / "whole")


def test_an_agent_that_is_added_meets_some(tmp_path):
    *first, last = FIELD.items()
    play(tmp_path / "x", agents=dict(first))
    report = play(tmp_path / "x", agents=dict(first), add=dict([last]))
    play(tmp_path / "whole")
    assert report.agents == tuple(FIELD)
    assert rows(tmp_path / "x") == rows(tmp_path / "whole")


def test_a_swiss_tournament_keeps_its_games(tmp_path):
    play(tmp_path / "x", pairs="swiss")
    for changes in ({"games": 16, "resume": True}, {"add": "random"}):
        with pytest.raises(ValueError, match="it goes on with the same ones"):
            play(tmp_path / "x", pairs="swiss", **changes)
    with pytest.raises(ValueError, match="pairs"):
        play(tmp_path / "x", pairs=3, resume=True)


# --- names ---


def test_agents_have_the_names_that_they_are_given(tmp_path):
    mine = agents.load("random")
    report = play(
        agents={"fast": "greedy", "mine": mine, "self": lambda observation, mask: int(mask.argmax())}, pairs=()
    )
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
        play(agents=["greedy", agents.load("greedy")], pairs=())
    games = evaluation.play_games(toy_coin.make(), {"a": "random", "b": "greedy"}, games=4)
    assert len(games) == 4
    assert (
        evaluation.regret("tic_tac_dice", {"x": "greedy"}, games=2, quiet=True, rounds="single").rows()[0]["agent"]
        == "x"
    )


# --- ratings ---


def simulated(theta, pairs, units, rng):
    """Wins of the first and of the second of each pair, two games a unit."""
    i, j = np.transpose(pairs)
    won = rng.binomial(2, np.broadcast_to(1 / (1 + np.exp(theta[j] - theta[i])), (units, len(pairs)))).astype(float)
    return won, 2 - won


def test_many_agents_are_rated_as_few(monkeypatch):
    rng = np.random.default_rng(5)
    theta = rng.normal(0, 1, 16)
    pairs = np.transpose(np.triu_indices(16, 1))
    won, lost = simulated(theta, pairs, 10, rng)
    few = rate_pairs(16, pairs, won, lost, resamples=5)
    monkeypatch.setattr(ratings, "_DENSE", 10)
    many = rate_pairs(16, pairs, won, lost, resamples=5)
    for name in ("elo", "elo_low", "elo_high", "weights"):
        np.testing.assert_allclose(getattr(many, name), getattr(few, name), atol=1e-5)
    wins = np.zeros((10, 16, 16))
    wins[:, pairs[:, 0], pairs[:, 1]], wins[:, pairs[:, 1], pairs[:, 0]] = won, lost
    np.testing.assert_array_equal(rate(wins, resamples=5).elo, many.elo)


@pytest.mark.parametrize("lopsided", [1.0, 3.0])
def test_intervals_of_sampled_pairs_cover_the_truth(lopsided):
    rng, inside = np.random.default_rng(3), []
    for trial in range(60):
        theta = rng.normal(0, lopsided, 24)
        (pairs,) = Pairs("sampled", 4).rounds(24, trial, no_points)
        found = rate_pairs(24, pairs, *simulated(theta, pairs, 20, rng), resamples=200, seed=trial)
        truth = ELO * (theta - theta @ found.weights)
        inside.append((found.elo_low <= truth) & (truth <= found.elo_high))
    assert 0.93 <= np.mean(inside) <= 0.99


def test_a_prior_that_weighs_little_leaves_clean_records_finite():
    """Most of its draws are so small that a matrix of curvatures with them would be singular."""
    won, lost = np.array([[1.0, 1.0]] * 10), np.array([[0.0, 1.0]] * 10)
    found = rate_pairs(3, [(0, 1), (1, 2)], won, lost, resamples=100, prior=0.02)
    assert np.isfinite([found.elo_low, found.elo_high]).all()
    assert found.elo_low[0] > found.elo_high[2]


def test_groups_that_never_meet_cannot_be_rated():
    with pytest.raises(ValueError, match="fall apart into 2 groups"):
        rate_pairs(4, [(0, 1), (2, 3)], np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="won and lost must have shape"):
        rate_pairs(2, [(0, 1)], np.ones((3, 2)), np.ones((3, 2)))
    assert connected(4, [(3, 1)]) == [[0], [1, 3], [2]]
