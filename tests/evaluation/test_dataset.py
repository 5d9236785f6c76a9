"""Offline data sets: what the columns hold is what was played, in Parquet and in Minari."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import toy_coin
from stubborn import Wrong

import ttt_envs
from ttt_envs import agents, cli
from ttt_envs.core.game import Game
from ttt_envs.evaluation import records
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.records.decisions import decisions_of, oracle_for
from ttt_envs.evaluation.records.replaying import replay

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
from ttt_envs.evaluation.records import dataset  # noqa: E402


def recorded(game: Game, n: int, lineup: tuple, strict: bool = True) -> list[records.GameRecord]:
    """The records of n games."""
    players = [agents.load(each) for each in lineup]
    seats = np.random.default_rng(0).integers(0, len(players), (n, game.num_players))
    games = play_games(game, players, seats=seats, games=n, seed=3, keep=range(n), strict=strict)
    return list(records.of_games(game, games, [each.name for each in players], seats, game_seeds(3, n), first=5))


@pytest.fixture(scope="module")
def dice() -> Game:
    """A game with an oracle."""
    return ttt_envs.load("tic_tac_dice", rounds="single")


@pytest.fixture(scope="module")
def made(dice: Game, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of 60 games, in several groups of rows."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "_ROWS", 50)
        summary = dataset.write_parquet(folder / "d.parquet", recorded(dice, 60, ("random", "oracle")))
    assert summary.games == 60
    return folder / "d.parquet"


def test_the_rows_are_the_decisions(made: Path, dice: Game) -> None:
    import pyarrow.parquet as pq

    found = pd.read_parquet(made)
    assert list(found) == list(dataset.COLUMNS)
    assert pq.ParquetFile(made).num_row_groups > 3
    games = recorded(dice, 60, ("random", "oracle"))
    assert found["game"].unique().tolist() == list(range(60))
    assert found["record"].unique().tolist() == list(range(5, 65))
    for number, rows in found.groupby("game"):
        record = games[number]
        assert [dice.action_names[action] for action in rows["action"]] == list(record.actions)
        assert rows["ply"].tolist() == list(range(len(record.actions)))
        assert rows["agent"].tolist() == [record.agents[player] for player in rows["player"]]
        assert rows["return"].tolist() == [record.rewards[player] for player in rows["player"]]
        for _, mine in rows.groupby("player"):
            assert mine["last"].tolist() == [False] * (len(mine) - 1) + [True]
            assert mine["reward"].tolist() == [0] * (len(mine) - 1) + [mine["return"].iloc[-1]]
    masks, values = np.stack(found["action_mask"]), np.stack(found["action_values"])
    assert np.stack(found["observation"]).shape == (len(found), dice.observation_size)
    assert masks[np.arange(len(found)), found["action"]].all()
    np.testing.assert_array_equal(np.isnan(values), masks == 0)
    chosen = values[np.arange(len(found)), found["action"]]
    np.testing.assert_allclose(found["regret"], np.nanmax(values, axis=1) - chosen, atol=1e-6)
    assert found[found["agent"] == "oracle"]["regret"].max() < 1e-6
    assert found[found["agent"] == "random"]["regret"].mean() > 0.01


def test_an_observation_is_what_the_player_saw(dice: Game) -> None:
    games = list(replay(recorded(dice, 5, ("random",))))
    found = decisions_of(games, oracle_for(dice))
    batch = ttt_envs.Batch(dice, 5, seed=3)
    for ply in range(4):
        rows = np.flatnonzero(found.ply == ply)
        np.testing.assert_array_equal(found.observation[rows], batch.observations())
        np.testing.assert_array_equal(found.mask[rows], batch.masks())
        batch.step(found.action[rows])


def test_choices_at_once_are_a_row_each(tmp_path: Path) -> None:
    game = toy_coin.make(players=3)
    games = recorded(game, 30, ("random", Wrong(np.array([0]))), strict=False)
    summary = dataset.write_parquet(tmp_path / "d.parquet", games, game=game)
    found = pd.read_parquet(tmp_path / "d.parquet")
    assert len(found) == summary.decisions == sum(a is not None for each in games for ply in each.actions for a in ply)
    assert found["action_values"].isna().all(), "there is no oracle"
    assert found["regret"].isna().all()
    failed = {each.number for each in games if each.failures}
    assert set(found[found["failed"]]["record"]) == failed & set(found["record"])
    assert 0 < len(failed) < 30


def test_the_card_describes_the_file(made: Path, dice: Game) -> None:
    text = made.with_suffix(".md").read_text()
    for column in dataset.COLUMNS:
        assert f"| `{column}` | " in text
    for block in dice.observation_layout:
        assert f"| {block.name} | " in text
    assert "of 60 games of `tic_tac_dice`" in text
    assert "The oracle covers 100.0 %" in text


def test_the_page_describes_the_columns(made: Path) -> None:
    import pyarrow.parquet as pq

    page = (Path(__file__).parents[2] / "docs" / "dataset.md").read_text().split("## Solved positions")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", page, re.M)
    kinds = {"float": "float32", "double": "float64"}
    found = []
    for field in pq.read_schema(made):
        kind, fixed = (
            (field.type.value_type, ", fixed length") if hasattr(field.type, "list_size") else (field.type, "")
        )
        found.append((field.name, kinds.get(str(kind), str(kind)) + fixed))
        assert field.metadata[b"meaning"].decode() == dataset.COLUMNS[field.name]
    assert rows == found


def test_records_of_several_games_are_refused(dice: Game, tmp_path: Path) -> None:
    other = ttt_envs.load("tic_tac_dice", rounds="single", target_points=1)
    mixed = [*recorded(dice, 2, ("random",)), *recorded(other, 2, ("random",))]
    with pytest.raises(ValueError, match="a data set is of one game with one set of options"):
        dataset.write_parquet(tmp_path / "d.parquet", mixed)
    with pytest.raises(ValueError, match="there are no games"):
        dataset.write_parquet(tmp_path / "d.parquet", [])
    assert not list(tmp_path.iterdir())


def test_the_command(
    dice: Game, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records.write("a.jsonl", recorded(dice, 6, ("random", "greedy")))
    records.write("b.jsonl.gz", recorded(dice, 4, ("random",)))
    words = ["dataset", "a.jsonl", "b.jsonl.gz"]
    assert cli.main([*words, "--out", "d.parquet", "--values", "none"]) == 0
    found = pd.read_parquet("d.parquet")
    assert found["game"].unique().tolist() == list(range(10))
    assert found["regret"].isna().all()
    assert "decisions of 10 games are in d.parquet, described in d.md" in " ".join(capsys.readouterr().out.split())
    assert cli.main([*words, "--out", "d.parquet"]) == 2
    assert "d.parquet exists" in capsys.readouterr().err
    assert cli.main(words) == 2
    assert "--out FILE.parquet, or --minari NAME" in capsys.readouterr().err
    assert cli.main([*words, "--out", "d.csv"]) == 2
    assert "a data set is a .parquet file" in capsys.readouterr().err

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(dataset.Summary, "add", interrupt)
        assert cli.main([*words, "--out", "e.parquet"]) == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl.gz", "d.md", "d.parquet"]


def test_a_search_estimates_where_nothing_is_proved(tmp_path: Path) -> None:
    games = recorded(ttt_envs.load("super_tic_tac_toe"), 2, ("random", "greedy"))
    summary = dataset.write_parquet(tmp_path / "d.parquet", games, values="search", simulations=30)
    found = pd.read_parquet(tmp_path / "d.parquet")
    values, estimated = np.stack(found["action_values"].dropna()), np.stack(found["estimated"])
    assert summary.estimated == estimated.any(axis=1).sum() > len(found) / 2
    assert np.nanmax(np.abs(values)) <= 1
    assert not found["regret"].isna().all()
    assert (found["regret"].dropna() >= 0).all()
    assert "some values are a search's estimates" in (tmp_path / "d.md").read_text()
    with pytest.raises(ValueError, match="values='best' must be one of"):
        dataset.write_parquet(tmp_path / "e.parquet", games, values="best")


def test_minari_has_an_episode_a_player(dice: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    games = recorded(dice, 6, ("random", "greedy"))
    assert dataset.write_minari("dice/test-v0", games) == 12
    found = minari.load_dataset("dice/test-v0")
    assert found.total_steps == sum(len(each.actions) for each in games)
    episode = found[0]
    record = games[0]
    played = [dice.action_names[action] for action in episode.actions]
    assert played == [a for a, ply in zip(record.actions, movers(dice, record), strict=True) if ply == 0]
    assert episode.rewards.tolist() == [0.0] * (len(played) - 1) + [record.rewards[0]]
    assert episode.terminations.tolist() == [False] * (len(played) - 1) + [True]
    assert episode.observations["observation"].shape == (len(played) + 1, dice.observation_size)
    assert not episode.observations["action_mask"][-1].any()
    env = found.recover_environment(opponent="greedy").unwrapped
    assert env.game == dice
    assert env.observation_space == found.observation_space
    env.reset(seed=0)
    assert env.opponent_names == {0: "greedy"}
    assert episode.observations["action_mask"][:-1][np.arange(len(played)), episode.actions].all()
    with pytest.raises(ValueError, match="Minari has a data set 'dice/test-v0' already"):
        dataset.write_minari("dice/test-v0", games)
    assert json.loads(records.GameRecord.json(record))["number"] == 5


def movers(game: Game, record: records.GameRecord) -> list[int]:
    """The player of each ply."""
    (played,) = replay([record])
    return played.states["to_move"][:-1].tolist()
