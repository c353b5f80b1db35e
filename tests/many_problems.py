"""Ten thousand random problems through `solve`, each checked against what holds of every solution (an hour or so).

Run as ``python -m tests.many_problems [first] [last] [file]``: results are appended to the file, one line a problem,
and problems that are in it already are skipped, so that it goes on after an interruption. Lines that other sources
wrote count for nothing. To look at one problem, use ``tests.any_problem.any_problem(1234).make()``.
"""

from __future__ import annotations

import hashlib
import json
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.errors import NumbaPendingDeprecationWarning, NumbaWarning

import presage as ps
from tests.any_problem import COUNT, Question, any_problem
from tests.theorems import NUMBERS, broken, broken_between, neighbours, settled

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "many_problems.jsonl"
SECONDS = 120  # of the processor, whatever else the machine does: a problem that takes longer hangs
EVERY, EVERY_DEAR = 4, 12  # which problems are compared with their neighbours


class HangError(Exception):
    """A problem took too long."""


@cache
def fingerprint() -> str:
    """Of everything that decides a result: the model, the theory, and these tests."""
    package = ROOT / "src" / "presage"
    rooms = ("protocol", "laws", "spectra", "solving", "models")
    layers = [path for room in rooms for path in sorted((package / room).rglob("*.py"))]
    names = ("any_problem.py", "many_problems.py", "theorems.py")
    paths = [*layers, *(ROOT / "tests" / name for name in names)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise in the middle of what takes too long, where the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise HangError(f"more than {seconds} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def strict() -> Iterator[None]:
    """Warnings are errors, but for those of the compiler about itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NumbaWarning)
        warnings.simplefilter("ignore", NumbaPendingDeprecationWarning)
        yield


def is_sentence(text: str) -> bool:
    return len(text.split()) > 5 and text.rstrip().endswith(".")


def ask(index: int) -> dict[str, Any]:
    """Solve problem `index` and check the answer: a row with its outcome in one word, and what was broken."""
    question = any_problem(index)
    start = time.process_time()
    row: dict[str, Any] = {"index": index, "source": fingerprint(), "kind": question.kind}
    try:
        with limited(SECONDS), strict():
            row |= answer(index, question)
    except Exception as error:  # whatever it is, it is the finding
        row |= {"outcome": "violation", "broken": [f"{type(error).__name__}: {error}"]}
    row["seconds"] = round(time.process_time() - start, 4)
    return row


def answer(index: int, question: Question) -> dict[str, Any]:
    options: dict[str, Any] = {} if question.solver is None else {"solver": question.solver}
    try:
        problem: Any = question.make()
        solution: Any = ps.solve(problem, **options)
    except ps.SolveError as error:
        fine = is_sentence(str(error)) and not question.must_be_refused
        return {
            "outcome": "unsolved" if fine else "violation",
            "broken": [] if fine else ["no sentence"],
            "said": str(error),
        }
    except ValueError as error:
        fine = is_sentence(str(error)) and question.must_be_refused
        return {"outcome": "refused" if fine else "violation", "broken": [] if fine else [f"refused: {error}"]}
    if question.must_be_refused:
        return {"outcome": "violation", "broken": ["it was solved, and should have been refused"]}
    found = broken(solution)
    dear = problem.__class__ is ps.Problem and not isinstance(problem.channel, ps.Linear)
    if index % (EVERY_DEAR if dear else EVERY) == 0 and settled(solution):
        for name, neighbour in neighbours(problem).items():
            try:
                other = ps.solve(neighbour, **options)
            except ps.SolveError:
                continue
            found += broken_between(solution, name, other)
    numbers = {name: float(getattr(solution, name)) for name in NUMBERS}
    outcome = "violation" if found else "solved"
    return {"outcome": outcome, "broken": found, "settled": settled(solution), **numbers}


def known(file: Path) -> dict[int, dict[str, Any]]:
    """Rows of this source in the file; a line that was cut short is done again."""
    rows = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["source"] == fingerprint():
            rows[row["index"]] = row
    return rows


def run(first: int, last: int, file: Path) -> list[dict[str, Any]]:
    """Rows of the problems from `first` up to `last`, those that are missing in the file computed and added to it."""
    rows = known(file)
    if file.exists() and not file.read_bytes().endswith(b"\n"):
        with file.open("a") as out:
            out.write("\n")
    for index in range(first, last):
        if index in rows:
            continue
        rows[index] = ask(index)
        with file.open("a") as out:
            out.write(json.dumps(rows[index]) + "\n")
    return [rows[index] for index in range(first, last)]


def counts(rows: list[dict[str, Any]]) -> str:
    """A table in words: outcomes by kind, the time, and every row that is not as it should be."""
    lines = []
    for kind in [*dict.fromkeys(row["kind"] for row in rows), None]:
        some = [row for row in rows if kind in (None, row["kind"])]
        outcomes = Counter(row["outcome"] for row in some)
        seconds = [row["seconds"] for row in some]
        said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        lines.append(f"{kind or 'all':<22} {said}; {sum(seconds):.0f} s, slowest {max(seconds):.1f} s")
    for row in rows:
        if row["outcome"] == "violation":
            lines.append(f"{row['index']} ({row['kind']}): {'; '.join(row['broken'])}")
    return "\n".join(lines)


if __name__ == "__main__":
    given = sys.argv[1:]
    begin, end = (int(word) for word in (given[:2] if len(given) > 1 else ("0", str(COUNT))))
    print(counts(run(begin, end, Path(given[2]) if len(given) > 2 else FILE)))
