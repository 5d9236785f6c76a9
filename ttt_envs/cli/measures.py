"""The verbs that measure agents: each calls a function with its arguments. `MEASURES` lists them for the help."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from ttt_envs.cli.common import Measuring, MeasuringAgents, instead


@dataclass(frozen=True, kw_only=True)
class Regret(MeasuringAgents):
    """Measure what agents lose against optimal play. Interrupted (Ctrl-C), it reports on the games finished by then."""

    opponent: Annotated[str | None, tyro.conf.arg(metavar="AGENT", help_behavior_hint="")] = None
    """The agent in the other seats; by default each agent holds all seats, and all its decisions count."""
    games: int = 1000
    """Games of each agent; with an opponent rounded up, so that each seed is played from every side."""

    function = "ttt_envs.evaluation.regret:regret"


@dataclass(frozen=True, kw_only=True)
class Mistakes(MeasuringAgents):
    """Measure how often agents err in solved positions, sampled evenly by game length.

    All agents are asked about the same positions, whether they would reach them or not. The game needs an oracle.
    """

    positions: int = 1000
    """Number of positions to draw."""
    least: float = 0.05
    """An action that loses more than this against the best one is a mistake, in units of reward."""

    function = "ttt_envs.evaluation.mistakes:mistakes"


@dataclass(frozen=True, kw_only=True)
class Exploitability(MeasuringAgents):
    """Measure what agents lose against best responses. Interrupted (Ctrl-C), it reports on the agents done by then.

    The game must have two players. Either it is small enough for its whole tree with the options given, or its oracle
    computes best responses.
    """

    samples: int = 100
    """Seeds over which an agent's policy is averaged in each position, if it depends on them."""
    starts: int = 100
    """Number of start positions to sample, if the game's oracle answers from given ones."""
    limit: int = 15_000_000
    """Largest number of positions in the game's tree."""

    function = "ttt_envs.evaluation.exploitability:exploitability"

    def run(self) -> int:
        """Measure; if the game is too large, suggest another measurement."""
        from ttt_envs.solvers.tree import TooLarge

        try:
            return super().run()
        except TooLarge as error:
            raise ValueError(f"{error}; {instead(self.game)}") from None


@dataclass(frozen=True, kw_only=True)
class Exploit(Measuring):
    """Look for an opponent who wins against an agent, and measure what it wins: a lower bound of exploitability.

    The game must have two sides. The agent only has to play, so it may be any program or model. Interrupted (Ctrl-C),
    it measures the best opponent by then.
    """

    agent: Annotated[str, tyro.conf.arg(metavar="AGENT")]
    """The agent to exploit, such as greedy, mcts:simulations=200, network:runs/x or my_agent.py:Name."""
    minutes: float = 3.0
    """Wall time for trying agents and learning; the final games, which give the result, take further time."""
    steps: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Decisions to learn from, instead of --minutes: then the same seed gives the same result."""
    games: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Final games, which give the result; by default 400 to 100,000, as many as a tenth of the time allows."""
    candidates: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = None
    """Existing agents to try, too; by default the bundled ones for the game and its search; none with --steps."""
    seed: int = 0
    """Seed of everything that is random."""

    function = "ttt_envs.learning.exploit:exploit"


#: In the order of the help.
MEASURES: tuple[type[Measuring], ...] = (Regret, Mistakes, Exploitability, Exploit)
