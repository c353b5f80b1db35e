"""The theory: the toolbox feature by feature, weak features, seen numbers, slopes, and what is never seen."""

from __future__ import annotations

from math import exp, factorial, inf

import numpy as np
import pytest

import presage as ps
from presage.models.multi_index.gaussian_means import moments
from presage.models.multi_index.label_law import label_law
from presage.models.multi_index.preprocessing import weights_of
from presage.models.multi_index.theory.outliers import (
    Side,
    best_threshold,
    outliers,
    sides,
    weak_outliers,
    weak_threshold,
)
from presage.models.multi_index.theory.readout import excess_risk, floor, mixing
from presage.models.multi_index.theory.scaling import exponent, one_by_one
from presage.models.multi_index.thresholds import exact_thresholds, weak_signal_threshold

BALANCED = ps.CosineLink(exp(1.5) / 4.0)  # noise sensitivity exponent 2
SQUARES = ps.multi_index(ps.HermiteLink(2), alpha=640.0, features=12, decay=1.0, noise=0.5)
MODULI = ps.multi_index(ps.AbsoluteLink(), alpha=160.0, features=8, decay=1.0, noise=0.5)


def labels_of(problem: ps.MultiIndexProblem, k: int) -> ps.Labels:
    """The law of labels as the toolbox takes it, for one feature."""
    law = label_law(problem)
    return ps.Labels(law.u, law.weight, 1.0 + law.excess[k])


# Outliers


@pytest.mark.parametrize("problem", [SQUARES, MODULI.replace(alpha=20.0), MODULI.replace(preprocessing="identity")])
def test_each_feature_is_that_of_the_toolbox(problem):
    """All features at once against the spectral method of each by itself, above and below the threshold."""
    (side, *_), law = sides(problem), label_law(problem)
    size = np.sqrt(side.second_moment)
    found = outliers(problem)
    rows, l = side.places(problem.alpha)
    assert len(rows) > 0
    for k in range(problem.features):
        spike = ps.spectral_method(weights_of(problem, law), labels_of(problem, k), problem.alpha)
        assert found.overlap[k] == pytest.approx(spike.overlap, abs=1e-8)
        assert (k in rows) == (spike.overlap > 0.0)
        assert found.edge == pytest.approx(spike.edge / size, rel=1e-8)
    assert found.recovered == len(rows)
    for row, place in zip(rows, l, strict=True):
        spike = ps.spectral_method(weights_of(problem, law), labels_of(problem, int(row)), problem.alpha)
        assert side.psi(place, problem.alpha) == pytest.approx(spike.outlier, rel=1e-8)


def test_features_below_the_bulk_are_found_with_the_other_sign():
    """``cos`` has a negative part of degree two: what ``-f`` has above the bulk it has below."""
    problem = ps.single_index(ps.CosineLink(), alpha=40.0)
    mirrored = ps.single_index(ps.OwnLink(lambda z: -np.cos(z)), alpha=40.0)
    one, other = outliers(problem), outliers(mirrored)
    assert one.overlap[0] == pytest.approx(other.overlap[0], rel=1e-6)
    assert one.overlap[0] > 0.8
    assert one.top == pytest.approx(other.top, rel=1e-6)
    assert len(sides(problem)[0].places(40.0)[0]) == 0 < len(sides(problem)[1].places(40.0)[0])


@pytest.mark.parametrize("preprocessing", ["bounded", "best"])
def test_thresholds_are_where_outliers_begin(preprocessing):
    problem = ps.single_index(ps.AbsoluteLink(), alpha=1.0, signal=0.1, preprocessing=preprocessing)
    threshold = exact_thresholds(problem)[0]
    assert outliers(problem.replace(alpha=0.999 * threshold)).overlap[0] == 0.0
    assert 0.0 < outliers(problem.replace(alpha=1.001 * threshold)).overlap[0] < 0.01
    found = ps.thresholds(problem)
    assert found.first == found.last == pytest.approx(threshold)
    if preprocessing == "best":
        assert threshold == pytest.approx(found.best_first, rel=1e-6)
    else:
        assert threshold > 1.001 * found.best_first


@pytest.mark.parametrize("link", [ps.HermiteLink(2), ps.AbsoluteLink(), BALANCED])
@pytest.mark.parametrize("features", [1, 3])
def test_no_preprocessing_beats_the_best(link, features):
    problem = ps.committee(link, alpha=1.0, features=features, signal=0.5, preprocessing="best")
    law, best = label_law(problem), ps.thresholds(problem).best_first
    assert exact_thresholds(problem)[0] == pytest.approx(best, rel=1e-5)
    for T in (np.tanh, lambda u: np.tanh(u) ** 2, lambda u: -np.exp(-(u**2)), lambda u: np.abs(u) < 1.0, np.cos):
        values = np.asarray(T(law.u), dtype=np.float64)
        values = values - law.weight @ values
        both = (Side(sign * values, law.weight, law.excess, float((sign * values).max())) for sign in (1.0, -1.0))
        assert min(side.threshold(0) for side in both) > best * (1.0 - 1e-6)


@pytest.mark.parametrize("preprocessing", ["identity", "bounded"])
def test_weak_features_are_a_spiked_wigner_matrix(preprocessing):
    """``cos^2 = 1 - alpha_k/alpha`` as features get weaker; of the labels themselves ``alpha_k = V_y/(a_k c_2)^2``."""
    problem = SQUARES.replace(preprocessing=preprocessing, features=64)
    weak = weak_threshold(problem)
    if preprocessing == "identity":
        closed = problem.label_variance / (problem.weights**2 * 2.0)
        assert weak == pytest.approx(closed, rel=1e-5)
    differences = []
    for k in (3, 15, 63):
        far = problem.replace(alpha=2.0 * weak[k])
        exact, approximate = outliers(far), weak_outliers(far)
        assert approximate.overlap[k] == pytest.approx(0.5, abs=1e-9)
        differences.append(abs(exact.overlap[k] - 0.5))
    assert differences[0] > differences[1] > differences[2]
    assert differences[2] < 0.01
    top = ps.spiked_wigner(weak**-0.5, far.alpha**-0.5)
    assert approximate.top == pytest.approx(top.outlier.max(), rel=1e-12)


def test_weights_by_a_hermite_polynomial_of_the_exponent():
    """``theta_k = (a_k/s)^b E[f^b (z^2-1)]`` exactly, and for b = 2 ``E T^2 = 2 + kurtosis`` of the labels."""
    problem = ps.multi_index(BALANCED, alpha=1e4, features=5, decay=1.0, noise=0.5, preprocessing="hermite")
    known, s2 = moments(BALANCED), problem.label_variance
    kurtosis = np.sum(problem.weights**4) * (known.fourth - 3.0 * known.variance**2) / s2**2
    theta = problem.weights**2 / s2 * ps.noise_sensitivity(BALANCED).coefficient
    assert weak_threshold(problem) == pytest.approx((2.0 + kurtosis) / theta**2, rel=1e-6)
    slope = np.polyfit(np.log(np.arange(1, 6)), np.log(weak_threshold(problem)), 1)[0]
    assert slope == pytest.approx(4.0, abs=1e-4)  # k^(2 gamma b)


def test_small_features_beyond_those_that_are_followed_continue_the_others():
    """Overlaps and thresholds pass from the 64th feature to the 65th as smoothly as before."""
    problem = SQUARES.replace(features=300, alpha=20_000.0)
    found, known = ps.solve(problem).overlaps, ps.thresholds(problem)
    steps = np.diff(found[55:75])
    assert steps.max() < 0.0
    assert np.diff(steps) == pytest.approx(np.full(18, -1e-4), abs=2e-5)
    alone = outliers(problem.replace(features=64)).overlap  # the law of the labels is another, by features 65 to 300
    assert found[:64] == pytest.approx(alone, abs=0.02)
    for thresholds in (known.alpha, known.best, known.weak):
        assert np.diff(np.log(thresholds[62:66])) == pytest.approx(2.0 * np.diff(np.log(np.arange(63, 67))), rel=0.02)


# Seen numbers


SEEN_SQUARES = (0.997, 0.99, 0.98, 0.98, 0.96, 0.95, 0.93, 0.90, 0.88, 0.86, 0.85, 0.80)
SEEN_MODULI = (0.98, 0.95, 0.91, 0.82, 0.75, 0.61, 0.44, 0.41)


@pytest.mark.parametrize(("problem", "seen"), [(SQUARES, SEEN_SQUARES), (MODULI, SEEN_MODULI)])
def test_seen_overlaps_are_on_both_curves(problem, seen):
    """Few matrices of d = 300: overlaps scatter by some d^-1/2 = 0.06, most near the threshold."""
    told = {
        12: (1.0, 0.99, 0.99, 0.97, 0.96, 0.94, 0.92, 0.90, 0.87, 0.84, 0.80, 0.77),
        8: (0.99, 0.96, 0.91, 0.83, 0.74, 0.62, 0.49, 0.33),
    }[problem.features]
    weak = weak_outliers(problem.replace(preprocessing="identity")).overlap
    assert weak == pytest.approx(told, abs=0.0101)  # told to two digits, some of them cut
    for preprocessing in ("identity", "bounded"):
        exact = ps.solve(problem.replace(preprocessing=preprocessing)).overlaps
        assert exact[:-1] == pytest.approx(seen[:-1], abs=0.06)
        assert exact[-1] == pytest.approx(seen[-1], abs=0.12)


@pytest.mark.parametrize(
    ("link", "signal", "ratio"),
    [
        (ps.AbsoluteLink(), 0.1, 0.997),
        (ps.AbsoluteLink(), 1e-3, 1.000),
        (ps.CosineLink(), 0.1, 0.992),
        (ps.CosineLink(), 1e-3, 1.000),
        (ps.HermiteLink(2), 0.1, 0.796),
        (ps.HermiteLink(2), 1e-3, 0.997),
        (BALANCED, 0.1, 0.958),
        (BALANCED, 1e-3, 0.9995),
    ],
)
def test_seen_ratios_of_exact_thresholds_and_their_formula(link, signal, ratio):
    problem = ps.single_index(link, alpha=1.0, signal=signal)
    sensitivity = ps.noise_sensitivity(link)
    b = int(sensitivity.exponent)
    formula = factorial(b) / (signal**b * sensitivity.coefficient**2)
    exact = float(best_threshold(label_law(problem))[0])
    assert weak_signal_threshold(problem) == pytest.approx(formula, rel=1e-12)
    assert exact / formula == pytest.approx(ratio, abs=5.1e-4)
    assert exact == pytest.approx(ps.best_threshold(labels_of(problem, 0)), rel=1e-9)


def test_best_weak_preprocessing_is_a_hermite_polynomial():
    """Its threshold is that of the best method as the signal vanishes; the identity needs ever more for b = 2."""
    for link, below in ((ps.CosineLink(), 1.001), (BALANCED, 1.002)):
        problem = ps.single_index(link, alpha=1.0, signal=1e-3, preprocessing="hermite")
        found = ps.thresholds(problem)
        assert 1.0 - 1e-6 < found.first / found.best_first < below


def test_seen_overlaps_of_the_best_preprocessing():
    problem = ps.single_index(ps.HermiteLink(2), alpha=1.0, signal=0.5, preprocessing="best")
    threshold = ps.thresholds(problem).first
    for ratio, overlap in ((1.3, 0.059), (2.0, 0.199), (4.0, 0.491)):
        assert ps.solve(problem.replace(alpha=ratio * threshold)).overlaps[0] == pytest.approx(overlap, abs=6e-4)


def test_constant_of_weak_features_is_the_fisher_information_of_the_labels():
    """``alpha_k^best (a_k c_2)^2 -> 1/I`` of the labels' density, which is below ``V_y`` unless labels are Gaussian.

    The specification has the constant of T = y, ``V_y``, for the best method too: that is the Gaussian case only.
    """
    for problem, gaussian in (
        (SQUARES.replace(features=400), False),
        (SQUARES.replace(features=400, noise=200.0), True),
    ):
        law = label_law(problem)
        spacing = law.u[1] - law.u[0]
        density = law.weight / spacing
        information = float(np.sum(np.gradient(density, spacing) ** 2 / density) * spacing)  # of standardised labels
        ratio = ps.thresholds(problem).best[63] / (problem.label_variance / (2.0 * problem.weights[63] ** 2))
        assert ratio == pytest.approx(1.0 / information, rel=0.02)
        assert (ratio > 0.99) == gaussian
        assert ratio <= 1.001


# What is never seen


@pytest.mark.parametrize("alpha", [1e2, 1e4, 1e6, 1e8])
def test_exponent_two_has_no_outlier_for_the_labels_themselves(alpha):
    """T = y shows nothing at any alpha, T = y^2 - 1 does; and for exponent one T = y does."""
    problem = ps.single_index(BALANCED, alpha=alpha, signal=0.5, preprocessing="identity")
    found = ps.solve(problem)
    assert (found.recovered, found.unlearned) == (0, 1.0)
    assert found.top_eigenvalue == found.edge
    seen = ps.solve(problem.replace(preprocessing="hermite"))
    assert (seen.recovered == 1) == (alpha > ps.thresholds(problem.replace(preprocessing="hermite")).first)
    assert ps.thresholds(problem).first == inf
    assert "show no feature" in " ".join(ps.thresholds(problem).caveats)
    assert ps.solve(problem.replace(link=ps.CosineLink())).recovered == 1


def test_strong_signals_of_exponent_two_are_seen_by_their_spread():
    """Where ``E[y^2 (z^2-1)] > E y^2`` the matrix has more noise along the feature than its bulk: two outliers.

    So that T = y has no outlier holds of weak signals: of He_4, with ``E[f^2 (z^2-1)] = 8``, up to signal 1/7.
    """
    spread = np.array([signal * 8.0 / (1.0 + signal) for signal in (0.05, 1.0)])
    assert (spread > 1.0).tolist() == [False, True]
    weak, strong = (
        outliers(ps.single_index(ps.HermiteLink(4), alpha=1e7, signal=signal, preprocessing="identity"), 1e-9)
        for signal in (0.05, 1.0)
    )
    assert (weak.recovered, strong.recovered) == (0, 2)
    assert strong.overlap[0] == pytest.approx(2.0 * 0.5 * 3.0 / 4.0, abs=0.15)


def test_below_the_first_threshold_nothing_is_learned():
    problem = SQUARES.replace(alpha=0.9 * ps.thresholds(SQUARES).first)
    found = ps.solve(problem)
    assert (found.recovered, found.unlearned) == (0, 1.0)
    assert found.excess_risk == pytest.approx(np.sum(problem.weights**2), rel=1e-12)


# Readout


@pytest.mark.parametrize("link", [ps.HermiteLink(2), ps.AbsoluteLink(), BALANCED])
def test_excess_risk_of_gaussian_coordinates(link):
    """Least squares on polynomials of a coordinate ``s = sqrt(q) z + sqrt(1-q) w``, a million of them.

    Squares of polynomials of degree four scatter: the mean over a million is known to some percent.
    """
    problem = ps.multi_index(link, alpha=1.0, features=2, decay=1.0, readout_degree=4)
    q, n, rng = np.array([0.9, 0.5]), 1_000_000, np.random.default_rng(0)
    z, w = rng.standard_normal((2, n, 2))
    s = np.sqrt(q) * z + np.sqrt(1.0 - q) * w
    clean = link(z) @ problem.weights
    A = np.concatenate([s**degree for degree in range(5)], axis=1)[:, 1:]
    left = clean - A @ np.linalg.lstsq(A, clean, rcond=None)[0]
    assert excess_risk(problem, q) == pytest.approx(np.mean(left**2), rel=0.03)
    assert excess_risk(problem, 0.0 * q) == pytest.approx(moments(link).variance * np.sum(problem.weights**2), rel=1e-9)
    B = np.concatenate([z**degree for degree in range(5)], axis=1)[:, 1:]  # the very features
    least = clean - B @ np.linalg.lstsq(B, clean, rcond=None)[0]
    assert floor(problem) == pytest.approx(np.mean(least**2), rel=0.03, abs=1e-12)
    assert (floor(problem) > 1e-3) == (link != ps.HermiteLink(2))


@pytest.mark.parametrize("p", [2, 5])
@pytest.mark.parametrize("degree", [2, 4, 6])
def test_mixing_of_turned_coordinates(p, degree):
    problem = ps.committee(ps.AbsoluteLink(), alpha=1.0, features=p, readout="separate")
    u = np.random.default_rng(0).standard_normal((400_000, p))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    drawn = np.sum(u**degree, axis=1) ** 2
    assert mixing(problem, degree) == pytest.approx(drawn.mean(), abs=5.0 * drawn.std() / len(u) ** 0.5 + 1e-12)
    assert mixing(problem, 2) == pytest.approx(1.0, rel=1e-12)
    assert mixing(problem.replace(readout="joint"), degree) == 1.0


# Scaling


@pytest.mark.parametrize(
    ("link", "preprocessing", "decay", "features", "alphas"),
    [
        (ps.HermiteLink(2), "bounded", 0.75, 100_000, (1e3, 1e5)),
        (ps.HermiteLink(2), "bounded", 1.0, 20_000, (1e3, 1e5)),
        (ps.AbsoluteLink(), "identity", 1.0, 20_000, (1e3, 1e5)),
        (ps.HermiteLink(2), "bounded", 1.5, 5_000, (1e4, 1e6)),
        (BALANCED, "hermite", 1.0, 3_000, (1e7, 1e9)),
    ],
)
def test_slopes_of_risk_and_energy(link, preprocessing, decay, features, alphas):
    """Over two decades within .05 of ``-(1/b)(1 - 1/(2 gamma))``: the energy, and the risk above its floor."""
    problem = ps.multi_index(
        link, alpha=1.0, features=features, decay=decay, preprocessing=preprocessing, readout_degree=12
    )
    grid = np.geomspace(alphas[0], alphas[1], 7)
    found = [ps.solve(problem.replace(alpha=alpha)) for alpha in grid]
    b = int(ps.noise_sensitivity(link).exponent)
    slope = np.polyfit(np.log(grid), np.log([one.unlearned for one in found]), 1)[0]
    assert slope == pytest.approx(exponent(decay, b), abs=0.05)
    risk = np.polyfit(np.log(grid), np.log([one.excess_risk - floor(problem) for one in found]), 1)[0]
    assert risk == pytest.approx(exponent(decay, b), abs=0.05)
    learned = np.polyfit(np.log(grid), np.log([one.recovered for one in found]), 1)[0]
    assert learned == pytest.approx(1.0 / (2.0 * decay * b), abs=0.02)


@pytest.mark.parametrize(("link", "power"), [(ps.HermiteLink(2), 1), (BALANCED, 2)])
def test_law_of_many_features(link, power):
    """The law against the sum over a million features with thresholds ``k^(2 b gamma)``."""
    problem = ps.multi_index(link, alpha=1.0, features=100_000, decay=1.0, readout_degree=12)
    K = 300.0
    overlap = np.maximum(1.0 - (np.arange(1, 100_001) / K) ** (2.0 * power), 0.0)
    left = excess_risk(problem, overlap) - floor(problem)
    beyond = (
        problem.signal * float(np.sum(moments(link).coefficients[1:13] ** 2)) / 100_000.5
    )  # features that are not there
    assert one_by_one(problem, K, power) == pytest.approx(left + beyond, rel=5e-3)


def test_scaling_says_the_phase_and_where_it_ends():
    problem = SQUARES.replace(features=2000)
    first, last = (float(weak_threshold(problem)[k]) for k in (0, -1))
    for alpha, phase, law in ((0.5, "nothing learned", 0.0), (1e4, "one by one", -0.5), (1e9, "all learned", -1.0)):
        found = ps.scaling(problem.replace(alpha=alpha))
        assert (found.phase, found.exponent_n) == (phase, law)
        assert found.local_exponent_n == pytest.approx(law, abs=0.06)
        assert found.law_value == pytest.approx(found.error, rel=0.03)
        assert {wall.value for wall in found.boundaries} <= {first, last}
    assert ps.scaling(problem.replace(alpha=1e4)).learned == pytest.approx(np.sum(weak_threshold(problem) < 1e4), abs=2)
    with pytest.raises(ValueError, match=r"`decay` must be above 1/2, with at least two features"):
        ps.scaling(ps.committee(ps.AbsoluteLink(), alpha=1.0, features=3))


@pytest.mark.parametrize(("alpha", "within"), [(1e4, 0.01), (1e6, 1e-3), (1e9, 1e-5)])
def test_laws_have_the_floor_of_the_readout(alpha, within):
    """Moduli have a tenth of their variance beyond degree six, and 2000 features less than infinitely many."""
    problem = ps.multi_index(ps.AbsoluteLink(), alpha=alpha, features=2000, decay=1.0, readout_degree=6)
    found = ps.scaling(problem)
    assert floor(problem) == pytest.approx(0.0174, abs=1e-4)
    assert found.law_value == pytest.approx(found.error, rel=within)
    ends = [ps.scaling(problem.replace(alpha=alpha * step), local=False).law_value for step in (1.0 / 1.5, 1.5)]
    assert found.local_exponent_n == pytest.approx(np.log(ends[1] / ends[0]) / np.log(1.5**2), rel=0.03)
    assert "above the floor 0.0174 of the readout" in found.law.words
    assert "above its floor" in " ".join(found.caveats)
    assert "floor" not in " ".join(ps.scaling(SQUARES).caveats)


def test_local_exponents_at_the_ends_of_the_range():
    problem = SQUARES.replace(features=200)
    assert ps.scaling(problem.replace(alpha=1e12)).local_exponent_n == pytest.approx(-1.0, abs=1e-4)
    assert ps.scaling(problem.replace(alpha=1e-3)).local_exponent_n == 0.0


def test_labels_that_tell_nothing_have_an_infinite_best_threshold():
    """``cos 50z`` has a part of degree two of e^-1250; small features of exponent two keep their finite ones."""
    assert ps.thresholds(ps.single_index(lambda z: np.cos(50.0 * z), alpha=1.0)).best_first == inf
    small = ps.thresholds(ps.multi_index(BALANCED, alpha=1.0, features=64, decay=2.0)).best
    assert np.log(small[63] / small[40]) / np.log(64 / 41) == pytest.approx(8.0, abs=0.1)  # k^(2 b gamma)


def test_recovery_is_a_staircase_of_the_thresholds():
    found, known = ps.recovery(SQUARES), ps.thresholds(SQUARES)
    assert found.feature.tolist() == list(range(1, 13))
    assert found.alpha == pytest.approx(known.alpha)
    assert found.count([0.5, 20.0, 1e4]).tolist() == [0, 4, 12]
    assert ps.recovery(SQUARES.replace(preprocessing="identity")).notes
    assert len(ps.recovery(ps.single_index(BALANCED, alpha=1.0, preprocessing="identity")).alpha) == 0


# Words


def test_caveats_say_what_is_outside_of_the_claim():
    said = {
        "near the threshold": ps.single_index(ps.AbsoluteLink(), alpha=17.0, signal=0.1),
        "make outliers by themselves": SQUARES.replace(alpha=100.0, preprocessing="identity"),
        "no part in the readout": MODULI.replace(alpha=1e4),
        "turned at random": ps.committee(ps.AbsoluteLink(), alpha=50.0, features=3, readout="separate"),
    }
    for words, problem in said.items():
        assert words in " ".join(ps.solve(problem).caveats), words
    assert ps.solve(SQUARES).caveats == ()
    assert "no sharp threshold" in " ".join(ps.thresholds(SQUARES.replace(preprocessing="identity")).caveats)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"decay": 0.3}, r"`decay` must be above 1/2, or 0: features k\^-decay have a finite energy"),
        (
            {"preprocessing": "best"},
            r"`preprocessing` must be \"identity\", \"bounded\" or \"hermite\": features of different",
        ),
        ({"noise": 0.0}, r"`noise` must be a finite number >= 0.001"),
        ({"signal": 1e4}, r"`noise` must be at least 1.5.* here: the clean label has a variance"),
        ({"features": 0}, r"`features` must be a whole number >= 1"),
        ({"alpha": -1.0}, r"`alpha` must be a finite number >= 0.001"),
        ({"readout": "none"}, r"`readout` must be \"separate\" or \"joint\""),
    ],
)
def test_bad_input_gets_a_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        SQUARES.replace(**change)


def test_named_problems_are_one_kind():
    one = ps.single_index(np.abs, alpha=3.0, signal=0.5)
    assert one == ps.multi_index(np.abs, alpha=3.0, features=1, decay=0.0, noise=1.0, signal=0.5)
    assert one.link == ps.OwnLink(np.abs)
    pair = ps.committee(ps.AbsoluteLink(), alpha=3.0, features=4, signal=0.5)
    assert pair.weights == pytest.approx(np.full(4, (0.5 / 4.0) ** 0.5))
    assert pair.replace(link=ps.HermiteLink(2), degree=4).link == ps.HermiteLink(4)
    assert pair.samples(100) == 300


def test_few_samples_of_large_weight_are_told():
    """Below some alpha the least value of psi is at the bound of the weights, which few labels come near to."""
    problem = ps.single_index(ps.AbsoluteLink(), alpha=2.0, signal=2.0)
    assert "so few samples" in " ".join(ps.solve(problem).caveats)
    assert "so few samples" not in " ".join(ps.solve(problem.replace(alpha=20.0)).caveats)
