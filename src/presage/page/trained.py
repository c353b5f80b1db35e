"""Networks trained for the page, told as they come: the loss while it falls, each network, and the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from presage.cli.training import plan
from presage.page.answers import Tell
from presage.page.asked import Asked
from presage.page.bounds import BOUNDS, beyond, within
from presage.page.spectrum import of_networks
from presage.protocol import numbers
from presage.protocol.comparison import Comparison
from presage.protocol.comparison_table import compared, headings, score
from presage.protocol.ensemble import joined
from presage.protocol.errors import InputError, TrainError
from presage.training.history import watched

OFTEN = 0.05  # seconds between two messages about the loss


def train(tell: Tell, model: str, fields: Mapping[str, str], d: Sequence[int], seeds: int, trainer: str | None) -> None:
    """Train networks of each dimension, one a seed, tell each as it ends, and set all beside the prediction."""
    import presage as ps

    asked = Asked(model, fields)
    if len(d) > BOUNDS["dimensions"].most:
        raise beyond("dimensions", len(d))
    sizes = sorted({within("d", size) for size in d})
    within("seeds", seeds)
    _must_fit(asked.problem(), sizes)
    planned = plan(asked.given, trainer, {"processes": 1})
    ensembles: dict[int, Any] = {}
    failed: list[str] = []
    for size in sizes:
        for seed in range(seeds):
            one = _network(tell, planned, size, seed)
            if isinstance(one, str):
                failed.append(f"d = {size}: seed {seed} failed: {one}")
            else:
                ensembles[size] = joined([ensembles[size], one]) if size in ensembles else one
                tell({**_trained(ensembles[size], seeds), "verb": planned.verb})
    if ensembles:
        prediction = getattr(ps, planned.verb)(planned.problem)
        found = _compared(prediction, list(ensembles.values()))
        tell({**found, "caveats": [*failed, *found["caveats"]], "verb": planned.verb})


def _must_fit(problem: Any, sizes: Sequence[int]) -> None:
    """Refuse networks whose samples would fill the memory of the machine that everybody asks."""
    for d in sizes:
        try:
            numbers = problem.samples(d) * d
        except InputError:  # a model of one's own need not count its samples
            return
        if numbers > BOUNDS["numbers"].most:
            raise beyond("numbers", f"{numbers:,} at d = {d}")


def _network(tell: Tell, planned: Any, d: int, seed: int) -> Any:
    """One network, its loss told as it falls; where it could not be trained the reason, which is told too."""
    import presage as ps

    began = told = perf_counter()
    first: float | None = None
    steps: list[list[float]] = []

    def watch(_: float, loss: float) -> None:
        nonlocal first, told, steps
        now = perf_counter()
        # Trainers count their loss in units of their own: over its first value it has none.
        first = loss if first is None else first
        steps.append([now - began, loss / first if first else 1.0])
        if now - told > OFTEN:
            tell({"kind": "loss", "d": d, "seed": seed, "steps": steps})
            told, steps = now, []

    try:
        with watched(watch):
            ensemble = ps.simulate(planned.problem, d=d, seeds=[seed], progress=False, **planned.options)
    except TrainError as error:
        reason = str(error) if error.partial is None else str(error.partial.failures[seed])
        tell({"kind": "network", "d": d, "seed": seed, "values": {}, "failed": reason})
        return reason
    tell({"kind": "loss", "d": d, "seed": seed, "steps": steps})
    values = {one.name: float(ensemble.values(one.name)[0]) for one in ensemble.measured}
    tell({"kind": "network", "d": d, "seed": seed, "values": values, "failed": None})
    return ensemble


def _trained(ensemble: Any, of: int) -> dict[str, Any]:
    """All networks of one dimension so far: means with standard errors, and their histogram."""
    means = {one.name: [ensemble.mean(one.name), ensemble.standard_error(one.name)] for one in ensemble.measured}
    told = {"kind": "trained", "d": ensemble.d, "done": len(ensemble.seeds), "of": of, "means": means}
    return {**told, "histogram": of_networks(ensemble)}


def _compared(prediction: Any, ensembles: Sequence[Any]) -> dict[str, Any]:
    """The comparison as the command line prints it, and in sentences."""
    import presage as ps

    try:
        found = ps.compare(prediction, *ensembles)
    except InputError as error:  # too few networks for a standard error: what they show is on the page all the same
        return {
            "kind": "comparison",
            "headings": [],
            "rows": [],
            "sentences": [str(error)],
            "agrees": None,
            "caveats": [],
        }
    head = headings(found)
    return {
        "kind": "comparison",
        "headings": list(head.values()),
        "rows": [[_text(row[name]) for name in head] for row in compared(found)],
        "sentences": _sentences(found),
        "agrees": found.agrees,
        "caveats": list(dict.fromkeys(found.caveats)),
    }


def _sentences(found: Comparison) -> list[str]:
    return [row.sentence for row in found.rows] + [spectrum.sentence for spectrum in found.spectra]


def _text(value: Any) -> str:
    if isinstance(value, numbers.Measured):
        return numbers.with_bar(value)
    return value if isinstance(value, str) else score(value)
