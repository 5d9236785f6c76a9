"""The knowledge of players: digests of all that each was shown and has done, ply by ply, with perfect recall.

    digests = known.begin(len(states), game.num_players)
    known.show(game, states, digests)  # at every ply, in games that are not over
    known.note(digests, actions)

Two positions have the same digest for a player if all observations and masks that the player was shown, at every ply,
whoever acted, and all their own actions were the same. A digest has 128 bits; that two different histories share one is
as unlikely as one in 2**128 for each pair. Players who act at once do not see each other's choice.
"""

import numpy as np

from ttt_envs.core import jit, rng
from ttt_envs.core.game import Game

# Rows observed at once: enough to make Python's share small, few enough to stay in a processor's cache.
_CHUNK = 1 << 14

_OTHER = np.uint64(0xD6E8FEB86659FD93)


def begin(n: int, players: int) -> np.ndarray:
    """The digests of n games in which nothing was shown yet: uint64 (n, players, 2)."""
    return np.broadcast_to(rng.fold(0, 0), (n, players, 2)).copy()


def show(game: Game, states: np.ndarray, digests: np.ndarray) -> np.ndarray:
    """Let the digests, uint64 (n, players, 2), take in what all players are shown in the positions, structured (n,).

    Returns the players' masks, bool (players, n, num_actions).
    """
    masks = np.empty((game.num_players, len(states), game.num_actions), np.bool_)
    seen = np.empty((min(len(states), _CHUNK), game.observation_size), np.int8)
    for first in range(0, len(states), _CHUNK):
        some = states[first : first + _CHUNK]
        for player in range(game.num_players):
            who, mask = np.full(len(some), player), masks[player, first : first + _CHUNK]
            game.loops.mask_rows(some, who, mask)
            game.loops.observe_rows(some, who, seen[: len(some)])
            digest = digests[first : first + _CHUNK, player]
            absorb_rows(digest, seen[: len(some)].view(np.uint8))
            absorb_rows(digest, mask.view(np.uint8))
    return masks


def note(digests: np.ndarray, actions: np.ndarray) -> None:
    """Let the digests, uint64 (n, players, 2), take in each player's own action, int64 (n, players); -1 for none."""
    for player in range(digests.shape[1]):
        done = np.ascontiguousarray(actions[:, player : player + 1]).view(np.uint8)
        absorb_rows(digests[:, player], done)


class Known:
    """What the players of n games know, while these are played.

    Attributes:
        digests: uint64 (n, players, 2).
    """

    def __init__(self, game: Game, n: int) -> None:
        """All games begin."""
        self._game = game
        self.digests = begin(n, game.num_players)

    def begin(self, rows: np.ndarray) -> None:
        """These games begin anew."""
        self.digests[rows] = begin(len(rows), self._game.num_players)

    def show(self, rows: np.ndarray, states: np.ndarray) -> None:
        """All players look at these games, whose positions are `states`, structured (k,), none of them over."""
        digests = self.digests[rows]
        show(self._game, states, digests)
        self.digests[rows] = digests

    def note(self, rows: np.ndarray, actions: np.ndarray) -> None:
        """The actions int64 (k, players) are played in these games; -1 for players who do not act."""
        digests = self.digests[rows]
        note(digests, actions)
        self.digests[rows] = digests


@jit.kernel
def absorb_rows(digests, rows):  # type: ignore[no-untyped-def]
    """Let each digest, uint64 (n, 2), take in a row of `rows`, uint8 (n, k)."""
    for i in range(rows.shape[0]):
        first, second, word = digests[i, 0], digests[i, 1], np.uint64(0)
        for k in range(rows.shape[1]):
            word = word << np.uint64(8) | np.uint64(rows[i, k])
            if k % 8 == 7 or k == rows.shape[1] - 1:
                first = rng.mix(first ^ word)
                second = rng.mix(second ^ rng.mix(word ^ _OTHER))
                word = np.uint64(0)
        digests[i, 0], digests[i, 1] = first, second
