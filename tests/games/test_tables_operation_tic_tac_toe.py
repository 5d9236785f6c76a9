"""Tables of Operation Tic-Tac-Toe: made once, checked, kept by a command."""

from pathlib import Path

import numpy as np
import pytest
from operation_positions import ID

import ttt_envs
from ttt_envs.games.operation_tic_tac_toe.solver import (
    MatchOracle,
    match,
    positions,
    rounds,
    tables,
)
from ttt_envs.games.operation_tic_tac_toe.solver.command import RoundValues
from ttt_envs.storage.files import InUse, locked_file
from ttt_envs.storage.tables import BadTable


@pytest.mark.slow
def test_the_table_in_the_package_is_what_the_solver_says():
    single, pairs = tables.read_tables(tables.SHIPPED, *tables.DEFAULTS)
    assert tables.SHIPPED.stat().st_size < 500_000
    assert single.shape == (8, 8, tables.POINTS)
    points = [40, 64, 88]
    solved = rounds.Rounds(positions.SINGLE_HANDS, 20, False, match.worths_of_a_draw(tables.POINTS)[points])
    for i, own in enumerate(match.HANDS):
        for j, other in enumerate(match.HANDS):
            solved.ensure(own, other)
            assert np.abs(solved.start_values(own, other) - single[i, j, points]).max() < 1e-7
    assert len(pairs) == 0 or pairs.shape == (28, 28, tables.PAIR_POINTS)


@pytest.mark.slow
def test_rounds_are_worked_out_in_parts(monkeypatch):
    hands = match.HANDS[:2]
    whole = match.round_values(hands, 2, False, 7)
    monkeypatch.setattr(match, "_AT_ONCE", 1)
    told: list[float] = []
    assert np.array_equal(match.round_values(hands, 2, False, 7, told.append), whole)
    assert told == sorted(told)
    # The more a draw is worth, the better; and if it is as good as a win, one may sit still.
    assert (np.diff(whole, axis=2) >= 0).all()
    assert (
        abs(whole[0, 1, 3] - ttt_envs.load(ID, mode="round", max_idle_turns=2).oracle().round_value("sniper", "ninja"))
        < 1e-12
    )


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("TTT_ENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tables, "POINTS", 3)
    monkeypatch.setattr(tables, "PAIR_POINTS", 3)
    monkeypatch.setattr(tables, "PAIR_HANDS", tables.PAIR_HANDS[:2])
    return tmp_path / "cache"


NO_PAIRS = np.empty((0, 0, 1))


def test_a_table_of_another_version_or_other_options_is_not_used(folder, monkeypatch):
    path = folder / "some.table"
    tables.write_tables(path, np.zeros((8, 8, 3)), NO_PAIRS, 5, False)
    for idle_turns, may_pass, words in (
        (6, False, '"max_idle_turns": 6, "allow_pass": false'),
        (5, True, '"max_idle_turns": 5, "allow_pass": true'),
    ):
        with pytest.raises(BadTable, match=f"not with .*{words}"):
            tables.read_tables(path, idle_turns, may_pass)
    monkeypatch.setattr(tables, "VERSION", 99)
    with pytest.raises(BadTable, match=r'"version": 2, .* not with .*"version": 99'):
        tables.read_tables(path, 5, False)


@pytest.mark.parametrize(
    ("single", "pairs", "words"),
    [
        (np.full((8, 8, 3), np.nan), NO_PAIRS, "not from -1 to 1"),
        (np.zeros((8, 8, 3)), np.full((28, 28, 3), np.inf), "not from -1 to 1"),
        (np.zeros((8, 8, 0)), NO_PAIRS, "it says that it has values for 0 worths"),
        (np.zeros((8, 8, 20_000)), NO_PAIRS, "it says that it has values for 20000 worths"),
        (np.zeros((2, 2, 3)), NO_PAIRS, "it must have 192 values, not 12"),
    ],
)
def test_a_table_of_wrong_values_is_refused_even_with_the_right_checksum(tmp_path, single, pairs, words):
    path = tmp_path / "some.table"
    tables.write_tables(path, single, pairs, 5, False)
    with pytest.raises(BadTable, match=rf"some\.table is damaged: .*{words}"):
        tables.read_tables(path, 5, False)


def test_a_damaged_table_of_the_package_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    path = tmp_path / "shipped.table"
    path.write_bytes(tables.SHIPPED.read_bytes()[:-1])
    monkeypatch.setattr(tables, "SHIPPED", path)
    with pytest.raises(
        BadTable, match=r"shipped\.table is damaged: .*; it comes with the package: install ttt-envs again"
    ):
        MatchOracle(ttt_envs.load(ID)).start_value()  # the game keeps an oracle that other tests have asked


@pytest.mark.slow
def test_the_command_writes_a_table(folder):
    path, told = folder / "some" / "table", []
    options = ttt_envs.load(ID, max_idle_turns=1, allow_pass=True).options
    printed = RoundValues(overtime=True, out=path).run(options, lambda what, share: told.append(what))
    assert str(path) in printed
    assert list(dict.fromkeys(told)) == [
        "rounds with one specialist per player",
        "rounds with two specialists per player",
    ]
    single, pairs = tables.read_tables(path, 1, True)
    assert single.shape == (8, 8, 3)
    assert pairs.shape == (2, 2, 3)
    hands = ("sniper", "ninja"), ("sniper", "assassin")
    game = ttt_envs.load(ID, mode="round", max_idle_turns=1, allow_pass=True, specialists=hands)
    assert abs(game.oracle().round_value(*hands) - pairs[0, 1, 1]) < 1e-6


@pytest.mark.parametrize(("out", "words"), [(".", "is a folder, not a file"), ("/dev/null/table", "/dev/null")])
def test_the_command_refuses_a_place_before_the_work(out, words):
    with pytest.raises(OSError, match=words):
        RoundValues(out=Path(out)).run(ttt_envs.load(ID).options, lambda what, share: pytest.fail("at work"))


def test_the_command_does_not_overwrite_the_table_in_the_package():
    with pytest.raises(ValueError, match="come with the package"):
        RoundValues().run(ttt_envs.load(ID).options, lambda what, share: pytest.fail("at work"))


def test_the_command_is_refused_while_another_process_makes_the_table(folder):
    path = tables.table_path(1, False)
    with locked_file(path), pytest.raises(InUse, match=r"toe-1\.table is being written by process \d+"):
        RoundValues().run(ttt_envs.load(ID, max_idle_turns=1).options, lambda what, share: pytest.fail("at work"))
