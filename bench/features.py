"""Features one by one beside a straightforward NumPy version: prints a table, writes docs/benchmarks-features.md.

    python bench/features.py            some minutes
    python bench/features.py --quick    without what takes minutes; prints, and writes nothing

Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import os

# One core, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import features_compositional
import features_multi_index
import features_random_hierarchy
import presage as ps
from report import Row, side_by_side
from table_page import row, rows_of, run

D, TOKENS = 800, 16
POOLING = ps.attention_pooling(
    ps.CausalPooling(1.0), alpha=2.0, vocabulary=2.0, signal=1.0, classes=ps.AlignedTokens(1.0, 0.8), n_tokens=TOKENS
)


def spiked_rows() -> list[Row]:
    """The primitives: closed forms, and a spectral method by quadrature beside Monte Carlo averages."""
    rng = np.random.default_rng(0)
    draws = 1_000_000
    s = rng.standard_normal(draws)
    y = np.abs(s) + rng.standard_normal(draws)

    def sampled() -> float:
        """The same threshold by the mean of samples, label by label in bins."""
        which = np.digitize(y, np.linspace(-4.0, 8.0, 121))
        count = np.bincount(which, minlength=122)
        second = np.bincount(which, s * s, 122) / np.maximum(count, 1)
        return float(1.0 / np.sum(count / draws * (second - 1.0) ** 2))

    both = side_by_side(
        {"ours": lambda: ps.best_threshold(ps.Labels.additive(np.abs, noise=1.0)), "plain": sampled}, 15
    )
    off = abs(both["plain"].value / both["ours"].value - 1.0)
    labels = ps.Labels.additive(np.abs, noise=1.0)
    method = side_by_side({"ours": lambda: ps.spectral_method(np.tanh, labels, 20.0).overlap}, 15)["ours"]
    closed = side_by_side({"ours": lambda: ps.spiked_wigner(2.0, 1.0).overlap}, 200)["ours"]
    return [
        row("outlier in closed form", 1e-3, closed.median, None, "", "`spiked_wigner(2.0, 1.0)`."),
        row(
            "threshold of the best preprocessing",
            20e-3,
            both["ours"].median,
            both["plain"].median,
            f"samples off by {off:.0e}",
            "`best_threshold(Labels.additive(np.abs, noise=1))`, by quadrature; straightforward: a million samples.",
        ),
        row("a spectral method", 20e-3, method.median, None, "", "`spectral_method(np.tanh, labels, 20)`."),
    ]


def plain_pooling(seed: int) -> float:
    """One table the straightforward way: a loop over sequences with a softmax each, and the whole eigensystem."""
    rng = np.random.default_rng(seed)
    V = N = 2 * D
    mu = rng.standard_normal(D)
    mu /= np.linalg.norm(mu)
    sign = np.where(np.arange(V) < V // 2, -1, 1)
    E = rng.standard_normal((V, D)) + sign[:, None] * mu
    X = np.empty((N, D))
    agreement = 0.8 ** np.arange(TOKENS)
    for i in range(N):
        y = rng.choice([-1, 1])
        classes = np.where(rng.random(TOKENS) < 0.5 * (1.0 + agreement), y, -y)
        e = np.array([E[rng.choice(np.flatnonzero(sign == c))] for c in classes])
        scores = e @ e.T / D
        weights = np.zeros(TOKENS)
        for t in range(TOKENS):
            row_of_t = np.exp(scores[t, : t + 1])
            weights[: t + 1] += row_of_t / row_of_t.sum() / TOKENS
        X[i] = weights @ e
    X -= X.mean(axis=0)
    _, vectors = np.linalg.eigh(X.T @ X / N)
    return float((vectors[:, -1] @ mu) ** 2)


def pooling_rows() -> list[Row]:
    """The prediction in closed form, and a table of d = 800."""
    solved = side_by_side({"ours": lambda: ps.solve(POOLING).alignment}, 100)["ours"]
    ours = {"ours": lambda: float(ps.simulate(POOLING, d=D, seeds=[0], processes=1).alignment[0])}
    both = side_by_side({**ours, "plain": lambda: plain_pooling(0)}, 3)
    words = f"alignment {both['ours'].value:.3f} and {both['plain'].value:.3f}, predicted {solved.value:.3f}"
    seconds = both["ours"].median
    return [
        row("pooling, solve", 1e-3, solved.median, None, "", "`solve` of causal attention over 16 tokens."),
        row(
            "pooling, a table of d = 800",
            1.0,
            seconds,
            both["plain"].median,
            words,
            "1600 tokens, 1600 sequences of 16 by a softmax of real scores; straightforward: a loop over sequences.",
        ),
    ]


def rows_of_models(quick: bool) -> list[Row]:
    """What the other models measure of themselves; random hierarchies have nothing that takes minutes."""
    measured = [
        *features_multi_index.rows(quick=quick),
        *features_compositional.rows(quick=quick),
        *features_random_hierarchy.rows(),
    ]
    return rows_of(measured)


def measure(quick: bool) -> list[Row]:
    """Every row."""
    return [*spiked_rows(), *pooling_rows(), *rows_of_models(quick)]


ABOUT = """Pooling, multi-index targets, compositional targets and random hierarchies: one run on one machine, each
beside a straightforward NumPy version of the same computation."""

if __name__ == "__main__":
    run(
        __doc__,
        "Benchmarks of features one by one",
        ABOUT,
        "benchmarks-features.md",
        measure,
        quick="without what takes minutes",
    )
