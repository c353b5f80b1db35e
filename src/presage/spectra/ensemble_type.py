"""The type of the spectra of several networks: that of most of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from presage.protocol.observables import Observable
from presage.protocol.prediction import Result
from presage.spectra.spectrum_type import KINDS, UNKNOWN, SpectrumType

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False)
class EnsembleType(Result):
    """What type the spectrum of each network is of, and that of most of them."""

    members: tuple[SpectrumType, ...] = field(repr=False)
    seeds: tuple[int, ...]
    notes: tuple[str, ...] = field(default=(), repr=False)

    problem = None  # eigenvalues come without one
    observables = (
        Observable("networks", "networks that were looked at"),
        Observable("agreeing", "of them, those of the type that most are of"),
    )

    @property
    def counts(self) -> dict[str, int]:
        """How many networks are of each type, those that are there, the most frequent first."""
        found = Counter(one.kind for one in self.members)
        order = [*KINDS]
        return dict(sorted(found.items(), key=lambda item: (-item[1], order.index(item[0]))))

    @property
    def kind(self) -> str:
        """The type that more networks are of than of any other; "cannot tell" where two types have as many."""
        (first, most), *rest = self.counts.items()
        return UNKNOWN if rest and rest[0][1] == most else first

    @property
    def networks(self) -> int:
        """How many networks were looked at."""
        return len(self.members)

    @property
    def agreeing(self) -> int:
        """How many are of the type that most are of."""
        return next(iter(self.counts.values()))

    @property
    def typical(self) -> SpectrumType:
        """The first network of that type; where two types have as many, the first network of either."""
        most = [kind for kind, count in self.counts.items() if count == self.agreeing]
        return next(one for one in self.members if one.kind in most)

    @property
    def reason(self) -> str:
        """How many networks say so, and what the others are."""
        told = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        most = [kind for kind, count in self.counts.items() if count == self.agreeing]
        if len(most) > 1:
            return f"as many networks are {' as '.join(most)} ({told})."
        if self.networks == 1:
            return self.typical.reason
        if len(self.counts) == 1:
            count = f"{self.networks} networks"
            every = f"of none of {count}" if self.kind == UNKNOWN else f"all {count} are"
            return f"{every}; the first: {self.typical.reason}"
        return f"{self.agreeing} of {self.networks} networks are ({told})."

    @property
    def verdict(self) -> str:
        """The type and why, in a sentence."""
        return f"{self.kind}: {self.reason}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before believing it: of the ensemble, then of its networks, each once."""
        return tuple(dict.fromkeys([*self.notes, *(line for one in self.members for line in one.caveats)]))

    def as_dict(self) -> dict[str, Any]:
        """Plain Python numbers, lists and words, with every network."""
        networks = [{"seed": seed, **one.as_dict()} for seed, one in zip(self.seeds, self.members, strict=True)]
        return {
            **super().as_dict(),
            "type": self.kind,
            "reason": self.reason,
            "counts": self.counts,
            "networks": networks,
        }

    def to_dataframe(self) -> pd.DataFrame:
        """A table of pandas: one row a network."""
        import pandas as pd

        rows = [
            {
                "seed": seed,
                "kind": one.kind,
                "zero_mass": one.zero_mass,
                "family": one.family,
                "standing_out": one.standing_out,
                "exponent": one.exponent,
                "reason": one.reason,
            }
            for seed, one in zip(self.seeds, self.members, strict=True)
        ]
        return pd.DataFrame(rows).set_index("seed")

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        return f"<{type(self).__name__} {self.kind!r}: {told}>"

    def __str__(self) -> str:
        lines = [f"seed {seed}: {one.verdict}" for seed, one in zip(self.seeds, self.members, strict=True)]
        return "\n".join([self.verdict, *lines, *(f"caveat: {line}" for line in self.caveats)])
