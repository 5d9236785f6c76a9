"""`make_*` and the registries: opponents as text or objects, a game by its id or as a Game, and each mistake."""

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from toy_coin import make as make_coin

import ttt_envs
from ttt_envs import agents, registry
from ttt_envs.agents.greedy import Greedy
from ttt_envs.core.view import View
from ttt_envs.registry import gymnasium_id

GAME = "super_tic_tac_toe"


class First(agents.Agent):
    """The first legal action; counts how often it was asked."""

    def __repr__(self) -> str:
        return "First()"  # the same in every process, as xdist wants names of tests

    name = "first"

    def __init__(self) -> None:
        self.asked = 0

    def act(self, view: View) -> np.ndarray:
        self.asked += len(view)
        return view.masks.argmax(axis=1)


def last(observation: np.ndarray, mask: np.ndarray) -> int:
    return int(np.flatnonzero(mask)[-1])


SEATS = {
    "make_single": lambda game=GAME, **arguments: ttt_envs.make_single(game, **arguments),
    "make_vec": lambda game=GAME, **arguments: ttt_envs.make_vec(game, 1, **arguments),
    "make_sb3": lambda game=GAME, **arguments: ttt_envs.make_sb3(game, 1, **arguments),
    "gymnasium.make": lambda game=GAME, **arguments: gymnasium.make(gymnasium_id(game), **arguments).unwrapped,
    "gymnasium.make_vec": lambda game=GAME, **arguments: (
        gymnasium.make_vec(gymnasium_id(game), num_envs=1, **arguments).unwrapped
    ),
}
BOTH = {
    **{name: make for name, make in SEATS.items() if not name.startswith("gymnasium")},
    "make_aec": lambda game=GAME, **arguments: ttt_envs.make_aec(game, **arguments),
    "make_parallel": lambda game=GAME, **arguments: ttt_envs.make_parallel(game, **arguments),
}

seats = pytest.mark.parametrize("make", SEATS.values(), ids=SEATS)
both = pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)


def opponent(env: Any) -> agents.Agent:
    start(env)
    return env._games.agents.by_key[int(env._games._others[0].max())]


def start(env: Any, seed: int = 0) -> None:
    if hasattr(env, "seed"):  # Stable-Baselines3
        env.seed(seed)
        env.reset()
    else:
        env.reset(seed=seed)


# --- opponents ---


@seats
def test_an_opponent_as_text_an_object_or_a_function(make):
    assert opponent(make()).name == "random"
    found = opponent(make(opponent="greedy:samples=3"))
    assert isinstance(found, Greedy)
    assert (found.name, found.samples) == ("greedy:samples=3", 3)
    mine = First()
    env = make(opponent=mine, player=1)
    assert opponent(env) is mine
    assert mine.asked
    assert opponent(make(opponent=last)).name == "last"


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ("gredy", ValueError, "unknown agent 'gredy'; did you mean 'greedy'"),
        ("greedy:sample=1", ValueError, "unknown parameter 'sample'; did you mean 'samples'"),
        ([], ValueError, "at least one opponent"),
        ([First(), 3], TypeError, "not 3 of type int"),
        (First, TypeError, r"not the class First: write First\(\)"),
    ],
    ids=str,
)
@seats
def test_wrong_opponents(make, given, kind, words):
    with pytest.raises(kind, match=words):
        make(opponent=given)


@seats
def test_an_opponent_that_cannot_play_the_game_is_refused_at_once(make):
    with pytest.raises(ValueError, match="agent mcts plays only games without"):
        make("operation_tic_tac_toe", opponent="mcts")
    with pytest.raises(ValueError, match="agent mcts plays only games without"):
        make("operation_tic_tac_toe", opponent=["random", "mcts"])


# --- the game ---


@both
def test_a_game_by_its_id_with_options_or_as_an_object(make):
    env = make(won_boards="closed", random_opening_plies=2)
    assert (env.game.options["won_boards"], env.game.options["random_opening_plies"]) == ("closed", 2)
    game = ttt_envs.load(GAME, won_boards="closed")
    assert make(game).game is game
    with pytest.raises(TypeError, match=r"super_tic_tac_toe.*has its options already: won_boards cannot be set"):
        make(game, won_boards="closed")
    # It need not be one of the library's.
    coin = make_coin()
    env = make(coin)
    assert env.game is coin
    env.reset()


@both
def test_an_unknown_option_names_the_known_ones_and_the_arguments(make):
    for wrong, meant in (("won_board", "won_boards"), ("encodings", "encoding")):
        words = f"got an unexpected keyword argument '{wrong}'.*did you mean '{meant}'.*known: first_move"
        with pytest.raises(TypeError, match=words):
            make(**{wrong: "closed"})


@pytest.mark.parametrize("wrong", [None, 3, "chess", First()], ids=str)
@both
def test_what_is_no_game(make, wrong):
    with pytest.raises(ValueError, match=r"unknown game .* known: super_tic_tac_toe"):
        make(wrong)


def test_an_entry_that_makes_no_game():
    with pytest.raises(ValueError, match="the entry of 'os:getcwd' must make a Game, not str"):
        ttt_envs.load("os:getcwd")
    with pytest.raises(ValueError, match="game 'os:sep': 'sep' must be a function that makes a Game, not '/'"):
        ttt_envs.load("os:sep")


def test_an_option_without_a_default_is_named(monkeypatch):
    def make(*, size: int):
        raise AssertionError

    monkeypatch.setitem(registry.GAMES, "sized_game", make)
    with pytest.raises(ValueError, match="'sized_game': its option size must have a default"):
        ttt_envs.load("sized_game", size=3)


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry from 1.27 on")
def test_pettingzoo_s_registry_takes_the_same_arguments():
    env = pettingzoo.make("aec", f"ttt_envs/{GAME}-v0", won_boards="closed", encoding="planes")
    assert env.unwrapped.game.options["won_boards"] == "closed"
    assert env.observation_space("player_0")["observation"].shape == env.unwrapped.game.plane_index.shape
    env = pettingzoo.make("parallel", f"ttt_envs/{GAME}-v0", illegal="raise", won_boards="closed")
    assert env.unwrapped.game.options["won_boards"] == "closed"


def test_the_name_of_the_module_before_an_id_is_import_enough():
    code = (
        "import gymnasium, sys; assert 'ttt_envs' not in sys.modules; "
        "print(gymnasium.make('ttt_envs:ttt_envs/SuperTicTacToe-v0', opponent='greedy').unwrapped)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "PlayerEnv" in done.stdout, done.stderr
