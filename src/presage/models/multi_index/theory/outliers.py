"""Outliers of a matrix of weighted samples, one a feature: the generalised linear spectral method for many at once.

Features are independent and even, so that their directions do not mix: each has the equations of a single one, with a
bulk that all share [MM18, LL19]; `presage.spectra.spiked` has those of one direction. With
``R_k(l) = E[T (z_k^2 - 1)/(l-T)]`` the condition ``psi = phi_k`` reads ``R_k(l) = 1/alpha``.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.multi_index.label_law import LabelLaw, label_law
from presage.models.multi_index.preprocessing import BOUND, preprocessing, weights_of
from presage.models.multi_index.problem import MultiIndexProblem
from presage.spectra.spiked import spiked_wigner

FARTHEST = 1e9  # l is looked for up to here, in units of the largest |T|
NEAREST = 1e-10  # and down to here above the largest T
STEPS = 60  # of Newton
SOLVED = 1e-13  # relative step at which it ends
HUGE = 1e9  # a size that no feature has
SIZED = 20  # steps towards the size that has its outlier at a place
TABULATED = 400  # places at which features beyond those that are followed are looked at
SCANNED = 400  # places at which a condition is looked at, to see where it changes its sign
ZERO = 1e-9  # of a feature's pull, beside what it could be, that is zero
TOLD = 1e-19  # mean square of E[z^2 - 1 | y] that is rounding: each is known to some 1e-11
EDGE = 1e-12  # relative excess at the edge that is rounding


class Side(NamedTuple):
    """Labels as weights of one sign, on their grid: outliers above the bulk are those of T, below it of -T."""

    T: Floats
    weight: Floats
    excess: Floats  # E[z_k^2 - 1 | y], one row a feature that is followed
    top: float  # the largest weight that a label can have

    @property
    def mean(self) -> float:
        """``E T``, which is zero but for the best preprocessing."""
        return float(self.weight @ self.T)

    @property
    def second_moment(self) -> float:
        """``E T^2``."""
        return float(self.weight @ self.T**2)

    @property
    def theta(self) -> Floats:
        """``theta_k = E[T (z_k^2 - 1)]``, what a weak feature adds to the matrix.

        Equation: [DKLM26a]
        Checked: tests/models/multi_index/test_theory.py::test_weak_features_are_a_spiked_wigner_matrix
        """
        return np.asarray(self.excess @ (self.weight * self.T))

    def moment(self, l: float) -> float:
        """``E[T^2/(l-T)^2]``, which is ``1/alpha`` where psi is least."""
        return float(self.weight @ (self.T / (l - self.T)) ** 2)

    def psi(self, l: float, alpha: float) -> float:
        """``psi(l) = l (1/alpha + E[T/(l-T)])``, the eigenvalue at l of ``(1/n) sum T x x'``.

        Equation: [MM18], [LL19]
        Checked: tests/models/multi_index/test_theory.py::test_each_feature_is_that_of_the_toolbox
        """
        return float(l * (1.0 / alpha + self.weight @ (self.T / (l - self.T))))

    def bar(self, alpha: float) -> float:
        """Where psi is least, ``E[T^2/(l-T)^2] = 1/alpha``: the edge of the bulk is psi there.

        Equation: [MM18], [LL19]
        Checked: tests/models/multi_index/test_theory.py::test_each_feature_is_that_of_the_toolbox
        """
        size = float(np.abs(self.T).max())
        low, high = np.log(NEAREST * size), np.log(FARTHEST * size)
        top = self.top
        if self.moment(top + np.exp(low)) <= 1.0 / alpha:
            return float(top + np.exp(low))

        def rest(log: float) -> float:
            return float(np.log(alpha * self.moment(top + np.exp(log))))

        return float(top + np.exp(scipy.optimize.brentq(rest, low, high, xtol=1e-14)))

    def pull(self, rows: NDArray[np.intp], l: Floats, power: int = 1) -> Floats:
        """``R_k(l) = E[T (z_k^2 - 1)/(l-T)]`` of some features, each at its own l; with a power, of the fraction."""
        inner = (self.T / (l[:, None] - self.T)) ** power
        return np.asarray((inner * self.excess[rows]) @ self.weight)

    def slope(self, rows: NDArray[np.intp], l: Floats) -> Floats:
        """``dR_k/dl = -E[T (z_k^2 - 1)/(l-T)^2]``."""
        inner = self.T / (l[:, None] - self.T) ** 2
        return np.asarray(-(inner * self.excess[rows]) @ self.weight)

    def places(self, alpha: float) -> tuple[NDArray[np.intp], Floats]:
        """Features with an outlier, and the l of each: ``R_k(l) = 1/alpha`` above `bar`, by Newton on ``1/R_k``."""
        bar = self.bar(alpha)
        every = np.arange(len(self.excess))
        at_edge = alpha * self.pull(every, np.full(len(every), bar))
        rows = every[at_edge > 1.0 + EDGE]
        l = np.maximum(bar, alpha * self.theta[rows])
        for _ in range(STEPS):
            value = self.pull(rows, l)
            step = (1.0 / value - alpha) * value**2 / self.slope(rows, l)
            l = np.where(np.isfinite(step) & (value > 0.0), np.maximum(l + step, bar), 0.5 * (l + bar))
            if not len(rows) or np.all(np.abs(step) <= SOLVED * l):
                return rows, l
        return rows, np.array([self._bisected(row, bar, alpha) for row in rows])

    def _bisected(self, row: int, bar: float, alpha: float) -> float:
        """The same for one feature, by bisection."""
        high = bar
        while alpha * self.pull(np.array([row]), np.array([high]))[0] > 1.0:
            high *= 2.0
        found = scipy.optimize.brentq(
            lambda l: alpha * self.pull(np.array([row]), np.array([l]))[0] - 1.0, bar, high, xtol=1e-13
        )
        return float(found)

    def overlap(self, rows: NDArray[np.intp], l: Floats, alpha: float) -> Floats:
        """Squared cosine of an outlier's eigenvector with its feature.

            cos^2 = (1/alpha - E[T^2/(l-T)^2]) / (1/alpha + E[T^2 (z_k^2-1)/(l-T)^2])

        Equation: [MM18], [LL19]: ``psi'/(psi' - phi')``.
        Checked: tests/models/multi_index/test_theory.py::test_each_feature_is_that_of_the_toolbox
        """
        moment = ((self.T / (l[:, None] - self.T)) ** 2) @ self.weight
        return np.asarray((1.0 / alpha - moment) / (1.0 / alpha + self.pull(rows, l, power=2)))

    def threshold(self, row: int) -> float:
        """Samples n/d from which on a feature has an outlier on this side; infinite where it never has.

            1/alpha = E[T (z_k^2-1)/(l-T)] = E[T^2/(l-T)^2]

        Equation: derived: ``R_k(l) = 1/alpha`` where psi is least.
        Checked: tests/models/multi_index/test_theory.py::test_thresholds_are_where_outliers_begin
        """
        size, one = float(np.abs(self.T).max()), np.array([row])

        def rest(log: float) -> float:
            l = self.top + np.exp(log)
            return float(self.pull(one, np.array([l]))[0] / self.moment(l) - 1.0)

        logs = np.linspace(np.log(NEAREST * size), np.log(FARTHEST * size), SCANNED)
        signs = np.array([rest(log) for log in logs]) > 0.0
        seen = np.flatnonzero(signs)  # the fewest samples are at the least l
        if not len(seen):
            return float("inf")
        first = int(seen[0])
        if first == 0:  # psi has its least value at the largest weight
            return float(1.0 / self.pull(one, np.array([self.top + np.exp(logs[0])]))[0])
        log = scipy.optimize.brentq(rest, logs[first - 1], logs[first], xtol=1e-13)
        return 1.0 / self.moment(self.top + float(np.exp(log)))


class Outliers(NamedTuple):
    """What comes out of the bulk at some alpha; eigenvalues are those of C over ``sqrt(E T^2)``."""

    overlap: Floats  # squared projection of every feature on the eigenvectors outside
    top: float  # eigenvalue that is furthest from zero: an outlier, or an edge of the bulk
    recovered: int  # eigenvectors outside
    edge: float  # of the bulk, on the side where the furthest eigenvalue is
    largest: float  # of the weights beside the l where the bulk has its edge: below one, no sample makes it by itself


def sides(problem: MultiIndexProblem, rare: float = 0.0) -> tuple[Side, ...]:
    """The weights of a problem, above the bulk and below it; the best preprocessing looks above only.

    Labels that are as rare as `rare`, at either end, are left out.
    """
    law = label_law(problem)
    level = np.cumsum(law.weight)
    kept = (level >= rare) & (level[-1] - level + law.weight >= rare)
    T, weight, excess = weights_of(problem, law)[kept], law.weight[kept], law.excess[:, kept]
    if problem.preprocessing == "best":
        return (Side(T, weight, excess, float(T.max())),)
    above, below = float(T.max()), -float(T.min())
    if problem.preprocessing == "bounded":  # which labels come near to, and none has
        shift = float(law.weight @ preprocessing(problem)(law.u))
        above, below = BOUND - shift, BOUND + shift
    return Side(T, weight, excess, above), Side(-T, weight, excess, below)


def unbounded(problem: MultiIndexProblem) -> bool:
    """Whether weights have no bound, so that rare labels decide where the bulk ends."""
    return problem.preprocessing in ("identity", "hermite")


def outliers(problem: MultiIndexProblem, rare: float = 0.0) -> Outliers:
    """Outliers above the bulk and below it; a feature that is seen on both sides is projected on both eigenvectors."""
    alpha, p = problem.alpha, problem.features
    overlap, count, furthest, largest = np.zeros(p), 0, (-1.0, 0.0), 0.0
    for side in sides(problem, rare):
        bar, size = side.bar(alpha), np.sqrt(side.second_moment)
        edge = (side.psi(bar, alpha) - side.mean) / size
        largest = max(largest, side.top / bar)
        rows, l = side.places(alpha)
        found = np.zeros(len(side.excess))
        found[rows] = side.overlap(rows, l, alpha)
        all_found = spread_over(problem, side, found, bar, l[-1] if found[-1] > 0.0 else bar)
        overlap, count = overlap + all_found, count + int(np.count_nonzero(all_found))
        top = max([edge, *((side.psi(one, alpha) - side.mean) / size for one in l)])
        furthest = max(furthest, (top, edge))
    return Outliers(overlap, float(furthest[0]), count, float(furthest[1]), largest)


def weak_outliers(problem: MultiIndexProblem) -> Outliers:
    """Outliers where every feature is weak and there are many samples: a spiked Wigner matrix with s = alpha^-1/2.

        |P w_k|^2 = 1 - alpha_k/alpha,   lambda_k = theta_k + 1/(alpha theta_k)   in units of sqrt(E T^2)

    Equation: [DKLM26a]
    Checked: tests/models/multi_index/test_theory.py::test_weak_features_are_a_spiked_wigner_matrix
    """
    alpha = problem.alpha
    thresholds = weak_threshold(problem)
    found = spiked_wigner(thresholds**-0.5, alpha**-0.5)
    top = float(np.max(found.outlier))
    return Outliers(found.overlap, top, int(np.count_nonzero(found.overlap)), found.edge, 0.0)


def spread_over(problem: MultiIndexProblem, side: Side, found: Floats, bar: float, last: float) -> Floats:
    """Numbers of the features that are followed, for all: of a committee one for all, of small features beyond by size.

    Small features pull by a power of their size and a correction of the next order: ``R = a^b (r_1 + a r_2)``, which
    the last that are followed tell. Each l between `bar`, the edge, and that of the `last` that is followed is where
    features of some size have their outlier, with some overlap.
    """
    p, known = problem.features, len(found)
    if problem.decay == 0.0:
        return np.full(p, found[0])
    if p <= known:
        return found
    whole, alpha, sizes = np.zeros(p), problem.alpha, problem.sizes
    whole[:known] = found
    small = smaller(side, sizes[:known])
    if small is None or found[-1] == 0.0:
        return whole
    power, near, far = small
    l = bar * np.geomspace(1.0, 1.2 * last / bar, TABULATED)
    tiny = side._replace(excess=np.stack([near, far]))
    r_1, r_2 = (tiny.pull(np.full(len(l), i), l) for i in (0, 1))
    q_1, q_2 = (tiny.pull(np.full(len(l), i), l, power=2) for i in (0, 1))
    moment = np.array([side.moment(one) for one in l])
    a = np.full(len(l), sizes[known - 1])
    for _ in range(SIZED):
        pulled = r_1 + a * r_2
        a = np.where(pulled > 0.0, (alpha * np.where(pulled > 0.0, pulled, 1.0)) ** (-1.0 / power), HUGE)
    cos2 = (1.0 / alpha - moment) / (1.0 / alpha + a**power * (q_1 + a * q_2))
    rising = np.concatenate([[True], np.diff(a) > 0.0]) & (a < 2.0 * sizes[known - 1])
    count = len(l) if rising.all() else int(np.argmin(rising))
    if count > 3:
        curve = scipy.interpolate.PchipInterpolator(a[:count], cos2[:count], extrapolate=False)
        further = np.minimum(sizes[known:], a[count - 1])
        whole[known:] = np.nan_to_num(curve(further))  # below the least size there is no outlier
    return whole


def smaller(law: Side | LabelLaw, sizes: Floats) -> tuple[int, Floats, Floats] | None:
    """Power b of the size by which small features are seen in labels, and ``E[z^2-1|y]/a^b`` and its slope in a."""
    last, half = len(sizes) - 1, len(sizes) // 2 - 1
    norms = [float(law.weight @ law.excess[row] ** 2) for row in (half, last)]
    if min(norms) <= 0.0:
        return None
    power = round(0.5 * np.log(norms[1] / norms[0]) / np.log(sizes[last] / sizes[half]))
    if power < 1:
        return None
    scaled = [law.excess[row] / sizes[row] ** power for row in (half, last)]
    slope = (scaled[0] - scaled[1]) / (sizes[half] - sizes[last])
    return int(power), scaled[1] - sizes[last] * slope, slope


def best_threshold(law: LabelLaw) -> Floats:
    """Samples from which on the best first-order method sees each that is followed; infinite where labels tell nothing.

        1/alpha_k = E_y[(E[z_k^2 - 1 | y])^2]

    Equation: [DKLM26a], [DKLM26b]
    Checked: tests/models/multi_index/test_theory.py::test_seen_ratios_of_exact_thresholds_and_their_formula
    """
    told = law.excess**2 @ law.weight
    return np.where(told > TOLD, 1.0 / np.maximum(told, TOLD), inf)


def weak_threshold(problem: MultiIndexProblem) -> Floats:
    """Samples from which on features are seen where each is weak: ``alpha_k = E[T^2]/theta_k^2``.

    Equation: [DKLM26a]
    Checked: tests/models/multi_index/test_theory.py::test_weak_features_are_a_spiked_wigner_matrix
    """
    law = label_law(problem)
    T = weights_of(problem, law)
    T = T - law.weight @ T
    side = Side(T, law.weight, law.excess, float(T.max()))
    theta = side.theta
    noise = ZERO * sqrt(side.second_moment) * np.sqrt(law.excess**2 @ law.weight)
    theta = np.where(np.abs(theta) > noise + law.error * sqrt(side.second_moment), theta, 0.0)
    with np.errstate(divide="ignore"):
        found = np.asarray(side.second_moment / theta**2)
    if problem.decay == 0.0:
        return np.full(problem.features, found[0])
    small = smaller(side, problem.sizes[: len(found)]) if problem.features > len(found) else None
    if small is None:
        return np.concatenate([found, np.full(problem.features - len(found), inf)])
    power, near, slope = small
    sizes = problem.sizes[len(found) :]
    pulled = sizes**power * ((near @ (law.weight * T)) + sizes * (slope @ (law.weight * T)))
    return np.concatenate([found, side.second_moment / pulled**2])
