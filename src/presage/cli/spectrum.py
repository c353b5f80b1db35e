"""`presage spectrum`: the eigenvalues that are learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import digits, pictures
from presage.cli.mistakes import CommandError
from presage.cli.output import Csv, Json, check_format, emit, say, table, tell_caveats
from presage.cli.problem_options import Given, takes_problem

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = (
    "presage spectrum --alpha 4 --plot spectrum.png",
    "presage spectrum --target masses:0@0.6,3@0.4 --singular-values --csv",
)
Singular = Annotated[
    bool, typer.Option("--singular-values", help="Those of the weights W instead of eigenvalues of S.")
]
Points = Annotated[int, typer.Option("--points", help="Points of the density in each bulk.", min=2, max=100_000)]


@takes_problem
def spectrum(
    given: Given,
    singular_values: Singular = False,
    points: Points = 200,
    json: Json = False,
    csv: Csv = False,
    plot: pictures.Plot = None,
) -> None:
    """Predict the spectrum of what is learned: zeros, bulks, outliers and the density."""
    check_format(json, csv)
    pictures.check_picture(plot)
    given.must_be_trainable()
    import presage as ps
    from presage.cli import spectrum_picture

    answer: Any = ps.solve(given.problem())
    kind = "singular value" if singular_values or given.model.rectangular else "eigenvalue"
    law = _law(given, answer, singular_values)
    bulks, outliers = _bulks(answer, singular_values, given.model.rectangular)
    zero = 1.0 - answer.rank
    bands = spectrum_picture.density_bands(law, bulks, points)
    rows = [{"x": x, "density": height} for band in bands for x, height in band]
    if plot is not None:
        pictures.save(spectrum_picture.draw(given, kind, bands, zero, outliers), plot)

    def human(out: Console) -> None:
        say(out, given.title())
        lines: list[tuple[str, ...]] = [("zero", "0", "0", digits.text(zero))] if zero > 0.0 else []
        lines += [("bulk", *(digits.text(number) for number in bulk.values())) for bulk in bulks]
        shown = outliers if len(outliers) <= 12 else [*outliers[:3], *outliers[-9:]]
        lines += [("outlier", digits.text(at), digits.text(at), "one") for at in shown]
        table(out, (f"{kind}s", "from", "to", "fraction"), lines, words=(f"{kind}s",))
        if len(outliers) > len(shown):
            say(out, f"{len(outliers)} outliers in all; --json has every one.")
        tell_caveats(out, answer.caveats)
        if plot is not None:
            say(out, f"drawn: {plot}")

    content = {
        "problem": given.described(),
        "of": f"{kind}s",
        "zero": zero,
        "bulks": bulks,
        "outliers": outliers,
        "density": rows,
        "caveats": answer.caveats,
    }
    emit(content, rows, human, json=json, csv=csv)


def _law(given: Given, answer: Any, singular_values: bool) -> Any:
    if given.model.rectangular:
        if answer.delta == 0.0:
            raise CommandError(
                "The fit is the target itself, and so is its spectrum: ask for a smaller --alpha or more --noise."
            )
        return answer.spectrum
    if singular_values and given.model_name == "unfactorized":
        raise CommandError(
            "`--singular-values` are those of a factor W, and --model unfactorized trains S itself. Leave it out."
        )
    return answer.singular_values if singular_values else answer.spectrum


def _bulks(answer: Any, singular_values: bool, rectangular: bool) -> tuple[list[dict[str, float]], list[float]]:
    """Bulks and outliers; a singular value of the weights is the root of an eigenvalue."""
    if rectangular:
        law = answer.spectrum
        edges = [(float(left), float(right)) for left, right in law.support]
        return [
            {"left": l, "right": r, "mass": float(law.cdf(r) - (law.cdf(l) if l > 0 else law.zero))} for l, r in edges
        ], []
    power = 0.5 if singular_values else 1.0
    bulks = [
        {"left": float(bulk.left) ** power, "right": float(bulk.right) ** power, "mass": float(bulk.mass)}
        for bulk in answer.bulks
    ]
    return bulks, [float(at) ** power for at in answer.outliers]
