"""A sweep of many short cells that other processes can import and be killed in."""

from __future__ import annotations

import time

import presage as ps

NETWORK = ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.02, noise=0.5)
ALPHAS = [k / 1000 for k in range(1, 601)]


def slow(problem: ps.Problem) -> dict[str, object]:
    """Numbers, an array and a word, after a moment."""
    time.sleep(0.02)
    return {"samples": problem.alpha * 100.0**2, "powers": [problem.alpha**k for k in range(4)], "word": "done"}
