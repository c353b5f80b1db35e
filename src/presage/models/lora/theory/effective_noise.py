"""What the frozen layer leaves of the labels, for a linear output: one variance tells all of the pre-training."""

from __future__ import annotations

import scipy

from presage.models.lora.theory.pretrained import Pretrained


def fresh_noise(before: Pretrained, b: float = 1.0) -> float:
    """Variance of a component of what the frozen layer, scaled by b, leaves of the label of a new sequence.

        Delta_eff = Delta/2 + Q_0 - 2 b M + b^2 Q

    Equation: derived: the frozen scores and the target's are Gaussian with covariance ``[[Q, M], [M, Q_0 + Delta/2]]``.
    Checked: tests/models/lora/test_effective_noise.py::test_check_values_of_two_pipelines
    """
    return before.rho_0 - 2.0 * b * before.M + b * b * before.Q


def known_noise(before: Pretrained) -> float:
    """The same for the best scaling of the frozen scores, ``b = M/Q``: all that is known of a label from them.

        Delta_eff = Delta/2 + Q_0 - M^2/Q

    Equation: derived: the variance of the target's scores given the frozen ones.
    Checked: tests/models/lora/test_effective_noise.py::test_check_values_of_two_pipelines
    """
    return before.rho_0 - before.slope * before.M


def selected_noise(before: Pretrained, f: float, L: int, b: float = 1.0) -> float:
    """The same for the fraction f of a pool that has the smallest frozen scores, of L components each.

        Delta_act = Delta/2 + Q_0 - M^2/Q + (b - M/Q)^2 Q F_{L+2}(F_L^-1(f))/f

    F_k is the distribution function of chi-square with k degrees of freedom.

    Equation: derived: the second moment of a truncated Gaussian; for a linear output it is enough.
    Checked: tests/models/lora/test_effective_noise.py::test_check_values_of_a_selection
    """
    largest = float(scipy.special.gammaincinv(0.5 * L, f))
    kept = float(scipy.special.gammainc(0.5 * L + 1.0, largest)) / f
    return known_noise(before) + (b - before.slope) ** 2 * before.Q * kept


def reused_noise(before: Pretrained, *, same_noise: bool, b: float = 1.0) -> float:
    """The same for sequences of the pre-training, on which the layer has seen a label.

        Delta_1 = (1 - b k)^2 (Q_0 + Delta/2) + b^2 (1-k)^2 Q - 2 (1 - b k) b (1-k) M,   k = 4 Sigma/(1 + 4 Sigma)

    where the label noise is the same; where it is drawn anew, ``(1 - b k)^2 Delta/2`` is ``(1 + b^2 k^2) Delta/2``.

    Equation: derived: the frozen scores of a training sample are the proximal map ``(1-k) z + k z_0``.
    Checked: tests/models/lora/test_effective_noise.py::test_check_values_of_two_pipelines
    """
    k = 4.0 * before.Sigma / (1.0 + 4.0 * before.Sigma)
    kept, left = b * (1.0 - k), 1.0 - b * k
    noise = left**2 if same_noise else 1.0 + (b * k) ** 2
    return left**2 * before.Q_0 + noise * 0.5 * before.noise + kept**2 * before.Q - 2.0 * left * kept * before.M
