"""One head beside what noise shows: its numbers, their p values, and a verdict in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, final

import numpy as np

from presage.checkpoints.bulk_fit import BulkFit
from presage.checkpoints.flips import at_least, own_p
from presage.checkpoints.measured import Measured, p_balance, p_symmetry
from presage.checkpoints.measures import (
    MeanAndDeviation,
    balance_of_noise,
    effective_rank,
    noise_ceiling,
    ranks_of_noise,
    stable_rank,
    symmetry_of_noise,
)
from presage.checkpoints.multiple_testing import bonferroni
from presage.checkpoints.nulls.head_null import HeadNull
from presage.checkpoints.nulls.noise_table import noise_table
from presage.checkpoints.tail import Tail, tail_of
from presage.checkpoints.told import Told
from presage.checkpoints.verdicts import UNDECIDED, Evidence, Verdict, verdict
from presage.laws.spectral_law import Floats
from presage.protocol.tabulated import plain
from presage.spectra.free_spikes import free_spikes
from presage.spectra.spiked_rectangular import rectangular_strength, spiked_rectangular

if TYPE_CHECKING:
    import pandas as pd

SHRUNK = ("shrunk", "shrunk-tied")


@final
@dataclass(frozen=True, eq=False)
class HeadReport(Told):
    """What is known of one head, and what may be said of it."""

    layer: int
    head: int
    kind: str
    part: str
    d_q: int
    d_k: int
    h: int
    dtype: str
    tied: bool
    measured: Measured = field(repr=False)
    p_flips: float  # of the largest value among flipped signs, pooled over the heads of a file where there are several
    q_random: float  # rate of false discoveries over the heads of the file
    q_flips: float
    notes: tuple[str, ...] = field(default=(), repr=False)
    shared: tuple[str, ...] = ()  # other places at which the same weights serve

    @property
    def name(self) -> str:
        """Where it is, as people say it."""
        where = f"{self.part} " if self.part else ""
        return f"{where}layer {self.layer} head {self.head}{' (cross)' if self.kind == 'cross' else ''}"

    @cached_property
    def singular_values(self) -> Floats:
        """Singular values of ``W_Q W_K'``, decreasing; what is zero is set to zero."""
        values = np.array(self.measured.values)
        return np.where(values > self.measured.zero, values, 0.0)

    @property
    def top(self) -> float:
        """The largest."""
        return self.measured.values[0]

    @property
    def rank(self) -> int:
        """How many are not zero."""
        return int(np.sum(self.singular_values > 0.0))

    @property
    def below_floor(self) -> int:
        """How many are not zero and may be the rounding of the stored numbers."""
        return int(np.sum((self.singular_values > 0.0) & (self.singular_values <= self.measured.floor)))

    @property
    def stable_rank(self) -> float:
        """``|M|_F^2/s_1^2``."""
        return float(stable_rank(np.array(self.measured.values))) if self.top > 0.0 else nan

    @property
    def effective_rank(self) -> float:
        """The exponential of the entropy of the squares."""
        return float(effective_rank(np.array(self.measured.values))) if self.top > 0.0 else nan

    @property
    def ranks_of_noise(self) -> tuple[MeanAndDeviation, MeanAndDeviation]:
        """Stable and effective rank of random heads of this shape."""
        return ranks_of_noise(self._random_law, self.h, self.d_q, self.d_k)

    @property
    def balance(self) -> float:
        """How alike the Gram matrices of the factors are; nan for tied factors."""
        return self.measured.balance

    @property
    def z_balance(self) -> float:
        """In standard deviations of random factors."""
        return self.balance / balance_of_noise(self.h).deviation if self.h > 1 else nan

    @property
    def symmetry(self) -> float:
        """``tr(M^2)/tr(M M')``; nan where queries and keys see different inputs."""
        return self.measured.symmetry

    @property
    def z_symmetry(self) -> float:
        """In standard deviations of random factors, from their mean."""
        noise = symmetry_of_noise(self.d_q)
        return (self.symmetry - noise.mean) / noise.deviation

    @property
    def bias(self) -> float:
        """Size of what the bias of the queries adds to the logits, beside a row of the product; nan without one."""
        return self.measured.bias

    @property
    def planes(self) -> tuple[float, ...]:
        """Shares of the planes of rotary positions in the product, fast ones first; none without such positions."""
        return self.measured.planes

    @property
    def p_spectrum(self) -> float:
        """Whether the spectrum alone is that of random factors: its largest value and its whole, Bonferroni."""
        return bonferroni(np.array([self.measured.p_top, self.measured.p_spectrum_bulk]))

    @property
    def p_random(self) -> float:
        """Whether the factors are random: spectrum, balance and symmetry, Bonferroni."""
        others = [p_balance(self.balance, self.h) if self.h > 1 else nan, p_symmetry(self.symmetry, self.d_q)]
        return bonferroni(np.array([self.measured.p_top, self.measured.p_spectrum_bulk, *others]))

    @property
    def at_least(self) -> int | None:
        """Values above those of every flip of signs: at least so many directions are structured, at level 1/20."""
        flips = np.array(self.measured.flips)
        return at_least(np.array(self.measured.values), flips) if len(flips) else None

    @property
    def flip_threshold(self) -> float:
        """The largest value with flipped signs; nan where none were made."""
        return max(self.measured.flips, default=nan)

    @cached_property
    def _verdict(self) -> Verdict:
        seen = Evidence(
            self.rank,
            self.h,
            self.d_q,
            self.d_k,
            self.effective_rank,
            self.q_random,
            self.p_spectrum,
            self.at_least,
            self.below_floor,
            self.measured.fits,
        )
        return verdict(seen)

    @property
    def verdict(self) -> str:
        """What kind of head it is."""
        return self._verdict.kind

    @property
    def sentence(self) -> str:
        """The verdict with its numbers."""
        return self._verdict.sentence

    @property
    def fit(self) -> BulkFit | None:
        """The law of noise that is named, or where undecided the likeliest that fits; None where none does."""
        return self._verdict.fit

    @property
    def law(self) -> str:
        """Its name; `undecided` where several cannot be told apart, "" where there is none."""
        return "" if self.fit is None else "undecided" if self.verdict == UNDECIDED else self.fit.name

    @property
    def spikes(self) -> int | None:
        """Values that stand out of that law; None where there is none."""
        return None if self.fit is None else self.fit.spikes

    @property
    def _nearest(self) -> BulkFit | None:
        """The law of `fit`, or the likeliest of all that were set beside it where none is named."""
        tested = [fit for fit in self.measured.fits if fit.p_bulk == fit.p_bulk]
        return self.fit or max(tested, key=lambda fit: fit.p_bulk, default=None)

    @property
    def p_bulk(self) -> float:
        """Of the bulk, beside that law; the largest over the laws where none is named."""
        return nan if self._nearest is None else self._nearest.p_bulk

    @property
    def distance(self) -> float:
        """How far the bulk is from the law of `p_bulk`, over its range."""
        return nan if self._nearest is None else self._nearest.distance

    @property
    def placebo(self) -> float:
        """The same of equally spaced values: an overlay that looks good is no evidence."""
        return nan if self._nearest is None else self._nearest.placebo

    @property
    def delta(self) -> float:
        """Noise ``a delta`` of shrunk values; nan for other laws."""
        return self.fit.slope if self.fit is not None and self.fit.law in SHRUNK else nan

    @property
    def cutoff(self) -> float:
        """What weight decay has cut, ``c/delta``; nan for other laws."""
        return self.fit.cutoff if self.fit is not None and self.fit.law in SHRUNK else nan

    @cached_property
    def strengths(self) -> Floats:
        """Of the directions behind the values that stand out of the law, in units of its noise: 1 is none.

        Checked: tests/checkpoints/test_head_report.py::test_strengths_beside_many_directions
        """
        return self._spikes[0]

    @cached_property
    def overlaps(self) -> Floats:
        """Squared cosines of the singular vectors of the queries with these directions."""
        return self._spikes[1]

    @cached_property
    def _spikes(self) -> tuple[Floats, Floats]:
        """Strengths and overlaps: in closed form for shrunk noise, by the values of the bulk for all others."""
        if self.fit is None or not self.fit.spikes:
            return np.empty(0), np.empty(0)
        values = self.singular_values[: self.rank]
        seen, noise = values[: self.fit.spikes], values[self.fit.spikes :]
        if self.fit.law not in SHRUNK:
            found = free_spikes(seen, noise, self.d_q, self.d_k)
            return found.strength / self.fit.slope, found.overlap_left
        beta = min(self.d_q, self.d_k) / max(self.d_q, self.d_k)
        y = (seen - self.fit.shift) / self.fit.slope
        theta = rectangular_strength(y * beta**0.25, beta)
        spike = spiked_rectangular(theta, beta)
        return theta / beta**0.25, spike.overlap_short if self.d_q <= self.d_k else spike.overlap_long

    @property
    def null(self) -> HeadNull | None:
        """Random factors of this shape; None for a tied head, whose factors are one."""
        return None if self.tied else HeadNull(self.h, self.d_q, self.d_k)

    @cached_property
    def tail(self) -> Tail | None:
        """A power law in the squares of the values, beside the exponents of noise; None where there is no value."""
        if self.rank < 2:
            return None
        noise = noise_table(self._random_law, self.h, self.d_q, self.d_k).samples
        return tail_of(self.singular_values[: self.rank], noise)

    @property
    def ceiling(self) -> float:
        """The most noise ``a delta`` that shrunk values of such a density can hold."""
        law = "shrunk-tied" if self.tied else "shrunk"
        return noise_ceiling(self.singular_values[: self.rank], law, self.d_q, self.d_k) if self.rank > 8 else nan

    @property
    def _random_law(self) -> str:
        return "tied" if self.tied else "random"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before believing it."""
        said = list(self.notes)
        if self.below_floor:
            said.append(
                f"{self.below_floor} of {self.rank} values may be the rounding of the stored numbers ({self.dtype})."
            )
        return tuple(said)

    def row(self) -> dict[str, Any]:
        """Its line in a table."""
        stable, effective = self.ranks_of_noise
        return {
            "layer": self.layer,
            "head": self.head,
            "kind": self.kind,
            "part": self.part,
            "d_q": self.d_q,
            "d_k": self.d_k,
            "h": self.h,
            "top": self.top,
            "stable_rank": self.stable_rank,
            "stable_rank_null": stable.mean,
            "stable_rank_null_sd": stable.deviation,
            "effective_rank": self.effective_rank,
            "effective_rank_null": effective.mean,
            "rank": self.rank,
            "below_floor": self.below_floor,
            "balance": self.balance,
            "z_balance": self.z_balance,
            "symmetry": self.symmetry,
            "z_symmetry": self.z_symmetry,
            "bias": self.bias,
            "planes": list(self.planes),
            "p_random": self.p_random,
            "q_random": self.q_random,
            "p_spectrum": self.p_spectrum,
            "at_least": self.at_least,
            "p_flips": self.p_flips,
            "q_flips": self.q_flips,
            "law": self.law,
            "spikes": self.spikes,
            "p_bulk": self.p_bulk,
            "distance": self.distance,
            "placebo": self.placebo,
            "delta": self.delta,
            "cutoff": self.cutoff,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "shared": list(self.shared),
            "caveats": list(self.caveats),
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and words: its row, its values, what stands out."""
        arrays = {"singular_values": self.singular_values, "flips": self.measured.flips}
        arrays |= {"strengths": self.strengths, "overlaps": self.overlaps}
        return {key: plain(value) for key, value in {**self.row(), **arrays}.items()}

    def to_dataframe(self) -> pd.DataFrame:
        """A table of pandas with one row."""
        import pandas as pd

        return pd.DataFrame([self.row()])

    def __repr__(self) -> str:
        return f"<HeadReport of {self.name}: {self.verdict}>"

    def __str__(self) -> str:
        stable, effective = self.ranks_of_noise
        lines = [
            f"{self.name}: {self.verdict}: {self.sentence}",
            f"d_q {self.d_q}, d_k {self.d_k}, h {self.h}: {self.rank} values are not zero, the largest {self.top:.4g}",
            f"stable rank {self.stable_rank:.3g} (random {stable.mean:.3g} +- {stable.deviation:.1g}), "
            f"effective rank {self.effective_rank:.3g} (random {effective.mean:.3g} +- {effective.deviation:.1g})",
            f"balance {self.balance:.3f} (z {self.z_balance:.1f}), "
            f"symmetry {self.symmetry:.3f} (z {self.z_symmetry:.1f})",
            f"random factors: p {self.p_random:.2g}, by the spectrum alone {self.p_spectrum:.2g}",
        ]
        if self.at_least is not None:
            lines.append(f"flipped signs: {self.at_least} values are above all of them (p {self.p_flips:.2g})")
        for fit in self.measured.fits:
            lines.append(f"{fit.name} noise: {fit.spikes} stand out, bulk p {fit.p_bulk:.3g}")
        if len(self.strengths):
            lines.append(f"strengths: {' '.join(f'{x:.3g}' for x in self.strengths)}")
        return "\n".join([*lines, *(f"caveat: {line}" for line in self.caveats)])


def single(report: HeadReport) -> HeadReport:
    """A head by itself, without others: its p values are its own."""
    import dataclasses

    flips = np.array(report.measured.flips)
    p_flips = own_p(report.top, flips) if len(flips) else nan
    return dataclasses.replace(report, q_random=report.p_random, p_flips=p_flips, q_flips=p_flips)
