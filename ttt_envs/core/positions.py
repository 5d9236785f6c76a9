"""Solved positions of a game of perfect information: keys, file and oracle.

`ttt_envs.solvers.positions` solves a game and writes the file.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core.batch import Batch
from ttt_envs.core.checks import check_players
from ttt_envs.core.game import Game
from ttt_envs.core.state import States, position_start
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors

FORMAT = "ttt-envs positions 2"

#: Name of the file in the folder that `ttt solve` writes.
FILE = "positions.safetensors"

# Fields that keys omit: in an unfinished position they are 0 or do not matter.
_LEFT_OUT = "rewards", "done"

# Actions whose expected rewards differ by less are equally good: sums over dice have rounding errors.
_EQUAL = 1e-9


# --- keys ---


class _Field(NamedTuple):
    """The place of one field of a state in a key; the field's k entries are numbered row-major.

    Attributes:
        name: name of the field.
        low: uint64 (k,), the least values, negative ones modulo 2**64.
        tops: uint64 (k,), the greatest values minus the least.
        words, shifts: int64 (k,) and uint64 (k,), the word and the bit at which an entry begins.
    """

    name: str
    low: np.ndarray
    tops: np.ndarray
    words: np.ndarray
    shifts: np.ndarray


class Keys:
    """Keys of positions: numbers that are equal for equivalent positions.

    A key contains every field that can change, in as many bits as its declared range needs, so a position can be
    decoded from its key. A key omits the generator, fields that are only shown, `done`, `rewards` and the fields that
    the game's `Extras.without_past` ignores. The key is the least number among the images under the game's symmetries.

    Attributes:
        words: a key is uint64 (words,).
    """

    def __init__(self, game: Game) -> None:
        self._game, self._fields = game, list[_Field]()
        word, used = 0, 0
        for name, low, tops in _ranges(game):
            words, shifts = np.empty(len(tops), np.int64), np.empty(len(tops), np.uint64)
            for k, top in enumerate(tops.tolist()):
                if used + top.bit_length() > 64:
                    word, used = word + 1, 0
                words[k], shifts[k] = word, used % 64
                used += top.bit_length()
            self._fields.append(_Field(name, low, tops, words, shifts))
        self.words = word + 1

    def of(self, states: np.ndarray) -> np.ndarray:
        """Return uint64 (n, words) of unfinished states (n,); ValueError if a field is outside its declared range."""
        if not len(states):  # functions of a game's author may not support empty arrays
            return np.empty((0, self.words), np.uint64)
        states = self.without_past(states)
        keys = self.pack(states)
        for symmetry in self._game.proper_symmetries:
            image = self.pack(symmetry.states(states))
            keys = np.where(_before(image, keys)[:, None], image, keys)
        return keys

    def without_past(self, states: np.ndarray) -> np.ndarray:
        """Return the states (n,) after `Extras.without_past`."""
        leave_out = self._game.extras.without_past
        return states if leave_out is None else leave_out(states)

    def pack(self, states: np.ndarray) -> np.ndarray:
        """Return the keys of states (n,), ignoring symmetries: uint64 (n, words); raise ValueError as `of`."""
        keys = np.zeros((len(states), self.words), np.uint64)
        for field in self._fields:
            values = _entries(states, field)
            if (values > field.tops).any():
                raise ValueError(
                    f"{self._game}: a position has {field.name!r} outside the range that its dtype declares"
                )
            for word in range(field.words[0], field.words[-1] + 1):
                keys[:, word] += values @ np.where(field.words == word, np.uint64(1) << field.shifts, np.uint64(0))
        return keys

    def states(self, keys: np.ndarray) -> np.ndarray:
        """Return the positions (n,) that keys encode."""
        states: States = np.repeat(self._game.prototype, len(keys))
        for field in self._fields:
            values = self._values(keys, field)
            into = states[field.name].reshape(len(keys), len(field.tops))
            into.view(f"u{into.itemsize}")[:] = values + field.low
        return states

    def movers(self, keys: np.ndarray) -> np.ndarray:
        """Return the players to move in the positions of keys, int64 (n,)."""
        field = next(each for each in self._fields if each.name == "to_move")
        return self._values(keys, field)[:, 0].view(np.int64)

    def check_closed(self, states: np.ndarray) -> None:
        """Raise ValueError if a state and a symmetric image have different keys: `symmetries` is then incomplete."""
        keys = self.of(states)
        for symmetry in self._game.proper_symmetries:
            if (self.of(symmetry.states(states)) != keys).any():
                raise ValueError(
                    f"the symmetries of {self._game} are not all of them: {symmetry.name!r} after another one "
                    "must be one too"
                )

    def _values(self, keys: np.ndarray, field: _Field) -> np.ndarray:
        bits = np.array([(1 << top.bit_length()) - 1 for top in field.tops.tolist()], np.uint64)
        return np.asarray(keys[:, field.words] >> field.shifts & bits)


def _ranges(game: Game) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the fields of a key in order: name, least values, and greatest minus least values."""
    own = {"ply": (0, game.max_plies), "to_move": (0, game.num_players - 1)}
    for name, (kind, offset, *_) in (game.state_dtype.fields or {}).items():
        given = game.ranges.get(name)
        if offset < position_start(game.state_dtype) or name in _LEFT_OUT or name.startswith("padding"):
            continue
        entries = int(np.prod(kind.shape, dtype=int))
        if not entries or (given and given.is_option):
            continue
        bits = np.dtype(f"u{kind.base.itemsize}") if kind.base.kind == "f" else kind.base
        all_values = (0, 1) if bits == np.bool_ else (int(np.iinfo(bits).min), int(np.iinfo(bits).max))
        bounds: Any = own.get(name) or ((given.low, given.high) if given else all_values)
        high = int(game.prototype[bounds[1]][0]) if isinstance(bounds[1], str) else bounds[1]
        low, top = (np.broadcast_to(_modulo(each), kind.shape).ravel() for each in (bounds[0], high))
        yield name, low, top - low


def _modulo(given: Any) -> np.ndarray:
    values = np.asarray(given)
    return values if values.dtype == np.uint64 else values.astype(np.int64).view(np.uint64)


def _entries(states: np.ndarray, field: _Field) -> np.ndarray:
    """Return the entries of a field minus the least values, uint64 (n, k); lower values wrap to huge numbers."""
    values = np.ascontiguousarray(states[field.name]).reshape(len(states), len(field.tops))
    return _modulo(values.view(f"u{values.itemsize}") if values.dtype.kind == "f" else values) - field.low


def _before(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return bool (n,): whether each key of `one` is less than that of `other`; the first word counts most."""
    before = np.zeros(len(one), np.bool_)
    for word in reversed(range(one.shape[1])):
        before = np.where(one[:, word] == other[:, word], before, one[:, word] < other[:, word])
    return before


def sortable(keys: np.ndarray) -> np.ndarray:
    """Return keys as an array (n,) that NumPy sorts and searches in their order."""
    return keys[:, 0] if keys.shape[1] == 1 else keys.byteswap().view(f"S{8 * keys.shape[1]}")[:, 0]


# --- successors ---


def following(game: Game, states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return outcomes of actions (n,) in states (n,) like `Game.chance_outcomes`; fast in games without chance."""
    if game.chance == "play":
        return game.chance_outcomes(states, actions, check=False)
    return np.arange(len(states)), np.ones(len(states)), game.step(states, actions, check=False)


def random_plies(game: Game, games: int) -> Iterator[np.ndarray]:
    """Yield the unfinished positions (n,) of random games, ply by ply; the games are always the same."""
    batch, rng = Batch(game, games, seed=0), np.random.default_rng(0)
    while not batch.states["done"].all():
        yield batch.states[~batch.states["done"]]
        masks = batch.masks()
        actions = np.where(masks, rng.random(masks.shape), -1.0).argmax(axis=1)
        batch.step(np.where(masks.any(axis=1), actions, -1), check=False)


def digest_of(game: Game) -> str:
    """Return a hex digest of everything that solved positions depend on: a game's facts and 100 random games."""
    keys, facts = Keys(game), (game.id, game.version, game.max_plies, game.teams, game.action_names)
    found = hashlib.sha256(repr((facts, sorted(game.options.items()))).encode())
    for states in random_plies(game, 100):
        masks = game.masks(states, check=False)
        owner, action = np.nonzero(masks)
        after = game.step(states.take(owner), action, check=False)
        for each in (keys.of(states), masks, after["done"], after["rewards"]):
            found.update(each.tobytes())
    return found.hexdigest()[:16]


# --- the file ---


class Positions(NamedTuple):
    """All solved positions of a game.

    Attributes:
        keys: uint64 (n, words), ascending; see `Keys`.
        values: int8 or float64 (n,), the first side's reward if both play optimally.
        plies: int32 (n,), the plies until the result if both play optimally: the winner hurries, the loser delays; 0
            for draws. With chance: the plies that must remain before the ply limit for the values to hold.
    """

    keys: np.ndarray
    values: np.ndarray
    plies: np.ndarray


def write_positions(path: Path, game: Game, positions: Positions) -> None:
    """Write a game's positions atomically; raise OSError if this fails."""
    facts = {"game": game.id, "options": dict(game.options), "digest": digest_of(game)}
    write_tensors(path, FORMAT, facts, positions._asdict())


def read_positions(path: Path, game: Game) -> Positions:
    """Return the positions of a file that `write_positions` wrote.

    Raises FileNotFoundError, or BadTensorFile if the file is damaged or was made for another game, other options or
    other rules.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no solved positions at {path}; `ttt solve` writes them")
    facts, arrays = read_tensors(path, FORMAT)
    try:
        made_for = facts["game"], facts["options"]
        digest, found = facts["digest"], Positions(**arrays)
        kinds = [f"{each.dtype}{each.ndim}" for each in found]
        if kinds not in (["uint642", "int81", "int321"], ["uint642", "float641", "int321"]):
            raise ValueError("its arrays are not of the types of positions")
        if not len(found.keys) == len(found.values) == len(found.plies) > 0:
            raise ValueError("its arrays are not of the lengths of positions")
    except (KeyError, TypeError, ValueError) as error:
        raise BadTensorFile(f"{path} is damaged ({type(error).__name__}: {error})") from None
    if digest != digest_of(game):
        raise BadTensorFile(
            f"{path} has positions of {made_for[0]} with options {made_for[1]}; they are not those of {game} with its "
            "present rules: solve it again"
        )
    if found.keys.shape[1] != Keys(game).words:
        raise BadTensorFile(f"{path} is damaged: its keys are not as long as those of {game}")
    return found


# --- the oracle ---


class PositionOracle:
    """The oracle of a game's solved positions; for shapes see `ttt_envs.core.oracle.Oracle`.

    In a game with `Extras.without_past`, a position is covered if that function changes at most its ply, and if the
    plies left before the limit suffice for the result.
    """

    error = 0.0

    def __init__(self, game: Game, load: Callable[[], Positions]) -> None:
        """`load` returns the positions; it is called at the first query."""
        self._game, self._load = game, load
        one, two = game.teams
        #: Each player's reward if every player of the first side gets 1.
        self._shares = np.array([1.0 if player in one else -len(one) / len(two) for player in range(game.num_players)])

    @cached_property
    def _positions(self) -> Positions:
        return self._load()

    @cached_property
    def _keys(self) -> Keys:
        return Keys(self._game)

    @cached_property
    def _sorted(self) -> np.ndarray:
        return sortable(self._positions.keys)

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Return bool (n,): whether the value of each state is known."""
        return ~np.isnan(self._judge(self._game.check_states(states))[0])

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n,): expected reward of `player` if all play optimally; nan if not covered."""
        states = self._game.check_states(states)
        return self._judge(states)[0] * self._shares[self._players(player, states)] + 0.0

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, num_actions): the expected reward after each action; nan if illegal or not covered."""
        states = self._game.check_states(states)
        return self._actions(states)[0] * self._shares[self._players(player, states)][:, None] + 0.0

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, num_actions): uniform over the best actions (soonest win, latest loss); else zeros."""
        states = self._game.check_states(states)
        players = self._players(player, states)
        values, plies = self._actions(states)
        values *= self._shares[players][:, None]
        asked = self.covers(states) & ~states["done"] & (states["to_move"] == players)
        most = np.where(np.isnan(values), -np.inf, values).max(axis=1, keepdims=True)
        best = values >= most - _EQUAL
        if self._game.chance != "play":
            length = np.where(best, np.sign(most) * plies, np.inf)
            best = length == length.min(axis=1, keepdims=True)
        best &= asked[:, None] & ~np.isnan(values)
        return np.asarray(best / np.maximum(best.sum(axis=1, keepdims=True), 1))

    def _players(self, player: int | np.ndarray, states: np.ndarray) -> np.ndarray:
        return check_players(player, len(states), self._game.num_players)

    def _judge(self, states: States) -> tuple[np.ndarray, np.ndarray]:
        """Return the first side's values, float64 (n,), nan if not covered; and plies to the result, int64 (n,)."""
        values = np.where(states["done"], states["rewards"][:, self._game.teams[0][0]].astype(np.float64), np.nan)
        plies = np.zeros(len(states), np.int64)
        rows = np.flatnonzero(~states["done"])
        going = states.take(rows)
        asked = sortable(self._keys.of(going))
        place = np.minimum(np.searchsorted(self._sorted, asked), len(self._sorted) - 1)
        known = self._sorted[place] == asked
        if self._game.extras.without_past is not None:
            bare, left = self._keys.without_past(going), self._game.max_plies - going["ply"]
            going["ply"] = bare["ply"]
            known &= (self._keys.pack(going) == self._keys.pack(bare)).all(axis=1)
            known &= self._positions.plies[place] <= left
        rows, place = rows[known], place[known]
        values[rows], plies[rows] = self._positions.values[place], self._positions.plies[place]
        return values, plies

    def _actions(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        masks = self._game.masks(states, check=False)
        values, plies = np.full(masks.shape, np.nan), np.zeros(masks.shape, np.int64)
        owner, action = np.nonzero(masks)
        rows, chances, after = following(self._game, states.take(owner), action)
        worth, length = self._judge(after)
        values[owner, action] = np.bincount(rows, chances * worth, len(owner))
        plies[owner, action] = np.bincount(rows, length, len(owner))
        return values, plies


class DrawingOracle(PositionOracle):
    """The oracle of a game without chance, which knows the length of positions and draws them by length."""

    def plies_to_end(self, states: np.ndarray) -> np.ndarray:
        """Return int64 (n,): plies until a side wins by optimal play; 0 at the end, -1 for a draw, -2 if unknown."""
        states = self._game.check_states(states)
        values, plies = self._judge(states)
        plies = np.where((values == 0) & ~states["done"], -1, plies)
        return np.where(np.isnan(values), -2, plies)

    def draw_positions(self, starts: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw positions as described in `core.oracle.Drawer`; transform each by a random symmetry of the game."""
        rng, found = np.random.default_rng(seed), self._positions
        good = found.values * self._shares[self._keys.movers(found.keys)] >= 0
        lengths = np.where(good, np.where(found.values == 0, -1, found.plies), -2)
        kinds = np.unique(lengths[good])
        kind = rng.choice(kinds, len(starts))
        place = np.empty(len(starts), np.int64)
        for each in kinds:
            rows = np.flatnonzero(kind == each)
            place[rows] = rng.choice(np.flatnonzero(lengths == each), len(rows))
        states: States = self._keys.states(found.keys[place])
        symmetries = self._game.proper_symmetries
        turn = rng.integers(0, 1 + len(symmetries), len(starts))
        for k, symmetry in enumerate(symmetries):
            states[turn == k + 1] = symmetry.states(states[turn == k + 1])
        states["rng"] = starts["rng"]
        return states, kind


def oracle_of(game: Game, load: Callable[[], Positions]) -> PositionOracle:
    """Return the oracle of a game's solved positions; `load` returns them and is called at the first query."""
    return (PositionOracle if game.chance == "play" else DrawingOracle)(game, load)
