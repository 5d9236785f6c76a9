"""Batch checks its arguments before a kernel sees them, and an illegal action changes nothing."""

import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import toy_coin
from toy_wages import wages

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.checks import IllegalAction
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.games.super_tic_tac_toe.text import cells_of, playable_of
from ttt_envs.testing.positions import random_joint

SUPER = ttt_envs.load("super_tic_tac_toe")
COIN = toy_coin.make(players=3)  # without `is_legal`; in one phase some act at once and others do not
CENTRE, CORNER = 40, 36  # both legal at the start


def everything(batch: Batch) -> bytes:
    arrays = (batch.states, batch.rewards, batch.done, batch.episode_seeds, batch._episodes)
    return b"".join(array.tobytes() for array in arrays)


def unchanged(batch: Batch, kind: type[Exception], words: str, call: Callable[[], object]) -> None:
    before = everything(batch)
    with pytest.raises(kind, match=re.escape(words)) as error:
        call()
    assert type(error.value) is kind
    assert everything(batch) == before


@pytest.mark.parametrize("what", ["masks", "observations"])
def test_out_is_filled(what: str) -> None:
    method = getattr(Batch(SUPER, 3, seed=0), what)
    right = method(1)
    out = np.full(right.shape, 1, right.dtype)
    assert method(1, out=out) is out
    assert np.array_equal(out, right)


def test_out_is_no_part_of_the_states() -> None:
    batch = Batch(SUPER, 3, seed=0)
    inside = batch.states.view(np.bool_)[: 3 * SUPER.num_actions].reshape(3, -1)
    unchanged(batch, ValueError, "out must not share memory with the states", lambda: batch.masks(out=inside))


@pytest.mark.parametrize("rows", [[0, 3], [-1], [0.0, 1.0], [[0, 1]], [True, False]], ids=repr)
def test_rows_are_checked(rows: Any) -> None:
    batch = Batch(SUPER, 3, seed=0)
    kind = TypeError if rows == [0.0, 1.0] else ValueError
    unchanged(batch, kind, "rows", lambda: batch.view(rows=rows))
    unchanged(batch, kind, "rows", lambda: batch.reset_rows(rows))
    unchanged(batch, kind, "rows", lambda: batch.step(np.full(np.size(rows), CENTRE), rows))
    unchanged(batch, kind, "rows", lambda: batch.step(np.full(np.size(rows), CENTRE), rows, check=False))
    assert len(batch.view(rows=[0, 2, 0])) == 3, "whoever asks twice is told twice"


@pytest.mark.parametrize("rows", [[2, 0], np.array([2, 0], np.uint8), [True, False, True], slice(0, 3, 2)], ids=repr)
def test_rows_in_any_form(rows: Any) -> None:
    batch, other = Batch(SUPER, 3, seed=0), Batch(SUPER, 3, seed=0)
    batch.step([CENTRE, CENTRE], rows)
    assert batch.states["ply"].tolist() == [1, 0, 1]
    other.step([CENTRE, CENTRE], rows, check=False)
    assert everything(batch) == everything(other)
    assert len(batch.view(rows=rows)) == 2
    batch.reset_rows(rows)
    assert batch.states["ply"].tolist() == [0, 0, 0]
    assert batch._episodes.tolist() == [2, 1, 2]
    batch.reset_rows([])
    batch.step(np.empty(0, np.int64), [])
    assert batch._episodes.tolist() == [2, 1, 2]


@pytest.mark.parametrize("name", ["states", "episode_seeds", "n", "game", "to_move"])
def test_what_kernels_rely_on_cannot_be_replaced(name: str) -> None:
    batch = Batch(SUPER, 3, seed=0)
    with pytest.raises(AttributeError, match=name):
        setattr(batch, name, getattr(Batch(SUPER, 5, seed=0), name))


# --- legality ---


def test_an_illegal_action_is_named_and_nothing_is_played() -> None:
    batch = Batch(SUPER, 5, seed=0)
    unchanged(
        batch,
        IllegalAction,
        "player 0 in game 3 cannot play '0/7' (action 7) now; legal: 4/0, 4/1",
        lambda: batch.step([CENTRE, CORNER, CENTRE, 7, 8]),
    )
    unchanged(batch, IllegalAction, "player 0 in game 1 ", lambda: batch.step([CENTRE, 80], [4, 1]))
    batch.step([CENTRE] * 5)
    unchanged(batch, IllegalAction, "player 1 in game 0 ", lambda: batch.step([CENTRE] * 5))
    assert issubclass(IllegalAction, ValueError)


def test_the_check_is_of_the_present_position() -> None:
    batch = Batch(SUPER, 2, seed=0)
    moved = Batch(SUPER, 2, seed=0)
    moved.step([CENTRE, CENTRE])
    masks = batch.masks()
    masks[:] = True
    unchanged(batch, IllegalAction, "'0/0'", lambda: batch.step([0, CENTRE]))
    batch.masks()
    batch.states[:] = moved.states
    unchanged(batch, IllegalAction, "player 1 in game 0 cannot play '4/4'", lambda: batch.step([CENTRE, CORNER]))
    batch.step([CORNER, CORNER])


def answering() -> Batch:
    """Games in which player 0 is the teller and only players 1, or 1 and 2, may answer."""
    batch = Batch(COIN, 2, seed=0)
    heads, tails = toy_coin.HEADS, toy_coin.TAILS
    batch.step([[heads, tails, heads], [heads, tails, tails]])
    assert (batch.to_move == SIMULTANEOUS).all()
    return batch


def test_players_who_act_at_once() -> None:
    stay, keep = toy_coin.STAY, toy_coin.KEEP
    batch = answering()
    unchanged(
        batch,
        IllegalAction,
        "player 2 in game 1 cannot play 'keep'",
        lambda: batch.step([[-1, stay, -1], [-1, stay, keep]]),
    )
    unchanged(batch, ValueError, "player 2 acts in game 1 and was given -1", lambda: batch.step([[-1, stay, -1]] * 2))
    unchanged(batch, ValueError, "from 0 to 5, not 6", lambda: batch.step([[6, stay, -1], [-1, stay, stay]]))
    unchanged(batch, ValueError, "several players act at once", lambda: batch.step([stay, stay]))
    batch.step([[keep, stay, keep], [-1, stay, stay]])  # the teller's and a content guesser's entries are ignored
    assert batch.to_move.tolist() == [0, 0]
    unchanged(batch, IllegalAction, "player 0 in game 0 cannot play 'stay'", lambda: batch.step([stay, keep]))
    batch.step([keep, keep])
    assert batch.done.all()
    batch.step([-1, stay])  # finished games ignore theirs too
    unchanged(batch, ValueError, "from 0 to 5, not 9", lambda: batch.step([-1, 9]))


def test_an_unchecked_illegal_step_leaves_the_position() -> None:
    batch = Batch(SUPER, 3, seed=0)
    before = batch.states.copy()
    unchanged(batch, TypeError, "not float64", lambda: batch.step([0.5, 0.5, 0.5], check=False))
    unchanged(batch, ValueError, "shape (3,", lambda: batch.step([CENTRE], check=False))
    batch.step([0, 2**40, CENTRE], check=False)
    assert batch.states[:2].tobytes() == before[:2].tobytes()
    assert cells_of(batch.states)[2, 4, 4] == 1


def test_states_are_replaced_as_a_whole_or_not_at_all() -> None:
    batch, other = (Batch(COIN, 5, seed=seed) for seed in (0, 1))
    while other.done.sum() < 2:
        other.step(random_joint(other))
    batch.set_states(other.states)
    assert batch.states.tobytes() == other.states.tobytes()
    assert np.array_equal(batch.done, other.states["done"])
    assert np.array_equal(batch.rewards, other.states["rewards"])
    assert not np.shares_memory(batch.states, other.states)
    joint = random_joint(other)
    for each in (batch, other):
        each.step(joint)
    assert batch.states.tobytes() == other.states.tobytes()
    wrong = other.states.copy()
    wrong["to_move"][3] = 7
    unchanged(batch, ValueError, "its field `to_move` is 7", lambda: batch.set_states(wrong))
    unchanged(batch, ValueError, "must have shape (5,), not (4,)", lambda: batch.set_states(other.states[:4]))
    unchanged(batch, ValueError, "other fields", lambda: batch.set_states(Batch(SUPER, 5).states))
    unchanged(batch, TypeError, "structured array", lambda: batch.set_states([1, 2, 3, 4, 5]))  # type: ignore[arg-type]


def test_chance_after_a_text_is_drawn_from_the_seed() -> None:
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    start = game.new_state(3)
    position = game.parse_state(game.format_state(start[0]))
    action = int(game.masks(start)[0].argmax())

    def dice(batch: Batch) -> list[tuple[int, ...]]:
        batch.set_states(np.repeat(position, batch.n))
        batch.step(np.full(batch.n, action))
        return [tuple(each) for each in batch.states["dice"].tolist()]

    rolled = [dice(Batch(game, 1, seed=seed))[0] for seed in range(300)]
    assert len(set(rolled)) > 15
    assert max(rolled.count(each) for each in set(rolled)) < 40
    assert dice(Batch(game, 1, seed=7)) == rolled[7:8]
    batch = Batch(game, 40, seed=0)
    once, again = dice(batch), dice(batch)
    assert len(set(once)) > 10
    assert once != again
    batch.reset(0)
    assert dice(batch) == once == dice(Batch(game, 40, seed=0))
    batch.reset(0)
    batch.set_states(start.repeat(40))  # a position that was played keeps its own
    assert (batch.states["rng"] == start["rng"]).all()


def test_four_threads_on_one_batch_do_no_harm() -> None:
    n = 4000
    batch = Batch(SUPER, n, seed=0, auto_reset=True)
    played: list[int] = []
    errors: list[BaseException] = []

    def play() -> None:
        for _ in range(60):
            try:
                batch.step(np.where(batch.done, 0, batch.masks().argmax(axis=1)))
            except IllegalAction:  # another thread has played since the masks
                continue
            except BaseException as error:
                errors.append(error)
                return
            played.append(1)

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert 0 < len(played) <= 240
    states = batch.states
    assert np.array_equal((cells_of(states) != 0).sum(axis=(1, 2)), states["ply"])
    assert np.array_equal(playable_of(states), states["playable"])
    batch.step(batch.masks().argmax(axis=1))


@pytest.mark.parametrize("at_once", [False, True])
def test_rewards_at_each_step(at_once: bool) -> None:
    game = wages(players=3, at_once=at_once)
    batch = Batch(game, 20, seed=0)
    assert not batch.rewards.any()
    for ply in range(10):
        before, joint = batch.states.copy(), random_joint(batch)
        some = np.flatnonzero((np.arange(20) + ply) % 3 > 0)
        batch.step(joint[some], some)
        acted = (joint[some] >= 0) & ~before["done"][some, None]
        jobs = np.where(acted, joint[some] + 1, 0)
        paid = 0.25 * jobs - 0.125 * (acted.sum(axis=1, keepdims=True) - acted)
        assert np.allclose(batch.rewards[some], paid)
        assert np.allclose(batch.states["rewards"][some], before["rewards"][some] + paid)
    while not batch.done.all():
        batch.step(random_joint(batch))
    over = batch.states.copy()
    batch.set_states(over)
    assert np.array_equal(batch.rewards, over["rewards"])
    going = Batch(game, 20, seed=1)
    going.step(random_joint(going))
    batch.set_states(going.states)
    assert not batch.rewards.any()
    anew, other = Batch(game, 3, seed=0, auto_reset=True), Batch(game, 3, seed=0)
    for _ in range(2):
        total = np.zeros_like(other.rewards)
        for _ in range(8):
            anew.step(random_joint(anew))
            total += anew.rewards
        assert anew.done.all()
        while not other.done.all():
            other.step(random_joint(other))
        assert np.allclose(total, other.states["rewards"])
        other.reset()
