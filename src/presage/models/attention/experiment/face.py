"""Whether the minimum of a loss is one matrix S or a whole face of them, and which samples are fitted exactly.

For outputs that are linear in S and weight decay on its factor the loss is convex in S and strictly convex in the
outputs, so that all its minima have the same outputs, the same gradient and the same dual certificate
``Z = grad/d + lambda~ >= 0``. Their ranges are in its null space V, where ``grad V = -d lambda~ V``. A symmetric H that
no sample sees there (``A(V H V') = 0``) has ``0 = <grad, V H V'> = -d lambda~ Tr H``: it changes neither outputs nor
penalty. So the minimum is unique where the samples determine every matrix on V; and it is a face where they do not
and some such H is positive on what S leaves empty of V, since ``S + t V H V'`` is then positive too for small t.
"""

from __future__ import annotations

from math import inf, isnan, nan, sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.fit import Fit
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.training.ordered_sums import samples_a_block

SURE = 1e-3  # of the largest eigenvalue: smaller ones may be zeros that the training left
NEAR = 1e-2  # relative gap above which the fit is too far from a minimum to say what that is like, and
VERY_NEAR = 1e-4  # above which a residual of zero cannot be told from a small one
WITHIN = 10.0  # residuals of the fit within which an eigenvalue of the certificate is zero
UNSEEN = 1e-10  # of the largest singular value of what the samples see
LARGEST = 1_000_000  # numbers in that matrix where there are outputs enough, and
LARGEST_OF_FEW = 20_000_000  # where there are not; beyond, directions are counted on the range of S
UNDETERMINED = 1e-12  # inverse of the condition of its normal equations from which on they are surely regular
PROJECTIONS = 200  # to find a direction that leads inside


@final
class Face(NamedTuple):
    """What the minimum is like that a fit has reached."""

    fitted: float  # samples whose residual is zero to the accuracy of the training; NaN where that is not known
    directions: int  # in which S can move without a change of the loss; 0 where none is known

    def caveats(self, n: int) -> tuple[str, ...]:
        """What to say about a minimum of `n` samples that is not unique."""
        if not self.directions:
            return ()
        exactly = "" if isnan(self.fitted) else f"; {self.fitted:.0f} of the {n} samples are fitted exactly"
        return (
            f"the minimum is not one matrix S but a face of many, with the same loss along {self.directions} "
            f"directions at the least{exactly}. Spectrum, estimation "
            "error and test error are those of one of them, and another trainer or start ends in another.",
        )


UNKNOWN = Face(nan, 0)


def face(objective: Objective, fit: Fit) -> Face:
    """Measure the minimum that `fit` has reached, where its loss is convex and its duality gap says that it has."""
    # The loss of a sequence task weighs outputs by the tokens, and says less of each.
    plain = not objective.samples.gram.size
    proven = plain and objective.channel.linear and isinstance(objective.penalty, NuclearPSD)
    gap = max(fit.certificate.gap, objective.rounding)
    if not proven or not gap <= NEAR:
        return UNKNOWN
    residual = residuals(objective, fit.S)
    # The outputs of a fit are at most sqrt(gap loss) from those of the minimum, together: a square loss is that convex.
    fitted = float(np.count_nonzero(residual <= sqrt(gap * fit.loss / objective.n))) if gap <= VERY_NEAR else nan
    V, filled = null_space(objective, fit)
    return Face(fitted, free_directions(objective, V, filled))


def null_space(objective: Objective, fit: Fit) -> tuple[Floats, int]:
    """Null space of the dual certificate, as columns, and how many of these, the last, span the range of S."""
    gradient = objective.at_S(fit.S).gradient / objective.d
    slope = float(np.linalg.norm(gradient))
    z, vectors = np.linalg.eigh(gradient + _decay(objective) * np.eye(objective.d))
    V = vectors[:, z <= max(WITHIN * fit.certificate.residual, objective.rounding) * slope]
    s, inside = np.linalg.eigh(V.T @ fit.S @ V)
    return V @ inside, int(np.count_nonzero(s > SURE * s.max(initial=0.0)))


def _decay(objective: Objective) -> float:
    penalty = objective.penalty
    return penalty.lambda_tilde(objective.kappa) if isinstance(penalty, NuclearPSD) else 0.0


def free_directions(objective: Objective, V: Floats, filled: int) -> int:
    """Dimension of the face of minima on V, whose last `filled` columns S fills; 0 where it is a point, or not known.

    Where what the samples see is too large to be written down, the directions are counted that must be there.

    Equation: derived, from the optimality conditions above.
    Checked: tests/models/attention/experiment/test_face.py::test_another_minimum_lies_where_a_face_is_found
    Checked: tests/models/attention/experiment/test_face.py::test_directions_are_numbers_less_samples
    """
    outputs, numbers = objective.n * objective.channel.n_in, _numbers(V.shape[1])
    if outputs * numbers > (LARGEST if numbers <= outputs else LARGEST_OF_FEW):
        return max(_numbers(filled) - outputs, 0)
    if not filled:
        return 0
    A = sight(objective, V)
    if numbers <= outputs and np.linalg.cond(A.T @ A) * UNDETERMINED < 1.0:  # much quicker than what follows
        return 0
    _, size, seen = np.linalg.svd(A, full_matrices=False)
    seen = seen[size > UNSEEN * size[0]]
    unseen = numbers - len(seen)
    return unseen if unseen and _inwards(seen, V.shape[1], V.shape[1] - filled) is not None else 0


def _numbers(k: int) -> int:
    """Numbers that make a symmetric k x k matrix."""
    return k * (k + 1) // 2


def _inwards(seen: Floats, k: int, empty: int) -> Floats | None:
    """A symmetric H that no sample sees, positive on the first `empty` of its k columns, by alternating projections.

    `seen` is an orthonormal basis of what the samples see. None where no such H is found.
    """
    rows, columns = np.triu_indices(k)
    weight = np.where(rows == columns, 1.0, sqrt(2.0))
    H = np.zeros((k, k))
    H[:empty, :empty] = np.eye(empty)
    for _ in range(PROJECTIONS):
        flat = H[rows, columns] * weight
        flat -= seen.T @ (seen @ flat)
        H[rows, columns] = H[columns, rows] = flat / weight
        h, vectors = np.linalg.eigh(H[:empty, :empty])
        if h.min(initial=inf) > SURE:
            return H
        H[:empty, :empty] = (vectors * np.maximum(h, 1.0)) @ vectors.T
    return None


def sight(objective: Objective, V: Floats) -> Floats:
    """What the samples see of ``V H V'``: a row an output, a column an entry of H on or above its diagonal.

    Entries off the diagonal are those of H times sqrt(2), so that the sum of all squares is that of H.
    """
    T, r = objective.samples.n_tokens, V.shape[1]
    P = (objective.samples.tokens @ V).reshape(objective.n, T, r)
    rows, columns = np.triu_indices(r)
    weight = np.where(rows == columns, 1.0, sqrt(2.0))
    centre = np.zeros((T, T, r, r))
    if objective.means is not None:
        centre = np.einsum("ki,abkl,lj->abij", V, objective.means, V)
    else:
        centre[range(T), range(T)] = np.eye(r)
    found = []
    for a in range(T):
        for b in range(a, T):
            pair = P[:, a, :, None] * P[:, b, None, :] - centre[a, b]
            pair = 0.5 * (pair + pair.transpose(0, 2, 1))
            found.append(pair[:, rows, columns] * weight)
    return np.concatenate(found) / sqrt(objective.d)


def residuals(objective: Objective, S: Floats) -> Floats:
    """Largest error of an output of each sample, for outputs that are the scores themselves."""
    samples, T, d = objective.samples, objective.samples.n_tokens, objective.d
    cast, shift, size = S.astype(samples.tokens.dtype, copy=False), objective.shift(S), samples_a_block(d, T)
    found = np.empty(samples.n)
    for start in range(0, samples.n, size):
        block = slice(start, min(start + size, samples.n))
        x, R = samples.tokens[block.start * T : block.stop * T], np.empty((block.stop - block.start, T, T))
        kernels.scores(np.dot(x, cast), x, 1.0 / sqrt(d), shift, R)
        found[block] = np.abs(R - samples.labels[block]).max(axis=(1, 2), initial=-inf)
    return found
