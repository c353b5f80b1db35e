"""Whom the server answers."""

from __future__ import annotations

import pytest

from presage.page.origin import is_loopback, is_own_host, is_own_origin


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1:8000", True),
        ("localhost:8000", True),
        ("LOCALHOST", True),
        ("[::1]:8000", True),
        ("192.168.0.7:8000", True),
        ("lab.example:8000", True),
        ("evil.example:8000", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
        (None, False),
        ("[::1", False),
    ],
)
def test_a_name_of_somebody_else_is_refused(host, own):
    assert is_own_host(host, "lab.example") is own


@pytest.mark.parametrize(
    ("origin", "own"),
    [
        (None, True),
        ("http://127.0.0.1:8000", True),
        ("http://127.0.0.1:8001", False),
        ("http://localhost:8000", False),
        ("https://evil.example", False),
        ("null", False),
        ("", False),
    ],
)
def test_another_page_is_refused(origin, own):
    assert is_own_origin(origin, "127.0.0.1:8000") is own


def test_loopback_is_told_from_the_rest():
    assert all(map(is_loopback, ("127.0.0.1", "localhost", "::1", "127.3.2.1")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.0.7", "lab.example", "::")))
