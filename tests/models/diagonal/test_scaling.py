"""Power-law targets of a diagonal network: laws against the exact curve, phases, boundaries, what is refused."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import presage as ps
from presage.models.diagonal.experiment.simulate import draw_samples, draw_target
from presage.models.diagonal.theory.scaling import laws
from presage.models.diagonal.theory.scaling.composite import clipped_squares, composite_error, fraction_above
from presage.models.diagonal.theory.scaling.law_here import PHASES, law_of
from presage.models.diagonal.theory.scaling.phases import (
    boundaries_of,
    cutoff_of_all_kept,
    noise_limited_cutoff,
    nothing_is_fitted,
    phase_of,
    weight_decay_of_nothing,
)
from presage.models.diagonal.theory.scaling.power_problem import PowerProblem, power_of, power_problem

DRAWS: list[Any] = ["fixed", "gaussian"]


def problem_of(
    gamma: float, d: int, n: float, decay: float, noise: float = 0.5, draw: Any = "fixed"
) -> ps.DiagonalProblem:
    return ps.diagonal_network(ps.PowerLaw(gamma, d), alpha=n / d, weight_decay=decay, noise=noise, draw=draw)


def turned(p: PowerProblem, field: str, value: float) -> PowerProblem:
    return p._replace(n=value) if field == "n" else p._replace(weight_decay=value)


def error(*numbers: Any, **options: Any) -> float:
    return float(ps.solve(problem_of(*numbers, **options)).estimation_error)


# One point well inside each phase: gamma, d, n, weight decay, noise, and how far the law may be off there.
INSIDE: dict[str, tuple[Any, ...]] = {
    "Ia": (1.25, 1000, 3, 1e-4, 0.5, 0.02),
    "Ib": (1.25, 1000, 300, 30.0, 0.5, 1e-6),
    "II": (1.25, 100_000, 1e6, 44.721, 0.5, 0.02),
    "III": (0.75, 300, 3e5, 3.0, 1e-3, 1e-6),
    "IV": (0.75, 100_000, 300, 1e-6, 1e-3, 0.3),
    "V": (2.0, 10_000, 3000, 1e-6, 0.5, 0.02),
    "peak": (2.0, 10_000, 10_000, 1e-5, 0.5, 1e-3),
    "VI": (1.25, 10_000, 100_000, 1e-6, 0.5, 1e-5),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("phase", INSIDE)
def test_every_phase_has_its_law(phase, draw):
    *numbers, off = INSIDE[phase]
    found = ps.scaling(problem_of(*numbers).replace(draw=draw))
    assert found.phase == phase
    # Of Gaussian entries a few are larger or smaller than their standard deviations at any place.
    off = off if draw == "fixed" else max(off, 0.1 if phase in ("Ia", "Ib", "III") else 0.03)
    assert found.law_value == pytest.approx(found.error, rel=off)
    assert found.error == pytest.approx(found.prediction.estimation_error)
    assert set(INSIDE) == set(PHASES)


def test_a_phase_is_not_another():
    """The law of the next phase is wrong where that of the phase is right."""
    for phase, other in (("II", "V"), ("III", "VI"), ("IV", "V"), ("V", "IV"), ("peak", "II"), ("VI", "II")):
        *numbers, off = INSIDE[phase]
        problem = problem_of(*numbers)
        assert abs(log(law_of(power_problem(problem), other).value / ps.solve(problem).estimation_error)) > 2 * off


@pytest.mark.parametrize(
    ("gamma", "n", "decay", "in_n", "in_decay"),
    [
        (0.75, 1e5, 10.0, -0.673, 0.675),
        (1.25, 1e6, 44.721, -1.190, 1.190),
        (2.0, 1e8, 447.21, -1.492, 1.490),
    ],
)
def test_law_of_the_regularised_phase(gamma, n, decay, in_n, in_decay):
    """Phase II at d = 1e5: the exponents over a factor of three either side, and the prefactor."""
    found = ps.scaling(problem_of(gamma, 100_000, n, decay))
    assert found.phase == "II"
    local = found.local_exponents
    assert (local["n"], local["weight_decay"]) == pytest.approx((in_n, in_decay), abs=2e-3)
    assert found.law.exponents == pytest.approx({"n": 1 / gamma - 2, "weight_decay": 2 - 1 / gamma})
    assert local == pytest.approx(found.law.exponents, abs=0.03)
    assert found.law_value == pytest.approx(found.error, rel=0.03)
    Z = np.sum(np.arange(1, 100_001.0) ** (-2 * gamma))
    y = decay * sqrt(100_000) / n
    assert found.law_value == pytest.approx(2 * gamma / (2 * gamma - 1) * Z ** (-0.5 / gamma) * y ** (2 - 1 / gamma))
    gaussian = ps.scaling(problem_of(gamma, 100_000, n, decay, draw="gaussian"))
    assert gaussian.law_value == pytest.approx(gaussian.error, rel=0.03)
    assert gaussian.law_value < 0.9 * found.law_value  # E |z|^(1/gamma) is no 1: the laws tell the draws apart


def test_error_with_every_entry_kept_is_exact():
    for decay, noise in ((3.0, 1e-3), (0.1, 1e-3), (0.05, 0.0)):
        found = ps.scaling(problem_of(0.75, 300, 3e5, decay, noise))
        assert found.prediction.nonzero == pytest.approx(1.0, abs=1e-13)
        exact = laws.error_of_all_kept(power_problem(found.problem))
        assert exact == pytest.approx(found.error, rel=1e-11)
        assert found.phase in ("III", "VI")
        assert found.law.exact == (found.phase == "III")
    local = ps.scaling(problem_of(0.75, 300, 3e5, 3.0, 1e-6), factor=1.2).local_exponents
    assert local == pytest.approx({"n": -2.0, "weight_decay": 2.0}, abs=0.01)


@pytest.mark.parametrize("gamma", [0.75, 1.25, 2.0])
def test_sum_of_both_noise_limited_laws(gamma):
    """IV and V together, the sum of IV as it is: .998-1.085 of the exact error at d = 1e4."""
    d, noise = 10_000, 0.5
    theta = ps.PowerLaw(gamma, d).atoms.positions
    for n in (100, 300, 1000):
        p = power_problem(problem_of(gamma, d, n, 1e-6))
        chi = laws.noise_cutoff(p.alpha)
        total = noise
        for _ in range(300):  # alpha delta^2 = Delta + R
            variance = (noise + total) / p.alpha
            total = float(np.mean(np.minimum(theta**2, chi**2 * variance)) + variance * laws.bulk_risk(chi))
        exact = error(gamma, d, n, 1e-6)
        assert 0.998 < total / exact < 1.095
        assert composite_error(p) == pytest.approx(exact, rel=0.15)
        assert laws.error_limited_by_noise(p) == pytest.approx(exact, rel=0.15)
        # Each law solves its own equation, and is the smaller part that it is.
        R = laws.error_of_sequence(p)
        delta = sqrt((noise + R) / (p.alpha - laws.bulk_risk(chi)))
        assert laws.error_above(p, chi * delta) == pytest.approx(R, rel=1e-12)
        assert p.alpha * delta**2 == pytest.approx(noise + laws.error_limited_by_noise(p), rel=1e-10)
        V = laws.error_of_overfitting(p)
        assert (noise + V) / p.alpha * laws.bulk_risk(chi) == pytest.approx(V, rel=1e-10)
        assert max(R, V) < exact


def test_noiseless_sequence():
    """Without noise IV solves to a power of n, up to the logarithm: ``R ~ (chi^2/n)^(2 gamma - 1)``."""
    p = power_problem(problem_of(1.25, 100_000, 100.0, 1e-9, 0.0))
    assert phase_of(p) == "IV"
    chi = laws.noise_cutoff(p.alpha)
    unit = laws.error_above(p, chi / sqrt(p.alpha - laws.bulk_risk(chi)))
    assert laws.error_of_sequence(p) == pytest.approx(unit ** (2 * 1.25), rel=1e-12)
    assert laws.error_of_overfitting(p) == 0.0
    assert composite_error(p) == pytest.approx(error(1.25, 100_000, 100.0, 1e-9, 0.0), rel=0.15)


@pytest.mark.parametrize(("close_to", "ratio"), [(99.5, 0.9976), (1600.0, 0.99985)])
@pytest.mark.parametrize("d", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_peak(close_to, ratio, d):
    """At gamma = 2 where the error is 99.5 and 1600: the ratios are those of d = 1e6, and nearly those of 1e5."""
    decay = 0.25 * sqrt(np.pi / 2) / 4 * (ratio / close_to) ** 1.5
    problem = problem_of(2.0, d, float(d), decay)
    p = power_problem(problem)
    exact = ps.solve(problem).estimation_error
    assert phase_of(p) == "peak"
    assert exact == pytest.approx(close_to, rel=1e-4)
    off = 5e-5 if close_to < 1000 else 1e-5
    assert exact / laws.error_at_peak(p) == pytest.approx(ratio, abs=off if d > 100_000 else 2 * off)


def test_slope_at_the_peak():
    found = ps.scaling(problem_of(2.0, 10_000, 10_000, 1e-5))
    assert found.local_exponents["weight_decay"] == pytest.approx(-2 / 3, abs=2e-3)
    assert "n" not in found.law.exponents
    assert any("no exponent in n" in line for line in found.caveats)


@pytest.mark.parametrize("gamma", [0.75, 1.25, 2.0])
def test_error_of_many_samples(gamma):
    """VI: ``Delta/(alpha - 1)``, of every gamma alike: no VIa and VIb."""
    found = ps.scaling(problem_of(gamma, 10_000, 100_000, 1e-6))
    assert found.phase == "VI"
    assert found.error == pytest.approx(5.55555e-2, abs=1e-7)
    assert found.law_value == pytest.approx(5.55556e-2, abs=1e-7)
    far = ps.scaling(problem_of(gamma, 1000, 1e6, 1e-6))
    assert far.local_exponents == pytest.approx({"n": -1.0, "weight_decay": 0.0}, abs=2e-3)


@pytest.mark.parametrize(("alpha", "decay"), [(0.05, 0.0), (0.05, 0.02), (0.9, 1e-3), (1.0, 0.1), (3.0, 0.4)])
def test_noise_alone_is_the_whole_of_a_tiny_target(alpha, decay):
    tiny = ps.solve(ps.diagonal_network(ps.PointMasses([1e-9]), alpha=alpha, weight_decay=decay, noise=0.5))
    found = laws.bulk(alpha, decay, 0.5)
    assert (found.delta, found.chi * found.delta) == pytest.approx((tiny.delta, tiny.cutoff), rel=1e-8)
    assert found.overfitting == pytest.approx(tiny.estimation_error, rel=1e-8)
    if decay == 0.0:
        assert found.chi == laws.noise_cutoff(alpha)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(("gamma", "n", "noise"), [(1.25, 40, 0.5), (0.75, 200, 2.0), (2.0, 600, 0.05)])
def test_weight_decay_from_which_on_nothing_is_fitted(draw, gamma, n, noise):
    """Against the median of ``|A'y|_inf`` over data: a fit is zero from there on, whatever trains it."""
    problem, d, draws = problem_of(gamma, 200, n, 1.0, noise, draw), 200, 500
    rng, largest = np.random.default_rng(0), []
    for _ in range(draws):
        A, labels = draw_samples(draw_target(problem, d, rng), noise, n, rng)
        largest.append(np.abs(labels @ A).max())
    predicted = weight_decay_of_nothing(power_problem(problem))
    # The limit has no fluctuation of |x_i|^2, nor of the size of the target, which a Gaussian first entry makes.
    assert np.median(largest) == pytest.approx(predicted, rel=0.08 if n < 100 or draw == "gaussian" else 0.03)
    for side, fitted in ((0.999, False), (1.001, True)):
        p = power_problem(problem.replace(weight_decay=side * predicted))
        assert nothing_is_fitted(p) is fitted
    zero = ps.simulate(problem.replace(weight_decay=1.7 * predicted), d=d, seeds=4, n_test=10, processes=1)
    assert draw == "gaussian" or zero.nonzero.max() == 0.0


def test_boundaries_are_where_neighbours_are_equal():
    p = power_problem(problem_of(1.25, 100_000, 100.0, 1e-6, 0.01))
    assert phase_of(p) == "IV"
    by = {(b.field, b.there): b.value for b in boundaries_of(p)}
    both = p._replace(n=by["n", "V"])
    assert laws.error_of_sequence(both) == pytest.approx(laws.error_of_overfitting(both), rel=1e-9)
    first = p._replace(n=by["n", "Ia"])
    assert noise_limited_cutoff(first) == pytest.approx(p.amplitude, rel=1e-9)
    decay = p._replace(weight_decay=by["weight_decay", "II"])
    assert laws.error_of_weight_decay(decay) == pytest.approx(laws.error_of_sequence(decay), rel=1e-9)
    # More samples than entries: II ends at III, III at VI.
    p = power_problem(problem_of(0.75, 300, 3e5, 3.0, 1e-3))
    by = {(b.field, b.there): b.value for b in boundaries_of(p)}
    assert by["weight_decay", "II"] == pytest.approx((p.alpha - 1.0) * cutoff_of_all_kept(p), rel=1e-9)
    least = p._replace(weight_decay=by["weight_decay", "VI"])
    assert (least.weight_decay / (p.alpha - 1.0)) ** 2 == pytest.approx(laws.error_of_least_squares(least), rel=1e-9)
    c = cutoff_of_all_kept(p)
    assert laws.error_above(p, c) == pytest.approx(c**2, rel=1e-12)
    # The peak ends where its law is that of V and of VI, and where weight decay cuts the noise.
    p = power_problem(problem_of(2.0, 10_000, 10_000, 1e-4))
    by = {(b.field, b.there): b.value for b in boundaries_of(p)}
    for there, law in (("V", laws.error_of_overfitting), ("VI", laws.error_of_least_squares)):
        edge = p._replace(n=by["n", there])
        assert law(edge) == pytest.approx(laws.error_at_peak(edge), rel=1e-6)
        assert abs(edge.alpha - 1.0) == pytest.approx(0.5 / laws.error_at_peak(edge), rel=0.05)
    cut = p._replace(weight_decay=by["weight_decay", "II"])
    fitted_noise = laws.bulk(cut.alpha, cut.weight_decay, cut.noise).overfitting
    assert laws.error_of_weight_decay(cut) == pytest.approx(fitted_noise, rel=1e-8)
    # Ib is known beyond leading order.
    p = power_problem(problem_of(1.25, 1000, 300.0, 1.0))
    above = {(b.field, b.there): b for b in boundaries_of(p)}["weight_decay", "Ib"]
    assert above.exact
    assert above.value == pytest.approx(weight_decay_of_nothing(p), rel=1e-9)
    assert not any(b.exact for b in boundaries_of(p) if "Ib" not in (b.here, b.there))


@settings(deadline=None, max_examples=25, derandomize=True)
@given(
    gamma=st.sampled_from([0.6, 0.75, 1.25, 2.0]),
    draw=st.sampled_from(DRAWS),
    log_n=st.floats(log(2.0), log(1e6)),
    log_decay=st.floats(log(1e-6), log(30.0)),
    noise=st.sampled_from([0.0, 1e-3, 0.5]),
)
def test_the_phase_is_that_of_its_boundaries(gamma, draw, log_n, log_decay, noise):
    """Between its nearest boundaries the phase does not change, and beyond one it is the one that is named."""
    p = power_problem(problem_of(gamma, 400, float(np.exp(log_n)), float(np.exp(log_decay)), noise, draw))
    here = phase_of(p)
    assert here in PHASES
    for boundary in boundaries_of(p):
        assert boundary.here == here != boundary.there
        value = getattr(p, boundary.field)
        beyond = boundary.value * (1.0 + 1e-9 * (1 if boundary.value > value else -1))
        assert phase_of(turned(p, boundary.field, beyond)) == boundary.there
        assert phase_of(turned(p, boundary.field, sqrt(value * boundary.value))) == here


@pytest.mark.parametrize("draw", DRAWS)
def test_composite_law(draw):
    """Within a tenth of the exact error from Ia to VI with noise, closer away from the cutoff."""
    for gamma in (1.25, 2.0):
        for n in (3, 100, 300, 1000, 3000, 1e5):
            for decay in (1e-4, 0.3, 3.0):
                problem = problem_of(gamma, 1000, n, decay, 0.5, draw)
                found, exact = composite_error(power_problem(problem)), ps.solve(problem).estimation_error
                assert found == pytest.approx(exact, rel=0.17), (gamma, n, decay)
    for phase, off in (("Ib", 1e-6), ("II", 0.01), ("III", 1e-3), ("peak", 1e-3), ("VI", 1e-4)):
        problem = problem_of(*INSIDE[phase][:-1])
        exact = ps.solve(problem).estimation_error
        assert composite_error(power_problem(problem)) == pytest.approx(exact, rel=off), phase


@pytest.mark.parametrize("gaussian", [False, True])
def test_sums_of_clipped_entries(gaussian):
    p = PowerProblem(1.25, 500, 7.0, gaussian, 0.5, 100.0, 0.1)
    sizes = np.abs(np.random.default_rng(0).standard_normal((4000, 1))) if gaussian else np.ones((1, 1))
    theta = sizes * p.theta
    for t in (1e-4, 0.01, 0.3, 5.0, 50.0):
        off = 0.03 if gaussian else 1e-12
        assert clipped_squares(p, t) == pytest.approx(np.mean(np.minimum(theta, t) ** 2), rel=off)
        assert fraction_above(p, t) == pytest.approx(np.mean(theta > t), abs=5e-3 if gaussian else 1e-12)
    assert pytest.approx(np.mean(p.theta**2), rel=1e-12) == p.Q_0


def test_plain_targets_are_scaled_ones():
    """Entries a times as large, a^2 times the noise, a times the weight decay: a^2 times the error, the same phase."""
    d, gamma = 500, 1.25
    unit = ps.scaling(problem_of(gamma, d, 200, 0.02))
    a = 1.0 / ps.PowerLaw(gamma, d).atoms.positions.max()
    plain = [
        ps.PowerLaw(gamma, d, normalized=False),
        ps.PointMasses(np.arange(1, d + 1.0) ** -gamma),
        ps.Empirical(np.arange(1, d + 1.0) ** -gamma),
    ]
    for law in plain:
        assert power_of(law) == pytest.approx((gamma, d, 1.0), rel=1e-12)
        found = ps.scaling(ps.diagonal_network(law, alpha=200 / d, weight_decay=0.02 * a, noise=0.5 * a**2))
        assert found.phase == unit.phase
        for name in ("error", "law_value", "composite"):
            assert getattr(found, name) == pytest.approx(a**2 * getattr(unit, name), rel=1e-7), name
        assert found.learned == unit.learned
        assert found.weight_decay_max == pytest.approx(a * unit.weight_decay_max, rel=1e-9)
        assert found.local_exponents == pytest.approx(unit.local_exponents, rel=1e-7)


def test_check_values_of_a_plain_target():
    """At (delta, c) = (.6, .3), d = 800, ``sqrt(d) i^-1``, Delta = .5; fixed and Gaussian."""
    target = ps.PointMasses(sqrt(800) / np.arange(1, 801))
    values: list[tuple[Any, float, float, float, float]] = [
        ("fixed", 1.865245356, 0.366568272, 0.171488328, 0.643351115),
        ("gaussian", 1.853338204, 0.364640543, 0.167201754, 0.637869727),
    ]
    for draw, alpha, decay, risk, active in values:
        found = ps.scaling(ps.diagonal_network(target, alpha=alpha, weight_decay=decay, noise=0.5, draw=draw))
        assert (found.error, found.prediction.nonzero) == pytest.approx((risk, active), abs=2e-9)
        assert found.learned == np.sum(sqrt(800) / np.arange(1, 801) > 0.6)


def test_limits_without_weight_decay():
    found = ps.scaling(problem_of(1.25, 1000, 3000, 0.0))
    assert (found.phase, found.law_value, found.composite) == ("VI", pytest.approx(0.25), pytest.approx(0.25))
    assert set(found.local_exponents) == {"n"}
    assert ps.scaling(found.problem, factor=None).local_exponents == {}
    assert any("without weight decay there is no exponent in it" in line for line in found.caveats)
    below = ps.scaling(problem_of(1.25, 1000, 300, 0.0))
    assert below.phase == "V"
    assert below.composite == pytest.approx(below.error, rel=0.1)
    recovered = ps.scaling(problem_of(1.25, 1000, 3000, 0.0, 0.0))
    assert recovered.error == recovered.law_value == 0.0
    assert recovered.local_exponents == {}
    assert recovered.learned == 1000


def test_what_is_asymptotic_is_said():
    said = ps.scaling(problem_of(1.25, 1000, 300, 0.01)).caveats
    assert any("IV and V are not apart" in line for line in said)
    assert any("a leading order" in line for line in said)
    far = ps.scaling(problem_of(0.75, 1000, 999.0, 1e-3, 1e-4))
    assert any("it is not far inside of its phase" in line for line in far.caveats)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (ps.Semicircle(1.0), "`target` must be a power law: a law is about entries A i"),
        (ps.PointMasses([0.0, 1.0], [0.9, 0.1]), "`target` must be a power law"),
        (ps.PointMasses([1.0, 0.5, 0.4, 0.2]), "`target` must be a power law"),
        (ps.PowerLaw(0.5, 100), "`gamma` must be above 0.5: with slower entries"),
    ],
)
def test_a_target_without_a_law_is_refused(target, text):
    with pytest.raises(ps.InputError, match=text):
        ps.scaling(ps.diagonal_network(target, alpha=0.5, weight_decay=0.1, noise=0.5))
    with pytest.raises(ps.InputError, match="`factor` must be a finite number > 1"):
        ps.scaling(problem_of(1.25, 100, 30, 0.1), factor=1.0)
    with pytest.raises(ps.InputError, match="`solver` must be left out here: scaling of this model takes factor"):
        ps.scaling(problem_of(1.25, 100, 30, 0.1), solver=None)


def test_an_answer_can_be_kept(tmp_path):
    found = ps.scaling(problem_of(1.25, 100, 30, 0.1))
    found.save(tmp_path / "law.json")
    again = ps.load(tmp_path / "law.json")
    assert again.law == found.law
    assert again.boundaries == found.boundaries
    assert again.as_dict() == found.as_dict()
    assert {"error", "law_value", "composite", "learned"} <= set(found.as_dict()["observables"])


@pytest.mark.parametrize("decay", [0.01, 0.0])
def test_the_curve_around_a_point(decay):
    """It passes the point with the exact error, phases follow each other, and each law is that of its phase."""
    found = ps.scaling(problem_of(1.25, 1000, 300, decay))
    curve = found.curve()
    assert (curve.field, curve.at) == ("n", pytest.approx(300.0))
    assert curve.error[np.argmin(abs(curve.x - 300.0))] == pytest.approx(found.error, rel=1e-9)
    assert np.all(np.diff(curve.x) > 0.0)
    assert curve.x[0] <= 30.0
    assert curve.x[-1] >= 3000.0
    names = [name for name, _, _ in curve.passed]
    assert names == (["IV", "V", "peak", "VI"] if decay else ["IV", "V", "VI"])
    assert [wall.there for wall in curve.boundaries] == names[1:]
    assert [low for _, low, _ in curve.passed[1:]] == [high for _, _, high in curve.passed[:-1]]
    inside = {name: sqrt(low * high) for name, low, high in curve.passed}
    for name, (x, value) in curve.laws.items():
        assert np.isfinite(value).all()
        assert phase_of(power_problem(found.problem)._replace(n=inside[name])) == name
        at = law_of(power_problem(found.problem)._replace(n=float(x[-1])), name).value
        assert value[-1] == pytest.approx(at, rel=1e-12)
    n, composite = curve.composite
    exact = np.interp(np.log(n), np.log(curve.x), np.log(curve.error))
    assert np.median(np.abs(np.log(composite) - exact)) < 0.1
