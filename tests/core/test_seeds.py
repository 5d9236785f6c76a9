"""Seeds: one-way functions of what they are for, and 128 bits of a run that nobody gave a seed."""

from collections.abc import Callable

import numpy as np
import pytest
import slow_siphash
import toy_coin

from ttt_envs.core import rng
from ttt_envs.core.batch import Batch
from ttt_envs.core.rng import Purpose, Stream, decision_rows, derive, episode_seeds, new_key, stream_seeds
from ttt_envs.testing.positions import random_joint


def test_the_seeds_of_decisions_are_siphash_keyed_by_the_episode() -> None:
    batch = Batch(toy_coin.make(players=3), 20, seed=3)
    for ply in range(2):
        for player in range(3):
            for episode, seed in zip(batch.episode_seeds.tolist(), batch.view(player).seeds.tolist(), strict=True):
                key = np.array([episode, rng._EPISODE], "<u8").tobytes()
                message = np.array([int(Purpose.DECISION) + player, ply], "<u8").tobytes()
                assert seed == slow_siphash.siphash(key, message)
        batch.step(random_joint(batch))


def test_no_two_streams_of_a_decision_are_the_same() -> None:
    seeds = np.arange(100, dtype=np.uint64)
    found = np.concatenate([stream_seeds(seeds, stream, index) for stream in Stream for index in range(3)])
    assert len(np.unique(found)) == len(found)


def test_no_ply_repeats_a_players_seed() -> None:
    plies = np.concatenate([np.arange(5000), 2 ** np.arange(13, 31), 2 ** np.arange(13, 31) + 1, [2**31 - 1]])
    for player in range(3):
        found = np.empty(len(plies), np.uint64)
        decision_rows(np.full(len(plies), 9, np.uint64), np.full(len(plies), player), plies.astype(np.int32), found)
        assert len(np.unique(found)) == len(plies)
        kept = [0, 63, 64, 65, 4999, len(plies) - 1]
        assert found[kept].tolist() == [int(derive(9, Purpose.DECISION + player, int(plies[k]))) for k in kept]


X = np.arange(3, dtype=np.uint64)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: stream_seeds(X, Stream.WORLD, 2**32), ValueError, "index must be from 0 to"),
        (lambda: stream_seeds(X, Stream.WORLD, 0.5), TypeError, "float"),
        (lambda: stream_seeds(X, 7), TypeError, "stream must be a Stream, such as Stream.CHOICE, not 7"),
        (lambda: stream_seeds([1, 2], Stream.WORLD), TypeError, "seeds must be an array of uint64, not list"),
        (lambda: stream_seeds(X[:, None], Stream.WORLD), ValueError, r"shape \(n,\), not \(3, 1\)"),
        (lambda: episode_seeds(new_key(0), X, X[:2]), ValueError, r"episodes must have shape \(3,\), not \(2,\)"),
        (lambda: episode_seeds(new_key(0)[:1], X, X), ValueError, r"key must have shape \(2,\), not \(1,\)"),
    ],
)
def test_wrong_seeds_are_named(call: Callable[[], object], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_128_bits_make_a_key() -> None:
    game = toy_coin.make()
    one, two = Batch(game, 3, seed=5), Batch(game, 3, seed=5 + 2**64)
    assert not set(one.episode_seeds.tolist()) & set(two.episode_seeds.tolist())
    assert Batch(game, 1, seed=2**128 - 1).episode_seeds[0] == Batch(game, 9, seed=2**128 - 1).episode_seeds[0]
    keys = np.array([new_key(None) for _ in range(50)])
    assert len(np.unique(keys)) == 100, "both words are drawn"
    assert not set(Batch(game, 9).episode_seeds.tolist()) & set(Batch(game, 9).episode_seeds.tolist())
    with pytest.raises(ValueError, match=r"2\*\*128-1"):
        new_key(2**128)
