"""Tables: whatever the width of the terminal, a number is whole, and what has no room is named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from presage.cli.app import app
from presage.cli.output import console, table
from presage.protocol.numbers import ROUNDING, Measured, cell

WIDTHS = (40, 60, 80, 120)
NUMBER = re.compile(r"^([+-]?\d+(?:\.(\d+))?)(?:\((\d+)\))?(?:e([+-]\d+))?$")
NETWORKS = ("--model", "quadratic", "--seeds", "2", "--workers", "1")
BRIEF = ("test_error", "train_loss", "estimation_error", "rank")
Row = dict[str, Any]  # what a line shows, by the names of the columns: words, a number, or a number and its bar


def answer(found: Any, names: tuple[str, ...], value: str, bar: str) -> list[Row]:
    return [{"observable": name, value: found[name], bar: found.get(f"{name}_bar")} for name in names]


def of_curve(found: Any) -> list[Row]:
    return [
        {"alpha": row["alpha"], **{name: (row[name], row[f"{name}_bar"]) for name in (*BRIEF, "bayes_test_error")}}
        for row in found["rows"]
    ]


def of_spectrum(found: Any) -> list[Row]:
    bands = [("bulk", bulk["left"], bulk["right"], bulk["mass"]) for bulk in found["bulks"]]
    atoms = [("repeated", atom["at"], atom["at"], atom["mass"]) for atom in found["atoms"]]
    outliers = [("outlier", at, at, "one") for at in found["outliers"]]
    lines = [("zero", 0.0, 0.0, found["zero"]), *bands, *atoms, *outliers]
    return [dict(zip(("eigenvalues", "from", "to", "fraction"), line, strict=True)) for line in lines]


def of_comparison(found: Any) -> list[Row]:
    return [
        {
            "observable": row["observable"],
            "predicted": (row["prediction"], row["prediction_bar"]),
            **{f"d = {d}": (row[f"d_{d}"], row[f"d_{d}_bar"]) for d in (10, 14, 20)},
            "d → ∞": (row["limit"], row["limit_bar"]),
            "z": row["z"],
            "verdict": row["verdict"],
        }
        for row in found["rows"]
    ]


def of_type(found: Any) -> list[Row]:
    names = ("low", "high", "start", "p_value", "vuong_exponential", "vuong_lognormal", "lognormal", "gain")
    tail = {name: found["tail"][name] for name in names}
    return [{"evidence": name, "value": value} for name, value in {**found["observables"], **tail}.items()]


def of_sweep(*axes: str) -> Callable[[Any], list[Row]]:
    def lines(found: Any) -> list[Row]:
        return [
            {**{axis: row[axis] for axis in axes}, **{name: (row[name], row[f"{name}_bar"]) for name in BRIEF}}
            for row in found["rows"]
        ]

    return lines


THRESHOLDS = ("interpolation", "perfect_recovery", "unfactorized_recovery", "bayes_recovery", "weak_recovery")
SOLVED = ("test_error", "train_loss", "train_error", "estimation_error", "rank", "replicon")
SCALED = ("error", "law_value", "composite", "learned", "exponent_n", "local_exponent_n")
COMMANDS: dict[str, tuple[tuple[str, ...], Callable[[Any], list[Row]]]] = {
    "solve": (("solve", "--noise", "0.5"), lambda found: answer(found, SOLVED, "value", "±")),
    "bayes": (
        ("bayes", "--model", "quadratic", "--noise", "0.5"),
        lambda found: answer(found, ("mmse", "test_error", "delta", "mutual_information"), "value", "±"),
    ),
    "exact recovery": (("curve", "--alpha", "0.5:40:4log", "--noise", "0", "--bayes"), of_curve),
    "spectrum": (
        ("spectrum", "--model", "quadratic", "--alpha", "8", "--target", "masses:0@0.7,2@0.29,9@0.01"),
        of_spectrum,
    ),
    "thresholds": (
        ("thresholds", "--noise", "0"),
        lambda found: [{"threshold": name, "alpha": found[name]} for name in THRESHOLDS],
    ),
    "scaling": (
        ("scaling", "--model", "quadratic", "--target", "power:1.25,60", "--alpha", "2", "--noise", "0.5"),
        lambda found: answer(found, SCALED, "value", "±"),
    ),
    "simulate": (
        ("simulate", *NETWORKS, "--d", "10"),
        lambda found: answer(found, SOLVED[:-1], "mean", "± s.e."),
    ),
    "classify": (("classify", "power:1.25,200", "--bootstrap", "20"), of_type),
    "compare": (("compare", *NETWORKS, "--d", "10,14,20"), of_comparison),
    "sweep solve": (
        ("sweep", "solve", "--alpha", "0.5,123456.75", "--noise", "0,0.5", "--workers", "1"),
        of_sweep("alpha", "noise"),
    ),
    "sweep simulate": (("sweep", "simulate", *NETWORKS, "--d", "8,12"), of_sweep("d")),
}


def printed(width: int, *arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), prog_name="presage", env={"COLUMNS": str(width)})
    assert result.exit_code == 0, result.output
    return result.stdout


def same(shown: str, known: Any) -> bool:
    """Whether what is shown is a number of the library, rounded to the digits that are shown."""
    value, bar = known if isinstance(known, tuple) else (known, None)
    if isinstance(value, str):
        return shown == value
    parts = NUMBER.match(shown)
    if parts is None:
        return False
    unit = 10.0 ** (int(parts[4] or 0) - len(parts[2] or ""))
    near = 0.5001 * unit + ROUNDING
    in_brackets = bar is None or parts[3] is None or abs(int(parts[3]) * unit - bar) <= near
    scale = 10.0 ** int(parts[4] or 0)
    return abs(float(parts[1]) * scale - value) <= near and in_brackets


@pytest.mark.parametrize(
    ("arguments", "of_json"),
    [
        pytest.param(*both, id=name, marks=pytest.mark.slow if name in ("compare", "simulate") else ())  # they train
        for name, both in COMMANDS.items()
    ],
)
def test_every_number_of_a_table_is_whole_at_every_width(arguments, of_json):
    known = of_json(json.loads(printed(80, *arguments, "--json")))
    for width in WIDTHS:
        out = printed(width, *arguments)
        said = re.search(r"No room for (.*?): a wider terminal", " ".join(out.split()))
        left_out = said[1].split(", ") if said else []
        lines = out.splitlines()
        (rule,) = [at for at, line in enumerate(lines) if line.startswith("──")]
        body = lines[rule + 1 :]
        numbers = [name for name in known[0] if name not in left_out]
        assert set(left_out) <= {*known[0], "meaning"}
        for row in known:
            shown = [(name, row[name]) for name in numbers if row[name] is not None]
            words = body.pop(0).split()
            while not same(words[0], shown[0][1]) and body:  # a line of words that broke
                words = body.pop(0).split()
            for (name, value), word in zip(shown, words, strict=False):
                assert same(word, value), (width, name, value, word)
            assert len(words) >= len(shown)
        assert max(map(len, lines)) <= width


def test_digits_go_before_columns_and_columns_before_the_edge(capsys):
    rows = [["first", cell(Measured(0.123456789, 1e-9)), cell(Measured(6.8e-20, 1e-21)), "some words that may break"]]
    shown = {}
    for width in (80, 58, 40, 25, 10):
        out = console()
        out.width = width
        table(out, ("name", "value", "other", "meaning"), rows, words=("name", "meaning"))
        shown[width] = capsys.readouterr().out
    assert "0.12345679" in shown[80]
    assert "0.12345679" in shown[58]
    assert "No room for meaning:" in " ".join(shown[40].split())
    assert "6.8(1)e-20" in shown[40]
    assert "0.1235" in shown[25]
    assert "No room for other, meaning:" in " ".join(shown[10].split())
    assert "first  0.1235\n" in shown[10]  # wider than the terminal, and whole
