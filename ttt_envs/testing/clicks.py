"""Check the places on a game's pictures that can be clicked."""

import xml.etree.ElementTree as ElementTree

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.testing.positions import masks_of, players_of, positions

_MANY = 60


def check_clicks(game: Game) -> None:
    """Each legal action has clicks of its own, on separate spots of the picture."""
    assert (game.spots is None) == (game.clicks is None), "spots and clicks are given together, or neither"
    if game.spots is None or game.clicks is None:
        return
    states = positions(game, _MANY)
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
    """Check that the spots lie within the picture, and do not overlap."""
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
    """Check that after clicks in any order it is clear whether an action is chosen, and which."""
    whole = {frozenset(path): action for action, path in paths.items()}
    for action, path in paths.items():
        assert whole[frozenset(path)] == action, (
            f"{game.action_names[action]!r} has the clicks of another action: {path}"
        )
        for length in range(1, len(path)):
            assert frozenset(path[:length]) not in whole, f"{path[:length]} chooses an action, and begins {path}"
