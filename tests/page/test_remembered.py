"""Answers are remembered by problem and accuracy, and forgotten when there is no room."""

from __future__ import annotations

from presage.page.remembered import Remembered, key


def test_the_order_of_fields_plays_no_part_and_everything_else_does():
    one = key("attention", {"alpha": "1", "noise": "0"}, "point", True)
    assert one == key("attention", {"noise": "0", "alpha": "1"}, "point", True)
    others = [
        key("attention", {"alpha": "1", "noise": "0"}, "cell", True),
        key("quadratic", {"alpha": "1", "noise": "0"}, "point", True),
        key("attention", {"alpha": "1.0", "noise": "0"}, "point", True),
        key("attention", {"alpha": "1", "noise": "0"}, "point", False),
    ]
    assert len({one, *others}) == 5
    assert len(key("attention", {"target": "masses:" + "1," * 9000})) < 100  # however long the problem is


def test_the_answer_that_was_not_asked_for_longest_goes_first():
    kept = Remembered(most=40)
    kept.put("a", "x" * 10)  # 13 letters each, with the name and the quotes
    kept.put("b", "y" * 10)
    kept.put("c", "z" * 10)
    assert kept.get("a") == "x" * 10
    kept.put("d", "w" * 10)
    assert kept.get("b") is None
    assert [kept.get(name) is not None for name in "acd"] == [True, True, True]
    assert kept.size <= 40


def test_an_answer_that_is_put_twice_takes_its_room_once():
    kept = Remembered(most=100)
    for _ in range(50):
        kept.put("a", [1.5, None])
    assert kept.get("a") == [1.5, None]
    assert kept.size == len("a") + len("[1.5, null]")


def test_an_answer_larger_than_all_room_is_not_kept():
    kept = Remembered(most=10)
    kept.put("a", "x" * 100)
    assert kept.get("a") is None
    assert kept.size == 0
