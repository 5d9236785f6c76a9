"""Play many games between agents at once. Tournaments, measurements and films of games use this module.

Each agent acts once per ply for all games in which it is to move. All randomness comes from the games' seeds, through
the states and `View`, so games do not depend on each other.
"""

import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.agents import Agent, as_agent, load, several
from ttt_envs.agents.base import AgentFailed, Fault
from ttt_envs.core.checks import IllegalAction
from ttt_envs.core.episodes import Memory, observers
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players
from ttt_envs.core.options import MOST, within
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.core.view import View, illegal_answers, numbers_of
from ttt_envs.registry import game_for
from ttt_envs.storage.untrusted import brief
from ttt_envs.wrappers.common import forfeit

#: Called with (number of finished games, number of all games).
GamesProgress = Callable[[int, int], None]

#: The most games that are played concurrently by default.
LARGEST_CHUNK = 4096

_FIRST_CHUNK, _LARGEST_RECORDED, _CHUNK_SECONDS = 32, 1024, 4.0
_MULTIPLIER = np.uint64(0x5851F42D4C957F2D)


@dataclass
class Trajectory:
    """One game, move by move.

    Attributes:
        states: structured (T + 1,), the start first, the end last.
        actions: int64 (T, players), -1 for players who did not act.
    """

    states: np.ndarray
    actions: np.ndarray


@dataclass(frozen=True)
class Failure:
    """An agent's error or illegal action, which lost the game.

    Attributes:
        agent: the agent's name.
        game: number of the game.
        seed: seed of the game.
        player: the player to act.
        ply: ply of the game.
        reason: the error.
        position: the whole position as text, for `Game.parse_state`.
        stderr: the end of the standard error of the agent's process, if any.
    """

    agent: str
    game: int
    seed: int
    player: int
    ply: int
    reason: str
    position: str
    stderr: str = ""


@dataclass
class Games:
    """The results of n games.

    Attributes:
        rewards: float32 (n, players).
        lengths: int64 (n,), in plies.
        moves: uint64 (n,), a digest of each game's actions and of its players' final views: equal for identical games.
        seconds: float64 (agents,), time spent in `act` by each agent.
        decisions: int64 (agents,), number of decisions by each agent.
        spent: float64 (n, players), seconds for each seat's decisions; the time of a joint call is divided evenly
            between its games.
        records: game number -> trajectory, for the games in `record`.
        actions: game number -> actions, as in `Trajectory`, for the games in `keep` or `record`.
        failures: errors and illegal actions of agents, ordered by game.
        counts: for each agent, the increase of its `counts`.
    """

    rewards: np.ndarray
    lengths: np.ndarray
    moves: np.ndarray
    seconds: np.ndarray
    decisions: np.ndarray
    spent: np.ndarray
    records: dict[int, Trajectory] = field(default_factory=dict)
    actions: dict[int, np.ndarray] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    counts: list[dict[str, float]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.lengths)


def game_seeds(seed: int, n: int) -> np.ndarray:
    """Return the episode seeds of `Batch(game, n, seed=seed)`, uint64 (n,); the first ones are the same for any n.

    Raises TypeError or ValueError for a wrong seed.
    """
    return episode_seeds(new_key(seed), np.arange(n, dtype=np.uint64), np.zeros(n, np.uint64))


def play_games(
    game: str | Game,
    agents: Any,
    *,
    games: int | None = None,
    seed: int = 0,
    seats: Any = None,
    seeds: Any = None,
    record: Collection[int] = (),
    keep: Collection[int] = (),
    chunk: int | None = None,
    progress: GamesProgress | None = None,
    strict: bool = True,
    **options: Any,
) -> Games:
    """Play n games to the end.

    Args:
        game: an id or a Game. It may have any number of players, simultaneous choices, and teams.
        agents: arguments of `agents.load`: a mapping by name, a list in the order of the players, or one agent for all
            seats. An agent is a single object that acts for all of its seats at once.
        games: number of games, by default 1. Game i equals game i of `Batch(game, games, seed=seed)`.
        seed: determines all games.
        seats: int (n, players), the index in `agents` for each seat of each game; or (players,) for all games. With
            `seats`, there may be any number of agents.
        seeds: uint64 (n,), instead of `games` and `seed`: one per game, such as `game_seeds(0, n)`.
        record: numbers of games to return move by move, with their positions.
        keep: numbers of games whose actions to return, which need little memory; `evaluation.records` replays them.
        chunk: number of concurrent games; None chooses chunks of a few seconds. The chunk does not change results,
            except for networks, whose rounding depends on the batch.
        progress: callback for the number of finished games.
        strict: whether an agent's error or illegal action ends everything with an error. Otherwise the agent's side
            loses the game (-1, the others share +1), and `Games.failures` records it.
        options: options of the game, if `game` is an id.

    Raises:
        TypeError, ValueError: an argument has a wrong type or shape; a game, an option or an agent is unknown; an agent
            cannot play the game; an agent's answer is no legal action (the error names the agent).
    """
    game = game_for(play_games, game, options)
    loaded = [load(each) for each in several(agents)]
    for agent in loaded:
        agent.check(game)
    if seats is None:
        if len(loaded) not in (1, game.num_players):
            raise ValueError(
                f"{game} takes {game.num_players} agents, one per player, or one for all, not {len(loaded)}; or seats="
            )
        seats = np.arange(game.num_players) % len(loaded)
    if seeds is None:
        games = 1 if games is None else games
        within(0, MOST, games=games)
        seeds = game_seeds(seed, games)
    elif games is not None:
        raise ValueError("seeds are one per game: leave games out")
    parts = iter_games(
        game, loaded, seats, seeds, record=record, keep=keep, chunk=chunk, progress=progress, strict=strict
    )
    return join(list(parts), game, len(loaded))


def iter_games(
    game: Game,
    agents: Sequence[Agent],
    seats: Any,
    seeds: Any,
    *,
    record: Collection[int] = (),
    keep: Collection[int] = (),
    chunk: int | None = None,
    together: int = 1,
    progress: GamesProgress | None = None,
    strict: bool = True,
) -> Iterator[Games]:
    """Play like `play_games`, but yield chunks in order, so that an interrupted caller keeps the finished ones.

    Games form groups of `together`; a chunk that holds a whole group ends at the end of a group. The number of games in
    the next chunk depends on the time of the last one, including the time that the caller spent on its results.
    """
    agents = [as_agent(each) for each in agents]
    numbers = np.asarray(seeds)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu") or (numbers < 0).any():
        raise ValueError(f"seeds must be whole numbers from 0 to 2**64-1, of shape (n,), not {brief(repr(seeds))}")
    seeds = numbers.astype(np.uint64)
    seats = np.asarray(seats)
    n, players = len(seeds), game.num_players
    if seats.dtype.kind not in "iu" or seats.shape not in ((players,), (n, players)):
        raise ValueError(f"seats must be whole numbers of shape {(n, players)}, not {seats.dtype} {seats.shape}")
    if seats.size and not (seats.min() >= 0 and seats.max() < len(agents)):
        raise ValueError(f"seats must name agents 0 to {len(agents) - 1}, not {seats.min()} to {seats.max()}")
    within(1, MOST, chunk=1 if chunk is None else chunk)
    seats = np.broadcast_to(seats, (n, players))
    size, first = chunk or _FIRST_CHUNK, 0

    def told(finished: int) -> None:
        if progress is not None:
            progress(first + finished, n)

    while first < n:
        last = min(first + size, n)
        whole = last - last % together
        last = whole if whole > first else last
        started = time.perf_counter()
        kept = {k - first: k in record for k in range(first, last) if k in keep or k in record}
        games = _play_chunk(game, agents, seats[first:last], seeds[first:last], _How(kept, told, strict))
        games.records = {k + first: each for k, each in games.records.items()}
        games.actions = {k + first: each for k, each in games.actions.items()}
        games.failures = [replace(each, game=each.game + first) for each in games.failures]
        yield games
        if chunk is None:
            pace = _CHUNK_SECONDS / max(time.perf_counter() - started, 1e-3)
            size = int(np.clip(size * min(pace, 4.0), 1, _LARGEST_RECORDED if record else LARGEST_CHUNK))
        first = last


def iter_seeds(
    game: Game,
    agents: Sequence[Agent],
    held: np.ndarray,
    seed: int,
    units: range,
    *,
    chunk: int | None = None,
    strict: bool = True,
    record: bool = False,
    keep: bool = False,
    progress: GamesProgress | None = None,
) -> Iterator[Games]:
    """Play seeds in all seatings, and yield complete seeds, so that an interrupted caller keeps the finished ones.

    The games of a seed depend only on `seed` and its number. `records` and `actions` number games from the first one
    played here, `failures` from seed number 0.

    Args:
        game: the game.
        agents: the agent in the seats that are `held`, and the agent in the other seats, if any.
        held: bool (seatings, players), for each game of a seed.
        seed: determines the games, whose seeds are `game_seeds`.
        units: the numbers of the seeds.
        chunk, strict, progress: the arguments of `play_games`.
        record: whether to return all games with their positions.
        keep: whether to return all actions.

    Raises the errors of `play_games`.
    """
    size, waiting = len(held), list[Games]()
    seats = np.where(np.tile(held, (len(units), 1)), 0, 1)
    every = range(len(seats))
    how: dict[str, Any] = {"chunk": chunk, "together": size, "progress": progress, "strict": strict}
    seeds = np.repeat(game_seeds(seed, units.stop)[units.start :], size)
    for part in iter_games(
        game, agents, seats, seeds, record=every if record else (), keep=every if keep else (), **how
    ):
        part.failures = [replace(each, game=units.start * size + each.game) for each in part.failures]
        waiting.append(part)
        if not sum(map(len, waiting)) % size:
            yield join(waiting, game, len(agents))
            waiting = []


def join(parts: Sequence[Games], game: Game, agents: int) -> Games:
    """Concatenate chunks in order; without chunks, return no games."""
    empty = np.zeros(0, np.int64)
    return Games(
        rewards=np.concatenate([np.zeros((0, game.num_players), np.float32), *(p.rewards for p in parts)]),
        lengths=np.concatenate([empty, *(p.lengths for p in parts)]),
        moves=np.concatenate([empty.astype(np.uint64), *(p.moves for p in parts)]),
        seconds=sum((p.seconds for p in parts), np.zeros(agents)),
        decisions=sum((p.decisions for p in parts), np.zeros(agents, np.int64)),
        spent=np.concatenate([np.zeros((0, game.num_players)), *(p.spent for p in parts)]),
        records={k: kept for p in parts for k, kept in p.records.items()},
        actions={k: kept for p in parts for k, kept in p.actions.items()},
        failures=[each for p in parts for each in p.failures],
        counts=[added([p.counts[agent] for p in parts]) for agent in range(agents)],
    )


def added(counts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return name -> the sum of its counts."""
    total: dict[str, float] = {}
    for each in counts:
        for name, number in each.items():
            total[name] = total.get(name, 0) + number
    return total


def ask(agent: Agent, view: View, *, strict: bool = True) -> tuple[np.ndarray, dict[int, Fault]]:
    """Return an agent's actions, int64 (n,), and failures by index in the view; `strict` raises errors instead.

    If an agent raises an error without naming the positions, it is called again for each position alone: the positions
    in which it raises an error are its failures. Raises the agent's errors; TypeError or ValueError, naming the agent,
    for an answer other than one legal action per position.
    """
    who, faults = f"agent {agent.name!r}", dict[int, Fault]()
    try:
        try:
            answer = agent.act(view)
        except AgentFailed as error:
            if strict:
                raise
            answer, faults = error.actions, error.faults
        actions = numbers_of(who, answer, view)
    except BaseException as error:  # including exceptions that would end the process, such as SystemExit
        if strict or isinstance(error, KeyboardInterrupt) or agent.interactive:  # a person quits by SystemExit
            raise
        if len(view) == 1:
            return np.full(1, -1), {0: Fault(f"{type(error).__name__}: {error}")}
        alone = [ask(agent, view.take(np.array([k])), strict=False) for k in range(len(view))]
        faults_alone = {k: faults[0] for k, (_, faults) in enumerate(alone) if faults}
        return np.concatenate([actions for actions, _ in alone]), faults_alone
    for k, reason in illegal_answers(who, actions, view):
        if strict:
            raise IllegalAction(f"{reason}; the position:\n{view.text(k)}")
        faults.setdefault(k, Fault(reason))
    return actions, faults


def _looked(agent: Agent, view: View, strict: bool) -> Fault | None:
    """Let an agent observe a ply; return its failure, if any. `strict` raises errors instead."""
    try:
        agent.observe(view)
    except BaseException as error:
        if strict or isinstance(error, KeyboardInterrupt) or agent.interactive:
            raise
        return Fault(f"{type(error).__name__}: {error}")
    return None


class _How(NamedTuple):
    """The settings of a chunk; `keep`: number of a game to return -> whether to return its positions, too."""

    keep: Mapping[int, bool]
    progress: Callable[[int], None]
    strict: bool


def _play_chunk(game: Game, agents: Sequence[Agent], seats: np.ndarray, seeds: np.ndarray, how: _How) -> Games:
    keep, progress, strict = how
    n, players = seats.shape
    states = np.repeat(game.prototype, n)
    game.loops.reset_rows(states, np.arange(n), game.prototype, seeds)
    moves = np.zeros(n, np.uint64)
    seconds, decisions = np.zeros(len(agents)), np.zeros(len(agents), np.int64)
    spent, steps = np.zeros((n, players)), list[tuple[np.ndarray, np.ndarray]]()
    kept = np.isin(np.arange(n), list(keep))
    kept_states = {k: [states[k : k + 1].copy()] for k, positions in keep.items() if positions}
    failures: list[Failure] = []
    before = [dict(agent.counts()) for agent in agents]
    memory, by_number = Memory(game, n), dict(enumerate(agents))
    memory.keep_for(agents)
    watchers = observers(by_number)
    told = {
        a: agent
        for a, agent in by_number.items()
        if getattr(agent.episodes_over, "__func__", None) is not Agent.episodes_over
    }
    for _ in range(game.max_plies + 1):
        rows = (~states["done"]).nonzero()[0]
        progress(n - len(rows))
        if not len(rows):
            break
        joint = np.full((n, players), -1)
        offenders: dict[int, list[int]] = {}
        at, by = acting_players(game, states, rows)
        failed: list[tuple[int, int, int, Fault]] = []
        shown = (
            memory.watched(rows, states.take(rows), seeds[rows], seats[rows], watchers)
            if memory.looks(watchers)
            else ()
        )
        for a, view, where in shown:
            started = time.perf_counter()
            fault = _looked(agents[a], view, strict)
            seconds[a] += time.perf_counter() - started
            if fault is not None:
                failed += [(a, int(i), int(player), fault) for i, player in zip(rows[where], view.players, strict=True)]
        for a in np.unique(seats[at, by]):
            mine = seats[at, by] == a
            known = memory.of(at[mine], by[mine])
            view = View.unchecked(game, states.take(at[mine]), by[mine], seeds[at[mine]], **known, copy=False)
            started = time.perf_counter()
            joint[at[mine], by[mine]], faults = ask(agents[a], view, strict=strict)
            took = time.perf_counter() - started
            seconds[a] += took
            decisions[a] += len(view)
            spent[at[mine], by[mine]] += took / len(view)
            failed += [(a, int(at[mine][k]), int(by[mine][k]), fault) for k, fault in faults.items()]
        for a, i, player, fault in failed:
            if player in offenders.get(i, ()):
                continue  # the agent failed when it observed the ply
            position, ply = game.format_state(states[i], None), int(states["ply"][i])
            failures.append(
                Failure(agents[a].name, i, int(seeds[i]), player, ply, fault.reason, position, fault.stderr)
            )
            offenders.setdefault(i, []).append(player)
        for i, guilty in offenders.items():
            forfeit(game, states, i, guilty)
            if i in kept_states:
                kept_states[i][-1] = states[i : i + 1].copy()
        under_way = rows
        rows = rows[~states["done"][rows]]
        played = joint[rows]
        memory.note(rows, states, played)
        game.loops.step_rows(states, rows, played)
        moves[rows] = digest(moves[rows], played)
        steps.append((rows[kept[rows]], played[kept[rows]].astype(np.int32)))
        for k in set(kept_states) & set(rows.tolist()):
            kept_states[k].append(states[k : k + 1].copy())
        over = under_way[states["done"][under_way]]
        if told and len(over):
            memory.over(
                over, states["rewards"][over], np.where(np.isin(seats[over], list(told)), seats[over], -1), told
            )
    else:
        raise RuntimeError(f"{game} went on for more than its {game.max_plies} plies")
    actions = _game_by_game(steps, list(keep), players)
    return Games(
        rewards=states["rewards"].copy(),
        lengths=states["ply"].astype(np.int64),
        moves=moves ^ seen(game, states),
        seconds=seconds,
        decisions=decisions,
        spent=spent,
        records={k: Trajectory(np.concatenate(each), actions[k]) for k, each in kept_states.items()},
        actions=actions,
        failures=sorted(failures, key=lambda each: each.game),
        counts=[
            {name: number - was.get(name, 0) for name, number in agent.counts().items()}
            for agent, was in zip(agents, before, strict=True)
        ],
    )


def _game_by_game(
    steps: Sequence[tuple[np.ndarray, np.ndarray]], keep: Sequence[int], players: int
) -> dict[int, np.ndarray]:
    """Return game number -> actions int64 (T, players), from steps: games int64 (k,) and actions (k, players) each."""
    games = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in steps)])
    actions = np.concatenate([np.zeros((0, players), np.int32), *(played for _, played in steps)])
    order = np.argsort(games, kind="stable")  # keeps the order of a game's plies
    first, last = (np.searchsorted(games[order], keep, side) for side in ("left", "right"))
    return {k: actions[order[a:b]].astype(np.int64) for k, a, b in zip(keep, first, last, strict=True)}


def digest(moves: np.ndarray, played: np.ndarray) -> np.ndarray:
    """Return the digests uint64 (k,), updated with the actions int64 (k, players) of a step; see `Games.moves`."""
    for column in (played + 2).astype(np.uint64).T:
        moves = (moves ^ column) * _MULTIPLIER
        moves ^= moves >> np.uint64(29)
    return moves


def seen(game: Game, states: np.ndarray) -> np.ndarray:
    """Return digests of all players' observations, uint64 (n,), which also show dice and cards."""
    rows = np.stack([game.observations(states, player, check=False) for player in range(game.num_players)], axis=1)
    return np.array([zlib.crc32(row.data) for row in rows], np.uint64)
