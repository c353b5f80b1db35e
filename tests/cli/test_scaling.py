"""`presage scaling`: what the library says, in a table, as JSON and CSV, as a picture; and over grids."""

from __future__ import annotations

from math import isnan

import pytest

import presage as ps
from tests.cli.test_cli import from_csv, from_json, picture, run

NETWORK = ("--model", "quadratic", "--target", "power:1.25,100", "--noise", "0.5", "--weight-decay", "0.01")


def known(alpha: float, **options):
    law = ps.PowerLaw(1.25, 100)
    return ps.scaling(ps.quadratic_network(law, alpha=alpha, weight_decay=0.01, noise=0.5), **options)


def test_it_is_what_the_library_says():
    found, own = from_json("scaling", *NETWORK, "--n", "10000", "--d", "100"), known(1.0)
    assert found["phase"] == own.phase == "VIa"
    for one in own.known_observables:
        assert found[one.name] == pytest.approx(getattr(own, one.name))
    assert found["law"]["formula"] == own.law.formula
    assert [edge["value"] for edge in found["boundaries"]] == pytest.approx([edge.value for edge in own.boundaries])
    assert found["caveats"] == list(own.caveats)
    (row,) = from_csv("scaling", *NETWORK, "--alpha", "1", "--factor", "2")
    assert row["phase"] == "VIa"
    assert float(row["local_exponent_n"]) == pytest.approx(known(1.0, factor=2.0).local_exponent_n)


def test_another_dimension_than_the_target_has_is_told():
    found = from_json("scaling", *NETWORK, "--n", "2500", "--d", "50")
    assert "boundaries in n are counted at the target's own d = 100, not at --d 50." in found["caveats"]
    assert found["error"] == pytest.approx(known(1.0).error)
    vector = ("--model", "diagonal", "--target", "power:1.25,100", "--noise", "0.5")
    found = from_json("scaling", *vector, "--n", "20", "--d", "50")
    assert "boundaries in n are counted at the target's own d = 100, not at --d 50." in found["caveats"]


def test_the_table_tells_phase_law_and_boundaries():
    out = run("scaling", *NETWORK, "--alpha", "1").stdout
    words = " ".join(out.split())
    assert "phase VIa beyond interpolation" in words
    assert "R = D/(8 alpha - 2)" in words
    assert "boundary_in_n" in words
    assert "to peak, within a factor 2" in words
    assert "phase_number" not in words
    assert "caveat: the law is a leading order" in words


def test_it_is_drawn(tmp_path):
    out = run("scaling", *NETWORK, "--alpha", "1", "--plot", str(tmp_path / "law.png")).stdout
    assert "drawn:" in out
    picture(tmp_path / "law.png")


def test_a_sweep_tells_phases_in_words(tmp_path):
    arguments = ("sweep", "scaling", *NETWORK[:-2], "--alpha", "0.01,1", "--weight-decay", "0.01,10", "--workers", "1")
    out = run(*arguments, "--plot", str(tmp_path / "map.png")).stdout
    assert "VIa" in out
    assert "Ib" in out
    picture(tmp_path / "map.png")
    rows = from_json(*arguments)["rows"]
    assert [row["phase"] for row in rows] == ["IV", "Ib", "VIa", "II"]
    assert not any(isnan(row["local_exponent_n"]) for row in rows)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "`--target` must be a PowerLaw"),
        (("--model", "elastic"), "the laws are those of weight decay on the factors"),
        (("--model", "hardmax"), "its output has no slope"),
        (("--model", "robust"), "the laws are those of the square loss"),
        (("--model", "quadratic"), "`--target` must be a PowerLaw"),
        (("--model", "quadratic"), "Use for example --target power:1.25,1000, or `presage solve`"),
        (("--model", "quadratic", "--target", "power:0.5,100"), "`--target` must have gamma above 1/2"),
        ((*NETWORK, "--factor", "1"), "`--factor` must be a finite number > 1"),
        ((*NETWORK, "--alpha", "1,2"), "`--alpha` must be one number here"),
        (("--model", "diagonal", "--target", "mp:0.5"), "Use for example --target power:1.25,1000"),
    ],
)
def test_mistakes(arguments, sentence):
    assert sentence in " ".join(run("scaling", *arguments, code=2).stderr.split())


def test_softmax_attention_is_answered_too(tmp_path):
    target = ("--target", "power:1.25,100", "--alpha", "20", "--weight-decay", "2", "--noise", "0.5")
    out = run("scaling", *target, "--plot", str(tmp_path / "law.png")).stdout
    assert "test_error_above_floor" in out
    assert "the estimation error has no scaling law" in " ".join(out.split())
    picture(tmp_path / "law.png")
