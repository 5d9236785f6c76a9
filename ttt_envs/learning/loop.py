"""The parts that learners share: a buffer, a gradient step with an average of the networks, the outer loop."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from ttt_envs.agents import Agent
from ttt_envs.agents.networks import FILE, SNAPSHOTS, NetworkInfo, save_network
from ttt_envs.agents.torch_policy import PolicyAgent
from ttt_envs.core.game import Game
from ttt_envs.learning import checkpoint
from ttt_envs.learning.interrupts import Interrupts
from ttt_envs.learning.logs import Log
from ttt_envs.learning.optimizers import Optimizers
from ttt_envs.learning.probes import Probes, due
from ttt_envs.learning.progress import Bar
from ttt_envs.learning.settings import Result
from ttt_envs.learning.torch_networks import Logits, TorchNetwork
from ttt_envs.storage.files import reason_of

#: In the log: the processor time of this process in training by then, without saving and measurements; a resumed run
#: goes on from what was logged last.
PROCESSOR = "time/processor_seconds"

#: Arrays by name.
Rows = dict[str, np.ndarray]


class Buffer:
    """The latest rows to learn from, arrays by name; a ring."""

    def __init__(self, size: int) -> None:
        """`size`: the rows that are kept."""
        self.rows: Rows = {}
        self.size, self.added = size, 0

    def add(self, rows: Rows) -> None:
        """Arrays (n, ...) by name, the same names and shapes each time."""
        n = len(next(iter(rows.values())))
        places = (self.added + np.arange(n)) % self.size
        for name, values in rows.items():
            if name not in self.rows:
                self.rows[name] = np.zeros((self.size, *values.shape[1:]), values.dtype)
            self.rows[name][places] = values
        self.added += n

    def sample(self, n: int, generator: np.random.Generator) -> Rows:
        """n rows with replacement."""
        places = generator.integers(0, min(self.added, self.size), n)
        return {name: values[places] for name, values in self.rows.items()}


def permutations_of(game: Game) -> list[tuple[np.ndarray, np.ndarray]]:
    """The symmetries of a game, as indices of features and of actions; the identity alone where it has none."""
    permutations = [(symmetry.features, symmetry.actions) for symmetry in game.symmetries]
    return permutations or [(np.arange(game.observation_size), np.arange(game.num_actions))]


def gradient_step(
    loss: torch.Tensor,
    network: TorchNetwork,
    average: TorchNetwork,
    optimizers: Optimizers,
    *,
    rate: float,
    share: float,
) -> dict[str, float]:
    """Descend from `loss` by `optimizers` at learning rate `rate`, and move `average` towards `network` by `share`.

    Returns numbers for the log.
    """
    network.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
    for optimizer in optimizers.values():
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    with torch.no_grad():
        for mean, latest in zip(average.parameters(), network.parameters(), strict=True):
            mean.lerp_(latest, share)
    return {"train/loss": float(loss.detach()), "train/learning_rate": rate}


@dataclass(kw_only=True)
class Learner:
    """The parts of a method that the outer loop calls.

    Attributes:
        one_round: (steps so far) -> steps more, after a round of training.
        write: (file, steps) writes what has been learned, for an agent to play.
        agent: (steps) -> the agent that is measured.
        parts: what a resumed run needs beside that, see `ttt_envs.learning.checkpoint`.
        plays_as: name of the agent that plays the run folder, for the closing words.
        file: name of the file in the run folder.
        numbers: numbers by name for the log, such as the loss; the loop takes them at each save.
        average: the average of the past, as `ttt_envs.learning.probes.Exploitability` takes it.
        exchange: replaces the opponents, after a snapshot; None for a learner that takes no snapshots.
        interrupts: a round that lasts long may check them, if it has changed nothing yet that is saved.
    """

    one_round: Callable[[int], int]
    write: Callable[[Path, int], None]
    agent: Callable[[int], Agent]
    parts: checkpoint.Parts
    plays_as: str
    file: str = FILE
    numbers: Mapping[str, float] = field(default_factory=dict)
    average: Callable[[], tuple[Agent, int]] | None = None
    exchange: Callable[[], None] | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)


def train_rounds(this: checkpoint.Run, game: Game, start: int, learner: Learner) -> Result:
    """Train until `steps` of the settings or an interrupt (Ctrl-C); measure, save, and show how far it is.

    Args:
        this: the run, whose settings have `save_every` beside those of `ttt_envs.learning.settings.Settings`, and
            `snapshot_every` if the learner takes snapshots.
        game: the game that is played.
        start: steps trained on in earlier calls.
        learner: the method.

    Raises OSError if a file cannot be written, saying what was saved before; ValueError for fewer steps than before.
    """
    this.check_steps(start)
    config, folder, unit, interrupts = this.config, this.folder, this.config.UNIT, learner.interrupts
    bar = Bar(config.steps, start, unit=unit, quiet=config.quiet)
    log = Log(this, start)
    probes = Probes(
        config.probes(game, learner.average),
        folder,
        resume=config.resume,
        unit=unit,
        progress=bar.say,
        log=log.record,
        check=interrupts.check,
    )
    steps, saved = start, start if config.resume else -1
    processor = log.latest(PROCESSOR)

    def measure(last: bool = False) -> None:
        try:
            probes.measure(learner.agent(steps), steps, last=last)
        finally:  # also what was measured before an interrupt
            log.write(steps)

    def save() -> None:
        """Bring the folder up to date; take a snapshot, if one is due, and exchange opponents."""
        nonlocal saved
        this.write_config()
        snapshot = learner.exchange is not None and due(steps, saved, config.snapshot_every)
        if snapshot:
            learner.write(folder / SNAPSHOTS / f"{steps:012d}.safetensors", steps)
        learner.write(folder / learner.file, steps)
        checkpoint.save(folder, steps, learner.parts)  # last: a resumed run makes again what is missing before it
        saved = steps
        if snapshot and learner.exchange is not None:
            learner.exchange()

    try:
        with interrupts, bar:
            if not config.resume:
                save()
            while steps < config.steps:
                measure()
                until = min(probes.next(steps), saved + config.save_every, config.steps)
                began = time.process_time()
                with bar.training():
                    while steps < until:
                        interrupts.check()
                        steps += learner.one_round(steps)
                        bar.update(steps)
                processor += time.process_time() - began
                save()
                times = {"time/steps_per_second": bar.speed, PROCESSOR: processor}
                for name, value in {**learner.numbers, **times}.items():
                    log.record(name, value)
                log.write(steps)
            measure(last=True)
            this.write_config()  # with the time that the last measurements took
    except KeyboardInterrupt:
        if steps > saved:
            save()
        this.write_config()
        probes.draw()
        bar.say(f"Interrupted; {steps:,} {unit} are saved in {folder}. Continue with:\n  {this.resume_command}")
        return Result(folder, steps, bar.speed, False, probes.rows)
    except OSError as error:
        if not (folder / checkpoint.RESUME).exists():
            raise
        kept = f"{max(saved, 0):,} {unit} are saved in {folder}. Continue with:\n  {this.resume_command}"
        raise OSError(error.errno, f"{reason_of(error)}\n{kept}") from error
    finally:
        log.close()
    bar.say(f"Trained on {steps:,} {unit}. The run is in {folder}; play against it as {learner.plays_as}")
    return Result(folder, steps, bar.speed, True, probes.rows)


class SelfPlayMethod(Protocol):
    """A method by which one network learns to play all seats of a game of two players.

    Attributes:
        info: the network that plays, without its steps.
        parts: what a resumed run needs, see `ttt_envs.learning.checkpoint`.
        numbers: numbers by name for the log.
        playing: the network that is measured and kept.
    """

    info: NetworkInfo
    numbers: dict[str, float]

    @property
    def parts(self) -> checkpoint.Parts: ...

    @property
    def playing(self) -> TorchNetwork: ...

    def begin(self, generator: np.random.Generator) -> None:
        """Make the games, once the parts are restored; `generator`: for all that is drawn from now on."""

    def one_round(self, done: float) -> int:
        """Play and learn; `done`: share of the training that is over. Returns the steps."""


def train_self_play(config: Any, name: str, make: Callable[[Any, Game], SelfPlayMethod]) -> Result:
    """Train by a method, until `config.steps` or an interrupt (Ctrl-C). Sets torch's seed and number of threads (one).

    Args:
        config: the settings.
        name: the method, as `ttt train` takes it.
        make: the method's class; it draws new weights by torch's random numbers.

    Raises what `checkpoint.opened` does, and ValueError for a game that is not of two players.
    """
    with checkpoint.opened(config, name) as this:
        game = config.load()
        if game.num_players != 2:
            raise ValueError(f"{name} is for games of two players; {game} has {game.num_players}")
        torch.set_num_threads(1)  # small networks get slower with more
        torch.manual_seed(config.seed)
        method = make(config, game)
        start = checkpoint.restore(config.out, method.parts) if config.resume else 0
        # Seeds depend on the start, so that a resumed run does not replay the games of its beginning.
        method.begin(np.random.default_rng([config.seed, start]))
        learner = Learner(
            one_round=lambda steps: method.one_round(steps / config.steps),
            write=lambda path, steps: save_network(path, replace(method.info, steps=steps), method.playing.tensors()),
            agent=lambda steps: PolicyAgent(Logits(method.playing)),
            parts=method.parts,
            plays_as=f"network:{config.out}",
            numbers=method.numbers,
        )
        return train_rounds(this, game, start, learner)
