"""What machines show on the way of gradient descent: shared by the figures of Boltzmann machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import presage as ps
from presage.protocol.errors import TrainError

EVERY = 5  # steps between two dots


def followed(
    problem: ps.BoltzmannProblem, trainer: ps.BoltzmannDescent, shown: Sequence[str], *, d: int, seeds: int
) -> dict[str, Any]:
    """Means over the machines after every few steps, and standard errors; machines that failed are left out."""
    e = ps.simulate(problem, d=d, seeds=seeds, trainer=trainer, keep="trajectory", progress=False)
    assert e.trajectory is not None
    way = e.trajectory[np.isfinite(e.trajectory).all(axis=(1, 2))]
    if len(way) < 2:
        why = next(iter(e.failures.values()), "")
        raise TrainError(f"{len(e.failures)} of {seeds} machines failed: {why}", "Use a smaller <rate>.")
    names = [one.name for one in e.followed]
    columns = {name: way[:, ::EVERY, 1 + names.index(name)] for name in shown}
    means = {name: values.mean(axis=0) for name, values in columns.items()}
    bars = {f"{name}_bar": values.std(axis=0, ddof=1) / np.sqrt(len(way)) for name, values in columns.items()}
    return {"times": way[0, ::EVERY, 0], **means, **bars}
