"""Learn a table of action values by self-play: Q-learning as in the textbook, on games with few positions.

    ttt train tabular GAME --steps 2000000 --out runs/x \\
        --blocks "own markers" "opponent's markers" "extra roll"

The table has a row for each observation and a number for each action: what the action is worth to the player to move.
After each move the number of the action just played moves a little towards what came of it: the reward if the game is
over, and otherwise the best number of the position that follows, which is the opponent's and counts with the other sign
if the opponent is to move. All players learn one table. There is no network and nothing is generalised: a position that
was never met is played at random. --blocks leaves parts of the observation out, which makes the table smaller; what
differs in these parts alone is then one position, however different best play is there (state aggregation). `ttt
describe GAME` lists the blocks. The table is in table.safetensors: agents.load("tabular:runs/x").

Source: Watkins and Dayan, "Q-learning", Machine Learning 1992; with the sign of the opponent: Littman, "Markov games as
a framework for multi-agent reinforcement learning", ICML 1994.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np

from ttt_envs.agents import Agent
from ttt_envs.agents.full_width import check_full_width
from ttt_envs.agents.tabular import FILE, ActionTable, TabularAgent, features_of, load_table
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.learning import checkpoint
from ttt_envs.learning.loop import Learner, train_rounds
from ttt_envs.learning.settings import Result, Settings, Share, Steps, Within

NAME = "tabular"


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of tabular Q-learning."""

    UNIT: ClassVar[str] = "positions"
    out: Path = Path("runs/tabular")
    """Run folder."""
    num_envs: Annotated[int, Within(1, 2**20)] = 64
    """Games that run side by side."""
    learning_rate: Share = 0.2
    """Share by which a value moves to its target, decreased linearly over --steps to a hundredth."""
    exploration: Share = 0.2
    """Share of random actions."""
    gamma: Share = 1.0
    """Discount factor for each ply."""
    blocks: tuple[str, ...] = ()
    """Blocks of the observation that the table tells apart; all by default."""
    limit: Annotated[int, Within(1, 10**8)] = 1_000_000
    """Rows that the table may have; a game that has more observations is refused."""
    save_every: Steps = 500_000
    """Positions between two updates of the run folder."""


def at_least(game: Game, features: np.ndarray, positions: int = 50_000, seed: int = 0) -> int:
    """A low estimate of how many different observations games of random play meet; `features`: as a table has them.

    Chao's estimate from those met once and those met twice: Chao, "Nonparametric estimation of the number of classes in
    a population", Scandinavian Journal of Statistics 1984.
    """
    batch, generator = Batch(game, 100, seed=seed, auto_reset=True), np.random.default_rng(seed)
    counts: dict[bytes, int] = {}
    for _ in range(positions // batch.n):
        view = batch.view()
        for observation in view.observations[:, features]:
            key = observation.tobytes()
            counts[key] = counts.get(key, 0) + 1
        batch.step(at_random(view.masks, generator))
    met = np.bincount(list(counts.values()), minlength=3)
    return int(len(counts) + met[1] * (met[1] - 1) / (2 * (met[2] + 1)))


def at_random(masks: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A random legal action in each position, int64 (n,); `masks`: bool (n, num_actions)."""
    return np.where(masks, generator.random(masks.shape), -1).argmax(axis=1)


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C).

    Raises what `checkpoint.opened` does, and ValueError for
    a game that does not fit, or has more observations than `limit`.
    """
    with checkpoint.opened(config, NAME) as this:
        return _train(this, config)


def _train(this: checkpoint.Run, config: Config) -> Result:
    """Train in a folder that is locked."""
    game, folder = config.load(), config.out
    check_full_width(game, NAME)
    if len(game.teams) != 2:
        raise ValueError(f"{NAME} needs a game of two sides; {game} does not fit")
    features = features_of(game, config.blocks)
    start, table = 0, ActionTable(game.num_actions, features)
    if config.resume:
        start, table = checkpoint.restore(folder, {}), load_table(folder)[0]
        table.features = features
    elif (estimate := at_least(game, features)) > config.limit:
        raise ValueError(_too_many(game, config.limit, f"at least {estimate:,}"))
    # Seeds depend on the start, so that a resumed run does not replay the games of its beginning.
    generator = np.random.default_rng([config.seed, start])
    batch = Batch(game, config.num_envs, seed=int(generator.integers(2**63)), auto_reset=True)
    side = np.empty(game.num_players, np.int64)
    for number, members in enumerate(game.teams):
        side[list(members)] = number
    games, numbers = np.arange(config.num_envs), dict[str, float]()

    def one_round(steps: int) -> int:
        """One move in each game, and what it teaches."""
        view = batch.view()
        movers, rows = view.players, table.find(view.observations, add=True)
        best = np.where(view.masks, table.values[rows], -np.inf).argmax(axis=1)
        exploring = generator.random(config.num_envs) < config.exploration
        actions = np.where(exploring, at_random(view.masks, generator), best)
        batch.step(actions)
        rewards, done = batch.rewards[games, movers], batch.done.copy()

        # In games that are over the next position is that of a new game, and does not count.
        after = batch.view()
        following = table.find(after.observations, add=True)
        values = np.where(after.masks, table.values[following], -np.inf).max(axis=1)
        values = np.where(side[after.players] == side[movers], values, -values)
        targets = rewards + np.where(done, 0, config.gamma * values)
        rate = config.learning_rate * max(1 - steps / config.steps, 0.01)
        # Where several games are at one position, the last of them counts.
        table.values[rows, actions] += rate * (targets - table.values[rows, actions])
        if len(table) > config.limit:
            raise ValueError(_too_many(game, config.limit, f"{len(table):,} in the first {steps:,} positions"))
        return config.num_envs

    def write(path: Path, steps: int) -> None:
        """Write the table."""
        facts = {"game": game.id, "options": dict(game.options), "inputs": game.observation_size}
        table.save(path, {**facts, "blocks": list(config.blocks), "steps": steps})
        numbers["train/rows"] = len(table)

    def agent(steps: int) -> Agent:
        """The agent that is measured."""
        return TabularAgent(table)

    learner = Learner(
        one_round=one_round,
        write=write,
        agent=agent,
        parts={},
        plays_as=f"tabular:{folder}",
        file=FILE,
        numbers=numbers,
    )
    return train_rounds(this, game, start, learner)


def _too_many(game: Game, limit: int, how_many: str) -> str:
    return (
        f"{game} has more observations than --limit, {limit:,}: {how_many}. A table is for small games: "
        f"--blocks leaves out parts of the observation; value_learning and dqn learn networks instead"
    )
