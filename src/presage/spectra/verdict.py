"""Which type a spectrum is of, by its zeros, its bulk, what stands out of it and its tail."""

from __future__ import annotations

from typing import Any

import numpy as np

from presage.laws.spectral_law import Floats
from presage.spectra.bulks.bulk_fit import BulkFit, fit_bulk
from presage.spectra.spectrum_type import (
    BLEEDING,
    COLLAPSE,
    DECAY,
    HEAVY,
    RANDOM,
    SPIKES,
    UNKNOWN,
    SpectrumType,
)
from presage.spectra.tails.power_tail import FEWEST as FEWEST_IN_TAIL
from presage.spectra.tails.power_tail import PowerTail, power_tail

FEWEST = 50  # values that are not zero from which on a type is told
COLLAPSED, COLLAPSED_PART = 10, 0.02  # values, or part of all, below which a rank has collapsed
MOSTLY_ZERO = 0.8  # part that is zero then; of 50 eigenvalues or more it always is
FEW = 0.05  # part of all eigenvalues up to which those that stand out are spikes
GAP = 10.0  # median spacings of the lower ones of many that stand out: such a gap makes spikes of them
FAR = 0.25  # over the reach of the bulk: on a semicircle a strength of 2
LEAST_P, LEAST_DECADES, SCORE = 0.02, 1.0, 1.64  # what a power law has to pass
LOGNORMAL = 1.035  # Lilliefors' distance that one in a hundred lognormal samples exceeds
GAIN = 4.0  # log-likelihood by which a power law has to beat the lognormal law of all then: fifty times as likely
MOST_OF_ALL, MANY_OUT = 0.5, 0.2  # parts of the values that are a tail, or stand out, from which on it is the spectrum


def verdict(
    values: Floats, *, zero: float, law: Any, seed: int, bootstrap: int, notes: tuple[str, ...] = ()
) -> SpectrumType:
    """The type of increasing eigenvalues, of which those up to `zero` in size are zero."""
    clean = np.where(np.abs(values) <= zero, 0.0, values)
    nonzero = clean[clean != 0.0]
    if len(nonzero) and nonzero[-1] < 0.0 and law is None:
        clean, nonzero = -clean[::-1], -nonzero[::-1]
        notes = (*notes, "no eigenvalue is positive: this is the type of the matrix with its sign turned.")
    n, r = len(clean), len(nonzero)

    def found(kind: str, reason: str, bulk: BulkFit | None = None, tail: PowerTail | None = None) -> SpectrumType:
        said = (*notes, *_caveats(n, bulk, tail, bootstrap))
        return SpectrumType(kind, reason, clean, zero, bulk, tail, seed, bootstrap, said)

    if r < max(COLLAPSED, COLLAPSED_PART * n) and 1.0 - r / n >= MOSTLY_ZERO:
        left = "every eigenvalue is zero" if not r else f"all but {r} of {n} eigenvalues are zero"
        return found(COLLAPSE, left + ".")
    if r < FEWEST:
        return found(
            UNKNOWN, f"fewer than {FEWEST} eigenvalues are not zero, {r} of {n}: too few to know a bulk or a tail."
        )
    bulk = fit_bulk(nonzero, n - r, law)
    told = _beside_a_bulk(bulk, n)
    if told is not None:
        return found(*told, bulk)
    positive = nonzero[nonzero > 0.0]
    tail = None
    if len(positive) >= FEWEST_IN_TAIL:
        tail = power_tail(positive, bootstrap=bootstrap, rng=np.random.default_rng(seed))
    return found(*_with_a_tail(bulk, tail, n, r), bulk, tail)


def _beside_a_bulk(bulk: BulkFit, n: int) -> tuple[str, str] | None:
    """Type and reason of a spectrum that is a bulk and a few values; None where it is not."""
    k, fits = len(bulk.spikes), f"the bulk is {bulk.bulk.called}"
    if k == 0 and bulk.strict:
        near = f"{bulk.discrepancy:.3g} eigenvalues are out of place, and noise has up to {bulk.bound:.3g}"
        return RANDOM, f"{fits} ({near}), and nothing stands out."
    if not (bulk.loose and k > 0 and (k <= FEW * n or _gap(bulk))):
        return None
    values = f"{k} eigenvalue{'s stand' if k > 1 else ' stands'} out"
    if bulk.farthest <= FAR:
        return BLEEDING, f"{fits}, and {values} just above it, by at most {bulk.farthest:.2g} of its reach."
    return SPIKES, f"{fits}, and {values}, the farthest by {bulk.farthest:.3g} times its reach."


def _gap(bulk: BulkFit) -> bool:
    """Whether many values that stand out are apart from the bulk, by far more than from one another."""
    above = np.sort([spike.value for spike in bulk.spikes if spike.value > bulk.bulk.edge])
    if len(above) < 2:
        return False
    lower = above[: max(2, len(above) // 2)]
    return bool(above[0] - bulk.bulk.edge > GAP * float(np.median(np.diff(lower))))


def _with_a_tail(bulk: BulkFit, tail: PowerTail | None, n: int, r: int) -> tuple[str, str]:
    """Type and reason of a spectrum that is no bulk with a few values beside it."""
    k = len(bulk.spikes)
    wrong = _no_power_law(tail)
    if tail is not None and not wrong and (tail.size >= MOST_OF_ALL * r or not bulk.loose or k > MANY_OUT * r):
        where = f"{tail.size} eigenvalues over {tail.decades:.2g} powers of ten"
        return HEAVY, f"{where} fall as a power law, with a density x^-{tail.exponent:.4g}."
    if bulk.loose and k > FEW * n and bulk.farthest > FAR:
        return DECAY, f"the bulk is {bulk.bulk.called}, and {k} eigenvalues go on above it without a gap."
    if bulk.loose and k == 0:
        far = f"{bulk.discrepancy:.3g} eigenvalues are out of place, and noise has up to {bulk.bound:.3g}"
        shape = f"the bulk is near to {bulk.bulk.called} but not as near as noise is ({far}), and nothing stands out"
    elif bulk.loose:
        shape = f"{k} eigenvalues stand out of the bulk, too many for spikes and too near to it for a tail"
    else:
        shape = f"the bulk is no law of noise (the nearest is {bulk.bulk.called}, at a distance of {bulk.distance:.2g})"
    rest = (
        "and the power law in its tail is too small a part of it"
        if not wrong
        else f"and the tail is no power law: {wrong}"
    )
    return UNKNOWN, f"{shape}, {rest}."


def _no_power_law(tail: PowerTail | None) -> str:
    """Why a tail is no power law; "" where nothing speaks against it."""
    if tail is None:
        return f"fewer than {FEWEST_IN_TAIL} eigenvalues are positive, or all are the same"
    if tail.p_value < LEAST_P:
        return f"one would be nearer to its fit (p = {tail.p_value:.2g})"
    if tail.decades < LEAST_DECADES:
        return f"it goes over {tail.decades:.2g} powers of ten, less than one"
    if tail.vuong_exponential <= SCORE:
        return f"an exponential is as likely (score {tail.vuong_exponential:+.2g})"
    if tail.vuong_lognormal <= -SCORE:
        return f"a lognormal is likelier (score {tail.vuong_lognormal:+.2g})"
    if tail.lognormal <= LOGNORMAL and tail.gain <= GAIN and not tail.rigid:
        return "all positive eigenvalues are as lognormal numbers are, which look like a power law far out"
    return ""


def _caveats(n: int, bulk: BulkFit | None, tail: PowerTail | None, bootstrap: int) -> tuple[str, ...]:
    said = []
    if n < FEWEST:
        said.append(f"there are few eigenvalues, n = {n}: types are meant for {FEWEST} or more.")
    if bulk is not None and bulk.loose and not bulk.settled:
        said.append("which eigenvalues stand out depends on where the fit begins: their number may be off by a few.")
    if tail is not None and not bootstrap:
        said.append(
            "without a bootstrap the power law is not tested, and its interval has no part for where it begins."
        )
    return tuple(said)
