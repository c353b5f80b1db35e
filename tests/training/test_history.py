"""A training can be watched while it goes, whichever trainer it is."""

from __future__ import annotations

import pytest

import presage as ps
from presage.training.history import History, step_of, watched

TRAINED = {
    "attention": (ps.attention(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.1), 12),
    "quadratic": (ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.1), 12),
    "bilinear": (ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=1.0, weight_decay=0.1, noise=0.1), 12),
    "diagonal": (ps.diagonal_network(ps.PointMasses([0.0, 1.0], [0.5, 0.5]), alpha=2.0, weight_decay=0.1), 30),
}
TRAINERS = [
    ("attention", ps.AMP()),
    ("attention", ps.LBFGS()),
    ("attention", ps.Adam(steps=50)),
    ("quadratic", ps.ProximalGradient()),
    ("bilinear", None),
    ("diagonal", None),
]


def test_who_watches_is_told_every_step_and_nobody_afterwards():
    told, history = [], History()
    with watched(lambda seconds, loss: told.append(loss)):
        history.record(2.0)
        assert step_of(0.0, 1.0)[1] == 1.0
    history.record(0.5)
    assert told == [2.0, 1.0]
    assert history.rows[:, 1].tolist() == [2.0, 0.5]


@pytest.mark.parametrize(
    ("model", "trainer"), TRAINERS, ids=lambda one: one if isinstance(one, str) else type(one).__name__
)
def test_every_trainer_is_watched_and_its_loss_falls(model, trainer):
    problem, d = TRAINED[model]
    losses: list[float] = []
    options = {} if trainer is None else {"trainer": trainer}
    with watched(lambda seconds, loss: losses.append(loss)):
        watched_run = ps.simulate(problem, d=d, seeds=[0], processes=1, progress=False, **options)
    assert len(losses) > 2
    assert losses[-1] < losses[0]
    alone = ps.simulate(problem, d=d, seeds=[0], processes=1, progress=False, **options)
    assert watched_run.train_loss[0] == alone.train_loss[0]  # to watch changes nothing
