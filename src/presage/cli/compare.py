"""`presage compare`: prediction and training side by side."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import digits, machine, pictures, trainers
from presage.cli.mistakes import CommandError
from presage.cli.output import Csv, Json, check_format, emit, say, table, tell_caveats
from presage.cli.problem_options import Given, takes_problem
from presage.cli.simulate import train

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = (
    "presage compare --d 50,100 --seeds 8",
    "presage compare --model quadratic --alpha 1 --d 20,40 --seeds 4 --json",
)
EXPLAINED = "z counts standard errors, fewer where they rest on few seeds (Student's law); below 3 is agreement."
MOST_COLUMNS = 3  # dimensions that fit a table of 80 columns
Dimensions = Annotated[
    str,
    typer.Option(
        "--d", help="Dimensions to train; several are extrapolated as a + b/d.", rich_help_panel=trainers.PANEL
    ),
]


@takes_problem
def compare(
    given: Given,
    d: Dimensions = "50,100",
    seeds: trainers.Seeds = 8,
    trainer: trainers.TrainerName = None,
    task: trainers.Task = "label",
    workers: trainers.Workers = None,
    json: Json = False,
    csv: Csv = False,
    plot: pictures.Plot = None,
) -> None:
    """Predict, train, and say for every observable whether the two agree."""
    check_format(json, csv)
    pictures.check_picture(plot)
    import presage as ps

    sizes = list(dict.fromkeys(trainers.dimensions(d)))
    if seeds < 2:
        raise CommandError(
            "`--seeds` must be at least 2 here: one network has no standard error to compare by. "
            f"Got --seeds {seeds}. Use for example --seeds 8."
        )
    if trainer != trainers.BAYES:
        given.must_be_trainable()
    problem = given.problem()
    prediction: Any = ps.bayes_optimal(problem) if trainer == trainers.BAYES else ps.solve(problem)
    ensembles = [train(given, size, seeds, trainer, task, workers) for size in sizes]
    found = ps.compare(prediction, *ensembles)
    if plot is not None:
        from presage.cli import histogram_picture

        pictures.save(histogram_picture.draw(given, ensembles, prediction), plot)
    rows = [_row(row) for row in found.rows]

    def human(out: Console) -> None:
        say(out, given.title())
        by_size = [f"d_{size}" for size in found.rows[0].d] if len(sizes) <= MOST_COLUMNS else []
        lines = [
            [
                row["observable"],
                *(digits.with_bar(row[name], 6) for name in ("prediction", *by_size, "limit")),
                _z(row),
                row["verdict"],
            ]
            for row in rows
        ]
        head = (
            "observable",
            "predicted",
            *(name.replace("_", " = ") for name in by_size),
            "d → ∞" if len(sizes) > 1 else "trained",
            "z",
            "verdict",
        )
        table(out, head, lines, words=("observable", "verdict"))
        say(out, EXPLAINED)
        for spectrum in found.spectra:
            out.print(spectrum.sentence)
        tell_caveats(out, found.caveats)
        if plot is not None:
            say(out, f"drawn: {plot}")

    content = {
        "problem": given.described(),
        "agrees": found.agrees,
        "rows": rows,
        "spectra": [spectrum._asdict() for spectrum in found.spectra],
        "caveats": [*found.caveats, *(line for row in rows for line in machine.silent(row))],
    }
    emit(content, rows, human, json=json, csv=csv)


def _row(row: Any) -> dict[str, Any]:
    sizes = zip(row.d, row.mean, row.standard_error, strict=True)
    return {
        "observable": row.name,
        "prediction": digits.Measured(row.prediction, row.error_bar),
        **{f"d_{size}": digits.Measured(float(mean), float(error)) for size, mean, error in sizes},
        "limit": digits.Measured(row.a, row.a_error),
        "z": float(row.z),
        "verdict": "unknown" if isnan(row.z) else "agree" if row.agrees else "differ",
    }


def _z(row: dict[str, Any]) -> str:
    return "" if isnan(row["z"]) else f"{row['z']:+.1f}"
