"""What both kinds of noisy spectra share: bands of a parameter, and panels that cover a piece of one."""

from __future__ import annotations

import numpy as np
import pytest

from presage.spectra.bands import inside_bands, parameter_above
from presage.spectra.legendre_panels import WEIGHTS, graded_panels, halved, nodes_of

BANDS = np.array([[0.0, 1.0], [2.0, 5.0]])


def test_a_parameter_is_in_a_band_or_in_a_gap():
    u = np.array([-0.1, 0.0, 0.5, 1.0, 1.5, 2.0, 4.9, 5.0, 6.0])
    expected = [any(left <= each < right for left, right in BANDS) for each in u]
    assert inside_bands(u, BANDS).tolist() == expected


@pytest.mark.parametrize(("c", "expected"), [(-1.0, 0.0), (1.0, 0.5), (2.5, 2.0), (8.0, 4.0), (10.0, np.inf)])
def test_the_parameter_above_a_point_is_its_own_or_that_of_the_next_band(c, expected):
    assert parameter_above(c, 2.0 * BANDS, BANDS, lambda x: 0.5 * x) == expected


def integral(panels, f):
    """Integral of f over u, by the nodes of the panels."""
    stretch, theta, u = nodes_of(*panels)
    return float(np.sum(f(u) * panels[1][:, None] * np.cos(theta) * stretch[:, None] * WEIGHTS))


@pytest.mark.parametrize("levels", [(0, 0), (3, 0), (2, 7)])
def test_panels_cover_their_piece_once_and_so_do_their_halves(levels):
    panels = graded_panels(1.5, 0.5, np.array(levels))
    assert len(panels[0]) == sum(levels) + 2
    np.testing.assert_array_equal(panels[2][1:], panels[3][:-1])
    assert integral(panels, np.exp) == pytest.approx(np.exp(2.0) - np.exp(1.0), rel=1e-14)
    finer = halved(*panels, np.ones(len(panels[0]), dtype=np.bool_))
    assert len(finer[0]) == 2 * len(panels[0])
    assert integral(finer, np.exp) == pytest.approx(np.exp(2.0) - np.exp(1.0), rel=1e-14)


def test_only_rough_panels_are_halved():
    panels = graded_panels(0.0, 1.0, np.array([1, 1]))
    rough = np.array([True, False, False, True])
    first, last = halved(*panels, rough)[2:]
    np.testing.assert_array_equal(first[::2], panels[2][rough])
    np.testing.assert_array_equal(last[1::2], panels[3][rough])
    np.testing.assert_array_equal(last[::2], first[1::2])
