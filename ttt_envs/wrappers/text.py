"""A game for players who read and write text, such as language models. The loop is that of TextArena's environments.

::

    env = ttt_envs.make_text("some_game")
    prompt, info = env.reset(seed=0)
    terminated = truncated = False
    while not (terminated or truncated):
        prompt, reward, terminated, truncated, info = env.step(models[env.player](prompt))
    print(env.rewards)

`reset`, `step`, `render` and `close` follow Gymnasium. `facts` has the format of TextArena: Guertler et al.,
"TextArena", arXiv:2504.11442. See docs/language_models.md.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.episodes import Memory, observers
from ttt_envs.core.game import Game
from ttt_envs.core.options import choice, within
from ttt_envs.core.prompts import ILLEGAL_ANSWERS, again, legal_names, prompt, read_answer
from ttt_envs.core.view import View, legal_actions
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.base_env import FIRST
from ttt_envs.wrappers.common import pack_state, unpack_state
from ttt_envs.wrappers.opponents import Opponents
from ttt_envs.wrappers.rewards import Pay, RewardFunction
from ttt_envs.wrappers.self_play import first_player, fixed_player


class TextGame:
    """One game by prompts and answers. Players who choose simultaneously are asked one after the other, without seeing
    each other's choices.

    Attributes:
        game: the game.
        retries: number of further answers that a player may give if an answer names no legal action.
        illegal: what happens after one more wrong answer: "lose", or a "random" move.
        rules: whether each prompt begins with the rules.
        player: the player to answer; after the end, the last player who answered. With opponents it never changes
            during a game.
    """

    def __init__(
        self,
        game: Game,
        *,
        opponents: Opponents | None = None,
        player: int | str = "alternate",
        retries: int = 2,
        illegal: str = "lose",
        rules: bool = True,
        max_plies: int | None = None,
        reward: RewardFunction | None = None,
    ) -> None:
        """Make the game; call `reset` first. For arguments and errors see `ttt_envs.make_text`.

        `opponents` play all players but one, inside `reset` and `step`; None: all players answer prompts.
        """
        within(0, 100, retries=retries)
        self.game, self.retries, self.illegal = game, retries, choice("illegal", illegal, ILLEGAL_ANSWERS)
        self.rules = choice("rules", rules, (False, True))
        self._fixed = fixed_player(game, player)
        self._opponents = opponents
        if opponents is not None:
            opponents.check_player(self._fixed)
        self._env = AECGame(game, max_plies=max_plies, render_mode="ansi")
        self._pay = Pay(game, 1, reward)
        self._memory = Memory(game, 1)  # for opponents with a memory
        self._others = np.full(game.num_players, -1)  # the opponents' keys
        self._turn = self.player = 0  # `_turn` modulo the players is the player who answers, if this alternates
        self._asks = False  # whether an answer is awaited

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.game!r})"

    def reset(self, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Start a game. `seed` determines it and all later games; None starts the next game.

        Returns the prompt for `player`, and info: "player", the player's number, and "opponent", see `opponent_names`.
        """
        if self._asks:
            self._tell()  # notify the opponents of a game that is abandoned before its end
        goes_on = seed is None and self._env.agents
        self._env.reset(seed)
        self._pay.begin(FIRST)
        self._start(self._turn + 1 if goes_on else first_player(self._env._episode_seed, self.game.num_players))
        return self.prompt, self._told()

    def _start(self, turn: int) -> None:
        """Begin at the current position: draw the opponents, and let them play until an answer is required."""
        self._turn = turn
        facts: dict[str, Any] = {"turn_count": 0, "invalid_move": False, "illegal_answers": 0, "random_moves": 0}
        self._facts = [{"role": name, **facts} for name in self.game.player_names]
        self._refused, self._tries = "", 0
        if self._opponents is not None:
            self.player = turn % self.game.num_players if self._fixed is None else self._fixed
            self._others = self._opponents.draw(np.array([self._env._episode_seed]), np.array([self.player]))[0]
            self._memory.keep_for(self._opponents.by_key.values())
        self._memory.begin(FIRST)
        self._total, self._due = np.zeros((2, self.game.num_players), np.float32)
        self._go_on()
        self._settle(None)

    def _told(self) -> dict[str, Any]:
        others = {} if self._opponents is None else {"opponent": self._opponents.told(self._others[None])[0].tolist()}
        return {"player": self.player, **others}

    def step(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take the answer of `player`.

        Returns (prompt, reward, terminated, truncated, info). After a rejected answer, the next prompt states the
        reason; after the end it is empty. The reward is what the answering player has earned since that player's last
        step, in most games 0.0 before the end; `rewards` has all players' totals. info contains "player", the player
        who answered; "action", the name of the action taken, or None; "illegal", the reason for the rejection, or None;
        "retries_left"; "lost", whether the player has lost by the answer; and the info of `reset`. A rejected answer
        does not change the game as long as there are retries left.

        Raises TypeError if the answer is not text, RuntimeError before `reset` or after the end.
        """
        view, player, before = self.view(), self.player, self._pay.before(self._env._states)
        if not isinstance(text, str):
            raise TypeError(f"an answer is text, not {type(text).__name__}")
        info, action, ply = {**self._told(), "action": None, "illegal": None, "lost": False}, None, view.plies[0]
        try:
            action = read_answer(self.game, view.masks[0], text)
        except ValueError as error:
            info["illegal"] = self._refused = str(error)
            self._facts[player]["illegal_answers"] += 1
            self._tries += 1
            if self._tries > self.retries and self.illegal == "lose":
                info["lost"] = self._facts[player]["invalid_move"] = True
                self._env._forfeit(player)
                self._go_on()
            elif self._tries > self.retries:
                self._facts[player]["random_moves"] += 1
                action = int(np.random.default_rng(int(view.seeds[0])).choice(np.flatnonzero(view.masks[0])))
        if action is not None:
            info["action"] = self.game.action_names[action]
            self._facts[player]["turn_count"] += 1
            self._refused, self._tries = "", 0
            self._play(player, action)
            self._go_on()
        if self.done or self._env._states["ply"][0] != ply:
            self._settle(before)
        info["retries_left"] = self.retries - max(self._tries - 1, 0)
        reward = float(self._due[player])
        self._due[player] = 0
        if self._pay.has_rounds:
            info["round_reward"] = self._pay.rounds(FIRST, self._env._states, np.array([player])).item()
        return self.prompt, reward, self.done and not self.truncated, self.truncated, info

    def _play(self, player: int, action: int) -> None:
        """Note a player's choice; play the ply if all acting players have chosen."""
        env = self._env
        if env._acting == 1 << player:
            joint = env._committed.copy()
            joint[player] = action
            self._memory.note(FIRST, env._states, joint[None])
        env.step(action)

    def _settle(self, before: np.ndarray | None) -> None:
        """Add the rewards of the last step to the players' totals; `before` comes from `Pay.before`."""
        if self._pay.function is None or before is not None:
            paid = self._pay.of_all(self._env._states, before)
            self._total, self._due = self._total + paid, self._due + paid

    def _go_on(self) -> None:
        env, opponents, seeds = self._env, self._opponents, np.array([self._env._episode_seed])
        while True:
            mover = env._number[env.agent_selection]
            self._asks = not (env.terminations[env.agent_selection] or env.truncations[env.agent_selection])
            if not self._asks:
                self._tell()
                return
            if opponents is None:
                self.player = mover
                return
            if (env._committed < 0).all():
                watchers, others = observers(opponents.by_key), self._others[None]
                for key, view, _ in self._memory.watched(FIRST, env._states, seeds, others, watchers):
                    watchers[key].observe(view)
            if mover == self.player:
                return
            by = np.array([mover])
            view = View.unchecked(self.game, env._states, by, seeds, **self._memory.of(FIRST, by))
            self._play(mover, int(legal_actions(opponents.by_key[int(self._others[mover])], view, "the opponent")[0]))

    def _tell(self) -> None:
        if self._opponents is not None:
            self._memory.over(FIRST, self._env._states["rewards"], self._others[None], self._opponents.by_key)

    def close(self) -> None:
        """Do nothing: the game holds no resources."""

    @property
    def prompt(self) -> str:
        """The prompt for `player`, with the reason after a rejected answer; empty after the end."""
        self._env._check_live("prompt")
        return again(prompt(self.view(), rules=self.rules), self._refused) if self._asks else ""

    @property
    def rewards(self) -> dict[int, float]:
        """Each player's total reward so far, in most games 0 before the end. Raises RuntimeError before `reset`."""
        self._env._check_live("rewards")
        return dict(enumerate(self._total.tolist()))

    def set_opponents(self, opponent: Any) -> None:
        """Draw from the agents `opponent`, in the form for `make_single`, from the next reset on.

        Raises TypeError or ValueError for an invalid agent, and ValueError if the game was made without opponents.
        """
        if self._opponents is None:
            raise ValueError("all players are asked here: make the environment with an opponent")
        self._opponents.replace(opponent, self._fixed)

    @property
    def opponent_names(self) -> dict[int, str]:
        """Key of an agent, as in `info["opponent"]`, -> the agent's name; empty without opponents."""
        return {} if self._opponents is None else self._opponents.names

    @property
    def states(self) -> NDArray[Any]:
        """A read-only copy of the position with hidden information, structured (1,)."""
        return self._env.states

    def view(self) -> View:
        """Return the view of the player to answer, for an agent of this library. RuntimeError if there is none."""
        self._env._check_live("view")
        if not self._asks:
            raise RuntimeError("the game is over: reset() starts another one")
        return self._env.view(self._env.agent_selection)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions of the player to answer, bool (num_actions,); `legal` has their names."""
        return self._env.action_masks(self._env.possible_agents[self.player])

    @property
    def legal(self) -> list[str]:
        """The names of the legal actions of the player to answer; none after the end."""
        return legal_names(self.game, self.action_masks())

    def get_state(self) -> bytes:
        """Return the position, with hidden information and committed choices, for `set_state`."""
        if self._opponents is None:
            return self._env.get_state()
        nothing = np.full(self.game.num_players, -1)
        return pack_state(self.game, self.states[0], nothing, self._env._episode_seed, learner=self.player)

    def set_state(self, data: bytes) -> tuple[str, dict[str, Any]]:
        """Restore a position from `get_state` of any environment; return what `reset` returns.

        Raises TypeError or ValueError, with the reason, for invalid bytes.
        """
        saved = unpack_state(self.game, data)
        if self._opponents is not None:
            saved.check_learner(self._fixed)
        if self._asks:
            self._tell()
        self._env.set_state(data)
        self._pay.keep(FIRST, saved.states)
        self._start(self._turn if saved.learner < 0 else saved.learner)
        return self.prompt, self._told()

    @property
    def facts(self) -> dict[int, dict[str, Any]]:
        """Each player's facts in the format of TextArena.

        These are "role", "turn_count", "invalid_move" (whether the player has lost by a rejected answer), and the
        counts "illegal_answers" and "random_moves".

        Raises RuntimeError before `reset`.
        """
        self._env._check_live("facts")
        return {player: dict(facts) for player, facts in enumerate(self._facts)}

    @property
    def done(self) -> bool:
        """True once the game is over or cut off."""
        return bool(self._env.agents) and not self._asks

    @property
    def truncated(self) -> bool:
        """True once the game is cut off, after `max_plies` plies."""
        return bool(self._env.agents) and any(self._env.truncations.values())

    def render(self) -> Any:
        """Return the whole position as text, for spectators."""
        return self._env.render()
