"""What fine-tuning has changed of one head, beside changes whose signs are flipped."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan, sqrt
from typing import Any, final

import numpy as np

from presage.checkpoints.flips import at_least, own_p
from presage.checkpoints.head import Head
from presage.checkpoints.measures import effective_rank, rounding_floor, singular_values, stable_rank
from presage.laws.spectral_law import Floats

UNCHANGED, NO_STRUCTURE, STRUCTURED, UNKNOWN = "unchanged", "no structure seen", "structured change", "cannot tell"
LEVEL = 0.05


@final
@dataclass(frozen=True, eq=False)
class HeadDifference:
    """The change ``M_after - M_before`` of one head."""

    layer: int
    head: int
    kind: str
    part: str
    d_q: int
    d_k: int
    h: int
    change: float  # |M_after - M_before|_F/|M_before|_F
    singular_values: Floats = field(repr=False)  # of the change, at most 2h
    flips: tuple[float, ...] = field(repr=False)
    floor: float  # up to this they may be the rounding of the stored numbers
    p_flips: float
    q_flips: float = nan

    @property
    def name(self) -> str:
        """Where it is, as people say it."""
        where = f"{self.part} " if self.part else ""
        return f"{where}layer {self.layer} head {self.head}{' (cross)' if self.kind == 'cross' else ''}"

    @property
    def top(self) -> float:
        """The largest value of the change."""
        return float(self.singular_values[0])

    @property
    def above_floor(self) -> int:
        """Values that are not the rounding of the stored numbers."""
        return int(np.sum(self.singular_values > self.floor))

    @property
    def at_least(self) -> int | None:
        """Values above those of every flip; None where none were made."""
        return at_least(self.singular_values, np.array(self.flips)) if self.flips else None

    @property
    def verdict(self) -> str:
        """What may be said of the change."""
        if not self.top > 0.0:
            return UNCHANGED
        if not self.above_floor or not self.flips:
            return UNKNOWN
        return STRUCTURED if self.q_flips <= LEVEL and self.at_least else NO_STRUCTURE

    @property
    def sentence(self) -> str:
        """The verdict with its numbers."""
        if self.verdict == UNCHANGED:
            return "the head is as it was."
        size = f"it changed by {100 * self.change:.2g} % of its size"
        if not self.above_floor:
            return f"{size}, which may be the rounding of the stored numbers."
        if not self.flips:
            return f"{size}; whether along any direction is not known, since no signs were flipped."
        if self.verdict == STRUCTURED:
            count = self.at_least or 0
            return f"{size}, along at least {count} structured direction{'' if count == 1 else 's'}."
        return f"{size}, and flipped signs of the change show as much (p = {self.p_flips:.2g})."

    def row(self) -> dict[str, Any]:
        """Its line in a table; `WeightsDifference` says which columns of `read_weights` a change has not."""
        changed = self.top > 0.0
        return {
            "layer": self.layer,
            "head": self.head,
            "kind": self.kind,
            "part": self.part,
            "d_q": self.d_q,
            "d_k": self.d_k,
            "h": self.h,
            "change": self.change,
            "top": self.top,
            "stable_rank": float(stable_rank(self.singular_values)) if changed else nan,
            "effective_rank": float(effective_rank(self.singular_values)) if changed else nan,
            "above_floor": self.above_floor,
            "at_least": self.at_least,
            "p_flips": self.p_flips,
            "q_flips": self.q_flips,
            "verdict": self.verdict,
            "sentence": self.sentence,
        }


def head_difference(before: Head, after: Head, flips: int, rng: np.random.Generator) -> HeadDifference:
    """The change of a head, and its largest values with the signs of the entries of both changes flipped at random.

        M_after - M_before = [dQ, Q] [K + dK, dK]',   dQ = Q_after - Q,   dK = K_after - K

    Nothing cancels in this form. Under changes of independent symmetric entries flips leave its law as it is, whatever
    the weights before are.

    Equation: [HSD20]; derived: for the change of a product.
    Checked: tests/checkpoints/test_compare_weights.py::test_the_change_is_that_of_the_product
    Checked: tests/checkpoints/test_compare_weights.py::test_a_planted_change_is_found
    """
    Q, K = np.asarray(before.W_Q, dtype=np.float64), np.asarray(before.W_K, dtype=np.float64)
    dQ, dK = after.W_Q - Q, after.W_K - K
    values = _change(Q, K, dQ, dK)
    signs = ((rng.choice((-1.0, 1.0), dQ.shape), rng.choice((-1.0, 1.0), dK.shape)) for _ in range(flips))
    tops = np.array([_change(Q, K, dQ * s, dK * t)[0] for s, t in signs]) if values[0] > 0.0 else np.empty(0)
    size = sqrt(max(float(np.sum((Q.T @ Q) * (K.T @ K))), 0.0))
    error_Q, error_K = float(np.hypot(before.error_Q, after.error_Q)), float(np.hypot(before.error_K, after.error_K))
    return HeadDifference(
        before.layer,
        before.head,
        before.kind,
        before.part,
        len(Q),
        len(K),
        Q.shape[1],
        float(np.linalg.norm(values)) / size if size > 0.0 else nan,
        values,
        tuple(map(float, tops)),
        rounding_floor(after.W_Q, after.W_K, error_Q, error_K),
        own_p(float(values[0]), tops) if len(tops) else nan,
    )


def _change(Q: Floats, K: Floats, dQ: Floats, dK: Floats) -> Floats:
    return singular_values(np.hstack([dQ, Q]), np.hstack([K + dK, dK]))
