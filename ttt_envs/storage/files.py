"""Atomic writes of files, and locks, so that only one process at a time writes to a folder."""

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

# The lock file of a folder, and the suffix of unfinished files. A killed process leaves both behind.
_LOCK, _PART = ".lock", ".ttt-envs-part"

# Seconds to try to get a lock: long enough for a lock file that is being released to disappear.
_MOMENT = 0.2

# The errors of file systems without locks.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)


class InUse(OSError):
    """Raised for a folder or a file to which another process is writing."""


def write_whole(path: Path, data: bytes | str, *, wait: bool = True) -> None:
    """Write `data` (text as UTF-8) to `path` atomically: a reader finds the old or the new file, never a part.

    `wait=False` does not wait for the disk. Use it only for files that can be made again and whose reader detects
    damage. Raises OSError naming the file and the fault, such as a full disk; the old file then remains.
    """
    with writing_whole(path, wait) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def writing_whole(path: Path, wait: bool = True) -> Iterator[BinaryIO]:
    """Return a context with an open file that replaces `path` at the end; after any error the old file remains.

    Use it for data that is too large for memory. Raises OSError like `write_whole`.
    """
    part = path.with_name(f"{_hidden(path)}.{os.urandom(4).hex()}{_PART}")
    inside = False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Do not use tempfile, which makes files private regardless of the umask.
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
        # If writing to `file` fails, the OSError has a number but no file name: add the name. Other errors are the
        # caller's and stay unchanged.
        ours = not inside or (isinstance(error, OSError) and error.errno is not None and error.filename is None)
        if isinstance(error, OSError) and ours:
            raise _unwritable(path, error) from error
        raise


def unused(folder: Path, *, numbered: bool = False, begun: str = "") -> Path:
    """Return `folder` if it has no files; otherwise, if `numbered`, the first of folder-2, folder-3, ... without files.

    `begun` is the name of a file that marks a resumable run: if it is in the folder, the error suggests --resume. The
    lock and the unfinished files of a killed process do not count. If `numbered`, folders to which another process is
    writing are skipped; if not, a folder that contains files raises FileExistsError, so that no results are
    overwritten.
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
    """Return whether the folder is missing or contains only the lock and unfinished files of a killed process."""
    if not folder.is_dir():
        return not folder.exists()
    return all(path.name == _LOCK or path.name.endswith(_PART) for path in folder.iterdir())


def check_writable(path: Path) -> None:
    """Make the folder of `path`; raise OSError if no file can be written there. Call it before a long computation."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"no file can be written in the folder {path.parent}")


def existing(path: str | Path, what: str) -> Path:
    """Return the path if it exists; else raise FileNotFoundError, which calls the missing file `what`."""
    reason = ""
    try:
        if Path(path).exists():
            return Path(path)
    except OSError as error:  # for example a path that is too long
        reason = f" ({error.strerror})"
    raise FileNotFoundError(f"no {what} at {brief(str(path))}{reason}")


def reason_of(error: OSError) -> str:
    """Return the text of an error without its errno, for messages."""
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{brief(str(error.filename))}: {error.strerror}"


# --- locks ---


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Return a context in which only this process writes to the folder; a folder created here is removed if empty.

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
                each.rmdir()  # fails for a folder that is not empty


@contextmanager
def new_folder(out: str | Path | None, begun: str = "") -> Iterator[Path | None]:
    """Return a context with the empty, locked folder `out`, or with None if `out` is None. For `begun` see `unused`.

    Raises the errors of `unused` and `locked_folder`.
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
    """Return a context in which only this process writes the file; see `locked_folder`.

    `wait`: if given, do not raise InUse; call this function with a message about the other process, and wait for it.
    """
    with _locked(path.with_name(f"{_hidden(path)}{_LOCK}"), path, wait):
        for part in path.parent.glob(f"{glob.escape(_hidden(path))}.????????{_PART}"):
            part.unlink(missing_ok=True)
        yield


def _hidden(path: Path) -> str:
    """Return how the names of the hidden files for `path` begin; with a suffix, they stay below 255 bytes."""
    return f".{os.fsencode(path.name)[:200].decode(errors='ignore')}"


def in_use(folder: Path) -> bool:
    """Return whether another process is writing to the folder now."""
    if not (folder / _LOCK).exists():
        return False
    try:
        with _locked(folder / _LOCK, folder):
            return False
    except InUse:
        return True


@contextmanager
def _locked(place: Path, what: Path, wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Return a context in which this process holds the lock file at `place`, which protects `what`."""
    from filelock import FileLock, Timeout, UnixFileLock

    lock = FileLock(place, thread_local=False)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=_MOMENT)
        except Timeout:
            if wait is None:
                # Without file system locks, the existence of the file is the lock. The file may outlive a process on
                # another machine.
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
        ):  # lock files of other kinds cannot be read now, or have their own contents
            with suppress(OSError):
                place.write_text(_description(), encoding="utf-8", errors="backslashreplace")
        yield
    finally:
        # Delete the lock file while the lock is held: a process that waits for the lock notices, and makes a new file.
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
    if isinstance(error, FileExistsError):  # raised when the folder is made
        return NotADirectoryError(errno.ENOTDIR, f"{text}, and is no folder ({error.filename})")
    return OSError(text) if error.errno is None else OSError(error.errno, text)
