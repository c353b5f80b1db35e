"""Sequential recovery: every sample size at which a feature of the target is learned or forgotten."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory.features import made_of_atoms
from presage.models.attention.theory.recovery_path import BEYOND_THE_PEAK, Crossing, crossings
from presage.models.attention.theory.solution import Solution
from presage.models.attention.theory.solve import solve
from presage.protocol import checks
from presage.protocol.recovery import Recovery

FEW = 10  # features that are followed by default where every sample size is a problem to be solved
FOLLOWED = 1e-6  # relative error of a sample size on the curve of a linear channel
BRACKETED = 1e-4  # and by brackets, of problems that are solved no better than that
STRIDE = log(4.0)  # between sample sizes that are solved first; the middle of each interval is looked at too
BENT = 0.1  # of the logarithm of the threshold: an interval whose middle is further off its chord is halved
LEAST, MOST = log(1e-9), log(1e6)  # of alpha: how far brackets are looked for


def recovery(problem: Problem, *, features: int | None = None) -> Recovery:
    """When each feature of the target is learned, as samples are added and everything else stays.

    The largest are learned first. Near the interpolation peak the noise grows with the samples: features may be
    forgotten there and learned again beyond, and every such crossing is found.

    Args:
        problem: what is learned; its alpha plays no part.
        features: how many are followed, the largest first; by default all for linear channels, where they share one
            curve, and ten where every sample size is a problem to be solved.

    Raises:
        SolveError: where the problem cannot be solved at a sample size on the way.

    Equation: derived: feature i is learned if ``s_i > s_*(delta, c)``.
    Checked: tests/models/attention/theory/test_sequential_recovery.py::test_check_values
    Checked:
        tests/models/attention/theory/test_sequential_recovery.py::test_linear_attention_needs_fewer_samples_by_its_scores
    """
    problem.must_have_a_penalty()
    penalty = problem.penalty
    if not isinstance(penalty, NuclearPSD):
        reason = "a feature is learned if its eigenvalue is above a cutoff, which weight decay makes"
        remedy = "Use weight decay on the factors, NuclearPSD."
        raise checks.complaint("penalty", "be a NuclearPSD", reason, penalty, remedy)
    linear = problem.channel.linear and problem.kappa >= 1.0
    s = positive_features(problem.target)
    count, notes = len(s), []
    if features is not None:
        reason, remedy = "it is how many features are followed", "Use for example <features=10>, or leave it out."
        count = checks.integer("features", features, at_least=1, reason=reason, remedy=remedy)
    elif not linear and len(s) > FEW:
        count = FEW
        notes.append(
            f"the first {FEW} of {len(s)} features were followed, since every sample size is solved for itself here: "
            "features=... follows more."
        )
    s = s[:count]
    if linear:
        tokens = problem.channel.n_in
        found, path = crossings(problem.target, problem.noise, penalty.lambda_tilde(problem.kappa), s)
        found = [one._replace(alpha=one.alpha / tokens) for one in found]
        notes += [path.note] if path.note else []
        ends, error = (exp(path.at[0]) / tokens, exp(path.at[-1]) / tokens), FOLLOWED
    else:
        curve = _Threshold(problem)
        found, ends, error = curve.crossings(s), curve.ends, curve.error
        notes += curve.notes
    masses = problem.target.atoms.masses
    equal = float(np.ptp(masses)) < 1e-9 * float(masses[0])
    return Recovery(
        problem=problem,
        s=s,
        feature=np.array([one.feature + 1 for one in found], dtype=np.int64),
        alpha=np.array([one.alpha for one in found]),
        learned=np.array([one.learned for one in found], dtype=np.bool_),
        followed=ends,
        d=len(masses) if equal else None,
        relative_error=error,
        notes=tuple(notes),
    )


def positive_features(target: SpectralLaw) -> Floats:
    """Positive eigenvalues of a target made of atoms, the largest first; others are never learned."""
    positions = target.atoms.positions
    if not made_of_atoms(target) or positions[-1] <= 0.0:
        raise checks.complaint(
            "target",
            "be made of single eigenvalues, some of them positive",
            "a feature is one eigenvalue, and a positive semidefinite student learns positive ones",
            target,
            "Use for example PowerLaw(1.25, d=400), PointMasses or Empirical.",
        )
    return np.asarray(positions[positions > 0.0][::-1].copy())


class _Threshold:
    """Logarithm of the least eigenvalue that is learned against that of alpha, by solving the problem there."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.solved: dict[float, Solution] = {}
        self.notes: list[str] = []
        self.error = BRACKETED  # relative, of the sample sizes that were found

    def __call__(self, y: float) -> float:
        if y not in self.solved:
            near = min(self.solved, key=lambda other: abs(other - y), default=None)
            init = None if near is None or self.problem.channel.linear else self.solved[near]
            self.solved[y] = solve(self.problem.replace(alpha=exp(y)), init=init)
        return log(self.solved[y].learned_above)

    @property
    def ends(self) -> tuple[float, float]:
        """Range of alpha that was solved."""
        return exp(min(self.solved)), exp(max(self.solved))

    def crossings(self, s: Floats) -> list[Crossing]:
        """Every alpha at which one of the features is passed: a grid first, halved where it bends, then brackets."""
        levels = np.log(s)
        low = log(self.problem.rho_0 / (2.0 * s[0] ** 2 * self.problem.channel.n_in)) - STRIDE
        low = min(max(low, LEAST), MOST)
        while self(low) <= levels[0] and low > LEAST:
            low = max(low - STRIDE, LEAST)
        high = low
        while high < MOST and (self(high) >= levels[-1] or high < log(BEYOND_THE_PEAK)):
            high = min(high + STRIDE, MOST)
        self(high)
        if self(high) >= levels[-1]:
            self.notes.append(f"features were followed up to alpha = {exp(high):.3g}, where not all are learned yet.")
        grid = sorted(self.solved)
        for left, right in pairwise(grid):
            self._halve(left, right)
        return sorted(
            (one for i, level in enumerate(levels) for one in self._of(i, float(level))), key=lambda one: one.alpha
        )

    def _halve(self, left: float, right: float) -> None:
        middle = 0.5 * (left + right)
        if right - left < 0.05 * STRIDE or abs(self(middle) - 0.5 * (self(left) + self(right))) < BENT:
            return
        self._halve(left, middle)
        self._halve(middle, right)

    def _of(self, i: int, level: float) -> list[Crossing]:
        grid = sorted(self.solved)
        found = []
        for left, right in pairwise(grid):
            a, b = self(left) - level, self(right) - level
            if (a >= 0.0) != (b >= 0.0):
                found.append(Crossing(i, exp(self._root(left, right, a, b, level)), a >= 0.0))
        return found

    def _root(self, left: float, right: float, a: float, b: float, level: float) -> float:
        """Where the threshold is at a level: false position, with the stale end halved (Illinois)."""
        side = 0
        while right - left > BRACKETED:
            middle = left + (right - left) * a / (a - b)
            middle = min(max(middle, left + 0.2 * BRACKETED), right - 0.2 * BRACKETED)
            value, bar = self(middle) - level, self._bar(middle)
            if abs(value) < max(0.2 * BRACKETED, bar):
                steepness = abs(a - b) / (right - left)
                self.error = max(self.error, bar / steepness)
                return middle
            if (value >= 0.0) == (a >= 0.0):
                left, a, b, side = middle, value, b * (0.5 if side == 1 else 1.0), 1
            else:
                right, b, a, side = middle, value, a * (0.5 if side == -1 else 1.0), -1
        return 0.5 * (left + right)

    def _bar(self, y: float) -> float:
        """How well the logarithm of the threshold is known: no sample size is known better than that."""
        found = self.solved[y]
        return found.error_bars["delta"] / found.delta
