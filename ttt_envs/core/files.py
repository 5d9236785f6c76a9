"""Files written whole or not at all, into folders that hold nothing else."""

import os
import tempfile
from itertools import count
from pathlib import Path


def write_whole(path: Path, data: bytes | str) -> None:
    """Write `data` (text as UTF-8) to `path`, so that a reader finds the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def unused(folder: Path, *, numbered: bool = False) -> Path:
    """`folder`, if it holds no files yet; `numbered`: else the first such one of folder-2, folder-3, ...

    Raises FileExistsError for a folder that holds files, so that no results are overwritten.
    """
    first, numbers = folder, count(2)
    while folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if not numbered:
            raise FileExistsError(f"{folder} exists and is not empty: choose another folder, or delete this one first")
        folder = first.with_name(f"{first.name}-{next(numbers)}")
    return folder


def check_writable(path: Path) -> None:
    """Raise OSError if no file can be written at `path`, before the work rather than after it. Makes its folder."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"no file can be written in the folder {path.parent}")
