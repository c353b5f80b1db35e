"""Sweeps on a real SLURM, where its packages are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sweeps.cluster.slurm import why_not


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "SLURM is here")
def test_sweeps_run_on_slurm_and_survive_cancelled_and_killed_jobs():
    script = Path(__file__).with_name("slurm.py")
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen([sys.executable, script], **pipes) as run:
        try:
            said, _ = run.communicate(timeout=600)
        finally:
            run.terminate()  # it stops its daemons, which a kill would leave behind
    print(said)
    assert run.returncode == 0, said
    assert said.splitlines()[-1].endswith("in all")
