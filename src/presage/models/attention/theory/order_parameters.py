"""Order parameters: three overlaps of the learned matrix, three conjugates of the data it sees."""

from __future__ import annotations

from typing import NamedTuple


class Overlaps(NamedTuple):
    """``m = Tr(S S_0)/d``, ``q = Tr(S^2)/d`` and the response ``Sigma``."""

    m: float
    q: float
    Sigma: float


class Conjugates(NamedTuple):
    """The learner sees ``m_hat S_0 + sqrt(q_hat) GOE`` with curvature ``Sigma_hat``."""

    m_hat: float
    q_hat: float
    Sigma_hat: float
