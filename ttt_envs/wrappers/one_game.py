"""One game with one learner, stepped without arrays of one element."""

from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.view import View, legal_actions
from ttt_envs.wrappers.self_play import PlayerGames


class OneGame(PlayerGames):
    """A game without autoreset; `play_one` and `reply_one` are faster forms of `step`."""

    def __init__(self, game: Game, **arguments: Any) -> None:
        """Make the game; call `reset` first. `arguments`: those of `PlayerGames`."""
        # Scratch memory for masks and observations, see `loops.move_one`.
        self._legal = np.zeros((*game.lookers, game.num_actions), np.bool_)
        self._told = np.empty(self._legal.shape, np.int8)
        self._sight = np.empty((*game.lookers, game.observation_size), np.int8)
        self._joint = np.full((1, game.num_players), -1)
        self._acting: int | None = None  # the set of acting players, None if unknown
        super().__init__(game, 1, autoreset=None, **arguments)

    def _clear(self) -> None:
        super()._clear()
        self._acting = None

    def step(self, actions: Any) -> list[tuple[int, int]]:
        """Do what `PlayerGames.step` does, for any action and with any settings."""
        self._acting = None
        return super().step(actions)

    def play_one(self, action: int, legal: np.ndarray) -> np.ndarray | None:
        """Do what `step` does, for a legal action, but without arrays of one element.

        If the game goes on, write the learner's mask to `legal` bool (num_actions,) and return the learner's
        observation, int8 (observation size,). Return None if the game is over.
        """
        learner, at_once = int(self.players[0]), self.game.simultaneous
        self._masks = self._seen = None
        before = self._pay.before(self.batch.states)
        acting = self._look() if self._acting is None else self._acting
        self._joint[0, learner] = action
        over = self._let_play(acting, learner, chosen=True)
        self._end_one(before, learner, over)
        if over:
            return None
        legal[:] = self._legal[learner] if at_once else self._legal
        return np.array(self._sight[learner] if at_once else self._sight)

    def _play_on(self, rows: np.ndarray) -> None:
        """Do what `PlayerGames._play_on` does; `rows` has one game or none."""
        if self.history:  # the batch tracks the past decisions of all players
            super()._play_on(rows)
        elif len(rows):
            self._let_play(self._look(), int(self.players[0]))

    def _look(self) -> int:
        """Read the position and return the acting players as bits: bit p is set if player p acts."""
        self._joint[:] = -1
        return self.game.move(self.batch.states, self._joint[0], False, self._legal, self._told, self._sight)

    def _let_play(self, acting: int, learner: int, *, chosen: bool = False) -> bool:
        """Play the moves of `acting` and later players until the learner acts or the game is over; return `over`.

        `acting` comes from `_look` or the last move, which have read this position. If `chosen`, `_joint` contains the
        learner's choice.
        """
        states, seeds, move, most = self.batch.states, self.batch.episode_seeds, self.game.move, self.max_plies
        keys, at_once, (joint,) = self._others[0].tolist(), self.game.simultaneous, self._joint
        while True:
            over = not acting or (most is not None and bool(states["ply"][0] >= most))
            if not chosen and (over or acting >> learner & 1):
                self._acting = acting
                return over
            chosen, keeps = False, self._memory.known is not None
            if keeps or self._watchers:
                self._show(self._rows)
            waiting = acting & ~(1 << learner)
            others: list[int] = []
            if not keeps and waiting and not waiting & (waiting - 1):  # a single player: the usual case, made fast
                player = waiting.bit_length() - 1
                legal, sight = (self._legal[player], self._sight[player]) if at_once else (self._legal, self._sight)
                looks, episode = (legal.tobytes(), sight.tobytes()), self._memory.episodes[0, player].tobytes()
                view = View.of_one(self.game, states, player, seeds, episode=episode, looks=looks)
                joint[player] = legal_actions(self.agents.by_key[keys[player]], view, "the opponent")[0]
            elif waiting:
                others = [player for player in range(len(keys)) if waiting >> player & 1]
            for key in dict.fromkeys([keys[player] for player in others]) if others else ():
                mine, given, own = [player for player in others if keys[player] == key], states, seeds
                if len(mine) > 1:  # asked together, as in `_complete`
                    given, own = states.repeat(len(mine)), seeds.repeat(len(mine))
                by = np.array(mine)
                known = self._memory.of(np.zeros(len(mine), np.int64), by)
                view = View.unchecked(self.game, given, by, own, **known, copy=False)
                joint[mine] = legal_actions(self.agents.by_key[key], view, "the opponent")
            if keeps:
                self._memory.note(self._rows, states, self._joint)
            acting = move(states, joint, True, self._legal, self._told, self._sight)

    def reply_one(self, action: int, legal: np.ndarray, seen: np.ndarray) -> None:
        """Do what `play_one` does in a single kernel call, which needs opponents that all play `at_random`.

        Write the learner's next mask and observation to legal bool (1, num_actions) and seen int8 (1, features).
        """
        states, learner = self.batch.states, int(self.players[0])
        before = self._pay.before(states)
        self._masks = self._seen = self._acting = None
        self._joint[0, learner] = action
        self.game.loops.reply_rows(states, self.players, self.batch.episode_seeds, self._joint, legal, seen)
        self._end_one(before, learner, bool(states["done"][0]))

    def _end_one(self, before: np.ndarray | None, learner: int, over: bool) -> None:
        """Record a step of the game. `before` comes from `Pay.before`; `over` says whether the game has ended."""
        self.lengths[0] += 1
        if over or self._pay.by_step:
            self._account(before)
        elif self.round_rewards is not None:
            self.round_rewards[0] = self._pay.rounds_one(self.batch.states, learner)
        if over:
            self.done = self._over()
            self.truncated = self.done & ~self.batch.states["done"]
            self._tell(self._rows)
