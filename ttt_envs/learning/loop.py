"""The parts that learners on rules share: a buffer, a gradient step with an average of the networks, the outer loop."""

from collections.abc import Callable, Mapping

import numpy as np
import torch

from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.learning import checkpoint
from ttt_envs.learning.interrupts import Interrupts
from ttt_envs.learning.logs import Log
from ttt_envs.learning.nets import Net
from ttt_envs.learning.optimizers import Optimizers
from ttt_envs.learning.probes import Probes
from ttt_envs.learning.progress import Bar
from ttt_envs.learning.settings import Result
from ttt_envs.storage.files import reason_of

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


def turns_of(game: Game) -> list[tuple[np.ndarray, np.ndarray]]:
    """The symmetries of a game, as indices of features and of actions; the identity alone where it has none."""
    turns = [(turn.features, turn.actions) for turn in game.symmetries]
    return turns or [(np.arange(game.observation_size), np.arange(game.num_actions))]


def gradient_step(
    loss: torch.Tensor, net: Net, average: Net, optimizers: Optimizers, *, rate: float, share: float
) -> dict[str, float]:
    """Descend from `loss` by `optimizers` at learning rate `rate`, and move `average` towards `net` by `share`.

    Returns numbers for the log.
    """
    net.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    for optimizer in optimizers.values():
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    with torch.no_grad():
        for mean, latest in zip(average.parameters(), net.parameters(), strict=True):
            mean.lerp_(latest, share)
    return {"train/loss": float(loss.detach()), "train/learning_rate": rate}


def train_rounds(
    this: checkpoint.Run,
    game: Game,
    start: int,
    *,
    one_round: Callable[[int], int],
    save: Callable[[int], None],
    agent: Callable[[int], Agent],
    plays_as: str,
    numbers: Callable[[], Mapping[str, float]] = dict,
) -> Result:
    """Train until `steps` of the settings or an interrupt (Ctrl-C); measure, save, and show how far it is.

    Args:
        this: the run, whose settings have `save_every` beside those of `ttt_envs.learning.settings.Settings`.
        game: the game that is played.
        start: steps trained on in earlier calls.
        one_round: (steps so far) -> steps more, after a round of training.
        save: brings the run folder up to date; called with the steps so far.
        agent: the agent to be measured, after so many steps.
        plays_as: name of the agent that plays the run folder, for the closing words.
        numbers: gives numbers by name for the log, such as the loss; called at each save.

    Raises OSError if a file cannot be written, saying what was saved before.
    """
    config, folder, unit = this.config, this.folder, this.config.UNIT
    interrupts = Interrupts()
    bar = Bar(config.steps, start, unit=unit, quiet=config.quiet)
    log = Log(this, start)
    probes = Probes(
        config.probes(game),
        folder,
        resume=config.resume,
        unit=unit,
        say=bar.say,
        log=log.record,
        check=interrupts.check,
    )
    steps = saved = start

    def measure(last: bool = False) -> None:
        try:
            probes.measure(agent(steps), steps, last=last)
        finally:  # also what was measured before an interrupt
            log.write(steps)

    def keep() -> None:
        save(steps)
        for name, value in {**numbers(), "time/steps_per_second": bar.speed}.items():
            log.record(name, value)
        log.write(steps)

    try:
        with interrupts, bar:
            if not config.resume:
                save(0)
            while steps < config.steps:
                measure()
                until = min(probes.next(steps), config.steps)
                with bar.training():
                    while steps < until:
                        interrupts.check()
                        steps += one_round(steps)
                        if steps - saved >= config.save_every:
                            keep()
                            saved = steps
                        bar.update(steps)
                if steps > saved:
                    keep()
                    saved = steps
            measure(last=True)
            this.write_config()  # with the time that the last measurements took
    except KeyboardInterrupt:
        save(steps)
        bar.say(f"Interrupted; {steps:,} {unit} are saved in {folder}. Continue with:\n  {this.resume_command}")
        return Result(folder, steps, bar.speed, False, probes.rows)
    except OSError as error:
        if not (folder / checkpoint.RESUME).exists():
            raise
        kept = f"{saved:,} {unit} are saved in {folder}. Continue with:\n  {this.resume_command}"
        raise OSError(error.errno, f"{reason_of(error)}\n{kept}") from error
    finally:
        log.close()
    bar.say(f"Trained on {steps:,} {unit}. The run is in {folder}; play against it as {plays_as}:{folder}")
    return Result(folder, steps, bar.speed, True, probes.rows)
