"""The pool: jobs in one process, in several and on a Ray cluster; a worker that is killed; Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numba
import pytest
from sessions import kill_session, session_of
from tournaments import environment

from ttt_envs.evaluation import pool


def doubled(number: int) -> int:
    return 2 * number


def worker(number: int) -> tuple[int, str, int]:
    return os.getpid(), os.getcwd(), numba.get_num_threads()


def deadly(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def wrong(number: int) -> int:
    raise ZeroDivisionError(f"job {number}")


@pytest.mark.parametrize("workers", [1, 2, pytest.param("ray", marks=pytest.mark.slow)])
def test_results_have_the_numbers_of_their_jobs(workers):
    if workers == "ray":
        pytest.importorskip("ray", reason="Ray is not installed: pip install 'ttt-envs[distributed]'")
    assert dict(pool.run(doubled, range(20), workers=workers)) == {number: 2 * number for number in range(20)}


def test_one_worker_is_this_process_and_others_are_not(tmp_path, monkeypatch):
    assert {pid for _, (pid, _, _) in pool.run(worker, range(3))} == {os.getpid()}
    monkeypatch.chdir(tmp_path)
    found = [each for _, each in pool.run(worker, range(8), workers=2)]
    assert os.getpid() not in {pid for pid, _, _ in found}
    assert {(folder, threads) for _, folder, threads in found} == {(str(tmp_path), 1)}


def test_a_killed_worker_raises_an_error_that_says_how_to_go_on():
    with pytest.raises(ChildProcessError, match="ttt study --resume goes on"):
        list(pool.run(deadly, range(8), workers=2, goes_on="ttt study --resume goes on"))
    assert len(dict(pool.run(doubled, range(4), workers=2))) == 4, "the next call has other workers"


def test_errors_come_from_workers_too():
    with pytest.raises(ZeroDivisionError, match="job"):
        list(pool.run(wrong, range(4), workers=2))


@pytest.mark.parametrize("workers", [-1, "two", 1.5])
def test_wrong_numbers_of_workers_are_refused(workers):
    with pytest.raises(ValueError, match="workers"):
        list(pool.run(doubled, range(2), workers=workers))


SCRIPT = """
import time
from ttt_envs.evaluation import pool

def job(number):
    time.sleep(0.05)
    return number

try:
    for number, _ in pool.run(job, range(10_000), workers=2):
        print(number, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_workers_end_with_the_process_that_started_them(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
        out, err = process.communicate(timeout=60)
        assert (out.splitlines()[-1], err, process.returncode) == ("interrupted", "", 0)
        latest = time.monotonic() + 20
        while session_of(process.pid):
            assert time.monotonic() < latest, "they go on"
            time.sleep(0.05)
    finally:
        with suppress(ProcessLookupError):
            kill_session(process.pid)
