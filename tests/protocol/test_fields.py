"""Fields are declared once: what is wrong with a value is said from the declaration, and views read it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.protocol.fields import declarations
from presage.protocol.model import models

RATE = ps.Number("samples over the dimension", above=0.0, at_most=10.0, example=2.0)
COUNT = ps.Number("number of tokens", at_least=1, at_most=9, whole=True, example=2)
WIDTH = ps.Number("width, if any", at_least=0.5, optional=True, example=1.0)
SIDE = ps.Choice("which side", options=("left", "right", "both"))
TARGET = ps.Part("law of the target", kind="presage.laws.spectral_law.SpectralLaw", example="Semicircle()")


@dataclass(frozen=True)
class Thing(ps.Declared):
    rate: float = field(metadata=ps.declared(RATE))
    count: int = field(default=2, metadata=ps.declared(COUNT))
    width: float | None = field(default=None, metadata=ps.declared(WIDTH))
    side: str = field(default="left", metadata=ps.declared(SIDE))
    target: Any = field(default_factory=ps.Semicircle, metadata=ps.declared(TARGET))
    free: Any = None

    def check_together(self) -> None:
        if self.count > 5 and self.side == "both":
            raise ps.InputError("count", "be at most 5", "both sides are counted", self.count, "Use <count=5>.")


def test_values_are_kept_as_what_they_are_declared_to_be():
    thing = Thing(2, count=3.0, width=1)  # type: ignore[arg-type]
    assert (thing.rate, thing.count, thing.width, thing.free) == (2.0, 3, 1.0, None)
    assert [type(value) for value in (thing.rate, thing.count, thing.width)] == [float, int, float]


@pytest.mark.parametrize(
    ("changes", "name", "text"),
    [
        ({"rate": 0.0}, "rate", "be a finite number > 0 and <= 10: it is the samples over the dimension. Got rate=0.0"),
        ({"rate": 11.0}, "rate", "Use for example rate=2."),
        ({"rate": "much"}, "rate", "Got rate='much'"),
        ({"rate": None}, "rate", "Got rate=None"),
        ({"count": 0}, "count", "be a whole number >= 1 and <= 9"),
        ({"count": 2.5}, "count", "be a whole number"),
        ({"width": 0.1}, "width", "be a finite number >= 0.5"),
        ({"side": "top"}, "side", 'be "left", "right" or "both": there is no other. Got side='),
        ({"target": 1.0}, "target", r"be a SpectralLaw: it is the law of the target. Got target=1.0"),
        ({"count": 6, "side": "both"}, "count", "be at most 5: both sides are counted. Got count=6. Use count=5."),
    ],
)
def test_what_is_wrong_is_said_from_the_declaration(changes, name, text):
    with pytest.raises(ps.InputError) as told:
        Thing(**{"rate": 1.0, **changes})
    assert told.value.name == name
    assert text in str(told.value)


@pytest.mark.parametrize(
    ("number", "value", "good"),
    [
        (ps.Number("rate", above=0.0), 1.0, True),
        (ps.Number("rate", above=0.0), -1.0, False),
        (ps.Number("count", above=0, whole=True), 0, False),
        (ps.Number("count", above=0, whole=True), 1, True),
        (ps.Number("offset", at_least=-3, at_most=0, whole=True), 5, False),
        (ps.Number("offset", at_least=-3, at_most=0, whole=True), -2, True),
        (ps.Number("offset", whole=True), -7, True),
        (ps.Number("count", at_least=0.5, whole=True), 0, False),
        (ps.Choice("side", options=("left",)), "left", True),
        (ps.Choice("side", options=("left",)), "right", False),
        (ps.Choice("side", options=("left", "right")), np.zeros(2), False),
    ],
)
def test_every_bound_counts_and_examples_may_be_left_out(number, value, good):
    if good:
        assert number.checked("x", value) == value
        return
    with pytest.raises(ps.InputError, match="`x` must be"):
        number.checked("x", value)


def test_a_copy_is_checked_too():
    with pytest.raises(ps.InputError, match="`rate` must be"):
        replace(Thing(1.0), rate=-1.0)


def test_views_read_the_declarations_in_their_order():
    assert list(declarations(Thing)) == ["rate", "count", "width", "side", "target"]
    assert declarations(Thing(1.0))["rate"] is RATE
    assert RATE.axis("rate") == "samples over the dimension"
    assert ps.Number("", example=1.0).axis("some_rate") == "some rate"


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_every_field_of_every_model_is_declared_once(model):
    """The declaration that a view reads is the object that checks the value."""
    for named in model.named:
        given = {
            name: eval(f"ps.{declaration.example}") if isinstance(declaration, ps.Part) else declaration.example
            for name, declaration in named.fields.items()
            if getattr(declaration, "example", None) is not None
        }
        problem = named(**given)
        checked = [*filter(None, map(problem.declaration, problem.names()))]
        for name, declaration in named.fields.items():
            assert any(same_range(declaration, other) for other in checked), (named.name, name)


def same_range(one: Any, other: Any) -> bool:
    """Whether two declarations allow the same values, in whatever words."""
    if type(one) is not type(other):
        return False
    keys = ("above", "at_least", "at_most", "whole", "optional", "options", "kind")
    return all(getattr(one, key, None) == getattr(other, key, None) for key in keys)


def test_a_problem_finds_the_declaration_of_a_field_of_its_parts():
    problem: Any = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
    assert problem.declaration("alpha").scale == "logarithmic"
    assert problem.declaration("weight_decay").label == "weight decay"  # of the penalty
    assert problem.declaration("beta").words == "inverse temperature of the softmax"  # of the channel
    assert problem.declaration("beauty") is None
