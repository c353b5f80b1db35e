"""The verb: its report, its tables and files, what it refuses, other channels and widths."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest

import presage as ps
from tests.models.attention.theory.scaling.point import network

PROBLEM = network(1.25, 1000, 1e4, 30.0)


@pytest.fixture(scope="module")
def found():
    return ps.scaling(PROBLEM)


def test_a_report_reads_well(found):
    text = str(found).splitlines()
    assert text[0].startswith("phase II: weight decay decides")
    assert text[1] == "law (leading order): R = (2g/(2g-1)) Z^(-1/2g) y^(2-1/g),  y = L sqrt(d)/(4 n_eff)"
    assert f"{found.error:.6g}" in text[2]
    assert f"{found.law_value:.6g}" in text[3]
    assert f"{found.composite:.6g}" in text[4]
    assert text[5].startswith("exponent in n             -1.2 by the law, -1.1")
    assert "boundary in weight_decay  " in "\n".join(text)
    assert 15 <= len(text) <= 25
    assert "phase II" in repr(found)


def test_numbers_are_those_of_solve(found):
    exact = ps.solve(PROBLEM)
    assert found.error == pytest.approx(exact.estimation_error, rel=1e-10)
    assert found.error_bars["error"] < 1e-9
    assert found.prediction.delta == pytest.approx(exact.delta, rel=1e-9)


def test_numbers_as_a_dict_and_as_a_table(found):
    said = json.loads(json.dumps(found.as_dict()))
    assert said["phase"] == "II"
    assert said["law"]["exponents"] == {"n": -1.2, "weight_decay": 1.2}
    assert {edge["there"] for edge in said["boundaries"]} == {"Ib", "VIa"}
    assert said["observables"]["law_value"] == found.law_value
    frame = found.to_dataframe()
    assert frame.loc["local_exponent_n", "value"] == found.local_exponent_n
    assert pickle.loads(pickle.dumps(found)).law == found.law


def test_local_exponents_can_be_left_out():
    quick = ps.scaling(PROBLEM, factor=None)
    assert quick.local_exponents == {}
    assert np.isnan(quick.local_exponent_n)
    assert "local_exponent_n" not in quick.as_dict()["observables"]
    with pytest.raises(ps.InputError, match="`factor` must be a finite number > 1"):
        ps.scaling(PROBLEM, factor=1.0)


def test_tuning_and_pruning_are_beside_the_law(found):
    """What they are is tested where they are computed; here they are the numbers of this problem."""
    best = ps.optimal_regularization(PROBLEM, measure="estimation_error", tol=1e-3)
    assert found.best_error == pytest.approx(best.estimation_error, rel=1e-5)
    assert found.best_weight_decay == pytest.approx(best.value, rel=0.02)
    assert found.bayes_error == pytest.approx(ps.bayes_optimal(PROBLEM).mmse, rel=1e-9)
    assert found.ratio == pytest.approx(found.best_error / found.bayes_error)
    assert found.ratio_limit == pytest.approx(3.0 * 1.25 / 2.25)
    assert found.pruned_error == pytest.approx(found.error)  # the cutoff is above the bulk already
    assert found.bayes_error <= found.reshrunk_error
    assert "best_weight_decay" in str(found)
    narrow = ps.scaling(PROBLEM.replace(kappa=0.25, weight_decay=2.0 * PROBLEM.penalty.weight_decay))
    assert narrow.best_weight_decay == pytest.approx(2.0 * found.best_weight_decay, rel=1e-6)


def test_linear_attention_counts_its_components():
    """A sample of three tokens is worth six; the error is that of the quadratic network, and n is counted anew."""
    law = ps.PowerLaw(1.25, 300)
    linear = ps.scaling(ps.linear_attention(law, alpha=0.05, weight_decay=0.01, noise=0.5, n_tokens=3))
    one = ps.scaling(ps.quadratic_network(law, alpha=0.3, weight_decay=0.01, noise=0.5))
    assert linear.phase == one.phase
    assert linear.error == pytest.approx(one.error, rel=1e-9)
    assert linear.local_exponents == pytest.approx(one.local_exponents, abs=1e-9)
    for mine, other in zip(linear.boundaries, one.boundaries, strict=True):
        assert mine.value == pytest.approx(other.value / (6.0 if mine.field == "n" else 1.0))


def test_a_wide_student_is_counted_in_its_own_weight_decay():
    wide = ps.scaling(PROBLEM.replace(kappa=4.0, weight_decay=15.0), factor=None)
    one = ps.scaling(PROBLEM, factor=None)
    assert wide.error == pytest.approx(one.error, rel=1e-9)
    for mine, other in zip(wide.boundaries, one.boundaries, strict=True):
        assert mine.value == pytest.approx(other.value / (2.0 if mine.field == "weight_decay" else 1.0))


def test_a_narrow_student_is_said_to_be_one():
    narrow = network(1.25, 200, 100.0, 0.01).replace(kappa=0.25, weight_decay=0.02)
    found = ps.scaling(narrow, factor=None)
    assert found.error == pytest.approx(ps.solve(network(1.25, 200, 100.0, 0.01)).estimation_error, rel=1e-9)
    assert any("kappa = 0.25 is below the rank" in line for line in found.caveats)
    enough = ps.scaling(PROBLEM.replace(kappa=0.25), factor=None)
    assert not any("kappa" in line for line in enough.caveats)


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (PROBLEM.replace(target=ps.MarchenkoPastur(0.5)), "`target` must be a PowerLaw: a scaling law is what"),
        (
            PROBLEM.replace(target=ps.PowerLaw(0.5, 100)),
            "`target` must have gamma above 1/2: up to there most of the second",
        ),
        (PROBLEM.replace(channel=ps.Softmax(2), target=ps.MarchenkoPastur(0.5)), "`target` must be a PowerLaw"),
        (PROBLEM.replace(channel=ps.Softmax(2), penalty=ps.Frobenius(0.1)), "`penalty` must be NuclearPSD"),
        (PROBLEM.replace(channel=ps.Softmax(2), weight_decay=0.0), "`weight_decay` must be above 0 here"),
        (PROBLEM.replace(channel=ps.Huber(1, 1.0)), "`channel` must be Linear or Softmax: the laws are those of the"),
        (PROBLEM.replace(penalty=ps.Frobenius(0.1)), "`penalty` must be NuclearPSD: the laws are those of weight"),
        (PROBLEM.replace(penalty=ps.ElasticSpectral(0.1, 0.1)), "`penalty` must be NuclearPSD"),
        (PROBLEM.replace(weight_decay=0.0), "`weight_decay` must be above 0 here"),
    ],
)
def test_what_has_no_scaling_law_is_refused(problem, sentence):
    with pytest.raises(ps.InputError, match=sentence):
        ps.scaling(problem)


def test_caveats_say_where_there_is_no_plateau():
    below = ps.scaling(network(0.75, 1000, 10.0, 1e-3), factor=None)
    assert any("gamma = 0.75 is below 1: no plateau exists" in line for line in below.caveats)
    assert any("composite law is up to half too high" in line for line in below.caveats)
    assert any("10 samples a dimension" in line for line in below.caveats)
    few = ps.scaling(network(1.25, 1000, 2.0, 1e-3), factor=None)
    assert few.learned == 1
    assert any(line.startswith("1 of the features is learned: the law is one of many") for line in few.caveats)
    clean = ps.scaling(network(1.25, 1000, 50.0, 1e-6, 0.0), factor=None)
    assert not any("plateau" in line for line in clean.caveats)
    exact = ps.scaling(network(0.75, 300, 3e6, 1e-3), factor=None)
    assert exact.law.exact
    assert not any("leading order" in line for line in exact.caveats)
    peak = ps.scaling(network(1.25, 1000, 251.0, 1e-3), factor=None)
    assert any("saturates at an error of 46.9" in line for line in peak.caveats)
    assert any("d = 1000 is small for the law of the peak" in line for line in peak.caveats)
    steep = ps.scaling(network(2.0, 1000, 250.0, 1e-3), factor=None)
    assert steep.phase == "peak"
    assert not any("small for the law of the peak" in line for line in steep.caveats)


def test_a_curve_goes_through_the_point_and_beyond_its_boundaries():
    found = ps.scaling(network(1.25, 300, 30.0, 0.05), factor=None)
    curve = found.curve()
    assert curve.at in curve.x
    assert curve.error[list(curve.x).index(curve.at)] == found.error
    assert len(curve.x) <= 25
    names = [name for name, *_ in curve.passed]
    assert [(wall.here, wall.there) for wall in curve.boundaries] == list(itertools.pairwise(names))
    assert set(curve.laws) == set(names)
    exact = ps.solve(found.problem.replace(alpha=float(curve.x[0]) / 300**2)).estimation_error
    assert curve.error[0] == pytest.approx(exact, rel=1e-9)
