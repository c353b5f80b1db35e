"""`presage spectrum`: the eigenvalues, or the singular values, that are learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import numbers
from presage.cli.errors import CommandError
from presage.cli.options import Accuracy, Given, takes_problem
from presage.cli.output import Csv, Json, Plot, check_format, check_picture, emit, save, say, table, tell_caveats

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = {
    "spectrum": (
        "presage spectrum --alpha 4 --noise 0.5 --plot spectrum.png",
        "presage spectrum --target masses:0@0.6,3@0.4 --singular-values --csv",
    ),
}
SINGULAR_VALUES = "singular values"
Singular = Annotated[
    bool, typer.Option("--singular-values", help="Those of the weights W instead of eigenvalues of S.")
]
Points = Annotated[int, typer.Option("--points", help="Points of the density in each bulk.", min=2, max=100_000)]


@takes_problem
def spectrum(
    given: Given,
    singular_values: Singular = False,
    points: Points = 200,
    accuracy: Accuracy = None,
    json: Json = False,
    csv: Csv = False,
    plot: Plot = None,
) -> None:
    """Predict the spectrum of what is learned: zeros, bulks, outliers and the density."""
    check_format(json, csv)
    check_picture(plot)
    given.must_answer("solve")
    import presage as ps
    from presage.cli import pictures

    problem = given.problem()
    answer: Any = ps.solve(problem, **given.taken(ps.solve, {"accuracy": accuracy}, problem))
    of_factors = singular_values and getattr(answer, "spectrum_of", "") != SINGULAR_VALUES
    try:
        law = answer.singular_values if of_factors else answer.spectrum
        bulks, outliers = _bands(answer, root=of_factors)
    except AttributeError as error:
        raise _no_spectrum(given, answer, "singular_values" if of_factors else "spectrum", error) from error
    kind = SINGULAR_VALUES if of_factors else answer.spectrum_of
    zero = 1.0 - (answer.rank if hasattr(answer, "rank") else sum(bulk["mass"] for bulk in bulks))
    density = pictures.density_bands(law, bulks, points)
    rows = [{"x": x, "density": height} for band in density for x, height in band]
    if plot is not None:
        save(pictures.spectrum(given, kind, density, zero, outliers), plot)

    def human(out: Console) -> None:
        say(out, given.title())
        lines: list[tuple[numbers.Cell, ...]] = [("zero", "0", "0", numbers.cell(zero))] if zero > 0.0 else []
        lines += [("bulk", *(numbers.cell(number) for number in bulk.values())) for bulk in bulks]
        shown = outliers if len(outliers) <= 12 else [*outliers[:3], *outliers[-9:]]
        lines += [("outlier", numbers.cell(at), numbers.cell(at), "one") for at in shown]
        table(out, (kind, "from", "to", "fraction"), lines, words=(kind,))
        if len(outliers) > len(shown):
            say(out, f"{len(outliers)} outliers in all; --json has every one.")
        tell_caveats(out, answer.caveats)
        if plot is not None:
            say(out, f"drawn: {plot}")

    content = {
        "problem": given.described(),
        "of": kind,
        "zero": zero,
        "bulks": bulks,
        "outliers": outliers,
        "density": rows,
        "caveats": answer.caveats,
    }
    emit(content, rows, human, json=json, csv=csv)


def _bands(answer: Any, *, root: bool = False) -> tuple[list[dict[str, float]], list[float]]:
    """Bulks and outliers of a prediction, of its law where it lists none; a singular value is the root of another."""
    power = 0.5 if root else 1.0
    if hasattr(answer, "bulks"):
        edges = [(float(bulk.left), float(bulk.right), float(bulk.mass)) for bulk in answer.bulks]
        outliers = [float(at) ** power for at in getattr(answer, "outliers", ())]
    else:
        law, outliers = answer.spectrum, []
        ends = [(float(left), float(right)) for left, right in law.support]
        edges = [(left, right, float(law.cdf(right)) - float(law.cdf(left))) for left, right in ends]
    return [{"left": left**power, "right": right**power, "mass": mass} for left, right, mass in edges], outliers


def _no_spectrum(given: Given, answer: Any, name: str, error: AttributeError) -> CommandError:
    """Why a prediction has none: it says so itself, or it is of something that is no matrix."""
    if hasattr(type(answer), name):
        said = str(error)
        return CommandError(f"{said[0].upper()}{said[1:]}{'' if said.endswith('.') else '.'}")
    return CommandError(
        f"`presage spectrum` is for predictions that have the law of a spectrum: that of --model {given.chosen.name} "
        f"has no {name.replace('_', ' ')}. Use `presage solve` for what it has."
    )


def predicted_bulks(answer: Any) -> list[dict[str, float]]:
    """Bulks of a prediction; none where it has no spectrum, or one that it does not list."""
    if not hasattr(type(answer), "spectrum"):
        return []
    try:
        return _bands(answer)[0]
    except AttributeError:  # the fit is the target itself, and says so
        return []
