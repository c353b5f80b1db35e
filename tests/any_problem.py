"""Problem number `index` of ten thousand: at random over everything that `solve` takes, the dear kinds more rarely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import presage as ps
from presage.laws.spectral_law import SpectralLaw

COUNT = 10_000
CHANCES = {
    "quadratic network": 0.33,
    "linear attention": 0.24,
    "bilinear": 0.22,
    "ridge, linear": 0.04,
    "softmax of two": 0.11,
    "ridge, softmax of two": 0.02,
    "softmax of three": 0.005,
    "softmax of five": 0.001,
    "pair comparison": 0.004,
    "huber": 0.006,
    "elastic, linear": 0.01,
    "elastic, softmax": 0.004,
    "not a problem": 0.01,
}
# Most of the softmax problems are solved to fewer digits: one whose samples jump takes 20 s to the default accuracy.
COARSE = ps.StateEvolution(accuracy=2e-3, most_nodes=2**17)


class Question(NamedTuple):
    """What is asked: the kind in words, how to make the problem, and with which solver (None: the default)."""

    kind: str
    make: Callable[[], ps.Problem | ps.BilinearProblem]
    solver: ps.Solver | None = None

    @property
    def must_be_refused(self) -> bool:
        return self.kind == "not a problem"


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def any_law(rng: np.random.Generator, *, far: float) -> SpectralLaw:
    """A law of eigenvalues; with probability `far` of an extreme rank or scale."""
    extreme = rng.random() < far
    size = log_uniform(rng, 1e-3, 1e3) if extreme else log_uniform(rng, 0.3, 3.0)
    kind = rng.choice(["marchenko-pastur", "masses", "power", "semicircle", "empirical"], p=[0.4, 0.2, 0.15, 0.1, 0.15])
    if kind == "marchenko-pastur":
        return ps.MarchenkoPastur(log_uniform(rng, 1e-3, 1e3) if extreme else log_uniform(rng, 0.05, 3.0))
    if kind == "power":
        return ps.PowerLaw(float(rng.uniform(0.3, 2.5)), int(rng.integers(2, 300)), bool(rng.random() < 0.7))
    if kind == "semicircle":
        centre = float(rng.choice([0.0, 1.0, 2.5]))
        return ps.Semicircle(size**2 * log_uniform(rng, 0.03, 1.0), size * centre)
    if kind == "empirical":
        d = int(rng.integers(1, 60))
        factor = rng.standard_normal((d, int(rng.integers(1, 2 * d + 1))))
        matrix = size * factor @ factor.T / np.sqrt(factor.size)
        shift = rng.choice([0.0, -0.5 * size], p=[0.8, 0.2])  # a few have negative eigenvalues
        return ps.Empirical(matrix + shift * np.eye(d))
    values = size * np.concatenate([[0.0], rng.uniform(0.2, 3.0, size=int(rng.integers(1, 4)))])
    lightest = 1e-4 if extreme else 0.02
    weights = rng.dirichlet(np.ones(values.size)) * (1.0 - lightest * values.size) + lightest
    if rng.random() < 0.2:  # all eigenvalues of the target are positive; often there is one alone
        return ps.PointMasses(values[1:], weights[1:] / weights[1:].sum())
    return ps.PointMasses(values, weights)


def any_numbers(rng: np.random.Generator) -> dict[str, Any]:
    """Data and noise over what is promised, with clean labels and strong noise among them."""
    return {
        "alpha": log_uniform(rng, 1e-3, 1e3) if rng.random() < 0.4 else log_uniform(rng, 0.02, 20.0),
        "noise": float(rng.choice([0.0, log_uniform(rng, 1e-4, 100.0), rng.uniform(0.0, 2.0)], p=[0.2, 0.3, 0.5])),
    }


def any_strength(rng: np.random.Generator) -> float:
    return log_uniform(rng, 1e-5, 10.0) if rng.random() < 0.5 else log_uniform(rng, 1e-3, 1.0)


def any_width(rng: np.random.Generator) -> float:
    return 1.0 if rng.random() < 0.6 else log_uniform(rng, 0.05, 3.0)


def any_temperatures(rng: np.random.Generator) -> dict[str, Any]:
    beta = log_uniform(rng, 0.05, 5.0) if rng.random() < 0.4 else log_uniform(rng, 0.4, 2.0)
    return {"beta": beta, "beta_0": beta * log_uniform(rng, 0.3, 3.0) if rng.random() < 0.3 else None}


def any_bilinear(rng: np.random.Generator) -> Callable[[], ps.BilinearProblem]:
    numbers = any_numbers(rng)
    decay = float(rng.choice([0.0, any_strength(rng)], p=[0.1, 0.9]))
    tokens = rng.random() < 0.3
    aspect = 1.0 if tokens or rng.random() < 0.4 else log_uniform(rng, 1.0, 30.0)
    if rng.random() < 0.6:
        target: Any = ps.GaussianProduct(log_uniform(rng, 0.02, 3.0), aspect)
    else:
        values = np.concatenate([[0.0], log_uniform(rng, 0.1, 10.0) * rng.uniform(0.2, 2.0, size=2)])
        target = ps.SingularValueMasses(values, rng.dirichlet(np.ones(3)) * 0.94 + 0.02, aspect)
    pairs = str(rng.choice(["cross", "distinct"]))  # all pairs are solved at a finite size, some seconds each
    n_tokens = int(rng.integers(2, 6)) if tokens else None
    return lambda: ps.BilinearProblem(
        target,
        numbers["alpha"],
        numbers["noise"],
        decay,
        n_tokens,
        pairs if tokens else "cross",  # type: ignore[arg-type]
    )


def no_problem(rng: np.random.Generator) -> Callable[[], ps.Problem | ps.BilinearProblem]:
    """Something that has to be refused with a sentence."""
    law, zero = ps.MarchenkoPastur(0.5), ps.PointMasses([0.0])
    number = -log_uniform(rng, 1e-3, 1e3)
    makers: list[Callable[[], ps.Problem | ps.BilinearProblem]] = [
        lambda: ps.quadratic_network(law, alpha=1.0, weight_decay=0.0, noise=0.5),
        lambda: ps.attention(law, alpha=1.0, weight_decay=0.0, noise=0.5),
        lambda: ps.unfactorized_attention(law, alpha=1.0, ridge=0.0),
        lambda: ps.quadratic_network(law, alpha=number, weight_decay=0.1),
        lambda: ps.quadratic_network(law, alpha=float("nan"), weight_decay=0.1),
        lambda: ps.attention(law, alpha=1.0, weight_decay=number),
        lambda: ps.attention(law, alpha=1.0, weight_decay=0.1, beta=number),
        lambda: ps.linear_attention(law, alpha=1.0, weight_decay=0.1, noise=number),
        lambda: ps.linear_attention(law, alpha=1.0, weight_decay=0.1, n_tokens=0),
        lambda: ps.quadratic_network(law, alpha=1.0, weight_decay=0.1, kappa=number),
        lambda: ps.quadratic_network(zero, alpha=1.0, weight_decay=0.1),
        lambda: ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=1.0, noise=0.1),
        lambda: ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=1.0, weight_decay=number),
        lambda: ps.bilinear_regression(ps.GaussianProduct(number), alpha=1.0, weight_decay=0.1),
    ]
    return makers[int(rng.integers(len(makers)))]


def any_problem(index: int) -> Question:
    """Question number `index`, the same on every machine."""
    rng = np.random.default_rng([10_000, index])
    kind = str(rng.choice([*CHANCES], p=[*CHANCES.values()]))
    if kind == "bilinear":
        return Question(kind, any_bilinear(rng))
    if kind == "not a problem":
        return Question(kind, no_problem(rng))
    softmax = kind.startswith("softmax") or kind == "ridge, softmax of two"
    own = kind in ("pair comparison", "huber") or kind.startswith("elastic")
    law = any_law(rng, far=0.0 if own else 0.05 if softmax else 0.2)
    numbers, strength, kappa = any_numbers(rng), any_strength(rng), any_width(rng)
    betas = any_temperatures(rng)
    solver = COARSE if softmax and rng.random() < 0.9 else None
    if numbers["noise"] > 0.0 and rng.random() < 0.02:
        law = ps.PointMasses([0.0])  # nothing but noise
    if kind == "quadratic network":
        return Question(kind, lambda: ps.quadratic_network(law, weight_decay=strength, kappa=kappa, **numbers))
    if kind in ("linear attention", "ridge, linear"):
        tokens = int(rng.integers(1, 6))
        penalty = ps.NuclearPSD(strength) if kind == "linear attention" else ps.Frobenius(strength)
        return Question(kind, lambda: ps.Problem(law, ps.Linear(tokens), penalty, kappa=kappa, **numbers))
    if kind == "ridge, softmax of two":
        return Question(kind, lambda: ps.unfactorized_attention(law, ridge=strength, **betas, **numbers), solver)
    if kind == "pair comparison":
        return Question(kind, lambda: ps.pair_comparison(law, weight_decay=strength, kappa=kappa, **betas, **numbers))
    if kind == "huber":
        threshold = log_uniform(rng, 0.2, 5.0)
        return Question(
            kind, lambda: ps.robust_network(law, weight_decay=strength, threshold=threshold, kappa=kappa, **numbers)
        )
    if kind.startswith("elastic"):
        channel = ps.Linear(int(rng.integers(1, 4))) if kind == "elastic, linear" else ps.Softmax(2, **betas)
        lowest = float(rng.choice([0.0, -np.inf]))
        own_penalty = ps.ElasticSpectral(strength, any_strength(rng), lowest)
        return Question(kind, lambda: ps.Problem(law, channel, own_penalty, **numbers))
    T = {"softmax of two": 2, "softmax of three": 3, "softmax of five": 5}[kind]
    return Question(
        kind,
        lambda: ps.attention(law, weight_decay=strength, kappa=kappa, n_tokens=T, **betas, **numbers),
        solver,
    )
