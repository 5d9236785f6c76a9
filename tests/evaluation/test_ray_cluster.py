"""Tournaments on a Ray cluster of two nodes, which are processes of this machine; one is killed on the way."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sessions import kill_session
from tournaments import ROOT, TOY, begun, interrupted, resumed

from ttt_envs import evaluation
from ttt_envs.core import jit
from ttt_envs.evaluation.tournaments.jobs import Agenda
from ttt_envs.evaluation.tournaments.workers import GamesFinished

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ttt-envs[distributed]'")

HEAD, PORT = "127.0.0.2", 6399  # of the ports that Ray keeps for workers, none; 127.0.0.1 would become another address

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="the workers would be compiled all the same")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """For this process and all that it starts: nothing is reported, and who may connect is no question on loopback."""
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",
        "RAY_worker_niceness": "0",  # by default 15: on a busy machine workers would hardly begin
        "RAY_health_check_initial_delay_ms": "1000",
        "RAY_health_check_period_ms": "1000",
        "RAY_health_check_timeout_ms": "5000",
        "RAY_health_check_failure_threshold": "3",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")]),
    }.items():
        monkeypatch.setenv(name, value)


class Node:
    """A node of the cluster: some processes."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--num-cpus=1", "--block", *words]
        self.process = subprocess.Popen(
            [*command, "--object-store-memory=100000000"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self) -> None:
        """Kill all its processes at once: a worker that only lost its node would finish what it has."""
        kill_session(self.process.pid)
        self.process.wait()


@pytest.fixture
def cluster(environment: None) -> Iterator[tuple[Node, Node]]:
    """Two nodes with a processor each."""
    nodes = [Node("--head", f"--port={PORT}", f"--node-ip-address={HEAD}", "--include-dashboard=false")]
    try:
        latest = time.monotonic() + 120
        while True:
            try:
                ray.init(address=f"{HEAD}:{PORT}", log_to_driver=False, logging_level="ERROR")
                break
            except ConnectionError:
                assert time.monotonic() < latest, "the head does not start"
                time.sleep(0.5)
        nodes.append(Node(f"--address={HEAD}:{PORT}", "--node-ip-address=127.0.0.3"))
        while len([node for node in ray.nodes() if node["Alive"]]) < 2:
            assert time.monotonic() < latest, "the second node does not start"
            time.sleep(0.2)
        ray.shutdown()
        yield nodes[0], nodes[1]
    finally:
        ray.shutdown()
        for node in nodes:
            node.kill()


def play(out: Path, agents: list, **changes) -> bytes:
    """The rows of a tournament of the toy game."""
    settings = {"games": 400, "resamples": 10, "chunk": 8, "out": out, "quiet": True, **changes}
    assert evaluation.tournament(TOY, agents, **settings).complete
    return (out / "games.safetensors").read_bytes()


@pytest.mark.slow
def test_a_lost_node_costs_nothing_but_time(cluster, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "slow").touch()
    agents = ["random", "greedy", f"deadly:Deadly:{folder}"]
    played, before, put_back, usual = set(), [], [], Agenda.put_back

    def lose(tally, worker, job):
        """Kill the second node when both have played: it is playing now, or will be asked next."""
        played.add(worker)
        if len(played) == 2 and not before:
            before.extend(node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"])
            cluster[1].kill()
            (folder / "slow").unlink()

    def note(agenda, job, reason):
        put_back.append(job)
        usual(agenda, job, reason)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GamesFinished, "finished", lose)
        patch.setattr(Agenda, "put_back", note)
        rows = play(tmp_path / "ray", agents, engine="ray", address=f"{HEAD}:{PORT}")
    assert sorted(before) == ["127.0.0.2", "127.0.0.3"]
    assert len(put_back) == 1, "the job of the lost node"
    assert not ray.is_initialized()
    assert rows == play(tmp_path / "one", agents)
    (folder / "error").touch()
    with pytest.raises(RuntimeError, match="ZeroDivisionError: as it was told"):
        play(tmp_path / "x", agents, engine="ray", address=f"{HEAD}:{PORT}", strict=True)


def test_a_cluster_is_started_for_the_purpose(tmp_path: Path) -> None:
    agents = ["random", "greedy"]
    assert play(tmp_path / "ray", agents, engine="ray", workers=1) == play(tmp_path / "one", agents)
    assert not ray.is_initialized()


@pytest.mark.slow
@pytest.mark.parametrize("joined", [False, True], ids=["own", "joined"])
def test_ctrl_c_keeps_what_is_finished(joined: bool, tmp_path: Path, request, monkeypatch) -> None:
    """On a cluster that is started for the purpose, which ends with it; and on one that goes on."""
    folder, out = tmp_path / "d", tmp_path / "x"
    folder.mkdir()
    (folder / "slow").touch()
    agents = ["random", "greedy", f"deadly:Deadly:{folder}"]
    nodes = request.getfixturevalue("cluster") if joined else ()
    where = ["--address", f"{HEAD}:{PORT}"] if joined else ["--workers", "1"]
    with begun(out, agents, "--engine", "ray", *where) as process:
        interrupted(process, out)
    assert all(node.process.poll() is None for node in nodes)
    (folder / "slow").unlink()
    assert resumed(out, agents, monkeypatch) == play(tmp_path / "whole", agents, games=60)
    if joined:
        assert play(tmp_path / "again", agents, games=60, engine="ray", address=f"{HEAD}:{PORT}")
