"""The settings of the spectral method and its readout."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.protocol.fields import Number, declared
from presage.protocol.trainer import Trainer

RIDGE = Number("ridge of the readout, a sample", at_least=0.0, at_most=1.0, example=1e-6)


@final
@dataclass(frozen=True)
class SpectralEstimator(Trainer):
    """Eigenvectors of ``C = (1/n) sum T(y) (x x' - 1)`` outside of its bulk, then ridge regression on what they see."""

    ridge: float = field(default=1e-6, metadata=declared(RIDGE))
