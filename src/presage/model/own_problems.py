"""Named problems with the penalties of `own_penalties`."""

from __future__ import annotations

from math import inf

from presage.model.channels import Softmax
from presage.model.laws import SpectralLaw
from presage.model.own_penalties import ElasticSpectral
from presage.model.problem import Problem


def elastic_attention(
    target: SpectralLaw,
    *,
    alpha: float,
    nuclear: float,
    ridge: float,
    lowest: float = -inf,
    noise: float = 0.0,
    n_tokens: int = 2,
    beta: float = 1.0,
    beta_0: float | None = None,
) -> Problem:
    """Softmax attention whose matrix S is trained entry by entry, with an elastic net on its eigenvalues."""
    return Problem(target, Softmax(n_tokens, beta, beta_0), ElasticSpectral(nuclear, ridge, lowest), alpha, noise)
