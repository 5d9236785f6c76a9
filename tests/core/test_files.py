"""Files written whole or not at all; folders that one process at a time writes; errors that name the file."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ttt_envs.storage.files import InUse, in_use, is_empty, locked_file, locked_folder, new_folder, unused, write_whole
from ttt_envs.storage.tables import BadTable, load_or_build, read_table, write_table

HOLD = """
import sys
from pathlib import Path
from ttt_envs.storage.files import locked_folder, write_whole
folder = Path(sys.argv[1])
with locked_folder(folder):
    write_whole(folder / "done", "whole")
    (folder / "sub").mkdir()
    for part in (".next.0123abcd.ttt-envs-part", "sub/.next.0123abcd.ttt-envs-part"):
        (folder / part).write_text("half")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen]:
    words = [sys.executable, "-c", HOLD, str(tmp_path / "run"), "--a-setting"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


# --- writing ---


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sub" / "file"
    write_whole(path, "old")

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"sub/file cannot be written: No space left on device") as raised:
        write_whole(path, "new")
    assert raised.value.errno == errno.ENOSPC
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_files_respect_the_umask(umask: int, tmp_path: Path) -> None:
    before, modes = os.umask(umask), {}
    try:
        write_whole(tmp_path / "file", "x")
        modes["file"] = (tmp_path / "file").stat().st_mode & 0o777
        with locked_folder(tmp_path):
            modes["lock"] = (tmp_path / ".lock").stat().st_mode & 0o777
    finally:
        os.umask(before)
    assert modes == {"file": 0o666 & ~umask, "lock": 0o666 & ~umask}


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("file/below", r"cannot be written: .*and is no folder \(.*file\)"),
        ("x/" * 3000, r"\.\.\..* cannot be written: File name too long"),
    ],
)
def test_a_place_where_no_file_can_be_is_named(tmp_path: Path, place: str, words: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / "full").mkdir(parents=True)
    with pytest.raises(OSError, match=words) as raised:
        write_whole(tmp_path / place, "x")
    assert len(str(raised.value)) < 700
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder"}


# --- locks ---


def test_a_folder_is_written_by_one_process_and_a_killed_one_is_no_obstacle(
    tmp_path: Path, holder: subprocess.Popen
) -> None:
    folder = tmp_path / "run"
    words = rf"run is being written by process {holder.pid} on .* \(-c .*run --a-setting\) since "
    for lock in (locked_folder, new_folder):
        with pytest.raises(InUse, match=words), lock(folder):
            pytest.fail("two at once")
    assert in_use(folder)
    assert unused(folder, numbered=True).name == "run-2"
    assert (folder / "done").read_text() == "whole"

    holder.kill()
    holder.wait()
    assert (folder / ".lock").exists(), "this is what a killed process leaves"
    assert not in_use(folder)
    with locked_folder(folder):
        found = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert found == {".lock", "done", "sub"}, "unfinished files are gone"
    assert {path.name for path in folder.iterdir()} == {"done", "sub"}


@pytest.mark.parametrize("who", ["process {} on this machine", "\udcff"])
def test_a_lock_file_that_nobody_holds_is_no_obstacle(tmp_path: Path, who: str) -> None:
    (tmp_path / ".lock").write_bytes(who.format(os.getpid()).encode(errors="surrogateescape"))
    assert is_empty(tmp_path)
    with new_folder(tmp_path) as folder:
        assert folder == tmp_path


def test_one_process_does_not_write_a_folder_twice_at_once(tmp_path: Path) -> None:
    found = []

    def other() -> None:
        try:
            with locked_folder(tmp_path / "x"):
                found.append("written")
        except InUse as error:
            found.append(str(error))

    with locked_folder(tmp_path / "x"):
        other()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    other()
    assert [f"process {os.getpid()}" in text for text in found] == [True, True, False]
    assert found[-1] == "written"


def test_a_folder_in_which_nothing_was_written_is_removed(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a" / "b") as folder:
        assert folder is not None
        assert folder.is_dir()
    assert not list(tmp_path.iterdir())
    with pytest.raises(KeyError), locked_folder(tmp_path / "a" / "b"):
        raise KeyError
    assert not list(tmp_path.iterdir())
    (tmp_path / "c").mkdir()
    with locked_folder(tmp_path / "c"):
        pass
    assert list(tmp_path.iterdir()) == [tmp_path / "c"], "what was there before stays"


def test_a_folder_with_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("")
    with pytest.raises(FileExistsError, match="not empty"), new_folder(tmp_path):
        pytest.fail("overwritten")
    with pytest.raises(FileExistsError, match="precious is a file, and no folder"), new_folder(tmp_path / "precious"):
        pytest.fail("overwritten")
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_file_system_without_locks_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", fail)
    words = "has no locks: a second process could write it too"
    with pytest.warns(UserWarning, match=words), locked_folder(tmp_path / "x"):
        write_whole(tmp_path / "x" / "file", "x")
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def fail(path, *rest, **named):
        if str(path).endswith(".lock"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(OSError, match=rf"x cannot be written: {os.strerror(errno.EROFS)}$"), new_folder(tmp_path / "x"):
        pytest.fail("at work")


def test_a_second_process_waits_for_a_table_that_is_being_built(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path, begun, go_on = tmp_path / "table", threading.Event(), threading.Event()

    def build(progress):
        begun.set()
        assert go_on.wait(20)
        return "built"

    found: list[str] = []

    def work(build) -> None:
        found.append(load_or_build(path, Path.read_text, build, write_whole))

    threads = [
        threading.Thread(target=work, args=(each,)) for each in (build, lambda progress: pytest.fail("built twice"))
    ]
    threads[0].start()
    assert begun.wait(20)
    with pytest.raises(InUse, match=rf"table is being written by process {os.getpid()} on"), locked_file(path):
        pytest.fail("two at once")
    threads[1].start()
    threads[1].join(0.5)
    assert threads[1].is_alive()
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert found == ["built", "built"]
    assert list(tmp_path.iterdir()) == [path]
    assert f"table is being written by process {os.getpid()}" in capsys.readouterr().err


FACTS = {"version": 1, "swap": True}


def damaged(data: bytes) -> dict[str, bytes]:
    head = data[: data.index(b"{")]
    return {
        "half a head": data[:60],
        "foreign": b"PK" + data[2:],
        "a bit": data[:-1] + bytes([data[-1] ^ 1]),
        "cut": data[:-1],
        "a number": (head + b"3").ljust(512, b"\n") + data[512:],
        "deep": head + b"[" * 100_000,
        "other version": data.replace(b'"version": 1', b'"version": 2'),
        "other option": data.replace(b'"swap": true', b'"swap": null'),
    }


@pytest.mark.parametrize("how", list(damaged(b"{")))
def test_a_damaged_table_is_named(tmp_path: Path, how: str) -> None:
    path = tmp_path / "some.table"
    write_table(path, "toy", FACTS, b"the body")
    facts, body = read_table(path, "toy", FACTS)
    assert (facts, body.tobytes()) == (FACTS, b"the body")
    data = damaged(path.read_bytes())[how]
    assert data != path.read_bytes()
    path.write_bytes(data)
    with pytest.raises(BadTable, match=r"some\.table is (damaged: |no table of toy|a table with )"):
        read_table(path, "toy", FACTS)
