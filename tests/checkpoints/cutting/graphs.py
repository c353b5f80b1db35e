"""Small ONNX graphs with attention, as exporters write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, save_model

from presage.checkpoints.checkpoint import Checkpoint
from presage.checkpoints.files.open_checkpoint import open_checkpoint

Array = NDArray[Any]


class Graph:
    """Nodes and constants, added one after the other; each value is called after the node that makes it."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, array: Any, name: str = "") -> str:
        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, outputs: int = 1, name: str = "", **attributes: Any) -> Any:
        name = name or f"{kind}_{len(self.nodes)}"
        made = [name] if outputs == 1 else [f"{name}_{place}" for place in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=name, **attributes))
        return made[0] if outputs == 1 else made

    def heads(self, value: str, count: int, size: int) -> str:
        """A value (batch, time, outputs) as (batch, heads, time, size)."""
        return self.node("Transpose", self.reshaped(value, [0, 0, count, size]), perm=[0, 2, 1, 3])

    def reshaped(self, value: str, sizes: Sequence[int]) -> str:
        return self.node("Reshape", value, self.constant(np.array(sizes, dtype=np.int64)))

    def attention(self, queries: str, keys: str, name: str = "") -> str:
        """The softmax of scaled and masked scores of values (batch, heads, time, size)."""
        scores = self.node("MatMul", queries, self.node("Transpose", keys, perm=[0, 1, 3, 2]))
        scaled = self.node("Div", scores, self.constant(np.float32(2.0)))
        return self.node("Softmax", self.node("Add", scaled, "mask"), name=name, axis=-1)

    def opened(self, folder: Path) -> Checkpoint:
        self.saved(folder / "model.onnx")
        return open_checkpoint(folder / "model.onnx")

    def saved(self, path: Path) -> None:
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "other", "mask")]
        end = helper.make_tensor_value_info(self.nodes[-1].output[0], TensorProto.FLOAT, None)
        model = helper.make_model(helper.make_graph(self.nodes, "g", values, [end], self.constants))
        save_model(model, path)
