"""Nothing that an agent is handed lets it change a game, or what another agent is given."""

from collections.abc import Callable

import numpy as np
import pytest
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.view import View


def games() -> list[Game]:
    return [ttt_envs.load(game_id, **options[0]) for game_id, options in OPTIONS.items()]


def given(view: View) -> dict[str, np.ndarray]:
    """All arrays that can be reached from a view without private names."""
    found = {name: getattr(view, name) for name in ("players", "seeds", "masks", "observations")}
    for symmetry in view.game.symmetries:
        found[f"actions of {symmetry.name}"] = symmetry.actions
        found[f"features of {symmetry.name}"] = symmetry.features
    for block in view.game.observation:
        if block.grid is not None:
            found[f"grid of {block.name}"] = block.grid
    if view.game.has_planes:
        found["plane_index"] = view.game.plane_index
    return {**found, "prototype": view.game.prototype}


PARTS: dict[str, Callable[[Batch, int], View]] = {
    "all": lambda batch, player: batch.view(player),
    "rows": lambda batch, player: batch.view(player, np.arange(3)),
    "taken": lambda batch, player: batch.view(player).take(np.arange(3)),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("game", games(), ids=lambda game: game.id)
def test_what_a_view_gives_is_read_only(game: Game, part: str) -> None:
    for name, array in given(PARTS[part](Batch(game, 5, seed=0), 0)).items():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array[:1]
        assert not array.flags.writeable, name


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
