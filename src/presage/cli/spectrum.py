"""`presage spectrum`: the eigenvalues, the singular values or the entries that are learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from presage.cli.errors import CommandError
from presage.cli.options import Accuracy, Given, takes_problem
from presage.cli.output import Csv, Json, Plot, check_format, check_picture, emit, say, table, tell_caveats
from presage.protocol import numbers

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
EXAMPLES = {
    "spectrum": (
        "presage spectrum --alpha 4 --noise 0.5 --plot spectrum.png",
        "presage spectrum --target masses:0@0.6,3@0.4 --singular-values --csv",
        "presage spectrum --model diagonal --noise 0.5",
    ),
}
SINGULAR_VALUES = "singular values"
MOST_LINES, FIRST = 12, 3  # of outliers, and of repeated values, in the table; of more, so many of the smallest
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
    """Predict the spectrum of what is learned: zeros, bulks, repeated values, outliers and the density."""
    check_format(json, csv)
    check_picture(plot)
    given.must_answer("solve")
    import presage as ps
    from presage.plots.learned import Learned

    problem = given.problem()
    answer: Any = ps.solve(problem, **given.taken(ps.solve, {"accuracy": accuracy}, problem))
    of_factors = singular_values and getattr(answer, "spectrum_of", "") != SINGULAR_VALUES
    try:
        learned = Learned.of(answer, root=of_factors)
    except AttributeError as error:
        raise _no_spectrum(given, answer, "singular_values" if of_factors else "learned_law", error) from error
    kind, zero, outliers = learned.words, learned.zero, list(learned.outliers)
    bulks, atoms = ([part._asdict() for part in parts] for parts in (learned.bulks, learned.atoms))
    caveats = [*answer.caveats, *filter(None, [learned.left_out])]
    rows = [{"x": x, "density": height} for band in learned.density(points) for x, height in band]

    def human(out: Console) -> None:
        say(out, given.title())
        lines: list[tuple[numbers.Cell, ...]] = [("zero", "0", "0", numbers.cell(zero))] if zero > 0.0 else []
        lines += [("bulk", *(numbers.cell(number) for number in bulk.values())) for bulk in bulks]
        lines += [("repeated", *map(numbers.cell, (at, at, mass))) for at, mass in _ends(learned.atoms)]
        lines += [("outlier", numbers.cell(at), numbers.cell(at), "one") for at in _ends(outliers)]
        table(out, (kind, "from", "to", "fraction"), lines, words=(kind,))
        for count, many in ((len(atoms), "repeated values"), (len(outliers), "outliers")):
            if count > MOST_LINES:
                say(out, f"{count} {many} in all; --json has every one.")
        tell_caveats(out, caveats)

    content = {
        "problem": given.described(),
        "of": kind,
        "zero": zero,
        "bulks": bulks,
        "atoms": atoms,
        "outliers": outliers,
        "density": rows,
        "caveats": caveats,
    }
    emit(content, rows, human, json=json, csv=csv)
    if plot is not None:
        from presage.cli import pictures
        from presage.plots.spectrum import spectrum_panel

        target = None if of_factors else answer.target_law
        pictures.draw(plot, given.title(), lambda: [spectrum_panel(learned, kind, target)], quiet=json or csv)


def _ends(found: Sequence[T]) -> Sequence[T]:
    """What the table has room for: the smallest and, above all, the largest."""
    return found if len(found) <= MOST_LINES else [*found[:FIRST], *found[FIRST - MOST_LINES :]]


def _no_spectrum(given: Given, answer: Any, name: str, error: AttributeError) -> CommandError:
    """Why a prediction has none: it says so itself, or it is of something that has no such law."""
    said = str(error)
    if said and hasattr(type(answer), name):
        return CommandError(f"{said[0].upper()}{said[1:]}{'' if said.endswith('.') else '.'}")
    return CommandError(
        f"`presage spectrum` is for predictions that have the law of a spectrum: that of --model {given.chosen.name} "
        f"has no {'singular values' if name == 'singular_values' else 'spectrum'}. Use `presage solve` for what it has."
    )
