"""Trained queries and keys beside what the theory predicts for them, and beside what it predicts for others.

Other masks, penalties and outputs are in tests/models/untied/test_witnesses.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import presage as ps
from tests.models.untied.problems import cross


def trained(d):
    return ps.simulate(cross(), d=d, seeds=5, processes=1, trainer=ps.LBFGS(tol=1e-4))


def test_a_head_is_on_the_curve():
    networks = [trained(d) for d in (20, 40)]
    found = ps.compare(ps.solve(cross()), *networks)
    assert [row.name for row in found.rows if not row.agrees] == []
    other = cross(alpha=0.75)
    assert not ps.compare(ps.solve(other), *(replace(each, problem=other) for each in networks)).agrees


def test_singular_values_have_the_predicted_law():
    ensemble, spectrum = trained(40), ps.solve(cross()).spectrum
    for level in (1e-4, 0.3, 0.8, 1.5):  # what is zero is zero to the accuracy of the training
        below = np.mean(ensemble.singular_values <= level, axis=1)
        tolerance = 4.0 * float(np.std(below, ddof=1)) / np.sqrt(len(below)) + 1.0 / ensemble.d
        assert np.mean(below) == pytest.approx(spectrum.cdf(level), abs=tolerance)
