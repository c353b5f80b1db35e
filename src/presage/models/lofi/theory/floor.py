"""The error that is left to the best readout of features that are known up to their overlaps."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.lofi.links import FeatureLink
from presage.models.lofi.theory.label_law import label_laws, net

POINTS, MORE, DRAWS = 12, 15, 8  # logarithm of the points of a net, of few features or many, and how often it is drawn
FEW = 3  # features of which nets converge quickly
SURE = 2.4  # half width of a 95 % interval of the mean of eight, in standard errors


@lru_cache(maxsize=32)
def _replicas(link: FeatureLink) -> tuple[Floats, Floats, Floats]:
    """Features, independent copies of them and centred labels at the points of all nets."""
    p, mean = link.features, label_laws(link)[0].mean
    both = np.concatenate([net(2 * p, draw, POINTS if p <= FEW else MORE) for draw in range(DRAWS)])
    h = np.ascontiguousarray(both[:, :p])
    return h, np.ascontiguousarray(both[:, p:]), link(h) - mean


def floor(link: FeatureLink, overlap: Floats) -> tuple[float, float]:
    """Error of the best readout over the variance of the labels, and its error bar.

        floor = 1 - E[y(h) y(h')]/Var y,   h'_k = c_k h_k + sqrt(1 - c_k^2) z_k,   c_k = cos^2_k

    h' is a second draw of the features given what is known of them, and ``E[y | h_hat]^2`` is on average a product of
    labels of both.

    Equation: derived: two draws of the features, given what is known of them, are independent and alike.
    Checked: tests/models/lofi/test_floor.py::test_floor_of_nested_labels
    Checked: tests/models/lofi/test_floor.py::test_floor_is_one_without_features_and_zero_with_all
    """
    c = np.asarray(overlap, dtype=np.float64)
    if not c.any():
        return 1.0, 0.0
    h, z, y = _replicas(link)
    law = label_laws(link)[0]
    again = link(c * h + np.sqrt(1.0 - c**2) * z) - law.mean
    # Beside the same label, whose square is known: what is left of the difference is small where overlaps are large.
    lost = 0.5 * ((y - again) ** 2).reshape(DRAWS, -1).mean(axis=1) / law.square
    return float(np.clip(lost.mean(), 0.0, 1.0)), float(SURE * lost.std(ddof=1) / sqrt(DRAWS))


def deep_overlap(link: FeatureLink, overlap: Floats) -> float:
    """Mean R^2 of the features of the second level by quadratic functions of the features of the first.

        g_j = sum_k q_jk (h_k^2 - 1)/sqrt(2),   R_j^2 = sum_k q_jk^2 c_k^2,   c_k = cos^2_k

    Equation: derived: ``E[g_j | h_hat]`` has each square with a factor c_k.
    Checked: tests/models/lofi/test_floor.py::test_squares_of_features_are_known_to_the_square_of_their_overlap
    """
    return float(np.mean(link.second_level**2 @ overlap**2))
