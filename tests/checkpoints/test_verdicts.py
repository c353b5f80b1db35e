"""Verdicts in their order, each with its numbers."""

from __future__ import annotations

import re

import pytest

from presage.checkpoints import verdicts
from presage.checkpoints.bulk_fit import BulkFit
from presage.checkpoints.verdicts import Evidence, verdict


def fit(law, spikes, p):
    return BulkFit(law, spikes, (0.5,), p, 1.0, 0.0, 0.02, 0.04)


SEEN = Evidence(
    64, 64, 512, 512, 20.0, 1e-6, 1e-4, 3, 0, (fit("random", 3, 0.5), fit("tied", 3, 1e-3), fit("shrunk", 3, 1e-3))
)


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"n": 15}, verdicts.TOO_FEW, "15 of 64 values are not zero"),
        ({"effective_rank": 1.4}, verdicts.COLLAPSE, "effective rank is 1.4"),
        ({"q_random": 0.3}, verdicts.RANDOM, "nothing tells it from random factors"),
        ({"p_spectrum": 0.4}, verdicts.VECTORS, "the spectrum alone does not show it"),
        ({}, verdicts.SPIKES, r"noise \(random\) \+ 3 spikes"),
        ({"at_least": 0}, verdicts.UNEVEN, "uneven rows or heavy-tailed entries explain it"),
        ({"at_least": None}, verdicts.UNKNOWN, "no signs were flipped"),
        ({"h": 600, "n": 512}, verdicts.UNKNOWN, r"wider \(600\) than its input \(512\)"),
        ({"fits": (fit("random", 3, 0.5), fit("shrunk", 3, 0.2))}, verdicts.UNDECIDED, "shrunk fits as well"),
        (
            {"fits": (fit("random", 1, 1e-3), fit("shrunk", 9, 2e-3))},
            verdicts.NO_BULK,
            "at least 3 structured directions",
        ),
        (
            {"fits": (fit("random", 1, 1e-3),), "at_least": 0},
            verdicts.NO_BULK,
            "no value is above those of flipped signs",
        ),
        ({"fits": (fit("random", 32, float("nan")),)}, verdicts.UNKNOWN, "too many values stand out"),
        ({"below_floor": 12}, verdicts.UNKNOWN, "12 of 64 values may be the rounding"),
    ],
)
def test_the_first_verdict_that_holds(change, kind, words):
    found = verdict(SEEN._replace(**change))
    assert found.kind == kind
    assert re.search(words, found.sentence)


def test_a_law_is_named_only_where_others_would_be_rejected():
    """With 32 values the shrunk law would pass for random noise: it is not named though it alone fits."""
    seen = SEEN._replace(n=32, h=32, rows=256, columns=256, fits=(fit("random", 1, 1e-3), fit("shrunk", 1, 0.4)))
    found = verdict(seen)
    assert found.kind == verdicts.UNDECIDED
    assert "would fit random noise too" in found.sentence


@pytest.mark.parametrize("change", [{"q_random": 0.3}, {"p_spectrum": 0.4}, {"n": 15}, {"below_floor": 12}])
def test_no_law_is_named_where_no_verdict_names_one(change):
    assert verdict(SEEN._replace(**change)).fit is None


def test_no_verdict_says_trained():
    assert not any("train" in f"{kind} {words}" for kind, words in verdicts.KINDS.items())
