"""Nothing that an agent is handed lets it change a game, or what another agent is given."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pytest
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.view import View


def games() -> list[Game]:
    return [ttt_envs.load(game_id, **options[0]) for game_id, options in OPTIONS.items()]


PARTS: dict[str, Callable[[Batch, int], View]] = {
    "all": lambda batch, player: batch.view(player),
    "rows": lambda batch, player: batch.view(player, np.arange(3)),
    "taken": lambda batch, player: batch.view(player).take(np.arange(3)),
}


def reached(thing: Any, path: str, seen: dict[int, Any]) -> Iterator[tuple[str, Any]]:
    """What attributes lead to, private ones and what arrays are made of included; functions are not entered."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    yield path, thing
    if isinstance(thing, (np.ndarray, np.void)):
        yield from reached(thing.base, f"{path}.base", seen)
    elif isinstance(thing, memoryview):
        yield from reached(thing.obj, f"{path}.obj", seen)
    elif isinstance(thing, Mapping):
        for key, each in thing.items():
            yield from reached(each, f"{path}[{key!r}]", seen)
    elif isinstance(thing, (tuple, list)):
        for i, each in enumerate(thing):
            yield from reached(each, f"{path}[{i}]", seen)
    elif type(thing).__module__.startswith("ttt_envs."):
        names = {*vars(thing), *(name for name in dir(type(thing)) if not callable(getattr(type(thing), name)))}
        for name in sorted(names - {"_oracle"}):  # an oracle is no part of what is seen
            if name.startswith("__"):
                continue
            with suppress(ValueError):  # planes of a game without a board
                yield from reached(getattr(thing, name), f"{path}.{name}", seen)


def attack(thing: Any) -> None:
    """Write to an array by all means that NumPy has, or to any other memory."""
    if isinstance(thing, np.ndarray) and thing.size:
        with suppress(ValueError):
            thing.setflags(write=True)
        with suppress(ValueError):
            thing.flags.writeable = True
        for again in (thing, thing.view(), thing.reshape(-1)[:1]):
            with suppress(ValueError):
                again[...] = 1 - again if again.dtype.kind in "iu" else np.zeros(1, again.dtype)
        with suppress(ValueError):
            np.copyto(thing, np.zeros(1, thing.dtype))
    if isinstance(thing, (bytearray, memoryview)):
        with suppress(TypeError):
            memoryview(thing).cast("B")[:] = bytes(memoryview(thing).nbytes)


def what_is_seen(view: View) -> list[Any]:
    taken = view.take(np.arange(len(view)))
    texts = [view.text(i) for i in range(len(view))]
    rest = view.sample_worlds(3), taken.observations, taken.masks, taken.seeds, taken.players
    return [texts, *(each.tobytes() for each in rest)]


@pytest.mark.parametrize(
    ("game", "part"),
    [*product(games(), ["all"]), *product(games()[-1:], ["rows", "taken"])],
    ids=lambda each: str(each),
)
def test_no_view_becomes_another_players(game: Game, part: str) -> None:
    batch = Batch(game, 5, seed=0)
    view, other = PARTS[part](batch, 0), PARTS[part](batch, 0)
    before = what_is_seen(view), batch.states.tobytes()
    found = dict(reached(view, "view", {}))
    arrays = ("view.players", "view.seeds", "view.masks", "view.observations", "view._states")
    assert {"view._watching", *arrays} <= {*found}
    assert id(game.prototype) in map(id, found.values())
    for path, thing in found.items():
        # The positions themselves are no array that is handed out: what an agent changes there is its own copy.
        if not path.startswith("view._states"):
            attack(thing)
            if isinstance(thing, np.ndarray):
                assert not thing.flags.writeable or path == "view._players", path  # which is made for each use
    assert (what_is_seen(view), batch.states.tobytes()) == before
    assert view.observations.tobytes() == before[0][2]
    assert view.masks.tobytes() == before[0][3]
    attack(view._states)
    assert (what_is_seen(other), batch.states.tobytes()) == before
    assert what_is_seen(PARTS[part](batch, 0)) == before[0]


def test_the_other_players_hand_stays_hidden() -> None:
    view, theirs = (Batch(ttt_envs.load("tic_tac_match"), 50, seed=0).view(player) for player in (0, 1))
    assert (view.observations != theirs.observations).any(axis=1).all()
    for name in ("players", "_players", "_watching", "game", "_states", "observations", "new"):
        with pytest.raises(AttributeError, match=f"a View cannot be changed: `{name}`"):
            setattr(view, name, view.players + 1)
        with pytest.raises(AttributeError, match=f"a View cannot be changed: `{name}`"):
            delattr(view, name)


@pytest.mark.parametrize(
    ("rows", "kind", "words"),
    [
        (0, ValueError, "one dimension"),
        (np.array([2**64 - 1], np.uint64), ValueError, "from 0 to 4, not 18446744073709551615"),
        ([-1], ValueError, "from 0 to 4, not -1"),
        ([True], ValueError, r"shape \(5,\), not \(1,\)"),
        ([0.0], TypeError, "whole numbers or truth values, not float64"),
    ],
)
def test_rows_that_a_view_does_not_have(rows: Any, kind: type[Exception], words: str) -> None:
    view = Batch(ttt_envs.load("super_tic_tac_toe"), 5, seed=0).view()
    with pytest.raises(kind, match=words):
        view.take(rows)


@pytest.mark.parametrize(
    "rows", [None, slice(0, 3), slice(None), np.arange(3), np.array([True, True, True, False, False])]
)
def test_a_view_does_not_move_with_the_batch(rows: slice | np.ndarray | None) -> None:
    batch = Batch(ttt_envs.load("super_tic_tac_toe"), 5, seed=0)
    view = batch.view(rows=rows)
    before = view.text()
    batch.step(batch.masks().argmax(axis=1))
    assert view.text() == before
    assert len(view.masks) == len(view)


def test_worlds_of_other_numbers_are_other_ones() -> None:
    view = Batch(ttt_envs.load("tic_tac_match"), 5, seed=0).view()
    first, again, second = (view.sample_worlds(number) for number in (0, 0, 1))
    assert first.tobytes() == again.tobytes()
    assert (first["hand"] != second["hand"]).any(axis=(1, 2)).all()


def test_worlds_are_drawn_with_a_seed_for_each_position() -> None:
    view = Batch(ttt_envs.load("super_tic_tac_toe"), 5, seed=0).view()
    for seeds in (view.seeds[:4], np.zeros(0, np.uint64), view.seeds[:, None]):
        with pytest.raises(ValueError, match=r"seeds must have shape \(5,\), not \("):
            view.redrawn(seeds)
    for wrong in (view.seeds.astype(np.float64), view.seeds.astype(np.int64), [1, 2, 3, 4, 5]):
        with pytest.raises(TypeError, match=r"seeds must be an array of uint64, not (float64|int64|list)"):
            view.redrawn(wrong)
    with pytest.raises(TypeError, match="float"):
        view.sample_worlds(0.5)
