"""Floating-point numbers of 8 and 16 bits that NumPy does not know, as float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def bfloat16(codes: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The upper half of a float32: eight bits of exponent, seven of mantissa."""
    return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)


def float8_e4m3(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Four bits of exponent, three of mantissa, no infinity; not a number at 0x7f and 0xff."""
    return _E4M3[codes]


def float8_e5m2(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The upper half of a float16: five bits of exponent, two of mantissa."""
    return _E5M2[codes]


def float8_e8m0(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """A power of two, ``2^(code - 127)``; not a number at 0xff."""
    return _E8M0[codes]


def _e4m3() -> NDArray[np.float32]:
    code = np.arange(256)
    exponent, mantissa = code >> 3 & 15, code & 7
    size = np.where(exponent == 0, np.ldexp(mantissa, -9), np.ldexp(8 + mantissa, exponent - 10))
    size[code & 127 == 127] = np.nan
    return np.asarray(np.where(code < 128, size, -size), dtype=np.float32)


def _e8m0() -> NDArray[np.float32]:
    powers = np.ldexp(1.0, np.arange(256) - 127)
    powers[255] = np.nan
    return powers.astype(np.float32)


_E4M3 = _e4m3()
_E5M2 = (np.arange(256, dtype=np.uint16) << np.uint16(8)).view(np.float16).astype(np.float32)
_E8M0 = _e8m0()
