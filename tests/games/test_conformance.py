"""Every game keeps to what core, agents and training rely on; and the checks notice a broken game."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import kuhn_poker
import numpy as np
import pytest
import toy_coin
import toy_walk
from changed import changed
from option_sets import OPTIONS, marked_games

import ttt_envs
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.games.super_tic_tac_toe import encoding, rules
from ttt_envs.testing import CHECKS, check_game
from ttt_envs.testing.positions import assert_same_distribution, masks_of, positions


# All checks of one game in a row: they share its random games and its compiled kernels.
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("game", marked_games())
def test_game(game: Game, check: Callable[[Game], None]) -> None:
    check(game)


def test_every_game_of_the_registry_is_tested():
    assert set(OPTIONS) == set(ttt_envs.GAMES)


# --- what the checks say of a broken game ---

SOUND = ttt_envs.load("super_tic_tac_toe", random_opening_plies=6)


@kernel
def seen_by_x(state, player, out):
    encoding.observe(state, 0, out)


@kernel
def last_feature_kept(state, player, out):
    kept = out[-1]
    encoding.observe(state, player, out)
    out[-1] = kept


@kernel
def mask_for_all(state, player, out):
    rules.legal_mask(state, state["to_move"], out)


@kernel
def always_the_last_but_one(state, player, x):
    return np.int64(79)


def broken(**kernels: Callable) -> Game:
    made: Game = changed(SOUND, **kernels, factory=lambda **_: made)
    return made


def noticed(game: Game, names: set[str]) -> set[str]:
    found = set()
    for name in names:
        try:
            CHECKS[name](game)
        except (AssertionError, ValueError):  # a text that cannot be read back is a ValueError
            found.add(name)
    return found


def test_a_missing_exchange_of_seats_is_no_pass():
    silent = changed(broken(observe=seen_by_x), rotate_players=None)
    for check in ("egocentric", "seats"):
        with pytest.raises(AssertionError, match=r"give Game rotate_players.*; or, .* players_differ"):
            CHECKS[check](silent)
    both = changed(SOUND, players_differ="they do not")
    assert noticed(both, {"egocentric"}) == {"egocentric"}
    assert noticed(replace(silent, players_differ="a reason"), {"egocentric", "seats"}) == set()


def test_a_game_needs_no_board():
    boardless = tuple(replace(block, grid=None) for block in SOUND.observation_layout)
    assert noticed(changed(SOUND, observation_layout=boardless), {"observations"}) == set()


def test_check_game_names_the_check_that_fails():
    with pytest.raises(AssertionError, match=r"super_tic_tac_toe.* fails the check 'masks' .*player 0's legal actions"):
        check_game(broken(legal_mask=mask_for_all))
    # An exception within the game is a failure too.
    with pytest.raises(AssertionError, match=r"fails the check 'kernels_only_read' .*ZeroDivisionError"):
        check_game(changed(toy_coin.make(), draw=lambda state, viewer: 1 / 0))
    with pytest.raises(AssertionError, match=r"random_action draws 79 by 0 for player 0 where the mask gives"):
        CHECKS["random_action"](broken(random_action=always_the_last_but_one))
    with pytest.raises(AssertionError, match=r"not 0 or 1, or not written: \['closed boards"):
        CHECKS["observations"](broken(observe=last_feature_kept))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda part: part._replace(actions=tuple(range(9))), "name actions twice"),
        (lambda part: part._replace(actions=tuple(range(80, 89))), "actions that there are not"),
        (lambda part: part._replace(features=part.features[1:]), "several sizes"),
        (lambda part: part._replace(features=part.features[::-1]), "for alike"),
        (lambda part: part._replace(features=(191, *part.features[1:])), "features that there are not"),
    ],
)
def test_parts_that_are_not_alike_are_noticed(wrong, words):
    first, second = SOUND.parts[:2]
    with pytest.raises(AssertionError, match=words):
        CHECKS["observations"](changed(SOUND, parts=(first, wrong(second))))


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("Columns are a to c. A board of 4x4 cells.", ""),
        ("Columns are a to g.", "no action has 'g'"),
        ("Columns of six cells.", "speak of six rows, columns or cells"),
    ],
)
def test_a_manual_of_another_game_is_noticed(rules, said):
    game = changed(ttt_envs.load("martian_tic_tac_toe", size=4), rules_text=rules)
    if said:
        with pytest.raises(AssertionError, match=said):
            CHECKS["manual"](game)
    else:
        CHECKS["manual"](game)


def test_a_manual_with_another_title_is_noticed():
    with pytest.raises(AssertionError, match="the rules of Martian Tic-Tac-Toe, not of Venusian"):
        CHECKS["manual"](replace(ttt_envs.load("martian_tic_tac_toe"), title="Venusian"))


def test_a_past_that_matters_is_noticed():
    def check(**less):
        def bare(states):
            new = states.copy()
            for name, amount in less.items():
                new[name] = np.maximum(states[name] - amount, 0)
            return new

        CHECKS["without_past"](changed(toy_walk.make(), without_past=bare))

    check(ply=99)
    with pytest.raises(AssertionError, match="changes a mask"):
        check(ply=99, to_move=1)
    with pytest.raises(AssertionError, match="without_past changes what it gave"):
        check(ply=1)


def test_check_game_refuses_to_run_without_assertions():
    code = "from ttt_envs.testing import check_game; check_game(None)"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "RuntimeError: check_game needs assertions" in done.stderr


def test_chance_that_is_not_at_the_start_alone_is_noticed():
    with pytest.raises(AssertionError, match="different games from one start, chance='start'"):
        CHECKS["starts"](changed(ttt_envs.load("tic_tac_dice", **OPTIONS["tic_tac_dice"][0]), chance="start"))
    with pytest.raises(AssertionError, match="different games, chance='none'"):
        CHECKS["starts"](changed(kuhn_poker.make(), chance="none"))
    CHECKS["starts"](kuhn_poker.make())


def test_hidden_information_that_is_not_there_is_noticed():
    with pytest.raises(AssertionError, match=r"no player is ever left in doubt"):
        CHECKS["indistinguishable"](changed(SOUND, hidden_information=True))


def test_the_distributions_of_two_samples_are_told_apart():
    states = np.repeat(toy_coin.make().prototype, 300)
    biased = states.copy()
    states["coin"][::2] = 1
    biased["coin"][::4] = 1
    assert_same_distribution(states, states[::-1].copy())
    with pytest.raises(AssertionError, match="coin"):
        assert_same_distribution(states, biased)


def test_the_toy_has_what_it_is_for():
    game = toy_coin.make(players=3, tosses=2)
    states = positions(game)
    acts = np.stack([masks_of(game, states, player).any(axis=1) for player in range(3)], axis=1)
    together = {tuple(row) for row in acts[states["to_move"] == SIMULTANEOUS].tolist()}
    assert {(True, True, True), (False, True, True), (False, True, False), (False, False, True)} <= together
    assert (states["to_move"] == 0).any()
    ends = states[states["done"]]["rewards"]
    assert {tuple(row) for row in ends.tolist()} >= {(1, -0.5, -0.5), (-1, 0.5, 0.5), (-0.5, 1, -0.5)}
