"""Linear channels whose student is narrower than what it would learn: one equation for the noise level, nothing else.

Only the largest eigenvalues are kept, a fraction `most` of all, whatever the cutoff. Where they begin depends on the
noise level alone, and what the equations need is a polynomial in the cutoff: it is explicit at every noise level, and
so is the best one. As in `explicit_map`, `alpha` is the product with the number of components.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt

from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.theory.one_equation import OnePoint, one_equation
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.functionals import Functionals, functionals, start_of_largest

Cutoff = Callable[[Functionals], float]


def at_cutoff(f: Functionals, c: float) -> Functionals:
    """The integrals over the same eigenvalues at another cutoff: they are polynomials in it.

    ``first(c) = first + s rank``, ``J(c) = J + 2 s first + s^2 rank``, ``I(c) = I + s int h mu``, s the step down.

    Equation: derived, from their definitions.
    Checked: tests/models/attention/theory/test_rank_limited.py::test_integrals_of_a_fixed_part_are_polynomials
    """
    s = f.c - c
    J = f.J + 2.0 * s * f.first + s * s * f.rank
    return replace(f, c=c, first=f.first + s * f.rank, J=J, I=f.I + s * f.hilbert)


def cutoff_of_penalty(f: Functionals, alpha: float, lambda_tilde: float) -> float:
    """The cutoff of a penalty, where the eigenvalues that are kept do not depend on it.

    ``lambda~ = 4 c (alpha - I(c))`` with ``I(c) = I_0 - c int h mu`` is a quadratic equation with one positive root.

    Equation: [ETZK25], its second equation; [GTXEKZ26] for the truncation.
    Checked: tests/models/attention/theory/test_rank_limited.py::test_one_equation_gives_what_the_fixed_point_does
    """
    left = alpha - at_cutoff(f, 0.0).I
    root = sqrt(left * left + f.hilbert * lambda_tilde)
    return 0.5 * lambda_tilde / (left + root) if left > 0.0 else 0.5 * (root - left) / f.hilbert


def best_cutoff(f: Functionals) -> float:
    """The cutoff of least risk, where the eigenvalues that are kept do not depend on it: ``c = 2 t int h mu/int mu``.

    Equation: derived: the zero of the derivative of the risk, which is ``2 c int mu - 4 t int h mu``.
    Checked: tests/models/attention/theory/scaling/test_width.py::test_no_other_weight_decay_does_better_at_a_width
    """
    return 2.0 * f.delta**2 * f.hilbert / f.rank


def solve_rank_limited(
    target: SpectralLaw, noise: float, alpha: float, most: float, cutoff: Cutoff, *, start: float
) -> OnePoint:
    """Find the noise level of a student of rank `most`, from the noise level `start`, with the cutoff that each gives.

    ``2 alpha delta^2 = risk(delta, c(delta)) + Delta/2``.

    Raises:
        NoConvergenceError: where secants do not end.

    Equation: [ETZK25], its first equation; [GTXEKZ26] for the truncation.
    Checked: tests/models/attention/theory/test_rank_limited.py::test_one_equation_gives_what_the_fixed_point_does
    """

    def integrals(delta: float) -> Functionals:
        largest = functionals(target, delta, start_of_largest(FreeConvolution(target, delta), most))
        return at_cutoff(largest, cutoff(largest))

    return one_equation(integrals, noise, alpha, start=start)
