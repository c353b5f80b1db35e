"""The law of a label: against drawn labels, against the toolbox, and against itself in other ways."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.multi_index import label_law as module
from presage.models.multi_index.label_law import label_law

PROBLEMS = (
    ps.multi_index(ps.HermiteLink(2), alpha=1.0, features=5, decay=1.0, noise=0.3),
    ps.multi_index(ps.AbsoluteLink(), alpha=1.0, features=3, decay=0.8, noise=0.5),
    ps.multi_index(ps.CosineLink(1.1), alpha=1.0, features=4, decay=1.5, noise=0.1),
    ps.committee(ps.HermiteLink(4), alpha=1.0, features=3, signal=0.2),
)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_law_of_drawn_labels(problem):
    """Means of bounded functions of a label, and of these times ``z_k^2 - 1``, within four standard errors of draws."""
    law, rng, n = label_law(problem), np.random.default_rng(0), 1_000_000
    z = rng.standard_normal((n, problem.features))
    y = problem.link(z) @ problem.weights + np.sqrt(problem.noise) * rng.standard_normal(n)
    u = (y - problem.label_mean) / np.sqrt(problem.label_variance)
    for g in (np.tanh, np.cos, lambda u: np.exp(-((u - 1.0) ** 2))):
        drawn = g(u)
        assert law.weight @ g(law.u) == pytest.approx(drawn.mean(), abs=4.0 * drawn.std() / n**0.5)
        for k in range(min(problem.features, len(law.excess))):
            both = drawn * (z[:, k] ** 2 - 1.0)
            assert law.weight @ (g(law.u) * law.excess[k]) == pytest.approx(both.mean(), abs=4.0 * both.std() / n**0.5)
    assert law.error < 1e-5


@pytest.mark.parametrize("problem", PROBLEMS)
def test_mean_excess_is_zero_and_second_moments_are_positive(problem):
    law = label_law(problem)
    assert law.weight.sum() == pytest.approx(1.0, abs=1e-6)
    assert law.excess @ law.weight == pytest.approx(np.zeros(len(law.excess)), abs=1e-5)
    common = law.weight > 1e-7  # where the density is not rounding
    assert (1.0 + law.excess[:, common]).min() > -1e-3


@pytest.mark.parametrize(
    ("link", "signal"), [(ps.AbsoluteLink(), 1.0), (ps.HermiteLink(2), 0.3), (ps.CosineLink(), 4.0)]
)
def test_single_feature_has_the_law_of_the_toolbox(link, signal):
    """Both quadratures of ``y = sqrt(signal) f(s) + xi``: the same thresholds to six digits."""
    problem = ps.single_index(link, alpha=1.0, signal=signal)
    labels = ps.Labels.additive(lambda s: np.sqrt(signal) * link(s), noise=1.0)
    law = label_law(problem)
    assert 1.0 / (law.weight @ law.excess[0] ** 2) == pytest.approx(ps.best_threshold(labels), rel=1e-6)
    wrong = ps.Labels.additive(lambda s: np.sqrt(2.0 * signal) * link(s), noise=1.0)  # a negative control
    assert 1.0 / (law.weight @ law.excess[0] ** 2) != pytest.approx(ps.best_threshold(wrong), rel=1e-2)


def test_many_small_features_by_their_cumulants(monkeypatch):
    """The same law whether features beyond the 40th are taken as they are or by four cumulants."""
    arguments = (ps.HermiteLink(2), 400, 1.0, 0.5, 1.0)
    whole = module._law.__wrapped__(*arguments)
    monkeypatch.setattr(module, "EXPLICIT", 40)
    short = module._law.__wrapped__(*arguments)
    for g in (np.tanh, np.cos):
        for k in (0, 20, 63):
            found, other = (law.weight @ (g(law.u) * law.excess[k]) for law in (short, whole))
            assert found == pytest.approx(other, rel=1e-4, abs=1e-9)


def test_labels_do_not_depend_on_how_they_are_learned():
    problem = PROBLEMS[0]
    assert label_law(problem) is label_law(problem.replace(alpha=99.0, preprocessing="identity", readout="joint"))


def test_heavy_tails_are_cut_and_told():
    """He_6 has labels of thousands of standard deviations: it keeps its value beyond some score."""
    problem = ps.single_index(ps.HermiteLink(6), alpha=100.0, signal=1.0)
    law = label_law(problem)
    assert 1e-4 < law.error < 0.5
    assert "tails that are resolved" in " ".join(ps.solve(problem).caveats)
    assert ps.solve(problem).error_bars["unlearned"] > 100.0 * law.error * ps.solve(problem).unlearned - 1e-12
    assert label_law(problem.replace(signal=1e-3)).error < 1e-2
