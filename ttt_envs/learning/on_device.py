"""Self-play whose games and tensors stay on one device, for methods with `--device cuda`.

Games that end restart. The same code runs with "cpu".
"""

from typing import Any

import torch

from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.options import choice
from ttt_envs.learning.policy_gradient import Sample, masked
from ttt_envs.learning.torch_networks import TorchNetwork

#: Plies of each game in a rollout.
PLIES = 16

# Number of copies of each game, in which different actions are tried in parallel; at most the number of actions.
_COPIES = 12


def check_device(device: str) -> None:
    """Raise ValueError unless the device is "cpu", or "cuda" on a machine with a GPU."""
    choice("device", device, ("cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device='cuda' asks for a GPU that torch can use, and torch {torch.__version__} finds none; nvidia-smi "
            "shows whether there is one, and pytorch.org which torch is for it"
        )


class DeviceGames:
    """`n` games of two sides on a device, with their players' observations.

    Attributes:
        batch: the games.
        seats: whose views `look` returns: all players if they choose simultaneously, otherwise None, the player to
            move.
    """

    def __init__(self, game: Game, n: int, seed: int, device: str) -> None:
        self.device = torch.device(device)
        self.batch = Batch(game, n, seed=seed, auto_reset=True, device=device)
        self.seats = tuple(range(game.num_players)) if game.simultaneous else (None,)
        self.side = torch.tensor([player in game.teams[1] for player in range(game.num_players)], device=device)

    def tensor(self, array: Any) -> torch.Tensor:
        """Return a batch's array as a tensor without a copy: the batch's next step overwrites the tensor."""
        return torch.as_tensor(array, device=self.device)

    def look(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return copies of the seats' observations int8 (seats * n, size), and masks bool (seats * n, num_actions)."""
        looks = self.batch.observations, self.batch.masks
        seen, legal = (torch.cat([self.tensor(look(seat)) for seat in self.seats]) for look in looks)
        return seen, legal

    def movers(self, batch: Batch | None = None) -> torch.Tensor:
        """Return the players to move, int64 (n,)."""
        return self.tensor((self.batch if batch is None else batch).to_move).long()


class Rollouts(DeviceGames):
    """Games in which the learner plays all seats, `PLIES` plies at a time."""

    def play(self, network: TorchNetwork, gae_lambda: float) -> tuple[Sample, int]:
        """Play the next plies by a network's policy; return the training data and the number of decisions.

        If players choose simultaneously, every ply has a row for each player; a row without a choice trains only the
        values. Advantages are generalised advantage estimates of undiscounted rewards. The estimate for a ply uses that
        of the next ply: the same player's if players choose simultaneously; otherwise that of the player to move, with
        its sign changed if the other side moves.
        """
        game, plies = self.batch.game, list[tuple[torch.Tensor, ...]]()
        with torch.no_grad():
            for _ in range(PLIES):
                seen, legal = self.look()
                heads = network(seen.float())
                log_probs, movers = masked(heads["policy"], legal), self.movers()
                # The index of the largest log-probability plus Gumbel noise is a draw from the policy.
                actions = (log_probs - torch.empty_like(log_probs).exponential_().log()).argmax(dim=1)
                self.batch.step(actions.view(len(self.seats), -1).T if game.simultaneous else actions)
                if game.simultaneous:
                    rewards = self.tensor(self.batch.rewards).T.reshape(-1).clone()
                    signs = torch.ones_like(rewards)
                else:
                    rewards = self.tensor(self.batch.rewards).gather(1, movers[:, None])[:, 0]
                    signs = torch.where(self.side[movers] == self.side[self.movers()], 1.0, -1.0)
                signs *= ~self.tensor(self.batch.done).repeat(len(self.seats))  # the next game is another one
                plies.append((seen, legal, actions, log_probs, heads["value"][:, 0], rewards, signs))
            following = network(self.look()[0].float())["value"][:, 0]
            advantages, after = list[torch.Tensor](), torch.zeros_like(following)
            for *_, values, rewards, signs in reversed(plies):
                after = rewards + signs * (following + gae_lambda * after) - values
                advantages.append(after)
                following = values
            seen, legal, actions, log_probs, values, *_ = map(torch.cat, zip(*plies, strict=True))
            gains = torch.cat(advantages[::-1])
        return Sample(seen, legal, actions, log_probs, gains, gains + values), int(legal.any(dim=1).sum())


class DeviceValues(DeviceGames):
    """Games whose positions are labelled by trying every legal action on a copy."""

    def __init__(self, game: Game, n: int, seed: int, device: str) -> None:
        super().__init__(game, n, seed, device)
        self.copies = Batch(game, n * min(_COPIES, game.num_actions), seed=seed, device=device)

    @torch.no_grad()
    def best(self, network: TorchNetwork, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the best Q of each player to move, float32 (n,), and its action, int64 (n,)."""
        q = network(self.tensor(batch.observations()).float())["q"]
        found = q.masked_fill(~self.tensor(batch.masks()), -torch.inf).max(dim=1)
        return found.values, found.indices

    def label(self, average: TorchNetwork) -> torch.Tensor:
        """Return float32 (n, num_actions): each legal action's value to the player to move; NaN for illegal actions.

        The value is the reward if the action ends the game. Otherwise it is the best Q of the next position by the
        network `average`, negated if the other side moves there. Hidden information is not redrawn.
        """
        legal, movers, n = self.tensor(self.batch.masks()), self.movers(), self.copies.n
        worth = torch.full(legal.shape, torch.nan, device=self.device)
        for pairs in legal.nonzero().split(n):
            rows, actions = pairs.T.repeat(1, -(-n // len(pairs)))[:, :n].contiguous()  # some are tried again
            self.copies.branch(self.batch, rows, actions)
            best = self.best(average, self.copies)[0]
            after = torch.where(self.side[movers[rows]] == self.side[self.movers(self.copies)], best, -best)
            rewards = self.tensor(self.copies.rewards).gather(1, movers[rows, None])[:, 0]
            worth[rows, actions] = rewards + after.where(~self.tensor(self.copies.done), 0.0)
        return worth

    def play(self, average: TorchNetwork, exploration: float) -> None:
        """Play the best actions by the network `average` or, with probability `exploration`, random ones."""
        legal = self.tensor(self.batch.masks())
        at_random = torch.rand(legal.shape, device=self.device).masked_fill(~legal, -1).argmax(dim=1)
        explores = torch.rand(len(legal), device=self.device) < exploration
        self.batch.step(torch.where(explores, at_random, self.best(average, self.batch)[1]))


class Ring:
    """The latest `size` positions on a device: observations, int8, and the values of their actions, float32."""

    def __init__(self, size: int, game: Game, device: torch.device) -> None:
        self.size, self.added = size, 0
        self.seen = torch.zeros(size, game.observation_size, dtype=torch.int8, device=device)
        self.values = torch.zeros(size, game.num_actions, device=device)

    def add(self, seen: torch.Tensor, values: torch.Tensor) -> None:
        """Add positions, which replace the oldest ones when the ring is full."""
        at = (self.added + torch.arange(len(seen), device=seen.device)) % self.size
        self.seen[at], self.values[at] = seen, values
        self.added += len(seen)

    def sample(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return `n` positions with their values, drawn with replacement."""
        rows = torch.randint(min(self.added, self.size), (n,), device=self.seen.device)
        return self.seen[rows], self.values[rows]
