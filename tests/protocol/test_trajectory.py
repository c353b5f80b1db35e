"""Trajectories and how networks are set beside them, whatever the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import presage as ps
from presage.protocol.ensemble import Floats
from presage.protocol.fields import declared

STEPS, MANY = 30, 40
LEVEL = ps.Observable("level", "what is followed")
SPREAD = ps.Observable("spread", "and how it spreads")


@dataclass(frozen=True)
class Walk(ps.Trainer):
    """A walk of so many steps."""

    steps: int = STEPS


def predicted(problem, *, steps: int, drift: float = 0.0):
    times = np.arange(steps + 1.0)
    values = {"level": np.tanh(0.1 * times) + drift, "spread": 1.0 + 0.0 * times}
    bars = {name: np.full(steps + 1, 1e-9) for name in values}
    return ps.Trajectory(problem, Walk(steps), (LEVEL, SPREAD), times, values, bars)


@dataclass(frozen=True, eq=False, kw_only=True)
class Walkers(ps.Ensemble):
    level: Floats = field(repr=False)
    observables = (LEVEL,)
    followed = (SPREAD, LEVEL)  # in another order than the prediction has them


@dataclass(frozen=True)
class WalkSetting(ps.Setting):
    problem: ps.LearningProblem
    d: int
    trainer: Walk
    kind = Walkers
    memory = 1.0
    size = "nothing"
    kept_bytes = {"trajectory": 8.0 * 3 * STEPS}  # noqa: RUF012

    def train(self, seed: int, threads: int) -> ps.Outcome:
        rng = ps.streams(seed, self.d)[0]
        times = np.arange(self.trainer.steps + 1.0)
        noise = rng.standard_normal((2, len(times))) / self.d
        level = np.tanh(0.1 * times) + 2.0 / self.d + noise[0]
        return ps.Outcome(
            seed, {"level": level[-1]}, (), {"trajectory": np.column_stack([times, 1.0 + noise[1], level])}
        )


def simulate(problem, *, d, seeds=8, trainer=None, keep=(), processes=None, progress=None):
    return ps.train_ensemble(WalkSetting(problem, d, trainer or Walk()), seeds, processes=1, progress=False, keep=keep)


@dataclass(frozen=True)
class WalkProblem(ps.LearningProblem):
    alpha: float = field(default=1.0, metadata=declared(ps.Number("samples", above=0.0)))
    model = ps.Model("walk", "a walk", {"trajectory": predicted, "simulate": simulate})

    def samples_at_one(self, d: int) -> int:
        return d


PROBLEM = WalkProblem()


def networks(d: int, **options):
    return ps.simulate(PROBLEM, d=d, seeds=MANY, **{"keep": "trajectory", **options})


def test_every_time_is_extrapolated_and_agrees():
    found = ps.trajectory(PROBLEM, steps=STEPS)
    compared = ps.compare(found, networks(20), networks(40))
    assert compared.agrees
    assert set(compared.rows) == {"level", "spread"}
    assert len(compared) == STEPS + 1
    assert compared.column("level_trained") == pytest.approx(found.level, abs=0.03)  # 2/d is gone
    assert compared.column("spread_predicted").tolist() == [1.0] * (STEPS + 1)
    assert "they agree. Furthest off of 62 numbers" in compared.head
    assert f"{compared.limit:.1f} is where agreement ends" in compared.head


def test_the_limit_is_that_of_the_largest_of_many():
    """Of so many true predictions one exceeds it as seldom as a single one exceeds three."""
    compared = ps.compare(ps.trajectory(PROBLEM, steps=STEPS), networks(20))
    rng = np.random.default_rng(0)
    largest = np.max(np.abs(rng.standard_normal((200_000, 62))), axis=1)
    assert np.mean(largest > compared.limit) == pytest.approx(0.0027, abs=4e-4)


def test_one_size_has_its_effect_and_its_caveat():
    compared = ps.compare(ps.trajectory(PROBLEM, steps=STEPS), networks(20))
    assert not compared.agrees  # 2/d is in it
    assert compared.largest[0] == "level"
    assert any("a single d cannot tell" in line for line in compared.caveats)


def test_a_wrong_way_is_told_apart():
    compared = ps.compare(ps.trajectory(PROBLEM, steps=STEPS, drift=0.05), networks(20), networks(40))
    assert not compared.agrees
    assert "they do not agree" in compared.head


def test_only_common_times_are_compared():
    short = ps.compare(ps.trajectory(PROBLEM, steps=STEPS), networks(20), networks(40))
    assert short.times[-1] == STEPS
    found = ps.trajectory(PROBLEM, steps=STEPS)
    every_other = ps.Trajectory(
        PROBLEM,
        found.trainer,
        found.observables,
        found.times[::2],
        {name: value[::2] for name, value in found.values.items()},
        {name: bar[::2] for name, bar in found.error_bars.items()},
    )
    assert ps.compare(every_other, networks(20)).times.tolist() == found.times[::2].tolist()


def test_mistakes_are_told():
    found = ps.trajectory(PROBLEM, steps=STEPS)
    with pytest.raises(ps.InputError, match=r"`ensembles` must have kept their trajectories: .*keep=\"trajectory\""):
        ps.compare(found, networks(20, keep=()))
    with pytest.raises(ps.InputError, match=r"be trained in the way that is followed: the prediction follows Walk\(st"):
        ps.compare(found, networks(20, trainer=Walk(7)))
    with pytest.raises(ps.InputError, match=r"`ensembles` must be given"):
        ps.compare(found)
    with pytest.raises(ps.InputError, match=r"`draws` must be left out here"):
        ps.compare(found, networks(20), draws=3)
    with pytest.raises(ps.InputError, match=r"have at least two networks each"):
        ps.compare(found, ps.simulate(PROBLEM, d=20, seeds=1, keep="trajectory"))
    with pytest.raises(TypeError, match=r"spread needs one error bar a time, \(31,\) of them, and has \(\)"):
        ps.Trajectory(PROBLEM, Walk(), (SPREAD,), found.times, found.values, {})
    with pytest.raises(AttributeError, match=r"a Trajectory has no 'lvel'; it follows level, spread"):
        found.lvel  # noqa: B018
    late = ps.Trajectory(PROBLEM, found.trainer, found.observables, found.times + 0.5, found.values, found.error_bars)
    with pytest.raises(ps.InputError, match=r"`ensembles` must have times of the prediction"):
        ps.compare(late, networks(20))
    with pytest.raises(ps.InputError, match=r"`problem` must be of a model that answers trajectory"):
        ps.trajectory(ps.diagonal_network(ps.PointMasses([0.0, 1.0], [0.9, 0.1]), alpha=1.0, weight_decay=0.1), steps=3)


def test_it_is_a_table_a_text_and_a_file(tmp_path):
    found = ps.trajectory(ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1), steps=3)
    table = found.to_dataframe()
    assert list(table.columns) == [f"{name}{end}" for name in found.values for end in ("", "_bar")]
    assert table.index.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert found.as_dict()["columns"]["rank"] == found.rank.tolist()
    assert "at 4 times, up to step 3 of PlainAMP(steps=3)" in str(found)
    found.save(tmp_path / "way.json")
    again = ps.load(tmp_path / "way.json")
    assert np.array_equal(again.test_error, found.test_error)
    assert again.trainer == found.trainer
    networks = [
        ps.simulate(found.problem, d=d, seeds=2, trainer=found.trainer, keep="trajectory", n_test=50, processes=1)
        for d in (10, 20)
    ]
    compared = ps.compare(found, *networks)
    compared.save(tmp_path / "compared.json")
    assert str(ps.load(tmp_path / "compared.json")) == str(compared)


def test_a_sweep_has_them_along_their_steps():
    problem = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1)
    table = ps.sweep(problem, ps.trajectory, alpha=[0.5, 1.0], steps=4, processes=1)
    assert dict(table.sizes) == {"alpha": 2, "step": 5}
    own = ps.trajectory(problem.replace(alpha=0.5), steps=4)
    assert table.test_error.sel(alpha=0.5).values.tolist() == own.test_error.tolist()
    assert table.rank_bar.dims == ("alpha", "step")
    assert table.time.values.tolist() == [own.times.tolist()] * 2
    longer = ps.sweep(problem, ps.trajectory, steps=[2, 4], processes=1)
    assert np.isnan(longer.test_error.sel(steps=2).values[3:]).all()
