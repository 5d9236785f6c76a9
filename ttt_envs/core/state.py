"""State records: one structured NumPy dtype per game, with a common header and the game's own fields."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

#: Value of `to_move` if several players may act simultaneously; the legal-action masks show which players act.
SIMULTANEOUS = -1

Bound = int | str | Sequence[int]

#: Type of a structured array of states in functions that use its fields; with np.ndarray, mypy takes seconds each.
States = Any


class Range(NamedTuple):
    """The allowed values of a field. Make one with `between` or `option`.

    Attributes:
        low: the least value, or one for each entry along the field's last axis.
        high: the greatest value, likewise; or the name of the option's field that contains it.
        is_option: whether the field is a rule option, which is the same in all states of a game.
    """

    low: Bound
    high: Bound
    is_option: bool = False


def between(low: Bound, high: Bound) -> Range:
    """Return the range of a field that changes during a game, both ends included; see `Range`."""
    return Range(low, high)


def option(low: Bound, high: Bound) -> Range:
    """Return the range of a rule option's field over all games, both ends included."""
    return Range(low, high, is_option=True)


def state_dtype(players: int, fields: Sequence[tuple[Any, ...]], shown: Sequence[tuple[Any, ...]] = ()) -> np.dtype:
    """Return the dtype of a game's states.

    Header: `to_move` int8 (acting player or SIMULTANEOUS), `ply` int32 (steps so far), `done` bool, `rewards`
    float32 (players,) (each player's total so far, see `Game.rewards`), `rng` uint64 (the generator), `script` uint64
    (predetermined draws while `core.chance` enumerates, otherwise 0). `fields` are the game's own. Rule options are
    fields, too, so a state is self-contained: copying a record clones a game; its bytes can be hashed and saved.

    A field is (name, type) or (name, type, shape), followed by its range, `between(low, high)` or `option(low, high)`.
    `Game.check_states` rejects states outside the range. A field without a range may have any value; a bool, 0 or 1.

    `shown` are fields only for texts and pictures, such as the last action: no rule and no observation reads them.
    These fields precede the others, so that a search can skip them when it compares positions, see `position_start`.
    """
    ranges = {field[0]: field[-1] for field in (*fields, *shown) if isinstance(field[-1], Range)}
    fields, shown = ([field[:-1] if field[0] in ranges else field for field in some] for some in (fields, shown))
    start = np.dtype([("rng", np.uint64), ("script", np.uint64), *shown], align=True)
    end = max(offset + kind.itemsize for kind, offset, *_ in (start.fields or {}).values())
    header: list[tuple[Any, ...]] = [
        ("rng", np.uint64),
        ("script", np.uint64),
        *shown,
        *([("padding_shown", np.uint8, (start.itemsize - end,))] if start.itemsize > end else []),
        ("rewards", np.float32, (players,)),
        ("ply", np.int32),
        ("to_move", np.int8),
        ("done", np.bool_),
    ]
    whole = _without_holes(np.dtype(header + list(fields), align=True))
    return np.dtype(whole, metadata={_RANGES: ranges})


# The key of the ranges in a dtype's metadata.
_RANGES = "ranges"


def ranges_of(dtype: np.dtype) -> Mapping[str, Range]:
    """Return the ranges that were declared with a dtype."""
    metadata: Mapping[str, Any] = dtype.metadata or {}
    return dict(metadata.get(_RANGES, {}))


def plain(dtype: np.dtype) -> np.dtype:
    """Return the same dtype without the ranges, because `np.save` warns that it does not write them."""
    assert dtype.names is not None
    return np.dtype([(name, dtype[name].base, dtype[name].shape) for name in dtype.names], align=True)


def position_start(dtype: np.dtype) -> int:
    """Return the offset in bytes, a multiple of 8, at which the fields after generator and shown fields begin."""
    assert dtype.fields is not None
    return int(dtype.fields["rewards"][1])


def copied(states: np.ndarray) -> np.ndarray:
    """Return a copy of records, structured (n,). It copies bytes, ten times as fast as NumPy.

    To copy only some records, use `take`, which is faster than an index.
    """
    return np.ndarray(states.shape, states.dtype, bytearray(states.tobytes()))


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a copy that is permanently read-only: its memory is `bytes`, so the flag `writeable` cannot be set."""
    return np.ndarray(array.shape, array.dtype, array.tobytes())


def _without_holes(aligned: np.dtype) -> np.dtype:
    """Return the same layout with padding as fields: NumPy does not copy padding, so equal states might differ."""
    assert aligned.fields is not None
    fields: list[tuple[Any, ...]] = []
    end = 0
    for name, (kind, offset, *_) in aligned.fields.items():
        if offset > end:
            fields.append((f"padding_{end}", np.uint8, (offset - end,)))
        fields.append((name, kind.base, kind.shape))
        end = offset + kind.itemsize
    if aligned.itemsize > end:
        fields.append((f"padding_{end}", np.uint8, (aligned.itemsize - end,)))
    return np.dtype(fields, align=True)
