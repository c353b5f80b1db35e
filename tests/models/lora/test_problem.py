"""Problems of two stages: names, and a sentence for everything that is none."""

from __future__ import annotations

import pickle
import re

import pytest

import presage as ps

LAW = ps.MarchenkoPastur(0.5)


def before(**options):
    return ps.attention(LAW, alpha=0.5, weight_decay=0.01, noise=0.5, **options)


def problem(**options):
    return ps.lora(before(), **({"alpha": 6.0, "weight_decay": 0.05} | options))


def test_names_of_both_stages_are_understood():
    """Those that both have are the fine-tuning's; the other's have the name of the part before them."""
    one = problem()
    changed = one.replace(
        alpha=3.0, pretraining_alpha=0.7, pretraining_weight_decay=0.1, noise=0.2, kappa_0=0.3, beta=2.0
    )
    assert (changed.alpha, changed.weight_decay) == (3.0, 0.05)
    assert (changed.pretraining.alpha, changed.pretraining.penalty.weight_decay) == (0.7, 0.1)
    assert (changed.pretraining.noise, changed.pretraining.target.kappa_0) == (0.2, 0.3)
    assert changed.pretraining.channel.beta == changed.pretraining.channel.beta_0 == 2.0
    assert one.replace(pretraining=before(n_tokens=3)).n_tokens == 3
    for name in one.names():
        assert one.replace(**{name: one.value(name)}) == one
    assert one.value("pretraining_alpha") == 0.5
    assert one.declaration("pretraining_weight_decay").words == "weight decay on the factors of the layer"
    assert one.declaration("alpha").words.startswith("samples of the fine-tuning")
    assert "pretraining_noise" not in one.names()


def test_a_misspelt_name_is_refused():
    with pytest.raises(ValueError, match=r"This problem has pretraining, alpha, .*pretraining_alpha"):
        problem().replace(pretraining_noise=0.5)


def test_flat_and_nested_are_one_problem():
    flat = ps.softmax_lora(
        LAW, pretraining_alpha=0.5, pretraining_weight_decay=0.01, noise=0.5, alpha=6.0, weight_decay=0.05
    )
    assert flat == problem()
    assert hash(flat) == hash(problem())
    assert pickle.loads(pickle.dumps(flat)) == flat
    linear = ps.linear_lora(LAW, pretraining_alpha=0.5, pretraining_weight_decay=0.1, alpha=3.0, weight_decay=0.5)
    assert linear == ps.lora(ps.linear_attention(LAW, alpha=0.5, weight_decay=0.1), alpha=3.0, weight_decay=0.5)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"strength": -1.0}, "`strength` must be a finite number >= 0.001 and <= 1000: it is a squared length"),
        ({"rank": 0}, "`rank` must be a whole number >= 1 and <= 8: an adapter has at least one column. Got rank=0."),
        ({"target_rank": 1.5}, "`target_rank` must be a whole number >= 1 and <= 8"),
        ({"selection": 0.0}, "`selection` must be a finite number > 0 and <= 1: it is the fraction of a pool"),
        ({"selection": 1.5}, "no more than the whole pool can be kept. Got selection=1.5. Use at most selection=1."),
        ({"recalibration": 0.0}, "`recalibration` must be a finite number > 0"),
        ({"recalibration": -1.0}, "best_recalibration(problem) finds the best one."),
        ({"reuse": "labels"}, '`reuse` must be "nothing", "sequences" or "noise"'),
        ({"alpha": 0.0}, "`alpha` must be a finite number >= 1e-06"),
        ({"weight_decay": -0.1}, "`weight_decay` must be a finite number >= 0"),
        ({"selection": 0.5, "reuse": "noise"}, "`selection` must be 1 where sequences are reused"),
        ({"pretraining": 3}, "`pretraining` must be a Problem: an adapter is trained on a layer"),
        ({"pretraining": ps.hardmax_attention(LAW, alpha=1.0)}, "have a linear or a softmax output"),
        (
            {"pretraining": ps.pair_comparison(LAW, alpha=1.0, weight_decay=0.1)},
            "Got pretraining='PairComparison'. Use for example pretraining=attention(...)",
        ),
        (
            {"pretraining": ps.elastic_attention(LAW, alpha=1.0, nuclear=0.1, ridge=0.1)},
            "have weight decay on its factors or a ridge",
        ),
        ({"pretraining": before().replace(weight_decay=0.0)}, "`weight_decay` must be above 0 here"),
        ({"pretraining": before(n_tokens=17)}, "have at most 16 tokens"),
    ],
)
def test_what_is_no_problem_is_told_why(change, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        problem().replace(**change)


def test_one_token_of_a_softmax():
    with pytest.raises(ValueError, match="the softmax of a single entry is 1 whatever the weights"):
        ps.softmax_lora(
            LAW, pretraining_alpha=0.5, pretraining_weight_decay=0.01, alpha=6.0, weight_decay=0.05, n_tokens=1
        )


def test_a_power_law_is_outside_of_what_was_checked():
    law = ps.PowerLaw(gamma=1.0, d=50)
    one = ps.lora(ps.linear_attention(law, alpha=1.0, weight_decay=0.1, noise=0.5), alpha=3.0, weight_decay=0.5)
    assert any("those of a power law are of order sqrt(d)" in line for line in ps.solve(one).caveats)
    assert problem().notes == ()


def test_samples_are_counted_by_the_dimension():
    assert problem(alpha=2.5).samples(100) == 250
    assert problem().with_samples(300, d=100).alpha == 3.0
