"""Moments of the labels that the first layer uses: what makes its signals and its noise."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.compositional.links import IdentityLink
from presage.models.compositional.problem import CompositionalProblem
from presage.models.compositional.theory.label_law import POINTS, LabelLaw, cached_law
from presage.protocol import checks
from presage.protocol.errors import InputError

FOLLOWED = 256  # features whose weights are computed one by one; weaker ones have their leading order

SURE = 0.02  # of what extrapolation to a fine grid adds, that is left
LOST = 0.015  # relative error of an expectation from which on it is none
NEVER, SHARE = 1e-12, 0.05  # probability of labels that no sample has, and what part of a moment they may make
RARE = 1e-6  # probability of a label that makes an outlier of its own, from which on that is said
HELD = 1e-15  # mass of a label below which it is rounding


class Moments(NamedTuple):
    """Moments of T, the labels that are used, without their mean; those with a feature have one entry a feature."""

    signal: Floats  # theta_i = E[T (h_i^2 - 1)]
    variance: float  # E T^2
    row: Floats  # E[T^2 h_i^2], the noise in the row of a feature
    third: float  # E T^3
    third_row: Floats  # E[T^3 h_i^2]
    labels: float  # variance of y itself
    readout: Floats  # E[y (h_i^2 - 1)], which the second layer is made of
    error: float  # of the expectations, relative: zero for closed forms


def signal_of_identity(strengths: Floats) -> Floats:
    """Signals of labels that are the second layer itself: ``theta_i = sqrt(2) lam_i``.

    Equation: [WTDKL26], ``theta_i = sqrt2 nu_1 lam_i`` with ``nu_1 = 1``
    Checked: tests/models/compositional/test_theory.py::test_a_wrong_factor_in_the_signal_is_found_out
    """
    return sqrt(2.0) * strengths


def row_noise_of_identity(strengths: Floats) -> Floats:
    """Noise in the row of a feature: ``E[y^2 h_i^2] = 1 + 4 lam_i^2``.

    Equation: derived: a feature is larger where its label is; ``E (h^2 - 1)^3 = 8``.
    Checked: tests/models/compositional/test_label_law.py::test_closed_forms_are_the_expectations_on_the_grid
    """
    return 1.0 + 4.0 * strengths**2


def third_moments_of_identity(strengths: Floats) -> tuple[float, Floats]:
    """``E y^3 = 2 sqrt2 sum_j lam_j^3`` and ``E[y^3 h_i^2] = E y^3 + 3 sqrt2 lam_i (1 + 4 lam_i^2)``.

    Equation: derived: by parts, ``E[y^3 (h_i^2 - 1)] = E[3 y^2 sqrt2 lam_i h_i^2]``.
    Checked: tests/models/compositional/test_label_law.py::test_closed_forms_are_the_expectations_on_the_grid
    """
    third = 2.0 * sqrt(2.0) * float(np.sum(strengths**3))
    return third, third + 3.0 * sqrt(2.0) * strengths * row_noise_of_identity(strengths)


def moments(problem: CompositionalProblem) -> Moments:
    """Closed forms of plain labels, and expectations on the grid of the second layer for others."""
    strengths = problem.strengths
    if isinstance(problem.link, IdentityLink) and problem.clip is None:
        signal = signal_of_identity(strengths)
        third, third_row = third_moments_of_identity(strengths)
        return Moments(signal, 1.0, row_noise_of_identity(strengths), third, third_row, 1.0, signal, 0.0)
    _must_have_moments(problem)
    fine, coarse = (_on_grid(problem, law_of(problem, points)) for points in (POINTS, POINTS // 2))
    values = [(4.0 * np.asarray(a) - np.asarray(b)) / 3.0 for a, b in zip(fine, coarse, strict=True)]
    error = max(
        float(np.max(np.abs(np.asarray(a) - v) / (1e-3 + np.abs(v)))) for a, v in zip(fine, values, strict=True)
    )
    if not SURE * error < LOST:
        raise _without_moments(problem, f"expectations over them are known to {SURE * error:.1g} only")
    signal, variance, row, third, third_row, labels, readout = values
    ends = (signal, 0.0), (row, variance), (third_row, third), (readout, 0.0)
    signal, row, third_row, readout = (_with_the_weak(problem, value, float(end)) for value, end in ends)
    signal[strengths == 0.0] = readout[strengths == 0.0] = 0.0  # and no rounding
    return Moments(signal, float(variance), row, float(third), third_row, float(labels), readout, SURE * error)


def law_of(problem: CompositionalProblem, points: int = POINTS) -> LabelLaw:
    """The law of the second layer with the weights of the features that are followed."""
    return cached_law(tuple(map(float, problem.strengths)), min(problem.features, FOLLOWED), points)


def used_labels(problem: CompositionalProblem, law: LabelLaw) -> tuple[Floats, Floats]:
    """On the grid: labels without their mean, and what the first layer uses of them, clipped and without its mean."""
    y = np.asarray(problem.link(law.grid.copy()), dtype=np.float64)  # a link may work in place
    y = y - law.mass @ y
    if problem.clip is None:
        return y, y
    bound = problem.clip * sqrt(float(law.mass @ y**2))
    used = np.clip(y, -bound, bound)
    return y, used - law.mass @ used


def bounded_law(problem: CompositionalProblem, points: int = POINTS) -> tuple[Floats, Floats, Floats]:
    """Labels that are used where they are clipped, each once: their values, masses, and masses weighted by features."""
    law = law_of(problem, points)
    labels = used_labels(problem, law)[1]
    order = np.argsort(labels, kind="stable")
    first = np.flatnonzero(np.diff(labels[order], prepend=-np.inf) > 0.0)  # of those that are equal
    mass, weighted = (np.add.reduceat(one[..., order], first, axis=-1) for one in (law.mass, law.weighted))
    held = mass > HELD
    return labels[order][first][held], mass[held], weighted[:, held]


def large_labels(problem: CompositionalProblem, alpha: Floats) -> Floats:
    """Probability of a label beyond ``sqrt(alpha)`` standard deviations: alone it is beyond the edge of the noise.

    Equation: derived: one sample adds ``T F F'/n``, of eigenvalue ``T D/n``, and the edge has the resolvent
        ``1/s = sqrt(alpha/E T^2)``, at which a label ``T = alpha/g`` is a pole.
    Checked: tests/models/compositional/test_theory.py::test_large_labels_are_rare_where_there_are_many_samples
    """
    law = cached_law(tuple(map(float, problem.strengths)), 0, POINTS)
    y = used_labels(problem, law)[0]
    size = np.abs(y) / sqrt(float(law.mass @ y**2))
    order = np.argsort(size, kind="stable")
    from_here = np.append(np.cumsum(law.mass[order][::-1])[::-1], 0.0)
    return np.asarray(from_here[np.searchsorted(size[order], np.sqrt(alpha), side="right")])


def _must_have_moments(problem: CompositionalProblem) -> None:
    """Complain where labels that no sample has make a moment: it is infinite, or means nothing."""
    law = law_of(problem)
    weight = np.abs(law.mass) + np.abs(law.weighted[0])
    beyond = np.minimum(np.cumsum(weight), np.cumsum(weight[::-1])[::-1])  # of the nearer tail
    with np.errstate(over="ignore", invalid="ignore"):
        y, used = used_labels(problem, law)
        for values in (y**2, np.abs(used) ** 3):
            whole, far = float(weight @ values), float((weight * values)[beyond < NEVER].sum())
            if not (np.isfinite(whole) and far <= SHARE * whole):
                raise _without_moments(problem, "it grows so fast that labels that no sample has decide them")


def _without_moments(problem: CompositionalProblem, reason: str) -> InputError:
    remedy = "Use a function that grows as a power at the most, or one that is bounded, as <link=TanhLink(1.0)>."
    return checks.complaint("link", "have labels of finite moments", reason, problem.link, remedy)


def _on_grid(problem: CompositionalProblem, law: LabelLaw) -> list[Floats | float]:
    y, used = used_labels(problem, law)
    mass, weighted = law.mass, law.weighted
    return [
        weighted @ used,
        float(mass @ used**2),
        weighted @ used**2,
        float(mass @ used**3),
        weighted @ used**3,
        float(mass @ y**2),
        weighted @ y,
    ]


def _with_the_weak(problem: CompositionalProblem, value: Floats, end: float) -> Floats:
    """An entry a feature: of those that are not followed it nears that of no feature as their strength falls."""
    count, strengths = len(value), problem.strengths
    return np.concatenate([value, end + (value[-1] - end) * strengths[count:] / strengths[count - 1]])
