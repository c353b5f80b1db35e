"""A ridge on a symmetric matrix seen through a linear channel: everything is in closed form."""

from __future__ import annotations

from math import sqrt

from presage.models.attention.problem import Problem
from presage.models.attention.theory.order_parameters import Conjugates


def conjugates(problem: Problem, alpha: float, ridge: float) -> Conjugates:
    """Solve [BETKZ25] (66) for the linear channel, at ``alpha = alpha L_in``.

    ``Sigma`` solves ``1/Sigma = 8 alpha/(1 + 4 Sigma) + 4 tau``, then
    ``m_hat = Sigma_hat = 8 alpha/(1 + 4 Sigma)``, and with ``g = m_hat Sigma`` the risk
    ``e = Q_0 (1-g)^2 + q_hat Sigma^2`` meets ``q_hat = m_hat^2 (e + Delta/2)/(2 alpha)``.

    Equation: [BETKZ25] (66), with the linear channel of its Appendix C.
    Checked: tests/models/attention/theory/test_quadratic.py::test_ridge_closed_form_is_a_fixed_point
    Checked: tests/models/attention/theory/test_quadratic.py::test_ridge_closed_form_keeps_its_digits_at_a_tiny_ridge
    """
    Q_0 = problem.Q_0
    # 16 tau Sigma^2 + (8 alpha + 4 tau - 4) Sigma - 1 = 0, positive root without cancellation.
    b = 8.0 * alpha + 4.0 * ridge - 4.0
    root = sqrt(b * b + 64.0 * ridge)
    Sigma = 2.0 / (b + root) if b > 0 else (root - b) / (32.0 * ridge)
    m_hat = 8.0 * alpha / (1.0 + 4.0 * Sigma)
    gain = m_hat * Sigma
    unexplained = Q_0 * (1.0 - gain) ** 2 + 0.5 * problem.noise
    q_hat = m_hat**2 * unexplained / (2.0 * alpha - gain**2)
    return Conjugates(m_hat, q_hat, m_hat)
