"""The page "The model": every model has its section, and every formula of it is evaluated beside the code."""

from __future__ import annotations

import importlib
import re

import pytest

import presage as ps
from presage.protocol.model import models
from tests.page_blocks import ROOT
from tests.page_formulas import DISPLAYED, evaluated, one_line, stated

MODELS = {model.name: model for model in models()}


@pytest.fixture
def sections(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    return importlib.import_module("model_sections")


@pytest.mark.parametrize("name", MODELS)
def test_every_formula_of_a_page_is_evaluated_by_a_test(name):
    module = importlib.import_module(f"tests.models.{name}.test_formulas")
    page, tests = stated(MODELS[name]), evaluated(module)
    assert sorted(page - tests) == [], "no test evaluates these"
    assert sorted(tests - page) == [], "the page does not have these"
    assert len(page) > 10


def test_formulas_are_found_and_a_changed_one_is_another():
    text = "Words.\n\n$$\na = b,\n\\quad c\n$$\n\nMore $x$ and `$$`.\n\n$$\nd\n$$\n"
    assert [one_line(formula) for formula in DISPLAYED.findall(text)] == [r"a = b, \quad c", "d"]


@pytest.mark.parametrize("name", MODELS)
def test_what_networks_measure_has_a_definition(name):
    assert [observable.name for observable in MODELS[name].measured if not observable.formula] == []


@pytest.mark.parametrize("name", MODELS)
def test_the_tables_of_a_section_have_what_is_declared(name, sections):
    model, page = MODELS[name], sections.section(MODELS[name])
    for named in model.named:
        assert f"* - `{named.name}`\n  - `ps.{named.make.rpartition(':')[2]}`" in page
        assert callable(getattr(ps, named.make.rpartition(":")[2]))
        for field, declaration in named.fields.items():
            words = sections.sentence(declaration.words)
            assert re.search(rf"\* - `{field}`\n  -.*\n  - {re.escape(words)}", page), field
    for observables in model.observables.values():
        for observable in observables:
            definition = f"${observable.formula}$" if observable.formula else "above"
            assert f"* - `{observable.name}`\n  - {definition}\n" in page


def test_fields_with_the_same_name_and_another_meaning_have_rows_of_their_own(sections):
    """Three tables of one declaration each would be one; a default or a range that differs is told apart."""
    for model in MODELS.values():
        page = sections.fields_table(model)
        for named in model.named:
            defaults = sections.defaults_of(named)
            for field, declaration in named.fields.items():
                row = f"  - {sections.range_of(declaration)}\n  - {defaults[field]}\n"
                rows = [part for part in page.split("* - ") if part.startswith(f"`{field}`")]
                mine = [part for part in rows if named.name in part or "*Of:*" not in part]
                assert any(row.rstrip() in part for part in mine), (named.name, field)


def test_numbers_are_worded_by_their_ranges(sections):
    number = ps.Number("tokens", at_least=2, at_most=64, whole=True, optional=True)
    assert sections.range_of(number) == "at least 2, at most 64, whole, or `None`"
    assert sections.range_of(ps.Choice("which", options=("a", "b"))) == '`"a"`, `"b"`'
    assert sections.shown(0.5) == "`0.5`"
    assert sections.shown("cross") == '`"cross"`'


def test_nothing_of_the_pages_comes_from_a_network():
    """Formulas are set by a file beside the pages, and that file is whole: its licence is with it, its fonts inside."""
    folder = ROOT / "docs" / "static" / "mathjax"
    script = (folder / "tex-svg.js").read_text(encoding="utf-8")
    assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert 'VERSION="3.2.2"' in script
    settings = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert 'mathjax_path = "mathjax/tex-svg.js"' in settings
    assert "http" not in settings
