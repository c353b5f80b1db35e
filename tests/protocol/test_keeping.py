"""What is kept of trained networks: what was measured of them can be measured again."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.protocol import ensemble as protocol
from tests.protocol.test_ensemble import Throws, measured

QUADRATIC = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.5)
BILINEAR = ps.bilinear_regression(ps.GaussianProduct(0.5, 1.5), alpha=1.0, weight_decay=0.1, noise=0.5)
DIAGONAL = ps.diagonal_network(ps.PointMasses([0.0, 1.0], [0.8, 0.2]), alpha=1.0, weight_decay=0.1, noise=0.5)
BOTH = ("weights", "history")


def trained(problem: Any, **options: Any) -> Any:
    return ps.simulate(problem, **{"d": 12, "seeds": 2, "processes": 1, "n_test": 50, **options})


CASES = [
    (QUADRATIC, ps.AMP(), 12.0, "eigenvalues", np.linalg.eigvalsh),
    (QUADRATIC, ps.LBFGS(), 12.0, "eigenvalues", np.linalg.eigvalsh),
    (QUADRATIC, ps.ProximalGradient(), 12.0, "eigenvalues", np.linalg.eigvalsh),
    (BILINEAR, ps.ProximalGradient(), np.sqrt(12.0 * 18.0), "singular_values", np.linalg.svdvals),
    (BILINEAR, ps.LBFGS(), np.sqrt(12.0 * 18.0), "singular_values", np.linalg.svdvals),
    (DIAGONAL, ps.ProximalGradient(), 12.0, "entries", np.sort),
    (DIAGONAL, ps.LBFGS(), 12.0, "entries", np.sort),
    (DIAGONAL, ps.Lasso(), 12.0, "entries", np.sort),
]


@pytest.mark.parametrize(("problem", "trainer", "unit", "name", "values_of"), CASES)
def test_what_was_measured_is_found_again_in_what_is_kept(problem, trainer, unit, name, values_of):
    e = trained(problem, trainer=trainer, keep=BOTH)
    for i in range(2):
        assert values_of(e.weights[i]) == pytest.approx(getattr(e, name)[i], abs=1e-12)
        assert np.sum((e.weights[i] - e.targets[i]) ** 2) / unit == pytest.approx(e.estimation_error[i], rel=1e-12)
        seconds, loss = e.history[i].T
        assert np.all(np.diff(seconds) >= 0.0)
        assert seconds[0] >= 0.0
        assert loss[-1] == pytest.approx(e.train_loss[i], rel=1e-5)
        assert loss[0] >= loss[-1]
    assert np.any(e.targets[0] != e.targets[1])


@pytest.mark.parametrize("problem", [QUADRATIC, BILINEAR, DIAGONAL])
def test_nothing_is_kept_unless_it_is_asked_for_and_keeping_changes_no_number(problem):
    without, kept = trained(problem), trained(problem, keep="weights", processes=2)
    assert without.weights is without.targets is without.history is kept.history is None
    assert kept.weights.shape == kept.targets.shape
    for observable in without.measured:
        assert np.array_equal(getattr(without, observable.name), getattr(kept, observable.name))
    assert "weights" not in repr(kept)


@pytest.mark.slow
def test_the_history_of_a_posterior_mean_is_the_error_that_it_expects():
    for problem in (QUADRATIC, BILINEAR):
        trainer = ps.BayesAMP(ps.bayes_optimal(problem).denoiser)
        e = trained(problem, d=40, seeds=2, trainer=trainer, keep="history")
        expected = ps.bayes_optimal(problem).estimation_error
        assert np.mean([rows[-1, 1] for rows in e.history]) == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        (
            "weight",
            r"must be \"weights\" or \"history\" or \"features\": .* Got keep='weight'\. Use for example keep=\"weigh",
        ),
        (("weights", "loss"), r"`keep` must be \"weights\" or \"history\" or \"features\""),
        (["weights", 3], r"`keep` must be \"weights\" or \"history\" or \"features\""),
        (True, r"`keep` must be \"weights\" or \"history\" or \"features\""),
    ],
)
def test_a_word_that_nobody_knows_is_refused_by_name(keep, said):
    with pytest.raises(ps.InputError, match=said):
        trained(QUADRATIC, keep=keep)


@dataclass(frozen=True)
class Kept(Throws):
    """Coins that say that they can be kept."""

    here: tuple[str, ...] = ("weights", "targets", "history")

    @property
    def kept_bytes(self) -> dict[str, float]:
        return {"weights": 16.0, "history": 16.0}

    def train(self, seed: int, threads: int) -> Any:
        if seed == 1:
            raise ps.TrainError("It fell off the table.", "Throw again.")
        values = self.what(seed, ps.streams(seed, self.d)[0])
        kept = {"weights": np.ones(2), "targets": np.zeros(2), "history": np.ones((seed + 3, 2))}
        return ps.Outcome(seed, values, (), {name: kept[name] for name in self.here})


def coins(setting: Any, **options: Any) -> Any:
    return ps.train_ensemble(setting, 3, processes=1, progress=False, **options)


def test_a_failed_seed_keeps_nan_and_a_history_without_rows():
    e = coins(Kept(None, 5, ps.LBFGS(), measured), keep=BOTH)
    assert np.isnan(e.weights[1]).all()
    assert np.isfinite(e.weights[[0, 2]]).all()
    assert [rows.shape for rows in e.history] == [(3, 2), (0, 2), (5, 2)]


def test_a_model_that_keeps_nothing_refuses_and_one_that_does_not_do_what_it_says_is_told():
    with pytest.raises(ps.InputError, match="`keep` must be left out here: networks of this model keep nothing"):
        coins(Throws(None, 5, ps.LBFGS(), measured), keep="weights")
    with pytest.raises(TypeError, match=r"Kept\.train keeps no targets, though `kept_bytes` says so"):
        coins(Kept(None, 5, ps.LBFGS(), measured, ("weights", "history")), keep="weights")


def test_what_is_kept_counts_as_memory(monkeypatch):
    monkeypatch.setattr(protocol, "available_memory", lambda: 3.0 * 16.0 + 0.5)
    with pytest.raises(ps.InputError, match=r"beside the 4\.8e-08 GB that are kept of 3 networks"):
        coins(Kept(None, 5, ps.LBFGS(), measured), keep="weights")
    assert len(coins(Kept(None, 5, ps.LBFGS(), measured)).seeds) == 3


def test_a_sweep_has_no_room_for_weights_and_says_so():
    with pytest.raises(ps.InputError, match="`keep` must be left out of a sweep: a table has numbers of every cell"):
        ps.sweep(QUADRATIC, ps.simulate, alpha=[0.5, 1.0], d=8, seeds=1, keep="weights")
    with pytest.raises(ps.InputError, match="`keep` must be left out of a sweep"):
        ps.sweep(QUADRATIC, ps.simulate, alpha=[0.5, 1.0], d=8, seeds=1, keep=["weights"])
    hidden = functools.partial(ps.simulate, keep="weights", d=8, seeds=1)
    found = ps.sweep(QUADRATIC, hidden, alpha=[0.5], processes=1)
    assert "`keep` must be left out of a sweep" in str(found.outcome.values[0])
