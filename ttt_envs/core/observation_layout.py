"""Blocks, the named parts of an observation; with past decisions, and as planes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from ttt_envs.core.options import within
from ttt_envs.core.state import read_only

#: Layouts of observations: a row of features, or (channels, rows, columns) with scalars as constant planes.
Encoding = Literal["flat", "planes"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)

#: The most past decisions in an observation, see `Game.layout`.
MOST_HISTORY = 100


def check_history(history: int) -> int:
    """Return `history`, if it is a whole number from 0 to `MOST_HISTORY`; else ValueError."""
    within(0, MOST_HISTORY, history=history)
    return history


@dataclass(frozen=True, eq=False)
class Block:
    """A named part of an observation.

    Attributes:
        name: unique within the game.
        shape: the shape of its features, which are numbered row-major.
        meaning: the meaning of a 1; all features are 0 or 1.
        grid: for the encoding "planes", int (channels, rows, columns) of feature numbers within the block, -1 for an
            empty cell; None makes each feature a constant plane.
    """

    name: str
    shape: tuple[int, ...]
    meaning: str
    grid: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.grid is not None:
            object.__setattr__(self, "grid", read_only(self.grid))

    @property
    def size(self) -> int:
        """Number of features."""
        return int(np.prod(self.shape))


class Part(NamedTuple):
    """A part of the board that resembles other parts of the same board.

    Attributes:
        features: its features in an observation, in the same order for all parts.
        actions: its actions, likewise.
    """

    features: tuple[int, ...]
    actions: tuple[int, ...]


def describe(blocks: Sequence[Block], index: int) -> str:
    """Return the meaning of a feature of these blocks, such as 'own pieces[4, 3]: ...'."""
    for block in blocks:
        if index < block.size:
            place = [int(k) for k in np.unravel_index(index, block.shape)]
            return f"{block.name}{place}: {block.meaning}"
        index -= block.size
    raise AssertionError


def with_history(blocks: tuple[Block, ...], num_actions: int, history: int) -> tuple[Block, ...]:
    """Return the blocks, followed by the last `history` decisions, the newest first; see `Game.layout`."""
    chosen = Block("chosen", (num_actions,), "the action that I chose")
    return blocks + tuple(
        replace(block, name=f"{ago} ago: {block.name}", meaning=f"at my decision number {ago} before: {block.meaning}")
        for ago in range(1, history + 1)
        for block in (*blocks, chosen)
    )


def planes_of(blocks: Sequence[Block]) -> np.ndarray:
    """Return int64 (channels, rows, columns): the feature at each place; the number of features means a constant 0.

    At least one of the blocks must have a grid.
    """
    rows, columns = next(block.grid.shape[1:] for block in blocks if block.grid is not None)
    size, planes, start = sum(block.size for block in blocks), [], 0
    for block in blocks:
        if block.grid is None:
            grid = np.broadcast_to(np.arange(block.size)[:, None, None], (block.size, rows, columns))
        else:
            grid = block.grid
        planes.append(np.where(grid < 0, size, start + grid))
        start += block.size
    return read_only(np.concatenate(planes).astype(np.int64))
