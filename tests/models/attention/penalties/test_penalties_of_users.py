"""Penalties of one's own: the same numbers as the built-in ones, stationary, as sampled, and as trained."""

from __future__ import annotations

import re
from functools import cache
from math import inf, isnan
from pathlib import Path

import numpy as np
import pytest

import presage as ps
from presage.models.attention.experiment.amp import shrink_matrix
from presage.models.attention.experiment.data import sample, sample_target
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.theory.order_parameters import Conjugates
from presage.models.attention.theory.state_evolution import weight_side
from tests.models.attention.penalties.users_penalties import Count, DoubleWell, Logarithm, OwnNuclear, OwnRidge
from tests.models.attention.theory.test_state_evolution import NODES, slopes

MP = ps.MarchenkoPastur(0.5)
PAIRS = {"nuclear": (OwnNuclear(), ps.NuclearPSD(0.05)), "ridge": (OwnRidge(), ps.Frobenius(0.05))}
ELASTIC = ps.elastic_attention(MP, alpha=1.0, nuclear=0.1, ridge=0.05, noise=0.5)
PAGE = (Path(__file__).resolve().parents[4] / "docs" / "add-a-penalty.md").read_text()


@cache
def solved(name: str, channel: ps.Channel) -> tuple[ps.Solution, ps.Solution]:
    first, second = (ps.Problem(MP, channel, penalty, alpha=1.0, noise=0.5) for penalty in PAIRS[name])
    return ps.solve(first, tol=1e-9), ps.solve(second, tol=1e-9)


# --- the built-in penalties once more


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("law", [MP, ps.PowerLaw(1.25, 60), ps.Semicircle(1.0)], ids=["MP", "power", "semicircle"])
@pytest.mark.parametrize("size", [1.0, 20.0, 200.0])
def test_the_integrals_are_those_of_the_built_in_penalties(name, law, size):
    own, built_in = (weight_side(penalty, law, 1.0, Conjugates(0.9 * size, 0.5, 1.1 * size)) for penalty in PAIRS[name])
    np.testing.assert_allclose([*own.overlaps, *own[1:]], [*built_in.overlaps, *built_in[1:]], rtol=1e-9)


@pytest.mark.parametrize("channel", [ps.Linear(1), ps.Linear(2), ps.Softmax(2)], ids=["network", "linear", "softmax"])
@pytest.mark.parametrize("name", PAIRS)
def test_own_re_implementations_solve_to_the_same_numbers(name, channel):
    own, built_in = solved(name, channel)
    for observable in ("test_error", "train_error", "train_loss", "estimation_error", "rank", "replicon", "delta"):
        assert getattr(own, observable) == pytest.approx(getattr(built_in, observable), rel=1e-7), observable
        assert own.error_bars[observable] < 1e-3
    assert own.caveats == built_in.caveats == ()
    if name == "nuclear":
        assert own.cutoff == pytest.approx(built_in.cutoff, rel=1e-7)
    else:
        assert isnan(own.cutoff)
    assert isnan(own.scale)


@pytest.mark.parametrize("name", PAIRS)
def test_the_spectrum_of_an_own_penalty_is_that_of_the_built_in_one(name):
    own, built_in = solved(name, ps.Softmax(2))
    s = np.linspace(-0.5, 3.5, 41)
    for observable in ("cdf", "density"):
        ours, theirs = (getattr(law, observable)(s[s != 0.0]) for law in (own.spectrum, built_in.spectrum))
        np.testing.assert_allclose(ours, theirs, atol=2e-6)
    p = np.linspace(0.01, 0.99, 9)
    np.testing.assert_allclose(own.spectrum.quantile(p), built_in.spectrum.quantile(p), atol=1e-6)
    np.testing.assert_allclose(own.spectrum.support, built_in.spectrum.support, atol=1e-6)
    assert own.spectrum.moment(2) == pytest.approx(own.overlaps.q, rel=1e-9)
    assert own.spectrum.moment(0) == 1.0
    np.testing.assert_allclose(own.bulks, built_in.bulks, atol=1e-6)
    z = np.array([1.0 + 0.5j, -2.0 + 0.1j])
    np.testing.assert_allclose(own.spectrum.stieltjes(z), built_in.spectrum.stieltjes(z), rtol=1e-6)
    with pytest.raises(AttributeError, match="trains S itself"):
        _ = own.singular_values


# --- identities


@pytest.mark.parametrize("penalty", [ELASTIC.penalty, Logarithm()], ids=lambda p: type(p).__name__)
def test_the_fixed_point_is_stationary(penalty):
    """No slope of the free energy in any of the six, also where the shrinkage jumps; a wrong scale has one."""
    s = ps.solve(ELASTIC.replace(penalty=penalty), solver=ps.StateEvolution(rule=NODES), tol=1e-9)
    assert np.abs(slopes(s.problem, s.overlaps, s.conjugates)).max() < 1e-6
    m_hat, q_hat, Sigma_hat = s.conjugates
    wrong = Conjugates(m_hat, q_hat, np.sqrt(2.0) * Sigma_hat)
    assert np.abs(slopes(s.problem, s.overlaps, wrong)).max() > 1e-2


@pytest.mark.parametrize(
    "penalty",
    [ps.ElasticSpectral(0.2, 0.1), ps.ElasticSpectral(0.2, 0.1, lowest=0.0), Count(), DoubleWell()],
    ids=["elastic", "elastic PSD", "count", "double well"],
)
def test_overlaps_are_those_of_a_sampled_matrix(penalty):
    """Shrink the eigenvalues of m_hat S_0 + sqrt(q_hat) GOE, d = 800."""
    d, conjugates = 800, Conjugates(0.9, 0.5, 1.1)
    m_hat, q_hat, Sigma_hat = conjugates
    rng = np.random.default_rng(4)
    factor = rng.standard_normal((d, d // 2))
    S_0 = factor @ factor.T / np.sqrt(d * d / 2)
    noise = rng.standard_normal((d, d))
    x, vectors = np.linalg.eigh(m_hat * S_0 + np.sqrt(q_hat / (2 * d)) * (noise + noise.T))
    kept = penalty.shrink(x, Sigma_hat, 1.0)
    S = (vectors * kept) @ vectors.T
    side = weight_side(penalty, MP, 1.0, conjugates)
    assert side.overlaps.m == pytest.approx(np.sum(S * S_0) / d, rel=2e-2)
    assert side.overlaps.q == pytest.approx(np.sum(S * S) / d, rel=1e-2)
    assert side.rank == pytest.approx(np.mean(kept != 0.0), abs=5e-3)
    assert side.penalty == pytest.approx(np.mean(penalty.value(kept, 1.0)), rel=1e-2)
    assert side.estimation_error == pytest.approx(np.sum((S - S_0) ** 2) / d, rel=1e-2)
    off = ~np.eye(d, dtype=bool)
    slope = np.divide(kept[:, None] - kept, x[:, None] - x, where=off, out=np.zeros((d, d)))
    assert side.overlaps.Sigma == pytest.approx(slope.mean(), rel=3e-2)
    Q_0, (m, q, _) = MP.second_moment, side.overlaps
    assert side.estimation_error == pytest.approx(Q_0 - 2 * m + q, rel=1e-8)
    assert side.deficit == pytest.approx(Q_0 - m, rel=1e-8)


def test_the_spectrum_of_an_elastic_penalty_has_its_atom_in_the_middle():
    s = ps.solve(ELASTIC)
    law = s.spectrum
    zero = law.atoms.masses[0]
    assert law.atoms.positions == [0.0]
    assert s.rank == pytest.approx(1.0 - zero, abs=1e-7)
    negative = float(law.cdf(-1e-9))
    assert 0.1 < negative < 0.3
    assert law.cdf([0.0, 10.0, -10.0]) == pytest.approx([negative + zero, 1.0, 0.0])
    assert law.quantile([negative + 0.5 * zero]) == [0.0]
    assert sum(bulk.mass for bulk in s.bulks) == pytest.approx(s.rank, abs=1e-7)
    points = np.concatenate([np.linspace(left, right, 4001)[1:-1] for left, right in law.bands])
    width = np.concatenate([np.full(3999, (right - left) / 4000) for left, right in law.bands])
    assert np.sum(law.density(points) * width) == pytest.approx(s.rank, rel=2e-3)


def test_a_jump_inside_a_bulk_is_said():
    s = ps.solve(ELASTIC.replace(penalty=Count()))
    assert s.replicon == inf
    assert any("jumps inside a bulk" in line for line in s.caveats)
    gap = s.spectrum.bands
    assert not ((gap[:, 0] < 0.01) & (gap[:, 1] > 0.01)).any()  # nothing small is left


def test_no_penalty_at_all_is_the_limit_of_weight_decay():
    """Positive semidefinite and free, past interpolation: s(x) is x itself there, whose distance from x is rounding."""

    class Free(ps.Penalty):
        lowest = 0.0

        def value(self, eigenvalues, kappa):
            return np.zeros(np.shape(eigenvalues))

    s = ps.solve(ps.Problem(MP, ps.Linear(1), Free(), alpha=1.0, noise=0.5))
    weak = ps.solve(ps.quadratic_network(MP, alpha=1.0, weight_decay=1e-7, noise=0.5))
    for name in ("test_error", "train_error", "estimation_error", "rank", "replicon"):
        assert getattr(s, name) == pytest.approx(getattr(weak, name), rel=1e-5), name
    assert s.cutoff == pytest.approx(0.0, abs=1e-9)


def test_a_strong_penalty_leaves_nothing():
    s = ps.solve(ps.Problem(MP, ps.Linear(1), ps.ElasticSpectral(50.0, 0.1), alpha=1.0, noise=0.5))
    assert (s.rank, s.overlaps.q) == (0.0, 0.0)
    assert s.estimation_error == pytest.approx(MP.second_moment)
    assert s.bulks == ()
    assert s.replicon == 0.0


# --- training


def build(problem: ps.Problem, d: int = 20) -> Objective:
    rng = np.random.default_rng(2)
    S_0 = sample_target(problem.target, d, rng)
    samples = sample(S_0, problem.channel, round(problem.alpha * d * d), rng, noise=problem.noise, tokens=ps.Gaussian())
    return Objective(samples, problem.channel, problem.penalty, d)


@pytest.mark.parametrize("channel", [ps.Linear(1), ps.Softmax(2)], ids=["network", "softmax"])
@pytest.mark.parametrize(
    "penalty", [ELASTIC.penalty, ps.ElasticSpectral(0.1, 0.02, lowest=0.0), OwnNuclear()], ids=["all", "PSD", "nuclear"]
)
def test_both_trainers_end_at_the_same_minimum(channel, penalty):
    objective = build(ELASTIC.replace(channel=channel, penalty=penalty))
    fits = [trainer.fit(objective, np.random.default_rng(0)) for trainer in (ps.AMP(), ps.ProximalGradient())]
    fits.append(ps.AMP(steps=3).fit(objective, np.random.default_rng(0)))  # too few: proximal steps go on
    for fit in fits:
        assert fit.converged
        assert fit.caveats == ()
        assert fit.certificate.residual < 1e-4
        assert fit.certificate.gap == inf
        assert fit.loss == pytest.approx(fits[0].loss, rel=1e-7)
        assert fit.certificate.rank == fits[0].certificate.rank
        assert np.diff(fit.history[:, 0]).min() >= 0.0
    # No matrix nearby has a lower loss.
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-2):
        step = rng.standard_normal((20, 20))
        S = fits[0].S + size * (step + step.T)
        s, vectors = np.linalg.eigh(S)
        S = (vectors * np.maximum(s, penalty.lowest)) @ vectors.T
        assert objective.loss_at(S) + objective.penalty_at(S) > fits[0].loss
    if isinstance(penalty, OwnNuclear) and isinstance(channel, ps.Linear):
        weight_decay = ps.ProximalGradient().fit(
            build(ELASTIC.replace(channel=channel, penalty=ps.NuclearPSD(0.05))), rng
        )
        assert weight_decay.loss == pytest.approx(fits[0].loss, rel=1e-6)


def test_what_does_not_end_is_said():
    fit = ps.ProximalGradient(steps=2).fit(build(ELASTIC), np.random.default_rng(0))
    assert not fit.converged
    assert re.match(r"ProximalGradient stopped after 2 steps with a relative residual of .*, above", fit.caveats[0])


@pytest.mark.parametrize("trainer", [ps.LBFGS(), ps.Adam()], ids=lambda t: type(t).__name__)
def test_trainers_that_need_a_gradient_refuse(trainer):
    with pytest.raises(ValueError, match=r"`trainer` must be AMP or ProximalGradient for a penalty of one's own"):
        ps.simulate(ELASTIC, d=8, seeds=1, trainer=trainer, processes=1)


@pytest.mark.parametrize("penalty", [Count(), ELASTIC.penalty, Logarithm()], ids=lambda p: type(p).__name__)
def test_the_divergence_of_a_shrinkage_with_jumps_counts_no_jump(penalty):
    theta = np.array([3.0, 2.2, 1.5, np.sqrt(0.8 * 1.7) + 1e-9, 0.15, -0.7, -2.0])  # one at the jump of Count
    S, divergence = shrink_matrix(penalty, np.diag(theta), 1.7, 1.0)
    s = penalty.shrink(theta, 1.7, 1.0)
    np.testing.assert_allclose(np.diag(S), s, atol=1e-12)
    slope = (penalty.shrink(theta + 2e-4, 1.7, 1.0) - penalty.shrink(theta + 1e-4, 1.7, 1.0)) / 1e-4
    pairs = [(s[i] - s[j]) / (theta[i] - theta[j]) for i in range(7) for j in range(i)]
    assert divergence == pytest.approx(np.sum(slope) + np.sum(pairs), rel=1e-2)


@pytest.mark.parametrize(
    "problem",
    [ELASTIC, ps.Problem(MP, ps.Linear(1), ps.ElasticSpectral(0.1, 0.02, lowest=0.0), alpha=1.0, noise=0.5)],
    ids=["attention", "network"],
)
def test_trained_networks_do_as_predicted(problem):
    s = ps.solve(problem)
    c = ps.compare(s, *(ps.simulate(problem, d=d, seeds=6, processes=1, n_test=4000) for d in (30, 45)))
    for row in c.rows:
        assert abs(row.z) < 4, row.sentence
    assert c.spectra[-1].wasserstein < 0.08
    assert c.spectra[-1].kolmogorov_smirnov < 0.12


# --- names, words, page


def test_the_named_problem_and_its_parts():
    assert ELASTIC.penalty == ps.ElasticSpectral(0.1, 0.05)
    assert ELASTIC.replace(nuclear=0.3).penalty == ps.ElasticSpectral(0.3, 0.05)
    assert ps.elastic_attention(MP, alpha=1.0, nuclear=0.1, ridge=0.0, lowest=0.0).penalty.lowest == 0.0


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: ps.ElasticSpectral(-0.1, 0.1), r"`nuclear` must be a finite number >= 0"),
        (lambda: ps.ElasticSpectral(0.1, np.nan), r"`ridge` must be a finite number >= 0"),
        (lambda: ps.ElasticSpectral(0.0, 0.0), r"`nuclear` must be positive where the ridge is 0"),
        (lambda: ps.ElasticSpectral(0.1, 0.1, lowest=1.0), r"`lowest` must be -inf or 0"),
        (
            lambda: ps.solve(ELASTIC.replace(channel=ps.Linear(1)), solver=ps.ExplicitMap()),
            r"`solver` must fit the penalty",
        ),
    ],
)
def test_bad_input_is_refused(build, said):
    with pytest.raises(ValueError, match=said):
        build()


def test_a_value_that_is_a_sum_is_refused_in_words():
    class Summed(ps.Penalty):
        def value(self, eigenvalues, kappa):
            return np.sum(np.abs(eigenvalues))

    with pytest.raises(ValueError, match=r"one number for each eigenvalue.*Use numpy functions of the array"):
        ps.solve(ps.Problem(MP, ps.Linear(1), Summed(), alpha=1.0, noise=0.5))


def test_the_code_of_the_page_runs(capsys):
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    printed = capsys.readouterr().out
    assert "Logarithm: nothing found." in printed
    assert "test_error: predicted" in printed
    assert all(abs(row.z) < 4 for row in ps.compare(names["s"], *names["networks"]).rows)


@pytest.mark.parametrize("x", [1e-7, 1e-6, 3e-6, 1e-3])
def test_density_beside_a_plateau_is_the_slope_of_the_distribution_function(x):
    """The shrinkage has two slopes where its plateau at zero ends: a difference across the end sees half of one."""
    law = ps.solve(ELASTIC).spectrum
    for at in (x, -x):
        slope = (law.cdf(at + 0.5 * x) - law.cdf(at - 0.5 * x)) / x
        assert float(law.density(at)) == pytest.approx(float(slope), rel=1e-4)
