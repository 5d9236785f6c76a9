"""The baseline of the data set: it learns from the training split, and what it saves plays."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
from training import from_dataset
from ttt_envs.agents import load
from ttt_envs.evaluation.best_play import measure
from ttt_envs.evaluation.solved import dataset


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set with pure best play, and one with mixed."""
    folder = tmp_path_factory.mktemp("solved") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "asked_of", lambda game: frozenset())  # questions take seconds to draw
        dataset.build(folder / "pure", ["dice-round"], rows=600)
        dataset.build(folder / "mixed", ["match-small"])
    return folder


@pytest.mark.parametrize(("folder", "name", "kind"), [("pure", "dice-round", "q"), ("mixed", "match-small", "policy")])
def test_it_loses_less_than_random_play(
    solved: Path, folder: str, name: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    data = solved / folder / name
    settings = ["--seeds", "2", "--epochs", "8", "--batch", "32", "--games", "0", "--out"]
    from_dataset.main([str(data), *settings, str(tmp_path / "out")])
    assert "random" in capsys.readouterr().out
    game, splits = from_dataset.read(data)
    assert game == dataset.set_of(name).load()
    test = splits["test"]
    random = test.masks / test.masks.sum(axis=1, keepdims=True)
    agent = load(f"network:{tmp_path / 'out' / 'seed-0'}")
    agent.check(game)
    assert agent.network.info.kind == kind
    found = from_dataset.lost(from_dataset.answers(agent.network, test), test)
    assert found < 0.6 * from_dataset.lost(random, test)
    other = load(f"network:{tmp_path / 'out' / 'seed-1'}")
    assert (agent.network.tensors["body.0.bias"] != other.network.tensors["body.0.bias"]).any()


def test_what_is_lost_is_the_regret() -> None:
    values = np.array([[0.5, -0.5, np.nan], [0.0, np.nan, 1.0]], np.float32)
    masks = np.array([[True, True, False], [True, True, True]])
    split = from_dataset.Split(np.zeros((2, 1), np.float32), masks, values, np.zeros((2, 3), np.float32))
    assert from_dataset.lost(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), split) == pytest.approx(0.75)
    # A position in which an action of unknown value is played does not count.
    assert from_dataset.lost(np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]), split) == pytest.approx(0.5)


def test_the_regret_in_games_is_measured(solved: Path, capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    words = [
        str(solved / "pure" / "dice-round"),
        "--seeds",
        "1",
        "--epochs",
        "1",
        "--games",
        "20",
        "--out",
        str(tmp_path / "o"),
    ]
    from_dataset.main(words)
    said = capsys.readouterr().out
    agent = load(f"network:{tmp_path / 'o' / 'seed-0'}")
    assert f"{measure(dataset.set_of('dice-round').load(), agent, games=20, seed=0).per_game:.4f}" in said
