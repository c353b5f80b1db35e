"""Sweeps under SLURM: workers started through dask-jobqueue, or a script for `sbatch --array`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from presage import _check

INSTALL = 'Install it with: pip install "presage[cluster]"'
DEFAULTS = {"cpus-per-task": "1", "mem": "2G", "time": "01:00:00"}
OPTION = re.compile(r"--([a-z][a-z-]*)(?:=(\S.*))?")


def script(command: Sequence[str], *, jobs: int, options: Sequence[str] = ()) -> str:
    """The text of a script for `sbatch` whose array has `jobs` tasks, each doing one part of the sweep `command`."""
    directives = {
        "job-name": "presage",
        "array": f"1-{jobs}",
        "output": "presage-%A_%a.log",
        **DEFAULTS,
        **_read(options),
    }
    lines = [f"#SBATCH --{name}" + ("" if value is None else f"={value}") for name, value in directives.items()]
    run = shlex.join(command)
    return "\n".join(
        [
            "#!/bin/bash",
            *lines,
            "# Each task does one part; all write to the same store. A task that dies can be run again as it is.",
            "set -euo pipefail",
            "export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1",
            f'{run} --part "$SLURM_ARRAY_TASK_ID/{jobs}"',
            "# When all are done, gather the table with the same command without --part:",
            f"#   {run}",
            "",
        ]
    )


@contextmanager
def cluster(*, jobs: int, options: Sequence[str] = ()) -> Iterator[Any]:
    """A dask client whose workers are `jobs` jobs of SLURM; they end with the block."""
    try:
        from dask_jobqueue import SLURMCluster
        from distributed import Client
    except ImportError:
        reason, remedy = "dask-jobqueue is not installed", f"{INSTALL}, or write a script for sbatch instead."
        raise _check.complaint("slurm", "be left out here", reason, jobs, remedy) from None
    asked = {**DEFAULTS, **_read(options)}
    cores, memory, walltime = int(asked.pop("cpus-per-task") or 1), asked.pop("mem"), asked.pop("time")
    extra = [f"--{name}" + ("" if value is None else f"={value}") for name, value in asked.items()]
    with (
        SLURMCluster(
            cores=cores,
            processes=1,
            memory=f"{memory}B" if str(memory)[-1] in "KMGT" else memory,
            walltime=walltime,
            job_extra_directives=extra,
            python=sys.executable,
            local_directory="/tmp",
        ) as workers,
        Client(workers) as client,
    ):
        workers.scale(jobs=jobs)
        yield client


def _read(options: Sequence[str]) -> dict[str, str | None]:
    """Options as sbatch has them, ``--partition=main`` or ``--exclusive``, by name."""
    read: dict[str, str | None] = {}
    for option in options:
        match = OPTION.fullmatch(option.strip())
        if match is None:
            reason, remedy = "it is handed to sbatch as it is", 'Use for example "--partition=main".'
            raise _check.complaint("slurm_option", "be an option of sbatch", reason, option, remedy)
        read[match[1]] = match[2]
    return read
