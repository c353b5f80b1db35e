"""The expected loss on a fresh sample, where nothing but the overlaps is known."""

from __future__ import annotations

from math import sqrt

from presage.models.attention.channels.channel import Channel
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.exact import Exact
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.sobol import Sobol

RESOLVED = 1e-5  # relative distance of two product rules below which they are trusted


def expected_loss(channel: Channel, rho_0: float, overlaps: Overlaps, sigma: float) -> tuple[float, float]:
    """``E l(z_0, z)`` at given overlaps, and its error bar; `sigma` is the deviation of z given ``z_0``.

    Product rules miss labels that are sharp on the scale of z: where two of them differ, scrambled points decide.
    """
    there = overlaps._replace(Sigma=0.0)
    if channel.linear:
        return float(Exact().averages(channel, rho_0, there, sigma).test_error[0]), 0.0
    if channel.n_tokens == 2:
        fine, coarse = (
            float(rule.averages(channel, rho_0, there, sigma).test_error[0])
            for rule in (GaussHermite(24), GaussHermite(20))
        )
        if abs(fine - coarse) <= RESOLVED * fine:
            return fine, abs(fine - coarse)
    rule = Sobol(4096 if channel.n_tokens < 5 else 1024, 16)
    found = rule.averages(channel, rho_0, there, sigma).test_error
    return float(found.mean()), 2.2 * float(found.std(ddof=1)) / sqrt(len(found))
