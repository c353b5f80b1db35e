"""What a problem is: rows, keys, what is refused and how it says so."""

from __future__ import annotations

import pytest

import presage as ps
from tests.models.untied.problems import cross, itself


def test_rows_and_their_keys():
    assert cross(n_tokens=3, n_keys=4).keys == (4, 4, 4)
    assert cross(n_tokens=4, mask="causal").keys == (1, 2, 3)
    assert cross(n_tokens=4, mask="off-diagonal").keys == (3, 3, 3, 3)
    assert itself().keys == (2, 2)
    assert cross().samples(50) == 2500
    assert cross(alpha=0.3).alpha_eff == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"mask": "self", "n_tokens": 3}, "`n_tokens` must be 2 for a softmax over all tokens of a sequence"),
        ({"mask": "self", "n_tokens": 1, "output": "linear"}, "one token shows the symmetric part"),
        ({"mask": "causal", "n_tokens": 2}, "`n_tokens` must be a whole number >= 3 here: a softmax of one key is 1"),
        ({"mask": "off-diagonal", "n_tokens": 1, "output": "linear"}, "a row needs a key"),
        ({"mask": "causal", "n_tokens": 4, "n_keys": 2}, "`n_keys` must be left out: the keys are the tokens"),
        ({"n_keys": 1}, "`n_keys` must be a whole number >= 2"),
        ({"n_tokens": 1}, "`n_tokens` must be a whole number >= 2"),
        ({"n_keys": 9}, "`n_keys` must leave at most 8 keys a row"),
        ({"output": "linear", "beta": 2.0}, "`beta` must be left out: a linear output"),
        ({"output": "linear", "beta_0": 2.0}, "`beta_0` must be left out: a linear output"),
        ({"output": "linear", "target_gain": 1.5}, "`target_gain` must be left out: the scale of linear scores"),
        ({"target_gain": 0.0}, "`target_gain` must be"),
        ({"target": ps.GaussianProduct(0.5, 2.0)}, "`target` must have aspect 1"),
        (
            {"target": ps.MarchenkoPastur(0.5), "mask": "off-diagonal", "n_tokens": 3},
            "`target` must be a law of singular values where two tokens look at each other",
        ),
        ({"target": 3}, "`target` must be a RectangularLaw or a SpectralLaw"),
        ({"mask": "diagonal"}, '`mask` must be "cross", "causal", "off-diagonal" or "self"'),
        ({"penalty": "lasso"}, '`penalty` must be "weight-decay" or "frobenius"'),
        ({"target": ps.SingularValueMasses([0.0], [1.0]), "noise": 0.0}, "have a positive second moment"),
    ],
)
def test_what_is_refused(changes, text):
    with pytest.raises(ps.InputError) as error:
        cross(**changes)
    assert text in str(error.value)


def test_a_fit_needs_a_price_and_verbs_know_their_options():
    with pytest.raises(ps.InputError, match="`weight_decay` must be a number"):
        ps.solve(cross(weight_decay=None))
    with pytest.raises(ps.InputError, match="`tol` must be"):
        ps.solve(cross(), tol=1.0)
    with pytest.raises(ps.InputError, match="`accuracy` must be"):
        ps.solve(cross(), accuracy=0.0)


def test_a_solve_that_fails_says_what_to_do():
    hard = cross(target=ps.GaussianProduct(0.2), alpha=0.5, weight_decay=1e-6, noise=0.0)  # recovered to 1e-11
    partial = ps.solve(hard, throw=False)
    assert "Use a larger weight_decay, or weight_decay=0.0 for its limit." in partial.caveats[-1]
    assert partial.residual > 1e-6


def test_a_prediction_tells_what_it_knows():
    one = ps.solve(cross())
    assert one.compared == ("test_error", "train_loss", "train_error", "estimation_error", "rank")
    assert one.symmetric_error is None
    assert one.target_law is not None
    parts = ps.solve(itself(penalty="frobenius", output="linear"))
    assert parts.compared[-2:] == ("symmetric_error", "antisymmetric_error")
    assert {*parts.compared} <= {*parts.error_bars}
    with pytest.raises(AttributeError, match="two parts are noisy by themselves"):
        _ = parts.spectrum
    found = ps.solve(cross(target=ps.GaussianProduct(0.2), alpha=0.5, weight_decay=0.0, noise=0.0))
    with pytest.raises(AttributeError, match="the fit is 1 times the target"):
        _ = found.spectrum
