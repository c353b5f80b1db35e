"""A tensor of a file behind the wall: rows are named by any slice, and every failure is a sentence."""

from __future__ import annotations

from collections.abc import Callable

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.wall import wall
from presage.checkpoints.tensor import Numbers, Tensor


def file_tensor(
    file: str, name: str, shape: tuple[int, ...], dtype: str, read: Callable[[int, int], Numbers]
) -> Tensor:
    """A `Tensor` whose rows ``first`` to ``last - 1`` are read by ``read(first, last)``.

    A tensor without axes is one row, and all of it is read.
    """

    def reader(rows: slice | None) -> Numbers:
        with wall(file, name):
            if rows is None:
                return read(0, shape[0] if shape else 1)
            if not shape:
                reason = f"tensor {quoted(name)} is a single number and has no rows"
                raise CheckpointError(file, "have the rows that are asked for", reason, "Read it without <rows>.")
            first, last, step = rows.indices(shape[0])
            if step == 1:
                return read(first, max(first, last))
            values, error = read(0, shape[0])
            return Numbers(values[rows], error[rows])

    return Tensor(name, shape, dtype, reader)
