"""Hints of `ttt play`: the oracle where it answers in time, else a search."""

import re
import threading

import numpy as np
import pytest

import ttt_envs
from ttt_envs.agents.search.ismcts import ISMCTS
from ttt_envs.agents.search.mcts import MCTS
from ttt_envs.cli import hints
from ttt_envs.cli.hints import Adviser
from ttt_envs.core.game import Game
from ttt_envs.storage.tables import TableMissing

SUPER, DICE = "super_tic_tac_toe", "tic_tac_dice"


def advice(game: Game, *moves: str) -> str:
    states = game.new_state(2)
    for move in moves:
        states = game.step(states, [game.parse_action(move)])
    player = max(int(states["to_move"][0]), 0)
    view = ttt_envs.View(game, states, player, np.zeros(1, np.uint64))
    return "\n".join(Adviser().hint(view))


def test_a_hint_of_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "_PATIENCE", 300.0)
    told = advice(ttt_envs.load(SUPER))
    assert "Optimal play is worth +1.00 to you (the expected reward, exact).\nBest: 4/4.\n" in told
    assert re.search(r"Not proved: \d/\d, ", told)
    told = advice(ttt_envs.load(DICE, rounds="single"))
    assert re.search(r"Optimal play is worth [-+]0\.\d\d to you", told)
    assert re.search(r"Others: [A-I] \([-+]0\.\d\d\)", told)


@pytest.mark.slow
def test_a_hint_of_the_oracle_where_players_choose_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "_PATIENCE", 300.0)
    told = advice(ttt_envs.load("operation_tic_tac_toe", mode="round", specialists="none,none", max_idle_turns=2))
    assert re.search(r"Draw your move at random, .*: (spy to|predict) [A-I] \d+%, ", told)


def test_a_hint_where_the_oracle_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    game = ttt_envs.load(SUPER, won_boards="closed")
    monkeypatch.setattr(MCTS, "hint_simulations", 60)
    monkeypatch.setattr(hints, "_PATIENCE", 300.0)
    search = r"A search \(mcts:simulations=60\) estimates .*:\n  \d/\d: tried \d+ times, worth about [-+]"
    assert re.search(f"There is no oracle for this game with these options.\n{search}", advice(game))
    usual = ttt_envs.load(SUPER)
    assert re.search(f"The oracle does not cover this position.\n{search}", advice(usual, "4/0", "0/1"))

    def missing(self: Game) -> None:
        raise TableMissing("no table")

    monkeypatch.setattr(Game, "oracle", missing)
    assert re.search(f"The oracle's table is not built yet: `ttt solve` builds it.\n{search}", advice(usual))
    # One that works long goes on, and the next hint waits for it.
    monkeypatch.setattr(hints, "_PATIENCE", 0.05)
    free = threading.Event()

    def slow(self: Game) -> None:
        free.wait(60)
        raise NotImplementedError

    monkeypatch.setattr(Game, "oracle", slow)
    adviser, states = Adviser(), usual.new_state(0)
    view = ttt_envs.View(usual, states, 0, np.zeros(1, np.uint64))
    for _ in range(2):
        assert "It is still at work; a later hint may have its answer." in list(adviser.hint(view))
    free.set()
    monkeypatch.setattr(hints, "_PATIENCE", 300.0)
    assert "There is no oracle for this game with these options." in list(adviser.hint(view))


def test_a_hint_knows_no_more_than_the_player(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ISMCTS, "hint_simulations", 60)
    game = ttt_envs.load("tic_tac_match", max_turns=12)
    states = game.new_state(2)
    view = ttt_envs.View(game, states, 1, np.zeros(1, np.uint64))
    told = set()
    for world in (states, *(view.sample_worlds(seed) for seed in range(3))):
        told.add("\n".join(Adviser().hint(ttt_envs.View(game, world, 1, np.zeros(1, np.uint64)))))
    assert len(told) == 1
    assert "A search (ismcts:simulations=60)" in told.pop()
