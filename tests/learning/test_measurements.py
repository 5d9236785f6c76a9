"""Measurements: when they are due, their files, and their use by a learner of one's own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from small_training import SMALL_DECK

import ttt_envs
from ttt_envs import agents
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.regret import measure as measure_regret
from ttt_envs.learning import ppo
from ttt_envs.learning.runs import measurements, settings
from ttt_envs.learning.runs.measurements import (
    LEAST,
    MEASURES,
    Exploitability,
    Measurement,
    Measurements,
    Point,
    Regret,
    Score,
    draw_line,
    read_rows,
    text_of,
    write_picture,
    write_rows,
)


class Length(Measurement):
    """The mean length of a game that the agent plays with itself."""

    name, file, unit = "length", "length", "plies"

    def measure(self, agent: agents.Agent, steps: int, check: Any) -> list[Point]:
        played = play_games(self.game, [agent], seats=[0] * self.game.num_players, games=20, seed=0)
        return [Point(steps, "plies", float(played.lengths.mean()))]


class TableAgent(agents.Agent):
    """A weight for each action and observation; what was played by winners is played more often."""

    name = "table"

    def __init__(self) -> None:
        self.weights: dict[bytes, np.ndarray] = {}

    def policy(self, view: ttt_envs.View) -> np.ndarray:
        ones = np.ones(view.game.num_actions)
        rows = view.masks * np.stack([self.weights.get(row.tobytes(), ones) for row in view.observations])
        return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)

    def learn(self, game: ttt_envs.Game, seed: int) -> None:
        """Play 100 games against itself."""
        batch = ttt_envs.Batch(game, 100, seed=seed)
        played = []
        while not batch.done.all():
            joint = np.full((batch.n, game.num_players), -1)
            for player in range(game.num_players):
                acting = np.flatnonzero(batch.acting(player))
                if len(acting):
                    view = batch.view(player).take(acting) if len(acting) < batch.n else batch.view(player)
                    joint[acting, player] = self.act(view)
                    played += zip(acting, [player] * len(acting), view.observations, joint[acting, player], strict=True)
            batch.step(joint[np.arange(batch.n), batch.to_move] if not game.simultaneous else joint)
        for row, player, observation, action in played:
            weights = self.weights.setdefault(observation.tobytes(), np.ones(game.num_actions))
            weights[action] = np.clip(weights[action] * np.exp(0.5 * batch.rewards[row, player]), 0.01, 100)


GAMES = {"exploitability": ("tic_tac_match", SMALL_DECK), "layouts": ("big_tic_tac_dice", {"rounds": "single"})}


@pytest.mark.parametrize("kind", MEASURES.values(), ids=list(MEASURES))
def test_a_measure_is_asked_for_by_its_setting_alone(kind: type[Measurement]) -> None:
    game, options = GAMES.get(kind.name, ("martian_tic_tac_toe", {"size": 3}))
    given: dict[str, Any] = {"game": game, "options": options, "quiet": True, **LEAST}
    given[kind.setting] = min(kind.in_studies or 10, 10)
    config = ppo.Config(**given)
    found = {each.name for each in config.measurements(config.load())}
    assert found == {"score", kind.name}
    assert f"{kind.file}.csv, .png" in settings.RUN_FOLDER
    assert f"--{kind.setting.replace('_', '-')}" in settings.RUN_FOLDER
    if not kind.with_history:
        with pytest.raises(ValueError, match=f"{kind.setting} is for history=0, not 2"):
            replace(config, history=2).check()


def test_a_learner_of_ones_own_is_measured(tmp_path: Path) -> None:
    game, learner, said, logged = ttt_envs.load("tic_tac_match", **SMALL_DECK), TableAgent(), [], []
    found = Measurements(
        [
            Score(game, every=10, agents=["random"], games=20),
            Exploitability(game, every=20),
            Length(game, every=5),
        ],
        tmp_path,
        progress=said.append,
        log=lambda name, value: logged.append((name, value)),
    )
    for step in range(20):
        found.measure(learner, step)
        learner.learn(game, seed=step)
    found.measure(learner, 20, last=True)

    assert {name: [each.steps for each in points] for name, points in found.points.items()} == {
        "score": [0, 10, 20],
        "exploitability": [0, 20],
        "length": [0, 5, 10, 15, 20],
    }
    for file, name in (("curve", "score"), ("exploitability", "exploitability"), ("length", "length")):
        assert read_rows(tmp_path / f"{file}.csv", Point) == found.points[name]
        assert Image.open(tmp_path / f"{file}.png").size[0] > 300
    first, last = found.points["exploitability"]
    assert last.value < first.value
    assert f"         20 decisions   exploitability: {last.value:.3f}" in said
    assert any(line.startswith("          5 decisions   plies: ") for line in said)
    assert ("eval/exploitability", last.value) in logged
    assert ("eval/random", found.points["score"][0].value) in logged


class Counted(Length):
    """Does not play, and counts."""

    def __init__(self, game: ttt_envs.Game, every: int) -> None:
        super().__init__(game, every)
        self.asked: list[int] = []

    def measure(self, agent: agents.Agent, steps: int, check: Any) -> list[Point]:
        check()
        self.asked.append(steps)
        return [Point(steps, "plies", float(len(self.asked)))]


def test_what_is_due_is_measured_once(tmp_path: Path) -> None:
    game, agent = ttt_envs.load("tic_tac_dice"), agents.load("random")
    probe = Counted(game, 100)
    found = Measurements([probe], tmp_path)
    for steps in (0, 60, 120, 180, 240, 240):
        found.measure(agent, steps)
    assert probe.asked == [0, 120, 240]
    found.measure(agent, 240, last=True)
    assert probe.asked == [0, 120, 240], "measured a moment ago"
    # Continued, from before the last measurement: rows of what is no longer true are replaced.
    again = Counted(game, 100)
    found = Measurements([again], tmp_path, resume=True)
    found.measure(agent, 180)
    found.measure(agent, 200)
    assert again.asked == [200]
    assert [each.steps for each in read_rows(tmp_path / "length.csv", Point)] == [0, 120, 200]
    # Begun anew, the old curve is replaced.
    Measurements([Counted(game, 100)], tmp_path).measure(agent, 0)
    assert [each.steps for each in read_rows(tmp_path / "length.csv", Point)] == [0]


def test_pictures_are_drawn_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game, agent, drawn = ttt_envs.load("tic_tac_dice"), agents.load("random"), []
    monkeypatch.setattr(measurements, "write_picture", lambda *arguments: drawn.append(arguments[0].name))
    found = Measurements([Counted(game, 100), Score(game, every=10**6, agents=["random"], games=2)], tmp_path)
    found.measure(agent, 0)
    assert drawn == []
    found.measure(agent, 100, last=True)
    assert drawn == ["length.png", "curve.png"]
    # What a killed run has left may be older than its rows.
    Measurements([Counted(game, 100)], tmp_path, resume=True).measure(agent, 100, last=True)
    assert drawn[2:] == ["length.png"]


def test_a_measurement_given_up_is_made_up_for(tmp_path: Path) -> None:
    game, agent = ttt_envs.load("tic_tac_dice", rounds="single"), agents.load("random")

    def stop() -> None:
        raise KeyboardInterrupt

    for probe in (
        Counted(game, 100),
        Score(game, every=100, agents=["random"], games=2),
        Regret(game, every=100, games=2),
        Exploitability(ttt_envs.load("tic_tac_match", **SMALL_DECK), every=100),
    ):
        interrupted = Measurements([probe], tmp_path, check=stop)
        with pytest.raises(KeyboardInterrupt):
            interrupted.measure(agent, 100)
        assert not list(tmp_path.iterdir())
    found = Measurements([probe := Counted(game, 100)], tmp_path, resume=True)
    found.measure(agent, 130)
    assert probe.asked == [130]


def test_probes_that_cannot_measure_are_refused(tmp_path: Path) -> None:
    game = ttt_envs.load("tic_tac_dice")
    for every in (0, -5):
        with pytest.raises(ValueError, match="every must be"):
            Counted(game, every)
    with pytest.raises(ValueError, match="two measurements would write the same files: length, length"):
        Measurements([Counted(game, 1), Length(game, 1)], tmp_path)
    with pytest.raises(ValueError, match="two players"):
        Exploitability(ttt_envs.load("tic_tac_match", players=4), every=1)
    with pytest.raises(ValueError, match="regret is undefined for tic_tac_match"):
        Regret(ttt_envs.load("tic_tac_match"), every=1)


def test_regret_where_the_oracle_knows_little(tmp_path: Path) -> None:
    agent = agents.load("random")
    probe = Regret(ttt_envs.load("super_tic_tac_toe"), every=1, games=20)
    found = measure_regret(probe.game, agent, games=20)
    assert found.measured < 0.05
    assert probe.measure(agent, 7) == [Point(7, "eval/known_regret", found.per_game, found.per_game_half_width)]

    unknown = Regret(ttt_envs.load("super_tic_tac_toe", random_opening_plies=16), every=1, games=2)
    said: list[str] = []
    Measurements([unknown], tmp_path, progress=said.append).measure(agent, 0, last=True)
    assert said == ["          0 decisions   regret: nothing known"]


def test_score_plays_each_start_from_every_side(monkeypatch: pytest.MonkeyPatch) -> None:
    game, given, rewards = ttt_envs.load("super_tic_tac_toe"), [], np.array([[1, -1], [0, 0], [-1, 1], [-1, 1]])

    def noted(game: Any, lineup: Any, seats: np.ndarray, seeds: np.ndarray, **_: Any) -> Any:
        given.extend(zip(map(tuple, seats.tolist()), seeds.tolist(), strict=True))
        return replace(play_games(game, lineup, seats=seats, seeds=seeds), rewards=rewards.astype(np.float32))

    monkeypatch.setattr(measurements, "play_games", noted)
    (point,) = Score(game, every=1, agents=["random"], games=4).measure(agents.load("random"), 0)
    assert sorted(given) == [(seats, seed) for seats in ((0, 1), (1, 0)) for seed in sorted(game_seeds(0, 2).tolist())]
    # A win and a draw as player 0, two wins as player 1.
    assert (point.metric, point.value) == ("eval/random", 0.875)


@pytest.mark.parametrize("values", [(1.0, 0.05), (1.0, 0.5), (1.0, np.nan), (0.0, 0.0)])
def test_points_are_read_as_they_were_written_and_always_drawn(tmp_path: Path, values: tuple[float, float]) -> None:
    points = [Point(k, "eval/exploitability", value, 0.01 * value) for k, value in enumerate(values)]
    write_rows(tmp_path / "x.csv", Point, points)
    assert str(read_rows(tmp_path / "x.csv", Point)) == str(points)  # nan is not itself
    probe = Exploitability(ttt_envs.load("tic_tac_match", **SMALL_DECK), every=1)
    scales = []

    def draw(axes: Any) -> None:
        probe.draw(axes, points)
        scales.append(axes.get_yscale())

    write_picture(tmp_path / "x.png", "title", "steps", "unit", draw)
    assert Image.open(tmp_path / "x.png").size[0] > 300
    assert scales == ["log" if values == (1.0, 0.05) else "linear"]


def test_an_interval_is_said_if_it_is_known() -> None:
    points = [Point(1, "eval/regret", 0.5, width) for width in (0.25, 0.0, np.nan)]
    assert text_of(points) == "regret per game: 0.500 ± 0.250   regret per game: 0.500   regret per game: 0.500"


#: Curves with other columns, or cells that nobody wrote.
FOREIGN = (
    "a,b,c\n",
    "steps,metric,value,half_width\n1,plies,1,0,0\n",
    "steps,metric,value,half_width\nx,plies,1,0\n",
)


def test_a_damaged_curve_is_named(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    for text in FOREIGN:
        path.write_text(text)
        with pytest.raises(ValueError, match=r"curve\.csv is damaged"):
            read_rows(path, Point)
    assert read_rows(tmp_path / "none.csv", Point) == []


@pytest.mark.parametrize("name", [r"program:./a $\frac$", "$A $B"])
def test_a_name_is_drawn_as_it_is(tmp_path: Path, name: str) -> None:
    """A curve that was kept may name any agent, and Matplotlib takes dollars for the ends of a formula."""

    def draw(axes: Any) -> None:
        draw_line(axes, np.array([1, 2]), np.array([0.5, 0.6]), np.array([0.1, 0.1]), f"against {name}")
        (text,) = axes.legend().get_texts()
        assert text.get_text().replace("\\$", "$") == f"against {name}"
        assert "$" not in text.get_text().replace("\\$", "")

    write_picture(tmp_path / "curve.png", name, "steps", "score", draw)
    assert (tmp_path / "curve.png").stat().st_size > 1000
