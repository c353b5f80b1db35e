"""The part of a random lift that is above its active order: the tail that features have to be seen in."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np
from numpy.polynomial import hermite_e

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.spectra.labels import clean_labels, scores

VANISHES = 1e-12  # part of an order in an activation that is rounding


def order_masses(activation: Callable[[Floats], Any], highest: int) -> Floats:
    """Parts that the orders of an activation have in its kernel, from k = 0 on: squares of their coefficients.

    Equation: derived: coefficients of Hermite polynomials of variance one, squared.
    Checked: tests/models/lofi/test_kernel_tail.py::test_orders_of_relu
    """
    u, weight = scores(activation)
    sigma = clean_labels(activation, u)
    table = hermite_e.hermevander(u, highest)
    return np.array([float(weight @ (sigma * table[:, k])) ** 2 / factorial(k) for k in range(highest + 1)])


def kernel_tail(activation: Callable[[Floats], Any], order: int = 2) -> float:
    """The `tail` of a random lift with this activation: its variance in orders above the active one, over that order.

        rho = (E[sigma^2] - sum_{k <= order} mu_k^2)/mu_order^2

    Lower orders than the active one count as taken out: for quadratic features that is ``(u)_+ - 1/sqrt(2 pi) - u/2``
    in place of ``(u)_+``, which has the same tail.

    Equation: derived: the kernel of a lift by orders, those above the active one as noise.
    Checked: tests/models/lofi/test_kernel_tail.py::test_orders_of_relu
    """
    if not callable(activation):
        reason, remedy = "it is applied to random projections", "Use for example lambda u: np.maximum(u, 0.0)."
        raise checks.complaint("activation", "be a function of an array", reason, activation, remedy)
    reason, remedy = "it is the order whose features are selected", "Use <order=2> for quadratic features."
    order = checks.integer("order", order, at_least=1, at_most=8, reason=reason, remedy=remedy)
    masses = order_masses(activation, order)
    u, weight = scores(activation)
    whole = float(weight @ clean_labels(activation, u) ** 2)
    if masses[order] <= VANISHES * whole:
        raise checks.complaint(
            "activation",
            f"have a part of order {order}",
            "without it features of that order are not in the lift",
            f"a part of {masses[order] / max(whole, 1e-300):.1e}",
            "Use another activation; an odd one, such as tanh, has no even order.",
        )
    return max(whole - float(masses.sum()), 0.0) / float(masses[order])
