"""The law of a label, as far as a spectral method sees it: how often each value comes, and what score is behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.protocol import checks

FARTHEST = 9.0  # standard deviations beyond which a Gaussian has no weight: e^-40
WIDEST = 0.5  # of a panel of scores
NODES = 12  # of Gauss and Legendre in a panel
ABSCISSAE, WEIGHTS = np.polynomial.legendre.leggauss(NODES)
STEEP = 3.0  # standard deviations of the noise that a panel of scores may pass
MOST_PANELS = 240  # of scores: beyond, a function is too steep for its noise, and `defect` shows it
STEP = 0.1  # of the scores at which the spacing of clean labels is looked at
AT_ONCE = 2_000_000  # values of a kernel that are held together


@final
@dataclass(frozen=True, eq=False)
class Labels:
    """A label y whose score is ``s ~ N(0, 1)``, on nodes: their weights, and ``E[s^2 | y]`` at each.

    Averages over the pair (s, y) of what is a function of y, or such a function times s^2, are sums over the nodes.
    """

    y: Floats = field(repr=False)
    weight: Floats = field(repr=False)  # sums to one
    second: Floats = field(repr=False)  # E[s^2 | y]
    conditional: bool = True  # False where nodes are scores: `second` is then s^2 at the node, not its mean given y

    @classmethod
    def additive(cls, f: Callable[[Floats], Any], *, noise: float) -> Self:
        """Labels ``y = f(s) + sqrt(noise) xi``; without noise the nodes are those of the score itself."""
        reason, remedy = "it is the variance of the noise on a label", "Use for example <noise=1.0>."
        noise = checks.real("noise", noise, at_least=0.0, reason=reason, remedy=remedy)
        if noise == 0.0:
            s, weight = scores()
            return cls(clean_labels(f, s), weight, s * s, conditional=False)
        sigma = sqrt(noise)
        s, weight = scores(f, STEEP * sigma)
        means = clean_labels(f, s)
        y, length = _between(_panels_of_labels(f, sigma))

        def kernel(at: Floats) -> Floats:
            return np.exp(-0.5 * ((at[:, None] - means) / sigma) ** 2) / (sigma * sqrt(2.0 * pi))

        return cls._of_kernel(y, length, kernel, s, weight)

    @classmethod
    def with_density(cls, density: Callable[[Floats, Floats], Any], edges: Sequence[float] | Floats) -> Self:
        """Labels of the density ``density(y, s)`` given the score, integrated over panels of y between `edges`."""
        breaks = np.asarray(edges, dtype=np.float64)
        if breaks.ndim != 1 or len(breaks) < 2 or not np.all(np.diff(breaks) > 0.0) or not np.isfinite(breaks).all():
            reason, remedy = (
                "labels are integrated over panels between them",
                "Use for example np.linspace(-8, 8, 60).",
            )
            raise checks.complaint("edges", "be increasing numbers, at least two", reason, edges, remedy)
        s, weight = scores()
        y, length = _between(breaks)
        return cls._of_kernel(y, length, lambda at: np.asarray(density(at[:, None], s[None, :])), s, weight)

    @classmethod
    def discrete(cls, values: ArrayLike, probability: Callable[[Floats], Any]) -> Self:
        """Labels that take a few `values`, each with a probability given the score: one row a value."""
        s, weight = scores()
        y = np.asarray(values, dtype=np.float64)
        rows = np.asarray(probability(s), dtype=np.float64)
        total = rows.sum(axis=0) if rows.shape == (len(y), len(s)) else np.zeros(1)
        if not np.allclose(total, 1.0, atol=1e-9) or rows.min() < 0.0:
            reason = "each row is the probability of a value given the score, and some value always comes"
            remedy = "Return for example np.stack([p(s), 1 - p(s)])."
            raise checks.complaint("probability", "be rows that sum to one", reason, f"shape {rows.shape}", remedy)
        seen = rows @ weight
        kept = seen > 0.0
        return cls(y[kept], seen[kept], (rows @ (weight * s * s))[kept] / seen[kept])

    @classmethod
    def _of_kernel(
        cls, y: Floats, length: Floats, kernel: Callable[[Floats], Floats], s: Floats, weight: Floats
    ) -> Self:
        """Integrate the density of a label given the score over the score, at every node of y."""
        both = np.column_stack([weight, weight * s * s])
        block = max(1, AT_ONCE // len(s))
        sums = np.concatenate([kernel(y[at : at + block]) @ both for at in range(0, len(y), block)])
        density, second = sums.T
        seen = density > 1e-290  # where nothing is seen there is no score behind it
        y, chance = y[seen], (density * length)[seen]
        found = cls(y, chance, second[seen] / density[seen])
        if not abs(found.defect) < 0.1:
            raise checks.complaint(
                "labels",
                "have a density that sums to one",
                f"its weights sum to {float(chance.sum()):.3g}, so that the nodes do not resolve it",
                f"{len(y)} nodes",
                "Use more noise, a function that is less steep, or closer <edges>.",
            )
        return found

    @property
    def defect(self) -> float:
        """How far the weights are from one, or their mean s^2 from one, whichever is more: what quadrature has left."""
        return float(max(abs(self.weight.sum() - 1.0), abs(self.weight @ self.second - 1.0), key=abs))

    def mean(self, values: Floats) -> float:
        """Average of a function of the label, given at the nodes."""
        return float(self.weight @ values)


def scores(f: Callable[[Floats], Any] | None = None, most: float = np.inf) -> tuple[Floats, Floats]:
    """Nodes and weights of a standard Gaussian score, in panels that break at zero.

    With a function, panels over which it changes by more than `most` are cut.
    """
    edges = np.linspace(-FARTHEST, FARTHEST, round(2 * FARTHEST / WIDEST) + 1)
    while f is not None and np.isfinite(most):
        wide = np.abs(np.diff(clean_labels(f, edges))) > most
        # Far out there is too little weight for its steepness to matter.
        wide &= np.minimum(np.abs(edges[:-1]), np.abs(edges[1:])) < FARTHEST - 2.0
        if not wide.any() or len(edges) + wide.sum() > MOST_PANELS:
            break
        edges = np.sort(np.concatenate([edges, 0.5 * (edges[:-1] + edges[1:])[wide]]))
    s, length = _between(edges)
    weight = length * np.exp(-0.5 * s * s) / sqrt(2.0 * pi)
    return s, weight / weight.sum()


def clean_labels(f: Callable[[Floats], Any], s: Floats) -> Floats:
    """A function of the score at many scores; complain where it is none."""
    with np.errstate(all="ignore"):
        values = np.asarray(f(s), dtype=np.float64)
    if values.shape != s.shape or not np.isfinite(values).all():
        got = f"an array of shape {values.shape}" if values.shape != s.shape else f"{values[~np.isfinite(values)][0]}"
        reason = "it is evaluated at an array of scores between -9 and 9, where a Gaussian is"
        raise checks.complaint("f", "be finite at every score", reason, got, "Use for example np.abs or np.cos.")
    return values


def _panels_of_labels(f: Callable[[Floats], Any], sigma: float) -> Floats:
    """Edges of panels in y: as wide as the noise, or wider where clean labels are further apart than that."""
    means = np.sort(clean_labels(f, np.arange(-FARTHEST + 1.0, FARTHEST - 1.0 + 0.5 * STEP, STEP)))
    edges = [means[0] - FARTHEST * sigma]
    end = means[-1] + FARTHEST * sigma
    while edges[-1] < end:
        at = edges[-1]
        k = int(np.searchsorted(means, at, side="right"))
        spacing = float(means[k] - means[k - 1]) if 0 < k < len(means) else 0.0
        edges.append(at + max(1.5 * sigma, spacing))
    return np.array(edges)


def _between(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes of Gauss and Legendre in every panel, and their weights."""
    middle, half = 0.5 * (edges[:-1] + edges[1:]), 0.5 * np.diff(edges)
    return (middle[:, None] + half[:, None] * ABSCISSAE).ravel(), (half[:, None] * WEIGHTS).ravel()
