"""Table: one game that is being played, move by move, with choices that wait for those of other players."""

from collections.abc import Sequence

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.illegal import IllegalAction, explain
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.core.view import View


class Table:
    """A game with all its positions so far. It follows from the seed and the actions alone, so that these are its file.

    Attributes:
        game: the game.
        seed: seed of all chance and of the agents, from 0 to 2**128-1.
        states: structured (1,) each, the start first, the present last.
        actions: what was played in all positions but the last: one number a player, -1 for those who did not act.
        waiting: player -> action, choices of the present turn that nobody else knows until all have chosen.
        rounds: the numbers of plies played when a round had ended inside a match.
    """

    def __init__(
        self, game: Game, seed: int, actions: Sequence[Sequence[int]] = (), waiting: dict[int, int] | None = None
    ) -> None:
        """Set up the game and play `actions` in it; ValueError for what does not fit the game."""
        self.game, self.seed = game, seed
        zero = np.zeros(1, np.uint64)
        self._episode = episode_seeds(new_key(seed), zero, zero)
        start = game.prototype.copy()
        game.loops.reset_rows(start, np.zeros(1, np.int64), game.prototype, self._episode)
        self.states = [start]
        self.actions: list[tuple[int, ...]] = []
        self.waiting: dict[int, int] = {}
        self.rounds: list[int] = []
        for joint in actions:
            for player, action in enumerate(joint):
                if action >= 0:
                    self.choose(player, action)
        for player, action in (waiting or {}).items():
            self.choose(player, action)

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
        """Whether the game has ended."""
        return bool(self.state["done"][0])

    def acting(self, ply: int | None = None) -> list[int]:
        """The players who have a choice to make in the position after `ply` plies, by default the present one."""
        state = self.states[self.ply if ply is None else ply]
        mover = int(state["to_move"][0])
        if state["done"][0]:
            return []
        if mover != SIMULTANEOUS:
            return [mover]
        return [player for player in range(self.game.num_players) if self._mask(state, player).any()]

    def asked(self) -> list[int]:
        """Those of them who have not chosen yet."""
        return [player for player in self.acting() if player not in self.waiting]

    def legal(self, player: int) -> list[int]:
        """The actions that `player` can choose now; none for players who do not act, or have chosen."""
        if player not in self.asked():
            return []
        return [int(action) for action in np.flatnonzero(self._mask(self.state, player))]

    def choose(self, player: int, action: int) -> bool:
        """Choose an action for a player; it is played when all who act have chosen. Returns whether that was now.

        Raises IllegalAction, a ValueError, for an action that the player cannot play now.
        """
        if player not in self.asked():
            reason = "has chosen already" if player in self.waiting else "is not to move"
            raise IllegalAction("the game is over" if self.over else f"player {player} {reason}")
        mask = self._mask(self.state, player)
        if not (0 <= action < self.game.num_actions and mask[action]):
            named = min(max(action, 0), self.game.num_actions - 1)
            raise IllegalAction(explain(self.game, f"player {player}", named, mask)[0])
        self.waiting[player] = action
        if self.asked():
            return False
        joint = tuple(self.waiting.get(each, -1) for each in range(self.game.num_players))
        after = self.state.copy()
        self.game.loops.step_rows(after, np.zeros(1, np.int64), np.array([joint], np.int64))
        self.states.append(after)
        self.actions.append(joint)
        self.waiting = {}
        if self.ended_round(self.ply) is not None:
            self.rounds.append(self.ply)
        return True

    def take_back(self, ply: int) -> None:
        """Return to the position after `ply` plies; what was chosen since is forgotten."""
        del self.states[ply + 1 :], self.actions[ply:]
        self.waiting, self.rounds = {}, [each for each in self.rounds if each <= ply]

    def last_decision(self, players: Sequence[int]) -> int | None:
        """The number of plies before the last decision that one of `players` made; None if there was none."""
        if any(player in self.waiting for player in players):
            return self.ply
        plies = range(self.ply - 1, -1, -1)
        return next((ply for ply in plies if any(self.actions[ply][player] >= 0 for player in players)), None)

    def view(self, player: int, ply: int | None = None) -> View:
        """What an agent is given in the place of `player`, in the position after `ply` plies; see `acting`."""
        state = self.states[self.ply if ply is None else ply]
        return View.unchecked(self.game, state, np.array([player]), self._episode)

    def ended_round(self, ply: int) -> np.ndarray | None:
        """The board of a round that ply number `ply` has ended inside a match, structured (1,); None if none ended."""
        if ply < 1:
            return None
        joint = np.array(self.actions[ply - 1])
        return self.game.finished_round(self.states[ply - 1][0], joint, self.states[ply][0])

    def _mask(self, state: np.ndarray, player: int) -> np.ndarray:
        mask = np.empty(self.game.num_actions, np.bool_)
        self.game.loops.mask_one(state, 0, player, mask)
        return mask
