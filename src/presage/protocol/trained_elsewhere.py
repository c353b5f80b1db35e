"""Networks that somebody else trained, set beside the law that their eigenvalues should have.

All that is known of such a network are its eigenvalues (singular values, entries: what the prediction has the law of).
How far they may be from the law is read off networks of the same size that do follow it: drawn, not trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from presage.protocol import checks
from presage.protocol.ensemble import Floats
from presage.protocol.prediction import Prediction

DRAWN = 100  # networks that follow the law, to see how far such networks are from it
GROUPS = 1000  # of as many of them as there are networks, whose means are compared
SEED = 20260101  # of both, so that the same eigenvalues get the same verdict
LEVELS = (0.005, 0.995)  # of these means: what lies between them is usual
DISTANCES = frozenset({"wasserstein", "kolmogorov_smirnov"})
POINTS = 1000  # at which the distribution function is tabulated
BESIDE = 1e-12  # relative: how far below zero the mass of the negative values ends
ONE_BY_ONE = "Pass one array of d numbers a network, for example compare(solution, numpy.linalg.eigvalsh(S))."


class Measure(NamedTuple):
    """One number of the networks, beside what networks show that follow the law."""

    name: str
    words: str
    value: float  # mean over the networks
    expected: float  # mean over networks of this size that follow the law
    low: float  # range of such means over as many networks, 99 % of them
    high: float

    @property
    def usual(self) -> bool:
        """Whether networks that follow the law show such a number."""
        slack = 1e-9 * max(abs(self.low), abs(self.high))
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
class TrainedElsewhere:
    """Eigenvalues of networks trained elsewhere, beside the predicted law."""

    solution: Prediction = field(repr=False)
    values: Floats = field(repr=False)  # one row a network, increasing; those that count as zero are zero
    zero: float  # values of at most this size count as zero
    rows: tuple[Measure, ...]

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
    def agrees(self) -> bool:
        """Whether every number is one that networks of this size show that follow the law."""
        return all(row.usual for row in self.rows)

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
        count = len(self.values)
        head = f"{count} network{'s' if count > 1 else ''} of {self.d} {self.solution.spectrum_of}, trained elsewhere"
        return "\n".join(
            [head, *(row.sentence for row in self.rows), self.verdict, *(f"caveat: {line}" for line in self.caveats)]
        )


def set_beside(solution: Prediction, networks: Sequence[ArrayLike], zero: float | None) -> TrainedElsewhere:
    """Compare the eigenvalues of networks with the predicted law."""
    values, rounding = _rows(networks, solution.spectrum_of)
    small = _zero(zero, values, rounding)
    values[np.abs(values) <= small] = 0.0
    law = _law(solution)
    rng = np.random.default_rng(SEED)
    drawn = np.array([np.sort(law.sample(values.shape[1], rng)) for _ in range(DRAWN)])
    table = _Table.of(law, np.concatenate([values, drawn]))
    names = _names(solution.spectrum_of)
    theirs, usual = (_measured(rows, table, drawn) for rows in (values, drawn))
    groups = rng.integers(DRAWN, size=(GROUPS, len(values)))
    rows = []
    for name, words in names.items():
        low, high = np.quantile(usual[name][groups].mean(axis=1), LEVELS)
        low = 0.0 if name in DISTANCES else low  # nothing is too near to the law
        expected = float(usual[name].mean())
        rows.append(Measure(name, words, float(theirs[name].mean()), expected, float(low), float(high)))
    return TrainedElsewhere(solution, values, small, tuple(rows))


def _names(kind: str) -> dict[str, str]:
    return {
        "rank": f"fraction of {kind} that are not zero",
        "wasserstein": f"mean distance of the {kind} to the law",
        "kolmogorov_smirnov": "largest difference of the distribution functions",
        "top": f"largest of the {kind}",
        "bottom": f"smallest of the {kind}",
        "outside": f"number of {kind} beyond all of those that were drawn",
    }


def _measured(rows: Floats, table: _Table, drawn: Floats) -> dict[str, Floats]:
    """Every measure of each network."""
    distances = np.array([table.distances(row) for row in rows])
    return {
        "rank": np.mean(rows != 0.0, axis=1),
        "wasserstein": distances[:, 0],
        "kolmogorov_smirnov": distances[:, 1],
        "top": rows[:, -1],
        "bottom": rows[:, 0],
        "outside": np.sum((rows > drawn.max()) | (rows < drawn.min()), axis=1).astype(np.float64),
    }


class _Table(NamedTuple):
    """A distribution function at many points, two of them at zero: before and after its mass there."""

    x: Floats
    below: Floats

    @classmethod
    def of(cls, law: Any, rows: Floats) -> _Table:
        low, high = min(float(rows.min()), 0.0), max(float(rows.max()), 0.0)
        size = max(high - low, np.finfo(np.float64).tiny)
        x = np.union1d(np.linspace(low - BESIDE * size, high, POINTS), [-BESIDE * size, 0.0])
        return cls(x, np.asarray(law.cdf(x), dtype=np.float64))

    def distances(self, row: Floats) -> tuple[float, float]:
        """Of one network: the area between the two distribution functions, and their largest difference."""
        steps = np.searchsorted(row, self.x, side="right") / len(row)
        apart = np.abs(steps - self.below)
        area = float(np.sum(0.5 * (apart[1:] + apart[:-1]) * np.diff(self.x)))
        return area, float(apart.max())


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
    """The size at or below which a value is zero: as given, or d roundings of the largest."""
    if zero is None:
        return float(values.shape[1] * rounding * np.abs(values).max())
    reason, remedy = "values of at most this size count as zero", "Leave it out, or use for example <zero=1e-6>."
    return checks.real("zero", zero, at_least=0.0, reason=reason, remedy=remedy)
