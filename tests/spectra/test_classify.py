"""What type a spectrum is of: theorems, negative controls, what is given, what is refused."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.spectra.given_spectrum import size_that_shows
from presage.spectra.spectrum_type import KINDS
from tests.spectra.noise import NOISE, cut, wigner, wishart

TYPES = {  # (noise, n/d, weight decay) of one quadratic network with a power law of 1000 eigenvalues as its target
    "random-like": (100.0, 20.0, 1e-3),
    "bleeding-out": (30.0, 27.0, 1e-3),
    "bulk+spikes": (0.5, 100.0, 1e-3),
    "bulk-decay": (0.5, 2e4, 1e-3),
    "heavy-tailed": (0.5, 1e6, 100.0),
    "rank-collapse": (0.5, 10.0, 5.0),
}


def classify(spectrum: Any, **options: Any) -> Any:
    return ps.classify(spectrum, **options)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def learned(kind: str):
    noise, samples, weight_decay = TYPES[kind]
    d = 1000
    target = ps.PowerLaw(1.25, d)
    return ps.solve(ps.quadratic_network(target, alpha=samples / d, weight_decay=weight_decay, noise=noise))


@pytest.mark.parametrize("kind", TYPES)
def test_one_law_shows_every_type(kind):
    solution = learned(kind)
    assert classify(solution.spectrum.sample(1000, rng(3))).kind == kind
    at_quantiles = classify(solution)  # and so does the law itself, at the n = 1000 of its target
    assert (at_quantiles.kind, at_quantiles.n) == (kind, 1000)
    assert "this is its type at n = 1000" in at_quantiles.caveats[0]


def test_the_spikes_of_a_law_are_its_outliers():
    solution = learned("bulk+spikes")
    found = classify(solution.spectrum)
    assert len(solution.outliers) <= len(found.spikes) <= len(solution.outliers) + 2  # of those just detached
    top = sorted(solution.outliers)[::-1][:5]
    assert [spike.value for spike in found.spikes[:5]] == pytest.approx(top, rel=2e-3)


@pytest.mark.parametrize("kind", NOISE)
def test_noise_is_random_like(kind):
    found = classify(NOISE[kind](300, rng(1)))
    assert found.kind == "random-like"
    assert found.discrepancy <= found.bound < 5.0
    assert found.tail is None  # and no exponent is made up
    assert np.isnan(found.exponent)


@pytest.mark.parametrize("kind", ["Wigner", "Wishart, ratio 1", "cut semicircle"])
def test_noise_of_the_wrong_shape_is_not_random_like(kind):
    values = NOISE[kind](300, rng(1))
    assert classify(np.sign(values) * np.abs(values) ** 1.2).kind != "random-like"


@pytest.mark.parametrize("scale", [1e-12, 3.7, 1e12])
@pytest.mark.parametrize("kind", ["spikes", "tail"])
def test_the_type_does_not_depend_on_the_scale(kind, scale):
    values = wigner(200, rng(2), (3.0, 2.5)) if kind == "spikes" else np.arange(1, 301) ** -1.25
    one, other = classify(values), classify(scale * values)
    assert one.kind == other.kind == ("bulk+spikes" if kind == "spikes" else "heavy-tailed")
    assert other.reason == one.reason
    assert other.bulk.bulk.edge == pytest.approx(scale * one.bulk.bulk.edge, rel=1e-6)


def test_the_order_and_the_matrix_do_not_matter():
    gaussian = rng(3).standard_normal((120, 120))
    matrix = gaussian + gaussian.T
    values = np.linalg.eigvalsh(matrix)
    assert classify(matrix).reason == classify(values).reason == classify(list(values[::-1])).reason
    assert classify(values[:, None]).reason == classify(values).reason
    assert classify(ps.Empirical(matrix)).reason == classify(values).reason


@pytest.mark.parametrize("count", [1, 3, 5])
def test_planted_directions_are_counted(count):
    strengths = np.array([2.5, 3.0, 3.5, 4.0, 4.5])[:count]
    for values in (wigner(300, rng(4), strengths), wishart(300, 600, rng(4), strengths)):
        found = classify(values)
        assert found.kind == "bulk+spikes"
        assert len(found.spikes) == count == found.standing_out
        assert found.spikes[0].value == values[-1]
        assert str(count) in found.reason


def test_a_weak_direction_bleeds_out_of_the_bulk():
    found = classify(wigner(1000, rng(5), (1.6,)))
    assert found.kind == "bleeding-out"
    assert found.spikes[0].strength == pytest.approx(1.6, abs=0.2)
    assert classify(wigner(1000, rng(5), (0.8,))).kind == "random-like"  # below 1 nothing stands out


def test_a_negative_direction_is_no_noise():
    found = classify(wigner(300, rng(6), (-4.0,)))
    assert found.kind == "bulk+spikes"
    assert found.spikes[0].value < -3.5


def test_ranks_to_a_power_are_heavy_tailed():
    found = classify(np.arange(1, 1001) ** -1.25)
    assert found.kind == "heavy-tailed"
    assert found.exponent == pytest.approx(1.804, abs=5e-4)
    assert found.tail.low < 1.8 < found.tail.high
    assert classify(ps.PowerLaw(1.25, 1000)).exponent == pytest.approx(1.804, abs=5e-4)


def test_a_heavy_tailed_factor_is_heavy_tailed():
    factor = rng(7).standard_t(1.5, (300, 300))
    found = classify(factor @ factor.T)
    assert found.kind == "heavy-tailed"
    assert 1.5 < found.exponent < 2.4  # 1 + mu/2 = 1.75 in the limit


@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_a_lognormal_is_not_called_a_power_law(spread):
    kinds = [classify(np.exp(spread * rng(seed).standard_normal(400))).kind for seed in range(20)]
    assert kinds.count("heavy-tailed") <= 2  # by the tail alone it would be 13 of the second


def test_an_exponential_is_not_called_a_power_law():
    kinds = [classify(rng(seed).exponential(size=400)).kind for seed in range(20)]
    assert "heavy-tailed" not in kinds


def test_sparse_entries_bleed_out():
    n, generator, kinds = 300, rng(8), []
    for _ in range(6):
        entries = generator.standard_normal((n, n)) * (generator.random((n, n)) < 0.1)
        upper = np.triu(entries)
        kinds.append(classify(upper + upper.T).kind)
    assert kinds.count("bleeding-out") >= 4


def test_few_values_that_are_not_zero():
    collapsed = classify(np.concatenate([np.zeros(300), [1.0, 2.0]]))
    assert (collapsed.kind, collapsed.reason) == ("rank-collapse", "all but 2 of 302 eigenvalues are zero.")
    assert classify(np.zeros(60)).reason == "every eigenvalue is zero."
    few = classify(wigner(40, rng(9)))
    assert few.kind == "cannot tell"
    assert "fewer than 50 eigenvalues are not zero, 40 of 40" in few.reason
    assert "there are few eigenvalues, n = 40" in few.caveats[0]
    assert classify(wigner(50, rng(9))).kind != "cannot tell"
    assert classify([3.0]).kind == "cannot tell"
    assert classify([0.0, 0.0, 0.0, 1.0, 2.0, 3.0]).kind == "cannot tell"  # half a rank is none that collapsed


def test_what_cannot_be_told_says_why():
    uniform = classify(rng(10).random(500))
    assert uniform.kind == "cannot tell"
    assert "the tail is no power law" in uniform.reason
    assert classify(np.full(100, 2.0)).kind == "cannot tell"
    assert classify(ps.PointMasses([0.0, 1.0], [0.5, 0.5])).kind == "cannot tell"


def test_a_matrix_without_positive_eigenvalues_is_turned():
    values = wishart(200, 400, rng(11))
    found = classify(-values)
    assert found.kind == "random-like"
    assert found.reason == classify(values).reason
    assert "sign turned" in found.caveats[0]


def test_rounding_is_zero():
    factor = rng(12).standard_normal((200, 100))
    found = classify(factor @ factor.T)
    assert (found.zeros, found.family, found.kind) == (100, "Marchenko-Pastur law", "random-like")
    assert classify((factor @ factor.T).astype(np.float32)).zeros == 100
    assert classify(factor @ factor.T, zero=1e3).kind == "rank-collapse"


@pytest.mark.parametrize("shape", [(80, 200), (200, 80), (120, 120)])
def test_a_factor_stands_for_its_product_with_itself(shape):
    factor = rng(12).standard_normal(shape)
    found, product = classify(factor, factor=True), classify(factor @ factor.T)
    assert (found.kind, found.n, found.zeros) == ("random-like", shape[0], max(shape[0] - shape[1], 0))
    assert found.reason == product.reason
    with pytest.raises(ps.InputError, match="be left out for a law"):
        classify(ps.Semicircle(1.0), factor=True)


def test_a_law_of_noise_is_random_like():
    for law in (ps.Semicircle(2.0, 1.0), ps.MarchenkoPastur(0.5), ps.MarchenkoPastur(3.0)):
        found = classify(law)
        assert (found.kind, found.n) == ("random-like", 1000)
        assert found.discrepancy < 1.0  # quantiles do not fluctuate
        assert classify(law, n=200).n == 200


def test_a_law_is_taken_at_the_size_that_shows_its_lightest_part():
    assert size_that_shows(ps.Semicircle(1.0))[0] == 1000
    assert size_that_shows(ps.PowerLaw(1.25, 400))[0] == 400
    assert size_that_shows(ps.PointMasses([0.0, 1.0], [0.999, 0.001]))[0] == 1000
    size, told = size_that_shows(ps.PointMasses([0.0, 1.0], [1 - 1e-6, 1e-6]))
    assert size == 20_000
    assert "do not show it" in told[0]


def test_a_known_law_replaces_those_of_noise():
    law = ps.PointMasses([-3.0, 3.0])
    free = ps.FreeConvolution(law, 1.0)
    values = free.sample(400, rng(13))
    assert classify(values).kind != "random-like"  # two bulks are none of noise
    found = classify(values, law=free)
    assert (found.kind, found.family) == ("random-like", "the given law")
    assert classify(1.1 * values, law=free).kind != "random-like"
    spiked = classify(np.append(values[:-1], 7.0), law=free)
    assert (spiked.kind, len(spiked.spikes)) == ("bulk+spikes", 1)


def test_the_prediction_as_the_law_of_the_bulk():
    solution = ps.solve(ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.5))
    values = solution.spectrum.sample(300, rng(14))
    assert classify(values, law=solution.spectrum).kind == "random-like"
    with pytest.raises(ps.InputError, match=r"`law` must be a law of eigenvalues.*Got law='semicircle'"):
        classify(values, law="semicircle")


def test_every_network_of_an_ensemble_is_classified():
    problem = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=1e-3, noise=20.0)
    networks = ps.simulate(problem, d=60, seeds=3, n_test=50, processes=1)
    found = classify(networks)
    assert found.seeds == networks.seeds
    assert sum(found.counts.values()) == 3 == len(found.members)
    for member, rank in zip(found.members, networks.rank, strict=True):
        assert 1.0 - member.zero_mass == pytest.approx(rank)  # what is zero is said by the rank
    assert set(found.counts) <= set(KINDS)


@pytest.mark.slow
def test_trained_networks_are_of_the_type_of_their_prediction():
    problem = ps.quadratic_network(ps.PowerLaw(1.25, 80), alpha=1.0, weight_decay=0.01, noise=1e-4)
    trained = classify(ps.simulate(problem, d=80, seeds=2, n_test=50, processes=1))
    predicted = classify(ps.solve(problem))
    assert trained.counts == {"heavy-tailed": 2}
    assert predicted.kind == "heavy-tailed"
    for member in trained.members:
        assert member.tail.low < predicted.exponent < member.tail.high


def rows(*values):
    return SimpleNamespace(eigenvalues=np.array(values), seeds=tuple(range(len(values))), failures={}, caveats=("so",))


def test_the_type_of_an_ensemble_is_that_of_most():
    noise = [wigner(100, rng(seed)) for seed in (20, 21)]
    spiked = [wigner(100, rng(22), (4.0,))]
    found = classify(rows(*noise, *spiked))
    assert found.kind == "random-like"
    assert found.counts == {"random-like": 2, "bulk+spikes": 1}
    assert found.reason == "2 of 3 networks are (2 random-like, 1 bulk+spikes)."
    assert found.caveats == ("so",)
    assert found.to_dataframe()["kind"].tolist() == ["random-like", "random-like", "bulk+spikes"]
    tie = classify(rows(noise[0], spiked[0]))
    assert tie.kind == "cannot tell"
    assert "as many networks are random-like as bulk+spikes" in tie.reason
    assert "all 2 networks are" in classify(rows(*noise)).reason


def test_networks_that_failed_are_left_out():
    given = rows(wigner(100, rng(20)), np.full(100, np.nan))
    given.failures = {1: "it was late"}
    assert classify(given).seeds == (0,)
    given.failures = {0: "late", 1: "late"}
    with pytest.raises(ps.InputError, match="at least one network: every network failed"):
        classify(given)


def test_the_bootstrap_can_be_left_out_and_has_a_seed():
    values = rng(23).pareto(1.2, 200) + 1.0
    found = classify(values, bootstrap=0)
    assert np.isnan(found.tail.p_value)
    assert "without a bootstrap the power law is not tested" in found.caveats[0]
    one, same, other = (classify(values, seed=seed, bootstrap=100).tail for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_results_can_be_read():
    found = classify(wigner(300, rng(24), (3.0,)))
    assert repr(found) == "<SpectrumType 'bulk+spikes': 300 eigenvalues, bulk=semicircle, spikes=1>"
    assert str(found).startswith("bulk+spikes: the bulk is a semicircle, and 1 eigenvalue stands out")
    told = found.as_dict()
    assert (told["type"], told["kind"], told["bulk"]["family"]) == ("bulk+spikes", "SpectrumType", "semicircle")
    assert json.loads(json.dumps(told))["spikes"][0]["value"] == found.spikes[0].value
    table = found.to_dataframe()
    assert table.loc["standing_out", "value"] == 1
    assert "exponent" not in table.index  # no tail was looked for
    heavy = classify(np.arange(1, 301) ** -1.25)
    assert heavy.to_dataframe().loc["exponent", "error_bar"] > 0.05
    assert "stands out" not in str(heavy)  # of a bulk that is none
    assert heavy.spikes == ()
    assert np.isnan(heavy.edge)
    assert heavy.bulk.spikes


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("word", r"`spectrum` must be real numbers.*Got spectrum='word'.*eigvalsh\(S\)"),
        (None, "`spectrum` must be real numbers"),
        ([], r"be a list of eigenvalues or a symmetric matrix: it is empty.*shape \(0,\)"),
        (3.0, "be a list of eigenvalues or a symmetric matrix"),
        (np.ones((2, 2, 2)), "be a list of eigenvalues or a symmetric matrix: it is neither"),
        ([1.0, np.nan], "be finite numbers.*1 of 2 numbers that are not finite"),
        ([1.0, 2.0j], "be real numbers: eigenvalues of a symmetric matrix are real.*eigvalsh"),
        (["a", "b"], "be real numbers"),
        ([[1.0, 2.0], [3.0]], "be real numbers"),
        (np.arange(6.0).reshape(2, 3), r"be square if it is a matrix.*Use factor=True if it is a factor W"),
        (np.arange(9.0).reshape(3, 3), r"be symmetric if it is a matrix.*Use factor=True.*\(A \+ A.T\)/2"),
        (np.ones(60, dtype=np.float16), "be of single or double precision"),
        (ps.GaussianProduct(0.5, 2.0), "have eigenvalues: a GaussianProduct is of matrices without symmetry"),
        (ps.Semicircle, "be real numbers"),
    ],
    ids=str,
)
def test_what_has_no_eigenvalues_is_refused(given, said):
    with pytest.raises(ps.InputError, match=said):
        classify(given)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bootstrap": -1}, "`bootstrap` must be a whole number >= 0"),
        ({"seed": 1.5}, "`seed` must be a whole number >= 0"),
        ({"zero": -1.0}, "`zero` must be a finite number >= 0"),
        ({"n": 100}, "`n` must be left out"),
        ({"factor": True}, "`factor` must be left out for a list"),
        ({"factor": "W"}, "`factor` must be True or False"),
        ({"factor": np.eye(3)}, "`factor` must be True or False"),
    ],
)
def test_settings_are_checked(options, said):
    with pytest.raises(ps.InputError, match=said):
        classify(cut(100, rng()), **options)


def test_a_prediction_of_something_else_is_refused():
    matrix = ps.solve(ps.bilinear_regression(ps.GaussianProduct(0.5, 2.0), alpha=0.5, noise=0.1, weight_decay=0.2))
    with pytest.raises(ps.InputError, match="have a law of eigenvalues: this prediction is of singular values"):
        classify(matrix)
    with pytest.raises(ps.InputError, match="`n` must be a whole number"):
        classify(ps.Semicircle(1.0), n=0)
