"""One game in progress, played move by move. Simultaneous choices are kept until all are made."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ttt_envs.core import information
from ttt_envs.core.checks import IllegalAction, check_players, explain
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players
from ttt_envs.core.observation_layout import MOST_HISTORY
from ttt_envs.core.rng import first_episode_seed
from ttt_envs.core.view import View

_FIRST = np.zeros(1, np.int64)


def _whole(name: str, value: Any) -> int:
    """Return `value` if it is a whole number; else raise TypeError naming `name`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    return int(value)


class PlayedGame:
    """A game with all its positions so far. The seed and the actions determine it, so a file needs only these.

    Attributes:
        game: the game.
        episode_seed: the seed of all chance in the game and of its players' decisions, from 0 to 2**64-1.
        states: structured (1,) each, from the start to the present position.
        actions: the actions in all positions but the last: one per player, -1 for players who did not act.
        waiting: player -> action, the choices made so far in the present turn, secret until all are made.
        rounds: the plies after which a round ended inside a match.
    """

    def __init__(
        self,
        game: Game,
        episode_seed: int,
        actions: Iterable[Sequence[int]] = (),
        waiting: Mapping[int, int] | None = None,
    ) -> None:
        """Set up the game and play `actions`; raise TypeError or ValueError for values that do not fit the game."""
        if not 0 <= _whole("episode_seed", episode_seed) < 2**64:
            raise ValueError(f"episode_seed must be from 0 to 2**64-1, not {episode_seed}")
        self.game, self.episode_seed = game, int(episode_seed)
        # Random numbers, so that no agent can derive the seed from them.
        self._episodes = np.random.default_rng().integers(2**53, size=game.num_players)
        start = game.prototype.copy()
        game.loops.reset_rows(start, _FIRST, game.prototype, self._seeds)
        self.states = [start]
        self._shown: list[np.ndarray] = []
        self.actions: list[tuple[int, ...]] = []
        self.waiting: dict[int, int] = {}
        self.rounds: list[int] = []
        for joint in actions:
            self.play(joint)
        for player, action in (waiting or {}).items():
            self.choose(player, action)

    @classmethod
    def begin(cls, game: Game, seed: int | None = None) -> Self:
        """Return the first game of `Batch(game, 1, seed=seed)`; raise TypeError or ValueError for a wrong seed."""
        return cls(game, first_episode_seed(seed))

    @property
    def ply(self) -> int:
        """Number of plies played."""
        return len(self.actions)

    @property
    def state(self) -> np.ndarray:
        """The present position, structured (1,)."""
        return self.states[-1]

    @property
    def over(self) -> bool:
        """True once the game has ended."""
        return bool(self.state["done"][0])

    def acting(self, ply: int | None = None) -> list[int]:
        """Return the players who act after `ply` plies, by default now."""
        state = self._position(ply)
        return [] if state["done"][0] else acting_players(self.game, state, _FIRST)[1].tolist()

    def asked(self) -> list[int]:
        """Return the acting players who have not chosen yet."""
        return [player for player in self.acting() if player not in self.waiting]

    def legal(self, player: int) -> list[int]:
        """Return the actions that `player` can choose now; none for players who do not act or have chosen."""
        return np.flatnonzero(self._mask(player)).tolist() if player in self.asked() else []

    def choose(self, player: int, action: int) -> bool:
        """Choose an action for a player; play the ply and return True if all acting players have chosen.

        Raises IllegalAction, a ValueError, for an action that the player cannot play now; TypeError for anything but a
        whole number.
        """
        player, action = _whole("player", player), _whole("action", action)
        self._check(player, action)
        self.waiting[player] = action
        if self.asked():
            return False
        self._step()
        return True

    def play(self, actions: Sequence[int]) -> None:
        """Play a ply: `actions` has one number per player, -1 for players who do not act.

        Raises IllegalAction, a ValueError, for an illegal or missing action; TypeError for anything but whole numbers.
        The game is then unchanged.
        """
        if self.over:
            raise IllegalAction("the game is over")
        numbers = [_whole(f"the action of player {player}", action) for player, action in enumerate(actions)]
        given = {player: action for player, action in enumerate(numbers) if action >= 0}
        for player, action in given.items():
            self._check(player, action)
        for player in self.asked():
            if player not in given:
                raise IllegalAction(f"player {player} has to choose an action, too")
        self.waiting.update(given)
        self._step()

    def take_back(self, ply: int) -> None:
        """Return to the position after `ply` plies and forget later choices; raise IndexError for other plies."""
        self._position(ply)
        del self.states[ply + 1 :], self.actions[ply:], self._shown[ply + 1 :]
        self.waiting, self.rounds = {}, [each for each in self.rounds if each <= ply]

    def last_decision(self, players: Sequence[int]) -> int | None:
        """Return the number of plies before the last decision of any of `players`; None if there was none."""
        if any(player in self.waiting for player in players):
            return self.ply
        plies = range(self.ply - 1, -1, -1)
        return next((ply for ply in plies if any(self.actions[ply][player] >= 0 for player in players)), None)

    def view(self, player: int, ply: int | None = None) -> View:
        """Return the view of `player` in the position after `ply` plies, by default now.

        For the present position, `View.episodes` is the number of this game. An earlier position gets a number of its
        own, so that looking back does not change an agent's memory of the present game.

        Raises TypeError or ValueError for a player who does not exist, IndexError for a ply that has not been played.
        """
        players = check_players(player, 1, self.game.num_players)
        position = self._position(ply)
        ply = self.ply if ply is None else ply
        episodes = self._episodes[players] if ply == self.ply else np.random.default_rng().integers(2**53, size=1)
        return View.unchecked(
            self.game,
            position,
            players,
            self._seeds,
            episodes=episodes,
            info_state_keys=self._digests(ply)[:, players[0]],
            past=self._past(int(players[0]), ply),
        )

    def _past(self, player: int, ply: int) -> np.ndarray:
        """Return a player's last decisions before this ply, as in `View.past`: int8 (1, MOST_HISTORY, features)."""
        own = [k for k in range(ply - 1, -1, -1) if self.actions[k][player] >= 0][:MOST_HISTORY]
        past = np.zeros((1, MOST_HISTORY, self.game.observation_size + self.game.num_actions), np.int8)
        if own:
            states = np.concatenate([self.states[k] for k in own])
            chosen = np.array([self.actions[k][player] for k in own])
            past[0, : len(own)] = information.decisions(self.game, states, player, chosen)
        return past

    def ended_round(self, ply: int) -> np.ndarray | None:
        """Return the final board, structured (1,), if ply number `ply` ended a round inside a match; else None."""
        if ply < 1:
            return None
        joint = np.array(self.actions[ply - 1])
        return self.game.faces.finished_round(self.states[ply - 1][0], joint, self.states[ply][0])

    def aside(self, ply: int) -> str:
        """Return the log's remark on the actions of ply number `ply`, from 1; see `Faces.aside`."""
        joint = np.array(self.actions[ply - 1])
        return self.game.faces.aside(self.states[ply - 1][0], joint, self.states[ply][0])

    def _digests(self, ply: int) -> np.ndarray:
        """Return digests of the players' information after `ply` plies, uint64 (1, players, 2); see `information`."""
        while len(self._shown) <= ply:
            before = len(self._shown)
            digests = self._shown[-1].copy() if before else information.begin(1, self.game.num_players)
            if before:
                information.note(digests, np.array([self.actions[before - 1]], np.int64))
            information.show(self.game, self.states[before], digests)
            self._shown.append(digests)
        return self._shown[ply]

    @property
    def _seeds(self) -> np.ndarray:
        return np.array([self.episode_seed], np.uint64)

    def _position(self, ply: int | None) -> np.ndarray:
        if ply is not None and not 0 <= ply <= self.ply:
            raise IndexError(f"there is no position after {ply} plies: {self.ply} were played")
        return self.states[self.ply if ply is None else ply]

    def _mask(self, player: int) -> np.ndarray:
        mask = np.empty(self.game.num_actions, np.bool_)
        self.game.loops.mask_one(self.state, 0, player, mask)
        return mask

    def _check(self, player: int, action: int) -> None:
        if player not in self.asked():
            reason = "has chosen already" if player in self.waiting else "is not to move"
            raise IllegalAction("the game is over" if self.over else f"player {player} {reason}")
        if not 0 <= action < self.game.num_actions:
            raise IllegalAction(f"actions are numbers from 0 to {self.game.num_actions - 1}, not {action}")
        mask = self._mask(player)
        if not mask[action]:
            raise IllegalAction(explain(self.game, f"player {player}", action, mask))

    def _step(self) -> None:
        joint = tuple(self.waiting.get(player, -1) for player in range(self.game.num_players))
        after = self.state.copy()
        self.game.loops.step_rows(after, _FIRST, np.array([joint], np.int64))
        self.states.append(after)
        self.actions.append(joint)
        self.waiting = {}
        if self.ended_round(self.ply) is not None:
            self.rounds.append(self.ply)
