"""`ttt tournament`: games of agents against each other, and their ratings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ttt_envs.cli.common import MeasuringAgents


@dataclass(frozen=True, kw_only=True)
class Tournament(MeasuringAgents):
    """Let agents play each other and rate them. Interrupted (Ctrl-C), it reports on the games finished by then."""

    games: int = 100
    """Games of each pairing; rounded up, so that each seed is played from every seat."""
    resamples: int = 1000
    """Resamples of the bootstrap that gives the intervals."""
    chunk: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Games played side by side; by default a few seconds' worth. Changes no result."""
    strict: bool = False
    """End the tournament at an agent's error or illegal action, which otherwise only loses the game."""
    record: bool = False
    """Keep every game, action by action, in games.jsonl; `ttt replay` shows them."""
    measured: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="[FOLDER ...]", help_behavior_hint="")] = ()
    """Results of regret, exploitability or a ladder, of the same game, whose figures the report shows, too."""

    function = "ttt_envs.evaluation.tournament:tournament"
