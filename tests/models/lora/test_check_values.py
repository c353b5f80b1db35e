"""Fixed points at which independent computations have the same digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.lora.theory.averages import rule_of
from presage.models.lora.theory.solution import measured_at
from presage.models.lora.theory.state_evolution import settled_on, start_of
from tests.models.lora.fixed_points import agrees, layer, linear, measured, only_noise, points, softmax

NAMES = ("m", "q", "overlap", "v", "train_loss", "test_error")
# (T, alpha', Delta_eff, lambda'): m, q, overlap, v, L'/D, E' and the error of the last digits
LINEAR = {
    (3, 3.0, 0.5, 0.5): (0.99536, 1.00795, 0.99142, 0.00855, 17.4981, 6.4139),
    (2, 3.0, 0.5, 0.5): (0.98886, 1.01852, 0.97983, 0.02000, 8.4961, 3.4902),
    (2, 1.5, 0.5, 0.5): (0.9631, 1.0504, 0.9397, 0.0583, 3.9901, 4.489),
    (3, 6.0, 2.0, 0.5): (0.99781, 1.02730, 0.98447, 0.00386, 140.454, 24.7689),
    (3, 3.0, 0.5, 5.0): (0.95289, 0.92430, 0.99114, 0.00834, 21.8435, 6.4602),
    (1, 8.0, 0.5, 0.5): (0.98826, 1.02281, 0.97718, 0.02252, 7.4943, 1.1856),
    (2, 10.0, 0.5, 0.01): (1.00002, 1.00943, 0.99533, 0.00465, 29.0049, 3.1133),
}
DIGITS = (2e-5, 2e-5, 1e-5, 1e-5, 2e-4, 1e-4)
COARSE_DIGITS = (1e-4, 3e-4, 1e-4, 1e-4, 3e-4, 1e-3)  # of the third row, as it was told


@pytest.mark.parametrize("row", LINEAR)
def test_linear_check_values(row):
    T, alpha, noise, weight_decay = row
    found = measured(linear(T, alpha, weight_decay), only_noise(noise), 2**13)
    digits = COARSE_DIGITS if row == (2, 1.5, 0.5, 0.5) else DIGITS
    for name, value, digit in zip(NAMES, LINEAR[row], digits, strict=True):
        assert agrees(found[name], value, digit), (name, found[name], value)
    assert found["m"].bar < 2e-3
    assert found["test_error"].bar < 4e-3 * found["test_error"].mean


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in LINEAR if row != (2, 1.5, 0.5, 0.5)])
def test_linear_check_values_to_all_digits(row):
    T, alpha, noise, weight_decay = row
    found = measured(linear(T, alpha, weight_decay), only_noise(noise), 2**16)
    for name, value, digit in zip(NAMES[:4], LINEAR[row], (3e-5, 3e-5, 2e-5, 1e-5), strict=False):
        assert abs(found[name].mean - value) < digit, (name, found[name], value)


def test_the_replicon_of_the_first_row():
    found = measured(linear(3, 3.0, 0.5), only_noise(0.5), 2**13)
    assert agrees(found["replicon"], 0.1872, 1e-4)


def test_rank_two_check_value():
    """Two columns for two: each is like one column of a problem of its own, with the other's noise."""
    problem = linear(3, 6.0, 0.5, rank=2, target_rank=2)
    found = measured(problem, only_noise(0.5), 2**11, 4)
    values = {"m": 0.99793, "q": 1.00384, "overlap": 0.99602, "v": 0.00397, "train_loss": 35.03, "test_error": 6.384}
    digits = {"train_loss": 0.02, "test_error": 1e-3}
    for name, value in values.items():
        assert agrees(found[name], value, digits.get(name, 2e-5)), (name, found[name], value)


def test_a_spare_column_fits_noise():
    """r = 2 for r_0 = 1: the spare column is not zero, and the learned one hardly feels it."""
    problem = linear(3, 3.0, 0.5, rank=2)
    found = points(problem, only_noise(0.5), 2**11, 4)
    m, q, _ = (np.mean([point.overlaps[k] for point in found], axis=0) for k in range(3))
    assert q == pytest.approx(np.diag([1.007, 0.285]), abs=2e-3)
    assert m[:, 0] == pytest.approx([0.994, 0.0], abs=1e-3)


def test_fewer_columns_than_the_target_has():
    """r = 1 for r_0 = 2: one direction is learned, the other is noise of the size of a column."""
    problem = linear(3, 6.0, 0.5, target_rank=2)
    found = measured(problem, only_noise(0.5), 2**11, 4)
    T, q_0 = 3, 1.0
    m, q, error = found["m"].mean, found["q"].mean, found["test_error"].mean
    assert 0.9 < m < 1.1
    assert error == pytest.approx(T * (T + 1) * (0.5 + 2.0 * q_0 + q * q - 2.0 * m * m), abs=1e-4)
    assert found["overlap"].mean < 0.5**0.25 + 1e-3  # of a rank of one with one of two


SOFTMAX: dict[str, Any] = {  # problem and layer: values with their errors
    "two tokens, alpha' = 10": (
        (2, 10.0, {}),
        (1.46236, 1.38094, 1.75, 2.30345),
        {
            "m": (0.9875, 2e-4),
            "q": (1.009, 1e-3),
            "overlap": (0.9830, 3e-4),
            "v": (0.161, 2e-3),
            "test_error": (0.1313, 2e-4),
            "frozen_error": (0.2801, 2e-4),
        },
    ),
    "two tokens, alpha' = 6": (
        (2, 6.0, {}),
        (1.46236, 1.38094, 1.75, 2.30345),
        {
            "m": (0.9806, 3e-4),
            "q": (1.026, 1e-3),
            "overlap": (0.9679, 3e-4),
            "v": (0.308, 2e-3),
            "test_error": (0.1426, 2e-4),
        },
    ),
    "three tokens, alpha' = 10": (
        (3, 10.0, {}),
        (0.75117, 0.99298, 2.25, 0.0),
        {
            "m": (0.8603, 4e-4),
            "q": (0.758, 1e-3),
            "overlap": (0.9883, 1e-4),
            "v": (0.0789, 2e-4),
            "test_error": (0.3671, 1e-4),
            "frozen_error": (0.5729, 2e-4),
        },
    ),
    "three tokens, alpha' = 3": (
        (3, 3.0, {}),
        (0.75117, 0.99298, 2.25, 0.0),
        {
            "m": (0.854, 1e-3),
            "q": (0.8045, 1.2e-3),
            "overlap": (0.9521, 1e-4),
            "v": (0.323, 1e-3),
            "test_error": (0.4051, 1e-4),
        },
    ),
    "reused sequences": (
        (2, 6.0, {"reuse": "noise"}),
        (1.46236, 1.38094, 1.75, 2.30345),
        {
            "m": (0.9353, 5e-4),
            "q": (0.890, 1e-3),
            "overlap": (0.9914, 1e-4),
            "v": (0.284, 1e-3),
            "test_error": (0.1255, 1e-4),
        },
    ),
    "two columns": (
        (3, 8.0, {"rank": 2, "target_rank": 2}),
        (1.2, 1.1, 1.75, 0.0),
        {"m": (0.97288, 7e-4), "q": (0.9765, 1.4e-3)},
    ),
}


def test_softmax_check_values():
    """The first of the rows below, on a few thousand samples."""
    (T, alpha, options), before, values = SOFTMAX["two tokens, alpha' = 6"]
    found = measured(softmax(T, alpha, 0.05, **options), layer(*before), 2**12)
    for name, (value, error) in values.items():
        assert agrees(found[name], value, error), (name, found[name], value)
    assert found["overlap"].bar < 3e-3
    assert found["test_error"].bar < 0.02 * 0.1426


@pytest.mark.slow
@pytest.mark.parametrize("row", SOFTMAX)
def test_softmax_check_values_to_all_digits(row):
    (T, alpha, options), before, values = SOFTMAX[row]
    found = measured(softmax(T, alpha, 0.05, **options), layer(*before), 2**14)
    for name, (value, error) in values.items():
        assert agrees(found[name], value, 2.0 * error), (name, found[name], value)
    assert found["overlap"].bar < 1.5e-3


@pytest.mark.slow
def test_where_samples_jump():
    """Two tokens, alpha' = 3: the edge of what is trusted."""
    found = measured(softmax(2, 3.0, 0.05), layer(1.46236, 1.38094, 1.75), 2**14)
    for name, value, digit in (("m", 0.946, 2e-3), ("q", 1.095, 2e-3), ("overlap", 0.9035, 1.2e-3), ("v", 0.892, 0.01)):
        assert agrees(found[name], value, digit), (name, found[name], value)
    assert abs(found["jump"].mean) == pytest.approx(0.054, abs=found["jump"].bar + 8e-3)
    assert 0.85 < found["replicon"].mean < 1.3


def test_scale_of_the_new_task():
    """(q_0, Delta, lambda') is (1, Delta/q_0^2, lambda'/q_0), lengths times q_0 and errors times q_0^2."""
    q_0 = 2.5
    large = measured(linear(2, 3.0, 0.5 * q_0, strength=q_0), only_noise(0.5 * q_0**2), 2**10, 4)
    small = measured(linear(2, 3.0, 0.5), only_noise(0.5), 2**10, 4)
    for name, factor in {
        "m": q_0,
        "q": q_0,
        "overlap": 1.0,
        "test_error": q_0**2,
        "train_loss": q_0**2,
        "gain": 1.0,
    }.items():
        assert large[name].mean == pytest.approx(factor * small[name].mean, rel=1e-5), name


def test_many_samples_of_a_linear_output():
    """1 - o^2 -> Delta_eff/(alpha' T(T+1)) and E' - T(T+1) Delta_eff -> 2 Delta_eff/alpha'."""
    alpha, noise, T = 2000.0, 0.5, 2
    found = measured(linear(T, alpha, 0.1), only_noise(noise), 2**13)
    assert 1.0 - found["overlap"].mean ** 2 == pytest.approx(noise / (alpha * T * (T + 1)), rel=0.02)
    assert found["test_error"].mean - T * (T + 1) * noise == pytest.approx(2.0 * noise / alpha, rel=0.02)


def test_error_bars_are_honest():
    """Values on few samples differ from those on many by their bars, as often as 95 % intervals may."""
    problem, before = linear(2, 3.0, 0.5), only_noise(0.5)
    missed = 0
    for first in range(0, 40, 8):
        rules = [rule_of(problem, before, 2**9, 100 + first + k) for k in range(8)]
        found = measured_at(problem, before, [settled_on(problem, rule, start_of(problem)) for rule in rules], 2**9)
        missed += sum(not agrees(found[name], value) for name, value in (("overlap", 0.97983), ("test_error", 3.4902)))
    assert missed <= 1


def test_solutions_of_several_columns_are_compared_and_kept(tmp_path):
    found = ps.solve(linear(2, 8.0, 0.5, rank=2, target_rank=2), accuracy=0.05)
    assert found == ps.solve(found.problem, accuracy=0.05)
    assert len({found, found}) == 1
    found.save(tmp_path / "two.json")
    back = ps.load(tmp_path / "two.json")
    assert back == found
    assert np.array_equal(back.overlaps.q, found.overlaps.q)
    assert (found.m, found.q, found.v) == tuple(float(part[0, 0]) for part in found.overlaps)


def test_public_solve_has_the_digits_too():
    law = ps.MarchenkoPastur(1.0)
    before = ps.attention(law, alpha=0.1, weight_decay=0.03, noise=0.5, n_tokens=3)
    found = ps.solve(ps.lora(before, alpha=3.0, weight_decay=0.05), accuracy=5e-3)
    assert pytest.approx(0.75117, abs=2e-3) == found.before.Q
    assert found.overlap == pytest.approx(0.9521, abs=found.error_bars["overlap"] + 2e-4)
    assert found.test_error == pytest.approx(0.4051, abs=found.error_bars["test_error"] + 5e-4)
