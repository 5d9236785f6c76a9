"""Games in which one seat learns and agents play the others: what the Gymnasium and SB3 environments share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ttt_envs.core.batch import Batch, acting_players
from ttt_envs.core.game import Game, explain
from ttt_envs.core.illegal import IllegalAction, check_actions
from ttt_envs.core.known import Known
from ttt_envs.core.options import choice, unknown
from ttt_envs.core.rng import Purpose, derive, derive_rows, scale
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.core.view import Actor, View
from ttt_envs.wrappers.common import ILLEGAL, forfeit

RESET_OPTIONS = ("seat", "opponent")
AUTORESET = ("same_step", "next_step", "disabled")

# So often may games in a row end before the learner's first decision.
_PATIENCE = 1000


class SeatGames:
    """`n` games; the learner owns one seat of each, and whenever the learner is to act the others have moved.

    The seat alternates from episode to episode, or is fixed. Each game's opponent is drawn at its reset and stays until
    the next. A loss arrives as a reward of -1 with the learner's last action.

    Attributes:
        seats: int64 (n,), the learner's player number in each game.
        rewards: float32 (n,), the learner's, of the last step.
        done: bool (n,), games that the last step ended.
        lengths: int64 (n,), the learner's decisions in the running episode.
        final_observations: int8 (k, observation size), the learner's, of the k games that the last step ended.
        final_lengths: int64 (k,), their number of learner's decisions.
        final_seats: int64 (k,), the learner's seats in them.
    """

    def __init__(
        self,
        game: Game,
        n: int,
        *,
        opponent: Actor | Sequence[Actor],
        seat: int | str = "alternate",
        illegal: str = "lose",
        seed: int | None = None,
        threads: int = 1,
        autoreset: str = "same_step",
    ) -> None:
        """Make the games; call `reset` first.

        Args:
            game: from `ttt_envs.load`.
            n: number of games.
            opponent: an agent, or several, of which each game draws one at its reset.
            seat: the learner's player number, or "alternate".
            illegal: the learner's illegal action makes them "lose" or is "raise"d.
            seed: whole number, or None for one from the system.
            threads: threads that share the stepping; opponents have their own.
            autoreset: a game that ends starts anew in the "same_step", in the "next_step", whose action does not count
                then, or when it is "disabled" by `reset` alone.
        """
        self.game = game
        self.seat = self._checked_seat(seat)
        self.illegal = choice("illegal", illegal, ILLEGAL)
        self.autoreset = choice("autoreset_mode", autoreset, AUTORESET)
        self.batch = Batch(game, n, seed=seed, threads=threads)
        self.n = self.batch.n
        self._rows = np.arange(self.n)
        self._agents: dict[int, Actor] = {}
        self._known: Known | None = None  # what the players know, for opponents who go by it
        self._next_key = 0
        self.seats = np.zeros(self.n, np.int64)
        self._opponents = np.full(self.n, -1)
        self.rewards = np.zeros(self.n, np.float32)
        self.done = np.zeros(self.n, np.bool_)
        self.lengths = np.zeros(self.n, np.int64)
        self._started = np.zeros(self.n, np.int64)
        self._room = np.zeros(game.num_actions, np.bool_)
        self.set_opponents(opponent)
        self._fresh = seed is not None
        self._first_seat = first_seat(self.batch)

    def _checked_seat(self, seat: int | str) -> int | str:
        number = isinstance(seat, (int, np.integer)) and not isinstance(seat, bool)
        if not ((number and 0 <= int(seat) < self.game.num_players) or (isinstance(seat, str) and seat == "alternate")):
            known = ", ".join(map(str, range(self.game.num_players)))
            raise ValueError(f"seat must be 'alternate' or one of {known}, not {seat!r}")
        return seat

    def set_opponents(self, opponents: Actor | Sequence[Actor], weights: Sequence[float] | None = None) -> None:
        """Draw opponents from these from now on, at each game's next reset; `weights` are relative chances."""
        if isinstance(opponents, str):
            raise TypeError(f"an opponent is an agent, not text: use agents.load({opponents!r})")
        pool = list(opponents) if isinstance(opponents, Sequence) else [opponents]
        if not pool:
            raise ValueError("there must be at least one opponent")
        for agent in pool:
            if isinstance(agent, type) or not callable(getattr(agent, "act", None)):
                raise TypeError(
                    f"an opponent needs a method act(view), as the agents of agents.load have, not {agent!r}"
                )
        chances = np.ones(len(pool)) if weights is None else np.asarray(weights, np.float64)
        if chances.shape != (len(pool),) or not (chances >= 0).all() or not chances.sum() > 0:
            raise ValueError(f"weights must be {len(pool)} numbers of at least 0, not all 0; not {weights!r}")
        in_use = {*self._opponents.tolist(), *getattr(self, "_pool", ())}
        self._agents = {key: agent for key, agent in self._agents.items() if key in in_use}
        keys = []
        for agent in pool:
            known = [key for key, other in self._agents.items() if other is agent]
            if not known:
                known = [self._next_key]
                self._agents[self._next_key] = agent
                self._next_key += 1
            keys.append(known[0])
        self._pool = np.array(keys)
        if self._known is None and any(getattr(agent, "remembers", False) for agent in pool):
            # Games under way keep their opponents, who do not ask for it.
            self._known = Known(self.game, self.n)
        self._chances = np.cumsum(chances / chances.sum())

    def opponent_of(self, i: int) -> Actor:
        """The agent that plays the other seats of game i."""
        return self._agents[int(self._opponents[i])]

    def reset(
        self,
        seed: int | None = None,
        *,
        seat: int | str | None = None,
        opponent: Actor | Sequence[Actor] | None = None,
    ) -> None:
        """Start all games anew, from `seed`; None goes on with each game's next episode.

        A `seat` and an `opponent` are those of the games that start now.

        Raises ValueError or TypeError for a wrong seat or opponent; nothing has changed then.
        """
        usual, drawn = self.seat, (self._pool, self._chances)
        if seat is not None:
            self.seat = self._checked_seat(seat)
        try:
            if opponent is not None:
                self.set_opponents(opponent)
            self._reset(seed)
        finally:
            self.seat, (self._pool, self._chances) = usual, drawn

    def _reset(self, seed: int | None) -> None:
        if seed is not None:
            self._started[:] = 0
            self.batch.reset(seed)
            self._first_seat = first_seat(self.batch)
        elif not self._fresh:
            self.batch.reset()
        self._fresh = False
        # New arrays: the old ones may be in a caller's hands.
        self.rewards = np.zeros(self.n, np.float32)
        self.done = np.zeros(self.n, np.bool_)
        self._seat_learners(self._rows)

    def _start(self, rows: np.ndarray) -> None:
        self.batch.reset_rows(rows)
        self._seat_learners(rows)

    def _seat_learners(self, rows: np.ndarray) -> None:
        """Give seats and opponents to games just begun, and play on to the learner's first decision."""
        for _ in range(_PATIENCE):
            if self.seat == "alternate":
                self.seats[rows] = (rows + self._started[rows] + self._first_seat) % self.game.num_players
            else:
                self.seats[rows] = self.seat
            self._started[rows] += 1
            self.lengths[rows] = 0
            if self._known is not None:
                self._known.begin(rows)
            draws = np.empty(len(rows), np.uint64)
            derive_rows(self.batch.episode_seeds[rows], int(Purpose.OPPONENT), draws)
            drawn = np.searchsorted(self._chances, draws / 2.0**64, side="right")
            self._opponents[rows] = self._pool[np.minimum(drawn, len(self._pool) - 1)]
            self._play_on(rows)
            rows = rows[self.batch.states["done"][rows]]
            if not len(rows):
                return
            # Over before the learner had a choice: no episode of the learner's.
            self.batch.reset_rows(rows)
        raise RuntimeError(f"{_PATIENCE} games in a row ended before the learner's first decision")

    def observations(self) -> np.ndarray:
        """int8 (n, observation size), the learner's."""
        return self.batch.observations(self.seats)

    def masks(self) -> np.ndarray:
        """bool (n, num_actions), the learner's."""
        return self.batch.masks(self.seats)

    def step(self, actions: Any) -> list[tuple[int, str, list[str]]]:
        """Play the learner's actions int (n,), and the others' until the learner acts again or the game is over.

        Returns (game, action's name, names of the legal ones) for each illegal action that has just lost.

        Raises:
            RuntimeError: a finished game, if autoreset is "disabled".
            TypeError, ValueError: not whole numbers, a wrong shape, or numbers that are no action.
            IllegalAction: not legal now, with illegal="raise"; nothing is changed.
        """
        checked = check_actions(actions, (self.n,), self.game.num_actions)
        if (checked < 0).any():
            raise ValueError(f"actions must be from 0 to {self.game.num_actions - 1}, not {checked.min()}")
        over = self.batch.states["done"].copy()
        if over.any() and self.autoreset != "next_step":
            raise RuntimeError("the game is over: call reset() before step()")
        masks = self.masks()
        wrong = np.flatnonzero(~masks[self._rows, checked] & ~over)
        offences = []
        for i in wrong:
            words, played, legal = explain(self.game, f"the learner in game {i}", int(checked[i]), masks[i])
            if self.illegal == "raise":
                raise IllegalAction(words)
            forfeit(self.game, self.batch.states, int(i), [int(self.seats[i])])
            offences.append((int(i), played, legal))

        joint = np.full((self.n, self.game.num_players), -1)
        joint[self._rows, self.seats] = checked
        going = ~over
        going[wrong] = False
        self._complete(np.flatnonzero(going), joint)
        if over.any():
            self._start(np.flatnonzero(over))
        self._play_on(self._rows)
        self.lengths += ~over
        states = self.batch.states
        self.done = states["done"].copy()
        self.rewards = states["rewards"][self._rows, self.seats]
        ended = np.flatnonzero(self.done)
        if len(ended):
            self.final_observations = self.observations()[ended]
            self.final_lengths = self.lengths[ended]
            self.final_seats = self.seats[ended]
            if self.autoreset == "same_step":
                self._start(ended)
        return offences

    def play_one(self, action: int) -> None:
        """`step` with a legal action in the only game: without arrays that hold one number."""
        states, seeds, seat = self.batch.states, self.batch.episode_seeds, int(self.seats[0])
        opponent = self._agents[int(self._opponents[0])]
        joint = np.full(self.game.num_players, -1)
        joint[seat] = action
        acting = self._acting_one()
        while True:
            if self._known is not None:
                self._known.show(self._rows, states)
            others = [player for player in acting if player != seat]
            if others:
                given, own = states, seeds
                if len(others) > 1:  # asked together, as in `_complete`
                    given, own = states.repeat(len(others)), seeds.repeat(len(others))
                known = None if self._known is None else self._known.digests[0, others]
                view = View.unchecked(self.game, given, np.array(others), own, known=known, copy=False)
                joint[others] = self._checked(opponent, view)
            if self._known is not None:
                self._known.note(self._rows, joint[None])
            self.game.loops.step_one(states, 0, joint)
            if states["done"][0]:
                break
            acting = self._acting_one()
            if seat in acting:
                break
        self.lengths[0] += 1
        self.rewards = states["rewards"][:, seat].copy()
        self.done = states["done"].copy()

    def _acting_one(self) -> list[int]:
        """The players who have a choice to make in the only game, which is not over."""
        mover = int(self.batch.states["to_move"][0])
        if mover != SIMULTANEOUS:
            return [mover]
        return [player for player in range(self.game.num_players) if self._may_act(player)]

    def _may_act(self, player: int) -> bool:
        self.game.loops.mask_one(self.batch.states, 0, player, self._room)
        return bool(self._room.any())

    def _checked(self, agent: Actor, view: View) -> np.ndarray:
        """An opponent's actions, int (n,); ValueError, naming it, unless they are legal."""
        actions = np.asarray(agent.act(view))
        rows, count = np.arange(len(view)), self.game.num_actions
        fits = actions.shape == rows.shape and actions.dtype.kind in "iu"
        if not (fits and ((actions >= 0) & (actions < count)).all() and view.masks[rows, actions].all()):
            name = getattr(agent, "name", repr(agent))
            raise ValueError(f"the opponent {name} must give one legal action for each of {len(view)} positions")
        return actions

    def _play_on(self, rows: np.ndarray) -> None:
        """Let the others move in these games until the learner is to act or the game is over."""
        while True:
            to_move, done = self.batch.to_move[rows], self.batch.states["done"][rows]
            learner = to_move == self.seats[rows]
            if self.game.simultaneous:
                states = self.batch.states[rows]
                masks = np.empty((len(rows), self.game.num_actions), np.bool_)
                self.game.loops.mask_rows(states, self.seats[rows], masks)
                learner |= (to_move == SIMULTANEOUS) & masks.any(axis=1)
            rows = rows[~(learner | done)]
            if not len(rows):
                return
            self._complete(rows, np.full((self.n, self.game.num_players), -1))

    def _complete(self, rows: np.ndarray, joint: np.ndarray) -> None:
        """Add the others' choices to `joint` int64 (n, players), and step these games."""
        if self._known is not None:
            self._known.show(rows, self.batch.states[rows])
        games, players = acting_players(self.game, self.batch.states, rows)
        others = players != self.seats[games]
        games, players = games[others], players[others]
        for key in np.unique(self._opponents[games]):
            mine = self._opponents[games] == key
            at, by = games[mine], players[mine]
            states, seeds = self.batch.states[at], self.batch.episode_seeds[at]
            known = None if self._known is None else self._known.digests[at, by]
            view = View.unchecked(self.game, states, by, seeds, known=known, copy=False)
            joint[at, by] = self._checked(self._agents[int(key)], view)
        if self._known is not None:
            self._known.note(rows, joint[rows])
        self.batch.step_unchecked(joint[rows], rows)


def first_seat(batch: Batch) -> int:
    """The learner's seat in the first game, drawn by the seed: a loop that seeds every episode sees all seats."""
    drawn = np.uint64(derive(batch.episode_seeds[0], int(Purpose.SEAT), 0))
    return int(scale(drawn, batch.game.num_players))


def reset_options(options: dict[str, Any] | None, game: Game) -> dict[str, Any]:
    """The options of a Gymnasium `reset` as arguments of `SeatGames.reset`: a seat, an opponent.

    Raises ValueError or TypeError for an unknown option, or an opponent that is unknown or cannot play the game.
    """
    import ttt_envs

    given = dict(options or {})
    for name in given:
        if name not in RESET_OPTIONS:
            raise ValueError(f"reset(): {unknown('option', name, list(RESET_OPTIONS))}")
    if given.get("opponent") is not None:
        given["opponent"] = ttt_envs.load_opponents(given["opponent"], game)
    return given
