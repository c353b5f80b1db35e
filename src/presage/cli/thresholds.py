"""`presage thresholds`: from how many samples on things happen."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Any

from presage.cli import answers, digits, machine
from presage.cli.output import Csv, Json, check_format, emit, say, table, tell_caveats
from presage.cli.problem_options import Given, takes_problem

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = (
    "presage thresholds --target mp:0.2 --noise 0",
    "presage thresholds --model bilinear --target product:0.5 --json",
)
MEANINGS = {
    "interpolation": "labels are fitted exactly up to here",
    "perfect_recovery": "weight decay finds the target from here",
    "unfactorized_recovery": "training S itself finds it from here",
    "bayes_recovery": "the best of all methods finds it from here",
    "strong_recovery": "the best of all methods finds it from here",
    "minimal_nuclear_norm": "the least nuclear norm finds it from here",
    "weak_recovery": "something is learned from here (low rank)",
}


def values(found: Any) -> dict[str, float]:
    """The thresholds by name, smallest idea first."""
    return {name: float(getattr(found, name)) for name in MEANINGS if hasattr(found, name)}


@takes_problem
def thresholds(given: Given, json: Json = False, csv: Csv = False) -> None:
    """Say how many samples are needed, in alpha = n/d^2: interpolation, recovery, learning at all."""
    check_format(json, csv)
    import presage as ps

    given = given.without(*answers.UNUSED["thresholds"])
    found = ps.thresholds(given.problem())
    caveats = list(getattr(found, "caveats", ()))

    def human(out: Console) -> None:
        say(out, given.title())
        lines = [
            (name, "none" if isinf(value) else digits.text(value), MEANINGS[name])
            for name, value in values(found).items()
        ]
        table(out, ("threshold", "alpha", "meaning"), lines, words=("threshold", "meaning"))
        tell_caveats(out, caveats)

    row = machine.with_caveats(values(found), caveats)
    emit({"problem": given.described(), **row}, [row], human, json=json, csv=csv)
