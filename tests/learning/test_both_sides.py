"""PPO's self-play from both sides, and the magnet: advantages against a slow sum, the divergence, a run of each."""

from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from small_training import DICE, GAME, tiny

import ttt_envs
from ttt_envs import agents
from ttt_envs.learning import checkpoint, ppo
from ttt_envs.learning.both_sides import BothSidesEnv, MoverGames, ZeroSumBuffer
from ttt_envs.learning.magnets import MagnetPolicy


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


def magnetic(folder: Path, **changes: object) -> tuple[MagnetPolicy, ppo.Config]:
    config = tiny(folder, magnet=0.5, entropy=0.25, **changes)
    policy = ppo.make_model(config, ttt_envs.load(GAME)).policy
    assert isinstance(policy, MagnetPolicy)
    return policy, config


def test_the_bonus_is_entropy_less_the_divergence_from_the_magnet(tmp_path: Path) -> None:
    policy, _ = magnetic(tmp_path)
    generator = torch.Generator().manual_seed(0)
    seen = torch.randint(0, 2, (6, 191), generator=generator).float()
    masks = torch.rand((6, 81), generator=generator) < 0.4
    masks[:, 0] = True
    chosen = torch.zeros(6, dtype=torch.long)

    def logits() -> np.ndarray:
        with torch.no_grad():
            found = policy.action_net(policy.mlp_extractor.forward_actor(seen)).numpy()
        return np.where(masks.numpy(), found, -np.inf)

    def softmax(values: np.ndarray) -> np.ndarray:
        weights = np.exp(values - values.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def expected(now: np.ndarray, magnet: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = -np.nansum(now * np.log(now), axis=1)
            divergence = np.nansum(now * (np.log(now) - np.log(magnet)), axis=1)
        return 0.25 * entropy - 0.5 * divergence

    start = softmax(logits())
    bonus = policy.evaluate_actions(seen, chosen, masks)[2]
    assert np.allclose(bonus.detach().numpy(), expected(start, start), atol=1e-5)
    with torch.no_grad():
        policy.action_net.bias += torch.randn(81, generator=generator)
    moved = softmax(logits())
    bonus = policy.evaluate_actions(seen, chosen, masks)[2]
    assert np.allclose(bonus.detach().numpy(), expected(moved, start), atol=1e-5)
    policy.follow(1.0)
    bonus = policy.evaluate_actions(seen, chosen, masks)[2]
    assert np.allclose(bonus.detach().numpy(), expected(moved, moved), atol=1e-5)


def test_the_magnet_follows_slowly_and_is_no_parameter_that_is_learned(tmp_path: Path) -> None:
    policy, _ = magnetic(tmp_path)
    learned = {id(each) for group in policy.optimizer.param_groups for each in group["params"]}
    assert not learned & {id(each) for each in policy.magnet_net.parameters()}
    with torch.no_grad():
        policy.action_net.bias += 1
    before = policy.magnet_net[-1].bias.clone()
    policy.follow(0.25)
    assert torch.allclose(policy.magnet_net[-1].bias, before + 0.25)


def test_a_run_with_a_magnet_goes_on_with_its_magnet(tmp_path: Path) -> None:
    config = tiny(tmp_path / "x", magnet=0.1, entropy_final=0.0, steps=256)
    ppo.train(config)
    model = ppo.make_model(config, ttt_envs.load(GAME))
    fresh = model.policy.magnet_net[-1].weight.clone()
    assert checkpoint.restore(config.out, ppo.parts_of(model)) == 256
    kept = model.policy.magnet_net[-1].weight
    assert not torch.equal(kept, fresh), "the magnet did not follow"
    assert not torch.equal(kept, model.policy.action_net.weight), "it is the policy itself"
    assert ppo.train(tiny(config.out, magnet=0.1, entropy_final=0.0, resume=True)).steps == 512
