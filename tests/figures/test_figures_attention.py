"""The figures of the attention paper: what the captions claim holds in the shipped data, which can be made again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.figures import attention_1, attention_2, attention_3, attention_4, attention_5, attention_6, catalogue

pytest.importorskip("xarray")
pytest.importorskip("matplotlib")

FIGURES: dict[str, Any] = {
    f"attention-{number}": module
    for number, module in enumerate((attention_1, attention_2, attention_3, attention_4, attention_5, attention_6), 1)
}
SMALL = 300_000  # bytes of a shipped file


def at(table, x: float, name: str = "test_error") -> float:
    """A curve of positive numbers at `x`, between its points."""
    return float(np.exp(np.interp(np.log(x), np.log(table["alpha"].values), np.log(table[name].values))))


def assert_trained_as_predicted(trained, theory, name: str = "test_error", *, finite_size: float = 2.0) -> None:
    """Each dot is within five standard errors of the line, a few times 1/d left for the finite size."""
    for point in trained["alpha"].values:
        dot, predicted = trained.sel(alpha=point), at(theory, float(point), name)
        allowed = 5.0 * float(dot[f"{name}_bar"]) + (finite_size / float(dot["d"])) * predicted
        assert abs(float(dot[name]) - predicted) < allowed, (
            f"{name} at alpha = {point}: {float(dot[name])}, {predicted}"
        )


@pytest.fixture(scope="module")
def shipped() -> Callable[[str], catalogue.Parts]:
    return functools.cache(catalogue.load)


@pytest.mark.parametrize("name", FIGURES)
def test_shipped_data_is_small_and_says_what_made_it(shipped, name):
    assert catalogue.shipped(name).stat().st_size <= SMALL
    for part, table in shipped(name).items():
        assert table.attrs["version"], part
        assert table.attrs["problem"], part
        assert table.attrs["seeds"], part
        assert not [words for words in np.ravel(table["outcome"].values) if str(words).startswith(("failed", "not"))]
        if "trained" in part:
            assert table.attrs["seeds"] == str(table["seeds"].values.ravel()[0])
            assert (table["n_seeds"] == table["seeds"]).all(), part


@pytest.mark.parametrize("name", FIGURES)
def test_it_draws_and_its_details_say_how_it_was_made(shipped, name):
    from io import BytesIO

    module, parts = FIGURES[name], shipped(name)
    picture = BytesIO()
    module.draw(parts).savefig(picture, format="png", dpi=60)
    assert picture.tell() > 10_000
    details = module.details(parts)
    for part, table in parts.items():
        if "trained" in part:
            assert (
                f"d = {float(table['d'].values.ravel()[0]):g}, {float(table['seeds'].values.ravel()[0]):g} seeds"
                in details
            )
    assert "nan" not in module.caption(parts) + details
    for table in parts.values():
        assert table.attrs["version"] in details.rpartition("Computed with presage ")[2]
    assert module.TITLE
    assert "BETKZ25" in module.SOURCE


@pytest.mark.parametrize("name", FIGURES)
def test_a_quick_figure_has_points_of_the_full_one(shipped, name):
    """Only at common points can a recomputed figure be compared with the shipped one."""
    module, parts = FIGURES[name], shipped(name)
    tokens = [(T,) for T in (2, 3)] if name == "attention-6" else [()]
    for more in tokens:
        quick, full = (module.alphas(effort, *more) for effort in ("quick", "full"))
        assert set(quick) < set(full)
        assert len(quick) > len(full) // 3
        theory = parts["factorised" if name == "attention-3" else "theory" if not more else f"theory_{more[0]}"]
        assert np.array_equal(theory["alpha"].values, full)  # the shipped data is of the settings in the module
    grids = [module.TRAINED[effort] for effort in ("quick", "full")]
    if name == "attention-1":
        for part, setting in grids[0].items():
            assert set(setting["alpha"]) <= {a for p, s in grids[1].items() if p.startswith(part) for a in s["alpha"]}
    if name in ("attention-2", "attention-4", "attention-5", "attention-6"):
        axis = "axis" if name == "attention-6" else "alpha"
        assert set(grids[0][axis]) <= set(grids[1][axis])


# Figure 1


def test_1_the_width_of_the_student_hardly_matters(shipped):
    theory = shipped("attention-1")["theory"]["test_error"]
    assert float(abs(theory.sel(kappa=0.75) / theory.sel(kappa=1.0) - 1.0).max()) < 0.03
    for part in ("trained", "trained_many"):
        table = shipped("attention-1")[part]
        narrow, wide = table.sel(kappa=0.75), table.sel(kappa=1.0)
        bars = 3.0 * np.hypot(narrow["test_error_bar"], wide["test_error_bar"])
        assert bool((abs(narrow["test_error"] - wide["test_error"]) < bars + 0.02 * wide["test_error"]).all())


@pytest.mark.parametrize("kappa", attention_1.KAPPAS)
@pytest.mark.parametrize("part", ["trained", "trained_many"])
def test_1_networks_are_as_predicted(shipped, kappa, part):
    parts = shipped("attention-1")
    assert_trained_as_predicted(parts[part].sel(kappa=kappa), parts["theory"].sel(kappa=kappa))


def test_1_the_right_most_bulk_weighs_kappa_0_once_bulks_part(shipped):
    parts = shipped("attention-1")
    table, parting = parts["rank"], attention_1.parting(parts)
    assert list(parting) == attention_1.RANKS
    assert parting[0.2] < parting[0.5] < parting[0.8]
    for kappa_0, first in parting.items():
        row = table.sel(kappa_0=kappa_0)
        apart = (row["alpha"] >= first).values
        assert (row["bulks"].values[apart] == 2).all()
        assert np.allclose(row["rightmost"].values[apart], kappa_0, atol=1e-6)
        assert np.allclose(row["rightmost"].values[~apart], row["rank"].values[~apart], atol=1e-6)
    assert "every kappa_0 are seen to part" in attention_1.details(parts)
    short = {**parts, "rank": table.sel(alpha=slice(None, 100.0))}
    assert "kappa_0 = 0.8 have not parted yet" in attention_1.details(short)
    assert 4.0 < parting[0.5] < 40.0  # the spectra of alpha = 4 and 40 show one bulk and two


def test_1_spectra_have_the_zeros_and_the_second_moment_of_trained_networks(shipped):
    parts = shipped("attention-1")
    for name, table in parts.items():
        if not name.startswith("trained_spectra"):
            continue
        for alpha in table["alpha"].values:
            row, d = parts["spectra"].sel(alpha=alpha), float(table["d"])
            x, density = (row[key].values[np.isfinite(row["x"].values)] for key in ("x", "density"))
            assert np.trapezoid(density, x) + float(row["zeros"]) == pytest.approx(1.0, abs=2e-3)
            rank = table["rank"].sel(alpha=alpha)
            bar = float(table["rank_bar"].sel(alpha=alpha))
            assert float(rank) == pytest.approx(1.0 - float(row["zeros"]), abs=5.0 * bar + 2.0 / d)
            if alpha > 0.1:  # print's scale would be off by 13 % and more
                q = np.nanmean(table["eigenvalues"].sel(alpha=alpha).values ** 2)
                assert np.trapezoid(density * x**4, x) == pytest.approx(float(q), rel=0.08), alpha


# Figure 2


def test_2_the_threshold_is_that_of_the_paper(shipped):
    edge = float(shipped("attention-2")["thresholds"]["interpolation"].squeeze())
    assert edge == pytest.approx(0.1535, abs=1e-4)


def test_2_the_peak_is_at_the_threshold_and_grows_as_weight_decay_falls(shipped):
    parts = shipped("attention-2")
    edge = float(parts["thresholds"]["interpolation"].squeeze())
    limit = parts["limit"]
    near = limit.sel(alpha=slice(0.1, 1.0))
    assert peak(near) == pytest.approx(edge, abs=0.02)
    theory = parts["theory"].sel(alpha=slice(0.12, 0.5))["test_error"]
    by_decay = theory.sortby("weight_decay", ascending=False).values
    assert (np.diff(by_decay, axis=0) > 0).all()  # smaller weight decay, larger error around the threshold
    weakest = parts["theory"].sel(weight_decay=1e-4).sel(alpha=slice(0.1, 1.0))
    assert edge < peak(weakest) < 1.6 * edge
    assert float(weakest["test_error"].max()) < float(near["test_error"].max()) == pytest.approx(0.5, abs=0.03)


def peak(curve) -> float:
    """Where the test error is largest."""
    return float(curve["alpha"].values[np.argmax(curve["test_error"].values)])


def test_2_the_training_loss_vanishes_before_the_threshold_only(shipped):
    parts = shipped("attention-2")
    edge = float(parts["thresholds"]["interpolation"].squeeze())
    limit = parts["limit"]
    before = (limit["alpha"] < edge).values
    assert (limit["train_loss"].values[before] == 0.0).all()
    assert (limit["train_loss"].values[~before] > 0.0).all()
    theory = parts["theory"]["train_loss"]
    falls = theory.sel(weight_decay=1e-4) / theory.sel(weight_decay=1e-3)
    assert float(falls.sel(alpha=0.05, method="nearest")) == pytest.approx(0.1, rel=0.2)  # all of it is the penalty
    assert float(falls.sel(alpha=1.0, method="nearest")) > 0.9


@pytest.mark.parametrize("name", ["test_error", "train_loss"])
def test_2_networks_are_as_predicted(shipped, name):
    parts = shipped("attention-2")
    assert int(parts["trained"]["d"]) >= 80  # at every weight decay
    assert set(parts["trained"]["weight_decay"].values) == set(parts["theory"]["weight_decay"].values)
    for weight_decay in parts["trained"]["weight_decay"].values:
        trained, theory = (parts[part].sel(weight_decay=weight_decay) for part in ("trained", "theory"))
        # At weight decay 1e-4 test errors are 12 and 2.5 % above the line at d = 40 and 100 on the fewest samples.
        assert_trained_as_predicted(trained, theory, name, finite_size=4.0)


# Figure 3


def test_3_factors_always_help(shipped):
    parts = shipped("attention-3")
    assert (parts["factorised"]["test_error"].values < parts["nonfactorised"]["test_error"].values).all()
    trained = [parts[f"{name}_trained"]["test_error"].values for name in ("factorised", "nonfactorised")]
    assert (trained[0] < trained[1]).all()


@pytest.mark.parametrize("name", ["factorised", "nonfactorised"])
def test_3_networks_are_as_predicted(shipped, name):
    parts = shipped("attention-3")
    trained = parts[f"{name}_trained"]
    # Just below recovery (0.093 on the axis) five directions are found or not, and the finite size counts for more: the
    # error is 67(20), 37(8) and 30(4) % above the line at d = 60, 80 and 100.
    edge = (name == "factorised") & (abs(attention_3.UNITS * trained["alpha"] - 0.085) < 0.01)
    assert_trained_as_predicted(trained.isel(alpha=~edge), parts[name], finite_size=6.0)
    assert_trained_as_predicted(trained.isel(alpha=edge), parts[name], finite_size=30.0)


def test_3_the_details_say_how_far_networks_are(shipped):
    parts = shipped("attention-3")
    factorised, free = (attention_3.away(parts, name) for name in ("factorised", "nonfactorised"))
    assert float(factorised.min()) > 0.0 > float(free.min())  # only the former are all above their line
    details = attention_3.details(parts)
    for values in (factorised, free):
        assert f"are {float(values.min()):+.0%} to {float(values.max()):+.0%} off their line" in details
    lifted = {
        **parts,
        "factorised_trained": parts["factorised_trained"].assign(
            test_error=2.0 * parts["factorised_trained"]["test_error"]
        ),
    }
    assert np.allclose(attention_3.away(lifted, "factorised"), 1.0 + 2.0 * factorised)


def test_3_thresholds_in_the_units_of_the_axis(shipped):
    table = shipped("attention-3")["thresholds"].drop_vars(["outcome", "caveats"]) * attention_3.UNITS
    kappa_0 = table["kappa_0"].values
    assert np.allclose(table["unfactorized_recovery"], 0.5)
    assert np.allclose(table["bayes_recovery"], kappa_0 - kappa_0**2 / 2)
    assert np.allclose(table["interpolation"], (1 + 2 * kappa_0 - kappa_0**2) / 4, atol=1e-6)
    for rank, value in {0.05: 0.0920074, 0.2: 0.2555620, 0.5: 0.4221750, 0.8: 0.4891976}.items():
        assert float(table["perfect_recovery"].interp(kappa_0=rank)) == pytest.approx(value, abs=3e-3)
    inside = kappa_0 < 0.999
    order = [table[name].values[inside] for name in ("bayes_recovery", "perfect_recovery", "unfactorized_recovery")]
    assert (order[0] < order[1]).all()
    assert (order[1] < order[2]).all()


# Figure 4


@pytest.mark.parametrize("name", ["test_error", "train_loss"])
@pytest.mark.parametrize("noise", attention_4.NOISES)
def test_4_both_tasks_are_the_same_and_as_predicted(shipped, noise, name):
    parts = shipped("attention-4")
    trained, theory = (parts[part].sel(noise=noise) for part in ("trained", "theory"))
    sequence, label = (trained.sel(task=task) for task in attention_4.TASKS)
    bars = np.hypot(sequence[f"{name}_bar"], label[f"{name}_bar"])
    # Output tokens are sums of tokens that are orthonormal up to 1/sqrt(d) only.
    assert bool((abs(sequence[name] - label[name]) < 4.0 * bars + 2.0 / float(trained["d"]) * label[name]).all())
    for task in attention_4.TASKS:
        assert_trained_as_predicted(trained.sel(task=task), theory, name, finite_size=8.0)


# Figure 5


@pytest.mark.parametrize("noise", attention_5.NOISES)
def test_5_a_smoother_softmax_has_less_error(shipped, noise):
    parts = shipped("attention-5")
    for part in ("theory", "trained"):
        errors = parts[part]["test_error"].sel(noise=noise).transpose("beta", "alpha").values
        ordered = (np.diff(errors, axis=0) > 0).all(axis=0)
        # With clean labels and many samples the curves of the two smoothest cross, at errors of 1e-3 and less.
        assert ordered[errors[0] > 1.2e-3].all(), part
        assert ordered.all() == (noise > 0.0), part
    for beta in attention_5.BETAS:
        trained, theory = (parts[part].sel(noise=noise, beta=beta) for part in ("trained", "theory"))
        assert_trained_as_predicted(trained, theory, finite_size=8.0)


def test_5_noise_keeps_the_sharpest_softmax_on_a_plateau(shipped):
    parts = shipped("attention-5")
    curve = parts["theory"]["test_error"].sel(noise=0.5, beta=2.0)
    start, end, after = attention_5.plateau(parts)
    assert start < 0.3
    assert (end, after) == (0.9, 1.0)
    level = curve.sel(alpha=slice(start, end))
    assert float(level.max() / level.min()) < 1.06
    assert float(curve.sel(alpha=after)) < 0.8 * float(level.min())
    assert attention_5.unstable(parts)
    assert all(start < alpha <= end for alpha in attention_5.unstable(parts))
    assert "-5% off the line at alpha = 1" in attention_5.details(parts)


# Figure 6


def half(curve, x: str) -> float:
    """Where a falling curve passes through the middle between its first point and its last."""
    values = curve["test_error"].values
    middle = 0.5 * (values[0] + values[-1])
    return float(np.exp(np.interp(-middle, -values, np.log(curve[x].values))))


@pytest.mark.parametrize("part", ["trained", "theory"])
@pytest.mark.parametrize("noise", attention_6.NOISES)
def test_6_errors_fall_together_on_the_rescaled_axis(shipped, noise, part):
    """Half of the fall is at about the same place of the axis for every T, and at very different alpha."""
    parts = shipped("attention-6")
    curves = {T: parts[f"{part}_{T}"].sel(noise=noise) for T in attention_6.TOKENS}
    scaled = {T: attention_6.relative(parts, part, T).sel(noise=noise) for T in attention_6.TOKENS}
    places = [half(curve, "axis") for curve in scaled.values()]
    assert max(places) / min(places) < 1.7
    assert half(curves[2], "alpha") / half(curves[5], "alpha") > 4.0
    for curve in scaled.values():
        assert 0.7 < float(curve["test_error"][0]) < 1.1  # relative to nothing, they begin at the same height
    for T in attention_6.TOKENS:
        assert float(parts[f"nothing_{T}"]["rank"].max()) == 0.0


def test_6_with_noise_only_two_tokens_have_a_bump_beyond_error_bars(shipped):
    parts = shipped("attention-6")
    ((n_tokens, (low, top)),) = attention_6.bumps(parts).items()
    assert n_tokens == 2
    assert 0.3 < low < top < 0.5
    assert "T = 2 rises again" in attention_6.details(parts)
    # Three tokens rise by 0.005 at error bars of 0.003: more precise ones would show a bump.
    precise = {**parts, "theory_3": parts["theory_3"].assign(test_error_bar=0.1 * parts["theory_3"]["test_error_bar"])}
    assert set(attention_6.bumps(precise)) == {2, 3}


@pytest.mark.parametrize("noise", attention_6.NOISES)
@pytest.mark.parametrize("n_tokens", attention_6.TOKENS)
def test_6_networks_are_as_predicted(shipped, n_tokens, noise):
    parts = shipped("attention-6")
    trained, theory = (parts[f"{part}_{n_tokens}"].sel(noise=noise) for part in ("trained", "theory"))
    # At d = 100 dots are up to 6.5 % off their line, and 10(2) % in the steep fall of clean labels at T = 5.
    assert_trained_as_predicted(trained, theory, finite_size=5.0)


# The data can be made again

PREDICTED = {  # figure and part: problem, function, what narrows the choice to cells that take little time, options
    ("attention-1", "theory"): (attention_1.PROBLEM, ps.solve, {}, {}),
    ("attention-1", "rank"): (attention_1.PROBLEM, attention_1.bulks, {}, {}),
    ("attention-1", "spectra"): (attention_1.PROBLEM, attention_1.spectra, {}, {}),
    ("attention-2", "theory"): (
        attention_2.PROBLEM,
        ps.solve,
        {"weight_decay": slice(0, 2)},
        {"solver": attention_2.SOLVER},
    ),
    ("attention-2", "limit"): (attention_2.PROBLEM, ps.ridgeless, {"alpha": slice(0, 8)}, {}),
    ("attention-3", "thresholds"): (attention_3.PROBLEMS["factorised"].replace(noise=0.0), ps.thresholds, {}, {}),
    ("attention-3", "nonfactorised"): (
        attention_3.PROBLEMS["nonfactorised"],
        ps.optimal_regularization,
        {"alpha": slice(-3, None)},
        {},
    ),
    ("attention-4", "theory"): (attention_4.PROBLEM, ps.solve, {}, {}),
    ("attention-5", "theory"): (
        attention_5.PROBLEM,
        ps.solve,
        {"beta": slice(0, 2)},
        {"solver": ps.StateEvolution(accuracy=attention_5.ACCURACY)},
    ),
    ("attention-6", "theory_2"): (attention_6.PROBLEM, ps.solve, {}, {"solver": attention_6.SOLVERS[2]}),
    ("attention-6", "nothing_3"): (attention_6.PROBLEM, ps.solve, {}, {"solver": attention_6.SOLVERS[3]}),
}
TRAINED = {  # the quickest cell of each figure
    ("attention-1", "trained"): (attention_1.PROBLEM, {"alpha": 0.05, "kappa": 1.0}, ps.AMP()),
    ("attention-4", "trained"): (attention_4.PROBLEM, {"alpha": 0.05, "noise": 0.5, "task": "sequence"}, ps.LBFGS()),
    ("attention-5", "trained"): (attention_5.PROBLEM, {"alpha": 0.05, "noise": 0.0, "beta": 0.5}, ps.AMP()),
}


def again(problem, run, cell, **options):
    """The sweep of one cell of a table, which knows its point by its coordinates."""
    point = {str(name): value.item() for name, value in cell.coords.items() if name not in options}
    return ps.sweep(problem, run, processes=1, **point, **options)


@pytest.mark.parametrize(("figure", "part"), PREDICTED)
def test_random_cells_of_the_predictions_can_be_made_again(shipped, figure, part):
    problem, run, narrowed, options = PREDICTED[figure, part]
    table = shipped(figure)[part].isel(narrowed)
    rng = np.random.default_rng([figure_number(figure), len(part)])
    axes = [name for name in table.dims if name in table.coords]
    for _ in range(2):
        cell = table.isel({name: int(rng.integers(table.sizes[name])) for name in axes})
        new = again(problem, run, cell, **options)
        cell = cell[[name for name in cell.data_vars if name in new]]
        assert not catalogue.differences({part: new.drop_vars("outcome")}, {part: cell})
        for name in set(cell.data_vars) - {"outcome", "caveats"}:
            bar = f"{name}_bar"
            allowed = float(new[bar] + cell[bar]) if bar in cell else 0.0
            known = cell[name].values[np.isfinite(cell[name].values)]
            made = new[name].values[np.isfinite(new[name].values)]
            # A density is the root of the distance to an edge: there a rounding of that makes 1e-8 of it.
            rounding = 1e-7 if name == "density" else 1e-9
            if not str(name).endswith("_bar"):
                assert np.allclose(made, known, rtol=1e-4, atol=4.0 * allowed + rounding), f"{name} at {cell.coords}"


LONG = {("attention-4", "trained")}  # by a trainer that takes half a minute


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "part"),
    [pytest.param(*one, marks=pytest.mark.slow if one in LONG else ()) for one in TRAINED],
)
def test_trained_networks_can_be_made_again(shipped, figure, part):
    problem, where, trainer = TRAINED[figure, part]
    cell = shipped(figure)[part].sel(where)
    assert cell["trainer"].item() == repr(trainer)
    new = again(problem, ps.simulate, cell, trainer=trainer)
    # Other machines round otherwise, and trainers stop within their tolerance; another seed differs by percents.
    assert float(new["test_error"]) == pytest.approx(float(cell["test_error"]), rel=1e-4)
    assert float(new["test_error_bar"]) == pytest.approx(float(cell["test_error_bar"]), rel=1e-2)


def test_a_different_number_is_found_and_a_coarser_figure_is_none(shipped):
    parts = shipped("attention-1")
    coarser = {name: table.isel(alpha=slice(None, None, 3)) for name, table in parts.items()}
    assert catalogue.differences(coarser, parts) == []
    wrong = {**parts, "theory": parts["theory"].copy(deep=True)}
    wrong["theory"]["test_error"][1, 4] *= 1.01
    (found,) = catalogue.differences(wrong, parts)
    assert found.startswith("theory: test_error differs at 1 of ")
    assert f"'kappa': 1.0, 'alpha': {parts['theory']['alpha'][4].item()}" in found


def figure_number(name: str) -> int:
    return int(name.split("-")[1])
