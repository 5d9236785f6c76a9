"""Value learning in one file, to read and to fork; it uses only the environments and torch.

    python -m training.value_learning --steps 500000 --seed 1
    python -m training.value_learning --device cuda --num-envs 4096 --batch 8192 --steps 10000000

A network learns Q(observation, action) of the player to move by full-width temporal differences. In each position of
its games, every legal action is played on a copy of the game, because the rules are exact and fast. An action's target
is its reward plus, unless the game is over, the best Q of the next position, negated if the other side moves next. A
slowly moving average of the network computes this Q. The network is trained on the targets of all legal actions, so the
choice of the action played adds no variance. Chance is sampled: a copy has its game's random generator, so all actions
in a position are compared under the same dice rolls.

With `--device cuda`, games and tensors stay on the GPU. The game must have two sides that move one at a time. If hidden
information makes optimal play mixed, the network's greedy policy is no equilibrium. `ttt train value_learning` adds
checkpoints, curves, logs, and targets for players who choose simultaneously.

Sources: Sutton and Barto, "Reinforcement learning: an introduction", 2018, section 8.5 (expected updates); a moving
average as target network: Lillicrap et al., "Continuous control with deep reinforcement learning", ICLR 2016.
"""

import argparse
import time
from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import nn

import ttt_envs


@dataclass
class Args:
    """Settings; the defaults train on single rounds of Tic-Tac-Dice."""

    game: str = "tic_tac_dice"
    options: str = "rounds=single"  # of the game, such as "size=3 lines=2"; "" for none
    steps: int = 500_000  # positions
    seed: int = 0
    device: str = "cpu"  # or "cuda"
    num_envs: int = 512  # games side by side
    copies: int = 1024  # of games, in which actions are tried side by side
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
    """Return the game with its options; raise ValueError unless it has two sides that move one at a time."""
    options = dict(each.split("=", 1) for each in args.options.split())
    game = ttt_envs.load(args.game, **{name: int(text) if text.isdigit() else text for name, text in options.items()})
    if game.simultaneous or len(game.teams) != 2:
        raise ValueError(f"{game!r} is not of two sides that move one at a time")
    return game


class Backup:
    """Computes targets for all legal actions from a network's values one ply later."""

    def __init__(self, game: ttt_envs.Game, args: Args) -> None:
        self.copies = ttt_envs.Batch(game, args.copies, seed=0, device=args.device)
        self.side = torch.zeros(game.num_players, device=args.device)
        self.side[list(game.teams[1])] = 1
        self.gamma, self.device = args.gamma, torch.device(args.device)

    def of(self, array: Any) -> torch.Tensor:
        """Return a tensor that shares memory with an array of a batch; the next step overwrites it."""
        return torch.as_tensor(array, device=self.device)

    @torch.no_grad()
    def best(self, network: nn.Module, batch: ttt_envs.Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the best Q for the player to move in each game, float32 (n,), and its action, int64 (n,)."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            q = network(self.of(batch.observations()).float())
        found = q.float().masked_fill(~self.of(batch.masks()), -torch.inf).max(dim=1)
        return found.values, found.indices

    def values(self, network: nn.Module, batch: ttt_envs.Batch) -> torch.Tensor:
        """Return the targets of the players to move in `batch`, float32 (n, actions); NaN for illegal actions."""
        masks, movers, n = self.of(batch.masks()), self.of(batch.to_move).long(), self.copies.n
        q = torch.full(masks.shape, torch.nan, device=self.device)
        for pairs in masks.nonzero().split(n):  # (position, action): at most as many as copies
            rows, actions = pairs.T.repeat(1, -(-n // len(pairs)))[:, :n]  # a short last chunk repeats its pairs
            self.copies.branch(batch, rows.contiguous(), actions.contiguous())
            rewards, done = self.of(self.copies.rewards), self.of(self.copies.done)
            same_side = self.side[movers[rows]] == self.side[self.of(self.copies.to_move).long()]
            best = self.gamma * self.best(network, self.copies)[0]
            after = torch.where(same_side, best, -best).where(~done, 0.0)
            q[rows, actions] = rewards.gather(1, movers[rows, None])[:, 0] + after
        return q


def train(args: Args) -> nn.Module:
    """Return the trained network, float32 (n, features) -> Q (n, actions). The same seed gives the same network."""
    game, device = make_game(args), torch.device(args.device)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # small networks get slower with more
    n, size, actions = args.num_envs, game.observation_size, game.num_actions
    network = nn.Sequential(
        nn.Linear(size, args.hidden), nn.ReLU(), nn.Linear(args.hidden, args.hidden), nn.ReLU(),
        nn.Linear(args.hidden, actions),
    ).to(device)  # fmt: skip
    average = deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate, fused=device.type == "cuda")

    batch = ttt_envs.Batch(game, n, seed=args.seed, auto_reset=True, device=args.device)
    backup = Backup(game, args)
    seen = torch.zeros(args.buffer, size, dtype=torch.int8, device=device)
    targets = torch.zeros(args.buffer, actions, device=device)
    # A symmetric image of an example is an equally valid example. A game without symmetries gets the identity only.
    permutations = [
        (torch.tensor(symmetry.features, device=device), torch.tensor(symmetry.actions, device=device))
        for symmetry in game.symmetries
    ] or [(torch.arange(size, device=device), torch.arange(actions, device=device))]
    places = torch.arange(n, device=device)

    rounds, began, loss = -(-args.steps // n), time.perf_counter(), torch.tensor(torch.nan)
    for number in range(rounds):
        # --- compute targets for the current positions, and play on ---
        at = (number * n + places) % args.buffer  # the latest positions: a ring
        seen[at], targets[at] = backup.of(batch.observations()), backup.values(average, batch)
        masks = backup.of(batch.masks())
        at_random = torch.rand(masks.shape, device=device).masked_fill(~masks, -1).argmax(dim=1)
        explores = torch.rand(n, device=device) < args.exploration
        batch.step(torch.where(explores, at_random, backup.best(average, batch)[1]))

        # --- learn ---
        steps = (number + 1) * n
        if steps >= args.warm_up:
            rows = torch.randint(min(steps, args.buffer), (args.batch,), device=device)
            features, permuted = permutations[int(torch.randint(len(permutations), ()))]
            target = targets[rows][:, permuted]
            legal = ~target.isnan()
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                outputs = network(seen[rows][:, features].float()).float()
            loss = ((outputs - target.nan_to_num()).square() * legal).sum() / legal.sum()
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
    return average.cpu()


def main(words: list[str] | None = None) -> None:
    """Train with the settings of a command line, and print the greedy policy's regret."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for each in fields(Args):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=each.type, default=each.default)
    args = Args(**vars(parser.parse_args(words)))
    network = train(args)
    if args.regret_games:
        from ttt_envs.agents.torch_policy import PolicyAgent
        from ttt_envs.evaluation.regret import measure

        agent = PolicyAgent(network, temperature=0)  # the best action
        measured = measure(make_game(args), agent, games=args.regret_games, seed=args.seed)
        low, high = measured.per_game_interval
        print(f"regret per game: {measured.per_game:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
