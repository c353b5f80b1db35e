"""`presage classify`: what type a spectrum is of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import targets
from presage.cli.arrays import npy_file, text_file
from presage.cli.errors import CommandError
from presage.cli.output import Csv, Json, Plot, check_format, check_picture, emit, say, table, tell_caveats
from presage.protocol import numbers
from presage.protocol.fields import Part

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = {
    "classify": (
        "presage classify eigenvalues.npy --plot type.png",
        "presage classify weights.csv --factor --plot type.pdf",
        "presage classify power:1.25,1000",
        "presage classify mp:0.5 --n 300 --json",
    ),
}
SPECTRUM = "SPECTRUM"
LAW = Part("law of eigenvalues", kind="presage.laws.spectral_law.SpectralLaw", example="MarchenkoPastur(0.5)")
TEXTS, SAVED = (".csv", ".txt", ".dat", ".tsv"), ".json"
FILES = "a file of eigenvalues or of a symmetric matrix (.npy, .csv, .txt), a result that save wrote (.json)"
MOST_LINES = 12  # of values that stand out
Given = Annotated[
    str, typer.Argument(help=f"{FILES[0].upper()}{FILES[1:]}, or a law such as mp:0.5.", metavar=SPECTRUM)
]
Factor = Annotated[bool, typer.Option("--factor", help="The file has a factor W, of any shape: W W' is classified.")]
Law = Annotated[
    str | None,
    typer.Option("--law", help="Law of the bulk, if it is known, such as mp:0.5.", metavar="LAW", show_default=False),
]
Size = Annotated[
    int | None,
    typer.Option("--n", help="How many eigenvalues stand for a law.", metavar="INTEGER", show_default=False),
]
Zero = Annotated[
    float | None,
    typer.Option(
        "--zero",
        help="Eigenvalues of at most this size are zero; by default their rounding.",
        metavar="NUMBER",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")]
Draws = Annotated[int, typer.Option("--bootstrap", help="Draws that test a power law; 0 for no test.")]


def classify(
    spectrum: Given,
    factor: Factor = False,
    law: Law = None,
    n: Size = None,
    zero: Zero = None,
    seed: Seed = 0,
    bootstrap: Draws = 400,
    json: Json = False,
    csv: Csv = False,
    plot: Plot = None,
) -> None:
    """Tell what type a spectrum is of: noise, spikes, a heavy tail, next to no rank; with the evidence."""
    check_format(json, csv)
    check_picture(plot)
    given, heading = _read(spectrum)
    known = None if law is None else targets.law("--law", law, LAW)
    import presage as ps

    found: Any = ps.classify(given, law=known, factor=factor, n=n, zero=zero, seed=seed, bootstrap=bootstrap)
    caveats = [*filter(None, [heading]), *found.caveats]

    def human(out: Console) -> None:
        say(out, f"{spectrum}: {found.verdict}")
        if isinstance(found, ps.EnsembleType):
            _networks(out, found)
        else:
            _evidence(out, found)
        tell_caveats(out, caveats)

    content = {"spectrum": spectrum, "type": found.kind, **found.as_dict(), "caveats": caveats}
    networks = content.get("networks", [content])
    for row in (content, *networks):
        row.pop("kind", None)  # the name of a class
        row.pop("values", None)  # who asks has them
    emit(content, [_row(row) for row in networks], human, json=json, csv=csv)
    if plot is not None:
        from presage.cli import pictures
        from presage.plots.plot import panels_of

        pictures.draw(plot, f"{spectrum}: {found.kind}", lambda: panels_of(found), quiet=json or csv)


def _read(text: str) -> tuple[Any, str]:
    """What was named: the array of a file, a saved result, a law; and a sentence about how it was read."""
    suffix = Path(text).suffix.lower()
    if suffix == ".npy":
        return npy_file(SPECTRUM, text), ""
    if suffix in TEXTS:
        return text_file(SPECTRUM, text)
    if suffix == SAVED:
        import presage as ps

        try:
            return ps.load(text), ""
        except ps.InputError as error:  # the library calls it a path
            raise CommandError(f"`{SPECTRUM}` must {error.must}: {error.reason}. Got {text}. {error.remedy}") from None
    if text.partition(":")[0] in targets.FAMILIES[LAW.kind].forms:
        return targets.law(SPECTRUM, text, LAW), ""
    raise CommandError(
        f"`{SPECTRUM}` must be {FILES}, or a law: {targets.syntax(LAW)}. Got {text!r}. "
        "Save eigenvalues with numpy.save, or write for example mp:0.5."
    )


def _evidence(out: Console, found: Any) -> None:
    """The numbers behind a type, and the values that stand out."""
    lines: list[tuple[numbers.Cell, ...]] = []
    for one in found.observables:
        lines.append((one.name, numbers.cell(float(getattr(found, one.name))), one.words))
        if one.name == "edge":
            fitted = found.bulk.bulk.parameters.items()
            lines += [(name, numbers.cell(at), f"of the bulk, a {found.family}") for name, at in fitted]
    if found.tail is not None:
        tail = found.tail._asdict()
        lines += [(name, numbers.cell(float(tail[name])), words) for name, words in TAIL.items()]
    table(out, ("evidence", "value", "meaning"), lines, words=("evidence", "meaning"))
    if found.spikes:
        rows = [tuple(numbers.cell(number) for number in spike) for spike in found.spikes[:MOST_LINES]]
        table(out, ("stands out", "p value", "far", "strength"), rows)
    if len(found.spikes) > MOST_LINES:
        say(out, f"{len(found.spikes)} values stand out in all; --json has every one.")


TAIL = {  # of a tail, what it is in words
    "low": "of the exponent, at 98 %: from",
    "high": "of the exponent, at 98 %: to",
    "start": "where the tail begins",
    "p_value": "how often a true power law is further from its own fit; below 0.02 it is none",
    "vuong_exponential": "score against an exponential tail; above 1.64 the power law is likelier",
    "vuong_lognormal": "score against a lognormal tail; below -1.64 that is likelier",
    "lognormal": "distance of all positive eigenvalues to a lognormal law; up to 1.035 they may be one",
    "gain": "log of how much likelier the power law is than that; above 4 it is clear",
}


def _networks(out: Console, found: Any) -> None:
    """A line a network."""
    pairs = zip(found.seeds, found.members, strict=True)
    rows = [(str(seed), one.kind, numbers.cell(one.zero_mass), str(len(one.spikes)), one.reason) for seed, one in pairs]
    table(out, ("seed", "type", "zero", "stand out", "reason"), rows, words=("seed", "type", "reason"))


def _row(content: dict[str, Any]) -> dict[str, Any]:
    """One spectrum as a line of CSV: its numbers, those of its bulk and of its tail."""
    bulk, tail = content["bulk"] or {}, content["tail"] or {}
    return {
        **{name: content[name] for name in ("seed",) if name in content},  # of a network
        "type": content["type"],
        "reason": content["reason"],
        **content["observables"],
        "family": bulk.get("family", ""),
        **{f"tail_{name}": value for name, value in tail.items()},
        "spikes": [spike["value"] for spike in content["spikes"]],
        "caveats": content["caveats"],
    }
