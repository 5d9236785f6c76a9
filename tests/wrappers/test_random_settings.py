"""Random settings: `make_single` and the games of `make_vec` tell a learner the same, saved positions included."""

from typing import Any
from zlib import crc32

import numpy as np
import pytest
from option_sets import OPTIONS
from stubborn import Stubborn
from toy_coin import make as coin
from toy_wages import wages

import ttt_envs
from ttt_envs.agents import Agent
from ttt_envs.core.checks import IllegalAction
from ttt_envs.core.game import Game
from ttt_envs.core.view import View

#: The option sets whose form of record other tests compile, too; of other games the last one is such a set.
SETS = {"martian_tic_tac_toe": 0, "tic_tac_dice": 1, "tic_tac_match": 0}
GAMES = [
    *(ttt_envs.load(game_id, **OPTIONS[game_id][SETS.get(game_id, -1)]) for game_id in OPTIONS),
    ttt_envs.load("tic_tac_match", players=4, teams=True, max_turns=12),
    ttt_envs.load("operation_tic_tac_toe", rounds_to_win=1, max_rounds=2, max_idle_turns=2),
    wages(players=3),
    wages(players=3, at_once=True),
    coin(players=3, tosses=2),
]


LAST = Stubborn(last=True)


class ByThePast(Agent):
    """Chooses by what it has seen and chosen before."""

    remembers, history = True, 2

    def act(self, view: View) -> np.ndarray:
        known = [
            crc32(key.tobytes() + past.tobytes()) for key, past in zip(view.info_state_keys, view.past, strict=True)
        ]
        legal = [np.flatnonzero(mask) for mask in view.masks]
        return np.array([each[number % len(each)] for number, each in zip(known, legal, strict=True)])


def shaped(before: np.ndarray, after: np.ndarray, player: np.ndarray) -> np.ndarray:
    return after["rewards"][np.arange(len(player)), player] + after["ply"] - 0.5 * before["ply"] + player


def settings_of(game: Game, rng: np.random.Generator) -> dict[str, Any]:
    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    given = {
        "opponent": one_of("random", ByThePast(), LAST, ["random", LAST], {"random": 1, ByThePast(): 1}),
        "player": one_of("alternate", int(rng.integers(game.num_players))),
        "encoding": one_of("flat", "planes") if game.has_planes else "flat",
        "illegal": one_of("lose", "raise"),
        "mask": one_of("both", "info"),
        "max_plies": one_of(None, None, 5, 8),
        "history": one_of(0, 2),
        "reward": one_of(None, shaped),
        "dtype": one_of("int8", "float32"),
    }
    return {name: each for name, each in given.items() if name not in game.options}


def same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            same(one[name], other[name])
    else:
        assert np.array_equal(one, other)
        assert np.shape(one) == np.shape(other)


def row(infos: dict[str, Any], i: int) -> dict[str, Any]:
    return {name: each[i] for name, each in infos.items() if not name.startswith(("_", "final_"))}


@pytest.mark.parametrize("draw", range(26))
def test_single_and_vector_agree(draw: int) -> None:
    rng = np.random.default_rng(draw)
    game, n = GAMES[draw % len(GAMES)], 3
    settings, mode = settings_of(game, rng), ("same_step", "next_step")[rng.integers(2)]
    vector = ttt_envs.make_vec(game, n, autoreset_mode=mode, **settings)
    seeds = [int(each) for each in rng.integers(1000, size=n)]
    observations, infos = vector.reset(seed=seeds)
    i = int(rng.integers(n))
    single = ttt_envs.make_single(game, **settings)
    observation, info = single.reset(seed=seeds[i])
    over = np.zeros(n, bool)
    for _ in range(25):
        same(observation, at(observations, i))
        same(info, row(infos, i))
        assert single.get_state() == vector.get_state()[i]
        same(single.view().observations[0], vector.view().observations[i])
        assert single.view().seeds[0] == vector.view().seeds[i]
        if rng.random() < 0.1 and not over.any():
            saved = vector.get_state()
            (observation, info), (observations, infos) = single.set_state(saved[i]), vector.set_state(saved)
            continue
        masks = vector.action_masks()
        actions = (masks * rng.random(masks.shape)).argmax(axis=1)
        if rng.random() < 0.1 and not over.any() and not masks[i].all():
            actions[i] = masks[i].argmin()
            if settings["illegal"] == "raise":
                with pytest.raises(IllegalAction):
                    single.step(int(actions[i]))
                with pytest.raises(IllegalAction):
                    vector.step(actions)
                continue
        waits = over.copy() if mode == "next_step" else np.zeros(n, bool)
        observations, rewards, terminated, truncated, infos = vector.step(actions)
        over = terminated | truncated
        if waits[i]:
            assert (rewards[i], over[i]) == (0, False)
            observation, info = single.reset()
            continue
        observation, reward, ended, cut, info = single.step(int(actions[i]))
        assert (reward, ended, cut) == (rewards[i], terminated[i], truncated[i])
        assert not (ended and cut)
        if over[i] and mode == "same_step":
            same(observation, infos["final_obs"][i])
            same(info, row(infos["final_info"], i))
            assert all(infos["final_info"][f"_{name}"][i] for name in info)
            observation, fresh = single.reset()
            # What the step has paid and done stands beside its reward.
            info = fresh | {name: each for name, each in info.items() if name in ("illegal_action", "round_reward")}


def at(observations: Any, i: int) -> Any:
    return {name: each[i] for name, each in observations.items()} if isinstance(observations, dict) else observations[i]


def test_an_opponent_in_a_game_of_text_knows_its_past():
    game = coin(players=3, tosses=2)
    text, single = (make(game, opponent=ByThePast(), player=0) for make in (ttt_envs.make_text, ttt_envs.make_single))
    for seed in range(20):
        text.reset(seed=seed)
        single.reset(seed=seed)
        while not text.done:
            action = int(single.action_masks().argmax())
            single.step(action)
            text.step(f"[{game.action_names[action]}]")
            assert text.states.tobytes() == single.states.tobytes()
