"""Opponents in self-play."""

from pathlib import Path

import numpy as np
import pytest
from small_training import GAME, tiny

import ttt_envs
from ttt_envs import agents
from ttt_envs.learning import opponents as opponents_module
from ttt_envs.learning import ppo
from ttt_envs.learning.opponents import OpponentPool
from ttt_envs.learning.ppo import train
from ttt_envs.learning.runs.settings import SelfPlay


class Still(agents.Agent):
    """A snapshot that knows its file."""

    def __init__(self, path: Path) -> None:
        self.name = path.name


def make(folder: Path, fixed=("random", "greedy"), **weights) -> OpponentPool:
    config = SelfPlay(game=GAME, out=folder, opponents=fixed, **weights)
    return OpponentPool(ttt_envs.load(GAME), config, agents.load("mcts"), Still)


def test_self_past_and_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opponents = make(tmp_path / "none_yet", self_weight=0.5, past_weight=0.3)
    pool, weights = list(opponents.pool()), list(opponents.pool().values())
    assert [agent.name for agent in pool] == ["mcts", "random", "greedy"]
    assert weights == pytest.approx([0.5, 0.1, 0.1])

    folder = tmp_path / "snapshots"
    folder.mkdir()
    for k in range(10):
        (folder / f"{k:03d}.safetensors").touch()
    (folder / ".010.safetensors.part").touch()  # left behind by a run that was killed
    monkeypatch.setattr(opponents_module, "PAST", 3)
    opponents = make(tmp_path, self_weight=0.5, past_weight=0.3)
    pool, weights = list(opponents.pool()), list(opponents.pool().values())
    assert [agent.name for agent in pool[1:4]] == ["000.safetensors", "004.safetensors", "009.safetensors"]
    assert weights == pytest.approx([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    # The current self is one object throughout, a snapshot that stays is not read again.
    (folder / "010.safetensors").touch()
    later = list(opponents.pool())
    assert later[0] is pool[0]
    assert later[1] is pool[1]
    assert [agent.name for agent in later[1:4]] == ["000.safetensors", "005.safetensors", "010.safetensors"]


def test_what_has_nothing_to_draw_from_is_the_current_self(tmp_path: Path) -> None:
    pool = make(tmp_path, fixed=(), self_weight=0.0, past_weight=1.0).pool()
    assert {agent.name: weight for agent, weight in pool.items()} == {"mcts": 1.0}


def test_weights_that_are_no_shares_are_refused(tmp_path: Path) -> None:
    for weights in ((-0.1, 0.5), (0.5, 0.6), (float("nan"), 0.0)):
        with pytest.raises(ValueError, match="self_weight and past_weight"):
            make(tmp_path, self_weight=weights[0], past_weight=weights[1])


def test_training_draws_from_them_from_the_first_game_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = []
    env = ppo.SB3PlayerEnv
    given, reset = env.set_opponents, env.reset
    monkeypatch.setattr(env, "set_opponents", lambda self, pool: (events.append(list(pool)), given(self, pool))[1])
    monkeypatch.setattr(env, "reset", lambda self: (events.append("reset"), reset(self))[1])
    monkeypatch.setattr(opponents_module, "PAST", 2)
    config = tiny(tmp_path / "x")
    train(config)
    assert events[1] == "reset"
    pools = [each for each in events if each != "reset"]
    assert [len(pool) for pool in pools] == [3, 4, 4, 4, 4]  # self, 1 or 2 snapshots, random
    assert len({id(pool[0]) for pool in pools}) == 1
    assert len({id(pool[2]) for pool in pools[1:]}) > 1

    # A resumed run plays against the same kinds at once.
    events.clear()
    train(tiny(tmp_path / "x", steps=640, resume=True))
    assert ([len(events[0])], events[1]) == ([4], "reset")
    view = ttt_envs.Batch(ttt_envs.load(GAME), 1, seed=0).view()
    assert np.allclose(
        events[0][2].policy(view), agents.load(f"network:{tmp_path}/x/snapshots/000000000512.safetensors").policy(view)
    )
