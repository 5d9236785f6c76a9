"""A best response in a round, against a slow one and what is known of it."""

from itertools import product

import numpy as np
import pytest
from slow_dice_solver import ROLLS, ROWS

import ttt_envs
from ttt_envs import agents
from ttt_envs.evaluation.exploitability import measure

GAME = ttt_envs.load("tic_tac_dice", rounds="single")


def lopsided(owners, masks):
    """A policy that treats no two cells and no two boards alike: owners (n, 9), masks (n, 9) -> chances (n, 9)."""
    cells = np.arange(9)
    weights = masks * (1 + (7 * cells + 3 * (owners.astype(int) @ cells)[:, None]) % 5)
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)


def asked(states, players):
    masks = np.empty((len(states), GAME.num_actions), np.bool_)
    GAME.loops.mask_rows(states, players, masks)
    return lopsided(states["owner"], masks)


class SlowResponse:
    """What `player` gets, who plays best against `lopsided`; a board is a tuple of owners."""

    def __init__(self, ranks, player):
        self.ranks, self.player, self.known = ranks, player, {}

    def claim(self, board, who, cell, doubles):
        board = (*board[:cell], who + 1, *board[cell + 1 :])
        sign = 1 if who == self.player else -1
        if any(all(board[k] == who + 1 for k in row) for row in ROWS[3, 3]):
            return sign
        if 0 not in board:
            ahead = board.count(self.player + 1) - board.count(2 - self.player)
            return 0.5 * np.sign(ahead)
        return self.values(board)[who if doubles else 1 - who]

    def values(self, board):
        if board not in self.known:
            # Rolls that allow nothing lead back to here: value = constant + repeat @ value.
            constant, repeat = np.zeros(2), np.zeros((2, 2))
            for who, (one, two) in product((0, 1), ROLLS):
                cells = [k for k in range(9) if board[k] == 0 and self.ranks[k] in (one, two, one + two)]
                if cells:
                    constant[who] += self.turn(board, who, cells, one == two) / 36
                else:
                    repeat[who, who if one == two else 1 - who] += 1 / 36
            self.known[board] = np.linalg.solve(np.eye(2) - repeat, constant)
        return self.known[board]

    def turn(self, board, who, cells, doubles):
        after = np.array([self.claim(board, who, cell, doubles) for cell in cells])
        if who == self.player:
            return after.max()
        mask = np.isin(np.arange(9), cells)
        return after @ lopsided(np.array([board]), mask[None])[0, cells]


@pytest.mark.parametrize("player", [0, 1])
def test_a_best_response_is_that_of_the_slow_one(player):
    batch = ttt_envs.Batch(GAME, 40, seed=6)
    generator = np.random.default_rng(2)
    while (batch.states["ply"][~batch.done] < 5).any():
        masks = batch.masks()
        batch.step(np.array([generator.choice(np.flatnonzero(row)) if row.any() else 0 for row in masks]))
    states = batch.states[~batch.done][:8]
    assert {0, 1} == set(states["to_move"].tolist())
    found = GAME.oracle().best_response_from(asked, states, player)
    for state, value in zip(states, found, strict=True):
        slow, who = SlowResponse(state["rank"].tolist(), player), int(state["to_move"])
        board, (one, two) = tuple(state["owner"].tolist()), state["dice"].tolist()
        cells = [k for k in range(9) if board[k] == 0 and slow.ranks[k] in (one, two, one + two)]
        assert value == pytest.approx(slow.turn(board, who, cells, one == two), abs=1e-9)


def test_nothing_beats_best_play():
    oracle, starts = GAME.oracle(), ttt_envs.Batch(GAME, 1, seed=3).states
    for player in (0, 1):
        found = oracle.best_response_from(oracle.policy, starts, player)
        assert found == pytest.approx(oracle.value(starts, player), abs=1e-12)


@pytest.mark.slow
def test_the_exploitability_of_an_agent():
    best = measure(GAME, agents.load("oracle"), starts=2)
    assert abs(best.exploitability) < 1e-12
    random = measure(GAME, agents.load("random"), starts=12)
    assert (random.starts, random.samples) == (12, 0)
    assert random.exploitability - random.half_width > 0.2
    assert random.exploitability + random.half_width < 0.4


def test_finished_rounds_and_wrong_policies():
    oracle, batch = GAME.oracle(), ttt_envs.Batch(GAME, 30, seed=3)
    player = agents.load("random")
    while not batch.done.all():
        batch.step(player.act(batch.view()))
    for who in (0, 1):
        assert (oracle.best_response_from(asked, batch.states, who) == batch.states["rewards"][:, who]).all()
    starts = ttt_envs.Batch(GAME, 1, seed=3).states
    with pytest.raises(ValueError, match="must have shape"):
        oracle.best_response_from(lambda states, players: np.ones((len(states), 2)), starts, 0)
    with pytest.raises(ValueError, match="player must be from 0 to 1, not 2"):
        oracle.best_response_from(asked, starts, 2)
