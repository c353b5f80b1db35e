"""Bars for few and slow steps: the time left falls while a step is under way."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

from presage.protocol.progress import in_clock, progress_bar, time_left, with_progress


def test_the_time_left_falls_with_the_clock_between_two_steps():
    """Four steps of ten seconds each: one is done, and three are left."""
    assert time_left(0, 4, 0.0, 7.0) is None
    assert time_left(1, 4, 10.0, 10.0) == pytest.approx(30.0)
    assert time_left(1, 4, 10.0, 13.0) == pytest.approx(27.0)
    assert time_left(3, 4, 30.0, 36.0) == pytest.approx(4.0)
    assert time_left(4, 4, 40.0, 40.0) == 0.0


def test_a_step_that_takes_longer_is_no_reason_to_promise_the_end():
    late = [time_left(1, 4, 10.0, now) for now in (20.0, 25.0, 40.0)]
    assert late == pytest.approx([20.0, 25.0, 40.0])  # two more steps, now as long as the mean of those so far
    assert time_left(3, 4, 30.0, 60.0) == 0.0  # the last one may end at any moment


def test_the_bar_shows_it():
    now = 0.0
    out = io.StringIO()
    with progress_bar(Console(file=out, width=100), "training", "networks", clock=lambda: now) as bar:
        task = bar.add_task("training", total=4, last=0.0)
        shown = []
        for now, done in ((5.0, False), (10.0, True), (12.0, False), (19.0, False)):  # noqa: B007 - the clock reads it
            if done:
                bar.update(task, advance=1, last=10.0)
            console = Console(file=io.StringIO(), width=100)
            console.print(bar.get_renderable())
            shown.append(console.file.getvalue().split())  # type: ignore[attr-defined]
    assert [line[-1] for line in shown] == ["-:--:--", "0:00:30", "0:00:28", "0:00:21"]
    assert [line[-4] for line in shown] == ["0:00:05", "0:00:10", "0:00:12", "0:00:19"]
    assert shown[1][0] == "training"
    assert "1/4" in shown[1]


def test_it_moves_on_a_terminal_while_a_step_is_under_way():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)

    def slowly():
        for step in range(2):
            time.sleep(1.5)
            yield step

    assert list(with_progress(slowly(), 2, words="solving", unit="points", show=True, console=console)) == [0, 1]
    left = re.findall(r"1/2.*?about.*?(\d:\d\d:\d\d)", out.getvalue())
    assert len(set(left)) > 1


def test_steps_pass_unseen_where_no_bar_is_wanted():
    steps = iter([1, 2, 3])
    assert list(with_progress(steps, 3, words="sweep", unit="cells", show=False)) == [1, 2, 3]
    assert list(with_progress(iter(()), 0, words="sweep", unit="cells", show=True)) == []


def test_a_clock_rounds_up():
    assert [in_clock(seconds) for seconds in (None, 0.0, 0.2, 61.0)] == ["-:--:--", "0:00:00", "0:00:01", "0:01:01"]
