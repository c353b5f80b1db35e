"""Random commands, sensible and not: an answer or a sentence, never a traceback and never a silent NaN."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from presage.cli.app import app
from presage.cli.errors import in_options
from presage.protocol.errors import SolveError
from presage.protocol.numbers import Measured, with_bar


def steady(examples: int) -> settings:
    """The same examples every time, however slow the machine."""
    return settings(
        max_examples=examples, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


GARBAGE = st.one_of(
    st.sampled_from(
        ["", "nan", "inf", "-inf", "1e400", "0x10", "1:2", "1:2:3", "::", ",", "1,", "@", "--alpha", "½", "1_0"]
    ),
    st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cc"]), max_size=8),
)
NUMBER = st.one_of(
    st.floats(1e-3, 50.0).map(lambda x: f"{x:.4g}"),
    st.sampled_from(["0", "-1", "1e-9", "1e-8", "1e6", "1e7", "0.25", "0.5", "1", "2", "3"]),
)
TOKENS = st.sampled_from(["1", "2", "3", "5", "64", "1000"])
LAW = st.one_of(
    st.floats(0.01, 5.0).map(lambda kappa: f"mp:{kappa:.3g}"),
    st.builds(lambda gamma, d: f"power:{gamma:.3g},{d}", st.floats(0.1, 3.0), st.integers(1, 60)),
    st.lists(st.integers(-3, 9), min_size=1, max_size=4).map(lambda values: "masses:" + ",".join(map(str, values))),
    st.builds(lambda v, c: f"semicircle:{v:.3g},{c:.3g}", st.floats(0.01, 4.0), st.floats(-3.0, 6.0)),
)
RECTANGULAR_LAW = st.one_of(
    st.builds(lambda rank, aspect: f"product:{rank:.3g},{aspect:.3g}", st.floats(0.01, 3.0), st.floats(1.0, 4.0)),
    st.floats(0.01, 3.0).map(lambda rank: f"product:{rank:.3g}"),
    st.lists(st.integers(0, 9), min_size=1, max_size=4).map(lambda values: "masses:" + ",".join(map(str, values))),
)
NO_LAW = st.one_of(
    st.sampled_from(["mp:0", "mp:-1", "mp:1e9", "power:0,1", "masses:0@1", "product:0.5,0.1", "no.npy", "mp", "x:1"]),
    st.builds(lambda kind, rest: f"{kind}:{rest}", st.sampled_from(["mp", "power", "masses", "semicircle"]), GARBAGE),
)
OPTIONS = (
    "--alpha",
    "--weight-decay",
    "--ridge",
    "--noise",
    "--tokens",
    "--beta",
    "--beta-0",
    "--kappa",
    "--threshold",
)
# Problems that are solved in a moment: linear channels, with and without symmetry.
QUICK = {"quadratic": (0, 1, 3, 7), "linear-attention": (0, 1, 3, 4, 7), "bilinear": (0, 1, 3), "untied": (0, 1, 3, 4)}
COMMANDS = ("solve", "solve", "bayes", "thresholds", "spectrum", "curve")


def rarely(draw: st.DrawFn, wrong: st.SearchStrategy[str], right: st.SearchStrategy[str]) -> str:
    """One in ten is wrong."""
    return draw(wrong if draw(st.integers(0, 9)) == 9 else right)


@st.composite
def commands(draw: st.DrawFn) -> list[str]:
    """A command on a quick problem, now and then with an option that it has not or a value that is none."""
    model = draw(st.sampled_from(sorted(QUICK)))
    words = [draw(st.sampled_from(COMMANDS)), "--model", model]
    for index in draw(st.lists(st.sampled_from(QUICK[model]), unique=True, max_size=4)):
        value = rarely(draw, GARBAGE, TOKENS if OPTIONS[index] == "--tokens" else NUMBER)
        words += [OPTIONS[index], value]
    if draw(st.integers(0, 19)) == 19:
        words += [draw(st.sampled_from(OPTIONS)), draw(NUMBER)]
    if draw(st.booleans()):
        law = RECTANGULAR_LAW if model in ("bilinear", "untied") else LAW
        words += ["--target", rarely(draw, NO_LAW, law)]
    if words[0] == "curve":
        words += ["--noise", rarely(draw, GARBAGE, st.sampled_from(["0,0.5", "0:1:3", "1e-3:1:2log"]))]
    return words + draw(st.sampled_from([[], ["--json"], ["--csv"]]))


def invoke(words: list[str]) -> Any:
    """Run a command; whatever it is, it ends in an orderly way."""
    result = CliRunner().invoke(app, words, prog_name="presage")
    assert result.exit_code in {0, 1, 2}, (words, result.output)
    assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exception)
    assert "Traceback" not in result.output
    assert "fault of presage" not in result.output, (words, result.output)
    if result.exit_code:
        *hints, said = result.stderr.splitlines()
        assert said.startswith("presage: "), (words, result.output)
        assert all(line.startswith("hint: ") for line in hints), (words, result.output)
    return result


def nothing_is_silent(found: Any, caveats: list[str]) -> None:
    """Every null of a JSON answer is explained by a caveat that names it."""
    for name, value in found.items():
        if value is None:
            assert any(name.removesuffix("_bar") in line for line in caveats), (name, found)


@steady(150)
@given(commands())
@example(["solve", "--model", "quadratic", "--alpha", "1e-9", "--json"])
@example(["bayes", "--model", "quadratic", "--noise", "0", "--alpha", "50", "--json"])
@example(["thresholds", "--target", "masses:-1,1", "--json"])
def test_no_traceback_and_no_silent_nan(words):
    result = invoke(words)
    if "--json" in words and result.stdout:
        found = json.loads(result.stdout, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
        for row in found.get("rows", [found]):
            nothing_is_silent(row, row["caveats"])
    elif "--csv" in words:
        assert "nan" not in result.stdout.lower().replace("not a nan", "")
    elif result.exit_code == 0:
        assert " nan" not in result.stdout.lower().replace("it is nan for", "")


@steady(12)
@given(
    st.sampled_from(["attention", "unfactorized", "pair-comparison"]),
    st.floats(0.05, 20.0),
    st.floats(0.0, 2.0),
    st.floats(0.003, 1.0),
    st.sampled_from(["mp:0.5", "mp:0.1", "masses:0@0.9,2@0.1", "semicircle:1,2", "power:1.25,40"]),
)
def test_layers_with_a_softmax(model, alpha, noise, strength, target):
    penalty = "--ridge" if model == "unfactorized" else "--weight-decay"
    numbers = ["--alpha", f"{alpha:.4g}", "--noise", f"{noise:.4g}", penalty, f"{strength:.4g}"]
    result = invoke(["solve", "--model", model, "--target", target, *numbers, "--json"])
    if result.exit_code == 0:
        found = json.loads(result.stdout)
        nothing_is_silent(found, found["caveats"])
        assert found["test_error"] > 0.0


NOISE_OF_KEYBOARDS = st.lists(
    st.one_of(
        st.sampled_from(
            ["solve", "curve", "sweep", "figure", "where", "cite", "demo", "--json", "--help", "--list", "-h", "--"]
        ),
        st.sampled_from([*OPTIONS, "--target", "--model", "--store", "--part", "--d", "--seeds"]),
        GARBAGE,
    ),
    max_size=5,
)


@steady(150)
@given(NOISE_OF_KEYBOARDS)
@example(["figure", "--list", "x"])
@example(["where", "BETKZ25:43", "BETKZ25:44"])
@example(["cite", "½"])
def test_garbage_gets_a_sentence(words):
    # Words that would start real work, or write a file, are typed with one option that does not exist.
    result = invoke([*words, "--no-such-option"])
    assert result.exit_code in {0, 2}


@given(st.text(max_size=60))
@steady(200)
def test_any_message_can_be_translated(text):
    assert isinstance(in_options(SolveError(text, text)), str)


@steady(200)
@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.floats(1e-30, 1e30))
def test_a_number_in_brackets_is_within_its_error_bar(value, bar):
    """Read back, the digits are within the bar that they announce, and the bar is that of the number."""
    text = with_bar(Measured(value, bar))
    mantissa, bracket, tail = text.partition("(")
    if not bracket:
        assert float(text) == pytest.approx(value, rel=1e-7, abs=bar)
        return
    digits, _, power = tail.partition(")")
    scale = 10.0 ** int(power[1:]) if power else 1.0
    unit = 10.0 ** -len(mantissa.partition(".")[2]) * scale
    assert abs(float(mantissa) * scale - value) <= 0.51 * unit
    assert math.isclose(int(digits) * unit, bar, rel_tol=0.5)
