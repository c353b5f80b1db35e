"""Regression of a number on features that are selected layer by layer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from presage.models.lofi.experiment.layered import LayeredEstimator
from presage.models.lofi.experiment.scikit_learn import RegressorMixin, check_is_fitted, column_or_1d
from presage.protocol import checks
from presage.protocol.ensemble import Floats

CONSTANT = 1e-12  # spread of labels that is none, relative


class LoFiRegressor(RegressorMixin, LayeredEstimator):  # type: ignore[misc]
    """Features that second moments of a number select, layer by layer, then a random readout with a ridge.

    Each layer lifts its inputs, forms the signed covariance ``C = (1/n) sum y z z'`` of the lift and keeps the
    eigenvectors that stand out: the directions whose square the label depends on most.

    Args:
        features: directions that a layer keeps; a sequence for several layers.
        width: coordinates of a random lift, for all layers or one each. For quadratic features use ten times d(d+1)/2,
            or ``lift="quadratic"``.
        lift: "random" (ReLU features), "kernel" (their limit of infinite width; diagonalises a matrix of the samples),
            "quadratic" (all products of two inputs, for d <= 60 or so) or "linear" (the inputs themselves); a sequence
            for several layers.
        activation: "relu", or "centred_relu" without its constant and its linear part, for quadratic features.
        normalise: whether directions are looked for in rows of norm one. Without it single samples of large norm
            become eigenvectors.
        centre: whether the mean row is taken off, after rows were normalised. Without it a constant feature takes two
            of the places.
        first_moment: whether the direction ``sum y z`` is kept besides; where labels have a linear part it carries it.
        pick: which eigenvectors are kept, those of the largest "size" of the eigenvalue, or by "sides": those that are
            furthest beyond the edge of their own side, as shuffled labels have it. Labels of a skewed law have edges
            that differ.
        clip: standard deviations at which labels are cut while directions are looked for; None cuts none.
        readout_width: random ReLU features of the readout.
        precision: "double", or "single", which takes half the time and keeps six digits of C.
        random_state: seed of all random numbers.

    Fitted: `layers_`, `readout_`, and `eigenvalues_`, one array a layer.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Select the features of all layers, then fit the readout."""
        X, y = self._labelled(X, y)
        y = _numbers(y)
        centred = y - y.mean()
        self._fit(X, self._used(centred), centred[:, None])
        self.shift_ = float(y.mean())
        self.eigenvalues_ = [layer.values for layer in self.layers_]
        return self

    def predict(self, X: Any) -> Floats:
        """Labels of new samples."""
        check_is_fitted(self)
        return np.asarray(self.readout_(self._transformed(self._finite(X)))[:, 0] + self.shift_)

    def _used(self, y: Floats) -> Floats:
        """Labels that directions are looked for by: cut, and centred again."""
        if self.clip is None:
            return y
        reason, remedy = "it is a number of standard deviations", "Use for example <clip=3.0>, or leave it out."
        bound = checks.real("clip", self.clip, above=0.0, reason=reason, remedy=remedy) * float(y.std())
        cut = np.clip(y, -bound, bound)
        return np.asarray(cut - cut.mean())


def _numbers(y: Any) -> Floats:
    """Labels as numbers that differ, or what is wrong with them in words."""
    values = column_or_1d(y, warn=True, dtype=np.float64)
    if float(np.ptp(values)) <= CONSTANT * float(np.abs(values).max(initial=0.0)):
        reason = "centred labels are all zero then, and so is the signal matrix"
        raise checks.complaint("y", "differ between samples", reason, float(values[0]), "Look at your labels.")
    return np.asarray(values)
