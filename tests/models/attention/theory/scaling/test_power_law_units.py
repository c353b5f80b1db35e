"""Units of power laws: second moment one, and plain targets."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits
from tests.models.attention.theory.scaling.point import network


@pytest.mark.parametrize("normalized", [True, False])
def test_eigenvalues_are_those_of_the_law(normalized):
    law = ps.PowerLaw(1.25, 50, normalized)
    units = PowerLawUnits.of(law)
    assert units.size * units.eigenvalues == pytest.approx(law.atoms.positions[::-1], rel=1e-14)
    assert np.mean(units.eigenvalues**2) == pytest.approx(1.0, rel=1e-14)
    assert units.smallest == units.eigenvalues[-1]
    assert [units.above(units.A * k**-1.25 * (1 - 1e-12)) for k in (1, 7, 50)] == [1, 7, 50]
    assert units.above(units.A) == 0


def test_sums_are_over_the_largest():
    units = PowerLawUnits(2.0, 20)
    s = units.eigenvalues
    for K in (0, 1, 7, 20):
        assert units.sums.inverse[K] == pytest.approx(np.sum(1 / s[:K]))
        assert units.sums.inverse_square[K] == pytest.approx(np.sum(s[:K] ** -2.0))
        assert units.sums.rest[K] == pytest.approx(np.sum(s[K:] ** 2))


def test_a_plain_target_is_a_normalized_one():
    """Check value 16 of the theory, and every number of the answer in other units."""
    plain = network(1.25, 500, 40.0, 0.3, 0.01, normalized=False)
    found = ps.scaling(plain)
    assert found.error == pytest.approx(0.00230152867, rel=1e-8)
    a = np.sqrt(plain.Q_0)
    same = ps.scaling(network(1.25, 500, 40.0, 0.3 / a, 0.01 / a**2))
    assert found.phase == same.phase
    assert found.learned == same.learned
    for name in ("error", "law_value", "composite"):
        assert getattr(found, name) == pytest.approx(a**2 * getattr(same, name), rel=1e-8)
    assert found.local_exponents == pytest.approx(same.local_exponents, abs=1e-7)
    for one, other in zip(found.boundaries, same.boundaries, strict=True):
        factor = a if one.field == "weight_decay" else 1.0
        assert one.value == pytest.approx(factor * other.value, rel=1e-6)
    assert any("the target is plain" in line for line in found.caveats)
