"""`ttt ladder`: the place of an agent on a game's ladder of fixed opponents."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ttt_envs.cli.common import Measuring

_OPTIONAL = tyro.conf.arg(help_behavior_hint="")


@dataclass(frozen=True, kw_only=True)
class Placing:
    """The fields of how an agent is placed on a ladder."""

    agent: Annotated[str, tyro.conf.arg(metavar="AGENT")]
    """The agent to be rated, such as greedy, network:runs/x or my_agent.py:Name; `ttt agents` lists them."""
    target: float = 25.0
    """Half width of the 95 % interval at which a placement stops, in Elo."""
    games: int = 4000
    """Most games on one ladder; rounded up, so that each seed is played from every seat."""
    minutes: Annotated[float | None, _OPTIONAL] = None
    """Most minutes on one ladder, whatever is known by then; by default there is no such limit."""
    pace: Annotated[float | None, _OPTIONAL] = None
    """Seconds that the agent takes for a move, for the choice of opponents; by default this is measured."""
    strict: bool = False
    """Stop at the agent's first error or illegal action instead of forfeiting that game."""
    chunk: Annotated[int | None, _OPTIONAL] = None
    """Games played side by side; by default a few seconds' worth. Changes no result."""
    seed: int = 0
    """Seed of the games."""


@dataclass(frozen=True, kw_only=True)
class Ladder(Placing, Measuring):
    """Rate an agent on a game's ladder of fixed opponents. It stops when the rating is known well enough.

    `ttt rungs` shows a ladder, `ttt calibrate` makes one.
    """

    table: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File of the ladder, as `ttt calibrate` writes it; by default the one that comes with the game."""
    rungs: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = ()
    """Those rungs of --table that are programs, files or code: they are run only if they are named here."""

    function = "ttt_envs.evaluation.placements.placement:ladder"
