"""Exponents of the laws, and of the exact error where the theory says that they can be tested."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.scaling.law_here import law_exponents, law_here, law_value
from presage.models.attention.theory.scaling.local_exponents import exact_error
from presage.models.attention.theory.scaling.phase import PHASES
from presage.models.attention.theory.scaling.quadratic_equivalent import quadratic_equivalent
from tests.models.attention.theory.scaling.point import network, place


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("gamma", [0.75, 1.25, 2.0])
def test_exponents_are_slopes_of_the_laws(phase, gamma):
    """Deep inside of each, where its leading term is all: a difference of logarithms is the exponent."""
    alpha, L = {
        "Ia": (1e-9, 1.0),
        "V": (1e-9, 1.0),
        "III": (1e9, 1e9),
        "IV": (1e9, 1.0),
        "VIa": (1e6, 1.0),
        "VIb": (1e6, 1e-3),
    }.get(phase, (1.0, 1.0))
    here, f = place(gamma, 1000, 1000.0, 1.0)._replace(alpha=alpha, L=L), 1.01
    slopes = {
        "n": log(law_value(here._replace(alpha=here.alpha * f), phase) / law_value(here, phase)) / log(f),
        "weight_decay": log(law_value(here._replace(L=here.L * f), phase) / law_value(here, phase)) / log(f),
    }
    known = law_exponents(here, phase)
    assert {name: slopes[name] for name in known} == pytest.approx(known, abs=0.01)


def test_without_noise_the_exponent_of_IV_is_that_of_clean_labels():
    assert law_exponents(place(1.25, 1000, 10.0, 1e-6, 0.0), "IV")["n"] == pytest.approx(-1.5)
    assert law_exponents(place(1.25, 100, 10.0, 1e-6, 1e-6), "IV")["n"] == pytest.approx(-1.5)
    assert law_exponents(place(1.25, 1000, 10.0, 1e-6, 0.5), "IV")["n"] == pytest.approx(-0.6)


@pytest.mark.parametrize(
    ("gamma", "d", "n_eff", "L", "seen"),
    [
        pytest.param(0.75, 100_000, 1e4, 5.0, (-0.681, 0.684), marks=pytest.mark.slow),
        pytest.param(1.25, 100_000, 1e6, 44.7, (-1.195, 1.191), marks=pytest.mark.slow),
        (1.25, 20_000, 3e5, 50.0, (-1.195, 1.191)),
        (2.0, 10_000, 1e6, 200.0, (-1.49, 1.476)),
    ],
)
def test_exponents_of_II(gamma, d, n_eff, L, seen):
    found = ps.scaling(network(gamma, d, n_eff, L))
    assert found.phase == "II"
    assert found.prediction.cutoff > 4.0 * found.prediction.delta
    assert (found.local_exponent_n, found.local_exponent_weight_decay) == pytest.approx(seen, abs=0.03)
    assert found.local_exponents == pytest.approx(found.law.exponents, abs=0.03)


@pytest.mark.parametrize(("gamma", "n_eff", "seen"), [(2.0, 1e6, -1.0006), (1.25, 1e5, -1.014)])
def test_exponents_of_VIa(gamma, n_eff, seen):
    found = ps.scaling(network(gamma, 10_000, n_eff, 1e-3))
    assert found.phase == "VIa"
    assert found.local_exponent_n == pytest.approx(seen, abs=0.01)
    assert found.local_exponents == pytest.approx(found.law.exponents, abs=0.03)


@pytest.mark.parametrize(
    ("L", "D", "phase", "seen"), [(3e4, 0.5, "III", (-2.0015, 2.0)), (1e-3, 0.5, "VIb", (-1.0005, 0.0))]
)
def test_exponents_where_all_is_learned(L, D, phase, seen):
    found = ps.scaling(network(0.75, 100, 1e7, L, D), factor=1.5)
    assert found.phase == phase
    assert found.law.exact
    assert (found.local_exponent_n, found.local_exponent_weight_decay) == pytest.approx(seen, abs=0.03)


def test_exponents_where_nothing_is_learned():
    for n_eff, L, phase in ((0.01, 1e-4, "Ia"), (1.0, 10.0, "Ib")):
        found = ps.scaling(network(1.25, 1000, n_eff, L))
        assert found.phase == phase
        assert found.local_exponents == pytest.approx({"n": 0.0, "weight_decay": 0.0}, abs=0.03)


@pytest.mark.slow
def test_a_peak_of_another_gamma():
    found = ps.scaling(network(1.25, 100_000, 25_000.0, 1e-3))
    assert found.error == pytest.approx(8.347, abs=5e-4)
    assert found.error / found.law_value == pytest.approx(0.950, abs=5e-4)
    assert found.local_exponent_weight_decay == pytest.approx(-0.662, abs=0.01)


def test_peak():
    """Check value 6 of the theory, and the slope of the peak in weight decay."""
    found = ps.scaling(network(2.0, 100_000, 25_000.0, 1e-4))
    assert found.phase == "peak"
    assert found.error == pytest.approx(40.2453664, rel=1e-8)
    assert found.law_value == pytest.approx(40.770, abs=5e-4)
    assert found.local_exponent_weight_decay == pytest.approx(-0.664, abs=0.01)
    assert "exponent_n" not in {one.name for one in found.known_observables}


def errors(problem, factor: float) -> list[float]:
    """The exact error at fewer samples, here, and at more."""
    here = quadratic_equivalent(problem).place
    return [exact_error(problem, here, here.alpha * f, here.L) for f in (1.0 / factor, 1.0, factor)]


@pytest.mark.parametrize(
    ("gamma", "slope", "ratio"), [(0.75, -0.508, 0.926), (1.25, -1.519, 0.844), (2.0, -3.045, 0.734)]
)
def test_noiseless_IV(gamma, slope, ratio):
    """Slopes and prefactors of clean labels, as seen by the theory at d = 1e5; for 1.25 its check value 9."""
    problem = network(gamma, 100_000, 100.0, 1e-9, 0.0)
    fewer, here, more = errors(problem, 1.5)
    law = law_here(quadratic_equivalent(problem).place, "IV", 1.0, exact=False)
    assert here / law.value == pytest.approx(ratio, abs=0.002)
    assert log(more / fewer) / (2 * log(1.5)) == pytest.approx(slope, abs=0.03)
    assert law.exponents["n"] == pytest.approx(slope, abs=0.05)
    if gamma == 1.25:
        assert here == pytest.approx(0.00697965706, rel=1e-8)


@pytest.mark.slow
def test_local_slopes_from_IV_into_V():
    """At d = 1e5 the error has no plateau: the slopes run from -.66 to +.22 within two decades."""
    slopes = []
    for n_eff in (10.0, 30.0, 100.0, 1000.0):
        fewer, _, more = errors(network(1.25, 100_000, n_eff, 1e-4), 2.0)
        slopes.append(log(more / fewer) / (2 * log(2.0)))
    assert slopes == pytest.approx([-0.66, -0.63, -0.46, 0.22], abs=0.03)


@pytest.mark.slow
def test_clean_labels_in_II():
    found = ps.scaling(network(1.25, 100_000, 1e6, 44.7, 0.0))
    assert found.phase == "II"
    assert (found.local_exponent_n, found.local_exponent_weight_decay) == pytest.approx((-1.184, 1.173), abs=0.03)
    assert np.isfinite(found.composite)
