"""`ttt mistakes`: in what share of solved positions agents throw away what they have."""

from dataclasses import dataclass

from ttt_envs.cli.common import MeasuringAgents


@dataclass(frozen=True, kw_only=True)
class Mistakes(MeasuringAgents):
    """Measure in what share of solved positions, drawn evenly by length, agents make mistakes.

    All agents are asked about the same positions, wherever they would get to by themselves. The game needs an oracle.
    """

    positions: int = 1000
    """Number of positions to draw."""
    least: float = 0.05
    """An action that loses more than this against the best one is a mistake, in units of reward."""

    function = "ttt_envs.evaluation.solved.positions:mistakes"
