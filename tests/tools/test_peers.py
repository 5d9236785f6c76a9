"""`tools.peers`: every pair that is installed is measured, and drawn."""

from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("stable_baselines3")

from tools import peers


def test_pairs_are_measured_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = tmp_path / "peers.svg"
    quick = ["--games", "tic_tac_dice", "--seconds", "0.04", "--repeats", "1", "--chart", str(drawn)]
    assert peers.main(quick) == 0
    out = capsys.readouterr().out
    assert "PettingZoo's loop, Super / PettingZoo, tictactoe-v3" in out
    assert "the recipe, tictactoe-v3" in out
    for number, name in ((2, "pyspiel"), (1, "jax")):
        assert out.count(f"as {name} is not installed") == (0 if find_spec(name) else number)
    texts = [each.text for each in ElementTree.parse(drawn).iter() if each.tag.endswith("text")]
    assert len(texts) % 2 == 0
    assert any("the recipe" in str(text) for text in texts)


def test_a_ratio_is_the_median_of_neighbouring_runs() -> None:
    pair = peers.Pair("a", "b", [2.0, 8.0, 9.0], [1.0, 2.0, 3.0])
    assert pair.ratio == 3.0
    assert peers.chart([pair, peers.Pair("slow", "b", [1.0], [10.0])]).count("<rect") == 3
