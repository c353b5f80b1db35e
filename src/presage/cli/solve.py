"""`presage solve`: the prediction for one problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from presage.cli import answers, digits, machine
from presage.cli.output import Csv, Json, check_format, emit, say, table, tell_caveats
from presage.cli.problem_options import Given, takes_problem

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = (
    "presage solve --alpha 0.5 --noise 0.5 --weight-decay 0.01",
    "presage solve --model quadratic --target power:1.25,400 --alpha 1 --json",
)
SHOWN = ("test_error", "train_loss", "train_error", "estimation_error", "rank", "replicon")
Ridgeless = Annotated[bool, typer.Option("--ridgeless", help="The limit of vanishing weight decay or ridge.")]
Optimal = Annotated[bool, typer.Option("--optimal", help="At the weight decay or ridge of least test error.")]


@takes_problem
def solve(
    given: Given, ridgeless: Ridgeless = False, optimal: Optimal = False, json: Json = False, csv: Csv = False
) -> None:
    """Predict errors, loss and rank at the minimum of the loss, each with its error bar."""
    check_format(json, csv)
    given.must_be_trainable()
    if ridgeless or optimal:
        given = given.without(*answers.PENALTIES)
    answer = answers.predict(given.problem(), ridgeless=ridgeless, optimal=optimal)
    found = answers.observables(answer)
    row = machine.with_caveats(found, answer.caveats)

    def human(out: Console) -> None:
        say(out, given.title())
        strength = [name for name in ("weight_decay", "ridge") if name in found]
        lines = [
            (name, *digits.cells(found[name]), answers.MEANINGS.get(name, "of least test error"))
            for name in (*strength, *SHOWN)
            if name in found
        ]
        table(out, ("observable", "value", "±", "meaning"), lines, words=("observable", "meaning"))
        tell_caveats(out, answer.caveats)

    emit({"problem": given.described(), **row}, [row], human, json=json, csv=csv)
