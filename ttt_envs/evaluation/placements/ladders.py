"""The places of one agent on the ladders of all games.

    from ttt_envs import evaluation

    report = evaluation.ladders("greedy", minutes=2, workers=2, out="runs/greedy")
    print(report.places["some_game"].rating, report.left_out)

The same on the command line: `ttt ladders --agent greedy --minutes 2 --workers 2`. Each game is played with its
default options and has a folder with the report of `evaluation.ladder`. Several workers are processes that have a game
each; they change no result.
"""

import _thread
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import signature
from multiprocessing import connection
from pathlib import Path
from typing import Any

from rich.console import Console

from ttt_envs.agents import Agent, load
from ttt_envs.core.options import MOST, unknown, within
from ttt_envs.core.rng import settled
from ttt_envs.evaluation.placements.ladder import Ladder, find
from ttt_envs.evaluation.placements.placement import ladder
from ttt_envs.evaluation.reports.leaderboard import leaderboard
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.evaluation.tournaments.processes import Worker, end, ending_of, with_news
from ttt_envs.evaluation.tournaments.workers import Failed
from ttt_envs.registry import GAMES
from ttt_envs.registry import load as load_game
from ttt_envs.storage.files import new_folder
from ttt_envs.storage.rows import Rows

#: Folder of the page with all places, beside the folders of the games.
BOARD = "leaderboard"


@dataclass(frozen=True)
class Place:
    """The place of an agent on the ladder of one game.

    Attributes:
        version: version of the ladder.
        rating, low, high: the rating and its 95 % interval, in Elo.
        games: number of games played.
        seconds: the time that they took.
        reached: whether the interval is as narrow as asked for.
        complete: False if it was interrupted.
    """

    version: int
    rating: float
    low: float
    high: float
    games: int
    seconds: float
    reached: bool
    complete: bool


@dataclass
class Ladders(Rows):
    """The places of an agent on the ladders of all games.

    Attributes:
        agent: its name.
        places: by id of the game.
        left_out: ids of games in which it has no place, with the reason.
        lost: ids of games whose process ended before it had a place, with the way that it ended.
        complete: False if it was interrupted.
        seconds: the time that it took.
        folder: the folder of the results, or None.
    """

    agent: str
    places: dict[str, Place] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    complete: bool = True
    seconds: float = 0.0
    folder: Path | None = None

    @property
    def games(self) -> int:
        """Number of games played."""
        return sum(each.games for each in self.places.values())

    def table(self) -> Table:
        """The places, a row a game."""
        rows = []
        for game_id, each in self.places.items():
            interval = f"{each.low:.0f} to {each.high:.0f}"
            speed = f"{each.games / max(each.seconds, 1e-9):.0f}"
            row = [game_id, f"{each.rating:.0f}", interval, str(each.version), str(each.games)]
            rows.append([*row, f"{each.seconds:.0f}", speed])
        header = ["game", "Elo", "95 % interval", "ladder", "games", "seconds", "games/s"]
        note = f"{self.games} games in {self.seconds:.0f} s. {self.agent} on the ladder of each game: Elo of one game "
        return Table(f"Ladders: {self.agent}", header, rows, f"{note}says nothing about another.")

    def rows(self) -> list[dict[str, Any]]:
        """One row a game."""
        found = []
        for game_id, each in self.places.items():
            elo = {"elo": each.rating, "elo_low": each.low, "elo_high": each.high}
            of_games = {"games": each.games, "seconds": each.seconds, "reached": each.reached}
            found.append({"game": game_id, "agent": self.agent, "ladder": each.version, **elo, **of_games})
        return found

    def show(self, console: Console | None = None) -> None:
        """Print the places, the games that are left out, and where the results are."""
        console = console or Console()
        console.print()
        console.print(self.table())
        for game_id, reason in self.left_out.items():
            console.print(f"{game_id} is left out: {reason}", style="yellow", markup=False, highlight=False)
        for game_id, reason in self.lost.items():
            console.print(f"{game_id} is lost: {reason}", style="yellow", markup=False, highlight=False)
        if not self.complete:
            console.print("Partial: interrupted; only the games finished by then count.", style="yellow")
        if self.folder is not None:
            words = f"A folder for each game, and {BOARD}/leaderboard.html, are in {self.folder}"
            console.print(words, highlight=False, soft_wrap=True)


def ladders(
    agent: Any,
    *,
    seed: int | None = 0,
    workers: int = 1,
    out: str | Path | None = None,
    quiet: bool = False,
    **settings: Any,
) -> Ladders:
    """Place an agent on the ladder of every game that it can play and that has one.

    Args:
        agent: what `agents.load` takes; with several workers a text.
        seed: fixes the games. None draws one of 128 bits.
        workers: games that are played side by side, each in a process; 1 plays all in this one.
        out: folder for the results: a folder a game, and `leaderboard`; nothing is written without one.
        quiet: no progress bar.
        settings: further arguments of `evaluation.ladder`, which hold for each game, such as `target` and `minutes`.

    Raises:
        ValueError, TypeError: wrong settings, an unknown agent, or one that has no place in any game.
        FileNotFoundError: a file that the agent needs is not there.
        FileExistsError, InUse, NotSaved: as from `evaluation.tournament`.
        KeyboardInterrupt: interrupted before anything was finished. Later, an interrupt gives the places by then.
    """
    known = [each.name for each in signature(ladder).parameters.values() if each.kind is each.KEYWORD_ONLY]
    for name in settings:  # before anything is played; ladders are those of the games' default options
        if known and name not in known:
            raise TypeError(f"ladders() got an unexpected keyword argument {name!r}; {unknown('setting', name, known)}")
    within(1, MOST, workers=workers)
    if workers > 1 and not isinstance(agent, str):
        raise TypeError(f"several workers need an agent that is named by a text, not {agent!r}")
    loaded = load(agent)
    if workers > 1 and loaded.interactive:
        raise ValueError("a person plays in this process: leave workers out")
    report = Ladders(loaded.name)
    report.left_out = {game_id: reason for game_id in GAMES if (reason := _refusal(game_id, loaded)) is not None}
    if isinstance(agent, str):
        loaded.close()
    playable = [game_id for game_id in GAMES if game_id not in report.left_out]
    if not playable:
        reasons = "; ".join(f"{game_id}: {reason}" for game_id, reason in report.left_out.items())
        raise ValueError(f"agent {loaded.name!r} has a place in no game: {reasons}")
    given = {**settings, "seed": settled(seed), "quiet": quiet or workers > 1}
    with new_folder(out) as folder:
        placings = [_Placing(game_id, agent, given, folder and folder / game_id) for game_id in playable]
        with Work(report.places, "ladders", len(playable), hidden=quiet or workers == 1) as work:
            if workers == 1:
                _in_turn(placings, report)
            else:
                _side_by_side(placings, workers, report, work)
        report.complete, report.seconds, report.folder = work.complete, work.seconds, folder
        report.places = {game_id: report.places[game_id] for game_id in playable if game_id in report.places}
        if folder is not None and report.places:
            leaderboard(folder, out=folder / BOARD)
    return report


def all_ladders() -> dict[str, Ladder]:
    """The ladders that come with the games, by the game's id."""
    found = {}
    for game_id in GAMES:
        with suppress(ValueError):  # a game without one
            found[game_id] = find(load_game(game_id))
    return found


def overview() -> Table:
    """The ladders that come with the games, a row each."""
    rows = []
    for game_id, each in all_ladders().items():
        games, widest = sum(pair.games for pair in each.pairs), each.half_widths.max()
        ends = f"{each.elo[0]:.0f} to {each.elo[-1]:.0f}"
        rows.append([game_id, str(each.version), str(len(each)), ends, f"±{widest:.0f}", str(games), each.rungs[-1]])
    header = ["game", "version", "rungs", "Elo", "at most", "games", "the strongest"]
    note = "Elo of the rungs, with the widest half width of their 95 % intervals. `ttt rungs GAME` shows one of them."
    return Table("Ladders", header, rows, note)


def _refusal(game_id: str, agent: Agent) -> str | None:
    """The reason why an agent has no place on the ladder of a game; None if it can have one."""
    game = load_game(game_id)
    try:
        agent.check(game)
        find(game)
    except ValueError as error:
        return str(error)
    return None


@dataclass(frozen=True)
class _Placing:
    """A placement that is to be made."""

    game_id: str
    agent: Any
    given: Mapping[str, Any]
    out: Path | None

    def place(self) -> Place:
        """Make it; raises as `evaluation.ladder`."""
        report = ladder(self.game_id, self.agent, out=self.out, **self.given)
        low, high = report.interval
        facts = report.ladder.version, report.rating, low, high, report.games, report.seconds
        return Place(*facts, report.reached, report.complete)


def _in_turn(placings: Sequence[_Placing], report: Ladders) -> None:
    for each in placings:
        place = report.places[each.game_id] = each.place()
        if not place.complete:
            raise KeyboardInterrupt


def _side_by_side(placings: Sequence[_Placing], workers: int, report: Ladders, work: Work) -> None:
    """Make placements in processes; an interrupt ends those under way, which report on what they have."""
    waiting, team, interrupted = list(placings), list[Worker](), False
    try:
        while waiting or team:
            try:
                while waiting and len(team) < workers:
                    worker = Worker(_serve, waiting[0])
                    worker.ready, worker.work = True, waiting.pop(0)
                    team.append(worker)
                work.update(len(report.places), ", ".join(worker.work.game_id for worker in team))
                ready = with_news(team)
            except KeyboardInterrupt:
                if interrupted:  # once more: do not wait for them
                    raise
                interrupted = True
                waiting.clear()
                for worker in team:
                    worker.send(None)
                continue
            for worker in ready:
                game_id, answer = worker.work.game_id, worker.read()
                if isinstance(answer, Failed):
                    raise answer.error()
                if isinstance(answer, Place):
                    report.places[game_id] = answer
                elif not interrupted:
                    report.lost[game_id] = answer or f"its process ended: {ending_of(worker.process)}"
                team.remove(worker)
                worker.work = None
                end([worker])
    finally:
        end(team)
    if interrupted:
        raise KeyboardInterrupt


def _serve(placing: _Placing, theirs: connection.Connection) -> None:
    """Make a placement and send it, in a process of its own."""
    finished = threading.Event()
    threading.Thread(target=_heed, args=(theirs, finished), daemon=True).start()
    answer: Place | Failed | str
    try:
        answer = placing.place()
    except KeyboardInterrupt:
        answer = "interrupted before a game was finished"
    except Exception as error:
        answer = Failed.of(error)
    finished.set()
    with suppress(OSError):
        theirs.send(answer)


def _heed(theirs: connection.Connection, finished: threading.Event) -> None:
    """Interrupt the placement when the process that began it says so, or has ended."""
    with suppress(EOFError, OSError):
        theirs.recv()
    if not finished.is_set():
        _thread.interrupt_main()
