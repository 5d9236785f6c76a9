"""A ladder: fixed opponents of one game, from random to best play, with what they scored against each other.

A game's ladders are the JSON files in the folder `ladders` beside its module, one for each set of options that has one;
`ttt calibrate GAME` makes such a file. A ladder's version fixes its rungs, their ratings and the covariance of
these, so that ratings of different people are on one scale.

The model is that of `ttt_envs.evaluation.reports.ratings`: rung i scores against rung j with probability
1 / (1 + 10 ** ((elo_j - elo_i) / 400)), a draw counting as half a win. What counts are units, all games of one seed.
Draws, and games of one seed that depend on each other, make scores vary less or more than coins would: variances are
multiplied by a dispersion that is estimated from the units (quasi-likelihood: R. W. M. Wedderburn, Biometrika 61,
1974).

`random`, or else the weakest rung, has rating 0. That is a name for a point of the scale: what is fixed, and without
error, is the mean of all rungs, in which a rung counts by how much is known about it (`weights`).
"""

import hashlib
import itertools
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np

from ttt_envs.agents.shipped import digests
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, as_text
from ttt_envs.evaluation.reports.ratings import ELO, information, strengths
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.registry import game_of_file
from ttt_envs.storage.files import existing
from ttt_envs.storage.outside import read_json
from ttt_envs.storage.rows import Rows

#: The number of the form of the file.
FORMAT = 1

# Units that are added to the estimate of a dispersion, with a dispersion of 1 or of the ladder's.
_PRIOR_UNITS = 30

# What no number in a file reaches: ratings, their covariance, seconds, games.
_LARGEST = 1e9

# Pairs whose expected score lies between these tell how well one number a rung fits.
_TELLING = (0.1, 0.9)


@dataclass(frozen=True)
class Pair:
    """The games of two rungs.

    Attributes:
        first, second: numbers of the rungs.
        units: (wins of the first, wins of the second, how many units had these), see `seating.comparisons`.
        seatings: (won, drawn, lost) games of the first rung, for each seating of `seating.arrangements`.
        plies: plies of all games.
    """

    first: int
    second: int
    units: tuple[tuple[float, float, int], ...]
    seatings: tuple[tuple[int, int, int], ...]
    plies: int

    @property
    def games(self) -> int:
        """Number of games."""
        return sum(sum(each) for each in self.seatings)


def unit_counts(won: np.ndarray, lost: np.ndarray) -> tuple[tuple[float, float, int], ...]:
    """`Pair.units` of the wins and losses of each unit, float64 (units,)."""
    kinds, counts = np.unique(np.stack([won, lost], axis=1), axis=0, return_counts=True)
    return tuple((float(w), float(x), int(c)) for (w, x), c in zip(kinds, counts, strict=True))


def dispersion(records: Sequence[Sequence[tuple[float, float, int]]], prior: float = 1.0) -> float:
    """The variance of units' scores around each record's mean, relative to that of independent games without draws.

    `records` are as `Pair.units`; `prior` is what holds before there are units.
    """
    # Sums rather than a mean of ratios, so that lopsided records, of which ratios are wild, count little.
    observed, expected, units = 0.0, 0.0, 0
    for record in records:
        if not record:
            continue
        won, lost, count = np.array(record, np.float64).T
        games = won + lost
        n = int(count.sum())
        mean = (count @ won) / max(count @ games, 1e-12)
        observed += float(count @ (won - games * mean) ** 2) * n / max(n - 1, 1)
        expected += float(count @ games) * mean * (1 - mean)
        units += n
    if expected <= 0:
        return prior
    weight = _PRIOR_UNITS * expected / units
    return (prior * weight + observed) / (weight + expected)


@dataclass(frozen=True)
class Ladder(Rows):
    """Rungs, from the weakest to the strongest, and how they were measured.

    Attributes:
        game: id of the game.
        options: options of the game, in JSON's types.
        version: number of this ladder among those of the game and options.
        rungs: texts for `agents.load`.
        elo: float64 (rungs,).
        covariance: float64 (rungs, rungs), of `elo`, in Elo squared.
        weights: float64 (rungs,), sum 1: the mean of the rungs with these weights is fixed.
        dispersion: see `dispersion`.
        misfit: how far the difference of two rungs is from what their ratings say, in Elo: the standard deviation over
            pairs, beyond what chance explains. Agents that exploit each other's style make it large.
        seconds: float64 (rungs,), time of a decision when it was calibrated.
        pairs: all games of rungs against each other.
        made: how it was made: command, seed, versions, and `digests` of the trained agents.
    """

    game: str
    options: Mapping[str, Any]
    version: int
    rungs: tuple[str, ...]
    elo: np.ndarray
    covariance: np.ndarray
    weights: np.ndarray
    dispersion: float
    misfit: float
    seconds: np.ndarray
    pairs: tuple[Pair, ...]
    made: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.rungs)

    def is_of(self, game: Game) -> bool:
        """Whether it is a ladder of this game with its options; ValueError for options that the game does not have."""
        return self.game == game.id and game_of_file(game, self.options).options == game.options

    @cached_property
    def digest(self) -> str:
        """12 hexadecimal digits that no other ladder has."""
        text = json.dumps(self.json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @cached_property
    def changed(self) -> list[str]:
        """Names of trained agents in the rungs that now play by something else than when the ladder was measured."""
        then = self.made.get("trained", {})
        return [name for name, now in digests(self.rungs).items() if then.get(name, now) != now]

    @cached_property
    def plies(self) -> float:
        """Mean length of a game."""
        return sum(pair.plies for pair in self.pairs) / max(sum(pair.games for pair in self.pairs), 1)

    @property
    def zero(self) -> str:
        """The rung with rating 0."""
        return self.rungs[int(np.argmin(np.abs(self.elo)))]

    @cached_property
    def wins(self) -> np.ndarray:
        """float64 (rungs, rungs): wins of the row against the column, a draw being half a win for both."""
        wins = np.zeros((len(self), len(self)))
        for pair in self.pairs:
            wins[pair.first, pair.second], wins[pair.second, pair.first] = _sums(pair)
        return wins

    @cached_property
    def fits(self) -> np.ndarray:
        """float64 (rungs,): how far a rung's scores are from what ratings say, 1 being chance; nan if none can tell.

        It is the root of the mean squared deviation of its pairings in standard deviations.
        """
        chance = 1 / (1 + np.exp((self.elo[None, :] - self.elo[:, None]) / ELO))
        deviation, variance = _deviations(chance, self.wins, self.dispersion)
        told = (~np.isnan(deviation)).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sqrt(np.nansum(deviation**2 / variance, axis=1) / told))

    @property
    def half_widths(self) -> np.ndarray:
        """float64 (rungs,): half widths of the ratings' 95 % intervals."""
        return 1.96 * np.sqrt(np.diag(self.covariance))

    def rows(self) -> list[dict[str, Any]]:
        """One row a rung, from the weakest one on."""
        rungs = zip(self.rungs, self.elo, self.half_widths, self.seconds, strict=True)
        return [
            {"agent": name, "elo": elo, "elo_low": elo - half, "elo_high": elo + half, "seconds_a_move": seconds}
            for name, elo, half, seconds in rungs
        ]

    def json(self) -> dict[str, Any]:
        """The ladder as the file holds it."""
        return {
            "format": FORMAT,
            "game": self.game,
            "options": dict(self.options),
            "version": self.version,
            "made": dict(self.made),
            "dispersion": self.dispersion,
            "misfit": self.misfit,
            "rungs": [
                {"agent": name, "elo": float(elo), "weight": float(weight), "seconds": float(seconds)}
                for name, elo, weight, seconds in zip(self.rungs, self.elo, self.weights, self.seconds, strict=True)
            ],
            "covariance": self.covariance.tolist(),
            "pairs": [
                {
                    "rungs": [pair.first, pair.second],
                    "units": [list(each) for each in pair.units],
                    "seatings": [list(each) for each in pair.seatings],
                    "plies": pair.plies,
                }
                for pair in self.pairs
            ],
        }

    def text(self) -> str:
        """The file: JSON, one line a rung, a row of the covariance, and a pair."""
        data = self.json()
        lines = []
        for key, value in data.items():
            if isinstance(value, list) and value:
                items = ",\n  ".join(json.dumps(each) for each in value)
                lines.append(f" {json.dumps(key)}: [\n  {items}\n ]")
            else:
                lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def tables(self) -> list[Table]:
        """The rungs, and their scores against each other."""
        order = range(len(self) - 1, -1, -1)
        names = {k: f"{place}  {self.rungs[k]}" for place, k in enumerate(order, 1)}
        rows = []
        for k in order:
            games = sum(pair.games for pair in self.pairs if k in (pair.first, pair.second))
            interval = f"±{self.half_widths[k]:.0f}"
            fit = "–" if np.isnan(self.fits[k]) else f"{self.fits[k]:.1f}"
            rows.append([names[k], f"{self.elo[k]:.0f}", interval, f"{1e6 * self.seconds[k]:.0f}", str(games), fit])
        note = (
            f"Elo by Bradley-Terry, {self.zero} at 0, with half widths of 95 % intervals. Misfit: how far scores are "
            "from what the ratings say, in standard deviations, 1 being chance."
        )
        if self.misfit:
            note += f" Differences of two rungs deviate from their ratings by {self.misfit:.0f} Elo beyond chance."
        note += "".join(f" {name} has changed since the ladder was measured." for name in self.changed)
        with np.errstate(invalid="ignore"):
            score = self.wins / (self.wins + self.wins.T)
        cells = [["–" if np.isnan(score[i, j]) else f"{score[i, j]:.3f}" for j in order] for i in order]
        header = ["agent", *(str(place) for place in range(1, len(self) + 1))]
        return [
            Table("Ladder", ["agent", "Elo", "", "µs a move", "games", "misfit"], rows, note),
            Table("Scores", header, [[names[i], *row] for i, row in zip(order, cells, strict=True)]),
        ]


def fit(
    game: Game,
    rungs: Sequence[str],
    pairs: Sequence[Pair],
    seconds: np.ndarray,
    *,
    version: int,
    made: Mapping[str, Any],
) -> Ladder:
    """The ladder of these rungs, sorted by the ratings that their games give.

    The rungs may be given in any order, to which the numbers in `pairs` belong. As in `ratings.rate`, each has a weak
    prior of one drawn unit, shared out among its opponents. Raises ValueError unless there are two rungs or more.
    """
    k = len(rungs)
    if k < 2:
        raise ValueError(f"a ladder needs at least 2 rungs, not {k}")
    wins, sizes = np.zeros((k, k)), [1.0]
    for pair in pairs:
        wins[pair.first, pair.second], wins[pair.second, pair.first] = _sums(pair)
        sizes.append((wins + wins.T)[pair.first, pair.second] / max(sum(each[2] for each in pair.units), 1))
    prior = max(sizes) / 2 / (k - 1) * (1 - np.eye(k))
    spread = dispersion([pair.units for pair in pairs])
    theta = strengths((wins + prior)[None])[0]
    games = wins + wins.T + 2 * prior
    weights = information(theta, games)
    chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    curve = games * chance * (1 - chance)
    hessian = np.diag(curve.sum(axis=1)) - curve
    # Ratings are known up to a constant. The ones make the matrix regular; the projection fixes the mean of the rungs.
    free = np.linalg.inv(hessian + np.trace(hessian) / k**2)
    projection = np.eye(k) - np.outer(np.ones(k), weights)
    covariance = ELO**2 * spread * projection @ free @ projection.T
    order = np.argsort(theta, kind="stable")
    place = np.argsort(order)
    zero = rungs.index("random") if "random" in rungs else order[0]
    moved = []
    for pair in pairs:
        i, j = int(place[pair.first]), int(place[pair.second])
        moved.append(Pair(i, j, pair.units, pair.seatings, pair.plies))
    return Ladder(
        game=game.id,
        options=plain_options(game),
        version=version,
        rungs=tuple(rungs[i] for i in order),
        elo=np.round(ELO * (theta - theta[zero])[order], 2),
        covariance=np.round(covariance[np.ix_(order, order)], 3),
        weights=np.round(weights[order], 6),
        dispersion=round(spread, 4),
        misfit=round(_misfit(chance, wins, spread), 1),
        seconds=np.array([float(f"{each:.2g}") for each in np.asarray(seconds)[order]]),
        pairs=tuple(sorted(moved, key=lambda pair: (pair.first, pair.second))),
        made=made,
    )


def _sums(pair: Pair) -> tuple[float, float]:
    """Wins of the first and of the second rung."""
    return sum(won * count for won, _, count in pair.units), sum(lost * count for _, lost, count in pair.units)


def _deviations(chance: np.ndarray, wins: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """The deviation of differences of two rungs from what ratings say, and the variance that chance gives them.

    Both float64 (rungs, rungs), in natural units; nan where a pairing did not play, or is too lopsided to tell.
    """
    games = wins + wins.T
    telling = (games > 0) & (chance > _TELLING[0]) & (chance < _TELLING[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.where(telling, (wins / games - chance) / (chance * (1 - chance)), np.nan)
        return deviation, np.where(telling, spread / (games * chance * (1 - chance)), np.nan)


def _misfit(chance: np.ndarray, wins: np.ndarray, spread: float) -> float:
    """See `Ladder.misfit`: by the method of moments, as between studies (DerSimonian and Laird, 1986)."""
    deviation, variance = _deviations(chance, wins, spread)
    upper = np.triu(~np.isnan(deviation), 1)
    freedom = upper.sum() - (len(wins) - 1)
    if freedom < 1:
        return 0.0
    beyond = (deviation[upper] ** 2 / variance[upper]).sum() - freedom
    return float(ELO * np.sqrt(max(beyond, 0.0) / (1 / variance[upper]).sum()))


# --- files ---


def versions() -> dict[str, str]:
    """The versions that may change how agents play."""
    return {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}


def plain_options(game: Game) -> dict[str, Any]:
    """The options of a game in JSON's types."""
    options: dict[str, Any] = json.loads(json.dumps(dict(game.options)))
    return options


def folder_of(game: Game) -> Path:
    """The folder of the game's ladders, beside the module that makes it."""
    return Path(str(sys.modules[game.factory.__module__].__file__)).parent / "ladders"


def find(game: Game) -> Ladder:
    """The newest ladder of the game with its options.

    Raises ValueError naming the option sets that have ladders if this one has none, and as `read`.
    """
    ladders = [ladder for ladder in map(read, sorted(folder_of(game).glob("*.json"))) if ladder.game == game.id]
    fitting = [ladder for ladder in ladders if ladder.is_of(game)]
    if fitting:
        return max(fitting, key=lambda ladder: ladder.version)
    others = "; ".join(", ".join(f"{k}={as_text(v)}" for k, v in ladder.options.items()) for ladder in ladders)
    known = f"; it has one with {others}" if others else ""
    raise ValueError(f"{game} comes with no ladder{known}; `ttt calibrate {game.id}` makes one")


def read(path: str | Path) -> Ladder:
    """The ladder in a file.

    Raises FileNotFoundError, or ValueError for a file that is no ladder of this form.
    """
    text = existing(path, "ladder").read_text(encoding="utf-8", errors="replace")
    try:
        data = read_json(text)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"its format must be {FORMAT}")
        return _checked(data)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"{path} is no ladder, or damaged: {type(error).__name__}: {error}") from None


def _checked(data: Mapping[str, Any]) -> Ladder:
    """The ladder of a file's data; KeyError, TypeError or ValueError if they are wrong."""
    rungs = data["rungs"]
    k = len(rungs)
    numbers = {name: np.array([each[name] for each in rungs], np.float64) for name in ("elo", "weight", "seconds")}
    covariance = np.array(data["covariance"], np.float64)
    if k < 2 or covariance.shape != (k, k):
        raise ValueError("it must have two rungs or more, and a row and a column of the covariance for each")
    if not all((np.abs(each) < _LARGEST).all() for each in (*numbers.values(), covariance)):  # none is nan
        raise ValueError(f"its numbers must be less than {_LARGEST:g}")
    if not (np.linalg.eigvalsh(covariance) > -1.0).all() or (numbers["seconds"] < 0).any():
        raise ValueError("its covariance must be positive, and so must its times")
    if not all(isinstance(each["agent"], str) for each in rungs):
        raise TypeError("its agents must be texts")
    if not isinstance(data["made"].get("trained", {}), dict):
        raise TypeError("its trained agents must be names with digests")
    if not (0 < float(data["dispersion"]) < np.inf and 0 <= float(data["misfit"]) < np.inf):
        raise ValueError("its dispersion must be more than 0, and its misfit not less")
    pairs = []
    for each in data["pairs"]:
        first, second = each["rungs"]
        if not (0 <= first < k and 0 <= second < k):
            raise ValueError(f"its pairs must be of rungs 0 to {k - 1}")
        units = tuple((float(won), float(lost), int(count)) for won, lost, count in each["units"])
        if not all(0 <= won < _LARGEST and 0 <= lost < _LARGEST and 0 < count < MOST for won, lost, count in units):
            raise ValueError("its units must be games won and lost, and how often there were such")
        seatings = tuple((int(won), int(drawn), int(lost)) for won, drawn, lost in each["seatings"])
        plies = int(each["plies"])
        if not all(0 <= count < 2**53 for count in (plies, *itertools.chain(*seatings))):
            raise ValueError("its games and plies must be numbers from 0 to 2**53-1")
        pairs.append(Pair(int(first), int(second), units, seatings, plies))
    return Ladder(
        game=str(data["game"]),
        options=dict(data["options"]),
        version=int(data["version"]),
        rungs=tuple(each["agent"] for each in rungs),
        elo=numbers["elo"],
        covariance=covariance,
        weights=numbers["weight"],
        dispersion=float(data["dispersion"]),
        misfit=float(data["misfit"]),
        seconds=numbers["seconds"],
        pairs=tuple(pairs),
        made=dict(data["made"]),
    )
