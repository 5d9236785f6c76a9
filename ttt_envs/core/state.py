"""State records: one NumPy structured dtype a game, a common header and the game's own fields."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

#: Value of `to_move` while several players may act simultaneously; their masks tell who does.
SIMULTANEOUS = -1

Bound = int | str | Sequence[int]

#: A structured array of states, where code reckons with its fields: typed as an array, mypy takes seconds a function.
States = Any


class Range(NamedTuple):
    """The values that a field may have. Make one with `between` or `option`.

    Attributes:
        low: the least value, or one for each entry along the field's last axis.
        high: the greatest one, likewise; or the name of an option's field, which holds it.
        is_option: the field is a rule option, and the same in all states of a game.
    """

    low: Bound
    high: Bound
    is_option: bool = False


def between(low: Bound, high: Bound) -> Range:
    """Return the range of a field that changes during a game, both ends included; see `Range`."""
    return Range(low, high)


def option(low: Bound, high: Bound) -> Range:
    """Return the range of a field that holds a rule option: what it may be in any game, both ends included."""
    return Range(low, high, is_option=True)


def state_dtype(players: int, fields: Sequence[tuple[Any, ...]], shown: Sequence[tuple[Any, ...]] = ()) -> np.dtype:
    """Return the dtype of a game's states.

    Header: `to_move` int8 (acting player or SIMULTANEOUS), `ply` int32 (steps so far), `done` bool, `rewards`
    float32 (players,) (paid to each so far, see `Game.rewards`), `rng` uint64 (the generator), `script` uint64 (what is
    to be drawn instead of it; 0 but while `core.chance` enumerates). `fields` are the game's own. Rule options are
    fields too, so that a state is self-contained: copying a record clones a game, and its bytes are its hash and its
    file.

    A field is (name, type) or (name, type, shape), followed by its range, `between(low, high)` or `option(low, high)`:
    `Game.check_states` refuses states outside it. A field without a range may have any value; a bool is 0 or 1.

    `shown` are fields for texts and pictures alone, such as the last action: no rule and no observation reads them.
    They stand before the rest, so that a search can leave them out when it recognises a position: `position_start`.
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
    """Return the same dtype without the ranges: `np.save` warns that it does not write them."""
    assert dtype.names is not None
    return np.dtype([(name, dtype[name].base, dtype[name].shape) for name in dtype.names], align=True)


def position_start(dtype: np.dtype) -> int:
    """Return the offset in bytes, a multiple of 8, of a record's position: after generator and shown fields."""
    assert dtype.fields is not None
    return int(dtype.fields["rewards"][1])


def copied(states: np.ndarray) -> np.ndarray:
    """Return a copy of records, structured (n,), as bytes, ten times as fast as NumPy's, which goes by fields.

    For some of them `take` is the fast copy, and not an index.
    """
    return np.ndarray(states.shape, states.dtype, bytearray(states.tobytes()))


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the array's values for others to read; no flag makes them writeable, as bytes are behind the copy."""
    return np.ndarray(array.shape, array.dtype, array.tobytes())


def _without_holes(aligned: np.dtype) -> np.dtype:
    """Return the same layout with holes as fields: NumPy copies no holes, and equal states would differ in bytes."""
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
