"""Sweeps on a real SLURM of one machine: started here, in a temporary folder, and stopped at the end.

    apt-get install --no-install-recommends slurmd slurmctld slurm-client munge
    pip install ".[cluster]"
    python tests/sweeps/cluster/slurm.py

Prints what was done and how long it took; ends with an error if a table is not what it should be. Needs to be root.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# The node says that it has four cores, whatever it has: SLURM then runs four jobs at once.
CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}
SlurmUser=root
AuthInfo=socket={folder}/munge.sock
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,sched_min_interval=0
KillWait=5
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=8000
PartitionName=main Nodes={host} Default=YES State=UP
"""


def why_not() -> str:
    """What is missing for SLURM to run here; empty if nothing is."""
    programs = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name) is None]
    if programs:
        return f"SLURM is not installed here: no {', '.join(programs)}"
    if importlib.util.find_spec("dask_jobqueue") is None:
        return "dask-jobqueue is not installed here"
    return "" if os.geteuid() == 0 else "the daemons of SLURM need root"


@contextmanager
def slurm(folder: Path) -> Iterator[None]:
    """SLURM of this machine alone, until the block ends."""
    host = socket.gethostname().split(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(host=host, folder=folder, ports=_free_ports(2)))
    os.environ["SLURM_CONF"] = str(configuration)
    files = {"key": key.name, "socket": "munge.sock", "pid": "munged.pid", "log": "munged.log", "seed": "munge.seed"}
    options = [f"--{kind}{'' if kind == 'socket' else '-file'}={folder / name}" for kind, name in files.items()]
    try:
        _run("munged", "--force", *options)
        _run("slurmctld", "-c")
        _run("slurmd")
        _wait_for("an idle node", lambda: _run("sinfo", "--noheader", "--format=%T").strip() == "idle", 60.0)
        yield
    finally:
        subprocess.run(["scancel", "--user=root"], check=False, capture_output=True, timeout=30)
        for name in ("slurmd.pid", "slurmctld.pid", "munged.pid"):
            _stop(folder / name)


def _stop(pid_file: Path) -> None:
    """End a daemon, by force if it takes long."""
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text())
    for ending in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, ending)
            _wait_for("", lambda: not Path(f"/proc/{pid}").exists(), 10.0)
        except TimeoutError:
            continue
        except ProcessLookupError:
            pass
        return


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _run(*command: str) -> str:
    answer = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    if answer.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {answer.returncode}: {answer.stderr.strip()}")
    return answer.stdout


def _wait_for(what: str, ready: Callable[[], Any], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > ends:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        time.sleep(0.1)


def _queue() -> list[str]:
    return _run("squeue", "--noheader", "--format=%A").split()


def lines(store: Path) -> int:
    """How many cells are in a store."""
    return sum(path.read_bytes().count(b"\n") for path in (store / "cells").glob("*.jsonl"))


def shards(store: Path) -> int:
    return len(list((store / "cells").glob("*.jsonl")))


def must_be(what: str, holds: Any) -> None:
    """Unlike an assertion, this is checked whatever Python is told to leave out."""
    if not holds:
        raise AssertionError(f"it does not hold that {what}")


def same(found: xr.Dataset, expected: xr.Dataset) -> None:
    """Two tables that differ in nothing but the time that the cells took."""
    must_be("no cell failed", np.all(found.outcome.values == expected.outcome.values))
    xr.testing.assert_identical(found.drop_vars("seconds"), expected.drop_vars("seconds"))


def dask_jobs(folder: Path) -> str:
    """Forty predictions on two jobs, beside the same on this machine without SLURM."""
    import presage as ps
    from presage.sweeps import slurm as jobs
    from tests.sweeps.cluster.part_of_a_sweep import ALPHAS, NOISES, PROBLEM

    store = folder / "predictions"
    with jobs.cluster(jobs=2, options=["--mem=1G", "--time=10"]) as client:
        found = ps.sweep(PROBLEM, ps.solve, store=store, executor=client, alpha=ALPHAS, noise=NOISES)
    expected = ps.sweep(PROBLEM, ps.solve, processes=1, alpha=ALPHAS, noise=NOISES)
    must_be("the cells agree", np.allclose(found.test_error, expected.test_error, rtol=1e-9))
    must_be("no cell failed", not any(str(words).startswith("failed") for words in found.outcome.values.flat))
    must_be("each cell was stored once, by the jobs", lines(store) == found.outcome.size)
    _wait_for("the jobs to end", lambda: not _queue(), 30.0)
    return f"{lines(store)} cells by {shards(store)} workers"


def cancelled_jobs(folder: Path, how_many: int) -> str:
    """One job of two, or both, are cancelled in the middle: others finish, and jobs are sent again."""
    import presage as ps
    from presage.sweeps import slurm as jobs
    from tests.sweeps.cluster.part_of_a_sweep import ALPHAS, NOISES, PROBLEM, slow

    jobs.CHECK = 1.0
    store = folder / f"cancelled-{how_many}"
    said = []

    def cancel() -> None:
        _wait_for("ten cells", lambda: lines(store) >= 10 and len(_queue()) == 2, 60.0)
        said.append(f"cancelled {how_many} of 2 jobs with {lines(store)} of 40 cells done")
        _run("scancel", *_queue()[:how_many])

    with jobs.cluster(jobs=2) as client:
        helper = threading.Thread(target=cancel)
        helper.start()
        found = ps.sweep(PROBLEM, slow, store=store, executor=client, alpha=ALPHAS, noise=NOISES)
        helper.join()
    same(found, ps.sweep(PROBLEM, slow, store=store, processes=1, alpha=ALPHAS, noise=NOISES))
    _wait_for("the jobs to end", lambda: not _queue(), 30.0)
    return f"{said[0]}; all done, {lines(store) - 40} of them twice"


def array(folder: Path) -> str:
    """Three tasks of `sbatch --array`: one cancelled and sent again, one killed and made up for by the gathering."""
    from presage.sweeps.slurm import script

    store, text = folder / "array", folder / "array.sh"
    command = [sys.executable, str(HERE / "part_of_a_sweep.py"), "--store", str(store)]
    text.write_text(script(command, jobs=3, options=["--mem=500M", f"--output={folder}/array-%a.log"]))
    job = _run("sbatch", "--parsable", str(text)).strip()
    _wait_for("some cells of each task", lambda: shards(store) == 3 and lines(store) >= 12, 60.0)
    _run("scancel", f"{job}_2")
    _run("scancel", "--signal=KILL", "--full", f"{job}_3")
    at_kill = lines(store)
    _wait_for("the tasks to end", lambda: not _queue(), 60.0)
    after = lines(store)
    must_be("two tasks left cells undone", after < 40)
    _run("sbatch", "--array=2", str(text))
    _wait_for("the task that was sent again", lambda: not _queue(), 60.0)
    again = lines(store)
    must_be("the task went on", after < again < 40)
    must_be("there is no table before it is gathered", not (store / "result.nc").exists())
    gathered = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    must_be("each cell was done once", gathered.startswith("40 of 40") and lines(store) == 40)
    local = folder / "local"
    subprocess.run([*command[:-1], str(local)], check=True, capture_output=True)
    with xr.open_dataset(store / "result.nc") as found, xr.open_dataset(local / "result.nc") as expected:
        same(found, expected)
    return f"{at_kill} cells at the kills, {after} when the queue was empty, {again} after task 2, then {gathered}"


def command_line(folder: Path) -> str:
    """`presage sweep` by an array whose script it writes, and by jobs that it starts itself."""
    command = [sys.executable, "-m", "presage", "sweep", "solve", "--model", "quadratic", "--target", "mp:0.2"]
    command += ["--alpha", "0.1:4:20log", "--noise", "0.1,0.5", "--csv"]
    stores = {name: folder / f"command-{name}" for name in ("array", "jobs", "local")}
    text = folder / "command.sh"
    options = ["--slurm-option=--mem=1G", f"--slurm-option=--output={folder}/command-%j.log"]
    for more in (
        ["--store", str(stores["array"]), "--slurm", "3", "--slurm-script", str(text), *options],
        ["--store", str(stores["jobs"]), "--slurm", "2", *options],
        ["--store", str(stores["local"])],
    ):
        subprocess.run([*command, *more], check=True, capture_output=True, text=True)
    _run("sbatch", str(text))
    _wait_for("the tasks to end", lambda: not _queue(), 90.0)
    must_be("the array did all cells once", lines(stores["array"]) == 40)
    subprocess.run([*command, "--store", str(stores["array"])], check=True, capture_output=True, text=True)
    must_be("gathering computed nothing", lines(stores["array"]) == 40)
    expected = xr.load_dataset(stores["local"] / "result.nc")
    for name in ("array", "jobs"):
        found = xr.load_dataset(stores[name] / "result.nc")
        must_be("no cell failed", np.all(found.outcome.values == expected.outcome.values))
        must_be("the cells agree", np.allclose(found.test_error, expected.test_error, rtol=1e-9))
    return "both tables are those of a local sweep"


def refused(folder: Path) -> str:
    """What SLURM would not run is said at once, and jobs that cannot begin are not sent for ever."""
    import presage as ps
    from presage.sweeps import slurm as jobs
    from tests.sweeps.cluster.part_of_a_sweep import ALPHAS, PROBLEM, slow

    try:
        with jobs.cluster(jobs=1, options=["--partition=nowhere"]):
            raise AssertionError("a partition that is not there was accepted")
    except ValueError as error:
        said = str(error)
    must_be("sbatch is quoted", "invalid partition" in said.lower())
    jobs.CHECK, jobs.TRIES = 0.5, 2
    try:
        with jobs.cluster(jobs=1, options=[f"--output={folder}/no/such/folder/%j.log"]) as client:
            ps.sweep(PROBLEM, slow, executor=client, alpha=ALPHAS)
        raise AssertionError("a sweep ended whose jobs could not begin")
    except RuntimeError as error:
        must_be("the sentence says where to look", "2 jobs of SLURM in a row" in str(error))
    return "an unknown partition; a folder for the output that does not exist"


def main() -> None:
    if reason := why_not():
        sys.exit(reason)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # and not without stopping the daemons
    sys.path.insert(0, str(ROOT))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        began = time.monotonic()
        with slurm(folder):
            print(f"{time.monotonic() - began:5.1f} s  {_run('sinfo', '--version').strip()} is up", flush=True)
            for stage, arguments in (
                (dask_jobs, ()),
                (array, ()),
                (command_line, ()),
                (cancelled_jobs, (1,)),
                (cancelled_jobs, (2,)),
                (refused, ()),
            ):
                started = time.monotonic()
                said = stage(folder, *arguments)
                title = (stage.__doc__ or "").split("\n")[0]
                print(f"{time.monotonic() - started:5.1f} s  {title} {said}.", flush=True)
        print(f"{time.monotonic() - began:5.1f} s  in all", flush=True)


if __name__ == "__main__":
    main()
