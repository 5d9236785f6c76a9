"""`Batch(look=True)`: a step plays and looks in one call, and gives what the separate calls give."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import toy_coin
from option_sets import OPTIONS

import ttt_envs
from ttt_envs import agents
from ttt_envs.core import jit
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.core.team import PLAYED
from ttt_envs.testing.positions import random_joint

COIN = toy_coin.make(players=3)  # in one phase some act at once and others do not
GAMES = {"coin": COIN} | {name: ttt_envs.load(name, **options[0]) for name, options in OPTIONS.items()}
QUICK = ("coin", "super_tic_tac_toe")
NAMES = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in GAMES
]  # compiling takes long
SUPER = GAMES["super_tic_tac_toe"]
N, STEPS = (5, 30) if jit.DISABLED else (23, 120)


def assert_looks(batch: Batch, game: Game) -> None:
    """A step shows the same as the other methods of the batch."""
    if game.simultaneous:
        players = range(game.num_players)
        masks, seen = ([ask(player) for player in players] for ask in (batch.masks, batch.observations))
        assert np.array_equal(batch.look.masks, np.stack(masks, axis=1))
        assert np.array_equal(batch.look.observations, np.stack(seen, axis=1))
    else:
        assert np.array_equal(batch.look.masks, batch.masks())
        assert np.array_equal(batch.look.observations, batch.observations())
    assert np.array_equal(batch.look.rewards, batch.rewards)
    assert np.array_equal(batch.look.done, batch.done)


def everything(batch: Batch) -> list[bytes]:
    arrays = (batch.states, batch.rewards, batch.done, batch.episode_seeds, batch._episodes)
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("auto_reset", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_games_as_without(name: str, auto_reset: bool, threads: int) -> None:
    game = GAMES[name]
    plain = Batch(game, N, seed=3, auto_reset=auto_reset)
    looking = Batch(game, N, seed=3, auto_reset=auto_reset, look=True, threads=threads)
    ended = 0
    for step in range(STEPS):
        joint = random_joint(plain)
        if not game.simultaneous and step % 2:
            joint = joint[np.arange(N), plain.to_move]
        assert plain.step(joint) is None
        assert looking.step(joint) is looking.look
        assert everything(plain) == everything(looking)
        assert_looks(looking, game)
        ended += plain.done.sum()
    assert ended or jit.DISABLED


def test_whatever_changes_games_is_looked_at() -> None:
    batch, other = Batch(COIN, 8, seed=1, look=True), Batch(COIN, 8, seed=2)
    for _ in range(5):
        batch.step_rows([1, 4], random_joint(batch)[[1, 4]])
        assert_looks(batch, COIN)
        batch.step_unchecked(random_joint(batch))
        assert_looks(batch, COIN)
        other.step(random_joint(other))
    batch.set_states(other.states)
    assert_looks(batch, COIN)
    batch.reset_rows([3])
    assert_looks(batch, COIN)
    batch.reset()
    assert_looks(batch, COIN)
    for twin in (copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        twin.step(random_joint(twin))
        assert_looks(twin, COIN)
        assert not np.shares_memory(twin.look.masks, batch.look.masks)


def test_only_the_batch_writes_what_it_shows() -> None:
    batch = Batch(SUPER, 4, seed=0, look=True)
    shown = batch.look
    for array in shown:
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    batch.step(shown.masks.argmax(axis=1))
    assert batch.look is shown
    assert_looks(batch, SUPER)


@pytest.mark.parametrize("name", ["coin", "super_tic_tac_toe"])
def test_errors_are_those_of_a_batch_that_does_not_look(name: str) -> None:
    game = GAMES[name]
    looking, plain = (Batch(game, 6, seed=4, auto_reset=True, look=look) for look in (True, False))
    generator = np.random.default_rng(0)
    failed = 0
    for _ in range(40):
        joint = random_joint(plain)
        wrong = joint.copy()
        wrong[generator.integers(6), generator.integers(game.num_players)] = generator.integers(
            -2, game.num_actions + 2
        )
        if generator.random() < 0.3:  # of the player to move, also where there are several
            wrong = wrong[:, 0]
        errors: list[Any] = []
        for batch in (looking, plain):
            try:
                batch.step(wrong)
                errors.append(None)
            except (ValueError, IllegalAction) as error:
                errors.append((type(error), str(error)))
        assert errors[0] == errors[1]
        failed += errors[0] is not None
        assert everything(looking) == everything(plain)
        if errors[0] is not None:
            for batch in (looking, plain):
                batch.step(joint)
    assert 0 < failed < 40
    with pytest.raises(TypeError, match="not float64"):
        looking.step(joint / 2)


class Interrupted(BaseException):
    """Stands for a KeyboardInterrupt at a place of the test's choice."""


@pytest.mark.parametrize("place", ["after the kernel", "while episodes are numbered"])
def test_an_interrupted_step_is_played_once(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, whole = (Batch(COIN, 12, seed=1, auto_reset=True, look=True) for _ in range(2))
    hit = [0]

    def hit_once() -> None:
        hit[0] += 1
        if hit[0] == 1:
            raise Interrupted

    if place == "after the kernel":
        joint = random_joint(whole)
        for each in (batch, whole):
            each.step(joint)
        assert batch._team is not None
        lead = batch._team._lead

        def lead_and_hit(order: Any) -> int:
            stage: int = lead(order)
            if stage == PLAYED:
                hit_once()
            return stage

        monkeypatch.setattr(batch._team, "_lead", lead_and_hit)
    else:
        number = batch._number_ended
        monkeypatch.setattr(batch, "_number_ended", lambda: (hit_once(), number()))
    joint = random_joint(whole)
    with pytest.raises(Interrupted):
        batch.step(joint)
    monkeypatch.undo()
    whole.step(joint)
    for _ in range(20):
        joint = random_joint(whole)
        batch.step(joint)
        whole.step(joint)
        assert everything(batch) == everything(whole)
        assert_looks(batch, COIN)


def test_what_does_not_go_together_is_refused() -> None:
    for kept in ({"history": 1}, {"recall": True}):
        with pytest.raises(ValueError, match="leave history and recall out"):
            Batch(SUPER, 2, look=True, **kept)
        with pytest.raises(ValueError, match="leave history and recall out"):
            Batch(SUPER, 2, **kept).rollout(1)
    with pytest.raises(ValueError, match="look=True"):
        Batch(SUPER, 2).look  # noqa: B018
    for plies in (-1, 1.5, True, None):
        with pytest.raises(ValueError, match="plies must be a whole number of at least 0"):
            Batch(SUPER, 2).rollout(plies)


@pytest.mark.parametrize("auto_reset", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_rollout_is_the_random_agent_s_play(name: str, auto_reset: bool) -> None:
    game, agent = GAMES[name], agents.load("random")
    by_step, by_loop = (Batch(game, 7, seed=6, auto_reset=auto_reset, threads=1 + k, look=bool(k)) for k in range(2))
    by_loop.view(0 if game.simultaneous else None)
    numbers = by_loop._numbers.copy()  # type: ignore[union-attr]
    for plies in (0, 1, 40):
        paid, ended = np.zeros_like(by_step.rewards), np.zeros(7, np.bool_)
        for _ in range(plies):
            by_step.step(by_step.ask(agent))
            paid += by_step.rewards
            ended |= by_step.done
        by_loop.rollout(plies)
        assert by_loop.states.tobytes() == by_step.states.tobytes()
        assert by_loop.episode_seeds.tobytes() == by_step.episode_seeds.tobytes()
        assert np.array_equal(by_loop.rewards, paid)
        if plies:
            assert np.array_equal(by_loop.done, ended | by_step.done)
        assert_looks(by_loop, game)
        assert np.array_equal((by_loop._numbers != numbers).any(axis=1), ended & auto_reset)
        numbers = by_loop._numbers.copy()  # type: ignore[union-attr]
