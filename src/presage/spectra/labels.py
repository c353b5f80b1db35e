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
MOST_PANELS = (240, 960)  # of scores, tried in turn: beyond the last a function is too steep for its noise
RESOLVED, REFUSED = 1e-8, 1e-5  # defect at which more panels are of no use, and at which labels are none
HALVINGS, EQUAL = 45, 1e-12  # of a panel with a jump in it, and relative difference of two rules for one without
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
        for finer, most in enumerate(MOST_PANELS, 1):
            s, weight = scores(f, STEEP * sigma, most)
            means = clean_labels(f, s)
            y, length = _between(_panels_of_labels(f, sigma, finer))
            found = cls._of_kernel(y, length, _gaussian_about(means, sigma), s, weight)
            if abs(found.defect) < RESOLVED:
                break
        return found.resolved("Use more <noise>, or a function that is less steep.")

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

        def kernel(at: Floats) -> Floats:
            values = np.asarray(density(at[:, None], s[None, :]), dtype=np.float64)
            if values.shape != (len(at), len(s)) or not np.isfinite(values).all() or values.min() < 0.0:
                reason = "it is called with labels as a column and scores as a row"
                got = f"an array of shape {values.shape}, from {values.min():.3g} to {values.max():.3g}"
                remedy = "Return for example np.exp(-(y - s)**2 / 2) / np.sqrt(2 * np.pi)."
                raise checks.complaint("density", "be a number >= 0 for every label and score", reason, got, remedy)
            return values

        return cls._of_kernel(y, length, kernel, s, weight).resolved("Use closer <edges>, or wider ones.")

    @classmethod
    def discrete(cls, values: ArrayLike, probability: Callable[[Floats], Any]) -> Self:
        """Labels that take a few `values`, each with a probability given the score: one row a value."""
        s, weight = scores(probability)
        y = np.atleast_1d(np.asarray(values, dtype=np.float64))
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
        return cls(y, chance, second[seen] / density[seen])

    def resolved(self, remedy: str) -> Self:
        """These labels, if their nodes resolve them; else a complaint."""
        if not abs(self.defect) < REFUSED:
            raise checks.complaint(
                "labels",
                "have a density that their nodes resolve",
                f"weights, or those times E[s^2 | y], sum to {1.0 + self.defect:.6g} in place of one",
                f"{len(self.y)} nodes",
                remedy,
            )
        return self

    @property
    def defect(self) -> float:
        """How far the weights are from one, or their mean s^2 from one, whichever is more: what quadrature has left."""
        return float(max(self.weight.sum() - 1.0, self.weight @ self.second - 1.0, key=abs))

    def mean(self, values: Floats) -> float:
        """Average of a function of the label, given at the nodes."""
        return float(self.weight @ values)


def _gaussian_about(means: Floats, sigma: float) -> Callable[[Floats], Floats]:
    """Density of ``mean + sigma xi`` at labels (rows), for every mean (columns)."""
    return lambda at: np.exp(-0.5 * ((at[:, None] - means) / sigma) ** 2) / (sigma * sqrt(2.0 * pi))


def scores(
    f: Callable[[Floats], Any] | None = None, most: float = np.inf, panels: int = MOST_PANELS[0]
) -> tuple[Floats, Floats]:
    """Nodes and weights of a standard Gaussian score, in panels that break at zero.

    With a function, or several as rows, panels are cut where it jumps, and so are those over which it changes by more
    than `most`.
    """
    edges = np.linspace(-FARTHEST, FARTHEST, round(2 * FARTHEST / WIDEST) + 1)
    edges = edges if f is None else _cut_at_jumps(f, edges)
    while f is not None and np.isfinite(most):
        wide = np.abs(np.diff(clean_labels(f, edges))) > most
        # Far out there is too little weight for its steepness to matter; a jump stays one however it is cut.
        wide &= np.minimum(np.abs(edges[:-1]), np.abs(edges[1:])) < FARTHEST - 2.0
        wide &= np.diff(edges) > 1e-6
        if not wide.any() or len(edges) + wide.sum() > panels:
            break
        edges = np.sort(np.concatenate([edges, 0.5 * (edges[:-1] + edges[1:])[wide]]))
    s, length = _between(edges)
    weight = length * np.exp(-0.5 * s * s) / sqrt(2.0 * pi)
    return s, weight / weight.sum()


def _cut_at_jumps(f: Callable[[Floats], Any], edges: Floats) -> Floats:
    """Edges of panels in which a function is smooth: those where two rules differ are halved, again and again."""

    def integrals(low: Floats, high: Floats) -> Floats:
        s, length = _between_each(low, high)
        values = np.atleast_2d(_evaluated(f, s.ravel())).reshape(-1, *s.shape)
        weight = length * np.exp(-0.5 * s * s)
        return np.concatenate([(values * weight).sum(axis=-1), (values**2 * weight).sum(axis=-1)])

    low, high = edges[:-1], edges[1:]
    whole = integrals(low, high)
    scale = EQUAL * np.abs(whole).sum(axis=1, keepdims=True)
    found = [edges]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        left, right = integrals(low, middle), integrals(middle, high)
        rough = np.any(np.abs(whole - left - right) > scale, axis=0)
        if not rough.any():
            break
        found.append(middle[rough])
        low, high = np.concatenate([low[rough], middle[rough]]), np.concatenate([middle[rough], high[rough]])
        whole = np.concatenate([left[:, rough], right[:, rough]], axis=1)
    return np.unique(np.concatenate(found))


def _evaluated(f: Callable[[Floats], Any], s: Floats) -> Floats:
    """What a function of one's own gives at many scores, which it may not change."""
    with np.errstate(all="ignore"):
        values = np.asarray(f(s.copy()))
    if values.dtype.kind not in "biuf":
        reason, remedy = "labels are real numbers", "Use for example np.abs or np.cos."
        raise checks.complaint("f", "give real numbers", reason, f"an array of {values.dtype}", remedy)
    return values.astype(np.float64)


def clean_labels(f: Callable[[Floats], Any], s: Floats) -> Floats:
    """A function of the score at many scores; complain where it is none."""
    values = _evaluated(f, s)
    if values.shape != s.shape or not np.isfinite(values).all():
        got = f"an array of shape {values.shape}" if values.shape != s.shape else f"{values[~np.isfinite(values)][0]}"
        reason = "it is evaluated at an array of scores between -9 and 9, where a Gaussian is"
        raise checks.complaint("f", "be finite at every score", reason, got, "Use for example np.abs or np.cos.")
    return values


def _panels_of_labels(f: Callable[[Floats], Any], sigma: float, finer: int) -> Floats:
    """Edges of panels in y: as wide as the noise about labels that are close together, else as these are apart."""
    means = np.sort(clean_labels(f, np.arange(-FARTHEST + 1.0, FARTHEST - 1.0 + 0.5 * STEP, STEP)))
    gaps = np.diff(means)
    close = np.concatenate([[True], gaps < sigma]) | np.concatenate([gaps < sigma, [True]])
    dense, width = means[close], 1.5 * sigma / finer
    edges = [means[0] - FARTHEST * sigma]
    end = means[-1] + FARTHEST * sigma
    while edges[-1] < end:
        at = edges[-1]
        k, j = int(np.searchsorted(means, at, side="right")), int(np.searchsorted(dense, at, side="right"))
        behind = at - dense[j - 1] if j > 0 else np.inf
        ahead = dense[j] - at - FARTHEST * sigma if j < len(dense) else np.inf
        apart = float(means[k] - means[k - 1]) / finer if 0 < k < len(means) else 0.0
        near = behind < FARTHEST * sigma or ahead <= 0.0
        edges.append(at + (width if near else max(width, min(apart, ahead))))
    return np.array(edges)


def _between(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes of Gauss and Legendre in every panel, and their weights, one after the other."""
    s, length = _between_each(edges[:-1], edges[1:])
    return s.ravel(), length.ravel()


def _between_each(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Nodes of Gauss and Legendre between two ends, and their weights, one row a pair of ends."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    return middle[:, None] + half[:, None] * ABSCISSAE, half[:, None] * WEIGHTS
