"""The living papers: every published figure from its shipped data, and the problems that it hands to the sliders."""

from __future__ import annotations

import io
from typing import Any

from presage.cli.samples import ALPHA
from presage.cli.written import written
from presage.figures import catalogue
from presage.page.answers import Tell
from presage.page.asked import FieldError

DPI = 110


def papers(tell: Tell) -> None:
    """All figures: what each shows, where it was published, its problems as texts."""
    tell([_listed(name) for name in catalogue.names()])


def _listed(name: str) -> dict[str, Any]:
    figure = catalogue.figure(name)
    problems = []
    for label, problem in figure.problems().items():
        model, fields = written(problem)
        problems.append({"label": label, "model": model, "fields": fields, "along": ALPHA})
    return {"name": name, "title": figure.TITLE, "source": figure.SOURCE, "problems": problems}


def figure_picture(tell: Tell, name: str) -> None:
    """The picture of a figure, from the data that ship with presage."""
    from presage.figures.style import style

    known(name)
    with style():
        picture = catalogue.figure(name).draw(catalogue.load(name))
        out = io.BytesIO()
        picture.savefig(out, format="png", dpi=DPI)
    tell(out.getvalue())


def figure_words(tell: Tell, name: str) -> None:
    """What a figure shows, and how it was computed."""
    known(name)
    figure, parts = catalogue.figure(name), catalogue.load(name)
    tell({"caption": figure.caption(parts), "details": figure.details(parts)})


def known(name: str) -> None:
    """Refuse a name that is none of a figure."""
    if name not in catalogue.names():
        raise FieldError(None, f"There is no figure of that name. There are {', '.join(catalogue.names())}.")
