"""Samples, products without matrices, eigenvectors, layers and shallow learners."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.compositional.experiment import coordinates as sampled
from presage.models.compositional.experiment.krylov import largest_eigenvectors
from presage.models.compositional.experiment.layers import outputs, second_layer, used_labels
from presage.models.compositional.experiment.samples import FirstLayer, Samples
from presage.models.compositional.experiment.target import draw_target
from presage.protocol import extras

PROBLEM = ps.compositional(alpha=60.0, features=3, decay=0.5, clip=2.0)
TRUE = PROBLEM.replace(inputs="hermite")
METHOD: dict[str, Any] = {"method": "x"}
KERNEL: dict[str, Any] = {"kernel": "cubic"}


# Coordinates


@pytest.mark.parametrize(("d", "degree"), [(5, 1), (6, 2), (4, 3), (3, 4)])
def test_hermite_coordinates_are_orthonormal(d, degree):
    """Mean zero and unit covariance, within five standard errors of heavy-tailed products."""
    source = sampled.HermiteCoordinates(d, degree)
    F = source.draw(200_000, np.random.default_rng(0)).astype(np.float64)
    assert F.shape[1] == source.count
    covariance = F.T @ F / len(F)
    error = np.sqrt(np.array([[np.var(a * b) for b in F.T] for a in F.T]) / len(F))
    assert np.all(np.abs(covariance - np.eye(source.count)) < 5 * error + 1e-6)
    assert np.all(np.abs(F.mean(axis=0)) < 5 * F.std(axis=0) / sqrt(len(F)))


def test_quadratic_forms_are_hermite_coordinates_of_degree_two():
    """Projections and sums of directions, without forming the coordinates, to the rounding of single precision."""
    rng, d = np.random.default_rng(0), 9
    formed, free = sampled.HermiteCoordinates(d, 2), sampled.QuadraticForms(d)
    x = free.draw(50, rng)
    F, V, weights = formed.of(x), rng.standard_normal((free.count, 4)), rng.standard_normal((50, 3))
    assert free.project(x, V) == pytest.approx(formed.project(F, V), abs=2e-5)
    assert free.back(x, weights) == pytest.approx(formed.back(F, weights), abs=2e-5)
    assert np.linalg.norm(free.matrices(V[:, :1])) == pytest.approx(np.linalg.norm(V[:, 0]))


def test_samples_are_the_same_in_every_pass_and_for_any_number_of_threads(monkeypatch):
    source = sampled.QuadraticForms(12)
    monkeypatch.setattr(sampled, "BLOCK_BYTES", 1e4)
    kept, drawn = Samples(source, 3000, 7, 4), Samples(source, 3000, 7, 4, threads=2)
    drawn._kept = None
    assert kept.count > 10
    V = np.random.default_rng(0).standard_normal((source.count, 4))
    used = np.random.default_rng(1).standard_normal(3000)
    first = FirstLayer(kept, used).times(V)
    assert np.array_equal(first, FirstLayer(kept, used).times(V))
    assert np.array_equal(first, FirstLayer(drawn, used).times(V))


@pytest.mark.parametrize("inputs", ["surrogate", "hermite"])
def test_products_are_those_of_the_matrix(inputs):
    """``C[V]`` without C, beside C formed from the same samples by its definition."""
    source = sampled.coordinates_of(PROBLEM.replace(inputs=inputs), 8)
    samples = Samples(source, 2000, 3, 4)
    used = np.random.default_rng(0).standard_normal(2000)
    x = np.concatenate([samples.block(number)[1] for number in range(samples.count)])
    F = sampled.HermiteCoordinates(8, 2).of(x) if inputs == "hermite" else x
    F = F.astype(np.float64)
    C = (F.T * used) @ F / 2000 - used.mean() * np.eye(source.count)
    V = np.random.default_rng(1).standard_normal((source.count, 3))
    assert FirstLayer(samples, used).times(V) == pytest.approx(C @ V, abs=1e-4)


def test_eigenvectors_are_those_of_the_matrix():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((150, 150))
    U = np.linalg.qr(rng.standard_normal((150, 3)))[0]
    C = (noise + noise.T) / sqrt(2 * 150) * 0.5 + U @ np.diag([3.0, -2.5, 2.0]) @ U.T
    options: dict[str, Any] = {"oversampling": 6, "passes": 15, "tol": 1e-8, "beyond": 1.2}
    found = largest_eigenvectors(lambda V: C @ V, 150, 3, rng, **options)
    values, vectors = np.linalg.eigh(C)
    top = np.argsort(-np.abs(values))[:3]
    assert found.settled
    assert found.values == pytest.approx(values[top], rel=1e-6)
    assert np.abs(np.sum(found.vectors * vectors[:, top], axis=0)) == pytest.approx(np.ones(3), abs=1e-6)
    none = largest_eigenvectors(lambda V: noise @ V + noise.T @ V, 150, 3, rng, **{**options, "beyond": 1e3})
    assert not none.settled


def test_both_ways_to_the_eigenvectors_agree():
    krylov, dense = (
        ps.simulate(PROBLEM, d=14, seeds=2, n_test=500, processes=1, trainer=ps.LayerWise(method=method))
        for method in ("krylov", "dense")
    )
    assert krylov.overlaps == pytest.approx(dense.overlaps, abs=2e-3)
    assert krylov.eigenvalues == pytest.approx(dense.eigenvalues, abs=2e-3)
    assert dense.spectrum.shape == (2, 105)
    assert krylov.spectrum is None
    formed, free = (
        ps.simulate(TRUE, d=14, seeds=1, n_test=500, processes=1, trainer=ps.LayerWise(method=method))
        for method in ("dense", "krylov")
    )
    assert formed.overlaps.shape == free.overlaps.shape


# Targets and layers


def test_targets_are_orthonormal_and_labels_have_unit_variance():
    dense = ps.dense_compositional(alpha=10.0, features=4)
    source = sampled.coordinates_of(dense, 10)
    target = draw_target(dense, source, np.random.default_rng(0))
    assert pytest.approx(np.eye(4), abs=1e-12) == target.A.T @ target.A
    assert np.sort(np.linalg.eigvalsh(target.B)) == pytest.approx(np.sort(dense.strengths))
    assert np.abs(target.B - np.diag(np.diag(target.B))).max() > 0.05
    inside = target.A.T @ target.principal
    assert inside.T @ target.B @ inside == pytest.approx(np.diag(dense.strengths), abs=1e-12)
    y = Samples(source, 200_000, 1, 4).labels(target)
    assert np.mean(y) == pytest.approx(0.0, abs=0.012)
    assert np.var(y) == pytest.approx(1.0, abs=0.03)


def test_second_layer_of_known_features_is_the_matrix_of_the_target():
    """E[y (hh' - 1)] = sqrt2 B, so that the second layer is the true one up to its scale, and a line fits the rest."""
    rng = np.random.default_rng(0)
    target = draw_target(PROBLEM, sampled.GaussianCoordinates(6, 2), rng)
    h = rng.standard_normal((400_000, 3))
    y = target.labels(h)
    B = second_layer(h, y)
    assert pytest.approx(sqrt(2) * target.B, abs=0.03) == B
    assert np.corrcoef(outputs(h, B), y)[0, 1] > 0.999


def test_labels_that_are_used_are_bounded_and_centred():
    y = np.random.default_rng(0).standard_normal(10_000) ** 3
    used = used_labels(y, 1.0)
    assert used.mean() == pytest.approx(0.0, abs=1e-12)
    assert np.ptp(used) <= 2 * y.std() * (1 + 1e-12)
    assert used_labels(y, None) == pytest.approx(y - y.mean())


def test_seeds_and_processes_do_not_matter():
    both = ps.simulate(PROBLEM, d=10, seeds=2, n_test=200, processes=2)
    alone = ps.simulate(PROBLEM, d=10, seeds=[1], n_test=200, processes=1)
    for name in ("test_error", "overlaps", "eigenvalues"):
        assert np.array_equal(getattr(both, name)[1:], getattr(alone, name))


# Shallow learners


def test_kernels_need_more_samples_than_layers():
    """At d = 14 and 60 D samples the layers have learned, and a kernel of as many samples as both layers has less."""
    pytest.importorskip("sklearn", reason="kernel ridge regression is that of scikit-learn")
    few = TRUE.replace(alpha=10.0, features=2, decay=0.0)
    errors = {}
    for kernel in ("polynomial", "rbf"):
        kernels = ps.shallow_learners(
            few, d=12, seeds=2, n_test=1000, processes=1, trainer=ps.KernelRidge(kernel, ridges=3)
        )
        errors[kernel] = kernels.mean("test_error")
        assert [o.name for o in kernels.measured] == ["test_error"]
    features = ps.shallow_learners(
        few, d=12, seeds=2, n_test=1000, processes=1, trainer=ps.RandomFeatures(300, ridges=3)
    )
    assert min(*errors.values(), features.mean("test_error")) > 0.05
    assert errors["polynomial"] < 1.05
    with pytest.raises(ps.InputError, match=r"must be what the prediction is about: .*shallow learners have no layers"):
        ps.compare(ps.solve(few), features)


def test_a_polynomial_kernel_fits_a_polynomial():
    """A negative control of the baseline: with very many samples of few inputs the kernel does learn."""
    pytest.importorskip("sklearn", reason="kernel ridge regression is that of scikit-learn")
    easy = TRUE.replace(alpha=200.0, features=1, decay=0.0)
    kernels = ps.shallow_learners(easy, d=3, seeds=2, n_test=500, processes=1, trainer=ps.KernelRidge(ridges=3))
    assert kernels.mean("test_error") < 0.02


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: ps.simulate(PROBLEM, d=10, trainer=ps.LBFGS()), "`trainer` must be a LayerWise: layers are learned"),
        (lambda: ps.simulate(TRUE, d=10, trainer=ps.KernelRidge()), "`trainer` must be a LayerWise.*shallow_learners"),
        (
            lambda: ps.shallow_learners(TRUE, d=10, trainer=ps.LayerWise()),
            "`trainer` must be a KernelRidge or a Random",
        ),
        (lambda: ps.simulate(PROBLEM, d=1), "`d` must be a whole number >= 2: it is the dimension of the inputs"),
        (lambda: ps.simulate(PROBLEM, d=2), "`d` must be larger for 3 features: d = 2 inputs have 3 coordinates"),
        (lambda: ps.simulate(PROBLEM.replace(alpha=0.1), d=8), "`alpha` must be larger at d = 8: it makes 4 samples"),
        (lambda: ps.simulate(PROBLEM, d=10, n_test=1), "`n_test` must be a whole number >= 2"),
        (
            lambda: ps.shallow_learners(PROBLEM, d=10),
            '`inputs` must be "hermite" here: shallow learners see the inputs',
        ),
        (lambda: ps.shallow_learners(TRUE.replace(degree=3), d=10), "`degree` must be 2 here: shallow learners draw"),
        (
            lambda: ps.simulate(PROBLEM, d=200, trainer=ps.LayerWise(method="dense")),
            '`trainer` must have method="krylov" here: C has 20100 rows',
        ),
        (lambda: ps.simulate(PROBLEM, d=20_000), "`d` must be such that one network needs less than"),
        (lambda: ps.LayerWise(passes=1), "`passes` must be a whole number >= 2"),
        (lambda: ps.LayerWise(**METHOD), '`method` must be "krylov" or "dense"'),
        (lambda: ps.KernelRidge(**KERNEL), '`kernel` must be "polynomial" or "rbf"'),
        (lambda: ps.RandomFeatures(0), "`width` must be a whole number >= 1"),
        (
            lambda: ps.simulate(PROBLEM, d=10, keep="weights"),
            "`keep` must be left out here: simulate of this model takes",
        ),
    ],
)
def test_bad_input_is_said_in_words(act, text):
    with pytest.raises(ps.InputError, match=text):
        act()


def test_a_missing_extra_is_said(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ps.InputError, match=r"Run: pip install scikit-learn \(.*\), or use trainer=RandomFeatures\(\)"):
        ps.shallow_learners(TRUE, d=10)


def test_true_coordinates_of_few_inputs_are_said_to_be_off():
    said = ps.simulate(TRUE.replace(clip=None, alpha=20.0), d=10, seeds=1, n_test=100, processes=1).caveats
    assert any("Use d of at least 120 and clip the labels" in line for line in said)
