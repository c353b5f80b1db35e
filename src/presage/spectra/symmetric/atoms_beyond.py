"""Atoms of a target that stand far enough apart: what each adds to the integrals of ``mu_t``, in closed form."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from presage.laws.discrete_law import DiscreteLaw
from presage.laws.spectral_law import Floats, SpectralLaw

APART = 2.0  # times the noise that closes a gap by its own two atoms: beyond it atoms are added up one by one


class Gap(NamedTuple):
    """An interval of the real axis without atoms: a path covers what is left of it, atoms right of it add up."""

    left: float
    right: float
    first: int  # index of the first atom right of it


def gap_above(law: SpectralLaw, delta: float, begin: complex) -> Gap:
    """The gap at which a path that begins at `begin` had best end: the lowest one above which atoms are apart.

    Any gap would do: the sum over atoms is exact even where their bands have merged. But where they are dense their
    fields are large and cancel, so that there the path is better.
    """
    if not isinstance(law, DiscreteLaw):
        return Gap(float(law.support[-1, 1]), inf, 0)
    positions = law.atoms.positions
    first = max(law.neighbours.clear_from(APART * delta), int(np.searchsorted(positions, begin.real, side="right")))
    left = float(positions[first - 1]) if first > 0 else -inf
    return Gap(left, float(positions[first]) if first < positions.size else inf, first)


def sums_over_atoms(law: SpectralLaw, t: float, c: float, gap: Gap) -> tuple[Floats, Floats]:
    """What the atoms right of a gap add to rank, first, J, I, hilbert and cubic; and the size of the terms.

    With ``A = sum_j w_j/(s_i - s_j)``, ``B = -sum_j w_j/(s_i - s_j)^2`` over the other atoms, atom i adds

    ``int mu = w``, ``int (x-c) mu = w (s - c + t A)``, ``int (x-c) h mu = w (w/2 + (s-c) A) + t C``,
    ``int h mu = w A``, ``int (h^2 - pi^2 rho^2/3) mu = C = w A^2 + w^2 B`` and
    ``int (x-c)^2 mu = w (s-c)^2 + 2 t w (w/2 + (s-c) A) + t^2 C``.

    Equation: derived: residues at ``w = s_i`` of ``(z-c)^k g^n dz`` with ``z = w + t G_0(w)`` and ``g = G_0(w)``.
    Checked: tests/spectra/symmetric/test_path.py::test_atoms_and_path_share_the_spectrum_at_any_gap
    """
    if not np.isfinite(gap.right):
        return np.zeros(6), np.zeros(6)
    assert isinstance(law, DiscreteLaw)
    s, w = (array[gap.first :] for array in law.atoms)
    A, B = law.neighbours.fields(gap.first)
    y, force = s - c, w * A
    cubic = (force * A, w * w * B)
    pull = (0.5 * w * w, y * force)
    terms = (
        (w,),
        (w * y, t * force),
        (w * y * y, 2.0 * t * pull[0], 2.0 * t * pull[1], t * t * cubic[0], t * t * cubic[1]),
        (*pull, t * cubic[0], t * cubic[1]),
        (force,),
        cubic,
    )
    first = np.cumsum([0, *(len(row) for row in terms[:-1])])
    every = np.array([term for row in terms for term in row])
    return np.add.reduceat(every.sum(axis=1), first), np.add.reduceat(np.abs(every).sum(axis=1), first)
