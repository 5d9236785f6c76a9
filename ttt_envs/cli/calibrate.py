"""`ttt calibrate`: makes the ladder of a game."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from ttt_envs.cli.common import Measuring

_OPTIONAL = tyro.conf.arg(help_behavior_hint="")


@dataclass(frozen=True, kw_only=True)
class Calibrate(Measuring):
    """Make a ladder: measure fixed opponents of a game against each other. Ctrl-C keeps the games for --resume.

    `ttt ladder GAME --table FOLDER/ladder.json` rates agents on it.
    """

    rungs: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = ()
    """The rungs; by default those of the ladder that comes with the game, or chosen from what plays the game."""
    games: int = 400
    """Games of two rungs near each other; rounded up, so that each seed is played from every seat."""
    spacing: Annotated[float | None, _OPTIONAL] = None
    """Choose the rungs anew, so many Elo from each other; a game without a ladder gets 100."""
    slowest: float = 0.005
    """Seconds that a move of a chosen rung may take."""
    version: Annotated[int | None, _OPTIONAL] = None
    """Number of the ladder; by default one more than that of the ladder that comes with the game."""
    chunk: Annotated[int | None, _OPTIONAL] = None
    """Games played side by side; by default a few seconds' worth. Changes no result."""
    seed: int | Literal["secret"] = 0
    """Seed of the games; `secret` draws one of 128 bits, which the report names at the end."""
    resume: bool = False
    """Go on with the games in the folder --out; --games may be more than before."""

    function = "ttt_envs.evaluation.placements.calibration:calibrate"

    def run(self) -> int:
        """Measure the rungs, and write the ladder."""
        if self.resume and self.out is None:
            raise ValueError("--resume needs --out, the folder with the games")
        return super().run()
