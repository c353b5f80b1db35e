"""Recompute error_bar_references.json: a much finer solve of each random problem (about an hour on one core).

Run as ``python -m tests.models.attention.theory.make_error_bar_references [first] [last]``; problems that are
in the file already are skipped. With ``again`` as a third word they are not, and of two references that with the
shorter bars is kept: some are of other rules than those here, and so much the better witnesses.
"""

from __future__ import annotations

import json
import os
import sys
from math import inf
from pathlib import Path
from typing import Any

import presage as ps
from presage.models.attention.theory.rules.cut_lines import CutLines
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.rule import Rule
from presage.models.attention.theory.rules.sobol import Sobol
from tests.random_problems import random_problem

FILE = Path(__file__).with_name("error_bar_references.json")
NAMES = ("test_error", "train_error", "train_loss", "estimation_error", "rank")


def finer_rule(problem: ps.Problem, message: str) -> Rule:
    """Sixty-four nodes a dimension where a product rule was enough, 160 where lines were cut, else many new points."""
    if "Gauss-Hermite" in message:
        return GaussHermite(64, dropped=1e-10)
    return CutLines(160) if problem.channel.n_tokens == 2 else Sobol(2**15, 16, seed=12345)


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


def longest_bar(row: dict[str, Any]) -> float:
    """The longest relative bar of a reference."""
    return inf if "error" in row else max(row[f"{name}_bar"] / (abs(row[name]) + 1e-12) for name in NAMES)


def main(first: int, last: int, again: bool) -> None:
    for index in range(first, last):
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        if str(index) in known and not again:
            continue
        row = reference(index)
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        known[str(index)] = min(row, known.get(str(index), row), key=longest_bar)
        part = FILE.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(dict(sorted(known.items(), key=lambda item: int(item[0]))), indent=0))
        part.replace(FILE)


if __name__ == "__main__":
    begin, end = (int(word) for word in (sys.argv[1:3] if len(sys.argv) > 2 else ("0", "200")))
    main(begin, end, "again" in sys.argv)
