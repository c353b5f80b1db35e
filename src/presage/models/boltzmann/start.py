"""Where an algorithm starts: overlaps of the first weights with the directions of the data, and among each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.hidden import GaussianUnits, spread
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.protocol import checks

ROUNDING = 1e-12
USUAL, WHERE_BOUNDED = (0.5, 2.0), (0.4, 0.5)  # m_0 and q_0; weights of Gaussian units have a bound
REMEDY = "Use for example <m_0=0.1> and <q_0=0.25>, or matrices of k_0 x k and k x k numbers."


def checked_overlaps(name: str, value: Any) -> float | tuple[tuple[float, ...], ...] | None:
    """Overlaps as they are kept: a number, or rows of numbers; None where the problem says."""
    if value is None:
        return None
    what = "overlaps with the directions" if name == "m_0" else "overlaps of the weights"
    array = checks.finite(name, value, reason=f"these are {what} to start from", remedy=REMEDY)
    if array.ndim == 0:
        return float(array)
    if array.ndim != 2 or array.size == 0:
        must = "be a number, or a matrix"
        raise checks.complaint(name, must, f"these are {what}", f"an array of shape {array.shape}", REMEDY)
    return tuple(tuple(map(float, row)) for row in array)


def start_matrices(problem: BoltzmannProblem, m_0: Any, q_0: Any) -> tuple[Floats, Floats]:
    """``M_0`` (k_0 x k) and ``Q_0`` (k x k) of a start; a number stands on the diagonal, None for one of usual size.

    Weights with these overlaps exist if ``Q_0 - M_0'M_0`` is a covariance.
    """
    spikes, units = len(problem.signals), problem.units
    usual = USUAL if np.isfinite(problem.hidden.largest) else WHERE_BOUNDED
    size = spread(problem.hidden, units)
    m_0, q_0 = usual[0] / size if m_0 is None else m_0, usual[1] / size**2 if q_0 is None else q_0
    m, q = np.array(m_0, dtype=np.float64), np.array(q_0, dtype=np.float64)
    M = m * np.eye(spikes, units) if m.ndim == 0 else m
    Q = q * np.eye(units) if q.ndim == 0 else q
    for name, matrix, shape in (("m_0", M, (spikes, units)), ("q_0", Q, (units, units))):
        if matrix.shape != shape:
            must = f"be a number or a matrix of {shape[0]} x {shape[1]} numbers here"
            reason = f"there are {spikes} directions and {units} hidden units"
            raise checks.complaint(name, must, reason, f"an array of shape {matrix.shape}", REMEDY)
    Q = checks.symmetric("q_0", Q, reason="it is the covariance of the first weights", remedy=REMEDY)
    least = float(np.linalg.eigvalsh(Q - M.T @ M)[0])
    if least < -ROUNDING * max(1.0, float(np.trace(Q))):
        raise checks.complaint(
            "q_0",
            "be such that q_0 - m_0'm_0 is a covariance",
            "weights cannot overlap more with the directions than they are long",
            f"a least eigenvalue {least:.3g}",
            REMEDY,
        )
    if not np.isfinite(problem.hidden.psi(Q)):
        top = float(np.linalg.eigvalsh(Q)[-1])
        reason = "a machine of Gaussian units has no normalisation beyond"
        raise checks.complaint("q_0", "be below one here", reason, f"a largest eigenvalue {top:.3g}", "Use <q_0=0.25>.")
    return M, Q


def check_response(problem: BoltzmannProblem, v_0: float) -> None:
    """Complain about a response of the first weights that moves fields of Gaussian units without end."""
    if isinstance(problem.hidden, GaussianUnits) and not v_0 < 1.0:
        reason = "a field of Gaussian units moves by 1/(1 - v)"
        raise checks.complaint("v_0", "be below one here", reason, v_0, "Use for example <v_0=0.1>.")
