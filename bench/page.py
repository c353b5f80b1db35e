"""How quick the page in the browser is: prints a table, writes docs/benchmarks-page.md.

    python bench/page.py            a minute
    python bench/page.py --quick    fewer moves; prints, and writes nothing

Everything is measured inside a real browser, from the event of a slider to the frame in which the answer is painted.
Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

import presage as ps
from report import HEADER, Check, Company, Row, machine, markdown_table, prose, span, text_table, verdict, write

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "docs" / "benchmarks-page.md"
sys.path.insert(0, str(ROOT))  # the browser of the tests is that of the benchmark

from tests.page import browser  # noqa: E402 - it is found by the line above
from tests.page.test_serve import started  # noqa: E402 - likewise

START = "model=attention&noise=0.5"
PROBLEM = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
DRAFT = 1e-2

# One move of a slider after the other: each begins when the answer to the one before is painted and refined.
MOVES = """
const [name, count, done] = arguments;
const slider = document.querySelector(`[data-field=${name}] input[type=range]`);
const box = document.querySelector(`[data-field=${name}] input[type=text]`);
const low = Number(slider.min), high = Number(slider.max);
const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
(async () => {
    const found = [];
    for (let k = 0; k < count; k++) {
        slider.value = low + (0.15 + 0.7 * ((k * 0.6180339887) % 1)) * (high - low);
        const began = performance.now();
        slider.dispatchEvent(new Event('input', {bubbles: true}));
        while (window.presage.shown.asked.fields[name] !== box.value) await frame();
        await frame();
        found.push(performance.now() - began);
        while (window.presage.shown.stage !== 'refined') await frame();
    }
    done(found);
})();
"""

DRAG = """
const [name, seconds, done] = arguments;
const slider = document.querySelector(`[data-field=${name}] input[type=range]`);
const box = document.querySelector(`[data-field=${name}] input[type=text]`);
const low = Number(slider.min), high = Number(slider.max);
const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
(async () => {
    const began = performance.now(), before = window.presage.redraws;
    let moves = 0;
    while (performance.now() - began < 1000 * seconds) {
        const part = (performance.now() - began) / (1000 * seconds);
        slider.value = low + (0.1 + 0.8 * part) * (high - low);
        slider.dispatchEvent(new Event('input', {bubbles: true}));
        moves++;
        await frame();
    }
    const redraws = window.presage.redraws - before;
    while (window.presage.shown.stage !== 'refined' || window.presage.shown.id !== window.presage.asked) await frame();
    done([redraws, moves, window.presage.shown.asked.fields[name] === box.value]);
})();
"""

CURVE = """
const [name, text, done] = arguments;
const box = document.querySelector(`[data-field=${name}] input[type=text]`);
const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
(async () => {
    const old = window.presage.curve;
    box.value = text;
    const began = performance.now();
    box.dispatchEvent(new Event('input', {bubbles: true}));
    box.dispatchEvent(new Event('change', {bubbles: true}));
    const fresh = () => window.presage.curve !== old && window.presage.curve;
    const known = () => fresh()?.lines?.here?.filter(Boolean).length === fresh()?.x?.length;
    while (!(fresh() && known())) await frame();
    const draft = performance.now() - began;
    while (!fresh().done) await frame();
    done([draft, performance.now() - began]);
})();
"""

MAP = """
const [side, done] = arguments;
const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
(async () => {
    document.querySelector('#map-side').value = side;
    const began = performance.now();
    document.querySelector('#map-panel').open = true;
    while (!(window.presage.map?.known > 0)) await frame();
    await frame();
    const first = performance.now() - began;
    while (!window.presage.map.done) await frame();
    await frame();
    done([first, performance.now() - began, window.presage.map.known]);
})();
"""

OPENED = """
const done = arguments[0];
const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
(async () => { while (!(window.presage?.redraws > 0)) await frame(); done(performance.now()); })();
"""


def at(values: list[float], part: float) -> float:
    """A quantile of times in milliseconds, in seconds."""
    return sorted(values)[min(int(part * len(values)), len(values) - 1)] / 1000.0


def alone() -> float:
    """Median wall seconds of the draft alone, in Python, at points like those of the slider."""
    seconds = []
    for k in range(30):
        problem = PROBLEM.replace(alpha=0.1 + 0.31 * k)
        began = time.perf_counter()
        ps.solve(problem, accuracy=DRAFT)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[3:])


@contextmanager
def opened(folder: Path) -> Iterator[tuple[browser.Browser, str, Any]]:
    """A browser at a warm server."""
    window = browser.Browser(folder)
    window.driver.set_script_timeout(300)
    try:
        with started(folder) as (program, address):
            window.open(f"{address}#{START}")
            yield window, address, program
    finally:
        window.end()


def slider_rows(window: browser.Browser, moves: int) -> Iterator[Row]:
    by_hand = alone()
    found = window.driver.execute_async_script(MOVES, "alpha", moves)
    median, worst = at(found, 0.5), at(found, 0.95)
    yield Row(
        f"slider to redrawn spectrum and numbers, {moves} moves",
        "<= 100 ms at the median, <= 200 ms at the 95th percentile",
        f"{span(median)} and {span(worst)}; solve alone in Python {span(by_hand)}, {median / by_hand:.1f} times less",
        (Check("median", median <= 0.1), Check("95th percentile", worst <= 0.2)),
        "From the event of the slider to the frame after the one that draws the draft, of softmax attention with two "
        "tokens: a message to the server, a process that solves and tabulates the spectrum, a message back, the "
        "drawing, and a sixtieth of a second that a frame takes. No place was asked for before.",
    )
    seconds = 3.0
    redraws, events, same = window.driver.execute_async_script(DRAG, "weight_decay", seconds)
    yield Row(
        "redraws a second while a slider is dragged",
        ">= 10, none stale at the end",
        f"{redraws / seconds:.0f} of {events / seconds:.0f} moves; the last is {'there' if same else 'missing'}",
        (Check("redraws", redraws / seconds >= 10.0), Check("the end", bool(same))),
        "A new place of the slider every frame for three seconds. When an answer has come, the newest is asked for.",
    )


def curve_row(window: browser.Browser) -> Row:
    # The learning curve alone, then with what stands beside it at first.
    window.js("document.querySelectorAll('#curve-beside input:checked').forEach(box => box.click())")
    window.curve_done()
    drafts, whole = zip(
        *(window.driver.execute_async_script(CURVE, "noise", t) for t in ("0.3", "0.7", "0.45")), strict=True
    )
    draft, refined = statistics.median(drafts) / 1000.0, statistics.median(whole) / 1000.0
    return Row(
        "40-point curve, draft / refined",
        "<= 0.5 s / <= 3 s",
        f"{span(draft)} / {span(refined)}",
        (Check("draft", draft <= 0.5), Check("refined", refined <= 3.0)),
        "From a new noise, typed, to all 40 points of the learning curve, as drafts and refined, thresholds included. "
        "0.15 s of it the page waits whether the slider rests.",
    )


def map_row(window: browser.Browser, address: str) -> Row:
    window.open(f"{address}#model=quadratic&noise=0.5")
    window.curve_done()
    first, whole, known = window.driver.execute_async_script(MAP, 30)
    return Row(
        "30 x 30 phase diagram of a quadratic network",
        "first picture <= 1 s, complete <= 10 s",
        f"{span(first / 1000.0)}, {span(whole / 1000.0)} for {known} cells",
        (Check("first picture", first <= 1000.0), Check("complete", whole <= 10_000.0)),
        "From opening its panel, of which 0.3 s are waited for a slider to rest.",
    )


def open_row(window: browser.Browser, address: str) -> Row:
    times = []
    for k in range(5):
        window.driver.get("about:blank")
        window.driver.get(f"{address}#{START}&alpha=0.6{k}")
        times.append(window.driver.execute_async_script(OPENED))
    script = "return performance.getEntriesByType('resource').map(one => one.decodedBodySize)"
    whole = sum(window.js(script)) + int(
        window.js("return performance.getEntriesByType('navigation')[0].decodedBodySize")
    )
    first = statistics.median(times) / 1000.0
    return Row(
        "page to first picture, warm server; size of the whole page",
        "<= 1 s; <= 300 kB",
        f"{span(first)}; {whole / 1000.0:.0f} kB",
        (Check("time", first <= 1.0), Check("size", whole <= 300_000)),
        "From the address to the first spectrum on the screen, of a problem that was not asked for before. "
        "The size is that of all that the browser loaded, before compression.",
    )


def tabs_row(window: browser.Browser, address: str, program: Any, count: int = 10) -> Row:
    handles = [window.driver.current_window_handle]
    for _ in range(count - 1):
        window.driver.switch_to.new_window("tab")
        handles.append(window.driver.current_window_handle)
    for handle in handles:
        window.driver.switch_to.window(handle)
        window.open(f"{address}#{START}")
    before = memory(program)
    # Timers of a page in the background may run once a second: then a drag has fewer moves, and the same end.
    script = DRAG.replace(
        "const [name, seconds, done] = arguments;",
        "const [name, seconds] = arguments; const done = () => { window.dragged = true; };",
    )
    script = script.replace("requestAnimationFrame(resolve)", "setTimeout(resolve, 16)")
    for handle in handles:
        window.driver.switch_to.window(handle)
        window.js(script, "alpha", 3.0)
    right = 0
    for handle in handles:
        window.driver.switch_to.window(handle)
        window.until(lambda: window.js("return window.dragged"), "the end of the drag")
        shown = window.refined()
        text = window.js("return document.querySelector('[data-field=alpha] input[type=text]').value")
        expected = ps.solve(PROBLEM.replace(alpha=float(text))).test_error
        right += abs(shown["rows"][0]["value"] / expected - 1.0) < 1e-9
    grown = memory(program) - before
    return Row(
        f"{count} open tabs that drag at once",
        "every one ends at the right numbers, memory stays bounded",
        f"{right} of {count} right; the server with its processes grew by {grown / 1e6:.0f} MB "
        f"to {memory(program) / 1e6:.0f} MB",
        (Check("numbers", right == count), Check("memory", grown < 1e9)),
        "Each tab moves its slider for three seconds; then its refined test error is compared with that of solve, to "
        "nine digits. Memory is the proportional share of the server and its processes, where the system tells it.",
    )


def memory(program: Any) -> float:
    """Bytes of a program and its processes; what they share is counted once, where the system says it."""
    every = [psutil.Process(program.pid), *psutil.Process(program.pid).children(recursive=True)]
    return float(sum(getattr(one.memory_full_info(), "pss", one.memory_info().rss) for one in every))


def document(rows: list[Row], machine_line: str, seconds: float, others: float) -> str:
    """The page docs/benchmarks-page.md."""
    parts = [
        "# Benchmarks of the page in the browser",
        prose("How long one waits at `presage page`, measured inside Chromium; in one run on one machine."),
        f"Written by `make bench` on {datetime.date.today().isoformat()}, in {span(seconds)}: run again, do not edit.",
        f"Machine: {machine_line}; other work took {100.0 * others:.0f} % of its cores during the run.",
        markdown_table([HEADER, *(row.cells for row in rows)]),
        verdict(rows),
        "## What each row is",
        "\n".join(f"- {row.work}: {prose(row.note)}" for row in rows if row.note),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer moves; print, write nothing")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where to write the page")
    arguments = parser.parse_args()
    if (reason := browser.missing()) is not None:
        print(f"not measured: {reason}")
        return
    began, company, machine_line = time.perf_counter(), Company(), machine("one BLAS thread a process")
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as (window, address, program):
        rows = list(slider_rows(window, 20 if arguments.quick else 200))
        rows.append(curve_row(window))
        rows.append(map_row(window, address))
        rows.append(open_row(window, address))
        rows.append(tabs_row(window, address, program))
    print(text_table([HEADER, *(row.cells for row in rows)]))
    print("\n" + verdict(rows))
    if not arguments.quick:
        write(arguments.output, document(rows, machine_line, time.perf_counter() - began, company.share))
        print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
