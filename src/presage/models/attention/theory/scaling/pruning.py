"""What can be mended after training: eigenvalues of the learned matrix cut, or moved, given the noise level."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.declaration import ESTIMATION_ERROR
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.theory.solution import Solution
from presage.protocol import checks
from presage.protocol.observables import Observable
from presage.protocol.prediction import Result
from presage.spectra.curve import Curve
from presage.spectra.quadrature import panels
from presage.spectra.symmetric.denoising import Denoiser
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.functionals import functionals, start_of_largest

TAIL_ALLOWED = 1e-6  # of the Legendre coefficients: integrals to about its square
OBSERVABLES = (
    ESTIMATION_ERROR,
    Observable("pruned_error", "estimation error after the bulk is cut off"),
    Observable("reshrunk_error", "estimation error after each eigenvalue is moved to its best place"),
    Observable("threshold", "eigenvalues of the learned matrix below it are cut"),
)


@final
@dataclass(frozen=True)
class Pruning(Result):
    """What becomes of a solution when the eigenvalues of the learned matrix are cut, or moved, after training.

    A wide student learns ``S = scale (x - c)_+`` of the eigenvalues x of ``S_0 + delta GOE``, whose bulk ends near
    ``2 delta``. Pruning cuts that bulk off, ``(x - 2 delta)_+``; who knows the law of the target does better and moves
    each x that is left to ``x - 2 delta^2 h(x)``. Neither needs another training, nor data.
    """

    before: Solution = field(repr=False)

    observables = OBSERVABLES

    def __post_init__(self) -> None:
        reason, remedy = "it says at which noise level the target was seen", "Use Pruning(solve(problem))."
        checks.instance("before", self.before, Solution, reason=reason, remedy=remedy)
        if not isinstance(self.before.problem.penalty, NuclearPSD):
            reason = "its eigenvalues are cut by weight decay on a factor"
            remedy = "Use for example <attention> or <quadratic_network>."
            raise checks.complaint(
                "before", "be the solution of a layer with factors", reason, self.before.problem, remedy
            )

    @property
    def problem(self) -> object:
        """The problem of the solution."""
        return self.before.problem

    @property
    def estimation_error(self) -> float:
        """Before anything is cut."""
        return self.before.estimation_error

    @property
    def threshold(self) -> float:
        """What is taken off the eigenvalues of the learned matrix, in its units; 0 where the bulk is cut already."""
        s = self.before
        return s.scale * max(2.0 * s.delta - s.cutoff, 0.0)

    def __call__(self, eigenvalues: ArrayLike) -> Floats:
        """Cut the bulk off the eigenvalues of a learned matrix: ``y -> (y/scale - (2 delta - c)_+)_+``."""
        y = _eigenvalues(eigenvalues)
        return np.asarray(np.maximum(y - self.threshold, 0.0) / self.before.scale)

    def reshrunk(self, eigenvalues: ArrayLike) -> Floats:
        """Move each non-zero eigenvalue of a learned matrix to its best place: ``x - 2 delta^2 h(x)`` of its x."""
        s = self.before
        y = _eigenvalues(eigenvalues)
        moved = np.zeros_like(y)
        kept = y > 0.0
        moved[kept] = Denoiser(s.problem.target)(y[kept] / s.scale + s.cutoff, s.delta)
        return moved

    def of_matrix(self, S: ArrayLike, *, reshrunk: bool = False) -> Floats:
        """The learned matrix itself, with its eigenvalues cut, or with `reshrunk` moved to their best places."""
        reason, remedy = "it is the learned matrix", "Use (S + S.T)/2 if it should be symmetric."
        eigenvalues, vectors = np.linalg.eigh(checks.symmetric("S", S, reason=reason, remedy=remedy))
        new = self.reshrunk(eigenvalues) if reshrunk else self(eigenvalues)
        return np.asarray((vectors * new) @ vectors.T)

    @cached_property
    def pruned_error(self) -> float:
        """Estimation error after the cut: the risk at the cutoff ``2 delta``, with the delta of that training.

        Equation: derived: cutting ``2 delta - c`` off ``(x - c)_+`` leaves ``(x - 2 delta)_+``.
        Checked: tests/models/attention/theory/scaling/test_pruning.py::test_check_value_19
        Checked: tests/models/attention/theory/scaling/test_pruning.py::test_trained_networks_are_mended_as_predicted
        """
        s = self.before
        cutoff = max(s.cutoff, 2.0 * s.delta)
        return functionals(s.problem.target, s.delta, cutoff, most=min(s.problem.kappa, 1.0)).risk

    @cached_property
    def reshrunk_error(self) -> float:
        """Estimation error after each kept x is moved: ``Q_0 - int_{x > c} (x - 2 t h)^2 mu_delta``.

        Written as ``MMSE(t) + int_{x < c} (x - 2 t h)^2 mu_delta``, of which nothing cancels.

        Equation: derived: ``x - 2 t h`` is what the target has along the eigenvector of x, and the whole integral is
            ``Q_0 - MMSE(t)``.
        Checked: tests/models/attention/theory/scaling/test_pruning.py::test_check_value_19
        Checked: tests/models/attention/theory/scaling/test_pruning.py::test_trained_networks_are_mended_as_predicted
        """
        s = self.before
        target, t = s.problem.target, s.delta**2
        free = FreeConvolution(target, s.delta)
        narrow = s.problem.kappa < s.wide_rank
        u_to = free.parameter_above(start_of_largest(free, s.problem.kappa) if narrow else s.cutoff)
        least = Denoiser(target).mmse(s.delta)
        if u_to <= free.bands[0, 0]:
            return least

        def integrands(point: Curve) -> Floats:
            return np.stack([np.ones_like(point.x), (point.x - 2.0 * t * point.h) ** 2])

        p = panels(target, t, free.bands, integrands, tail=TAIL_ALLOWED, u_to=u_to)
        return least + float(np.sum(p.mass * (p.x - 2.0 * t * p.h) ** 2))

    @cached_property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off: that of the solution carries over to what is made of it."""
        s = self.before
        known = s.error_bars
        relative = known["estimation_error"] / max(s.estimation_error, 1e-300)
        relative += 2.0 * known["delta"] / s.delta + known["cutoff"] / max(s.cutoff, 1e-300) + 1e-9
        names = ("pruned_error", "reshrunk_error", "threshold")
        bars = {name: relative * abs(float(getattr(self, name))) for name in names}
        return {"estimation_error": known["estimation_error"], **bars}

    @property
    def caveats(self) -> tuple[str, ...]:
        """Where pruning does not help, and what the solution itself has to say."""
        s = self.before
        said = [*s.caveats]
        if self.threshold == 0.0:
            said.append("the cutoff is beyond the bulk already: pruning has nothing to cut.")
        elif self.pruned_error > s.estimation_error:
            said.append(
                "pruning makes it worse here: the bulk carries signal, as with eigenvalues that fall slowly "
                "and many samples."
            )
        if self.threshold > 0.0 and s.problem.channel.linear and s.estimation_error > 0.5 * s.problem.noise > 0.0:
            said.append(
                "the error exceeds half the noise, as near interpolation: the noise level itself is large, and nothing "
                "that is done after training mends it."
            )
        return tuple(said)


def _eigenvalues(given: ArrayLike) -> Floats:
    reason, remedy = "they are those of the learned matrix", "Use for example numpy.linalg.eigvalsh(S)."
    return checks.finite("eigenvalues", given, reason=reason, remedy=remedy)
