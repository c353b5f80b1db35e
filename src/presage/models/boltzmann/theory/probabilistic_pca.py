"""Gaussian hidden units, whose machine is probabilistic principal component analysis: everything in closed form."""

from __future__ import annotations

import numpy as np

from presage.models.boltzmann.problem import BoltzmannProblem
from presage.solving.vector_state_evolution import Overlaps
from presage.spectra.spiked import spiked_wishart


def component_overlaps(problem: BoltzmannProblem) -> Overlaps:
    """Overlaps of the weights of greatest likelihood, up to a rotation of the units.

        q_a = 1 - 1/l_a,   m_a = cos_a sqrt(q_a),   v_a = 1/(1 + alpha lam_a)

    l_a are the largest eigenvalues of the covariance: outliers of directions that stand out, then the edge of the bulk.
    At the edge the response is that of the least signal that stands out.

    Equation: derived: the likelihood is greatest at ``W = sqrt(d) U diag(sqrt(1 - 1/l))``; l and cos by [BBP05].
    Checked: tests/models/boltzmann/test_state_evolution.py::test_gaussian_units_end_in_principal_components
    """
    k, k_0 = problem.units, len(problem.signals)
    signals = np.zeros(max(k, k_0))
    signals[:k_0] = problem.signals
    spike = spiked_wishart(signals, problem.alpha)
    q = 1.0 - 1.0 / spike.outlier[:k]
    m = np.zeros((k, k_0))
    each = np.arange(min(k, k_0))
    m[each, each] = np.sqrt(spike.overlap[each] * q[each])
    v = 1.0 / (1.0 + problem.alpha * np.maximum(signals[:k], spike.threshold))
    return Overlaps(m, np.diag(q), np.diag(v))
