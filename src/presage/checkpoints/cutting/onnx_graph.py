"""An ONNX graph, asked backwards: what made a value, and whether it is a constant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.checkpoint import Checkpoint
from presage.checkpoints.tensor import Numbers, Tensor

UNCHANGED = ("Identity", "Cast", "Dropout")  # that hand on what they are given
MOST_PARTS = 1000  # of a shape that is put together; nodes that hold one another twice would have any many
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
        self.file = checkpoint.name
        self.nodes: list[Any] = list(graph.node)
        self._producers = {name: node for node in self.nodes for name in node.output if name}
        self._consumers: dict[str, list[Any]] = {}
        self._tensors = dict(checkpoint.tensors)
        self._constant: dict[str, bool] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.input):
                self._consumers.setdefault(name, []).append(node)
            if node.op_type == "Constant" and node.output and node.attribute:
                self._tensors.setdefault(node.output[0], _constant_tensor(node))

    def producer(self, name: str) -> Any:
        """The node that makes a value, None for an input or a constant."""
        return None if name in self._tensors else self._producers.get(name)

    def consumers(self, name: str) -> Iterator[Any]:
        """The nodes that use a value."""
        return iter(self._consumers.get(name, ()))

    def tensor(self, name: str) -> Tensor | None:
        """A constant that is stored as it is."""
        return self._tensors.get(name)

    def is_constant(self, name: str) -> bool:
        """Whether a value depends on constants alone; one that depends on itself does not."""
        waiting, entered = [name], set[str]()
        while waiting:
            each = waiting[-1]
            node = self.producer(each)
            inner = [one for one in node.input if one] if node is not None and node.op_type in _OF_CONSTANTS else []
            unknown = [one for one in inner if one not in self._constant and one not in entered]
            if each not in self._constant and each not in entered and unknown:
                entered.add(each)
                waiting += unknown
                continue
            waiting.pop()
            made = bool(inner) and all(map(self._constant.get, inner))
            self._constant.setdefault(each, each in self._tensors or made)
        return self._constant[name]

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        """The numbers of a small constant, None where it is none. Shapes of single numbers do not matter here."""
        tensor = self._tensors.get(self._first(name, (*UNCHANGED, "Squeeze", "Unsqueeze", "Reshape")))
        return None if tensor is None else np.asarray(tensor.read().values, dtype=np.float64)

    def sizes(self, name: str) -> list[int | None]:
        """The sizes that a Reshape asks for, None for each that is only known when the model runs (and for -1)."""
        found: list[int | None] = []
        waiting, steps = [name], 0
        while waiting:
            each, steps = waiting.pop(), steps + 1
            if steps > MOST_PARTS:
                raise ValueError(f"the shape of a Reshape has more than {MOST_PARTS} parts")
            node = self.producer(each)
            if node is not None and node.op_type == "Concat":
                waiting += reversed(node.input)
                continue
            numbers = self.numbers(each)
            found += [None] if numbers is None else [int(size) if size > 0 else None for size in numbers.ravel()]
        return found

    def unchanged(self, name: str) -> str:
        """The value from which this one was only cast or rounded."""
        return self._first(name, (*UNCHANGED, "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"))

    def _first(self, name: str, kinds: tuple[str, ...]) -> str:
        """The value from which this one comes by nodes of these kinds alone, along their first inputs."""
        seen = set[str]()
        node = self.producer(name)
        while node is not None and node.op_type in kinds and node.input and name not in seen:
            seen.add(name)
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
