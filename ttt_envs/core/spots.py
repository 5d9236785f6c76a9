"""Spots: the places on a game's picture that can be clicked, and the clicks that choose an action."""

from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle on a picture, in the units of its viewBox; (x, y) is its top left corner."""

    x: float
    y: float
    width: float
    height: float

    def contains(self, x: float, y: float) -> bool:
        """Tell whether the point lies in it; of the edges, the left and the top one belong to it."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height
