"""`presage weights`: every attention head of a file of weights beside what noise shows."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli.errors import CommandError, option
from presage.cli.options import is_written
from presage.cli.output import Csv, Json, Plot, check_format, check_picture, emit, say, table, tell_caveats
from presage.protocol import numbers

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = {
    "weights": (
        "presage weights model.safetensors --plot model.png",
        "presage weights folder-of-shards --json",
        "presage weights model.pt --heads 12 --family nanogpt",
        "presage weights fine-tuned.safetensors --before base.safetensors",
        "presage weights a.zip --member tuned --before a.zip --before-member base",
        "presage weights --families",
    ),
}
LISTS = ("families", "json", "csv")  # options of a list of families
FEW = 5  # heads that are listed at either end
MOST_LAYERS = 100  # lines of layers
PANEL = "What the file does not tell"
Source = Annotated[
    str | None,
    typer.Argument(
        help="A file of weights (.safetensors, .bin, .pt, .npz, .onnx, .gguf), a folder with an index, a wheel or zip.",
        metavar="FILE",
        show_default=False,
    ),
]
Before = Annotated[
    str | None,
    typer.Option(
        "--before", help="The weights that training began from: what changed since is looked at.", metavar="FILE"
    ),
]
Heads = Annotated[int | None, typer.Option("--heads", help="Number of heads.", rich_help_panel=PANEL)]
KvHeads = Annotated[int | None, typer.Option("--kv-heads", help="Number of heads of keys.", rich_help_panel=PANEL)]
HeadDim = Annotated[int | None, typer.Option("--head-dim", help="Width of a head.", rich_help_panel=PANEL)]
FamilyName = Annotated[
    str | None, typer.Option("--family", help="How tensors are laid out: see --families.", rich_help_panel=PANEL)
]
Member = Annotated[
    str | None, typer.Option("--member", help="Which file of a wheel or zip.", metavar="NAME", rich_help_panel=PANEL)
]
BeforeMember = Annotated[
    str | None,
    typer.Option(
        "--before-member", help="Which file of a wheel or zip in --before.", metavar="NAME", rich_help_panel=PANEL
    ),
]
Only = Annotated[
    str | None, typer.Option("--only", help="The layers of this name alone, such as layers.3.", metavar="NAME")
]
FoldNorm = Annotated[bool, typer.Option("--fold-norm", help="Multiply in the gains of the norm before the attention.")]
Matrices = Annotated[bool, typer.Option("--matrices", help="Look at whole matrices too.")]
Flips = Annotated[int, typer.Option("--flips", help="Random signs of the entries; 0 for none.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the flips.")]
Tol = Annotated[
    float | None,
    typer.Option("--tol", help="Singular values of at most this size are zero.", metavar="NUMBER", show_default=False),
]
Families = Annotated[bool, typer.Option("--families", help="List the families whose heads can be cut, and stop.")]


def weights(
    context: typer.Context,
    file: Source = None,
    before: Before = None,
    heads: Heads = None,
    kv_heads: KvHeads = None,
    head_dim: HeadDim = None,
    family: FamilyName = None,
    member: Member = None,
    before_member: BeforeMember = None,
    only: Only = None,
    fold_norm: FoldNorm = False,
    matrices: Matrices = False,
    flips: Flips = 19,
    seed: Seed = 0,
    tol: Tol = None,
    families: Families = False,
    json: Json = False,
    csv: Csv = False,
    plot: Plot = None,
) -> None:
    """Set every attention head of a file beside what random factors of its shape show; no code of the file is run."""
    check_format(json, csv)
    check_picture(plot)
    if families:
        _refuse_beside_families(context, file)
        _list_families(json, csv)
        return
    if file is None:
        raise CommandError(
            "`FILE` must be named: it holds the weights. Write for example presage weights model.safetensors."
        )
    import presage as ps

    cut: dict[str, Any] = {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "family": family, "only": only}
    if before is not None:
        _refuse_beside_before(context)
        members: dict[str, Any] = {"member_before": before_member, "member_after": member}
        found: Any = ps.compare_weights(before, file, flips=flips, seed=seed, **members, **cut)
        _tell(found, json, csv, lambda out: _changes(out, found))
        return
    if before_member is not None:
        raise CommandError(
            "`--before-member` must be left out without --before: it names a file inside of that. "
            f"Got --before-member {before_member}. Write --member for one of FILE, or name a --before."
        )
    more: dict[str, Any] = {
        "member": member,
        "fold_norm": fold_norm,
        "matrices": matrices,
        "flips": flips,
        "seed": seed,
        "tol": tol,
    }
    report = ps.read_weights(file, **cut, **more)
    _tell(report, json, csv, lambda out: _report(out, report))
    if plot is not None:
        _refuse_picture_of_nothing(report, plot)
        from presage.cli import pictures
        from presage.plots.plot import panels_of

        title = f"{Path(file).name}: {len(report.every_head)} heads"
        pictures.draw(plot, title, lambda: panels_of(report), quiet=json or csv)


def _tell(found: Any, json: bool, csv: bool, human: Any) -> None:
    """Numbers for people, or as JSON, or in one table as CSV: its first column says what a row is."""
    rows = [{"what": "head", "name": head.name, **head.row()} for head in found.every_head]
    rows += [{"what": "matrix", **matrix.row()} for matrix in found.every_matrix]
    rows += [{"what": "skipped", "name": one.name, "sentence": one.reason} for one in found.left_out]
    emit(found.as_dict(), rows, human, json=json, csv=csv)


def _refuse_beside_before(context: typer.Context) -> None:
    for name in ("fold_norm", "matrices", "tol", "plot"):
        if is_written(context, name):
            raise CommandError(
                f"`{option(name)}` must be left out beside --before: it plays no part in a change. Leave it out."
            )


def _refuse_picture_of_nothing(report: Any, plot: Path) -> None:
    if not report.every_head:
        raise CommandError(
            f"`--plot` must be left out of a file without heads: its picture has a square a head. Got --plot {plot}. "
            "The numbers are printed, and nothing is drawn."
        )


def _refuse_beside_families(context: typer.Context, file: str | None) -> None:
    if file is not None:
        raise CommandError(
            f"`FILE` must be left out beside --families, which reads none. Got {file}. Leave one of them out."
        )
    for name in context.params:
        if name not in LISTS and is_written(context, name):
            raise CommandError(
                f"`{option(name)}` must be left out beside --families: a list of families reads no file. Leave it out."
            )


def _list_families(json: bool, csv: bool) -> None:
    from presage.checkpoints.cutting.families import supported

    rows = [row._asdict() for row in supported()]

    def human(out: Console) -> None:
        columns = list(rows[0])
        table(out, columns, [[str(row[name]) for name in columns] for row in rows], words=columns)

    emit({"families": rows}, rows, human, json=json, csv=csv)


def _report(out: Console, report: Any) -> None:
    for line in report.summary.splitlines():
        say(out, line)
    if report.every_head:
        _layers(out, report.every_head)
        _extremes(out, report.every_head)
    if report.every_matrix:
        _matrices(out, report.every_matrix)
    _skipped(out, report.left_out)
    tell_caveats(out, report.caveats)


def _layers(out: Console, heads: Sequence[Any]) -> None:
    """A line a layer: medians and ranges over its heads."""
    places = list(dict.fromkeys((one.part, one.kind, one.layer) for one in heads))
    rows = []
    for place in places[:MOST_LAYERS]:
        there = [one for one in heads if (one.part, one.kind, one.layer) == place]
        part, kind, layer = place
        ratio = [one.stable_rank / one.ranks_of_noise[0].mean for one in there]
        verdicts = ", ".join(
            f"{sum(one.verdict == kind for one in there)} {kind}"
            for kind in dict.fromkeys(one.verdict for one in there)
        )
        called = " ".join(filter(None, [part, "" if kind == "self" else kind, str(layer)]))
        known = [one.at_least for one in there if one.at_least is not None]
        rows.append(
            (
                called,
                _spread(ratio),
                _spread([one.balance for one in there]),
                _spread([one.symmetry for one in there]),
                f"{min(known)} to {max(known)}" if known else "",
                verdicts,
            )
        )
    columns = ("layer", "stable rank/random", "balance", "symmetry", "at least", "verdicts")
    table(out, columns, rows, words=("layer", "verdicts"), stay=1)
    if len(places) > MOST_LAYERS:
        say(out, f"{len(places) - MOST_LAYERS} layers more: --csv has every head.")


def _spread(values: Sequence[float]) -> str:
    """Median and range."""
    known = sorted(value for value in values if not isnan(value))
    if not known:
        return ""
    middle = known[len(known) // 2] if len(known) % 2 else 0.5 * (known[len(known) // 2 - 1] + known[len(known) // 2])
    return f"{middle:.2f} [{known[0]:.2f}, {known[-1]:.2f}]"


def _extremes(out: Console, heads: Sequence[Any]) -> None:
    """The heads whose stable rank is furthest below that of random ones, and those that are nearest to random."""
    known = [one for one in heads if one.top > 0.0]
    order = sorted(known, key=lambda one: one.stable_rank / one.ranks_of_noise[0].mean)
    few = min(FEW, (len(order) + 1) // 2)
    for words, chosen in (
        ("Furthest from random, by stable rank:", order[:few]),
        ("Nearest:", order[len(order) - few :][::-1]),
    ):
        say(out, words)
        rows = [
            (
                one.name,
                numbers.cell(one.stable_rank),
                numbers.cell(one.ranks_of_noise[0].mean),
                f"{one.verdict}: {one.sentence}",
            )
            for one in chosen
        ]
        table(out, ("head", "stable rank", "random", "verdict"), rows, words=("head", "verdict"))


def _matrices(out: Console, matrices: Sequence[Any]) -> None:
    rows = [
        (
            one.name,
            f"{one.rows} x {one.columns}",
            numbers.cell(one.stable_rank),
            "" if one.at_least is None else str(one.at_least),
            f"{one.verdict}: {one.sentence}",
        )
        for one in matrices
    ]
    table(out, ("matrix", "shape", "stable rank", "at least", "verdict"), rows, words=("matrix", "shape", "verdict"))


def _changes(out: Console, found: Any) -> None:
    for line in found.summary.splitlines():
        say(out, line)
    rows = [
        (
            one.name,
            numbers.cell(one.change),
            numbers.cell(one.row()["stable_rank"]),
            "" if one.at_least is None else str(one.at_least),
            f"{one.verdict}: {one.sentence}",
        )
        for one in found.every_head
    ]
    if rows:
        table(out, ("head", "change", "stable rank", "at least", "verdict"), rows, words=("head", "verdict"))
    if found.every_matrix:
        _matrices(out, found.every_matrix)
    _skipped(out, found.left_out)
    tell_caveats(out, found.caveats)


def _skipped(out: Console, skipped: Sequence[Any]) -> None:
    if skipped:
        say(out, "Skipped:")
        rows = [(one.name, one.reason) for one in skipped[: 2 * FEW]]
        table(out, ("name", "reason"), rows, words=("name", "reason"))
    if len(skipped) > 2 * FEW:
        say(out, f"{len(skipped)} were skipped in all; --json has every one.")
