"""Learn an equilibrium by policy-space response oracles (PSRO), the double oracle method: best responses by PPO.

    python examples/methods/psro.py tic_tac_match --steps 100000 --out runs/x

A population of policies grows. The games between any two of them make a matrix, the meta game; its equilibrium says how
often each player draws each policy. PPO learns a best response to opponents that are drawn so, once for each game, and
the response joins the population: if no response gains, the mixture is an equilibrium. The first policy is untrained
and nearly uniform.

What is measured and kept is the mixture as one network. To draw a policy at the start of a game is, where players
remember what they were shown and have done, the same as to weigh each policy in each position by how likely its own
choices were to lead there (Kuhn's theorem). The network imitates these weighted probabilities, which are exact, in
games between the mixture and opponents drawn evenly from the population, so that it meets what opponents may try. Where
the observation does not tell the player's own past, the network knows the weights only on average over what led there.
--steps counts the decisions that the best responses learn from; the games that fill the matrix and those that the
network imitates come on top. It is for two players, who may move at once and have hidden information. The mixture as
one policy is in network.safetensors: agents.load("network:runs/x").

Sources: Lanctot et al., "A unified game-theoretic approach to multiagent reinforcement learning", NeurIPS 2017;
McMahan, Gordon and Blum, "Planning in the presence of cost functions controlled by an adversary", ICML 2003 (double
oracle); Kuhn, "Extensive games and the problem of information", Contributions to the Theory of Games II, 1953.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch

from ttt_envs.agents.matrix_games import solve_matrix
from ttt_envs.agents.networks import NetworkInfo
from ttt_envs.core.game import Game
from ttt_envs.learning import policy_gradient
from ttt_envs.learning.episodes import Act, Rollout, WholeGames
from ttt_envs.learning.policy_gradient import PolicyGradient, Sample, clipped, drawn, entropy_of, masked, orthogonal
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import train_self_play
from ttt_envs.learning.runs.settings import Result, Steps, Within, command_line
from ttt_envs.learning.torch_networks import TorchNetwork

NAME = "examples/methods/psro.py"

# Iterations of predictive regret matching+ by which the meta game is solved.
_ITERATIONS = 5000

#: In the place of a policy's number: the best response that is being learned.
LEARNER = -1


@dataclass(frozen=True, kw_only=True)
class Config(policy_gradient.Config):
    """Settings of PSRO; those of policy gradient are for the best responses."""

    out: Path = Path("runs/psro")
    """Run folder."""
    num_envs: Annotated[int, Within(2, 2**20)] = 512
    """Games that are played to their end between two updates."""
    learning_rate: Annotated[float, Within(0.0, 1e3)] = 3e-3
    """Learning rate of Adam, decreased linearly over each best response to a hundredth."""
    entropy: Annotated[float, Within(0.0, 1e6)] = 0.05
    """Weight of the entropy bonus of a best response."""
    response: Steps = 20_000
    """Decisions that a best response learns from before it joins the population."""
    meta_games: Annotated[int, Within(1, 10**5)] = 200
    """Games between two policies, in each pair of seats, for their entry in the meta game."""
    imitated: Annotated[int, Within(1, 10**6)] = 4
    """Rounds of games that the network imitates after each best response."""
    imitations: Annotated[int, Within(1, 10**6)] = 100
    """Gradient steps of the network after each best response."""
    imitation_batch: Annotated[int, Within(1, 2**24)] = 512
    """Decisions in such a step."""
    imitation_rate: Annotated[float, Within(0.0, 1e3)] = 2e-3
    """Its learning rate, decreased linearly over --steps to a tenth."""


class Population(torch.nn.Module):
    """Policies with their meta game; a module of as many as there are, so that it is kept and restored.

    Attributes:
        members: the policies.
        payoffs: float64 (members, members), the mean reward of player 0 if the policy of the row has their seat and
            that of the column the other one.
        learned: decisions that the latest best response, which is no member yet, has learned from.
    """

    payoffs: torch.Tensor
    learned: torch.Tensor

    def __init__(self, info: NetworkInfo) -> None:
        """`info`: of a network of kind policy, as all members are; there are none yet."""
        super().__init__()
        self.info, self.members = info, torch.nn.ModuleList()
        self.register_buffer("payoffs", torch.zeros((0, 0), dtype=torch.float64))
        self.register_buffer("learned", torch.zeros((), dtype=torch.int64))

    def __len__(self) -> int:
        return len(self.members)

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **named: Any) -> Any:
        """Load the weights of any number of members."""
        number = len(state_dict["payoffs"])
        self.members = torch.nn.ModuleList(TorchNetwork(self.info) for _ in range(number))
        self.payoffs = torch.zeros((number, number), dtype=torch.float64)
        return super().load_state_dict(state_dict, *args, **named)

    def add(self, network: TorchNetwork) -> None:
        """Add a copy of a network's policy; its payoffs are 0 at first."""
        member, tensors = TorchNetwork(self.info), network.state_dict()
        member.load_state_dict({name: tensors[name] for name in member.state_dict()})
        self.members.append(member.requires_grad_(False))
        payoffs = torch.zeros((len(self), len(self)), dtype=torch.float64)
        payoffs[:-1, :-1] = self.payoffs
        self.payoffs = payoffs

    def strategies(self) -> np.ndarray:
        """The probability of each player's policies in the equilibrium of the meta game: float64 (2, members)."""
        both = np.empty((2, len(self)))
        solve_matrix(self.payoffs.numpy(), _ITERATIONS, both[0], both[1])
        return both

    def log_probs(self, observations: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """The probabilities of all policies: float32 (members, n, num_actions)."""
        with torch.inference_mode():
            return torch.stack([masked(member(observations)["policy"], masks) for member in self.members])

    def behaviour(self, rollout: Rollout, strategies: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """The mixture's probabilities in decisions that were made by policies drawn at the start of each game.

        Args:
            rollout: whole games.
            strategies: float64 (2, members), how often each player draws each policy.

        Returns:
            float32 (d, num_actions), and the weights float32 (d, members): the probability that a player who has done
            what they did has drawn each policy; zeros where that was none of those in their strategy.
        """
        seen, masks = torch.from_numpy(rollout.observations.astype(np.float32)), torch.from_numpy(rollout.masks)
        log_probs = self.log_probs(seen, masks)
        rows, actions = torch.arange(len(rollout)), torch.from_numpy(rollout.actions)
        chosen = log_probs[:, rows, actions].numpy().T.astype(np.float64)
        with np.errstate(divide="ignore"):
            weights = np.log(strategies)[rollout.players]
        for ply in rollout.plies:
            after = rollout.following[ply]
            weights[after[after >= 0]] = (weights[ply] + chosen[ply])[after >= 0]
        reach = torch.from_numpy(weights).softmax(dim=1).nan_to_num(0.0).float()
        return torch.einsum("dk,kda->da", reach, log_probs.exp()), reach

    def act(self, assigned: np.ndarray, learner: TorchNetwork) -> Act:
        """As `episodes.Act`: `assigned` int (games, 2) says by number which policy has which seat."""

        def act(
            observations: np.ndarray, masks: np.ndarray, games: np.ndarray, players: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            seen, legal = torch.from_numpy(observations.astype(np.float32)), torch.from_numpy(masks)
            who = assigned[games, players]
            log_probs, values = torch.empty(masks.shape), torch.zeros(len(masks))
            with torch.inference_mode():
                for number in np.unique(who):
                    rows = torch.from_numpy(np.flatnonzero(who == number))
                    heads = (learner if number == LEARNER else self.members[number])(seen[rows])
                    log_probs[rows] = masked(heads["policy"], legal[rows])
                    if number == LEARNER:
                        values[rows] = heads["value"][:, 0]
            return drawn(log_probs), log_probs.numpy(), values.numpy()

        return act


class Response(PolicyGradient[Config]):
    """The loss of PPO with an entropy bonus."""

    def policy_loss(self, log_probs: torch.Tensor, sample: Sample, done: float) -> torch.Tensor:
        """PPO's surrogate, and the bonus."""
        return clipped(log_probs, sample, 0.2) - self.config.entropy * entropy_of(log_probs).mean()


class PSRO:
    """The population, the best response that is being learned, and the mixture as one network."""

    def __init__(self, config: Config, game: Game) -> None:
        """New weights, by torch's random numbers; `begin` makes the games."""
        self.config, self.game = config, game
        self.response = Response(config, game)
        self.info = replace(self.response.info, kind="policy")
        self.population, self.average = Population(self.info), orthogonal(TorchNetwork(self.info))
        self.optimizer = torch.optim.Adam(self.average.parameters(), lr=config.imitation_rate)
        self.parts: checkpoint.Parts = {
            **{f"response_{name}": part for name, part in self.response.parts.items()},
            "population": self.population,
            "average": self.average,
            "average_optimizer": self.optimizer,
        }
        self.numbers = self.response.numbers

    @property
    def playing(self) -> TorchNetwork:
        """The mixture as one network."""
        return self.average

    def begin(self, generator: np.random.Generator) -> None:
        """Make the games; enter the untrained policy, in a run that is not resumed."""
        torch.manual_seed(int(generator.integers(2**63)))  # of the policies' actions
        self.generator = generator
        self.games = WholeGames(self.game, self.config.num_envs, int(self.generator.integers(2**63)))
        if not len(self.population):
            self._enter()
        self.strategies = self.population.strategies()

    def one_round(self, done: float) -> int:
        """Games of the best response against the mixture, and what they teach; `done`: share of the training.

        Returns the best response's decisions.
        """
        assigned, learner = self._seated(self.strategies), np.arange(self.config.num_envs) % 2
        assigned[np.arange(len(assigned)), learner] = LEARNER
        rollout = self.games.play(self.population.act(assigned, self.response.network))
        mine = torch.from_numpy(np.flatnonzero(rollout.players == learner[rollout.games]))
        learned = int(self.population.learned)
        self.response.learn_from(self.response.sample_of(rollout).take(mine), min(learned / self.config.response, 1.0))
        self.population.learned += len(mine)
        if learned + len(mine) >= self.config.response:
            self._join(done)
        return len(mine)

    def _seated(self, strategies: np.ndarray) -> np.ndarray:
        """Policies by number for both seats of all games: int64 (games, 2)."""
        n = self.config.num_envs
        return np.stack([self.generator.choice(len(each), n, p=each / each.sum()) for each in strategies], axis=1)

    def _enter(self) -> None:
        """Add the response's policy to the population, fill its payoffs, and solve the meta game."""
        population, config = self.population, self.config
        population.add(self.response.network)
        new, seed = len(population) - 1, int(self.generator.integers(2**63))
        pairs = [(new, other) for other in range(new + 1)] + [(other, new) for other in range(new)]
        assigned = np.repeat(np.array(pairs), config.meta_games, axis=0)
        rollout = WholeGames(self.game, len(assigned), seed).play(population.act(assigned, self.response.network))
        last = (rollout.players == 0) & (rollout.following < 0)
        rewards = np.zeros(len(assigned))
        rewards[rollout.games[last]] = rollout.rewards[last]
        rows, columns = np.array(pairs).T
        population.payoffs.numpy()[rows, columns] = rewards.reshape(len(pairs), -1).mean(axis=1)
        self.strategies = population.strategies()

    def _join(self, done: float) -> None:
        """Enter the best response in the population, imitate the new mixture, and begin another response."""
        self._enter()
        # A new response begins from new weights: one that goes on from the former has made up its mind.
        self.population.learned.zero_()
        self.response.network.load_state_dict(orthogonal(TorchNetwork(self.response.info)).state_dict())
        for optimizer in (part for part in self.response.parts.values() if isinstance(part, torch.optim.Optimizer)):
            optimizer.state.clear()
        self._imitate(done)
        mixed = float((self.strategies > 0.01).sum() / 2)
        self.numbers.update({"psro/policies": len(self.population), "psro/in_the_mixture": mixed})

    def _imitate(self, done: float) -> None:
        """Teach the network the mixture."""
        config, seen = self.config, []
        evenly = np.full_like(self.strategies, 1 / len(self.population))
        mixing = np.arange(config.num_envs) % 2
        for _ in range(config.imitated):
            assigned = np.where(mixing[:, None] == np.arange(2), self._seated(self.strategies), self._seated(evenly))
            rollout = self.games.play(self.population.act(assigned, self.response.network))
            wanted, _ = self.population.behaviour(rollout, self.strategies)
            mine = np.flatnonzero(rollout.players == mixing[rollout.games])
            observations = torch.from_numpy(rollout.observations[mine].astype(np.float32))
            seen.append((observations, torch.from_numpy(rollout.masks[mine]), wanted[torch.from_numpy(mine)]))
        observations, masks, wanted = (torch.cat(each) for each in zip(*seen, strict=True))
        for group in self.optimizer.param_groups:
            group["lr"] = config.imitation_rate * max(1 - done, 0.1)
        for _ in range(config.imitations):
            rows = torch.from_numpy(self.generator.integers(0, len(wanted), config.imitation_batch))
            log_probs = masked(self.average(observations[rows])["policy"], masks[rows])
            loss = -(wanted[rows] * log_probs).sum(dim=1).mean()
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
        self.numbers["train/imitation_loss"] = float(loss.detach())


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Raises as `train_self_play`."""
    return train_self_play(config, NAME, PSRO)


if __name__ == "__main__":
    train(command_line(Config, NAME, __doc__, sys.argv[1:]))
