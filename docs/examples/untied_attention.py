"""Experiment A: one softmax attention layer with untied queries and keys learns planted features; its weights are read.

Labels are the attention weights of a target of a few features, seen through noise. The layer is trained to the minimum

    sum over samples |softmax(x W_Q W_K' x'/sqrt(d)) - y|^2 + decay (|W_Q|^2 + |W_K|^2)

and `presage.read_head` is given the two factors and nothing else. It should count the features, find noise below them
that weight decay has shrunk, reject random factors, and lose all of it where decay is strong.

    python docs/examples/untied_attention.py                                  # the whole table, some minutes
    python docs/examples/untied_attention.py --samples 1200 --decays 1 16     # two cells of it
"""

# ruff: noqa: T201 - a script prints

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import presage as ps

Floats = NDArray[np.float64]
ZERO = 1e-4  # of the strongest feature that could be learned: values below it are on their way to zero
HEADER = "     n  decay  rank  found  bulk p  random p  a delta  c/delta  balance  flips  gradient  strengths, relative"


class Layer(NamedTuple):
    """Sizes of the layer, and what it is to learn."""

    d: int = 64  # dimension of a token
    h: int = 32  # of the head
    tokens: int = 4
    features: int = 8
    noise: float = 0.5  # variance on a logit of the target

    @property
    def strengths(self) -> Floats:
        """Singular values of the target, falling as 1/sqrt(i): the logits of the target have variance one."""
        falling = np.arange(1, self.features + 1) ** -0.5
        return np.asarray(falling * np.sqrt(self.d / np.sum(falling**2)))


class Samples(NamedTuple):
    """Tokens, n x T x d, and the attention weights that label them, n x T x T."""

    x: Floats
    y: Floats


class Trained(NamedTuple):
    """The factors of a head at the end of its training, and the largest entry of the gradient that is left."""

    W_Q: Floats
    W_K: Floats
    gradient: float


def softmax(R: Floats) -> Floats:
    """Attention weights of logits, row by row."""
    weights = np.exp(R - R.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def draw(layer: Layer, n: int, rng: np.random.Generator) -> Samples:
    """Gaussian tokens, labelled by a target whose features have directions of queries and others of keys."""
    U, V = (np.linalg.qr(rng.standard_normal((layer.d, layer.features)))[0] for _ in range(2))
    x = rng.standard_normal((n, layer.tokens, layer.d))
    R = (x @ (U * layer.strengths)) @ (x @ V).swapaxes(1, 2) / np.sqrt(layer.d)
    return Samples(x, softmax(R + np.sqrt(layer.noise) * rng.standard_normal(R.shape)))


def loss_and_gradient(factors: Floats, samples: Samples, decay: float) -> tuple[float, Floats]:
    """The loss at both factors, one above the other in one vector, and its gradient."""
    n, T, d = samples.x.shape
    W_Q, W_K = factors.reshape(2, d, -1)
    flat = samples.x.reshape(n * T, d)
    queries, keys = (flat @ W_Q).reshape(n, T, -1), (flat @ W_K).reshape(n, T, -1)
    P = softmax(queries @ keys.swapaxes(1, 2) / np.sqrt(d))
    error = P - samples.y
    slope = 2.0 * P * (error - np.sum(P * error, axis=-1, keepdims=True)) / np.sqrt(d)
    of_Q = flat.T @ (slope @ keys).reshape(n * T, -1)
    of_K = flat.T @ (slope.swapaxes(1, 2) @ queries).reshape(n * T, -1)
    gradient = np.concatenate([of_Q.ravel(), of_K.ravel()]) + 2.0 * decay * factors
    return float(np.sum(error * error) + decay * np.sum(factors * factors)), gradient


def train(layer: Layer, samples: Samples, decay: float, rng: np.random.Generator, steps: int = 4000) -> Trained:
    """Minimise the loss by L-BFGS from small random factors."""
    start = rng.standard_normal(2 * layer.d * layer.h) / np.sqrt(layer.h)
    found = minimize(
        loss_and_gradient,
        start,
        args=(samples, decay),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": 30, "gtol": 1e-6, "ftol": 0.0},
    )
    W_Q, W_K = found.x.reshape(2, layer.d, layer.h)
    return Trained(W_Q, W_K, float(np.max(np.abs(found.jac))))


def experiment(layer: Layer, n: int, decay: float, seed: int = 0) -> tuple[ps.HeadReport, Trained]:
    """Train one layer, and read its weights."""
    rng = np.random.default_rng([seed, n])
    trained = train(layer, draw(layer, n, rng), decay, rng)
    return ps.read_head(trained.W_Q, trained.W_K, tol=ZERO * float(layer.strengths[0])), trained


def row(n: int, decay: float, report: ps.HeadReport, trained: Trained) -> str:
    """One line of the table; what cannot be told is a dash."""
    fits = {fit.law: fit for fit in report.measured.fits}
    start = f"{n:6d} {decay:6g} {report.rank:5d}"
    if "shrunk" not in fits:
        return f"{start}  {report.verdict}"
    shrunk, random = fits["shrunk"], fits["random"]
    return (
        f"{start} {shrunk.spikes:6d} {shrunk.p_bulk:7.3f} {random.p_bulk:9.3f} {shrunk.slope:8.3f} {shrunk.cutoff:8.3f}"
        f" {report.balance:8.4f} {report.at_least or 0:6d} {trained.gradient:9.0e}"
        f"  {' '.join(f'{x:.2f}' for x in strengths(report))}"
    )


def strengths(report: ps.HeadReport) -> Floats:
    """Strengths of the features that were found, cleaned of noise and decay, over the first."""
    found = report.strengths
    return found / found[0] if len(found) else found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Planted features of an untied softmax head, trained and read.")
    parser.add_argument("--samples", type=int, nargs="+", default=[300, 1200, 5000])
    parser.add_argument("--decays", type=float, nargs="+", default=[0.2, 1.0, 4.0, 16.0, 64.0])
    parser.add_argument("--seed", type=int, default=0)
    for name, size in Layer()._asdict().items():
        parser.add_argument(f"--{name}", type=type(size), default=size)
    given = parser.parse_args(arguments)
    layer = Layer(given.d, given.h, given.tokens, given.features, given.noise)
    print("planted, relative:", " ".join(f"{x:.2f}" for x in layer.strengths / layer.strengths[0]))
    print(HEADER)
    for n in given.samples:
        for decay in given.decays:
            print(row(n, decay, *experiment(layer, n, decay, given.seed)), flush=True)


if __name__ == "__main__":
    main()
