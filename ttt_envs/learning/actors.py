"""Actors: they play the games of a learner, while it learns from the round before.

The games are shared out over a number of actors, each with random numbers of its own. In each round every actor plays
with the network as it was when the round began. So what is learned from follows from the settings: it is the same, bit
for bit, whether the actors are threads of this process or run on a Ray cluster of machines of one kind, and also if
some are lost on the way. It differs from play in turn with the learning, which has no actors.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
import torch

from ttt_envs.agents.networks import NetworkInfo
from ttt_envs.core.options import choice
from ttt_envs.evaluation.tournaments.ray_cluster import connected
from ttt_envs.evaluation.tournaments.workers import check_sources, sources
from ttt_envs.learning.loop import Rows
from ttt_envs.learning.settings import Settings, Within
from ttt_envs.learning.torch_networks import TorchNetwork
from ttt_envs.storage.extras import require

#: Weights by name.
Weights = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class WithActors(Settings):
    """Settings of a learner whose games actors can play; it has a setting `num_envs`, their number."""

    MAY_CHANGE: ClassVar[tuple[str, ...]] = (*Settings.MAY_CHANGE, "engine", "address")

    num_envs: Annotated[int, Within(1, 2**20)] = 512
    """Games that run side by side; a round takes one position of each."""
    actors: Annotated[int, Within(0, 10_000)] = 0
    """Actors that share the games and play while the network learns from the round before; 0 plays and learns in
    turn."""
    engine: str = "threads"
    """Engine of the actors: threads of this process, or ray for a Ray cluster. It changes no result."""
    address: str | None = None
    """Address of a Ray cluster, such as 127.0.0.1:6379; by default one is started on this machine."""

    def check(self) -> None:
        """As `Settings.check`."""
        super().check()
        choice("engine", self.engine, ("threads", "ray"))
        if self.engine == "ray":
            if not self.actors:
                raise ValueError("engine='ray' needs actors: as many as the cluster has processors")
            require("distributed", "ray")
        elif self.address is not None:
            raise ValueError(f"address={self.address!r} is that of a Ray cluster: it needs engine='ray'")
        if self.actors > self.num_envs:
            raise ValueError(f"actors must be at most num_envs, {self.num_envs}, not {self.actors}")


class SelfPlayActor(Protocol):
    """A part of the games. It goes on where it was after being pickled and unpickled."""

    @property
    def info(self) -> NetworkInfo:
        """The network that it plays with."""

    def play(self, network: TorchNetwork, done: float) -> Rows:
        """Play a round with the network; `done`: share of the training that is over. Returns rows to learn from."""


class Crew(Protocol):
    """The actors of a run."""

    def round(self, network: TorchNetwork, done: float) -> list[Rows]:
        """The rows of a round, actor after actor, and the beginning of the next one with this network."""


class InTurn:
    """Actors that play in this thread, one after the other, while nothing is learned."""

    def __init__(self, actors: Sequence[SelfPlayActor]) -> None:
        self._actors = actors

    def round(self, network: TorchNetwork, done: float) -> list[Rows]:
        """The rows of a round with this very network."""
        return [actor.play(network, done) for actor in self._actors]


class Threads:
    """Actors that are threads of this process."""

    def __init__(self, actors: Sequence[SelfPlayActor], pool: ThreadPoolExecutor) -> None:
        self._actors, self._pool = actors, pool
        self._round: list[Future[Rows]] = []

    def round(self, network: TorchNetwork, done: float) -> list[Rows]:
        """As `Crew.round`."""
        if not self._round:
            self._begin(network, done)
        rows = [each.result() for each in self._round]
        self._begin(network, done)
        return rows

    def _begin(self, network: TorchNetwork, done: float) -> None:
        weights = network.tensors()
        self._round = [self._pool.submit(_play, actor, weights, done) for actor in self._actors]


class OnRay:
    """Actors whose rounds are tasks of a Ray cluster.

    A task is given the actor and returns it as it is afterwards, so that the round of a lost node is played again,
    from where it began, on another one.
    """

    def __init__(self, actors: Sequence[SelfPlayActor], precision: str) -> None:
        """`precision`: as of `torch.set_float32_matmul_precision`. Ray must be connected."""
        import ray

        self._actors = [pickle.dumps(each) for each in actors]
        self._task: Any = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(_task)
        self._given = precision, sources()
        self._round: list[Any] = []

    def round(self, network: TorchNetwork, done: float) -> list[Rows]:
        """As `Crew.round`; raises OSError for actors that are lost again and again."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        if not self._round:
            self._begin(network, done)
        try:
            results = ray.get(self._round)
        except RayTaskError as error:
            raise error.as_instanceof_cause() from error
        except RayError as error:
            raise OSError(f"actors are lost: {str(error).strip().splitlines()[0]}") from error
        self._actors = [actor for actor, _ in results]
        self._begin(network, done)
        return [rows for _, rows in results]

    def _begin(self, network: TorchNetwork, done: float) -> None:
        import ray

        weights = ray.put(network.tensors())
        self._round = [self._task.remote(actor, weights, done, *self._given) for actor in self._actors]


@contextmanager
def crew_of(actors: Sequence[SelfPlayActor], config: WithActors, precision: str = "highest") -> Iterator[Crew]:
    """A context with the crew that the settings ask for, of all these actors.

    Raises ConnectionError if there is no Ray cluster at the address.
    """
    if not config.actors:
        yield InTurn(actors)
    elif config.engine == "ray":
        with connected(config.address, config.actors):
            yield OnRay(actors, precision)
    else:
        with ThreadPoolExecutor(config.actors) as pool:
            yield Threads(actors, pool)


def shares(
    config: WithActors, start: int, generator: np.random.Generator, parts: int = 1
) -> list[tuple[int, np.random.Generator]]:
    """The number of games and the generator of each actor, `parts` of them for each that the settings ask for.

    Without actors there are `parts`, which play in turn, with the learner's own `generator`.
    """
    many = max(config.actors, 1) * parts
    sizes = [len(part) for part in np.array_split(np.arange(config.num_envs), many)]
    own = [np.random.default_rng([config.seed, start, 1 + k]) if config.actors else generator for k in range(many)]
    return list(zip(sizes, own, strict=True))


def _play(actor: SelfPlayActor, weights: Weights, done: float) -> Rows:
    with torch.device("meta"):  # no weights are drawn: that would use up the learner's random numbers
        network = TorchNetwork(actor.info)
    network.load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()}, assign=True)
    return actor.play(network, done)


def _task(
    pickled: bytes, weights: Weights, done: float, precision: str, theirs: Mapping[str, str]
) -> tuple[bytes, Rows]:
    """A round of an actor, on a node: the actor afterwards, and the rows."""
    check_sources(theirs)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision(precision)
    actor: SelfPlayActor = pickle.loads(pickled)  # from the process that began the run
    # Arrays that Ray hands out can only be read, which torch warns of.
    rows = _play(actor, {name: each.copy() for name, each in weights.items()}, done)
    return pickle.dumps(actor), rows
