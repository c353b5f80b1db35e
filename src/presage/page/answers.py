"""What a process computes for the page: each answer is a function that tells plain numbers and words by `tell`.

A question travels as plain data, so that a process that hangs can be ended at any time and another asked instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from time import perf_counter
from typing import Any

from presage.cli.errors import CommandError
from presage.cli.predictions import thresholds_within
from presage.cli.trajectory import followed_trainer
from presage.page.asked import Asked, FieldError
from presage.page.described import shown_observable
from presage.page.spectrum import drawn
from presage.plots.learned import Learned, learned_by
from presage.protocol import numbers
from presage.protocol.errors import ComputationError, InputError
from presage.protocol.tabulated import hints_of, lines_of

Tell = Callable[[Any], None]


def point(tell: Tell, model: str, fields: Mapping[str, str], draft: bool) -> None:
    """The numbers of a problem, their error bars and the spectrum that is learned."""
    import presage as ps

    began = perf_counter()
    asked = Asked(model, fields)
    problem = asked.problem()
    coarse = coarse_options(asked.verb, problem) if draft else {}
    result = getattr(ps, asked.verb)(problem, **coarse)
    learned = learned_by(result)
    target = getattr(result, "target_law", None)
    behind = None if target is None else drawn(Learned.of_law(target, ""))
    tell(
        {
            "kind": "point",
            "stage": "draft" if coarse else "refined",
            "title": asked.given.title(),
            "rows": [_row(*line) for line in lines_of(result)],
            "caveats": list(dict.fromkeys(result.caveats)),
            "hints": list(hints_of(problem)),
            "words": learned.words if isinstance(learned, Learned) else getattr(result, "spectrum_of", None),
            "spectrum": drawn(learned) if isinstance(learned, Learned) else None,
            "no_spectrum": learned if isinstance(learned, str) else "",
            "target": behind,
            "own_dimension": problem.own_dimension,
            "seconds": perf_counter() - began,
        }
    )


def coarse_options(verb: str, problem: Any) -> dict[str, float]:
    """What makes an answer a draft; nothing where a model has but one accuracy."""
    import presage as ps

    draft = problem.draft_accuracy
    if draft is None or "accuracy" not in ps.option_names(getattr(ps, verb), problem):
        return {}
    return {"accuracy": draft}


def _row(name: str, value: float, bar: float, words: str) -> dict[str, Any]:
    """A number with its texts as the command line has them."""
    value_cell, bar_text = numbers.cells(value if isnan(bar) else numbers.Measured(value, bar))
    text = value_cell if isinstance(value_cell, str) else value_cell(numbers.MOST_DIGITS)
    return {"name": name, "words": words, "value": value, "bar": bar, "text": text, "bar_text": bar_text}


def cells(
    tell: Tell, model: str, fields: Mapping[str, str], at: Sequence[Mapping[str, float]], verb: str | None, draft: bool
) -> None:
    """The numbers at several places, one after the other; a place that fails has its reason instead."""
    asked = Asked(model, fields)
    tell([_cell(asked, place, verb or asked.verb, draft) for place in at])


def _cell(asked: Asked, place: Mapping[str, float], verb: str, draft: bool) -> dict[str, Any]:
    import presage as ps

    coarse: dict[str, float] = {}
    try:
        problem = asked.problem(place)
        coarse = coarse_options(verb, problem) if draft else {}
        result = getattr(ps, verb)(problem, **coarse)
    except (ComputationError, InputError) as error:  # the others of the curve may have an answer
        return {"failed": str(error)}
    return {
        "values": {line.name: [line.value, line.bar] for line in lines_of(result)},
        "caveats": list(dict.fromkeys(result.caveats)),
        "rough": bool(coarse),
    }


def way(tell: Tell, model: str, fields: Mapping[str, str], steps: int, trainer: str | None) -> None:
    """What a training shows after every step: the usual one, or a trainer by its name and numbers."""
    import presage as ps

    problem = Asked(model, fields).problem()
    try:
        options = {} if trainer is None else {"trainer": followed_trainer(trainer, problem)}
    except CommandError as error:
        raise FieldError(None, str(error).replace("--trainer ", "").replace("--trainer", "trainer")) from None
    found = ps.trajectory(problem, steps=steps, **options)
    pairs = {one.name: (found.values[one.name], found.error_bars[one.name]) for one in found.observables}
    tell(
        {
            "kind": "way",
            "times": found.times.tolist(),
            "trainer": str(found.trainer),
            "clock": found.trainer.clock,
            "moment": found.trainer.moment,
            "logarithmic": found.trainer.geometric,
            "observables": [shown_observable(one) for one in found.observables],
            "columns": {name: [value.tolist(), bar.tolist()] for name, (value, bar) in pairs.items()},
            "caveats": list(dict.fromkeys(found.caveats)),
        }
    )


def marks(tell: Tell, model: str, fields: Mapping[str, str], low: float, high: float) -> None:
    """The thresholds of a problem between two numbers of samples."""
    found = thresholds_within(Asked(model, fields).problem(), low, high)
    tell(
        [
            {"name": one.name, "words": one.words, "label": one.axis, "at": at, "text": numbers.text(at)}
            for one, at in found
        ]
    )
