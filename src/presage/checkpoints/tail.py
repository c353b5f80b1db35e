"""A power law in the upper end of squared singular values, beside the exponents that noise of the same shape has."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.spectra.tails.power_tail import PowerTail, fitted, power_tail

FEWEST, SCORE, NULLS, BAND = 50, 2.0, 100, 0.95
CANNOT_TELL = "cannot tell"


@final
class Tail(NamedTuple):
    """The exponent of a tail, and why it is or is not called a power law."""

    exponent: float  # a of a density x^-a of the squares
    error: float
    size: int  # values in it
    band: tuple[float, float]  # where 95 % of the exponents of noise are
    against_exponential: float  # normal scores of the likelihoods
    against_lognormal: float

    @property
    def power_law(self) -> bool:
        """Whether it may be called one: long enough, likelier than both rivals, not what noise has."""
        outside = not self.band[0] <= self.exponent <= self.band[1]
        return self.size >= FEWEST and min(self.against_exponential, self.against_lognormal) > SCORE and outside

    @property
    def words(self) -> str:
        """The verdict, with its numbers."""
        low, high = self.band
        said = "a power law" if self.power_law else CANNOT_TELL
        return (
            f"{said}: exponent {self.exponent:.2f} +- {self.error:.2f} of {self.size} values, noise of this shape has "
            f"{low:.2f} to {high:.2f}; against an exponential {self.against_exponential:+.1f}, "
            f"against a lognormal {self.against_lognormal:+.1f}"
        )


def tail_of(values: Floats, noise: Floats) -> Tail | None:
    """The tail of the squares of positive values, beside that of draws of noise (a row each); None where all are alike.

    Equation: [CSN09], [V89]: `power_tail`; derived: the band.
    Checked: tests/checkpoints/test_tail.py::test_noise_is_no_power_law
    Checked: tests/checkpoints/test_tail.py::test_the_exponent_is_that_of_the_package
    """
    found: PowerTail | None = power_tail(values**2, bootstrap=0, rng=np.random.default_rng(0))
    if found is None:
        return None
    exponents = [fitted(np.sort(np.log(row**2))).exponent for row in noise[:NULLS]]
    low, high = np.quantile(exponents, [0.5 - BAND / 2, 0.5 + BAND / 2])
    return Tail(
        found.exponent,
        (found.exponent - 1.0) / float(np.sqrt(found.size)),
        found.size,
        (float(low), float(high)),
        found.vuong_exponential,
        found.vuong_lognormal,
    )
