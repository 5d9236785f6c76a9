"""Positions as keys, and a hash table of them: int64 (slots, 3), -1 in an empty slot."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.jit import kernel


@kernel
def pack(state, key):
    """Write a position, without its options, to `key`, int64 (3,); different positions have different keys."""
    marks, owned = state["marks"], state["owned"]
    for part in range(3):
        number = np.int64(0)
        for board in range(3 * part, 3 * part + 3):
            number = number << 18 | np.int64(marks[0, board]) << 9 | marks[1, board]
        key[part] = number  # below 2**54
    key[0] = key[0] << 9 | owned[0]
    key[1] = key[1] << 9 | owned[1]
    key[2] = key[2] << 6 | (state["target"] + 1) << 2 | state["to_move"] << 1 | state["done"]


@kernel
def find(table, key):
    """Return the slot of the key in the table, int64 (slots, 3), or the empty slot for it."""
    slot = np.int64(rng.fold(rng.fold(key[0], key[1]), key[2]) % np.uint64(table.shape[0]))
    while table[slot, 0] >= 0 and not (
        table[slot, 0] == key[0] and table[slot, 1] == key[1] and table[slot, 2] == key[2]
    ):
        slot = (slot + 1) % table.shape[0]
    return slot


@kernel
def enter(state, table, key):
    """Add a position to the table; return whether it is new."""
    pack(state, key)
    slot = find(table, key)
    new = table[slot, 0] < 0
    for part in range(3):  # assigning the whole array would take seconds to compile
        table[slot, part] = key[part]
    return new
