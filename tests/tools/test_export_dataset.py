"""Data sets: their rows are what was played and what is best, in Parquet and in Minari."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
import toy_wages

import ttt_envs
from ttt_envs import agents
from ttt_envs.core.game import Game
from ttt_envs.evaluation import records
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.records import replay

pd = pytest.importorskip("pandas")
pq = pytest.importorskip("pyarrow.parquet")
minari = pytest.importorskip("minari")
from tools import export_dataset  # noqa: E402

DICE = ttt_envs.load("tic_tac_dice", rounds="single")


def recorded(game: Game, n: int, lineup: tuple[str, ...]) -> list[records.GameRecord]:
    players = [agents.load(each) for each in lineup]
    seats = np.random.default_rng(0).integers(0, len(players), (n, game.num_players))
    games = play_games(game, players, seats=seats, games=n, seed=3, keep=range(n))
    return list(records.of_games(game, games, [each.name for each in players], seats, game_seeds(3, n), first=5))


def test_a_row_is_a_decision(tmp_path: Path) -> None:
    games = recorded(DICE, 30, ("random", "oracle"))
    assert export_dataset.write_games(tmp_path / "d.parquet", replay(games)) == (30, sum(len(g.actions) for g in games))
    found = pd.read_parquet(tmp_path / "d.parquet")
    assert list(found) == list(export_dataset.GAMES)
    assert found["game"].unique().tolist() == list(range(5, 35))
    for number, rows in found.groupby("game"):
        record = games[number - 5]
        assert [DICE.action_names[action] for action in rows["action"]] == list(record.actions)
        assert rows["ply"].tolist() == list(range(len(record.actions)))
        assert rows["agent"].tolist() == [record.agents[player] for player in rows["player"]]
        for player, mine in rows.groupby("player"):
            assert mine["last"].tolist() == [False] * (len(mine) - 1) + [True]
            assert mine["reward"].sum() == record.rewards[player]
    assert np.stack(found["action_mask"])[np.arange(len(found)), found["action"]].all()
    assert np.stack(found["observation"]).shape == (len(found), DICE.observation_size)
    assert found[found["agent"] == "oracle"]["regret"].max() < 1e-6
    assert found[found["agent"] == "random"]["regret"].mean() > 0.01
    assert b"planes" in pq.read_schema(tmp_path / "d.parquet").metadata
    assert "| `regret` |" in (tmp_path / "d.md").read_text()


def test_a_game_without_a_board_has_no_planes(tmp_path: Path) -> None:
    game = toy_wages.wages(players=3)
    export_dataset.write_games(tmp_path / "d.parquet", replay(recorded(game, 3, ("random",)), game=game))
    assert pd.read_parquet(tmp_path / "d.parquet")["regret"].isna().all()
    assert b"planes" not in pq.read_schema(tmp_path / "d.parquet").metadata
    assert (tmp_path / "d.md").is_file()


def test_minari_has_an_episode_for_each_player_and_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    games = recorded(DICE, 4, ("random",))
    assert export_dataset.write_minari("dice/test-v0", replay(games)) == 8
    data = minari.load_dataset("dice/test-v0")
    episodes = list(data.iterate_episodes())
    assert [each.rewards.sum() for each in episodes] == [r for game in games for r in game.rewards]
    assert all(len(each.observations["action_mask"]) == len(each.actions) + 1 for each in episodes)
    assert data.recover_environment().unwrapped.game == DICE
    assert "rounds" not in gymnasium.spec("ttt_envs/TicTacDice-v0").kwargs, "the registry is as it was"


HANDS = {"colours": 1, "copies": 4, "flips": 1, "wipe_outs": 0, "double_plays": 0, "hand_size": 1, "max_turns": 3}


@pytest.mark.parametrize("game", [DICE, ttt_envs.load("tic_tac_match", **HANDS)], ids=["oracle", "equilibrium"])
def test_solved_positions(tmp_path: Path, game: Game) -> None:
    rows = export_dataset.write_positions(tmp_path / "solved", game, 300, 11)
    tables = {name: pd.read_parquet(tmp_path / "solved" / f"{name}.parquet") for name in rows}
    assert {name: len(each) for name, each in tables.items()} == rows
    assert rows["train"] > 4 * rows["test"] > 0
    found = tables["train"]
    values, policy = np.stack(found["action_values"]), np.stack(found["policy"])
    assert np.array_equal(np.isnan(values), np.stack(found["action_mask"]) == 0)
    assert policy.sum(axis=1) == pytest.approx(1)
    best = np.nanmax(values, axis=1)
    assert np.abs(best - found["value"]).mean() < (1e-6 if game is DICE else 0.02)
    assert "path: validation.parquet" in (tmp_path / "solved" / "README.md").read_text()


def test_images_of_a_position_are_in_one_split() -> None:
    states = ttt_envs.Batch(DICE, 50, seed=0).states
    splits = [
        export_dataset.splits_of(DICE, DICE.observations(symmetry.states(states), np.zeros(50, np.int64)))
        for symmetry in DICE.symmetries
    ]
    assert len({tuple(each) for each in splits}) == 1
    assert len(set(splits[0])) == 3


def test_games_of_two_kinds_are_refused(tmp_path: Path) -> None:
    other = ttt_envs.load("tic_tac_dice", rounds="single", target_points=4)
    mixed = [*replay(recorded(DICE, 1, ("random",))), *replay(recorded(other, 1, ("random",)))]
    with pytest.raises(ValueError, match="a data set is of one"):
        export_dataset.write_games(tmp_path / "d.parquet", mixed)
    with pytest.raises(ValueError, match="no games"):
        export_dataset.write_games(tmp_path / "d.parquet", [])
    assert not list(tmp_path.iterdir())


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records.write(tmp_path / "games.jsonl", recorded(DICE, 3, ("random",)))
    assert export_dataset.main(["games", str(tmp_path / "games.jsonl"), "--out", str(tmp_path / "d.parquet")]) == 0
    assert "of 3 games" in capsys.readouterr().out
    assert export_dataset.main(["games", str(tmp_path / "games.jsonl")]) == 2
    assert "--out or --minari" in capsys.readouterr().err
