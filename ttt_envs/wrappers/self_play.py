"""Games with one learner, whose opponents are agents: shared by the Gymnasium and SB3 environments."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.batch import Batch
from ttt_envs.core.checks import IllegalAction, check_actions, explain
from ttt_envs.core.episodes import Memory, observers
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players
from ttt_envs.core.options import MOST, choice, within
from ttt_envs.core.rng import Purpose, derive, new_key, scale
from ttt_envs.core.state import SIMULTANEOUS, read_only
from ttt_envs.core.view import View, legal_actions
from ttt_envs.wrappers.common import EnvSettings, forfeit, pack_state, unpack_state
from ttt_envs.wrappers.opponents import Opponents
from ttt_envs.wrappers.rewards import Pay

#: The step in which a finished game restarts.
Autoreset = Literal["same_step", "next_step"]

# Limit of consecutive games that end before the learner's first decision.
_PATIENCE = 1000

#: A seed for all games, or one per game.
Seed = int | Sequence[int | None] | None


class PlayerGames:
    """`n` games with one learner each. The other players move automatically until the learner must act.

    The learner's seat alternates from episode to episode or is fixed. Each game's opponents are drawn at its reset and
    stay until the next. A lost game pays its reward of -1 with the learner's last action.

    Attributes:
        players: int64 (n,), the learner's player number in each game.
        rewards: float32 (n,), the learner's rewards for the last step; the first step includes earlier payments.
        round_rewards: float32 (n,), the learner's rewards if each round of a match pays like a game of its own, see
            `Extras.round_rewards`; None if the game is no match.
        done: bool (n,), games that the last step ended or cut off.
        truncated: bool (n,), games that the last step cut off after `max_plies` plies.
        lengths: int64 (n,), the learner's decisions in the running episode.
        agents: the `Opponents`, which draws the other players' agents.
        at_random: whether all opponents play uniformly at random and need no view; a step is then one call of the
            kernel `reply_rows`.
        final_observations: int8 (k, observation size, with the history), the learner's observations in the k games that
            the last step ended.
        final_lengths: int64 (k,), the learner's decisions in these games.
        final_players: int64 (k,), the learner's player numbers in these games.
        final_opponents: int64 (k,) or (k, players), the opponents' keys in these games.
    """

    def __init__(
        self,
        game: Game,
        n: int,
        *,
        opponent: Any,
        player: int | str = "alternate",
        seed: int | None = None,
        autoreset: Autoreset | None = "same_step",
        settings: EnvSettings | None = None,
    ) -> None:
        """Make the games; call `reset` first.

        Args:
            game: from `ttt_envs.load`.
            n: number of games.
            opponent: an `Opponents`, or agents in the form for `Opponents.replace`, as objects instead of texts.
            player: the learner's player number, or "alternate".
            seed: whole number; None for a random one from the system.
            autoreset: when a finished game restarts: in the "same_step" that ends it; in the "next_step", which ignores
                its action; or, if None, only by `reset`.
            settings: the environment's settings; `reward` is called at each step, for the learners.
        """
        given = settings or EnvSettings()
        self.game, self.history, self.illegal, self.max_plies = game, given.history, given.illegal, given.max_plies
        self._fixed = fixed_player(game, player)
        self.autoreset = autoreset
        within(1, MOST, num_envs=n)
        self.batch = Batch(game, n, seed=seed, history=given.history)
        self.n = self.batch.n
        self._rows = np.arange(self.n)
        self.agents = opponent if isinstance(opponent, Opponents) else Opponents(game, opponent)
        self.agents.check_player(self._fixed)
        self._others = np.full((self.n, game.num_players), -1)  # the keys of the opponents
        self._pay = Pay(game, self.n, given.reward)
        self._clear()
        self._memory = Memory(game, self.n)  # for opponents with a memory
        self.players = np.zeros(self.n, np.int64)
        self.lengths = np.zeros(self.n, np.int64)
        self._started = np.zeros(self.n, np.int64)
        self._masks: np.ndarray | None = None
        self._seen: np.ndarray | None = None  # observations, made in the same call as the masks
        self._asked = np.ones(self.n, np.bool_)  # games with opponents that do not draw uniformly
        self._watchers: dict[int, Any] = {}  # opponents that observe every ply, by key
        self.at_random = False
        self._fresh = seed is not None
        self._first = self._rows + self._drawn(0)  # the learner in each game's first episode, if it alternates

    @property
    def opponents(self) -> np.ndarray:
        """The keys of the agents in the seats other than the learner's."""
        return self.agents.told(self._others)

    def set_opponents(self, opponent: Any) -> None:
        """Draw from the agents `opponent`, from each game's next reset on; see `Opponents.replace`.

        Raises TypeError or ValueError for invalid agents, before any change.
        """
        self.agents.replace(opponent, self._fixed)
        self.agents.forget(self._others)

    def reset(self, seed: Any = None) -> None:
        """Restart all games from `seed`: a whole number, which determines all games; a list of n seeds, see
        `Batch.reset_each`; or None, which starts each game's next episode.

        Raises ValueError or TypeError for a wrong seed, before any change.
        """
        each = self.checked_seeds(seed)
        self._tell_of_those_left()
        if each is not None:
            self.batch.reset_each(each)
            for row, own in enumerate(each):
                if own is not None:
                    self._started[row], self._first[row] = 0, self._drawn(row)
        elif seed is not None:
            self._started[:] = 0
            self.batch.reset(seed)
            self._first = self._rows + self._drawn(0)
        elif not self._fresh:
            self.batch.reset()
        self._fresh, self._masks, self._seen = False, None, None
        self._clear()
        self._begin_episodes(self._rows)

    def checked_seeds(self, seed: Any) -> list[int | None] | None:
        """Return a list of seeds, one per game, or None for a single seed; else raise TypeError or ValueError."""
        if seed is None:
            return None
        if not isinstance(seed, (list, tuple)) and getattr(seed, "ndim", 0) != 1:
            new_key(seed)
            return None
        seeds = list(seed)
        if len(seeds) != self.n:
            raise ValueError(f"a list of seeds must have {self.n}, one for each game, not {len(seeds)}")
        for each in seeds:
            if each is not None:
                new_key(each)
        return seeds

    # --- reading and saving positions ---

    def get_state(self, i: int) -> bytes:
        """Return game i's position as bytes, with hidden information, the learner's number and the episode's seed."""
        past, seed = self.batch.past, self.batch.episode_seeds[i]
        kept, nothing = None if past is None else past[i], np.full(self.game.num_players, -1)
        return pack_state(self.game, self.batch.states[i], nothing, seed, kept, learner=int(self.players[i]))

    def set_states(self, saved: Sequence[bytes]) -> None:
        """Restore saved positions, one per game. The opponents are drawn as in the saved episodes.

        The learner's seat is the saved one, or the current one if none was saved. If it is not the learner's turn, the
        others move.

        Raises TypeError or ValueError for invalid bytes, before any change.
        """
        if isinstance(saved, (bytes, str)) or len(saved) != self.n:
            raise ValueError(f"there must be {self.n} saved positions, one for each game")
        found = [unpack_state(self.game, data, self.history) for data in saved]
        for each in found:
            each.check_learner(self._fixed)
        self._tell_of_those_left()
        self.batch.set_states(
            np.concatenate([each.states for each in found]),
            episode_seeds=np.array([each.seed for each in found], np.uint64),
        )
        if self.batch.past is not None:
            self.batch.past[:] = [each.past for each in found]
        if self._fixed is not None:
            self.players[:] = self._fixed
        learners = np.array([each.learner for each in found])
        self.players = np.where(learners < 0, self.players, learners)
        self.lengths[:], self._masks, self._seen, self._fresh = 0, None, None, False
        self._started = np.maximum(self._started, 1)
        self._clear()
        self._cast(self._rows)
        self._pay.keep(self._rows, self.batch.states)
        self._play_on(self._rows)
        self.done = self._over()
        self.truncated = self.done & ~self.batch.states["done"]

    def _clear(self) -> None:
        """Reset the results of the last step to new arrays, because callers may have the old ones."""
        self.rewards = np.zeros(self.n, np.float32)
        self.done, self.truncated = np.zeros(self.n, np.bool_), np.zeros(self.n, np.bool_)
        self.round_rewards = np.zeros(self.n, np.float32) if self._pay.has_rounds else None

    def _start(self, rows: np.ndarray) -> None:
        self.batch.reset_rows(rows)
        self._begin_episodes(rows)

    def _drawn(self, row: int) -> int:
        return first_player(self.batch.episode_seeds[row], self.game.num_players)

    def _show(self, rows: np.ndarray) -> None:
        if self._memory.looks(self._watchers):
            states, seeds = self.batch.states.take(rows), self.batch.episode_seeds[rows]
            for key, view, _ in self._memory.watched(rows, states, seeds, self._others[rows], self._watchers):
                self._watchers[key].observe(view)

    def _tell(self, rows: np.ndarray) -> None:
        self._memory.over(rows, self.batch.states["rewards"][rows], self._others[rows], self.agents.by_key)

    def _tell_of_those_left(self) -> None:
        """Notify the opponents of games that are abandoned before their end."""
        left = np.flatnonzero((self._started > 0) & ~self._over())
        if len(left):
            self._tell(left)

    def _begin_episodes(self, rows: np.ndarray) -> None:
        """Assign learners and opponents to new games, and play on to the learner's first decision."""
        for _ in range(_PATIENCE):
            turn = self._first[rows] + self._started[rows]
            self.players[rows] = turn % self.game.num_players if self._fixed is None else self._fixed
            self._started[rows] += 1
            self.lengths[rows] = 0
            self._pay.begin(rows)
            self._cast(rows)
            if self.at_random:
                self._reply_in(rows)
            else:
                self._masks = self._seen = None
                self._play_on(rows)
            rows = rows[self._over(rows)]
            if not len(rows):
                return
            # The game ended before the learner could act, so it does not count as an episode.
            self._tell(rows)
            self.batch.reset_rows(rows)
        raise RuntimeError(f"{_PATIENCE} games in a row ended before the learner's first decision")

    def _cast(self, rows: np.ndarray) -> None:
        self._others[rows] = self.agents.draw(self.batch.episode_seeds[rows], self.players[rows])
        self._memory.keep_for(self.agents.by_key.values())  # including those of running games
        self._memory.begin(rows)
        self._watchers = observers(self.agents.by_key)
        self._asked[rows] = not self.agents.draw_uniformly(self._others[rows])
        self.at_random = bool(
            not self._asked.any()
            and self.max_plies is None
            and self._memory.known is None
            and not self.history
            and not self._watchers
        )

    def observations(self) -> np.ndarray:
        """Return the learners' observations, int8 (n, observation size, with the history)."""
        seen, self._seen = self._seen, None  # the caller may change the array from now on
        if seen is not None:
            return seen
        if self.history:
            return self.batch.observations(self.players)
        _, seen = self._looks(self.n)
        self.game.loops.observe_rows(self.batch.states, self.players, seen)
        return seen

    def masks(self) -> np.ndarray:
        """Return the learners' legal actions, bool (n, num_actions), read-only and computed once per step."""
        if self._masks is None:
            self._masks, _ = self._looks(self.n)
            self.game.loops.mask_rows(self.batch.states, self.players, self._masks)
            if self.max_plies is not None:
                self._masks[self._over()] = False
        shown = self._masks.view()
        shown.flags.writeable = False
        return shown

    def step(self, actions: Any) -> list[tuple[int, int]]:
        """Play the learners' actions int (n,), then the others' until the learner acts again or the game is over.

        Returns (game, action) for each illegal action, which has just lost its game.

        Raises:
            RuntimeError: a game is finished, and there is no autoreset.
            TypeError, ValueError: entries that are no whole numbers, a wrong shape, or numbers that are no action.
            IllegalAction: with illegal="raise", an action is not legal now; nothing is changed.
        """
        checked = check_actions(actions, (self.n,), self.game.num_actions)
        if checked.min() < 0:
            raise ValueError(f"actions must be from 0 to {self.game.num_actions - 1}, not {checked.min()}")
        over = self._over()
        some_over = bool(over.any())
        if some_over and self.autoreset != "next_step":
            raise RuntimeError("the game is over: call reset() before step()")
        masks, before = self.masks(), self._pay.before(self.batch.states)
        wrong = np.flatnonzero(~masks[self._rows, checked] & ~over)
        offences = []
        for i in wrong.tolist():
            if self.illegal == "raise":
                who = f"the learner in game {i}"
                raise IllegalAction(explain(self.game, who, int(checked[i]), masks[i]))
            forfeit(self.game, self.batch.states, i, [int(self.players[i])])
            offences.append((i, int(checked[i])))

        self._masks = self._seen = None
        joint = np.full((self.n, self.game.num_players), -1)
        joint[self._rows, self.players] = checked
        if self.at_random:
            self._masks, self._seen = self._looks(self.n)
            batch, reply = self.batch, self.game.loops.reply_rows
            reply(batch.states, self.players, batch.episode_seeds, joint, self._masks, self._seen)
        else:
            going = ~over
            going[wrong] = False
            self._complete(np.flatnonzero(going), joint)
            self._play_on(np.flatnonzero(~over) if some_over else self._rows)
        if some_over:
            self._start(np.flatnonzero(over))
        self.lengths += ~over
        states = self.batch.states
        self.done = self._over()
        self.truncated = self.done & ~states["done"]
        self._account(before, over if some_over else None)
        ended = np.flatnonzero(self.done)
        if len(ended):
            self._tell(ended)
            self.final_observations = (self.observations() if self._seen is None else self._seen)[ended]
            self.final_lengths = self.lengths[ended]
            self.final_players, self.final_opponents = self.players[ended], self.opponents[ended]
            if self.autoreset == "same_step":
                self._start(ended)
        return offences

    def _account(self, before: np.ndarray | None, anew: np.ndarray | None = None) -> None:
        """Compute a step's rewards. `before`: from `Pay.before`; `anew` bool (n,): games that only restarted in it."""
        states = self.batch.states
        if anew is None:
            self.rewards = self._pay.rewards(self._rows, states, before, self.players)
            if self.round_rewards is not None:
                self.round_rewards = self._pay.rounds(self._rows, states, self.players)
            return
        rows, self.rewards = np.flatnonzero(~anew), np.zeros(self.n, np.float32)
        at, by, old = states[rows], self.players[rows], None if before is None else before[~anew]
        self.rewards[rows] = self._pay.rewards(rows, at, old, by)
        if self.round_rewards is not None:
            self.round_rewards = np.zeros(self.n, np.float32)
            self.round_rewards[rows] = self._pay.rounds(rows, at, by)

    def _over(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return a new array bool (k,): whether each of `rows`, or of all games, has ended or is cut off."""
        rows = self._rows if rows is None else rows
        states = self.batch.states
        done = states["done"][rows]  # states[rows] would copy the records
        return done if self.max_plies is None else np.asarray(done | (states["ply"][rows] >= self.max_plies))

    def _looks(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        return np.empty((n, self.game.num_actions), np.bool_), np.empty((n, self.game.observation_size), np.int8)

    def _reply_in(self, rows: np.ndarray) -> None:
        """Do what `_play_on` does, in new games if `at_random`; also update stored masks and observations."""
        states, (legal, seen) = self.batch.states.take(rows), self._looks(len(rows))
        joint = np.full((len(rows), self.game.num_players), -1)
        self.game.loops.reply_rows(states, self.players[rows], self.batch.episode_seeds[rows], joint, legal, seen)
        self.batch.states[rows] = states
        if self._masks is not None and self._seen is not None:
            self._masks[rows], self._seen[rows] = legal, seen
        else:
            self._masks = self._seen = None

    def _play_on(self, rows: np.ndarray) -> None:
        """Play the other players' moves in the games `rows`, until the learner must act or the game is over."""
        while True:
            to_move, over = self.batch.to_move[rows], self._over(rows)
            learner = to_move == self.players[rows]
            if self.game.simultaneous:
                states = self.batch.states.take(rows)
                masks = np.empty((len(rows), self.game.num_actions), np.bool_)
                self.game.loops.mask_rows(states, self.players[rows], masks)
                learner |= (to_move == SIMULTANEOUS) & masks.any(axis=1)
            rows = rows[~(learner | over)]
            if not len(rows):
                return
            self._complete(rows, np.full((self.n, self.game.num_players), -1))

    def _complete(self, rows: np.ndarray, joint: np.ndarray) -> None:
        """Add the other players' choices in the games `rows` to `joint`, int64 (n, players), and step these games."""
        self._show(rows)
        games, players = acting_players(self.game, self.batch.states, rows)
        others = players != self.players[games]
        games, players = games[others], players[others]
        keys = self._others[games, players]
        for key in self.agents.among(keys):
            mine = keys == key
            at, by = games[mine], players[mine]
            states, seeds = self.batch.states.take(at), self.batch.episode_seeds[at]
            view = View.unchecked(self.game, states, by, seeds, **self._memory.of(at, by), copy=False)
            joint[at, by] = legal_actions(self.agents.by_key[key], view, "the opponent")
        self._memory.note(rows, self.batch.states, joint[rows])
        self.batch.step(joint[rows], rows, check=False)


class LooksAtGames:
    """Base class of environments with learners; gives access to what the games, `_games`, contain.

    List it before the framework's class among the bases.
    """

    _games: PlayerGames
    _live: bool = False

    def set_opponents(self, opponent: Any) -> None:
        """Draw from the agents `opponent`, in the form for `make_single`, from each game's next reset on."""
        self._games.set_opponents(opponent)

    @property
    def opponent_names(self) -> dict[int, str]:
        """Key of an agent, as in `info["opponent"]`, -> the agent's name."""
        return self._games.agents.names

    @property
    def states(self) -> NDArray[Any]:
        """A read-only copy of the positions with hidden information, structured (games,)."""
        self._check_live("states")
        return read_only(self._games.batch.states)

    def view(self) -> View:
        """Return all learners' view, for an agent of this library: `agents.load("greedy").act(env.view())`."""
        self._check_live("view")
        return self._games.batch.view(self._games.players)

    def _check_live(self, what: str) -> None:
        if not self._live:
            raise RuntimeError(f"call reset() before {what}()")


class LooksAtMany(LooksAtGames):
    """Base class of environments with several games, otherwise like `LooksAtGames`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._games.game!r}, {self._games.n})"

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the learners' legal actions, bool (games, num_actions)."""
        self._check_live("action_masks")
        return self._games.masks().copy()

    def get_state(self) -> list[bytes]:
        """Return all positions as bytes, an entry per game; environments of a single game can restore them, too."""
        self._check_live("get_state")
        return [self._games.get_state(i) for i in range(self._games.n)]


def fixed_player(game: Game, player: Any) -> int | None:
    """Return the learner's number, None for "alternate"; raise ValueError for anything else."""
    number = int(player) if isinstance(player, np.integer) else player
    choice("player", number, ("alternate", *range(game.num_players)))
    return None if number == "alternate" else number


def first_player(seed: np.uint64, players: int) -> int:
    """Draw the learner's number from the episode's seed, so that a loop that seeds every episode uses all seats."""
    return int(scale(np.uint64(derive(seed, int(Purpose.LEARNER), 0)), players))
