"""What the benchmarks share: time, words and tables, the machine, a fresh process, a page that is written whole."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numba
import numpy as np
import psutil
import scipy

import presage as ps

T = TypeVar("T")

# Lines of a script that leave the peak memory of its process, in bytes, in `peak`.
PEAK_MEMORY = """
import os, resource, sys
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
if os.path.exists("/proc/self/status"):  # on Linux ru_maxrss of a new process starts at the size of its parent
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    peak = 1024 * int(line.split()[1])
"""


@dataclass(frozen=True)
class Check:
    """One thing that is asked for: what, and whether it was reached (None: not measured)."""

    name: str
    met: bool | None


def met(checks: Sequence[Check]) -> str:
    """Whether everything was reached, and what was not."""
    missed = [check.name for check in checks if check.met is False]
    unknown = [check.name for check in checks if check.met is None]
    if not checks:
        return ""
    if missed:
        return "no: " + ", ".join(missed)
    return "not measured: " + ", ".join(unknown) if unknown else "yes"


@dataclass(frozen=True)
class Row:
    """One line of a table of what is required and what was measured; `note` goes below it."""

    work: str
    required: str
    measured: str
    checks: tuple[Check, ...] = ()
    note: str = ""

    @property
    def cells(self) -> list[str]:
        return [self.work, self.required, self.measured, met(self.checks)]


HEADER = ["work", "required", "measured", "met"]


@dataclass(frozen=True)
class Timing(Generic[T]):
    """CPU seconds of a call, several times, and what the last one returned."""

    seconds: tuple[float, ...]
    value: T

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        return min(self.seconds)

    def over(self, other: Timing[Any]) -> float:
        """How many times as long as `other`, measured by turns: the median of the ratios of the rounds."""
        return statistics.median(a / b for a, b in zip(self.seconds, other.seconds, strict=True))

    def __str__(self) -> str:
        return f"{span(self.median)} ({span(self.least)})"


def timed(call: Callable[[], T], repeats: int) -> Timing[T]:
    """CPU time of `call`, after one call that is not counted."""
    return side_by_side({"": call}, repeats)[""]


def side_by_side(calls: Mapping[str, Callable[[], T]], rounds: int, *, warm: bool = True) -> dict[str, Timing[T]]:
    """CPU time of the calls by turns, so that all see the same machine; with `warm`, after a round not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    values = {name: call() for name, call in calls.items()} if warm else {}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.process_time()
            values[name] = call()
            seconds[name].append(time.process_time() - began)
    return {name: Timing(tuple(seconds[name]), values[name]) for name in calls}


def clocked(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """CPU seconds, the shortest of a few times, and what came out; nothing is run before."""
    best, value = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        value = work()
        best = min(best, time.process_time() - start)
    return best, value


def relative(value: float, reference: float) -> float:
    return abs(value / reference - 1.0)


class Line(Protocol):
    """A row of a table: what was done, and what was asked for."""

    @property
    def work(self) -> str: ...

    @property
    def checks(self) -> tuple[Check, ...]: ...


def verdict(rows: Sequence[Line]) -> str:
    """What is reached and what is not, in a sentence each."""
    asked = [(row.work, met(row.checks)) for row in rows if row.checks]
    reached = [work for work, answer in asked if answer == "yes"]
    missed = [f"{work} ({answer})" for work, answer in asked if answer != "yes"]
    parts = ["Reached: " + "; ".join(reached) + "."] if reached else []
    parts.append("Not reached: " + "; ".join(missed) + "." if missed else "Nothing that was asked for is missed.")
    return " ".join(parts)


class Company:
    """How much of the machine others use: a benchmark on a shared machine is worth less."""

    def __init__(self) -> None:
        self.began = self._times()

    @staticmethod
    def _times() -> tuple[float, float, float]:
        """Seconds of the clock, of all cores at work, and of this process and its children at work."""
        now = psutil.cpu_times()
        return time.perf_counter(), now.user + now.system + getattr(now, "nice", 0.0), sum(os.times()[:4])

    @property
    def share(self) -> float:
        clock, busy, own = (after - before for after, before in zip(self._times(), self.began, strict=True))
        return max(0.0, busy - own) / (clock * (os.cpu_count() or 1))


def fresh_process(script: str, timeout: float | None = None) -> tuple[dict[str, Any], float]:
    """Run `script` in a new interpreter: the JSON it prints last, and the wall seconds of the whole process."""
    began = time.perf_counter()
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout)
    return json.loads(run.stdout.splitlines()[-1]), time.perf_counter() - began


def span(seconds: float) -> str:
    """A length of time in words that fit a table."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} us"
    if seconds < 1.0:
        return f"{1e3 * seconds:.3g} ms"
    if seconds < 600.0:
        return f"{seconds:.3g} s"
    return f"{seconds / 60.0:.0f} min"


def prose(text: str) -> str:
    """One line out of many."""
    return " ".join(text.split())


def times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 10.0 else f"{ratio:.2g}x"


def text_table(lines: list[list[str]], most: int = 22) -> str:
    """Columns under one another, for a terminal: long cells are wrapped, a blank line between rows."""
    wrapped = [[textwrap.wrap(cell, most) or [""] for cell in line] for line in lines]
    widths = [max(len(part) for line in wrapped for part in line[k]) for k in range(len(lines[0]))]
    rows = []
    for line in wrapped:
        parts = zip_longest(*line, fillvalue="")
        padded = ("  ".join(map(str.ljust, part, widths)).rstrip() for part in parts)
        rows.append("\n".join(padded))
    return "\n\n".join(rows)


def markdown_table(lines: list[list[str]]) -> str:
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body])


def machine(threads: str) -> str:
    """Processor, cores and versions: nothing that names the machine."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    load = f"; load average at the start {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; {versions}, "
        f"numba {numba.__version__}, presage {ps.__version__}; {threads}{load}"
    )


def write(path: Path, text: str) -> None:
    """Replace `path` in one step, so that an interrupted run leaves the old page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
