"""`presage trajectory`: what a training shows after every step, predicted, and networks that take the same steps."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import grids
from presage.cli.errors import CommandError, InterruptionError
from presage.cli.options import Given, takes_problem
from presage.cli.output import Csv, Json, Plot, check_format, check_picture, emit, heading, say, table, tell_caveats
from presage.cli.training import PANEL, Workers, compared_seeds, dimensions, draw, trainer_kind
from presage.protocol import numbers

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = {
    "trajectory": (
        "presage trajectory --noise 0.5 --steps 10",
        "presage trajectory --noise 0.5 --steps 6 --d 20,40 --plot way.png",
        "presage trajectory --model quadratic --trainer population-flow:until=20",
    ),
}
MOST_ROWS = 24  # of a table on the screen; beyond it has every second row, or third ...
Steps = Annotated[int, typer.Option("--steps", help="Steps of the training that are followed, or times of a flow.")]
Followed = Annotated[
    str | None,
    typer.Option(
        "--trainer",
        help="Whose steps are followed, where a model knows several, with its numbers: NAME:RATE=0.1,...",
        metavar="NAME",
        show_default=False,
    ),
]
HowMany = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        help="Networks to train with --d, on independent data; or the seeds: 0,1,2. Default 8.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--d",
        help="Train networks of these dimensions too, and set them beside the prediction.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]


@takes_problem
def trajectory(
    given: Given,
    steps: Steps = 20,
    trainer: Followed = None,
    d: Sizes = None,
    seeds: HowMany = None,
    workers: Workers = None,
    json: Json = False,
    csv: Csv = False,
    plot: Plot = None,
) -> None:
    """Predict what a training shows after every step; with --d, train networks that take the same steps."""
    check_format(json, csv)
    check_picture(plot)
    given.must_answer("trajectory")
    given = given.without_what_plays_no_part_in("trajectory")
    import presage as ps

    for name, value in (("--seeds", seeds), ("--workers", workers)):
        if d is None and value is not None:
            raise CommandError(f"`{name}` is for networks, and none are trained. Add --d 50,100, or leave it out.")
    sizes, count = ([], 0) if d is None else (dimensions(given, d, d), compared_seeds(seeds or "8"))
    problem = given.problem()
    known = given.taken(ps.trajectory, {"trainer": trainer}, problem)
    options = {"trainer": followed_trainer(str(trainer), problem)} if known else {}
    found: Any = ps.trajectory(problem, steps=steps, **options)
    if sizes:
        found = ps.compare(found, *(_followed(problem, found, size, count, workers) for size in sorted(sizes)))
    caveats = [*given.idle, *found.caveats]

    def human(out: Console) -> None:
        say(out, given.title())
        say(out, found.head)
        columns = [name for name in found.meanings if not sizes or not name.endswith("_error")]
        every = -(-len(found) // MOST_ROWS)
        shown = [[numbers.text(float(found.column(name)[k])) for name in columns] for k in range(0, len(found), every)]
        table(out, [heading(name) for name in columns], shown, stay=2)
        if every > 1:
            moment = (found.solution.trainer if sizes else found.trainer).moment
            say(out, f"one {moment} of {every} is shown: --csv and --json have all {len(found)}")
        tell_caveats(out, caveats)

    columns = {name: found.column(name).tolist() for name in found.meanings}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    content: dict[str, Any] = {
        "problem": given.described(),
        "trainer": str(found.solution.trainer if sizes else found.trainer),
    }
    if sizes:
        content |= {"d": sizes, "agrees": found.agrees, "limit": found.limit}
    emit({**content, "columns": columns, "caveats": caveats}, rows, human, json=json, csv=csv)
    draw(plot, given, found, quiet=json or csv)


def followed_trainer(text: str, problem: Any) -> Any:
    """A trainer of the model by its name and its numbers: ``descent:rate=0.1,m_0=0.2``."""
    name, _, rest = text.partition(":")
    kind = trainer_kind(name, problem.model, problem.model.ways or problem.model.trainers)
    fields = [field.name for field in dataclasses.fields(kind)]
    numbers_of: dict[str, float] = {}
    for part in filter(None, rest.split(",")):
        field, equals, value = (word.strip() for word in part.partition("="))
        if not equals or field not in fields or field in numbers_of:
            raise CommandError(
                f"`--trainer` must be {name} and numbers of it, each once: {', '.join(fields)}. Got {part!r}. "
                f"Use for example --trainer {name}:{fields[0]}=0.1."
            )
        found = grids.number("--trainer", value)
        numbers_of[field] = int(found) if found.is_integer() else found
    return kind(**numbers_of)


def _followed(problem: Any, way: Any, d: int, seeds: int | list[int], workers: int | None) -> Any:
    """Networks that take the steps of a trajectory; Ctrl-C says what is lost."""
    import presage as ps

    try:
        return ps.simulate(problem, d=d, seeds=seeds, trainer=way.trainer, keep="trajectory", processes=workers)
    except KeyboardInterrupt:
        raise InterruptionError("Interrupted; the networks trained so far are lost.") from None
