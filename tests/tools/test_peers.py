"""`tools.peers`: every pair that is installed is measured, and drawn."""

from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("stable_baselines3")

from tools import peers
from ttt_envs.evaluation.reports.report import Table


def test_pairs_are_measured_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = tmp_path / "peers.svg"
    page = tmp_path / "page.md"
    page.write_text(f"before\n{peers.BEGIN}\nold figures\n{peers.END}\nafter\n")
    quick = ["--games", "tic_tac_dice", "--seconds", "0.04", "--repeats", "1", "--chart", str(drawn)]
    assert peers.main([*quick, "--page", str(page)]) == 0
    out = capsys.readouterr().out
    assert "PettingZoo's loop, Super / PettingZoo, tictactoe-v3" in out
    assert "the recipe, tictactoe-v3" in out
    for number, name in ((2, "pyspiel"), (1, "jax")):
        assert out.count(f"as {name} is not installed") == (0 if find_spec(name) else number)
    before, table, after = page.read_text().partition("### Ratios")
    assert before.startswith("before\n")
    assert after.endswith("\nafter\n")
    assert "old figures" not in before + after
    assert "the recipe, tictactoe-v3 |" in table + after
    texts = [each.text for each in ElementTree.parse(drawn).iter() if each.tag.endswith("text")]
    assert len(texts) % 2 == 0
    assert any("the recipe" in str(text) for text in texts)


def test_a_ratio_is_the_median_of_neighbouring_runs() -> None:
    pair = peers.Pair("a", "b", [2.0, 8.0, 9.0], [1.0, 2.0, 3.0])
    assert pair.ratio == 3.0
    assert peers.chart([pair, peers.Pair("slow", "b", [1.0], [10.0])]).count("<rect") == 3


def test_a_page_without_a_place_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    with pytest.raises(ValueError, match="no place for the table"):
        peers.write_page(page, Table("Ratios", (), [], ""))
    assert page.read_text() == "nothing\n"
