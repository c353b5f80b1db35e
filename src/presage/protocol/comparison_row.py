"""One number of a prediction beside the networks that have it too: their means, what is left of them, a verdict."""

from __future__ import annotations

from math import isfinite, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np

from presage.protocol.ensemble import Floats
from presage.protocol.extrapolation import fit_limit, normal_score, over
from presage.protocol.observables import Observable

AGREE = 3.0  # standard errors
ROUNDING = 1e-9  # relative, of a mean: two numbers that are nearer than this are equal


class Row(NamedTuple):
    """One observable: prediction, measurement at each d, and what is left of it as d grows."""

    name: str
    prediction: float
    error_bar: float  # of the prediction, half width of a 95 % interval
    d: tuple[int, ...]
    mean: Floats  # over the seeds, one a dimension
    standard_error: Floats
    a: float  # limit: of the fit a + b/d^correction, or with a single d the mean itself
    a_error: float
    b: float  # 0 with a single d
    misfit: float  # probability of means so far off that line, 1 with fewer than three dimensions
    z: float  # (a - prediction) in standard errors, corrected for few seeds by Student's law
    # Power of d by which the effect of a finite size falls, as the observable declares it; 0 where d is not free.
    correction: float = 1.0

    @property
    def agrees(self) -> bool:
        """Whether prediction and measurement are within three standard errors."""
        return abs(self.z) < AGREE

    @property
    def verdict(self) -> str:
        """The row in a word: they agree, differ, or it is unknown, since the prediction has no error bar."""
        return "unknown" if isnan(self.z) else "agree" if self.agrees else "differ"

    @property
    def sentence(self) -> str:
        """The row in words."""
        sizes = " and ".join(map(str, self.d))
        how = f"networks of d = {sizes} extrapolate to" if len(self.d) > 1 else f"networks of d = {sizes} show"
        verdict = "they agree" if self.agrees else "they do not agree"
        if isnan(self.z):
            verdict = "the prediction has no error bar, so they cannot be compared"
        if len(self.d) == 1 and self.correction:
            verdict += f", finite-size effects of order {over(self.correction)} included"
        return (
            f"{self.name}: predicted {self.prediction:.6g} +- {self.error_bar:.0e}, "
            f"{how} {self.a:.6g} +- {self.a_error:.1e} (z = {self.z:+.1f}): {verdict}."
        )


def row_of(
    observable: Observable, prediction: float, bar: float, sizes: list[int], values: list[Floats], *, free: bool = True
) -> Row:
    """The row of an observable: values of the networks of each size, beside the prediction and its error bar."""
    mean = np.array([value.mean() for value in values])
    standard_error = np.array([value.std(ddof=1) / sqrt(len(value)) for value in values])
    d = np.array(sizes, dtype=np.float64)
    powers = {"correction": observable.correction, "fluctuation": observable.fluctuation}
    a, a_error, b, freedom, misfit = fit_limit(d, values, 1.0 / d if observable.fraction else 0.0, **powers)
    spread = sqrt(a_error**2 + (0.5 * bar) ** 2) + ROUNDING * abs(prediction)
    z = normal_score((a - prediction) / spread, freedom) if isfinite(spread) and spread > 0 else nan
    if spread == 0.0 and a == prediction:  # both know for certain, and the same
        z = 0.0
    seen = (tuple(sizes), mean, standard_error)
    return Row(
        observable.name, prediction, bar, *seen, a, a_error, b, misfit, z, observable.correction if free else 0.0
    )
