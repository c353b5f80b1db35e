"""Which outputs of a projection a later value of an ONNX graph holds, and along which of its axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.cutting.onnx_graph import OnnxGraph, attribute, settings

MOST_OUTPUTS = 2**22


@final
@dataclass(frozen=True, eq=False)
class Features:
    """Numbers of outputs of a projection, as an array with an axis for each axis of the value that runs over them."""

    index: NDArray[np.intp]
    axes: tuple[int | None, ...] | None = None  # for each axis of the value, that of `index`; None: the last one only

    @classmethod
    def of_projection(cls, outputs: int) -> Features:
        """All outputs, along the last axis of a value whose number of axes is not known."""
        return cls(np.arange(outputs, dtype=np.intp))

    @property
    def is_whole(self) -> bool:
        """Whether they still lie along one axis."""
        return self.index.ndim == 1

    def after(self, graph: OnnxGraph, node: Any, output: int) -> Features:
        """What is left of them after a node."""
        match node.op_type:
            case "Reshape":
                return self._reshaped(graph.sizes(node.input[1]))
            case "Transpose":
                return self._transposed(attribute(node, "perm"))
            case "Slice":
                return self._sliced(graph, node)
            case "Split":
                return self._split(graph, node, output)
            case "Gather":
                return self._gathered(graph, node)
            case "Squeeze":
                return self._squeezed(settings(graph, node, "axes", 1))
            case "Unsqueeze":
                return self._unsqueezed(settings(graph, node, "axes", 1))
        return self

    def heads(self) -> NDArray[np.intp]:
        """The outputs without axes of size one."""
        return self.index.reshape([size for size in self.index.shape if size > 1] or [1])

    def _reshaped(self, sizes: list[int | None]) -> Features:
        count = self.index.ndim
        if self.axes is not None and self.axes[-count:] != tuple(range(count)):
            return replace(self, axes=None) if count > 1 else self  # mixed with other axes: no longer followed
        end = _end(sizes, self.index.size)
        if end is None:
            return replace(self, axes=None)
        axes = (None,) * (len(sizes) - len(end)) + tuple(range(len(end)))
        return Features(self.index.reshape(end), axes)

    def _transposed(self, order: list[int] | None) -> Features:
        if order is None or (self.axes is None and not self.is_whole):
            return replace(self, axes=None)
        axes = self.axes if self.axes is not None else (None,) * (len(order) - 1) + (0,)
        axes = (None,) * (len(order) - len(axes)) + axes  # a size of several axes that is known only at run time
        return replace(self, axes=tuple(axes[place] for place in order))

    def _axis(self, axis: int) -> int | None:
        """The axis of `index` that an axis of the value is."""
        if self.axes is not None:
            return self.axes[axis] if -len(self.axes) <= axis < len(self.axes) else None
        return 0 if self.is_whole and (axis == -1 or axis >= 1) else None

    def _part(self, axis: int, which: slice) -> Features:
        return replace(self, index=self.index[(slice(None),) * axis + (which,)])

    def _taken(self, axis: int, which: NDArray[np.intp]) -> Features:
        if self.index.size // max(self.index.shape[axis], 1) * which.size > MOST_OUTPUTS:
            raise ValueError(f"a Gather takes more than {MOST_OUTPUTS} outputs of a matrix")
        return replace(self, index=np.take(self.index, which, axis=axis))

    def _sliced(self, graph: OnnxGraph, node: Any) -> Features:
        starts, ends = settings(graph, node, "starts", 1), settings(graph, node, "ends", 2)
        if starts is None or ends is None:
            return self
        axes, steps = settings(graph, node, "axes", 3) or list(range(len(starts))), settings(graph, node, "steps", 4)
        kept = self
        for start, end, place, step in zip(starts, ends, axes, steps or [1] * len(starts), strict=True):
            axis = kept._axis(place)
            if axis is not None:
                kept = kept._part(axis, slice(start, end, step))
        return kept

    def _split(self, graph: OnnxGraph, node: Any, output: int) -> Features:
        axis = self._axis(int(attribute(node, "axis", 0)))
        if axis is None:
            return self
        size, parts = self.index.shape[axis], len(node.output)
        sizes = settings(graph, node, "split", 1) or [-(-size // parts)] * parts
        start = sum(sizes[:output])
        return self._part(axis, slice(start, start + sizes[output]))

    def _gathered(self, graph: OnnxGraph, node: Any) -> Features:
        place = int(attribute(node, "axis", 0))
        axis, which = self._axis(place), graph.numbers(node.input[1])
        if axis is None or which is None:
            return self
        taken = self._taken(axis, which.ravel().astype(np.intp))
        stored = graph.tensor(node.input[1])
        is_number = stored is not None and not stored.shape
        return taken._squeezed([place]) if is_number and which.size == 1 else taken

    def _squeezed(self, places: list[int] | None) -> Features:
        if self.axes is None or places is None:
            return self
        dropped = {place % len(self.axes) for place in places}
        lost = {axis for place, axis in enumerate(self.axes) if place in dropped and axis is not None}
        kept = [axis for axis in range(self.index.ndim) if axis not in lost]
        axes = tuple(
            None if axis is None else kept.index(axis) for place, axis in enumerate(self.axes) if place not in dropped
        )
        return Features(self.index.reshape([self.index.shape[axis] for axis in kept]), axes)

    def _unsqueezed(self, places: list[int] | None) -> Features:
        if self.axes is None or places is None:
            return self
        rank = len(self.axes) + len(places)
        new, rest = {place % rank for place in places}, iter(self.axes)
        return replace(self, axes=tuple(None if place in new else next(rest) for place in range(rank)))


def _end(sizes: list[int | None], outputs: int) -> tuple[int, ...] | None:
    """The last sizes of a Reshape whose product is the number of outputs; one of them may be left open."""
    product = 1
    for start in range(len(sizes) - 1, -1, -1):
        size = sizes[start]
        if size is None:
            is_open = start < len(sizes) - 1 and outputs % product == 0
            if is_open:
                return (outputs // product, *(each for each in sizes[start + 1 :] if each is not None))
            break
        product *= size
        if product == outputs:
            return tuple(each for each in sizes[start:] if each is not None)
    known = sizes[-2] if len(sizes) > 1 and sizes[-1] is None else None  # [..., heads, -1]
    return (known, outputs // known) if known is not None and outputs % known == 0 else None
