"""Measure how fast this checkout is beside another one, such as that of the last release.

    git worktree add ../before v0.1.0
    python -m tools.beside ../before --only aec search --games super_tic_tac_toe

Both do the same work in turn, each in a process of its own, with the measuring code of this checkout. Rates are per
second of processor time; the ratio is the median of those of neighbouring rounds.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import tyro

from tools.playing import Looking, Playing, clocked

HERE = Path(__file__).resolve().parent.parent

# The last one is the first move of an environment with nothing compiled.
Work = Literal[
    "choice", "batch", "look", "rollout", "aec", "parallel", "single", "plain", "network", "greedy",
    "vector", "vector_greedy", "sb3", "view", "search", "tournament", "ppo", "mmd", "start",
]  # fmt: skip
WORKS: tuple[Work, ...] = get_args(Work)

# Says that a process is to answer; see `answer`.
_ASKED = "--answer"

# Games at once.
_MANY, _BATCH = 64, 1024


@dataclass(frozen=True)
class Config:
    """Measure how fast this checkout is beside another one, in processor time."""

    other: tyro.conf.Positional[Path]
    """Folder of the other checkout."""
    games: tuple[str, ...] = ("all",)
    """Ids of games, or all."""
    only: tuple[Work, ...] = WORKS
    """The work to measure."""
    seconds: float = 0.2
    """Processor time of each run."""
    rounds: int = 9
    """Number of runs of each; the median counts."""


class Choosing:
    """Random legal choice for all games of a batch, of masks in their middle game, other ones at each call.

    With the same ones again, a processor would foretell the branches of a loop over the entries.
    """

    def __init__(self, game: Any) -> None:
        core, rng = import_module("ttt_envs"), import_module("ttt_envs.core.rng")
        batch = core.Batch(game, _BATCH, seed=0, auto_reset=True)
        self._choose, self._seeds = rng.choose_rows, np.arange(_BATCH, dtype=np.uint64)
        self._count = np.uint64(0)
        self._out = np.empty(_BATCH, np.int64)
        for ply in range(16):
            actions = np.empty((_BATCH, game.num_players), np.int64)
            for player in range(game.num_players):
                masks = batch.masks(player)
                self._choose(masks, self._seeds + np.uint64(1000 * ply), self._out)
                actions[:, player] = self._out
            batch.step(actions)
        self._masks = batch.masks(None if not game.simultaneous else 0)

    def __call__(self) -> int:
        for _ in range(20):
            self._count += np.uint64(1)
            self._choose(self._masks, self._seeds + self._count, self._out)
        return 20 * _BATCH


class Rolling:
    """Random play in one compiled loop; a checkout without it makes the four calls of a step, too."""

    PLIES = 50

    def __init__(self, game: Any) -> None:
        self._batch = import_module("ttt_envs").Batch(game, _BATCH, seed=0, auto_reset=True)

    def __call__(self) -> int:
        self._batch.rollout(self.PLIES)
        return self.PLIES * _BATCH


class Searching:
    """A tree search from the opening; counts simulations."""

    SIMULATIONS = 1000

    def __init__(self, game: Any) -> None:
        agents, view = import_module("ttt_envs.agents"), import_module("ttt_envs.core.view")
        name = agents.search_for(game) or "mcts"
        self._agent = agents.load(f"{name}:simulations={self.SIMULATIONS}")
        state = game.new_state(0)
        player = np.maximum(state["to_move"], 0).astype(np.int64)
        self._number = 0
        self._view = lambda: view.View.unchecked(game, state, player, np.array([self._number], np.uint64))

    def __call__(self) -> int:
        self._number += 1
        self._agent.act(self._view())
        return self.SIMULATIONS


class Viewing:
    """A view of one game, as an environment makes one for an opponent, and its mask."""

    def __init__(self, game: Any) -> None:
        make, state = import_module("ttt_envs.core.view").View.unchecked, game.new_state(0)
        player, seeds = np.maximum(state["to_move"], 0).astype(np.int64), np.zeros(1, np.uint64)
        self._view = lambda: make(game, state, player, seeds, copy=False)

    def __call__(self) -> int:
        for _ in range(100):
            self._view().masks  # noqa: B018
        return 100


class Meeting:
    """A tournament of agents that cost next to nothing; counts games."""

    AGENTS = ("random", "mixed:random")
    GAMES = 100

    def __init__(self, game: Any) -> None:
        play = import_module("ttt_envs.evaluation").tournament
        self._play = lambda: play(game, self.AGENTS, games=self.GAMES, resamples=0, quiet=True)

    def __call__(self) -> int:
        return sum(len(each.games) for each in self._play().pairings)


class Plain:
    """An agent that costs next to nothing: it plays the first legal action."""

    def act(self, view: Any) -> np.ndarray:
        """As an agent of the library."""
        return np.asarray(view.masks.argmax(axis=1))


def network(game: Any) -> Any:
    """An agent with a network of two hidden layers, with random weights."""
    networks, agents = import_module("ttt_envs.agents.networks"), import_module("ttt_envs.agents.network_agents")
    info = networks.NetworkInfo(
        game.id, dict(game.options), "policy", game.observation_size, game.num_actions, (128, 128), 0
    )
    generator = np.random.default_rng(0)
    tensors = {name: generator.normal(0, 0.1, shape).astype(np.float32) for name, shape in info.shapes().items()}
    return agents.NetworkAgent(networks.Network(info, tensors))


class Learning:
    """Self-play and updates of MaskablePPO, or of the loop that methods of policy gradient share; counts decisions."""

    def __init__(self, game: Any, method: str) -> None:
        torch, module = import_module("torch"), import_module(f"ttt_envs.learning.{method}")
        torch.set_num_threads(1)
        self._round: Callable[[], int]
        if method == "mmd":
            learner = module.MMD(module.Config(game=game.id, steps=10**9), game)
            learner.begin(np.random.default_rng(0))
            self._round = partial(learner.one_round, 0.0)
            return
        torch.distributions.Distribution.set_default_validate_args(False)
        config = module.Config(game=game.id, steps=10**9)
        model, steps = module.make_model(config, game), config.num_envs * config.rollout
        model.set_logger(module.Logger(None, []))
        current = module.PolicyAgent(module.ActorNet(model.policy))
        model.env.set_opponents(module.OpponentPool(game, config, current, module.read_snapshot).pool())

        def learn() -> int:
            model.learn(steps, callback=lambda *_: True, reset_num_timesteps=False)
            return int(steps)

        self._round = learn

    def __call__(self) -> int:
        return self._round()


def start(folder: Path, game_id: str, seconds: float) -> float:
    """How often a second the first move of an environment could be made, import and compilation included."""
    code = (
        f"import ttt_envs; env = ttt_envs.make_aec({game_id!r}); env.reset(seed=0);"
        "env.step(int(env.last()[4]['action_mask'].argmax())); env.last()"
    )
    before, runs = resource.getrusage(resource.RUSAGE_CHILDREN), 0
    while (spent := _spent(before)) < seconds or not runs:
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": cache}
            subprocess.run([sys.executable, "-c", code], env=environment, cwd=cache, check=True)
        runs += 1
    return runs / spent


def _spent(before: Any) -> float:
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime)


def batch_of(kind: Callable[..., Any], game: Any, **keywords: Any) -> Callable[[], int]:
    """Random play of a batch of this game, of a kind of `tools.playing`."""
    batch = import_module("ttt_envs").Batch(game, _BATCH, seed=0, auto_reset=True, **keywords)
    return kind(batch, import_module("ttt_envs.core.rng").choose_rows)


def work(name: Work, game_id: str) -> Callable[[float], float]:
    """A function that does so much work as takes so many seconds of processor time, and tells the rate."""
    environments, core = import_module("tools.environments"), import_module("ttt_envs")
    counted: dict[str, Any] = {"choice": Choosing, "search": Searching, "view": Viewing, "tournament": Meeting}
    can = hasattr(core.Batch, "rollout")
    if name == "batch" or (name in ("look", "rollout") and not can):
        counted[name] = partial(batch_of, Playing)
    elif can:
        counted |= {"look": partial(batch_of, Looking, look=True), "rollout": Rolling}
    if name in counted:
        return partial(clocked, counted[name](core.load(game_id)))
    if name in ("ppo", "mmd"):
        return partial(clocked, Learning(core.load(game_id), name))
    if name == "start":
        return partial(start, Path(str(core.__file__)).parent.parent, game_id)
    if name == "aec":
        return partial(environments.play_aec, core.make_aec(game_id))
    if name == "parallel":
        return partial(environments.play_parallel, core.make_parallel(game_id))
    if name in ("single", "plain", "network", "greedy"):
        gymnasium, known = import_module("gymnasium"), import_module("ttt_envs.registry")
        opponent = {"single": "random", "plain": Plain(), "greedy": "greedy"}.get(name) or network(core.load(game_id))
        return partial(environments.play_single, gymnasium.make(known.gymnasium_id(game_id), opponent=opponent))
    if name in ("vector", "vector_greedy"):
        opponent = "random" if name == "vector" else "greedy"
        return partial(environments.play_vector, core.make_vec(game_id, _MANY, opponent=opponent))
    return partial(environments.play_sb3, core.make_sb3(game_id, _MANY))


class Checkout:
    """A process in which the library is that of a checkout, and which is asked for rates."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.beside", _ASKED, str(folder)],
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def rate(self, name: Work, game_id: str, seconds: float) -> float:
        """The rate of a work in this game; RuntimeError if the process has failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(name, game_id, seconds, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process of this checkout ended, with status {self._process.wait()}")
        return float(answer)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def answer(folder: Path) -> None:
    """The part of `Checkout`'s process: the library from `folder`, the measuring code from here."""
    sys.path.insert(0, str(folder))
    import_module("ttt_envs")
    sys.path[0] = str(HERE)
    works: dict[tuple[str, str], Callable[[float], float]] = {}
    for line in sys.stdin:
        name, game_id, seconds = line.split()
        if (name, game_id) not in works:
            works[name, game_id] = work(name, game_id)  # type: ignore[arg-type]
        print(works[name, game_id](float(seconds)), flush=True)


def compare(config: Config) -> Iterator[tuple[str, Work, list[float], list[float]]]:
    """Game, work, and the rates of each round: of the other checkout, and of this one."""
    if not (config.other / "ttt_envs").is_dir():
        raise ValueError(f"{config.other} is no checkout: it has no folder ttt_envs")
    other, here = Checkout(config.other.resolve()), Checkout(HERE)
    try:
        for game_id in import_module("ttt_envs").GAMES if config.games == ("all",) else config.games:
            for name in config.only:
                before, now = list[float](), list[float]()
                for each in (other, here):
                    each.rate(name, game_id, min(config.seconds, 0.05))  # compiles
                for k in range(config.rounds):
                    for each, rates in ((other, before), (here, now))[:: 1 if k % 2 else -1]:
                        rates.append(each.rate(name, game_id, config.seconds))
                yield game_id, name, before, now
    finally:
        other.close()
        here.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    config = tyro.cli(Config, args=arguments, prog="python -m tools.beside", description=Config.__doc__)
    print(f"{'game':24} {'work':13} {'other /s':>13} {'here /s':>13} {'ratio':>7}")
    try:
        for game_id, name, *rates in compare(config):
            ratio = statistics.median(now / before for before, now in zip(*rates, strict=True))
            medians = map(statistics.median, rates)
            before, now = (f"{each:13,.{3 if each < 10 else 0}f}" for each in medians)
            print(f"{game_id:24} {name:13} {before} {now} {ratio:7.2f}", flush=True)
    except (ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == [_ASKED]:
        answer(Path(sys.argv[2]))
    else:
        sys.exit(main())
