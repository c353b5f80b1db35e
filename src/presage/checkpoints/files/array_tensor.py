"""A tensor that is an array in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.files.file_tensor import file_tensor
from presage.checkpoints.files.row_rounding import row_rounding
from presage.checkpoints.files.storage_type import STORAGE_TYPES, Floats
from presage.checkpoints.files.torch_names import TORCH_DTYPES
from presage.checkpoints.tensor import Numbers, Tensor

_NAMES = {  # of NumPy's types, with those that the package ml_dtypes adds
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
    "int4": "I4",
    "uint4": "U4",
    "int8": "I8",
    "uint8": "U8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "bool": "BOOL",
}


def array_tensor(file: str, name: str, value: Any) -> Tensor:
    """An array, or what NumPy or PyTorch can turn into one, as a `Tensor`; a `ValueError` where it holds no numbers."""
    array, dtype = _array(value)
    wide: Any = np.float64 if dtype in ("F64", "I32", "U32", "I64", "U64") else np.float32
    spacing = STORAGE_TYPES[dtype].spacing if dtype in STORAGE_TYPES else 0.0

    def read(first: int, last: int) -> Numbers:
        values: Floats = (array[first:last] if array.ndim else array).astype(wide, copy=False)
        return Numbers(values, row_rounding(values, spacing))

    return file_tensor(file, name, array.shape, dtype, read)


def _array(value: Any) -> tuple[NDArray[Any], str]:
    """The numbers, and the type that they are stored in."""
    if hasattr(value, "detach"):  # a tensor of PyTorch, which need not be installed here
        tensor = value.detach().cpu()
        dtype = TORCH_DTYPES.get(str(tensor.dtype))
        if dtype is None or dtype not in STORAGE_TYPES:
            raise ValueError(f"it holds {tensor.dtype}, not real numbers")
        small = dtype == "BF16" or dtype.startswith("F8")  # which NumPy does not know
        return np.asarray((tensor.float() if small else tensor).numpy()), dtype
    array = np.asarray(value)
    if array.dtype.name not in _NAMES:
        raise ValueError(f"it holds {array.dtype}, not real numbers")
    return array, _NAMES[array.dtype.name]
