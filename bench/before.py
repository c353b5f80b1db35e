"""This version beside an earlier one, by turns in one run: prints a table, writes docs/benchmarks-before.md.

    python bench/before.py             five minutes or so: most of it is the version before
    python bench/before.py --commit X  beside another one

The version before is checked out by `git worktree` into a folder of its own. Each version runs the same cases in
processes of its own, one after the other, and each case says its processor seconds and the error bars it ended with.
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
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from report import Check, Company, machine, markdown_table, met, span, text_table, times, write

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "docs" / "benchmarks-before.md"
BEFORE = "174b8e2"  # power-law targets
ROUNDS = 2
DEAR = 1.0  # seconds: what takes longer is timed once in all

# One case: what is set up, what is timed, how many times a round, and what the issue asks for.
SETUP = """
import json, os, sys, time
import numpy as np
import presage as ps
target = ps.MarchenkoPastur(0.5)
def attention(**options):
    return ps.attention(target, **{"alpha": 0.5, "weight_decay": 0.01, "noise": 0.5, **options})
def curve():
    points = [ps.solve(attention(alpha=0.05))]
    for alpha in np.geomspace(0.05, 40.0, 60)[1:]:
        points.append(ps.solve(attention(alpha=alpha), init=points[-1]))
    return points
def worst(s):
    if isinstance(s, list):
        return max(map(worst, s))
    if not hasattr(s, "error_bars"):
        return 0.0
    names = [n for n in ("test_error", "train_loss", "rank") if n in s.error_bars]
    return max(s.error_bars[n] / abs(getattr(s, n)) for n in names)
def value(s):
    if isinstance(s, list):
        return sum(map(value, s))
    return float(getattr(s, "test_error", getattr(s, "J", 0.0)))
"""
LOAD = """
for options in ({}, {"n_tokens": 3}, {"alpha": 0.2272, "weight_decay": 1e-3}, {"alpha": 0.3, "weight_decay": 1e-4}):
    ps.solve(attention(**options), accuracy=0.05)
ps.functionals(target, 0.7, 0.4)
ps.solve(ps.quadratic_network(target, alpha=0.5, weight_decay=0.02, noise=0.5))
ps.solve(power)
"""
MEASURE = """
found = {}
for name, (call, repeats) in cases.items():
    seconds = []
    while len(seconds) < repeats + 1 and max(seconds, default=0.0) < 1.0:
        began = time.process_time()
        s = call()
        seconds.append(time.process_time() - began)
    seconds = seconds[1:] or seconds  # the first of many may have loaded something
    found[name] = {"seconds": seconds, "bar": worst(s), "value": value(s)}
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Case:
    """What is timed, as the text of a Python expression, how long it may take, and how long its longest bar may be."""

    name: str
    call: str
    limit: float
    bar: float
    repeats: int = 10

    @property
    def asked(self) -> str:
        return f"<= {span(self.limit)}; <= {self.bar:.2g}"


JUMPS = [(alpha, decay) for alpha in (0.16, 0.2272, 0.3) for decay in (1e-3, 1e-4)]
TWICE = 2.2  # 95 % bars of 16 scrambles over their standard error, which is the accuracy asked for
CASES = [
    *(
        Case(
            f"T=2, samples jump: alpha {alpha:g}, weight decay {decay:g}",
            f"ps.solve(attention(alpha={alpha}, weight_decay={decay}))",
            0.5,
            1e-4,
            3,
        )
        for alpha, decay in JUMPS
    ),
    Case("T=2, cold, no jumps", "ps.solve(attention())", 0.04, 1e-4),
    Case("the same, accuracy 1e-2", "ps.solve(attention(), accuracy=1e-2)", 0.012, 1e-2),
    Case("the same from a neighbour", "ps.solve(attention(), init=neighbour)", 0.025, 1e-4),
    Case("curve of 60 points", "curve()", 1.5, 1e-4, 2),
    Case("T=3, accuracy 1e-3", "ps.solve(attention(alpha=0.2, n_tokens=3), accuracy=1e-3)", 0.5, TWICE * 1e-3, 3),
    Case("T=3, accuracy 1e-4", "ps.solve(attention(alpha=0.2, n_tokens=3), accuracy=1e-4)", 5.0, TWICE * 1e-4, 1),
    Case("T=5, accuracy 1e-3", "ps.solve(attention(alpha=0.1, n_tokens=5), accuracy=1e-3)", 1.0, TWICE * 1e-3, 3),
    Case("T=10, accuracy 1e-3", "ps.solve(attention(alpha=0.03, n_tokens=10), accuracy=1e-3)", 5.0, TWICE * 1e-3, 1),
    Case("J, I and derivatives, delta 0.7", "ps.functionals(target, 0.7, 0.4)", 1.5e-4, 1e-9, 500),
    Case(
        "quadratic point",
        "ps.solve(ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.02, noise=0.5))",
        1e-3,
        1e-9,
        50,
    ),
    Case("quadratic point, power law of 1e4", "ps.solve(power)", 0.015, 1e-9),
]


def script(cases: list[Case]) -> str:
    """The text of a process that loads all it needs, or compiles it the first time, and then times the cases."""
    power = "power = ps.quadratic_network(ps.PowerLaw(1.25, 10000), alpha=1.0, weight_decay=0.1, noise=0.1)"
    listed = ", ".join(f"{case.name!r}: (lambda: {case.call}, {case.repeats})" for case in cases)
    neighbour = "neighbour = ps.solve(attention(alpha=0.52))"
    return f"{SETUP}\n{power}\n{neighbour}\ncases = {{{listed}}}\n{LOAD}\n{MEASURE}"


def run(tree: Path, cases: list[Case]) -> str:
    """What a process of the package of a tree prints."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-c", script(cases)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tree).stdout


def rounds(trees: dict[str, Path]) -> dict[str, dict[str, dict[str, Any]]]:
    """Time every case with each tree by turns; what is dear in the first round is not run again."""
    total: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in trees}
    for tree in trees.values():
        run(tree, [])
    for count in range(ROUNDS):
        for name, tree in trees.items():
            known = total[name]
            cases = [c for c in CASES if c.name not in known or min(known[c.name]["seconds"]) < DEAR]
            for case, one in json.loads(run(tree, cases).splitlines()[-1]).items():
                before = known.get(case, {"seconds": []})["seconds"]
                known[case] = {**one, "seconds": before + one["seconds"]}
            print(f"round {count + 1} of {ROUNDS}: {name}", file=sys.stderr, flush=True)
    return total


def line(case: Case, before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """A row of the table."""
    old, new = median(before["seconds"]), median(now["seconds"])
    reached = met((Check("time", new <= case.limit), Check("bar", now["bar"] <= case.bar)))
    moved = abs(now["value"] / before["value"] - 1.0) if before["value"] else 0.0
    return [
        case.name,
        f"{span(new)} ({span(min(now['seconds']))})",
        f"{now['bar']:.0e}",
        f"{span(old)} ({span(min(before['seconds']))})",
        f"{before['bar']:.0e}",
        times(old / new),
        f"{moved:.0e}",
        case.asked,
        reached,
    ]


HEADER = [
    "work",
    "now: median (least)",
    "bar",
    "before",
    "its bar",
    "ratio",
    "test error moved",
    "reach: time; bar",
    "met",
]


MEANING = (
    "Processor seconds of one thread, everything compiled before: the median, and in brackets "
    "the least. Bars are the largest relative one of test error, training loss and rank, 95 %, at the accuracy that is "
    "asked for (1e-4 for two tokens where nothing is said); of a curve, its longest. With three and more tokens "
    "the accuracy is a standard error, and a bar 2.1 of them. Moved is how far the test error is from that before. "
    "MP(0.5), noise 0.5, weight decay 0.01 and alpha 0.5 where nothing else is said."
)


def document(table: list[list[str]], commit: str, machine_line: str, seconds: float, others: float) -> str:
    today = datetime.date.today().isoformat()
    return (
        "\n\n".join(
            [
                "# Benchmarks beside the version before",
                f"This version beside commit {commit}, by turns in one run on one machine.",
                f"Written by `make bench` on {today}, in {seconds:.0f} s: run again, do not edit.",
                f"Machine: {machine_line}; other work took {100 * others:.0f} % of its cores during the run.",
                MEANING,
                markdown_table([HEADER, *table]),
            ]
        )
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--commit", default=BEFORE, help=f"the version before, {BEFORE} if left out")
    commit = parser.parse_args().commit
    machine_line, company, began = machine("one thread"), Company(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        add = ["git", "-C", str(ROOT), "worktree", "add", "--detach", "--quiet", str(tree), commit]
        if subprocess.run(add, check=False).returncode:
            sys.exit(
                f"The version before, {commit}, is not in this clone: fetch its history, or name another --commit."
            )
        try:
            found = rounds({"before": tree, "now": ROOT})
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)], check=False)
    table = [line(case, found["before"][case.name], found["now"][case.name]) for case in CASES]
    print(text_table([HEADER, *table]))
    write(OUTPUT, document(table, commit, machine_line, time.perf_counter() - began, company.share))


if __name__ == "__main__":
    main()
