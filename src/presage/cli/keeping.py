"""Weights and histories of trained networks in a file: `presage simulate --keep weights --out weights.npz`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from presage.cli.errors import CommandError
from presage.cli.output import check_place, console, say, written_to
from presage.protocol.keeping import FIELDS, RAGGED, kept_fields

SUFFIX = ".npz"
EXAMPLE = "Use for example --keep weights --out weights.npz."
Keep = Annotated[
    str | None,
    typer.Option(
        "--keep",
        help=f"What to keep of every network, in the file of --out: {', '.join(FIELDS)}, several with commas.",
        metavar="WORDS",
        show_default=False,
        autocompletion=lambda incomplete: [word for word in FIELDS if word.startswith(incomplete)],
    ),
]
KeptIn = Annotated[
    Path | None,
    typer.Option(
        "--out", help="The file of --keep, .npz: arrays of NumPy by name.", metavar="FILE", show_default=False
    ),
]


def check_kept(keep: str | None, out: Path | None) -> list[str] | None:
    """The words of `--keep`; refuse them without a file and a file without them, before anything is computed."""
    if keep is None and out is None:
        return None
    if keep is None:
        raise CommandError(f"`--out` is the file of --keep, and nothing is kept. Got --out {out}. {EXAMPLE}")
    if out is None:
        raise CommandError(f"`--keep` needs a file to keep things in. Got --keep {keep}. {EXAMPLE}")
    if out.suffix.lower() != SUFFIX:
        raise CommandError(f"`--out` must end in {SUFFIX}. Got --out {out}. {EXAMPLE}")
    check_place(out, "--out")
    return [word.strip() for word in keep.split(",")]


def write_kept(ensemble: Any, path: Path, *, quiet: bool) -> None:
    """Write what was kept: an array a name, first by seed; what has another length for each seed, one by one.

    The numbers are printed by then, so that a file that cannot be written loses none.
    """
    import numpy as np

    arrays: dict[str, Any] = {"seeds": np.array(ensemble.seeds), "d": ensemble.d, "problem": repr(ensemble.problem)}
    for name in kept_fields(tuple(FIELDS)):
        kept = getattr(ensemble, name)
        if kept is None:
            continue
        single = {f"{name}_{seed}": array for seed, array in zip(ensemble.seeds, kept, strict=True)}
        arrays |= single if name in RAGGED else {name: kept}
    with written_to("--out", path) as part:
        np.savez(part, **arrays)
    if not quiet:
        say(console(), f"kept: {path}")
