"""Types of stored numbers: every code of the small floats, and how far numbers are rounded."""

from __future__ import annotations

import numpy as np
import pytest

from presage.checkpoints.files.row_rounding import row_rounding
from presage.checkpoints.files.storage_type import STORAGE_TYPES


@pytest.mark.parametrize(
    ("name", "dtype", "codes"),
    [
        ("BF16", "bfloat16", np.arange(2**16, dtype=np.uint16)),
        ("F16", "float16", np.arange(2**16, dtype=np.uint16)),
        ("F8_E4M3", "float8_e4m3fn", np.arange(256, dtype=np.uint8)),
        ("F8_E5M2", "float8_e5m2", np.arange(256, dtype=np.uint8)),
        ("F8_E8M0", "float8_e8m0fnu", np.arange(256, dtype=np.uint8)),
    ],
)
def test_every_code_is_the_number_that_pytorch_reads(name, dtype, codes):
    torch = pytest.importorskip("torch")
    theirs = torch.from_numpy(codes.copy()).view(getattr(torch, dtype)).float().numpy()
    kind = STORAGE_TYPES[name]
    ours = kind.decode(codes.view(kind.raw))
    assert ours.dtype == np.float32
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"])
def test_the_spacing_is_the_distance_of_one_to_the_next_number(name):
    kind = STORAGE_TYPES[name]
    unsigned = np.dtype(f"u{kind.size}")
    with np.errstate(invalid="ignore"):
        codes = np.arange(2 ** min(16, 8 * kind.size), dtype=unsigned)
        if kind.size > 2:
            one = np.ones(1, kind.raw).view(unsigned)
            codes = np.concatenate([one, one + unsigned.type(1)])
        values = np.unique(kind.decode(codes.view(kind.raw)).astype(np.float64))
    after = values[values > 1.0].min()
    assert after - 1.0 == kind.spacing


@pytest.mark.parametrize("name", ["F16", "BF16", "F8_E4M3"])
def test_the_rounding_of_a_row_is_that_of_a_rounded_sample(name):
    torch = pytest.importorskip("torch")
    dtype = {"F16": torch.float16, "BF16": torch.bfloat16, "F8_E4M3": torch.float8_e4m3fn}[name]
    exact = np.random.default_rng(0).standard_normal((3, 200_000)).astype(np.float32) * [[1.0], [2.0], [3.7]]
    stored = torch.from_numpy(exact).to(dtype).double().numpy()
    rounding = np.sqrt(np.mean((stored - exact) ** 2, axis=1))
    told = row_rounding(stored, STORAGE_TYPES[name].spacing)
    assert (rounding < told).all()
    assert (told < 2.0 * rounding).all()


def test_integers_are_not_rounded_and_large_ones_stay_exact():
    assert (row_rounding(np.ones((4, 3), np.float32), 0.0) == 0.0).all()
    large = np.array([2**31 - 1, -(2**31) + 1], "<i4")
    assert (STORAGE_TYPES["I32"].decode(large) == large).all()


def test_infinite_numbers_do_not_warn():
    told = row_rounding(np.array([[1.0, np.inf], [1.0, 1.0], [np.nan, 0.0]], np.float32), 2.0**-23)
    assert np.isinf(told[0])
    assert np.isfinite(told[1])
    assert np.isnan(told[2])
