"""Recompute error_bar_references.json: a much finer solve of each random problem (about an hour on one core).

Run as ``python -m tests.models.attention.theory.make_error_bar_references [first] [last]``; problems that are
in the file already are skipped.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import presage as ps
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.rule import Rule
from presage.models.attention.theory.rules.sobol import Sobol
from tests.random_problems import random_problem

FILE = Path(__file__).with_name("error_bar_references.json")
NAMES = ("test_error", "train_error", "train_loss", "estimation_error", "rank")


def finer_rule(problem: ps.Problem, message: str) -> Rule:
    """Sixty-four nodes a dimension where a product rule was enough, many more points, newly scrambled, elsewhere."""
    if "Gauss-Hermite" in message:
        return GaussHermite(64, dropped=1e-10)
    return Sobol(2**18 if problem.channel.n_tokens == 2 else 2**15, 16, seed=12345)


def reference(index: int) -> dict[str, float | str]:
    problem = random_problem(index)
    try:
        rough = ps.solve(problem)
        fine = ps.solve(
            problem,
            solver=ps.StateEvolution(rule=finer_rule(problem, rough.message)),
            init=rough if rough.overlaps.q > 0 else None,
            tol=1e-9,
        )
    except ps.SolveError as error:
        return {"error": str(error)}
    values = {name: getattr(fine, name) for name in NAMES}
    return {**values, **{f"{name}_bar": fine.error_bars[name] for name in NAMES}}


def main(first: int, last: int) -> None:
    for index in range(first, last):
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        if str(index) in known:
            continue
        row = reference(index)
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        known[str(index)] = row
        part = FILE.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(dict(sorted(known.items(), key=lambda item: int(item[0]))), indent=0))
        part.replace(FILE)


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:3] if len(sys.argv) > 2 else ("0", "200"))))
