"""A game for players who read and write text, such as language models: the loop of TextArena's environments.

::

    env = ttt_envs.make_text("some_game")
    prompt, info = env.reset(seed=0)
    terminated = truncated = False
    while not (terminated or truncated):
        prompt, reward, terminated, truncated, info = env.step(models[env.player](prompt))
    print(env.rewards)

`reset`, `step`, `render` and `close` are as Gymnasium's. `facts` are as in TextArena: Guertler et al., "TextArena",
arXiv:2504.11442. See docs/language_models.md.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.batch import Batch
from ttt_envs.core.episodes import Memory
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players
from ttt_envs.core.options import choice, within
from ttt_envs.core.prompts import ILLEGAL_ANSWERS, again, legal_names, prompt, read_answer
from ttt_envs.core.state import read_only
from ttt_envs.core.view import View, legal_actions
from ttt_envs.wrappers.common import check_max_plies, forfeit, pack_state, unpack_state
from ttt_envs.wrappers.opponents import Opponents
from ttt_envs.wrappers.rewards import Pay, RewardFunction
from ttt_envs.wrappers.self_play import first_player

_FIRST = np.zeros(1, np.int64)


class TextGame:
    """One game by prompts and answers. Players who choose simultaneously are asked one after the other, and learn
    nothing of each other's choice.

    Attributes:
        game: the game.
        retries: further answers that a player may give where one names no legal action.
        illegal: the consequence when these are used up: "lose" or "random".
        rules: whether each prompt begins with the rules.
        np_random_seed: the last seed that `reset` was given; None if it was given none.
    """

    def __init__(
        self,
        game: Game,
        *,
        opponent: Any = None,
        player: int | str = "alternate",
        retries: int = 2,
        illegal: str = "lose",
        rules: bool = True,
        max_plies: int | None = None,
        reward: RewardFunction | None = None,
    ) -> None:
        """Make the game; call `reset` first.

        Args:
            game: from `ttt_envs.load`.
            opponent: agents as for `Opponents.replace` that play all but one player, inside `reset` and `step`, objects
                and not texts; or `Opponents`. None: all players answer.
            player: with an opponent, the number of the player who answers, or "alternate" from game to game; the seed
                says which is first.
            retries: 0 to 100, see the attribute.
            illegal: "lose": the player's side loses (-1, the others share +1); "random": a legal action is drawn.
            rules: whether each prompt begins with the rules.
            max_plies: plies after which a game is cut off; None plays each to its end.
            reward: pays in the game's place, see `wrappers.rewards.RewardFunction`; asked at each step that plays on,
                for all players.

        Raises ValueError or TypeError for a wrong value.
        """
        within(0, 100, retries=retries)
        self.game, self.retries, self.illegal = game, retries, choice("illegal", illegal, ILLEGAL_ANSWERS)
        if player != "alternate":
            within(0, game.num_players - 1, player=player)
        self._learner = player
        self._opponents: Opponents | None = None
        if opponent is not None:
            self._opponents = opponent if isinstance(opponent, Opponents) else Opponents(game, opponent)
            self._opponents.check_player(None if isinstance(player, str) else player)
        self.rules = choice("rules", rules, (False, True))
        self.max_plies = check_max_plies(max_plies)
        self._pay = Pay(game, 1, reward)
        self._everybody = np.arange(game.num_players)
        self._total, self._due = np.zeros(game.num_players, np.float32), np.zeros(game.num_players, np.float32)
        self.np_random_seed: int | None = None
        self._batch = Batch(game, 1)
        self._memory = Memory(game, 1)  # for opponents who go by it
        self._others = np.full(game.num_players, -1)  # their keys
        self._live = False
        self._turn = 0  # who is asked in this game, if they alternate: counted on from the first one
        self._asked_last = 0
        # The players who are still to choose in this position, the choices, and the answers that were refused.
        self._pending: list[int] = []
        self._joint = np.full((1, game.num_players), -1)
        self._refused, self._tries = "", 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.game!r})"

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Start a game. `seed` fixes it and all that follow; None goes on with the next.

        Returns the prompt for `player`, and info: "player", who that is, and "opponent", see `opponent_names`.
        """
        if self._pending:
            self._tell()  # of a game that is left before its end
        self._batch.reset(seed)
        if seed is not None:
            self.np_random_seed = int(seed)
        if seed is None and self._live:
            self._turn += 1
        else:
            self._turn = first_player(self._batch)
        self._pay.begin(_FIRST)
        self._cast()
        self._begin()
        self._settle(None)
        return self.prompt, self._told()

    def _cast(self) -> None:
        """Nobody has answered yet; opponents are drawn for the game in the batch."""
        players = range(self.game.num_players)
        self._counts = {player: {"turn_count": 0, "illegal_answers": 0, "random_moves": 0} for player in players}
        self._lost: set[int] = set()
        self._live = True
        if self._opponents is not None:
            self._others = self._opponents.draw(self._batch.episode_seeds, np.array([self._own]))[0]
            self._memory.keep_for(self._opponents.agents)
        self._memory.begin(_FIRST)
        self._total, self._due = np.zeros_like(self._total), np.zeros_like(self._due)

    def _told(self) -> dict[str, Any]:
        """The info of a position that was not stepped to."""
        info: dict[str, Any] = {"player": self.player}
        if self._opponents is not None:
            info["opponent"] = self._opponents.told(self._others[None])[0].tolist()
        return info

    def _settle(self, before: np.ndarray | None) -> None:
        """Note the payments since the last call; `before` from `Pay.before`."""
        n = len(self._everybody)
        old, states = None if before is None else before.repeat(n), self._batch.states.repeat(n)
        if self._pay.function is None or before is not None:
            paid = self._pay.rewards(np.zeros(n, np.int64), states, old, self._everybody)
            self._total, self._due = self._total + paid, self._due + paid

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take the answer of `player`.

        Returns (prompt, reward, terminated, truncated, info): the next prompt, with the reason after a rejected answer,
        empty after the end; and the reward of the player who has answered since their last step, in most games 0.0
        before the end: `rewards` has all players' totals. info holds "player", who has answered; "action", the name of
        the action taken, or None; "illegal", the reason of the rejection, or None; "retries_left"; "lost", whether the
        player has lost by it; and the info of `reset`. An answer that cannot be used leaves the game as it is, as long
        as there are retries left.

        Raises TypeError if the answer is no text, RuntimeError before `reset` or after the end.
        """
        before, ply = self._pay.before(self._batch.states), int(self._batch.states["ply"][0])
        info = self._take(text)
        player = info["player"]
        if self.done or self._batch.states["ply"][0] != ply:
            self._settle(before)
        reward = float(self._due[player])
        self._due[player] = 0
        if self._pay.has_rounds:
            info["round_reward"] = self._pay.rounds(_FIRST, self._batch.states, np.array([player])).item()
        if self._opponents is not None:
            info["opponent"] = self._opponents.told(self._others[None])[0].tolist()
        return self.prompt, reward, self.done and not self.truncated, self.truncated, info

    def _take(self, text: str) -> dict[str, Any]:
        """Take the answer; the info of `step`."""
        player = self._asked()
        if not isinstance(text, str):
            raise TypeError(f"an answer is text, not {type(text).__name__}")
        view, reason = self._batch.view(player), None
        info: dict[str, Any] = {"player": player, "action": None, "illegal": None, "lost": False}
        try:
            action = read_answer(self.game, view.masks[0], text)
        except ValueError as error:
            reason = info["illegal"] = str(error)
            self._counts[player]["illegal_answers"] += 1
            self._tries += 1
            info["retries_left"] = max(self.retries + 1 - self._tries, 0)
            if info["retries_left"]:
                self._refused = reason
                return info
            if self.illegal == "lose":
                forfeit(self.game, self._batch.states, 0, [player])
                self._lost.add(player)
                self._pending = []
                self._tell()
                return {**info, "lost": True}
            self._counts[player]["random_moves"] += 1
            action = int(np.random.default_rng(int(view.seeds[0])).choice(np.flatnonzero(view.masks[0])))
        info |= {"action": self.game.action_names[action], "retries_left": self.retries}
        self._counts[player]["turn_count"] += 1
        self._joint[0, player] = action
        self._pending.pop(0)
        self._refused, self._tries = "", 0
        if not self._pending:
            self._step()
            self._begin()
        return info

    def close(self) -> None:
        """Nothing is held open."""

    @property
    def prompt(self) -> str:
        """The question to `player`, after an answer that could not be used with the reason; empty after the end."""
        self._check_live()
        if not self._pending:
            return ""
        return again(prompt(self._batch.view(self._pending[0]), rules=self.rules), self._refused)

    @property
    def player(self) -> int:
        """The player to answer; after the end the one who answered last. With an opponent it is always the same."""
        if self._own is not None:
            return self._own
        return self._pending[0] if self._pending else self._asked_last

    @property
    def rewards(self) -> dict[int, float]:
        """The pay of each player so far: in most games 0 before the end. RuntimeError before `reset`."""
        self._check_live()
        return dict(enumerate(self._total.tolist()))

    def set_opponents(self, opponent: Any) -> None:
        """Draw opponents from these from now on, at each reset; as `opponent` of `make_single`.

        Raises TypeError or ValueError for an invalid one, and ValueError if all players answer here.
        """
        if self._opponents is None:
            raise ValueError("all players are asked here: make the environment with an opponent")
        former = self._opponents.replace(opponent)
        try:
            self._opponents.check_player(None if isinstance(self._learner, str) else int(self._learner))
        except ValueError:
            self._opponents.restore(former)
            raise

    @property
    def opponent_names(self) -> dict[int, str]:
        """The names of the agents that `info["opponent"]` numbers; none without opponents."""
        return {} if self._opponents is None else self._opponents.names

    @property
    def states(self) -> NDArray[Any]:
        """The position with all that is hidden, to be looked at: structured (1,), read-only, a copy."""
        self._check_live()
        return read_only(self._batch.states)

    def view(self) -> View:
        """The view of the player to answer, for an agent of this library. RuntimeError if there is none."""
        return self._batch.view(self._asked())

    def action_masks(self) -> NDArray[np.bool_]:
        """bool (num_actions,): the legal actions of the player to answer, by number; see `legal` for names."""
        self._check_live()
        player = self._pending[0] if self._pending else None
        return np.zeros(self.game.num_actions, np.bool_) if player is None else self._batch.masks(player)[0]

    def get_state(self) -> bytes:
        """The whole position, hidden things and choices that wait for others included, for `set_state`."""
        self._check_live()
        learner = -1 if self._own is None else self._own
        waiting = np.where(np.isin(self._everybody, self._pending), -1, self._joint[0])
        chosen = waiting if self._pending and self._own is None else np.full_like(waiting, -1)
        return pack_state(self.game, self._batch.states[0], chosen, self._batch.episode_seeds[0], learner=learner)

    def set_state(self, data: bytes) -> tuple[str, dict[str, Any]]:
        """Go to a position from `get_state` of any environment; returns as `reset` does.

        Raises TypeError or ValueError, saying why, for bytes that are no such position.
        """
        states, committed, seed, learner, _ = unpack_state(self.game, data)
        own = None if isinstance(self._learner, str) else int(self._learner)
        if self._opponents is not None:
            if (committed >= 0).any():
                raise ValueError("this position was saved while some players had chosen already, and others had not")
            if own is not None and learner not in (-1, own):
                raise ValueError(f"player {learner} answers in this position, and here it is player {own}")
        if self._pending:
            self._tell()
        self._batch.set_states(states, episode_seeds=np.array([seed], np.uint64))
        self._turn = self._turn if learner < 0 else learner
        self._cast()
        self._pay.keep(_FIRST, states)
        self._begin()
        self._settle(None)
        for player in np.flatnonzero(committed >= 0).tolist() if self._opponents is None else []:
            self._pending.remove(player)
            self._joint[0, player] = committed[player]
        return self.prompt, self._told()

    def _check_live(self) -> None:
        if not self._live:
            raise RuntimeError("reset() must be called first")

    @property
    def facts(self) -> dict[int, dict[str, Any]]:
        """Facts of each player's game, as TextArena tells them.

        These are "role", "turn_count" and "invalid_move", whether the player has lost by an answer that could not be
        used; and the counts "illegal_answers" and "random_moves".

        Raises RuntimeError before `reset`.
        """
        if not self._live:
            raise RuntimeError("reset() must be called first")
        return {
            player: {"role": self.game.player_names[player], "invalid_move": player in self._lost, **counts}
            for player, counts in self._counts.items()
        }

    @property
    def done(self) -> bool:
        """True once the game is over, or cut off."""
        return self._live and not self._pending

    @property
    def truncated(self) -> bool:
        """True once the game is cut off before its end."""
        state = self._batch.states[0]
        return self._live and self.max_plies is not None and bool(state["ply"] >= self.max_plies and not state["done"])

    def render(self) -> str:
        """The whole position as text, for people who look on."""
        return self.game.format_state(self._batch.states[0], None)

    @property
    def legal(self) -> list[str]:
        """The names of the legal actions of the player to answer; none after the end."""
        return legal_names(self.game, self._batch.masks(self._pending[0])[0]) if self._live and self._pending else []

    @property
    def _own(self) -> int | None:
        if self._opponents is None:
            return None
        return self._turn % self.game.num_players if isinstance(self._learner, str) else self._learner

    def _begin(self) -> None:
        """Find the player to answer, after the opponent's own moves."""
        self._refused, self._tries = "", 0
        while True:
            self._joint = np.full((1, self.game.num_players), -1)
            self._pending = []
            if self._batch.states["done"][0] or self.truncated:
                self._tell()
                return
            if self._opponents is not None:
                watchers, seeds = self._opponents.observers, self._batch.episode_seeds
                for key, view, _ in self._memory.watched(
                    _FIRST, self._batch.states, seeds, self._others[None], watchers
                ):
                    watchers[key].observe(view)
            acting = acting_players(self.game, self._batch.states, _FIRST)[1].tolist()
            self._pending = [player for player in acting if self._own in (None, player)]
            for player in acting:
                if player not in self._pending and self._opponents is not None:
                    by, seeds = np.array([player]), self._batch.episode_seeds
                    view = View.unchecked(self.game, self._batch.states, by, seeds, **self._memory.of(_FIRST, by))
                    actor = self._opponents[int(self._others[player])]
                    self._joint[0, player] = legal_actions(actor, view, "the opponent")[0]
            if self._pending:
                return
            self._step()

    def _step(self) -> None:
        self._memory.note(_FIRST, self._batch.states, self._joint)
        self._batch.step(self._joint)

    def _tell(self) -> None:
        if self._opponents is not None:
            rewards = self._batch.states["rewards"]
            self._memory.over(_FIRST, rewards, self._others[None], self._opponents)

    def _asked(self) -> int:
        """The player who is to answer; RuntimeError if there is none."""
        if not self._live:
            raise RuntimeError("reset() must be called first")
        if not self._pending:
            raise RuntimeError("the game is over: reset() starts another one")
        self._asked_last = self._pending[0]
        return self._asked_last
