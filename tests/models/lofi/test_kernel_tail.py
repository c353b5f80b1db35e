"""Orders of an activation and the tail above the active one."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.lofi.theory.kernel_tail import order_masses


def relu(u):
    return np.maximum(u, 0.0)


def centred_relu(u):
    return np.maximum(u, 0.0) - 1.0 / np.sqrt(2.0 * np.pi) - 0.5 * u


def test_orders_of_relu():
    masses = order_masses(relu, 3)
    assert masses == pytest.approx([1.0 / (2.0 * np.pi), 0.25, 1.0 / (4.0 * np.pi), 0.0], abs=1e-9)
    assert masses[:3] == pytest.approx([0.15915, 0.25, 0.07958], abs=6e-6)
    assert 0.5 - masses.sum() == pytest.approx(0.01127, abs=6e-6)
    assert ps.kernel_tail(relu) == pytest.approx(0.14159, abs=6e-6)
    assert ps.kernel_tail(relu) == pytest.approx(np.pi - 3.0, rel=1e-9)
    assert ps.kernel_tail(centred_relu) == pytest.approx(ps.kernel_tail(relu), rel=1e-9)
    assert ps.kernel_tail(relu, order=1) == pytest.approx((0.25 - 1.0 / (2.0 * np.pi)) / 0.25, rel=1e-9)


def test_a_pure_order_has_no_tail():
    assert ps.kernel_tail(lambda u: u * u - 1.0) == pytest.approx(0.0, abs=1e-9)


def test_an_odd_activation_has_no_second_order():
    with pytest.raises(ps.InputError, match="`activation` must have a part of order 2"):
        ps.kernel_tail(np.tanh)
    with pytest.raises(ps.InputError, match="`activation` must be a function"):
        ps.kernel_tail("relu")  # type: ignore[arg-type]
    with pytest.raises(ps.InputError, match="`order` must be a whole number >= 1"):
        ps.kernel_tail(relu, order=0)
