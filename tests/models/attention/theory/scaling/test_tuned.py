"""The best weight decay of a power law and its rate, beside the best of all methods."""

from __future__ import annotations

from math import isnan, log, sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.scaling.constants import C_IV
from presage.models.attention.theory.scaling.tuned import (
    bayes_rate,
    best_weight_decay,
    best_weight_decay_law,
    power_law_network,
    solved_error,
    tuned,
)


def network(gamma: float, d: int, n_eff: float, noise: float = 0.5) -> ps.Problem:
    return ps.quadratic_network(ps.PowerLaw(gamma, d), alpha=n_eff / d, weight_decay=1.0, noise=noise)


def test_law_is_solved_for_the_error():
    """In the letters of the documentation, with Z the sum of the squares of i^-g."""
    gamma, d, n_eff, noise = 1.25, 1000, 50.0, 0.5
    R = solved_error(power_law_network(network(gamma, d, n_eff, noise)), lambda _: C_IV(gamma))
    Z = np.sum(np.arange(1, d + 1) ** (-2 * gamma))
    law = C_IV(gamma) * Z ** (-0.5 / gamma) * ((R + noise / 2) / (2 * n_eff)) ** (1 - 0.5 / gamma)
    assert law == pytest.approx(R, rel=1e-10)
    plain = ps.quadratic_network(ps.PowerLaw(gamma, d, normalized=False), alpha=n_eff / d, weight_decay=1.0, noise=0.5)
    scaled = network(gamma, d, n_eff, noise * d / Z)  # the same in units of the target
    laws = [best_weight_decay_law(problem).error for problem in (plain, scaled)]
    assert laws[0] == pytest.approx(laws[1] * Z / d, rel=1e-10)


def test_linear_attention_counts_every_component():
    one = ps.quadratic_network(ps.PowerLaw(1.25, 300), alpha=0.6, weight_decay=1.0, noise=0.5)
    two = ps.linear_attention(ps.PowerLaw(1.25, 300), alpha=0.2, weight_decay=1.0, noise=0.5, n_tokens=2)
    assert two.channel.n_in == 3
    assert best_weight_decay(two).lambda_tilde == pytest.approx(best_weight_decay(one).lambda_tilde, rel=1e-6)


def test_best_weight_decay_of_check_value_18():
    """The same at d = 1e4, law and search beside it."""
    found = tuned(network(2.0, 10_000, 1e4))
    best = found.weight_decay
    assert best.error == pytest.approx(7.62882e-4, rel=1e-5)
    assert best.law.chi == pytest.approx(best.chi, abs=0.015)
    assert best.law.lambda_tilde == pytest.approx(best.lambda_tilde, rel=0.01)
    assert best.law.error == pytest.approx(best.error, rel=0.05)
    assert best.evaluations < 30
    assert found.bayes.error == pytest.approx(4.26895e-4, rel=1e-5)
    assert found.ratio_limit == 2.0
    searched = ps.optimal_regularization(
        network(2.0, 10_000, 1e4).replace(weight_decay=2.5), measure="estimation_error"
    )
    assert best.error <= searched.estimation_error * (1 + 1e-9)


def test_check_value_18():
    found = tuned(network(2.0, 100_000, 1e5))
    assert found.weight_decay.lambda_tilde == pytest.approx(2.667, abs=3e-3)
    assert found.weight_decay.error == pytest.approx(1.4508e-4, abs=5e-9)
    assert found.bayes.error == pytest.approx(7.6931e-5, abs=5e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gamma", "n_eff", "ratio", "chi", "strength"),
    [
        (2.0, 1e3, 1.898, 1.930, 0.958),
        (2.0, 1e4, 1.896, 1.910, 0.954),
        (2.0, 1e6, 1.867, 1.857, 0.929),
        (1.25, 1e3, 1.602, None, None),
        (1.25, 1e5, 1.531, None, None),
    ],
)
def test_ratios_that_were_seen(gamma, n_eff, ratio, chi, strength):
    """Of the best weight decay to the best of all methods, d = 1e5; the limit is reached slowly, from below."""
    found = tuned(network(gamma, 100_000, n_eff))
    assert found.ratio == pytest.approx(ratio, abs=6e-4)
    assert found.ratio < found.ratio_limit
    assert found.bayes.law == pytest.approx(found.bayes.error, rel=0.1)
    assert found.weight_decay.law.error == pytest.approx(found.weight_decay.error, rel=0.1)
    if chi is not None:
        assert found.weight_decay.chi == pytest.approx(chi, abs=6e-4)
        assert found.weight_decay.law.chi == pytest.approx(chi, abs=5e-3)
        assert found.weight_decay.lambda_tilde / (4 * sqrt(0.5 * n_eff / 100_000)) == pytest.approx(strength, abs=6e-4)


@pytest.mark.slow
def test_rates():
    """Slopes of the error at the best weight decay and of the Bayes-optimal one, d = 1e5."""
    for gamma, n_eff, best, bayes in ((1.25, 1e4, -0.6135, -0.603), (2.0, 1e5, -0.7514, -0.747)):
        low, high = (tuned(network(gamma, 100_000, n)) for n in (n_eff, 10 * n_eff))
        slope = log(high.weight_decay.error / low.weight_decay.error) / log(10.0)
        assert slope == pytest.approx(best, abs=6e-4)
        assert slope == pytest.approx(low.weight_decay.law.exponent, abs=0.03)
        assert log(high.bayes.error / low.bayes.error) / log(10.0) == pytest.approx(bayes, abs=0.01)


def test_no_plateau_below_one_is_said():
    found = tuned(network(0.75, 1000, 100.0))
    assert any("for gamma below 1 neither" in line and "plateau" in line for line in found.notes)
    assert found.ratio > found.ratio_limit  # Bayes knows the mean of the bulk
    assert not any("plateau" in line for line in tuned(network(1.25, 300, 30.0)).notes)


def test_laws_that_do_not_apply_are_left_out_in_words():
    crowded = best_weight_decay(network(1.25, 100, 1e5))
    assert isnan(crowded.law.lambda_tilde)
    assert isnan(crowded.law.error)
    assert any("too many for the law of the best weight decay" in line for line in crowded.notes)
    assert 0.0 < crowded.error < 1e-3
    empty = best_weight_decay(network(1.25, 300, 0.1))
    assert any("no feature is above the noise level" in line for line in empty.notes)
    assert empty.error <= 1.0


def test_clean_labels_want_no_weight_decay():
    found = best_weight_decay(ps.quadratic_network(ps.PowerLaw(1.25, 30), alpha=0.6, weight_decay=0.1))
    assert found.lambda_tilde == 0.0
    assert any("least as the weight_decay vanishes" in line for line in found.notes)


def test_bayes_rate_has_the_exponent_of_the_law():
    rate = bayes_rate(network(2.0, 10_000, 1e4))
    assert rate.exponent == pytest.approx(-0.75)
    assert rate.law == pytest.approx(rate.error, rel=0.04)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1), "`target` must be a PowerLaw"),
        (ps.attention(ps.PowerLaw(1.25, 100), alpha=1.0, weight_decay=0.1), "`problem` must be a quadratic network or"),
        (ps.quadratic_network(ps.PowerLaw(0.4, 100), alpha=1.0, weight_decay=0.1), "`gamma` must be above 0.5"),
    ],
    ids=["law", "channel", "exponent"],
)
def test_what_has_no_law(problem, words):
    with pytest.raises(ValueError, match=words):
        tuned(problem)
