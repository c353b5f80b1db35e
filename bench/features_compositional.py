"""Compositional targets: products without the matrix, beside forming it, and the largest size that is asked for."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

import presage as ps
from presage.models.compositional.experiment.coordinates import HermiteCoordinates
from report import PEAK_MEMORY, fresh_process, side_by_side, span, timed

D_LARGE, N_LARGE = 400, 1_000_000
MINUTES = 900.0  # what "minutes" may be at the most, of the clock
SMALL = ps.compositional(alpha=40.0, features=3, decay=0.5, inputs="hermite", clip=2.0)
D_SMALL = 50

LARGE = f"""
import json, time
import presage as ps
problem = ps.compositional(alpha=1.0, features=2, decay=0.0, inputs="hermite", clip=2.0)
problem = problem.with_samples({N_LARGE}, d={D_LARGE})
began = time.perf_counter()
found = ps.simulate(problem, d={D_LARGE}, seeds=1, processes=1, progress=False,
    trainer=ps.LayerWise(oversampling=4, tol=1e-3))
seconds = time.perf_counter() - began
{PEAK_MEMORY}
predicted = ps.solve(problem)
print(json.dumps({{"seconds": seconds, "peak": peak, "overlap": found.mean_overlap[0], "passes": found.passes[0],
    "predicted": predicted.mean_overlap, "coordinates": problem.samples_at_one({D_LARGE})}}))
"""


def plain_first_layer(problem: ps.CompositionalProblem, d: int) -> float:
    """The first layer as one writes it down: every coordinate formed, the whole matrix, all of its eigenvectors."""
    rng = np.random.default_rng(0)
    source = HermiteCoordinates(d, 2)
    A = np.linalg.qr(rng.standard_normal((source.count, problem.features)))[0]
    F = source.draw(problem.samples(d), rng).astype(np.float64)
    y = ((F @ A) ** 2 - 1.0) @ problem.strengths / np.sqrt(2.0)
    used = np.clip(y, -2.0 * y.std(), 2.0 * y.std())
    used = used - used.mean()
    C = (F.T * used) @ F / len(y)
    values, vectors = np.linalg.eigh(C)
    top = np.argsort(-np.abs(values))[: problem.features]
    return float(np.mean(np.sum((vectors[:, top].T @ A) ** 2, axis=0)))


def rows(*, quick: bool = False) -> list[dict[str, Any]]:
    """What is measured, each beside the straightforward way where that can be done; d = 400 unless it is quick."""
    found = []
    closed = ps.compositional(alpha=150.0, features=6, decay=0.5)
    clipped = closed.replace(clip=3.0)
    for problem, words, reach in (
        (closed, "plain labels, closed forms", 1e-3),
        (clipped, "clipped labels, sums", 2e-2),
    ):
        ps.solve(problem)
        seconds = timed(partial(ps.solve, problem), 20).median
        found.append(
            {
                "work": f"compositional, solve, {words}",
                "reach": reach,
                "seconds": seconds,
                "plain_seconds": None,
                "note": "the law of the labels is kept from the first call on" if problem.clip else "six features",
            }
        )
    both = side_by_side(
        {
            "presage": lambda: float(
                ps.simulate(SMALL, d=D_SMALL, seeds=1, n_test=100, processes=1, progress=False).mean_overlap[0]
            ),
            "plain": lambda: plain_first_layer(SMALL, D_SMALL),
        },
        2,
        warm=False,
    )
    found.append(
        {
            "work": f"compositional, d = {D_SMALL}, D = {SMALL.samples_at_one(D_SMALL)}, n = {SMALL.samples(D_SMALL)}",
            "reach": None,
            "seconds": both["presage"].median,
            "plain_seconds": both["plain"].median,
            "note": (
                f"all layers and the test, against the first layer alone with C formed; mean overlap "
                f"{both['presage'].value:.3f} and {both['plain'].value:.3f} (other draws)"
            ),
        }
    )
    if quick:
        return found
    began = time.perf_counter()
    large, _ = fresh_process(LARGE, timeout=3600.0)
    found.append(
        {
            "work": f"compositional, d = {D_LARGE}, D = {large['coordinates']}, n = {N_LARGE}",
            "reach": MINUTES,
            "seconds": large["seconds"],
            "plain_seconds": None,
            "words": f"{large['peak'] / 1e9:.2f} GB",
            "note": (
                "wall time of one seed on all cores, all layers; at most 2 GB are asked for; "
                f"{large['passes']:.0f} passes, mean overlap "
                f"{large['overlap']:.3f} (predicted {large['predicted']:.3f}), "
                f"{span(time.perf_counter() - began)} in all; C itself would be "
                f"{8 * large['coordinates'] ** 2 / 1e9:.0f} GB"
            ),
        }
    )
    return found


if __name__ == "__main__":
    for row in rows():
        print(row)
