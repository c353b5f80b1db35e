"""A bar for steps that may be few and slow: the time that has passed and the time left both move between two steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Step = TypeVar("Step")
UNKNOWN = "-:--:--"


def with_progress(
    steps: Iterable[Step], count: int, *, words: str, unit: str, show: bool, console: Console | None = None
) -> Iterator[Step]:
    """Steps as they come, and where `show` says so a bar on standard error: what is done, how long it took and takes.

    A step is done when `steps` hands it over. The time left is that of the steps to be done now; where there are none
    there is no bar.
    """
    if not show or count == 0:
        yield from steps
        return
    from rich.console import Console

    with progress_bar(console or Console(stderr=True), words, unit) as bar:
        task = bar.add_task(words, total=count, last=0.0)
        for step in steps:
            bar.update(task, advance=1, last=bar.tasks[0].elapsed or 0.0)
            yield step


def progress_bar(console: Console, words: str, unit: str, clock: Callable[[], float] = monotonic) -> Progress:
    """The bar itself; a task in it has the field `last`, the time at which its last step ended."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        def render(self, task: Any) -> Text:
            left = time_left(int(task.completed), int(task.total), task.fields["last"], task.elapsed or 0.0)
            return Text(in_clock(left), style="progress.remaining")

    columns = (
        TextColumn(words),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{unit}, elapsed"),
        TimeElapsedColumn(),
        TextColumn("left about"),
        TimeLeft(),
    )
    return Progress(*columns, console=console, transient=True, get_time=clock)


def time_left(done: int, count: int, last: float, now: float) -> float | None:
    """Seconds until all steps are done, if they go on as they did; None before the first is done.

    `last` is when the last step ended, counted like `now` from the begin. While a step is under way the time falls with
    the clock; one that takes longer than those before it says that the others may, too.
    """
    if done == 0:
        return None
    each = last / done
    after_this_one = (count - done - 1) * max(each, now / (done + 1))
    return max((count - done) * each - (now - last), after_this_one, 0.0)


def in_clock(seconds: float | None) -> str:
    """A time as a clock shows it."""
    return UNKNOWN if seconds is None else str(timedelta(seconds=ceil(seconds)))
