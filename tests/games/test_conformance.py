"""Every game keeps to what core, agents and training rely on; and the checks notice a broken game."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import mutants
import numpy as np
import pytest
import toy_coin
from option_sets import OPTIONS, all_games

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.core.jit import kernel
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.games.tic_tac_dice import rules as dice_rules
from ttt_envs.testing import CHECKS, check_game
from ttt_envs.testing.positions import assert_same_distribution, masks_of, positions, worlds_of


# All checks of one game in a row: they share its random games and its compiled kernels.
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("game", list(all_games()), ids=repr)
def test_game(game: Game, check: Callable[[Game], None]) -> None:
    check(game)


def test_every_game_of_the_registry_is_tested():
    assert set(OPTIONS) == set(ttt_envs.GAMES)


#: Mutant -> the checks that notice it.
CAUGHT_BY = {
    "winner swapped": {"positions_as_text"},
    "a line missing": {"positions_as_text", "symmetries"},
    "observation not egocentric": {"egocentric"},
    "O wins nothing": {"seats", "positions_as_text"},
    "a feature not written": {"observations"},
    "mask leaked to the waiting player": {"masks"},
    "rewards all zero": {"rewards"},
    "start not seeded": {"starts"},
}


def noticed(game: Game, names: set[str]) -> set[str]:
    """Which of these checks fail."""
    found = set()
    for name in names:
        try:
            CHECKS[name](game)
        except (AssertionError, ValueError):  # a text that cannot be read back is a ValueError
            found.add(name)
    return found


@mutants.slow_if_compiled
@pytest.mark.parametrize(("name", "checks"), CAUGHT_BY.items(), ids=CAUGHT_BY)
def test_checks_notice_a_mutant(name, checks):
    assert noticed(mutants.mutant(name), checks) == checks
    assert noticed(mutants.sound(), checks) == set()


def test_a_missing_exchange_of_seats_is_no_pass():
    """Without the declaration nobody would notice that O is shown X's board."""
    silent = replace(mutants.mutant("observation not egocentric"), rotate_seats=None)
    for check in ("egocentric", "seats"):
        with pytest.raises(AssertionError, match=r"give Game rotate_seats.*; or, .* seats_differ"):
            CHECKS[check](silent)
    both = replace(mutants.sound(), seats_differ="they do not")
    assert noticed(both, {"egocentric"}) == {"egocentric"}
    assert noticed(replace(silent, seats_differ="a reason"), {"egocentric", "seats"}) == set()


def test_check_game_names_the_check_that_fails():
    with pytest.raises(AssertionError, match=r"super_tic_tac_toe.* fails the check 'masks' .*player 0's legal actions"):
        check_game(mutants.mutant("mask leaked to the waiting player"))
    # An exception within the game is a failure too.
    with pytest.raises(AssertionError, match=r"fails the check 'kernels_only_read' .*ZeroDivisionError"):
        check_game(replace(toy_coin.make(), draw=lambda state, viewer: 1 / 0))
    with pytest.raises(AssertionError, match=r"not 0 or 1, or not written: \['to move"):
        CHECKS["observations"](mutants.mutant("a feature not written"))


def test_check_game_refuses_to_run_without_assertions():
    code = "from ttt_envs.testing import check_game; check_game(None)"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "RuntimeError: check_game needs assertions" in done.stderr


def test_every_mutant_is_tested():
    assert set(CAUGHT_BY) == set(mutants.CHANGES)


def test_hidden_information_that_is_not_there_is_noticed():
    with pytest.raises(AssertionError, match=r"no player is ever left in doubt"):
        CHECKS["indistinguishable"](replace(mutants.sound(), hidden_information=True))


# --- chance: what is drawn is symmetric only on average ---


@kernel
def step_and_sort(state, actions):
    """A layout that is dealt within a match lies in order."""
    left = state["owner"].sum()
    dice_rules.step(state, actions)
    if state["owner"].sum() < left:
        state["rank"][:] = np.sort(state["rank"])


@kernel
def step_and_let_x_start(state, actions):
    """X starts every round but the first."""
    left = state["owner"].sum()
    dice_rules.step(state, actions)
    if state["owner"].sum() < left and not state["done"]:
        state["to_move"] = 0


@mutants.slow_if_compiled
@pytest.mark.parametrize(("step", "check"), [(step_and_sort, "symmetries"), (step_and_let_x_start, "seats")])
def test_checks_notice_lots_that_are_drawn_unfairly(step, check):
    game = ttt_envs.load("tic_tac_dice")
    CHECKS[check](game)
    with pytest.raises(AssertionError, match="does not commute with a step, in distribution"):
        CHECKS[check](replace(game, rules=game.rules._replace(step=step)))


# --- the toy: what a guesser must not learn ---


@kernel
def coin_shown(state, player, out):
    """The guessers see the coin."""
    toy_coin.observe(state, player, out)
    out[state["coin"]] = 1


@kernel
def coin_kept(state, player, seed):
    """Worlds are drawn, and all show the true coin."""
    coin = state["coin"]
    toy_coin.resample(state, player, seed)
    state["coin"] = coin


@kernel
def nothing_redrawn(state, player, seed):
    """The true world, its generator included."""


@kernel
def coin_in_mask(state, player, out):
    """A guesser may only guess right."""
    toy_coin.legal_mask(state, player, out)
    if player > 0 and state["phase"] == toy_coin.CLAIM:
        out[1 - state["coin"]] = False


def _spoil(**changes) -> Game:
    game = toy_coin.make(players=3)
    kernels = {name: change for name, change in changes.items() if name in game.rules._fields}
    texts = {name: change for name, change in changes.items() if name not in kernels}
    return replace(game, rules=game.rules._replace(**kernels), **texts)


@mutants.slow_if_compiled
@pytest.mark.parametrize(
    ("changes", "checks"),
    [
        ({"observe": coin_shown}, {"worlds", "indistinguishable"}),
        ({"legal_mask": coin_in_mask}, {"worlds", "indistinguishable"}),
        ({"resample": coin_kept}, {"indistinguishable"}),
        ({"resample": nothing_redrawn}, {"worlds", "indistinguishable"}),
        (
            {"format_state": lambda state, viewer: toy_coin.format_state(state)},
            {"worlds", "indistinguishable"},
        ),
        ({"draw": lambda state, viewer: toy_coin.draw(state)}, {"worlds", "indistinguishable"}),
    ],
    ids=["observation", "mask", "worlds", "generator", "text", "picture"],
)
def test_checks_notice_what_leaks(changes, checks):
    assert noticed(_spoil(**changes), checks) == checks
    assert noticed(_spoil(), checks) == set()


def test_a_guesser_s_worlds_show_either_coin_and_the_teller_s_only_his_own():
    game = toy_coin.make()
    states = np.repeat(game.new_state(seed=0), 400)
    guesser, teller = worlds_of(game, states, 1, 1), worlds_of(game, states, 0, 1)
    assert 160 < guesser["coin"].sum() < 240
    assert (teller["coin"] == states["coin"]).all()


def test_the_distributions_of_two_samples_are_told_apart():
    states = np.repeat(toy_coin.make().prototype, 300)
    biased = states.copy()
    states["coin"][::2] = 1
    biased["coin"][::4] = 1
    assert_same_distribution(states, states[::-1].copy())
    with pytest.raises(AssertionError, match="coin"):
        assert_same_distribution(states, biased)


def test_the_toy_has_what_it_is_for():
    """All at once, some at once, one alone out of turn: else the checks prove less than they seem to."""
    game = toy_coin.make(players=3, tosses=2)
    states = positions(game)
    acts = np.stack([masks_of(game, states, player).any(axis=1) for player in range(3)], axis=1)
    together = {tuple(row) for row in acts[states["to_move"] == SIMULTANEOUS].tolist()}
    assert {(True, True, True), (False, True, True), (False, True, False), (False, False, True)} <= together
    assert (states["to_move"] == 0).any()
    ends = states[states["done"]]["rewards"]
    assert {tuple(row) for row in ends.tolist()} >= {(1, -0.5, -0.5), (-1, 0.5, 0.5), (-0.5, 1, -0.5)}
