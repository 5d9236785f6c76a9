"""Seat advantage: each side's score, averaged over the agents, with draws and lengths of games.

Compared with each other side, a side scores 1 if its reward is higher and 1/2 if it is equal; its score in a game is
the mean over the other sides. The average over all sides is one half. Every agent plays every seat with the same seeds,
so a deviation from one half is due to the seat.
"""

from dataclasses import dataclass

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.evaluation.reports.report import Table


@dataclass(frozen=True)
class Seats:
    """Scores of the sides and lengths of n games.

    Attributes:
        seats: the names of the sides, such as "player_0".
        score: float64 (sides,), see the module.
        drawn: share of games in which all rewards are equal.
        lengths: shortest, 5th percentile, median, 95th percentile and longest, in plies.
    """

    seats: tuple[str, ...]
    score: np.ndarray
    drawn: float
    lengths: tuple[int, int, int, int, int]

    def table(self) -> Table:
        """Return one row per side, one for draws."""
        scores = zip((*self.seats, "draws"), (*self.score, self.drawn), strict=True)
        shortest, low, median, high, longest = self.lengths
        note = (
            "Score of the seat, whoever sits there, a draw being half a win; share of draws. Plies of a game: median "
            f"{median}, 90 % from {low} to {high}, shortest {shortest}, longest {longest}."
        )
        return Table("Seats", ["seat", "score"], [[name, f"{score:.3f}"] for name, score in scores], note)


def seats(game: Game, rewards: np.ndarray, lengths: np.ndarray) -> Seats:
    """Return each side's score over n >= 1 games, from their rewards, float (n, players), and plies, int (n,)."""
    reward = rewards[:, [team[0] for team in game.teams]]
    higher = (reward[:, :, None] > reward[:, None, :]).sum(axis=2)
    equal = (reward[:, :, None] == reward[:, None, :]).sum(axis=2) - 1
    quantiles = np.percentile(lengths, (0, 5, 50, 95, 100), method="nearest")
    return Seats(
        seats=tuple(" and ".join(f"player_{p}" for p in team) for team in game.teams),
        score=(higher + equal / 2).mean(axis=0) / (reward.shape[1] - 1),
        drawn=float((reward == reward[:, :1]).all(axis=1).mean()),
        lengths=tuple(int(each) for each in quantiles),  # type: ignore[arg-type]
    )
