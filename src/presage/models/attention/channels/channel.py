"""Channels: how labels and loss see the matrix.

A sample is a symmetric T x T matrix of pre-activations ``R``. It is stored by its components ``z_ab``, ``a <= b``
(row by row), ``R_ab = sqrt(1 + delta_ab) z_ab``, which are independent with one common variance:
``n_in = T(T+1)/2`` of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache, cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.protocol.fields import Declared

if TYPE_CHECKING:
    from presage.models.attention.channels.traits import Traits


class Channel(Declared, ABC):
    """What is observed of the pre-activations, and how the learner's output is compared with it.

    A channel of one's own has `n_tokens` and writes `output` and `loss`; everything else has a default made from these
    two, and may be written as well. Every method is vectorised over leading axes; the last axis of ``z`` holds the
    ``n_in`` components, and labels and outputs have whatever shape they like behind the leading axes.
    """

    n_tokens: int
    linear: bool = False  # whether the output is R itself: the loss is then convex in S, and averages are closed forms
    compiled: bool = False  # whether its proximal map is compiled, and its output are weights of the tokens
    # The possible labels (first axis) where the label is random given z_0, with `likelihood` for its probabilities.
    labels: ArrayLike | None = None

    @property
    def n_in(self) -> int:
        """Number of independent components of the pre-activation, ``L_in = T(T+1)/2``."""
        return self.n_tokens * (self.n_tokens + 1) // 2

    @cached_property
    def traits(self) -> Traits:
        """What is found out about the channel by trying it."""
        from presage.models.attention.channels.traits import find_traits

        return find_traits(self)

    @cached_property
    def label_fixes_target(self) -> bool:
        """Whether a label gives back what the channel sees of ``z_0``: found out by trying."""
        from presage.models.attention.channels.posterior import inverts_labels

        return inverts_labels(self)

    @property
    def beta_ratio(self) -> float:
        """``r`` for which the loss is zero at ``r z_0``: one unless learner and target have different temperatures."""
        return 1.0

    @property
    def active_basis(self) -> Floats:
        """Orthonormal basis (columns) of the directions of the components that labels or loss can see."""
        return self.traits.basis

    @property
    def n_active(self) -> int:
        """Number of directions of the components that the output can see."""
        return int(self.active_basis.shape[1])

    def matrix(self, z: ArrayLike) -> Floats:
        """Pre-activation matrix ``R_ab = sqrt(1 + delta_ab) z_ab`` of the components ``z``."""
        place, factor = _layout(self.n_tokens)
        return np.asarray(np.take(np.asarray(z, dtype=np.float64), place, axis=-1) * factor)

    def target_output(self, z_0: ArrayLike) -> Floats:
        """Label of a sample whose target pre-activation (noise included) has components ``z_0``."""
        return self.output(z_0)

    @abstractmethod
    def output(self, z: ArrayLike) -> Floats:
        """Output of a learner whose pre-activation has components ``z``."""

    def likelihood(self, label: Floats, z_0: Floats) -> Floats:
        """Probability of a label given ``z_0``, where `labels` is the finite set of labels that can be seen."""
        raise checks.complaint(
            "likelihood",
            "be written where a channel has `labels`",
            "random labels are drawn and averaged over by their probabilities",
            self,
            "Write likelihood(label, z_0), or leave `labels` out where z_0 gives the label.",
        )

    def draw_labels(self, z_0: Floats, rng: np.random.Generator) -> Floats:
        """Label of each sample: the output of the target, or one of `labels` drawn by its likelihood."""
        if self.labels is None:
            return np.asarray(self.target_output(z_0), dtype=np.float64)
        each = np.asarray(self.labels, dtype=np.float64)
        leading = z_0.shape[:-1]
        chances = np.stack([self.likelihood(np.broadcast_to(y, (*leading, *y.shape)), z_0) for y in each], axis=-1)
        drawn = rng.random((*leading, 1)) * chances.sum(axis=-1, keepdims=True) > np.cumsum(chances, axis=-1)
        return np.asarray(each[np.minimum(drawn.sum(axis=-1), len(each) - 1)])

    def loss(self, label: Floats, output: Floats) -> Floats:
        """Squared Frobenius distance of label and output, over all T^2 entries."""
        if np.shape(output)[-2:] != (self.n_tokens, self.n_tokens):
            raise checks.complaint(
                "loss",
                "be written where outputs are not T x T matrices",
                f"the squared distance is summed over the last two axes, and outputs have shape {np.shape(output)}",
                self,
                "Write loss(self, label, output), for example (label - output) ** 2 for one number a sample.",
            )
        return np.asarray(np.sum((label - output) ** 2, axis=(-2, -1)))

    def loss_at(self, z_0: ArrayLike, z: ArrayLike) -> Floats:
        """Loss of a learner with pre-activation ``z`` on the label that ``z_0`` gives, on average if it is random."""
        output = self.output(z)
        if self.labels is None:
            return self.loss(self.target_output(z_0), output)
        target = np.asarray(z_0, dtype=np.float64)
        total = np.zeros(target.shape[:-1])
        for y in np.asarray(self.labels, dtype=np.float64):
            label = np.broadcast_to(y, (*target.shape[:-1], *y.shape))
            total = total + self.likelihood(label, target) * self.loss(label, output)
        return total

    def slope(self, label: Floats, z: Floats) -> Floats:
        """Slope of the loss in the components ``z``: by differences, good to 1e-8, unless written."""
        from presage.models.attention.channels.differences import loss_and_slope

        basis = self.active_basis
        return np.asarray(loss_and_slope(self, label, z @ basis, basis)[1] @ basis.T)

    def curvature(self, label: Floats, z: Floats) -> Floats:
        """Second derivative of the loss in the components ``z``: by differences, good to 1e-8, unless written."""
        from presage.models.attention.channels.differences import loss_terms

        basis = self.active_basis
        return np.asarray(basis @ loss_terms(self, label, z @ basis, basis).curvature @ basis.T)

    def score(self, label: Floats, omega: Floats, V: float) -> Floats:
        """Slope of ``log P(label | omega, V)`` in omega, for ``z_0 ~ N(omega, V)``.

        Only `bayes_optimal` asks for it, and only where labels neither fix ``z_0`` nor have a `likelihood`.
        """
        raise NotImplementedError

    def prox(self, z_0: ArrayLike, z: ArrayLike, Sigma: float) -> Floats:
        """``argmin_h |h - z|^2/(2 Sigma) + loss(z_0, h)``, the global minimum."""
        from presage.models.attention.channels.numeric_prox import numeric_prox

        if self.labels is not None:
            raise checks.complaint(
                "prox",
                "be asked for with a label where labels are random",
                "z_0 does not say which label was seen",
                self,
                "Use presage.models.attention.channels.numeric_prox.numeric_prox(channel, label, z, Sigma).",
            )
        target, centre = np.broadcast_arrays(np.asarray(z_0, dtype=np.float64), np.asarray(z, dtype=np.float64))
        flat = centre.reshape(-1, self.n_in)
        anchor = target.reshape(-1, self.n_in)
        f, _ = numeric_prox(self, self.target_output(anchor), flat, float(Sigma), z_0=anchor)
        return np.asarray((flat + Sigma * f).reshape(centre.shape))


def temperatures(channel: Any, changes: dict[str, Any]) -> dict[str, Any]:
    """Changes of a channel with `beta` and `beta_0`: where only the first is given and they are equal, both change."""
    if changes.keys() == {"beta"} and channel.beta_0 == channel.beta:
        return {"beta": changes["beta"], "beta_0": changes["beta"]}
    return changes


@cache
def _layout(T: int) -> tuple[NDArray[np.intp], Floats]:
    """Which component each entry of the T x T matrix is, and the factor on it."""
    rows, columns = np.triu_indices(T)
    place = np.empty((T, T), dtype=np.intp)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return place, np.where(np.eye(T) > 0, sqrt(2.0), 1.0)
