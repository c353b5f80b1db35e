"""The type of a spectrum, with the evidence for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol import numbers
from presage.protocol.observables import Observable
from presage.protocol.prediction import Result
from presage.spectra.bulks.bulk_fit import BulkFit
from presage.spectra.tails.power_tail import PowerTail

if TYPE_CHECKING:
    import pandas as pd

RANDOM, BLEEDING, SPIKES = "random-like", "bleeding-out", "bulk+spikes"
DECAY, HEAVY, COLLAPSE, UNKNOWN = "bulk-decay", "heavy-tailed", "rank-collapse", "cannot tell"
KINDS = {
    RANDOM: "one bulk, as that of noise, and nothing beside it",
    BLEEDING: "a bulk as that of noise, and values that just stand out of it",
    SPIKES: "a bulk as that of noise, and values far above it",
    DECAY: "a bulk that goes over into a long tail of values",
    HEAVY: "a power law",
    COLLAPSE: "next to nothing but zeros",
    UNKNOWN: "none of the types, or too little to tell",
}
OBSERVABLES = (
    Observable("n", "eigenvalues"),
    Observable("zero_mass", "fraction of them that is zero", fraction=True),
    Observable("edge", "upper edge of the bulk"),
    Observable("discrepancy", "eigenvalues of the bulk that are out of place (N times the Kolmogorov distance)"),
    Observable("bound", "up to which noise has such a bulk"),
    Observable("distance", "Kolmogorov distance of the bulk to its law"),
    Observable("standing_out", "eigenvalues that stand out of the bulk"),
    Observable("exponent", "exponent a of the tail, whose density is x^-a"),
    Observable("tail_size", "eigenvalues in the tail"),
    Observable("decades", "powers of ten that the tail goes over"),
)


@final
@dataclass(frozen=True, eq=False)
class SpectrumType(Result):
    """What type a spectrum is of, why, and the numbers that say so.

    Kinds: random-like, bleeding-out, bulk+spikes, bulk-decay, heavy-tailed, rank-collapse, cannot tell.

    Equation: [MM21], for the names of the types; derived: the rules that tell them apart.
    Checked: tests/spectra/test_classify.py::test_one_law_shows_every_type
    """

    kind: str
    reason: str
    values: Floats = field(repr=False)  # the eigenvalues, increasing, what is zero set to zero
    zero: float  # the size up to which they count as zero
    bulk: BulkFit | None  # None where there are too few to fit
    tail: PowerTail | None  # None where no tail was looked for
    seed: int  # of the bootstrap
    bootstrap: int
    notes: tuple[str, ...] = field(default=(), repr=False)

    problem = None  # eigenvalues come without one

    @property
    def n(self) -> int:
        """Number of eigenvalues."""
        return len(self.values)

    @property
    def zeros(self) -> int:
        """How many of them are zero."""
        return int(np.sum(self.values == 0.0))

    @property
    def zero_mass(self) -> float:
        """Fraction of them that is zero."""
        return self.zeros / self.n

    @property
    def family(self) -> str:
        """Law of the bulk, by name; "" where none was fitted."""
        return "" if self.bulk is None else self.bulk.bulk.name

    @property
    def has_bulk(self) -> bool:
        """Whether there is a bulk that looks like the law that was fitted to it: else nothing stands out of one."""
        return self.bulk is not None and self.bulk.loose

    @property
    def edge(self) -> float:
        """Upper edge of the bulk; nan where there is none, and `bulk.bulk.edge` is that of the nearest law."""
        return self.bulk.bulk.edge if self.bulk is not None and self.bulk.loose else nan

    @property
    def discrepancy(self) -> float:
        """Eigenvalues of the bulk that are out of place: N times the Kolmogorov distance."""
        return nan if self.bulk is None else self.bulk.discrepancy

    @property
    def bound(self) -> float:
        """Up to this discrepancy the bulk is as near to its law as noise is."""
        return nan if self.bulk is None else self.bulk.bound

    @property
    def distance(self) -> float:
        """Kolmogorov distance of the bulk to its law, over what is not zero."""
        return nan if self.bulk is None else self.bulk.distance

    @property
    def spikes(self) -> tuple[Any, ...]:
        """The values that stand out of the bulk, the largest first, each with its p value, distance and strength.

        There are none where the bulk is far from the law that was fitted; `bulk.spikes` has what is beyond its edge.
        """
        return self.bulk.spikes if self.bulk is not None and self.bulk.loose else ()

    @property
    def standing_out(self) -> float:
        """How many stand out; nan where there is no bulk to stand out of."""
        return len(self.spikes) if self.has_bulk else nan

    @property
    def exponent(self) -> float:
        """Exponent of the tail; nan where there is none to speak of."""
        return nan if self.tail is None else self.tail.exponent

    @property
    def tail_size(self) -> float:
        """Eigenvalues in the tail."""
        return nan if self.tail is None else self.tail.size

    @property
    def decades(self) -> float:
        """Powers of ten that the tail goes over."""
        return nan if self.tail is None else self.tail.decades

    @property
    def observables(self) -> tuple[Observable, ...]:  # type: ignore[override]
        """The numbers that were looked at: there is no tail beside a bulk of noise."""
        return tuple(one for one in OBSERVABLES if not np.isnan(getattr(self, one.name)))

    @property
    def error_bars(self) -> Mapping[str, float]:
        """Half the width of the interval of the exponent, to its farther end."""
        if self.tail is None:
            return {}
        return {"exponent": max(self.tail.high - self.tail.exponent, self.tail.exponent - self.tail.low)}

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before believing it."""
        return self.notes

    @property
    def verdict(self) -> str:
        """The type and why, in a sentence."""
        return f"{self.kind}: {self.reason}"

    def as_dict(self) -> dict[str, Any]:
        """Plain Python numbers, lists and words; the eigenvalues among them."""
        from presage.protocol.tabulated import as_dict, plain

        bulk = None
        if self.bulk is not None:
            bulk = {"family": self.family, "parameters": self.bulk.bulk.parameters, "edge": self.bulk.bulk.edge}
            bulk |= {"width": self.bulk.bulk.width, "strict": self.bulk.strict, "loose": self.bulk.loose}
        return {
            **as_dict(self),
            "type": self.kind,
            "reason": self.reason,
            "zeros": self.zeros,
            "zero": self.zero,
            "bulk": plain(bulk),
            "spikes": [plain(spike._asdict()) for spike in self.spikes],
            "tail": None if self.tail is None else plain(self.tail._asdict()),
            "bootstrap": {"draws": self.bootstrap, "seed": self.seed},
            "values": plain(self.values),
        }

    def to_dataframe(self) -> pd.DataFrame:
        """A table of pandas: one row a number; the type is the name of the column index."""
        return super().to_dataframe().rename_axis(columns=self.kind)

    def __repr__(self) -> str:
        told = [f"{self.n} eigenvalues"]
        told += [f"zero_mass={numbers.text(self.zero_mass, 3)}"] if self.zeros else []
        told += [f"bulk={self.family}", f"spikes={len(self.spikes)}"] if self.has_bulk else []
        told += [f"exponent={numbers.text(self.exponent, 4)}"] if self.tail is not None else []
        return f"<{type(self).__name__} {self.kind!r}: {', '.join(told)}>"

    def __str__(self) -> str:
        return "\n".join([self.verdict, *self._evidence(), *(f"caveat: {line}" for line in self.caveats)])

    def _evidence(self) -> list[str]:
        lines = [f"{self.n} eigenvalues, {self.zeros} of them zero"]
        if self.bulk is not None:
            fitted = ", ".join(f"{name} {numbers.text(x, 4)}" for name, x in self.bulk.bulk.parameters.items())
            noun = "bulk" if self.has_bulk else "no bulk; the nearest"
            edge = numbers.text(self.bulk.bulk.edge, 5)
            lines.append(f"{noun}: {self.family}{f' ({fitted})' if fitted else ''}, edge {edge}")
            lines.append(f"out of place: {self.discrepancy:.3g} eigenvalues, noise has up to {self.bound:.3g}")
        for spike in self.spikes[:MOST_LINES]:
            strength = "" if np.isnan(spike.strength) else f", strength {spike.strength:.3g}"
            lines.append(f"stands out: {numbers.text(spike.value, 5)} (p {spike.p_value:.1e}{strength})")
        if len(self.spikes) > MOST_LINES:
            lines.append(f"... and {len(self.spikes) - MOST_LINES} more, in `spikes`")
        if self.tail is not None:
            lines.append(tail_in_words(self.tail))
        return lines


MOST_LINES = 5  # of spikes, in a text


def tail_in_words(tail: PowerTail) -> str:
    """A power law with its evidence, in a line."""
    p_value = "not tested" if np.isnan(tail.p_value) else numbers.text(tail.p_value, 2)
    return (
        f"tail: exponent {tail.exponent:.4g} [{tail.low:.4g}, {tail.high:.4g}] of {tail.size} eigenvalues over "
        f"{tail.decades:.2g} decades, p {p_value}, against an exponential {tail.vuong_exponential:+.2g}, against a "
        f"lognormal {tail.vuong_lognormal:+.2g}"
    )
