"""Features selected layer by layer, beside a straightforward NumPy version, in the same run: rows for the table."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import scipy

import presage as ps

N, D, P, KEPT = 20_000, 64, 4000, 10
LINK = ps.SquaresLink([1.0, -0.7, 0.5])
DRAWS = 1_000_000  # of a Monte Carlo average

# In a process of its own, so that its peak of memory is its own; on all cores, as people have it.
FIT = f"""
import json, resource, sys, time
import numpy as np
import presage as ps
n, precision = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
X = rng.standard_normal((n, {D}))
y = np.tanh((X[:, 0] ** 2 - X[:, 1] ** 2) / np.sqrt(2.0))
learner = ps.LoFiRegressor({KEPT}, width={P}, precision=precision, random_state=0)
start, busy = time.perf_counter(), time.process_time()
learner.fit(X, y)
seconds, busy = time.perf_counter() - start, time.process_time() - busy
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
told = {{"seconds": seconds, "busy": busy, "gigabytes": peak, "eigenvalues": learner.eigenvalues_[0].tolist()}}
print(json.dumps(told))
"""
PLAIN = f"""
import json, resource, sys, time
import numpy as np
n = int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.standard_normal((n, {D}))
y = np.tanh((X[:, 0] ** 2 - X[:, 1] ** 2) / np.sqrt(2.0))
start, busy = time.perf_counter(), time.process_time()
X = X - X.mean(axis=0)
y = y - y.mean()
c = np.sqrt(np.mean(np.sum(X**2, axis=1)))
W = rng.standard_normal(({D}, {P}))
Z = np.maximum(X @ W / c, 0.0) / np.sqrt({P})
U = Z / np.linalg.norm(Z, axis=1, keepdims=True)
U = U - U.mean(axis=0)
C = U.T @ (y[:, None] * U) / n
values, vectors = np.linalg.eigh(C)
V = vectors[:, np.argsort(-np.abs(values))[:{KEPT}]]
h = Z @ V
h = (h - h.mean(axis=0)) / h.std(axis=0)
lifted = np.maximum(h @ rng.standard_normal(({KEPT}, 1000)) / np.sqrt({KEPT}) + rng.standard_normal(1000), 0.0)
lifted = lifted - lifted.mean(axis=0)
for ridge in np.geomspace(1e-8, 1e1, 19):
    np.linalg.solve(lifted.T @ lifted / n + ridge * np.eye(1000), lifted.T @ y / n)
seconds, busy = time.perf_counter() - start, time.process_time() - busy
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
largest = sorted(values, key=abs)[-1]
print(json.dumps({{"seconds": seconds, "busy": busy, "gigabytes": peak, "eigenvalues": [float(largest)]}}))
"""


def in_a_process(code: str, *arguments: str) -> dict[str, Any]:
    """What a script prints last, read as JSON."""
    found = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return dict(json.loads(found.stdout.splitlines()[-1]))


def fit(quick: bool) -> list[dict[str, Any]]:
    """The estimator on many samples and random features, in both precisions."""
    n = N // 10 if quick else N
    plain = in_a_process(PLAIN, str(n))
    found = []
    for precision in ("double", "single"):
        ours = in_a_process(FIT, str(n), precision)
        found.append(
            {
                "work": f"LoFiRegressor, n = {n}, d = {D}, P = {P}, {precision} precision",
                "reach": 20.0,
                "seconds": ours["seconds"],
                "plain_seconds": plain["seconds"],
                "note": f"seconds of the clock, all cores; of all cores {ours['busy']:.0f} s and plain "
                f"{plain['busy']:.0f} s; {ours['gigabytes']:.2f} GB at the most, plain "
                f"{plain['gigabytes']:.2f} GB; largest eigenvalue {ours['eigenvalues'][0]:.3e} "
                f"and {plain['eigenvalues'][0]:.3e} (other random features)",
            }
        )
    return found


def sharp_point() -> dict[str, Any]:
    """One prediction of three features: overlaps, eigenvalues, edges, floor, all with error bars."""
    problem = ps.lofi(LINK, alpha=8.0)
    found = ps.solve(problem)
    alphas = iter(np.linspace(7.0, 9.0, 200))
    best = np.inf
    for _ in range(50):
        one = problem.replace(alpha=float(next(alphas)))
        start = time.process_time()
        ps.solve(one)
        best = min(best, time.process_time() - start)

    def drawn() -> np.ndarray[Any, Any]:
        h = np.random.default_rng(0).standard_normal((DRAWS, 3))
        y = LINK(h)
        y = y - y.mean()
        found = []
        for k in range(3):
            side = np.sign(np.mean(y * (h[:, k] ** 2 - 1.0)))
            u, square = side * y, h[:, k] ** 2
            x = scipy.optimize.brentq(lambda x, u=u, q=square: np.mean(u * (q - 1) / (x - u)) - 1 / 8, 1.6, 60.0)
            a, b = 1 / 8 - np.mean((u / (x - u)) ** 2), np.mean((u / (x - u)) ** 2 * square)
            found.append(a / (a + b))
        return np.array(found)

    start = time.process_time()
    rough = drawn()
    plain = time.process_time() - start
    return {
        "work": "lofi: overlaps, eigenvalues, edges and floor of three features",
        "reach": 0.005,
        "seconds": best,
        "plain_seconds": plain,
        "note": f"the law of the labels is known from before; plain: overlaps by means over a million draws, off by "
        f"{np.abs(rough - found.overlaps).max():.0e}",
    }


def emergence() -> dict[str, Any]:
    """Sharp thresholds of three features of labels that were not seen before."""
    counter = iter(np.linspace(0.4, 0.6, 100))
    best = np.inf
    for _ in range(5):
        problem = ps.lofi(ps.SquaresLink([1.0, -0.7, float(next(counter))]), alpha=8.0)
        start = time.process_time()
        ps.thresholds(problem)
        best = min(best, time.process_time() - start)
    return {
        "work": "lofi: law of the labels and sharp thresholds of three features",
        "reach": None,
        "seconds": best,
        "plain_seconds": None,
        "note": "with the error of each, by a rougher rule",
    }


def rows(*, quick: bool = False) -> list[dict[str, Any]]:
    """A sharp point, thresholds, and the fit of many samples."""
    return [sharp_point(), emergence(), *fit(quick)]


if __name__ == "__main__":
    for row in rows(quick="quick" in sys.argv):
        print(row)
