"""The value of a seat: the score of each side whoever sits there, with draws and lengths of games.

The score of a side in a game is the mean over the other sides of 1 if its reward is higher, 1/2 if equal: one half on
average over all sides. Every agent plays every seat with the same seeds, so that a score beside one half belongs to the
seat. Intervals come from the Bayesian bootstrap over seeds, with the prior of `ttt_envs.evaluation.reports.ratings`.
"""

from dataclasses import dataclass

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.evaluation.reports.ratings import AGAINST
from ttt_envs.evaluation.reports.report import Table

_BLOCK = 4_000_000  # floats of bootstrap weights held at once


@dataclass(frozen=True)
class Seats:
    """Scores of the sides and lengths of n games; each interval is (low, high), float64 (sides, 2) or (2,).

    Attributes:
        names: the sides' seats, such as "player_0".
        score: float64 (sides,), see the module.
        interval: 95 % intervals of the scores.
        drawn: share of games in which all rewards are equal.
        drawn_interval: its 95 % interval.
        lengths: shortest, 5th percentile, median, 95th percentile and longest, in plies.
        games: n.
    """

    names: tuple[str, ...]
    score: np.ndarray
    interval: np.ndarray
    drawn: float
    drawn_interval: np.ndarray
    lengths: tuple[int, int, int, int, int]
    games: int

    def table(self) -> Table:
        """One row a side, one for draws."""
        rows = [
            [name, f"{score:.3f}", f"{low:.3f} to {high:.3f}"]
            for name, score, (low, high) in zip(
                (*self.names, "draws"),
                (*self.score, self.drawn),
                (*self.interval, self.drawn_interval),
                strict=True,
            )
        ]
        shortest, low, median, high, longest = self.lengths
        note = (
            "Score of the seat, whoever sits there, a draw being half a win; share of draws. Plies of a game: median "
            f"{median}, 90 % from {low} to {high}, shortest {shortest}, longest {longest}."
        )
        return Table("Seats", ["seat", "score", "95 % interval"], rows, note)

    def data(self) -> dict[str, object]:
        """The contents as JSON's types."""
        return {
            "seats": list(self.names),
            "score": self.score,
            "interval": self.interval,
            "drawn": self.drawn,
            "drawn_interval": self.drawn_interval,
            "lengths": list(self.lengths),
        }


def seats(
    game: Game, rewards: np.ndarray, lengths: np.ndarray, units: np.ndarray, *, resamples: int = 1000, seed: int = 0
) -> Seats:
    """The scores of the sides.

    Args:
        game: the game.
        rewards: float (n, players), n at least 1.
        lengths: int (n,), plies.
        units: int (n,), equal for games of one seed.
        resamples: resamples of the bootstrap; 0 leaves the intervals nan.
        seed: seed of the bootstrap.
    """
    reward = rewards[:, [team[0] for team in game.teams]]
    sides = reward.shape[1]
    higher = (reward[:, :, None] > reward[:, None, :]).sum(axis=2)
    equal = (reward[:, :, None] == reward[:, None, :]).sum(axis=2) - 1
    drawn = (reward == reward[:, :1]).all(axis=1)
    shares = np.column_stack([(higher + equal / 2) / (sides - 1), drawn])
    # Per seed: the sums of the shares, and the number of games.
    numbers = np.unique(units, return_inverse=True)[1]
    sums = np.zeros((numbers.max() + 1, sides + 2))
    np.add.at(sums, numbers, np.column_stack([shares, np.ones(len(shares))]))
    worth = len(shares) / len(sums)
    drawn_shares = np.full((2, resamples, sides + 1), np.nan)
    rng = np.random.default_rng(seed)
    for first in range(0, resamples, size := max(1, _BLOCK // len(sums))):
        last = min(first + size, resamples)
        weighted = rng.standard_exponential((last - first, len(sums))) @ sums
        more = [rng.standard_gamma(share, (last - first, sides + 1)) * worth for share in (1 - AGAINST, AGAINST)]
        drawn_shares[:, first:last] = [(weighted[:, :-1] + won) / (weighted[:, -1:] + sum(more)) for won in more]
    point = shares.mean(axis=0)
    if resamples:
        low, high = np.percentile(drawn_shares[0], 2.5, axis=0), np.percentile(drawn_shares[1], 97.5, axis=0)
        interval = np.column_stack([np.minimum(low, point), np.maximum(high, point)])
    else:
        interval = np.full((sides + 1, 2), np.nan)
    quantiles = np.percentile(lengths, (0, 5, 50, 95, 100), method="nearest")
    return Seats(
        names=tuple(" and ".join(f"player_{p}" for p in team) for team in game.teams),
        score=point[:-1],
        interval=interval[:-1],
        drawn=float(point[-1]),
        drawn_interval=interval[-1],
        lengths=tuple(int(each) for each in quantiles),  # type: ignore[arg-type]
        games=len(rewards),
    )
