"""Accelerated proximal gradient on S for convex problems, with a duality gap that says how near the minimum is."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import final

import numpy as np

from presage import _check
from presage.experiment.fit import Fit, Trainer, certify, check_options, finite
from presage.experiment.objective import Objective
from presage.model.channels import Linear
from presage.model.laws import Floats

LOOK = 10  # iterations between two looks at the duality gap, which costs an eigenvalue problem of its own
ROUNDINGS = 200.0  # a gap is not known better than this many rounding errors
MARGIN = 1.02  # on the largest curvature, which power iteration approaches from below


@final
@dataclass(frozen=True)
class ProximalGradient(Trainer):
    """FISTA [BT09] with restart [OC15], until the loss is proven to be within `tol` (relative) of its minimum.

    For outputs linear in S (quadratic network, linear attention), where the loss is convex in S. The width of the
    student plays no part but for its weight decay: the minimum is that of a student at least as wide as its rank.
    """

    tol: float = 1e-6
    steps: int = 20_000

    def __post_init__(self) -> None:
        check_options(self)

    def fit(self, objective: Objective, rng: np.random.Generator) -> Fit:
        if not isinstance(objective.channel, Linear):
            raise _check.complaint(
                "trainer",
                "be LBFGS, Adam or AMP for this channel",
                "the loss is not convex in S, and a duality gap proves nothing",
                self,
                "Use trainer=LBFGS().",
            )
        began, d = perf_counter(), objective.d
        S = np.zeros((d, d))
        here = objective.at_S(S)
        finite(here, "ProximalGradient", 0)
        Lambda, passes = largest_curvature(objective, here.gradient, rng)
        before, gradient_before, momentum = S, here.gradient, 1.0
        history = [(perf_counter() - began, here.value)]
        certificate = certify(objective, S, here)
        tol = max(self.tol, ROUNDINGS * objective.rounding)
        for iteration in range(1, self.steps + 1):
            # The gradient is affine in S: at the extrapolated point it is extrapolated too, without a pass.
            grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            ahead = (momentum - 1.0) / grown
            Y, slope = S + ahead * (S - before), here.gradient + ahead * (here.gradient - gradient_before)
            theta, vectors = np.linalg.eigh(Lambda * Y - 2.0 / d * slope)
            stepped = (vectors * objective.penalty.shrink(theta, Lambda, objective.kappa)) @ vectors.T
            restart = float(np.sum((Y - stepped) * (stepped - S))) > 0.0  # the momentum points uphill
            momentum = 1.0 if restart else grown
            before, gradient_before, S = S, here.gradient, stepped
            here = objective.at_S(S)
            finite(here, "ProximalGradient", iteration)
            history.append((perf_counter() - began, here.value + objective.penalty_at(S)))
            if iteration % LOOK == 0:
                certificate = certify(objective, S, here)
                if certificate.gap <= tol:
                    break
        certificate = certify(objective, S, here)
        converged = certificate.gap <= tol
        caveats = []
        if not converged:
            caveats.append(
                f"ProximalGradient stopped after {self.steps} steps with a duality gap of {certificate.gap:.1e}, "
                f"above its tolerance {tol:.1g}."
            )
        if objective.factorized and certificate.rank > objective.kappa:
            caveats.append(
                f"the minimum over S has rank {certificate.rank:.3g} d, more than the width {objective.kappa:.3g} d: "
                "no student of this width reaches it."
            )
        return Fit(
            S,
            here.value + objective.penalty_at(S),
            here.value / objective.n,
            certificate,
            converged,
            passes + len(history),
            perf_counter() - began,
            np.array(history),
            tuple(caveats),
        )


def largest_curvature(objective: Objective, at_zero: Floats, rng: np.random.Generator) -> tuple[float, int]:
    """Curvature Lambda above which a proximal step never overshoots, by power iteration, and the passes it took."""
    direction = rng.standard_normal(at_zero.shape)
    direction += direction.T
    curvature = 0.0
    for passes in range(1, 101):
        direction /= np.linalg.norm(direction)
        image = objective.at_S(direction).gradient - at_zero
        found = float(np.linalg.norm(image))
        if found == 0.0:  # scores that do not depend on S
            return 1.0, passes
        if passes >= 5 and found - curvature < 2e-3 * found:
            break
        curvature, direction = found, image
    return MARGIN * 2.0 / objective.d * found, passes
