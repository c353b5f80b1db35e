"""How pure clusters are."""

from __future__ import annotations

import numpy as np

from presage.models.random_hierarchy.experiment.data import Integers


def purity(clusters: Integers, symbols: Integers) -> float:
    """Part of all places whose symbol is the commonest of their cluster."""
    first, second = clusters.ravel(), symbols.ravel()
    table = np.bincount(first * (second.max() + 1) + second)
    rows = np.append(table, np.zeros(-len(table) % (second.max() + 1), dtype=table.dtype))
    return float(rows.reshape(-1, second.max() + 1).max(axis=1).sum() / len(first))
