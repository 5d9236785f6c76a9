"""Files written whole or not at all."""

import os
import tempfile
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


def check_writable(path: Path) -> None:
    """Raise OSError if no file can be written at `path`, before the work rather than after it. Makes its folder."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"no file can be written in the folder {path.parent}")
