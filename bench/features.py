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

import argparse
import datetime
import time
from pathlib import Path

import numpy as np

import features_compositional
import features_multi_index
import features_random_hierarchy
import presage as ps
from report import (
    HEADER,
    Check,
    Company,
    Row,
    machine,
    markdown_table,
    prose,
    side_by_side,
    span,
    text_table,
    times,
    verdict,
    write,
)

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "docs" / "benchmarks-features.md"
D, TOKENS = 800, 16
POOLING = ps.attention_pooling(
    ps.CausalPooling(1.0), alpha=2.0, vocabulary=2.0, signal=1.0, classes=ps.AlignedTokens(1.0, 0.8), n_tokens=TOKENS
)


def row(work: str, most: float | None, seconds: float, plain: float | None, words: str, note: str) -> Row:
    """A line: what may be taken, what was taken, and how much longer the straightforward version takes."""
    ratio = "" if plain is None else f"; straightforward {span(plain)}: {times(plain / seconds)}"
    checks = () if most is None else (Check("time", seconds <= most),)
    required = "" if most is None else f"<= {span(most)}"
    return Row(work, required, f"{span(seconds)}{ratio}{f'; {words}' if words else ''}", checks, f"**{work}**: {note}")


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
    return [
        row(one["work"], one["reach"], one["seconds"], one["plain_seconds"], one.get("words", ""), one["note"])
        for one in measured
    ]


def document(rows: list[Row], machine_line: str, seconds: float, others: float) -> str:
    """The page."""
    parts = [
        "# Benchmarks of features one by one",
        prose(
            """Pooling, multi-index targets, compositional targets and random hierarchies: one run on one machine, each
            beside a straightforward NumPy version of the same computation."""
        ),
        f"Written by `make bench` on {datetime.date.today().isoformat()}, in {span(seconds)}: run again, do not edit.",
        f"Machine: {machine_line}; other work took {100.0 * others:.0f} % of its cores during the run.",
        prose(
            """Times are CPU seconds of one call on one core, the median of several after a warm-up call, unless a row
            says otherwise; what is compared is timed by turns."""
        ),
        markdown_table([HEADER, *(one.cells for one in rows)]),
        verdict(rows),
        "## What each row is",
        "\n".join(f"- {prose(one.note)}" for one in rows if one.note),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without what takes minutes; print, write nothing")
    parser.add_argument("--output", type=Path, help="where to write the page (default: docs/benchmarks-features.md)")
    arguments = parser.parse_args()
    began, machine_line, company = time.perf_counter(), machine("one thread a process"), Company()
    rows = [*spiked_rows(), *pooling_rows(), *rows_of_models(arguments.quick)]
    others = company.share
    print(f"{machine_line}; other work {100.0 * others:.0f} %")
    print(text_table([HEADER, *(one.cells for one in rows)], most=40))
    print("\n" + verdict(rows))
    path = arguments.output or (None if arguments.quick else OUTPUT)
    if path is not None:
        write(path, document(rows, machine_line, time.perf_counter() - began, others))
        print(f"\nwritten to {path.name}")


if __name__ == "__main__":
    main()
