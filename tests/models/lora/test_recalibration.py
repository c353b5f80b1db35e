"""The best factor on the frozen matrix."""

from __future__ import annotations

import pytest

import presage as ps
from presage.models.lora.theory import recalibration

LAW = ps.MarchenkoPastur(0.5)


def softmax_problem(**options):
    before = ps.attention(LAW, alpha=0.5, weight_decay=0.01, noise=0.5)
    return ps.lora(before, **({"alpha": 6.0, "weight_decay": 0.05} | options))


def test_the_best_factor_of_a_linear_output():
    law = ps.MarchenkoPastur(1.0)
    before = ps.linear_attention(law, alpha=0.1, weight_decay=3.0, noise=0.5, n_tokens=3)
    problem = ps.lora(before, alpha=3.0, weight_decay=0.5)
    best = ps.best_recalibration(problem)
    assert best.problem.recalibration == pytest.approx(1.517, abs=1e-3)
    assert ps.solve(problem).test_error == pytest.approx(15.24, abs=0.02)
    assert best.test_error == pytest.approx(13.44, abs=0.02)
    for factor in (0.9, 1.1):
        aside = ps.solve(best.problem.replace(recalibration=factor * best.problem.recalibration))
        assert aside.test_error > best.test_error + 3.0 * best.error_bars["test_error"]
    assert ps.solve(problem.replace(recalibration=best.problem.recalibration)) == best


@pytest.mark.slow
def test_the_best_factor_of_a_softmax_is_below_the_linear_one():
    """Negative control: M/Q = .944 is not the best factor, E' is least near .7."""
    problem = softmax_problem()
    found = {b: ps.solve(problem.replace(recalibration=b)) for b in (0.7, 0.8, 0.9, 1.0)}
    for b, error in {0.7: 0.1298, 0.8: 0.1308, 0.9: 0.1353, 1.0: 0.1422}.items():
        assert found[b].test_error == pytest.approx(error, abs=found[b].error_bars["test_error"] + 2e-4)
    best = ps.best_recalibration(problem)
    slope = best.before.slope
    assert slope == pytest.approx(0.944, abs=1e-3)
    assert 0.6 < best.problem.recalibration < 0.85
    linear = ps.solve(problem.replace(recalibration=slope))
    assert linear.test_error > best.test_error + 5.0 * best.error_bars["test_error"]


def test_a_factor_at_an_end_of_the_range_is_told(monkeypatch):
    before = ps.linear_attention(LAW, alpha=0.2, weight_decay=0.4, noise=0.5)
    problem = ps.lora(before, alpha=3.0, weight_decay=0.5, selection=0.5)
    assert not any("end of the range" in line for line in ps.best_recalibration(problem, accuracy=0.02).caveats)
    monkeypatch.setattr(recalibration, "FARTHEST", 0.8)
    found = ps.best_recalibration(problem, accuracy=0.02)
    assert any("least at an end of the range of factors" in line for line in found.caveats)


def test_only_a_fine_tuning_is_recalibrated():
    with pytest.raises(ValueError, match="`problem` must be a LoraProblem: only a frozen layer is recalibrated"):
        ps.best_recalibration(ps.attention(LAW, alpha=0.5, weight_decay=0.1))  # type: ignore[arg-type]
