"""A problem: what is learned, from how much data, with what noise and what penalty."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self, final

from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.hardmax import Hardmax
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.penalties.penalty import Penalty
from presage.protocol import checks
from presage.protocol.field_names import field_names


@final
@dataclass(frozen=True)
class Problem:
    """Three choices (target, channel, penalty) and three numbers (alpha, noise, kappa)."""

    target: SpectralLaw
    channel: Channel
    penalty: Penalty
    alpha: float
    noise: float = 0.0
    kappa: float = 1.0

    def __post_init__(self) -> None:
        kinds = {"target": SpectralLaw, "channel": Channel, "penalty": Penalty}
        examples = {"target": "MarchenkoPastur(0.5)", "channel": "Softmax(2)", "penalty": "NuclearPSD(0.01)"}
        for name, kind in kinds.items():
            checks.instance(
                name,
                getattr(self, name),
                kind,
                reason="a problem is made of a target law, a channel and a penalty",
                remedy=f"Use for example {name}={examples[name]}.",
            )
        alpha = checks.real(
            "alpha",
            self.alpha,
            above=0.0,
            at_most=1e6,
            reason="it is the number of samples over the squared dimension, n/d^2",
            remedy="Use for example alpha=0.5.",
        )
        noise = checks.real(
            "noise",
            self.noise,
            at_least=0.0,
            at_most=1e6,
            reason="it is the variance of the label noise, and beyond 1e6 the labels hold nothing of the target",
            remedy="Use for example noise=0.5, or 0.0 for clean labels.",
        )
        kappa = checks.real(
            "kappa",
            self.kappa,
            above=0.0,
            at_most=1e6,
            reason="it is the width of the student over the dimension, m/d",
            remedy="Use for example kappa=1.0.",
        )
        if alpha < 1e-9:
            reason = "with less data than that every digit of the answer is noise"
            raise checks.complaint("alpha", "be at least 1e-9", reason, alpha, "Use for example alpha=0.5.")
        if not self.target.second_moment < 1e12:
            raise checks.complaint(
                "target",
                "have a second moment below 1e12",
                "eigenvalues of order one are meant, and digits are lost long before that",
                self.target,
                "Measure it in larger units: scale the eigenvalues down.",
            )
        if not self.target.second_moment + noise > 0:
            raise checks.complaint(
                "target",
                "have a positive second moment when there is no noise",
                "a zero target with clean labels has nothing to learn and nothing to fit",
                self.target,
                "Give it an eigenvalue, or set noise > 0.",
            )
        for name, number in (("alpha", alpha), ("noise", noise), ("kappa", kappa)):
            object.__setattr__(self, name, number)

    @property
    def Q_0(self) -> float:
        """Second moment of the target's eigenvalues."""
        return self.target.second_moment

    @property
    def rho_0(self) -> float:
        """Variance of a component of the target's pre-activation, label noise included: ``Q_0 + noise/2``."""
        return self.Q_0 + 0.5 * self.noise

    def must_have_a_penalty(self) -> None:
        """Complain if nothing is paid for the weights: what a minimum of the loss looks like is then not determined."""
        if self.penalty.vanishes:
            name = dataclasses.fields(self.penalty)[0].name  # type: ignore[arg-type]
            raise checks.complaint(
                name,
                "be above 0 here",
                "without a penalty the minimum of the loss need not be unique",
                getattr(self.penalty, name),
                f"Use a small value such as {name}=1e-4, or ridgeless(problem) for the vanishing limit.",
            )

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some numbers or choices changed.

        Names of the problem itself (``alpha``, ``noise``, ``kappa``, ``target``, ``channel``, ``penalty``) and of
        its three parts (``weight_decay``, ``ridge``, ``beta``, ``beta_0``, ``n_tokens``, ``kappa_0``, ``gamma``
        ...) are understood alike.
        """
        own = {field.name for field in dataclasses.fields(self)}
        direct = {name: value for name, value in changes.items() if name in own}
        for part in ("channel", "penalty", "target"):
            current = direct.get(part, getattr(self, part))
            names = (
                {field.name for field in dataclasses.fields(current)} if dataclasses.is_dataclass(current) else set()
            )
            inner = {name: value for name, value in changes.items() if name in names and name not in own}
            if inner:
                if inner.keys() == {"beta"} and getattr(current, "beta_0", None) == getattr(current, "beta", None):
                    inner["beta_0"] = inner["beta"]  # equal temperatures stay equal
                direct[part] = dataclasses.replace(current, **inner)
                changes = {name: value for name, value in changes.items() if name not in inner}
        unknown = [name for name in changes if name not in own]
        if unknown:
            raise checks.complaint(
                "replace",
                "be given names that the problem has",
                "a misspelt name would silently change nothing",
                ", ".join(unknown),
                f"This problem has {', '.join(self.names())}.",
            )
        return dataclasses.replace(self, **direct)

    def names(self) -> list[str]:
        """Names that `replace` understands."""
        return field_names(self, self.channel, self.penalty, self.target)


def attention(
    target: SpectralLaw,
    *,
    alpha: float,
    weight_decay: float,
    noise: float = 0.0,
    n_tokens: int = 2,
    beta: float = 1.0,
    beta_0: float | None = None,
    kappa: float = 1.0,
) -> Problem:
    """Single-head tied softmax attention with weight decay on its factor W, of width ``m = kappa d``."""
    return Problem(target, Softmax(n_tokens, beta, beta_0), NuclearPSD(weight_decay), alpha, noise, kappa)


def quadratic_network(
    target: SpectralLaw, *, alpha: float, weight_decay: float, noise: float = 0.0, kappa: float = 1.0
) -> Problem:
    """Two-layer network with quadratic activation and weight decay: one token, identity output."""
    return Problem(target, Linear(1), NuclearPSD(weight_decay), alpha, noise, kappa)


def linear_attention(
    target: SpectralLaw,
    *,
    alpha: float,
    weight_decay: float,
    noise: float = 0.0,
    n_tokens: int = 2,
    kappa: float = 1.0,
) -> Problem:
    """Attention without its softmax: the T x T matrix of scores is the output."""
    return Problem(target, Linear(n_tokens), NuclearPSD(weight_decay), alpha, noise, kappa)


def unfactorized_attention(
    target: SpectralLaw,
    *,
    alpha: float,
    ridge: float,
    noise: float = 0.0,
    n_tokens: int = 2,
    beta: float = 1.0,
    beta_0: float | None = None,
) -> Problem:
    """Softmax attention whose symmetric matrix S is trained entry by entry, with a ridge on it."""
    return Problem(target, Softmax(n_tokens, beta, beta_0), Frobenius(ridge), alpha, noise)


def hardmax_attention(
    target: SpectralLaw, *, alpha: float, noise: float = 0.0, weight_decay: float = 0.0, kappa: float = 1.0
) -> Problem:
    """Attention to the token of the largest score alone, for two tokens: it has a Bayes-optimal error, but no slope."""
    return Problem(target, Hardmax(2), NuclearPSD(weight_decay), alpha, noise, kappa)
