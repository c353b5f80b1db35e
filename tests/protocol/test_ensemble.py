"""What is measured of a seed arrives whole: a value that is missing or ragged is told, never a silent NaN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.protocol.ensemble import Floats, joined


@dataclass(frozen=True, eq=False, kw_only=True)
class Coins(ps.Ensemble):
    heads: Floats = field(repr=False)
    throws: Any = field(repr=False)
    converged: Any = field(repr=False)

    observables = (ps.Observable("heads", "number of heads"),)
    noun = "coins"


def measured(seed: int, rng: np.random.Generator) -> dict[str, Any]:
    throws = rng.random(5) < 0.5
    return {"heads": int(throws.sum()), "throws": throws.astype(float), "converged": True}


@dataclass(frozen=True)
class Throws(ps.Setting):
    problem: Any
    d: Any
    trainer: ps.Trainer
    what: Callable[[int, np.random.Generator], Any]

    kind = Coins
    memory = 0.0
    size = "five throws"

    def train(self, seed: int, threads: int) -> Any:
        values = self.what(seed, ps.streams(seed, self.d)[0])
        return ps.Outcome(seed, values) if isinstance(values, dict) else values


def coins(what: Any = measured, d: Any = 5) -> Any:
    return ps.train_ensemble(Throws(None, d, ps.LBFGS(), what), 3, processes=1, progress=False)


def failing(*seeds: int) -> Callable[[int, np.random.Generator], Any]:
    def what(seed: int, rng: np.random.Generator) -> Any:
        if seed in seeds:
            raise ps.TrainError("It fell off the table.", "Throw again.")
        return measured(seed, rng)

    return what


def test_a_failed_seed_has_nan_where_others_have_whole_numbers():
    found = coins(failing(1))
    assert found.heads.dtype == np.float64
    assert np.isnan(found.heads).tolist() == [False, True, False]
    assert np.isnan(found.throws[1]).all()
    assert found.converged.tolist() == [True, False, True]
    assert found.failures == {1: "It fell off the table. Throw again."}


def test_where_every_seed_fails_nothing_has_converged():
    with pytest.raises(ps.TrainError, match="None of the 3 coins could be trained") as error:
        coins(failing(0, 1, 2))
    assert error.value.partial.converged.tolist() == [False] * 3
    assert np.isnan(error.value.partial.heads).all()


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (lambda seed, rng: {"throws": np.zeros(5), "converged": True}, "train measures no heads: a field of Coins"),
        (lambda seed, rng: None, "train returns None: return presage.Outcome"),
        (
            lambda seed, rng: {**measured(seed, rng), "throws": np.zeros(seed)},
            "throws has another shape for another seed",
        ),
        (lambda seed, rng: ps.Outcome(seed, measured(seed, rng), "odd"), "gives the caveat 'odd': give a tuple"),  # type: ignore[arg-type]
    ],
)
def test_a_fault_of_the_model_is_told(what, text):
    with pytest.raises(TypeError, match=text):
        coins(what)


@pytest.mark.parametrize("d", [0, 2.5, "many"])
def test_a_size_that_makes_no_sense_is_refused_whatever_the_model(d):
    with pytest.raises(ps.InputError, match="`d` must be"):
        coins(d=d)


class TestJoined:
    """Ensembles of other seeds side by side are the ensemble of all seeds."""

    problem = ps.attention(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.1)

    def of(self, seeds, **options):
        return ps.simulate(self.problem, d=10, seeds=seeds, processes=1, progress=False, **options)

    def test_they_are_what_one_call_gives(self):
        kept = {"keep": ("history", "weights")}
        whole, parts = self.of([3, 5, 7], **kept), joined([self.of([3], **kept), self.of([5, 7], **kept)])
        assert parts.seeds == whole.seeds
        for name in ("test_error", "train_loss", "rank", "eigenvalues", "weights", "targets", "converged"):
            assert np.array_equal(getattr(parts, name), getattr(whole, name)), name
        assert [len(rows) for rows in parts.history or ()] == [len(rows) for rows in whole.history or ()]
        assert whole.history
        assert parts.mean("rank") == whole.mean("rank")
        prediction = ps.solve(self.problem)
        assert ps.compare(prediction, parts)["rank"].z == ps.compare(prediction, whole)["rank"].z

    def test_what_does_not_belong_together_is_refused(self):
        one = self.of([0])
        with pytest.raises(ValueError, match="different numbers"):
            joined([one, self.of([0])])
        other = ps.simulate(self.problem, d=11, seeds=[1], processes=1, progress=False)
        with pytest.raises(ValueError, match="be of one problem, d and trainer"):
            joined([one, other])
        with pytest.raises(ValueError, match="be of one problem, d and trainer"):
            joined([one, self.of([1], trainer=ps.LBFGS())])
