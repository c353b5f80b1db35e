"""Networks that somebody else trained, set beside the law that their eigenvalues should have.

All that is known of such a network are its eigenvalues (singular values, entries: what the prediction has the law of).
How far they may be from the law is read off networks of the same size that do follow it: drawn, not trained.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from presage.protocol import checks
from presage.protocol.ensemble import Floats
from presage.protocol.prediction import Prediction
from presage.protocol.progress import with_progress
from presage.protocol.recorded import Recorded
from presage.protocol.rounding import size_of_zero
from presage.protocol.usual_ranges import FEWEST, LEVEL, MOST, ROUNDING, Range, Table, draws_for, fence, ranges

SEED = 20260101  # of the draws, so that the same eigenvalues get the same verdict
HALF = 1e-4  # a rounding above this is that of half precision
NOTICED = 50  # draws below which the ranges are told to rest on few
ONE_BY_ONE = "Pass one array of d numbers a network, for example compare(solution, numpy.linalg.eigvalsh(S))."


class Measure(NamedTuple):
    """One number of the networks, beside what networks show that follow the law."""

    name: str
    words: str
    value: float  # mean over the networks
    expected: float  # mean over networks of this size that follow the law
    low: float  # range of such means over as many networks
    high: float

    @property
    def usual(self) -> bool:
        """Whether networks that follow the law show such a number."""
        slack = ROUNDING * max(abs(self.low), abs(self.high))
        return self.low - slack <= self.value <= self.high + slack

    @property
    def sentence(self) -> str:
        """The number in words."""
        verdict = "as there" if self.usual else "not as there"
        return (
            f"{self.name}, {self.words}: {self.value:.4g}; networks that follow the law have {self.expected:.4g}, "
            f"from {self.low:.4g} to {self.high:.4g}: {verdict}."
        )


@final
@dataclass(frozen=True, eq=False)
class TrainedElsewhere(Recorded):
    """Eigenvalues of networks trained elsewhere, beside the predicted law."""

    solution: Prediction = field(repr=False)
    values: Floats = field(repr=False)  # one row a network, increasing; those that count as zero are zero
    zero: float  # values of at most this size count as zero
    rows: tuple[Measure, ...]
    fence: tuple[float, float]  # between which all values of as many networks are that follow the law
    drawn: int  # networks that follow the law, from which the ranges are
    rounding: float  # of the precision in which the values came, relative

    @property
    def d(self) -> int:
        """Values of a network."""
        return int(self.values.shape[1])

    def __getitem__(self, name: str) -> Measure:
        """The measure of this name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"{name!r} is not among {', '.join(row.name for row in self.rows)}")

    @property
    def outliers(self) -> Floats:
        """The values beyond the fence, increasing."""
        low, high = self.fence
        return np.sort(self.values[(self.values < low) | (self.values > high)])

    @property
    def agrees(self) -> bool:
        """Whether every number is one that networks of this size show that follow the law."""
        return all(row.usual for row in self.rows)

    @property
    def head(self) -> str:
        """What was compared."""
        count = len(self.values)
        return f"{count} network{'s' if count > 1 else ''} of {self.d} {self.solution.spectrum_of}, trained elsewhere"

    @property
    def verdict(self) -> str:
        """What the numbers say, and no more."""
        unusual = [row.name for row in self.rows if not row.usual]
        if not unusual:
            return (
                f"verdict: at d = {self.d} nothing here speaks against the predicted law; what is smaller than the "
                "ranges above would not be seen."
            )
        return (
            f"verdict: {', '.join(unusual)} {'is' if len(unusual) == 1 else 'are'} not what networks of d = {self.d} "
            "show that follow the predicted law."
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before believing it."""
        said = [*self.solution.caveats]
        convention = self.solution.convention
        said.append(
            "trained elsewhere: labels, noise, penalty and normalisation must be those of the problem"
            + (f", {convention}." if convention else ".")
        )
        if self.drawn < NOTICED:
            said.append(
                f"the ranges rest on {self.drawn} drawn networks of this size and are wide for that: so few tell "
                "less of how far networks are from the law. More `draws` make them narrower, and take longer."
            )
        if self.rounding > HALF:
            said.append(
                f"the {self.solution.spectrum_of} came in half precision, rounded by {self.rounding:.0e} of their "
                "size: the zeros of a matrix in half precision are not small beside the others. Compute them in double "
                "precision, or pass `zero`."
            )
        if not self.agrees:
            said.append(
                "the ranges are those of the limit; trained networks differ from it by a part of order 1/d beside, so "
                "a number just outside of its range may be that. A larger d tells."
            )
        if not self["rank"].usual and self["rank"].value > self["rank"].high:
            said.append(
                f"training by gradients leaves small values where the minimum has zeros; here those of at most "
                f"{self.zero:.1e} count as zero. Pass a larger `zero` if you know how small they are."
            )
        return tuple(said)

    def __str__(self) -> str:
        level = (
            f"networks that follow the law have any of these {len(self.rows)} numbers outside of its range in about "
            f"{100.0 * LEVEL:g} % of all cases or less."
        )
        return "\n".join(
            [
                self.head,
                *(row.sentence for row in self.rows),
                level,
                self.verdict,
                *(f"caveat: {line}" for line in self.caveats),
            ]
        )


def set_beside(
    solution: Prediction,
    networks: Sequence[ArrayLike],
    zero: float | None,
    draws: int | None = None,
    progress: bool | None = None,
) -> TrainedElsewhere:
    """Compare the eigenvalues of networks with the predicted law."""
    values, rounding = _rows(networks, solution.spectrum_of)
    small = _zero(zero, values, rounding)
    values[np.abs(values) <= small] = 0.0
    count, d = values.shape
    drawn = _drawn(_law(solution), d, draws_for(d) if draws is None else _draws(draws), progress)
    table = Table.of(_law(solution), drawn, values)
    theirs, usual = table.measured(values), table.measured(drawn)
    low, high = fence(usual, count)
    theirs["outside"] = np.sum((values < low) | (values > high), axis=1).astype(np.float64)
    known = {**ranges(usual, count, 1.0 / d if table.zero > 0.0 else 0.0), "outside": Range(0.0, 0.0, 0.0)}
    rows = tuple(
        Measure(name, words, float(theirs[name].mean()), *known[name])
        for name, words in _names(solution.spectrum_of, low, high).items()
    )
    return TrainedElsewhere(solution, values, small, rows, (low, high), len(drawn), rounding)


def _names(kind: str, low: float, high: float) -> dict[str, str]:
    return {
        "rank": f"fraction of {kind} that are not zero",
        "wasserstein": f"mean distance of the {kind} to the law",
        "kolmogorov_smirnov": "largest difference of the distribution functions",
        "top": f"largest of the {kind}",
        "bottom": f"smallest of the {kind}",
        "outside": f"number of {kind} a network below {low:.4g} or above {high:.4g}",
    }


def _drawn(law: Any, d: int, draws: int, progress: bool | None) -> Floats:
    """Networks of this size that follow the law, one a row, increasing."""
    rng = np.random.default_rng(SEED)
    show = sys.stderr.isatty() if progress is None else progress
    each = (np.sort(law.sample(d, rng)) for _ in range(draws))
    return np.array([*with_progress(each, draws, words="drawing", unit="networks", show=show)])


def _draws(draws: Any) -> int:
    reason = f"the ranges are those of so many networks that follow the law; fewer than {FEWEST} have no spread to tell"
    remedy = f"Leave it out, or use for example <draws={MOST}>."
    return checks.integer("draws", draws, at_least=FEWEST, reason=reason, remedy=remedy)


def _law(solution: Prediction) -> Any:
    """The law that the values of one network have."""
    law = None
    reason = "this prediction has no law of the values of a network"
    try:
        law = solution.learned_law
        if law is not None:
            law.cdf(0.0)
    except AttributeError as none:  # a fit that is the target itself says so
        law, reason = None, str(none).rstrip(".")
    if law is None:
        remedy = "Pass <solve()>, of a problem whose fit is not the target itself."
        raise checks.complaint("solution", "have a spectrum", reason, solution, remedy) from None
    return law


def _rows(networks: Sequence[ArrayLike], kind: str) -> tuple[Floats, float]:
    """One row a network, increasing, and the rounding error of the precision in which they came."""
    rows: list[Floats] = []
    rounding = 0.0
    for given in networks:
        array = np.asarray(given)
        if array.dtype.kind not in "iuf" or array.ndim not in (1, 2) or not array.size or not np.isfinite(array).all():
            must, reason = f"be {kind}, finite real numbers", f"a network is known by its {kind}"
            raise checks.complaint("ensembles", must, reason, given, ONE_BY_ONE)
        if array.ndim == 2 and array.shape[0] == array.shape[1]:
            reason = f"{len(array)} x {len(array)} numbers may be a matrix, or the {kind} of {len(array)} networks"
            remedy = f"{ONE_BY_ONE} Several networks are several arrays: compare(solution, *rows)."
            raise checks.complaint("ensembles", "not be a square array", reason, f"shape {array.shape}", remedy)
        if array.dtype.kind == "f":
            rounding = max(rounding, float(np.finfo(array.dtype).eps))
        rows += [np.sort(row) for row in np.atleast_2d(array.astype(np.float64))]
    sizes = sorted({len(row) for row in rows})
    if len(sizes) > 1 or sizes[0] < 2:
        reason = f"the {kind} of each are set beside those of networks of that size, at least 2"
        remedy = "Compare one d at a time."
        raise checks.complaint("ensembles", "be networks of one size", reason, f"sizes {sizes}", remedy)
    return np.array(rows), rounding or float(np.finfo(np.float64).eps)


def _zero(zero: float | None, values: Floats, rounding: float) -> float:
    """The size at or below which a value is zero: as given, or d roundings of the largest and at most 1e-6 of it."""
    if zero is None:
        return size_of_zero(values.shape[1], rounding, float(np.abs(values).max()))
    reason, remedy = "values of at most this size count as zero", "Leave it out, or use for example <zero=1e-6>."
    return checks.real("zero", zero, at_least=0.0, reason=reason, remedy=remedy)
