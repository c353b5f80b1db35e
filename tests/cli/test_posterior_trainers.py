"""Trainers of a posterior mean on the command line: each gets of the theory what it is made of."""

from __future__ import annotations

import presage as ps
from presage.protocol.trainer import handed_in
from tests.cli.test_cli import from_json, run

LINEAR = ("--model", "linear-lora", "--noise", "0.5", "--pretraining-weight-decay", "0.4", "--alpha", "1.5")


def test_each_is_made_of_what_the_prediction_has_under_that_name():
    assert handed_in(ps.BayesAMP) == "denoiser"
    assert handed_in(ps.PosteriorAMP) == "posterior"


def test_message_passing_of_an_adapter_is_trained_by_its_name():
    found = from_json("simulate", *LINEAR, "--trainer", "posterior-amp", "--d", "20", "--seeds", "2", "--workers", "1")
    assert found["trainer"].startswith("PosteriorAMP(posterior=LinearPosterior(")
    assert len(found["seeds"]) == 2


def test_where_the_theory_has_none_it_is_refused_in_words():
    said = " ".join(
        run("simulate", "--model", "softmax-lora", "--trainer", "posterior-amp", "--d", "20", code=2).stderr.split()
    )
    assert "`--trainer posterior-amp` has no posterior here: message passing is known for a linear output" in said
