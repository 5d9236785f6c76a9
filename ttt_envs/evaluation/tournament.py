"""A round robin: every two agents play each other, each seed from every seat.

    python -m ttt_envs.evaluation.tournament --game super_tic_tac_toe --agents random greedy mcts:simulations=200

The same in Python:

    from ttt_envs.evaluation.tournament import Config, run

    result = run(Config(game="super_tic_tac_toe", agents=("random", "greedy"), games=200))
    print(result.ratings.elo, result.ratings.score)

Seats: between two sides an agent plays each seed from both. Between more, it plays one side against the other
agent on all others, from each side in turn, and the other way round. Game k has the same seed in every
pairing. A side is a team of `game.teams`; an agent plays all of its team's seats.
"""

import io
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import ttt_envs
from ttt_envs import agents as agent_collection
from ttt_envs.agents import Agent
from ttt_envs.core.files import write_whole
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.core.view import View
from ttt_envs.evaluation.play import Games, checked, game_seeds, iter_games, join
from ttt_envs.evaluation.ratings import Ratings, rate
from ttt_envs.evaluation.report import Table, write_json
from ttt_envs.registry import parse_options


@dataclass
class Config:
    """Let agents play each other and rate them. Interrupted (Ctrl-C), it reports on the games finished by then."""

    game: str
    """Id of the game."""
    agents: tuple[str, ...]
    """Two or more agents, such as random, greedy, mcts:simulations=200, ppo:runs/x or oracle."""
    games: int = 100
    """Games of each pairing; rounded up, so that each seed is played from every seat."""
    seed: int = 0
    """Fixes all games and intervals."""
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An option of the game, as name=value; may be repeated."""
    out: Path | None = Path("runs/tournament")
    """Folder for report.md, results.json and games.npz."""
    resamples: int = 1000
    """Of the bootstrap that gives the intervals."""
    chunk: int | None = None
    """Games played side by side; by default a few seconds' worth. Changes no result."""


@dataclass(frozen=True)
class Arrangement:
    """Who sits where in one game of a pairing.

    Attributes:
        seats: bool (players,), those of the pairing's first agent; the second has the others.
        side: the side that one agent holds alone.
        first_alone: whether that is the first agent; between two sides, both are alone.
    """

    seats: np.ndarray
    side: int
    first_alone: bool


@dataclass
class Pairing:
    """The games of two agents, complete units only.

    Attributes:
        first, second: their numbers.
        games: unit after unit, in each unit the arrangements in order.
        seats: int64 (n, players), which agent sat where.
        won, lost: float64 (n,), what the first agent won and lost; see `comparisons`.
        planned: games that were to be played.
    """

    first: int
    second: int
    games: Games
    seats: np.ndarray
    won: np.ndarray
    lost: np.ndarray
    planned: int

    def mean_reward(self, agent: int) -> float:
        """Mean reward of `agent` in a seat of this pairing."""
        return float(self.games.rewards[self.seats == agent].mean())

    @property
    def distinct(self) -> int:
        """Games that went differently from each other."""
        return len(np.unique(self.games.moves))


@dataclass
class Result:
    """What a tournament found. `markdown()` is the report; `ratings.score[i, j]` the score of agent i against j.

    Attributes:
        config: of the tournament.
        game: that was played.
        agents: names, in the order given.
        arrangements: of the seats of a pairing.
        pairings: those with at least one unit of games.
        ratings: Elo and scores with intervals; see `ttt_envs.evaluation.ratings`.
        complete: False if it was interrupted.
        given: agents that no command line names, since they were objects in Python.
        folder: where the files are, or None.
    """

    config: Config
    game: Game
    agents: tuple[str, ...]
    arrangements: tuple[Arrangement, ...]
    pairings: list[Pairing]
    ratings: Ratings
    complete: bool
    given: tuple[str, ...] = ()
    folder: Path | None = None

    @cached_property
    def order(self) -> list[int]:
        """Agents from the strongest to the weakest; those without games last."""
        return [int(i) for i in np.argsort(-np.nan_to_num(self.ratings.elo, nan=-np.inf), kind="stable")]

    @cached_property
    def mean_reward(self) -> np.ndarray:
        """float64 (agents, agents): of a seat of the row agent against the column agent; nan without games."""
        table = np.full((len(self.agents), len(self.agents)), np.nan)
        for pairing in self.pairings:
            a, b = pairing.first, pairing.second
            table[a, b], table[b, a] = pairing.mean_reward(a), pairing.mean_reward(b)
        return table

    @cached_property
    def side_scores(self) -> np.ndarray:
        """float64 (sides, agents, agents): score of the row agent where it alone holds that side."""
        sides = len(self.game.teams)
        won = np.zeros((2, sides, len(self.agents), len(self.agents)))
        for pairing in self.pairings:
            a, b = pairing.first, pairing.second
            for k, arrangement in enumerate(self.arrangements):
                mine = slice(k, None, len(self.arrangements))
                result = np.array([pairing.won[mine].sum(), pairing.lost[mine].sum()])
                if arrangement.first_alone:
                    won[:, arrangement.side, a, b] += result
                if not arrangement.first_alone or sides == 2:
                    other = 1 - arrangement.side if arrangement.first_alone else arrangement.side
                    won[:, other, b, a] += result[::-1]
        with np.errstate(invalid="ignore"):
            return np.asarray(won[0] / won.sum(axis=0))

    @property
    def command(self) -> str:
        """The command line that makes this report."""
        config, default = self.config, Config("", ())
        words = ["python", "-m", "ttt_envs.evaluation.tournament", "--game", config.game, "--agents", *config.agents]
        words += ["--games", str(config.games), "--seed", str(config.seed)]
        for option in config.option:
            words += ["--option", option]
        if config.out is not None:
            words += ["--out", str(config.out)]
        if config.resamples != default.resamples:
            words += ["--resamples", str(config.resamples)]
        return shlex.join(words)

    def tables(self) -> list[Table]:
        """Ratings, crosstable, crosstables by side, pairings, time."""
        return [self._ratings(), self._crosstable(), *self._by_side(), self._pairings(), self._time()]

    def _ratings(self) -> Table:
        r = self.ratings
        rows = []
        for place, i in enumerate(self.order, 1):
            mine = [p for p in self.pairings if i in (p.first, p.second)]
            played = sum(len(p.games) for p in mine)
            field_score = np.nanmean(r.score[i]) if mine else np.nan
            elo = f"{r.elo[i]:+.0f}" if mine else "–"
            between = f"{r.elo_low[i]:+.0f} to {r.elo_high[i]:+.0f}" if mine else "–"
            rows.append([f"{place}  {self.agents[i]}", elo, between, _share(field_score), str(played)])
        note = "Elo by Bradley-Terry: a difference of 400 means ten wins for each loss. Score: mean over the opponents."
        return Table("Ratings", ["agent", "Elo", "95 % interval", "score", "games"], rows, note)

    def _crosstable(self) -> Table:
        r = self.ratings
        rows = []
        for place, i in enumerate(self.order, 1):
            cells = [
                "–"
                if np.isnan(r.score[i, j])
                else f"{_share(r.score[i, j])} ({_bound(r.score_low[i, j])}–{_bound(r.score_high[i, j])})"
                for j in self.order
            ]
            rows.append([f"{place}  {self.agents[i]}", *cells])
        header = ["agent", *(str(k + 1) for k in range(len(rows)))]
        note = "Score of the row against the column, a draw being half a win; in brackets its 95 % interval."
        return Table("Crosstable", header, rows, note)

    def _by_side(self) -> list[Table]:
        tables = []
        for side, team in enumerate(self.game.teams):
            name = " and ".join(f"player_{p}" for p in team)
            rows = [
                [f"{place}  {self.agents[i]}", *(_share(self.side_scores[side, i, j]) for j in self.order)]
                for place, i in enumerate(self.order, 1)
            ]
            header = ["agent", *(str(k + 1) for k in range(len(rows)))]
            note = f"Score of the row as {name}, the column having all other seats."
            tables.append(Table(f"As {name}", header, rows, note))
        return tables

    def _pairings(self) -> Table:
        rows = []
        for p in self.pairings:
            share = p.won / np.maximum(p.won + p.lost, 1e-12)
            wins, losses = int((share > 0.5).sum()), int((share < 0.5).sum())
            rows.append(
                [
                    f"{self.agents[p.first]} – {self.agents[p.second]}",
                    str(len(p.games)) if len(p.games) == p.planned else f"{len(p.games)} of {p.planned}",
                    f"{wins}/{len(p.games) - wins - losses}/{losses}",
                    f"{p.mean_reward(p.first):+.3f}",
                    f"{p.games.lengths.mean():.1f}",
                    str(p.distinct),
                ]
            )
        header = ["pairing", "games", "W/D/L", "reward", "plies", "distinct"]
        note = (
            "Games won, drawn and lost by the first, and its mean reward. Plies: mean length. Distinct: "
            "games that went differently; where they are few, agents repeat themselves, and the intervals, "
            "which take seeds for independent, say little."
        )
        return Table("Pairings", header, rows, note)

    def _time(self) -> Table:
        seconds = sum((p.games.seconds for p in self.pairings), np.zeros(len(self.agents)))
        moves = sum((p.games.decisions for p in self.pairings), np.zeros(len(self.agents), np.int64))
        rows = [
            [self.agents[i], f"{1e6 * seconds[i] / moves[i]:.1f}" if moves[i] else "–", str(moves[i])]
            for i in self.order
        ]
        note = "Of many games side by side. The only table that differs from run to run."
        return Table("Time", ["agent", "µs a move", "moves"], rows, note)

    def markdown(self) -> str:
        """The report."""
        lines = [f"# Tournament: {self.game.title}", ""]
        if not self.complete:
            lines += ["**Partial: it was interrupted. Only the games finished by then count.**", ""]
        seeds = -(-self.config.games // len(self.arrangements))
        options = ", ".join(f"`{name}={value}`" for name, value in self.game.options.items())
        lines += [
            f"Options: {options or 'none'}.",
            f"{seeds * len(self.arrangements)} games a pairing: {seeds} seeds, each played in all "
            f"{len(self.arrangements)} seatings. Seed {self.config.seed}.",
            "",
            "```",
            self.command,
            "```",
            "",
        ]
        if self.given:
            lines += [f"Called from Python, which made {', '.join(self.given)}; the command cannot.", ""]
        return "\n".join(lines + [table.markdown() for table in self.tables()])

    def json(self) -> dict[str, Any]:
        """The results for programs, as in results.json."""
        r, c = self.ratings, self.config
        seconds = sum((p.games.seconds for p in self.pairings), np.zeros(len(self.agents)))
        moves = sum((p.games.decisions for p in self.pairings), np.zeros(len(self.agents), np.int64))
        return {
            "game": self.game.id,
            "options": dict(self.game.options),
            "command": self.command,
            "version": ttt_envs.__version__,
            "complete": self.complete,
            "seed": c.seed,
            "agents": self.agents,
            "elo": r.elo,
            "elo_interval": np.stack([r.elo_low, r.elo_high], axis=1),
            "score": r.score,
            "score_interval": np.stack([r.score_low, r.score_high], axis=2),
            "mean_reward": self.mean_reward,
            "side_score": self.side_scores,
            "pairings": [
                {
                    "agents": [self.agents[p.first], self.agents[p.second]],
                    "games": len(p.games),
                    "planned": p.planned,
                    "distinct": p.distinct,
                    "mean_length": p.games.lengths.mean(),
                }
                for p in self.pairings
            ],
            "moves": moves,
            "seconds": seconds,
        }

    def save(self, folder: Path) -> None:
        """Write report.md, results.json and games.npz (one row a game) into `folder`, each whole or not at all."""
        write_whole(folder / "report.md", self.markdown())
        write_json(folder / "results.json", self.json())
        per_unit = len(self.arrangements)
        units = [np.arange(len(p.games)) // per_unit for p in self.pairings]
        seeds = game_seeds(self.config.seed, max((len(u) for u in units), default=0))
        data = io.BytesIO()
        np.savez_compressed(
            data,
            agents=np.array(self.agents),
            pairing=np.repeat(np.arange(len(self.pairings)), [len(u) for u in units]),
            seed=np.concatenate([seeds[u] for u in units]),
            seats=np.concatenate([p.seats for p in self.pairings]).astype(np.int16),
            rewards=np.concatenate([p.games.rewards for p in self.pairings]),
            length=np.concatenate([p.games.lengths for p in self.pairings]).astype(np.int32),
            moves=np.concatenate([p.games.moves for p in self.pairings]),
        )
        write_whole(folder / "games.npz", data.getvalue())
        self.folder = folder


def run(config: Config, players: Mapping[str, Agent] | None = None, *, quiet: bool = False) -> Result:
    """Play the tournament, and write its files unless `config.out` is None.

    Args:
        config: what to play.
        players: agents that exist already, by the name they have in `config.agents`; others are loaded.
        quiet: no progress bar.

    Raises:
        ValueError, TypeError: wrong settings, an agent that is unknown, listed twice or cannot play this
            game; before any game is played. An agent's illegal action, later.
        FileNotFoundError: a file that an agent needs is not there.
        KeyboardInterrupt: interrupted before anything was finished. Later, an interrupt gives a partial result.
    """
    for name, low in (("games", 1), ("resamples", 0)):
        value = getattr(config, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise ValueError(f"{name} must be a whole number of at least {low}, not {value!r}")
    game = ttt_envs.load(config.game, **parse_options(config.game, config.option))
    seats = arrangements(game)
    names = tuple(config.agents)
    if len(names) < 2:
        raise ValueError(f"a tournament needs at least two agents, not {len(names)}")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"agent {name!r} is listed twice; it would play itself")
    lineup = [ready(name, game, players or {}) for name in names]
    # A person plays one game after the other, and needs the terminal.
    live = any(getattr(agent, "interactive", False) for agent in lineup)
    chunk = 1 if live and config.chunk is None else config.chunk

    units = -(-config.games // len(seats))
    seeds = np.repeat(game_seeds(config.seed, units), len(seats))
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    pairings: list[Pairing] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("games"),
        TimeRemainingColumn(),
    )
    complete = False
    try:
        with Progress(*columns, console=Console(stderr=True), disable=quiet or live, transient=True) as progress:
            task = progress.add_task("", total=len(pairs) * len(seeds))
            for done, (i, j) in enumerate(pairs):
                progress.update(task, description=f"{names[i]} – {names[j]}")

                def tell(finished: int, _: int, before: int = done * len(seeds)) -> None:
                    progress.update(task, completed=before + finished)

                held = np.tile(np.stack([a.seats for a in seats]), (units, 1))
                assignment = np.where(held, i, j)
                parts: list[Games] = []
                try:
                    for part in iter_games(game, lineup, assignment, seeds, chunk=chunk, progress=tell):
                        parts.append(part)  # one by one: an interrupt finds what is finished
                finally:
                    pairing = _pairing(i, j, join(parts, game, len(names)), assignment, held, len(seats))
                    if len(pairing.games):
                        pairings.append(pairing)
        complete = True
    except (KeyboardInterrupt, SystemExit):
        if not pairings:
            raise
    wins = np.zeros((units, len(names), len(names)))
    for pairing in pairings:
        a, b, n = pairing.first, pairing.second, len(pairing.games) // len(seats)
        wins[:n, a, b] = pairing.won.reshape(n, -1).sum(axis=1)
        wins[:n, b, a] = pairing.lost.reshape(n, -1).sum(axis=1)
    ratings = rate(wins, resamples=config.resamples, seed=config.seed)
    given = tuple(name for name in names if name in (players or {}))
    result = Result(config, game, names, seats, pairings, ratings, complete, given)
    if config.out is not None:
        result.save(config.out)
    return result


def arrangements(game: Game) -> tuple[Arrangement, ...]:
    """All seatings of two agents: one agent alone on each side in turn, the other on all others, both ways round.

    Raises ValueError for a game with one side, which has no opponents.
    """
    sides = len(game.teams)
    if sides < 2:
        raise ValueError(f"{game!r} has one side only: nobody plays against another")
    found = []
    for first_alone in (True, False) if sides > 2 else (True,):
        for side, team in enumerate(game.teams):
            seats = np.full(game.num_players, not first_alone)
            seats[list(team)] = first_alone
            found.append(Arrangement(seats, side, first_alone))
    return tuple(found)


def comparisons(rewards: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What one agent won and lost against another in n games, each float64 (n,).

    Between two players: 1 and 0 for a win, 1/2 each for a draw. In general each seat of the one is compared
        with each
    of the other; equal rewards count only where all rewards of the game are equal, since losers have not
    drawn. With that, if chances of winning are proportional to strengths (Plackett-Luce), won : lost
    estimates their ratio.

    Args:
        rewards: float (n, players).
        held: bool (n, players), the seats of the first agent.
    """
    higher = rewards[:, :, None] > rewards[:, None, :]
    against = held[:, :, None] & ~held[:, None, :]
    won = (higher & against).sum(axis=(1, 2)).astype(np.float64)
    lost = (higher.transpose(0, 2, 1) & against).sum(axis=(1, 2)).astype(np.float64)
    pairs = against.sum(axis=(1, 2))
    drawn = (rewards == rewards[:, :1]).all(axis=1)
    won[drawn] = lost[drawn] = pairs[drawn] / 2
    return won, lost


def _pairing(first: int, second: int, games: Games, assignment: np.ndarray, held: np.ndarray, per_unit: int) -> Pairing:
    n = len(games) - len(games) % per_unit
    games.rewards, games.lengths, games.moves = games.rewards[:n], games.lengths[:n], games.moves[:n]
    won, lost = comparisons(games.rewards, held[:n])
    return Pairing(first, second, games, assignment[:n], won, lost, len(assignment))


def ready(name: str, game: Game, players: Mapping[str, Agent]) -> Agent:
    """The agent, once it has answered for one position."""
    agent = players[name] if name in players else agent_collection.load(name)
    states = game.new_state(0)
    if states["done"][0] or getattr(agent, "interactive", False):
        return agent
    to_move = int(states["to_move"][0])
    everyone = range(game.num_players) if to_move == SIMULTANEOUS else [to_move]
    for player in everyone:
        view = View(game, states, np.array([player]), np.zeros(1, np.uint64))
        if not view.masks.any():
            continue
        try:
            answer = agent.act(view)
        except (ValueError, TypeError, NotImplementedError, OSError, ImportError) as error:
            words = str(error)
            raise ValueError(
                words if words.startswith("agent ") else f"agent {name!r} cannot play {game!r}: {words}"
            ) from error
        checked(agent, view, answer)
        break
    return agent


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _bound(value: float) -> str:
    """Shorter, so that crosstables stay narrow."""
    return "1" if value > 0.9995 else f"{value:.3f}".removeprefix("0")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    config = tyro.cli(
        Config, args=arguments, prog="python -m ttt_envs.evaluation.tournament", description=Config.__doc__
    )
    console, errors = Console(), Console(stderr=True)
    try:
        result = run(config)
    except (ValueError, TypeError, NotImplementedError, OSError) as error:
        errors.print(f"error: {error}", style="red", markup=False, highlight=False)
        return 2
    except KeyboardInterrupt:
        errors.print("interrupted before any game was finished: nothing is written")
        return 130
    for table in result.tables():
        console.print()
        console.print(table.rich())
    if not result.complete:
        console.print("Partial: interrupted; only the games finished by then count.", style="yellow")
    if result.folder is not None:
        console.print(f"report.md, results.json and games.npz are in {result.folder}", highlight=False)
    return 0 if result.complete else 130


if __name__ == "__main__":
    sys.exit(main())
