"""What is measured of one head: numbers that depend on its factors alone, and can be kept."""

from __future__ import annotations

from math import erfc, isnan, sqrt
from typing import NamedTuple, final

import numpy as np

from presage.checkpoints.bulk_fit import FEWEST, BulkFit, fit_bulk
from presage.checkpoints.flips import flipped_tops
from presage.checkpoints.head import Head
from presage.checkpoints.measures import (
    balance,
    balance_of_noise,
    bias_share,
    plane_shares,
    rounding_floor,
    singular_values,
    symmetry,
    symmetry_of_noise,
    zero_up_to,
)
from presage.checkpoints.nulls.noise_table import noise_table

LEAST_P = 1e-300  # what is less is rounded to nothing
UNTIED, TIED = ("random", "tied", "shrunk"), ("tied", "shrunk-tied")  # laws that are set beside a head


@final
class Measured(NamedTuple):
    """Numbers of one head."""

    values: tuple[float, ...]  # singular values of W_Q W_K', decreasing
    zero: float  # up to this they are zero
    floor: float  # up to this they may be the rounding of the stored numbers
    balance: float
    symmetry: float  # nan where queries and keys see different inputs
    p_top: float  # of the largest value, beside random factors
    p_spectrum_bulk: float  # of the whole spectrum, beside random factors
    flips: tuple[float, ...]  # largest values with random signs
    fits: tuple[BulkFit, ...]  # one a law; none where there are too few values
    bias: float  # size of what the bias of the queries adds; nan without one
    planes: tuple[float, ...]  # shares of the planes of rotary positions; none without


def measured(head: Head, *, tied: bool, flips: int, tol: float | None, rng: np.random.Generator) -> Measured:
    """Measure a head; `tied` says that W_K is W_Q itself, and the product symmetric."""
    W_Q, W_K = np.asarray(head.W_Q, dtype=np.float64), np.asarray(head.W_K, dtype=np.float64)
    (d_q, h), d_k = W_Q.shape, len(W_K)
    values = singular_values(W_Q, W_K)
    zero = tol
    if zero is None:
        zero = zero_up_to(float(values[0]), head.dtype, max(d_q, d_k))
    floor = rounding_floor(W_Q, W_K, head.error_Q, head.error_K)
    n = int(np.sum(values > zero))
    null = noise_table(TIED[0] if tied else UNTIED[0], h, d_q, d_k)
    square = d_q == d_k and head.kind == "self"
    fits: tuple[BulkFit, ...] = ()
    if n >= FEWEST and h <= min(d_q, d_k) and not _under(values[:n], floor):
        laws = TIED if tied else UNTIED if d_q == d_k else tuple(law for law in UNTIED if law != "tied")
        fits = tuple(fit_bulk(law, values[:n], d_q, d_k) for law in laws)
    something = bool(values[0] > 0.0)
    p_top = p_spectrum = float("nan")
    if something and len(values) > 1:  # one value has a size and no law
        with np.errstate(divide="ignore"):  # where only the largest are not zero, they are infinitely far out
            p_top, p_spectrum = null.p_largest(values), null.p_bulk(values)
    return Measured(
        values=tuple(map(float, values)),
        zero=float(zero),
        floor=floor,
        balance=float("nan") if tied or h < 2 else balance(W_Q, W_K),
        symmetry=symmetry(W_Q, W_K) if square and not tied else float("nan"),
        p_top=p_top,
        p_spectrum_bulk=p_spectrum,
        flips=tuple(map(float, flipped_tops(W_Q, None if tied else W_K, flips, rng))) if flips and something else (),
        fits=fits,
        bias=float("nan") if head.b_Q is None else bias_share(W_Q, W_K, head.b_Q),
        planes=tuple(map(float, plane_shares(W_Q, W_K, head.rotary))) if head.rotary and h % 2 == 0 else (),
    )


def _under(values: np.ndarray, floor: float) -> bool:
    """Whether some of the values that are not zero may be rounding."""
    return bool(values[-1] <= floor)


def p_balance(value: float, h: int) -> float:
    """Two-sided p value of a balance, beside random factors; its deviation there is exact."""
    return _two_sided((value - balance_of_noise(h).mean) / balance_of_noise(h).deviation)


def p_symmetry(value: float, d: int) -> float:
    """Two-sided p value of a symmetry, beside random factors."""
    return _two_sided((value - symmetry_of_noise(d).mean) / symmetry_of_noise(d).deviation)


def _two_sided(z: float) -> float:
    return max(erfc(abs(z) / sqrt(2.0)), LEAST_P) if not isnan(z) else z
