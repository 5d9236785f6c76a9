"""Checks of a game's text, its drawing and its clickable areas."""

import contextlib
import re
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.testing.positions import FEW, difference, masks_of, players_of, positions


def check_actions_as_text(game: Game) -> None:
    """Action names are unique, ignoring case, and can be read back; action numbers are not accepted as names."""
    names = game.action_names
    assert len({name.lower() for name in names}) == game.num_actions, "two actions have one name"
    for action, name in enumerate(names):
        for text in (name, f" {name.upper()} "):
            assert game.parse_action(text) == action, f"{text!r} is read as {game.parse_action(text)}, not {action}"
        if str(action) not in names:
            with contextlib.suppress(ValueError):
                read = game.parse_action(str(action))
                raise AssertionError(f"the number {action} is read as the name of action {read}")
    for names in (game.faces.short_action_names, game.faces.spoken_action_names):
        for action, name in enumerate(names):
            assert game.parse_action(name) == action, f"{name!r} is read as {game.parse_action(name)}, not {action}"


def check_positions_as_text(game: Game) -> None:
    """A position can be read back from its text, including options, but without the generator."""
    for state in positions(game):
        text = game.format_state(state, None)
        read = game.parse_state(text)
        assert read.shape == (1,), f"parse_state gives shape {read.shape}, not (1,)"
        assert read.dtype == game.state_dtype, "parse_state gives another dtype"
        wrong = difference(read, np.array([state]), but=("rng",))
        assert not wrong, f"{wrong} differ after reading\n{text}"


def check_pictures(game: Game) -> None:
    """The drawing is well-formed SVG for every viewer, also at the end; described parts lie inside the picture."""
    for state in np.concatenate([positions(game)[:FEW], positions(game)[-2:]]):
        for viewer in (None, *players_of(game)):
            root = ElementTree.fromstring(game.draw(state, viewer))
            assert root.tag.endswith("svg"), f"the root is <{root.tag}>, not <svg>"
            assert float(root.attrib["width"]) > 0, "the drawing has no width"
            whole = root.attrib.get("viewBox", f"0 0 {root.attrib['width']} {root.attrib['height']}")
            left, top, width, height = map(float, whole.split())
            for box, said in game.faces.tips(state, viewer):
                inside = left <= box.x < box.x + box.width <= left + width
                inside &= top <= box.y < box.y + box.height <= top + height
                assert inside, f"{said!r} is said of a place outside the picture: {box}"
                assert said.endswith("."), f"{said!r} is no sentence"


_NUMBERS = "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"


def check_manual(game: Game) -> None:
    """The rules text fits the game: its name, the size of its board, the letters of its actions."""
    module, text = sys.modules.get(f"{game.factory.__module__}.manual"), game.rules_text
    said = re.search(r"^The rules of (?!the )(.*?) for a player\.", (module and module.__doc__) or "")
    assert said is None or said[1] == game.title, f"manual.py has the rules of {said and said[1]}, not of {game.title}"
    grids = [block.grid.shape[1:] for block in game.observation_layout if block.grid is not None]
    sizes = {size for rows, columns in grids for size in (rows, columns, rows * columns)}
    for one in re.findall(rf"\b(\d+|{'|'.join(_NUMBERS)}) (?:rows|columns|cells)\b", text) if sizes else ():
        size = int(one) if one.isdigit() else _NUMBERS.index(one)
        assert size in sizes, f"the rules for a player speak of {one} rows, columns or cells; the board has {sizes}"
    words = {word for name in game.action_names for word in re.findall(r"[^\W\d_]+", name)}
    for pair in re.findall(r"\b([A-Za-z]) to ([A-Za-z])\b", text):
        for letter in pair:
            told = f"the rules for a player speak of {' to '.join(pair)}"
            assert letter in words, f"{told}; no action has {letter!r} in its name"


def check_clicks(game: Game) -> None:
    """Each legal action has its own sequence of clicks, on separate spots of the picture."""
    assert (game.spots is None) == (game.clicks is None), "spots and clicks are given together, or neither"
    if game.spots is None or game.clicks is None:
        return
    states = positions(game, 5 * FEW)
    for player in players_of(game):
        masks = masks_of(game, states, player)
        for state, mask in zip(states, masks, strict=True):
            spots = game.spots(state, player)
            _check_places(game, state, player)
            paths = {int(action): game.clicks(state, int(action)) for action in np.flatnonzero(mask)}
            for action, path in paths.items():
                name = game.action_names[action]
                assert path, f"{name!r} has no clicks"
                missing = [spot for spot in path if spot not in spots]
                assert not missing, f"{name!r} takes a click on {missing[0]!r}, which is no spot: {', '.join(spots)}"
            _check_apart(game, paths)


def _check_places(game: Game, state: np.void, viewer: int) -> None:
    assert game.spots is not None
    root = ElementTree.fromstring(game.draw(state, viewer))
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    boxes = list(game.spots(state, viewer).items())
    for k, (name, box) in enumerate(boxes):
        inside = left <= box.x <= left + width - box.width and top <= box.y <= top + height - box.height
        assert inside, f"{name!r} lies outside the picture: {box}"
        assert min(box.width, box.height) > 0, f"{name!r} has no size: {box}"
        for other, second in boxes[:k]:
            apart = (
                box.x + box.width <= second.x + 1e-6
                or second.x + second.width <= box.x + 1e-6
                or box.y + box.height <= second.y + 1e-6
                or second.y + second.height <= box.y + 1e-6
            )
            assert apart, f"{name!r} and {other!r} overlap"


def _check_apart(game: Game, paths: dict[int, tuple[str, ...]]) -> None:
    """Check that after any clicks, in any order, it is clear whether an action is chosen, and which one."""
    whole = {frozenset(path): action for action, path in paths.items()}
    for action, path in paths.items():
        assert whole[frozenset(path)] == action, f"{game.action_names[action]!r} has another action's clicks: {path}"
        for length in range(1, len(path)):
            assert frozenset(path[:length]) not in whole, f"{path[:length]} chooses an action, and begins {path}"
