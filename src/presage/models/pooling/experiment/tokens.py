"""A real table of tokens, real sequences of them, and what pooling makes of a sequence."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.pooling.problem import PoolingProblem

BLOCK_BYTES = 64e6  # sequences whose scores are taken are held in blocks of about this size


class Table(NamedTuple):
    """Tokens as rows, the class of each, and the direction that tells the classes apart."""

    tokens: Floats  # V x d
    sign: Any  # 1 or -1 of each
    direction: Floats  # of mu, of length one; without a signal some direction


def draw_table(signal: float, d: int, size: int, rng: np.random.Generator) -> Table:
    """``E = mu s' + Z``: as many tokens of one class as of the other, or one more."""
    direction = rng.standard_normal(d)
    direction /= np.linalg.norm(direction)
    sign = np.where(np.arange(size) < size // 2, -1, 1)
    return Table(rng.standard_normal((size, d)) + sign[:, None] * (np.sqrt(signal) * direction), sign, direction)


def draw_sequences(problem: PoolingProblem, table: Table, count: int, rng: np.random.Generator) -> Any:
    """Numbers of the tokens of many sequences, one row each: any token of the class that was drawn for its place."""
    classes = problem.classes.draw(count, problem.n_tokens, rng)
    half = len(table.sign) // 2  # tokens of class -1 come first
    first = np.where(classes < 0, 0, half)
    many = np.where(classes < 0, half, len(table.sign) - half)
    return first + np.floor(rng.random(classes.shape) * many).astype(np.int64)


def pooled(problem: PoolingProblem, table: Table, sequences: Any) -> tuple[Floats, float]:
    """Every sequence as one vector, and the mean of ``|w|^2`` over them."""
    count, n_tokens = sequences.shape
    if problem.pooling.by_scores:
        weights = attended(problem.pooling.tau, table.tokens, sequences)  # type: ignore[attr-defined]
    else:
        weights = np.broadcast_to(problem.weights, (count, n_tokens))
    starts = np.arange(0, count * n_tokens + 1, n_tokens)
    picked = scipy.sparse.csr_array(
        (np.ravel(weights), sequences.ravel(), starts), shape=(count, len(table.tokens))
    )  # a token that comes twice is added twice
    return np.asarray(picked @ table.tokens), float(np.mean(np.sum(weights**2, axis=1)))


def attended(tau: float, tokens: Floats, sequences: Any) -> Floats:
    """Weight of every token in the mean output of causal self-attention: a softmax of ``tau <e_i, e_j>/d``, j <= i."""
    count, n_tokens = sequences.shape
    d = tokens.shape[1]
    later = np.triu(np.ones((n_tokens, n_tokens), dtype=bool), k=1)
    found = np.empty((count, n_tokens))
    block = max(1, int(BLOCK_BYTES / (8 * n_tokens * (d + n_tokens))))
    for start in range(0, count, block):
        e = tokens[sequences[start : start + block]]
        scores = tau / d * (e @ e.transpose(0, 2, 1))
        scores[:, later] = -np.inf
        attention = np.exp(scores - scores.max(axis=2, keepdims=True))
        attention /= attention.sum(axis=2, keepdims=True)
        found[start : start + block] = attention.mean(axis=1)
    return found
