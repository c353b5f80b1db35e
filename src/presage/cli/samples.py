"""A number of samples at a dimension, --n and --d, in place of alpha: how a model counts is declared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from presage.cli import grids
from presage.cli.errors import CommandError, option

if TYPE_CHECKING:
    from presage.cli.options import Given

ALPHA = "alpha"  # the field that counts samples


class Samples(NamedTuple):
    """What was written about numbers of samples; None is what was left out."""

    n: str | None = None
    d: int | None = None


NOTHING = Samples()


def dimension(text: str | int | None) -> int | None:
    """The one dimension that goes with a number of samples."""
    if text is None:
        return None
    if not str(text).isdecimal() or int(text) < 1:
        raise CommandError(
            f"`--d` must be one whole number >= 1 here: samples are counted at one dimension. Got --d {text}. "
            "Use for example --d 400, or --alpha for several dimensions."
        )
    return int(text)


def alphas(given: Given, samples: Samples) -> str:
    """The alphas of the numbers of samples that were written, as one writes them."""
    own = given.own_dimension if ALPHA in given.fields else None
    if own is not None and samples.d not in {None, own}:
        raise CommandError(f"`--d` must be {own} here: the problem says it. Got --d {samples.d}. Leave it out.")
    samples = samples if own is None else samples._replace(d=own)
    _must_be_clear(given, samples)
    n, d = str(samples.n), int(samples.d or 0)
    counts = [_count(value, n) for value in grids.grid("--n", n)]
    at_one = {given.problem(**at).samples_at_one(d) for at in grids.corners(given.grids())}
    if len(at_one) > 1:
        raise CommandError(
            "`--n` must mean one alpha: what a sample counts for changes along the other grid. Use --alpha instead."
        )
    (per,) = at_one
    return ",".join(repr(count / per) for count in dict.fromkeys(counts))


def _must_be_clear(given: Given, samples: Samples) -> None:
    if ALPHA not in given.fields:
        raise CommandError(
            f"`--n` is for a model that has --alpha: --model {given.chosen.name} has none. Leave it out."
        )
    if given.written.get(ALPHA) is not None:
        raise CommandError(
            f"`--n` and `--alpha` exclude each other: both say how many samples there are. "
            f"Got --n {samples.n} and --alpha {given.written[ALPHA]}. Leave one of them out."
        )
    if samples.d is None:
        raise CommandError(
            f"`--n` needs --d: how much {samples.n} samples teach depends on the dimension. "
            "Write for example --n 20000 --d 400."
        )


def _count(value: float, text: str) -> int:
    """A number of samples: whole where it is written, the nearest whole one within a range."""
    count = round(value)
    if count < 1:
        raise CommandError(f"`--n` must be at least 1: it is a number of samples. Got --n {text}. Use --n 20000.")
    if ":" not in text and not value.is_integer():
        raise CommandError(f"`--n` must be a whole number: it counts samples. Got --n {text}. Use --n {count}.")
    return count


def told(given: Given) -> dict[str, Any]:
    """The samples of a problem for its description: n and d where a dimension was written."""
    n, d = given.samples
    if d is None:
        return {}
    if n is None:
        one = ALPHA in given.fields and ALPHA not in given.unused and not given.grids()
        return {"n": given.problem().samples(d), "d": d} if one else {"d": d}
    if grids.is_grid(n):
        return {"n": n, "d": d}
    return {"d": d} if ALPHA in given.unused else {"n": _count(grids.number(option("n"), n), n), "d": d}
