"""The loss of an adapter on a frozen layer, and its gradient."""

from __future__ import annotations

from math import sqrt

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.softmax import Softmax
from presage.models.lora.experiment.sequences import Sequences


class AdapterLoss:
    """``sum |sigma(R_S + chi chi' - Tr(w'w/d)) - y|^2 + lambda' |w|^2`` of given sequences, w of size d x r."""

    def __init__(self, sequences: Sequences, weight_decay: float) -> None:
        self.sequences, self.weight_decay = sequences, weight_decay
        self.beta = sequences.channel.beta if isinstance(sequences.channel, Softmax) else None

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Value and gradient.

            grad = sum X'(h + h')chi/sqrt(d) - 2 (sum Tr h) w/d + 2 lambda' w

        h is the slope of a sample's loss in its scores; the second term is the centring, which depends on w.

        Equation: derived: the chain rule.
        Checked: tests/models/lora/test_experiment.py::test_gradient_is_that_of_differences
        """
        seen = self.sequences
        (d, r), T = w.shape, seen.labels.shape[-1]
        chi = (seen.tokens @ w).reshape(-1, T, r) / sqrt(d)
        R = seen.frozen + np.matmul(chi, chi.transpose(0, 2, 1)) - float(np.sum(w * w)) / d * np.eye(T)
        loss, h = self._slope(R)
        pulled = np.matmul(h + h.transpose(0, 2, 1), chi).reshape(-1, r)
        centring = float(np.trace(h, axis1=1, axis2=2).sum())
        gradient = seen.tokens.T @ pulled / sqrt(d) + (2.0 * self.weight_decay - 2.0 * centring / d) * w
        return loss + self.weight_decay * float(np.sum(w * w)), np.asarray(gradient)

    def _slope(self, R: Floats) -> tuple[float, Floats]:
        """Loss of all sequences at their scores, and its slope in them."""
        if self.beta is None:
            e = R - self.sequences.labels
            return float(np.sum(e * e)), 2.0 * e
        s = np.exp(self.beta * (R - R.max(axis=-1, keepdims=True)))
        s /= s.sum(axis=-1, keepdims=True)
        e = s - self.sequences.labels
        return float(np.sum(e * e)), 2.0 * self.beta * s * (e - np.sum(s * e, axis=-1, keepdims=True))
