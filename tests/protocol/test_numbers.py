"""Numbers as people read them: no digit that the error bar leaves open, and none rounded away that it vouches for."""

from __future__ import annotations

import math
from typing import Any

import pytest

import presage as ps
from presage.plots.values import Value
from presage.protocol.numbers import Measured, cells, plus_minus, text, with_bar


@pytest.mark.parametrize(
    ("value", "bar", "text"),
    [
        (0.1359900327, 4.36e-6, "0.135990(4)"),
        (0.1359900327, 9.7e-6, "0.13599(1)"),
        (0.5, 0.0, "0.50000000"),
        (123.456, 40.0, "123(40)"),
        (1.5, 0.25, "1.5(2)"),
        (0.03, 0.5, "0.0(5)"),
        (1.23456e-7, 2e-10, "1.235(2)e-07"),
        (2.5e9, 1e6, "2.500(1)e+09"),
        (0.0, 0.0, "0"),
        (6.8e-33, 1e-34, "0"),
        (6.8e-33, 1e-3, "0.000(1)"),
        (1.0, math.inf, "1(?)"),
        (math.nan, 1.0, "not known"),
        (math.inf, 1.0, "infinite"),
    ],
)
def test_numbers_carry_their_error_bars(value, bar, text):
    assert with_bar(Measured(value, bar)) == text


def test_a_number_and_its_bar_in_two_cells():
    def shown(number: Any, digits: int = 8) -> tuple[str, str]:
        value, bar = cells(number)
        return value if isinstance(value, str) else value(digits), bar

    assert shown(Measured(1.23456e-7, 2e-10)) == ("1.235e-07", "2.0e-10")
    assert shown(Measured(0.5, math.inf)) == ("0.5", "infinite")
    assert shown(0.25) == ("0.25", "")
    assert shown(Measured(0.1359900327, 4.36e-6), digits=4) == ("0.1360", "4.4e-06")


@pytest.mark.parametrize(
    ("value", "bar", "words"),
    [
        (0.6167361234567, 2.9e-12, "0.6167361234567 ± 2.9e-12"),
        (0.1359900327, 4.36e-6, "0.1359900 ± 4.4e-06"),
        (1 / 3, 0.0, "0.333333333333333 ± 0"),
        (0.5, 0.0, "0.5 ± 0"),
        (0.0, 1e-3, "0 ± 1.0e-03"),
        (0.003, 0.1, "0.0030 ± 1.0e-01"),
        (123.456, 40.0, "123 ± 4.0e+01"),
        (2.5e9, 1e6, "2.5000e+09 ± 1.0e+06"),
        (30.0, 20.0, "30 ± 2.0e+01"),
        (-1.0, math.inf, "-1 ± infinite"),
        (0.25, math.nan, "0.25"),
        (-math.inf, 1.0, "minus infinite"),
        (math.nan, 1.0, "not known"),
    ],
)
def test_a_number_has_the_digits_that_its_bar_vouches_for(value, bar, words):
    assert plus_minus(Measured(value, bar)) == words
    assert Value("rank", value, bar).words == words


@pytest.mark.parametrize("power", range(-13, 3))
def test_what_is_printed_is_off_by_a_small_part_of_the_bar(power):
    value, bar = math.pi / 5.0, 1.7 * 10.0**power
    shown, _, _ = plus_minus(Measured(value, bar)).partition(" ")
    assert abs(float(shown) - value) <= 0.06 * bar


def test_minus_infinity_is_no_infinity():
    assert [text(x) for x in (math.inf, -math.inf, math.nan)] == ["infinite", "minus infinite", "not known"]


def test_a_notebook_prints_what_the_prediction_vouches_for():
    s = ps.solve(ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5))
    page = s._repr_html_()
    for one in s.observables:
        value, bar = getattr(s, one.name), s.error_bars[one.name]
        shown = plus_minus(Measured(value, bar))
        assert shown in page
        assert 0.0 < bar < 1e-9  # or six digits would do
        assert abs(float(shown.split()[0]) - value) <= 0.06 * bar


@pytest.mark.parametrize(
    ("value", "bar", "written"),
    [
        (9.99999999999e-7, 1e-22, "1.0000000e-06"),
        (9.99e-7, 2e-8, "1.00(2)e-06"),
        (9.99999996e6, 0.0, "1.0000000e+07"),
        (-9.9999999996e6, 0.0, "-1.0000000e+07"),
        (9.4e-7, 2e-8, "9.4(2)e-07"),
    ],
)
def test_a_mantissa_that_rounds_to_ten_is_one(value, bar, written):
    assert with_bar(Measured(value, bar)) == written
    assert float(written.replace("(2)", "")) == pytest.approx(value, rel=2e-2)
