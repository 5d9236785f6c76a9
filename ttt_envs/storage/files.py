"""Files written whole or not at all, into folders that hold nothing else and that one process at a time writes."""

import errno
import glob
import os
import platform
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from textwrap import shorten
from typing import BinaryIO

from ttt_envs.storage.untrusted import brief

# The lock file of a folder, and the ending of files that are being written. A killed process leaves both behind.
_LOCK, _PART = ".lock", ".ttt-envs-part"

# Seconds to try for a lock: long enough for the file of one that is being released to disappear.
_MOMENT = 0.2

# The errors of file systems that have no locks.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)


class InUse(OSError):
    """Raised for a folder or a file that another process is writing."""


def write_whole(path: Path, data: bytes | str, *, wait: bool = True) -> None:
    """Write `data` (text as UTF-8) to `path`, so that a reader finds the old file or the new one, never a part.

    `wait=False` does not wait for the disk: for files that can be made again and whose reader detects damage after a
    power cut. Raises OSError naming the file and the fault, such as a full disk; the old file stands then.
    """
    with writing_whole(path, wait) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def writing_whole(path: Path, wait: bool = True) -> Iterator[BinaryIO]:
    """Return a context with an open file that becomes `path` at its end, whole; after any error the old file stands.

    It is for data too long to be held at once. Raises OSError as `write_whole`.
    """
    part = path.with_name(f"{_hidden(path)}.{os.urandom(4).hex()}{_PART}")
    inside = False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not by tempfile, whose files are private, whatever the umask says.
        with part.open("xb") as file:
            inside = True
            yield file
            inside = False
            file.flush()
            if wait:
                os.fsync(file.fileno())
        part.replace(path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        # The caller's errors in `file.write` have a number and no name; others concern the data's source.
        ours = not inside or (isinstance(error, OSError) and error.errno is not None and error.filename is None)
        if isinstance(error, OSError) and ours:
            raise _unwritable(path, error) from error
        raise


def unused(folder: Path, *, numbered: bool = False, begun: str = "") -> Path:
    """Return `folder`, if it holds no files yet; `numbered`: else the first such one of folder-2, folder-3, ...

    `begun` is the name of a file from which --resume goes on: if it is in the folder, the error says so. The lock and
    the unfinished files of a killed process do not count. With `numbered`, a folder that another process is writing is
    passed over. Raises FileExistsError for a folder that holds files, so that no results are overwritten.
    """
    first, numbers = folder, count(2)
    while not is_empty(folder) or (numbered and in_use(folder)):
        if not numbered:
            if not folder.is_dir():
                raise FileExistsError(f"{folder} is a file, and no folder: choose another place")
            hint = "--resume goes on with the run in it; or " if begun and (folder / begun).exists() else ""
            what = f"{hint}choose another folder, or delete this one first"
            raise FileExistsError(f"{folder} exists and is not empty: {what}")
        folder = first.with_name(f"{first.name}-{next(numbers)}")
    return folder


def is_empty(folder: Path) -> bool:
    """Return whether there is no such folder, or just the lock and unfinished files of a killed process in it."""
    if not folder.is_dir():
        return not folder.exists()
    return all(path.name == _LOCK or path.name.endswith(_PART) for path in folder.iterdir())


def check_writable(path: Path) -> None:
    """Raise OSError if no file can be written at `path`, before the work rather than after it. Makes its folder."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"no file can be written in the folder {path.parent}")


def existing(path: str | Path, what: str) -> Path:
    """Return the path, if it exists; else raises FileNotFoundError, which calls the missing file `what`."""
    reason = ""
    try:
        if Path(path).exists():
            return Path(path)
    except OSError as error:  # such as a path that is too long
        reason = f" ({error.strerror})"
    raise FileNotFoundError(f"no {what} at {brief(str(path))}{reason}")


def reason_of(error: OSError) -> str:
    """Return the text of an error without its number, for people."""
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{brief(str(error.filename))}: {error.strerror}"


# --- locks ---


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Return a context in which no other process writes the folder. It is made, and removed if nothing was written.

    The operating system holds the lock for this process and releases it when the process ends, even if it is killed.
    Unfinished files of a killed process are removed.

    Raises InUse, naming the process that writes the folder, and OSError if the folder cannot be written.
    """
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        with _locked(folder / _LOCK, folder):
            for part in (*folder.glob(f".*{_PART}"), *folder.glob(f"*/.*{_PART}")):
                part.unlink(missing_ok=True)
            yield
    finally:
        with suppress(OSError):
            for each in made:
                each.rmdir()  # fails for one that holds something


@contextmanager
def new_folder(out: str | Path | None, begun: str = "") -> Iterator[Path | None]:
    """Return a context with a folder for results: without files, and locked; None for None. `begun` is as for `unused`.

    Raises FileExistsError as `unused`, and as `locked_folder`.
    """
    if out is None:
        yield None
        return
    folder = Path(out)
    if not in_use(folder):
        unused(folder, begun=begun)
    with locked_folder(folder):
        yield unused(folder, begun=begun)


@contextmanager
def locked_file(path: Path, wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Return a context in which no other process writes the file; see `locked_folder`.

    `wait`: do not raise InUse, but tell this function of the other process, and wait for it.
    """
    with _locked(path.with_name(f"{_hidden(path)}{_LOCK}"), path, wait):
        for part in path.parent.glob(f"{glob.escape(_hidden(path))}.????????{_PART}"):
            part.unlink(missing_ok=True)
        yield


def _hidden(path: Path) -> str:
    """Return the beginning of the names of its hidden files, with room for their endings in 255 bytes."""
    return f".{os.fsencode(path.name)[:200].decode(errors='ignore')}"


def in_use(folder: Path) -> bool:
    """Return whether another process is writing the folder now."""
    if not (folder / _LOCK).exists():
        return False
    try:
        with _locked(folder / _LOCK, folder):
            return False
    except InUse:
        return True


@contextmanager
def _locked(place: Path, what: Path, wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Return a context in which this process holds the lock file at `place`, and thereby `what`."""
    from filelock import FileLock, Timeout, UnixFileLock

    lock = FileLock(place, thread_local=False)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=_MOMENT)
        except Timeout:
            if wait is None:
                # If the file system has no locks, the file is the lock, and may outlast a process elsewhere.
                hint = "" if isinstance(lock, UnixFileLock) else f"; if that process has ended, delete {place}"
                raise InUse(
                    f"{what} is being written by {_holder(place)}: only one process at a time can{hint}"
                ) from None
            wait(f"{what} is being written by {_holder(place)}: waiting for it")
            lock.acquire()
    except InUse:
        raise
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise _unwritable(what, error) from error
        place.unlink(missing_ok=True)
        warnings.warn(f"the file system of {what} has no locks: a second process could write it too", stacklevel=4)
    try:
        if lock.is_locked and isinstance(
            lock, UnixFileLock
        ):  # other lock files cannot be read meanwhile, or hold text of their own
            with suppress(OSError):
                place.write_text(_description(), encoding="utf-8", errors="backslashreplace")
        yield
    finally:
        # Deleted while it is held: a process that waits for the old file notices, and makes a new one.
        if lock.is_locked:
            with suppress(OSError):
                place.unlink()
            lock.release()


def _description() -> str:
    command = shorten(shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]), 120, placeholder=" ...")
    return f"process {os.getpid()} on {platform.node()} ({command}) since {time.strftime('%Y-%m-%d %H:%M:%S')}"


def _holder(place: Path) -> str:
    with suppress(OSError, ValueError):
        return shorten(place.read_text(encoding="utf-8"), 300) or "another process"
    return "another process"


def _unwritable(path: Path, error: OSError) -> OSError:
    text = f"{brief(str(path))} cannot be written: {error.strerror or error}"
    if isinstance(error, FileExistsError):  # from making the folder
        return NotADirectoryError(errno.ENOTDIR, f"{text}, and is no folder ({error.filename})")
    return OSError(text) if error.errno is None else OSError(error.errno, text)
