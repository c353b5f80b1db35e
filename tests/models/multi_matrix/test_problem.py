"""The problem: functions that labels are made of, laws of the matrices, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.multi_matrix.looked_at import looked_at
from presage.models.multi_matrix.mirror_images import is_symmetric
from presage.models.multi_matrix.symmetries import invisible, sign_symmetries, untold_pairs

LAW = ps.Semicircle()


def problem(link, target=LAW, **more):
    return ps.multi_matrix(target, link, **{"alpha": 2.0, "weight_decay": 0.5, **more})


def test_derivatives_by_differences_are_those_of_the_closed_form():
    known, own = ps.PowersLink(1, 2, 3), ps.OwnMatrixLink(lambda a, b, c: a + b**2 + c**3, 3)
    z = 2.0 * np.random.default_rng(0).standard_normal((50, 3))
    for mine, closed in zip(own.derivatives(z), known.derivatives(z), strict=True):
        assert mine == pytest.approx(closed, rel=2e-6, abs=2e-6)
    coupled = ps.OwnMatrixLink(lambda a, b: a * b + a**2 * b, 2).derivatives(z[:, :2])
    assert coupled.hessian[:, 0, 1] == pytest.approx(1.0 + 2.0 * z[:, 0], abs=1e-5)


def test_a_plain_function_and_one_law_for_all():
    one = problem(lambda z: z**2)
    assert (one.matrices, one.laws) == (1, (LAW,))
    two = problem(lambda z_1, z_2: z_1 + z_2**2, [LAW, ps.MarchenkoPastur(0.5)])
    assert two.matrices == 2
    assert two.laws == (LAW, ps.MarchenkoPastur(0.5))
    assert two.sizes == pytest.approx([1.0, 1.5])
    assert problem(ps.PowersLink(1, 2)).laws == (LAW, LAW)
    assert problem(ps.PowersLink(1, 2)).replace(target=ps.Semicircle(2.0)).sizes == pytest.approx([2.0, 2.0])
    assert two.replace(target=ps.Semicircle(2.0)).sizes == pytest.approx([2.0, 1.5])
    assert two.replace(variance=3.0).sizes == pytest.approx([3.0, 1.5])
    assert problem(ps.PowersLink(1, 2)).samples(30) == 1800
    assert hash(problem(ps.PowersLink(1, 2))) == hash(problem(ps.PowersLink(1, 2)))
    assert problem(ps.PowersLink(1, 2)).replace(power_1=2).link == ps.PowersLink(2, 2)


def test_signs_and_orders_that_labels_do_not_tell():
    assert set(sign_symmetries(ps.PowersLink(1, 2))) == {(1, 1), (1, -1)}
    assert set(sign_symmetries(ps.PowersLink(1, 3))) == {(1, 1), (-1, -1)}  # both turn the sign of the label
    product = ps.OwnMatrixLink(lambda a, b: a * b, 2)
    assert len(sign_symmetries(product)) == 4
    assert untold_pairs(product) == ()
    assert untold_pairs(ps.PowersLink(1, 1)) == ((0, 1),)
    assert untold_pairs(ps.PowersLink(2, 1, 3)) == ((1, 2),)
    assert len(invisible(ps.PowersLink(2, 2))) == 8
    assert len(invisible(ps.PowersLink(1, 2))) == 2
    assert {one.order for one in invisible(product)} == {(0, 1), (1, 0)}


def test_laws_that_are_their_own_mirror_images():
    assert is_symmetric(ps.Semicircle(2.0))
    assert is_symmetric(ps.PointMasses([-1.0, 1.0]))
    assert not is_symmetric(ps.Semicircle(1.0, 0.1))
    assert not is_symmetric(ps.PointMasses([-1.0, 0.0, 1.0], [0.2, 0.5, 0.3]))


@pytest.mark.parametrize(
    ("link", "text"),
    [
        (lambda a, b: a + np.abs(b), "`link` must be twice differentiable: .*np.sqrt"),
        (lambda a, b: a + np.sign(b), "`link` must be twice differentiable"),
        (lambda a, b: a + np.maximum(b, 0.0) ** 1.5, "`link` must be twice differentiable"),
        (lambda a, b: a, "`link` must depend on every matrix: labels that do not depend on z_2"),
        (lambda a, b: 1.0, "`link` must give one finite number a sample: it is called with 2 arrays"),
        (lambda a, b: a + np.log(b), "`link` must give one finite number a sample"),
        (lambda a, b: a + 1j * b, "`link` must give one finite number a sample.*complex"),
        ("cubic", "`link` must be a MatrixLink"),
    ],
)
def test_functions_that_are_refused(link, text):
    with pytest.raises(ps.InputError, match=text):
        problem(link, [LAW, LAW])


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ([LAW] * 3, "`target` must be one law, or a list of 2 here"),
        ([LAW] * 4, "`target` must be a law or a list of 1 to 3 laws"),
        ([LAW, 1.0], "`target` must be a SpectralLaw"),
        ([LAW, ps.PointMasses([0.0])], "`target` must not be zero"),
        ("mp", "`target` must be a SpectralLaw"),
    ],
)
def test_targets_that_are_refused(target, text):
    with pytest.raises(ps.InputError, match=text):
        problem(ps.PowersLink(1, 2), target)


@pytest.mark.parametrize("powers", [(0,), (1.5,), ("square",), (1, 5), (1, 2, 3.5)])
def test_powers_that_are_refused(powers):
    with pytest.raises(ps.InputError, match=r"`power_[123]` must be a "):
        ps.PowersLink(*powers)


def test_powers_would_pass_the_look_that_they_are_spared():
    for powers in ((1,), (4,), (1, 2), (3, 2, 4)):
        looked_at(ps.PowersLink(*powers), len(powers), "link")


def test_a_third_power_needs_a_second():
    assert ps.PowersLink(2, 0, 0).matrices == 1
    with pytest.raises(ps.InputError, match="`power_2` must be at least 1 beside a power_3"):
        ps.PowersLink(1, 0, 2)


def test_theory_refuses_matrices_that_no_sign_tells_apart():
    text = r"`link` must have a sign symmetry that tells z_1 from z_2: .*no law is known.*simulate\(problem\)"
    with pytest.raises(ps.InputError, match=text):
        ps.solve(problem(ps.PowersLink(1, 1)))
    with pytest.raises(ps.InputError, match="tells z_2 from z_3"):
        ps.solve(problem(lambda a, b, c: a**2 + np.sin(b + c), [LAW] * 3))
    text = "`target` must have laws that are their own mirror images, but for one at the most: matrices 1 and 2"
    with pytest.raises(ps.InputError, match=text):
        ps.solve(problem(ps.PowersLink(1, 2), ps.MarchenkoPastur(0.5)))


def test_a_function_of_one_s_own_cannot_be_saved(tmp_path):
    own = problem(lambda z: z + 0.1 * z**3)
    with pytest.raises(ps.InputError, match="function"):
        ps.simulate(own, d=6, seeds=1, n_test=10, processes=1).save(tmp_path / "own.json")
