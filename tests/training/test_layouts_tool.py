"""Regret on layouts that are solved one by one."""

import runpy
import sys

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.evaluation import regret
from ttt_envs.evaluation.regret import regrets

GAME = ttt_envs.load("tic_tac_dice", rounds="single")


@pytest.mark.slow
def test_it_is_the_regret_that_is_measured_elsewhere():
    given = [agents.load(name) for name in ("oracle", "random")]
    best, worst = regrets(GAME, given, layouts=100, games=20, seed=1)
    assert np.abs(best).max() < 1e-9
    (expected,) = regret(GAME, ["random"], games=2000, seed=1, quiet=True).measurements
    assert worst.mean() == pytest.approx(expected.per_game, abs=0.03)


@pytest.mark.parametrize(
    ("game", "changes", "words"),
    [
        (ttt_envs.load("tic_tac_dice"), {}, "single rounds, not for"),
        (ttt_envs.load("super_tic_tac_toe"), {}, "no layouts to solve"),
        (GAME, {"layouts": 0}, "layouts must be a whole number from 1"),
    ],
)
def test_what_cannot_be_measured_is_refused(game, changes, words):
    with pytest.raises(ValueError, match=words):
        regrets(game, [agents.load("random")], **{"layouts": 1, **changes})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing", "--agents", "random"], "error: unknown game 'nothing'"),
        (["dice", "--agents", "random", "--layouts", "0"], "error: layouts must be a whole number from 1"),
    ],
)
def test_the_command_says_what_is_wrong_in_one_line(words, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["layouts", *words])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("training.layouts", run_name="__main__")
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith(said)
