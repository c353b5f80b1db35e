"""A dask cluster without workers, and one whose scheduler is killed: real processes, each test bounded in time."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import presage as ps
from presage.sweeps import dask_watch
from presage.sweeps.store import Store
from tests.sweeps.slow_cells import ALPHAS, NETWORK, slow

pytest.importorskip("distributed", reason="dask.distributed is not installed")
LONG = 60.0  # seconds after which a test has failed


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def listening(port: int) -> bool:
    with socket.socket() as knock:
        return knock.connect_ex(("127.0.0.1", port)) == 0


class Cluster:
    """A scheduler process of its own, and workers when they are asked for."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        until(lambda: listening(port))

    def start(self, program: str, *arguments: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments]
        self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def start_worker(self) -> None:
        self.start("dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def kill_scheduler(self) -> None:
        self.processes[0].kill()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    running = Cluster()
    try:
        yield running
    finally:
        for process in running.processes:
            process.kill()
            process.wait()


def in_background(function: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_a_cluster_without_workers_is_said_once_and_the_sweep_goes_on_when_they_come(cluster, monkeypatch, caplog):
    monkeypatch.setattr(dask_watch, "PATIENCE", 0.5)
    monkeypatch.setattr(dask_watch, "LOOK", 0.1)
    said = lambda: [record.message for record in caplog.records if "waiting for workers" in record.message]  # noqa: E731

    def come_late() -> None:
        with contextlib.suppress(AssertionError):
            until(said)
            time.sleep(1.0)  # time enough to say it again
        cluster.start_worker()

    with caplog.at_level(logging.WARNING, logger="presage"):
        late = in_background(come_late)
        table = ps.sweep(NETWORK, slow, executor=cluster.address, alpha=ALPHAS[:10], progress=False)
    late.join(LONG)
    assert (table.outcome == "done").all()
    assert said() == [
        f"The sweep is waiting for workers at {cluster.address}, which has none. "
        f"Start some with: dask worker {cluster.address}; it then goes on."
    ]


def test_a_scheduler_that_is_killed_leaves_the_store_whole_and_a_sentence(cluster, tmp_path, capfd):
    cluster.start_worker()
    store = Store(tmp_path / "s")
    written = lambda: sum(len(path.read_bytes().splitlines()) for path in (tmp_path / "s").rglob("*.jsonl"))  # noqa: E731

    def kill() -> None:
        with contextlib.suppress(AssertionError):
            until(lambda: written() >= 20)
        cluster.kill_scheduler()

    killer = in_background(kill)
    began = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        ps.sweep(NETWORK, slow, store=tmp_path / "s", executor=cluster.address, alpha=ALPHAS, progress=False)
    assert time.monotonic() - began < LONG
    killer.join(LONG)
    assert str(caught.value) == (
        f"The dask scheduler at {cluster.address} has gone away. Cells that had ended are in the store, if there is "
        "one: sweep again to go on, when there is a scheduler again."
    )
    done, damaged = store.records()
    assert 10 <= len(done) < len(ALPHAS)
    assert not damaged
    assert "Traceback" not in capfd.readouterr().err
    table = ps.sweep(NETWORK, slow, store=tmp_path / "s", alpha=ALPHAS[:60], progress=False)
    assert (table.outcome == "done").all()


def test_a_cluster_that_starts_its_workers_itself_is_not_told_to_be_helped():
    class Client:
        scheduler = type("Scheduler", (), {"address": "tcp://10.0.0.1:8786"})
        cluster = object()
        status = "running"

    assert dask_watch.Watch(Client()).waiting == (
        "The sweep is waiting for workers at tcp://10.0.0.1:8786, which has none. "
        "They come when the cluster has room for them; it then goes on."
    )
