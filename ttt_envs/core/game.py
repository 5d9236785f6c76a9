"""Game: a frozen record of a game's facts, kernels, faces and extras; it reads and writes positions in all forms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from ttt_envs.core.chance import chance_of
from ttt_envs.core.checks import Validity, check_actions, check_players, refusal
from ttt_envs.core.compile import jit
from ttt_envs.core.cursor import State, start
from ttt_envs.core.information import Known
from ttt_envs.core.loops import Kernels, Loops, loops_for
from ttt_envs.core.observation_layout import (
    ENCODINGS,
    MOST_HISTORY,
    Block,
    Part,
    check_history,
    describe,
    planes_of,
    with_history,
)
from ttt_envs.core.options import as_text, choice, unknown, within
from ttt_envs.core.oracle import Oracle, SolveCommand
from ttt_envs.core.presentation import ActionReader, Box, Faces
from ttt_envs.core.rng import first_episode_seed
from ttt_envs.core.state import SIMULTANEOUS, Range, plain, ranges_of, read_only
from ttt_envs.core.symmetry import Patterns, Symmetry
from ttt_envs.storage.untrusted import with_tuples

#: The values of `Game.chance`.
CHANCES = "none", "start", "play"

#: The values of `Game.rewards`.
PAID = "end", "steps"


class Counterpart(NamedTuple):
    """A game of OpenSpiel with the same rules but its own action numbers.

    One action of this library may correspond to several consecutive OpenSpiel actions of the same player.

    Attributes:
        name: its name in OpenSpiel, with parameters if it needs them.
        history: (states (1,), since) -> OpenSpiel's actions from the start to this position. The actions begin with
            `since`, for example the history of an earlier position of the same game. Raises ValueError if none exist.
        action: (states (1,), OpenSpiel's actions by the player to move) -> the action of this library.
    """

    name: str
    history: Callable[[np.ndarray, Sequence[int]], list[int]]
    action: Callable[[np.ndarray, Sequence[int]], int]


@dataclass(frozen=True, kw_only=True)
class Extras:
    """The optional parts of a game, each made when it is first used.

    Attributes:
        symmetries: () -> the board's symmetries, with or without the identity.
        oracle: () -> the oracle; raises NotImplementedError, naming the options, if there is none.
        without_past: states (n,) -> copies in which fields that only record the past, such as a count of repetitions,
            have a fixed value. These fields may end a game as a draw; they must not matter otherwise. `ttt solve`
            ignores them and counts endless play as a draw. If None, it distinguishes all fields.
        patterns: () -> the patterns that n-tuple networks look up.
        solve_commands: () -> the commands of the game's solver, by name; the same for all options.
        current_round: for a match: (states (n,), none finished) -> (the game of a single round, rows int64 (k,), states
            (k,) of that game). `rows` are the positions within a round; `states` are these rounds as separate games
            with the same players, actions and masks. In other positions a decision about the match is pending, such as
            who begins the next round. None if the game is no match.
        round_rewards: for a match: (states (n,), out float32 (n, players)): fills in the sum of the rewards that the
            rounds so far would have paid as separate games. Environments report it as `info["round_reward"]` at every
            step, so it should be compiled. None if the game is no match.
        counterpart: the same game in OpenSpiel; None if OpenSpiel has none with these rules.
    """

    symmetries: Callable[[], Sequence[Symmetry]] = tuple
    oracle: Callable[[], Oracle] | None = None
    without_past: Callable[[np.ndarray], np.ndarray] | None = None
    patterns: Callable[[], Patterns] | None = None
    solve_commands: Callable[[], Mapping[str, type[SolveCommand]]] = dict
    current_round: Callable[[np.ndarray], tuple["Game", np.ndarray, np.ndarray]] | None = None
    round_rewards: Callable[[np.ndarray, np.ndarray], None] | None = None
    counterpart: Counterpart | None = None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Game:
    """A game with fixed options: its facts, kernels, faces and extras. Make one with `ttt_envs.load`.

    Two games are equal if id, version, options and kernels are equal. A pickle contains only the factory and the
    options; it loses changes made with `dataclasses.replace`.

    Attributes:
        id: its name in the registry.
        title: its name for display.
        options: the values of all options.
        factory: makes this game from its options.
        version: a number that increases when results before and after a change of rules are not comparable.
        same_play: options that make no difference to agents, because they affect only the start of a game, or its
            length, which observations show, or nothing at all. The value is `...` if an agent trained with any value
            can play with every other value; otherwise it is the value whose games include all starts, with which an
            agent must be trained.
        prototype: structured (1,), the record before a reset, with option fields filled in.
        ranges: the range of each field by name, as the prototype's dtype declares it. If a state's fields are within
            their ranges, no kernel may leave its arrays or hang in that state or any successor.
        action_names: one text per action, unique.
        observation_layout: the blocks of an observation, in order.
            A network trained with an older layout can still play.
        parts: the similar parts of the board, if it has any: a learner may share weights between them. Their actions
            are disjoint.
        simultaneous: whether several players act simultaneously in some states.
        chance: "none"; "start" if only the start is random; or "play" if later steps may be random, too.
        hidden_information: whether some player does not know the whole position.
        max_plies: the most steps of a game.
        teams: the players of each side, who all get the same rewards.
        rewards: "end" if rewards are 0 before the end, "steps" if any step may pay. A state's field `rewards` holds
            each player's total so far. Searches, measures and solvers use this total; a `Batch` and environments
            report the reward of each step.
        zero_sum: whether the players' rewards add up to 0.
        rotate_players: states (n,) -> the same states with each player in the role of the previous one (two players:
            exchanged), for games in which all roles have the same rules. Player p + 1 then observes what player p
            observed before.
        players_differ: instead of `rotate_players`, the reason why the players' roles differ.
        kernels: the rules as compiled functions of one record.
        faces: text, pictures, clicks.
        extras: symmetries, oracle, patterns, solver commands, the rounds of a match.
    """

    id: str
    title: str
    options: Mapping[str, Any]
    factory: Callable[..., "Game"]
    version: int = 0
    same_play: Mapping[str, Any] = field(default_factory=dict)
    prototype: np.ndarray
    ranges: Mapping[str, Range] = field(default_factory=dict)
    action_names: tuple[str, ...]
    observation_layout: tuple[Block, ...]
    parts: tuple[Part, ...] = ()
    simultaneous: bool
    chance: Literal["none", "start", "play"]
    hidden_information: bool
    max_plies: int
    teams: tuple[tuple[int, ...], ...]
    rewards: Literal["end", "steps"] = "end"
    zero_sum: bool = True
    rotate_players: Callable[[np.ndarray], np.ndarray] | None = None
    players_differ: str = ""
    kernels: Kernels
    faces: Faces
    extras: Extras = field(default_factory=Extras)

    def __post_init__(self) -> None:
        if self.chance not in CHANCES:
            raise ValueError(f"{self.id}: chance must be one of {', '.join(map(repr, CHANCES))}, not {self.chance!r}")
        if self.rewards not in PAID:
            raise ValueError(f"{self.id}: rewards must be one of {', '.join(map(repr, PAID))}, not {self.rewards!r}")
        names = self.faces.player_names
        if names and not len(names) == len({*names}) == self.num_players:
            raise ValueError(f"{self.id} needs {self.num_players} different player_names, not {names!r}")
        # Read the ranges here, before `plain` below removes them from the dtype.
        ranges = self.ranges or ranges_of(self.prototype.dtype)
        object.__setattr__(self, "ranges", MappingProxyType(dict(ranges)))
        # One game serves all environments of a process, so its arrays are read-only.
        object.__setattr__(self, "prototype", read_only(self.prototype.view(plain(self.prototype.dtype))))
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    def __repr__(self) -> str:
        """Return the id and the options that differ from their defaults."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.chosen.items())
        return f"Game({self.id!r}{', ' if given else ''}{given})"

    def __str__(self) -> str:
        """Return id and options as on the command line, for messages."""
        chosen = " ".join(f"{name}={as_text(value)}" for name, value in self.chosen.items())
        return f"{self.id}{f' with {chosen}' if chosen else ''}"

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Game):
            return self is other
        mine, theirs = ((each.id, each.version, each.kernels) for each in (self, other))
        return mine == theirs and self.options == other.options

    def __hash__(self) -> int:
        return hash((self.id, self.version, self.kernels, *self.options))

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.factory, dict(self.options))  # kernels and tables are not pickled

    def __deepcopy__(self, memo: dict[int, Any]) -> "Game":
        return self

    def _repr_svg_(self) -> str:
        return self.draw(self.new_state(0)[0], None)

    @cached_property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from their defaults, without options that follow from the others."""
        try:
            usual = self.factory().options
        except Exception:  # the factory requires options or is faulty; a message must not fail because of it
            return dict(self.options)
        found = {name: value for name, value in self.options.items() if value != usual.get(name)}
        for name in reversed(list(found)):
            others = {each: value for each, value in found.items() if each != name}
            try:
                if self.factory(**others).options == self.options:
                    found = others
            except Exception:  # other options require this one
                pass
        return found

    def differences(self, options: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        """Return option -> (value in the file, value here), where the difference matters to an agent, see `same_play`.

        Args:
            options: options from a file, with which the agent was made; lists represent tuples.

        Raises ValueError or TypeError for options that the game does not have.
        """
        for name in options:
            if name not in self.options:
                raise ValueError(unknown("option", name, list(self.options)))
        made = self.factory(**with_tuples(options)).options
        return {
            name: (made[name], value)
            for name, value in self.options.items()
            if value != made[name] and (name not in self.same_play or self.same_play[name] not in (..., made[name]))
        }

    @property
    def stochastic(self) -> bool:
        """Whether the start or later steps are random."""
        return self.chance != "none"

    def check_rewards(self, who: str) -> None:
        """Raise ValueError, naming `who`, unless rewards are paid at the end and add up to 0."""
        if self.rewards != "end":
            raise ValueError(f"{who} needs a game that pays at its end alone; {self} has rewards={self.rewards!r}")
        if not self.zero_sum:
            raise ValueError(f"{who} needs a game whose rewards add up to 0; {self} has zero_sum=False")

    @cached_property
    def player_names(self) -> tuple[str, ...]:
        """The players' names in the rules and in positions as text."""
        return self.faces.player_names or tuple(f"player {player}" for player in range(self.num_players))

    @property
    def rules_text(self) -> str:
        """The rules with these options for a player, and how to read positions as text; empty if there are none."""
        return "\n\n".join(filter(None, (self.faces.rules_text, self.faces.legend)))

    @cached_property
    def num_players(self) -> int:
        """Number of players; they are numbered from 0 in turn order."""
        return int(self.prototype["rewards"].shape[1])

    @cached_property
    def sides(self) -> np.ndarray:
        """int64 (players,), read-only: the index in `teams` of each player's side."""
        found = np.array([next(k for k, team in enumerate(self.teams) if p in team) for p in range(self.num_players)])
        return read_only(found)

    @cached_property
    def sharers(self) -> np.ndarray:
        """float64 (players,), read-only: the number of players on each player's side, who share the reward."""
        return read_only(np.bincount(self.sides)[self.sides].astype(np.float64))

    @property
    def num_actions(self) -> int:
        """Actions are 0..num_actions-1."""
        return len(self.action_names)

    @cached_property
    def observation_size(self) -> int:
        """Number of features of a flat observation."""
        return sum(block.size for block in self.observation_layout)

    @property
    def state_dtype(self) -> np.dtype:
        """The structured dtype of one state."""
        return self.prototype.dtype

    @cached_property
    def loops(self) -> Loops:
        """The compiled loops around the kernels."""
        return loops_for(self.kernels)

    @cached_property
    def lookers(self) -> tuple[int, ...]:
        """The leading shape of the arrays that `move` fills: (players,) if several may act at once, otherwise ()."""
        return (self.num_players,) if self.simultaneous else ()

    @cached_property
    def move(self) -> Callable[..., int]:
        """`loops.move_one` for arrays of the leading shape `lookers`: a `jit.entry`, called in a third of the time."""
        return self._move(self.lookers)

    @cached_property
    def move_all(self) -> Callable[..., int]:
        """Like `move`, but in every game for arrays with one row per player."""
        return self._move((self.num_players,))

    @cached_property
    def mask_rows(self) -> Callable[..., None]:
        """`loops.mask_rows` as a `jit.entry`, which also accepts read-only players."""
        legal = np.empty((1, self.num_actions), np.bool_)
        return jit.entry(self.loops.mask_rows, self.prototype.copy(), np.empty(1, np.int64), legal)

    def _move(self, rows: tuple[int, ...]) -> Callable[..., int]:
        legal, told = (np.empty((*rows, self.num_actions), dtype) for dtype in (np.bool_, np.int8))
        states, actions = self.prototype.copy(), np.empty(self.num_players, np.int64)
        seen = np.empty((*rows, self.observation_size), np.int8)
        return jit.entry(self.loops.move_one, states, actions, True, legal, told, seen)

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """Relabellings of the board that leave the rules unchanged."""
        return tuple(self.extras.symmetries())

    @cached_property
    def proper_symmetries(self) -> tuple[Symmetry, ...]:
        """The symmetries without the identity."""
        own = np.arange(self.observation_size)
        return tuple(each for each in self.symmetries if (each.features != own).any())

    @cached_property
    def _oracle(self) -> Oracle:
        if self.extras.oracle is None:
            raise NotImplementedError(f"{self} has no oracle: optimal play is not known for this game")
        return self.extras.oracle()

    def oracle(self) -> Oracle:
        """Return the oracle of this game with these options; raise NotImplementedError if there is none."""
        return self._oracle

    @cached_property
    def patterns(self) -> Patterns | None:
        """The patterns that n-tuple networks look up; None if the game has none."""
        return None if self.extras.patterns is None else self.extras.patterns()

    @cached_property
    def solve_commands(self) -> Mapping[str, type[SolveCommand]]:
        """The commands of the game's solver, by name; run one with `command.run(game.options, progress)`."""
        return self.extras.solve_commands()

    def describe_feature(self, index: int) -> str:
        """Return the meaning of feature `index` of a flat observation, such as 'own pieces[4, 3]: ...'."""
        if not 0 <= index < self.observation_size:
            raise IndexError(f"feature {index} does not exist: {self.id} has features 0 to {self.observation_size - 1}")
        return describe(self.observation_layout, index)

    @property
    def has_planes(self) -> bool:
        """Whether observations have a board, for the encoding "planes"."""
        return any(block.grid is not None for block in self.observation_layout)

    @property
    def plane_index(self) -> np.ndarray:
        """int64 (channels, rows, columns): each place's feature number; observation_size stands for a constant 0."""
        return self._planes(0)

    def layout(self, history: int = 0) -> tuple[Block, ...]:
        """Return the blocks of an observation, followed by the player's last `history` decisions, the newest first.

        Each decision consists of the observation and the chosen action; missing decisions are 0. Environments, `Batch`
        and `View.encoded` return such observations for the same argument `history`.

        Raises ValueError for a history that is no whole number from 0 to 100.
        """
        check_history(history)
        return with_history(self.observation_layout, self.num_actions, history)

    def encoded_size(self, history: int = 0) -> int:
        """Return the number of features of a flat observation with this many past decisions."""
        return self.observation_size + history * (self.observation_size + self.num_actions)

    def encoded_shape(self, encoding: str = "flat", history: int = 0) -> tuple[int, ...]:
        """Return the shape of an observation: (features,) or, for "planes", (channels, rows, columns).

        Raises ValueError for another encoding, and for planes in a game without a board.
        """
        choice("encoding", encoding, ENCODINGS)
        check_history(history)
        return (self.encoded_size(history),) if encoding == "flat" else self._planes(history).shape

    def encoding_of(self, shape: tuple[int, ...]) -> tuple[str, int] | None:
        """Return the encoding and the history that give observations of this shape; None if there are none."""
        for encoding in ENCODINGS:
            if encoding == "planes" and not self.has_planes:
                continue
            first, second = self.encoded_shape(encoding), self.encoded_shape(encoding, 1)
            history = (shape[0] - first[0]) // (second[0] - first[0]) if len(shape) == len(first) else -1
            if 0 <= history <= MOST_HISTORY and self.encoded_shape(encoding, history) == shape:
                return encoding, history
        return None

    @cached_property
    def _plane_indices(self) -> dict[int, np.ndarray]:
        return {}

    def _planes(self, history: int) -> np.ndarray:
        """Return `plane_index` for observations with a history; `encoded_size(history)` means a constant 0."""
        if history not in self._plane_indices:
            if not self.has_planes:
                raise ValueError(f"{self.id} has no board to draw planes on; use encoding='flat'")
            self._plane_indices[history] = planes_of(self.layout(history))
        return self._plane_indices[history]

    def to_planes(self, observations: np.ndarray) -> np.ndarray:
        """Convert flat observations int8 (..., size) to planes int8 (..., channels, rows, columns).

        Flat observations may include a history. Raises ValueError for another size, and in a game without a board.
        """
        size, given = self.observation_size, observations.shape[-1]
        history, rest = divmod(given - size, size + self.num_actions)
        if rest or history < 0:
            raise ValueError(
                f"observations have {size} features, and {size + self.num_actions} a decision, not {given}"
            )
        padded = np.concatenate([observations, np.zeros((*observations.shape[:-1], 1), np.int8)], axis=-1)
        return np.take(padded, self._planes(history), axis=-1)

    def parse_action(self, text: str) -> int:
        """Return the action with the name `text`. An action's number is not a name.

        Case and the characters between words do not matter; `to` and `and` may be left out. Short names are accepted.
        Raises ValueError naming the closest names, TypeError for anything but text.
        """
        return self._reader.read(text)

    @cached_property
    def _reader(self) -> ActionReader:
        return ActionReader(self.action_names, self.faces)

    @cached_property
    def _validity(self) -> Validity:
        return Validity(
            self.state_dtype,
            ranges=self.ranges,
            prototype=self.prototype,
            max_plies=self.max_plies,
            simultaneous=self.simultaneous,
            at_end=self.rewards == "end",
            name=repr(self),
        )

    def check_states(self, states: Any) -> np.ndarray:
        """Return the states, structured (n,), if all are positions of this game with these options.

        A record counts as an array of one. The conditions: each field is within its range; options are the
        prototype's; padding is 0; rewards are finite, and 0 before the end unless the game pays at steps; and in an
        unfinished game some player can act. The position need be neither reachable nor consistent between fields.

        Raises:
            ValueError: the dtype is not that of this game's states, or a state is wrong; the message names the first
                one, its field and the allowed values.
            TypeError: not a structured array.
        """
        checked = self._validity.check(states)
        stuck = ~checked["done"]
        masks = np.empty((len(checked), self.num_actions), np.bool_)
        for player in range(self.num_players):
            acts = stuck & ((checked["to_move"] == player) | (checked["to_move"] == SIMULTANEOUS))
            if acts.any():
                self.loops.mask_rows(checked, np.where(acts, player, -1), masks)
                stuck &= ~masks.any(axis=1)
        if stuck.any():
            i = int(stuck.argmax())
            raise ValueError(f"state {i} is no position of {self}: nobody has a legal action, and it is not over")
        return checked

    def _one(self, state: Any) -> np.ndarray:
        """Return a record, or an array of one, as structured (1,); raise TypeError for anything else."""
        states = np.asarray(state)
        if states.dtype != self.state_dtype or states.size != 1:
            raise TypeError(f"state must be a record of {self}, not {type(state).__name__} of {states.dtype!s:.40}")
        return states.reshape(1)

    def _viewer(self, viewer: int | None) -> int | None:
        if viewer is not None:
            within(0, self.num_players - 1, viewer=viewer)
        return viewer

    def format_state(self, state: Any, viewer: int | None = None) -> str:
        """Return a position as text.

        Args:
            state: a record, or an array of one.
            viewer: None shows everything; a player, only what that player may know.

        Raises ValueError for another viewer, and TypeError for another state.
        """
        return self.faces.format_state(self._one(state)[0], self._viewer(viewer))

    def draw(self, state: Any, viewer: int | None = None) -> str:
        """Return a position as SVG text; for the arguments see `format_state`."""
        return self.faces.draw(self._one(state)[0], self._viewer(viewer))

    @property
    def spots(self) -> Callable[..., Mapping[str, Box]] | None:
        """(state, viewer=None) -> the clickable areas of the picture, see `Faces`; None if there are none."""
        spots = self.faces.spots
        return spots and (lambda state, viewer=None: spots(self._one(state)[0], self._viewer(viewer)))

    @property
    def clicks(self) -> Callable[[Any, int], tuple[str, ...]] | None:
        """(state, action) -> the names of the spots that are clicked to choose the action, see `Faces`; or None.

        The function raises TypeError or ValueError for a wrong state, and for an action that no player may choose now.
        """
        return None if self.faces.clicks is None else self._clicks

    def _clicks(self, state: Any, action: int) -> tuple[str, ...]:
        assert self.faces.clicks is not None
        states, mask = self._one(state), np.empty(self.num_actions, np.bool_)
        index = int(check_actions([action], (1,), self.num_actions)[0])
        mover = int(states["to_move"][0])
        for player in range(self.num_players) if mover == SIMULTANEOUS else (mover,):
            self.loops.mask_one(states, 0, player, mask)
            if index >= 0 and mask[index]:
                return self.faces.clicks(states[0], index)
        raise ValueError(f"action {index} has no clicks: nobody may choose it in this state of {self}")

    def parse_state(self, text: str) -> np.ndarray:
        """Return the position, structured (1,), from a text that `format_state` wrote without a viewer.

        A text does not include the generator, which is 0 in the result. `Batch.set_states`, `start` and `View` draw a
        new one; `step` uses 0 like any other generator.

        Raises ValueError naming the wrong part, or as `check_states`; TypeError for anything but text.
        """
        if not isinstance(text, str):
            raise TypeError(f"a position is text, not {type(text).__name__}")
        return self.check_states(self.faces.read_state(text))

    def start(self, seed: int | None = None, *, state: Any = None, recall: bool = False, history: int = 0) -> State:
        """Return a game as a cursor that a search in Python can copy and advance.

        Args:
            seed: seed of the game, the same as in `Batch(game, 1, seed=seed)`; with `state`, the seed of future chance.
                None for a random seed from the system.
            state: the position to begin with: a record, an array of one, or text, see `parse_state`. A record keeps its
                generator if there is no seed.
            recall: track the players' information states, for `State.info_state_key`; this takes several times as long.
            history: 0 to 100, the number of each player's past decisions to keep, for `State.observation`.

        Raises TypeError or ValueError for an invalid position, seed or history.
        """
        return start(
            self,
            seed,
            state,
            Known(self, 1, digests=recall, history=history) if check_history(history) or recall else None,
        )

    def step(self, states: Any, actions: Any, *, check: bool = True) -> np.ndarray:
        """Return the states after these actions, structured (n,), without changing the given ones.

        Finished games are copied. This pure function serves searches and frameworks that keep states themselves. A
        `Batch` is faster; so is a cursor for a single game, see `start`.

        Args:
            states: structured (n,), see `check_states`.
            actions: int (n,) for the player to move, or (n, players) with any number for players who do not act.
            check: False skips all checks, for arguments known to be valid; invalid ones may then crash the process.

        Raises TypeError or ValueError for wrong states or actions, IllegalAction for an illegal action.
        """
        after, joint = self._joint(states, actions, check)
        after = after.copy()
        if len(after):  # the kernel reads the number of players from the first state
            self.loops.step_rows(after, np.arange(len(after)), joint)
        return after

    def chance_outcomes(
        self, states: Any, actions: Any, *, check: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return all possible outcomes of these actions, with exact probabilities.

        Args:
            states: structured (n,), none of them finished; their generators are ignored.
            actions, check: as for `step`.

        Returns:
            For each outcome: the index of its state, int64 (k,), ascending; its probability, float64 (k,), with a sum
            of 1 per state; and the next state, structured (k,), different from the others, with generator 0.

        Raises:
            TypeError, ValueError: as for `step`; a finished game; or chance that cannot be enumerated, with the reason,
                such as dice that are rerolled until some condition holds.
        """
        checked, joint = self._joint(states, actions, check)
        if joint.shape[1] != self.num_players:
            joint = np.repeat(joint, self.num_players, axis=1)
        return chance_of(self).outcomes(checked, joint)

    def _joint(self, states: Any, actions: Any, check: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the states (n,), and their actions as int64 (n, players), or (n, 1) for the player to move."""
        if check:
            states, actions = self.check_states(states), np.asarray(actions)
            shape = (len(states),) if actions.ndim < 2 else (len(states), self.num_players)
            actions = check_actions(actions, shape, self.num_actions)
        joint = np.ascontiguousarray(actions, np.int64)
        joint = joint if joint.ndim > 1 else joint[:, None]
        if check:
            rows = np.arange(len(states))
            wrong = int(self.loops.find_illegal(states, rows, joint, np.empty(self.num_actions, np.bool_)))
            if wrong >= 0:
                raise refusal(self, states, wrong, joint[wrong], len(states))
        return states, joint

    def masks(self, states: Any, players: Any = None, *, check: bool = True) -> np.ndarray:
        """Return the legal actions in states (n,), bool (n, num_actions), of `players` int (n,) or the players to move.

        `check` as for `step`.
        """
        checked = self.check_states(states) if check else states
        out = np.empty((len(checked), self.num_actions), np.bool_)
        self.loops.mask_rows(checked, self._observers(checked, players), out)
        return out

    def observations(self, states: Any, players: Any = None, *, check: bool = True) -> np.ndarray:
        """Return observations of states (n,), int8 (n, observation size), by `players` int (n,) or the players to move.

        `check` as for `step`.
        """
        checked = self.check_states(states) if check else states
        out = np.empty((len(checked), self.observation_size), np.int8)
        self.loops.observe_rows(checked, self._observers(checked, players), out)
        return out

    def _observers(self, states: np.ndarray, players: Any) -> np.ndarray:
        if players is None:
            return np.maximum(states["to_move"], 0).astype(np.int64)
        return check_players(players, len(states), self.num_players)

    def to_bytes(self, states: Any, *, check: bool = True) -> np.ndarray:
        """Return states (n,) as uint8 (n, size of a state), for array libraries without structured dtypes.

        `check` as for `step`.
        """
        checked = np.ascontiguousarray(self.check_states(states) if check else states)
        return checked.view(np.uint8).reshape(len(checked), self.state_dtype.itemsize).copy()

    def from_bytes(self, data: Any, *, check: bool = True) -> np.ndarray:
        """Return the states (n,) from the result of `to_bytes`; `check` as for `step`.

        Raises TypeError or ValueError for another dtype or shape, and for invalid positions.
        """
        array = np.asarray(data)
        if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != self.state_dtype.itemsize:
            wanted = f"uint8 of shape (n, {self.state_dtype.itemsize})"
            raise ValueError(f"states as bytes must be {wanted}, not {array.dtype} of shape {array.shape}")
        states = np.ascontiguousarray(array).view(self.state_dtype).reshape(len(array)).copy()
        return self.check_states(states) if check else states

    def new_state(self, seed: int | None = None) -> np.ndarray:
        """Return a freshly reset state, structured (1,)."""
        states = self.prototype.copy()
        self.loops.reset_one(states, 0, self.prototype, np.uint64(first_episode_seed(seed)))
        return states


def _made(factory: Callable[..., Game], options: dict[str, Any]) -> Game:
    return factory(**options)
