"""Labels that are a function of a few features of a lift, and the number of samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.models.lofi.declaration import ALPHA, LINK, MODEL, TAIL
from presage.models.lofi.links import FeatureLink
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem


@final
@dataclass(frozen=True)
class LoFiProblem(LearningProblem):
    """Features of the active coordinates of a lift, the labels that they make, and the amount of data.

    The D active coordinates of the lift are ``F ~ N(0, 1_D)``, and ``h_k = <a_k, F>`` with orthonormal a_k are the
    features; labels are ``y = link(h) - mean``. There are ``n = alpha D`` samples. A lift that is no pure order has
    besides very many coordinates of higher orders, which know nothing of the features: they have the part `tail` of
    the variance of the active ones in all.

    The learner selects the eigenvectors of the signal matrix ``C = (1/n) sum y z z'`` that are furthest out of its
    bulk, as many as there are features.
    """

    link: FeatureLink = field(metadata=declared(LINK))
    alpha: float = field(metadata=declared(ALPHA))
    tail: float = field(default=TAIL.default, metadata=declared(TAIL))

    model = MODEL
    parts = ("link",)

    def samples_at_one(self, d: int) -> int:
        return d

    @property
    def features(self) -> int:
        """Number of features."""
        return self.link.features


def lofi(link: FeatureLink, *, alpha: float, tail: float = TAIL.default) -> LoFiProblem:
    """Features of a lift, selected by second moments of bounded labels: ``alpha = n/D``, D its active coordinates."""
    return LoFiProblem(link, alpha, tail)
