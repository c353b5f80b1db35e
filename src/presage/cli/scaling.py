"""`presage scaling`: the phase of a problem whose target is a power law, its law, and where the next phases begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli.options import Given, takes_problem
from presage.cli.output import (
    Csv,
    Json,
    Plot,
    check_format,
    check_picture,
    emit,
    say,
    table,
    tell_caveats,
    with_caveats,
)
from presage.protocol import numbers

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = {
    "scaling": (
        "presage scaling --model quadratic --target power:1.25,400 --n 40000 --d 400",
        "presage scaling --model quadratic --target power:2,400 --alpha 20 --json",
    ),
}
Factor = Annotated[
    float | None,
    typer.Option(
        "--factor",
        help="How far either side of the point a local exponent is taken. Default 3.",
        metavar="NUMBER",
        show_default=False,
    ),
]


@takes_problem
def scaling(given: Given, factor: Factor = None, json: Json = False, csv: Csv = False, plot: Plot = None) -> None:
    """Say in which phase of its scaling laws a problem is, with the law, its exponents and the nearest boundaries."""
    check_format(json, csv)
    check_picture(plot)
    given.must_answer("scaling")
    given = given.without_what_plays_no_part_in("scaling")
    import presage as ps

    problem = given.problem()
    found = ps.scaling(problem, **given.taken(ps.scaling, {"factor": factor}, problem))
    values = {one.name: _with_bar(found, one.name) for one in found.known_observables}
    caveats = [*given.idle, *_counted_at(given, found), *found.caveats]
    row = with_caveats({"phase": found.phase, **values}, caveats)

    def human(out: Console) -> None:
        say(out, given.title())
        words = [(name, value, "", meaning) for name, value, meaning in found.told()]
        shown = [one for one in found.known_observables if not one.stands_for]  # a kind is told in words above
        rows = [*words, *((one.name, *numbers.cells(values[one.name]), one.words) for one in shown)]
        table(out, ("observable", "value", "±", "meaning"), rows, words=("observable", "meaning"))
        tell_caveats(out, caveats)

    about = found.as_dict()
    content = {"problem": given.described(), **row, "law": about["law"], "boundaries": about["boundaries"]}
    emit(content, [row], human, json=json, csv=csv)
    if plot is not None:
        from presage.cli import pictures
        from presage.plots.plot import panels_of

        pictures.draw(plot, given.title(), lambda: panels_of(found), quiet=json or csv)


def _with_bar(found: Any, name: str) -> numbers.Measured | float:
    value, bars = float(getattr(found, name)), found.error_bars
    return numbers.Measured(value, float(bars[name])) if name in bars else value


def _counted_at(given: Given, found: Any) -> list[str]:
    """Say at which dimension the boundaries are counted, where another was written."""
    d = given.samples.d
    if d is None or found.d is None or d == found.d:
        return []
    return [f"boundaries in n are counted at the target's own d = {found.d}, not at --d {d}."]
