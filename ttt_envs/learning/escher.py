"""Learn an equilibrium by counterfactual regrets without importance sampling (ESCHER), a deep form of CFR.

In half of the games of a round, player 0 explores, and in the other half player 1. The explorer plays uniformly random
legal actions, and the other player plays the current policy. The regret of an action is its value minus the mean value
of all actions under the current policy. A value network, which sees the views of both players, gives the values; the
rules give the position after each action. A second network learns the mean of all regrets so far, from a reservoir: a
uniform sample of these regrets. The current policy plays each action in proportion to its positive mean regret (regret
matching). A third network learns the average of all these policies from the actions of the player who does not explore.
This average converges to an equilibrium; it is measured and saved. In these means over rounds, round t has the weight
t.

Why this form of CFR: Deep CFR tries all of the explorer's actions at each decision, so a round grows exponentially with
the length of the game: nine decisions with six actions give ten million positions. If one action is sampled instead,
regrets must be divided by the probability of the sampled actions, and their variance also grows exponentially. In
ESCHER the exploring policy never changes, so the division is unnecessary: all rounds weight the regrets of an
information set by the same factor. The other player reaches each decision as often as the current policy does, which is
the weight that the average policy needs. Values are learned by one-step temporal differences; where the explorer
decides, the target is the mean over all of the explorer's actions instead of a sample. The drawback: errors of the
value network become errors of the regrets. The method needs two players; simultaneous choices and hidden information
are allowed. network.safetensors contains the average policy; load it with agents.load("network:runs/x"). The buffer of
positions is not saved: a resumed run begins with an empty one.

Sources: McAleer, Farina, Lanctot and Sandholm, "ESCHER: eschewing importance sampling in games by computing a history
value function to estimate regret", ICLR 2023; Brown, Lerer, Gross and Sandholm, "Deep counterfactual regret
minimization", ICML 2019; weights of rounds: Brown and Sandholm, "Solving imperfect-information games via discounted
regret minimization", AAAI 2019.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch

from ttt_envs.agents.base import best_of, uniform
from ttt_envs.agents.networks import NetworkInfo
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players
from ttt_envs.learning.policy_gradient import masked
from ttt_envs.learning.reservoir import Reservoir, of_decisions
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import Buffer, train_self_play
from ttt_envs.learning.runs.settings import Result, Settings, Steps, Within, check_sizes
from ttt_envs.learning.torch_networks import TorchNetwork

NAME = "escher"

# Number of latest positions from which the value network learns.
_BUFFER = 20_000

# Share by which the slow average of the value network moves toward it at each gradient step; the average evaluates the
# next positions.
_TARGET_SHARE = 0.05


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of ESCHER."""

    out: Path = Path("runs/escher")
    """Run folder."""
    num_envs: Annotated[int, Within(2, 2**20)] = 512
    """Games in a round, an iteration of CFR."""
    reservoir: Annotated[int, Within(1, 10**8)] = 400_000
    """Decisions kept for regrets and for the average policy, each a uniform sample of all rounds so far."""
    batch: Annotated[int, Within(1, 2**24)] = 512
    """Decisions or positions in a gradient step."""
    updates: Annotated[int, Within(1, 10**6)] = 8
    """Gradient steps of each network in a round."""
    learning_rate: Annotated[float, Within(0.0, 1e3)] = 2e-3
    """Learning rate of Adam, decreased linearly over --steps to a tenth."""
    hidden: tuple[int, ...] = (128, 128)
    """Sizes of the hidden layers, of all networks."""
    save_every: Steps = 100_000
    """Decisions between two updates of the run folder."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for an invalid value."""
        super().check()
        check_sizes(hidden=self.hidden)


class Rounds(torch.nn.Module):
    """A counter of rounds, as a module so that it is saved with the networks."""

    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))


class Escher:
    """The three networks, their training data, and the rounds of games."""

    def __init__(self, config: Config, game: Game) -> None:
        """Draw new weights with torch's generator; `begin` creates the games."""
        self.config, self.game = config, game
        size, actions = game.observation_size, game.num_actions
        self.info = NetworkInfo(game.id, dict(game.options), "policy", size, actions, config.hidden, 0)
        of_values = replace(self.info, kind="value", inputs=2 * size)
        self.networks = {
            "average": _even(TorchNetwork(self.info)),
            "regrets": _even(TorchNetwork(replace(self.info, kind="q"))),
            "values": TorchNetwork(of_values),
        }
        self.optimizers = {
            name: torch.optim.Adam(network.parameters(), lr=config.learning_rate)
            for name, network in self.networks.items()
        }
        self.slow_values = TorchNetwork(of_values)
        self.slow_values.load_state_dict(self.networks["values"].state_dict())
        row = (actions,), torch.float32
        self.reservoirs = {
            name: Reservoir(config.reservoir, of_decisions(game, wanted=row, weights=((), torch.float32)))
            for name in ("average", "regrets")
        }
        self.rounds, self.numbers = Rounds(), dict[str, float]()
        self.parts: checkpoint.Parts = {
            **self.networks,
            "slow_values": self.slow_values,
            "rounds": self.rounds,
            **{f"{name}_optimizer": each for name, each in self.optimizers.items()},
            **{f"{name}_reservoir": each for name, each in self.reservoirs.items()},
        }

    @property
    def playing(self) -> TorchNetwork:
        """The average policy."""
        return self.networks["average"]

    def begin(self, generator: np.random.Generator) -> None:
        """Create the games, with an empty buffer of positions."""
        self.generator, self.buffer = generator, Buffer(_BUFFER)
        self.batch = Batch(self.game, self.config.num_envs, seed=int(generator.integers(2**63)))

    def policy(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Return the current policy by regret matching: float64 (n, num_actions).

        If no regret is positive, the action with the largest regret is played, as in Deep CFR.
        """
        regrets = _outputs(self.networks["regrets"], observations, "q")
        positive = np.where(masks, np.maximum(regrets, 0), 0).astype(np.float64)
        total = positive.sum(axis=1, keepdims=True)
        return np.where(total > 0, positive / np.where(total > 0, total, 1), uniform(best_of(regrets, masks)))

    def one_round(self, done: float) -> int:
        """Play games to their ends and learn from them; return the number of decisions."""
        self.rounds.count += 1
        decisions = self.play()
        for _ in range(self.config.updates):
            self._learn(self.config.learning_rate * max(1 - done, 0.1))
        return decisions

    def play(self) -> int:
        """Play the games of a round and fill the buffers; return the number of decisions."""
        game, batch, decisions = self.game, self.batch, 0
        explorer = np.arange(batch.n) % 2
        while len(rows := np.flatnonzero(~batch.states["done"])):
            games, players = acting_players(game, batch.states, rows)
            states, decisions = batch.states[games], decisions + len(games)
            observations, masks = _seen(game, states, players)
            policy, exploring = self.policy(observations, masks), players == explorer[games]
            joint, targets = np.full((batch.n, 2), -1), np.full(batch.n, np.nan, np.float32)
            joint[games, players] = self._draw(np.where(exploring[:, None], uniform(masks), policy))
            mine, others = np.flatnonzero(exploring), np.flatnonzero(~exploring)
            worth = self.action_values(states[mine], players[mine], joint[games[mine]], masks[mine])
            means = (policy[mine] * worth).sum(axis=1)
            targets[games[mine]] = np.where(players[mine] == 0, means, -means)
            regrets = (worth - means[:, None]) * masks[mine]
            for name, some, wanted in (("regrets", mine, regrets), ("average", others, policy[others])):
                weights = np.full(len(some), float(self.rounds.count), np.float32)
                kept = {"observations": observations[some], "masks": masks[some], "wanted": wanted, "weights": weights}
                self.reservoirs[name].add(kept, self.generator)
            seen = _by_both(game, batch.states[rows])
            batch.step(joint[rows], rows, check=False)
            # Where the explorer did not decide, the target is the value of the next position.
            alone = rows[np.isnan(targets[rows])]
            targets[alone] = self.worth(batch.states[alone])
            self.buffer.add({"seen": seen, "targets": targets[rows]})
        batch.reset()
        return decisions

    def action_values(
        self, states: np.ndarray, players: np.ndarray, joint: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        """Return each legal action's value to its player, given the other player's choice: float64 (n, num_actions).

        Args:
            states: structured (n,); not changed.
            players: int64 (n,).
            joint: int64 (n, 2), the choices of both players.
            masks: bool (n, num_actions), the players' legal actions.
        """
        values, (rows, actions) = np.zeros(masks.shape), np.nonzero(masks)
        children, choices = states[rows], joint[rows]
        choices[np.arange(len(rows)), players[rows]] = actions
        if len(rows):
            self.game.loops.step_rows(children, np.arange(len(rows)), choices)
            values[rows, actions] = np.where(players[rows] == 0, 1, -1) * self.worth(children)
        return values

    def worth(self, states: np.ndarray) -> np.ndarray:
        """Return the values of states to player 0, float32 (n,): rewards of finished games, else estimates."""
        rewards = states["rewards"][:, 0].astype(np.float32)
        going = np.flatnonzero(~states["done"])
        if len(going):
            rewards[going] = _outputs(self.slow_values, _by_both(self.game, states[going]), "value")[:, 0]
        return rewards

    def _draw(self, policy: np.ndarray) -> np.ndarray:
        cumulated = policy.cumsum(axis=1)
        return np.asarray((cumulated > self.generator.random((len(policy), 1)) * cumulated[:, -1:]).argmax(axis=1))

    def _learn(self, rate: float) -> None:
        n, generator = self.config.batch, self.generator
        for name, reservoir in self.reservoirs.items():
            some = reservoir.sample(n, generator)
            observations, masks, wanted = some["observations"].float(), some["masks"], some["wanted"]
            if name == "regrets":
                losses = ((self.networks[name](observations)["q"] - wanted).square() * masks).sum(dim=1)
            else:
                losses = -(wanted * masked(self.networks[name](observations)["policy"], masks)).sum(dim=1)
            self._descend(name, (losses * some["weights"]).sum() / some["weights"].sum(), rate)
        rows = self.buffer.sample(n, generator)
        values = self.networks["values"](torch.from_numpy(rows["seen"].astype(np.float32)))["value"][:, 0]
        self._descend("values", (values - torch.from_numpy(rows["targets"])).square().mean(), rate)
        with torch.no_grad():
            for slow, latest in zip(self.slow_values.parameters(), self.networks["values"].parameters(), strict=True):
                slow.lerp_(latest, _TARGET_SHARE)

    def _descend(self, name: str, loss: torch.Tensor, rate: float) -> None:
        network, optimizer = self.networks[name], self.optimizers[name]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        self.numbers.update({f"train/{name}_loss": float(loss.detach()), "train/learning_rate": rate})


def _even(network: TorchNetwork) -> TorchNetwork:
    """Return the network with a head of zeros, so that its policy is uniform."""
    for head in network.heads.values():
        for each in head.parameters():
            torch.nn.init.zeros_(each)
    return network


def _outputs(network: TorchNetwork, observations: np.ndarray, head: str) -> np.ndarray:
    with torch.inference_mode():
        return np.asarray(network(torch.from_numpy(observations.astype(np.float32)))[head].numpy())


def _seen(game: Game, states: np.ndarray, players: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return game.observations(states, players, check=False), game.masks(states, players, check=False)


def _by_both(game: Game, states: np.ndarray) -> np.ndarray:
    """Return the concatenated observations of both players: int8 (n, 2 * size)."""
    return np.concatenate([game.observations(states, player, check=False) for player in (0, 1)], axis=1)


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Raises the errors of `train_self_play`."""
    return train_self_play(config, NAME, Escher)
