"""Sweeps on a real SLURM, where its packages are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.slurm import why_not


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "SLURM is here")
def test_sweeps_run_on_slurm_and_survive_cancelled_and_killed_jobs():
    script = Path(__file__).with_name("slurm.py")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600, check=False)
    print(run.stdout)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].endswith("in all")
