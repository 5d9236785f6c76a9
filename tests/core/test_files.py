"""Files written whole or not at all."""

import os
from pathlib import Path

import pytest

from ttt_envs.core.files import write_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sub" / "file"
    write_whole(path, "old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
