"""Formulas in docstrings: plain where they stand, typeset on the pages, and code where they are none."""

from __future__ import annotations

import importlib
import re

import pytest

from presage import cite
from tests.page_blocks import ROOT

# Formulas of docstrings that are equations, and are shown as code all the same.
LEFT_AS_THEY_ARE = {"E f.a", "E f.b", "start = c", 'mask="self"', 'pairs="all"', "advance(state, duration)"}


@pytest.fixture
def typeset(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    return importlib.import_module("typeset")


@pytest.mark.parametrize(
    ("plain", "tex"),
    [
        ("q = (m_hat/Sigma_hat)^2 J", r"q = (\hat{m} / \hat{\Sigma})^{2} J"),
        ("lambda~ = sqrt(kappa) lambda", r"\tilde{\lambda} = \sqrt{\kappa} \lambda"),
        ("J(delta,c) = int_c (x-c)^2 mu_delta", r"J (\delta, c) = \int_{c} (x - c)^{2} \mu_{\delta}"),
        ("int_0^q_hat MMSE dq", r"\int_{0}^{\hat{q}}\, \mathrm{MMSE}\, dq"),
        ("int_-2^c x^j mu_sc(dx)", r"\int_{-2}^{c} x^{j} \mu_{\mathrm{sc}} (dx)"),
        ("sum_{i<j} (s_i - s_j)", r"\sum_{i < j} (s_{i} - s_{j})"),
        ("dJ/ddelta = 4 delta I", r"dJ / d\delta = 4 \delta I"),
        ("|S - S_0|_F^2/d", r"| S - S_{0} |_{F}^{2} / d"),
        ("(x - c)_+", r"(x - c)_{+}"),
        ("|M|_*", r"| M |_{*}"),
        ("<X, M>/(p N)^(1/4)", r"\langle X, M \rangle / (p N)^{1 / 4}"),
        ("Z = sum_i i^-2gamma", r"Z = \sum_{i} i^{-2 \gamma}"),
        ("omega ~ N(0, q)", r"\omega \sim N (0, q)"),
        ("x . theta_0", r"x \cdot \theta_{0}"),
        ("-G_0'(u) > 1/t", r"- G_{0}' (u) > 1 / t"),
        ("argmin_h |h - z|^2", r"\operatorname*{argmin}_{h} | h - z |^{2}"),
        ("u = +-e1 + sqrt2 e2", r"u = \pm e_{1} + \sqrt{2} e_{2}"),
        ("weight_decay |W|_F^2", r"\mathtt{weight\_decay}\, | W |_{F}^{2}"),
        ("(delta, c) -> (alpha, lambda~)", r"(\delta, c) \to (\alpha, \tilde{\lambda})"),
        ("q = J,   c = 0", r"q = J, \qquad c = 0"),
        ("mu_0 [+] mu_sc", r"\mu_{0} \boxplus \mu_{\mathrm{sc}}"),
    ],
)
def test_plain_formulas_in_tex(plain, tex, typeset):
    assert typeset.tex(plain) == tex
    assert typeset.typeset(plain) == tex


@pytest.mark.parametrize(
    "code",
    [
        *("throw=False", "alpha=0.5", "<alpha>", "<alpha=0.5>", "solve(problem)", "PowerLaw(gamma, d)", "**options"),
        *("theta = u * v", "f.a", "S -> S+ = x", "|S+ - S|", "python -m presage", "tail**2", "mp:0.5", "name_bar"),
        *("0.5", "50,100", "0.135990(4)", "(a, b", "a)", "a +", "= b", "a / ", "x^", "x_a_b", '["a"]', "--d", ""),
    ],
)
def test_code_and_what_is_unfinished_stays_code(code, typeset):
    assert typeset.typeset(code) == ""


def test_a_name_alone_is_a_symbol_only_where_that_is_said(typeset):
    for name in ("alpha", "rho_0", "z", "(delta, c)"):
        assert typeset.typeset(name) == ""
        assert typeset.typeset(name, names=True) == typeset.tex(name)
    assert typeset.typeset("rank", names=True) == ""  # what one types


def formulas(labelled: str = "") -> list[str]:
    """The code in all docstrings of the package."""
    found = [
        " ".join(code.split())
        for thing in cite.documented(containing=labelled)
        for code in re.findall(r"``((?:(?!``).)+)``", thing.docstring, re.DOTALL)
    ]
    return list(dict.fromkeys(found))


def test_every_formula_of_an_equation_is_typeset_but_these(typeset):
    plain = [code for code in formulas("Equation:") if not typeset.typeset(code, names=True)]
    assert set(plain) == LEFT_AS_THEY_ARE


def test_nothing_is_lost_or_moved(typeset):
    """Numbers, letters and brackets of a formula come out in the order in which they went in, and braces close."""
    done = [(code, typeset.typeset(code, names=True)) for code in formulas()]
    done = [(code, tex) for code, tex in done if tex]
    assert len(done) > 500
    for code, tex in done:
        assert tex.count("{") == tex.count("}")
        plain = re.sub(r"\\(?:hat|bar|tilde|mathrm|mathtt|operatorname\*?|sqrt|,)", "", tex)
        for signs in (r"\d", r"[\[\]=+/;]"):
            there = re.findall(signs, re.sub(r"\[\+\]|\+-|-\+|<=|>=|!=", "", code).replace("yhat", "y"))
            assert re.findall(signs, plain) == there, code
        letters = re.findall(r"[A-Z]", code)
        assert re.findall(r"[A-Z]", plain) == letters, code
