"""Sweeps whose processes are killed, for real: no finished cell is lost, and in the end the table is whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import xarray as xr

import presage as ps
from presage.sweeps.store import Store
from tests.sweeps.slow_cells import ALPHAS, NETWORK, slow

ROOT = Path(__file__).resolve().parents[2]
KILLS = 20

SWEEP = """
import sys
import presage as ps
from tests.sweeps.slow_cells import ALPHAS, NETWORK, slow
ps.sweep(NETWORK, slow, store=sys.argv[1], processes=int(sys.argv[2]), alpha=ALPHAS)
"""


def lines(store: Path) -> dict[str, list[bytes]]:
    """The whole lines of every shard."""
    shards = (store / "cells").glob("*.jsonl")
    return {path.name: [line for line in path.read_bytes().splitlines(True) if line.endswith(b"\n")] for path in shards}


def keys(shards: dict[str, list[bytes]]) -> list[bytes]:
    return [line.split(b'"key":"')[1][:24] for whole in shards.values() for line in whole]


def count(store: Path) -> int:
    return sum(map(len, lines(store).values()))


@pytest.mark.slow
def test_a_sweep_that_is_killed_twenty_times_loses_no_finished_cell(tmp_path):
    """At random moments; by turns the sweep alone and all its processes, with one process and with two."""
    store = tmp_path / "s"
    rng = np.random.default_rng(5)
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    killed_at = []
    for kill in range(KILLS):
        before = lines(store)
        done = set(keys(before))
        command = [sys.executable, "-c", SWEEP, str(store), str(1 + kill % 2)]
        run = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, start_new_session=True)
        ends = time.monotonic() + 60.0
        if kill % 5:  # else at any moment, of the start too
            while time.monotonic() < ends and count(store) == len(keys(before)):
                time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.3))
        assert run.poll() is None, "the sweep ended before it could be killed"
        if kill % 4 < 2:
            os.kill(run.pid, signal.SIGKILL)
            time.sleep(0.1)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait(timeout=30)
        after = lines(store)
        for name, whole in before.items():
            assert after[name][: len(whole)] == whole, "a line that was whole has changed"
        new = keys({name: whole[len(before.get(name, [])) :] for name, whole in after.items()})
        assert not done & set(new), "a finished cell was computed again"
        found, _ = Store(store).records() if after else ({}, [])
        assert {key.encode() for key in found} == done | set(new)
        killed_at.append(len(found))
    assert killed_at[-1] > killed_at[0], "no run got anywhere"
    assert killed_at[-1] < len(ALPHAS), "the sweep was over before the last kill"
    resumed = ps.sweep(NETWORK, slow, store=store, processes=2, alpha=ALPHAS)
    undisturbed = ps.sweep(NETWORK, slow, processes=2, alpha=ALPHAS)
    resumed.attrs.pop("damaged", None)
    xr.testing.assert_identical(resumed.drop_vars("seconds"), undisturbed.drop_vars("seconds"))
    print("cells in the store at each kill:", killed_at)


@pytest.mark.slow
def test_a_local_process_that_is_killed_ends_the_sweep_with_a_sentence_and_the_store_goes_on(tmp_path):
    me = os.getpid()

    def fatal(problem: ps.Problem) -> float:
        if problem.alpha == ALPHAS[30] and os.getpid() != me:
            os.kill(os.getpid(), signal.SIGKILL)  # as the system does when memory runs out
        return problem.alpha

    with pytest.raises(RuntimeError, match=r"was killed, most often for lack of memory\. .* with fewer `processes`"):
        ps.sweep(NETWORK, fatal, store=tmp_path / "s", processes=2, alpha=ALPHAS[:60])
    assert 0 < count(tmp_path / "s") < 60
    table = ps.sweep(NETWORK, fatal, store=tmp_path / "s", processes=1, alpha=ALPHAS[:60])
    np.testing.assert_array_equal(table.value, ALPHAS[:60])


@pytest.fixture
def workers():
    """Three worker processes of dask and a client."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    import dask

    settings = {"distributed.scheduler.allowed-failures": 1, "distributed.deploy.lost-worker-timeout": "10 minutes"}
    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=3, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("seen", [True, False])
def test_a_dask_worker_that_is_killed_in_the_middle_changes_nothing(tmp_path, workers, seen):
    """With a store that the workers see, and with one that they do not, whose cells come back to be stored."""
    store = tmp_path / "s"
    victims: list[int] = []
    nannies = psutil.Process().children(recursive=True)

    def slow_cell(problem: ps.Problem) -> float:
        time.sleep(0.05)
        return problem.alpha

    def kill_one() -> None:
        while count(store) < 10:
            time.sleep(0.02)
        (pid, *_) = workers.run(os.getpid).values()
        victims.append(pid)
        os.kill(pid, signal.SIGKILL)

    def blind() -> None:
        from presage.sweeps import cells

        cells._writer = lambda *_: None

    if not seen:
        workers.run(blind)
    killer = threading.Thread(target=kill_one)
    killer.start()
    table = ps.sweep(NETWORK, slow_cell, store=store, executor=workers, alpha=ALPHAS[:120])
    killer.join()
    assert victims
    assert victims[0] in {process.pid for process in nannies}
    np.testing.assert_array_equal(table.value, ALPHAS[:120])
    assert set(table.outcome.values) == {"done"}
    assert len(Store(store).records()[0]) == 120
    assert len(lines(store)) >= (2 if seen else 1)


@pytest.mark.slow
def test_a_cell_that_ends_every_worker_is_a_row_and_the_others_are_done(tmp_path, workers):
    me = os.getpid()

    def fatal(problem: ps.Problem) -> float:
        if problem.alpha == ALPHAS[17] and os.getpid() != me:
            os.kill(os.getpid(), signal.SIGKILL)
        return problem.alpha

    table = ps.sweep(NETWORK, fatal, store=tmp_path / "s", executor=workers, alpha=ALPHAS[:50])
    assert table.outcome.values[17].startswith("failed: the processes that computed it were killed")
    np.testing.assert_array_equal(np.delete(table.value, 17), np.delete(ALPHAS[:50], 17))
    again = ps.sweep(NETWORK, fatal, store=tmp_path / "s", processes=1, alpha=ALPHAS[:50])
    np.testing.assert_array_equal(again.value, ALPHAS[:50])


@pytest.mark.slow
def test_an_address_is_as_good_as_a_client(tmp_path, workers):
    table = ps.sweep(NETWORK, ps.solve, store=tmp_path / "s", executor=workers.scheduler.address, alpha=[0.2, 0.4])
    expected = ps.sweep(NETWORK, ps.solve, processes=1, alpha=[0.2, 0.4])
    np.testing.assert_allclose(table.test_error, expected.test_error, rtol=1e-10)


@pytest.mark.slow
def test_a_function_that_the_workers_cannot_load_is_said_at_once(workers, tmp_path, monkeypatch):
    import importlib

    (tmp_path / "only_here.py").write_text("def run(problem):\n    return 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    run = importlib.import_module("only_here").run
    with pytest.raises(RuntimeError, match=r"The dask cluster could not compute cells \(.*only_here"):
        ps.sweep(NETWORK, run, executor=workers, alpha=[0.2])
