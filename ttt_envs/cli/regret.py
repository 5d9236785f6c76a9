"""`ttt regret`: what agents lose against best play."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from ttt_envs.cli.common import MeasuringAgents


@dataclass(frozen=True, kw_only=True)
class Regret(MeasuringAgents):
    """Measure what agents lose against best play. Interrupted (Ctrl-C), it reports on the games finished by then."""

    opponent: Annotated[str | None, tyro.conf.arg(metavar="AGENT", help_behavior_hint="")] = None
    """The agent in the other seats; by default each agent holds all seats, and all its decisions count."""
    games: int = 1000
    """Games of each agent; with an opponent rounded up, so that each seed is played from every side."""

    function = "ttt_envs.evaluation.best_play:regret"
