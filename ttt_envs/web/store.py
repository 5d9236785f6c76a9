"""Store: the games of a server in a file of SQLite, so that a restart loses none."""

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_VERSION = 1

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE games (
    id TEXT PRIMARY KEY,
    game TEXT NOT NULL,
    options TEXT NOT NULL,   -- JSON: name -> text, as on a command line
    seed TEXT NOT NULL,
    library TEXT NOT NULL,   -- version
    creator TEXT NOT NULL,   -- digest of a browser's token
    actions TEXT NOT NULL,   -- JSON: a list a ply, one number a player, -1 for none
    waiting TEXT NOT NULL,   -- JSON: player -> action
    over INTEGER NOT NULL,
    successor TEXT,          -- id of the game that was begun anew from this one
    touched REAL NOT NULL    -- seconds since 1970
);
CREATE INDEX games_touched ON games (touched);
CREATE TABLE seats (
    id TEXT NOT NULL REFERENCES games (id) ON DELETE CASCADE,
    player INTEGER NOT NULL,
    agent TEXT,              -- NULL for a person
    owner TEXT,              -- digest of a browser's token; NULL while nobody holds the seat
    PRIMARY KEY (id, player)
);
CREATE INDEX seats_owner ON seats (owner);
"""


@dataclass
class Seat:
    """The seat of one player.

    Attributes:
        agent: text of the agent that sits there; None for a person.
        owner: digest of the token of the browser that holds it; None for an agent, and while a person is invited.
    """

    agent: str | None
    owner: str | None = None


@dataclass
class StoredGame:
    """A game as it is kept; see the comments of the file's tables."""

    id: str
    game: str
    options: Mapping[str, str]
    seed: int
    library: str
    creator: str
    seats: list[Seat]
    actions: Sequence[Sequence[int]] = ()
    waiting: Mapping[int, int] | None = None
    successor: str | None = None
    over: bool = False


class Store:
    """The file. It is for one thread at a time, and for one process."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises OSError if that is not possible, ValueError if it is no such file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # Readable for its owner alone: it holds the seeds of games, which tell hidden cards.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            # With a write-ahead log a killed process loses nothing by this; a power failure may lose the last moves.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("PRAGMA foreign_keys = ON")
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version == 0 and not self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
                with self._writing():
                    for statement in _TABLES.split(";\n"):
                        self._db.execute(statement)
                    self._db.execute("INSERT INTO facts VALUES ('secret', ?)", (secrets.token_hex(32),))
                    self._db.execute(f"PRAGMA user_version = {_VERSION}")
            elif version != _VERSION:
                raise ValueError(f"{path} is no file of games of this version of ttt-envs: choose another --data")
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"{path} is no file of games, or is damaged: {error}") from None
        except ValueError:
            self._db.close()
            raise
        (secret,) = self._db.execute("SELECT value FROM facts WHERE name = 'secret'").fetchone()
        #: A key that the file alone has.
        self.secret = bytes.fromhex(secret)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A context in which all is written, or after an error nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def add(self, stored: StoredGame) -> None:
        """Keep a new game."""
        with self._writing():
            self._db.execute(
                "INSERT INTO games VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    stored.id,
                    stored.game,
                    json.dumps(dict(stored.options)),
                    str(stored.seed),
                    stored.library,
                    stored.creator,
                    *_moves(stored),
                    time.time(),
                ),
            )
            rows = [(stored.id, player, seat.agent, seat.owner) for player, seat in enumerate(stored.seats)]
            self._db.executemany("INSERT INTO seats VALUES (?, ?, ?, ?)", rows)

    def keep_moves(self, stored: StoredGame) -> None:
        """Keep what was played, and what waits; a game that was given up meanwhile is kept again."""
        kept = self._db.execute(
            "UPDATE games SET actions = ?, waiting = ?, over = ?, successor = ?, touched = ? WHERE id = ?",
            (*_moves(stored), time.time(), stored.id),
        )
        if not kept.rowcount:
            self.add(stored)

    def keep_owner(self, game: str, player: int, owner: str) -> None:
        """Keep who holds a seat."""
        self._db.execute("UPDATE seats SET owner = ? WHERE id = ? AND player = ?", (owner, game, player))

    def find(self, game: str) -> StoredGame | None:
        """The game of that id, if there is one."""
        row = self._db.execute(
            "SELECT id, game, options, seed, library, creator, actions, waiting, over, successor FROM games "
            "WHERE id = ?",
            (game,),
        ).fetchone()
        if row is None:
            return None
        ident, name, options, seed, library, creator, actions, waiting, over, successor = row
        seats = self._db.execute("SELECT agent, owner FROM seats WHERE id = ? ORDER BY player", (game,)).fetchall()
        return StoredGame(
            id=ident,
            game=name,
            options=json.loads(options),
            seed=int(seed),
            library=library,
            creator=creator,
            seats=[Seat(agent, owner) for agent, owner in seats],
            actions=json.loads(actions),
            waiting={int(player): action for player, action in json.loads(waiting).items()},
            successor=successor,
            over=bool(over),
        )

    def of_browser(self, owner: str, most: int) -> list[tuple[str, str, bool, float]]:
        """Id, game, whether it is over, and time of the last move of a browser's games, the latest first."""
        found = self._db.execute(
            "SELECT DISTINCT games.id, game, over, touched FROM games LEFT JOIN seats ON seats.id = games.id "
            "WHERE owner = ?1 OR creator = ?1 ORDER BY touched DESC LIMIT ?2",
            (owner, most),
        )
        return [(ident, game, bool(over), touched) for ident, game, over, touched in found]

    def make_room(self, most: int, idle: float) -> bool:
        """Tell whether there are fewer than `most` games; those without a move for `idle` seconds may be given up."""
        (count,) = self._db.execute("SELECT count(*) FROM games").fetchone()
        if count >= most:
            self._db.execute(
                "DELETE FROM games WHERE id IN (SELECT id FROM games WHERE touched < ? ORDER BY touched LIMIT ?)",
                (time.time() - idle, count - most + 1),
            )
            (count,) = self._db.execute("SELECT count(*) FROM games").fetchone()
        return bool(count < most)

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _moves(stored: StoredGame) -> tuple[str, str, bool, str | None]:
    """The columns that change from move to move."""
    return json.dumps(stored.actions), json.dumps(stored.waiting or {}), stored.over, stored.successor
