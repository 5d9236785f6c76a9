"""Ladders: their files, the posterior of a rating, placements of agents of known strength and of real ones."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toy_coin
from stubborn import Interrupts, Wrong

import ttt_envs
from tools.planted import bout, chance, placed, planted_ladder, truth
from ttt_envs import evaluation, registry
from ttt_envs.agents import shipped
from ttt_envs.evaluation.arena import bout as bout_module
from ttt_envs.evaluation.arena.bout import Bout, Results
from ttt_envs.evaluation.arena.seating import arrangements, held_seats
from ttt_envs.evaluation.placements import ladder as rungs
from ttt_envs.evaluation.placements.calibration import chain
from ttt_envs.evaluation.placements.estimate import PRIOR, Placement, RungResults, gains, posterior
from ttt_envs.evaluation.placements.ladder import dispersion, unit_counts
from ttt_envs.evaluation.placements.pairs import Pairs

RUNGS = ["random", "mixed:greedy,random=0.5", "greedy"]
ELOS = [0, 100, 210, 300, 390, 500, 620]


@pytest.fixture
def toy(monkeypatch):
    """The toy game as a registered one."""
    monkeypatch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """The text of a small ladder of the toy game."""
    folder = tmp_path_factory.mktemp("calibrated") / "calibration"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.GAMES, "toy_coin", "toy_coin:make")
        assert evaluation.calibrate("toy_coin", RUNGS, games=120, out=folder, quiet=True).complete
    data = json.loads((folder / "ladder.json").read_text())
    for rung in data["rungs"]:
        rung["seconds"] = 1e-4  # measured times would choose other opponents in each run
    return json.dumps(data)


@pytest.fixture
def table(toy, calibrated, tmp_path):
    """The file of that ladder."""
    path = tmp_path / "ladder.json"
    path.write_text(calibrated)
    return path


def test_several_agents_are_placed(table, tmp_path):
    field = {"fast": "greedy:samples=1", "other": "mixed:greedy,random=0.2"}
    found = evaluation.ladder("toy_coin", field, table=table, games=40, quiet=True, out=tmp_path / "all", tosses=1)
    assert [report.agent for report in found.reports] == ["fast", "other"]
    assert found.complete
    alone = evaluation.ladder("toy_coin", "greedy:samples=1", table=table, games=40, quiet=True, pace=1e-4)
    again = evaluation.ladder("toy_coin", [field["fast"]], table=table, games=40, quiet=True, pace=1e-4)
    assert again.reports[0].rating == alone.rating
    rows = found.rows()
    assert rows[0]["elo"] >= rows[1]["elo"]
    assert {row["agent"] for row in rows} == set(field)
    assert found.to_csv().startswith("agent,elo,elo_low,elo_high,games,")
    assert found.to_pandas().shape == (2, len(rows[0]))
    assert {path.name for path in (tmp_path / "all").glob("*/results.json")} == {"results.json"}
    assert len(list((tmp_path / "all").glob("*/results.json"))) == 2
    with pytest.raises(ValueError, match="unknown agent 'gredy'"):
        evaluation.ladder("toy_coin", ["greedy", "gredy"], table=table, games=40, quiet=True)


# --- the numbers ---


@pytest.mark.parametrize("more", [0.0, 100.0])
def test_the_posterior_is_that_of_brute_force(more):
    """Two rungs, whose ratings are integrated out on a grid of their own; `more`: what is not known of them besides."""
    ladder = planted_ladder([0, 150], 40, np.random.default_rng(1))
    ladder = replace(ladder, covariance=ladder.covariance + more**2 * np.diag([1, 2]))
    records = [
        RungResults(np.array([2.0, 1, 2, 0, 1]), np.array([0.0, 1, 0, 2, 1])),
        RungResults(np.zeros(3), np.full(3, 2.0)),
    ]
    found = posterior(ladder, records, 1.0)
    values, vectors = np.linalg.eigh(ladder.covariance)
    z = np.linspace(-6, 6, 121)
    first, second = np.meshgrid(z, z, indexing="ij")
    roots = np.sqrt(np.maximum(values, 0))
    b = ladder.elo + np.stack([first * roots[0], second * roots[1]], axis=-1) @ vectors.T
    prior = np.exp(-(first**2 + second**2) / 2)
    density = []
    for rating in found.grid:
        p = chance(rating, b)
        likelihood = p[..., 0] ** 6 * (1 - p[..., 0]) ** 4 * (1 - p[..., 1]) ** 6
        density.append((prior * likelihood).sum() * np.exp(-(((rating - ladder.elo.mean()) / PRIOR) ** 2) / 2))
    density = np.array(density) / np.sum(density)
    mean = density @ found.grid
    deviation = np.sqrt(density @ (found.grid - mean) ** 2)
    assert found.mean == pytest.approx(mean, abs=0.02 * deviation)
    assert found.deviation == pytest.approx(deviation, rel=0.02)
    edges = np.cumsum(density)
    # Eight units: Student's t with seven degrees of freedom in the place of the normal distribution.
    ends = mean + 2.365 / 1.96 * (np.interp([0.025, 0.975], edges, found.grid) - mean)
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=5)


def test_clean_records_have_finite_ratings():
    ladder = planted_ladder(ELOS, 50, np.random.default_rng(4))
    clean = [RungResults(np.full(20, 2.0), np.zeros(20)) for _ in ELOS]
    best, worst = posterior(ladder, clean), posterior(ladder, [RungResults(each.lost, each.won) for each in clean])
    assert ladder.elo[-1] + 100 < best.low < best.high < 5000
    assert worst.high < ladder.elo[0] - 100


def test_dispersion():
    rng = np.random.default_rng(6)
    coins = unit_counts(*bout(0.7, 20_000, rng))
    drawn = unit_counts(*bout(0.5, 20_000, rng, draws=0.5))
    doubled = tuple((2 * won, 2 * lost, count) for won, lost, count in coins)
    assert dispersion([coins]) == pytest.approx(1, rel=0.05)
    assert dispersion([drawn]) == pytest.approx(0.5, rel=0.05)  # half of the games say nothing but 1/2
    assert dispersion([doubled]) == pytest.approx(2, rel=0.05)
    assert dispersion([()], 0.7) == 0.7


def test_games_are_played_where_most_is_learned():
    ladder = planted_ladder(ELOS, 500, np.random.default_rng(7))
    records = [RungResults() for _ in ELOS]
    records[4] = RungResults(*bout(0.5, 30, np.random.default_rng(8)))
    found = posterior(ladder, records)
    best = gains(ladder, records, found, 2.0)
    assert {3, 5} >= {int(np.argmax(best))}, "the neighbours of an even opponent that was played much"
    assert best[0] < best.max() / 2
    placement = Placement(ladder, 2.0)
    costs, everyone = np.ones(7), np.ones(7, bool)
    costs[int(np.argmax(gains(ladder, placement.records, placement.posterior, 2.0)))] = 100
    assert costs[placement.choice(costs, everyone)] == 1, "what takes a hundred times as long is left out"
    assert placement.choice(np.ones(7), np.arange(7) == 6) == 6


@pytest.mark.parametrize(
    ("trials", "draws", "lowest", "highest"),
    [
        pytest.param(10, 0.0, 0.7, 1.0),
        pytest.param(500, 0.0, 0.93, 0.98, marks=pytest.mark.slow),
        pytest.param(500, 0.4, 0.93, 0.98, marks=pytest.mark.slow),
    ],
)
def test_placements_find_agents_of_known_strength(trials, draws, lowest, highest):
    """Calibration and placement are both drawn anew; intervals of 95 % hold the truth 95 times in a hundred."""
    inside, rungs_inside = [], []
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        ladder = planted_ladder(ELOS, 200, rng, draws)
        of = rng.uniform(-50, 700)
        found = placed(ladder, chance(of, ELOS), rng, target=35, draws=draws).posterior
        assert found.half_width <= 35
        inside.append(found.low <= truth(ladder, ELOS, of) <= found.high)
        true = np.array([truth(ladder, ELOS, ELOS[int(name)]) for name in ladder.rungs])
        rungs_inside.append(np.abs(ladder.elo - true) <= ladder.half_widths)
    assert lowest <= np.mean(inside) <= highest
    assert lowest <= np.mean(rungs_inside) <= highest


def test_misfit_is_noticed():
    """An agent that beats one rung and loses to its equal has no rating that fits."""
    rng = np.random.default_rng(9)
    ladder = planted_ladder(ELOS, 500, rng)
    assert ladder.misfit < 15
    fitting, odd = Placement(ladder, 2.0), Placement(ladder, 2.0)
    for k, p in ((3, 0.5), (4, float(chance(300, 390)))):
        fitting.add(k, *bout(p, 300, rng))
        odd.add(k, *bout(0.3 if k == 3 else 0.7, 300, rng))
    assert fitting.misfit()[0] < 6
    assert odd.misfit()[0] > 50
    assert odd.misfit()[1] == 1


def test_a_rung_that_does_not_fit_is_seen():
    """One rung beats the strong and loses to the weak."""
    rng = np.random.default_rng(10)
    pairs = []
    for i in range(6):
        for j in range(i):
            p = float(chance(ELOS[i], ELOS[j])) if 2 not in (i, j) else 0.5 + (0.15 if i == 2 else -0.15)
            pairs.append(rungs.Pair(i, j, unit_counts(*bout(p, 400, rng)), ((0, 0, 0),) * 2, 1))
    names = [str(k) for k in range(6)]
    ladder = rungs.fit(toy_coin.make(), names, pairs, np.ones(6), version=1, made={})
    assert ladder.rungs[int(np.argmax(ladder.fits))] == "2"
    assert ladder.misfit > 30
    good = planted_ladder(ELOS, 400, rng)
    assert (good.fits < 2).all()
    assert good.wins.sum() == 400 * 2 * 21


def test_rungs_are_chosen_by_their_distance():
    elo = np.array([0, 10, 40, 90, 110, 190, 205, 230, 300])
    ladder = planted_ladder([0] * 9, 2, np.random.default_rng(0))
    names = ("weak", "random", "a", "b", "mixed:b", "c", "mixed:c", "d", "e")
    rough = rungs.Ladder(**{**vars(ladder), "rungs": names, "elo": elo - 10.0})
    assert chain(rough, 100) == ["random", "b", "c", "e"]
    assert chain(rough, 1000) == ["random", "e"]


# --- files ---


def test_a_ladder_is_read_as_it_was_written(table, toy):
    ladder = rungs.read(table)
    assert json.loads(table.read_text()) == ladder.json()
    assert rungs.read(table).digest == ladder.digest
    assert ladder.made["command"].startswith("ttt calibrate toy_coin --rungs random")
    assert set(ladder.rungs) == set(RUNGS)
    assert ladder.elo[ladder.rungs.index("random")] == 0
    assert (np.diff(ladder.elo) >= 0).all()
    again = rungs.fit(toy_coin.make(), ladder.rungs, ladder.pairs, ladder.seconds, version=1, made=ladder.made)
    assert again.digest == ladder.digest
    path = table.with_name("again.json")
    path.write_text(again.text())
    assert rungs.read(path).digest == ladder.digest


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"covariance": [[1.0]]},
        {"pairs": [{"rungs": [0, 7], "units": [], "seatings": [], "plies": 1}]},
        {"options": 3},
        {"elo": float("nan")},
        {"elo": 10**400},
        {"version": float("inf")},
        {"pairs": [{"rungs": [0, 1], "units": [[1, 1, float("inf")]], "seatings": [], "plies": 1}]},
        {"pairs": [{"rungs": [0, 1], "units": [[1, 1, 3]], "seatings": [], "plies": 10**400}]},
        {"made": {"trained": 3}},
        {"made": json.loads("[" * 900 + "]" * 900)},
    ],
)
def test_damaged_ladders_are_refused(table, change):
    data = {**json.loads(table.read_text()), **change}
    if "elo" in change:
        data["rungs"][0]["elo"] = change["elo"]
    table.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=r"ladder\.json is no ladder, or damaged"):
        rungs.read(table)


def test_a_ladder_of_another_game_is_refused(table):
    with pytest.raises(ValueError, match=r"is one of toy_coin with options.*not of"):
        evaluation.ladder("toy_coin", "random", tosses=2, table=table)


def test_a_ladder_with_options_that_the_game_does_not_have_is_named(table):
    data = json.loads(table.read_text())
    table.write_text(json.dumps({**data, "options": {"tosses": []}}))
    with pytest.raises(ValueError, match=r"ladder\.json is damaged: toy_coin: option tosses"):
        evaluation.ladder("toy_coin", "random", table=table)


def test_a_game_without_a_ladder(toy):
    with pytest.raises(ValueError, match="comes with no ladder; `ttt calibrate toy_coin` makes one"):
        evaluation.ladder("toy_coin", "random")


def test_ladders_lie_beside_the_game(table, monkeypatch, tmp_path):
    folder = tmp_path / "ladders"
    folder.mkdir()
    monkeypatch.setattr(rungs, "folder_of", lambda game: folder)
    data = json.loads(table.read_text())
    for version in (1, 3, 2):
        (folder / f"coin-{version}.json").write_text(json.dumps({**data, "version": version}))
    assert rungs.find(toy_coin.make()).version == 3
    with pytest.raises(ValueError, match=r"no ladder; it has one with players=2, tosses=1; .*players=2, tosses=1"):
        rungs.find(toy_coin.make(players=3))


SHIPPED = sorted((Path(ttt_envs.__file__).parent / "games").glob("*/ladders/*.json"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_ladders(path):
    """Their ratings are those of their games, they begin with random, and their agents are as they were measured."""
    ladder = rungs.read(path)
    game = registry.game_of_file(ladder.game, ladder.options)
    assert rungs.folder_of(game) == path.parent
    assert rungs.find(game).digest == ladder.digest
    again = rungs.fit(game, ladder.rungs, ladder.pairs, ladder.seconds, version=ladder.version, made=ladder.made)
    np.testing.assert_allclose(again.elo, ladder.elo, atol=0.1)
    np.testing.assert_allclose(again.covariance, ladder.covariance, atol=0.1)
    assert ladder.rungs[0] == "random"
    assert ladder.elo[0] == 0
    assert len(ladder.pairs) == len(ladder) * (len(ladder) - 1) // 2, "all rungs have played each other"
    for name in ladder.rungs:
        ttt_envs.agents.load(name)
    assert ladder.made["command"].startswith(f"ttt calibrate {game.id} --rungs")
    assert not ladder.changed, "measure the ladder anew: `ttt calibrate`"


def test_a_trained_agent_that_has_changed_is_named(tmp_path, monkeypatch):
    name = "trained:tic_tac_dice/ppo"
    given = {"games": 4, "quiet": True, "rounds": "single", "out": tmp_path / "c"}
    ladder = evaluation.calibrate("tic_tac_dice", ["random", f"mixed:{name},random=0.2"], **given).ladder
    assert ladder.made["trained"] == shipped.digests([name])
    place = {"rounds": "single", "table": tmp_path / "c" / "ladder.json", "games": 4, "quiet": True}
    assert not any("has changed" in each for each in evaluation.ladder("tic_tac_dice", "greedy", **place).remarks())
    shutil.copytree(shipped.folder() / "tic_tac_dice" / "ppo", tmp_path / "tic_tac_dice" / "ppo")
    card = tmp_path / "tic_tac_dice" / "ppo" / shipped.CARD
    card.write_text(card.read_text().replace("symmetric=true", "symmetric=false"))
    monkeypatch.setattr(shipped, "folder", lambda: tmp_path)
    said = evaluation.ladder("tic_tac_dice", "greedy", **place).remarks()
    assert f"{name} has changed since the ladder was measured: its rungs may be of another strength." in said
    assert f"{name} has changed since the ladder was measured." in rungs.read(place["table"]).tables()[0].note
    with pytest.raises(ValueError, match=f"pairs.json has games of {name}, which has changed since"):
        evaluation.calibrate("tic_tac_dice", ["random", f"mixed:{name},random=0.2"], resume=True, **given)


# --- real games ---


HELD = held_seats(arrangements(toy_coin.make(players=3)))


def test_a_bout_goes_on_where_it_was():
    """In parts, or with the first units played elsewhere: the same games."""
    game = toy_coin.make(players=3)
    pair = tuple(ttt_envs.agents.load(name) for name in ("random", "greedy"))

    def played(*parts, name="a – b"):
        found = Results.none(game, HELD)
        for units in parts:
            found.extend(game, Bout(game, pair, HELD, 3, name).play(units))
        return found

    whole = played(range(8))
    assert len(whole.games) == 8 * 6
    np.testing.assert_array_equal(played(range(3), range(3, 8)).games.moves, whole.games.moves)
    np.testing.assert_array_equal(played(range(3, 8)).games.moves, whole.games.moves[18:])
    assert np.sum(whole.by_seating()) == 48
    won, lost = whole.by_unit()
    assert (won.sum(), lost.sum()) == (whole.won.sum(), whole.lost.sum())
    other = played(range(8), name="a – c")
    assert (other.games.moves != whole.games.moves).any(), "pairs have seeds of their own"


@pytest.mark.parametrize(("chunk", "answers"), [*((4, answers) for answers in range(20, 30, 2)), (7, 20), (None, 8)])
def test_an_interrupted_bout_holds_whole_units_only(chunk, answers):
    """Six games a unit: what an interrupt leaves is what so many units leave, and it goes on as if nothing were."""
    game = toy_coin.make(players=3)
    impatient = Interrupts(answers)
    pair = ttt_envs.agents.as_agent(impatient), ttt_envs.agents.load("greedy")
    bout = Bout(game, pair, HELD, 3, "a – b")
    found, whole = (Results.none(game, HELD) for _ in range(2))
    with pytest.raises(KeyboardInterrupt):
        found.extend(game, bout.play(range(20), chunk=chunk))
    impatient.calls = 10**6
    units = found.count
    assert 0 < units < 20
    whole.extend(game, bout.play(range(units)))
    for more in (0, 3):
        for each in (found, whole):
            each.extend(game, bout.play(range(units, units + more)))
        assert found.count == units + more
        for name in ("rewards", "lengths", "moves", "decisions"):
            np.testing.assert_array_equal(getattr(found.games, name), getattr(whole.games, name), name)
        games = found.games
        assert games.spent.shape == games.rewards.shape
        of_first = games.spent[found.seats == 0].sum(), games.spent[found.seats == 1].sum()
        np.testing.assert_allclose(games.seconds, of_first)


def test_a_placement(table, tmp_path):
    report = evaluation.ladder("toy_coin", "greedy:samples=2", table=table, target=60, out=tmp_path / "p", quiet=True)
    assert report.complete
    assert report.reached
    assert report.placement.posterior.half_width <= 60
    data = json.loads((tmp_path / "p" / "results.json").read_text())
    assert data["ladder"]["digest"] == report.ladder.digest
    assert data["rating"] == pytest.approx(report.rating)
    assert data["games_played"] == report.games == sum(each["games"] for each in data["rungs"])
    assert (data["seed"], data["agent"], data["options"]) == (0, "greedy:samples=2", {"players": 2, "tosses": 1})
    text = (tmp_path / "p" / "report.md").read_text()
    assert "ttt ladder toy_coin --agent greedy:samples=2 --table" in text
    assert "## Games against the rungs" in text
    page = (tmp_path / "p" / "report.html").read_text()
    named = [
        *zip(report.ladder.elo, report.ladder.rungs, strict=True),
        (report.rating, "greedy:samples=2 (rated here)"),
    ]
    shown = [name for name in re.findall(r'<span class="name">(.*?)</span>', page) if name]
    assert shown[: len(named)] == [name for _, name in sorted(named, reverse=True)]
    for bout_ in report.bouts.values():
        assert (bout_.seats == np.array([[0, 1], [1, 0]] * bout_.count)).all(), "each seed is played from both seats"
        np.testing.assert_allclose(bout_.won + bout_.lost, 1)


def test_each_rung_is_played_with_seeds_of_its_own(table, monkeypatch):
    """Otherwise the games against one rung say again what those against another have said."""
    given, usual = {}, bout_module.iter_games

    def noted(game, agents, seats, seeds, **more):
        given.setdefault(agents[1].name, []).extend(seeds.tolist())
        return usual(game, agents, seats, seeds, **more)

    monkeypatch.setattr(bout_module, "iter_games", noted)
    evaluation.ladder("toy_coin", "greedy:samples=2", table=table, games=200, target=1, pace=1e-4, quiet=True)
    assert len(given) > 1
    found = [set(seeds) for seeds in given.values()]
    assert len(set.union(*found)) == sum(map(len, found)) == 100


def test_two_placements_agree(table):
    given = {"game": "toy_coin", "agent": "greedy:samples=2", "table": table, "target": 45, "pace": 1e-4, "quiet": True}
    found = [evaluation.ladder(**given, seed=seed) for seed in (1, 2)]
    widths = [each.placement.posterior.half_width for each in found]
    assert abs(found[0].rating - found[1].rating) < np.hypot(*widths)
    assert (found[0].bouts[0].games.moves[:8] != found[1].bouts[0].games.moves[:8]).any()
    again = evaluation.ladder(**given, seed=1)
    assert again.rating == found[0].rating
    np.testing.assert_array_equal(again.bouts[0].games.moves, found[0].bouts[0].games.moves)
    assert "--pace 0.0001" in again.command


def test_a_rung_is_not_its_own_opponent(table):
    report = evaluation.ladder("toy_coin", "random", table=table, games=40, target=1, quiet=True)
    assert report.games == 40
    assert not report.reached
    assert report.ladder.rungs.index("random") not in report.bouts
    assert any("is a rung itself" in remark for remark in report.remarks())
    assert any("40 games were played, see --games" in remark for remark in report.remarks())


def test_failures_lose_and_are_named(table):
    report = evaluation.ladder("toy_coin", Wrong([99]), table=table, games=16, quiet=True)
    assert report.rating < 0
    assert any("it lost 16 games by errors or illegal actions" in remark for remark in report.remarks())
    with pytest.raises(ValueError, match="wrong"):
        evaluation.ladder("toy_coin", Wrong([99]), table=table, games=16, strict=True, quiet=True)


def test_an_interrupt_keeps_what_is_done(table):
    report = evaluation.ladder("toy_coin", Interrupts(12), table=table, chunk=2, quiet=True)
    assert not report.complete
    assert 0 < report.games < 40
    assert report.games % 2 == 0
    assert np.isfinite(report.rating)
    with pytest.raises(KeyboardInterrupt, match="no games were finished"):
        evaluation.ladder("toy_coin", Interrupts(3), table=table, quiet=True)


def test_a_calibration_goes_on_where_it_was(toy, tmp_path, monkeypatch):
    whole = evaluation.calibrate("toy_coin", RUNGS, games=60, quiet=True).ladder
    play = Pairs.play

    def interrupted(self, one, other, games, work):
        if len(self.played) == 2:
            play(self, one, other, games // 2, work)  # the third pair has half of its games
            raise KeyboardInterrupt
        play(self, one, other, games, work)

    monkeypatch.setattr(Pairs, "play", interrupted)
    with pytest.raises(KeyboardInterrupt, match="not finished: --resume --out"):
        evaluation.calibrate("toy_coin", RUNGS, games=60, out=tmp_path / "c", quiet=True)
    monkeypatch.setattr(Pairs, "play", play)
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["pairs.json"]
    with pytest.raises(FileExistsError, match="not empty: --resume goes on with the run in it"):
        evaluation.calibrate("toy_coin", RUNGS, games=60, out=tmp_path / "c", quiet=True)
    with pytest.raises(ValueError, match="has games with seed 0, not 1"):
        evaluation.calibrate("toy_coin", RUNGS, games=60, seed=1, out=tmp_path / "c", resume=True, quiet=True)
    resumed = evaluation.calibrate("toy_coin", RUNGS, games=60, out=tmp_path / "c", resume=True, quiet=True).ladder
    assert resumed.pairs == whole.pairs
    np.testing.assert_array_equal(resumed.elo, whole.elo)


def one(name, value):
    return lambda pair: pair.__setitem__(name, value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (one("plies", -5), "greedy – random: plies is -5, and must be from 0 to 36"),
        (one("seconds", [0.0, float("inf")]), r"greedy – random: seconds has \[0.0, inf\], and must be"),
        (one("units", [[1, 1, -3]]), r"greedy – random: units has \[1.0, 1.0, -3\]"),
        (one("units", [[10**9, 0, 3]]), r"units has \[1000000000.0, 0.0, 3\]: a unit has 2 comparisons"),
        (one("units", [[1, 1, 10**8]]), "seatings must have 100000000 games for each of 2 seatings"),
        (one("seatings", [[3, 0, 0]]), "seatings must have 3 games for each of 2 seatings"),
        (one("agents", ["random", "greedy"]), "agents must be two names in order"),
    ],
)
def test_games_of_a_calibration_that_cannot_be_are_refused(change, words, toy, tmp_path):
    evaluation.calibrate("toy_coin", ["greedy", "random"], games=6, out=tmp_path / "c", quiet=True)
    path = tmp_path / "c" / "pairs.json"
    data = json.loads(path.read_text())
    change(data["pairs"][0])
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=f"pairs.json is damaged: .*{words}"):
        evaluation.calibrate("toy_coin", ["greedy", "random"], games=6, out=tmp_path / "c", resume=True, quiet=True)


def test_rungs_are_found_for_a_game_without_any(toy):
    report = evaluation.calibrate("toy_coin", games=16, spacing=30, quiet=True)
    assert report.ladder.rungs[0] == "random" or "random" in report.ladder.rungs
    assert len(report.ladder) >= 2
    assert "--rungs random" in report.command
