"""Calibrate a ladder: choose its rungs, let them play each other, and rate them.

    from ttt_envs import evaluation

    report = evaluation.calibrate("some_game", games=100, out="runs/ladder")

The same on the command line: `ttt calibrate some_game --games 100 --out runs/ladder`.

Rungs that are not given are chosen. The candidates follow from what can play the game: random and greedy, tree search
with growing budgets, and the oracle and shipped agents with growing shares of random actions. In a survey each plays
some others, and the chain from the weakest to the strongest whose steps come nearest to the spacing is taken.

Each two rungs play a quarter of `games`, those that end within two places of each other all of them. Unit u of a
pair has the same seed in every calibration with one `seed`, so that more games and more rungs go on from what is there.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents import load, search_for
from ttt_envs.agents.shipped import cards, digests
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, as_text, within
from ttt_envs.core.rng import settled
from ttt_envs.core.version import __version__
from ttt_envs.evaluation.arena.seating import line_up
from ttt_envs.evaluation.placements.ladder import Ladder, find, versions
from ttt_envs.evaluation.placements.pairs import PAIRS, Pairs
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Arguments, Report, Table
from ttt_envs.registry import game_for
from ttt_envs.storage.files import existing, locked_folder, new_folder, write_whole

#: Elo between two rungs.
SPACING = 100.0

# Shares of random actions of candidates: of the greedy agent, and of strong ones.
_OF_GREEDY, _OF_STRONG = (0.8, 0.6, 0.4, 0.2), (0.0, 0.03, 0.07, 0.15, 0.25, 0.4, 0.6)
_BUDGETS = (2, 4, 8, 16, 32, 64, 128, 256, 512)

# A pair plays this part of the games if its rungs are far from each other; and in the survey.
_FAR, _SURVEY = 4, 8

# Places between rungs that are near each other; and in the survey.
_NEAR, _SURVEYED = 2, 2

# What a mixed agent costs when rungs are chosen: an agent that plays its best is worth a little unevenness.
_MIXED = 0.1

# A step of a ladder that is so much wider than wanted is reported.
_WIDE = 1.75


# --- the rungs ---


def candidates(game: Game) -> list[str]:
    """Agents that may be rungs: texts for `agents.load`, from what can play the game."""
    texts = ["random", "greedy", *(f"mixed:greedy,random={share}" for share in _OF_GREEDY)]
    search = search_for(game)
    texts += [f"{search}:simulations={budget}" for budget in _BUDGETS if search]
    strong = ["oracle", *(f"trained:{card.game}/{card.name}" for card in cards() if card.game == game.id)]
    texts += [f"mixed:{text},random={share}" if share else text for text in strong for share in _OF_STRONG]
    return [text for text in texts if _plays(text, game)]


def _plays(text: str, game: Game) -> bool:
    try:
        load(text).check(game)
    except (ValueError, ImportError, FileNotFoundError):
        return False
    return True


def survey(pairs: Pairs, names: list[str], number: int, slowest: float, work: Work) -> Ladder:
    """A first, rough ladder of the candidates that are fast enough, from `number` games a pair."""
    fast, slow = ["random"], set[str]()
    for name in names:
        family = name.rpartition("=")[0]
        if name == "random" or family in slow:  # budgets grow
            continue
        pairs.play(name, "random", len(pairs.held), work)  # compiles
        played = pairs.played[_key(name, "random")]
        seconds, decisions = played.seconds, played.decisions
        pairs.play(name, "random", number, work)
        k = _key(name, "random").index(name)
        spent = (played.seconds - seconds)[k] / max((played.decisions - decisions)[k], 1)
        if (spent or pairs.seconds(name)) <= slowest:  # nothing was spent where the games were known
            fast.append(name)
        else:
            slow.add(family)
    middle = fast[len(fast) // 2]
    for name in fast:
        if name != middle:
            pairs.play(name, middle, number, work)
    for _ in range(2):  # the second time by the order that the first one has found
        rough = pairs.ladder(fast, 0, {})
        for one, other in _near(rough.rungs, _SURVEYED):
            pairs.play(one, other, number, work)
    return pairs.ladder(fast, 0, {})


def chain(rough: Ladder, spacing: float) -> list[str]:
    """The rungs from random to the strongest with steps nearest to `spacing`, by dynamic programming."""
    names, elo = rough.rungs[rough.rungs.index("random") :], rough.elo[rough.rungs.index("random") :]
    k = len(names)
    cost, before = np.zeros(k), np.zeros(k, np.int64)
    for j in range(1, k):
        steps = (elo[j] - elo[:j]) / spacing
        whole = cost[:j] + (steps - 1) ** 2 + _MIXED * names[j].startswith("mixed:")
        before[j] = int(np.argmin(whole))
        cost[j] = whole[before[j]]
    links = [k - 1]
    while links[-1]:
        links.append(int(before[links[-1]]))
    return [names[i] for i in reversed(links)]


def _near(rungs: Sequence[str], places: int) -> Iterator[tuple[str, str]]:
    return ((rungs[i], rungs[j]) for i, j in combinations(range(len(rungs)), 2) if j - i <= places)


def _key(one: str, other: str) -> tuple[str, str]:
    first, second = sorted((one, other))
    return first, second


# --- the report ---


@dataclass(kw_only=True)
class CalibrationReport(Report):
    """A ladder that was calibrated; its file is ladder.json.

    Attributes:
        ladder: the ladder.
    """

    ladder: Ladder

    verb, title = "calibrate", "Calibration of a ladder"
    files = ("report.md", "results.json", "ladder.json", PAIRS)

    def facts(self) -> list[str]:
        """The ladder, and its games."""
        games = sum(pair.games for pair in self.ladder.pairs)
        return [
            f"Ladder version {self.ladder.version} (`{self.ladder.digest}`), {games} games, each seed played from "
            f"every seat. Seed {self.settings['seed']}."
        ]

    def tables(self) -> list[Table]:
        """The remarks of the ladder."""
        return self.ladder.tables()

    def remarks(self) -> list[str]:
        """Steps that are much too wide."""
        wanted, rungs = self.settings["spacing"] or SPACING, self.ladder.rungs
        return [
            f"From {rungs[k]} to {rungs[k + 1]} it is {step:.0f} Elo: no agent was found between them."
            for k, step in enumerate(np.diff(self.ladder.elo))
            if step > _WIDE * wanted
        ]

    def data(self) -> dict[str, Any]:
        """Ratings and scores are in ladder.json."""
        return {"elo": self.ladder.elo, "digest": self.ladder.digest}

    def rows(self) -> list[dict[str, Any]]:
        """One row a rung, from the weakest one on."""
        return self.ladder.rows()

    def save_others(self, folder: Path) -> None:
        """Write report.md and ladder.json."""
        super().save_others(folder)
        write_whole(folder / "ladder.json", self.ladder.text())


def calibrate(
    game: str | Game,
    rungs: Iterable[str] = (),
    *,
    games: int = 400,
    spacing: float | None = None,
    slowest: float = 0.005,
    version: int | None = None,
    seed: int | None = 0,
    chunk: int | None = None,
    resume: bool = False,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> CalibrationReport:
    """Measure the rungs of a ladder against each other.

    Args:
        game: an id, or a Game.
        rungs: texts for `agents.load`; by default those of the game's ladder, if it has one, or else they are chosen,
            see the module.
        games: games of two rungs that are near each other; rounded up, so that each seed is played from every seat.
        spacing: choose the rungs anew, with so many Elo between two; a game without a ladder gets 100.
        slowest: seconds of a decision that a chosen rung may take.
        version: number of the ladder; by default one more than that of the game's ladder, or 1.
        seed: fixes the games; None draws one of 128 bits.
        chunk: games played side by side; by default a few seconds' worth. Changes no result.
        resume: go on with the games that are in `out`.
        out: folder for ladder.json, the games, and the report; nothing is written without one.
        quiet: no progress bar.
        options: of the game, if `game` is an id.

    Raises:
        ValueError, TypeError: wrong settings, or rungs that are unknown or cannot play this game; a folder with games
            of another game or seed.
        FileExistsError, InUse, NotSaved: as from `tournament`.
        FileNotFoundError: no games to resume.
        KeyboardInterrupt: interrupted. The games by then are in `out`.
    """
    settings = Arguments(calibrate, locals())
    seed = settings["seed"] = settled(seed)
    within(1, MOST, games=games, chunk=1 if chunk is None else chunk)
    within(1.0, 1e4, spacing=SPACING if spacing is None else spacing)
    within(0.0, 1e6, slowest=slowest)
    within(1, MOST, version=1 if version is None else version)
    game = game_for(calibrate, game, options)
    names = [rungs] if isinstance(rungs, str) else list(rungs)
    try:
        known = find(game)
    except ValueError:
        known = None
    if not names and known is not None and spacing is None:
        names = list(known.rungs)
    if names:
        line_up(game, names, least=2)
    settings["version"] = version = version or (1 if known is None else known.version + 1)
    with _folder(out, resume) as folder:
        pairs = Pairs(game, seed, folder, chunk)
        try:
            with Work(pairs.played, "pairings", None, hidden=quiet) as work:
                if not names:
                    rough = survey(pairs, candidates(game), -(-games // _SURVEY), slowest, work)
                    names = chain(rough, spacing or SPACING)
                for one, other in combinations(names, 2):
                    pairs.play(one, other, -(-games // _FAR), work)
                while missing := [
                    pair
                    for pair in _near(pairs.ladder(names, 0, {}).rungs, _NEAR)
                    if pairs.played[_key(*pair)].count < pairs.units(games)
                ]:
                    for one, other in missing:
                        pairs.play(one, other, games, work)
            if not work.complete:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            hint = f": --resume --out {folder} goes on with the games in it" if folder is not None else ""
            raise KeyboardInterrupt(f"the ladder is not finished{hint}") from None
        settings["rungs"] = names
        report = CalibrationReport(
            game=game,
            settings=settings,
            seconds=work.seconds,
            ladder=pairs.ladder(names, version, {}),
        )
        made = {
            "command": report.command,
            "seed": seed,
            "version": __version__,
            "versions": versions(),
            "options": " ".join(f"{name}={as_text(value)}" for name, value in game.options.items()),
            "trained": digests(names),
        }
        report.ladder = pairs.ladder(names, version, made)
        return report.kept(folder)


@contextmanager
def _folder(out: str | Path | None, resume: bool) -> Iterator[Path | None]:
    """The folder, new, or with the games to be resumed."""
    if not resume:
        with new_folder(out, begun=PAIRS) as folder:
            yield folder
        return
    if out is None:
        raise ValueError("resume needs out, the folder with the games")
    existing(Path(out) / PAIRS, "calibration to resume")
    with locked_folder(Path(out)):
        yield Path(out)
