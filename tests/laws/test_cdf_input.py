"""Every cdf and every quantile refuses what it has no answer for, in words, and none returns a nan or a guess."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.spectra.symmetric.learned import LearnedSpectrum, SingularValues
from presage.spectra.symmetric.shrunk_spectrum import ShrunkSpectrum

TARGET = ps.MarchenkoPastur(0.5)
NETWORK = ps.solve(ps.quadratic_network(TARGET, alpha=0.7, weight_decay=0.05, noise=0.5))
RIDGE = ps.solve(ps.Problem(TARGET, ps.Linear(), ps.Frobenius(0.1), 0.7, 0.5))
ELASTIC = ps.solve(ps.Problem(TARGET, ps.Linear(), ps.ElasticSpectral(0.05, 0.1), 0.7, 0.5))
LAWS: list[Any] = [
    TARGET,
    ps.Semicircle(),
    ps.PointMasses([0.0, 1.0]),
    ps.PowerLaw(1.2, 10),
    ps.FreeConvolution(TARGET, 0.3),
    NETWORK.spectrum,
    NETWORK.singular_values,
    RIDGE.spectrum,
    ELASTIC.spectrum,
    ps.GaussianProduct(0.5).squared,
]
SINGULAR: list[Any] = [
    ps.RectangularConvolution(ps.GaussianProduct(0.5), 0.3),
    ps.solve(ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=0.7, weight_decay=0.05)).spectrum,
]


def test_every_class_of_learned_spectra_is_among_them() -> None:
    assert {LearnedSpectrum, SingularValues, ShrunkSpectrum} < {type(law) for law in LAWS}


@pytest.mark.parametrize("law", [*LAWS, *SINGULAR], ids=lambda law: type(law).__name__)
def test_a_cdf_refuses_what_is_not_a_number(law: Any) -> None:
    with pytest.raises(ValueError, match=r"`x` must be real numbers: a mass is counted up to .* Got x=nan\. Drop"):
        law.cdf(np.nan)
    with pytest.raises(ValueError, match=r"`x` must be real numbers: .* Got x='all'"):
        law.cdf("all")
    assert float(law.cdf(np.inf)) == pytest.approx(1.0)
    assert float(law.cdf(-np.inf)) == 0.0


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("p", [np.nan, -0.1, 1.1, np.inf])
def test_a_quantile_refuses_what_is_no_fraction(law: Any, p: float) -> None:
    with pytest.raises(ValueError, match=rf"`p` must be between 0 and 1: it is a fraction .* Got p={p!r}\. Use"):
        law.quantile(np.array([0.5, p]))
    ends = law.quantile(np.array([0.0, 1.0]))
    low, high = law.support[0, 0], law.support[-1, 1]
    assert ends[1] == pytest.approx(high, abs=1e-6 * (high - low))
    assert low - 1e-9 <= ends[0] <= ends[1]
