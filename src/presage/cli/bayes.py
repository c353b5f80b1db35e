"""`presage bayes`: the best that any method can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presage.cli import answers, digits, machine
from presage.cli.output import Csv, Json, check_format, emit, say, table, tell_caveats
from presage.cli.problem_options import Given, takes_problem

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = (
    "presage bayes --alpha 0.5 --noise 0.5",
    "presage bayes --model hardmax --target mp:0.2 --alpha 2 --noise 0 --json",
)
SHOWN = ("mmse", "test_error", "delta", "mutual_information")


@takes_problem
def bayes(given: Given, json: Json = False, csv: Csv = False) -> None:
    """Find the Bayes-optimal error: the least that any method reaches that knows the law of the target."""
    check_format(json, csv)
    import presage as ps

    given = given.without(*answers.UNUSED["bayes"])
    answer = ps.bayes_optimal(given.problem())
    found = answers.observables(answer)
    row = machine.with_caveats(found, answer.caveats)

    def human(out: Console) -> None:
        say(out, given.title())
        lines = [(name, *digits.cells(found[name]), answers.MEANINGS[name]) for name in SHOWN]
        table(out, ("observable", "value", "±", "meaning"), lines, words=("observable", "meaning"))
        tell_caveats(out, answer.caveats)

    emit({"problem": given.described(), **row}, [row], human, json=json, csv=csv)
