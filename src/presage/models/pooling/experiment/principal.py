"""The way to find the class of the tokens: the first direction of a covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from presage.protocol.trainer import Trainer


@final
@dataclass(frozen=True)
class PrincipalDirection(Trainer):
    """The eigenvector of the largest eigenvalue of the covariance of the pooled tokens; nothing is iterated."""
