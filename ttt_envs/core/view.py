"""View: the information of a player, which an agent receives instead of a state."""

import operator
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.checks import IllegalAction, check_actions, check_players, check_rows, explain
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.observation_layout import ENCODINGS, check_history
from ttt_envs.core.options import choice
from ttt_envs.core.rng import Stream, decision_rows, stream_seeds
from ttt_envs.core.state import copied, read_only

Made = TypeVar("Made")


class lazy(cached_property[Made]):  # noqa: N801  # read as its base class
    """`cached_property` without Python 3.11's lock, which takes longer than the properties of a view of one game."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        made = vars(instance)[self.attrname] = self.func(instance)
        return made


@cache
def _decision_rows() -> Callable[..., None]:
    """Return `decision_rows` as a `jit.entry`, which also accepts arrays that are not contiguous."""
    words, numbers, plies = (np.zeros(4, dtype)[::2] for dtype in (np.uint64, np.int64, np.int32))
    return jit.entry(decision_rows, words, numbers, plies, words)


def _decisions(seeds: np.ndarray, players: np.ndarray, states: np.ndarray) -> NDArray[np.uint64]:
    decisions = np.empty(len(states), np.uint64)
    _decision_rows()(seeds, players, states["ply"], decisions)
    return decisions


class View:
    """n positions, each with the view of one player who acts in it. An agent receives a View, never a state.

    All arrays are permanently read-only and no attribute can be set, so that an agent can change neither the game, nor
    the data of other agents, nor the players of the view.

    Attributes:
        game: the game.
        info_state_keys: uint64 (n, 2), the players' information states with perfect recall: digests of all their
            observations and actions, see `ttt_envs.core.information`. None unless tracked: for agents with
            `Agent.remembers`, and in a `Batch` with `recall=True`.
        past: int8 (n, k, observation size + num_actions), the players' observations and actions at their last k
            decisions, the newest first, see `Game.layout`; zeros for missing decisions. None unless tracked: for
            agents with `Agent.history`, and in a `Batch` with `history=k`.
    """

    game: Game
    info_state_keys: NDArray[np.uint64] | None = None
    past: NDArray[np.int8] | None = None
    _watching: bytes
    _episodes: bytes | None
    # Set only by `of_one`: the state, the decision's seed, the player's mask and observation.
    _record: bytes
    _seed: bytes
    _looks: tuple[bytes, bytes] | None = None

    def __init__(self, game: Game, states: NDArray[Any], players: Any, seeds: Any) -> None:
        """Check and copy `states` structured (n,), `players` int or int (n,), and the episodes' `seeds` (n,).

        Raises TypeError or ValueError naming the error, see `Game.check_states`.
        """
        if not isinstance(game, Game):
            raise TypeError(f"game must be a Game from ttt_envs.load, not {type(game).__name__}")
        checked = game.check_states(states)
        numbers = np.asarray(seeds)
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"seeds must be whole numbers, not {numbers.dtype}")
        if numbers.shape != checked.shape or (numbers.dtype.kind == "i" and (numbers < 0).any()):
            raise ValueError(f"seeds must have shape {checked.shape} and be from 0 to 2**64-1, not {seeds!r}")
        self._fill(
            game,
            copied(checked),
            check_players(players, len(checked), game.num_players),
            numbers.astype(np.uint64),
            None,
        )

    @classmethod
    def unchecked(
        cls,
        game: Game,
        states: np.ndarray,
        players: np.ndarray,
        seeds: np.ndarray,
        *,
        episodes: np.ndarray | None = None,
        info_state_keys: np.ndarray | None = None,
        past: np.ndarray | None = None,
        copy: bool = True,
    ) -> "View":
        """Return a view of states and players known to be valid; invalid ones may crash the process.

        Pass `copy=False` for states that will not change.
        """
        view: View = object.__new__(cls)
        own = copied(states) if copy else np.ascontiguousarray(states)
        view._fill(game, own, np.ascontiguousarray(players, np.int64), seeds, episodes)
        if info_state_keys is not None or past is not None:
            view._add(info_state_keys, past)
        return view

    @classmethod
    def of_one(
        cls,
        game: Game,
        states: np.ndarray,
        player: int,
        seeds: np.ndarray,
        *,
        episode: bytes,
        looks: tuple[bytes, bytes],
    ) -> "View":
        """Return a view like `unchecked` for one player of states (1,), whose arrays are made on access.

        `episode`: the number of the player's episode as int64 bytes. `looks`: the player's mask, bool, and observation,
        int8, as bytes.
        """
        view: View = object.__new__(cls)
        own, by = vars(view), np.array([player])
        own["game"], own["_record"], own["_looks"] = game, states.tobytes(), looks
        own["_watching"], own["_episodes"] = by.tobytes(), episode
        own["_seed"] = _decisions(seeds, by, states).tobytes()
        return view

    def _fill(
        self,
        game: Game,
        states: np.ndarray,
        players: np.ndarray,
        seeds: np.ndarray,
        episodes: np.ndarray | None,
        *,
        derived: bool = False,
    ) -> None:
        """`seeds` uint64 (n,): seeds of the episodes or, if `derived`, of the decisions."""
        own = vars(self)
        own["game"], own["_states"] = game, states
        # Kept as bytes, because an agent must not change the players or the episodes.
        own["_watching"], own["_episodes"] = players.tobytes(), None if episodes is None else episodes.tobytes()
        own["seeds"] = read_only(seeds if derived else _decisions(seeds, players, states))

    def _add(self, keys: np.ndarray | None, past: np.ndarray | None) -> None:
        if keys is not None:
            vars(self).update(info_state_keys=read_only(keys))
        if past is not None:
            vars(self).update(past=read_only(past))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a View cannot be changed: `{name}` was to be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a View cannot be changed: `{name}` was to be deleted")

    @lazy
    def _states(self) -> np.ndarray:
        return np.ndarray(1, self.game.state_dtype, bytearray(self._record))

    @lazy
    def seeds(self) -> NDArray[np.uint64]:
        """Return a seed for each decision, uint64 (n,). An agent that draws its random numbers from these seeds plays
        the same game in every batch.
        """
        return np.frombuffer(self._seed, np.uint64)

    @lazy
    def players(self) -> NDArray[np.int64]:
        """Return int64 (n,), the observing players."""
        return np.frombuffer(self._watching, np.int64)

    @lazy
    def episodes(self) -> NDArray[np.int64] | None:
        """Return int64 (n,): a random number below 2**53 for each player of each running game. The number identifies
        the game for agents that keep information between decisions, see `Agent.episodes_over`. None if the positions do
        not belong to running games.
        """
        return None if self._episodes is None else np.frombuffer(self._episodes, np.int64)

    @property
    def _players(self) -> np.ndarray:
        """int64 (n,), a new array each time, because kernels are compiled for writeable arrays."""
        return np.frombuffer(bytearray(self._watching), np.int64)

    def __len__(self) -> int:
        return len(self._watching) // 8

    def __repr__(self) -> str:
        seen, by = f"{len(self)} position{'s' * (len(self) != 1)}", np.unique(self.players).tolist()
        return f"View({self.game!r}, {seen} of player{'s' * (len(by) > 1)} {', '.join(map(str, by))})"

    @lazy
    def observations(self) -> NDArray[np.int8]:
        """Return int8 (n, observation size)."""
        if self._looks is not None:
            return np.ndarray((1, self.game.observation_size), np.int8, self._looks[1])
        out = np.empty((len(self), self.game.observation_size), np.int8)
        self.game.loops.observe_rows(self._states, self._players, out)
        return read_only(out)

    @lazy
    def masks(self) -> NDArray[np.bool_]:
        """Return bool (n, num_actions)."""
        if self._looks is not None:
            return np.ndarray((1, self.game.num_actions), np.bool_, self._looks[0])
        out = np.empty((len(self), self.game.num_actions), np.bool_)
        self.game.mask_rows(self._states, self.players, out)
        return read_only(out)

    def encoded(self, encoding: str = "flat", *, history: int = 0) -> NDArray[np.int8]:
        """Return observations as environments with these arguments do: int8 (n, ...), see `Game.encoded_shape`.

        Raises ValueError for an unknown encoding, for planes in a game without a board, and for a history longer than
        `past`.
        """
        choice("encoding", encoding, ENCODINGS)
        kept = 0 if self.past is None else self.past.shape[1]
        if check_history(history) > kept:
            raise ValueError(
                f"this view has {kept} decisions of the past, not history={history}: they are kept for an agent whose "
                "attribute `history` says so, and in a Batch with history="
            )
        seen: np.ndarray = self.observations
        if self.past is not None and history:
            past = self.past[:, :history]
            seen = np.concatenate([seen, past.reshape(len(self), history * past.shape[2])], axis=1)
        return self.game.to_planes(seen) if encoding == "planes" else seen

    @lazy
    def plies(self) -> NDArray[np.int64]:
        """Return the number of plies played, int64 (n,)."""
        return read_only(self._states["ply"].astype(np.int64))

    def sample_worlds(self, seed: int = 0) -> NDArray[Any]:
        """Return states (n,) consistent with the players' views: hidden information and future chance are redrawn.

        `seed` is a number from 0 to 2**32-1; different seeds give different samples.
        """
        if not 0 <= seed < 2**32:
            raise ValueError(f"seed must be from 0 to 2**32-1, not {seed!r}")
        return self.redrawn(stream_seeds(self.seeds, Stream.WORLD, operator.index(seed)))

    def redrawn(self, seeds: NDArray[np.uint64]) -> NDArray[Any]:
        """Return worlds like `sample_worlds`, for uint64 (n,) seeds; raise TypeError or ValueError for invalid ones."""
        if not isinstance(seeds, np.ndarray) or seeds.dtype != np.uint64:
            raise TypeError(f"seeds must be an array of uint64, not {getattr(seeds, 'dtype', type(seeds).__name__)}")
        if seeds.shape != (len(self),):
            raise ValueError(f"seeds must have shape {(len(self),)}, not {seeds.shape}")
        worlds = copied(self._states)
        self.game.loops.resample_rows(worlds, self._players, seeds)
        return worlds

    def text(self, i: int = 0) -> str:
        """Return position `i` as its player sees it."""
        return self.game.format_state(self._states[i], int(self._players[i]))

    def take(self, rows: Any) -> "View":
        """Return the view of some of the positions: `rows` as for `Batch.step`, with repetitions allowed.

        Raises TypeError or ValueError for anything else.
        """
        rows = check_rows(rows, np.arange(len(self)))
        part = self._part(self.game, self._states.take(rows), rows)
        part._add(*(None if each is None else each[rows] for each in (self.info_state_keys, self.past)))
        return part

    def current_round(self) -> tuple[NDArray[np.int64], "View"]:
        """Return the positions within a round of the match, int64 (k,), and a view of these rounds as separate games.

        Players and seeds are the same. In the other positions a decision about the match is pending, such as who begins
        the next round. Raises ValueError if the game is no match.
        """
        if self.game.extras.current_round is None:
            raise ValueError(f"{self.game} is no match of several rounds")
        game, rows, states = self.game.extras.current_round(self._states)
        return rows, self._part(game, states, rows)

    def _part(self, game: Game, states: np.ndarray, rows: np.ndarray) -> "View":
        """Return a view of states (k,) of `game` with the players, seeds and episodes of `rows`."""
        part: View = object.__new__(View)
        episodes = None if self.episodes is None else self.episodes[rows]
        part._fill(game, states, self.players[rows], self.seeds[rows], episodes, derived=True)
        return part


class Actor(Protocol):
    """The minimal interface of an agent, as an environment requires of opponents. See `ttt_envs.agents.Agent`."""

    def act(self, view: View) -> np.ndarray:
        """Return one legal action per position, int64 (n,); -1 if the player has none."""


# --- checks of agents' answers: every error names the agent ---


def name_of(agent: Actor) -> str:
    """Return an agent's name for messages; its class's name if it has none."""
    return str(getattr(agent, "name", type(agent).__name__))


def as_actor(given: Any, role: str = "an agent") -> Actor:
    """Return `given` if it has a method `act(view)`; else, for example for text, raise TypeError that names `role`."""
    if isinstance(given, str):
        raise TypeError(f"{role} is an object here, not text: use agents.load({given!r})")
    if isinstance(given, type) or not callable(getattr(given, "act", None)):
        raise TypeError(f"{role} needs a method act(view), as the agents of agents.load have, not {given!r}")
    actor: Actor = given
    return actor


def numbers_of(who: str, answer: Any, view: View) -> np.ndarray:
    """Return an answer as int64 (n,): action numbers or -1, legal or not.

    Raises TypeError or ValueError, naming `who`, for anything else.
    """
    try:
        return check_actions(answer, (len(view),), view.game.num_actions)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{who}: {error}") from None


def illegal_answers(who: str, actions: np.ndarray, view: View) -> Iterator[tuple[int, str]]:
    """Yield the positions of `view` in which actions from `numbers_of` are illegal, with the reasons."""
    masks = view.masks
    # Check negative numbers separately, because -1 would index the last column of the mask.
    for k in ((actions < 0) | ~masks[np.arange(len(view)), actions]).nonzero()[0].tolist():
        player = f"{who} as player {view.players[k]}"
        if actions[k] < 0:
            yield k, f"{player} gave no action (-1) where it has to choose"
        else:
            yield k, explain(view.game, player, int(actions[k]), masks[k])


def legal_actions(agent: Actor, view: View, role: str = "agent") -> np.ndarray:
    """Return an agent's checked actions in positions in which it must act: int64 (n,), all legal.

    Passes on the agent's errors. Raises errors that name the agent: TypeError or ValueError for answers that are no
    actions, and IllegalAction, a ValueError that shows the position, for an illegal action.
    """
    answer = agent.act(view)
    if type(answer) is np.ndarray and answer.shape == (1,) and answer.dtype.kind == "i":
        # Shortcut for one game: the array checks below would take longer than the game's step.
        action = int(answer[0])
        if 0 <= action < view.game.num_actions and view.masks[0, action]:
            return answer
    who = f"{role} {name_of(agent)!r}"
    actions = numbers_of(who, answer, view)
    if actions.min() < 0 or not view.masks[np.arange(len(view)), actions].all():
        k, reason = next(illegal_answers(who, actions, view))
        raise IllegalAction(f"{reason}; the position:\n{view.text(k)}")
    return actions
