"""`presage simulate`: train the finite networks and measure them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import answers, digits, machine, pictures, trainers
from presage.cli.mistakes import InterruptionError
from presage.cli.output import Csv, Json, check_format, emit, say, table, tell_caveats
from presage.cli.problem_options import Given, takes_problem

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = (
    "presage simulate --d 20 --seeds 4",
    "presage simulate --model quadratic --d 20 --seeds 3 --trainer lbfgs --csv",
)
Dimension = Annotated[int, typer.Option("--d", help="Dimension of a token.", rich_help_panel=trainers.PANEL)]
Eigenvalues = Annotated[bool, typer.Option("--eigenvalues", help="Put every eigenvalue into --json too.")]


@takes_problem
def simulate(
    given: Given,
    d: Dimension = 100,
    seeds: trainers.Seeds = 8,
    trainer: trainers.TrainerName = None,
    task: trainers.Task = "label",
    workers: trainers.Workers = None,
    eigenvalues: Eigenvalues = False,
    json: Json = False,
    csv: Csv = False,
    plot: pictures.Plot = None,
) -> None:
    """Train networks of dimension d on sampled data, one a seed, and measure what they learned."""
    check_format(json, csv)
    pictures.check_picture(plot)
    ensemble = train(given, d, seeds, trainer, task, workers)
    names = trainers.measured(trainer)
    means = {name: digits.Measured(ensemble.mean(name), ensemble.standard_error(name)) for name in names}
    done = len(ensemble.values("test_error"))
    single = ["one network has no standard error: use more --seeds."] if done == 1 else machine.silent(means)
    caveats = [*ensemble.caveats, *single]
    if plot is not None:
        from presage.cli import histogram_picture

        pictures.save(histogram_picture.draw(given, [ensemble], None), plot)

    def human(out: Console) -> None:
        say(out, given.title())
        say(out, f"{done} networks of d = {d}, trained by {type(ensemble.trainer).__name__}")
        lines = [(name, *digits.cells(mean), answers.MEANINGS[name]) for name, mean in means.items()]
        table(out, ("observable", "mean", "± s.e.", "meaning"), lines, words=("observable", "meaning"))
        tell_caveats(out, caveats)
        if plot is not None:
            say(out, f"drawn: {plot}")

    content = {
        "problem": given.described(),
        "d": d,
        "trainer": str(ensemble.trainer),
        **means,
        "seeds": per_seed(ensemble, names, eigenvalues),
    }
    emit({**content, "caveats": caveats}, per_seed(ensemble, names, False), human, json=json, csv=csv)


def train(given: Given, d: int, seeds: int, trainer: str | None, task: str, workers: int | None) -> Any:
    """Train an ensemble; Ctrl-C says what is lost."""
    import presage as ps

    if trainer != trainers.BAYES:
        given.must_be_trainable()
    problem = given.problem()
    how = trainers.options(problem, given.model.rectangular, trainer, task, workers)
    try:
        return ps.simulate(problem, d=d, seeds=seeds, **how)
    except KeyboardInterrupt:
        raise InterruptionError(
            "Interrupted; the networks trained so far are lost. "
            "`presage sweep simulate --store FOLDER` keeps what is done and goes on."
        ) from None


def per_seed(ensemble: Any, names: Sequence[str], eigenvalues: bool) -> list[dict[str, Any]]:
    """One row a network."""
    failures = getattr(ensemble, "failures", {})
    rows = []
    for index, seed in enumerate(ensemble.seeds):
        row: dict[str, Any] = {"seed": seed, "d": ensemble.d}
        row |= {name: float(getattr(ensemble, name)[index]) for name in names}
        row["converged"] = bool(ensemble.converged[index])
        if eigenvalues:
            values = "eigenvalues" if hasattr(ensemble, "eigenvalues") else "singular_values"
            row[values] = getattr(ensemble, values)[index]
        rows.append({**row, "outcome": f"failed: {failures[seed]}" if seed in failures else "done"})
    return rows
