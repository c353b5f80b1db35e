"""Attention of an ONNX graph: each Softmax is followed back to the matrices of its queries and keys.

Names say nothing there. What is softmaxed comes from a product of two values that are not constants; each of these
comes from a product with a constant matrix, and the Reshape in between says how its outputs are shared among heads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.onnx_features import Features
from presage.checkpoints.cutting.onnx_graph import OnnxGraph
from presage.checkpoints.cutting.onnx_weight import OnnxWeight, projection
from presage.checkpoints.files.wall import wall

_PRODUCTS = {"MatMul": (0, 1), "MatMulInteger": (0, 1), "QLinearMatMul": (0, 3), "FusedMatMul": (0, 1)}
_NORMS = ("LayerNormalization", "SimplifiedLayerNormalization", "RMSNormalization")
_OF_ONE = (  # of these only the first input is followed
    *(
        "Identity",
        "Cast",
        "Dropout",
        "Reshape",
        "Transpose",
        "Slice",
        "Split",
        "Gather",
        "Squeeze",
        "Unsqueeze",
        "Expand",
    ),
    *("Tile", "Neg", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "RotaryEmbedding", *_NORMS),
)
_OF_ALL = ("Add", "Mul", "Div", "Sub", "Concat", "QLinearAdd", "QLinearMul")
_TO_SCORES = (*_OF_ONE, "Add", "Mul", "Div", "Sub", "Where", "Clip", "Tanh", "Max", "Min")
_FUSED = (
    "Attention",
    "MultiHeadAttention",
    "GroupQueryAttention",
    "QAttention",
    "PackedAttention",
    "LongformerAttention",
)


@final
@dataclass(frozen=True, eq=False)
class Traced:
    """A value that comes from outputs of one projection."""

    source: str  # what was multiplied by the matrix
    weight: OnnxWeight
    features: Features
    bias: str = ""


class OnnxAttention(NamedTuple):
    """Queries and keys of one Softmax."""

    name: str  # of its node
    query: Traced
    key: Traced

    @property
    def is_cross(self) -> bool:
        """Whether queries and keys see different values."""
        return self.query.source != self.key.source


def onnx_attention(graph: OnnxGraph) -> tuple[list[OnnxAttention], tuple[Skipped, ...]]:
    """All attention of a graph in its order, and what of it is not followed. A classifier's Softmax is none."""
    found: list[OnnxAttention] = []
    skipped: list[Skipped] = []
    known: dict[str, Traced | None] = {}
    for node in graph.nodes:
        name = str(node.name or (node.output[0] if node.output else node.op_type))
        if node.op_type in _FUSED:
            skipped.append(Skipped(name, f"attention as one node ({node.op_type}), which is not taken apart here"))
        if node.op_type != "Softmax":
            continue
        try:
            with wall(graph.file, name):
                one = _of_softmax(graph, node, name, known)
        except CheckpointError as error:
            one = Skipped(name, error.reason)
        if isinstance(one, OnnxAttention):
            found.append(one)
        elif one is not None:
            skipped.append(one)
    return found, tuple(skipped)


def _of_softmax(
    graph: OnnxGraph, node: Any, name: str, known: dict[str, Traced | None]
) -> OnnxAttention | Skipped | None:
    """The attention that a Softmax is of, or why it is not followed; None where it is of none."""
    product = _scores(graph, node.input[0])
    if product is None:
        return None
    query, key = (_traced(graph, product.input[place], known) for place in _PRODUCTS[product.op_type])
    for which, side in (("queries", query), ("keys", key)):
        if side is None:
            return Skipped(name, f"its {which} are not the product of a value with a constant matrix")
        if side.features.index.size == 0:
            return Skipped(name, f"its {which} are none of the outputs of a matrix")
    return None if query is None or key is None else OnnxAttention(name, query, key)


def _scores(graph: OnnxGraph, name: str) -> Any:
    """The product of two values that are not constants from which a value comes, None where there is none."""
    waiting, seen = [name], set[str]()
    while waiting:
        each = waiting.pop()
        node = graph.producer(each)
        if node is None or each in seen:
            continue
        seen.add(each)
        if node.op_type in _PRODUCTS:
            if not any(graph.is_constant(node.input[place]) for place in _PRODUCTS[node.op_type]):
                return node
        elif node.op_type in _TO_SCORES:
            waiting += reversed(node.input[:1] if node.op_type in _OF_ONE else node.input)
    return None


def _traced(graph: OnnxGraph, name: str, known: dict[str, Traced | None]) -> Traced | None:
    """The projection from which a value comes. Of several ways back (rotary positions), the one with most outputs."""
    waiting, entered = [name], set[str]()
    while waiting:
        each = waiting[-1]
        ways = [] if each in known else _ways_back(graph, each)
        unknown = [way for way in ways if way not in known and way not in entered]
        if each not in entered and unknown:  # a value does not come from itself
            entered.add(each)
            waiting += reversed(unknown)
            continue
        waiting.pop()
        if each not in known:
            known[each] = _trace(graph, each, ways, known)
    return known[name]


def _ways_back(graph: OnnxGraph, name: str) -> list[str]:
    """The inputs of the node that makes a value which are followed; none where it is a projection."""
    node = graph.producer(name)
    if node is None or node.op_type not in (*_OF_ONE, *_OF_ALL):
        return []
    return list(node.input[:1]) if node.op_type in _OF_ONE else [x for x in node.input if not graph.is_constant(x)]


def _trace(graph: OnnxGraph, name: str, inputs: list[str], known: dict[str, Traced | None]) -> Traced | None:
    """The projection from which a value comes, those of what it is made of being known."""
    node = graph.producer(name)
    if node is None:
        return None
    product = projection(graph, node)
    if product is not None:
        features = Features.of_projection(product.weight.shape[1])
        return Traced(graph.unchanged(product.source), product.weight, features, product.bias)
    ways = [way for each in inputs if (way := known.get(each)) is not None]
    if not ways:
        return None
    best = max(ways, key=lambda way: way.features.index.size)
    if best.features.is_whole and (node.op_type in _NORMS or (node.op_type in ("Div", "Add") and len(inputs) > 1)):
        return None  # a norm or a residual sum before the heads are told apart: the matrix is that of another layer
    if node.op_type == "Add" and not best.bias and best.features.is_whole:
        best = replace(best, bias=_vector(graph, node, best.features.index.size))
    return replace(best, features=best.features.after(graph, node, list(node.output).index(name)))


def _vector(graph: OnnxGraph, node: Any, size: int) -> str:
    """The constant of an addition that has as many numbers as there are outputs."""
    for name in node.input:
        numbers = graph.numbers(name) if name and graph.is_constant(name) else None
        if numbers is not None and numbers.size == size:
            return str(name)
    return ""
