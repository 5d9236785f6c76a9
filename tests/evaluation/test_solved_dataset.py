"""Solved positions as a data set: what the columns hold is best play, and images of a position share a split."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from ttt_envs import cli
from ttt_envs.core.prompts import prompt
from ttt_envs.core.view import View
from ttt_envs.evaluation.judging import oracle_of
from ttt_envs.evaluation.solved import dataset
from ttt_envs.evaluation.solved.questions import question_sets
from ttt_envs.registry import folder_of

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
samples = pytest.importorskip("tools.samples")

SETS = ("dice-round", "match-small", "super")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three small sets, one of each kind of values."""
    folder = tmp_path_factory.mktemp("solved") / "data"
    asked_of = dataset.asked_of
    with pytest.MonkeyPatch.context() as patch:
        # The questions of other games take seconds to draw.
        patch.setattr(dataset, "asked_of", lambda game: asked_of(game) if game == "tic_tac_dice" else frozenset())
        patch.setattr(dataset, "_ROWS", 40)
        dataset.build(folder, SETS, rows=120)
    return folder


def rows_of(folder: Path, name: str) -> "pd.DataFrame":
    """All rows of a set, with their splits."""
    parts = [pd.read_parquet(folder / name / f"{split}.parquet").assign(split=split) for split in dataset.SPLITS]
    return pd.concat(parts, ignore_index=True)


def test_the_columns_are_those_of_the_page(folder: Path) -> None:
    import pyarrow.parquet as pq

    page = (Path(__file__).parents[2] / "docs" / "dataset.md").read_text().split("## Solved positions")[1]
    found = re.findall(r"^\| `(\w+)` \| ([a-z0-9]+)(, fixed length)? \|", page.split("| column |")[1], re.M)
    schema = pq.read_schema(folder / "dice-round" / "train.parquet")
    assert [(field.name, field.metadata[b"meaning"].decode()) for field in schema] == list(dataset.COLUMNS.items())
    kinds = [(getattr(field.type, "value_type", field.type), hasattr(field.type, "list_size")) for field in schema]
    said = [(name, {"float32": "float"}.get(kind, kind), bool(fixed)) for name, kind, fixed in found]
    assert said == [(field.name, str(kind), fixed) for field, (kind, fixed) in zip(schema, kinds, strict=True)]


def test_values_and_best_play_are_the_oracles(folder: Path) -> None:
    found, game = rows_of(folder, "dice-round"), dataset.set_of("dice-round").load()
    assert len(found) > 100
    states = np.concatenate([game.parse_state(text) for text in found["state"]])
    players = found["player"].to_numpy(np.int64)
    np.testing.assert_array_equal(np.stack(found["observation"]), game.observations(states, players))
    np.testing.assert_array_equal(np.stack(found["action_mask"]), game.masks(states, players))
    values, policy = np.stack(found["action_values"]), np.stack(found["policy"])
    np.testing.assert_allclose(values, oracle_of(game).action_values(states, players), atol=1e-5)
    np.testing.assert_allclose(policy.sum(axis=1), 1, atol=1e-5)
    loss = np.where(policy > 0, np.nanmax(values, axis=1, keepdims=True) - values, 0)
    assert loss.max() < 1e-5
    assert (values[np.arange(len(values)), found["best_action"]] >= np.nanmax(values, axis=1) - 1e-5).all()
    assert not np.stack(found["estimated"]).any()
    assert all("YOUR LEGAL ACTIONS" in text for text in found["text"])


@pytest.mark.parametrize("name", list(dataset.solved_sets()))
def test_the_package_has_a_sample_of_each_set(name: str) -> None:
    each, found = dataset.set_of(name), dataset.load_solved(name)
    files = [path.name for path in folder_of(each.game).glob(f"{name}*.npz")]
    assert files == [dataset.sample_file(name)], "a sample is of the present version of its set"
    game, n = each.load(), len(found["split"])
    assert list(found) == [*dataset.COLUMNS, "split"]
    assert {len(column) for column in found.values()} == {n}
    assert dict(zip(*np.unique(found["split"], return_counts=True), strict=True)) == {
        split: 25 * share for split, share in dataset.SPLITS.items()
    }
    states, players = np.concatenate([game.parse_state(text) for text in found["state"]]), found["player"].astype(int)
    np.testing.assert_array_equal(found["observation"], game.observations(states, players))
    np.testing.assert_array_equal(found["action_mask"], game.masks(states, players))
    view = View(game, states, players, np.zeros(n, np.uint64))
    assert found["text"].tolist() == [prompt(view, k, rules=False) for k in range(n)]
    values, policy = found["action_values"], found["policy"]
    np.testing.assert_allclose(policy.sum(axis=1), 1, atol=1e-5)
    assert (policy[np.arange(n), found["best_action"]] >= policy.max(axis=1)).all()
    if each.values == "oracle":
        np.testing.assert_allclose(values, oracle_of(game).action_values(states, players), atol=1e-5)
        np.testing.assert_allclose(found["value"], np.nanmax(values, axis=1), atol=1e-5)
    known = np.isin(found["split"], ["train", "validation"])
    split = dataset.splits_of(game, found["observation"])
    assert (split == found["split"])[known].all(), "those of the test split may be questions"


def test_a_sample_has_the_first_rows_of_each_split(folder: Path) -> None:
    found, rows = samples.sample(folder / "dice-round", 50), rows_of(folder, "dice-round")
    expected = pd.concat([rows[rows["split"] == split].head(5 * share) for split, share in dataset.SPLITS.items()])
    for name, column in found.items():
        np.testing.assert_array_equal(column, np.stack(expected[name]))


def test_a_sample_of_another_version_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = dataset.set_of("dice-round")
    monkeypatch.setattr(samples, "set_of", lambda name: replace(now, version=now.version + 1))
    with pytest.raises(ValueError, match=f"has version {now.version} of dice-round, not {now.version + 1}"):
        samples.sample(folder / "dice-round", 50)


def test_a_sample_of_no_set(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown set of solved positions"):
        dataset.load_solved("dice")
    with pytest.raises(ValueError, match="unknown set of solved positions 'nothing'"):
        dataset.build(tmp_path / "y", "nothing")


def test_an_equilibrium_loses_nothing_against_itself(folder: Path) -> None:
    found = rows_of(folder, "match-small")
    values, policy = np.stack(found["action_values"]), np.stack(found["policy"])
    loss = np.where(policy > 1e-3, np.nanmax(values, axis=1, keepdims=True) - values, 0)
    assert loss.max() < 1e-3, "an action that an equilibrium plays loses nothing"
    assert ((policy > 0.01) & (policy < 0.99)).any(), "this game has no equilibrium without chance"
    np.testing.assert_allclose(found["value"], np.nanmax(values, axis=1), atol=1e-5)


def test_proved_and_searched_values_are_told_apart(folder: Path) -> None:
    found, game = rows_of(folder, "super"), dataset.set_of("super").load()
    states = np.concatenate([game.parse_state(text) for text in found["state"]])
    proved = oracle_of(game).action_values(states, found["player"].to_numpy(np.int64))
    values, estimated = np.stack(found["action_values"]), np.stack(found["estimated"]).astype(bool)
    known = ~np.isnan(proved)
    assert known.any()
    assert estimated.any()
    np.testing.assert_array_equal(estimated, ~np.isnan(values) & ~known)
    np.testing.assert_allclose(values[known], proved[known])


def test_images_of_a_position_share_a_split() -> None:
    each = dataset.set_of("martian-3x3")
    game = each.load()
    solved = dataset.solve(each, 200)
    observations = game.observations(solved.states, solved.players)
    split = dataset.splits_of(game, observations)
    assert set(split) == set(dataset.SPLITS)
    for symmetry in game.symmetries:
        turned = symmetry.states(solved.states)
        np.testing.assert_array_equal(dataset.splits_of(game, game.observations(turned, solved.players)), split)


def test_the_questions_are_in_the_test_split() -> None:
    asked = question_sets()["dice-round"]
    game, drawn = asked.load(), asked.draw()
    observations = game.observations(drawn.states, drawn.players)
    turned = observations[:, game.symmetries[-1].features]
    assert set(dataset.splits_of(game, turned, dataset.asked_of(game.id))) == {"test"}
    assert set(dataset.splits_of(game, turned)) == set(dataset.SPLITS)


def test_each_position_stands_once(folder: Path) -> None:
    for name in ("dice-round", "super"):
        seen = np.stack(rows_of(folder, name)["observation"])
        assert len(np.unique(seen, axis=0)) == len(seen)


def test_the_card_has_the_form_of_hugging_face(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    facts = YAML(typ="safe").load(text.split("---\n")[1])
    assert [each["config_name"] for each in facts["configs"]] == list(SETS)
    for config in facts["configs"]:
        assert [each["split"] for each in config["data_files"]] == list(dataset.SPLITS)
        assert all((folder / each["path"]).is_file() for each in config["data_files"])
    assert facts["license"] == ["mit"]
    assert dataset.set_of("martian-3x3").licence == "cc-by-sa-3.0"
    for name in SETS:
        assert f"## {name}: {dataset.set_of(name).title}" in text


def test_the_planes_can_be_made_without_the_library(folder: Path) -> None:
    import json

    import pyarrow.parquet as pq

    game = dataset.set_of("super").load()
    file = pq.ParquetFile(folder / "super" / "train.parquet")
    planes = json.loads(file.schema_arrow.metadata[b"planes"])
    flat = np.stack(file.read().to_pandas()["observation"])
    index = np.array(planes["index"])
    made = np.where(index >= 0, flat[:, index], 0).reshape(-1, *planes["shape"])
    np.testing.assert_array_equal(made, game.to_planes(flat))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["dataset"]) == 0
    assert "dice-round" in capsys.readouterr().out
    assert cli.main(["dataset", "--sets", "dice-round"]) == 2
    assert "--sets SET --out FOLDER" in capsys.readouterr().err
    assert cli.main(["dataset", "--sets", "dice", "--out", "d"]) == 2
    assert "unknown set of solved positions" in capsys.readouterr().err
    assert cli.main(["dataset", "--sets", "dice-round", "--rows", "30", "--out", "d"]) == 0
    assert "dice-round: train " in capsys.readouterr().out
    assert cli.main(["dataset", "--sets", "dice-round", "--rows", "30", "--out", "d"]) == 2

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(dataset, "card", interrupt)
    assert cli.main(["dataset", "--sets", "dice-round", "--rows", "30", "--out", "e"]) == 130
    assert not Path("e").exists()
