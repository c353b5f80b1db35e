"""Where each feature comes out of the bulk of the signal matrix: sharp at any number of samples, and weak features."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.lofi.links import FeatureLink
from presage.models.lofi.theory.label_law import LabelLaw, label_laws
from presage.spectra.spiked import Spike, spectral_outlier, spectral_threshold, spiked_wigner

NOTHING = 1e-9  # of a part of the variance of a feature, that is none


class Emergence(NamedTuple):
    """One entry a feature: its eigenvalue (the edge where it has none of its own) and overlap; and both edges."""

    eigenvalue: Floats
    overlap: Floats
    edges: tuple[float, float]
    other: Floats  # its eigenvalue on the other side of the bulk where it has one there as well, else zero


def sharp(law: LabelLaw, alike: tuple[int, ...], alpha: float, tail: float) -> Emergence:
    """Eigenvalue and squared cosine of every feature of bounded labels, exact in the limit of many coordinates.

        P_k(x) = E[y h_k^2/(x - y)],   P_0(x) = E[y/(x - y)],   (P_k - P_0)(P_k - rho/alpha) = P_k/alpha
        g = (P_k - rho/alpha)/P_k,   eigenvalue = x P_k
        a = 1/alpha - g^2 E[y^2/(x - y)^2],   b = g^2 E[y^2 h_k^2/(x - y)^2],   cos^2 = a/(a + b)

    Below the bulk y and eigenvalue change their sign. A feature with a negative second moment of the labels comes out
    there, and some come out on the side against their second moment, or on both: of two sides it is the one of the
    larger overlap.

    Equation: derived: `spectral_outlier` of `presage.spectra.spiked`, feature by feature.
    Checked: tests/models/lofi/test_emergence.py::test_sharp_numbers_of_one_feature
    Checked: tests/models/lofi/test_emergence.py::test_sharp_numbers_of_three_features
    Checked: tests/models/lofi/test_emergence.py::test_a_feature_comes_out_against_its_second_moment
    """
    known: dict[int, list[tuple[float, Spike]]] = {}
    for k, group in enumerate(alike):
        if group not in known:
            known[group] = _seen(law, k, alpha, tail)
    eigenvalue = np.array([known[group][0][0] * known[group][0][1].outlier for group in alike])
    overlap = np.array([known[group][0][1].overlap for group in alike])
    second = {group: [side * one.outlier for side, one in found[1:] if one.overlap] for group, found in known.items()}
    other = np.array([second[group][0] if second[group] else 0.0 for group in alike])
    at = {side: spike.edge for found in known.values() for side, spike in found}
    for side in {1.0, -1.0} - {*at}:
        at[side] = spectral_outlier(side * law.y, law.labels(0), alpha, tail).edge
    return Emergence(eigenvalue, overlap, (-at[-1.0], at[1.0]), other)


def _seen(law: LabelLaw, k: int, alpha: float, tail: float) -> list[tuple[float, Spike]]:
    """The sides of a feature and its outliers there, that of the largest overlap first."""
    found = [(side, spectral_outlier(side * law.y, law.labels(k), alpha, tail)) for side in sides(law, k)]
    return sorted(found, key=lambda one: -one[1].overlap)


def sides(law: LabelLaw, k: int) -> tuple[float, ...]:
    """The side of the second moment of a feature, and the other where it can come out there at any number of samples.

        P_k(x) - P_0(x) = integral over t of E[(h_k^2 - 1) 1(y > t)] times the slope of t/(x - t)

    The slope is positive for every x above the labels: where no mean of ``h_k^2 - 1`` over the labels beyond a t is
    positive, nothing pulls the feature out on this side.

    Equation: derived: P_k - P_0 of `sharp` by parts.
    Checked: tests/models/lofi/test_emergence.py::test_a_feature_comes_out_against_its_second_moment
    Checked: tests/models/lofi/test_emergence.py::test_a_side_that_is_left_out_shows_nothing
    """
    below = law.gathered(k)
    can = {1.0: bool(below.min() < -NOTHING), -1.0: bool(below.max() > NOTHING)}
    first = -1.0 if law.theta[k] < 0.0 else 1.0
    return (first, -first) if can[-first] else (first,)


@lru_cache(maxsize=256)
def sharp_thresholds(link: FeatureLink, tail: float, rule: int = 0) -> tuple[float, ...]:
    """Samples over D from which on each feature has an outlier on either side, infinite where it never has.

    Equation: derived: `spectral_threshold` of `presage.spectra.spiked`, feature by feature.
    Checked: tests/models/lofi/test_emergence.py::test_sharp_numbers_of_one_feature
    Checked: tests/models/lofi/test_emergence.py::test_nothing_is_seen_below_a_threshold
    Checked: tests/models/lofi/test_emergence.py::test_a_feature_comes_out_against_its_second_moment
    """
    law, known = label_laws(link)[rule], dict[int, float]()
    for k, group in enumerate(link.alike):
        if group not in known:
            known[group] = min(spectral_threshold(side * law.y, law.labels(k), tail) for side in sides(law, k))
    return tuple(known[group] for group in link.alike)


def weak_thresholds(square: float, theta: Floats) -> Floats:
    """Samples over D at which a weak feature emerges, ``n_k/D = E[y^2]/theta_k^2``; a tail does not change it.

    Equation: derived: where theta_k passes the size of the noise, as of a spiked Wigner matrix [PRS13].
    Checked: tests/models/lofi/test_emergence.py::test_weak_numbers
    """
    with np.errstate(divide="ignore"):
        return np.asarray(square / theta**2)


def weak(law: LabelLaw, alpha: float) -> Emergence:
    """Weak features and many samples: a spiked Wigner matrix, ``cos^2 = 1 - n_k/n`` and a semicircle.

        radius = 2 sqrt(E[y^2]/alpha),   eigenvalue = theta_k + E[y^2]/(alpha theta_k)

    Equation: [PRS13], with the noise of n products y z z'.
    Checked: tests/models/lofi/test_emergence.py::test_weak_numbers
    """
    found = spiked_wigner(law.theta, float(np.sqrt(law.square / alpha)))
    return Emergence(found.outlier, found.overlap, (-found.edge, found.edge), np.zeros(len(law.theta)))


def many_samples(law: LabelLaw, alpha: float) -> Floats:
    """What is missing of each squared cosine far above its threshold: ``1 - cos^2 = E[y^2 h_k^2]/(alpha theta_k^2)``.

    Equation: derived: first order of an eigenvector in the noise of its row.
    Checked: tests/models/lofi/test_emergence.py::test_many_samples
    """
    with np.errstate(divide="ignore"):
        return np.asarray(law.row / (alpha * law.theta**2))
