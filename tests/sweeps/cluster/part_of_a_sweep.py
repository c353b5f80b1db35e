"""A sweep of forty slow cells, or a part of it: what a task of `sbatch --array` runs.

python tests/sweeps/cluster/part_of_a_sweep.py --store runs [--part 3/10]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import presage as ps

PROBLEM = ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.02, noise=0.5)
ALPHAS, NOISES = np.geomspace(0.1, 4.0, 20), [0.1, 0.5]


def slow(problem: ps.Problem) -> dict[str, float]:
    """Something that takes as long as the test needs to come between."""
    time.sleep(0.2)
    return {"samples": problem.alpha * 100.0**2, "noise_level": problem.noise**0.5}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", required=True)
    parser.add_argument("--part")
    arguments = parser.parse_args()
    i, _, n = (arguments.part or "1/1").partition("/")
    part = (int(i), int(n)) if arguments.part else None
    table = ps.sweep(PROBLEM, slow, store=arguments.store, part=part, processes=1, alpha=ALPHAS, noise=NOISES)
    print(f"{int(np.sum(table.outcome.values == 'done'))} of {table.outcome.size} cells are done")


if __name__ == "__main__":
    main()
