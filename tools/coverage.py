"""Simulate how often this library's 95 % intervals contain the true value in their weakest settings.

    python -m tools.coverage

The script prints the table of docs/intervals.md. It plays no games: it draws results from distributions whose true
value is known, and the library's own functions compute the intervals.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import tyro
from numpy.typing import ArrayLike

from ttt_envs.evaluation.ladder import rating
from ttt_envs.evaluation.reports.intervals import mean_interval, t_interval
from ttt_envs.evaluation.reports.ratings import ELO, rate_pairs
from ttt_envs.studies.statistics import improvement

Draw = Callable[[np.random.Generator, int], np.ndarray]

#: Elo ratings of the rungs of a typical ladder.
RUNGS = (0, 100, 210, 300, 390, 500, 620)


@dataclass(frozen=True)
class Config:
    """Settings."""

    trials: int = 1000
    """Simulated experiments per row; rows about Elo, scores and ladders use fewer."""
    seed: int = 0
    """Seed of the first experiment; the next ones follow."""


@dataclass(frozen=True)
class Row:
    """The share of a setting's intervals that contain the true value, and the intervals' mean width."""

    measure: str
    setting: str
    covered: float
    width: float

    def text(self) -> str:
        """Return the row of the table; a share below 90 % is marked by an asterisk."""
        width = f"{self.width:.0f} Elo" if self.measure in ("Elo", "ladder", "rungs") else f"{self.width:.4f}"
        mark = "*" if self.covered < 0.9 else ""
        return f"| {self.measure} | {self.setting} | {100 * self.covered:.1f} %{mark} | {width} |"


def losses(measure: str, setting: str, draw: Draw, seeds: int, trials: int, seed: int = 0) -> Row:
    """Return a row about intervals of a mean loss; the mean of a million draws counts as the true value."""
    true = draw(np.random.default_rng(10**6), 10**6).mean()
    most = 1.0 if measure == "exploitability" else 2.0
    ends = []
    for trial in range(trials):
        drawn = draw(np.random.default_rng([seed, trial]), seeds)
        ends.append(mean_interval(drawn, np.ones(seeds, np.int64), most)[1])
    low, high = np.array(ends).T
    return Row(measure, setting, float(((low <= true) & (true <= high)).mean()), float((high - low).mean()))


def bounds(setting: str, draw: Draw, seeds: int, trials: int, seed: int = 0) -> Row:
    """Return a row about one-sided intervals of an exploiter's winnings, which range from 0 to 2. Their width is
    measured from the lower end to the true value."""
    true, ones = draw(np.random.default_rng(10**6), 10**6).mean(), np.ones(seeds, np.int64)
    drawn = (draw(np.random.default_rng([seed, trial]), seeds) for trial in range(trials))
    low = np.array([mean_interval(each, ones, 2.0, tail=5.0)[1][0] for each in drawn])
    return Row("exploit", setting, float((low <= true).mean()), float((true - low).mean()))


def rare(share: float, mean: float) -> Draw:
    """Return a function that draws losses: exponentially distributed for `share` of the seeds, else none."""
    return lambda rng, n: (rng.random(n) < share) * np.minimum(rng.exponential(mean, n), 2.0)


def whole(share: float, loss: float = 1.0) -> Draw:
    """Return a function that draws losses: `loss` for `share` of the seeds, and 0 for the others."""
    return lambda rng, n: (rng.random(n) < share) * loss


def often(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw losses of weak agents: nearly every seed loses something."""
    return np.minimum(rng.gamma(1.5, 0.2, n), 2.0)


def both(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw frequent small losses, and rare ones that are a hundred times as large."""
    return (rng.random(n) < 0.3) * 0.01 + (rng.random(n) < 0.005) * 1.0


def normal(mean: float, spread: float = 0.05) -> Draw:
    """Return a function that draws normally distributed scores."""
    return lambda rng, n: rng.normal(mean, spread, n)


def failing(share: float, mean: float = 0.9) -> Draw:
    """Return a function that draws scores: near 0.1 for `share` of the runs, which fail, else near `mean`."""
    return lambda rng, n: np.where(rng.random(n) < share, rng.normal(0.1, 0.05, n), rng.normal(mean, 0.02, n))


def skewed(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw log-normally distributed losses, which spread over more than a factor of ten."""
    return rng.lognormal(-3, 1, n)


def studies(
    measure: str, setting: str, first: Draw, second: Draw | None, seeds: int, trials: int, seed: int = 0
) -> Row:
    """Return a row about intervals of a mean score or, with `second`, of the probability that a run of the first method
    beats one of the second. Experiments in which all seeds agree have no interval and do not count."""

    def drawn(number: int, *stream: int) -> list[np.ndarray]:
        rng = np.random.default_rng(stream)
        return [draw(rng, number) for draw in (first, second) if draw]

    one, *other = drawn(10**6, 10**6)
    true = float((one > other[0]).mean() if other else one.mean())
    held, widths = [], []
    for trial in range(trials):
        one, *other = drawn(seeds, seed, trial)
        if other:
            low, high = improvement(one, other[0])[1]
        else:
            mean, half = t_interval(one)
            low, high = float(mean - half), float(mean + half)
        if low < high:
            held.append(low <= true <= high)
            widths.append(high - low)
    return Row(measure, setting, float(np.mean(held)), float(np.mean(widths)))


def chance(elo: ArrayLike, other: ArrayLike) -> np.ndarray:
    """Return the expected score of ratings `elo` against ratings `other`."""
    return 1 / (1 + np.exp(np.subtract(other, elo) / ELO))


def bout(p: float, units: int, rng: np.random.Generator, draws: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs of games with expected score `p`; return both sides' scores per pair, float (units,) each."""
    drawn = rng.random((units, 2)) < draws * 2 * min(p, 1 - p)
    # The win rate of the decided games is chosen so that the expected score stays p.
    share = (p - draws * min(p, 1 - p)) / (1 - draws * 2 * min(p, 1 - p))
    won = np.where(drawn, 0.5, rng.random((units, 2)) < share).sum(axis=1)
    return won, 2 - won


def tournaments(
    setting: str, elo: np.ndarray, units: int, trials: int, draws: float = 0.0, seed: int = 0, zero: int | None = None
) -> list[Row]:
    """Return the rows about Elo and scores in round robins in which each pairing plays `units` pairs of games.

    With `zero`, the number of an agent, return only a row about Elo differences from that agent, such as those of a
    ladder's rungs from its lowest.
    """
    k, held, widths = len(elo), [], []
    upper = np.triu_indices(k, 1)
    true = np.asarray(chance(elo[:, None], elo[None, :]))
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        games = [bout(float(each), units, rng, draws) for each in true[upper]]
        won, lost = (np.stack(each, axis=1) for each in zip(*games, strict=True))
        ratings = rate_pairs(k, np.transpose(upper), won, lost, resamples=400, seed=trial, zero=zero)
        middle = elo - elo @ ratings.weights
        elo_in = (ratings.elo_low <= middle) & (middle <= ratings.elo_high)
        score_in = ((ratings.score_low <= true) & (true <= ratings.score_high))[upper]
        others = np.arange(k) != zero
        held.append((elo_in[others].mean(), score_in.mean()))
        widths.append(
            (
                (ratings.elo_high - ratings.elo_low)[others].mean(),
                (ratings.score_high - ratings.score_low)[upper].mean(),
            )
        )
    (elo_in, score_in), (elo_width, score_width) = np.mean(held, axis=0), np.mean(widths, axis=0)
    if zero is not None:
        return [Row("rungs", setting, elo_in, elo_width)]
    return [Row("Elo", setting, elo_in, elo_width), Row("score", setting, score_in, score_width)]


def ladders(
    setting: str, rungs: tuple[int, ...], agents: tuple[float, float], seeds: int, trials: int, draws: float = 0.0
) -> Row:
    """Return a row about ladder ratings of agents between two Elo values, with `seeds` pairs of games per rung."""
    held, widths = [], []
    elo = np.array(rungs, np.float64)
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        of = rng.uniform(*agents)
        games = [bout(float(each), seeds, rng, draws) for each in chance(of, elo)]
        won, lost = (np.stack(each, axis=1) for each in zip(*games, strict=True))
        _, low, high = rating(elo, won, lost, 400, trial)
        held.append(low <= of <= high)
        widths.append(high - low)
    return Row("ladder", setting, float(np.mean(held)), float(np.mean(widths)))


def rows(trials: int, seed: int = 0) -> Iterator[Row]:
    """Yield all rows of the table; for training seeds, layouts and rungs, the weakest setting comes first."""
    yield from seed_rows(trials, seed)
    for n in (3, 10):
        yield losses("layouts", f"skewed regret, {n} layouts", skewed, n, trials, seed)
    for n in (3, 10):
        yield losses("layouts", f"regret of a usual spread, {n} layouts", often, n, trials, seed)
    for n in (10, 50, 3):
        elo, fewer = np.array(RUNGS, np.float64), max(trials // 5, 2)
        yield from tournaments(f"7 rungs, {n} seeds per pair", elo, n, fewer, seed=seed, zero=0)
    for n in (3, 5, 10, 100):
        yield losses("regret", f"nearly all games lose something, {n} seeds", often, n, trials, seed)
    for n in (5, 10, 30):
        yield losses("regret", f"27 % of {n} seeds err, small mistakes", rare(0.27, 0.012), n, trials, seed)
    for share, n in ((0.1, 5), (0.03, 100), (0.01, 100), (0.002, 1000)):
        yield losses("regret", f"{100 * share:g} % of {n} seeds err, equal mistakes", whole(share), n, trials, seed)
        yield losses("regret", f"{100 * share:g} % of {n} seeds err, unequal ones", rare(share, 0.1), n, trials, seed)
    for n in (10, 100, 1000):
        yield losses("regret", f"frequent small mistakes, 0.5 % large ones, {n} seeds", both, n, trials, seed)
    for n in (3, 10, 100):
        yield losses("exploitability", f"nearly all of {n} starts lose something", often, n, trials, seed)
    for share, n in ((0.1, 10), (0.03, 100)):
        yield losses("exploitability", f"{100 * share:g} % of {n} starts lose", rare(share, 0.1), n, trials, seed)
    for n in (8, 200):
        yield bounds(f"each game of {n} seeds won or lost", lambda rng, n: rng.binomial(2, 0.5, n), n, trials, seed)
        yield bounds(
            f"2 % of {n} seeds lost, all others drawn", lambda rng, n: 1 - whole(0.02)(rng, n), n, trials, seed
        )
    some = max(trials // 5, 2)
    for k, n in ((2, 5), (2, 10), (8, 5), (8, 10), (8, 50), (16, 10)):
        fewer = max(some * 8 // k**2, 40) if trials > 100 else some
        yield from tournaments(f"{k} equal agents, {n} seeds", np.zeros(k), n, fewer, seed=seed)
    spread = np.linspace(0, 700, 8)
    yield from tournaments("8 agents over 700 Elo, 10 seeds", spread, 10, some, seed=seed)
    yield from tournaments("8 equal agents, 10 seeds, half draws", np.zeros(8), 10, some, 0.5, seed)
    yield from tournaments(
        "2 agents, one wins 98 %, 5 seeds", np.array([0.0, ELO * np.log(49)]), 5, 2 * some, seed=seed
    )
    usual = -50.0, 700.0
    yield ladders("50 seeds per rung", RUNGS, usual, 50, some)
    yield ladders("3 seeds per rung", RUNGS, usual, 3, some)
    yield ladders("10 seeds per rung", RUNGS, usual, 10, some)
    yield ladders("10 seeds per rung, most games drawn", RUNGS, usual, 10, some, 0.8)
    yield ladders("2 rungs, 10 seeds per rung", RUNGS[:2], (0.0, 100.0), 10, some)
    yield ladders("far above all rungs, 50 seeds per rung", RUNGS, (1100.0, 1100.0), 50, some)


def seed_rows(trials: int, seed: int = 0) -> Iterator[Row]:
    """Yield the rows about intervals over training seeds."""
    mostly_one: Draw = lambda rng, n: (rng.random(n) < 0.9) * 1.0  # noqa: E731
    settings: list[tuple[str, str, Draw, Draw | None, int]] = [
        ("seeds", "one run in ten fails, 5 seeds", failing(0.1), None, 5),
        ("seeds", "one run in five fails, 5 seeds", failing(0.2), None, 5),
        ("seeds", "skewed, 5 seeds", skewed, None, 5),
        ("seeds", "normally distributed, 10 seeds", normal(0.8), None, 10),
        ("seeds", "normally distributed, 5 seeds", normal(0.8), None, 5),
        ("seeds", "normally distributed, 3 seeds", normal(0.8), None, 3),
        ("seeds", "0 or 1, one in ten is 0, 5 seeds", mostly_one, None, 5),
        ("improvement", "unlike spreads, 5 seeds", normal(0.87), normal(0.8, 0.01), 5),
        ("improvement", "one run in five of one fails, 5 seeds", failing(0.2), normal(0.8), 5),
        ("improvement", "unlike spreads, 3 seeds", normal(0.87), normal(0.8, 0.01), 3),
        ("improvement", "equal methods, 5 seeds", normal(0.8), normal(0.8), 5),
        ("improvement", "equal methods, 3 seeds", normal(0.8), normal(0.8), 3),
    ]
    for measure, setting, first, second, n in settings:
        yield studies(measure, setting, first, second, n, trials, seed)


def main() -> None:
    """Run the command line."""
    config = tyro.cli(Config, prog="python -m tools.coverage", description=__doc__)
    print("| measure | setting | covers | mean width |\n|:--|:--|--:|--:|")
    for row in rows(config.trials, config.seed):
        print(row.text(), flush=True)


if __name__ == "__main__":
    main()
