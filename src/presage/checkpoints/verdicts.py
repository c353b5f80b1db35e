"""What may be said of a head, in words that say no more than its numbers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from presage.checkpoints.bulk_fit import FEWEST, BulkFit
from presage.checkpoints.resolution import resolution

LEVEL = 0.05  # of false discoveries, and of the spectrum alone
RESOLVED = 0.8  # how often another law must be rejected for one to be named
COLLAPSED = 2.0  # effective rank below which a head is
TOO_FEW, COLLAPSE, RANDOM, VECTORS = "too few values", "collapsed", "random", "structured, spectrum random"
SPIKES, UNDECIDED, NO_BULK, UNKNOWN = "noise bulk + spikes", "noise bulk, law undecided", "no noise bulk", "cannot tell"
UNEVEN = "uneven rows or heavy tails"
UNFLIPPED = "no signs were flipped, which would tell them from uneven rows and heavy tails: ask for flips."
KINDS = {
    TOO_FEW: f"fewer than {FEWEST} values that are not zero: no law is fitted",
    COLLAPSE: "next to no rank is left",
    RANDOM: "nothing tells it from random factors",
    VECTORS: "the factors are not random, but their spectrum is as if they were",
    SPIKES: "one law of noise fits the bulk and the others do not; so many values stand out",
    UNEVEN: "values stand out of a noise bulk, but flipped signs show as much: no count of features",
    UNDECIDED: "a law of noise fits the bulk, but which one cannot be told at this size",
    NO_BULK: "no law of noise fits: values beyond an edge are not counted",
    UNKNOWN: "the stored numbers are too coarse, too little is left as bulk, or signs were not flipped",
}


class Evidence(NamedTuple):
    """The numbers that a verdict rests on."""

    n: int  # values that are not zero
    h: int
    rows: int
    columns: int
    effective_rank: float
    q_random: float
    p_spectrum: float
    at_least: int | None  # values above every flip; None where none were made
    below_floor: int  # values that are not zero and may be rounding
    fits: tuple[BulkFit, ...]


class Verdict(NamedTuple):
    """A kind, and a sentence with the numbers in it."""

    kind: str
    sentence: str
    fit: BulkFit | None = None  # the law that is named, or the likeliest of those that fit


def verdict(seen: Evidence) -> Verdict:
    """The first of the verdicts that holds, in the order of `KINDS`."""
    if seen.n < FEWEST:
        return Verdict(TOO_FEW, f"{seen.n} of {seen.h} values are not zero, and a law is fitted to {FEWEST} or more.")
    if seen.effective_rank < COLLAPSED or seen.n <= min(seen.h, seen.rows, seen.columns) / 4:
        return Verdict(COLLAPSE, f"the effective rank is {seen.effective_rank:.2g}, {seen.n} of {seen.h} are not zero.")
    if seen.q_random > LEVEL:
        return Verdict(RANDOM, f"nothing tells it from random factors (q = {seen.q_random:.2g}).")
    if seen.p_spectrum > LEVEL:
        alone = f"the spectrum alone does not show it (p = {seen.p_spectrum:.2g})"
        return Verdict(VECTORS, f"not random (q = {seen.q_random:.1e}), but {alone}.")
    return _of_bulk(seen)


def _of_bulk(seen: Evidence) -> Verdict:
    if seen.h > min(seen.rows, seen.columns):
        wide = f"it is wider ({seen.h}) than its input ({min(seen.rows, seen.columns)})"
        return Verdict(UNKNOWN, f"{wide}, and no law of a bulk is known there.")
    if seen.below_floor:
        said = (
            f"{seen.below_floor} of {seen.n} values may be the rounding of the stored numbers: no law is fitted there."
        )
        return Verdict(UNKNOWN, said)
    tested = [fit for fit in seen.fits if fit.p_bulk == fit.p_bulk]
    accepted = [fit for fit in tested if fit.accepted]
    if not tested:
        return Verdict(UNKNOWN, "too many values stand out for a bulk to be tested.")
    if not accepted:
        nearest = max(tested, key=lambda fit: fit.p_bulk)
        told = "; " + _directions(seen.at_least) if seen.at_least is not None else ""
        return Verdict(
            NO_BULK, f"no law of noise fits (the best, {nearest.name}, p = {nearest.p_bulk:.2g}){told}.", None
        )
    fit = max(accepted, key=lambda one: one.p_bulk)
    unsure = _rivals(fit, accepted, seen)
    if unsure:
        return Verdict(UNDECIDED, f"{fit.name} noise fits (p = {fit.p_bulk:.2g}), but {unsure}.", fit)
    told = f"{fit.spikes} values stand out of {fit.name} noise"
    if fit.spikes and seen.at_least is None:
        return Verdict(UNKNOWN, f"{told}, but {UNFLIPPED}")
    if fit.spikes and not seen.at_least:
        said = f"{told}, but flipped signs show as much: uneven rows or heavy-tailed entries explain it."
        return Verdict(UNEVEN, said, fit)
    spikes = "1 spike" if fit.spikes == 1 else f"{fit.spikes} spikes"
    return Verdict(
        SPIKES, f"noise ({fit.name}) + {spikes}: the bulk is as {fit.name} noise is (p = {fit.p_bulk:.2g}).", fit
    )


def _rivals(fit: BulkFit, accepted: Sequence[BulkFit], seen: Evidence) -> str:
    """Why a law that fits is not named; "" where nothing speaks against it."""
    others = [one.name for one in accepted if one.law != fit.law]
    if others:
        return f"{' and '.join(others)} fit{'s' if len(others) == 1 else ''} as well"
    for other in seen.fits:
        if other.law == fit.law:
            continue
        told = resolution(fit.law, other.law, seen.n, seen.rows, seen.columns)
        if told < RESOLVED:
            return (
                f"at this size {fit.name} would fit {other.name} noise too, {100 * (1 - told):.0f} times in a hundred"
            )
    return ""


def _directions(at_least: int | None) -> str:
    if not at_least:
        return "no value is above those of flipped signs"
    return f"at least {at_least} structured direction{'' if at_least == 1 else 's'}"
