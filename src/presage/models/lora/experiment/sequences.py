"""Sequences of the two stages at finite size: what the frozen layer makes of them, and their labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel


@final
@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences with the scores of the frozen layer, recalibrated, and the labels of the new task."""

    tokens: Floats = field(repr=False)  # (n T) x d
    frozen: Floats = field(repr=False)  # n x T x T
    labels: Floats = field(repr=False)  # n x T x T
    channel: Channel

    @property
    def n(self) -> int:
        """Number of sequences."""
        return len(self.labels)

    @property
    def d(self) -> int:
        """Dimension of a token."""
        return int(self.tokens.shape[1])


def scores(tokens: Floats, S: Floats, n_tokens: int) -> Floats:
    """``(X S X' - Tr S 1)/sqrt(d)`` of each sequence, n x T x T."""
    d = len(S)
    X = tokens.reshape(-1, n_tokens, d)
    raw = np.matmul((tokens @ S).reshape(X.shape), X.transpose(0, 2, 1))
    return np.asarray((raw - np.trace(S) * np.eye(n_tokens)) / sqrt(d))


def adapter_scores(tokens: Floats, w: Floats, n_tokens: int) -> Floats:
    """``chi chi' - Tr(w'w/d) 1`` with ``chi = X w/sqrt(d)``, n x T x T."""
    d, r = w.shape
    chi = (tokens @ w).reshape(-1, n_tokens, r) / sqrt(d)
    return np.asarray(np.matmul(chi, chi.transpose(0, 2, 1)) - float(np.sum(w * w)) / d * np.eye(n_tokens))


def components(R: Floats) -> Floats:
    """Independent components of symmetric scores, n x T(T+1)/2."""
    rows, columns = np.triu_indices(R.shape[-1])
    return np.asarray(R[:, rows, columns] / np.where(rows == columns, sqrt(2.0), 1.0))


def labels_of(channel: Channel, z_0: Floats, new: Floats) -> Floats:
    """Labels of the new task: the old target's scores, noise included, with those of the new part added."""
    return channel.target_output(components(channel.matrix(z_0) + new))
