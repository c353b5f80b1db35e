"""Fine-tuning, Boltzmann machines and features layer by layer beside a straightforward NumPy version of each.

    python bench/state_evolution.py            some minutes; prints, and writes docs/benchmarks-state-evolution.md
    python bench/state_evolution.py --quick    without what takes minutes; prints, and writes nothing

Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import os

# One core, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import boltzmann_rows
import lofi_rows
import lora_rows
from report import Row
from table_page import rows_of, run

ABOUT = """Three models with a state evolution of their own: adapters on a frozen layer, Boltzmann machines of a few
hidden units, and features that are selected layer by layer. One run on one machine, each beside a straightforward NumPy
version of the same computation."""


def measure(quick: bool) -> list[Row]:
    """Every row."""
    return rows_of([row for model in (lora_rows, boltzmann_rows, lofi_rows) for row in model.rows(quick=quick)])


if __name__ == "__main__":
    run(
        __doc__,
        "Benchmarks of fine-tuning, Boltzmann machines and features layer by layer",
        ABOUT,
        "benchmarks-state-evolution.md",
        measure,
        quick="without what takes minutes",
    )
