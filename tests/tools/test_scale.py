"""The measurement of tournaments by several workers."""

import pytest

from tools import scale


def test_each_engine_is_measured_and_the_crossing_is_named(monkeypatch, capsys):
    """By a clock on which a game takes a second, half of it with workers, and their start 100 seconds."""
    now, calls = [0.0], []

    def played(game, agents, *, games, resamples, quiet, engine=None, workers=None, **options):
        calls.append((game, options, games, engine, workers))
        now[0] += games if engine is None else 100 + games / 2

    monkeypatch.setattr(scale, "tournament", played)
    monkeypatch.setattr(scale.time, "perf_counter", lambda: now[0])
    words = ["tic_tac_dice", "--option", "rounds=single", "--games", "100", "1000", "--workers", "2", "--repeats", "2"]
    scale.main(words)
    shown = " ".join(capsys.readouterr().out.split())
    assert "1,000 1000.0 s 600.0 s" in shown
    assert "processes: faster from 1,000 games on. 2 workers; load average before:" in shown
    assert (
        calls[2:6]
        == [("tic_tac_dice", {"rounds": "single"}, 100, *how) for how in ((None, None), ("processes", 2))] * 2
    )
    scale.main(["tic_tac_dice", "--games", "100", "--ray", "--repeats", "1"])
    assert "ray: never faster for good" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("seconds", "least"), [([(1, 2), (2, 1), (3, 1)], 20), ([(2, 1), (1, 2), (3, 1)], 30), ([(1, 1)] * 3, None)]
)
def test_where_workers_gain(seconds, least):
    """A size from which on all are faster: an earlier one that is by chance does not count."""
    rows = [(10 * (k + 1), {"one": one, "ray": several}) for k, (one, several) in enumerate(seconds)]
    assert scale.gains_from(rows, "ray") == least
