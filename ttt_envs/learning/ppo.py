"""Train an agent by self-play: MaskablePPO (sb3-contrib) on many games at once.

The learner plays one seat of each game, and the seats alternate. The current learner, its past snapshots and fixed
agents play the other seats inside the environment's `step`; a game draws its opponent when it starts.
network.safetensors contains the latest policy and its value network; agents.load("network:runs/x") plays the policy.
The folder is updated after every rollout, so an interrupt loses at most the current rollout.

If optimal play is mixed, self-play alone does not converge to it: each policy learns to beat the previous one. With an
entropy bonus it converges toward a quantal response equilibrium, which approaches a Nash equilibrium as the bonus
decreases; with --entropy-final the bonus decreases during the run.

Sources: Schulman et al., "Proximal policy optimization algorithms", 2017. Action masking: Huang and Ontanon, "A closer
look at invalid action masking in policy gradient algorithms", 2022. Entropy in self-play: Sokota et al., "A unified
approach to reinforcement learning, quantal response equilibria, and two-player zero-sum games", ICLR 2023; it suggests
the entropy bonus for another algorithm.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import KVWriter, Logger

from ttt_envs.agents.network_agents import NetworkAgent
from ttt_envs.agents.networks import NetworkInfo, save_network
from ttt_envs.agents.random import RandomAgent
from ttt_envs.agents.torch_policy import PolicyAgent
from ttt_envs.core.game import Game
from ttt_envs.core.observation_layout import MOST_HISTORY
from ttt_envs.core.rng import fold
from ttt_envs.learning.opponents import OpponentPool
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import Interrupts, Learner, train_rounds
from ttt_envs.learning.runs.measurements import MEASURES
from ttt_envs.learning.runs.settings import Result, SelfPlay, Share, Within, check_sizes
from ttt_envs.learning.torch_networks import Logits, load_torch_network
from ttt_envs.wrappers.sb3 import SB3PlayerEnv

NAME = "ppo"

#: The largest number of decisions in a rollout of all games.
MOST_DECISIONS = 10**7


@dataclass(frozen=True, kw_only=True)
class Config(SelfPlay):
    """Settings of a PPO run; the defaults are tuned for one core."""

    #: Every rollout.
    save_every: ClassVar[int] = 1

    out: Path = Path("runs/ppo")
    """Run folder."""
    num_envs: Annotated[int, Within(1, 10**6)] = 512
    """Games that run side by side."""
    rollout: Annotated[int, Within(1, 10**6)] = 16
    """Decisions of the learner in each game between two updates."""
    batch: Annotated[int, Within(2, 10**9)] = 1024
    """Decisions in a gradient step."""
    epochs: Annotated[int, Within(1, 10**6)] = 2
    """Passes over each rollout."""
    learning_rate: Annotated[float, Within(0.0, 1e3)] = 1e-3
    """Learning rate of Adam."""
    anneal: bool = False
    """Decrease the learning rate to zero, linearly over --steps."""
    entropy: Annotated[float, Within(0.0, 1e6)] = 0.002
    """Weight of the entropy bonus. Where optimal play is mixed, self-play needs a large one, such as 0.2."""
    entropy_final: Annotated[float | None, Within(0.0, 1e6)] = None
    """Weight of the entropy bonus at the end, approached linearly over --steps; None keeps it constant."""
    gamma: Share = 0.99
    """Discount factor for each decision."""
    gae_lambda: Share = 0.95
    """Lambda of generalised advantage estimation."""
    hidden: tuple[int, ...] = (128, 128)
    """Sizes of the hidden layers, of the policy and of the value network alike."""
    history: Annotated[int, Within(0, MOST_HISTORY)] = 0
    """Number of the learner's last decisions in an observation, what was seen and chosen, for a policy that remembers.
    Its mistakes and its exploitability cannot be measured."""
    symmetric: bool = False
    """Measure the policy averaged over the board's symmetries: network:OUT,symmetric=true. This is stronger in
    games in which mirrored positions are equally likely, such as after deals and rolls, and can be weaker in others."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for an invalid value."""
        super().check()
        if self.num_envs * self.rollout < 2:
            raise ValueError("num_envs * rollout must be at least 2, or there is nothing to average over")
        if self.num_envs * self.rollout > MOST_DECISIONS:
            raise ValueError(f"num_envs * rollout must be at most {MOST_DECISIONS:,}, which are kept in memory")
        check_sizes(hidden=self.hidden)
        if self.history:
            for name in ("symmetric", *(e.setting for e in MEASURES.values() if not e.with_history)):
                if getattr(self, name):
                    raise ValueError(f"{name} is for history=0, not {self.history}")


class ActorNet(torch.nn.Module):
    """The policy network inside an SB3 policy; its weights change while the policy learns."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self._policy = [policy]  # in a list, so that torch does not count its parameters twice

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Map observations, float32 (n, inputs), to the policy's logits (n, actions)."""
        policy = self._policy[0]
        logits: torch.Tensor = policy.action_net(policy.mlp_extractor.forward_actor(observations))
        return logits


def make_model(config: Config, game: Game, done: Callable[[int], float] | None = None) -> MaskablePPO:
    """Return an untrained MaskablePPO with its games. Their opponents are random; the caller may replace them.

    `done`: (number of steps) -> finished share of the training; by default the share of `config.steps`.
    """

    def learning_rate(_: float) -> float:
        steps = model.num_timesteps
        share = min(steps / config.steps, 1.0) if done is None else done(steps)
        return config.learning_rate * (1 - share if config.anneal else 1.0)

    model = MaskablePPO(
        "MlpPolicy",
        SB3PlayerEnv(game, config.num_envs, opponent=RandomAgent(), history=config.history),
        seed=config.seed,
        device="cpu",
        n_steps=config.rollout,
        batch_size=min(config.batch, config.num_envs * config.rollout),
        n_epochs=config.epochs,
        learning_rate=config.learning_rate,
        ent_coef=config.entropy,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        policy_kwargs={
            "net_arch": {"pi": list(config.hidden), "vf": list(config.hidden)},
            "activation_fn": torch.nn.ReLU,
        },
    )
    model.lr_schedule = learning_rate
    return model


class Numbers(KVWriter, dict[str, float]):
    """The latest figures that SB3 logs, by name."""

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Keep those values that are numbers, except the speed, which the loop measures."""
        for name, value in key_values.items():
            if isinstance(value, (int, float, np.number)) and not name.startswith("time/"):
                self[name] = float(value)

    def close(self) -> None:
        """Nothing is open."""


def parts_of(model: MaskablePPO) -> checkpoint.Parts:
    """Return the parts of the model that a resumed run needs."""
    return {"policy": model.policy, "optimizer": model.policy.optimizer}


def network_of(model: MaskablePPO, config: Config, game: Game) -> tuple[NetworkInfo, dict[str, np.ndarray]]:
    """Return the policy and value networks as arguments for `save_network`. With more than two sides, return only the
    policy: a network file has a value for every player, but PPO learns only one player's.
    """
    info = NetworkInfo(
        game=game.id,
        options=dict(game.options),
        kind="policy+value" if len(game.teams) == 2 else "policy",
        inputs=int(np.prod(model.observation_space.shape or (1,))),
        actions=game.num_actions,
        hidden=config.hidden,
        steps=model.num_timesteps,
        separate=True,
        history=config.history,
    )
    # SB3 also numbers the activation functions, so SB3's number for hidden layer k is 2 * k.
    tensors = model.policy.state_dict()
    names = {"heads.policy": "action_net", "heads.value": "value_net"}
    for head in info.heads:
        for k in range(len(config.hidden)):
            names[f"bodies.{head}.{k}"] = f"mlp_extractor.{head}_net.{2 * k}"
    parts = {name: name.rpartition(".") for name in info.shapes()}
    return info, {name: tensors[f"{names[layer]}.{end}"].numpy() for name, (layer, _, end) in parts.items()}


def read_snapshot(path: Path) -> PolicyAgent:
    """Load a snapshot as an agent, to be used as an opponent."""
    network = load_torch_network(path)
    return PolicyAgent(Logits(network), history=network.info.history)


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C).

    Sets one thread in torch, and the seeds that SB3 sets, for the whole process.

    Raises the errors of `checkpoint.opened`, and ValueError for an agent that cannot play the game or a metric that
    cannot be measured in it.
    """
    with checkpoint.opened(config, NAME) as this:
        return _train(this, config)


def _train(this: checkpoint.Run, config: Config) -> Result:
    game, folder = this.game, this.folder
    torch.set_num_threads(1)  # small networks get slower with more
    model = make_model(config, game, this.done)
    model.num_timesteps = start = this.restore(parts_of(model))
    # The seed includes `start`, the steps so far: a resumed run does not repeat its first games.
    stream = int(fold(np.uint64(config.seed), np.uint64(start))) % 2**32
    model.env.seed(stream)  # type: ignore[union-attr]
    torch.manual_seed(stream)

    # Two agents with the learner's policy: its own opponent in training, and the agent that is measured.
    actor = ActorNet(model.policy)
    current = PolicyAgent(actor, history=config.history)
    measured = PolicyAgent(actor, symmetric=config.symmetric, history=config.history)

    opponents = OpponentPool(game, config, current, read_snapshot)

    def exchange() -> None:
        model.env.set_opponents(opponents.pool())  # type: ignore[union-attr]

    if config.resume and start < config.steps:
        exchange()
    interrupts, numbers, rollout = Interrupts(), Numbers(), config.num_envs * config.rollout
    model.set_logger(Logger(None, [numbers]))

    def go_on(*_: Any) -> bool:
        """Check for an interrupt during a rollout; the policy is saved and does not change before its end."""
        interrupts.check()
        return True

    def one_round(steps: int) -> int:
        """Make one rollout and its updates."""
        if config.entropy_final is not None:
            share = this.done(steps + rollout)
            model.ent_coef = config.entropy + share * (config.entropy_final - config.entropy)
        model.learn(rollout, callback=go_on, reset_num_timesteps=False)
        model.logger.dump()  # SB3 keeps the numbers of an update until the next one
        return rollout

    learner = Learner(
        one_round=one_round,
        write=lambda path, steps: save_network(path, *network_of(model, config, game)),
        agent=lambda steps: measured,
        parts=parts_of(model),
        plays_as=f"network:{folder}{',symmetric=true' if config.symmetric else ''}",
        numbers=numbers,
        average=lambda: NetworkAgent(folder, symmetric=config.symmetric, average=0.5),
        exchange=exchange,
        interrupts=interrupts,
    )
    return train_rounds(this, learner)
