"""One head, given by its two factors, beside what noise shows: `presage.read_head`."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from presage.checkpoints.flips import FLIPS, MOST
from presage.checkpoints.head import Head
from presage.checkpoints.head_report import HeadReport, single
from presage.checkpoints.kept_heads import digest, kept_heads
from presage.checkpoints.measured import Measured, measured
from presage.laws.numerical_zeros import refuse_half_precision
from presage.laws.spectral_law import Floats
from presage.protocol import checks

FEWEST_FLIPS = 3  # a mean and a deviation of those that are left


def read_head(
    W_Q: ArrayLike,
    W_K: ArrayLike | None = None,
    *,
    flips: int = FLIPS,
    seed: int = 0,
    tol: float | None = None,
    kind: str = "self",
) -> HeadReport:
    """Set one attention head beside what random factors of its shape show.

    Args:
        W_Q: d_q x h, the queries of the head; columns are the coordinates of the head.
        W_K: d_k x h, its keys; without them the head is tied, ``W_Q W_Q'``, as those of `presage.attention`.
        flips: random signs of the entries, for a lower bound of the structured directions at level 1/(flips + 1); 0
            for none.
        seed: of the flips.
        tol: singular values up to this size are zero; by default what the storage of the numbers cannot tell from it.
        kind: "self", or "cross" where queries and keys see different inputs.

    Checked: tests/checkpoints/test_calibration.py::test_planted_directions_are_found
    """
    count, number, zero = settings(flips, seed, tol)
    queries = _factor("W_Q", W_Q)
    keys = queries if W_K is None else _factor("W_K", W_K)
    if queries.shape[1] != keys.shape[1]:
        reason, got = "both have a column for each coordinate of the head", f"{queries.shape} and {keys.shape}"
        raise checks.complaint("W_K", "have as many columns as W_Q", reason, got, "Pass d x h factors of one head.")
    if kind not in ("self", "cross"):
        reason, remedy = "queries and keys see the same input or two", 'Use <kind="self"> or <kind="cross">.'
        raise checks.complaint("kind", "be self or cross", reason, kind, remedy)
    dtype = np.result_type(np.asarray(W_Q).dtype, queries.dtype if W_K is None else np.asarray(W_K).dtype)
    stored = "F32" if dtype == np.float32 else "F64"
    head = Head(0, 0, kind, queries, keys, dtype=stored)
    return single(
        report_of(head, measured_heads([head], tied=W_K is None, flips=count, seed=number, tol=zero)[0], W_K is None)
    )


def settings(flips: Any, seed: Any, tol: Any) -> tuple[int, int, float | None]:
    """What a reading is told, checked."""
    reason, remedy = (
        "it is how often the signs of all entries are drawn",
        f"Use for example <flips={FLIPS}>, or 0 for none.",
    )
    count = checks.integer("flips", flips, at_least=0, at_most=MOST, reason=reason, remedy=remedy)
    if 0 < count < FEWEST_FLIPS:
        raise checks.complaint("flips", f"be 0, or {FEWEST_FLIPS} or more", reason, flips, remedy)
    number = checks.integer("seed", seed, at_least=0, reason="it is the seed of the flips", remedy="Use <seed=0>.")
    if tol is None:
        return count, number, None
    reason, remedy = "singular values up to this size are zero", "Leave it out, or use for example <tol=1e-6>."
    return count, number, checks.real("tol", tol, at_least=0.0, reason=reason, remedy=remedy)


def measured_heads(heads: Sequence[Head], *, tied: bool, flips: int, seed: int, tol: float | None) -> list[Measured]:
    """What is measured of the heads of a layer; read where it is kept.

    Signs are drawn by the seed and by what a head holds, so that a head is measured alike in whatever file it stands.
    """
    names = [digest(head, tied, flips, seed, tol) for head in heads]

    def made() -> list[Measured]:
        found = []
        for head, name in zip(heads, names, strict=True):
            rng = np.random.default_rng([seed, *np.frombuffer(name, dtype=np.uint32).tolist()])
            found.append(measured(head, tied=tied, flips=flips, tol=tol, rng=rng))
        return found

    return kept_heads(names, made)


def report_of(head: Head, found: Measured, tied: bool = False) -> HeadReport:
    """The report of a head before it is judged beside others."""
    (d_q, h), d_k = head.W_Q.shape, len(head.W_K)
    notes = head.notes
    if head.shared:
        notes = (*notes, f"the same weights serve at {', '.join(head.shared)}.")
    return HeadReport(
        head.layer,
        head.head,
        head.kind,
        head.part,
        d_q,
        d_k,
        h,
        head.dtype,
        tied,
        found,
        nan,
        nan,
        nan,
        notes,
        head.shared,
    )


def _factor(name: str, given: ArrayLike) -> Floats:
    reason, remedy = (
        "it is one factor of a head, d x h",
        "Pass a matrix of numbers, columns the coordinates of the head.",
    )
    array = np.asarray(given)
    if array.dtype.kind == "f":
        refuse_half_precision(name, array)
    matrix = checks.finite(name, array, reason=reason, remedy=remedy)
    if matrix.ndim != 2 or min(matrix.shape) < 1:
        raise checks.complaint(name, "be a matrix", reason, f"an array of shape {matrix.shape}", remedy)
    return matrix
