"""Measure the environments' speed, compared with PettingZoo, Gymnasium and OpenSpiel, for `tools.benchmark`.

Everything runs in one thread. Times are CPU times, which exclude waiting for other processes.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np
import pettingzoo

import ttt_envs
from tools.timings import Effort, Timing, alternate, rate, skipped
from ttt_envs.agents import load
from ttt_envs.core.cursor import State
from ttt_envs.core.rng import choose_rows

TICTACTOE = "tictactoe-v3"
CARTPOLE = "CartPole-v1"
NO_SPIEL = "pyspiel is not installed"

#: Number of games in a vector environment.
MANY = 64


def choose(mask: np.ndarray, rng: np.random.Generator) -> int:
    """Return a random legal action. `action_space.sample(mask)` would take more time than the game itself."""
    legal = mask.nonzero()[0]
    return int(legal[int(rng.random() * len(legal))])


def play_aec(env: Any, seconds: float, seed: int = 0) -> float:
    """Play randomly in an AEC environment for `seconds`; return moves per second, resets included."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    moves, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        env.reset()
        for agent in env.agent_iter():
            observation, _, termination, truncation, info = env.last()
            if termination or truncation:
                env.step(None)
            else:
                env.step(choose(_mask(observation, info), rng))
                moves += 1
            del agent
    return moves / (time.process_time() - start)


def play_parallel(env: Any, seconds: float, seed: int = 0) -> float:
    """Play random legal actions in a parallel environment for `seconds`; return steps per second, resets included."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        observations, _ = env.reset()
        while env.agents:
            chosen = {name: choose(seen["action_mask"], rng) for name, seen in observations.items()}
            observations, *_ = env.step(chosen)
            steps += 1
    return steps / (time.process_time() - start)


def _mask(observation: Any, info: Any) -> np.ndarray:
    return np.asarray(observation["action_mask"] if "action_mask" in observation else info["action_mask"])


def play_open_spiel(game: Any, seconds: float, seed: int = 0) -> float:
    """Play an OpenSpiel game randomly, with observation and legal actions at each move; return moves per second."""
    rng = np.random.default_rng(seed)
    moves, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        state = game.new_initial_state()
        while not state.is_terminal():
            state.observation_tensor(state.current_player())
            legal = state.legal_actions()
            state.apply_action(legal[int(rng.random() * len(legal))])
            moves += 1
    return moves / (time.process_time() - start)


def playouts_by_cursor(root: State, seconds: float, seed: int = 0) -> float:
    """Play random playouts from `root` for `seconds`, as a search in Python does; return plies per second."""
    draw, plies, start = random.Random(seed).random, 0, time.process_time()
    while time.process_time() - start < seconds:
        state = root.clone()
        while not state.over:
            legal = state.legal_actions()
            state.apply(legal[int(draw() * len(legal))])
            plies += 1
    return plies / (time.process_time() - start)


def playouts_by_open_spiel(root: Any, seconds: float, seed: int = 0) -> float:
    """Play random playouts from the OpenSpiel state `root` for `seconds`; return plies per second."""
    draw, plies, start = random.Random(seed).random, 0, time.process_time()
    while time.process_time() - start < seconds:
        state = root.clone()
        while not state.is_terminal():
            legal = state.legal_actions()
            state.apply_action(legal[int(draw() * len(legal))])
            plies += 1
    return plies / (time.process_time() - start)


def search_by_open_spiel(game: Any, simulations: int, seconds: float) -> float:
    """Run OpenSpiel's C++ MCTS from the opening, with one playout per simulation; return simulations per second."""
    spiel = import_module("pyspiel")
    root, done, start = game.new_initial_state(), 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        # Arguments after the evaluator: exploration constant, simulations, megabytes of memory, solve, seed, verbose.
        bot = spiel.MCTSBot(game, spiel.RandomRolloutEvaluator(1, done), 1.4, simulations, 1000, False, done, False)
        bot.step(root)
        done += simulations
    return done / spent


def bench_cursor(game_id: str, effort: Effort, goals: Mapping[str, Any]) -> Iterator[Timing]:
    """Yield the speed of random playouts in Python with `Game.start` and, if it has the game, with OpenSpiel."""
    root = ttt_envs.load(game_id).start(seed=0)
    if root.game.simultaneous:
        yield skipped(game_id, "cursor", "plies/s", "several players act at once")
        return
    players: dict[str, Callable[[float], float]] = {"cursor": lambda seconds: playouts_by_cursor(root, seconds)}
    spiel, other = open_spiel(goals)
    if other is not None:
        theirs = other.new_initial_state()
        players[spiel] = lambda seconds: playouts_by_open_spiel(theirs, seconds)
    runs = alternate(players, effort)
    yield rate(game_id, "cursor", runs["cursor"], "plies/s")
    if other is not None:
        yield rate(game_id, spiel, runs[spiel], "plies/s")
        ratios = [a / b for a, b in zip(runs["cursor"], runs[spiel], strict=True)]
        yield rate(game_id, f"cursor / {spiel}", ratios, "x", goals.get(f"cursor / {spiel}"))
    elif spiel:
        yield skipped(game_id, spiel, "plies/s", NO_SPIEL)


def open_spiel(goals: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the game's name in OpenSpiel ("": not there), and OpenSpiel's game (None without it or pyspiel)."""
    name = str(goals.get("open_spiel", ""))
    try:
        return name, import_module("pyspiel").load_game(name) if name else None
    except ImportError:
        return name, None


def bench_aec(game_id: str, effort: Effort, goals: Mapping[str, Any]) -> Iterator[Timing]:
    """Yield the speed of random play with `make_aec`, PettingZoo's tic-tac-toe and, if it has the game, OpenSpiel."""
    peer = pettingzoo.make("aec", f"classic/{TICTACTOE}")
    ours = ttt_envs.make_aec(game_id)
    players: dict[str, Callable[[float], float]] = {
        "make_aec": lambda seconds: play_aec(ours, seconds),
        TICTACTOE: lambda seconds: play_aec(peer, seconds),
        f"{TICTACTOE} raw": lambda seconds: play_aec(peer.unwrapped, seconds),
    }
    spiel, other = open_spiel(goals)
    if other is not None:
        players[spiel] = lambda seconds: play_open_spiel(other, seconds)
    runs = alternate(players, effort)
    yield rate(game_id, "make_aec", runs["make_aec"], "moves/s", goals.get("aec"))
    for name in list(players)[1:]:
        yield rate(game_id, name, runs[name], "moves/s")
        ratios = [a / b for a, b in zip(runs["make_aec"], runs[name], strict=True)]
        yield rate(game_id, f"make_aec / {name}", ratios, "x", goals.get(f"aec / {name}"))
    if spiel and other is None:
        yield skipped(game_id, spiel, "moves/s", NO_SPIEL)


def play_single(env: Any, seconds: float, seed: int = 0) -> float:
    """Play randomly in a Gymnasium environment for `seconds`; return steps per second, resets included."""
    generator = np.random.default_rng(seed)
    env.reset(seed=seed)
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        observation, _ = env.reset()
        done = False
        while not done:
            observation, _, terminated, truncated, _ = env.step(choose(observation["action_mask"], generator))
            done = terminated or truncated
            steps += 1
    return steps / (time.process_time() - start)


def play_aec_with_agent(env: Any, seconds: float, seed: int = 0) -> float:
    """Play the first seat of our AEC environment against the agent `random`; return the seat's steps per second.

    This loop does with `make_aec` what `make_single` does internally.
    """
    generator, agent = np.random.default_rng(seed), load("random")
    env.reset(seed=seed)
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        env.reset()
        learner = env.possible_agents[0]
        for name in env.agent_iter():
            if name != learner and name in env.agents and not env.terminations[name]:
                env.step(agent.act(env.view(name))[0])
                continue
            observation, _, termination, _, _ = env.last()
            env.step(None if termination else choose(observation["action_mask"], generator))
            steps += name == learner and not termination
    return steps / (time.process_time() - start)


class Chooser:
    """Chooses random legal actions for many games at once."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self.seeds = np.random.default_rng(seed).integers(2**63, size=n, dtype=np.uint64)
        self.chosen = np.empty(n, np.int64)

    def __call__(self, masks: np.ndarray) -> np.ndarray:
        """Return an action per row of `masks`, bool (n, actions): int64 (n,), which the next call overwrites."""
        self.seeds += np.uint64(1)
        choose_rows(masks, self.seeds, self.chosen)
        return self.chosen


def play_vector(env: Any, seconds: float) -> float:
    """Play randomly in a Gymnasium vector environment, with masks if it has them; return game steps per second."""
    observation, _ = env.reset(seed=0)
    choose_all, everything = Chooser(env.num_envs), np.ones((env.num_envs, env.single_action_space.n), np.bool_)
    masked = isinstance(observation, dict)
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        for _ in range(10):
            masks = observation["action_mask"].view(np.bool_) if masked else everything
            observation, *_ = env.step(choose_all(masks))
            steps += env.num_envs
    return steps / (time.process_time() - start)


def play_sb3(env: Any, seconds: float) -> float:
    """Play randomly in the SB3 environment, asking for masks at each step; return game steps per second."""
    env.reset()
    choose_all = Chooser(env.num_envs)
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        for _ in range(10):
            env.step(choose_all(env.env_method("action_masks")[0]))
            steps += env.num_envs
    return steps / (time.process_time() - start)


def bench_wrappers(game_id: str, effort: Effort, goals: Mapping[str, Any]) -> Iterator[Timing]:
    """Yield the speed of the game's environments, and of PettingZoo's tic-tac-toe and Gymnasium's CartPole."""
    single, aec, many = (
        ttt_envs.make_single(game_id),
        ttt_envs.make_aec(game_id),
        ttt_envs.make_vec(game_id, MANY),
    )
    tictactoe = pettingzoo.make("aec", f"classic/{TICTACTOE}")
    cartpole = gymnasium.make_vec(CARTPOLE, MANY, vectorization_mode="vector_entry_point")
    players: dict[str, Callable[[float], float]] = {
        "make_single, random opponent": lambda seconds: play_single(single, seconds),
        "make_aec, random opponent": lambda seconds: play_aec_with_agent(aec, seconds),
        "make_aec, in turn": lambda seconds: play_aec(aec, seconds),
        f"{TICTACTOE}, in turn": lambda seconds: play_aec(tictactoe, seconds),
        f"make_vec of {MANY}": lambda seconds: play_vector(many, seconds),
        f"{CARTPOLE} of {MANY}": lambda seconds: play_vector(cartpole, seconds),
    }
    note = ""
    try:
        learners = ttt_envs.make_sb3(game_id, MANY)
    except ImportError as error:
        note = str(error)
    else:
        players[f"make_sb3 of {MANY}"] = lambda seconds: play_sb3(learners, seconds)
    runs = alternate(players, effort)
    for name in players:
        yield rate(game_id, name, runs[name], "steps/s")
    first, second = list(players)[:2]
    ratios = [a / b for a, b in zip(runs[first], runs[second], strict=True)]
    yield rate(game_id, "make_single / the same by make_aec", ratios, "x", goals.get("wrappers make_single / make_aec"))
    if note:
        yield skipped(game_id, f"make_sb3 of {MANY}", "steps/s", note)
