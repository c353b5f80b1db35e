"""Random hierarchies beside a straightforward NumPy version: learners, the prediction, its sample sizes."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

import presage as ps

ALPHAS = (0.5, 1.0, 2.0, 4.0, 8.0)
SEEDS, RESTARTS, N_TEST = 8, 8, 4000
V, M, DEPTH = 8, 4, 3
PROBLEM = ps.random_hierarchy(alpha=1.0, symbols=V, synonyms=M, depth=DEPTH)


def rows() -> list[dict[str, Any]]:
    """What was reached, in how many seconds: ours, and the straightforward way on a part, scaled up to the whole."""
    ps.simulate(PROBLEM, seeds=1, n_test=10, processes=1)  # what is imported late
    start = time.perf_counter()
    found = [ps.simulate(PROBLEM.replace(alpha=alpha), seeds=SEEDS, n_test=N_TEST, processes=1) for alpha in ALPHAS]
    ours = time.perf_counter() - start
    start = time.perf_counter()
    plain = [plain_learner(round(alpha * V * M**DEPTH), seed=0) for alpha in ALPHAS]
    straightforward = SEEDS * (time.perf_counter() - start)
    ps.solve(PROBLEM)
    start = time.perf_counter()
    for alpha in ALPHAS:
        ps.solve(PROBLEM.replace(alpha=alpha))
    solved = (time.perf_counter() - start) / len(ALPHAS)
    start = time.perf_counter()
    ps.thresholds(PROBLEM.replace(symbols=7))
    sizes = time.perf_counter() - start
    told = ", ".join(f"{ensemble.mean('accuracy'):.2f}" for ensemble in found)
    by_hand = ", ".join(f"{accuracy:.2f}" for accuracy in plain)
    return [
        {
            "work": f"random hierarchy ({V}, {M}, {DEPTH}), {SEEDS} learners at {len(ALPHAS)} sample sizes",
            "reach": 60.0,
            "seconds": ours,
            "plain_seconds": straightforward,
            "note": f"accuracies {told} in one process; straightforward: one learner a size, in loops, "
            f"{by_hand}, whose k-means, started without trying several places, finds worse partitions.",
        },
        {
            "work": "prediction of its accuracy",
            "reach": 20e-3,
            "seconds": solved,
            "plain_seconds": None,
            "note": "`solve`, a count of partitions over 96 sets of rules, which are drawn once.",
        },
        {
            "work": "sample sizes of its levels",
            "reach": None,
            "seconds": sizes,
            "plain_seconds": None,
            "note": "`thresholds`: curves of 40 sample sizes.",
        },
    ]


def plain_learner(n: int, seed: int) -> float:
    """One learner the straightforward way: samples and counts one by one, k-means by its definition."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(V) for b in range(V)]
    rules = []
    for _ in range(DEPTH):
        drawn = rng.permutation(len(pairs))[: V * M]
        rules.append([[pairs[k] for k in drawn[a * M : a * M + M]] for a in range(V)])

    def sample() -> tuple[list[int], int]:
        y = int(rng.integers(V))
        written = [y]
        for rule in rules:
            written = [symbol for a in written for symbol in rule[a][rng.integers(M)]]
        return written, y

    training, fresh = [sample() for _ in range(n)], [sample() for _ in range(N_TEST)]
    for _ in range(DEPTH - 1):
        positions = len(training[0][0]) // 2
        counts: dict[tuple[int, int], Any] = {}
        for x, y in training:
            for p in range(positions):
                says = counts.setdefault((x[2 * p], x[2 * p + 1]), np.zeros((positions, V)))
                says[p, y] += 1.0
        tuples = list(counts)
        points = np.array([_says(counts[t]) for t in tuples])
        names = dict(zip(tuples, plain_clusters(points, rng), strict=True))
        training, fresh = (
            [([names.get((x[2 * p], x[2 * p + 1]), 0) for p in range(positions)], y) for x, y in group]
            for group in (training, fresh)
        )
    votes: dict[tuple[int, ...], Counter[int]] = {}
    for x, y in training:
        votes.setdefault(tuple(x), Counter())[y] += 1
    right = [votes[tuple(x)].most_common(1)[0][0] == y if tuple(x) in votes else y == 0 for x, y in fresh]
    return float(np.mean(right))


def _says(counts: Any) -> Any:
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1) - 1 / V, 0.0).ravel()


def plain_clusters(points: Any, rng: np.random.Generator) -> list[int]:
    """k-means, the best of several starts from points chosen far apart (k-means++)."""
    best, least = [0] * len(points), np.inf
    for _ in range(RESTARTS):
        centres = [points[rng.integers(len(points))]]
        while len(centres) < V:
            away = np.min([((points - c) ** 2).sum(axis=1) for c in centres], axis=0)
            centres.append(points[rng.choice(len(points), p=away / away.sum())])
        names = None
        while True:
            distance = np.array([[((x - c) ** 2).sum() for c in centres] for x in points])
            found = distance.argmin(axis=1)
            if names is not None and np.array_equal(found, names):
                break
            names = found
            centres = [points[names == k].mean(axis=0) if (names == k).any() else centres[k] for k in range(V)]
        inertia = distance.min(axis=1).sum()
        if inertia < least:
            best, least = names.tolist(), inertia
    return best
