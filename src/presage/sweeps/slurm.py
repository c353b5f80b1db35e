"""Sweeps under SLURM: workers started through dask-jobqueue, or a script for `sbatch --array`."""

from __future__ import annotations

import getpass
import logging
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from presage.protocol import checks
from presage.protocol.extras import how_to_install

DEFAULTS = {"job-name": "presage", "cpus-per-task": "1", "mem": "2G", "time": "01:00:00"}
INSTEAD_OF_MEM = {"mem-per-cpu", "mem-per-gpu"}  # sbatch takes one of the three
OPTION = re.compile(r"--([a-z][a-z-]*)(?:=(\S.*))?")
SIZE = re.compile(r"(\d+)([KMGT]?)B?", re.IGNORECASE)
THREADS = "export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1"
CHECK = 10.0  # seconds between two looks at the queue
SILENT = ("controller", "configuration source")  # in what sbatch says when there is nobody to ask
TRIES = 5  # jobs in a row that end without a worker, before no more are sent

Options = dict[str, str | None]
log = logging.getLogger("presage")


def script(command: Sequence[str], *, jobs: int, options: Sequence[str] = ()) -> str:
    """The text of a script for `sbatch` whose array has `jobs` tasks, each doing one part of the sweep `command`."""
    asked: Options = {"array": f"1-{jobs}", "output": "presage-%A_%a.log", **_read(options)}
    if not re.fullmatch(rf"1-{jobs}(%\d+)?", asked["array"] or ""):
        reason, remedy = "each task does one of the parts", f"Use for example --array=1-{jobs}%4, or leave it out."
        raise checks.complaint("slurm_option", f"keep the array 1-{jobs}", reason, f"--array={asked['array']}", remedy)
    run = shlex.join(command)
    return "\n".join(
        [
            "#!/bin/bash",
            *(f"#SBATCH {directive}" for directive in _directives(asked)),
            "# Each task does one part; all write to the same store. A task that died goes on when it is sent again,",
            "# the third for example by: sbatch --array=3 <this file>",
            "set -euo pipefail",
            THREADS,
            'export LOKY_MAX_CPU_COUNT="${SLURM_CPUS_PER_TASK:-1}"  # a node may have more cores than the task',
            f'{run} --part "$SLURM_ARRAY_TASK_ID/{jobs}"',
            "# When all are done, gather the table by the same command without --part; it also does what is missing:",
            f"#   {run}",
            "",
        ]
    )


@contextmanager
def cluster(*, jobs: int, options: Sequence[str] = ()) -> Iterator[Any]:
    """A dask client whose workers are `jobs` jobs of SLURM; they end with the block.

    A job that ends before, at its time limit for example or because it was cancelled, is sent again.
    """
    try:
        from dask_jobqueue import SLURMCluster
        from distributed import Client
    except ImportError:
        reason, remedy = (
            "dask-jobqueue is not installed",
            f"{how_to_install('cluster')}, or write a script for sbatch instead.",
        )
        raise checks.complaint("slurm", "be left out here", reason, jobs, remedy) from None
    if shutil.which("sbatch") is None:
        reason, remedy = "there is no sbatch on this machine", "Go to a machine that sends jobs, or leave it out."
        raise checks.complaint("slurm", "be left out here", reason, jobs, remedy)
    asked: Options = {"output": "presage-%j.log", **_read(options)}
    cores = _cores(asked)
    with SLURMCluster(
        cores=cores,
        processes=cores,  # cells hold Python's lock: threads of one process would wait for each other
        memory=_memory(asked, cores),
        job_directives_skip=["#SBATCH"],  # all of them are ours
        job_extra_directives=_directives(asked),
        job_script_prologue=[THREADS, "export LOKY_MAX_CPU_COUNT=1"],
        python=shlex.quote(sys.executable),
        local_directory='"${TMPDIR:-/tmp}"',
        scheduler_options={"dashboard": False, "dashboard_address": ":0"},
    ) as workers:
        _try(workers.job_script(), jobs, options)
        with Client(workers, set_as_default=False) as client, _kept_up(client, jobs) as gave_up:
            try:
                yield client
            except RuntimeError:
                if gave_up.is_set():
                    raise RuntimeError(
                        f"{TRIES} jobs of SLURM in a row ended before they could compute a cell. Their files, "
                        f"{asked['output']}, say why. Cells that had ended are in the store, if there is one."
                    ) from None
                raise


def _try(text: str, jobs: int, options: Sequence[str]) -> None:
    """Ask SLURM whether it would take such a job: one that it refuses would be waited for in vain."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.sh"
        path.write_text(text, encoding="utf-8")
        command = ["sbatch", "--test-only", str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        said = [line for line in answer.stderr.splitlines() if line.strip()] or ["nothing"]
        if any(word in said[-1] for word in SILENT):
            reason, remedy = (
                f"SLURM does not answer: {said[-1]}",
                "Go where `sinfo` does, or leave it out.",
            )
            raise checks.complaint("slurm", "be left out here", reason, jobs, remedy)
        if not options:
            reason = f"sbatch refuses such jobs: {said[-1]}"
            remedy = 'Give what it asks for by slurm_option, for example "--partition=main".'
            raise checks.complaint("slurm", "be jobs that sbatch takes", reason, jobs, remedy)
        directives = " ".join(re.findall(r"^#SBATCH (.*)$", text, re.MULTILINE))
        reason, remedy = f"sbatch refuses them: {said[-1]}", "`man sbatch` lists them."
        raise checks.complaint("slurm_option", "be options that sbatch takes", reason, directives, remedy)


@contextmanager
def _kept_up(client: Any, jobs: int) -> Iterator[threading.Event]:
    """Keep `jobs` jobs in the queue while the block lasts; the event is set when none of them comes to work."""
    from distributed import Future

    workers = client.cluster
    over, gave_up = threading.Event(), threading.Event()

    def keep() -> None:
        idle = 0  # jobs in a row that ended without a worker
        came: set[str] = set()
        workers.scale(jobs=jobs)
        while not over.wait(CHECK):
            queue = _queue()
            if queue is None:
                continue
            here = [str(worker["name"]) for worker in workers.scheduler_info["workers"].values()]
            for name, job in list(workers.workers.items()):
                if any(worker == name or worker.startswith(f"{name}-") for worker in here):
                    came.add(name)
                    idle = 0
                elif job.job_id and job.job_id not in queue:
                    idle = 0 if name in came else idle + 1
                    came.discard(name)
                    log.warning("SLURM job %s ended before the sweep: it is sent again.", job.job_id)
                    workers.workers.pop(name, None)
            if idle >= TRIES:
                gave_up.set()
                client.cancel([Future(key, client) for key in list(client.futures)])
                return
            workers.scale(jobs=jobs)  # sends those that are missing

    keeper = threading.Thread(target=keep, daemon=True)
    keeper.start()
    try:
        yield gave_up
    finally:
        over.set()
        keeper.join()


def _queue() -> set[str] | None:
    """Numbers of the jobs that wait or run; None when SLURM does not answer."""
    command = ["squeue", "--noheader", "--format=%A", f"--user={getpass.getuser()}"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        return None
    return set(answer.stdout.split()) if answer.returncode == 0 else None


def _directives(asked: Options) -> list[str]:
    """Options of sbatch, the defaults where nothing else is asked for."""
    defaults = {name: value for name, value in DEFAULTS.items() if name != "mem" or not INSTEAD_OF_MEM & asked.keys()}
    return [f"--{name}" + ("" if value is None else f"={value}") for name, value in {**defaults, **asked}.items()]


def _cores(asked: Options) -> int:
    given = {**DEFAULTS, **asked}["cpus-per-task"] or ""
    if not given.isdecimal() or int(given) < 1:
        reason, remedy = "it is how many cells a job computes at a time", 'Use for example "--cpus-per-task=4".'
        raise checks.complaint("slurm_option", "have a whole number of cores >= 1", reason, given, remedy)
    return int(given)


def _memory(asked: Options, cores: int) -> str:
    """The memory of a job as dask writes it; sbatch means megabytes where it is given a mere number."""
    each = cores if "mem-per-cpu" in asked else 1
    given = asked.get("mem-per-cpu") or asked.get("mem") or DEFAULTS["mem"]
    match = SIZE.fullmatch(given)
    if match is None:
        reason, remedy = "it is the memory of a job", 'Use for example "--mem=4G".'
        raise checks.complaint("slurm_option", "have a memory that sbatch knows", reason, given, remedy)
    return f"{int(match[1]) * each}{match[2].upper() or 'M'}iB"


def _read(options: Sequence[str]) -> Options:
    """Options as sbatch has them, ``--partition=main`` or ``--exclusive``, by name."""
    read: Options = {}
    for option in options:
        match = OPTION.fullmatch(option.strip())
        if match is None:
            reason, remedy = "it is handed to sbatch as it is", 'Use for example "--partition=main".'
            raise checks.complaint("slurm_option", "be an option of sbatch", reason, option, remedy)
        read[match[1]] = match[2]
    return read
