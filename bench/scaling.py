"""Power-law targets beside the method before and sampled matrices: prints a table, writes docs/benchmarks-scaling.md.

    python bench/scaling.py            two minutes or so
    python bench/scaling.py --quick    without the slowest of the methods before; prints, and writes nothing

Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import os

# One core, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import presage as ps
from presage.spectra.curve import Curve
from presage.spectra.quadrature import panels
from report import Check, Row, side_by_side, span, timed, times
from table_page import run

NOISE = 0.5
DRAWS, SAMPLED = 4, 1000  # matrices that are sampled, and their size


@dataclass(frozen=True)
class Case:
    """A quadratic network, and how long it may take."""

    name: str
    gamma: float
    d: int
    n: float
    weight_decay: float
    noise: float
    most: float  # seconds
    panels: bool  # whether the method before takes less than a minute

    def problem(self) -> ps.Problem:
        target = ps.PowerLaw(self.gamma, self.d)
        alpha = self.n / self.d**2
        return ps.quadratic_network(target, alpha=alpha, weight_decay=self.weight_decay, noise=self.noise)


CASES = (
    Case("bands merge, d = 1e4", 1.25, 10_000, 1e6, 0.01, NOISE, 0.015, True),
    Case("1e4 separate bands", 1.25, 10_000, 1e18, 0.01, NOISE, 0.3, False),
    Case("bands merge, d = 1e5", 1.25, 100_000, 1e7, 0.01, NOISE, 0.15, True),
    Case("1e5 separate bands", 1.25, 100_000, 1e24, 0.01, NOISE, 1.0, False),
    Case("262 separate bands, d = 1e5", 1.25, 100_000, 1e11, 44.72135955, NOISE, 1.0, True),
)


def integrals_by_path(law: ps.SpectralLaw, delta: float, c: float) -> tuple[float, float]:
    """J and I as `solve` takes them."""
    found = ps.functionals(law, delta, c)
    return found.J, found.I


def integrals_by_panels(law: ps.SpectralLaw, delta: float, c: float) -> tuple[float, float]:
    """J and I along the spectrum, band by band, as before: nodes on every band above the cutoff."""
    free = ps.FreeConvolution(law, delta)

    def integrands(point: Curve) -> np.ndarray:
        y = point.x - c
        return np.stack([np.ones_like(y), y * y, y * point.h])

    nodes = panels(law, free.t, free.bands, integrands, tail=1e-6, u_from=free.parameter_above(c))
    y, mass = (nodes.x - c).ravel(), nodes.mass.ravel()
    return float(mass @ y**2), float(mass @ (y * nodes.h.ravel()))


def integrals_by_sampling(law: ps.SpectralLaw, delta: float, c: float, seed: int) -> tuple[float, float]:
    """J and I of sampled matrices ``S_0 + delta GOE``: dJ/ddelta of a matrix is ``4 delta I``, by a difference."""
    rng = np.random.default_rng(seed)
    J, slope = [], []
    for _ in range(DRAWS):
        gaussian = rng.standard_normal((SAMPLED, SAMPLED))
        goe = (gaussian + gaussian.T) / np.sqrt(2 * SAMPLED)
        target = np.diag(law.sample(SAMPLED, rng))
        kept = [np.maximum(np.linalg.eigvalsh(target + e * goe) - c, 0.0) for e in (delta, 1.01 * delta)]
        J.append(np.mean(kept[0] ** 2))
        slope.append((np.mean(kept[1] ** 2) - J[-1]) / (0.01 * delta))
    return float(np.mean(J)), float(np.mean(slope)) / (4.0 * delta)


def point_rows(quick: bool) -> list[Row]:
    """One solve of each case; the integrals at its solution by the method before, by turns."""
    rows = []
    for case in CASES:
        problem = case.problem()
        _ = problem.target.tree  # the law is given; its preparation is timed with it below
        found = timed(lambda problem=problem: ps.solve(problem), 5)
        s = found.value
        law, delta, c = problem.target, s.delta, s.cutoff
        told = f"{found}; {s.evaluations} evaluations, R = {s.estimation_error:.10g} +- "
        told += f"{s.error_bars['estimation_error']:.0e}"
        if case.panels and not quick:
            ways = side_by_side(
                {
                    "path": lambda law=law, delta=delta, c=c: integrals_by_path(law, delta, c),
                    "panels": lambda law=law, delta=delta, c=c: integrals_by_panels(law, delta, c),
                },
                3,
            )
            told += f"; one evaluation {ways['path']}, band by band {ways['panels']}: "
            told += f"{times(ways['panels'].over(ways['path']))}"
        note = f"""**{case.name}**: `PowerLaw({case.gamma:g}, {case.d})`, n = {case.n:g}, weight decay
            {case.weight_decay:g}, noise {case.noise:g}; a warm solve."""
        rows.append(Row(case.name, f"<= {span(case.most)}", told, (Check("time", found.median <= case.most),), note))
    return rows


def sampling_row() -> Row:
    """One evaluation of the integrals at d = 1000 beside sampled matrices."""
    problem = ps.quadratic_network(ps.PowerLaw(1.25, SAMPLED), alpha=0.1, weight_decay=0.01, noise=NOISE)
    s = ps.solve(problem)
    law, delta, c = problem.target, s.delta, s.cutoff
    exact = ps.functionals(law, delta, c)
    seeds = iter(range(100))
    calls: dict[str, Callable[[], tuple[float, float]]] = {
        "ours": lambda: integrals_by_path(law, delta, c),
        "sampled": lambda: integrals_by_sampling(law, delta, c, next(seeds)),
    }
    ways = side_by_side(calls, 3)
    J, I = ways["sampled"].value
    told = f"{ways['ours']}; {DRAWS} sampled matrices {ways['sampled']}, {times(ways['sampled'].over(ways['ours']))}, "
    told += f"off by {abs(J / exact.J - 1.0):.0e} in J and {abs(I / exact.I - 1.0):.0e} in I"
    note = f"""**J and I at d = {SAMPLED}**: ours, and as the code of the width paper does [GTXEKZ26], by the
        eigenvalues of {DRAWS} sampled matrices with a difference for the derivative."""
    return Row(f"J and I, d = {SAMPLED}", "", told, (), note)


def map_row(points: int) -> Row:
    """A phase map: exact error and phase at every point."""
    problem = ps.quadratic_network(ps.PowerLaw(1.25, 1000), alpha=0.1, weight_decay=0.01, noise=NOISE)
    n, decay = np.geomspace(1e3, 1e9, points), np.geomspace(1e-4, 1e2, points)
    began = time.perf_counter()
    table = ps.sweep(problem, ps.scaling, factor=None, alpha=n / 1e6, weight_decay=decay)
    seconds = time.perf_counter() - began
    phases = sorted(set(map(str, np.ravel(table["phase"].values))))
    told = f"{span(seconds)} wall; phases {', '.join(phases)}"
    note = f"""**Phase map**: {points} x {points} points of `sweep(problem, scaling, factor=None)` at d = 1000, n from
        1e3 to 1e9, weight decay from 1e-4 to 100, on all cores; the start of the processes is in it."""
    reached = seconds <= 30.0 if points == 40 else None
    return Row(f"{points} x {points} phase map, d = 1000", "<= 30 s", told, (Check("time", reached),), note)


def measure(quick: bool) -> list[Row]:
    """Every row."""
    return [*point_rows(quick), sampling_row(), map_row(10 if quick else 40)]


ABOUT = """Targets of up to a million eigenvalues, in any phase: one run on one machine, beside the method before
(quadrature along every band of the spectrum) and beside sampled matrices."""
HOW_TIMED = """Times are CPU seconds of one call on one core: the median, and in brackets the least, of several after
a warm-up call; wall time only where the table says so. What is compared is timed by turns, and a ratio is the median
of those of the rounds. Features and types of spectra are in [the other table](benchmarks-core.md)."""

if __name__ == "__main__":
    run(
        __doc__,
        "Benchmarks of power-law targets",
        ABOUT,
        "benchmarks-scaling.md",
        measure,
        quick="smaller map, no method before",
        how_timed=HOW_TIMED,
    )
