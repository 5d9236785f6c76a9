"""Files with tables of optimal play: format, folders, and the construction of missing or damaged tables."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ttt_envs.storage.files import locked_file, write_whole
from ttt_envs.storage.tensors import BadTensorFile
from ttt_envs.storage.untrusted import read_json

Table = TypeVar("Table")

# Bytes of a file's header: its kind, and facts as JSON.
_HEAD = 512


class BadTable(ValueError):
    """Raised for a file that is damaged or has a table for another version or other options."""


class TableMissing(Exception):
    """Raised instead of a long build of a table; see `without_building`."""


# --- format ---


def write_table(path: Path, kind: str, facts: Mapping[str, Any], body: bytes) -> None:
    """Write a table atomically, with a checksum; raise OSError if this fails.

    Args:
        path: the file.
        kind: the kind of table, such as the id of a game.
        facts: facts about the table, for JSON; together with the checksum they must fit into 512 bytes.
        body: the table.
    """
    said = json.dumps({**facts, "sha256": hashlib.sha256(body).hexdigest()}).encode()
    write_whole(path, (_magic(kind) + said).ljust(_HEAD, b"\n") + body)


def read_table(path: Path, kind: str, facts: Mapping[str, Any]) -> tuple[dict[str, Any], np.ndarray]:
    """Return the facts and the body, uint8 and memory-mapped, of a table that `write_table` wrote.

    Raises FileNotFoundError, or BadTable naming the fault: the file is damaged or has other facts than `facts`.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    magic = _magic(kind)
    if not head.startswith(magic):
        raise BadTable(f"{path} is no table of {kind}")
    try:
        header = read_json(head[len(magic) :])
        digest = header.pop("sha256")
        said = {name: header[name] for name in facts}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadTable(f"{path} is damaged: its head cannot be read ({error})") from None
    if json.dumps(said) != json.dumps(dict(facts)):  # compared as texts, in which 1 differs from true
        raise BadTable(f"{path} is a table with {json.dumps(said)}, not with {json.dumps(dict(facts))}")
    if path.stat().st_size <= _HEAD:
        raise BadTable(f"{path} is damaged: it ends after its head")
    body = np.asarray(np.memmap(path, np.uint8, "r", _HEAD))
    if hashlib.sha256(body.data).hexdigest() != digest:
        raise BadTable(f"{path} is damaged: its checksum is wrong")
    return header, body


def _magic(kind: str) -> bytes:
    return f"ttt-envs {kind} table\n".encode()


# --- construction ---


_MAY_BUILD = ContextVar("may_build", default=True)


@contextmanager
def without_building() -> Iterator[None]:
    """Return a context in which a missing oracle table raises TableMissing instead of being built."""
    before = _MAY_BUILD.set(False)
    try:
        yield
    finally:
        _MAY_BUILD.reset(before)


def table_folder() -> Path:
    """Return the folder of tables that are not in the package: TTT_ENVS_CACHE, or else the user's cache folder."""
    from platformdirs import user_cache_path

    folder = os.environ.get("TTT_ENVS_CACHE")
    return Path(folder) if folder else user_cache_path("ttt_envs")


def load_or_build(
    path: Path,
    read: Callable[[Path], Table],
    build: Callable[[Callable[[str, float], None]], Table],
    write: Callable[[Path, Table], None],
) -> Table:
    """Return the table in a file. If the file is missing or damaged, build the table, and write it if possible.

    Progress is shown on stderr. If another process is building the table, this one waits. Inside `without_building`,
    raises TableMissing instead of building.

    Args:
        path: the file.
        read: reads the table; raises OSError, BadTable or BadTensorFile if it is missing or damaged.
        build: computes the table.
        write: writes the table; raises OSError if that fails.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, force_jupyter=False)

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, highlight=False, markup=False)

    why = "it is needed for the first time"

    def at_hand() -> Table | None:
        nonlocal why
        try:
            return read(path)
        except FileNotFoundError:
            pass
        except (OSError, BadTable, BadTensorFile) as error:
            why = str(error)
        return None

    if (table := at_hand()) is not None:
        return table
    if not _MAY_BUILD.get():
        raise TableMissing(f"the table of optimal play is not built yet: {why}")
    with ExitStack() as stack:
        with suppress(OSError):  # a folder that is not writeable needs no lock
            stack.enter_context(locked_file(path, say))
            if (table := at_hand()) is not None:  # another process has built it meanwhile
                return table
        say(f"Building the table of optimal play, once: {why}")
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("", total=1.0)
            table = build(lambda what, share: progress.update(task, description=what, completed=share))
        try:
            write(path, table)
            table = read(path)
            say(f"It is kept in {path}")
        except (OSError, BadTable) as error:
            say(f"It is used from memory, as it cannot be kept: {error}. TTT_ENVS_CACHE chooses another folder.")
    return table
