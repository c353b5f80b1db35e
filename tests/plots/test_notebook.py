"""What a notebook shows: a table with every number, a picture, the caveats; a picture that fails leaves the table."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from typing import Any

import pytest

import presage as ps
from presage.protocol.numbers import Measured, plus_minus
from tests.saved.test_saved import NAMES, Coin, Guess, every  # noqa: F401 - a fixture

VOID = {"img", "br"}


class Page(HTMLParser):
    """The words of a page, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.words)


def pictures(text: str) -> list[bytes]:
    return [base64.b64decode(data) for data in re.findall(r'src="data:image/png;base64,([^"]+)"', text)]


@pytest.mark.parametrize("name", NAMES)
def test_every_result_has_a_table_a_picture_and_its_caveats(name, every):  # noqa: F811 - the fixture
    result = every[name]
    html = result._repr_html_()
    page = Page(html)
    assert type(result).__name__ in page.text
    (image,) = pictures(html)
    assert image.startswith(b"\x89PNG")
    assert len(html) < 200_000
    for line in result.caveats:
        assert f"caveat: {line}" in page.text
    assert "no picture" not in page.text
    assert not re.search(r"(?<![-\w])(color|background)\s*:", html)  # the page has its own, light or dark


def test_numbers_have_error_bars(every):  # noqa: F811 - the fixture
    s = every["solution"]
    page = Page(s._repr_html_())
    for one in s.observables:
        assert one.words in page.words
        assert plus_minus(Measured(getattr(s, one.name), s.error_bars[one.name])) in page.words
    compared = Page(every["comparison"]._repr_html_()).words
    row = every["comparison"]["rank"]
    assert f"{row.z:+.1f}" in compared
    assert plus_minus(Measured(row.a, row.a_error)) in compared
    assert "no alpha" in Page(every["thresholds"]._repr_html_()).words


def test_words_are_escaped():
    html = Guess(Coin(), 0.25)._repr_html_()
    assert "heads &lt;b&gt;&amp;&lt;/b&gt; tails" in html
    assert "how far &lt;off&gt;" in html
    assert "throws &lt;of a coin&gt;" in Coin()._repr_html_()
    assert "a coin &amp; its owner" in Coin()._repr_html_()


def test_a_problem_is_a_table_of_its_fields():
    problem = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
    words = Page(problem._repr_html_()).words
    for text in ("alpha", "0.5", "samples over the squared dimension, n/d^2", "penalty.weight_decay", "0.01"):
        assert text in words
    assert "MarchenkoPastur(kappa_0=0.5)" in words


def test_a_unit_that_looks_wrong_is_hinted_at():
    odd = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=5000.0, weight_decay=0.1, noise=0.5)
    assert odd.hints
    for result in (ps.solve(odd), ps.optimal_regularization(odd)):
        page = Page(result._repr_html_()).text
        assert all(f"hint: {line}" in page for line in odd.hints)
        assert result.as_dict()["hints"] == list(odd.hints)
    assert all(f"hint: {line}" in Page(odd._repr_html_()).text for line in odd.hints)
    usual = odd.replace(alpha=0.5)
    assert "hint: " not in Page(usual._repr_html_()).text
    assert ps.solve(usual).as_dict()["hints"] == []


@pytest.mark.parametrize(
    "error", [ps.InputError("x", "be", "so", 1, "Do."), ImportError("No module"), ps.SolveError("No.", "Try.")]
)
def test_a_picture_that_cannot_be_drawn_leaves_the_table(error, monkeypatch, every):  # noqa: F811 - the fixture
    from presage.plots import notebook

    def fails(_: Any) -> None:
        raise error

    monkeypatch.setattr(notebook, "panels_of", fails)
    page = Page(every["solution"]._repr_html_())
    assert f"no picture: {error}" in page.text
    assert f"{every['solution'].rank:.4g}" in page.text


def test_a_fault_of_the_program_is_not_hidden(monkeypatch, every):  # noqa: F811 - the fixture
    from presage.plots import notebook

    monkeypatch.setattr(notebook, "panels_of", lambda _: NAMES[len(NAMES)])
    with pytest.raises(IndexError):
        every["solution"]._repr_html_()
