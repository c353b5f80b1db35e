"""What a network learned along each eigenvector of its target, and how much of the target each of its own sees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats


class Frame(NamedTuple):
    """Eigenvalues of a target, the largest first, and their eigenvectors as columns."""

    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, S_0: Floats) -> Frame:
        """The frame of a matrix whose eigenvectors are not known."""
        values, vectors = np.linalg.eigh(S_0)
        return cls(values[::-1], vectors[:, ::-1])


class Parts(NamedTuple):
    """The parts of ``|S_fit/scale - S_0|_F^2/d``, one entry a network."""

    overfitting: Floats
    not_learned: Floats
    approximation: Floats


def features(S: Floats, frame: Frame) -> Floats:
    """Rows ``s_i``, ``v_i' S v_i`` and ``|S v_i|^2`` along the eigenvectors v of the target, the largest first."""
    image = S @ frame.vectors
    return np.stack([frame.values, np.sum(frame.vectors * image, axis=0), np.sum(image * image, axis=0)])


def directions(S: Floats, S_0: Floats) -> Floats:
    """Rows ``f_k`` and ``w_k' S_0 w_k`` of the eigenvectors w of the network, the largest eigenvalue first."""
    values, vectors = np.linalg.eigh(S)
    return np.stack([values, np.sum(vectors * (S_0 @ vectors), axis=0)])[:, ::-1].copy()


def parts(features: Floats, directions: Floats, split: float, threshold: float, scale: float) -> Parts:
    """The parts of every network (first axis), at any cut.

    With the eigenvalues ``f/scale`` up to `split` as the bulk of the noise, and the features above `threshold` learned,
    ``overfitting = sum_bulk (f^2/scale^2 - 2 f q/scale)/d``, ``not_learned = sum_{s <= threshold} s^2/d`` and
    ``approximation = sum_out (f^2/scale^2 - 2 f q/scale)/d + sum_{s > threshold} s^2/d`` with ``q = w' S_0 w``.

    Equation: derived: their sum is ``|S/scale - S_0|_F^2/d`` for every cut.
    Checked: tests/models/attention/experiment/test_features.py::test_parts_sum_to_the_error_at_any_cut
    """
    d = features.shape[-1]
    f, q, s = directions[:, 0] / scale, directions[:, 1], features[:, 0]
    cost = f * f - 2.0 * f * q
    bulk, learned = f <= split, s > threshold
    overfitting, above = np.where(bulk, cost, 0.0).sum(axis=1) / d, np.where(bulk, 0.0, cost).sum(axis=1) / d
    lost, kept = np.where(learned, 0.0, s * s).sum(axis=1) / d, np.where(learned, s * s, 0.0).sum(axis=1) / d
    return Parts(overfitting, lost, above + kept)
