"""Time of sweeps, of the command line and of drawing: prints a table, writes docs/benchmarks-views.md.

    python bench/views.py            four minutes
    python bench/views.py --quick    a few seconds: fewer cells, the short rows alone; prints, and writes nothing

Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import os

# One core a process, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import datetime
import importlib.util
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import presage as ps
from report import (
    HEADER,
    Check,
    Company,
    Row,
    machine,
    markdown_table,
    prose,
    span,
    text_table,
    times,
    verdict,
    write,
)

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "docs" / "benchmarks-views.md"
ROUNDS = 3
PROBLEM = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)


def trivial(problem: ps.Problem) -> dict[str, float]:
    """A cell that takes no time: what is measured is the sweep."""
    return {"samples": problem.alpha * 100.0**2, "noise_level": problem.noise**0.5}


def clock(call: Callable[[], Any]) -> float:
    """Wall seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def grid(cells: int) -> dict[str, Any]:
    return {"alpha": np.geomspace(0.05, 40.0, cells // 10), "noise": np.linspace(0.1, 1.0, 10)}


def plain(cells: int) -> dict[str, Any]:
    """The same without a sweep: two loops and a list."""
    axes = grid(cells)
    said = [trivial(PROBLEM.replace(alpha=a, noise=n)) for a in axes["alpha"] for n in axes["noise"]]
    return {name: np.array([row[name] for row in said]).reshape(-1, 10) for name in said[0]}


# -------------------------------------------------------------------------------------------------- rows


def sweep_rows(cells: int, with_dask: bool) -> list[Row]:
    """What a sweep with a store costs beside a loop without one, by turns."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ways: dict[str, dict[str, Any]] = {"in this process": {"processes": 1}, "in two processes": {"processes": 2}}
        if with_dask and importlib.util.find_spec("distributed"):
            from distributed import Client, LocalCluster

            options: dict[str, Any] = {"dashboard_address": None, "silence_logs": "ERROR"}
            cluster = stack.enter_context(LocalCluster(n_workers=2, threads_per_worker=1, **options))
            ways["on two dask workers"] = {"executor": stack.enter_context(Client(cluster))}

        def swept(name: str, way: dict[str, Any], number: int) -> None:
            store = folder / f"{name}-{number}"
            ps.sweep(PROBLEM, trivial, store=store, progress=False, **way, **grid(cells))
            shutil.rmtree(store)

        for name, way in ways.items():  # starts processes and imports; not counted
            swept(name, way, 0)
        plain(cells)
        seconds: dict[str, list[float]] = {name: [] for name in ("plain", *ways)}
        for number in range(1, ROUNDS + 1):
            seconds["plain"].append(clock(lambda: plain(cells)))
            for name, way in ways.items():
                seconds[name].append(clock(lambda n=name, w=way, k=number: swept(n, w, k)))
    loop = seconds.pop("plain")
    rows = []
    for name, taken in seconds.items():
        each = (statistics.median(taken) - statistics.median(loop)) / cells
        ratio = statistics.median(a / b for a, b in zip(taken, loop, strict=True))
        rows.append(
            Row(
                f"sweep of {cells:,} cells {name}, with a store",
                "<= 5 ms a cell more than the loop",
                f"{span(each)} a cell more ({span(min(taken) / cells)} in all at best); "
                f"{span(statistics.median(taken))}, {times(ratio)} the plain loop of {span(statistics.median(loop))}",
                (Check("time", each <= 5e-3),),
            )
        )
    note = f"""**Sweeps**: a function that returns two numbers at once, {cells:,} cells, each written to the store
        before the next begins, and the table as netCDF at the end; wall time, by turns with two nested loops that build
        the same problems, call the same function and keep nothing. Processes and workers had been started."""
    return [Row(**{**vars(rows[0]), "note": note}), *rows[1:]]


def resume_row(cells: int) -> Row:
    """Opening a finished sweep again."""
    with tempfile.TemporaryDirectory() as folder:

        def swept() -> None:
            ps.sweep(PROBLEM, trivial, store=Path(folder) / "s", progress=False, processes=1, **grid(cells))

        first = clock(swept)
        again = [clock(swept) for _ in range(ROUNDS)]
    taken = statistics.median(again)
    return Row(
        f"{cells:,} cells resumed",
        "<= 5 s" if cells == 10_000 else "",
        f"{span(taken)} ({span(min(again))}); computing them took {span(first)}, {times(first / taken)}",
        (Check("time", taken <= 5.0),) if cells == 10_000 else (),
        """**Resumed**: a finished sweep is asked for again. Every line of the store is read and its checksum
        compared, nothing is computed, and the table is made and written again.""",
    )


def solve_row() -> Row:
    """A sweep of predictions beside a loop over solve, each with and without warm starts."""
    alphas = np.geomspace(0.1, 10.0, 24)

    def cold() -> list[Any]:
        return [ps.solve(PROBLEM.replace(alpha=alpha)) for alpha in alphas]

    def swept() -> Any:
        return ps.sweep(PROBLEM, ps.solve, alpha=alphas, processes=1, progress=False)

    for call in (cold, swept):
        call()
    pairs = [(clock(cold), clock(swept)) for _ in range(ROUNDS)]
    ratio = statistics.median(b / a for a, b in pairs)
    loop, ours = (statistics.median(pair[k] for pair in pairs) for k in (0, 1))
    return Row(
        "24 predictions along alpha, one process",
        "",
        f"{span(ours)}, {times(ratio)} the plain loop of {span(loop)}",
        (),
        """**Predictions**: a quadratic network; the sweep also asks for every error bar, which the loop does not.""",
    )


def command_rows() -> list[Row]:
    """The command line in processes of its own, compiled code on disk."""
    if importlib.util.find_spec("presage.cli") is None:
        return [Row("presage --help", "<= 0.35 s", "there is no command line", (Check("time", None),))]
    rows = []
    bare = statistics.median(clock(lambda: _python("-c", "pass")) for _ in range(ROUNDS))
    for words, most in ((["--help"], 0.35), (["solve", "--alpha", "0.5"], 0.8)):
        _python("-m", "presage", *words)  # compiles what is not on disk
        taken = [clock(lambda w=words: _python("-m", "presage", *w)) for _ in range(2 * ROUNDS)]
        middle = statistics.median(taken)
        rows.append(
            Row(
                f"`presage {' '.join(words)}`",
                f"<= {most:g} s",
                f"{span(middle)} ({span(min(taken))}), {times(middle / bare)} a bare `python -c pass`",
                (Check("time", middle <= most),),
            )
        )
    note = "**Command line**: wall time of a whole new process, compiled code and Python's own bytecode on disk."
    return [*rows[:-1], Row(**{**vars(rows[-1]), "note": note})]


def _python(*words: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=kept)


def figures_row() -> Row:
    """Every figure from the data that ships, drawn and written as PNG."""
    from presage.figures import catalogue

    drawn: dict[str, float] = {}
    missing = []
    with tempfile.TemporaryDirectory() as folder:
        for name in catalogue.names():
            if not catalogue.shipped(name).exists():
                missing.append(name)
                continue

            def draw(name: str = name) -> None:
                import matplotlib.pyplot as plt

                picture = catalogue.figure(name).draw(catalogue.load(name))
                picture.savefig(Path(folder) / f"{name}.png")
                plt.close(picture)

            drawn[name] = clock(draw)
    total = sum(drawn.values())
    slowest = max(drawn, key=lambda name: drawn[name], default="")
    said = (
        f"{span(total)} for {len(drawn)} of {len(drawn) + len(missing)} figures" if drawn else "none has its data yet"
    )
    if slowest:
        said += f", the slowest {slowest} with {span(drawn[slowest])}"
    if missing:
        said += f"; without data: {', '.join(missing)}"
    note = "**Figures**: reading the shipped data, drawing and writing a PNG, one after the other in one process."
    reached = total <= 60.0 if drawn and not missing else None
    return Row("all figures from shipped data", "<= 60 s", said, (Check("time", reached),), note)


def quick_figure_row() -> Row:
    """Figure 1 computed anew in its quick version: predictions and networks, as the command does it."""
    from presage.figures import catalogue

    seconds = {"theory": 0.0, "training": 0.0}

    def timed(problem: Any, run: Callable[..., Any], **options: Any) -> Any:
        began = time.perf_counter()
        found = ps.sweep(problem, run, progress=False, **options)
        seconds["training" if run is ps.simulate else "theory"] += time.perf_counter() - began
        return found

    total = clock(lambda: catalogue.figure("attention-1").data("quick", timed))
    return Row(
        "`presage figure attention-1 --quick`",
        "<= 3 min, theory <= 60 s",
        f"{span(total)}; theory {span(seconds['theory'])}, training {span(seconds['training'])}",
        (Check("time", total <= 180.0), Check("theory", seconds["theory"] <= 60.0)),
        "**Figure 1, quick**: what is computed; compiled code on disk, as many processes as there are cores.",
    )


def docs_row() -> Row:
    """The documentation from nothing, its tutorials run."""
    if not all(map(importlib.util.find_spec, ("sphinx", "furo", "myst_nb"))):
        said = "not measured: its packages are missing; `make docs` installs them"
        return Row("documentation built", "<= 3 min", said, (Check("time", None),))
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "sphinx", "-W", "-q", "-b", "html", "-d", f"{folder}/doctrees", str(ROOT / "docs"), folder]
        taken = clock(lambda: _python(*words))
    note = "**Documentation**: `make docs` without what it keeps from an earlier time, its packages installed."
    return Row("documentation built", "<= 3 min", span(taken), (Check("time", taken <= 180.0),), note)


# ------------------------------------------------------------------------------------------------ the run


def document(rows: list[Row], machine_line: str, seconds: float, others: float) -> str:
    """The page docs/benchmarks-views.md."""
    parts = [
        "# Benchmarks of sweeps, command line and figures",
        prose(
            "What it costs to ask for many answers at once, by one command, or as a picture; in one run on one machine."
        ),
        f"Written by `make bench` on {datetime.date.today().isoformat()}, in {span(seconds)}: run again, do not edit.",
        f"Machine: {machine_line}; other work took {100.0 * others:.0f} % of its cores during the run.",
        prose(
            """Times are wall seconds: the median, and in brackets the least, of several. What is compared is timed by
            turns, and a ratio is the median of those of the rounds. Met or not is by the median."""
        ),
        markdown_table([HEADER, *(row.cells for row in rows)]),
        verdict(rows),
        "## What each row is",
        "\n".join(f"- {prose(row.note)}" for row in rows if row.note),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer cells, without dask; print, write nothing")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where to write the page")
    arguments = parser.parse_args()
    began, company, machine_line = time.perf_counter(), Company(), machine("one BLAS thread a process")

    def say(what: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {what}", file=sys.stderr, flush=True)

    say("sweeps")
    rows = sweep_rows(200 if arguments.quick else 2000, not arguments.quick)
    say("resumed sweep")
    rows.append(resume_row(1000 if arguments.quick else 10_000))
    say("predictions")
    rows.append(solve_row())
    say("command line")
    rows.extend(command_rows())
    say("figures")
    rows.append(figures_row())
    if not arguments.quick:
        say("figure 1, quick")
        rows.append(quick_figure_row())
        say("documentation")
        rows.append(docs_row())
    rows = [Row(**{**vars(row), "measured": prose(row.measured)}) for row in rows]
    print(text_table([HEADER, *(row.cells for row in rows)]))
    print("\n" + verdict(rows))
    if not arguments.quick:
        write(arguments.output, document(rows, machine_line, time.perf_counter() - began, company.share))
        print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
