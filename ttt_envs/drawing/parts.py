"""The parts of a drawing: its size and its elements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.parsers import expat
from xml.sax.saxutils import quoteattr


@dataclass(frozen=True)
class Drawing:
    """A drawing taken apart.

    Attributes:
        attributes: those of the outermost element.
        elements: the elements directly inside the outermost one, as text.
    """

    attributes: Mapping[str, str]
    elements: Sequence[str]

    @property
    def box(self) -> str:
        """The drawing's viewBox, by default from its width and height."""
        return self.attributes.get("viewBox") or f"0 0 {self.attributes['width']} {self.attributes['height']}"

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the viewBox."""
        _, _, width, height = map(float, self.box.replace(",", " ").split())
        return width, height

    def opening(self, **changes: str) -> str:
        """Return the opening tag with the attributes `changes`; width and height are left out unless given there."""
        kept = {name: value for name, value in self.attributes.items() if name not in ("width", "height")}
        attributes = {**kept, "viewBox": self.box, **changes}
        return f"<svg {' '.join(f'{name}={quoteattr(value)}' for name, value in attributes.items())}>"


def split(svg: str) -> Drawing:
    """Return the parts of a drawing; raise ValueError for a text that is not an SVG with a size."""
    data, depth = svg.encode(), 0
    starts: list[int] = []
    attributes: dict[str, str] = {}
    parser = expat.ParserCreate()

    def begin(name: str, given: dict[str, str]) -> None:
        nonlocal depth
        if depth == 0:
            attributes.update(given)
        elif depth == 1:
            starts.append(parser.CurrentByteIndex)
        depth += 1

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if depth == 0:
            starts.append(parser.CurrentByteIndex)

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f"the drawing is no SVG: {error}") from None
    if "viewBox" not in attributes and not {"width", "height"} <= attributes.keys():
        raise ValueError("the drawing has no size")
    return Drawing(attributes, [data[a:b].decode() for a, b in pairwise(starts)])
