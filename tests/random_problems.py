"""Two hundred random problems over the whole range that the library promises to cover."""

from __future__ import annotations

import numpy as np

import presage as ps
from presage.laws.spectral_law import SpectralLaw


def random_law(rng: np.random.Generator) -> SpectralLaw:
    kappa_0 = float(rng.uniform(0.05, 2.0))
    kind = rng.integers(4)
    if kind <= 1:
        return ps.MarchenkoPastur(kappa_0)
    if kind == 2:
        values = np.concatenate([[0.0], rng.uniform(0.2, 3.0, size=2)])
        weights = rng.dirichlet(np.ones(3)) * 0.94 + 0.02
        return ps.PointMasses(values, weights)
    return ps.PowerLaw(float(rng.uniform(0.6, 1.6)), int(rng.integers(20, 200)))


def random_problem(index: int) -> ps.Problem:
    """Problem number `index`; every fourth has three tokens, the others two."""
    rng = np.random.default_rng([20260, index])
    law = random_law(rng)
    return ps.attention(
        law,
        alpha=float(10 ** rng.uniform(np.log10(0.02), np.log10(50.0))),
        weight_decay=float(10 ** rng.uniform(-4.0, 0.0)),
        noise=float(rng.choice([0.0, rng.uniform(0.0, 2.0)], p=[0.25, 0.75])),
        n_tokens=3 if index % 4 == 3 else 2,
        beta=float(10 ** rng.uniform(np.log10(0.3), np.log10(3.0))),
    )
