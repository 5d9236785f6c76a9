"""Bad input: each error says what was wrong and what would be right, and changes nothing."""

import pickle
import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs.agents.random import RandomAgent
from ttt_envs.core.batch import Batch
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.play import play_games
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.parallel import ParallelGame
from ttt_envs.wrappers.self_play import PlayerGames
from ttt_envs.wrappers.single import PlayerEnv
from ttt_envs.wrappers.vector import PlayerVectorEnv

SUPER = "super_tic_tac_toe"


def fails(kind: type[Exception], call: Callable[[], object], *words: str) -> None:
    """The call raises this kind of error, and its text has all the words."""
    with pytest.raises(kind) as error:
        call()
    text = str(error.value)
    missing = [word for word in words if word not in text]
    assert not missing, f"{missing} not in: {text}"


def case(value: object) -> str:
    return value.__name__ if isinstance(value, type) else re.sub(r" object at 0x\w+", "", str(value))


# --- games and options ---


def test_the_same_options_give_the_same_game():
    assert ttt_envs.load(SUPER, won_boards="open") is ttt_envs.load(SUPER, won_boards="open")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"encoding": "plane"}, ["encoding='plane'", "'flat', 'planes'"]),
        ({"illegal": "ignore"}, ["illegal='ignore'", "'lose', 'raise'"]),
        ({"mask": "nowhere"}, ["mask='nowhere'", "'both', 'info'"]),
        ({"render_mode": "rgb"}, ["render_mode='rgb'", "'human', 'rgb_array', 'ansi'"]),
        ({"max_plies": 0}, ["max_plies"]),
    ],
    ids=case,
)
def test_wrong_argument_of_an_environment(arguments, words):
    fails(ValueError, lambda: ttt_envs.make_aec(SUPER, **arguments), *words)


def test_a_game_is_wanted():
    fails(TypeError, lambda: Batch(SUPER, 3), "game must be a Game from ttt_envs.load", "not str")


# --- actions ---


@pytest.mark.parametrize(
    ("action", "kind"), [(81, ValueError), (1.5, TypeError), (True, TypeError), ("4/4", TypeError)]
)
@pytest.mark.parametrize("make", [ttt_envs.make_aec, ttt_envs.make_parallel, ttt_envs.make_single])
def test_what_is_no_action_is_an_error_and_never_merely_loses(make, action, kind):
    env = make(SUPER, illegal="lose", **({"player": 0} if make is ttt_envs.make_single else {}))
    env.reset(seed=0)
    before = env.get_state()
    # Action 81 of a Parallel environment is to wait.
    wrong = 82 if make is ttt_envs.make_parallel and action == 81 else action
    fails(kind, lambda: env.step({"player_0": wrong, "player_1": 81} if isinstance(env, ParallelGame) else wrong))
    assert env.get_state() == before


@pytest.mark.parametrize("make", [ttt_envs.make_aec, ttt_envs.make_parallel])
def test_an_unknown_agent(make):
    env = make(SUPER)
    env.reset(seed=0)
    fails(ValueError, lambda: env.view("player_9"), "player_9")


def test_wrong_actions_of_many_learners():
    games = PlayerGames(ttt_envs.load(SUPER), 3, player=0, opponent=RandomAgent())
    games.reset(0)
    before = games.batch.states.tobytes()
    for actions in ([40, 40], [40.0] * 3, [40, 81, 40]):
        fails((TypeError, ValueError), lambda actions=actions: games.step(actions), "action")
    assert games.batch.states.tobytes() == before
    assert not games.done.any()


def test_wrong_sizes():
    game = ttt_envs.load(SUPER)
    fails(ValueError, lambda: Batch(game, 0), "n must be a whole number", "not 0")
    fails(ValueError, lambda: PlayerVectorEnv(game, 0, opponent=RandomAgent()), "num_envs", "not 0")


# --- at the wrong time ---


@pytest.mark.parametrize(
    "make",
    [
        ttt_envs.make_aec,
        ttt_envs.make_parallel,
        ttt_envs.make_single,
        partial(ttt_envs.make_vec, num_envs=2),
        partial(ttt_envs.make_sb3, num_envs=2),
    ],
)
def test_before_reset(make):
    env = make(SUPER)
    agent = ["player_0"] if hasattr(env, "possible_agents") else []
    for name, call in {
        "step": lambda: env.step({} if isinstance(env, ParallelGame) else 40),
        "get_state": lambda: env.get_state(),
        "states": lambda: env.states,
        "view": lambda: env.view(*agent),
        "action_masks": lambda: env.action_masks(*agent),
    }.items():
        fails(RuntimeError, call, "call reset() before", name)


def test_a_single_environment_takes_a_seed_as_all_others_do():
    env = ttt_envs.make_single(SUPER, random_opening_plies=6)
    env.reset(seed=3)
    before = env.states.tobytes()
    for seed, kind in ((-1, ValueError), (1.5, TypeError)):
        fails(kind, lambda seed=seed: env.reset(seed=seed), "seed must be")
        assert env.states.tobytes() == before
    env.reset(seed=np.int64(3))
    assert env.states.tobytes() == before


def test_stepping_a_finished_game():
    single = ttt_envs.make_single(SUPER, player=0)
    single.reset(seed=0)
    single.step(0)
    fails(RuntimeError, lambda: single.step(40), "call reset()")


# --- saved positions ---


@pytest.mark.parametrize("make", [ttt_envs.make_aec, ttt_envs.make_parallel])
def test_damaged_position(make):
    env = make(SUPER)
    env.reset(seed=0)
    data = env.get_state()
    damaged = [data[:-1], data + b"\0", bytes(len(data)), pickle.dumps(env.game.new_state(seed=0))]
    damaged += [bytes(b ^ (k == i) for i, b in enumerate(data)) for k in range(0, len(data), 7)]
    for each in damaged:
        fails(ValueError, lambda each=each: env.set_state(each), "get_state()")
        assert env.get_state() == data
    env.set_state(bytearray(data))


def test_foreign_position():
    toy = AECGame(toy_coin.make())
    toy.reset(seed=0)
    env = ttt_envs.make_aec(SUPER)
    env.reset(seed=0)
    before = env.get_state()
    words = ["saved by another game, or with other options", "than super_tic_tac_toe"]
    fails(ValueError, lambda: env.set_state(toy.get_state()), *words)
    closed = ttt_envs.make_aec(SUPER, won_boards="closed")
    closed.reset(seed=0)
    fails(ValueError, lambda: env.set_state(closed.get_state()), *words)
    assert env.get_state() == before


def test_a_position_beyond_the_cut_off_is_over():
    env = ttt_envs.make_single(SUPER, player=0)
    env.reset(seed=0)
    for _ in range(2):
        env.step(int(env.action_masks().argmax()))
    for short in (ttt_envs.make_single(SUPER, player=0, max_plies=2), ttt_envs.make_vec(SUPER, 1, max_plies=2)):
        short.set_state(env.get_state() if isinstance(short, PlayerEnv) else [env.get_state()])
        assert not short.action_masks().any()
        fails(
            RuntimeError, lambda short=short: short.step(40 if isinstance(short, PlayerEnv) else [40]), "call reset()"
        )


class Answers:
    """An opponent with a fixed answer."""

    name = "answers"

    def __init__(self, answer: Callable[[View], object]) -> None:
        self.answer = answer

    def act(self, view: View) -> object:
        return self.answer(view)


WRONG_ANSWERS = {
    # The last action is legal here: -1 must not pass for it.
    "-1": (lambda view: np.full(len(view), -1), ValueError, "as player 1 gave no action (-1)"),
    "81": (lambda view: np.full(len(view), 81), ValueError, "from 0 to 80, not 81"),
    "floats": (lambda view: view.masks.argmax(axis=1).astype(float), TypeError, "whole numbers, not float64"),
    "2-d": (lambda view: view.masks.argmax(axis=1)[:, None], ValueError, "shape"),
    "illegal": (lambda view: view.masks.argmin(axis=1), ValueError, "as player 1 cannot play '0/0'"),
}


@pytest.mark.parametrize(("answer", "kind", "words"), WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_an_opponent_s_wrong_answer(answer, kind, words):
    game = ttt_envs.load(SUPER, first_move="anywhere")
    env = PlayerVectorEnv(game, 3, opponent=Answers(answer), player=0)
    env.reset(seed=0)
    fails(kind, lambda: env.step(np.array([8, 8, 8])), "the opponent 'answers'", words)
    fails(kind, lambda: play_games(game, [RandomAgent(), Answers(answer)], seats=[0, 1], seeds=[3]), "agent 'answers'")
