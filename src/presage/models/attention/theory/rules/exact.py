"""Averages of a linear channel: all in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.linear import Linear
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.rule import Averages, Rule, gaussian_of
from presage.protocol import checks


@final
@dataclass(frozen=True)
class Exact(Rule):
    """Linear channels: ``f = (z_0 - z) 4/(1 + 4 Sigma)``, and every average is in closed form.

    Equation: [BETKZ25] Appendix C.
    Checked: tests/models/attention/theory/test_state_evolution.py::test_linear_averages_give_the_explicit_map
    """

    exact = True

    def __str__(self) -> str:
        return "closed forms"

    def averages(self, channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float | None = None) -> Averages:
        checks.instance(
            "channel",
            channel,
            Linear,
            reason="only the averages of a linear channel are in closed form",
            remedy="Use GaussHermite() or Sobol().",
        )
        root_rho, mean, own = gaussian_of(rho_0, overlaps, sigma)
        distance = (root_rho - mean) ** 2 + own**2  # E (z_0 - z)^2 of a component
        L, shrunk = channel.n_in, 1.0 / (1.0 + 4.0 * overlaps.Sigma)
        slope = np.array([4.0 * L * shrunk])
        test_error = np.array([2.0 * L * distance])
        return Averages(
            slope_z=-slope,
            slope_z_0=slope,
            stein_z=-slope,
            stein_z_0=slope,
            square=np.array([16.0 * L * shrunk**2 * distance]),
            square_slope=np.array([16.0 * L * shrunk**2]),
            train_error=test_error * shrunk**2,
            test_error=test_error,
            jumps=0.0,
            derivatives=_derivatives(L, shrunk, root_rho - mean, own),
        )


def _derivatives(L: int, shrunk: float, missing: float, own: float) -> Floats:
    """Derivatives of the averages in mean, sigma and Sigma: of the distance of z from ``z_0``, and of the response.

    Equation: derived.
    Checked: tests/models/attention/theory/test_expectations.py::test_derivatives_of_averages_are_those_of_differences
    """
    distance = np.array([-2.0 * missing, 2.0 * own, 0.0])
    response = np.array([0.0, 0.0, -4.0 * shrunk])  # of the logarithm of 1/(1 + 4 Sigma)
    square, test_error = 16.0 * L * shrunk**2, 2.0 * L
    whole = missing**2 + own**2
    return np.array(
        [
            -4.0 * L * shrunk * response,
            4.0 * L * shrunk * response,
            square * (distance + 2.0 * whole * response),
            test_error * shrunk**2 * (distance + 2.0 * whole * response),
            2.0 * square * response,
            test_error * distance,
        ]
    )
