"""Classes of samples by features that are selected layer by layer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from presage.models.lofi.experiment.layered import LayeredEstimator
from presage.models.lofi.experiment.scikit_learn import ClassifierMixin, check_classification_targets, check_is_fitted
from presage.protocol import checks
from presage.protocol.ensemble import Floats


class LoFiClassifier(ClassifierMixin, LayeredEstimator):  # type: ignore[misc]
    """Features that second moments of the classes select, layer by layer, then a random readout with a ridge.

    Of two classes the label is +-1 without its mean; of more there is a signal matrix for each class against the
    others, of which `features` directions each are kept and made orthogonal. All other arguments are those of
    `LoFiRegressor`; `clip` plays no part, since classes have a bound.

    Fitted: `classes_`, `layers_`, `readout_`, and `eigenvalues_`, one array a layer.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Select the features of all layers, then fit the readout to the classes."""
        X, y = self._labelled(X, y)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            reason = "with one class there is nothing to tell apart, and centred labels are all zero"
            remedy = "Give samples of at least two classes."
            raise checks.complaint("y", "have at least two classes", reason, f"1 class, {self.classes_[0]}", remedy)
        if self.clip is not None:
            reason = "classes have a bound, so that there is nothing to cut"
            raise checks.complaint("clip", "be left out here", reason, self.clip, "Leave it out.")
        shown = np.where(numbers[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        if len(self.classes_) == 2:
            signs = shown[:, 1] - shown[:, 1].mean()
            self._fit(X, signs, shown[:, 1:])
        else:
            self._fit(X, numbers, shown)
        self.eigenvalues_ = [layer.values for layer in self.layers_]
        return self

    def decision_function(self, X: Any) -> Floats:
        """How much speaks for each class; of two, for the second."""
        check_is_fitted(self)
        found = self.readout_(self._transformed(self._finite(X)))
        return np.asarray(found[:, 0] if len(self.classes_) == 2 else found)

    def predict(self, X: Any) -> Any:
        """Classes of new samples."""
        found = self.decision_function(X)
        best = (found > 0.0).astype(int) if found.ndim == 1 else np.argmax(found, axis=1)
        return self.classes_[best]
