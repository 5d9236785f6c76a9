"""Speed of tournaments, beside a loop over the same agents through PettingZoo's API; a part of `tools.benchmark`.

Both play every pair of the agents from all seats, each pair equally often. What the agents themselves take is the same
work in both, done for many games at once or for one: it is told apart from what playing costs beside it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

import ttt_envs
from tools.timings import Effort, Timing, skipped
from ttt_envs.agents import Agent, load
from ttt_envs.core.game import Game
from ttt_envs.evaluation import tournament
from ttt_envs.evaluation.arena.seating import arrangements
from ttt_envs.evaluation.placements.ladder import find

#: The line-ups: the first one's agents cost next to nothing. The last one is all rungs of the game's ladder.
LADDER = "ladder"
LINEUPS = {"random, mixed:random": ("random", "mixed:random"), "random, greedy": ("random", "greedy")}

#: Processes of a tournament with workers.
WORKERS = 2

#: Seconds of a run for each that a measurement may take, and how much longer the run of several workers is.
SHARE, MORE = 2.0, 4


@dataclass
class Played:
    """Games that were timed.

    Attributes:
        games, moves: how many; a move is a decision of an agent.
        seconds: the processor time of this process: the clock on the wall measures what others do, too.
        thinking: the part of it that agents spent on decisions.
        clock: the time on the clock.
    """

    games: int = 0
    moves: int = 0
    seconds: float = 0.0
    thinking: float = 0.0
    clock: float = 0.0

    @property
    def rate(self) -> float:
        """Games a second of processor time."""
        return self.games / self.seconds

    @property
    def beside(self) -> float:
        """Seconds a move that are not the agents'."""
        return (self.seconds - self.thinking) / self.moves


def play_tournament(game: Game, agents: Sequence[str], games: int, workers: int | None = None) -> Played:
    """A tournament with so many games a pairing; with workers, their start counts."""
    clock, processor = time.perf_counter(), time.process_time()
    report = tournament(game, agents, games=games, resamples=0, workers=workers, quiet=True)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    thinking, moves = (float(np.sum(each)) for each in report.time)
    number = sum(len(each.games) for each in report.pairings)
    return Played(number, int(moves), processor, thinking * min(processor / clock, 1.0), clock)


def paced(game: Game, agents: Sequence[str], seconds: float) -> tuple[Played, int]:
    """A tournament that takes about so long, and its games a pairing; shorter ones before it find the pace."""
    games = len(arrangements(game))
    play_tournament(game, agents, games)  # compiles
    while (played := play_tournament(game, agents, games)).seconds < 0.7 * seconds:
        games = int(games * min(max(seconds / played.seconds, 1.5), 16))
    return played, games


def play_loop(game: Game, agents: Sequence[str], seconds: float) -> Played:
    """The same games one by one through the AEC API, until the time is over and each pair has played."""
    env, loaded = ttt_envs.make_aec(game), [load(name) for name in agents]
    seats = [np.where(each.seats, 0, 1) for each in arrangements(game)]
    env.reset(seed=0)
    play_game(env, [loaded[k] for k in seats[0]], Played())  # compiles
    played = Played()
    while played.seconds < seconds:
        started = time.process_time()
        for pair in combinations(loaded, 2):
            for seat in seats:
                play_game(env, [pair[k] for k in seat], played)
        played.seconds += time.process_time() - started
    return played


def play_game(env: Any, seated: Sequence[Agent], played: Played) -> None:
    """One game in PettingZoo's loop; `seated`: the agent of each player."""
    env.reset()
    agents = dict(zip(env.possible_agents, seated, strict=True))
    for name in env.agent_iter():
        _, _, termination, truncation, _ = env.last()
        if termination or truncation:
            env.step(None)
            continue
        started = time.process_time()
        action = agents[name].act(env.view(name))[0]
        played.thinking += time.process_time() - started
        played.moves += 1
        env.step(action)
    played.games += 1


def bench_arena(game_id: str, effort: Effort, goals: Mapping[str, Any]) -> Iterator[Timing]:
    """Tournaments of the ladder's rungs and of agents that need little time, with their loops."""
    game = ttt_envs.load(game_id)
    lineups: dict[str, tuple[str, ...]] = dict(LINEUPS)
    try:
        lineups[LADDER] = find(game).rungs
    except ValueError as error:
        yield skipped(game_id, "tournament of the ladder", "games/s", str(error))
    seconds = SHARE * effort.seconds
    for name, agents in lineups.items():
        whole, games = paced(game, agents, seconds)
        loop = play_loop(game, agents, seconds)
        yield Timing(game_id, f"{name}: tournament", whole.rate, "games/s")
        if name == LADDER:
            several, one = (play_tournament(game, agents, MORE * games, workers) for workers in (WORKERS, None))
            what = f"{name}: {WORKERS} workers / one, on the clock"
            yield Timing(game_id, what, one.clock / several.clock, "x")
        yield Timing(game_id, f"{name}: loop over make_aec", loop.rate, "games/s")
        goal = goals.get(f"arena / {name}")
        yield Timing(game_id, f"{name}: tournament / loop", whole.rate / loop.rate, "x", goal)
        yield Timing(game_id, f"{name}: beside the agents, tournament", 1e6 * whole.beside, "µs/move")
        yield Timing(game_id, f"{name}: beside the agents, loop", 1e6 * loop.beside, "µs/move")
        yield Timing(game_id, f"{name}: beside the agents, loop / tournament", loop.beside / whole.beside, "x")
