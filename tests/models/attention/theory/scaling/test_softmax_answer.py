"""`scaling` of softmax attention: the laws of the quadratic network that learns the same matrix."""

from math import sqrt

import pytest

import presage as ps
from presage.models.attention.theory.scaling.softmax_equivalent import softmax_equivalent
from presage.models.attention.theory.scaling.softmax_scaling import softmax_scaling

TARGET = ps.PowerLaw(1.25, 200)


def problem(**changes):
    return ps.attention(TARGET, **{"alpha": 20.0, "weight_decay": 2.0, "noise": 0.5, **changes})


@pytest.mark.parametrize(
    ("changes", "close"),
    [({}, 0.1), ({"alpha": 0.02, "weight_decay": 0.01}, 1e-6), ({"noise": 0.0}, 1e-6)],
    ids=["many samples", "few samples", "clean labels"],
)
def test_the_equivalent_network_learns_the_same(changes, close):
    """The same noise level and cutoff, hence the same R', by a quadratic network: with few samples exactly so."""
    here = problem(**changes)
    solution = ps.solve(here)
    found = softmax_scaling(here, solution, factor=None)
    place = softmax_equivalent(here, solution, found).place
    network = ps.quadratic_network(TARGET, alpha=place.alpha, weight_decay=place.L, noise=place.D)
    learned = ps.solve(network)
    assert learned.delta == pytest.approx(solution.delta, rel=close)
    assert learned.cutoff == pytest.approx(solution.cutoff, rel=close)
    assert learned.estimation_error == pytest.approx(found.R_prime, rel=2.0 * close)


def test_a_plain_target_is_placed_in_units_of_second_moment_one():
    plain = ps.PowerLaw(1.25, 200, normalized=False)
    here = ps.attention(plain, alpha=0.1, weight_decay=0.01, noise=0.01)
    solution = ps.solve(here)
    equivalent = softmax_equivalent(here, solution, softmax_scaling(here, solution, factor=None))
    place, a = equivalent.place, sqrt(equivalent.error)
    network = ps.quadratic_network(TARGET, alpha=place.alpha, weight_decay=place.L, noise=place.D)
    learned = ps.solve(network)
    assert a == pytest.approx(sqrt(plain.second_moment))
    assert a * learned.delta == pytest.approx(solution.delta, rel=1e-6)
    assert a * learned.cutoff == pytest.approx(solution.cutoff, rel=1e-6)
    assert equivalent.n * place.alpha == pytest.approx(0.1 * 200**2)
    assert equivalent.weight_decay * place.L == pytest.approx(0.01)


def test_with_many_samples_the_laws_are_in_samples_and_weight_decay():
    found = ps.scaling(problem())
    assert found.softmax.well_sampled
    assert {edge.field for edge in found.boundaries} == {"n", "weight_decay"}
    assert found.error == pytest.approx(found.softmax.R_prime)
    assert found.error < found.prediction.estimation_error  # which tends to its floor, and has no law
    assert found.error == pytest.approx(found.composite, rel=0.2)
    assert found.test_floor == pytest.approx(0.0848514059, rel=1e-8)
    assert found.test_error_above_floor == pytest.approx(found.prediction.test_error - found.test_floor)
    said = str(found)
    assert "the estimation error has no scaling law" in said
    assert "test_error_above_floor" in said


def test_with_few_samples_there_are_no_boundaries_in_samples():
    found = ps.scaling(problem(alpha=0.02, weight_decay=0.01), factor=None)
    assert not found.boundaries
    assert any("not those of the effective quadratic network" in line for line in found.caveats)
    names = {one.name for one in found.known_observables}
    assert not names & {"local_exponent_n", "best_weight_decay", "pruned_error"}


def test_a_narrow_student_is_answered_as_a_wide_one_of_the_same_penalty():
    wide, narrow = (ps.scaling(problem(kappa=k, weight_decay=2.0 / sqrt(k)), factor=None) for k in (1.0, 0.25))
    assert narrow.error == pytest.approx(wide.error, rel=1e-6)
    assert narrow.phase == wide.phase


def test_the_answer_can_be_kept_and_shown(tmp_path):
    found = ps.scaling(problem(), factor=None)
    about = found.as_dict()
    assert about["observables"]["test_floor"] == pytest.approx(found.test_floor)
    assert set(about["error_bars"]) == {"error", "test_error_above_floor", "test_floor", "estimation_floor"}
    found.save(tmp_path / "found.json")
    assert ps.load(tmp_path / "found.json").as_dict() == about
    assert "test_floor" in found._repr_html_()
