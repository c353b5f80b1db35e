"""Flows beside networks that take them: infinitely many samples by a solver of the flow, finite ones by data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import presage as ps

SMALL = {"n_test": 200, "processes": 1, "keep": "trajectory"}


def beside(problem, trainer, sizes, seeds, *, steps=6, **options):
    way = ps.trajectory(problem, steps=steps, trainer=trainer, **options)
    networks = [ps.simulate(problem, d=d, seeds=seeds, trainer=way.trainer, **SMALL) for d in sizes]
    return way, networks, ps.compare(way, *networks)


def is_told_apart(way, networks):
    """Whether a way whose clock is off by a factor of sqrt(2) is refused by the same networks."""
    trainer, fast = way.trainer, 2**0.5
    if hasattr(trainer, "rate"):
        other = replace(trainer, rate=fast * trainer.rate)
    else:
        other = replace(trainer, first=fast * way.times[1], until=fast * trainer.until)
    found = ps.trajectory(way.problem, steps=trainer.steps, trainer=other)
    return not ps.compare(replace(way, values=found.values), *networks).agrees


@pytest.mark.parametrize("d", [16, 32])
@pytest.mark.parametrize(
    "trainer",
    [ps.PopulationFlow(eps=1e-4, until=300.0), ps.PopulationDescent(eps=1e-4, rate=0.7, until=300)],
    ids=["flow", "descent"],
)
def test_networks_of_infinitely_many_samples_learn_as_predicted(trainer, d):
    """A power law of as many features as the network has: every network of every seed is the same, to rounding."""
    problem = ps.quadratic_network(ps.PowerLaw(1.0, d, normalized=False), alpha=1.0, weight_decay=0.1, noise=0.2)
    way, (networks,), compared = beside(problem, trainer, [d], 3)
    assert compared.agrees, str(compared)
    # By the clock and the numbers of the trajectory, to nine digits of S.
    measured = networks.trajectory[:, :, 2]
    np.testing.assert_allclose(measured, np.tile(way.estimation_error, (3, 1)), rtol=1e-7, atol=1e-16)
    assert is_told_apart(way, [networks])


def test_laws_without_a_dimension_are_the_limit():
    problem = ps.linear_attention(ps.MarchenkoPastur(0.5), alpha=0.3, weight_decay=0.1, noise=0.3, n_tokens=2)
    way, networks, compared = beside(problem, ps.PopulationFlow(eps=1e-2, until=30.0), (20, 40), 8)
    assert compared.agrees, str(compared)
    assert is_told_apart(way, networks)


@pytest.mark.parametrize("d", [16, 32])
def test_gaussian_weights_are_followed_at_every_size(d):
    problem = ps.quadratic_network(ps.PowerLaw(1.0, d), alpha=1.0, weight_decay=0.1, kappa=0.5)
    _, _, compared = beside(problem, ps.PopulationFlow(deviation=0.1, until=30.0), [d], 8, runs=24)
    assert compared.agrees, str(compared)
    assert not any("a single d cannot tell" in line for line in compared.caveats)


def test_networks_of_another_dimension_are_refused():
    problem = ps.quadratic_network(ps.PowerLaw(1.0, 16), alpha=1.0, weight_decay=0.1)
    with pytest.raises(ps.InputError, match=r"`ensembles` must be of the dimension of the prediction: .* d = 16"):
        beside(problem, ps.PopulationFlow(deviation=0.1, until=3.0), [12], 2, steps=2, runs=2)


TARGET = ps.PointMasses([0.0, 3.0**0.5], [0.5, 0.5])  # the same size, 1.5, for every network
FLOWS = {
    "quadratic": (ps.unfactorized_linear_attention(TARGET, ridge=0.0, alpha=1.0, noise=0.5), ps.MatrixFlow(until=15.0)),
    "fewer samples than entries, a ridge": (
        ps.unfactorized_linear_attention(TARGET, alpha=0.2, noise=0.3, ridge=0.2, n_tokens=2),
        ps.MatrixFlow(until=15.0),
    ),
    "steps": (
        ps.unfactorized_linear_attention(ps.Semicircle(), ridge=0.0, alpha=0.4, noise=0.3, n_tokens=2),
        ps.MatrixDescent(rate=0.3, until=30),
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_matrices_flow_as_predicted(name):
    sizes = (24, 48) if name == "quadratic" else (18, 36)  # one token a sample has larger effects of a finite size
    way, networks, compared = beside(*FLOWS[name], sizes, 10)
    assert compared.agrees, str(compared)
    assert is_told_apart(way, networks)


@pytest.mark.slow
def test_the_seen_bias_of_one_token_vanishes_with_the_dimension():
    """At d = 40 networks are 9 % above the limit, at three sizes they extrapolate to it."""
    problem = ps.unfactorized_linear_attention(TARGET, ridge=0.0, alpha=1.0, noise=0.5)
    way = ps.trajectory(problem, steps=3, trainer=ps.MatrixFlow(first=0.5, until=8.0))
    options = {**SMALL, "n_test": 50}
    networks = [
        ps.simulate(problem, d=d, seeds=seeds, trainer=way.trainer, **options) for d, seeds in ((40, 32), (80, 16))
    ]
    assert networks[0].estimation_error.mean() > 1.05 * way.estimation_error[-1]
    assert max(abs(z).max() for z in ps.compare(way, *networks).z.values()) < 3.0


def test_networks_on_their_way_are_not_set_beside_the_end():
    problem = FLOWS["steps"][0].replace(ridge=0.1)
    networks = ps.simulate(problem, d=10, seeds=2, trainer=ps.MatrixFlow(until=1.0), n_test=50, processes=1)
    with pytest.raises(ps.InputError, match=r"`ensembles` must be what the prediction is about: they were stopped on"):
        ps.compare(ps.solve(problem), networks)


def test_what_networks_of_infinitely_many_samples_show():
    problem = ps.quadratic_network(ps.PowerLaw(1.0, 10), alpha=1.0, weight_decay=0.1)
    flow = ps.PopulationFlow(until=50.0)
    networks = ps.simulate(problem, d=10, seeds=2, trainer=flow, n_test=200, keep="weights", processes=1)
    assert [one.name for one in networks.measured] == ["test_error", "estimation_error"]
    assert np.isnan(networks.train_error).all()
    assert networks.converged.all()
    np.testing.assert_allclose(networks.weights, networks.targets, atol=1e-4)
    for option, value in {"task": "sequence", "dtype": "float32", "tokens": ps.Rademacher()}.items():
        with pytest.raises(
            ps.InputError, match=rf"`{option}` must be left out here: this trainer sees infinitely many"
        ):
            ps.simulate(problem, d=10, seeds=2, trainer=flow, **{option: value})
    with pytest.raises(ps.InputError, match="`kappa` must be at least 1 for a start of eps 1"):
        ps.simulate(problem.replace(kappa=0.5), d=10, seeds=2, trainer=flow)
    with pytest.raises(ps.TrainError, match=r"Gradient descent left the finite numbers at step .* Use a smaller"):
        ps.simulate(problem, d=10, seeds=2, trainer=ps.PopulationDescent(rate=9.0, steps=50), processes=1)


def test_matrices_on_their_way():
    problem = FLOWS["quadratic"][0].replace(ridge=0.2)
    networks = ps.simulate(problem, d=12, seeds=2, trainer=ps.MatrixFlow(until=1e4), n_test=50, processes=1)
    assert networks.converged.all()
    minimum = ps.simulate(problem, d=12, seeds=2, trainer=ps.ProximalGradient(tol=1e-10), n_test=50, processes=1)
    np.testing.assert_allclose(networks.train_loss, minimum.train_loss, rtol=1e-8)
    with pytest.raises(ps.InputError, match="`problem` must have a Frobenius penalty here"):
        ps.simulate(
            ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1), d=10, trainer=ps.MatrixFlow()
        )
    with pytest.raises(ps.TrainError, match="left the finite numbers"):
        ps.simulate(problem, d=12, seeds=2, trainer=ps.MatrixDescent(rate=90.0, until=900), n_test=50, processes=1)
