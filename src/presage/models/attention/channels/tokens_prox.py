"""The proximal map of any number of tokens: the lowest of the minima in which Newton's method ends from several starts.

The objective ``|R-Z|_F^2/4 + Sigma l(R)`` is not convex. Where z or the anchor costs little it has one minimum all the
same. Elsewhere Newton starts from z, from the anchor and from between them; then, unless many samples are seen to have
one minimum each, from nearer to the anchor and from the minima of two easier problems, a softer softmax and a smaller
Sigma; and where these do not all end in the same minimum, from points that follow the anchor for some of the tokens
only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.prox_report import LOSS_AT_P, LOSS_AT_Z, OTHER_MINIMUM, ROOT_2
from presage.models.attention.channels.tokens_newton import descend, labels_and_losses
from presage.models.attention.channels.tokens_slopes import forces, slopes

# Samples whose matrices are in memory together. If so many have one minimum each as far as three starts can tell, the
# starts that find a third of a per mille more are left out: fewer than one in ten thousand is missed for that.
CHUNK = 1024
ALL_GROUPS = 4  # up to so many tokens, every group of them is tried as a start
# Largest Sigma beta^2 at which the objective is convex for every label: the curvature is above -1.5 beta^2.
CONVEX = 0.6
# Largest sqrt(Sigma v) beta^2 at which a sample has one minimum, with v the lower of the objectives at z and at the
# anchor: residuals are then so small where it is lower still that its curvature is positive. Found by trying.
UNIQUE = 2.0
SOFTER, LESS = 0.5, 0.3  # of beta and of Sigma in the easier problems
NEAR_ANCHOR = 0.75  # of the way from z to the anchor: a start that finds half of the minima that all others miss
Places = NDArray[np.intp]
APART = 1e-10  # squared distance, relative, above which two minima are different


def tokens_prox(
    anchor: Floats, z: Floats, Sigma: float, beta: float, T: int, f: Floats, report: Floats, starts: int = 0
) -> None:
    """Proximal map of T tokens for each row of `anchor` and `z`; write ``f`` and the report of each row.

    The direction to which softmax is blind needs no care: there the loss is flat and ``p = z``. Beside the usual
    `starts` there may be some at random, to see what those miss.

    Checked: tests/models/attention/channels/test_channels.py::test_prox_is_as_low_as_many_starts_lead
    Checked: tests/models/attention/channels/test_channels.py::test_reported_derivatives_agree_with_differences
    """
    rows, columns = np.triu_indices(T)
    factor = np.where(rows == columns, ROOT_2, 1.0)
    for start in range(0, len(z), CHUNK):
        part = slice(start, start + CHUNK)
        A, Z = (_matrices(h[part], T, rows, columns, factor) for h in (anchor, z))
        Y, losses = np.empty_like(A), np.empty(len(A))
        labels_and_losses(A, Z, beta, Y, losses)
        P, several = _lowest(A, Z, Y, losses, Sigma, beta, starts)
        F = np.empty_like(P)
        forces(P, Y, beta, F, report[part, LOSS_AT_P])
        f[part] = F[:, rows, columns] / factor
        report[part, LOSS_AT_Z] = losses
        report[part, OTHER_MINIMUM] = several
        slopes(P, Y, Sigma, beta, report[part])


def _matrices(h: Floats, T: int, rows: Places, columns: Places, factor: Floats) -> Floats:
    """Symmetric matrices ``R_ab = sqrt(1 + delta_ab) h_ab`` of rows of components."""
    R = np.empty((len(h), T, T))
    R[:, rows, columns] = R[:, columns, rows] = h * factor
    return R


def _lowest(
    A: Floats, Z: Floats, Y: Floats, losses: Floats, Sigma: float, beta: float, starts: int = 0
) -> tuple[Floats, Floats]:
    """The lowest minimum that is found for each sample, and whether others are."""
    A = A + np.mean(Z - A, axis=(1, 2), keepdims=True)  # the point of zero loss that is nearest to z
    at_z, at_anchor = Sigma * losses, 0.25 * np.sum((Z - A) ** 2, axis=(1, 2))
    from_z = at_z < at_anchor
    search = _Search(Z, Y, Sigma, beta, np.where(from_z[:, None, None], Z, A))
    if Sigma * beta**2 > CONVEX:
        wide = np.flatnonzero(np.sqrt(Sigma * np.minimum(at_z, at_anchor)) * beta**2 > UNIQUE)
        search.try_from(np.where(from_z[wide, None, None], A[wide], Z[wide]), wide)
        search.try_from(0.5 * (A[wide] + Z[wide]), wide)
        if search.several.any() or len(Z) < CHUNK:
            search.try_from(NEAR_ANCHOR * A[wide] + (1.0 - NEAR_ANCHOR) * Z[wide], wide)
            search.try_from(search.minima(Z[wide], wide, beta=SOFTER * beta)[0], wide)
            search.try_from(search.minima(A[wide], wide, Sigma=LESS * Sigma)[0], wide)
        unsure = np.flatnonzero(search.several)
        for follows in _groups(A.shape[1]):
            search.try_from(np.where(follows, A[unsure], Z[unsure]), unsure)
        for token in range(A.shape[1]):
            of_token = np.zeros(A.shape[1:], dtype=bool)
            of_token[token] = of_token[:, token] = True
            for there in (A, Z):
                search.try_from(np.where(of_token, there[unsure], search.P[unsure]), unsure)
        for start in _random_starts(A[wide], Z[wide], starts):
            search.try_from(start, wide)
    return search.P, search.several


def _random_starts(A: Floats, Z: Floats, count: int) -> Iterator[Floats]:
    """Points between z and the anchor, each entry by itself, and some way off."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        mixture, kick = rng.random(A.shape), rng.random((len(A), 1, 1)) * rng.standard_normal(A.shape)
        start = Z + mixture * (A - Z) + kick
        yield 0.5 * (start + np.swapaxes(start, 1, 2))


class _Search:
    """The lowest minima so far of the proximal problems of some samples."""

    def __init__(self, Z: Floats, Y: Floats, Sigma: float, beta: float, start: Floats) -> None:
        self.Z, self.Y, self.Sigma, self.beta = Z, Y, Sigma, beta
        self.several = np.zeros(len(Z), dtype=bool)
        self.P, self.value = self.minima(start, np.arange(len(Z)))

    def minima(
        self, start: Floats, sample: Places, Sigma: float | None = None, beta: float | None = None
    ) -> tuple[Floats, Floats]:
        """Minima to which Newton's method leads from `start`, one point for each of the samples, and their values."""
        points, value = np.ascontiguousarray(start), np.empty(len(start))
        descend(points, sample, self.Z, self.Y, Sigma or self.Sigma, beta or self.beta, value)
        return points, value

    def try_from(self, start: Floats, sample: Places) -> None:
        """Start from other points, and keep what is lower."""
        found, value = self.minima(start, sample)
        before = self.P[sample]
        apart, scale = (np.sum(x**2, axis=(1, 2)) for x in (found - before, before))
        self.several[sample] |= apart > APART * (1.0 + scale)
        lower = value < self.value[sample]
        self.P[sample[lower]], self.value[sample[lower]] = found[lower], value[lower]


def _groups(T: int) -> Iterator[NDArray[np.bool_]]:
    """Entries that follow the anchor when a group of tokens does: those of one of its tokens, or between two of them.

    All groups are tried for few tokens, and for many the single tokens and all but one.
    """
    single = [1 << token for token in range(T)]
    for group in range(1, 2**T - 1) if T <= ALL_GROUPS else [*single, *(2**T - 1 - one for one in single)]:
        member = np.array([bool(group >> token & 1) for token in range(T)])
        yield member[:, None] | member
        yield member[:, None] & member
