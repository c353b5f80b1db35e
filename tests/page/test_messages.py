"""What the browser says is read or refused; nothing else can happen."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.page.messages import ASKED, UnreadableError, read

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


def test_a_question_is_read():
    asked = read(json.dumps({"id": 3, "ask": "curve", "model": "attention", "fields": {"alpha": "1"}, "points": 5}))
    assert (asked.number, asked.ask, asked.model, asked.fields, asked.rest) == (
        3,
        "curve",
        "attention",
        {"alpha": "1"},
        {"points": 5},
    )
    assert asked.whole("points") == 5
    assert asked.words("beside") == []
    assert asked.optional_text("trainer") is None


@pytest.mark.parametrize(
    ("text", "words", "number"),
    [
        ("", "must be a JSON object", None),
        ("[]", "must be a JSON object", None),
        ("[" * 100_000, "must be a JSON object", None),
        ("{}", "`id` of a question must be a whole number", None),
        ('{"id": true}', "`id` of a question must be a whole number", None),
        ('{"id": -1}', "`id` of a question must be a whole number", None),
        ('{"id": 1}', "`ask` of a question must be one of point", 1),
        ('{"id": 1, "ask": ["point"]}', "`ask` of a question must be one of point", 1),
        ('{"id": 1, "ask": "point", "model": 3}', "`model` of a question", 1),
        ('{"id": 1, "ask": "point", "fields": {"alpha": 1}}', "`fields` of a question must be texts", 1),
        ('{"id": 1, "ask": "point", "fields": []}', "`fields` of a question must be texts", 1),
        ('"' + "x" * 2_000_000 + '"', "at most 1,000,000 letters", None),
    ],
)
def test_what_is_no_question_is_refused(text, words, number):
    with pytest.raises(UnreadableError) as caught:
        read(text)
    assert words in caught.value.message
    assert caught.value.number == number


@pytest.mark.parametrize(
    ("take", "value"),
    [
        ("text", 3),
        ("text", "x" * 1000),
        ("whole", 1.5),
        ("whole", True),
        ("number_of", "1"),
        ("number_of", 10**400),
        ("number_of", None),
        ("pair", [1.0]),
        ("pair", [1.0, None]),
        ("wholes", []),
        ("wholes", [True]),
        ("words", [1]),
    ],
)
def test_a_part_of_another_kind_is_refused(take, value):
    asked = read(json.dumps({"id": 1, "ask": "curve", "what": value}))
    with pytest.raises(UnreadableError, match="`what` of a question must be"):
        getattr(asked, take)("what")


@settings(max_examples=1000, deadline=None)
@given(ANYTHING | st.fixed_dictionaries({"id": ANYTHING, "ask": st.sampled_from(ASKED) | ANYTHING, "fields": ANYTHING}))
def test_anything_is_read_or_refused(said):
    try:
        ask = read(json.dumps(said)).ask
    except UnreadableError:
        return
    assert ask in ASKED
