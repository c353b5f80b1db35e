"""Time and accuracy of presage beside the straightforward method: prints a table, writes docs/benchmarks.md.

    python bench/theory.py            the Monte Carlo baseline gets a minute of CPU, the whole a few minutes
    python bench/theory.py --quick    without the slow baselines; prints, and writes nothing
    python bench/theory.py --full     that baseline run to a standard error of 1e-3, and finer references: an hour

Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import os

# One core, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import datetime
import json
import math
import multiprocessing
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import presage as ps
import straightforward
from report import (
    PEAK_MEMORY,
    Check,
    Timing,
    fresh_process,
    machine,
    markdown_table,
    met,
    prose,
    relative,
    span,
    text_table,
    timed,
    times,
    write,
)

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "docs" / "benchmarks.md"
STUDENT_95 = 2.131  # error_bars are 95 % intervals: this many standard errors where averages are sampled
OUR_TARGET = 1e-4  # relative error of an attention point, and
BASELINE_TARGET = 1e-3  # the ten times larger standard error that the straightforward method is asked for
BURN_IN = 15  # iterations of Monte Carlo state evolution before it fluctuates around its fixed point
CORRELATION = 0.4  # variance of a long mean of its iterations over that of as many independent ones
BATCH = 20  # iterations, long enough for the means of batches to be independent
BASELINE_SECONDS = 60.0
WATCHED = ("test_error", "train_loss", "rank")


# --------------------------------------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Row:
    """One line of the table; `notes` go below it."""

    work: str
    ours: str
    error: str
    baseline: str
    baseline_error: str
    ratio: str
    reach: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def met(self) -> str:
        return met(self.checks)

    @property
    def cells(self) -> list[str]:
        return [
            self.work,
            self.ours,
            self.error,
            self.baseline,
            self.baseline_error,
            self.ratio,
            self.reach,
            self.met,
        ]


HEADER = [
    "work",
    "ours: median (least)",
    "error",
    "straightforward: median (least)",
    "its error",
    "ratio",
    "reach",
    "met",
]


def worst(values: dict[str, float], reference: dict[str, float]) -> float:
    """Largest relative error over the names in `reference`."""
    return max(relative(values[name], reference[name]) for name in reference)


def of(solution: ps.Solution, names: Sequence[str] = WATCHED) -> dict[str, float]:
    return {name: getattr(solution, name) for name in names}


def standard_error(solution: ps.Solution, name: str = "test_error") -> float:
    """Relative standard error that a solution states for a sampled average."""
    value: float = getattr(solution, name)
    return solution.error_bars[name] / STUDENT_95 / value


# ------------------------------------------------------------------------------------------ the problems


def quadratic_problem() -> ps.Problem:
    return ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.02, noise=0.5)


def attention_problem(alpha: float = 0.5, n_tokens: int = 2) -> ps.Problem:
    target = ps.MarchenkoPastur(0.5)
    return ps.attention(target, alpha=alpha, weight_decay=0.01, noise=0.5, n_tokens=n_tokens)


# ---------------------------------------------------------------------------------- references from tests/


@cache
def high_precision() -> Any:
    """Marchenko-Pastur [+] semicircle in closed form, 80 digits, nothing from presage: reference.py of the tests."""
    sys.path.insert(0, str(ROOT))
    from tests.spectra.symmetric import reference

    return reference


def reference_points(kappa_0: float) -> Iterator[tuple[float, float, dict[str, float]]]:
    """(delta, c, values) of reference_values.json beside it at one kappa_0."""
    rows = json.loads((ROOT / "tests" / "spectra" / "symmetric" / "reference_values.json").read_text())["rows"]
    for row in rows:
        kappa, delta, c = row["point"]
        if kappa == kappa_0:
            J, I, first = (float(row["values"][name]) for name in ("J", "I", "first"))
            yield delta, c, {"J": J, "I": I, "dJ_ddelta": 4.0 * delta * I, "dJ_dc": -2.0 * first}


def quadratic_reference(kappa_0: float, noise: float, alpha: float, strength: float) -> dict[str, float]:
    """The two equations of [ETZK25] solved with the integrals of tests/spectra/symmetric/reference.py, to 25 digits."""
    import mpmath as mp

    def equations(delta: Any, c: Any) -> tuple[Any, Any]:
        f = high_precision().mp_functionals(kappa_0, delta, c)
        second = f["J"] + 2 * c * f["first"]  # the integral of x^2 - c^2
        risk = 1 + mp.mpf(kappa_0) + 4 * delta**2 * f["I"] - second
        return risk + mp.mpf(noise) / 2 - 2 * alpha * delta**2, 4 * c * (alpha - f["I"]) - mp.mpf(strength)

    with mp.workdps(30):
        delta, c = mp.findroot(equations, (0.77, 0.026), tol=1e-50)
        f = high_precision().mp_functionals(kappa_0, delta, c)
        return {
            "estimation_error": float(2 * alpha * delta**2 - mp.mpf(noise) / 2),
            "rank": float(f["mass_above"]),
            "train_loss": float((delta * strength / (2 * c)) ** 2 + strength * f["first"]),
        }


# -------------------------------------------------------------------------------------------------- rows


def straightforward_functionals(delta: float, c: float, kappa_0: float) -> dict[str, float]:
    """J and two central differences of it, five integrals in all; I follows from dJ/ddelta."""
    slope = straightforward.dJ_ddelta(delta, c, kappa_0)
    return {
        "J": straightforward.J(delta, c, kappa_0),
        "I": slope / (4.0 * delta),
        "dJ_ddelta": slope,
        "dJ_dc": straightforward.dJ_dc(delta, c, kappa_0),
    }


def functionals_rows() -> list[Row]:
    """J, I and both derivatives of J, at each reference point of MP(0.5)."""
    rows = []
    for delta, c, exact in reference_points(0.5):
        law = ps.MarchenkoPastur(0.5)
        ours = timed(lambda law=law, delta=delta, c=c: ps.functionals(law, delta, c), 300)
        base = timed(lambda delta=delta, c=c: straightforward_functionals(delta, c, 0.5), 5)
        error = worst({name: getattr(ours.value, name) for name in exact}, exact)
        ratio = base.median / ours.median
        rows.append(
            Row(
                f"J, I and both derivatives, delta={delta:g}, cutoff={c:g}",
                str(ours),
                f"{error:.0e}",
                str(base),
                f"{worst(base.value, exact):.0e}",
                times(ratio),
                "error <= 1e-10; <= 0.15 ms; >= 50x",
                (
                    Check("error", error <= 1e-10),
                    Check("time", ours.median <= 1.5e-4),
                    Check("ratio", ratio >= 50),
                ),
            )
        )
    note = """**J, I and both derivatives** of MP(0.5) [+] semicircle: J, I, dJ/ddelta and dJ/dc. Ours gives
        the derivatives of I in the same call; the straightforward one is J by `np.roots` and `quad` at five
        arguments. Error: the worst relative one of the four, against reference_values.json beside it (closed
        form, 80 digits)."""
    return [*rows[:-1], _with_note(rows[-1], note)]


def _with_note(row: Row, *notes: str) -> Row:
    return Row(**{**vars(row), "notes": notes})


def in_bands(edges: np.ndarray, points: int, *, inside: bool = False) -> np.ndarray:
    """Points spread evenly over every band; with `inside`, none on an edge."""
    share = points // len(edges)
    fractions = (np.arange(share) + 0.5) / share if inside else np.linspace(0.0, 1.0, share)
    return np.concatenate([left + (right - left) * fractions for left, right in edges])


def straightforward_density(delta: float, x: np.ndarray) -> tuple[np.ndarray, float]:
    rho = np.array([straightforward.density(point, delta, 0.5)[0] for point in x])
    return rho, straightforward.integral_above(0, delta, -math.inf, 0.5)


def density_at(delta: float) -> dict[str, float]:
    """Time, error of the mass and error of the density (relative to its peak), ours and straightforward."""
    law = ps.MarchenkoPastur(0.5)
    x = in_bands(ps.FreeConvolution(law, delta).support, 1000)

    def call() -> tuple[np.ndarray, float]:
        free = ps.FreeConvolution(law, delta)
        return free.density(x), free.mass

    ours, base = timed(call, 15), timed(lambda: straightforward_density(delta, x), 2)
    some = in_bands(ps.FreeConvolution(law, delta).support, 12, inside=True)
    exact = np.array([-float(high_precision().stieltjes(0.5, delta, point).imag) / math.pi for point in some])
    baseline = np.array([straightforward.density(point, delta, 0.5)[0] for point in some])
    return {
        "ours": ours.median,
        "least": ours.least,
        "mass": abs(ours.value[1] - 1.0),
        "density": float(np.abs(ps.FreeConvolution(law, delta).density(some) - exact).max() / exact.max()),
        "base": base.median,
        "base_least": base.least,
        "base_mass": abs(base.value[1] - 1.0),
        "base_density": float(np.abs(baseline - exact).max() / exact.max()),
        "ratio": base.median / ours.median,
    }


def density_row() -> Row:
    """Density at 1000 points and the mass, over nine decades of delta."""
    found = [density_at(float(delta)) for delta in np.geomspace(1e-6, 1e3, 10)]
    most = {name: max(one[name] for one in found) for name in found[0]}
    return Row(
        "density at 1000 points and mass, worst of ten delta in [1e-6, 1e3]",
        f"{span(most['ours'])} ({span(most['least'])})",
        f"mass {most['mass']:.0e}, density {most['density']:.0e}",
        f"{span(most['base'])} ({span(most['base_least'])})",
        f"mass {most['base_mass']:.0e}, density {most['base_density']:.0e}",
        f"{times(min(one['ratio'] for one in found))} at least",
        "mass 1 +- 1e-10; <= 10 ms",
        (Check("mass", most["mass"] <= 1e-10), Check("time", most["ours"] <= 1e-2)),
        (
            """**Density and mass** of MP(0.5) [+] semicircle, the points spread evenly over the bands; every
            figure is the worst over `geomspace(1e-6, 1e3, 10)`. Error of the density: at 12 points inside the
            bands, against the closed form with 80 digits, relative to the largest.""",
        ),
    )


def quadratic_row() -> Row:
    """One point of a quadratic network."""
    exact = quadratic_reference(0.2, 0.5, 0.5, 0.02)
    ours = timed(lambda: ps.solve(quadratic_problem()), 50)
    base = timed(lambda: straightforward.quadratic_point(0.2, 0.5, 0.5, 0.02), 2)
    error, ratio = worst(of(ours.value, list(exact)), exact), base.median / ours.median
    return Row(
        "quadratic-network point",
        str(ours),
        f"{error:.0e}",
        str(base),
        f"{worst(base.value, exact):.0e}",
        times(ratio),
        "1e-8; <= 1 ms",
        (Check("error", error <= 1e-8), Check("time", ours.median <= 1e-3)),
        (
            f"""**Quadratic-network point**: MP(0.2), noise 0.5, weight decay 0.02, alpha 0.5. Error: the
            worst relative one of estimation error, rank and training loss, against the two equations solved
            to 25 digits with the closed form (estimation error {exact["estimation_error"]:.12g}). The
            straightforward method iterates {base.value["iterations"]} times, to a change of 1e-8.""",
        ),
    )


@dataclass(frozen=True)
class Baseline:
    """A run of Monte Carlo state evolution, and what it says about a longer one."""

    seconds: float
    iterations: int
    test_error: float
    deviation: float  # relative standard deviation of the test error of one converged iteration
    correlation: float  # variance of a long mean over that of independent iterations

    @property
    def per_iteration(self) -> float:
        return self.seconds / self.iterations

    @property
    def standard_error(self) -> float:
        return self.deviation * math.sqrt(self.correlation / (self.iterations - BURN_IN))

    @property
    def iterations_needed(self) -> int:
        """Iterations to the target: the burn-in, and then the error falls with their square root."""
        return BURN_IN + math.ceil(self.correlation * (self.deviation / BASELINE_TARGET) ** 2)

    @property
    def seconds_needed(self) -> float:
        return self.iterations_needed * self.per_iteration


def run_baseline(iterations: int) -> Baseline:
    """The straightforward attention point: all iterations after the burn-in are averaged."""
    run = straightforward.attention_point(
        0.5, 0.5, 0.5, 0.01, max_iterations=iterations, tol=0.0, window=iterations - BURN_IN
    )
    kept = run["history"][BURN_IN:, 0]
    deviation = float(kept.std(ddof=1) / kept.mean())
    return Baseline(run["cpu_seconds"], run["iterations"], run["test_error"], deviation, correlation(kept))


def correlation(kept: np.ndarray) -> float:
    """Variance of a mean of `BATCH` iterations over that of independent ones; needs a long run."""
    batches = len(kept) // BATCH
    if batches < 20:
        return CORRELATION
    means = kept[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    return float(BATCH * means.var(ddof=1) / kept.var(ddof=1))


def bounded_baseline(seconds: float) -> Baseline:
    """As many iterations as fit into `seconds` of CPU."""
    warm = straightforward.attention_point(0.5, 0.5, 0.5, 0.01, max_iterations=2)
    return run_baseline(max(2 * BURN_IN, round(seconds / warm["cpu_seconds_per_iteration"])))


def full_baseline(start: Baseline) -> Baseline:
    """Run on until the standard error that the run itself shows is at most the target."""
    run, iterations = start, start.iterations
    while run.standard_error > BASELINE_TARGET:
        iterations = max(math.ceil(1.05 * run.iterations_needed), iterations + 1)
        run = run_baseline(iterations)
    return run


def attention_row(mode: str) -> tuple[Row, str]:
    """One cold attention point with two tokens; and a table of its own for the baseline."""
    ours = timed(lambda: ps.solve(attention_problem()), 20)
    nodes = 2**22 if mode == "quick" else 2**24
    fine = ps.solve(attention_problem(), solver=ps.StateEvolution(accuracy=1e-9, most_nodes=nodes, seed=1), tol=1e-8)
    exact = of(fine)
    error = worst(of(ours.value), exact)
    note = f"""**Attention point, T=2, cold**: MP(0.5), noise 0.5, alpha 0.5, weight decay 0.01, no `init`.
        Error: the worst relative one of test error, training loss and rank, against a solve with
        {plain(fine.message)} and a residual below {max(fine.residual, 1e-9):.0e} (test error
        {fine.test_error:.7f}, its relative standard error {standard_error(fine):.0e}: an error below that
        cannot be told from zero). Ours takes its averages by {plain(ours.value.message)} and states
        {ours.value.test_error:.7f} +- {ours.value.error_bars["test_error"]:.0e}."""
    checks = [Check("error", error <= OUR_TARGET), Check("time", ours.median <= 0.04)]
    if mode == "quick":
        row = Row(
            "attention point, T=2, cold",
            str(ours),
            f"{error:.0e}",
            "skipped (--quick)",
            "",
            "",
            ATTENTION_REACH,
            (*checks, Check("ratio", None)),
            (note,),
        )
        return row, ""
    base = bounded_baseline(BASELINE_SECONDS)
    full = full_baseline(base) if mode == "full" else None
    needed, how = (full.seconds, "measured") if full else (base.seconds_needed, "extrapolated")
    ratio = needed / ours.median
    row = Row(
        "attention point, T=2, cold",
        str(ours),
        f"{error:.0e}",
        f"{span(needed)} ({how})",
        f"{BASELINE_TARGET:g} (standard error)",
        f"{times(ratio)} ({how})",
        ATTENTION_REACH,
        (*checks, Check("ratio", ratio >= 2000)),
        (note,),
    )
    return row, baseline_section(ours, fine, base, full)


ATTENTION_REACH = "1e-4; <= 40 ms; >= 2000x at 10x the accuracy"


def baseline_section(ours: Timing[ps.Solution], fine: ps.Solution, base: Baseline, full: Baseline | None) -> str:
    """What was measured of the Monte Carlo baseline and what is extrapolated from it."""
    lines = [["run", "", "CPU", "relative error", "CPU over ours", "error over ours"]]
    own = max(relative(ours.value.test_error, fine.test_error), standard_error(fine))
    lines.append(["ours", "measured", span(ours.median), f"at most {own:.0e}", "1", "1"])
    for run, name in ((base, "bounded run"), (full, "run to its standard error")):
        if run is not None:
            missed = relative(run.test_error, fine.test_error)
            lines.append(
                [
                    f"straightforward, {name}, {run.iterations} iterations",
                    "measured",
                    span(run.seconds),
                    f"{missed:.0e}, standard error {run.standard_error:.1e}",
                    times(run.seconds / ours.median),
                    times(run.standard_error / own),
                ]
            )
    lines.append(
        [
            f"straightforward to a standard error of {BASELINE_TARGET:g}, {base.iterations_needed} iterations",
            "**extrapolated**",
            span(base.seconds_needed),
            f"standard error {BASELINE_TARGET:g}",
            times(base.seconds_needed / ours.median),
            f"{times(BASELINE_TARGET / own)} ({BASELINE_TARGET / OUR_TARGET:g}x our target of {OUR_TARGET:g})",
        ]
    )
    spread = 100.0 / math.sqrt(2.0 * (base.iterations - BURN_IN - 1))
    return "\n".join(
        [
            "## The attention point beside Monte Carlo",
            "",
            prose(
                """Errors here are those of the test error alone, relative. Ours is its distance from the finer solve or
                the standard error of that, whichever is larger; the last column takes the standard error of the
                straightforward method, not the luck of one run."""
            ),
            "",
            markdown_table(lines),
            "",
            prose(
                f"""Measured in the bounded run: {base.per_iteration:.2f} CPU seconds an iteration, and a
                relative standard deviation of {100 * base.deviation:.2g} % in the test error of one converged
                iteration (itself known to {spread:.0f} %). Extrapolated from these two:"""
            ),
            "",
            f"    iterations = {BURN_IN} + {base.correlation:.2g} x ({base.deviation:.4f}/{BASELINE_TARGET:g})^2 "
            f"= {base.iterations_needed}",
            f"    CPU = iterations x {base.per_iteration:.2f} s = {base.seconds_needed:,.0f} s",
            "",
            prose(
                f"""The first {BURN_IN} iterations approach the fixed point and are left out of averages. The
                factor {CORRELATION:g} stands for the anticorrelation of iterations (an overshoot corrects
                itself in the next), and favours the straightforward method. It is not measured here: it is
                that of 8000 iterations of the same Monte Carlo with our proximal map in place of `minimize`,
                which is quick."""
            ),
            "",
            prose(
                f"""The run to the end measured a deviation of {100 * full.deviation:.2g} % and a factor of
                {full.correlation:.2g}."""
                if full
                else "Not run here: `python bench/theory.py --full` runs the straightforward method to the end."
            ),
        ]
    )


CURVE = np.geomspace(0.05, 40.0, 60)


def solve_chunk(alphas: Sequence[float]) -> list[dict[str, Any]]:
    """Neighbouring points of the curve, each started from the one before."""
    found: list[dict[str, Any]] = []
    init: ps.Solution | None = None
    for alpha in alphas:
        try:
            init = ps.solve(attention_problem(alpha), init=init)
            bar = init.error_bars["test_error"] / init.test_error
            found.append({"alpha": alpha, "test_error": init.test_error, "bar": bar})
        except ps.SolveError as failure:
            init = None
            found.append({"alpha": alpha, "reason": str(failure)})
    return found


def children_cpu() -> float:
    """CPU seconds of the processes that were started and have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def curve_rows() -> list[Row]:
    """Sixty points on one core and on two."""
    began, cpu = time.perf_counter(), time.process_time()
    alone = solve_chunk(CURVE.tolist())
    one_wall, one_cpu = time.perf_counter() - began, time.process_time() - cpu

    chunks = [chunk.tolist() for chunk in np.array_split(CURVE, 6)]
    began, cpu = time.perf_counter(), children_cpu()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = [point for chunk in pool.map(solve_chunk, chunks) for point in chunk]
    two_wall, two_cpu = time.perf_counter() - began, children_cpu() - cpu

    rows = []
    for name, points, seconds, check in (
        ("two cores", found, f"{span(two_wall)} wall, {span(two_cpu)} CPU", None),
        ("one core", alone, f"{span(one_wall)} wall, {span(one_cpu)} CPU", Check("time", one_cpu <= 1.5)),
    ):
        solved = [point for point in points if "bar" in point]
        bars = [point["bar"] for point in solved]
        rows.append(
            Row(
                f"60-point attention curve, T=2, {name}",
                seconds,
                f"bars {statistics.median(bars):.0e}, at most {max(bars):.0e}",
                "not run",
                "",
                "",
                "<= 1.5 s" if check else "",
                (check, Check(f"{60 - len(solved)} points failed", len(solved) == 60)) if check else (),
            )
        )
    largest = max((point for point in alone if "bar" in point), key=lambda point: point["bar"])
    note = f"""**60-point curve**: alpha in `geomspace(0.05, 40, 60)`, the rest as the attention point.
        Neighbours start from one another; on two cores, six runs of ten neighbours in two processes, and the
        wall time includes the start of the processes, the CPU time is that of both. Error: the relative 95 %
        bars stated for the test error, median and largest (at alpha = {largest["alpha"]:.3g})."""
    return [rows[0], _with_note(rows[1], note)]


def tokens_row(n_tokens: int, alpha: float, accuracy: float, limit: float, mode: str) -> Row:
    """A cold point with more tokens, where averages are sampled."""
    problem = attention_problem(alpha, n_tokens)
    ours = timed(lambda: ps.solve(problem, accuracy=accuracy), 3)
    stated = standard_error(ours.value)
    error, note = f"standard error {stated:.0e}", ""
    if n_tokens == 3 or mode == "full":
        finer = ps.StateEvolution(accuracy=0.5 * stated, most_nodes=2**22, seed=1)
        if mode == "full":
            finer = ps.StateEvolution(accuracy=0.2 * stated, most_nodes=2**24, seed=1)
        fine = ps.solve(problem, solver=finer)
        missed = relative(ours.value.test_error, fine.test_error)
        error += f", found {missed:.0e}"
        note = f"""Found: {ours.value.test_error:.6f} against {fine.test_error:.6f} by {plain(fine.message)}
            with another seed, which states {standard_error(fine):.0e}."""
    baseline = "skipped (--quick)"
    if mode != "quick":
        one = straightforward.attention_point(0.5, 0.5, alpha, 0.01, n_tokens=n_tokens, max_iterations=1)
        baseline = f"{span(one['cpu_seconds'])} for one iteration"
    return Row(
        f"attention point, T={n_tokens}, accuracy {accuracy:g}, cold",
        str(ours),
        error,
        baseline,
        "",
        "",
        f"{accuracy:g} (one standard error); <= {limit:g} s",
        (Check("error", stated <= accuracy), Check("time", ours.median <= limit)),
        (
            f"""**T={n_tokens}, accuracy {accuracy:g}**: alpha {alpha:g}, the rest as the attention point; averages by
            {plain(ours.value.message)}. Error: the relative standard error stated for the test error (for the
            training loss {standard_error(ours.value, "train_loss"):.0e}). {note}""",
        ),
    )


def plain(message: str) -> str:
    """How the averages were taken, from the message of a solution."""
    return message.rsplit("averages by ", maxsplit=1)[-1]


POWER_LAW = f"""
import json, time
import presage as ps
problem = ps.quadratic_network(ps.PowerLaw(1.25, 100000), alpha=1.0, weight_decay=0.1, noise=0.1)
wall, cpu = time.perf_counter(), time.process_time()
s = ps.solve(problem)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
{PEAK_MEMORY}
print(json.dumps(dict(wall=wall, cpu=cpu, peak=peak, bar=s.error_bars["test_error"] / s.test_error)))
"""


def power_law_row() -> Row:
    """A quadratic network whose target has 1e5 distinct eigenvalues, in a process of its own."""
    fresh_process(POWER_LAW)
    found = [fresh_process(POWER_LAW)[0] for _ in range(3)]
    cpu, peak = [one["cpu"] for one in found], max(one["peak"] for one in found)
    median = statistics.median(cpu)
    return Row(
        "power law with 1e5 atoms, one quadratic point",
        f"{span(median)} ({span(min(cpu))}), peak memory {peak / 1e6:.0f} MB",
        f"bar {found[0]['bar']:.0e}",
        "does not apply",
        "",
        "",
        "<= 5 s; <= 1 GB",
        (Check("time", median <= 5.0), Check("memory", peak <= 1e9)),
        (
            """**Power law**: `PowerLaw(1.25, 100000)`, alpha 1, weight decay 0.1, noise 0.1; CPU of the first
            solve of a fresh process, the loading of compiled code included; memory of the whole process.
            Error: the relative 95 % bar stated for the test error. The straightforward method would need the
            roots of a polynomial of degree 1e5.""",
        ),
    )


IMPORT = """
import json, time
began = time.perf_counter()
import presage as ps
imported = time.perf_counter() - began
print(json.dumps(dict(imported=imported)))
"""
FIRST_ANSWER = """
import json
import presage as ps
s = ps.solve(ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5))
print(json.dumps(dict(test_error=s.test_error)))
"""


def fresh_rows() -> list[Row]:
    """`import presage`, and the first answer of a fresh process whose compiled code is on disk."""
    fresh_process(FIRST_ANSWER)
    imports = [fresh_process(IMPORT)[0]["imported"] for _ in range(5)]
    answers = [fresh_process(FIRST_ANSWER)[1] for _ in range(5)]
    note = """**Fresh process**: wall time, median and least of five, compiled code on disk. `import presage`
        is without the start of the interpreter; the first answer is a whole process, from its start to its
        end, that solves the attention point."""
    rows = []
    for work, seconds, limit in (
        ("`import presage`", imports, 1.0),
        ("first answer of a fresh process", answers, 2.0),
    ):
        median = statistics.median(seconds)
        rows.append(
            Row(
                work,
                f"{span(median)} ({span(min(seconds))}) wall",
                "",
                "does not apply",
                "",
                "",
                f"<= {limit:g} s",
                (Check("time", median <= limit),),
            )
        )
    return [rows[0], _with_note(rows[1], note)]


# ------------------------------------------------------------------------------------------------ report


def document(rows: list[Row], section: str, summary: str, seconds: float, mode: str) -> str:
    """The page docs/benchmarks.md."""
    missed = [f"{row.work} ({row.met})" for row in rows if row.met not in {"", "yes"}]
    verdict = "Not reached: " + "; ".join(missed) + "." if missed else "Everything in the last column is reached."
    command = "make bench" if mode == "default" else f"python bench/theory.py --{mode}"
    notes = [f"- {prose(note)}" for row in rows for note in row.notes]
    parts = [
        "# Benchmarks",
        prose(
            """presage beside the straightforward method, that of the code of a paper, in one run on one
            machine. Straightforward is: `np.roots` and `quad` for the spectrum, differences for derivatives,
            plain iteration of the equations, and for attention Monte Carlo with 1000 samples an iteration and
            one `scipy.optimize.minimize` for each sample (bench/straightforward.py)."""
        ),
        f"Written by `{command}` on {datetime.date.today().isoformat()}, in {span(seconds)}: run again, do not edit.",
        f"Machine: {summary}.",
        prose(
            """Times are CPU seconds of one call on one core: the median, and in brackets the least, of
            several after a warm-up call; wall time only where the table says so. Errors are relative, against
            a converged reference named below. The ratio is CPU of the straightforward method over CPU of
            ours. Reach is what was asked for, met or not by the median."""
        ),
        markdown_table([HEADER, *(row.cells for row in rows)]),
        verdict,
        section,
        "## What each row is",
        "\n".join(notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def measure(mode: str) -> tuple[list[Row], str]:
    """Every row, in the order of the table."""

    began = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {what}", file=sys.stderr, flush=True)

    say("integrals of the spectrum")
    rows = [*functionals_rows(), density_row()]
    say("quadratic network")
    rows.append(quadratic_row())
    say("attention, two tokens")
    row, section = attention_row(mode)
    rows.append(row)
    say("attention curve")
    rows.extend(curve_rows())
    say("attention, three, five and ten tokens")
    rows.append(tokens_row(3, 0.2, 1e-3, 0.5, mode))
    rows.append(tokens_row(3, 0.2, 1e-4, 5.0, mode))
    rows.append(tokens_row(5, 0.1, 1e-3, 1.0, mode))
    rows.append(tokens_row(10, 0.03, 1e-3, 5.0, mode))
    say("power law and fresh processes")
    rows.extend([power_law_row(), *fresh_rows()])
    return rows, section


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="skip the slow baselines; print, write nothing")
    parser.add_argument("--full", action="store_true", help="run the Monte Carlo baseline to the end")
    parser.add_argument("--output", type=Path, help="where to write the page (default: docs/benchmarks.md)")
    arguments = parser.parse_args()
    if arguments.quick and arguments.full:
        parser.error("--quick and --full exclude each other: choose one")
    mode = "quick" if arguments.quick else "full" if arguments.full else "default"
    began, summary = time.perf_counter(), machine("one thread a process")
    rows, section = measure(mode)
    print(summary)
    print(text_table([HEADER, *(row.cells for row in rows)]))
    if section:
        print("\n" + section)
    path = arguments.output or (None if mode == "quick" else OUTPUT)
    if path is not None:
        write(path, document(rows, section, summary, time.perf_counter() - began, mode))
        print(f"\nwritten to {path.name}")


if __name__ == "__main__":
    main()
