"""Problems of this model that have a name: each a target, a channel and a penalty."""

from __future__ import annotations

from math import inf

from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.channels.hardmax import Hardmax
from presage.models.attention.channels.huber import Huber
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.pair_comparison import PairComparison
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.declaration import (
    BETA,
    BETA_0,
    KAPPA,
    N_TOKENS,
    N_TOKENS_FROM_ONE,
    N_TOKENS_LINEAR,
    NOISE,
    THRESHOLD,
)
from presage.models.attention.penalties.elastic_spectral import ElasticSpectral
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem


def attention(
    target: SpectralLaw,
    *,
    alpha: float,
    weight_decay: float,
    noise: float = NOISE.default,
    n_tokens: int = N_TOKENS.default,
    beta: float = BETA.default,
    beta_0: float | None = BETA_0.default,
    kappa: float = KAPPA.default,
) -> Problem:
    """Single-head tied softmax attention with weight decay on its factor W, of width ``m = kappa d``."""
    return Problem(target, Softmax(n_tokens, beta, beta_0), NuclearPSD(weight_decay), alpha, noise, kappa)


def quadratic_network(
    target: SpectralLaw,
    *,
    alpha: float,
    weight_decay: float,
    noise: float = NOISE.default,
    kappa: float = KAPPA.default,
) -> Problem:
    """Two-layer network with quadratic activation and weight decay: one token, identity output."""
    return Problem(target, Linear(1), NuclearPSD(weight_decay), alpha, noise, kappa)


def linear_attention(
    target: SpectralLaw,
    *,
    alpha: float,
    weight_decay: float,
    noise: float = NOISE.default,
    n_tokens: int = N_TOKENS_LINEAR.default,
    kappa: float = KAPPA.default,
) -> Problem:
    """Attention without its softmax: the T x T matrix of scores is the output."""
    return Problem(target, Linear(n_tokens), NuclearPSD(weight_decay), alpha, noise, kappa)


def unfactorized_attention(
    target: SpectralLaw,
    *,
    alpha: float,
    ridge: float,
    noise: float = NOISE.default,
    n_tokens: int = N_TOKENS.default,
    beta: float = BETA.default,
    beta_0: float | None = BETA_0.default,
) -> Problem:
    """Softmax attention whose symmetric matrix S is trained entry by entry, with a ridge on it."""
    return Problem(target, Softmax(n_tokens, beta, beta_0), Frobenius(ridge), alpha, noise)


def unfactorized_linear_attention(
    target: SpectralLaw,
    *,
    alpha: float,
    ridge: float,
    noise: float = NOISE.default,
    n_tokens: int = N_TOKENS_FROM_ONE.default,
) -> Problem:
    """Linear attention (a quadratic network for one token) whose symmetric S is trained entry by entry, with a ridge.

    With ``ridge=0.0`` its minimum need not be unique; its training from zero is a way all the same, see `MatrixFlow`.
    """
    return Problem(target, Linear(n_tokens), Frobenius(ridge), alpha, noise)


def hardmax_attention(
    target: SpectralLaw,
    *,
    alpha: float,
    noise: float = NOISE.default,
    weight_decay: float = 0.0,
    kappa: float = KAPPA.default,
) -> Problem:
    """Attention to the token of the largest score alone, for two tokens: it has a Bayes-optimal error, but no slope."""
    return Problem(target, Hardmax(2), NuclearPSD(weight_decay), alpha, noise, kappa)


def pair_comparison(
    target: SpectralLaw,
    *,
    alpha: float,
    weight_decay: float,
    noise: float = NOISE.default,
    beta: float = BETA.default,
    beta_0: float | None = BETA_0.default,
    kappa: float = KAPPA.default,
) -> Problem:
    """Learn a quadratic score ``x' S x`` from which of two tokens is preferred, with weight decay on its factor W.

    `noise` is a variance inside the target's scores; the label is random beyond that, the more so the smaller
    ``beta_0``.
    """
    return Problem(target, PairComparison(beta, beta_0), NuclearPSD(weight_decay), alpha, noise, kappa)


def robust_network(
    target: SpectralLaw,
    *,
    alpha: float,
    weight_decay: float,
    noise: float = NOISE.default,
    threshold: float = THRESHOLD.default,
    n_tokens: int = N_TOKENS_FROM_ONE.default,
    kappa: float = KAPPA.default,
) -> Problem:
    """Quadratic network (linear attention for more tokens) trained with the Huber loss instead of the square."""
    return Problem(target, Huber(n_tokens, threshold), NuclearPSD(weight_decay), alpha, noise, kappa)


def elastic_attention(
    target: SpectralLaw,
    *,
    alpha: float,
    nuclear: float,
    ridge: float,
    lowest: float = -inf,
    noise: float = NOISE.default,
    n_tokens: int = N_TOKENS.default,
    beta: float = BETA.default,
    beta_0: float | None = BETA_0.default,
) -> Problem:
    """Softmax attention whose matrix S is trained entry by entry, with an elastic net on its eigenvalues."""
    return Problem(target, Softmax(n_tokens, beta, beta_0), ElasticSpectral(nuclear, ridge, lowest), alpha, noise)
