"""Data with a few directions, and a machine of a few hidden units that learns them by maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.declaration import ALPHA, HIDDEN, LATENTS, MODEL, SIGNAL, SPIKES, UNITS
from presage.models.boltzmann.hidden import BinaryUnits, HiddenUnits
from presage.models.boltzmann.spikes import Spikes
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem

Latents = Literal["gaussian", "signs"]


@final
@dataclass(frozen=True)
class BoltzmannProblem(LearningProblem):
    """Hidden units, the data and their number.

    A sample is ``x = sum_a sqrt(lam_a) s_a w*_a/sqrt(d) + z`` with ``z ~ N(0, 1_d)``, orthogonal directions of length
    sqrt(d) and s_a standard Gaussian or 1 or -1, as `latents` says; ``lam_a = signal relative_a``. There are
    ``n = alpha d`` of them. The machine is ``P(v, h) ~ P_v(v) P_h(h) exp(v'Wh/sqrt(d))``: W has a column for each of
    the k = `units` hidden units, P_h is their law, and P_v has independent units of mean zero and variance one.
    Training maximises the likelihood of the samples, which needs no sampling of the machine:

        L(W) = sum_mu phi(W'x_mu/sqrt(d)) - n psi(W'W/d)
    """

    hidden: HiddenUnits = field(metadata=declared(HIDDEN))
    alpha: float = field(metadata=declared(ALPHA))
    signal: float = field(metadata=declared(SIGNAL))
    units: int = field(default=UNITS.default, metadata=declared(UNITS))
    spikes: Spikes = field(default=Spikes([1.0]), metadata=declared(SPIKES))
    latents: Latents = field(default=LATENTS.default, metadata=declared(LATENTS))

    model = MODEL
    parts = ("hidden", "spikes")

    def check_together(self) -> None:
        self.hidden.check_units(self.units)
        if not np.isfinite(self.hidden.second_moment(self.units)).all():
            reason = "likelihoods are means over the hidden units, which must exist"
            raise checks.complaint("hidden", "have finite moments", reason, self.hidden, "Use <hidden=BinaryUnits()>.")

    def samples_at_one(self, d: int) -> int:
        return d

    @cached_property
    def signals(self) -> Floats:
        """``lam_a`` of every direction, the strongest first."""
        return self.signal * np.array(self.spikes.relative)

    @property
    def strongest(self) -> float:
        """Signal of the strongest direction."""
        return float(self.signals[0])

    @property
    def constant_price(self) -> bool:
        """Whether the weights cost the same whatever they are: ``S(Q) = 1`` of one binary unit."""
        return self.units == 1 and isinstance(self.hidden, BinaryUnits)


def boltzmann(
    hidden: HiddenUnits | None = None,
    *,
    alpha: float,
    signal: float | Sequence[float],
    units: int = UNITS.default,
    spikes: Spikes | None = None,
    latents: Latents = LATENTS.default,
) -> BoltzmannProblem:
    """A restricted Boltzmann machine on data with directions, ``alpha = n/d``; units are 1 or -1 unless told otherwise.

    `signal` is that of the strongest direction, and `spikes` how strong the others are beside it; a list of signals
    says both.
    """
    if isinstance(signal, Sequence | np.ndarray) and not isinstance(signal, str):
        if spikes is not None:
            reason, remedy = "a list of signals says already how strong each is", "Leave <spikes> out."
            raise checks.complaint("signal", "be a number beside spikes", reason, signal, remedy)
        signal, spikes = _strongest(signal)
    law = BinaryUnits() if hidden is None else hidden
    return BoltzmannProblem(law, alpha, signal, units, Spikes([1.0]) if spikes is None else spikes, latents)


def _strongest(signals: Any) -> tuple[float, Spikes]:
    """The strongest of a list of signals, and how strong all are beside it."""
    reason, remedy = "each is the signal of a direction", "Use for example <signal=[2.0, 1.0]>."
    values = checks.finite("signal", signals, reason=reason, remedy=remedy)
    if values.ndim != 1 or len(values) == 0 or np.any(values <= 0.0) or np.any(np.diff(values) > 0.0):
        raise checks.complaint("signal", "be positive numbers that fall", reason, signals, remedy)
    return float(values[0]), Spikes(values / values[0])
