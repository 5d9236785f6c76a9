"""Checks that batches and environments meet the requirements of PettingZoo and of agents."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from ttt_envs.agents.random import RandomAgent
from ttt_envs.core.batch import Batch
from ttt_envs.core.checks import IllegalAction
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import FEW, masks_of, play_batch, players_of, positions, random_joint, random_play
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.common import pack_state, unpack_state
from ttt_envs.wrappers.parallel import ParallelGame


def check_batch_sizes(game: Game) -> None:
    """Game i of a seed is the same for every batch size, also after resets."""
    steps = len(random_play(game).actions) + 10
    sizes = (1, 3) if jit.DISABLED else (1, 5, 64)
    plays = [play_batch(Batch(game, n, seed=11, auto_reset=True), steps) for n in sizes]
    for n, play in zip(sizes, plays, strict=True):
        same = play.states.tobytes() == np.ascontiguousarray(plays[-1].states[:, :n]).tobytes()
        assert same, f"other games in a batch of {n} than in one of {sizes[-1]}"
    states = plays[-1].states
    assert (states[1:]["ply"] < states[:-1]["ply"]).any(), "no game started anew"


def check_batch_is_single(game: Game) -> None:
    """One seed gives the same states, byte by byte, from Batch, AEC and Parallel, over several episodes."""
    batch = Batch(game, 1, seed=5)
    aec, parallel = AECGame(game), ParallelGame(game)
    for episode in range(1 if jit.DISABLED else 3):
        seed = 5 if episode == 0 else None
        if episode:
            batch.reset()
        aec.reset(seed)
        observations, _ = parallel.reset(seed)
        while True:
            expected = batch.states.tobytes()
            assert unpack_state(game, aec.get_state())[0].tobytes() == expected, "AEC has another state"
            assert unpack_state(game, parallel.get_state())[0].tobytes() == expected, "Parallel has another state"
            if batch.states["done"][0]:
                break
            joint = random_joint(batch)
            for player in np.flatnonzero(joint[0] >= 0).tolist():
                name = f"player_{player}"
                seen, legal = aec.observe(name), batch.masks(player)[0]
                assert aec.agent_selection == name, f"AEC asks {aec.agent_selection}, not {name}"
                np.testing.assert_array_equal(seen["observation"], batch.observations(player)[0], "AEC: observation")
                np.testing.assert_array_equal(seen["action_mask"], legal, "AEC: mask")
                np.testing.assert_array_equal(observations[name]["action_mask"][:-1], legal, "Parallel: mask")
                assert RandomAgent().act(aec.view(name))[0] == joint[0, player], "AEC's view leads to another choice"
                aec.step(int(joint[0, player]))
            batch.step(joint)
            answers = np.where(joint[0] < 0, game.num_actions, joint[0])
            observations, rewards, ends, _, _ = parallel.step(
                {f"player_{player}": answers[player] for player in players_of(game)}
            )
            for player in players_of(game):
                name = f"player_{player}"
                assert rewards[name] == aec.rewards[name] == batch.rewards[0, player], f"rewards of {name}"
                assert ends[name] == aec.terminations[name] == batch.done[0], f"terminations of {name}"
                np.testing.assert_array_equal(
                    observations[name]["observation"], batch.observations(player)[0], "Parallel: observation"
                )


def play_aec(env: AECGame, generator: np.random.Generator, steps: int) -> list[bytes]:
    """Play up to `steps` random choices; return the position after each, as `get_state` gives it."""
    trace = list[bytes]()
    while len(trace) < steps and not any(env.terminations.values()):
        mask = env.observe(env.agent_selection)["action_mask"]
        env.step(int(generator.choice(np.flatnonzero(mask))))
        trace.append(env.get_state())
    return trace


def play_parallel(env: ParallelGame, generator: np.random.Generator, steps: int) -> list[bytes]:
    """Play up to `steps` random steps; return the position after each, as `get_state` gives it."""
    trace = list[bytes]()
    while len(trace) < steps and env.agents:
        masks = {name: env.action_masks(name) for name in env.agents}
        env.step({name: int(generator.choice(np.flatnonzero(mask))) for name, mask in masks.items()})
        trace.append(env.get_state())
    return trace


def check_copies(game: Game) -> None:
    """deepcopy, pickle and get_state/set_state in mid-game give independent games with the same future."""
    _check_copies(game, AECGame, play_aec)
    _check_copies(game, ParallelGame, play_parallel)


def _check_copies(game: Game, make: Callable[[Game], Any], play: Callable[..., list[bytes]]) -> None:
    whole = 2 * game.max_plies * game.num_players
    for before in range(0, min(game.max_plies, 8), 3):
        env = make(game)
        env.reset(seed=before)
        play(env, np.random.default_rng(before), before)
        here = env.get_state()
        moved = make(game)
        moved.set_state(here)
        copies = {"deepcopy": copy.deepcopy(env), "pickle": pickle.loads(pickle.dumps(env)), "set_state": moved}
        trace = play(env, np.random.default_rng(99), whole)
        for how, other in copies.items():
            assert other.get_state() == here, f"{how} changed with the original"
            assert play(other, np.random.default_rng(99), whole) == trace, f"{how} goes on differently"
        end = env.get_state()
        env.reset()
        for how in ("deepcopy", "pickle"):
            assert copies[how].get_state() == end, f"{how} changed with the original"
            copies[how].reset()
            assert copies[how].get_state() == env.get_state(), f"{how}: another next game"


def _packed(game: Game, state: np.void) -> bytes:
    return pack_state(game, state, np.full(game.num_players, -1), np.uint64(0))


def _refuses(env: AECGame | ParallelGame, action: Any) -> bool:
    """Return whether the environment, with illegal="raise", rejects the action or actions and stays unchanged."""
    before = env.get_state()
    try:
        env.step(action)
    except IllegalAction:
        assert env.get_state() == before, f"action {action} was refused, and yet the state changed"
        return True
    assert env.get_state() != before, f"action {action} was taken, and nothing changed"
    return False


def check_legal_is_accepted(game: Game) -> None:
    """The environments accept every action of a mask and reject every other."""
    aec, parallel = AECGame(game, illegal="raise"), ParallelGame(game, illegal="raise")
    for state in positions(game, FEW // 2):
        if state["done"]:
            continue
        packed = _packed(game, state)
        aec.set_state(packed)
        mask = aec.observe(aec.agent_selection)["action_mask"].copy()
        for action in range(game.num_actions):
            assert _refuses(aec, action) == (not mask[action]), f"AEC: action {action} where the mask is {mask[action]}"
            if mask[action]:
                aec.set_state(packed)
        observations, _ = parallel.set_state(packed)
        answers = {name: int(seen["action_mask"].argmax()) for name, seen in observations.items()}
        for name, seen in observations.items():
            for action, legal in enumerate(seen["action_mask"]):
                refused = _refuses(parallel, {**answers, name: action})
                assert refused == (not legal), f"Parallel: {name}'s action {action} where the mask is {legal}"
                if legal:
                    parallel.set_state(packed)


def check_waiting(game: Game) -> None:
    """A waiting player has a mask of zeros in AEC; in Parallel only waiting players have the action `wait`."""
    aec, parallel = AECGame(game), ParallelGame(game)
    aec.reset(seed=1)
    generator = np.random.default_rng(1)
    while not any(aec.terminations.values()):
        for name in aec.possible_agents:
            mask, acts = aec.observe(name)["action_mask"], name == aec.agent_selection
            assert mask is aec.infos[name]["action_mask"], "the mask of the observation is not that of the infos"
            assert mask.any() == acts, f"AEC: {name} {'has no mask' if acts else 'waits with a mask'}"
        play_aec(aec, generator, 1)
    for state in positions(game, 4 * FEW):
        observations, infos = parallel.set_state(_packed(game, state))
        for player, (name, seen) in enumerate(observations.items()):
            mask = seen["action_mask"]
            assert mask is infos[name]["action_mask"], "the mask of the observation is not that of the infos"
            same = np.array_equal(mask[:-1], masks_of(game, np.array([state]), player)[0])
            assert same, f"Parallel: {name}'s mask is not that of the rules"
            assert mask[-1] == (not mask[:-1].any()), "wait is for a player who cannot act, and for no other"
