"""True inputs in place of Gaussian coordinates: features are quadratic forms of them."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from presage.models.lofi.links import FeatureLink
from presage.protocol import checks
from presage.protocol.ensemble import Floats


class TrueInputs(NamedTuple):
    """Samples of inputs, the features behind them, and labels."""

    x: Floats
    h: Floats  # features of every sample, one column each
    y: Floats
    forms: Floats  # the matrices A_k of the features


def true_inputs(link: FeatureLink, *, d: int, n: int, seed: int) -> TrueInputs:
    """Draw ``x ~ N(0, 1_d)`` and labels of features ``h_k = (x'A_k x - tr A_k)/sqrt(2)``, A_k random and orthonormal.

    Features are quadratic forms of the inputs: they have ``D = d (d+1)/2`` coordinates, all products of two inputs,
    which are not Gaussian. What an estimator selects of them comes near to the theory as d grows.

    Args:
        link: the labels, as of a problem.
        d: dimension of the inputs.
        n: number of samples.
        seed: of the forms and the samples.
    """
    reason, remedy = "labels are a function of features", "Use for example <link=SquaresLink([1.0, -0.7, 0.5])>."
    checks.instance("link", link, FeatureLink, reason=reason, remedy=remedy)
    d = checks.integer("d", d, at_least=2, reason="it is the dimension of the inputs", remedy="Use <d=20>.")
    n = checks.integer("n", n, at_least=1, reason="it is the number of samples", remedy="Use <n=4000>.")
    seed = checks.integer("seed", seed, at_least=0, reason="it fixes all random numbers", remedy="Use <seed=0>.")
    p, coordinates = link.features, d * (d + 1) // 2
    if p > coordinates:
        raise checks.complaint(
            "d",
            f"be larger for {p} features",
            f"{d} inputs have {coordinates} products, and features are orthogonal directions of them",
            d,
            "Use a larger <d>.",
        )
    rng = np.random.default_rng([seed, d])
    A = _forms(p, d, rng)
    x = rng.standard_normal((n, d))
    h = quadratic_forms(x, A)
    return TrueInputs(x, h, np.asarray(link(h)), A)


def quadratic_forms(x: Floats, A: Floats) -> Floats:
    """``(x'A_k x - tr A_k)/sqrt(2)`` of every sample, one column a form."""
    values = [np.einsum("ni,ni->n", x @ one, x) - np.trace(one) for one in A]
    return np.stack(values, axis=1) / sqrt(2.0)


def _forms(p: int, d: int, rng: np.random.Generator) -> Floats:
    """Random symmetric matrices of norm one, orthogonal to each other."""
    raw = rng.standard_normal((p, d, d))
    Q, _ = np.linalg.qr(((raw + raw.transpose(0, 2, 1)) / 2.0).reshape(p, -1).T)
    return np.asarray(Q.T.reshape(p, d, d))


def explained(h: Floats, by: Floats) -> Any:
    """R^2 of every column of features in a linear regression on others."""
    columns = np.column_stack([np.ones(len(by)), by])
    left = h - columns @ np.linalg.lstsq(columns, h, rcond=None)[0]
    return 1.0 - np.var(left, axis=0) / np.var(h, axis=0)
