"""The players' information: digests of their information states with perfect recall, and their last decisions.

Example::

    digests = known.begin(len(states), game.num_players)
    known.show(game, states, digests)  # at every ply of unfinished games
    known.note(digests, actions)

A player's digest covers the observations and masks that the player received at every ply, whoever acted, and the
player's own actions; not the choices of players who act simultaneously. Equal histories have equal digests. A digest
has 128 bits, so two different histories share one with probability 2**-128. Tables use digests as keys of information
states; networks use the observations at a player's last decisions, see `Game.layout`.
"""

from typing import Any

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.observation_layout import check_history
from ttt_envs.core.state import SIMULTANEOUS

# Stands for `core.game.Game`, whose module imports this one.
Game = Any

# Rows observed at once: enough to make Python's overhead small, few enough for the processor's cache.
_CHUNK = 1 << 14

_OTHER = np.uint64(0xD6E8FEB86659FD93)


def begin(n: int, players: int) -> np.ndarray:
    """Return the initial digests of n games, uint64 (n, players, 2)."""
    return np.broadcast_to(rng.fold(0, 0), (n, players, 2)).copy()


def show(game: Game, states: np.ndarray, digests: np.ndarray) -> np.ndarray:
    """Update the digests, uint64 (n, players, 2), with all players' observations and masks of states (n,).

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
    """Update the digests, uint64 (n, players, 2), with each player's own action, int64 (n, players); -1 for none."""
    for player in range(digests.shape[1]):
        done = np.ascontiguousarray(actions[:, player : player + 1]).view(np.uint8)
        absorb_rows(digests[:, player], done)


class Known:
    """The players' information in n games while they are played: digests and past decisions.

    Attributes:
        digests: uint64 (n, players, 2); None if they are not tracked.
        past: int8 (n, players, history, observation size + num_actions), each player's observations and actions at
            their last decisions, the newest first, see `Game.layout`; zeros for missing decisions.
    """

    digests: np.ndarray | None

    def __init__(self, game: Game, n: int, *, digests: bool = True, history: int = 0) -> None:
        """Begin all games. `history`: the number of each player's decisions to keep, see `check_history`."""
        check_history(history)
        self._game = game
        self.digests = begin(n, game.num_players) if digests else None
        self.past = np.zeros((n, game.num_players, history, game.observation_size + game.num_actions), np.int8)

    @property
    def history(self) -> int:
        """The number of past decisions kept per player."""
        return int(self.past.shape[2])

    def copy(self) -> "Known":
        """Return an independent copy."""
        new: Known = object.__new__(Known)
        new._game, new.past = self._game, self.past.copy()
        new.digests = None if self.digests is None else self.digests.copy()
        return new

    def keep(self, *, digests: bool, history: int) -> None:
        """From now on, also track digests if `digests`, and at least `history` past decisions."""
        if digests and self.digests is None:
            self.digests = begin(len(self.past), self._game.num_players)
        if history > self.history:
            check_history(history)
            self.past = np.pad(self.past, [(0, 0), (0, 0), (0, history - self.history), (0, 0)])

    def begin(self, rows: np.ndarray) -> None:
        """Reset the players' information in the games `rows`, int64 (k,)."""
        self.past[rows] = 0
        if self.digests is not None:
            self.digests[rows] = begin(len(rows), self._game.num_players)

    def show(self, rows: np.ndarray, states: np.ndarray) -> None:
        """Let all players observe the positions `states`, structured (k,), of the games `rows`, none of them over."""
        if self.digests is not None:
            digests = self.digests[rows]
            show(self._game, states, digests)
            self.digests[rows] = digests

    def note(self, rows: np.ndarray, states: np.ndarray, actions: np.ndarray) -> None:
        """Record the actions, int64 (k, players), -1 for none, in the positions `states` (k,) of the games `rows`."""
        self.put(rows, *self.after(rows, states, actions))

    def after(self, rows: np.ndarray, states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Return the digests and the past that `note` would give the games `rows`; change nothing, see `put`."""
        digests, past = None, self.past[rows]
        if self.digests is not None:
            digests = self.digests[rows]
            note(digests, actions)
        if self.history:
            for player in range(self._game.num_players):
                acted = np.flatnonzero(actions[:, player] >= 0)
                past[acted, player, 1:] = past[acted, player, :-1]
                past[acted, player, 0] = decisions(self._game, states[acted], player, actions[acted, player])
        return digests, past

    def put(self, rows: np.ndarray, digests: np.ndarray | None, past: np.ndarray) -> None:
        """Set the digests and the past of the games `rows`."""
        if self.digests is not None:
            self.digests[rows] = digests
        if self.history:
            self.past[rows] = past

    def of(self, rows: np.ndarray, players: np.ndarray) -> dict[str, Any]:
        """Return what these players, int64 (k,), know in the games `rows`, as keyword arguments of `View.unchecked`."""
        digests = None if self.digests is None else self.digests[rows, players]
        return {"info_state_keys": digests, "past": self.past[rows, players] if self.history else None}

    def encoded(self, rows: np.ndarray, players: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return the observations `seen`, int8 (k, observation size), with the players' past: int8 (k, size)."""
        return np.concatenate([seen, self.past[rows, players].reshape(len(seen), -1)], axis=1)


def decisions(game: Game, states: np.ndarray, player: int, actions: np.ndarray) -> np.ndarray:
    """Return the player's decisions, int8 (k, size): observations of states (k,), each with its action int64 (k,)."""
    out = np.zeros((len(states), game.observation_size + game.num_actions), np.int8)
    out[:, : game.observation_size] = game.observations(np.ascontiguousarray(states), player, check=False)
    out[np.arange(len(states)), game.observation_size + actions] = 1
    return out


def acting_players(game: Game, states: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the players who act in the games `rows` (int64) of `states`, none of them finished.

    Returns (game numbers, players), both int64 (k,). A game in which several players act simultaneously appears once
    per player.
    """
    to_move = states["to_move"][rows].astype(np.int64)
    turn = to_move != SIMULTANEOUS
    games, players = [rows[turn]], [to_move[turn]]
    at_once = rows[~turn]
    if len(at_once):
        positions = states.take(at_once)
        masks = np.empty((len(at_once), game.num_actions), np.bool_)
        for player in range(game.num_players):
            game.loops.mask_rows(positions, np.full(len(at_once), player), masks)
            acts = at_once[masks.any(axis=1)]
            games.append(acts)
            players.append(np.full(len(acts), player))
    return np.concatenate(games), np.concatenate(players)


def own_actions(game: Game, states: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """Return the actions of the acting players in unfinished states (k,), int64 (k, players), -1 for the others.

    `joint` is int64 (k, players), or (k, 1) for the player to move.
    """
    acts = np.zeros((len(states), game.num_players), np.bool_)
    acts[acting_players(game, states, np.arange(len(states)))] = True
    return np.where(acts, joint, -1)


@jit.kernel
def absorb_rows(digests, rows):  # type: ignore[no-untyped-def]
    """Update each digest, uint64 (n, 2), with a row of `rows`, uint8 (n, k)."""
    for i in range(rows.shape[0]):
        first, second, word = digests[i, 0], digests[i, 1], np.uint64(0)
        for k in range(rows.shape[1]):
            word = word << np.uint64(8) | np.uint64(rows[i, k])
            if k % 8 == 7 or k == rows.shape[1] - 1:
                first = rng.mix(first ^ word)
                second = rng.mix(second ^ rng.mix(word ^ _OTHER))
                word = np.uint64(0)
        digests[i, 0], digests[i, 1] = first, second
