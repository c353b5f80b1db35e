"""A rectangular problem: one matrix without symmetry, seen through bilinear measurements."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, Self, final, get_args

from presage.laws.rectangular_law import RectangularLaw
from presage.protocol import checks
from presage.protocol.field_names import field_names

Pairs = Literal["cross", "distinct", "all"]


@final
@dataclass(frozen=True)
class BilinearProblem:
    """A target M (p x N), the amount of data, the noise, the weight decay, and how a sample sees the target.

    Without tokens a sample is ``y = <X, M>/(p N)^(1/4) + sqrt(noise) xi`` with X Gaussian. With ``T = n_tokens`` tokens
    it is the matrix of the scores ``q_a' M k_b/sqrt(d)``, each with its own noise, over the pairs (a, b) that `pairs`
    names: "cross", all T^2 of two sequences, queries from one and keys from the other; "distinct", the T(T-1) pairs
    ``a != b`` of one sequence; "all", the T^2 pairs of one sequence, with ``Tr M/sqrt(d)`` subtracted on the diagonal.

    The loss is the sum of the squared errors plus ``weight_decay (|W_1|_F^2 + |W_2|_F^2)`` with
    ``M = W_1 W_2'/sqrt(p N)``, whose minimum over the factors is ``2 weight_decay sqrt(p N)`` times the nuclear norm
    of M. `weight_decay` is None where nothing is trained (the Bayes-optimal answer needs none), and 0 means the limit
    0+: of all minima of the loss, the one of least nuclear norm.
    """

    target: RectangularLaw
    alpha: float  # samples over p N
    noise: float = 0.0
    weight_decay: float | None = None
    n_tokens: int | None = None
    pairs: Pairs = "cross"

    def __post_init__(self) -> None:
        checks.instance(
            "target",
            self.target,
            RectangularLaw,
            reason="a matrix without symmetry has a law of singular values",
            remedy="Use for example target=GaussianProduct(0.5).",
        )
        alpha = checks.real(
            "alpha",
            self.alpha,
            at_least=1e-9,
            at_most=1e6,
            reason="it is the number of samples over the number of entries of the target",
            remedy="Use for example alpha=0.5.",
        )
        noise = checks.real(
            "noise",
            self.noise,
            at_least=0.0,
            at_most=1e6,
            reason="it is the variance of the label noise",
            remedy="Use for example noise=0.5, or 0.0 for clean labels.",
        )
        if self.weight_decay is not None:
            decay = checks.real(
                "weight_decay",
                self.weight_decay,
                at_least=0.0,
                at_most=1e6,
                reason="it multiplies the squared norm of both factors",
                remedy="Use for example weight_decay=0.1, 0.0 for its limit, or None where nothing is trained.",
            )
            object.__setattr__(self, "weight_decay", decay)
        if not 0.0 < self.target.second_moment + noise < 1e12:
            raise checks.complaint(
                "target",
                "have a positive second moment, below 1e12",
                "singular values of order one are meant, and without noise a zero target leaves nothing to learn",
                self.target,
                "Scale the singular values, or set noise > 0.",
            )
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "noise", noise)
        self._check_tokens()

    def _check_tokens(self) -> None:
        if self.pairs not in get_args(Pairs):
            raise checks.complaint(
                "pairs",
                'be "cross", "distinct" or "all"',
                "it says which scores are seen",
                self.pairs,
                'Use for example pairs="cross".',
            )
        if self.n_tokens is None:
            return
        tokens = checks.integer(
            "n_tokens",
            self.n_tokens,
            at_least=2 if self.pairs == "distinct" else 1,
            at_most=1000,
            reason="it is the number of tokens of a sequence, and a pair of distinct ones needs two",
            remedy="Use for example n_tokens=2.",
        )
        object.__setattr__(self, "n_tokens", tokens)
        if self.target.aspect != 1.0:
            raise checks.complaint(
                "target",
                "have aspect 1",
                "queries and keys of one token have the same dimension",
                self.target,
                "Use for example GaussianProduct(0.5), or bilinear_regression for a rectangular target.",
            )

    @property
    def Q_0(self) -> float:
        """Size of the target: the variance of a clean measurement."""
        return self.target.second_moment

    @property
    def components(self) -> int:
        """Scores that a sample shows."""
        if self.n_tokens is None:
            return 1
        return self.n_tokens * (self.n_tokens - (self.pairs == "distinct"))

    @property
    def alpha_eff(self) -> float:
        """Measurements over the number of entries of the target."""
        return self.alpha * self.components

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some numbers changed: of the problem, or of its target (``rank``, ``aspect`` ...)."""
        own = {field.name for field in dataclasses.fields(self)}
        target: Any = changes.get("target", self.target)
        inner = {field.name for field in dataclasses.fields(target)} if dataclasses.is_dataclass(target) else set()
        unknown = sorted(changes.keys() - own - inner)
        if unknown:
            raise checks.complaint(
                "replace",
                "be given names that the problem has",
                "a misspelt name would silently change nothing",
                ", ".join(unknown),
                f"This problem has {', '.join(sorted(own | inner))}.",
            )
        direct = {name: value for name, value in changes.items() if name in own}
        of_target = {name: value for name, value in changes.items() if name not in own}
        if of_target:
            direct["target"] = dataclasses.replace(target, **of_target)
        return dataclasses.replace(self, **direct)

    def names(self) -> list[str]:
        """Names that `replace` understands."""
        return field_names(self, self.target)


def bilinear_regression(
    target: RectangularLaw, *, alpha: float, noise: float = 0.0, weight_decay: float | None = None
) -> BilinearProblem:
    """Regression on sequences of L tokens of dimension d: ``y = <X, S>/sqrt(d L)``, ``alpha = n/(d L)``."""
    return BilinearProblem(target, alpha, noise, weight_decay)


def untied_linear_attention(
    target: RectangularLaw,
    *,
    alpha: float,
    weight_decay: float | None,
    noise: float = 0.0,
    n_tokens: int = 2,
    pairs: Pairs = "cross",
) -> BilinearProblem:
    """Linear attention with separate query and key matrices, ``S = W_Q W_K'/d``, ``alpha = n/d^2``."""
    return BilinearProblem(target, alpha, noise, weight_decay, n_tokens, pairs)
