"""The error of a network in three parts, exactly: overfitting, what is not learned, and what is learned imperfectly.

``S_fit/scale`` is ``S_0 + delta GOE`` with its eigenvalues shrunk by ``f(x) = (x - c)_+``. Its noise is a bulk, and the
features of the target that stand out of the noise are what is learned; the parts are those of

``R' = |S_fit/scale - S_0|_F^2/d``,

which is the estimation error where the scale is one, as for every linear channel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.declaration import PARTS
from presage.models.attention.problem import Problem
from presage.protocol.njit import njit
from presage.protocol.prediction import Result
from presage.spectra.symmetric import biane
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.functionals import Functionals, functionals

ROUNDING = 1e-9  # of a scale that is one
NUDGE = 1e-5  # relative, of noise level and cutoff: for the differences behind the error bars


@njit(cache=True)
def threshold(delta: float, cutoff: float) -> float:
    """Features of the target above ``s_*`` are learned: ``delta`` if ``c <= 2 delta``, else ``(c + sqrt(c^2-4t))/2``.

    A feature alone on the noise has an eigenvalue at ``s + t/s`` if ``s > delta``, and none otherwise; it is learned
    if that is above the cutoff.

    Equation: derived.
    Checked: tests/models/attention/theory/test_decomposition.py::test_a_learned_feature_is_one_whose_eigenvalue_is_kept
    Checked: tests/models/attention/theory/scaling/test_composite.py::test_a_feature_is_learned_above_the_threshold
    """
    if cutoff <= 2.0 * delta:
        return delta
    return 0.5 * (cutoff + sqrt((cutoff - 2.0 * delta) * (cutoff + 2.0 * delta)))


class Cut(NamedTuple):
    """Where the target is cut into learned and not learned features, and whether a bulk of noise is kept."""

    threshold: float  # eigenvalues of the target above it are learned
    has_bulk: bool  # whether the cutoff is inside of the noise


class Parts(NamedTuple):
    """The three parts of the error, and where the noise ends."""

    overfitting: float
    not_learned: float
    approximation: float
    error: float  # R' itself, by the formula of the solver
    split: float  # eigenvalues of S_0 + delta GOE from the cutoff up to here are the bulk
    cut: Cut


def cut_at(delta: float, cutoff: float) -> Cut:
    """The cut that belongs to a noise level and a cutoff (of a narrow student: the least eigenvalue that it keeps)."""
    return Cut(threshold(delta, cutoff), cutoff <= 2.0 * delta)


def parts(target: SpectralLaw, delta: float, cutoff: float, most: float = inf, cut: Cut | None = None) -> Parts:
    """The parts of ``R'``, where eigenvalues with the mass `most` at most are kept.

    ``x - 2t h`` is the mean of the target along an eigenvector at ``x``. With the bulk up to the x of the parameter
    ``u = delta``,

    ``overfitting = int_bulk (f^2 - 2f (x - 2t h)) mu``,
    ``not_learned = int_{s <= threshold} s^2 mu_0``,
    ``approximation = int_out (f^2 - 2f (x - 2t h)) mu + int_{s > threshold} s^2 mu_0``;

    the first is the error less that with the bulk deleted.

    ``f^2 - 2 f x = c^2 - x^2`` and ``Q_0 + t = int x^2 mu`` turn the last two into forms that do not cancel where
    little is left of the error.

    Equation: derived; eigenvector overlaps by Biane's parameters, ``O(x,s) = t/((u-s)^2 + v^2)``, whose mean over the
        target with weight s is ``x - 2t h``.
    Checked: tests/models/attention/theory/test_decomposition.py::test_parts_of_sampled_matrices
    Checked: tests/models/attention/theory/test_decomposition.py::test_check_values
    """
    whole = functionals(target, delta, cutoff, most=most)
    start = max(cutoff, whole.start)
    cut = cut or cut_at(delta, start)
    t, c = delta**2, cutoff
    split = max(start, _end_of_noise(whole.free)) if cut.has_bulk else start
    above = whole if split <= start else functionals(target, delta, split)
    force = _force(above, c)
    not_learned = float(target.moment_below(cut.threshold, 2))
    approximation = c * c * above.rank + t * (4.0 * force - 1.0) + (above.below - not_learned)
    overfitting = 0.0
    if above is not whole:
        second = above.below - whole.below
        overfitting = c * c * (whole.rank - above.rank) + 4.0 * t * (whole.I - force) - second
    return Parts(overfitting, not_learned, approximation, whole.risk, split, cut)


def _force(f: Functionals, c: float) -> float:
    """``int (x-c) h mu`` over the eigenvalues above the start of `f`, whatever cutoff that has."""
    return f.I + (f.c - c) * f.hilbert


def _end_of_noise(free: FreeConvolution) -> float:
    """The x of the parameter ``u = delta``, where a feature alone leaves the noise; of a gap a point inside of it."""
    return float(biane.curve(free.law, free.t, np.array([free.delta])).x[0])


@final
@dataclass(frozen=True)
class Decomposition(Result):
    """The three parts of ``R' = |S_fit/scale - S_0|_F^2/d``; with `rescaling` they sum to the estimation error."""

    problem: Problem
    overfitting: float  # what the kept noise costs; negative where it carries more signal than noise
    not_learned: float  # what is lost with the features of the target below the threshold
    approximation: float  # how far the learned features are from those of the target
    error: float  # R', which they sum to
    rescaling: float  # estimation error less R': what the factor `scale` adds, 0 for linear channels
    scale: float
    threshold: float  # eigenvalues of the target above it are learned
    learned: float  # fraction of the eigenvalues of the target that are
    split: float  # eigenvalues of S_fit/scale up to here are noise; 0 where no noise is kept
    bars: dict[str, float] = field(repr=False, hash=False)

    observables = PARTS

    @property
    def total(self) -> float:
        """Sum of the parts."""
        return self.overfitting + self.not_learned + self.approximation

    @property
    def error_bars(self) -> dict[str, float]:
        """Half width of a 95 % interval for every part."""
        return self.bars

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a sign or a zero means, in words."""
        said = [*self.problem.notes]
        if self.overfitting < -self.bars["overfitting"]:
            said.append(
                "overfitting is negative: the bulk of the noise carries more of the target than it costs, and "
                "deleting it would make the error larger."
            )
        if abs(self.scale - 1.0) > ROUNDING:
            said.append(
                f"the parts are those of |S/scale - S_0|^2/d with scale = {self.scale:.6g}; the estimation error has "
                f"{self.rescaling:+.3g} more, from the scale itself."
            )
        return tuple(said)


def decomposition_of(
    problem: Problem,
    delta: float,
    cutoff: float,
    scale: float,
    estimation_error: float,
    relative: tuple[float, float],
) -> Decomposition:
    """The decomposition of a prediction; `relative` is how well noise level and cutoff are known."""
    target, kappa = problem.target, problem.kappa
    found = parts(target, delta, cutoff, kappa)
    cut = found.cut  # held while noise level and cutoff move: a feature that crosses is no part of an error bar
    moved = [
        parts(target, delta * (1.0 + NUDGE), cutoff, kappa, cut),
        parts(target, delta, cutoff * (1.0 + NUDGE), kappa, cut),
    ]
    bars = {}
    for name in ("overfitting", "not_learned", "approximation"):
        value = getattr(found, name)
        slopes = [abs(getattr(there, name) - value) / NUDGE for there in moved]
        bars[name] = sum(slope * bar for slope, bar in zip(slopes, relative, strict=True)) + 1e-13 * found.error
    return Decomposition(
        problem=problem,
        overfitting=found.overfitting,
        not_learned=found.not_learned,
        approximation=found.approximation,
        error=found.error,
        rescaling=estimation_error - found.error,
        scale=scale,
        threshold=cut.threshold,
        learned=1.0 - float(target.cdf(cut.threshold)),
        split=max(found.split - cutoff, 0.0) if cut.has_bulk else 0.0,
        bars=bars,
    )
