"""A matrix of an ONNX graph by which an activation is multiplied, with its scales where it is whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.cutting.onnx_graph import UNCHANGED, OnnxGraph, attribute
from presage.checkpoints.cutting.unusable_tensor import finite, read_numbers
from presage.checkpoints.tensor import Tensor


@final
@dataclass(frozen=True, eq=False)
class OnnxWeight:
    """A constant matrix W of ``y = x W``, stored (in, out) or turned."""

    tensor: Tensor
    turned: bool = False  # stored (out, in)
    scale: NDArray[np.float64] | None = field(default=None, repr=False)  # one number, or one a slice along `axis`
    zero: NDArray[np.float64] | None = field(default=None, repr=False)
    axis: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Inputs and outputs."""
        rows, columns = self.tensor.shape
        return (columns, rows) if self.turned else (rows, columns)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What two uses of the same numbers have in common."""
        scales = (None if part is None else part.tobytes() for part in (self.scale, self.zero))
        return self.tensor.name, self.turned, self.axis, *scales

    def read(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The matrix as (in, out), and how far each entry may have been rounded.

            W = scale (stored - zero), and the rounding is uniform: its root mean square is scale/sqrt(12)

        Equation: derived: the definition of DequantizeLinear, and the variance of a uniform number.
        Checked: tests/checkpoints/cutting/test_onnx.py::test_whole_numbers_are_scaled_back
        """
        numbers = read_numbers(self.tensor)
        values = finite(self.tensor.name, numbers.values).astype(np.float64)
        error = np.broadcast_to(np.asarray(numbers.error, dtype=np.float64)[:, None], values.shape)
        if self.scale is not None:
            scale = self._along(self.scale)
            values = finite(self.tensor.name, scale) * (values - (0.0 if self.zero is None else self._along(self.zero)))
            error = np.broadcast_to(np.abs(scale) / np.sqrt(12), values.shape)
            finite(self.tensor.name, values)
        return (values.T, error.T) if self.turned else (values, error)

    def _along(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        if numbers.size == 1:
            return numbers.reshape(1, 1)
        return numbers.reshape((-1, 1) if self.axis % 2 == 0 else (1, -1))


class Projection(NamedTuple):
    """``y = x W + b`` with constant W: the value x, the matrix, and the name of b where the same node adds it."""

    source: str
    weight: OnnxWeight
    bias: str = ""


def projection(graph: OnnxGraph, node: Any) -> Projection | None:
    """A node as the product with a constant matrix, None where it is none."""
    values = node.input
    match node.op_type:
        case "MatMul":
            weight = _weight(graph, values[1])
            return None if weight is None else Projection(values[0], weight)
        case "Gemm":
            weight = _weight(graph, values[1])
            if weight is None:
                return None
            turned = OnnxWeight(
                weight.tensor,
                weight.turned != bool(attribute(node, "transB", 0)),
                weight.scale,
                weight.zero,
                weight.axis,
            )
            return Projection(values[0], turned, values[2] if len(values) > 2 else "")
        case "MatMulInteger":
            weight = _whole(graph, values[1], _scale_after(graph, node), values[3] if len(values) > 3 else "")
        case "QLinearMatMul":
            weight = _whole(graph, values[3], graph.numbers(values[4]), values[5])
        case "DynamicQuantizeMatMul":
            weight = _whole(graph, values[1], graph.numbers(values[2]), values[3] if len(values) > 3 else "")
        case _:
            return None
    return None if weight is None else Projection(values[0], weight)


def _weight(graph: OnnxGraph, name: str) -> OnnxWeight | None:
    """The constant matrix that a value is, through casts, transposes and scales."""
    passed: list[Any] = []  # the nodes between, which are undone from the matrix on
    if not graph.is_constant(name):
        return None
    while (tensor := graph.tensor(name)) is None:
        node = graph.producer(name)
        if node is None or node.op_type not in (*UNCHANGED, "Transpose", "DequantizeLinear"):
            return None
        passed.append(node)
        name = node.input[0]
    weight = OnnxWeight(tensor) if len(tensor.shape) == 2 and 0 not in tensor.shape else None
    for node in reversed(passed):
        if weight is not None and node.op_type not in UNCHANGED:
            weight = _turned(weight, node) if node.op_type == "Transpose" else _scaled(graph, weight, node)
    return weight


def _turned(weight: OnnxWeight, node: Any) -> OnnxWeight:
    same = list(attribute(node, "perm", [1, 0])) == [0, 1]
    return weight if same else OnnxWeight(weight.tensor, not weight.turned, *_scales(weight))


def _scaled(graph: OnnxGraph, weight: OnnxWeight, node: Any) -> OnnxWeight | None:
    if attribute(node, "block_size", 0):
        return None
    zero = node.input[2] if len(node.input) > 2 else ""
    return _of_whole(graph, weight, graph.numbers(node.input[1]), zero, int(attribute(node, "axis", 1)))


def _scales(weight: OnnxWeight) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None, int]:
    return weight.scale, weight.zero, weight.axis


def _whole(
    graph: OnnxGraph, name: str, scale: NDArray[np.float64] | None, zero: str, axis: int = 1
) -> OnnxWeight | None:
    """A matrix of whole numbers with its scale; the axis is that of the stored matrix."""
    return _of_whole(graph, _weight(graph, name), scale, zero, axis)


def _of_whole(
    graph: OnnxGraph, inner: OnnxWeight | None, scale: NDArray[np.float64] | None, zero: str, axis: int
) -> OnnxWeight | None:
    if inner is None or scale is None:
        return None
    stored_axis = 1 - axis % 2 if inner.turned else axis % 2
    return OnnxWeight(inner.tensor, inner.turned, scale, graph.numbers(zero) if zero else None, stored_axis)


def _scale_after(graph: OnnxGraph, node: Any) -> NDArray[np.float64] | None:
    """The scale of the matrix of a MatMulInteger: the constant of the product by which its result is multiplied."""
    for cast in graph.consumers(node.output[0]):
        for product in graph.consumers(cast.output[0]):
            if product.op_type != "Mul":
                continue
            other = product.input[1] if product.input[0] == cast.output[0] else product.input[0]
            scales = graph.producer(other)
            names = [other] if scales is None or scales.op_type != "Mul" else list(scales.input)
            constant = [name for name in names if graph.is_constant(name)]
            if len(constant) == 1:
                return graph.numbers(constant[0])
    return None
