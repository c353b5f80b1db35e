"""What the theory says about a problem: numbers with error bars, the learned spectrum, and caveats in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf, nan
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.declaration import MEASURED, PARTS, REPLICON
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory import state_evolution
from presage.models.attention.theory.decomposition import Decomposition, decomposition_of, threshold
from presage.models.attention.theory.features import feature_table, made_of_atoms
from presage.models.attention.theory.order_parameters import Conjugates, Overlaps
from presage.models.attention.theory.replicon import (
    jump_term,
    replicon,
    separation,
    weight_factor,
    weight_factor_of_map,
)
from presage.protocol.counterpart import Counterpart
from presage.protocol.feature_comparison import Beside
from presage.protocol.feature_table import FeatureTable
from presage.protocol.prediction import Prediction
from presage.spectra.bulk import Bulk
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.functionals import functionals, start_of_largest
from presage.spectra.symmetric.learned import LearnedSpectrum, SingularValues
from presage.spectra.symmetric.shrunk import Shrunk
from presage.spectra.symmetric.shrunk_spectrum import ShrunkSpectrum

APART = 1e-4  # distance of two runs of message passing, relative, that is worth saying
SPIKE = 0.02  # a band lighter than this that holds one eigenvalue of the target alone is an outlier, not a bulk


@final
@dataclass(frozen=True)
class Solution(Prediction):
    """Prediction for a problem in the high-dimensional limit. Every number has an entry in `error_bars`."""

    problem: Problem
    overlaps: Overlaps
    conjugates: Conjugates
    test_error: float  # expected loss on a fresh, noisy sample
    train_error: float  # loss a sample at the minimum
    train_loss: float  # the whole minimum, penalty included, over d^2
    estimation_error: float  # |S_fit - S_0|_F^2/d
    rank: float  # fraction of non-zero eigenvalues of S_fit
    message: str  # how it was found
    evaluations: int  # evaluations of the equations
    residual: float  # what is left of the equations, relative
    square_slope: float = field(repr=False)  # E |df/dz|_F^2, the sample side of the replicon
    bars: dict[str, float] = field(repr=False, hash=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    jump_square: float | None = field(default=None, repr=False)  # |f_B - f_A|^2 over the surface where the prox jumps

    observables = (*MEASURED, REPLICON)
    compared = tuple(observable.name for observable in MEASURED)
    spectrum_measured_as = "eigenvalues"

    @classmethod
    def of(cls, problem: Problem, values: Mapping[str, float], bars: dict[str, float], **about: Any) -> Solution:
        """The solution with these numbers, order parameters among them, and what there is to say about it."""
        overlaps, conjugates = (kind(*(values[name] for name in kind._fields)) for kind in (Overlaps, Conjugates))
        own = {name: value for name, value in values.items() if name not in Overlaps._fields + Conjugates._fields}
        return cls(problem, overlaps, conjugates, **own, bars=bars, **about)  # type: ignore[arg-type]

    @property
    def convention(self) -> str:
        """What S is made of, and what of it the scores and the loss are."""
        trained = "S = W W'/sqrt(m d)" if self.problem.penalty.factorized else "S itself, without factors,"
        return f"{trained} of scores x_a' S x_b/sqrt(d) less their mean, the loss summed over the samples"

    @property
    def target_law(self) -> SpectralLaw:
        """Law of the eigenvalues of the target."""
        return self.problem.target

    @property
    def m(self) -> float:
        """Overlap of the estimate with the target, ``Tr(S S_0)/d``."""
        return self.overlaps.m

    @property
    def q(self) -> float:
        """Overlap of the estimate with itself, ``Tr(S^2)/d``."""
        return self.overlaps.q

    @property
    def Sigma(self) -> float:
        """Response of the estimate."""
        return self.overlaps.Sigma

    @property
    def m_hat(self) -> float:
        """Weight of the target in what the learner sees."""
        return self.conjugates.m_hat

    @property
    def q_hat(self) -> float:
        """Variance of the noise in what the learner sees."""
        return self.conjugates.q_hat

    @property
    def Sigma_hat(self) -> float:
        """Curvature of what the learner sees."""
        return self.conjugates.Sigma_hat

    @property
    def delta(self) -> float:
        """Noise level ``sqrt(q_hat)/m_hat`` at which the learner sees the target."""
        return state_evolution.delta(self.conjugates)

    @property
    def cutoff(self) -> float:
        """Eigenvalues of ``S_0 + delta GOE`` below ``2 lambda~/m_hat`` become zero (-inf for a ridge: none does).

        For a penalty of one's own on positive semidefinite students, the largest eigenvalue that becomes zero, where
        one does; otherwise nan: what becomes zero is not all that is below some number.
        """
        penalty = self.problem.penalty
        if isinstance(penalty, NuclearPSD):
            return 2.0 * penalty.lambda_tilde(self.problem.kappa) / self.conjugates.m_hat
        if isinstance(penalty, Frobenius):
            return -inf
        zeros = [p.right for p in self._shrunk.plateaus if p.value == 0.0 and penalty.lowest == 0.0]
        return zeros[0] if zeros else nan

    @property
    def scale(self) -> float:
        """Factor on the eigenvalues that are kept: ``m_hat/Sigma_hat`` (``m_hat Sigma`` for a ridge).

        For a penalty of one's own nan: its shrinkage need not be a shift and a factor.
        """
        if isinstance(self.problem.penalty, NuclearPSD):
            return self.conjugates.m_hat / self.conjugates.Sigma_hat
        if isinstance(self.problem.penalty, Frobenius):
            return self.conjugates.m_hat * self.overlaps.Sigma
        return nan

    @cached_property
    def _free(self) -> FreeConvolution:
        return FreeConvolution(self.problem.target, self.delta)

    @cached_property
    def wide_rank(self) -> float:
        """Mass above the cutoff: the rank, unless the student is too narrow for it and keeps the largest part only."""
        if not self.problem.penalty.factorized:
            return self.rank
        return functionals(self.problem.target, self.delta, self.cutoff).rank

    @cached_property
    def _start(self) -> float:
        """Where the eigenvalues of ``S_0 + delta GOE`` begin that a narrow student keeps; -inf for a wide one."""
        narrow = self.problem.penalty.factorized and self.problem.kappa < self.wide_rank
        return start_of_largest(self._free, self.problem.kappa) if narrow else -inf

    @cached_property
    def _shrunk(self) -> Shrunk:
        problem = self.problem
        return state_evolution.shrunk(problem.penalty, problem.target, problem.kappa, self.conjugates)

    @cached_property
    def spectrum(self) -> LearnedSpectrum | ShrunkSpectrum:
        """Law of the eigenvalues of ``S_fit``."""
        if not self.problem.penalty.closed_form:
            return ShrunkSpectrum(self._shrunk)
        return LearnedSpectrum(self._free, self.scale, self.cutoff, self._start)

    @cached_property
    def singular_values(self) -> SingularValues:
        """Law of the singular values of ``W_fit/(m d)^(1/4)``."""
        if not self.problem.penalty.factorized:
            raise AttributeError(
                "`singular_values` is the law of a factor W, and this model trains S itself. "
                "Use `spectrum`, the law of the eigenvalues of S."
            )
        return SingularValues(self._free, self.scale, self.cutoff, self._start)

    @cached_property
    def _bands(self) -> list[tuple[Bulk, bool]]:
        """Bands of the non-zero spectrum, each with whether it is a spike."""
        spectrum = self.spectrum
        edges = spectrum.bands
        if len(edges) == 0:
            return []
        if isinstance(spectrum, ShrunkSpectrum):
            masses = spectrum.band_masses
            atoms = self._target_atoms_in_bands()[[piece.band for piece in spectrum.pieces]]
        else:
            middle_of_gaps = 0.5 * (edges[:-1, 1] + edges[1:, 0])
            masses = np.diff(np.concatenate([[1.0 - self.rank], spectrum.cdf(middle_of_gaps), [1.0]]))
            atoms = self._target_atoms_in_bands()[-len(edges) :]
        return [
            (Bulk(float(left), float(right), float(mass)), bool(count == 1 and mass < SPIKE))
            for (left, right), mass, count in zip(edges, masses, atoms, strict=True)
        ]

    def _target_atoms_in_bands(self) -> Floats:
        """How many atoms of the target each band of ``mu_delta`` holds (continuous parts count as many)."""
        bands = self.spectrum.free.bands
        positions = self.problem.target.atoms.positions
        counts = np.searchsorted(positions, bands[:, 1]) - np.searchsorted(positions, bands[:, 0])
        support = self.problem.target.support
        wide = support[support[:, 1] > support[:, 0]]
        for left, right in wide:
            counts = counts + 2 * ((bands[:, 0] < right) & (bands[:, 1] > left))
        return np.asarray(counts, dtype=np.float64)

    @cached_property
    def bulks(self) -> tuple[Bulk, ...]:
        """Bulks of the non-zero spectrum, from left to right."""
        return tuple(band for band, spike in self._bands if not spike)

    @cached_property
    def outliers(self) -> Floats:
        """Positions of single eigenvalues that stand clear of every bulk: learned features of a discrete target.

        They are fewer than the learned features of `features`: a feature is learned from ``s = delta`` on, while its
        eigenvalue is still inside of the bulk. An atom of mass w alone makes a band of its own from
        ``s = delta (w^(1/3) + (1-w)^(1/3))^(3/2)`` on, 1.15 delta at w = 1/1000, and features beside it hold it back
        further.

        Checked: tests/models/attention/theory/test_decomposition.py::test_an_outlier_is_more_than_a_learned_feature
        """
        return np.array([0.5 * (band.left + band.right) for band, spike in self._bands if spike])

    @cached_property
    def decomposition(self) -> Decomposition:
        """The error in three parts, exactly: overfitting, features that are not learned, and those that are."""
        self._must_threshold("decomposition")
        relative = (0.5 * self._relative("q_hat") + self._relative("m_hat"), self._relative("m_hat"))
        return decomposition_of(self.problem, self.delta, self.cutoff, self.scale, self.estimation_error, relative)

    @cached_property
    def learned_above(self) -> float:
        """Features of the target above this eigenvalue are learned: they stand out of the noise and are kept."""
        self._must_threshold("learned_above")
        return float(threshold(self.delta, max(self.cutoff, self._start)))

    @property
    def counterparts(self) -> tuple[Counterpart, ...]:
        """The parts of the error, which networks have if they kept their features or their weights."""
        if not isinstance(self.problem.penalty, NuclearPSD):
            return ()
        found, needs = self.decomposition, 'keep="features"'

        def measured(ensemble: Any, name: str) -> Any:
            at = {"split": found.split, "threshold": found.threshold, "scale": found.scale}
            parts = ensemble.parts(**at) if ensemble.has_features else None
            return None if parts is None else getattr(parts, name)

        return tuple(
            Counterpart(one, getattr(found, one.name), found.bars[one.name], partial(measured, name=one.name), needs)
            for one in PARTS
        )

    def features_beside(self, ensemble: Any) -> Mapping[str, Beside] | None:
        """F and e of every feature, predicted and of each network, where the networks have the features of the law."""
        if not isinstance(self.problem.penalty, NuclearPSD) or not ensemble.has_features:
            return None
        counts = ensemble.d * self.problem.target.atoms.masses[::-1]
        whole = np.round(counts).astype(np.int64)
        if whole.sum() != ensemble.d or np.abs(counts - whole).max() > 1e-6:
            return None  # its networks draw eigenvalues of their own, which are no features of the law
        table, names = self.features, ("F", "e")
        measured = ensemble.feature_values(scale=self.scale)
        first = np.concatenate([[0], np.cumsum(whole)[:-1]])
        return {
            name: Beside(table.meanings[name], getattr(table, name), np.add.reduceat(each, first, axis=1) / whole)
            for name, each in zip(names, measured, strict=True)
        }

    @cached_property
    def features(self) -> FeatureTable:
        """Every feature of a target made of atoms: whether it is learned, where its eigenvalue lies, its error."""
        if not made_of_atoms(self.problem.target):
            raise AttributeError(
                "`features` are those of a target made of single eigenvalues, and this law has a continuous part. "
                "Use `decomposition`, which takes any law."
            )
        return self.feature_table()

    def feature_table(self, k: int | None = None, *, sample_sizes: bool = False) -> FeatureTable:
        """The first `k` features, the largest of the target; by default all of them.

        With `sample_sizes` it has every number of samples at which each is learned or forgotten too: see `recovery`.
        """
        self._must_threshold("features")
        table = feature_table(self.problem.target, self._free, self.cutoff, self.scale, self._start, k)
        if not sample_sizes:
            return table
        from presage.models.attention.theory.sequential_recovery import recovery  # here: it makes solutions

        found = recovery(self.problem, features=len(table))
        unit, name = (1.0, "alpha") if found.d is None else (self.problem.samples_at_one(found.d), "n")
        known = range(1, len(found.s) + 1)
        at = [tuple((unit * found.learned_at(i)[0]).tolist()) if i in known else () for i in table.i.tolist()]
        return replace(table, learned_at=tuple(at), counted_in=name)

    def _must_threshold(self, name: str) -> None:
        """Complain where the eigenvalues are not shrunk by a shift: the parts are known for those that are."""
        if not isinstance(self.problem.penalty, NuclearPSD):
            raise AttributeError(
                f"`{name}` is known where small eigenvalues are cut off, by weight decay on the factors, and not for "
                f"{self.problem.penalty!r}. Use NuclearPSD."
            )

    @cached_property
    def _weight_factor(self) -> float:
        if isinstance(self.problem.penalty, Frobenius):
            return self.overlaps.Sigma**2
        if not self.problem.penalty.closed_form:
            return weight_factor_of_map(self._shrunk) / self.conjugates.m_hat**2
        factor = weight_factor(self.problem.target, self.delta, self.cutoff, self._start)
        return factor / self.conjugates.Sigma_hat**2

    @cached_property
    def replicon(self) -> float:
        """Below one where the prediction is stable; jumps of the proximal map are left out (see `caveats`)."""
        return replicon(self.problem.alpha, self.square_slope, self._weight_factor)

    @cached_property
    def jump_term(self) -> float | None:
        """What jumps of the proximal map add to the replicon, times the root of the distance of two copies, or None.

        Where it is not zero, two runs of message passing do not meet but stay apart by `separation`.
        """
        return (
            None if self.jump_square is None else jump_term(self.problem.alpha, self.jump_square, self._weight_factor)
        )

    @cached_property
    def separation(self) -> float | None:
        """Distance ``|S - S'|_F^2/d`` at which two runs of message passing stay, by their jumps; None if not known."""
        return None if self.jump_term is None else separation(self.replicon, self.jump_term)

    def slope(self, name: str) -> dict[str, float]:
        """Derivative of every observable in a number of the problem, such as ``slope("alpha")["test_error"]``.

        It follows from the fixed point by differentiation, with about three digits; nothing is solved again.
        """
        from presage.models.attention.theory.slopes import slopes  # here: it makes averages

        self.problem.must_have_a_penalty()
        return slopes(self.problem, self.conjugates, name)

    @cached_property
    def error_bars(self) -> dict[str, float]:
        """Half width of a 95 % interval for every number: quadrature, sampling and fixed point together."""
        bars = {name: bar for name, bar in self.bars.items() if name != "square_slope"}
        relative = self.bars["square_slope"] / self.square_slope + 2.0 * self._relative("Sigma_hat") + 1e-9
        bars["replicon"] = self.replicon * relative
        bars["delta"] = self.delta * (0.5 * self._relative("q_hat") + self._relative("m_hat"))
        bars["scale"] = abs(self.scale) * (self._relative("m_hat") + self._relative("Sigma_hat"))
        bars["cutoff"] = abs(self.cutoff) * self._relative("m_hat") if self.cutoff != -inf else 0.0
        return bars

    def _relative(self, name: str) -> float:
        value: float = getattr(self.conjugates, name)
        return self.bars[name] / value

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: where this prediction is outside the claim that supports it."""
        problem = self.problem
        said = [*problem.notes, *self.notes]
        if self.separation is not None and APART < self.separation / max(self.q, 1e-300) < inf:
            said.append(
                f"at these jumps two runs of message passing part: they stay at |S - S'|^2/d = {self.separation:.2g}, "
                f"{100 * self.separation / self.q:.2g} % of |S|^2/d, beside one another."
            )
        if self._start > -inf:
            said.append(
                f"kappa = {problem.kappa:g} is below the rank {self.wide_rank:.4g} that these eigenvalues ask for: "
                "outside the claim, which needs a student at least as wide as that. "
                "The prediction keeps the largest eigenvalues, a heuristic [GTXEKZ26]."
            )
        if self.replicon == inf:
            said.append(
                "the shrinkage of the eigenvalues jumps inside a bulk, which makes the replicon infinite: "
                "the replica-symmetric prediction is unstable here."
            )
        elif self.replicon >= 1.0:
            said.append(
                f"the replicon is {self.replicon:.3g}, not below 1: the replica-symmetric prediction is unstable here."
            )
        if problem.penalty.lowest >= 0.0 and problem.target.support[0, 0] < 0:
            said.append("the target has negative eigenvalues, which a positive semidefinite student cannot learn.")
        return tuple(said)
