"""Orthonormal frames, uniform over all rotations."""

from __future__ import annotations

import numpy as np

from presage.laws.spectral_law import Floats


def random_frame(size: int, columns: int, rng: np.random.Generator) -> Floats:
    """Orthonormal columns, uniform over all rotations (the bare QR factor is not)."""
    frame, triangle = np.linalg.qr(rng.standard_normal((size, columns)))
    return np.asarray(frame * np.sign(np.diag(triangle)))
