"""Where replica symmetry is stable, where weights begin to see a direction, and where principal components do."""

from __future__ import annotations

from math import inf, isnan

import numpy as np
import pytest

import presage as ps
from presage.models.boltzmann.theory.stability import (
    closed_form,
    onset_samples,
    onset_signal,
    stability_samples,
    stability_signal,
    uninformed,
)

LINE = {2.0: 1.724, 3.0: 1.032, 4.0: 0.7784, 6.0: 0.5556, 8.0: 0.4497, 16.0: 0.2858}
ONSET = {3.0: 0.660, 4.0: 0.558, 8.0: 0.378, 16.0: 0.260}


@pytest.mark.parametrize("alpha", LINE)
def test_stability_line(alpha):
    problem = ps.boltzmann(alpha=alpha, signal=1.0)
    found = stability_signal(problem)
    assert found == pytest.approx(LINE[alpha], abs=1e-3 if alpha < 4 else 1e-4)
    assert stability_samples(problem.replace(signal=found)) == pytest.approx(alpha, rel=1e-7)
    assert closed_form(alpha, found).replicon == pytest.approx(1.0, abs=1e-6)
    below, above = (ps.solve(problem.replace(signal=factor * found)) for factor in (0.99, 1.01))
    assert (below.is_stable, above.is_stable) == (False, True)


@pytest.mark.parametrize("alpha", ONSET)
def test_onset_of_replica_symmetric_weights(alpha):
    problem = ps.boltzmann(alpha=alpha, signal=1.0)
    found = onset_signal(problem)
    assert found == pytest.approx(ONSET[alpha], abs=1e-3)
    assert found > alpha**-0.5
    assert onset_samples(problem.replace(signal=found)) == pytest.approx(alpha, rel=1e-6)
    below, above = (ps.solve(problem.replace(signal=factor * found)) for factor in (0.97, 1.03))
    assert (below.is_found, above.is_found) == (False, True)


def test_the_point_that_sees_nothing():
    """Overlaps that are known, of two numbers of samples; the replicon is never below one."""
    for alpha, wanted in {4.0: (1.3141, 0.6981, 2.2106), 8.0: (0.8607, 0.4557, 1.4466)}.items():
        found = uninformed(ps.boltzmann(alpha=alpha, signal=1.0))
        values = (found.overlaps.q[0, 0], found.overlaps.v[0, 0], found.means.replicon)
        np.testing.assert_allclose(values, wanted, atol=2e-4)
    for alpha in (3.0, 30.0, 300.0):
        assert uninformed(ps.boltzmann(alpha=alpha, signal=1.0)).means.replicon > 1.0


@pytest.mark.parametrize(("alpha", "signal"), [(8.0, 1.0), (2.0, 2.0), (5.0, 0.9)])
def test_one_equation_is_the_fixed_point_of_state_evolution(alpha, signal):
    found, known = ps.solve(ps.boltzmann(alpha=alpha, signal=signal)), closed_form(alpha, signal)
    np.testing.assert_allclose(known, [found.overlap, found.size, found.V[0, 0], found.replicon], rtol=1e-8)


def test_one_equation_knows_where_it_ends():
    assert isnan(closed_form(2.0, 0.5).m)  # v is not below one
    assert isnan(closed_form(8.0, 0.36).m)  # below the onset


def test_thresholds_of_a_problem():
    found = ps.thresholds(ps.boltzmann(alpha=4.0, signal=1.0))
    assert found.weak_recovery == 1.0
    assert found.weak_recovery < found.onset < found.stability
    signals = (found.weak_recovery_signal, found.onset_signal, found.stability_signal)
    np.testing.assert_allclose(signals, (0.5, 0.558, 0.7784), atol=1e-3)
    assert set(found.error_bars) == {"weak_recovery", "onset", "stability"}
    assert "is an argument, and not proved" in found.caveats[-1]
    gaussian = ps.thresholds(ps.boltzmann(ps.GaussianUnits(), alpha=4.0, signal=1.0))
    assert (gaussian.weak_recovery, gaussian.onset, gaussian.stability, gaussian.caveats) == (1.0, 1.0, 1.0, ())
    unknown = ps.thresholds(ps.boltzmann(ps.FiniteUnits([0, 1]), alpha=4.0, signal=1.0))
    assert isnan(unknown.onset)
    assert "not known" in str(unknown)
    noise = ps.thresholds(ps.boltzmann(alpha=4.0, signal=0.0))
    assert (noise.weak_recovery, noise.onset, noise.stability) == (inf, inf, inf)
    left = ps.thresholds(ps.boltzmann(alpha=4.0, signal=1.0, units=2))
    assert left.stability == inf
    assert "are never replica symmetric" in left.caveats[0]
    three = ps.thresholds(ps.boltzmann(alpha=4.0, signal=[3.0, 2.0, 1.0], units=3))
    assert isnan(three.stability)
    assert any("a grid of three units" in line for line in three.caveats)


def test_signals_are_told_of_the_strongest_direction():
    """Twice the units of half the signal are the same problem."""
    one = ps.thresholds(ps.boltzmann(alpha=4.0, signal=1.0))
    other = ps.thresholds(ps.boltzmann(alpha=4.0, signal=0.5, spikes=ps.Spikes([2.0])))
    for name in ("weak_recovery", "onset", "stability", "onset_signal", "stability_signal"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-8)
    first, second = (ps.solve(found.problem) for found in (one, other))
    assert (first.alignment, first.pca_alignment) == pytest.approx((second.alignment, second.pca_alignment))


def test_no_signal_is_enough_for_as_many_samples_as_visible_units():
    """alpha <= 1: v = (1 + lam)/(alpha lam) is above one at any signal."""
    assert stability_signal(ps.boltzmann(alpha=1.0, signal=1.0)) == inf


def test_stability_of_two_units_on_signs_is_that_of_the_weaker():
    problem = ps.boltzmann(alpha=8.0, signal=[2.0, 1.0], units=2, latents="signs")
    one = ps.boltzmann(alpha=8.0, signal=1.0, latents="signs")
    assert stability_signal(problem) == pytest.approx(2.0 * stability_signal(one), rel=1e-6)


def test_a_line_of_which_nothing_was_solved_is_not_known(monkeypatch):
    def fails(*_):
        raise ps.SolveError("State evolution does not come to rest.", "")

    problem = ps.boltzmann(alpha=4.0, signal=1.0, latents="signs")
    monkeypatch.setattr("presage.models.boltzmann.theory.stability.fixed_point", fails)
    assert np.isnan(stability_samples(problem))
    assert np.isnan(stability_signal(problem))
    assert any("equations do not come to rest" in line for line in ps.thresholds(problem).caveats)
