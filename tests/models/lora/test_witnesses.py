"""Theory beside adapters that were trained, both stages for real."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.lora.theory import solution
from presage.models.lora.theory.averages import rule_of
from presage.models.lora.theory.errors import Measured
from presage.models.lora.theory.pretrained import pretrained
from presage.models.lora.theory.state_evolution import settled_on, start_of

LAW = ps.MarchenkoPastur(0.5)


def linear(**options):
    given = {
        "pretraining_alpha": 0.25,
        "pretraining_weight_decay": 0.3,
        "noise": 0.4,
        "alpha": 5.0,
        "weight_decay": 0.3,
    }
    return ps.linear_lora(LAW, **(given | options))


def softmax(**options):
    given = {
        "pretraining_alpha": 0.5,
        "pretraining_weight_decay": 0.02,
        "noise": 0.4,
        "alpha": 8.0,
        "weight_decay": 0.04,
    }
    return ps.softmax_lora(LAW, **(given | options))


def compared(problem, d, seeds=8):
    options = {"seeds": seeds, "n_test": 5000, "processes": 1, "progress": False}
    return ps.compare(ps.solve(problem), *(ps.simulate(problem, d=size, **options) for size in d))


def test_linear_adapters_are_where_the_theory_says():
    found = compared(linear(), (40, 80), 12)
    assert found.agrees, str(found)


QUICK_ONES = {"softmax": softmax(), "two columns": linear(rank=2, target_rank=2, n_tokens=3, alpha=6.0)}


@pytest.mark.parametrize("name", QUICK_ONES)
def test_other_adapters_too(name):
    found = compared(QUICK_ONES[name], (40, 80))
    assert found.agrees, str(found)


SLOW_ONES = {
    "strong new task": linear(strength=2.0, alpha=3.0),
    "recalibrated": linear(recalibration=0.7),
    "selected": linear(selection=0.1, alpha=2.5),
    "reused": linear(reuse="noise", alpha=2.5),
    "relabelled": linear(reuse="sequences", alpha=2.5),
    "one token": linear(n_tokens=1, alpha=8.0),
    "softmax of three": softmax(n_tokens=3, alpha=4.0),
    "softmax recalibrated": softmax(recalibration=0.75),
    "softmax selected": softmax(selection=0.1, alpha=5.0),
    "softmax reused": softmax(reuse="noise", alpha=5.0),
    "softmax relabelled": softmax(reuse="sequences", alpha=5.0),
    "softmax, another temperature": softmax(beta=0.8, beta_0=1.2),
    "softmax of two columns": softmax(n_tokens=3, rank=2, target_rank=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_ONES)
def test_every_kind_of_fine_tuning(name):
    found = compared(SLOW_ONES[name], (50, 100), 10)
    assert found.agrees, str(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (linear(reuse="noise", alpha=2.5), linear(alpha=2.5)),
        (softmax(), softmax(recalibration=0.5)),
        (linear(), linear(strength=1.2)),
        (softmax(selection=0.1, alpha=5.0), softmax(alpha=5.0)),
    ],
    ids=["fresh for reused", "another factor", "another strength", "all for selected"],
)
def test_another_problem_is_told_apart(right, wrong):
    """Negative control: the prediction for something else does not agree with what was trained."""
    import dataclasses

    prediction = dataclasses.replace(ps.solve(wrong), problem=right)
    options = {"seeds": 10, "n_test": 5000, "processes": 1, "progress": False}
    found = ps.compare(prediction, *(ps.simulate(right, d=size, **options) for size in (50, 100)))
    assert not found.agrees


def test_where_samples_jump_nothing_is_predicted():
    """T = 2, few samples: refused, with what was found; below the doubt it is a caveat."""
    problem = linear(alpha=0.7, noise=0.5, weight_decay=0.5)
    with pytest.raises(ps.SolveError, match="of the response is jumps") as caught:
        ps.solve(problem)
    assert isinstance(caught.value.partial, ps.LoraSolution)
    partial = ps.solve(problem, throw=False)
    assert partial.jump > 0.05
    assert any("Samples jump between minima" in line for line in partial.caveats)
    trusted = ps.solve(problem.replace(alpha=3.0))
    assert trusted.jump < 0.02
    assert trusted.caveats == ()


def test_spare_columns_have_a_caveat_of_their_own():
    found = ps.solve(linear(rank=2, alpha=8.0), accuracy=0.05)
    assert (
        sum("spare columns fit noise, and replica symmetry is approximate there" in one for one in found.caveats) == 1
    )
    equal = ps.solve(linear(rank=2, target_rank=2, alpha=8.0), accuracy=0.05)
    assert not any("spare columns" in one for one in equal.caveats)


def test_a_selection_by_its_second_moment_is_no_better_than_its_bars():
    """Only the second moment of selected scores enters a linear output; a softmax draws them."""
    found = ps.solve(linear(selection=0.1))
    assert any("only the second moment enters" in line for line in found.caveats)
    for name in ("overlap", "test_error", "gain", "norm", "train_loss"):
        assert found.error_bars[name] >= 1e-3 * abs(getattr(found, name))
    assert not any("second moment" in line for line in ps.solve(softmax(selection=0.1), accuracy=0.02).caveats)


def judged(jump: Measured) -> ps.LoraSolution:
    """A solution of a few points whose jumps are told to be these."""
    problem, stage = linear(), pretrained(linear().pretraining)
    point = settled_on(problem, rule_of(problem, stage.numbers, 2**8, 0), start_of(problem))
    measured = solution.measured_at(problem, stage.numbers, [point, point], 2**8) | {"jump": jump}
    return solution._judged(problem, stage, measured, {}, [point], 2**8, throw=True)


def test_jumps_that_are_no_number_are_refused_and_uncertain_ones_told():
    with pytest.raises(ps.SolveError, match="Samples jump between minima"):
        judged(Measured(np.nan, 0.001))
    assert any("cannot be told" in line for line in judged(Measured(0.01, 0.03)).caveats)
    assert judged(Measured(0.01, 0.005)).caveats == ()
