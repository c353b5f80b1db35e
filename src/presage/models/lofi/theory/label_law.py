"""The law of the labels and of each feature behind them, on nodes: what every equation of the theory is a mean over."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.lofi.links import FeatureLink
from presage.protocol import checks
from presage.spectra.labels import Labels

BY_GRID = 3  # features up to which nodes are a grid of them; of more they are spread by a net
FARTHEST = 7.5  # standard deviations of a feature: a weight of e^-28
RULES = {1: ((24, 12), (24, 8)), 2: ((10, 12), (10, 8)), 3: ((6, 8), (6, 6))}  # panels and nodes of a half line, twice
NET, DRAWS = 16, 4  # logarithm of the points of a net, and how often it is scrambled anew
LEVELS, STEPS, NEAR_ENDS = 250, 250, 40  # places of labels between which nodes are taken together
CLOSEST = 1e-9  # to either end of the labels, in units of their range
UNSEEN = 1e-9  # signal of a feature, beside what it could be, that is zero
SURE = 4.0  # standard errors over nets within which a signal is zero
ALONE = 2.5  # part of a variance that a net finds by chance at the most, in standard errors of a variance
MIXED = 1e-3  # correlation of two features given the label that is none: what a net leaves is smaller


class LabelLaw(NamedTuple):
    """Centred labels on nodes, and what is behind them; means over nodes are those over the features."""

    mean: float  # of the labels before they were centred
    y: Floats
    weight: Floats  # sums to one
    second: Floats  # E[h_k^2 | y], one row a feature
    square: float  # E y^2
    theta: Floats  # E[y (h_k^2 - 1)]
    row: Floats  # E[y^2 h_k^2]

    def labels(self, k: int) -> Labels:
        """The law of a label as a spectral method sees it by feature k."""
        return Labels(self.y, self.weight, self.second[k])

    def gathered(self, k: int) -> Floats:
        """``E[(h_k^2 - 1) 1(y <= t)]`` at every t at which labels are; of a rough rule without its error at the end."""
        below = np.cumsum(self.weight * (self.second[k] - 1.0))
        below -= below[-1] * np.cumsum(self.weight)
        return np.asarray(below[np.append(self.y[1:] > self.y[:-1], True)])


def signal(y: Floats, weight: Floats, squares: Floats) -> Floats:
    """Second moment of the labels along each feature, ``theta_k = E[y (h_k^2 - 1)]``; rounding is zero.

    Equation: derived: the mean of the signal matrix of [DVATK26] along a feature, less that along any other direction.
    Checked: tests/models/lofi/test_label_law.py::test_constants_of_one_feature
    """
    theta = (weight * y) @ (squares - 1.0)
    size = np.sqrt((weight @ y**2) * (weight @ (squares - 1.0) ** 2))
    return np.where(np.abs(theta) > UNSEEN * size, theta, 0.0)


@lru_cache(maxsize=32)
def label_laws(link: FeatureLink) -> tuple[LabelLaw, ...]:
    """The law of the labels, and rougher ones or parts of it by which its error is told: a coarse grid, or nets."""
    p = link.features
    if p <= BY_GRID:
        return tuple(law_on(link, *grid(p, link.even, *rule)) for rule in RULES[p])
    drawn = [net(p, draw) for draw in range(DRAWS)]
    every = np.concatenate(drawn)
    even = np.full(len(every), 1.0 / len(every))
    return without_chance(
        law_on(link, every, even), tuple(law_on(link, h, np.full(len(h), 1.0 / len(h))) for h in drawn), len(every)
    )


def without_chance(whole: LabelLaw, parts: tuple[LabelLaw, ...], points: int) -> tuple[LabelLaw, ...]:
    """Laws by nets, all together and each, in which a signal is zero that is not beyond what nets leave by chance.

    Where labels besides tell nothing of the square of such a feature, its law is that of one that they do not contain.
    """
    errors = np.std([part.theta for part in parts], axis=0, ddof=1) / sqrt(len(parts))
    zero = np.abs(whole.theta) < SURE * np.maximum(errors, np.median(errors))
    told = np.array([float(np.abs(whole.gathered(k)).max()) for k in range(len(zero))])
    unseen = zero & (told < ALONE * sqrt(2.0 / points))
    found = []
    for law in (whole, *parts):
        left = np.where(zero, law.second @ (law.weight * law.y), 0.0)
        second = np.where(unseen[:, None], 1.0, law.second - np.multiply.outer(left, law.y) / law.square)
        found.append(law._replace(theta=np.where(zero, 0.0, law.theta), second=second))
    return tuple(found)


def grid(p: int, even: bool, panels: int, nodes: int) -> tuple[Floats, Floats]:
    """A grid of p Gaussian features and its weights, of Gauss and Legendre; of even functions one half of each line."""
    at, length = np.polynomial.legendre.leggauss(nodes)
    edges = np.linspace(0.0, FARTHEST, panels + 1)
    half = 0.5 * np.diff(edges)
    z = (0.5 * (edges[:-1] + edges[1:])[:, None] + half[:, None] * at).ravel()
    weight = (half[:, None] * length).ravel() * np.exp(-0.5 * z * z)
    if not even:
        z, weight = np.concatenate([-z, z]), np.concatenate([weight, weight])
    weight = weight / weight.sum()
    places = np.stack([one.ravel() for one in np.meshgrid(*[z] * p, indexing="ij")], axis=1)
    whole = weight
    for _ in range(p - 1):
        whole = np.multiply.outer(whole, weight).ravel()
    kept = whole > 1e-18
    return places[kept], whole[kept] / whole[kept].sum()


def net(p: int, draw: int, log: int = NET) -> Floats:
    """Standard Gaussian features at the points of a scrambled net, spread more evenly than random ones."""
    spread = scipy.stats.qmc.Sobol(p, scramble=True, rng=np.random.default_rng([p, draw])).random_base2(log)
    tiny = 0.5 / 2.0**32
    return np.asarray(scipy.special.ndtri(np.clip(spread, tiny, 1.0 - tiny)))


def law_on(link: FeatureLink, h: Floats, weight: Floats) -> LabelLaw:
    """The law of the labels of these places of the features, taken together where labels are near each other."""
    raw = link(h)
    mean = float(weight @ raw)
    y, squares = raw - mean, h * h
    groups = np.array(link.alike)
    theta, row = signal(y, weight, squares), (weight * y**2) @ squares
    for group in set(link.alike):  # what can be exchanged is alike, whatever a net leaves of it
        theta[groups == group], row[groups == group] = theta[groups == group].mean(), row[groups == group].mean()
    order = np.argsort(y, kind="stable")
    y, weight_of, squares = y[order], weight[order], squares[order]
    if link.features > 1 and not link.even:
        _must_be_unmixed(link, h[order], weight_of, y)
    if link.features > 1:
        y_of, weight_at, second = taken_together(y, weight_of, squares)
    else:
        y_of, weight_at, second = y, weight_of, squares
    for group in set(link.alike):
        second[:, groups == group] = second[:, groups == group].mean(axis=1, keepdims=True)
    return LabelLaw(mean, y_of, weight_at, np.ascontiguousarray(second.T), float(weight_of @ y**2), theta, row)


def taken_together(y: Floats, weight: Floats, squares: Floats) -> tuple[Floats, Floats, Floats]:
    """Fewer nodes of the same law: two for all nodes between two places of the labels, with their means.

    Both have the first four moments of y, as nodes of Gauss do, and those of order zero and one of y beside h_k^2: a
    mean of what is smooth between two places is right to the third order of their distance.
    """
    starts = _places(y, weight)

    def total(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, starts, axis=0))

    mass = total(weight)
    middle = total(weight * y) / mass
    away = y - np.repeat(middle, np.diff([*starts, len(y)]))
    spread = np.sqrt(total(weight * away**2) / mass)
    pairs = spread > CLOSEST * (y[-1] - y[0])
    safe = np.where(pairs, spread, 1.0)
    lean = np.where(pairs, total(weight * away**3) / mass / safe**3, 0.0)
    root = np.sqrt(1.0 + 0.25 * lean**2)
    high, low = spread * (0.5 * lean + root), spread * (0.5 * lean - root)
    upper = np.where(pairs, 0.5 - 0.25 * lean / root, 0.5)  # part of the mass at the higher of both
    zeroth = total(weight[:, None] * squares) / mass[:, None]
    first = total((weight * away)[:, None] * squares) / mass[:, None]
    gap = np.where(pairs, high - low, 1.0)[:, None]
    above = np.where(pairs[:, None], (first - low[:, None] * zeroth) / gap, 0.5 * zeroth)  # E[h^2], shared by both
    second = [above / upper[:, None], (zeroth - above) / (1.0 - upper)[:, None]]
    places = np.concatenate([middle + high, middle + low])
    order = np.argsort(places, kind="stable")
    masses = np.concatenate([mass * upper, mass * (1.0 - upper)])
    return places[order], masses[order], np.concatenate(second)[order]


def _places(y: Floats, weight: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Where nodes begin that are taken together: near in level, near in value, ever nearer at both ends."""
    level, span = np.cumsum(weight), y[-1] - y[0]
    ends = span * np.geomspace(CLOSEST, 0.1, NEAR_ENDS)
    cuts = np.concatenate([np.linspace(y[0], y[-1], STEPS), y[0] + ends, y[-1] - ends])
    starts = np.concatenate(
        [[0], np.searchsorted(level, np.linspace(0.0, 1.0, LEVELS)[1:-1]), np.searchsorted(y, np.sort(cuts)[1:-1])]
    )
    starts = np.unique(starts)
    return np.asarray(starts[starts < len(y)], dtype=np.intp)


def _must_be_unmixed(link: FeatureLink, h: Floats, weight: Floats, y: Floats) -> None:
    """Complain where two features are correlated given the label: eigenvectors would be mixtures of them."""
    apart = np.append(np.diff(y) > CLOSEST * (y[-1] - y[0]), True)  # nodes of one label go together
    for k in range(link.features):
        for l in range(k):
            mixed = np.cumsum(weight * h[:, k] * h[:, l])[apart]
            if float(np.abs(mixed).max()) > MIXED * 10.0 ** (link.features > BY_GRID):
                raise checks.complaint(
                    "link",
                    "have features that are not correlated given the label",
                    f"features {l + 1} and {k + 1} are, and eigenvectors would be mixtures of them",
                    link,
                    "Turn the features so that E[h_k h_l | y] = 0, for example to sums and differences.",
                )
