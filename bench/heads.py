"""Untied attention, several heads, several matrices, flows: time and accuracy, beside straightforward versions.

    python bench/heads.py            some minutes; prints, and writes docs/benchmarks-heads.md
    python bench/heads.py --quick    without what takes minutes; prints, and writes nothing

Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import os

# One core, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from typing import Any

import numpy as np

import presage as ps
from report import Check, Row, clocked
from table_page import rows_of, run

ABOUT = """Beyond one tied head: predictions of untied attention, of several heads and of several matrices, and whole
ways of training. One run on one machine. Error bars are those that the answers carry, relative to their numbers."""
PRODUCT, WISHART = ps.GaussianProduct(0.5), ps.MarchenkoPastur(0.5)
SYMMETRIC = ps.PointMasses([-(0.4**-0.5), 0.0, 0.4**-0.5], [0.2, 0.6, 0.2])


def worst_bar(found: Any) -> float:
    """The largest relative error bar of an answer."""
    return max(bar / abs(getattr(found, name)) for name, bar in found.error_bars.items() if getattr(found, name, None))


def predicted(work: str, reach: float, bar: float, problem: Any, times: int = 3) -> dict[str, Any]:
    """One prediction, with its largest error bar beside the one that is asked for."""
    ps.solve(problem)  # what is compiled is loaded
    seconds, found = clocked(lambda: ps.solve(problem), times)
    largest = worst_bar(found)
    words = f"largest error bar {largest:.1e}, asked for {bar:.0e}"
    note = f"one answer; of its numbers the one with the largest relative error bar, where {bar:g} is asked for."
    met = (Check("error bar", largest <= bar),)
    return {"work": work, "reach": reach, "seconds": seconds, "words": words, "note": note, "also": met}


def untied_rows() -> list[dict[str, Any]]:
    """Distinct tokens: integrals over a law."""
    pair = ps.untied_attention(PRODUCT, alpha=1.0, weight_decay=0.02, noise=0.25)
    triple = ps.untied_attention(PRODUCT, alpha=1.0, weight_decay=0.02, noise=0.25, n_keys=3)
    return [
        predicted("untied, two distinct keys", 0.05, 1e-4, pair, 5),
        predicted("untied, three distinct keys", 2.0, 1e-3, triple),
    ]


def sampled_rows() -> list[dict[str, Any]]:
    """Weight sides that are solved at a finite size, and two heads in closed form."""
    self_attention = ps.untied_attention(PRODUCT, alpha=1.0, weight_decay=0.02, noise=0.25, mask="self")
    heads = ps.multihead_attention(WISHART, alpha=2.0, weight_decay=0.01, noise=0.2, combine="mean")
    closed = heads.replace(penalty="frobenius")
    return [
        predicted("untied with the diagonal, weight decay", 20.0, 1e-2, self_attention, 1),
        predicted("two averaged heads, weight decay", 20.0, 1e-2, heads, 1),
        predicted("two averaged heads, Frobenius", 10.0, 1e-2, closed, 1),
    ]


def matrices_row() -> dict[str, Any]:
    problem = ps.multi_matrix(SYMMETRIC, ps.PowersLink(1, 2), alpha=2.0, weight_decay=0.5, noise=0.25)
    seconds, found = clocked(lambda: ps.solve(problem), 1)
    words = f"largest error bar {worst_bar(found):.1e}"
    return {"work": "two matrices, z_1 + z_2^2", "seconds": seconds, "words": words, "note": "both fixed points."}


def flow_rows() -> list[dict[str, Any]]:
    """A thousand times of a flow, beside an ODE solver for the one that has no integral."""
    network = ps.quadratic_network(ps.PowerLaw(1.0, 100), alpha=1.0, weight_decay=0.1)
    linear = ps.unfactorized_linear_attention(WISHART, alpha=1.0, ridge=0.0, noise=0.5, n_tokens=1)
    population, _ = clocked(lambda: ps.trajectory(network, steps=1000, trainer=ps.PopulationFlow()), 3)
    drawn, _ = clocked(lambda: ps.trajectory(network, steps=1000, trainer=ps.PopulationFlow(deviation=0.1)), 3)
    finite, _ = clocked(lambda: ps.trajectory(linear, steps=1000, trainer=ps.MatrixFlow()), 3)
    plain, _ = clocked(integrated, 1)
    note = "straightforward: the same thousand times by an ODE solver on the whole matrix, d = 100."
    return [
        {
            "work": "population flow, 1000 times",
            "reach": 1.0,
            "seconds": population,
            "plain_seconds": plain,
            "note": note,
        },
        {
            "work": "population flow from Gaussian weights, 1000 times",
            "reach": 1.0,
            "seconds": drawn,
            "note": "means over eight starts of d = 100, each by the Riccati equation.",
        },
        {"work": "flow of a matrix on samples, 1000 times", "reach": 1.0, "seconds": finite, "note": "in the limit."},
    ]


def integrated() -> Any:
    """Population flow of S by SciPy."""
    from scipy.integrate import solve_ivp

    d = 100
    S_0 = np.diag(np.arange(1.0, d + 1.0) ** -1.0)

    def slope(_: float, flat: Any) -> Any:
        S = flat.reshape(d, d)
        change = (S_0 - S) @ S
        return (change + change.T).ravel()

    times = np.geomspace(1e-2, 1e3, 1000)
    return solve_ivp(slope, (0.0, 1e3), (1e-3 * np.eye(d)).ravel(), t_eval=times, rtol=1e-6, atol=1e-9)


def training_row() -> dict[str, Any]:
    """A pass over the data of an untied network beside one of a tied network of the same size."""
    import time

    def a_step(problem: Any) -> float:
        began = time.process_time()
        found = ps.simulate(problem, d=100, seeds=1, trainer=ps.LBFGS(), processes=1, progress=False)
        return (time.process_time() - began) / float(np.asarray(found.evaluations).sum())

    tied = ps.attention(WISHART, alpha=1.0, weight_decay=0.04, noise=0.25)
    untied = ps.untied_attention(WISHART, alpha=1.0, weight_decay=0.02, noise=0.25, mask="self")
    ours, theirs = a_step(untied), a_step(tied)
    words = f"{ours / theirs:.2f} times that of the tied network ({1e3 * theirs:.0f} ms); required 1.5 times"
    note = "L-BFGS at d = 100, n = 10,000, two tokens: the whole training over its evaluations."
    return {
        "work": "untied network, a pass over the data",
        "reach": 1.5 * theirs,
        "seconds": ours,
        "words": words,
        "note": note,
    }


def measure(quick: bool) -> list[Row]:
    """Every row."""
    short = [*untied_rows(), *flow_rows()]
    return rows_of(short if quick else [*short, *sampled_rows(), matrices_row(), training_row()])


if __name__ == "__main__":
    run(
        __doc__,
        "Benchmarks of untied attention, several heads, several matrices and flows",
        ABOUT,
        "benchmarks-heads.md",
        measure,
        quick="without what takes minutes",
    )
