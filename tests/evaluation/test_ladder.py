"""Ladders: they are measured, read and shown; an agent's rating is the most likely one, with an interval."""

import json
from pathlib import Path

import numpy as np
import pytest
import toy_coin
from stubborn import Interrupts, Wrong

import ttt_envs
from ttt_envs import evaluation, registry
from ttt_envs.agents.pretrained import digests
from ttt_envs.evaluation.ladder import find, rating, read
from ttt_envs.evaluation.reports.ratings import ELO

RUNG = {"agent": "random", "elo": 0, "half_width": 0, "seconds": 0}
RUNGS = ["greedy", "random", "mixed:greedy,random=0.5"]


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")


@pytest.fixture
def table(toy, tmp_path):
    evaluation.make_ladder("toy_coin", RUNGS, games=60, out=tmp_path / "ladder.json", quiet=True)
    return tmp_path / "ladder.json"


def test_a_ladder_is_read_as_it_was_written(table):
    ladder = read(table)
    assert ladder.text() == table.read_text()
    assert ladder.rungs == ("random", "mixed:greedy,random=0.5", "greedy")
    report = evaluation.tournament("toy_coin", RUNGS, games=60, quiet=True)
    np.testing.assert_allclose(np.diff(ladder.elo), np.diff(report.ratings.elo[[1, 2, 0]]), atol=0.011)
    assert (ladder.elo[0], ladder.zero, ladder.version) == (0, "random", 1)
    assert ladder.half_width[0] == 0
    assert (ladder.half_width[1:] > 20).all()
    assert [row[1] for row in ladder.table().rows][-1] == "0", "by definition, without an interval"
    assert f" ± {ladder.half_width[-1]:.0f}" in ladder.table().rows[0][1]
    assert (
        ladder.made["command"]
        == f"ttt ladder toy_coin --make --rungs {' '.join(RUNGS)} --games 60 --version 1 --seed 0"
    )
    assert [row["agent"] for row in ladder.rows()] == list(ladder.rungs)
    assert "1  greedy" in ladder.table().rows[0][0]


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"rungs": []},
        {"rungs": [RUNG, {"agent": "greedy", "seconds": 0, "half_width": 0}]},
        {"rungs": [RUNG, {**RUNG, "elo": 1e999}]},
        {"version": "first"},
    ],
)
def test_damaged_ladders_are_refused(table, change):
    table.write_text(json.dumps({**json.loads(table.read_text()), **change}))
    with pytest.raises(ValueError, match=r"ladder\.json is no ladder, or damaged"):
        read(table)


def test_a_ladder_of_another_game_is_refused(table):
    with pytest.raises(ValueError, match="is one of toy_coin"):
        evaluation.ladder("toy_coin", "random", tosses=2, table=table)
    with pytest.raises(ValueError, match="comes with no ladder"):
        evaluation.ladder("toy_coin", "random")


SHIPPED = sorted((Path(ttt_envs.__file__).parent / "games").glob("*/ladders/*.json"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_ladders(path):
    ladder = read(path)
    game = registry.game_of_file(ladder.game, ladder.options)
    assert find(game).text() == ladder.text() == path.read_text()
    assert ladder.rungs[0] == "random"
    assert ladder.elo[0] == 0
    assert (np.diff(ladder.elo) >= 0).all()
    assert digests(ladder.rungs) == ladder.made.get("trained", {}), "measure the ladder again"


@pytest.mark.parametrize("true", [-80.0, 150.0, 700.0])
def test_a_rating_is_the_most_likely_one(true):
    elo = np.array([0.0, 100.0, 250.0, 400.0])
    rng = np.random.default_rng(3)
    won = rng.binomial(2, 1 / (1 + np.exp((elo - true) / ELO)), (400, 4)).astype(float)
    found, low, high = rating(elo, won, 2 - won, 400, 0)
    assert low < true < high
    assert high - low < 120
    score, chance = won.sum(), (2 * len(won) / (1 + np.exp((elo - found) / ELO))).sum()
    assert score == pytest.approx(chance, abs=2), "but for the prior"


def test_clean_records_have_finite_ratings():
    elo = np.array([0.0, 100.0])
    won = np.full((5, 2), 2.0)
    best, low, high = rating(elo, won, 0 * won, 200, 0)
    worst, _, _ = rating(elo, 0 * won, won, 200, 0)
    assert worst < 0 < 100 < best
    assert low < best < high < 10_000
    assert np.isnan(rating(elo, won[:1], 0 * won[:1], 200, 0)[1:]).all()


def test_a_place(table, tmp_path):
    report = evaluation.ladder(
        "toy_coin", "greedy:samples=2", table=table, games=40, out=tmp_path / "p", quiet=True, resamples=50
    )
    assert report.complete
    assert report.games == 120
    assert report.interval[0] < report.rating < report.interval[1]
    assert report.command == f"ttt ladder toy_coin --agent greedy:samples=2 --games 40 --resamples 50 --table {table}"
    whole = evaluation.tournament("toy_coin", ["greedy:samples=2", "random"], games=40, quiet=True)
    np.testing.assert_array_equal(report.results[0].moves, whole.results[0].moves)
    data = json.loads((tmp_path / "p" / "results.json").read_text())
    assert data["rating"] == report.rating
    assert [each["agent"] for each in data["rungs"]] == list(read(table).rungs)
    text = (tmp_path / "p" / "report.md").read_text()
    assert "## Games against the rungs" in text
    assert "greedy:samples=2 (rated here)" in report.html()
    again = evaluation.ladder("toy_coin", "greedy:samples=2", table=table, games=40, quiet=True, resamples=50)
    assert (again.rating, again.interval) == (report.rating, report.interval)


def test_a_rung_is_not_its_own_opponent(table):
    report = evaluation.ladder("toy_coin", "random", table=table, games=10, quiet=True)
    assert [report.ladder.rungs[each.second - 1] for each in report.results] == list(report.ladder.rungs[1:])
    assert any("is a rung itself" in each for each in report.remarks())


def test_failures_lose_and_are_named(table):
    report = evaluation.ladder("toy_coin", Wrong([99]), table=table, games=16, quiet=True)
    assert report.rating < 0
    assert any("wrong: it lost" in each for each in report.remarks())
    with pytest.raises(ValueError, match="wrong"):
        evaluation.ladder("toy_coin", Wrong([99]), table=table, games=16, strict=True, quiet=True)


def test_an_interrupt_keeps_what_is_done(table):
    report = evaluation.ladder("toy_coin", Interrupts(12), table=table, games=40, quiet=True)
    assert not report.complete
    assert 0 < report.games < 120
    with pytest.raises(KeyboardInterrupt):
        evaluation.ladder("toy_coin", Interrupts(1), table=table, quiet=True)


@pytest.mark.parametrize("changes", [{"games": 0}, {"workers": "two"}, {"seed": -1}])
def test_wrong_settings_are_refused(changes, table):
    with pytest.raises(ValueError, match=next(iter(changes))):
        evaluation.ladder("toy_coin", "greedy", **{"table": table, "quiet": True, **changes})
    with pytest.raises(ValueError, match="comes with no ladder"):
        evaluation.ladder(toy_coin.make(players=3), "greedy")
