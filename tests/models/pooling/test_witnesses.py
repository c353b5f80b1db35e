"""Theory and sampled tables side by side, with the numbers that others saw, and controls that must fail."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.pooling.theory.transitions import gain_of


def mean_pooling(correlation, **numbers):
    """Sequences whose tokens are all correlated by the same number."""
    return ps.attention_pooling(ps.MeanPooling(), classes=ps.AlignedTokens(correlation**0.5), **numbers)


# delta, gamma, rho, T, off-diagonal of R: outlier, edge where it was told, alignment; outlier and alignment as seen.
SEEN = [
    (0.5, 0.5, 1.0, 8, 0.6, 9.48, 4.41, 0.608, 9.79, 0.617),
    (0.25, 1.0, 1.0, 8, 0.5, 7.91, None, 0.637, 7.74, 0.642),
    (0.5, 0.5, 0.5, 32, 0.2, 8.89, 4.41, 0.452, 8.68, 0.446),
]


@pytest.mark.parametrize(("delta", "gamma", "rho", "T", "r", "top", "edge", "aligned", "seen_top", "seen"), SEEN)
def test_numbers_that_were_seen(delta, gamma, rho, T, r, top, edge, aligned, seen_top, seen):
    found = ps.solve(mean_pooling(r, alpha=1 / gamma, vocabulary=1 / delta, signal=rho, n_tokens=T))
    assert found.top == pytest.approx(top, abs=6e-3)
    assert edge is None or found.edge == pytest.approx(edge, abs=6e-3)
    assert found.alignment == pytest.approx(aligned, abs=6e-4)
    # What was seen is a mean of four tables of d = 800: spreads of .45 and .02 a table.
    assert found.top == pytest.approx(seen_top, abs=3 * 0.45 / 2)
    assert found.alignment == pytest.approx(seen, abs=3 * 0.02 / 2)


POINTS = {
    "mean": mean_pooling(0.4, alpha=2.0, vocabulary=3.0, signal=0.8, n_tokens=8),
    "causal": ps.attention_pooling(
        ps.CausalPooling(1.0), alpha=3.0, vocabulary=2.0, signal=1.0, classes=ps.AlignedTokens(1.0, 0.8), n_tokens=12
    ),
    "best": ps.attention_pooling(
        ps.BestPooling(), alpha=0.7, vocabulary=1.5, signal=1.5, classes=ps.AlignedTokens(0.9, 0.9), n_tokens=16
    ),
    "given": ps.attention_pooling(
        ps.GivenPooling(np.linspace(1.0, 0.2, 10)),
        alpha=1.5,
        vocabulary=0.8,
        signal=1.0,
        classes=ps.CorrelatedTokens(0.8 ** np.abs(np.subtract.outer(range(10), range(10)))),
        n_tokens=10,
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "causal" else pytest.mark.slow) for name in POINTS]
)
def test_pooled_tokens_agree_with_the_theory(name):
    problem = POINTS[name]
    prediction = ps.solve(problem)
    tables = [ps.simulate(problem, d=d, seeds=16, processes=1) for d in (100, 200)]
    found = ps.compare(prediction, *tables)
    assert found.agrees, str(found)
    assert found["edge"].correction == pytest.approx(2 / 3)
    assert all(spectrum.kolmogorov_smirnov < 0.05 for spectrum in found.spectra)
    # A wrong gain is seen: the class without what neighbours add to it.
    wrong = abs(ps.solve(problem.replace(pooling=ps.GivenPooling([1.0] + [0.0] * (problem.n_tokens - 1)))).top)
    assert abs(found["top"].a - wrong) > 4 * found["top"].a_error


@pytest.mark.slow
def test_finite_sizes_are_corrected_as_declared():
    """The second eigenvalue is below the edge by d^(-2/3): the line through three sizes ends at the edge."""
    problem = mean_pooling(0.6, alpha=2.0, vocabulary=2.0, signal=1.0, n_tokens=16)
    found = ps.compare(ps.solve(problem), *(ps.simulate(problem, d=d, seeds=24, processes=1) for d in (50, 100, 200)))
    edge = found["edge"]
    assert edge.b < 0.0
    assert edge.misfit > 1e-3
    assert edge.agrees


def test_no_outlier_below_threshold():
    problem = mean_pooling(0.1, alpha=0.5, vocabulary=1.0, signal=0.2, n_tokens=8)
    assert not ps.solve(problem).is_found
    tables = ps.simulate(problem, d=300, seeds=6, processes=1)
    assert tables.mean("alignment") < 0.02
    assert tables.mean("top") == pytest.approx(ps.solve(problem).edge, rel=0.05)


def test_without_centring_a_spurious_outlier_appears():
    """(sum w)^2 delta/kappa: the mean of the table, with no class in sight."""
    problem = mean_pooling(0.0, alpha=2.0, vocabulary=0.25, signal=0.0, n_tokens=16)
    centred, plain = (ps.simulate(problem, d=200, seeds=4, centred=on, processes=1) for on in (True, False))
    edge = ps.solve(problem).edge
    assert centred.mean("top") < edge * 1.05
    spurious = 16 / 0.25  # (sum w)^2 delta/kappa with w = 1/T
    assert plain.mean("top") > spurious
    assert plain.mean("edge") == pytest.approx(centred.mean("top"), rel=0.05)
    assert "were not centred" in plain.departures[0]
    with pytest.raises(ps.InputError, match="be of one kind"):
        ps.compare(ps.solve(problem), centred, ps.simulate(problem, d=100, seeds=4, centred=False, processes=1))


def test_many_sequences_leave_the_table():
    """N much larger than V: the first direction is that of the table, aligned with its mean as transition 1 says."""
    problem = mean_pooling(0.3, alpha=60.0, vocabulary=2.0, signal=0.6, n_tokens=8)
    prediction = ps.solve(problem)
    tables = ps.simulate(problem, d=150, seeds=12, processes=1)
    # d/N = 1/60 is what is left, relative to t of order two.
    assert tables.mean("mean_alignment") == pytest.approx(prediction.table_alignment, abs=0.02)
    assert tables.mean("top") == pytest.approx(prediction.table_outlier, rel=0.03)
    assert gain_of(problem) == pytest.approx(1.0 + 7 * 0.3)


def test_few_sequences_and_many_are_diagonalised_alike():
    from presage.models.pooling.experiment.simulate import first_direction

    X = np.random.default_rng(0).standard_normal((30, 50))
    values, u = first_direction(X)
    known, vectors = np.linalg.eigh(X.T @ X / 30)
    np.testing.assert_allclose(values, np.maximum(known, 0.0), atol=1e-12)
    assert abs(u @ vectors[:, -1]) == pytest.approx(1.0)


@pytest.mark.slow
def test_the_model_is_checked():
    assert "nothing found" in str(ps.check_model(POINTS["mean"], d=(40, 80)))


@pytest.mark.slow
@pytest.mark.parametrize(("delta", "gamma", "rho", "T", "r"), [case[:5] for case in SEEN])
def test_seen_points_at_two_sizes(delta, gamma, rho, T, r):
    problem = mean_pooling(r, alpha=1 / gamma, vocabulary=1 / delta, signal=rho, n_tokens=T)
    found = ps.compare(ps.solve(problem), *(ps.simulate(problem, d=d, seeds=16) for d in (400, 800)))
    assert found.agrees, str(found)
