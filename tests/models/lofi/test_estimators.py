"""Estimators for data of one's own: what scikit-learn asks of them, identities, and what a wrong input is told."""

from __future__ import annotations

import pickle
import subprocess
import sys
from math import sqrt
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import presage as ps
from presage.models.lofi.experiment.kernel import Kernel, relu_kernel
from presage.models.lofi.experiment.layers import Selection, fit_layer
from presage.models.lofi.experiment.lifts import LinearLift, QuadraticLift, RandomLift, activated
from presage.models.lofi.experiment.readout import Readout
from presage.models.lofi.experiment.signal_matrix import (
    Reading,
    by_sides,
    class_signal_matrices,
    ends,
    leading,
    signal_matrix,
)

PLAIN = Reading(normalise=False, centre=False)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        ps.LoFiRegressor(width=200, readout_width=200),
        ps.LoFiClassifier(width=200, readout_width=200),
        ps.LoFiRegressor(features=(6, 5), lift=("kernel", "random"), width=100, readout_width=100),
    ]
)
def test_scikit_learn_finds_nothing(estimator, check):
    check(estimator)


def some(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.tanh(X[:, 0] ** 2 - X[:, 1] ** 2), rng


def test_eigenvalues_of_the_kernel_are_those_of_the_signal_matrix():
    """Nonzero eigenvalues of Z' diag(y) Z/n are those of G^1/2 diag(y) G^1/2/n with G = Z Z', on any data."""
    X, y, rng = some()
    y = y - y.mean()
    lift = RandomLift(X, 40, "relu", rng)
    Z = lift.rows(X)
    C = signal_matrix(lift, X, y, PLAIN).C
    values, vectors = np.linalg.eigh(Z @ Z.T)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    M = root @ (y[:, None] * root) / len(y)
    ours, theirs = np.sort(np.linalg.eigvalsh(C)), np.sort(np.linalg.eigvalsh(M))
    assert np.sort(np.abs(theirs))[-40:] == pytest.approx(np.sort(np.abs(ours)), abs=1e-12)


@pytest.mark.parametrize("centre", [False, True])
def test_dual_coefficients_are_orthonormal(centre):
    X, y, rng = some()
    kernel = Kernel(X, "relu", normalise=False, centre=centre)
    found = kernel.selected(y - y.mean(), 6, "size", rng)
    assert found.vectors.T @ kernel.gram @ found.vectors == pytest.approx(np.eye(6), abs=1e-9)
    M = found.vectors.T @ kernel.gram @ ((y - y.mean())[:, None] * (kernel.gram @ found.vectors)) / len(y)
    assert pytest.approx(np.diag(found.values), abs=1e-10) == M
    rows = kernel.features(X, np.eye(len(X)))  # features are of rows that are not centred
    assert rows == pytest.approx(kernel.fitted(np.eye(len(X))), abs=1e-12)
    assert rows - centre * rows.mean(axis=0) == pytest.approx(kernel.gram, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["relu", "centred_relu"])
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("centre", [True, False])
def test_the_kernel_is_the_limit_of_wide_random_lifts(activation, normalise, centre):
    """Inputs have norms that differ much: features and eigenvalues of both are the same, on fresh samples."""
    X, _, rng = some(n=400)
    X = X * np.exp(0.6 * rng.standard_normal((400, 1)))
    y = np.tanh(X[:, 0] ** 2 - X[:, 1] ** 2)
    options: dict[str, Any] = {"activation": activation, "normalise": normalise, "centre": centre, "readout_width": 20}
    kernel, wide = (
        ps.LoFiRegressor(2, lift=lift, width=6000, random_state=0, **options).fit(X[:200], y[:200])
        for lift in ("kernel", "random")
    )
    assert kernel.eigenvalues_[0] == pytest.approx(wide.eigenvalues_[0], rel=0.1)
    one, other = kernel.transform(X[200:]), wide.transform(X[200:])
    assert min(abs(np.corrcoef(one[:, k], other[:, k])[0, 1]) for k in range(3)) > 0.98


def test_a_gram_matrix_of_finite_width_is_off_by_the_root_of_it():
    """Relative error times sqrt(P): the same number, between 2.4 and 3.4, at every width."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 10))
    exact = Kernel(X, "relu", normalise=False, centre=False).gram
    for P in (1000, 4000, 16000):
        grams = [Z @ Z.T for Z in (RandomLift(X, P, "relu", rng).rows(X) for _ in range(8))]
        off = [np.linalg.norm(gram - exact) / np.linalg.norm(exact) for gram in grams]
        assert 2.4 < np.mean(off) * sqrt(P) < 3.4


def test_kernels_are_means_over_random_features():
    rng = np.random.default_rng(1)
    h = rng.standard_normal((4, 3))
    W = rng.standard_normal((3, 400_000))
    q = h @ h.T
    by_draws = np.maximum(h @ W, 0.0) @ np.maximum(h @ W, 0.0).T / W.shape[1]
    assert relu_kernel(q, np.diag(q), np.diag(q)) == pytest.approx(by_draws, abs=0.03)
    kernel = Kernel(h, "centred_relu", normalise=False, centre=False)
    u = activated(h / kernel.scale @ W, "centred_relu")
    assert kernel.gram == pytest.approx(u @ u.T / W.shape[1], abs=2e-3)
    unit = Kernel(h, "centred_relu", normalise=True, centre=False)
    assert np.diag(unit.gram) == pytest.approx(np.ones(4), abs=1e-12)
    assert np.multiply.outer(unit.sizes, unit.sizes) * unit.gram == pytest.approx(kernel.gram, abs=1e-12)


def test_activations():
    u = np.linspace(-2.0, 2.0, 9)
    assert activated(u.copy(), "relu") == pytest.approx(np.maximum(u, 0.0))
    assert activated(u.copy(), "centred_relu") == pytest.approx(np.maximum(u, 0.0) - 1 / sqrt(2 * np.pi) - u / 2)


def test_lifts():
    X, _, rng = some(n=8, d=3)
    c = sqrt(np.mean(np.sum(X**2, axis=1)))
    random = RandomLift(X, 5, "relu", rng)
    assert random.rows(X) == pytest.approx(np.maximum(X @ random.W / c, 0.0) / sqrt(5))
    x = X * sqrt(3) / c
    assert LinearLift(X).rows(X) == pytest.approx(x)
    columns = [x[:, i] * x[:, j] if i != j else (x[:, i] ** 2 - 1) / sqrt(2.0) for i in range(3) for j in range(i, 3)]
    assert QuadraticLift(X).rows(X) == pytest.approx(np.stack(columns, axis=1))


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("double", [False, True])
def test_the_signal_matrix_in_blocks_is_that_of_all_samples(normalise, centre, double, monkeypatch):
    monkeypatch.setattr("presage.models.lofi.experiment.lifts.BLOCK_BYTES", 8 * 30 * 7)
    X, y, rng = some()
    y = y - y.mean()
    lift = RandomLift(X, 30, "relu", rng)
    assert lift.block == 7
    found = signal_matrix(lift, X, y, Reading(normalise, centre, double))
    Z = lift.rows(X)
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True) if normalise else Z
    b = Z.T @ y / len(y)
    Z = Z - Z.mean(axis=0) if centre else Z
    near = 1e-14 if double else 2e-7
    assert pytest.approx(Z.T @ (y[:, None] * Z) / len(y), abs=near) == found.C
    assert found.first_moment == pytest.approx(b, abs=near)


def test_matrices_of_classes_are_those_of_their_labels():
    X, _, rng = some()
    classes = rng.integers(0, 3, len(X))
    lift, reading = RandomLift(X, 20, "relu", rng), Reading()
    for one, found in zip(range(3), class_signal_matrices(lift, X, classes, reading), strict=True):
        y = (classes == one) - np.mean(classes == one)
        alone = signal_matrix(lift, X, y, reading)
        assert pytest.approx(alone.C, abs=1e-14) == found.C
        assert found.first_moment == pytest.approx(alone.first_moment, abs=1e-14)


def test_labels_of_the_other_sign_select_the_same_and_constant_ones_nothing():
    X, y, _ = some(n=300)
    y = y - y.mean()
    lift, reading = QuadraticLift(X), Reading()
    C, other = signal_matrix(lift, X, y, reading).C, signal_matrix(lift, X, -y, reading).C
    assert other == pytest.approx(-C, abs=1e-15)
    found, turned = (leading(one, 4, np.random.default_rng(0)) for one in (C, other))
    assert turned.values == pytest.approx(-found.values, abs=1e-12)
    assert np.abs(np.sum(found.vectors * turned.vectors, axis=0)) == pytest.approx(np.ones(4), abs=1e-9)
    constant = np.full(len(X), 3.0)
    assert np.array_equal(signal_matrix(lift, X, constant - constant.mean(), reading).C, np.zeros_like(C))


def test_eigenvectors_one_by_one_are_those_of_all():
    rng = np.random.default_rng(2)
    S = rng.standard_normal((700, 700))
    S = S + S.T
    values, vectors = np.linalg.eigh(S)
    found = leading(S, 5, rng)
    order = np.argsort(-np.abs(values))[:5]
    assert found.values == pytest.approx(values[order], rel=1e-6)
    assert np.abs(np.sum(found.vectors * vectors[:, order], axis=0)) == pytest.approx(np.ones(5), abs=1e-4)
    both = ends(S, 2, rng)
    assert np.sort(both.values) == pytest.approx(values[[0, 1, -2, -1]], rel=1e-6)


def test_sides_are_picked_by_their_own_edges():
    """An outlier below a short edge comes before what is still in the bulk above, however large that is."""
    C = np.diag([3.0, 2.0, 1.9, 0.0, -0.5, -1.5])
    by_size = leading(C, 2, np.random.default_rng(0))
    assert sorted(by_size.values) == [2.0, 3.0]
    found = by_sides(C, (-0.6, 2.1), 2, np.random.default_rng(0))
    assert sorted(found.values) == [-1.5, 3.0]


@pytest.mark.parametrize("lift", ["random", "kernel", "quadratic", "linear"])
def test_every_lift_learns_squares(lift):
    """y is a function of two squares: features that are selected know it, noise beside them does not."""
    X, y, _ = some(n=1500, d=6)
    options: dict[str, Any] = {"activation": "centred_relu", "width": 600} if lift in ("random", "kernel") else {}
    fitted = ps.LoFiRegressor(3, lift=lift, readout_width=300, random_state=0, **options).fit(X[:1000], y[:1000])
    assert fitted.score(X[1000:], y[1000:]) > 0.6
    noise = np.random.default_rng(9).permutation(y[:1000])
    assert (
        ps.LoFiRegressor(3, lift=lift, random_state=0, **options).fit(X[:1000], noise).score(X[1000:], y[1000:]) < 0.2
    )


def test_features_are_standard_and_layers_go_on_from_each_other():
    X, y, _ = some(n=400)
    fitted = ps.LoFiRegressor((4, 2), lift=("linear", "quadratic"), first_moment=False, random_state=1).fit(X, y)
    features = fitted.transform(X)
    assert features.shape == (400, 2)
    assert features.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-12)
    assert features.std(axis=0) == pytest.approx(np.ones(2), rel=1e-9)
    assert all(layer.fitted is None for layer in fitted.layers_)
    assert fitted.layers_[1](fitted.layers_[0](X - X.mean(axis=0))) == pytest.approx(features)
    assert [len(values) for values in fitted.eigenvalues_] == [4, 2]
    assert list(fitted.get_feature_names_out()) == ["lofiregressor0", "lofiregressor1"]


def test_the_first_moment_is_a_feature_of_its_own():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((600, 10))
    y = X @ np.arange(10.0)
    with_it, without = (
        ps.LoFiRegressor(2, width=200, first_moment=on, random_state=0).fit(X[:400], y[:400]) for on in (True, False)
    )
    assert with_it.transform(X).shape[1] == 3
    assert with_it.score(X[400:], y[400:]) > without.score(X[400:], y[400:]) + 0.3


def test_three_classes():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((900, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] ** 2, axis=1)]
    fitted = ps.LoFiClassifier(2, lift="quadratic", random_state=0).fit(X[:600], y[:600])
    assert fitted.score(X[600:], y[600:]) > 0.85
    assert fitted.decision_function(X).shape == (900, 3)
    assert fitted.transform(X).shape[1] == 9  # two directions and a first moment of each class


@pytest.mark.parametrize("lift", ["random", "kernel", "quadratic"])
def test_two_layers_of_three_classes(lift):
    """The second layer has as many inputs as all classes together have directions: more than one of them alone."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 4))
    y = np.argmax(X[:, :3] ** 2, axis=1)
    fitted = ps.LoFiClassifier((2, 9), lift=(lift, "linear"), width=200, readout_width=300, random_state=0).fit(X, y)
    second: Any = fitted.layers_[1]
    assert second.lift.width == 9  # two directions and a first moment of each class
    assert fitted.transform(X).shape[1] == 9 + 3
    with pytest.raises(ValueError, match="`features` must be at most 9 in layer 2"):
        ps.LoFiClassifier((2, 10), lift=(lift, "linear"), width=200).fit(X, y)


def test_seeds_clones_copies_and_pipelines():
    X, y, _ = some(n=200)
    first = ps.LoFiRegressor(3, width=100, random_state=5).fit(X, y)
    again = clone(first).fit(X, y)
    assert np.array_equal(first.predict(X), again.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(first)).predict(X), first.predict(X))
    assert not np.array_equal(first.predict(X), clone(first).set_params(random_state=6).fit(X, y).predict(X))
    assert make_pipeline(StandardScaler(), ps.LoFiRegressor(3, width=100, random_state=5)).fit(X, y).score(X, y) > 0.5


def test_single_precision_keeps_six_digits():
    X, y, _ = some(n=500)
    one, other = (
        ps.LoFiRegressor(3, width=300, precision=p, random_state=0).fit(X, y).eigenvalues_[0]
        for p in ("double", "single")
    )
    assert other == pytest.approx(one, rel=2e-5)


def test_labels_can_be_cut():
    """A few huge labels are eigenvectors by themselves; cut, they are not."""
    X, y, rng = some(n=3000, d=12)
    y = y + np.where(rng.random(3000) < 2e-3, 300.0 * rng.standard_normal(3000), 0.0)
    scores = []
    for clip in (None, 0.1):
        options: dict[str, Any] = {"lift": "linear", "first_moment": False, "random_state": 0, "clip": clip}
        h = ps.LoFiRegressor(2, **options).fit(X, y).transform(X)
        fit = h @ np.linalg.lstsq(h, X[:, :2], rcond=None)[0]
        scores.append(np.mean(np.var(fit, axis=0)))
    assert scores[0] < 0.3
    assert scores[1] > 0.7


X60, Y60 = some()[:2]
WRONG: dict[str, Any] = {
    "K > P": ({"features": 300, "width": 200}, X60, Y60, r"`features` must be at most 200 in layer 1: the random lift"),
    "K > D": ({"features": 16, "lift": "quadratic"}, X60, Y60, "quadratic lift of 5 inputs has 15 directions"),
    "second layer": (
        {"features": (3, 11), "lift": ("random", "quadratic"), "width": 50},
        X60,
        Y60,
        "be at most 10 in layer 2",
    ),
    "constant": ({}, X60, np.ones(60), "`y` must differ between samples: centred labels are all zero"),
    "nan": ({}, np.where(X60 > 2.0, np.nan, X60), Y60, "`X` must be finite numbers.*Got X='NaN in row"),
    "no features": ({"features": ()}, X60, Y60, "`features` must have an entry for each layer"),
    "half a feature": ({"features": 2.5}, X60, Y60, "`features` must be a whole number >= 1"),
    "lift": ({"lift": "cubic"}, X60, Y60, '`lift` must be "random", "kernel", "quadratic" or "linear"'),
    "lifts": ({"lift": ["random"] * 3, "features": (2, 2)}, X60, Y60, "`lift` must have one entry or 2"),
    "activation": ({"activation": "tanh"}, X60, Y60, '`activation` must be "relu" or "centred_relu"'),
    "pick": ({"pick": "all"}, X60, Y60, '`pick` must be "size" or "sides"'),
    "centre": ({"centre": "yes"}, X60, Y60, "`centre` must be True or False"),
    "clip": ({"clip": -1.0}, X60, Y60, "`clip` must be a finite number > 0"),
    "readout": ({"readout_width": 0}, X60, Y60, "`readout_width` must be a whole number >= 1"),
    "no activation": (
        {"features": (3, 2), "lift": ("linear", "quadratic"), "activation": "centred_relu"},
        X60,
        Y60,
        "`activation` must be left out here: the other lifts have no activation",
    ),
    "no precision": (
        {"lift": "kernel", "precision": "single"},
        X60,
        Y60,
        "`precision` must be left out here: the Gram matrix of a kernel",
    ),
    "flat": ({}, X60[:, 0], Y60, "Expected 2D array, got 1D array instead"),
    "shapes": ({}, X60, Y60[:50], "inconsistent numbers of samples"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_told_in_a_sentence(case):
    options, X, y, said = WRONG[case]
    with pytest.raises(ValueError, match=said):
        ps.LoFiRegressor(**options).fit(X, y)


def test_wrong_classes_are_told_in_a_sentence():
    with pytest.raises(ValueError, match="`y` must have at least two classes: with one class there is nothing"):
        ps.LoFiClassifier().fit(X60, np.zeros(60, int))
    with pytest.raises(ValueError, match="`clip` must be left out here: classes have a bound"):
        ps.LoFiClassifier(clip=3.0).fit(X60, Y60 > 0.0)
    fitted = ps.LoFiRegressor(2, width=50).fit(X60, Y60)
    with pytest.raises(ValueError, match="X has 4 features, but LoFiRegressor is expecting 5"):
        fitted.predict(X60[:, :4])


def test_layers_of_classes_need_whole_numbers_and_others_none():
    X, y, rng = some()
    selection = Selection("random", 2, 20, "relu", Reading(), "sides", True)
    assert fit_layer(X, y - y.mean(), selection, rng)(X).shape == (60, 3)
    assert fit_layer(X, (y > 0).astype(int), selection, rng)(X).shape == (60, 6)


def test_presage_does_not_import_scikit_learn_and_says_what_is_missing():
    code = """
import sys, presage as ps
assert not any(name.split(".")[0] == "sklearn" for name in sys.modules)
ps.solve(ps.lofi(ps.SquaresLink([1.0]), alpha=2.0))
assert not any(name.split(".")[0] == "sklearn" for name in sys.modules)
sys.modules["sklearn"] = None
try:
    ps.LoFiRegressor
except ImportError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "estimators of scikit-learn 1.6 or newer. Run: pip install scikit-learn" in found


@pytest.mark.parametrize("n", [30, 400])
def test_the_readout_is_a_ridge_of_its_strength(n):
    """The weights solve the normal equations of all samples, by whichever of two matrices is smaller."""
    X, y, rng = some(n=n)
    fitted = Readout(X, np.stack([y, X[:, 0]], axis=1), 50, rng)
    Z = fitted.standard(fitted.lift.rows(X))
    covariance = Z.T @ Z / n
    ridge = fitted.strength * np.trace(covariance) / 50
    targets = np.stack([y - y.mean(), X[:, 0] - X[:, 0].mean()], axis=1)
    assert fitted.weights == pytest.approx(
        np.linalg.solve(covariance + ridge * np.eye(50), Z.T @ targets / n), abs=1e-6
    )
    assert fitted(X) == pytest.approx(Z @ fitted.weights + [y.mean(), X[:, 0].mean()], abs=1e-9)
    assert np.all(Z.mean(axis=0) == pytest.approx(0.0, abs=1e-12))


def test_the_strength_of_the_ridge_follows_the_noise():
    X, y, _ = some(n=500)
    noise = np.random.default_rng(1).standard_normal(500)
    little, much = (
        Readout(X, (y + size * noise)[:, None], 300, np.random.default_rng(0)).strength for size in (0.0, 5.0)
    )
    assert much > little
