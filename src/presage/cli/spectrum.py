"""`presage spectrum`: the eigenvalues, or the singular values, that are learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli.errors import CommandError
from presage.cli.options import Accuracy, Given, takes_problem
from presage.cli.output import Csv, Json, Plot, check_format, check_picture, emit, say, table, tell_caveats
from presage.protocol import numbers

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
    from presage.plots.learned import Learned

    problem = given.problem()
    answer: Any = ps.solve(problem, **given.taken(ps.solve, {"accuracy": accuracy}, problem))
    of_factors = singular_values and getattr(answer, "spectrum_of", "") != SINGULAR_VALUES
    name = "singular_values" if of_factors else "spectrum"
    try:
        getattr(answer, name)
        learned = Learned.of(answer, root=of_factors)
    except AttributeError as error:
        raise _no_spectrum(given, answer, name, error) from error
    kind, zero, outliers = learned.words, learned.zero, list(learned.outliers)
    bulks = [bulk._asdict() for bulk in learned.bulks]
    rows = [{"x": x, "density": height} for band in learned.density(points) for x, height in band]

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
    if plot is not None:
        from presage.cli import pictures
        from presage.plots.spectrum import spectrum_panel

        target = None if of_factors else answer.target_law
        pictures.draw(plot, given.title(), lambda: [spectrum_panel(learned, kind, target)], quiet=json or csv)


def _no_spectrum(given: Given, answer: Any, name: str, error: AttributeError) -> CommandError:
    """Why a prediction has none: it says so itself, or it is of something that is no matrix."""
    if hasattr(type(answer), name):
        said = str(error)
        return CommandError(f"{said[0].upper()}{said[1:]}{'' if said.endswith('.') else '.'}")
    return CommandError(
        f"`presage spectrum` is for predictions that have the law of a spectrum: that of --model {given.chosen.name} "
        f"has no {name.replace('_', ' ')}. Use `presage solve` for what it has."
    )
