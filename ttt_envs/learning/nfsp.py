"""Learn an equilibrium by neural fictitious self-play: a best response to the average of all best responses so far.

    ttt train nfsp GAME --steps 3000000 --out runs/x

Two networks learn. One learns values of actions by masked double DQN, and plays a best response. The other learns by
imitation what the best response has done, over the whole run alike, from a reservoir: it is the average of fictitious
play, which converges to an equilibrium, and what is measured and kept. The best response has one seat of each game; the
other one is played by the average, and in a share --anticipation of the games by the best response itself. It is for
two players, who may move at once and have hidden information. The run folder holds:

    config.json            the settings, the command, versions of libraries, wall time so far
    network.safetensors    the average policy: agents.load("network:runs/x")
    resume.safetensors     what --resume needs: networks, optimisers, the reservoir; the replay buffer fills anew
    curve.csv, .png        score against the evaluation agents
    regret.csv, .png       loss of its decisions against best play, with --regret-games
    exploitability.csv, .png   what a best response wins against it, with --exploitability-every
    log.jsonl, tensorboard/    losses and metrics over steps and wall time

Source: Heinrich and Silver, "Deep reinforcement learning from self-play in imperfect-information games", 2016. There
both players learn in each game, and the average plays their seats too; what it does there is left out here.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch

from ttt_envs.agents import Agent
from ttt_envs.agents.networks import NetworkInfo, save_network
from ttt_envs.agents.torch_policy import PolicyAgent
from ttt_envs.learning import checkpoint, dqn
from ttt_envs.learning.dqn import EpsilonGreedy, SeatLearner
from ttt_envs.learning.loop import Learner, train_rounds
from ttt_envs.learning.policy_gradient import masked, two_players
from ttt_envs.learning.reservoir import Reservoir, of_decisions
from ttt_envs.learning.settings import Result, Settings, Share, Steps, Within, check_sizes
from ttt_envs.learning.torch_networks import Logits, TorchNetwork
from ttt_envs.wrappers.self_play import PlayerGames

NAME = "nfsp"


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of neural fictitious self-play."""

    out: Path = Path("runs/nfsp")
    """Run folder."""
    num_envs: Annotated[int, Within(1, 2**20)] = 128
    """Games that run side by side."""
    anticipation: Share = 0.1
    """Share of the games in which the other player is the best response, and not the average."""
    buffer: Annotated[int, Within(1, 10**9)] = 20_000
    """Latest decisions that the best response learns from."""
    reservoir: Annotated[int, Within(1, 10**8)] = 400_000
    """Decisions of all best responses so far that the average learns from, drawn evenly."""
    batch: Annotated[int, Within(1, 2**24)] = 128
    """Decisions in a gradient step of either network."""
    updates: Annotated[int, Within(1, 10**6)] = 2
    """Gradient steps of either network for each decision in all games."""
    learning_rate: Annotated[float, Within(0.0, 1e3)] = 3e-3
    """Learning rate of Adam of the best response, decreased linearly over --steps to a tenth."""
    average_rate: Annotated[float, Within(0.0, 1e3)] = 1e-3
    """Learning rate of the average policy, decreased likewise."""
    target_share: Share = 0.05
    """Share by which the target network of the best response moves to its online network at each gradient step."""
    exploration: Share = 0.1
    """Share of random actions of the best response at first, decreased linearly over --steps to nothing."""
    gamma: Share = 1.0
    """Discount factor for each decision."""
    hidden: tuple[int, ...] = (128, 128)
    """Sizes of the hidden layers, of both networks."""
    save_every: Steps = 100_000
    """Decisions between two updates of the run folder."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for a value that makes no sense."""
        super().check()
        self.of_best_response().check()
        check_sizes(hidden=self.hidden)

    def of_best_response(self) -> dqn.Config:
        """The settings that double Q-learning takes."""
        shared = (
            "num_envs",
            "buffer",
            "batch",
            "updates",
            "learning_rate",
            "gamma",
            "hidden",
            "target_share",
            "seed",
            "seeds",
        )
        given = {name: getattr(self, name) for name in shared}
        return dqn.Config(game=self.game, options=self.options, warm_up=1000, **given)


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Sets torch's seed and number of threads (one).

    Raises what `checkpoint.opened` does, and ValueError for a game that is not of two players.
    """
    with checkpoint.opened(config, NAME) as this:
        return _train(this, config)


def _train(this: checkpoint.Run, config: Config) -> Result:
    """Train in a folder that is locked."""
    game, folder = config.load(), config.out
    two_players(game, NAME)
    torch.set_num_threads(1)  # small networks get slower with more
    torch.manual_seed(config.seed)
    size, actions = game.observation_size, game.num_actions
    info = NetworkInfo(game.id, dict(game.options), "policy", size, actions, config.hidden, 0)
    average, best = TorchNetwork(info), EpsilonGreedy(TorchNetwork(replace(info, kind="q")))
    responding, reservoir = (
        SeatLearner(best, config.of_best_response()),
        Reservoir(config.reservoir, of_decisions(game, actions=((), torch.int64))),
    )
    optimizer = torch.optim.Adam(average.parameters(), lr=config.average_rate)
    parts: checkpoint.Parts = {
        **responding.parts,
        "average": average,
        "average_optimizer": optimizer,
        "reservoir": reservoir,
    }
    start = checkpoint.restore(folder, parts) if config.resume else 0
    # Seeds depend on the start, so that a resumed run does not replay the games of its beginning.
    generator = np.random.default_rng([config.seed, start])
    opponents = {PolicyAgent(Logits(average)): 1 - config.anticipation, best: config.anticipation}
    weights: dict[Agent, float] = {agent: weight for agent, weight in opponents.items() if weight}
    games = PlayerGames(game, config.num_envs, opponent=weights, seed=int(generator.integers(2**63)))
    games.reset()
    responding.enter(games, generator)

    def one_round(steps: int) -> int:
        """One decision in each game, and what both networks learn from it."""
        left = max(1 - steps / config.steps, 0.0)
        played = responding.round(config.exploration * left, config.learning_rate * max(left, 0.1))
        observations, masks, actions = responding.replay.latest()
        reservoir.add({"observations": observations, "masks": masks, "actions": actions}, generator)
        for _ in range(config.updates):
            some = reservoir.sample(config.batch, generator)
            log_probs = masked(average(some["observations"].float())["policy"], some["masks"])
            loss = -log_probs.gather(1, some["actions"][:, None]).mean()
            for group in optimizer.param_groups:
                group["lr"] = config.average_rate * max(left, 0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        responding.numbers["train/average_loss"] = float(loss.detach())
        return played

    learner = Learner(
        one_round=one_round,
        write=lambda path, steps: save_network(path, replace(info, steps=steps), average.tensors()),
        agent=lambda steps: PolicyAgent(Logits(average)),
        parts=parts,
        plays_as=f"network:{folder}",
        numbers=responding.numbers,
    )
    return train_rounds(this, game, start, learner)
