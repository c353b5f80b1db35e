"""A signal in a random matrix: where its eigenvalue comes out, from which strength on, and how well it is aligned.

Four matrices: a direction in a symmetric noise (Wigner), in a sample covariance (Wishart), the matrix of a generalised
linear spectral method for any preprocessing of the labels, and its limit of weak signals, which is the first again.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, log10, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.spectra.labels import Labels

CLOSEST, FARTHEST = 1e-12, 1e12  # to the largest T, in units of it, and from it, of the largest |T|: where l is
A_DECADE = 16  # places at which a condition is looked at, to see where it changes its sign
ROUNDING = 1e-13  # relative, of an average over the nodes

Preprocessing = Callable[[Floats], Any] | Floats


class Spike(NamedTuple):
    """One direction in a random matrix; arrays where strengths are given as an array."""

    outlier: Any  # its eigenvalue; the edge of the bulk where it has none of its own
    edge: float  # of the bulk
    overlap: Any  # squared cosine of its eigenvector with the direction
    threshold: float  # strength from which on it stands out; of a spectral method the number of samples, n/d


def spiked_wigner(theta: Any, scale: float = 1.0) -> Spike:
    """Outlier of ``M = sum_i theta_i u_i u_i' + s GOE``, whose bulk is a semicircle of radius 2s.

        lambda = theta + s^2/theta,  cos^2 = 1 - s^2/theta^2   for |theta| > s

    A negative theta comes out below the bulk. The threshold is the one in ``|theta|``, which is s.

    Equation: [BBP05], in the form of symmetric matrices [PRS13].
    Checked: tests/spectra/test_spiked.py::test_wigner_outliers_of_sampled_matrices
    """
    theta = np.asarray(theta, dtype=np.float64)
    s = checks.real("scale", scale, above=0.0, reason="it is the size of the noise", remedy="Use <scale=1.0>.")
    out = np.abs(theta) > s
    size = np.where(out, theta, s)  # at the edge where it does not stand out
    outlier = np.where(out, size + s * s / size, np.where(theta < 0.0, -2.0 * s, 2.0 * s))
    return Spike(outlier[()], 2.0 * s, np.where(out, 1.0 - (s / size) ** 2, 0.0)[()], s)


def wigner_strength(x: float) -> float:
    """Strength of the direction whose eigenvalue stands out of the unit semicircle at x: `spiked_wigner` inverted.

        x = u + 1/u, u >= 1

    Equation: derived: the larger root.
    Checked: tests/spectra/test_spiked.py::test_strengths_invert_outliers
    """
    return 0.5 * (x + sqrt(max(x * x - 4.0, 0.0)))


def spiked_wishart(signal: Any, alpha: float) -> Spike:
    """Outlier of the covariance of ``x = sqrt(lam) s w + z``, from ``n = alpha d`` samples.

        lambda = (1 + lam)(1 + 1/(alpha lam)),  cos^2 = (1 - 1/(alpha lam^2))/(1 + 1/(alpha lam))   for lam^2 > 1/alpha

    Equation: [BBP05]; the overlap [P07].
    Checked: tests/spectra/test_spiked.py::test_wishart_outliers_of_sampled_matrices
    """
    alpha = _samples(alpha)
    lam = np.asarray(signal, dtype=np.float64)
    if not np.all(lam >= 0.0):
        reason, remedy = "it is the variance that the signal adds", "Use for example <signal=1.0>."
        raise checks.complaint("signal", "be zero or positive", reason, signal, remedy)
    least = 1.0 / sqrt(alpha)
    out = lam > least
    size = np.where(out, lam, least)
    outlier = (1.0 + size) * (1.0 + 1.0 / (alpha * size))
    overlap = np.where(out, (1.0 - 1.0 / (alpha * size * size)) / (1.0 + 1.0 / (alpha * size)), 0.0)
    return Spike(outlier[()], (1.0 + least) ** 2, overlap[()], least)


def wishart_strength(x: float, alpha: float) -> float:
    """Signal whose eigenvalue is at x in the covariance of ``n = alpha d`` samples: `spiked_wishart` inverted.

        x = (1 + lam)(1 + 1/(alpha lam)),  lam >= alpha^(-1/2)

    Equation: derived: the larger root.
    Checked: tests/spectra/test_spiked.py::test_strengths_invert_outliers
    """
    rest = x - 1.0 - 1.0 / alpha
    return 0.5 * (rest + sqrt(max(rest * rest - 4.0 / alpha, 0.0)))


def spectral_method(T: Preprocessing, labels: Labels, alpha: float, tail: float = 0.0) -> Spike:
    """Largest eigenvalue of ``D = (1/n) sum T(y) x x'``, ``n = alpha d``, where y depends on x by ``s = <x, w>``.

        phi(l) = l E[T s^2/(l-T)],   psi(l) = l (1/alpha + E[T/(l-T)]),   l above the largest T
        lbar = argmin psi,   zeta(l) = psi(max(l, lbar)),   zeta(l*) = phi(l*)
        lambda = zeta(l*),   edge = psi(lbar),   cos^2 = psi'(l*)/(psi'(l*) - phi'(l*)) for l* > lbar, else 0
        psi' = 1/alpha - E[T^2/(l-T)^2],   phi' = -E[T^2 s^2/(l-T)^2]

    For a signal below the bulk give -T. The `threshold` of the answer is the number of samples, n/d, from which on
    there is an outlier. With a `tail`, samples have many more coordinates that know nothing of the signal:
    `spectral_outlier` says how.

    Equation: [MM18], [LL19].
    Checked: tests/spectra/test_spiked.py::test_spectral_method_of_sampled_labels
    Checked: tests/spectra/test_spiked.py::test_threshold_is_where_the_outlier_begins
    """
    found = spectral_outlier(T, labels, alpha, tail)
    return found._replace(threshold=spectral_threshold(T, labels, tail))


def spectral_outlier(T: Preprocessing, labels: Labels, alpha: float, tail: float = 0.0) -> Spike:
    """The outlier of `spectral_method` without its threshold, which takes longer than all the rest and is nan here.

    With a `tail` rho a sample is ``(x, t)``, and the t of different samples are orthogonal with ``|t|^2 = rho d``, as
    many more such coordinates than samples are. Then ``D = (1/n) sum T(y) (x, t)(x, t)'`` has an eigenvalue lambda
    where ``(1/n) sum T x x'/(lambda - T rho/alpha)`` has the eigenvalue one, and what `spectral_method` says of that
    matrix is, with ``P = E[T s^2/(l-T)]``, ``P_0 = E[T/(l-T)]`` and the part g of the noise that x has,

        (1 - g)(1/alpha + g P_0) = g rho/alpha
        edge = l (1/alpha + g P_0)/g   where g^2 E[T^2/(l-T)^2] = 1/alpha
        lambda = l P   where g (P - P_0) = 1/alpha,   so that g = 1 - rho/(alpha P)
        cos^2 = a/(a + b),   a = 1/alpha - g^2 E[T^2/(l-T)^2],   b = g^2 E[T^2 s^2/(l-T)^2]

    Equation: derived: from [MM18], [LL19] by the resolvent of the tail; g = 1 without one.
    Checked: tests/spectra/test_spiked.py::test_a_tail_of_sampled_labels
    Checked: tests/spectra/test_spiked.py::test_the_equations_with_a_tail
    """
    alpha, T, tail = _samples(alpha), _preprocessed(T, labels), _tail(tail)
    top = _largest(T)
    method = _Method(T, labels, alpha, tail)
    bar = _root(lambda gap: method.dpsi(top + gap), *_bracket(T))
    at_edge, excess = method.psi(top + bar), method.phi(top + bar) - method.psi(top + bar)
    edge = at_edge / method.share(top + bar)
    if not excess > ROUNDING * abs(at_edge):
        return Spike(edge, edge, 0.0, nan)
    star = _root(lambda gap: method.psi(top + gap) - method.phi(top + gap), bar, _bracket(T)[1])
    dpsi, dphi = method.dpsi(top + star), method.dphi(top + star)
    return Spike(method.psi(top + star) / method.share(top + star), edge, dpsi / (dpsi - dphi), nan)


class _Method(NamedTuple):
    """The functions of `spectral_outlier`."""

    T: Floats
    labels: Labels
    alpha: float
    tail: float = 0.0

    def share(self, l: float) -> float:
        """``g``, the part of the noise that is not of the tail: the root that is one without a tail."""
        if self.tail == 0.0:
            return 1.0
        least = self.labels.mean(self.T / (l - self.T))
        rest = (1.0 + self.tail) / self.alpha - least
        return float(2.0 / self.alpha / (rest + sqrt(max(rest * rest + 4.0 * least / self.alpha, 0.0))))

    def phi(self, l: float) -> float:
        return l * self.share(l) * self.labels.mean(self.T * self.labels.second / (l - self.T))

    def psi(self, l: float) -> float:
        return l * (1.0 / self.alpha + self.share(l) * self.labels.mean(self.T / (l - self.T)))

    def dphi(self, l: float) -> float:
        return -(self.share(l) ** 2) * self.labels.mean((self.T / (l - self.T)) ** 2 * self.labels.second)

    def dpsi(self, l: float) -> float:
        return 1.0 / self.alpha - self.share(l) ** 2 * self.labels.mean((self.T / (l - self.T)) ** 2)


def spectral_threshold(T: Preprocessing, labels: Labels, tail: float = 0.0) -> float:
    """Samples n/d from which on a preprocessing of the labels shows an outlier above the bulk; infinite where never.

        1/alpha = E[T (s^2-1)/(l-T)] = E[T^2/(l-T)^2]

    With the `tail` rho of `spectral_outlier`, ``P = E[T s^2/(l-T)]`` and ``P_0 = E[T/(l-T)]``,

        alpha = E[T^2/(l-T)^2]/(P - P_0)^2 = 1/(P - P_0) + rho/P

    Equation: derived: ``phi = psi`` at the minimum of psi, in `spectral_method`.
    Checked: tests/spectra/test_spiked.py::test_threshold_is_where_the_outlier_begins
    Checked: tests/spectra/test_spiked.py::test_the_equations_with_a_tail
    """
    T, tail = _preprocessed(T, labels), _tail(tail)
    top = _largest(T)
    signal = labels.weight * T * (labels.second - 1.0)

    def excess(gap: float) -> float:
        pull = float(np.sum(signal / (top + gap - T)))
        if tail == 0.0 or pull <= 0.0:
            return pull - noise(gap)
        whole = labels.mean(T * labels.second / (top + gap - T))
        return pull + tail * pull * pull / whole - noise(gap)

    def noise(gap: float) -> float:
        return labels.mean((T / (top + gap - T)) ** 2)

    low, high = _bracket(T)
    gaps = np.geomspace(low, high, round(A_DECADE * log10(high / low)))
    # Far out both terms are small, and what is left of a signal that is zero is rounding.
    least = ROUNDING * float(np.sum(np.abs(signal)))
    positive = [excess(gap) > least / (top + gap) for gap in gaps]
    if not any(positive):
        return inf
    first = positive.index(True)
    gap = float(gaps[0]) if first == 0 else _root(excess, float(gaps[first - 1]), float(gaps[first]))
    if tail == 0.0:
        return 1.0 / noise(gap)
    return noise(gap) / float(np.sum(signal / (top + gap - T))) ** 2


def best_preprocessing(labels: Labels) -> Floats:
    """The preprocessing of least threshold, at the nodes of the labels.

        T* = 1 - 1/V,   V(y) = E[s^2 | y]

    Equation: [MM18], [LAL19].
    Checked: tests/spectra/test_spiked.py::test_no_preprocessing_beats_the_best
    Checked: tests/spectra/test_spiked.py::test_best_threshold_is_that_of_the_best_preprocessing
    """
    _must_be_conditional(labels)
    return np.asarray(1.0 - 1.0 / labels.second)


def best_threshold(labels: Labels) -> float:
    """Samples n/d that the best first-order method needs, where ``E[s | y] = 0``; infinite where labels tell nothing.

        1/alpha_c = E_y[(E[s^2 - 1 | y])^2]

    Equation: [MM18], [BKMMZ19].
    Checked: tests/spectra/test_spiked.py::test_best_threshold_is_that_of_the_best_preprocessing
    """
    _must_be_conditional(labels)
    told = labels.mean((labels.second - 1.0) ** 2)
    return 1.0 / told if told > ROUNDING else inf


def weak_signal(T: Preprocessing, labels: Labels, alpha: float) -> Spike:
    """Outlier of ``C = (1/n) sum T(y) (x x' - 1)`` with T centred, for signals so weak that it is a spiked Wigner.

        s^2 = E[T^2]/alpha,   theta = E[T (s^2-1)],   alpha_T = E[T^2]/theta^2,   cos^2 = 1 - alpha_T/alpha

    Equation: derived: `spectral_method` with l large beside T.
    Checked: tests/spectra/test_spiked.py::test_weak_signals_are_a_spiked_wigner
    """
    alpha, values = _samples(alpha), _preprocessed(T, labels)
    T = values - labels.mean(values)
    square = labels.mean(T * T)
    if not square > ROUNDING * labels.mean(values * values):
        reason, remedy = "a constant weight of every sample tells nothing", "Use for example np.tanh."
        raise checks.complaint("T", "differ between labels", reason, "a constant", remedy)
    theta = labels.mean(T * (labels.second - 1.0))
    if abs(theta) < ROUNDING * sqrt(square * labels.mean((labels.second - 1.0) ** 2)):
        theta = 0.0
    found = spiked_wigner(theta, sqrt(square / alpha))
    return found._replace(threshold=square / theta**2 if theta else inf)


def _samples(alpha: Any) -> float:
    reason, remedy = "it is the number of samples over the dimension, n/d", "Use for example <alpha=2.0>."
    return checks.real("alpha", alpha, above=0.0, reason=reason, remedy=remedy)


def _tail(tail: Any) -> float:
    reason = "it is the variance of a sample outside of the coordinates of the signal, over that inside"
    return checks.real("tail", tail, at_least=0.0, reason=reason, remedy="Leave it out, or use for example <tail=1.0>.")


def _preprocessed(T: Preprocessing, labels: Labels) -> Floats:
    """The preprocessing at the nodes of the labels."""
    values = np.asarray(T(labels.y) if callable(T) else T, dtype=np.float64)
    if values.shape != labels.y.shape or not np.isfinite(values).all():
        reason = "it is evaluated at the nodes of the labels"
        got = f"an array of shape {values.shape}" if values.shape != labels.y.shape else "a value that is not finite"
        raise checks.complaint("T", "be a finite number at every label", reason, got, "Use for example np.tanh.")
    return values


def _largest(T: Floats) -> float:
    top = float(T.max())
    if not top > 0.0:
        reason = "otherwise no sample has a positive weight, and nothing stands out above the bulk"
        raise checks.complaint("T", "be positive for some label", reason, f"at most {top:.3g}", "Give -T instead.")
    return top


def _bracket(T: Floats) -> tuple[float, float]:
    """How near to the largest T and how far from it l is looked for."""
    return CLOSEST * float(T.max()), FARTHEST * float(np.abs(T).max())


def _must_be_conditional(labels: Labels) -> None:
    if not labels.conditional:
        reason = "the best preprocessing needs E[s^2 | y], and labels without noise were given by their scores"
        remedy = "Use a small <noise>, or Labels.discrete for labels of a few values."
        raise checks.complaint("labels", "have noise, or a few values", reason, f"{len(labels.y)} scores", remedy)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign between two positive numbers, in the logarithm; an end where it does not."""
    at_low, at_high = rising(low), rising(high)
    if not isfinite(at_low) or not isfinite(at_high) or at_low * at_high > 0.0:
        return low if abs(at_low) < abs(at_high) else high
    return float(np.exp(scipy.optimize.brentq(lambda log: rising(float(np.exp(log))), np.log(low), np.log(high))))
