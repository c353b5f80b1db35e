"""All that fine-tuning knows of the pre-training: three numbers of its solution beside the target and the noise."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from presage.models.attention.problem import Problem
from presage.protocol import verbs


class Pretrained(NamedTuple):
    """Overlaps of a frozen layer, of which a component of its scores is a Gaussian number."""

    Q: float  # Tr S^2/d, variance of a component of the frozen scores
    M: float  # Tr S S_0/d, their covariance with those of the target
    Sigma: float  # response of the pre-training: how far its scores of a sample follow the label
    Q_0: float  # Tr S_0^2/d
    noise: float  # Delta, variance of the label noise; half of it on a component

    @property
    def rho_0(self) -> float:
        """Variance of a component of the target's scores, label noise included."""
        return self.Q_0 + 0.5 * self.noise

    @property
    def slope(self) -> float:
        """``M/Q``, of the target's scores on the frozen ones; 0 for a layer that learned nothing."""
        return self.M / self.Q if self.Q > 0.0 else 0.0


class Stage(NamedTuple):
    """The numbers of a pre-training, how far the overlaps may be off, and what there is to say against them."""

    numbers: Pretrained
    bars: tuple[float, float]  # of Q and of M
    caveats: tuple[str, ...]


@lru_cache(maxsize=512)
def pretrained(problem: Problem) -> Stage:
    """Solve the pre-training, once: a sweep over the fine-tuning asks for the same again and again."""
    found = verbs.solve(problem)
    m, q, Sigma = found.overlaps
    bars = found.error_bars
    return Stage(
        Pretrained(q, m, Sigma, problem.Q_0, problem.noise), (bars.get("q", 0.0), bars.get("m", 0.0)), found.caveats
    )
