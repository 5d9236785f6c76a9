"""Train an agent by self-play: MaskablePPO (sb3-contrib) on many games at once.

    python -m training.ppo --game super_tic_tac_toe --steps 3000000 --out runs/x

The learner owns one seat of each game and the seats alternate. The others are played, inside `step`, by its current
self, by its past snapshots and by fixed agents; a game's opponent is drawn when the game starts. The run folder holds

    config.json            all settings
    policy.safetensors     the latest policy: agents.load("ppo:runs/x")
    resume.safetensors     what --resume needs: the policy, the optimiser, the counters
    snapshots/             past policies
    curve.csv, curve.png   score against the evaluation agents on the way
    regret.csv, regret.png what it loses against best play on the way, with --regret-games and an oracle
    exploitability.csv, .png what a best response wins against it on the way, with --exploitability-every
    tensorboard/           losses and scores: tensorboard --logdir runs

Where best play is mixed, self-play alone does not find it: each policy is answered by another that can be answered. A
weight on entropy draws it to a quantal response equilibrium instead, which is nearer to a Nash equilibrium the less the
weight; --entropy-final lets it fall.

It is brought up to date after every rollout, so an interrupt at any moment loses at most the rollout in hand.
Source: Schulman et al., "Proximal policy optimization algorithms", 2017; action masking: Huang and Ontanon, "A closer
look at invalid action masking in policy gradient algorithms", 2022; entropy in self-play: Sokota et al., "A unified
approach to reinforcement learning, quantal response equilibria, and two-player zero-sum games", ICLR 2023, of which
this has the idea, and not the algorithm.
"""

import csv
import io
import json
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.policy import (
    ACTIVATIONS,
    BadPolicyFile,
    PolicyAgent,
    PolicyInfo,
    load_policy,
    network,
    read_tensors,
    save_policy,
    write_tensors,
)
from ttt_envs.agents.ppo import PPO
from ttt_envs.agents.random import RandomAgent
from ttt_envs.cli.shell import python
from ttt_envs.core.files import write_whole
from ttt_envs.core.game import Game
from ttt_envs.core.options import choice, whole
from ttt_envs.core.rng import fold
from ttt_envs.evaluation.exploitability import Measurement, tree_for
from ttt_envs.evaluation.exploitability import measure as measure_exploitability
from ttt_envs.evaluation.play import game_seeds, play_games
from ttt_envs.evaluation.regret import measure, oracle_of
from ttt_envs.registry import parse_options
from ttt_envs.solvers.sequence import Tree
from ttt_envs.wrappers.sb3 import SB3SeatEnv


@dataclass(frozen=True)
class Config:
    """Settings of a training run; the defaults are tuned for one core."""

    game: str = next(iter(ttt_envs.GAMES))
    """Id of the game."""
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An option of the game, as name=value; may be repeated."""
    steps: int = 3_000_000
    """Decisions of the learner to train on, in all."""
    out: Path = Path("runs/ppo")
    """Run folder."""
    resume: bool = False
    """Go on with the run in the folder: its own settings hold, but for --steps."""
    seed: int = 0
    """Fixes everything that is random."""
    games: int = 512
    """Games played at once."""
    rollout: int = 16
    """Decisions of the learner in each game between two updates."""
    batch: int = 1024
    """Decisions in a gradient step."""
    epochs: int = 2
    """Times that a rollout is gone through."""
    learning_rate: float = 1e-3
    """Of Adam."""
    anneal: bool = False
    """Let the learning rate fall to zero, linearly over --steps: a last polish, after which going on gains little."""
    entropy: float = 0.002
    """Weight of the entropy bonus. Where players must mix, self-play without a large one, 0.2, goes in circles."""
    entropy_final: float | None = None
    """Weight of the entropy bonus at the end, toward which it falls or rises linearly over --steps; None: no change."""
    gamma: float = 0.99
    """Discount a decision."""
    gae_lambda: float = 0.95
    """Of generalised advantage estimation."""
    hidden: tuple[int, ...] = (128, 128)
    """Sizes of the hidden layers, of policy and value alike."""
    activation: str = "relu"
    """relu or tanh."""
    encoding: str = "flat"
    """flat or planes."""
    self_weight: float = 0.6
    """Share of games against the current self."""
    past_weight: float = 0.2
    """Share of games against past snapshots, once there are any."""
    past: int = 6
    """Snapshots played against at a time, spread evenly over the past."""
    snapshot_every: int = 200_000
    """Decisions between two snapshots."""
    fixed: tuple[str, ...] = ("random",)
    """Agents that play the remaining share of the games."""
    eval_every: int = 500_000
    """Decisions between two evaluations."""
    eval_agents: tuple[str, ...] = ("random", "greedy")
    """Agents to be evaluated against."""
    eval_games: int = 200
    """Games of an evaluation against each agent, shared out over the seats."""
    symmetric: bool = False
    """Evaluate the policy averaged over the board's symmetries, which is stronger: ppo:OUT,symmetric=true."""
    regret_games: int = 0
    """Games of an evaluation on which regret is measured, the learner in all seats; 0 for none. Needs an oracle."""
    exploitability_every: int = 0
    """Decisions between two measurements of exploitability, of the policy and of the average of the latest half of its
    snapshots; 0 for none. Needs a game in which `ttt_envs.evaluation.exploitability` can measure."""
    exploitability_starts: int = 20
    """Starts of the game that it is measured from, always the same ones, where it is not measured for all at once."""
    quiet: bool = False
    """Print nothing."""

    def check(self) -> None:
        """ValueError in words for settings that make no sense."""
        at_least = {
            "steps": 1,
            "games": 1,
            "rollout": 1,
            "batch": 2,
            "epochs": 1,
            "past": 1,
            "snapshot_every": 1,
        }
        for name, low in {**at_least, "eval_every": 1, "eval_games": 2}.items():
            if getattr(self, name) < low:
                raise ValueError(f"{name} must be at least {low}, not {getattr(self, name)}")
        if self.exploitability_every < 0:
            raise ValueError(f"exploitability_every must be at least 0, not {self.exploitability_every}")
        if self.exploitability_starts < 2:
            raise ValueError(
                f"exploitability_starts must be at least 2, for an interval, not {self.exploitability_starts}"
            )
        for name in ("entropy", "entropy_final"):
            if not 0 <= (getattr(self, name) or 0) < np.inf:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}")
        if self.regret_games and self.regret_games < 2:
            raise ValueError(f"regret_games must be 0, or at least 2 for an interval, not {self.regret_games}")
        if self.games * self.rollout < 2:
            raise ValueError("games * rollout must be at least 2, or there is nothing to average over")
        if min(self.self_weight, self.past_weight) < 0 or self.self_weight + self.past_weight > 1:
            raise ValueError(
                f"self_weight and past_weight must be at least 0 and at most 1 together, "
                f"not {self.self_weight} and {self.past_weight}"
            )
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"hidden must be one or more sizes of at least 1, not {self.hidden}")
        choice("activation", self.activation, tuple(ACTIVATIONS))
        whole("seed", self.seed, 0, 2**32 - 1)


@dataclass
class Evaluation:
    """Results against one agent: shares of games, and the mean score with the half width of its 95 % interval."""

    steps: int
    agent: str
    win: float
    draw: float
    loss: float
    score: float
    half_width: float


@dataclass
class Regret:
    """What the learner's decisions lose against best play; see `ttt_envs.evaluation.regret.Measurement`."""

    steps: int
    per_game: float
    per_game_half_width: float
    per_decision: float
    per_decision_half_width: float
    mistakes: float
    measured: float


@dataclass
class Exploited:
    """What a best response wins on average over both seats; see `ttt_envs.evaluation.exploitability.Measurement`.

    Attributes:
        steps: decisions trained on.
        policy: against the policy.
        policy_half_width: of its 95 % interval; 0 if it is exact.
        average: against the average of the latest half of the snapshots so far, see `ttt_envs.agents.ppo.PPO`.
        average_half_width: as above.
        snapshots: how many these are.
    """

    steps: int
    policy: float
    policy_half_width: float
    average: float
    average_half_width: float
    snapshots: int


@dataclass
class Result:
    """What a run gives back.

    Attributes:
        folder: the run folder.
        steps: decisions trained on, earlier runs included.
        steps_per_second: of this run, evaluation left out.
        evaluations: all of them, earlier runs included.
        finished: False if it was interrupted.
        regrets: all of them, earlier runs included.
        exploited: measurements of exploitability, all of them, earlier runs included.
    """

    folder: Path
    steps: int
    steps_per_second: float
    evaluations: list[Evaluation] = field(default_factory=list)
    finished: bool = True
    regrets: list[Regret] = field(default_factory=list)
    exploited: list[Exploited] = field(default_factory=list)


class ActorNet(torch.nn.Module):
    """The policy network inside an SB3 policy: follows it while it learns."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self._policy = [policy]  # in a list, so that its parameters are not taken for ours

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """float32 (n, inputs) -> logits (n, actions)."""
        policy = self._policy[0]
        logits: torch.Tensor = policy.action_net(policy.mlp_extractor.forward_actor(observations))
        return logits


def evaluate(
    game: Game, agent: agents.Agent, opponents: Mapping[str, agents.Agent], games: int, seed: int, steps: int
) -> list[Evaluation]:
    """Play `agent` against each opponent, as every side equally often and from the same seeds."""
    found = []
    for name, opponent in opponents.items():
        repeats = max(games // len(game.teams), 1)
        seats = np.ones((len(game.teams), game.num_players), np.int64)
        for side, team in enumerate(game.teams):
            seats[side, list(team)] = 0
        first = np.repeat([team[0] for team in game.teams], repeats)
        seeds = np.tile(game_seeds(seed, repeats), len(game.teams))
        played = play_games(game, [agent, opponent], np.repeat(seats, repeats, axis=0), seeds)
        rewards = played.rewards[np.arange(len(first)), first]
        score = (1 + np.sign(rewards)) / 2
        found.append(
            Evaluation(
                steps,
                name,
                win=float((rewards > 0).mean()),
                draw=float((rewards == 0).mean()),
                loss=float((rewards < 0).mean()),
                score=float(score.mean()),
                half_width=float(1.96 * score.std() / np.sqrt(len(score))),
            )
        )
    return found


def evaluate_regret(game: Game, agent: agents.Agent, games: int, seed: int, steps: int) -> Regret:
    """Let `agent` play itself, and measure what its decisions lose."""
    found = measure(game, agent, games=games, seed=seed)
    return Regret(steps, *(getattr(found, each.name) for each in fields(Regret)[1:]))


class Interrupts:
    """Within it, in the main thread, SIGINT and SIGTERM are noted, and `check` raises KeyboardInterrupt.

    Raised by the signal itself it could fall into a callback of a weak reference, where Python drops exceptions. A
    second signal does not wait for `check`.
    """

    def __init__(self) -> None:
        self.asked = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, *_: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal came."""
        if self.asked:
            raise KeyboardInterrupt


class Keeper(BaseCallback):
    """Between two rollouts: saves, takes snapshots, exchanges opponents, evaluates, shows progress."""

    def __init__(
        self,
        config: Config,
        game: Game,
        console: Console,
        progress: Progress,
        interrupts: Interrupts,
        tree: Tree | None,
    ) -> None:
        """`tree`: of the game, if exploitability is to be measured by it."""
        super().__init__()
        self.tree = tree
        self.interrupts = interrupts
        self.config = config
        self.game = game
        self.console = console
        self.progress = progress
        self.fixed = [agents.load(spec) for spec in config.fixed]
        self.eval_agents = {spec: agents.load(spec) for spec in config.eval_agents}
        self.evaluations: list[Evaluation] = read_curve(config.out / "curve.csv")
        self.regrets: list[Regret] = read_regret(config.out / "regret.csv")
        self.exploited: list[Exploited] = read_exploited(config.out / "exploitability.csv")
        self.frozen: dict[Path, PolicyAgent] = {}
        self.saved_steps = -1
        self.training_seconds = 0.0
        self.task = progress.add_task("training", total=config.steps, speed="")

    def _on_training_start(self) -> None:
        actor = ActorNet(self.model.policy)
        self.me = PolicyAgent(actor, self.config.encoding)
        self.candidate = PolicyAgent(actor, self.config.encoding, symmetric=self.config.symmetric)
        self.start = self.num_timesteps
        self.clock = time.perf_counter()

    def _on_step(self) -> bool:
        self.interrupts.check()
        return True

    def _on_rollout_end(self) -> None:
        config = self.config
        if config.entropy_final is not None:
            share = min(self.num_timesteps / config.steps, 1.0)
            assert isinstance(self.model, MaskablePPO)
            self.model.ent_coef = config.entropy + share * (config.entropy_final - config.entropy)

    def _on_rollout_start(self) -> None:
        now = time.perf_counter()
        self.training_seconds += now - self.clock
        self.keep()
        self.clock = time.perf_counter()

    def _on_training_end(self) -> None:
        self.training_seconds += time.perf_counter() - self.clock
        self.keep(last=True)
        self.logger.dump(self.num_timesteps)  # SB3 writes before it updates: the last scores would be lost

    def keep(self, last: bool = False) -> None:
        """Bring the run folder up to date with the policy after its last update."""
        steps, config = self.num_timesteps, self.config
        if steps == self.saved_steps:
            return
        if due(steps, self.saved_steps, config.eval_every) or last:
            self.evaluate()
        info = PolicyInfo(
            game=self.game.id,
            options=dict(self.game.options),
            encoding=config.encoding,
            inputs=int(np.prod(self.training_env.observation_space.shape or (1,))),
            actions=self.game.num_actions,
            hidden=config.hidden,
            activation=config.activation,
            steps=steps,
        )
        tensors = self.model.policy.state_dict()
        assert isinstance(self.model, MaskablePPO)
        save_resume(config.out / "resume.safetensors", self.model, steps)
        save_policy(config.out / "policy.safetensors", info, tensors)
        if due(steps, self.saved_steps, config.snapshot_every):
            save_policy(config.out / "snapshots" / f"{steps:012d}.safetensors", info, tensors)
            self.exchange_opponents()
        every = config.exploitability_every
        measures = every and (due(steps, self.saved_steps, every) or last)
        self.saved_steps = steps
        speed = (steps - self.start) / self.training_seconds if self.training_seconds else 0.0
        self.progress.update(self.task, completed=min(steps, config.steps), speed=f"{speed:,.0f} decisions/s")
        if measures:
            self.measure_exploitability()

    def exchange_opponents(self) -> None:
        """The current self, snapshots spread evenly over the past, and the fixed agents; for games yet to start."""
        config = self.config
        paths = sorted((config.out / "snapshots").glob("*.safetensors"))
        chosen = [paths[k] for k in np.unique(np.linspace(0, len(paths) - 1, min(config.past, len(paths))).astype(int))]
        self.frozen = {path: self.frozen.get(path) or freeze(path) for path in chosen}
        fixed_weight = 1 - config.self_weight - config.past_weight if self.fixed else 0.0
        past = list(self.frozen.values())
        pool: list[Any] = [self.me, *past, *self.fixed]
        weights = [config.self_weight, *[config.past_weight / len(past)] * len(past)]
        weights += [fixed_weight / max(len(self.fixed), 1)] * len(self.fixed)
        if sum(weights) <= 0:
            weights[0] = 1.0
        self.training_env.set_opponents(pool, weights)  # type: ignore[attr-defined]

    def evaluate(self) -> None:
        """Play against the evaluation agents; add to the curve."""
        found = evaluate(
            self.game, self.candidate, self.eval_agents, self.config.eval_games, self.config.seed, self.num_timesteps
        )
        self.evaluations = [e for e in self.evaluations if e.steps < self.num_timesteps] + found
        for e in found:
            self.logger.record(f"eval/{e.agent}", e.score)
        write_curve(self.config.out / "curve.csv", self.evaluations)
        draw_curve(self.config.out / "curve.png", self.evaluations, self.game)
        words = "   ".join(f"{e.agent}: {e.win:.0%} won, {e.draw:.0%} drawn, {e.loss:.0%} lost" for e in found)
        if self.config.regret_games:
            words += f"   {self.evaluate_regret()}"
        self.console.print(f"{self.num_timesteps:>11,} decisions   {words}", highlight=False, soft_wrap=True)

    def evaluate_regret(self) -> str:
        """Measure regret; add to its curve. Gives it in words."""
        config, steps = self.config, self.num_timesteps
        found = evaluate_regret(self.game, self.candidate, config.regret_games, config.seed, steps)
        self.regrets = [each for each in self.regrets if each.steps < steps] + [found]
        write_rows(config.out / "regret.csv", Regret, self.regrets)
        draw_regret(config.out / "regret.png", self.regrets, self.game)
        if not found.measured:
            return "regret: not known of any decision"
        self.logger.record("eval/regret", found.per_game)
        words = f"{found.per_game:.3f} ± {found.per_game_half_width:.3f}"
        if found.measured < 1:
            return f"regret a game: at least {words}, {found.measured:.1%} of decisions measured"
        return f"regret a game: {words}"

    def measure_exploitability(self) -> None:
        """Measure what best responses win against the policy and the average of its snapshots; add to the curve."""
        config, steps = self.config, self.num_timesteps
        with torch.random.fork_rng(devices=[]):  # new networks draw weights before they are given theirs
            average = PPO(str(config.out), symmetric=config.symmetric, average=0.5)
        of_policy, of_average = (self.exploitability_of(agent) for agent in (self.candidate, average))
        found = Exploited(
            steps,
            of_policy.exploitability,
            of_policy.half_width,
            of_average.exploitability,
            of_average.half_width,
            len(average.nets),
        )
        self.exploited = [each for each in self.exploited if each.steps < steps] + [found]
        write_rows(config.out / "exploitability.csv", Exploited, self.exploited)
        draw_exploited(config.out / "exploitability.png", self.exploited, self.game)
        self.logger.record("eval/exploitability", found.policy)
        self.logger.record("eval/exploitability_of_average", found.average)
        words = [
            f"{r.exploitability:.3f}" + (f" ± {r.half_width:.3f}" if r.starts else "") for r in (of_policy, of_average)
        ]
        self.console.print(
            f"{steps:>11,} decisions   exploitability: {words[0]}, "
            f"of the average of {found.snapshots} snapshots: {words[1]}",
            highlight=False,
            soft_wrap=True,
        )

    def exploitability_of(self, agent: PolicyAgent) -> Measurement:
        """Of one agent; an interrupt ends it early."""

        def tell(share: float) -> None:
            self.interrupts.check()

        config = self.config
        return measure_exploitability(
            self.game, agent, starts=config.exploitability_starts, seed=config.seed, found=self.tree, tell=tell
        )


def due(now: int, before: int, every: int) -> bool:
    """Whether a multiple of `every` lies in (before, now]; a fresh start is due too."""
    return (before < 0 and now == 0) or now // every > max(before, 0) // every


def freeze(path: Path) -> PolicyAgent:
    """A snapshot as an agent."""
    info, tensors = load_policy(path)
    return PolicyAgent(network(info, tensors), info.encoding)


RESUME_FORMAT = "ttt-envs resume 1"


def save_resume(path: Path, model: MaskablePPO, steps: int) -> None:
    """Write policy, optimiser and counters, whole or not at all."""
    tensors = {f"policy.{name}": tensor for name, tensor in model.policy.state_dict().items()}
    for index, state in model.policy.optimizer.state_dict()["state"].items():
        for name, tensor in state.items():
            tensors[f"optimizer.{index}.{name}"] = tensor
    write_tensors(path, RESUME_FORMAT, {"steps": steps}, tensors)


def load_resume(path: Path, model: MaskablePPO) -> None:
    """Put a saved run back into a fresh model; FileNotFoundError, or BadPolicyFile in words."""
    if not path.is_file():
        raise FileNotFoundError(f"nothing to resume: no file {path}")
    facts, tensors = read_tensors(path, RESUME_FORMAT)
    try:
        policy = {k.removeprefix("policy."): v for k, v in tensors.items() if k.startswith("policy.")}
        model.policy.load_state_dict(policy)
        optimizer = model.policy.optimizer
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, tensor in tensors.items():
            if key.startswith("optimizer."):
                _, index, name = key.split(".")
                state.setdefault(int(index), {})[name] = tensor
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        model.num_timesteps = int(facts["steps"])
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise BadPolicyFile(f"{path} is damaged, or does not fit this run's config.json: {error}") from None


Row = TypeVar("Row", Evaluation, Regret, Exploited)


def write_rows(path: Path, kind: type[Row], rows: Sequence[Row]) -> None:
    """Write a curve as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=[each.name for each in fields(kind)])
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    write_whole(path, text.getvalue())


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """The curve of an earlier run; empty if there is none."""
    if not path.is_file():
        return []
    convert: dict[str, Any] = {each.name: each.type for each in fields(kind)}
    with path.open(newline="") as file:
        return [kind(**{name: convert[name](text) for name, text in row.items()}) for row in csv.DictReader(file)]


def write_curve(path: Path, evaluations: list[Evaluation]) -> None:
    """The curve as CSV."""
    write_rows(path, Evaluation, evaluations)


def read_curve(path: Path) -> list[Evaluation]:
    """The curve of an earlier run; empty if there is none."""
    return read_rows(path, Evaluation)


def read_regret(path: Path) -> list[Regret]:
    """The curve of regret of an earlier run; empty if there is none."""
    return read_rows(path, Regret)


def read_exploited(path: Path) -> list[Exploited]:
    """The curve of exploitability of an earlier run; empty if there is none."""
    return read_rows(path, Exploited)


def draw_curve(path: Path, evaluations: list[Evaluation], game: Game) -> None:
    """The curve as PNG."""
    figure, axes = _figure(f"{game.title}: self-play training", "score, all seats (a draw counts half)")
    for agent in dict.fromkeys(e.agent for e in evaluations):
        mine = [e for e in evaluations if e.agent == agent]
        scores, half = np.array([e.score for e in mine]), np.array([e.half_width for e in mine])
        steps = [e.steps for e in mine]
        axes.plot(steps, scores, marker="o", markersize=4, label=f"against {agent}")
        axes.fill_between(steps, scores - half, np.minimum(scores + half, 1), alpha=0.2)
    axes.set_ylim(0, 1.02)
    axes.axhline(0.5, color="grey", linewidth=0.8, linestyle=":")
    if evaluations:
        axes.legend(loc="lower right")
    _save(figure, path)


def draw_regret(path: Path, regrets: list[Regret], game: Game) -> None:
    """The curve of regret as PNG."""
    what = "" if all(each.measured == 1 for each in regrets) else ", of the measured decisions"
    figure, axes = _figure(f"{game.title}: loss against best play", f"regret a game{what} (reward)")
    steps, mean = [each.steps for each in regrets], np.array([each.per_game for each in regrets])
    half = np.array([each.per_game_half_width for each in regrets])
    axes.plot(steps, mean, marker="o", markersize=4, label="the learner in all seats, with 95 % interval")
    axes.fill_between(steps, np.maximum(mean - half, 0), mean + half, alpha=0.2)
    _from_nothing(axes, mean - half, mean)
    axes.legend(loc="upper right")
    _save(figure, path)


def draw_exploited(path: Path, exploited: list[Exploited], game: Game) -> None:
    """The curve of exploitability as PNG."""
    figure, axes = _figure(f"{game.title}: what a best response wins", "exploitability (reward)")
    steps = [each.steps for each in exploited]
    for mean, half, label in (
        ("policy", "policy_half_width", "the policy"),
        ("average", "average_half_width", "the average of the latest half of its snapshots"),
    ):
        values, width = (np.array([getattr(each, name) for each in exploited]) for name in (mean, half))
        axes.plot(steps, values, marker="o", markersize=4, label=label)
        axes.fill_between(steps, np.maximum(values - width, 0), values + width, alpha=0.2)
    means = np.array([[e.policy, e.average] for e in exploited])
    widths = np.array([[e.policy_half_width, e.average_half_width] for e in exploited])
    _from_nothing(axes, means - widths, means)
    axes.legend(loc="upper right")
    _save(figure, path)


def _from_nothing(axes: Any, lowest: np.ndarray, means: np.ndarray) -> None:
    """A scale for a curve that falls toward 0: logarithmic where it falls far, or all but the beginning is flat."""
    from matplotlib.ticker import LogLocator, NullFormatter

    if not (means.size and lowest.min() > 0 and means.max() >= 10 * means.min()):  # also where one is not known
        axes.set_ylim(bottom=0)
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _figure(title: str, ylabel: str) -> tuple[Any, Any]:
    """A figure and its axes, for a curve over decisions."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.set(title=title, xlabel="decisions trained on", ylabel=ylabel)
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.grid(alpha=0.3, which="both")
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_whole(path, picture.getvalue())


def make_model(config: Config, game: Game, seed: int) -> MaskablePPO:
    """An untrained MaskablePPO on `games` games."""
    env = SB3SeatEnv(game, config.games, opponent=RandomAgent(), encoding=config.encoding)
    hidden = list(config.hidden)
    return MaskablePPO(
        "MlpPolicy",
        env,
        seed=seed,
        device="cpu",
        n_steps=config.rollout,
        batch_size=min(config.batch, config.games * config.rollout),
        n_epochs=config.epochs,
        learning_rate=(lambda left: config.learning_rate * max(left, 0.0)) if config.anneal else config.learning_rate,
        ent_coef=config.entropy,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        policy_kwargs={
            "net_arch": {"pi": hidden, "vf": hidden},
            "activation_fn": ACTIVATIONS[config.activation],
        },
    )


def settle(config: Config) -> Config:
    """The settings of a new run, written down; or those of the run to be resumed."""
    path = config.out / "config.json"
    if config.resume:
        if not path.is_file():
            raise FileNotFoundError(f"nothing to resume: no file {path}")
        try:
            saved = json.loads(path.read_text())
            saved = {k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()}
            old = Config(**{**saved, "out": config.out, "resume": True, "quiet": config.quiet})
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        config = Config(**{**asdict(old), "steps": config.steps})
    elif (config.out / "resume.safetensors").exists():
        raise FileExistsError(f"{config.out} holds a run already: add --resume, or choose another folder with --out")
    config.check()
    return config


def train(config: Config) -> Result:
    """Train; returns what happened. An interrupt (Ctrl-C) ends it cleanly.

    Sets for the whole process: one thread and no checks of distributions in torch, and the seeds that SB3 sets.

    Raises:
        ValueError: settings that make no sense, an unknown game, option or agent; regret to be measured without
            oracle, or exploitability in a game where it cannot be.
        FileExistsError: the folder holds a run, and `resume` is not set.
        FileNotFoundError, BadPolicyFile: nothing to resume, or it is damaged.
    """
    config = settle(config)
    game = ttt_envs.load(config.game, **parse_options(config.game, config.option))
    if config.regret_games:
        oracle_of(game)
    tree = tree_for(game, quiet=config.quiet) if config.exploitability_every else None
    torch.set_num_threads(1)  # small networks get slower with more
    torch.distributions.Distribution.set_default_validate_args(False)  # it costs a tenth of the time
    console = Console(quiet=config.quiet)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        console=console,
    )
    model = make_model(config, game, config.seed)
    if config.resume:
        load_resume(config.out / "resume.safetensors", model)
    start = model.num_timesteps
    # A resumed run must not replay the games of its beginning.
    stream = int(fold(np.uint64(config.seed), np.uint64(start)))
    model.env.seed(stream % 2**32)  # type: ignore[union-attr]
    torch.manual_seed(stream % 2**32)
    interrupts = Interrupts()
    keeper = Keeper(config, game, console, progress, interrupts, tree)
    if config.resume:
        keeper.saved_steps = start
    else:
        saved = {**asdict(config), "out": str(config.out)}
        write_whole(config.out / "config.json", json.dumps(saved, indent=2) + "\n")
    model.set_logger(configure(str(config.out / "tensorboard"), ["tensorboard"]))
    finished = start >= config.steps
    try:
        with interrupts, progress:
            if not finished:
                model.learn(config.steps - start, callback=keeper, reset_num_timesteps=False)
        finished = True
    except KeyboardInterrupt:
        finished = False
    steps = max(keeper.saved_steps, 0)
    if finished:
        console.print(
            f"Trained on {steps:,} decisions. The run is in {config.out}; play it as "
            f"ppo:{config.out}{',symmetric=true' if config.symmetric else ''}",
            soft_wrap=True,
        )
    else:
        console.print(
            f"Interrupted; {steps:,} decisions are saved in {config.out}. Go on with:\n"
            f"  {python()} -m training.ppo --resume --out {config.out} --steps {config.steps}",
            soft_wrap=True,
        )
    speed = (steps - start) / keeper.training_seconds if keeper.training_seconds > 0 else 0.0
    return Result(config.out, steps, speed, keeper.evaluations, finished, keeper.regrets, keeper.exploited)


def main() -> None:
    """Command line."""
    config = tyro.cli(Config, description=__doc__)
    try:
        result = train(config)
    except (ValueError, TypeError, FileNotFoundError, FileExistsError) as error:
        raise SystemExit(f"error: {error}") from None
    if not result.finished:
        raise SystemExit(130)


if __name__ == "__main__":
    main()
