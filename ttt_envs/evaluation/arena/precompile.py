"""Compile a worker's code in advance: a game's loops and the agents' searches.

A kernel is compiled on its first call and cached on disk for later processes. A container image or node that was
prepared in this way starts to play immediately.
"""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ttt_envs import agents
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile.kernel_cache import MachineCode
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.wrappers.aec import AECGame

# Number of positions of a random game in which an agent moves.
_POSITIONS = 4


def warm(game: Game, given: Sequence[str] = ()) -> Iterator[tuple[str, int, float]]:
    """Compile missing code part by part: the game's loops, then each agent's code by letting it move.

    Args:
        game: the game with its options, because other options may need other kernels.
        given: arguments of `agents.load`.

    Yields:
        "game loops" or the agent, the number of compiled kernels, and the time in seconds.

    Raises: ValueError, TypeError, FileNotFoundError, ImportError: an error of `agents.load`, or an agent cannot play
    the game.
    """
    lineup = {name: agents.load(name) for name in given}
    for agent in lineup.values():
        agent.check(game)
    yield "game loops", *_timed(lambda: _play(game))
    view = _positions(game)
    for name, agent in lineup.items():
        if not agent.interactive:
            yield name, *_timed(lambda agent=agent: agent.act(view))  # type: ignore[misc]


def _timed(work: Callable[[], object]) -> tuple[int, float]:
    before, started = len(MachineCode.compiled), time.perf_counter()
    work()
    return len(MachineCode.compiled) - before, time.perf_counter() - started


def _play(game: Game) -> None:
    batch = Batch(game, 2, seed=0, auto_reset=True)
    random = agents.load("random")
    for _ in range(2):
        joint = np.full((2, game.num_players), -1)
        for player in range(game.num_players):
            view = batch.view(player)
            view.sample_worlds()
            joint[:, player] = random.act(view)
        batch.step(joint)
    env = AECGame(game)
    env.reset(seed=0)
    for agent in list(env.agent_iter(2 * game.num_players)):
        observation, _, over, _, _ = env.last()
        mask = observation["action_mask"] if observation is not None else np.zeros(1)
        env.step(None if over or env.terminations[agent] else int(mask.argmax()))
    play_games(game, random, games=2)


def _positions(game: Game) -> View:
    states = play_games(game, "random", record=[0]).records[0].states[:-1]
    states = states[:: max(len(states) // _POSITIONS, 1)]
    rows, players = acting_players(game, states, np.arange(len(states)))
    return View(game, states[rows], players, game_seeds(0, len(rows)))
