"""An ONNX graph, asked backwards: what made a value, and whether it is a constant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.checkpoint import Checkpoint
from presage.checkpoints.tensor import Numbers, Tensor

UNCHANGED = ("Identity", "Cast", "Dropout")  # that hand on what they are given
_OF_CONSTANTS = (
    *UNCHANGED,
    "Transpose",
    "Squeeze",
    "Unsqueeze",
    "Reshape",
    "DequantizeLinear",
    "QuantizeLinear",
    "Concat",
)


class OnnxGraph:
    """The nodes of a graph by what they make, and its constants."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        graph = getattr(checkpoint.graph, "graph", checkpoint.graph)  # a model holds its graph
        self.nodes: list[Any] = list(graph.node)
        self._producers = {name: node for node in self.nodes for name in node.output if name}
        self._tensors = dict(checkpoint.tensors)
        self._constant: dict[str, bool] = {}
        for node in self.nodes:
            if node.op_type == "Constant":
                self._tensors[node.output[0]] = _constant_tensor(node)

    def producer(self, name: str) -> Any:
        """The node that makes a value, None for an input or a constant."""
        return None if name in self._tensors else self._producers.get(name)

    def consumers(self, name: str) -> Iterator[Any]:
        """The nodes that use a value."""
        return (node for node in self.nodes if name in node.input)

    def tensor(self, name: str) -> Tensor | None:
        """A constant that is stored as it is."""
        return self._tensors.get(name)

    def is_constant(self, name: str) -> bool:
        """Whether a value depends on constants alone."""
        if name not in self._constant:
            node = self.producer(name)
            self._constant[name] = name in self._tensors or (
                node is not None
                and node.op_type in _OF_CONSTANTS
                and all(self.is_constant(each) for each in node.input if each)
            )
        return self._constant[name]

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        """The numbers of a small constant, None where it is none. Shapes of single numbers do not matter here."""
        node = self.producer(name)
        if node is not None and node.op_type in (*UNCHANGED, "Squeeze", "Unsqueeze", "Reshape"):
            return self.numbers(node.input[0])
        tensor = self._tensors.get(name)
        return None if tensor is None else np.asarray(tensor.read().values, dtype=np.float64)

    def sizes(self, name: str) -> list[int | None]:
        """The sizes that a Reshape asks for, None for each that is only known when the model runs (and for -1)."""
        node = self.producer(name)
        if node is not None and node.op_type == "Concat":
            return [size for part in node.input for size in self.sizes(part)]
        found = self.numbers(name)
        return [None] if found is None else [int(size) if size > 0 else None for size in found.ravel()]

    def unchanged(self, name: str) -> str:
        """The value from which this one was only cast or rounded."""
        node = self.producer(name)
        while node is not None and node.op_type in (
            *UNCHANGED,
            "QuantizeLinear",
            "DequantizeLinear",
            "DynamicQuantizeLinear",
        ):
            name = node.input[0]
            node = self.producer(name)
        return name


def attribute(node: Any, name: str, otherwise: Any = None) -> Any:
    """An attribute of a node, or what is meant without it."""
    from onnx import helper

    return next((helper.get_attribute_value(each) for each in node.attribute if each.name == name), otherwise)


def settings(graph: OnnxGraph, node: Any, name: str, place: int) -> list[int] | None:
    """Whole numbers that are an attribute in old versions of an operator and an input in new ones."""
    old = attribute(node, name)
    if old is not None:
        return [int(value) for value in old]
    found = graph.numbers(node.input[place]) if len(node.input) > place and node.input[place] else None
    return None if found is None else [int(value) for value in found.ravel()]


def _constant_tensor(node: Any) -> Tensor:
    from onnx import numpy_helper

    stored = node.attribute[0]
    value = attribute(node, stored.name)
    array = np.asarray(numpy_helper.to_array(value) if stored.name == "value" else value)

    def read(rows: slice | None) -> Numbers:
        values = np.atleast_1d(array if rows is None else array[rows]).astype(np.float64)
        return Numbers(values, np.zeros(len(values)))

    dtype = {"float32": "F32", "float16": "F16", "float64": "F64", "int8": "I8", "uint8": "U8"}.get(
        array.dtype.name, "I64"
    )
    return Tensor(node.output[0], array.shape, dtype, read)
