"""`presage curve`: the prediction along one grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import answers, digits, machine, pictures
from presage.cli.mistakes import OPTIONS, CommandError, ComputationError, in_options
from presage.cli.output import Csv, Json, check_format, console, emit, say, table, tell_caveats
from presage.cli.problem_options import Given, takes_problem
from presage.cli.solve import Optimal, Ridgeless

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = (
    "presage curve --alpha 0.05:40:60log --plot curve.png",
    "presage curve --alpha 0.1:1:4 --bayes --csv",
    "presage curve --model quadratic --weight-decay 0.01,0.1,1 --alpha 2 --json",
)
SHOWN = ("test_error", "train_loss", "estimation_error", "rank")
DIGITS = 7  # of a number in a table of 80 columns
Bayes = Annotated[bool, typer.Option("--bayes", help="Add the Bayes-optimal errors.")]
Show = Annotated[str, typer.Option("--show", help="Observables that --plot draws, one panel each.", metavar="NAMES")]


@takes_problem
def curve(
    given: Given,
    bayes: Bayes = False,
    ridgeless: Ridgeless = False,
    optimal: Optimal = False,
    json: Json = False,
    csv: Csv = False,
    plot: pictures.Plot = None,
    show: Show = "test_error,rank",
) -> None:
    """Predict along one grid: any number of the problem, such as --alpha 0.05:40:60log, 0:1:11 or 0.1,0.5,2."""
    check_format(json, csv)
    pictures.check_picture(plot)
    given.must_be_trainable()
    if ridgeless or optimal:
        given = given.without(*answers.PENALTIES)
    shown = _check_shown(show)
    name, values = _the_grid(given)
    rows = list(_rows(given, name, values, ridgeless=ridgeless, optimal=optimal))
    if bayes:
        rows = _with_bayes(given, name, rows)
    if plot is not None:
        from presage.cli import curve_picture

        drawn = curve_picture.draw(given, name, rows, shown)
        pictures.save(drawn, plot)

    def human(out: Console) -> None:
        say(out, given.title())
        columns = [*SHOWN, *(("bayes_test_error",) if bayes else ())]
        columns = [column for column in columns if any(column in row for row in rows)]
        lines = [[digits.text(row[name]), *(_cell(row.get(column)) for column in columns)] for row in rows]
        table(out, [column.replace("_", "\n") for column in (name, *columns)], lines)
        tell_caveats(out, _gathered(name, rows))
        if plot is not None:
            say(out, f"drawn: {plot}")

    emit({"problem": given.described(), "grid": name, "rows": rows}, rows, human, json=json, csv=csv)
    failed = [row for row in rows if "test_error" not in row]
    if len(failed) == len(rows):
        raise ComputationError(f"No point of the curve could be solved. {failed[0]['caveats'][0]}")


def _the_grid(given: Given) -> tuple[str, list[float]]:
    found = given.grids()
    if len(found) > 1:
        names = " and ".join(OPTIONS[name] for name in found)
        raise CommandError(f"`presage curve` goes along one grid. Got {names}. Use `presage sweep solve` for several.")
    if not found:
        raise CommandError(
            "`presage curve` goes along a grid, and there is none. Use for example --alpha 0.05:40:60log."
        )
    return found.popitem()


def _check_shown(show: str) -> list[str]:
    names = [name.strip().replace("-", "_") for name in show.split(",")]
    known = [name for name in answers.MEANINGS if name not in ("mmse", "mutual_information", "delta")]
    wrong = [name for name in names if name not in known]
    if wrong:
        raise CommandError(
            f"`--show` must name observables: {', '.join(known)}. Got --show {show!r}. Use --show test_error."
        )
    return names


def _rows(given: Given, name: str, values: list[float], **how: bool) -> Iterator[dict[str, Any]]:
    """Solve point by point, each started from the one before; a point that fails has its reason instead of numbers."""
    import presage as ps

    # All points are checked before the first is solved.
    problems = [given.problem(**{name: value}) for value in values]
    before: Any = None
    for value, problem in zip(values, _with_bar(problems), strict=True):
        try:
            before = answers.predict(problem, init=before, **how)
        except ps.SolveError as error:
            yield {name: value, "caveats": [f"failed: {in_options(str(error))}"]}
            continue
        row = machine.with_caveats(answers.observables(before), before.caveats)
        yield {name: value, **{key: number for key, number in row.items() if key != name}}


def _with_bar(problems: list[Any]) -> Iterable[Any]:
    from rich.progress import track

    out = console(stderr=True)
    return track(problems, description="solving", console=out, transient=True, disable=not out.is_terminal)


def _with_bayes(given: Given, name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    import presage as ps

    problems = [given.problem(**{name: row[name]}) for row in rows]
    if name == "alpha" and not given.model.rectangular:
        best: list[Any] = list(ps.bayes_curve(problems[0], alpha=[problem.alpha for problem in problems]))
    else:
        best = [ps.bayes_optimal(problem) for problem in problems]
    found = []
    for row, answer in zip(rows, best, strict=True):
        known = answers.observables(answer)
        added = {f"bayes_{key}": known[key] for key in ("test_error", "estimation_error")}
        found.append({**row, **added, "caveats": [*row["caveats"], *answer.caveats]})
    return found


def _gathered(name: str, rows: list[dict[str, Any]]) -> list[str]:
    """Every caveat once, with the points it is about."""
    about: dict[str, list[str]] = {}
    for row in rows:
        for line in row["caveats"]:
            about.setdefault(line, []).append(digits.text(row[name]))
    return [
        line if len(points) == len(rows) else f"at {name} = {_range(points)}: {line}" for line, points in about.items()
    ]


def _range(points: list[str]) -> str:
    return ", ".join(points) if len(points) <= 4 else f"{points[0]} ... {points[-1]} ({len(points)} points)"


def _cell(value: Any) -> str:
    if value is None:
        return "failed"
    return digits.with_bar(value, DIGITS) if isinstance(value, digits.Measured) else digits.text(value)
