"""The settings of all methods: each number has bounds, which are checked by name."""

from dataclasses import fields, replace
from importlib import import_module
from typing import get_type_hints

import pytest

from ttt_envs.learning import METHODS
from ttt_envs.learning.settings import Within


@pytest.mark.parametrize("method", METHODS)
def test_each_number_has_bounds(method: str) -> None:
    kind = import_module(METHODS[method]).Config
    config = kind(game="tic_tac_dice")
    config.check()
    types = get_type_hints(kind, include_extras=True)
    names = [each.name for each in fields(kind) if type(getattr(config, each.name)) in (int, float)]
    assert len(names) > 10
    for name in names:
        (bounds,) = [each for each in types[name].__metadata__ if isinstance(each, Within)]
        for beyond in (bounds.low - 1, bounds.high + 1):
            with pytest.raises(ValueError, match=f"^{name} must be a (whole )?number from "):
                replace(config, **{name: beyond}).check()


@pytest.mark.parametrize("method", METHODS)
def test_sizes_of_layers_have_bounds(method: str) -> None:
    kind = import_module(METHODS[method]).Config
    if "hidden" in {each.name for each in fields(kind)}:
        for wrong in ((), (0,), (64, 2**16 + 1)):
            with pytest.raises((ValueError, TypeError), match="hidden must be"):
                kind(game="tic_tac_dice", hidden=wrong).check()


def test_a_setting_that_may_be_left_out_has_bounds_where_it_is_given() -> None:
    kind = import_module(METHODS["ppo"]).Config
    kind(game="tic_tac_dice", entropy_final=None).check()
    with pytest.raises(ValueError, match="entropy_final must be a number from 0 to 1,000,000, not -1"):
        kind(game="tic_tac_dice", entropy_final=-1).check()
