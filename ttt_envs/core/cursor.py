"""State: one game as a cursor, for searches in Python. Make one with `Game.start`::

    state = game.start(seed=0)
    while not state.over:
        state.apply(state.legal_actions()[0])

One call of compiled code plays an action and lists the next legal actions. The position is checked once, when the
cursor is created; every action is checked.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ttt_envs.core.checks import IllegalAction, check_actions, explain
from ttt_envs.core.compile import jit
from ttt_envs.core.information import Known, own_actions
from ttt_envs.core.loops import kernels_of
from ttt_envs.core.observation_layout import check_history
from ttt_envs.core.rng import first_episode_seed
from ttt_envs.core.state import SIMULTANEOUS, position_start

# Results of `look` if no single player is to move.
_OVER, _AT_ONCE = 0, 1

# _JOINT as an action means the choices of all players in the buffer. _MOVER as a player means the player to move.
_JOINT = _MOVER = -1

_REFUSED = -1

_INT64 = np.dtype(np.int64)


# --- kernels: templates, as in `core.loops` ---
#
# `room`, int64, is the buffer of a cursor. It contains, in this order: the legal actions of the player to move; each
# player's choice, -1 for none; a mask, padded with zeros; and the game's number of actions.


@jit.allocates_nothing
def look(state, player, room):
    """Write the legal actions of `player` to `room`; _MOVER stands for the player to move.

    Returns _OVER; or _AT_ONCE, if several players are to move; or 256 * (number of legal actions) + player + 2.
    """
    if state["done"]:
        return _OVER
    if player == _MOVER:
        player = np.int64(state["to_move"])
        if player == SIMULTANEOUS:
            return _AT_ONCE
    actions = room[room.shape[0] - 1]
    words = room[actions + state["rewards"].shape[0] :]
    mask = words.view(np.bool_)[:actions]
    legal_mask(state, player, mask)
    count = 0
    for first in range(0, actions, 8):
        if words[first // 8]:  # usually none of these 8 is legal
            for action in range(first, min(first + 8, actions)):
                room[count] = action
                count += mask[action]  # a branch would be mispredicted
    return int(count << 8 | player + 2)


@jit.allocates_nothing
@jit.keeps_gil
def look_one(states, player, room):
    """Call `look` for states[0]."""
    return look(states[0], player, room)


@jit.allocates_nothing
@jit.keeps_gil
def apply_one(states, action, room):
    """Play in states[0] and return `look` at the new position; return _REFUSED and change nothing for illegal actions.

    `action`: the action of the player to move, or _JOINT for the choices of all players in `room`.
    """
    state = states[0]
    if state["done"]:
        return _REFUSED
    actions, players, mover = room[room.shape[0] - 1], state["rewards"].shape[0], np.int64(state["to_move"])
    joint = room[actions : actions + players]
    mask = room[actions + players :].view(np.bool_)[:actions]
    if mover != SIMULTANEOUS:
        if not allowed(state, mover, action, mask):
            return _REFUSED
        joint[mover] = action
    elif action != _JOINT:
        return _REFUSED
    else:
        for player in range(players):
            if not -1 <= joint[player] < actions:
                return _REFUSED
            if not allowed(state, player, joint[player], mask):
                legal_mask(state, player, mask)
                for other in range(actions):
                    if mask[other]:
                        return _REFUSED
    step(state, joint)
    joint[:] = -1
    return look(state, _MOVER, room)


class _Kind(NamedTuple):
    """The parts that all cursors of a game share: the layout of their memory, a scratch state and the kernels."""

    game: Any  # a Game: its module imports this one
    dtype: np.dtype
    room: int
    start: int
    position: int
    apply: Callable[..., int]
    look: Callable[..., int]


@cache
def _kind_of(game: Any) -> _Kind:
    kernels = {**kernels_of(game.kernels), "look": jit.specialise(look, **kernels_of(game.kernels))}
    room = game.num_actions + game.num_players + (game.num_actions + 7) // 8 + 1
    example = np.zeros(1, game.state_dtype), 0, np.zeros(room, np.int64)
    compiled = (jit.entry(jit.specialise(template, **kernels), *example) for template in (apply_one, look_one))
    return _Kind(game, game.state_dtype, room, 8 * room, position_start(game.state_dtype), *compiled)


class State:
    """The state of one game, which `apply` advances.

    A State is complete: it includes hidden information and the generator. A clone therefore repeats the same dice and
    cards; a search that must not foresee them continues from `redrawn`. Use a State in one thread at a time.
    """

    __slots__ = ("_apply", "_code", "_kind", "_memory", "_room", "_states", "_words", "over")

    over: bool
    """Whether the game is over."""
    _apply: Callable[..., int]
    _code: int
    _kind: _Kind
    _memory: bytearray
    _room: np.ndarray
    _states: np.ndarray
    _words: memoryview

    def __init__(self) -> None:
        raise TypeError("make a State with game.start(seed=0), from a position with game.start(state=...)")

    def clone(self) -> "State":
        """Return an independent copy of the cursor."""
        new = _new(State)
        new._kind = kind = self._kind
        new._apply, new._code, new.over = self._apply, self._code, self.over
        new._memory = memory = bytearray(self._memory)
        new._words = memoryview(memory).cast("q")
        new._room = _array(kind.room, _INT64, memory)
        new._states = _array(1, kind.dtype, memory, kind.start)
        return new

    def redrawn(self, player: int, seed: int | None = None) -> "State":
        """Return a clone in which the hidden information and future chance that `player` cannot know are redrawn."""
        new = self.clone()
        players = np.array([self._player(player)])
        self._kind.game.loops.resample_rows(new._states, players, np.array([first_episode_seed(seed)], np.uint64))
        new._look()
        return new

    def apply(self, action: int | Sequence[int]) -> None:
        """Play one ply.

        Args:
            action: the action of the player to move; or one per player, which is required if several players act
                simultaneously. Entries of players who do not act are ignored; they may be -1.

        Raises:
            IllegalAction: a ValueError that names the action and the legal ones.
            ValueError: the game is finished, or a number is no action.
            TypeError: an action is no whole number.

        After an error the position is as it was.
        """
        given = action if action.__class__ is int else self._read(action)
        try:
            code = self._apply(self._states, given, self._room)
        except OverflowError:
            code = _REFUSED
        if code <= 0:
            if code < 0:
                self._refuse(action)
            self.over = True
        self._code = code

    def legal_actions(self, player: int | None = None) -> list[int]:
        """Return the legal actions, ascending, of `player` or of the player to move; none for players who do not act.

        Raises ValueError for a player who does not exist, and without `player` if several act simultaneously.
        """
        code = self._code
        if player is None:
            if code == 1:  # _AT_ONCE
                raise ValueError("several players act at once: say whose actions are wanted, by a player's number")
        elif code == _AT_ONCE:
            code = self._kind.look(self._states, self._player(player), self._room)
        elif self._player(player) != (code & 255) - 2:
            return []
        return self._words[: code >> 8].tolist()

    @property
    def game(self) -> Any:
        """The `Game`."""
        return self._kind.game

    @property
    def player(self) -> int | None:
        """The player to move; `core.state.SIMULTANEOUS`, -1, if several act at once; None when the game is over."""
        return (self._code & 255) - 2 if self._code else None

    @property
    def players(self) -> tuple[int, ...]:
        """The players who act now."""
        if self._code == _AT_ONCE:
            return tuple(player for player in range(self._kind.game.num_players) if self.legal_actions(player))
        return () if self.player is None else (self.player,)

    def returns(self) -> list[float]:
        """Return each player's rewards so far; in most games they are 0 until the game is over."""
        returns: list[float] = self._states["rewards"][0].tolist()
        return returns

    @property
    def key(self) -> bytes:
        """The position as bytes, without the generator and the fields that are only shown."""
        return self._states.tobytes()[self._kind.position :]

    @property
    def states(self) -> np.ndarray:
        """A copy of the record, structured (1,), for `Game.step`, an oracle or `Game.start`."""
        return _array(1, self._kind.dtype, bytearray(self._memory[self._kind.start :]))

    def text(self, viewer: int | None = None) -> str:
        """Return the position as text: everything, or only what the player `viewer` knows."""
        if viewer is not None:
            viewer = self._player(viewer)
        text: str = self._kind.game.format_state(self._states[0], viewer)
        return text

    def observation(self, player: int, *, history: int = 0) -> np.ndarray:
        """Return a player's observation: int8 (observation size,), or (game.encoded_size(history),) with a history.

        Raises ValueError for a player who does not exist, and for more past decisions than are kept, see `Game.start`.
        """
        game = self._kind.game
        out = np.empty(game.observation_size, np.int8)
        game.loops.observe_one(self._states, 0, self._player(player), out)
        return np.concatenate([out, self._past(player, history).reshape(-1)]) if history else out

    def info_state_key(self, player: int) -> bytes:
        """Return a player's information state with perfect recall: a digest of all their observations and actions.

        Raises ValueError for a player who does not exist, and unless the game began with `game.start(recall=True)`.
        """
        raise ValueError("what players know is kept with game.start(recall=True)")

    def _past(self, player: int, history: int) -> np.ndarray:
        raise ValueError(f"decisions of the past are kept with game.start(history={check_history(history)})")

    def chance_outcomes(self, action: int | Sequence[int]) -> list[tuple[float, "State"]]:
        """Return the possible states after an action, each with its probability, see `Game.chance_outcomes`.

        All these states have the same generator, so later draws must be enumerated too, or redrawn with `redrawn`.
        """
        self.clone().apply(action)
        _, chances, states = self._kind.game.chance_outcomes(self._states, [action], check=False)
        return [(float(chances[k]), _at(self._kind, states[k : k + 1])) for k in range(len(states))]

    def __repr__(self) -> str:
        if self.over:
            return f"State({self._kind.game!r}, over, returns={self.returns()})"
        return f"State({self._kind.game!r}, ply={self._states['ply'][0]}, player={self.player})"

    def __copy__(self) -> "State":
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> "State":
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._kind.game, bytes(self._memory[self._kind.start :]))

    # --- input from outside ---

    def _look(self) -> None:
        self._code = self._kind.look(self._states, _MOVER, self._room)
        self.over = self._code == _OVER

    def _player(self, player: Any) -> int:
        if player.__class__ is not int:
            if isinstance(player, (bool, np.bool_)) or not hasattr(player, "__index__"):
                raise TypeError(f"player must be a whole number, not {player!r}")
            player = operator.index(player)
        if not 0 <= player < (players := self._kind.game.num_players):
            raise ValueError(f"player must be from 0 to {players - 1}, not {player}")
        return int(player)

    def _read(self, action: Any) -> int:
        """Convert an action to a plain int; or write the choices of all players to the buffer and return _JOINT."""
        game, at_once = self._kind.game, self._code == _AT_ONCE
        if isinstance(action, (list, tuple)) or (isinstance(action, np.ndarray) and action.ndim):
            if not (at_once and len(action) == game.num_players and all(each.__class__ is int for each in action)):
                action = check_actions(action, (game.num_players,), game.num_actions).tolist()
            if not at_once:
                return _JOINT if self.player is None else int(action[self.player])
            try:
                self._room[game.num_actions : game.num_actions + game.num_players] = action
            except OverflowError:
                self._refuse(action)
            return _JOINT
        if isinstance(action, (bool, np.bool_)) or not hasattr(action, "__index__"):
            raise TypeError(f"an action is a whole number, or one for each player, not {action!r}")
        return operator.index(action)

    def _refuse(self, action: Any) -> NoReturn:
        game, at_once = self._kind.game, self._code == _AT_ONCE
        if self.over:
            raise ValueError("the game is over: there is nothing to be played")
        if at_once and np.ndim(action) == 0:
            example = [self.legal_actions(p)[0] if p in self.players else -1 for p in range(game.num_players)]
            raise ValueError(f"several players act at once: an action for each is wanted, such as {example}")
        given = [int(each) for each in action] if np.ndim(action) else [operator.index(action)]
        for number in given:
            if not -1 <= number < game.num_actions:
                raise ValueError(f"actions must be from 0 to {game.num_actions - 1}, not {number}")
        for player in self.players:
            number, legal = given[player if len(given) > 1 else 0], self.legal_actions(player)
            if number < 0:
                raise ValueError(f"player {player} acts and was given -1; actions are 0 to {game.num_actions - 1}")
            if number not in legal:
                mask = np.zeros(game.num_actions, np.bool_)
                mask[legal] = True
                raise IllegalAction(explain(game, f"player {player}", number, mask))
        raise AssertionError


class RecallingState(State):
    """A cursor that tracks the players' information. History before the first position is unknown.

    After `redrawn(player)`, only the information of `player` is consistent with the new position.
    """

    __slots__ = ("_known",)

    _known: Known

    def clone(self) -> "RecallingState":
        """Return an independent copy of the cursor, with the players' information."""
        return _recalling(super().clone(), self._known.copy())

    def apply(self, action: int | Sequence[int]) -> None:
        """As `State.apply`."""
        before = self.states
        super().apply(action)
        self._known.note(_FIRST, before, own_actions(self.game, before, _joint(action)))
        self._show()

    def chance_outcomes(self, action: int | Sequence[int]) -> list[tuple[float, "State"]]:
        """As `State.chance_outcomes`."""
        found, before = super().chance_outcomes(action), self.states
        known = self._known.copy()
        known.note(_FIRST, before, own_actions(self.game, before, _joint(action)))
        outcomes = [(chance, _recalling(state, known.copy())) for chance, state in found]
        for _, state in outcomes:
            state._show()
        return list(outcomes)

    def info_state_key(self, player: int) -> bytes:
        """Return a key of 16 bytes for the player's information state; see `State.info_state_key`."""
        player = self._player(player)
        return (
            super().info_state_key(player) if self._known.digests is None else self._known.digests[0, player].tobytes()
        )

    def _past(self, player: int, history: int) -> np.ndarray:
        if check_history(history) > self._known.history:
            return super()._past(player, history)
        return self._known.past[0, player, :history]

    def _show(self) -> None:
        if not self.over:
            self._known.show(_FIRST, self._states)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_recalling, (*super().__reduce__()[1], self._known)


_FIRST = np.zeros(1, np.int64)


def _joint(action: int | Sequence[int]) -> np.ndarray:
    """Return one action as int64 (1, 1), or one per player as int64 (1, players)."""
    return np.asarray(action, np.int64).reshape(1, -1)


def _recalling(state: State, known: Known) -> RecallingState:
    new = _new(RecallingState)
    for name in State.__slots__:
        setattr(new, name, getattr(state, name))
    new._known = known
    return new


def _restored_recalling(game: Any, data: bytes, known: Known) -> RecallingState:
    return _recalling(_restored(game, data), known)


# `State.clone` is faster if these are globals of the module.
_new, _array = object.__new__, np.ndarray


def _at(kind: _Kind, states: np.ndarray) -> State:
    state = _new(State)
    actions, players = kind.game.num_actions, kind.game.num_players
    room = np.zeros(kind.room, _INT64)
    room[actions : actions + players], room[-1] = -1, actions
    state._kind, state._apply = kind, kind.apply
    state._memory = memory = bytearray(room.tobytes() + states.tobytes())
    state._words = memoryview(memory).cast("q")
    state._room = _array(kind.room, _INT64, memory)
    state._states = _array(1, kind.dtype, memory, kind.start)
    state._look()
    return state


def _restored(game: Any, data: bytes) -> State:
    return start(game, state=game.from_bytes(np.frombuffer(data, np.uint8)[None]))


def start(game: Any, seed: int | None = None, state: Any = None, known: Known | None = None) -> State:
    """Begin a game, see `Game.start`; with `known`, information of one new game, return a RecallingState."""
    if known is not None:
        found = _recalling(start(game, seed, state), known)
        found._show()
        return found
    if state is None:
        return _at(_kind_of(game), game.new_state(seed))
    text = isinstance(state, str)
    given = state.reshape(1) if isinstance(state, np.void) or getattr(state, "shape", None) == () else state
    states = game.parse_state(state) if text else game.check_states(given)
    if len(states) != 1:
        raise ValueError(f"state must be one position, not {len(states)}")
    if text or seed is not None:
        states = states.copy()
        states["rng"] = first_episode_seed(seed)
    return _at(_kind_of(game), states)
