"""Problems of this model that have a name: an adapter on any pre-training, and the two kinds with all their numbers."""

from __future__ import annotations

from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.declaration import BETA, BETA_0, KAPPA, N_TOKENS, N_TOKENS_LINEAR, NOISE
from presage.models.attention.named import attention, linear_attention
from presage.models.attention.problem import Problem
from presage.models.lora.declaration import RANK, RECALIBRATION, REUSE, SELECTION, STRENGTH, TARGET_RANK
from presage.models.lora.problem import LoraProblem, Reuse


def lora(
    pretraining: Problem,
    *,
    alpha: float,
    weight_decay: float,
    strength: float = STRENGTH.default,
    rank: int = RANK.default,
    target_rank: int = TARGET_RANK.default,
    recalibration: float = RECALIBRATION.default,
    selection: float = SELECTION.default,
    reuse: Reuse = REUSE.default,
) -> LoraProblem:
    """An adapter of low rank on the frozen layer of a pre-training, ``attention(...)`` or ``linear_attention(...)``."""
    return LoraProblem(pretraining, alpha, weight_decay, strength, rank, target_rank, recalibration, selection, reuse)


def linear_lora(
    target: SpectralLaw,
    *,
    pretraining_alpha: float,
    pretraining_weight_decay: float,
    alpha: float,
    weight_decay: float,
    noise: float = NOISE.default,
    n_tokens: int = N_TOKENS_LINEAR.default,
    kappa: float = KAPPA.default,
    strength: float = STRENGTH.default,
    rank: int = RANK.default,
    target_rank: int = TARGET_RANK.default,
    recalibration: float = RECALIBRATION.default,
    selection: float = SELECTION.default,
    reuse: Reuse = REUSE.default,
) -> LoraProblem:
    """An adapter on linear attention, with the numbers of both stages side by side."""
    before = linear_attention(
        target,
        alpha=pretraining_alpha,
        weight_decay=pretraining_weight_decay,
        noise=noise,
        n_tokens=n_tokens,
        kappa=kappa,
    )
    return LoraProblem(before, alpha, weight_decay, strength, rank, target_rank, recalibration, selection, reuse)


def softmax_lora(
    target: SpectralLaw,
    *,
    pretraining_alpha: float,
    pretraining_weight_decay: float,
    alpha: float,
    weight_decay: float,
    noise: float = NOISE.default,
    n_tokens: int = N_TOKENS.default,
    beta: float = BETA.default,
    beta_0: float | None = BETA_0.default,
    kappa: float = KAPPA.default,
    strength: float = STRENGTH.default,
    rank: int = RANK.default,
    target_rank: int = TARGET_RANK.default,
    recalibration: float = RECALIBRATION.default,
    selection: float = SELECTION.default,
    reuse: Reuse = REUSE.default,
) -> LoraProblem:
    """An adapter on softmax attention, with the numbers of both stages side by side."""
    before = attention(
        target,
        alpha=pretraining_alpha,
        weight_decay=pretraining_weight_decay,
        noise=noise,
        n_tokens=n_tokens,
        beta=beta,
        beta_0=beta_0,
        kappa=kappa,
    )
    return LoraProblem(before, alpha, weight_decay, strength, rank, target_rank, recalibration, selection, reuse)
