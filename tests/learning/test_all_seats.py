"""PPO's self-play from both sides: advantages against a slow sum, and a run."""

from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from small_training import DICE, tiny

import ttt_envs
from ttt_envs import agents
from ttt_envs.learning import ppo
from ttt_envs.learning.all_seats import BothSidesEnv, MoverGames, ZeroSumBuffer


def test_the_learner_has_the_seat_of_the_mover_and_gets_the_movers_reward():
    games = MoverGames(ttt_envs.load("tic_tac_dice", rounds="single"), 64)
    games.reset(seed=3)
    generator = np.random.default_rng(0)
    finished = 0
    for _ in range(60):
        movers = games.batch.to_move.copy()
        assert np.array_equal(games.players, movers)
        masks = games.masks()
        games.step((generator.random(masks.shape) * masks).argmax(axis=1))
        going = ~games.done
        assert not games.rewards[going].any()
        assert np.array_equal(games.same_side[going], movers[going] == games.batch.to_move[going])
        assert np.array_equal(games.final_players if games.done.any() else movers[games.done], movers[games.done])
        finished += games.done.sum()
    assert finished > 200


def test_games_that_are_not_of_two_sides_in_turn_are_refused():
    for game in (
        ttt_envs.load("operation_tic_tac_toe"),
        ttt_envs.load("martian_tic_tac_toe", size=5, players=3),
    ):
        with pytest.raises(ValueError, match="two sides that move one at a time"):
            BothSidesEnv(game, 4)


class Scripted:
    """In the place of games: whether the same side moves again, ply after ply."""

    def __init__(self, same: np.ndarray) -> None:
        self.same, self.ply = same, -1

    @property
    def same_side(self) -> np.ndarray:
        self.ply += 1
        return self.same[self.ply]


def test_advantages_are_the_weighted_sums_of_errors_from_the_movers_view():
    plies, n, gamma, smoothing = 12, 5, 0.9, 0.7
    generator = np.random.default_rng(1)
    same = generator.random((plies, n)) < 0.3
    rewards = generator.normal(size=(plies, n)).astype(np.float32)
    values = generator.normal(size=(plies + 1, n)).astype(np.float32)
    over = generator.random((plies, n)) < 0.25
    buffer = ZeroSumBuffer(
        *(plies, Box(0, 1, (1,)), Discrete(2)), gae_lambda=smoothing, gamma=gamma, n_envs=n, games=Scripted(same)
    )
    starts = np.ones(n)
    for k in range(plies):
        buffer.add(
            *(np.zeros((n, 1)), np.zeros((n, 1)), rewards[k], starts),
            *(torch.as_tensor(values[k]), torch.zeros(n)),
            action_masks=np.ones((n, 2)),
        )
        starts = over[k]
    buffer.compute_returns_and_advantage(torch.as_tensor(values[-1]), over[-1])
    for i in range(n):
        for start in range(plies):
            total, sign, weight = 0.0, 1.0, 1.0
            for k in range(start, plies):
                turn = 1.0 if same[k, i] else -1.0
                following = 0.0 if over[k, i] else gamma * turn * values[k + 1, i]
                total += weight * sign * (rewards[k, i] + following - values[k, i])
                if over[k, i]:
                    break
                sign, weight = sign * turn, weight * gamma * smoothing
            assert buffer.advantages[start, i] == pytest.approx(total, abs=1e-4)
            assert buffer.returns[start, i] == pytest.approx(total + values[start, i], abs=1e-4)


def test_a_run_from_both_sides(tmp_path: Path) -> None:
    result = ppo.train(tiny(tmp_path / "x", both_sides=True, **DICE))
    assert result.steps == 512
    again = ppo.train(tiny(tmp_path / "again", both_sides=True, steps=256, **DICE))
    ppo.train(tiny(again.folder, both_sides=True, resume=True, **DICE))
    assert agents.load(f"network:{again.folder}").network.info.steps == 512
    one_seat = ppo.train(tiny(tmp_path / "seat", **DICE))
    files = [(each.folder / "network.safetensors").read_bytes() for each in (result, one_seat)]
    assert files[0] != files[1]
