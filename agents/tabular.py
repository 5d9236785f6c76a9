"""Tabular temporal-difference learning by self-play with plain PettingZoo; both players update the same table.

It learns single rounds of Tic-Tac-Dice. The table has the values of afterstates (Sutton and Barto, "Reinforcement
Learning", section 1.5). An afterstate is the claimed cells after a player's move, and whether that player rolls again.
Train it (half a minute), then rate it:

    python agents/tabular.py --out runs/tabular.npz
    ttt tournament tic_tac_dice --option rounds=single --agents random greedy agents/tabular.py:Tabular --games 500
    ttt regret tic_tac_dice --option rounds=single --agents random greedy agents/tabular.py:Tabular
"""

from pathlib import Path

import numpy as np
import pettingzoo
import tyro

import ttt_envs
from ttt_envs.dev import Agent, Game, View, best_of, uniform

GAME, OPTIONS = "tic_tac_dice", {"rounds": "single"}
OUT = "runs/tabular.npz"
BLOCKS = ("own markers", "opponent's markers", "extra roll")

Table = dict[bytes, float]


def features() -> np.ndarray:
    """Return which features of an observation the table uses, bool (observation size,)."""
    blocks = ttt_envs.load(GAME, **OPTIONS).observation_layout
    return np.concatenate([np.full(block.size, block.name in BLOCKS) for block in blocks])


def left_behind(state: np.ndarray, action: int) -> bytes:
    """Return the table's key for claiming cell `action`; `state`, int8 (19,), begins with the player's own markers."""
    after = state.copy()
    after[action] = 1
    return after.tobytes()


def train(games: int, seed: int = 0, rate: float = 0.05, epsilon: float = 0.1) -> Table:
    """Learn from `games` games of self-play with a share `epsilon` of random actions; return the table."""
    env = pettingzoo.make("aec", f"ttt_envs/{GAME}-v0", **OPTIONS)
    generator, shown, table = np.random.default_rng(seed), features(), Table()
    for game in range(games):
        env.reset(seed=seed if game == 0 else None)
        last: dict[str, bytes] = {}
        for agent in env.agent_iter():
            observation, reward, over, _, _ = env.last()
            if over:
                after, value, action = None, reward, None
            else:
                state, legal = observation["observation"][shown], np.flatnonzero(observation["action_mask"])
                afterstates = {int(each): left_behind(state, each) for each in legal}
                explores = generator.random() < epsilon
                best = max(afterstates, key=lambda each: table.get(afterstates[each], 0.0))
                action = int(generator.choice(legal)) if explores else best
                after, value = afterstates[action], table.get(afterstates[best], 0.0)
            if agent in last:  # the afterstate before has led to this
                before = table.get(last[agent], 0.0)
                table[last[agent]] = before + rate * (value - before)
            last[agent] = after
            env.step(action)
    return table


class Tabular(Agent):
    """Plays the action whose afterstate has the highest value."""

    def __init__(self, path: str = OUT) -> None:
        """`path`: a file that `main` wrote."""
        with np.load(path) as file:  # arrays only: nothing in the file is run
            self.table = dict(zip(map(bytes, file["states"]), file["values"].tolist(), strict=True))
        self.shown = features()

    def policy(self, view: View) -> np.ndarray:
        """Return float64 (n, 9): equal probabilities for the best actions."""
        values = np.zeros((len(view), 9))
        for i, action in np.argwhere(view.masks):
            values[i, action] = self.table.get(left_behind(view.observations[i, self.shown], action), 0.0)
        return uniform(best_of(values, view.masks))

    def check(self, game: Game) -> None:
        """Raise ValueError unless the game is a single round of Tic-Tac-Dice on 3x3."""
        if game.id != GAME or game.options["rounds"] != OPTIONS["rounds"] or game.num_actions != 9:
            raise ValueError(f"agent {self.name} was trained for single rounds of {GAME}, not for {game!r}")


def main(games: int = 30_000, seed: int = 0, out: str = OUT) -> None:
    """Train by self-play and write the table.

    Args:
        games: Games to play.
        seed: Seed of the games and of exploration.
        out: File to write.
    """
    table = train(games, seed)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    states = np.array([np.frombuffer(state, np.int8) for state in table])
    np.savez_compressed(out, states=states, values=np.array(list(table.values())))


if __name__ == "__main__":
    tyro.cli(main, description=main.__doc__)
