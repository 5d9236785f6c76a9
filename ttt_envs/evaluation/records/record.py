"""Records: games as lines of JSON, one line per game, to be kept, filtered and replayed.

Example::

    from ttt_envs.evaluation import records

    for record in records.read("games.jsonl", winner="greedy"):
        print(record.number, record.actions)

A line is complete: it has the game's id and options, the seed of all chance, and the names of the actions.
`docs/records.md` describes the keys. `ttt tournament` writes such a file, `ttt replay` shows it, and
`ttt_envs.evaluation.records.replaying` reproduces the positions. Damaged lines are rejected with an error that names
them.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.played_game import PlayedGame
from ttt_envs.core.version import __version__
from ttt_envs.evaluation.arena.play import Failure, Games, digest, seen
from ttt_envs.storage.files import existing, writing_whole
from ttt_envs.storage.untrusted import brief, read_json, with_tuples

#: The name and the version of the format; each line has both.
FORMAT, VERSION = "ttt-envs game", 1

#: The file of recorded games in the folder of a tournament.
RECORDS = "games.jsonl"

#: The play of one ply: the name of an action; or one per player, None for players who do not act.
Ply = str | tuple[str | None, ...]

# The most bytes of a line; a record of the longest game has less than a hundredth of it.
_LONGEST = 1 << 26


@dataclass(frozen=True)
class RecordedFailure:
    """An error or an illegal action, which lost the game for a player's side.

    Attributes:
        player: the player to act.
        reason: the error.
        position: the whole position as text, for `Game.parse_state`.
        stderr: the end of the standard error of the agent's process, if any.
    """

    player: int
    reason: str
    position: str = ""
    stderr: str = ""


@dataclass(frozen=True)
class GameRecord:
    """One game as it was played.

    Attributes:
        number: number of the game among the games of one call.
        game: id of the game.
        options: all options of the game; see `registry.game_of_file`.
        library: version of the library that played it.
        seed: seed of the episode, the source of all its randomness.
        agents: the agent in each seat, by name.
        actions: the actions of each ply: texts if one player acts at a time, else one entry per player.
        rewards: reward of each player, a float32 as its shortest decimal number.
        failures: the failures that ended the game early, after its last action; empty for a complete game.
        seconds: time of each seat's decisions; the only key that differs between two runs of the game.
        digest: `Games.moves`, a digest of the actions and of the players' final views.
        job: in the last game of a tournament's job, data on all games of the job.
        place: the file and the line from which it was read.
    """

    number: int
    game: str
    options: Mapping[str, Any]
    library: str
    seed: int
    agents: tuple[str, ...]
    actions: tuple[Ply, ...]
    rewards: tuple[float, ...]
    failures: tuple[RecordedFailure, ...]
    seconds: tuple[float, ...]
    digest: int
    job: Mapping[str, Any] | None = field(default=None, compare=False)
    place: str = field(default="", compare=False)

    @property
    def winners(self) -> tuple[str, ...]:
        """The agents with a positive reward, each once; empty for a draw."""
        return tuple(dict.fromkeys(a for a, reward in zip(self.agents, self.rewards, strict=True) if reward > 0))

    def json(self) -> str:
        """Return the record as one line."""
        line = {
            "format": FORMAT,
            "version": VERSION,
            "number": self.number,
            "game": self.game,
            "options": self.options,
            "library": self.library,
            "seed": str(self.seed),  # text, because JavaScript rounds numbers of more than 53 bits
            "agents": self.agents,
            "actions": self.actions,
            "rewards": self.rewards,
            "failures": [asdict(each) for each in self.failures],
            "seconds": self.seconds,
            "digest": f"{self.digest:016x}",
            **({} if self.job is None else {"job": self.job}),
        }
        return json.dumps(line, ensure_ascii=False, allow_nan=False)


# --- writing ---


def of_games(
    game: Game, games: Games, agents: Sequence[str], seats: Any, seeds: Any, first: int = 0
) -> Iterator[GameRecord]:
    """Yield the records of the games whose actions were kept.

    Args:
        game: the game.
        games: from `play_games(..., keep=...)` or a part of it.
        agents: names of the agents.
        seats: int (n, players) or (players,), the index in `agents` for each seat.
        seeds: uint64 (n,).
        first: the number of the first of the games.
    """
    seats, names = np.broadcast_to(seats, games.rewards.shape), game.action_names
    failed: dict[int, list[Failure]] = {}
    for each in games.failures:
        failed.setdefault(each.game, []).append(each)
    for k, actions in games.actions.items():
        plies: list[Ply]
        if game.simultaneous:
            plies = [tuple(None if a < 0 else names[a] for a in joint) for joint in actions.tolist()]
        else:
            plies = [names[action] for action in actions.max(axis=1).tolist()] if len(actions) else []
        yield GameRecord(
            number=first + k,
            game=game.id,
            options=dict(game.options),
            library=__version__,
            seed=int(seeds[k]),
            agents=tuple(agents[seat] for seat in seats[k].tolist()),
            actions=tuple(plies),
            rewards=tuple(float(str(reward)) for reward in games.rewards[k]),
            failures=tuple(
                RecordedFailure(each.player, each.reason, each.position, each.stderr) for each in failed.get(k, ())
            ),
            seconds=tuple(round(seconds, 7) for seconds in games.spent[k].tolist()),
            digest=int(games.moves[k]),
        )


def of_live(live: PlayedGame, agents: Sequence[str]) -> GameRecord:
    """Return the record of a game that was played move by move, finished or not.

    Args:
        live: the game. Note that the seed in the record reveals all hidden information and future chance.
        agents: names of the agents or people in its seats.
    """
    players = live.game.num_players
    actions = np.array(live.actions, np.int64).reshape(-1, players)
    moves = np.zeros(1, np.uint64)
    for joint in actions:
        moves = digest(moves, joint[None])
    games = Games(
        rewards=live.state["rewards"].copy(),
        lengths=np.array([live.ply]),
        moves=moves ^ seen(live.game, live.state),
        seconds=np.zeros(players),
        decisions=np.zeros(players, np.int64),
        spent=np.zeros((1, players)),
        actions={0: actions},
    )
    (record,) = of_games(live.game, games, agents, np.arange(players), [live.episode_seed])
    return record


def write(path: str | Path, records: Iterable[GameRecord]) -> int:
    """Write records atomically to a file; return their number.

    If the name ends in .gz, the file is compressed. Raises OSError naming a file that cannot be written.
    """
    path, written = Path(path), 0
    with writing_whole(path) as file:
        # Leave file name and time out of the header of gzip, so that equal records give equal files.
        out: Any = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.suffix == ".gz" else file
        for record in records:
            out.write(record.json().encode() + b"\n")
            written += 1
        if out is not file:
            out.close()
    return written


# --- reading ---


def read(
    path: str | Path,
    *,
    number: int | None = None,
    agent: str | None = None,
    winner: str | None = None,
    min_plies: int = 0,
    max_plies: int | None = None,
) -> Iterator[GameRecord]:
    """Yield the records of a file, compressed or not, in order.

    Args:
        path: the file, or the folder of a tournament whose games were recorded.
        number: only the game with this number.
        agent: only games in which this agent played.
        winner: only games that this agent won, alone or with others; or "draw".
        min_plies: only games of at least this many plies.
        max_plies: only games of at most this many plies.

    Raises:
        FileNotFoundError: there is no such file, or the folder has no recorded games.
        ValueError: the file or a line is damaged, or of another format or version; it names the line.
    """
    path = existing(path, "file of records")
    if path.is_dir():
        folder, path = path, path / RECORDS
        if not path.is_file():
            raise FileNotFoundError(f"there is no {RECORDS} in {folder}, which a tournament writes")
    for place, line in _lines(path):
        record = record_of(line, place)
        if number not in (None, record.number) or (agent is not None and agent not in record.agents):
            continue
        if winner is not None and winner not in (record.winners or ("draw",)):
            continue
        if min_plies <= len(record.actions) <= (len(record.actions) if max_plies is None else max_plies):
            yield record


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    number = 1
    with path.open("rb") as plain:
        packed = plain.peek(2)[:2] == b"\x1f\x8b"
        with gzip.GzipFile(fileobj=plain) if packed else plain as file:
            try:
                while line := file.readline(_LONGEST):
                    if len(line) == _LONGEST:
                        raise ValueError(f"{path}, line {number}: no record of a game has more than {_LONGEST} bytes")
                    yield f"{path}, line {number}", line
                    number += 1
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise ValueError(f"{path}, line {number}: the compressed file is damaged: {error}") from None


def record_of(line: bytes, place: str) -> GameRecord:
    """Return the record in a line; raise ValueError naming its place and the fault."""
    try:
        entry = read_json(line)
    except ValueError as error:
        raise ValueError(f"{place}: the line is damaged, it is no JSON: {error}") from None
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        raise ValueError(f"{place}: this is no record of a game: it lacks the format {FORMAT!r}")
    version = entry.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ValueError(
            f"{place}: a record of version {brief(repr(version))}, but ttt-envs {__version__} reads version "
            f"{VERSION}; it was written by ttt-envs {brief(str(entry.get('library')))}"
        )
    try:
        return _checked(entry, place)
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        what = f"the key {error} is missing" if isinstance(error, KeyError) else error
        raise ValueError(f"{place}: the record is damaged: {what}") from None


# Key -> type, for keys whose types are checked; replaying checks the contents.
_KINDS: dict[str, type] = {
    **dict.fromkeys(("game", "library", "seed", "digest"), str),
    **dict.fromkeys(("agents", "actions", "rewards", "failures", "seconds"), list),
    "number": int,
    "options": dict,
}


def _checked(entry: dict[str, Any], place: str) -> GameRecord:
    """Return the record in a line's JSON object; raise KeyError, TypeError or ValueError if it is invalid."""
    for name, kind in _KINDS.items():
        if type(entry[name]) is not kind:
            raise TypeError(f"{name} must be of type {kind.__name__}, not {brief(repr(entry[name]))}")
    agents, rewards, seconds = entry["agents"], entry["rewards"], entry["seconds"]
    if not len(agents) == len(rewards) == len(seconds) > 0 or {*map(type, agents)} != {str}:
        raise ValueError("agents, rewards and seconds must have one entry per player, agents a text")
    return GameRecord(
        number=entry["number"],
        game=entry["game"],
        options=with_tuples(entry["options"]),
        library=entry["library"],
        seed=int(np.uint64(int(entry["seed"]))),
        agents=tuple(agents),
        actions=tuple(tuple(each) if isinstance(each, list) else each for each in entry["actions"]),
        rewards=tuple(float(each) for each in rewards),
        failures=tuple(RecordedFailure(**each) for each in entry["failures"]),
        seconds=tuple(float(each) for each in seconds),
        digest=int(entry["digest"], 16),
        job=entry.get("job"),
        place=place,
    )
