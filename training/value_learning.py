"""Value learning in one file, to read from top to bottom and to fork: environments, NumPy and torch, nothing else.

    python -m training.value_learning --steps 500000 --seed 1

A network learns Q(observation, action) of the player to move, by full-width temporal differences: rules are exact and
fast, so that in each position that the games come to, every legal action is played on a copy. An action is worth the
reward if it ends the game, and otherwise the best Q of the position that follows, negated if the other side moves
there, by a slowly moving average of the network. The network is regressed on all legal actions at once. So nothing
depends on which action was played in the game itself, and there is no variance from that choice. Chance is sampled: a
copy holds the random numbers of its game, so that all actions of a position are compared under the same rolls.

For games of two sides that move one at a time. Where hidden information makes optimal play mixed, its greedy policy is
no equilibrium. `ttt train value_learning` is the same method with checkpoints, curves, logs, and a backup for
players who choose at once.

Sources: Sutton and Barto, "Reinforcement learning: an introduction", 2018, section 8.5 (expected updates); the average
as target: Lillicrap et al., "Continuous control with deep reinforcement learning", ICLR 2016.
"""

import argparse
import time
from copy import deepcopy
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import nn

import ttt_envs


@dataclass
class Args:
    """Settings; the defaults are for a single round of the game they name."""

    game: str = "tic_tac_dice"
    options: str = "rounds=single"  # of the game, such as "size=3 lines=2"; "" for none
    steps: int = 500_000  # positions
    seed: int = 0
    num_envs: int = 512  # games side by side
    buffer: int = 200_000  # latest positions that are learned from
    warm_up: int = 10_000  # positions before learning begins
    batch: int = 1024  # positions in a gradient step
    learning_rate: float = 2e-3  # falls linearly to a hundredth
    exploration: float = 0.1  # share of random actions
    gamma: float = 1.0  # discount for each ply
    average: float = 0.005  # share by which the average moves at each gradient step
    hidden: int = 256  # size of the two hidden layers
    regret_games: int = 500  # games in which the regret is measured at the end; 0 for none, where there is no oracle


def make_game(args: Args) -> ttt_envs.Game:
    """The game with its options; ValueError if it does not fit."""
    options = dict(each.split("=", 1) for each in args.options.split())
    game = ttt_envs.load(args.game, **{name: int(text) if text.isdigit() else text for name, text in options.items()})
    if game.simultaneous or len(game.teams) != 2:
        raise ValueError(f"{game!r} is not of two sides that move one at a time")
    return game


def q_values(network: nn.Module, observations: np.ndarray) -> np.ndarray:
    """float32 (n, actions) for observations int8 (n, features)."""
    with torch.inference_mode():
        return np.asarray(network(torch.from_numpy(observations.astype(np.float32))).numpy())


class Backup:
    """Values of all legal actions, from the network's values one ply later."""

    def __init__(self, game: ttt_envs.Game, n: int, gamma: float) -> None:
        self.copies = ttt_envs.Batch(game, n * game.num_actions, seed=0)  # one for each position and action
        self.side = np.array([player in game.teams[1] for player in range(game.num_players)])
        self.actions, self.gamma = game.num_actions, gamma

    def values(self, network: nn.Module, batch: ttt_envs.Batch, view: ttt_envs.View) -> np.ndarray:
        """float32 (n, actions), NaN for illegal actions; `view`: what the players to move in `batch` see."""
        self.copies.set_states(np.repeat(batch.states, self.actions))
        pairs = np.flatnonzero(view.masks)  # numbers of copies: position * actions + action
        movers = view.players[pairs // self.actions]
        self.copies.step_rows(pairs, pairs % self.actions)
        q = np.full(view.masks.size, np.nan, np.float32)
        q[pairs] = self.copies.rewards[pairs, movers]
        going = ~self.copies.done[pairs]
        after = self.copies.view(rows=pairs[going])
        best = np.where(after.masks, q_values(network, after.observations), -np.inf).max(axis=1)
        same_side = self.side[after.players] == self.side[movers[going]]
        q[pairs[going]] = self.gamma * np.where(same_side, best, -best)
        return q.reshape(view.masks.shape)


def train(args: Args) -> nn.Module:
    """Train; returns the network, float32 (n, features) -> Q (n, actions). The same seed gives the same network."""
    game = make_game(args)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # small networks get slower with more
    generator = np.random.default_rng(args.seed)
    n, size, actions = args.num_envs, game.observation_size, game.num_actions
    network = nn.Sequential(
        nn.Linear(size, args.hidden), nn.ReLU(), nn.Linear(args.hidden, args.hidden), nn.ReLU(),
        nn.Linear(args.hidden, actions),
    )  # fmt: skip
    average = deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate)

    batch, backup = ttt_envs.Batch(game, n, seed=args.seed, auto_reset=True), Backup(game, n, args.gamma)
    seen = np.zeros((args.buffer, size), np.int8)
    targets = np.zeros((args.buffer, actions), np.float32)
    # Each symmetry of the board gives as good an example; a game without any has the identity.
    permutations = [(symmetry.features, symmetry.actions) for symmetry in game.symmetries] or [
        (np.arange(size), np.arange(actions))
    ]

    rounds, began, loss = -(-args.steps // n), time.perf_counter(), torch.tensor(torch.nan)
    for number in range(rounds):
        # --- label the positions that the games have come to, and play on ---
        view = batch.view()
        places = (number * n + np.arange(n)) % args.buffer  # the latest positions: a ring
        seen[places], targets[places] = view.observations, backup.values(average, batch, view)
        best = np.where(view.masks, q_values(average, view.observations), -np.inf).argmax(axis=1)
        at_random = np.where(view.masks, generator.random(view.masks.shape), -1).argmax(axis=1)
        batch.step(np.where(generator.random(n) < args.exploration, at_random, best))

        # --- learn ---
        steps = (number + 1) * n
        if steps >= args.warm_up:
            rows = generator.integers(0, min(steps, args.buffer), args.batch)
            features, permuted = permutations[generator.integers(len(permutations))]
            target = torch.from_numpy(targets[rows][:, permuted])
            legal = ~target.isnan()
            outputs = network(torch.from_numpy(seen[rows][:, features]).float())
            loss = nn.functional.mse_loss(outputs[legal], target[legal])
            optimizer.param_groups[0]["lr"] = args.learning_rate * max(1 - number / rounds, 0.01)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimizer.step()
            with torch.no_grad():
                for mean, latest in zip(average.parameters(), network.parameters(), strict=True):
                    mean.lerp_(latest, args.average)
        if number % 100 == 99 or number == rounds - 1:
            speed = steps / (time.perf_counter() - began)
            print(f"{steps:>10,} positions   loss {loss.item():.4f}   {speed:,.0f} positions/s")
    return average


def main(words: list[str] | None = None) -> None:
    """Train by the settings of a command line, and say how far the greedy policy is from best play."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for each in fields(Args):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=each.type, default=each.default)
    args = Args(**vars(parser.parse_args(words)))
    network = train(args)
    if args.regret_games:
        from ttt_envs.agents.torch_policy import PolicyAgent
        from ttt_envs.evaluation.best_play import measure

        agent = PolicyAgent(network, temperature=0)  # the best action
        measured = measure(make_game(args), agent, games=args.regret_games, seed=args.seed)
        low, high = measured.per_game_interval
        print(f"regret a game: {measured.per_game:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
