"""What the theory answers, as numbers: `presage solve`, `curve`, `thresholds` and `bayes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, isinf, isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import samples
from presage.cli.errors import CommandError, FailedError, in_options, option
from presage.cli.options import Accuracy, Given, takes_problem
from presage.cli.output import (
    Csv,
    Json,
    Plot,
    check_format,
    check_picture,
    console,
    emit,
    heading,
    say,
    table,
    tell_caveats,
    with_caveats,
)
from presage.protocol import numbers
from presage.protocol.observables import Observable, by_name
from presage.protocol.progress import with_progress

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = {
    "solve": (
        "presage solve --alpha 0.5 --noise 0.5 --weight-decay 0.01",
        "presage solve --model quadratic --target power:1.25,400 --alpha 1 --json",
    ),
    "curve": (
        "presage curve --alpha 0.05:40:60log --noise 0.5 --plot curve.png",
        "presage curve --alpha 0.1:1:4 --noise 0.5 --bayes --csv",
        "presage curve --model quadratic --weight-decay 0.01,0.1,1 --alpha 2 --json",
    ),
    "thresholds": (
        "presage thresholds --target mp:0.2 --noise 0",
        "presage thresholds --model bilinear --target product:0.5 --json",
    ),
    "bayes": (
        "presage bayes --alpha 0.5 --noise 0.5",
        "presage bayes --model hardmax --target mp:0.2 --alpha 2 --noise 0 --json",
    ),
}
Ridgeless = Annotated[bool, typer.Option("--ridgeless", help="The limit of vanishing regularisation.")]
Optimal = Annotated[bool, typer.Option("--optimal", help="At the regularisation of least test error.")]
Bayes = Annotated[bool, typer.Option("--bayes", help="Add the Bayes-optimal errors.")]
Show = Annotated[
    str | None,
    typer.Option(
        "--show",
        help="Observables that --plot draws, one panel each; by default the first one and the first fraction.",
        metavar="NAMES",
        show_default=False,
    ),
]


@takes_problem
def solve(
    given: Given,
    ridgeless: Ridgeless = False,
    optimal: Optimal = False,
    accuracy: Accuracy = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Predict errors, loss and rank at the minimum of the loss, each with its error bar."""
    check_format(json, csv)
    verb = _verb(ridgeless, optimal)
    given.must_answer(verb)
    given = given.without_what_plays_no_part_in(verb)
    import presage as ps

    problem = given.problem()
    options = given.taken(getattr(ps, verb), {"accuracy": accuracy}, problem)
    _emit_answer(given, _predict(problem, verb, options), json=json, csv=csv)


@takes_problem
def bayes(given: Given, json: Json = False, csv: Csv = False) -> None:
    """Find the Bayes-optimal error: the least that any method reaches that knows the law of the target."""
    check_format(json, csv)
    import presage as ps

    given.must_answer("bayes_optimal")
    given = given.without_what_plays_no_part_in("bayes_optimal")
    _emit_answer(given, ps.bayes_optimal(given.problem()), json=json, csv=csv)


def _verb(ridgeless: bool, optimal: bool) -> str:
    """The verb for the penalty given, the vanishing one, or the best one."""
    if ridgeless and optimal:
        raise CommandError("`--ridgeless` and `--optimal` exclude each other: one penalty is meant. Leave one out.")
    return "ridgeless" if ridgeless else "optimal_regularization" if optimal else "solve"


def _predict(problem: Any, verb: str, options: Mapping[str, Any], init: Any = None) -> Any:
    """The prediction, started from a neighbour where the model can be."""
    import presage as ps

    function = getattr(ps, verb)
    if init is not None and "init" in ps.option_names(function, problem):
        return function(problem, init=init, **options)
    return function(problem, **options)


def _numbers(answer: Any) -> dict[str, numbers.Measured | float]:
    """Every number of an answer, the ones that people ask for first."""
    solution = getattr(answer, "solution", answer)  # an optimum has the prediction there
    found: dict[str, numbers.Measured | float] = {}
    if solution is not answer:
        found[answer.name] = float(answer.value)
    bars = solution.error_bars
    for name in dict.fromkeys([*by_name(solution.known_observables), *bars]):
        value = float(getattr(solution, name))
        found[name] = numbers.Measured(value, float(bars[name])) if name in bars else value
    return found


def _emit_answer(given: Given, answer: Any, *, json: bool, csv: bool) -> None:
    """A table of an answer: each observable with its error bar and its meaning."""
    found, caveats = _numbers(answer), [*given.idle, *answer.caveats]
    row = with_caveats(found, caveats)
    meanings = {one.name: one.words for one in getattr(answer, "solution", answer).observables}
    if hasattr(answer, "solution"):
        meanings = {answer.name: "of least test error", **meanings}

    def human(out: Console) -> None:
        say(out, given.title())
        lines = [(name, *numbers.cells(found[name]), words) for name, words in meanings.items()]
        table(out, ("observable", "value", "±", "meaning"), lines, words=("observable", "meaning"))
        tell_caveats(out, caveats)

    emit({"problem": given.described(), **row}, [row], human, json=json, csv=csv)


@takes_problem
def curve(
    given: Given,
    bayes: Bayes = False,
    ridgeless: Ridgeless = False,
    optimal: Optimal = False,
    accuracy: Accuracy = None,
    json: Json = False,
    csv: Csv = False,
    plot: Plot = None,
    show: Show = None,
) -> None:
    """Predict along one grid: any number of the problem, such as --alpha 0.05:40:60log, 0:1:11 or 0.1,0.5,2."""
    check_format(json, csv)
    check_picture(plot)
    verb = _verb(ridgeless, optimal)
    given.must_answer(verb)
    if bayes:
        given.must_answer("bayes_optimal")
    given = given.without_what_plays_no_part_in(verb)
    observables: Sequence[Observable] = given.observables(verb)
    shown = _shown(show, observables)
    if show is not None and plot is None:
        raise CommandError(f"`--show` says what --plot draws, and there is none. Got --show {show}. Add --plot x.png.")
    name, values = _the_grid(given)
    rows, seen = _rows(given, name, values, verb, {"accuracy": accuracy})
    if not observables:  # a model of one's own need not declare them; they are known when a point is solved
        observables, shown = seen, _shown(show, seen)
    if bayes:
        rows = _with_bayes(given, name, rows)
    solved = [row for row in rows if any(one.name in row for one in observables)]

    def human(out: Console) -> None:
        say(out, given.title())
        columns = [one.name for one in observables if one.brief]
        columns += ["bayes_test_error"] if any("bayes_test_error" in row for row in rows) else []
        counts = ["n"] if "n" in rows[0] and name == samples.ALPHA else []
        places = [[numbers.text(row[name]), *(str(row[count]) for count in counts)] for row in rows]
        lines = [[*at, *(_cell(row.get(column)) for column in columns)] for at, row in zip(places, rows, strict=True)]
        table(out, [heading(column) for column in (name, *counts, *columns)], lines, stay=len(counts) + 2)
        tell_caveats(out, _gathered(name, rows))

    emit({"problem": given.described(), "grid": name, "rows": rows}, rows, human, json=json, csv=csv)
    if not solved:
        raise FailedError(f"No point of the curve could be solved. {rows[0]['caveats'][0]}")
    if plot is not None:
        from presage.cli import pictures

        marks = _marks(given, name, values)
        pictures.draw(plot, given.title(), lambda: pictures.curve(given, name, rows, shown, marks), quiet=json or csv)


def _the_grid(given: Given) -> tuple[str, list[float]]:
    found = given.grids()
    if len(found) > 1:
        names = " and ".join(map(option, found))
        raise CommandError(f"`presage curve` goes along one grid. Got {names}. Use `presage sweep solve` for several.")
    if not found:
        raise CommandError(f"`presage curve` goes along a grid, and there is none. {given.example_of_a_grid()}")
    return found.popitem()


def _shown(show: str | None, observables: Sequence[Observable]) -> list[Observable]:
    """The observables that are drawn: those named, or the first one and the first that is a fraction."""
    if show is None or not observables:
        fractions = [one for one in observables[1:] if one.fraction]
        return [*observables[:1], *fractions[:1]]
    known = by_name(observables)
    names = [name.strip().replace("-", "_") for name in show.split(",")]
    if any(name not in known for name in names):
        raise CommandError(
            f"`--show` must name observables: {', '.join(known)}. Got --show {show!r}. Use --show {next(iter(known))}."
        )
    return [known[name] for name in names]


def _rows(
    given: Given, name: str, values: list[float], verb: str, written: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], Sequence[Observable]]:
    """Solve point by point, each started from the one before; a point that fails has its reason instead of numbers.

    The observables are those of the last point that was solved.
    """
    import presage as ps

    # All points are checked before the first is solved.
    problems = [given.problem(**{name: value}) for value in values]
    options = given.taken(getattr(ps, verb), written, problems[0])
    before: Any = None

    def solved() -> Iterator[dict[str, Any]]:
        nonlocal before
        for value, problem in zip(values, problems, strict=True):
            try:
                before = _predict(problem, verb, options, before)
            except ps.SolveError as error:
                yield {name: value, **given.counted(problem), "caveats": [f"failed: {in_options(error)}"]}
                continue
            at = {name: value, **given.counted(problem)}
            row = with_caveats(_numbers(before), [*given.idle, *before.caveats])
            yield {**at, **{key: number for key, number in row.items() if key not in at}}

    out = console(stderr=True)
    bar = with_progress(solved(), len(values), words="solving", unit="points", show=out.is_terminal, console=out)
    rows = list(bar)
    return rows, () if before is None else getattr(before, "solution", before).observables


def _with_bayes(given: Given, name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    import presage as ps

    problems = [given.problem(**{name: row[name]}) for row in rows]
    if name == "alpha":
        best = ps.bayes_curve(problems[0], alpha=[problem.alpha for problem in problems])
    else:
        best = [ps.bayes_optimal(problem) for problem in problems]
    found = []
    for row, answer in zip(rows, best, strict=True):
        known = _numbers(answer)
        added = {f"bayes_{key}": known[key] for key in ("test_error", "estimation_error") if key in known}
        found.append({**row, **added, "caveats": [*row["caveats"], *answer.caveats]})
    return found


def _marks(given: Given, name: str, values: list[float]) -> Iterator[tuple[Observable, float]]:
    """Thresholds within the picture of a curve along the number of samples."""
    if name == samples.ALPHA:
        yield from thresholds_within(given.problem(alpha=values[0]), min(values), max(values))


def thresholds_within(problem: Any, low: float, high: float) -> Iterator[tuple[Observable, float]]:
    """Thresholds from one number of samples to another, where they are known; some are those of clean labels."""
    import presage as ps
    from presage.protocol.errors import InputError, SolveError

    try:
        found = ps.thresholds(problem)
    except (InputError, SolveError):  # a problem whose thresholds are not known
        return
    noisy = getattr(problem, "noise", 0.0) > 0.0
    for threshold in found.observables:
        at = float(getattr(found, threshold.name))
        if threshold.brief and low <= at <= high and not (noisy and threshold.clean_only):
            yield threshold, at


def _gathered(name: str, rows: list[dict[str, Any]]) -> list[str]:
    """Every caveat once, with the points it is about."""
    about: dict[str, list[str]] = {}
    for row in rows:
        for line in row["caveats"]:
            about.setdefault(line, []).append(numbers.text(row[name]))
    return [
        line if len(points) == len(rows) else f"at {name} = {_range(points)}: {line}" for line, points in about.items()
    ]


def _range(points: list[str]) -> str:
    return ", ".join(points) if len(points) <= 4 else f"{points[0]} ... {points[-1]} ({len(points)} points)"


def _cell(value: Any) -> numbers.Cell:
    return "failed" if value is None else numbers.cell(value)


@takes_problem
def thresholds(given: Given, json: Json = False, csv: Csv = False) -> None:
    """Say how many samples are needed, in alpha: interpolation, recovery, learning at all."""
    check_format(json, csv)
    import presage as ps

    given.must_answer("thresholds")
    given = given.without_what_plays_no_part_in("thresholds")
    problem, d = given.problem(), given.samples.d
    found = ps.thresholds(problem)
    values = {one.name: float(getattr(found, one.name)) for one in found.observables}
    caveats = [*given.idle, *found.caveats]
    counts = {} if d is None else {name: _count(at, problem.samples_at_one(d)) for name, at in values.items()}

    def human(out: Console) -> None:
        say(out, given.title())
        lines = [
            (
                one.name,
                _place(values[one.name]),
                *(["none" if counts[one.name] is None else str(counts[one.name])] if counts else []),
                one.words,
            )
            for one in found.observables
        ]
        columns = ("threshold", "alpha", *([f"n at d = {d}"] if counts else []), "meaning")
        table(out, columns, lines, words=("threshold", "meaning"), stay=len(columns) - 1)
        tell_caveats(out, caveats)

    row = with_caveats(values, caveats)
    row = {**{f"{name}_n": count for name, count in counts.items()}, **row}
    emit({"problem": given.described(), **row}, [row], human, json=json, csv=csv)


def _place(alpha: float) -> numbers.Cell:
    """A threshold in a table: a number, or why there is none."""
    return "none" if isinf(alpha) else "not known" if isnan(alpha) else numbers.cell(alpha)


def _count(alpha: float, samples_at_one: int) -> int | None:
    """The samples of a threshold, at a dimension; None where there is no such threshold."""
    return round(alpha * samples_at_one) if isfinite(alpha) else None
