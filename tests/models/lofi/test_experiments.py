"""True inputs, depth, gradient descent, networks, digits: what was seen, and choices without which it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

import presage as ps
from presage.models.lofi.experiment.gradient_alignment import alignment
from presage.models.lofi.experiment.kernel import Kernel
from presage.models.lofi.experiment.layers import Selection, fit_layer
from presage.models.lofi.experiment.readout import Readout
from presage.models.lofi.experiment.signal_matrix import Reading
from presage.models.lofi.experiment.true_inputs import explained, quadratic_forms
from presage.models.lofi.theory.floor import floor

THREE = ps.SquaresLink([1.0, -0.7, 0.5])


def normalised_error(predicted, y):
    return np.mean((predicted - y) ** 2) / np.var(y)


def test_forms_are_orthonormal_and_features_standard():
    data = ps.true_inputs(THREE, d=6, n=20_000, seed=1)
    assert np.einsum("kij,lij->kl", data.forms, data.forms) == pytest.approx(np.eye(3), abs=1e-12)
    assert data.forms == pytest.approx(data.forms.transpose(0, 2, 1), abs=1e-12)
    assert np.cov(data.h.T) == pytest.approx(np.eye(3), abs=0.06)
    by_hand = [(data.x[5] @ A @ data.x[5] - np.trace(A)) / np.sqrt(2) for A in data.forms]
    assert data.h[5] == pytest.approx(by_hand, rel=1e-12)
    assert data.y == pytest.approx(THREE(data.h))
    assert np.array_equal(quadratic_forms(data.x, data.forms), data.h)


@pytest.mark.slow
def test_true_inputs_reach_the_floor_of_what_is_selected():
    """d = 20, all products of two inputs: the error of the readout is the floor at the R^2 of what was selected."""
    found: dict[int, list[Any]] = {4000: [], 16000: []}
    for n, rows in found.items():
        for seed in range(6 if n == 4000 else 3):
            data = ps.true_inputs(THREE, d=20, n=n + 4000, seed=seed)
            fitted = ps.LoFiRegressor(3, lift="quadratic", first_moment=False, random_state=seed)
            fitted.fit(data.x[:n], data.y[:n])
            error = normalised_error(fitted.predict(data.x[n:]), data.y[n:])
            r2 = explained(data.h[n:], fitted.transform(data.x[n:]))
            rows.append((error, floor(THREE, np.clip(r2, 0.0, 1.0))[0], *r2))
    few, many = (np.mean(rows, axis=0) for rows in found.values())
    assert few[0] == pytest.approx(0.47, abs=0.03)
    assert few[0] == pytest.approx(few[1], abs=0.03)
    assert many[0] == pytest.approx(0.245, abs=0.02)
    assert many[0] == pytest.approx(many[1], abs=0.02)
    theory = ps.solve(ps.lofi(THREE, alpha=4000 / 210)).overlaps
    assert np.all(few[2:] < theory)  # inputs of few dimensions are behind the limit
    assert np.all(few[2:] > 0.65 * theory)


@pytest.mark.slow
def test_lazy_learners_of_true_inputs_are_behind():
    """Random features and the kernel, without a selection."""
    from sklearn.kernel_ridge import KernelRidge

    n, rows = 4000, []
    for seed in range(2):
        data = ps.true_inputs(THREE, d=20, n=n + 2000, seed=seed)
        y = data.y - data.y[:n].mean()
        lazy = Readout(data.x[:n], y[:n, None], 1200, np.random.default_rng(seed))(data.x[n:])[:, 0]
        kernel = Kernel(data.x[:n], "relu", normalise=False, centre=False)
        gram, test = kernel.gram, kernel.features(data.x[n:], np.eye(n))
        ridge = KernelRidge(alpha=1e-3, kernel="precomputed").fit(gram, y[:n]).predict(test)
        rows.append((normalised_error(lazy, y[n:]), normalised_error(ridge, y[n:])))
    lazy_error, kernel_error = np.mean(rows, axis=0)
    assert lazy_error == pytest.approx(0.86, abs=0.03)
    assert kernel_error == pytest.approx(0.76, abs=0.03)


@pytest.mark.slow
def test_plain_relu_selects_linear_noise():
    """A negative control: quadratic features need the order of the activation that has them."""
    n, errors = 8000, {}
    data = ps.true_inputs(THREE, d=20, n=n + 4000, seed=0)
    cases: Any = (("relu", 24), ("centred_relu", 6))
    for activation, features in cases:
        fitted = ps.LoFiRegressor(
            features, width=1200, activation=activation, first_moment=False, random_state=0, precision="single"
        )
        errors[activation] = normalised_error(fitted.fit(data.x[:n], data.y[:n]).predict(data.x[n:]), data.y[n:])
    assert errors["relu"] > 0.8
    assert errors["centred_relu"] < 0.65


def selected_r2(data, n, reading, count=3):
    """R^2 of the features by what is selected of all products of the inputs."""
    selection = Selection("quadratic", count, 1, "relu", reading, "size", first_moment=False)
    layer = fit_layer(data.x[:n], data.y[:n] - data.y[:n].mean(), selection, np.random.default_rng(0))
    return explained(data.h[n:], layer(data.x[n:])), layer(data.x[n:])


@pytest.mark.slow
def test_without_row_norms_single_samples_become_eigenvectors():
    """d = 40, eight samples a coordinate: .54 .00 .08 without, .70 .61 .39 with rows of norm one."""
    n = 8 * 820
    with_it, without = [], []
    for seed in range(3):
        data = ps.true_inputs(THREE, d=40, n=n + 4000, seed=seed)
        with_it.append(selected_r2(data, n, Reading(double=False))[0])
        without.append(selected_r2(data, n, Reading(normalise=False, double=False))[0])
    better, worse = np.mean(with_it, axis=0), np.mean(without, axis=0)
    assert better == pytest.approx([0.70, 0.61, 0.39], abs=0.13)
    assert worse == pytest.approx([0.54, 0.00, 0.08], abs=0.13)
    assert better.mean() > worse.mean() + 0.2


def test_without_centring_the_radial_direction_takes_a_place():
    """Rows of norm one that are not centred afterwards: |x|^2 is an outlier; centred, it is none."""
    n = 8000
    seen: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(2):
        data = ps.true_inputs(THREE, d=16, n=n + 2000, seed=seed)
        radius = np.sum(data.x[n:] ** 2, axis=1)[:, None]
        for centre, found in seen.items():
            _, h = selected_r2(data, n, Reading(centre=centre), count=4)
            found.append(max(float(explained(radius, one[:, None])[0]) for one in h.T))
    assert np.min(seen[False]) > 0.5
    assert np.max(seen[True]) < 0.35


@pytest.mark.slow
def test_without_centring_the_constant_makes_a_pair_of_outliers():
    """The kernel without constant and linear part, inputs of norm one: both ends of the spectrum are z.b."""
    data = ps.true_inputs(THREE, d=20, n=2000, seed=0)
    x = data.x / np.linalg.norm(data.x, axis=1, keepdims=True)
    y, found = data.y - data.y.mean(), {}
    for centre in (False, True):
        selection = Selection("kernel", 2, 1, "centred_relu", Reading(centre=centre), "size", first_moment=True)
        layer = fit_layer(x, y, selection, np.random.default_rng(0))
        features = layer(x)
        found[centre] = layer.values, explained(features[:, :2], features[:, 2:])
    values, r2 = found[False]
    assert values[0] * values[1] < 0.0
    assert abs(values[0] + values[1]) < 0.15 * abs(values[0])
    assert np.all(r2 > 0.7)
    assert np.abs(found[True][0]).max() < 0.9 * np.abs(values).max()
    assert np.all(found[True][1] < 0.3)


@pytest.mark.slow
def test_the_second_layer_gains_where_there_are_features_of_features():
    """d = 200: without a layer nothing, with one half, with two nearly all; overlaps are those of the theory."""
    seen = {n: ps.layer_errors(ps.lofi(ps.NestedLink(), alpha=n / 200), d=200, seeds=2) for n in (5000, 20_000, 50_000)}
    for n, (one, two) in {5000: (0.85, 0.92), 20_000: (0.52, 0.40), 50_000: (0.40, 0.20)}.items():
        found = seen[n]
        assert np.mean(found.lazy) == pytest.approx(1.0, abs=0.02)
        assert np.mean(found.one_layer) == pytest.approx(one, abs=0.06)
        assert np.mean(found.two_layers) == pytest.approx(two, abs=0.06)
        theory = ps.solve(found.problem)
        assert np.mean(found.overlap) == pytest.approx(theory.mean_overlap, abs=0.03)
        assert np.mean(found.two_layers) > theory.floor - 0.02
    assert np.mean(seen[50_000].deep_overlap) == pytest.approx(ps.solve(seen[50_000].problem).deep_overlap, abs=0.03)
    assert np.mean(seen[5000].two_layers) > np.mean(seen[5000].one_layer)  # too early, a second layer loses


@pytest.mark.slow
def test_gradient_descent_turns_to_what_is_selected_before_the_loss_moves():
    found = ps.gradient_alignment(THREE, steps=(25, 50, 75, 200), seed=0)
    early, half, there, late = found.alignment
    assert found.chance == pytest.approx(0.003)
    assert 0.3 < early < 0.75
    assert half > 0.9
    assert there > 0.9
    assert late < 0.6
    assert found.residual[1] > 0.98  # nothing is fitted yet
    assert found.residual[3] < 0.35
    assert found.r2[2] == pytest.approx(found.selected_r2, abs=0.05)
    assert found.r2[3] > found.selected_r2 + 0.3  # gradient descent goes on to better features


@pytest.mark.slow
def test_a_network_learns_what_is_selected_before_the_rest():
    pytest.importorskip("torch")
    found = ps.network_alignment(THREE, steps=(160, 640, 1280), seed=0)
    assert found.selected[0] < 0.05
    assert found.selected[2] > 0.45
    assert np.all(found.selected[1:] > 25.0 * found.unselected[1:])
    assert found.test_error[2] < 0.35
    assert "step 640" in str(found)


def digits(noise_pixels=0, sd=0.3):
    X, target = load_digits(return_X_y=True)
    X = X / 16.0
    X -= X.mean(axis=0)
    noise = sd * np.random.default_rng(7).standard_normal((len(X), noise_pixels))
    return np.column_stack([X, noise]), target


def mean_error(learner, X, y, splits, n=1000):
    errors = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(X))
        one = clone(learner)
        if "random_state" in one.get_params():
            one.set_params(random_state=split)
        errors.append(np.mean(one.fit(X[order[:n]], y[order[:n]]).predict(X[order[n:]]) != y[order[n:]]))
    return float(np.mean(errors))


class LazyFeatures(ps.LoFiClassifier):
    """Random features without a selection."""

    def fit(self, X, y):
        self.readout_ = Readout(X, np.where(y, 1.0, -1.0)[:, None], 1000, np.random.default_rng(self.random_state))
        return self

    def predict(self, X):
        return self.readout_(X)[:, 0] > 0.0


@pytest.mark.slow
def test_odd_and_even_digits():
    X, target = digits()
    y = target % 2 == 1
    assert mean_error(RidgeClassifier(alpha=1.0), X, y, 5) == pytest.approx(0.092, abs=0.008)
    assert mean_error(LazyFeatures(), X, y, 5) == pytest.approx(0.013, abs=0.004)
    plain = ps.LoFiClassifier(30, width=600, first_moment=False)
    assert mean_error(plain, X, y, 5) == pytest.approx(0.014, abs=0.004)
    few = {on: mean_error(ps.LoFiClassifier(5, width=600, first_moment=on), X, y, 5) for on in (False, True)}
    assert few[True] < few[False] - 0.008  # the first moment is of use where few directions are kept


@pytest.mark.slow
def test_digits_with_noise_pixels():
    """With 200 irrelevant inputs a selection is better than random features of all of them."""
    X, target = digits(200)
    y = target >= 5
    lazy = mean_error(LazyFeatures(), X, y, 3)
    selected = mean_error(ps.LoFiClassifier(10, width=600, first_moment=False), X, y, 3)
    with_moment = mean_error(ps.LoFiClassifier(10, width=600), X, y, 3)
    assert selected < lazy - 0.02
    assert with_moment < selected - 0.01


def test_images_of_digits():
    pytest.importorskip("torch")
    X, target = digits()
    convolution = ps.LoFiConvolution((1, 8, 8), features=3, width=60, random_state=0)
    both = make_pipeline(convolution, ps.LoFiClassifier(3, width=300, readout_width=500, random_state=0))
    both.fit(X[:1000], target[:1000])
    assert both.score(X[1000:], target[1000:]) > 0.95
    assert both[0].shape_ == (40, 4, 4)  # three channels and a first moment of each class, of half the pixels
    assert both[0].transform(X[:7]).shape == (7, 640)


def test_channels_of_layers_are_given_by_any_sequence():
    pytest.importorskip("torch")
    X, target = digits()
    fits = [
        ps.LoFiConvolution(shape, features=features, width=20, random_state=0).fit(X[:100], target[:100] / 10.5)
        for shape, features in (((1, 8, 8), (3, 2)), (anything(np.array([1, 8, 8])), anything(np.array([3, 2]))))
    ]
    assert fits[0].shape_ == (3, 2, 2)
    assert np.array_equal(fits[0].transform(X[:9]), fits[1].transform(X[:9]))


def test_a_network_leaves_random_numbers_of_others_as_they_are():
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    found = ps.network_alignment(THREE, d=14, n=400, n_test=200, steps=(2,))
    assert torch.equal(torch.rand(1), expected)
    assert np.isfinite(found.unselected).all()


def test_every_place_of_an_image_is_a_sample_with_its_label():
    """The signal matrix of a convolution by hand, place by place."""
    torch = pytest.importorskip("torch")
    from presage.models.lofi.experiment.convolution import ConvolutionLift
    from presage.models.lofi.experiment.signal_matrix import signal_matrix

    rng = np.random.default_rng(0)
    images, y = rng.standard_normal((6, 2, 4, 3)), rng.standard_normal(6)
    y -= y.mean()
    lift = ConvolutionLift(images, 5, 3, rng)
    assert lift.positions == 12
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    patches = [padded[n, :, i : i + 3, j : j + 3] for n in range(6) for i in range(4) for j in range(3)]
    assert lift.scale == pytest.approx(np.sqrt(np.mean([np.sum(one**2) for one in patches])), rel=1e-9)
    Z = np.array([[max(np.sum(W * one) / lift.scale, 0.0) for W in lift.W] for one in patches]) / np.sqrt(5)
    assert lift.rows(images) == pytest.approx(Z, abs=1e-9)
    C = sum(y[k // 12] * np.outer(Z[k], Z[k]) for k in range(72)) / 72
    assert pytest.approx(C, abs=1e-9) == signal_matrix(lift, images, y, Reading(normalise=False, centre=False)).C
    assert torch.get_default_dtype() == torch.float32


def anything(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: ps.true_inputs(anything("squares"), d=5, n=10, seed=0), "`link` must be a FeatureLink"),
        (lambda: ps.true_inputs(ps.NestedLink(6), d=3, n=10, seed=0), "`d` must be larger for 12 features"),
        (lambda: ps.gradient_alignment(THREE, steps=(5, 5)), "`steps` must be increasing numbers"),
        (lambda: ps.gradient_alignment(THREE, width=2), "`width` must be a whole number >= 3"),
        (lambda: ps.layer_errors(ps.lofi(THREE, alpha=9.0, tail=1.0), d=50), "`tail` must be zero here"),
        (lambda: ps.layer_errors(ps.lofi(THREE, alpha=1.0), d=50), "`alpha` must be larger"),
    ],
)
def test_wrong_experiments_are_told_in_a_sentence(made, said):
    with pytest.raises(ValueError, match=said):
        made()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: ps.LoFiConvolution((8, 8)).fit(*digits()), "`shape` must be three numbers"),
        (lambda: ps.LoFiConvolution((1, 8, 8), size=2).fit(*digits()), "`size` must be odd"),
        (lambda: ps.LoFiConvolution((1, 8, 8), features=300).fit(*digits()), "`features` must be a whole number >= 1"),
        (lambda: ps.LoFiConvolution((1, 8, 8), pool=9).fit(*digits()), "`pool` must be a whole number >= 1 and <= 8"),
        (lambda: ps.LoFiConvolution((1, 8, 8)).fit(digits()[0], np.zeros(1797, int)), "at least two classes"),
        (lambda: ps.LoFiConvolution((1, 8, 8)).fit(digits()[0], np.full(1797, 1.5)), "`y` must differ between samples"),
        (lambda: ps.LoFiConvolution((1, 8, 8)).fit(digits()[0], np.arange(1797)), "`y` must have at most 50 classes"),
        (lambda: ps.LoFiConvolution((1, 8, 8), features=()).fit(*digits()), "`features` must have an entry for each"),
        (
            lambda: ps.LoFiConvolution((1, 8, 8), first_moment=anything("no")).fit(*digits()),
            "`first_moment` must be True or False",
        ),
        (lambda: ps.network_alignment(THREE, d=8), "`d` must be a whole number >= 14: directions of ranks 40 to 100"),
        (lambda: ps.network_alignment(THREE, n_test=10), "`n_test` must be a whole number >= 200: regressions are"),
    ],
)
def test_wrong_networks_are_told_in_a_sentence(made, said):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=said):
        made()


def test_alignment_of_subspaces():
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    assert alignment(Q[:, :3], Q[:, :3] @ np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]) == (
        pytest.approx(1.0)
    )
    assert alignment(Q[:, :3], Q[:, 3:6]) == pytest.approx(0.0, abs=1e-12)
    assert alignment(Q[:, :2], Q[:, 1:3]) == pytest.approx(0.5)


def test_layers_of_few_samples_are_told():
    found = ps.layer_errors(ps.lofi(THREE, alpha=20.0), d=30, seeds=[4], width=100, n_test=1000)
    assert found.n == 600
    assert "1 learners of d = 30, 600 samples" in str(found)
    again = ps.layer_errors(ps.lofi(THREE, alpha=20.0), d=30, seeds=[4], width=100, n_test=1000)
    assert np.array_equal(found.two_layers, again.two_layers)
