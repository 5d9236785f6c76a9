"""A way to break a game's rules, and Super Tic-Tac-Toe, broken in one place each: tests must notice every one."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import ttt_envs
from ttt_envs.core import jit
from ttt_envs.core.game import Game
from ttt_envs.games.super_tic_tac_toe import encoding, rules


def slow_if_compiled(test: Callable) -> Callable:
    """Decorator for tests of many mutants: each would be compiled anew, and plain Python notices them as well."""
    return test if jit.DISABLED else pytest.mark.slow(test)


def rules_with(rules: Any, **changes: Callable) -> dict[str, Callable]:
    """`step`, `legal_mask` and `is_legal` of a game's module, where these kernels stand in the place of its own."""

    def is_kernel(name: str) -> bool:
        value = getattr(rules, name, None)
        return callable(value) and getattr(value, "__module__", None) == rules.__name__

    @cache
    def changed(name: str) -> Callable:
        if name in changes:
            return changes[name]
        original = getattr(rules, name)
        template = getattr(original, "py_func", original)
        names = [each for each in template.__code__.co_names if is_kernel(each)]
        called = {each: changed(each) for each in names if changed(each) is not getattr(rules, each)}
        return jit.specialise(template, **called) if called else original

    assert all(is_kernel(name) for name in changes)
    return {name: changed(name) for name in ("step", "legal_mask", "is_legal")}


@jit.kernel
def winner_swapped(state, actions):
    """The loser is paid."""
    rules.step(state, actions)
    for player in range(2):
        state["rewards"][player] *= -1


@jit.kernel
def never_paid(state, actions):
    """Rewards all zero."""
    rules.step(state, actions)
    for player in range(2):
        state["rewards"][player] = 0


@jit.kernel
def all_lines_but_one(cells, cell):
    """The diagonal 2, 4, 6 is no line."""
    if (cell == 2 or cell == 4 or cell == 6) and cells[2] == cells[4] and cells[4] == cells[6]:
        return False
    return rules.completes_line(cells, cell)


line_missing = jit.specialise(getattr(rules.step, "py_func", rules.step), completes_line=all_lines_but_one)


@jit.kernel
def seen_by_x(state, player, out):
    """Both see the board as X does."""
    encoding.observe(state, 0, out)


@jit.kernel
def last_feature_kept(state, player, out):
    """The last feature keeps what the caller's array held before."""
    kept = out[-1]
    encoding.observe(state, player, out)
    out[-1] = kept


@jit.kernel
def only_x_wins(state, actions):
    """A win of O pays nothing."""
    rules.step(state, actions)
    if state["rewards"][1] > 0:
        state["rewards"][:] = 0


@jit.kernel
def mask_for_all(state, player, out):
    """The waiting player gets the mover's mask."""
    rules.legal_mask(state, state["to_move"], out)


@jit.kernel
def unseeded(state, seed):
    """The random opening is always the same."""
    rules.reset(state, np.uint64(1))


CHANGES: dict[str, dict[str, Callable]] = {
    "winner swapped": {"step": winner_swapped},
    "a line missing": {"step": line_missing},
    "observation not egocentric": {"observe": seen_by_x},
    "a feature not written": {"observe": last_feature_kept},
    "O wins nothing": {"step": only_x_wins},
    "mask leaked to the waiting player": {"legal_mask": mask_for_all},
    "rewards all zero": {"step": never_paid},
    "start not seeded": {"reset": unseeded},
}


def sound() -> Game:
    """The game before it is broken."""
    return ttt_envs.load("super_tic_tac_toe", random_opening_plies=6)


def mutant(name: str, **options) -> Game:
    """The game with that change."""
    game = ttt_envs.load("super_tic_tac_toe", **options) if options else sound()
    return replace(game, rules=game.rules._replace(**CHANGES[name]))
