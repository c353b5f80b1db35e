"""What the benchmarks share: words and tables, the machine, a fresh process, and a page that is written whole."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy

import presage as ps

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
