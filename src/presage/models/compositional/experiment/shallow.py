"""Shallow learners beside the layers: kernel ridge regression, and ridge regression of random features."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.compositional.experiment.trainers import KernelRidge, RandomFeatures

HELD_OUT = 0.1  # part of the samples by which the strength of the ridge is chosen
WEAKEST, STRONGEST = 1e-6, 10.0


def ridges(count: int) -> Floats:
    """Strengths that are tried, over the number of samples."""
    return np.geomspace(WEAKEST, STRONGEST, count) if count > 1 else np.array([1e-3])


def fit_kernel(trainer: KernelRidge, x: Floats, y: Floats, test: Floats, degree: int) -> tuple[Floats, float]:
    """Labels of test inputs by kernel ridge regression of scikit-learn, and the strength that was chosen."""
    from sklearn.kernel_ridge import KernelRidge as Regression

    d = x.shape[1]
    kernel: dict[str, Any] = (
        {"kernel": "poly", "degree": 2 * degree, "gamma": 1.0 / d, "coef0": 1.0}
        if trainer.kernel == "polynomial"
        else {"kernel": "rbf", "gamma": 0.5 / d}
    )
    held = max(1, int(HELD_OUT * len(y)))
    errors = []
    for strength in ridges(trainer.ridges):
        fit = Regression(alpha=float(strength * len(y)), **kernel).fit(x[held:], y[held:])
        errors.append(float(np.mean((fit.predict(x[:held]) - y[:held]) ** 2)))
    best = float(ridges(trainer.ridges)[int(np.argmin(errors))])
    fit = Regression(alpha=best * len(y), **kernel).fit(x, y)
    return np.asarray(fit.predict(test), dtype=np.float64), best


def fit_random_features(
    trainer: RandomFeatures, x: Floats, y: Floats, test: Floats, degree: int, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Labels of test inputs by ridge regression on powers of random projections."""
    d = x.shape[1]
    W, b = rng.standard_normal((d, trainer.width)) / sqrt(d), rng.standard_normal(trainer.width)

    def features(inputs: Floats) -> Floats:
        return np.asarray((inputs @ W + b) ** (2 * degree) / sqrt(trainer.width))

    held = max(1, int(HELD_OUT * len(y)))
    Z = features(x)
    mean = Z[held:].mean(axis=0)
    spread = Z[held:].std(axis=0) * sqrt(trainer.width)
    Z = (Z - mean) / spread
    gram, right = Z[held:].T @ Z[held:], Z[held:].T @ y[held:]
    errors = []
    for strength in ridges(trainer.ridges):
        w = np.linalg.solve(gram + strength * len(y) * np.eye(trainer.width), right)
        errors.append(float(np.mean((Z[:held] @ w - y[:held]) ** 2)))
    best = float(ridges(trainer.ridges)[int(np.argmin(errors))])
    w = np.linalg.solve(Z.T @ Z + best * len(y) * np.eye(trainer.width), Z.T @ y)
    return np.asarray((features(test) - mean) / spread @ w), best
