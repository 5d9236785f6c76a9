"""What an agent is handed does not give the others away: two attacks on seeds that once worked.

They are tried in every game with chance, hidden information or simultaneous choices.
"""

from collections.abc import Callable

import numpy as np
import pytest
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core import rng
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.rng import Purpose, Stream, decision_rows, derive, episode_seeds, new_key, stream_seeds

MODULUS, GOLDEN = 1 << 64, 0x9E3779B97F4A7C15

#: Small seeds that an attacker tries.
TABLE = 300


def games() -> list[Game]:
    """The games of the registry in which something must not be known in advance, with one option set each."""
    found = [ttt_envs.load(game_id, **options[0]) for game_id, options in OPTIONS.items()]
    return [game for game in found if game.stochastic or game.hidden_information or game.simultaneous]


# --- running derivations backwards ---


def unmix(x: int) -> int:
    def unshift(x: int, by: int) -> int:
        found = x
        for _ in range(64 // by + 1):
            found = x ^ (found >> by)
        return found

    x = unshift(x, 31) * pow(0x94D049BB133111EB, -1, MODULUS) % MODULUS
    x = unshift(x, 27) * pow(0xBF58476D1CE4E5B9, -1, MODULUS) % MODULUS
    return unshift(x, 30)


def unfold(x: int, index: int) -> int:
    """The seed of which `x` is the `index`-th fold."""
    return unmix((unmix(x) - GOLDEN * (index + 1)) % MODULUS)


def fold(x: int, index: int) -> int:
    return int(rng.fold(np.uint64(x), np.uint64(index)))


def guesses(own: int, mine: int, other: int, ply: int) -> set[int]:
    """What another player's seed would be if decisions' seeds came by folds: the attack that beat an oracle.

    Numbers of players were counted from 0 or 1, and folded in before or after the ply.
    """
    found = set()
    for first in (0, 1):
        found.add(fold(fold(unfold(unfold(own, ply), first + mine), first + other), ply))
        found.add(fold(fold(unfold(unfold(own, first + mine), ply), ply), first + other))
        found.add(fold(unfold(own, first + mine), first + other))
    return found


@pytest.mark.parametrize("game", games(), ids=lambda game: game.id)
def test_own_seeds_do_not_tell_the_others(game: Game) -> None:
    batch = Batch(game, 40, seed=3)
    seeds = [batch.view(player).seeds for player in range(game.num_players)]
    everything = {int(seed) for each in seeds for seed in each} | set(batch.episode_seeds.tolist())
    assert len(everything) == (game.num_players + 1) * batch.n, "two seeds are the same"
    for mine in range(game.num_players):
        for other in set(range(game.num_players)) - {mine}:
            for own in seeds[mine].tolist():
                found = guesses(own, mine, other, 0)
                assert not found & (everything - {own})
                # Nor do they lead back to the episode, in the forms that a step of it is undone.
                assert not {unmix(own), unfold(own, 0), unfold(unfold(own, 0), mine)} & everything


# --- trying all small seeds ---


def table(game: Game, player: int) -> dict[int, int]:
    """Seed of the first decision -> episode seed, for the first game of all runs with a small seed."""
    nothing = np.zeros(1, np.uint64)
    episodes = [int(episode_seeds(new_key(seed), nothing, nothing)[0]) for seed in range(TABLE)]
    return {int(derive(np.uint64(episode), int(Purpose.DECISION) + player, 0)): episode for episode in episodes}


@pytest.mark.parametrize("game", games(), ids=lambda game: game.id)
def test_a_table_of_small_seeds_finds_no_seed_of_the_system(game: Game) -> None:
    player = 0
    known = table(game, player)
    # A small seed is found, as the pages say: the attack is one.
    small = Batch(game, 1, seed=TABLE // 2)
    assert known[int(small.view(player).seeds[0])] == int(small.episode_seeds[0])
    for _ in range(20):
        batch = Batch(game, 50)
        assert not set(batch.view(player).seeds.tolist()) & set(known)


def test_no_two_streams_of_a_decision_are_the_same() -> None:
    seeds = np.arange(100, dtype=np.uint64)
    found = np.concatenate([stream_seeds(seeds, stream, index) for stream in Stream for index in range(3)])
    assert len(np.unique(found)) == len(found)


def test_no_ply_repeats_a_players_seed() -> None:
    """Of plies as far as the field goes; a longer game than any shipped one must not come round to its seeds."""
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
    """Kernels would read beyond arrays that are too short, or be compiled for the wrong kind."""
    with pytest.raises(kind, match=words):
        call()


def test_128_bits_make_a_key() -> None:
    game = games()[0]
    one, two = Batch(game, 3, seed=5), Batch(game, 3, seed=5 + 2**64)
    assert not set(one.episode_seeds.tolist()) & set(two.episode_seeds.tolist())
    assert Batch(game, 1, seed=2**128 - 1).episode_seeds[0] == Batch(game, 9, seed=2**128 - 1).episode_seeds[0]
    keys = np.array([new_key(None) for _ in range(50)])
    assert len(np.unique(keys)) == 100, "both words are drawn"
    with pytest.raises(ValueError, match=r"2\*\*128-1"):
        new_key(2**128)
