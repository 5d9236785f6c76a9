"""Learn an equilibrium by policy-space response oracles (PSRO), the double oracle method: best responses by PPO.

    [methods.psro]
    train = "examples/methods/psro.py:train"

A study calls `train` for each run and measures the agent that it returns: docs/study.md.

A population of policies grows. The games between any two of them make a matrix, the meta game; its equilibrium says how
often each player draws each policy. PPO learns a best response to opponents that are drawn so, once for each game, and
the response joins the population: if no response gains, the mixture is an equilibrium. The first policy is untrained
and nearly uniform.

The agent is the mixture as one network. To draw a policy at the start of a game is, where players
remember what they were shown and have done, the same as to weigh each policy in each position by how likely its own
choices were to lead there (Kuhn's theorem). The network imitates these weighted probabilities, which are exact, in
games between the mixture and opponents drawn evenly from the population, so that it meets what opponents may try. Where
the observation does not tell the player's own past, the network knows the weights only on average over what led there.
It is for two players, who may move at once and have hidden information.

Sources: Lanctot et al., "A unified game-theoretic approach to multiagent reinforcement learning", NeurIPS 2017;
McMahan, Gordon and Blum, "Planning in the presence of cost functions controlled by an adversary", ICML 2003 (double
oracle); Kuhn, "Extensive games and the problem of information", Contributions to the Theory of Games II, 1953.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
import torch

from ttt_envs.agents.matrix_games import solve_matrix
from ttt_envs.agents.networks import NetworkInfo
from ttt_envs.agents.torch_policy import PolicyAgent
from ttt_envs.dev import Agent, Game
from ttt_envs.learning import policy_gradient
from ttt_envs.learning.episodes import Act, Rollout, WholeGames
from ttt_envs.learning.policy_gradient import PolicyGradient, Sample, clipped, drawn, entropy_of, masked, orthogonal
from ttt_envs.learning.torch_networks import Logits, TorchNetwork

# Iterations of predictive regret matching+ by which the meta game is solved.
_ITERATIONS = 5000

#: In the place of a policy's number: the best response that is being learned.
LEARNER = -1


@dataclass(frozen=True, kw_only=True)
class Config(policy_gradient.Config):
    """Settings of PSRO; those of policy gradient are for the best responses.

    Attributes:
        num_envs: games that are played to their end between two updates.
        learning_rate: of Adam, decreased linearly over each best response to a hundredth.
        entropy: weight of the entropy bonus of a best response.
        response: decisions that a best response learns from before it joins the population.
        meta_games: games between two policies, in each pair of seats, for their entry in the meta game.
        imitated: rounds of games that the network imitates after each best response.
        imitations: gradient steps of the network after each best response.
        imitation_batch: decisions in such a step.
        imitation_rate: its learning rate, decreased linearly over the budget to a tenth.
    """

    num_envs: int = 512
    learning_rate: float = 3e-3
    entropy: float = 0.05
    response: int = 20_000
    meta_games: int = 200
    imitated: int = 4
    imitations: int = 100
    imitation_batch: int = 512
    imitation_rate: float = 2e-3


class Population:
    """Policies with their meta game.

    Attributes:
        members: the policies.
        payoffs: float64 (members, members), the mean reward of player 0 if the policy of the row has their seat and
            that of the column the other one.
    """

    def __init__(self, info: NetworkInfo) -> None:
        """`info`: of a network of kind policy, as all members are; there are none yet."""
        self.info, self.members, self.payoffs = info, list[TorchNetwork](), np.zeros((0, 0))

    def add(self, network: TorchNetwork) -> None:
        """Add a copy of a network's policy; its payoffs are 0 at first."""
        member, tensors = TorchNetwork(self.info), network.state_dict()
        member.load_state_dict({name: tensors[name] for name in member.state_dict()})
        self.members.append(member.requires_grad_(False))
        self.payoffs = np.pad(self.payoffs, (0, 1))

    def strategies(self) -> np.ndarray:
        """Return the equilibrium of the meta game, each player's probabilities of policies: float64 (2, members)."""
        both = np.empty((2, len(self.members)))
        solve_matrix(self.payoffs, _ITERATIONS, both[0], both[1])
        return both

    def log_probs(self, observations: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Return the probabilities of all policies: float32 (members, n, num_actions)."""
        with torch.inference_mode():
            return torch.stack([masked(member(observations)["policy"], masks) for member in self.members])

    def behaviour(self, rollout: Rollout, strategies: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mixture's probabilities in decisions that were made by policies drawn at the start of each game.

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
        self.learned = 0  # decisions that the latest best response, which is no member yet, has learned from

    def begin(self, generator: np.random.Generator) -> None:
        """Make the games, and enter the untrained policy."""
        torch.manual_seed(int(generator.integers(2**63)))  # of the policies' actions
        self.generator = generator
        self.games = WholeGames(self.game, self.config.num_envs, int(self.generator.integers(2**63)))
        self._enter()

    def one_round(self, done: float) -> int:
        """Games of the best response against the mixture, and what they teach; `done`: share of the training.

        Returns the best response's decisions.
        """
        assigned, learner = self._seated(self.strategies), np.arange(self.config.num_envs) % 2
        assigned[np.arange(len(assigned)), learner] = LEARNER
        rollout = self.games.play(self.population.act(assigned, self.response.network))
        mine = torch.from_numpy(np.flatnonzero(rollout.players == learner[rollout.games]))
        share = min(self.learned / self.config.response, 1.0)
        self.response.learn_from(self.response.sample_of(rollout).take(mine), share)
        self.learned += len(mine)
        if self.learned >= self.config.response:
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
        new, seed = len(population.members) - 1, int(self.generator.integers(2**63))
        pairs = [(new, other) for other in range(new + 1)] + [(other, new) for other in range(new)]
        assigned = np.repeat(np.array(pairs), config.meta_games, axis=0)
        rollout = WholeGames(self.game, len(assigned), seed).play(population.act(assigned, self.response.network))
        last = (rollout.players == 0) & (rollout.following < 0)
        rewards = np.zeros(len(assigned))
        rewards[rollout.games[last]] = rollout.rewards[last]
        rows, columns = np.array(pairs).T
        population.payoffs[rows, columns] = rewards.reshape(len(pairs), -1).mean(axis=1)
        self.strategies = population.strategies()

    def _join(self, done: float) -> None:
        """Enter the best response in the population, imitate the new mixture, and begin another response."""
        self._enter()
        # A new response begins from new weights: one that goes on from the former has made up its mind.
        self.response, self.learned = Response(self.config, self.game), 0
        self._imitate(done)

    def _imitate(self, done: float) -> None:
        """Teach the network the mixture."""
        config, seen = self.config, []
        evenly = np.full_like(self.strategies, 1 / len(self.population.members))
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


def train(game: Game, seed: int, budget: float) -> Agent:
    """Return the mixture as an agent after `budget` seconds of processor time; ValueError unless two players play."""
    if game.num_players != 2:
        raise ValueError(f"PSRO is for games of two players; {game} has {game.num_players}")
    began = time.process_time()
    torch.set_num_threads(1)  # small networks get slower with more
    torch.manual_seed(seed)
    method = PSRO(Config(game=game.id), game)
    method.begin(np.random.default_rng(seed))
    while (done := (time.process_time() - began) / budget) < 1:
        method.one_round(done)
    return PolicyAgent(Logits(method.average))
