"""Every attention head of a model beside what noise shows: `presage.read_weights`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from presage.checkpoints.checkpoint import Checkpoint, Skipped
from presage.checkpoints.cutting.heads_of import heads_of
from presage.checkpoints.cutting.matrices_of import SMALLEST, matrices_of
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from presage.checkpoints.flip_p_values import flip_p_values
from presage.checkpoints.flips import FLIPS
from presage.checkpoints.head_report import HeadReport
from presage.checkpoints.matrix_report import MatrixReport, read_matrix
from presage.checkpoints.multiple_testing import false_discovery
from presage.checkpoints.read_head import measured_heads, report_of, settings
from presage.checkpoints.readable_heads import read_layer, readable_heads
from presage.checkpoints.weights_report import WeightsReport
from presage.protocol.progress import with_progress

NONE_LARGE = f"none that can be looked at has two sides of at least {SMALLEST}: fewer values are too few for any law"


def read_weights(
    source: Any,
    *,
    heads: int | None = None,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    family: str | None = None,
    fold_norm: bool = False,
    flips: int = FLIPS,
    seed: int = 0,
    tol: float | None = None,
    only: str | None = None,
    member: str | None = None,
    matrices: bool = False,
    progress: bool | None = None,
) -> WeightsReport:
    """Read a file of weights and set every attention head of it beside what random factors of its shape show.

    No code of the file is run, and nothing is written but to the user's cache (PRESAGE_CACHE names another folder, or
    `off`). One layer is in memory at a time.

    Args:
        source: a file (.safetensors, .bin, .pt, .npz, .onnx, .gguf), a folder with an index, a wheel or zip, or a dict
            of arrays.
        heads: number of heads, where no configuration beside the file tells it.
        kv_heads: number of heads of keys, where queries share them.
        head_dim: width of a head, where it is not the size of a token over the number of heads.
        family: how the tensors are laid out, where their names do not tell it; `presage weights --families` lists them.
        fold_norm: whether the gains of the norm before the attention are multiplied in.
        flips: random signs of the entries, for a lower bound of the structured directions; 0 for none.
        seed: of the flips.
        tol: singular values up to this size are zero; by default what single precision cannot tell from it.
        only: keep the layers whose names have this text between dots, such as "layers.3".
        member: which file of a wheel or zip, where it holds several.
        matrices: whether whole matrices are looked at too; with them a file without attention, or whose heads cannot
            be told, is no error, and `skipped` has the reason.
        progress: whether a bar is shown on standard error; by default on a terminal.

    Checked: tests/checkpoints/test_read_weights.py::test_planted_heads_of_a_file
    """
    count, number, zero = settings(flips, seed, tol)
    checkpoint = open_checkpoint(source, member=member)
    show = sys.stderr.isatty() if progress is None else progress
    cut: dict[str, Any] = {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "family": family}
    cut["fold_norm"] = fold_norm
    reports: list[HeadReport] = []
    skipped = list(checkpoint.skipped)
    found = (readable_heads if matrices else heads_of)(checkpoint, only=only, **cut)
    skipped += found.skipped
    layers = (read_layer(reader) for reader in found.readers)
    for layer in with_progress(layers, len(found.readers), words="reading heads", unit="layers", show=show):
        skipped += layer.skipped
        measured = measured_heads(layer.heads, tied=False, flips=count, seed=number, tol=zero)
        reports += [report_of(head, one) for head, one in zip(layer.heads, measured, strict=True)]
        del layer  # before the next is read: two would be in memory
    every_matrix: tuple[MatrixReport, ...] = ()
    if matrices:
        every_matrix = tuple(_matrices(checkpoint, only, count, number, skipped))
        if not every_matrix:
            skipped.append(Skipped("whole matrices", NONE_LARGE))
    return WeightsReport(
        _called(source, checkpoint), judged(reports), every_matrix, tuple(skipped), fold_norm, count, number
    )


def judged(reports: Sequence[HeadReport]) -> tuple[HeadReport, ...]:
    """Heads beside one another: p values of flips pooled over those of a shape, rates of false discoveries over all."""
    shapes = [(one.h, one.d_q, one.d_k) for one in reports]
    p_flips = flip_p_values(shapes, [one.top for one in reports], [one.measured.flips for one in reports])
    q_random = false_discovery(np.array([one.p_random for one in reports]))
    q_flips = false_discovery(p_flips)
    return tuple(
        dataclasses.replace(one, p_flips=float(p), q_random=float(q), q_flips=float(f))
        for one, p, q, f in zip(reports, p_flips, q_random, q_flips, strict=True)
    )


def _matrices(
    checkpoint: Checkpoint, only: str | None, flips: int, seed: int, skipped: list[Skipped]
) -> Iterator[MatrixReport]:
    for one in matrices_of(checkpoint, only):
        if isinstance(one, Skipped):
            skipped.append(one)
            continue
        error = float(np.sqrt(np.mean(one.numbers.error**2)))
        dtype = checkpoint.tensors[one.name].dtype
        yield read_matrix(one.numbers.values, name=one.name, flips=flips, seed=seed, error=error, dtype=dtype)


def _called(source: Any, checkpoint: Checkpoint) -> str:
    return str(source) if isinstance(source, str | Path) else checkpoint.name
