"""What the captions of the figures on quadratic networks, Bayes-optimality and bilinear regression claim.

Everything is read from the data that ships with presage; some cells of it are computed again.
"""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.figures import (
    bayes_amp,
    bayes_erm,
    bilinear,
    catalogue,
    quadratic_curve,
    quadratic_spectra,
    quadratic_width,
)
from presage.figures.catalogue import Parts

NAMES = ("quadratic-curve", "quadratic-spectra", "quadratic-width", "bayes-erm", "bayes-amp", "bilinear")
ERROR = "estimation_error"


@functools.cache
def shipped(name: str) -> Parts:
    return catalogue.load(name)


def near(trained: Any, theory: Any, name: str, *, times: float) -> bool:
    """Whether dots are on a line: within three standard errors and a part of order 1/d."""
    line = theory[name].interp({"alpha": trained.alpha})
    return bool((abs(trained[name] - line) <= 3.0 * trained[f"{name}_bar"] + times / trained.d * line).all())


# --- every figure


@pytest.mark.parametrize("name", NAMES)
def test_it_is_drawn_from_shipped_data(name):
    figure = catalogue.figure(name).draw(shipped(name))
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=50)
    assert file.getvalue().startswith(b"\x89PNG")
    drawn = [axis for axis in figure.axes if axis.lines or axis.patches]
    assert len(drawn) >= 2
    for axis in drawn:
        assert any(np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any() for line in axis.lines)


@pytest.mark.parametrize("name", NAMES)
def test_the_details_say_how_large_and_how_many(name):
    parts = shipped(name)
    details = catalogue.figure(name).details(parts)
    trained = [part for title, part in parts.items() if "trained" in title]
    assert trained
    for part in trained:
        assert all(str(size) in details for size in np.atleast_1d(part.d))
        assert f"{int(part.seeds)} data sets" in details


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_failed(name):
    for title, part in shipped(name).items():
        outcomes = [str(words) for words in part["outcome"].values.ravel()]
        assert outcomes, title
        assert not [words for words in outcomes if words.startswith(("failed", "not computed"))], title
        for variable in (ERROR, "train_loss", "rank"):
            if variable in part:
                assert np.isfinite(part[variable].values).all(), (title, variable)


# --- cells computed again: a few of each, drawn by a fixed seed

AGAIN: dict[str, list[tuple[str, Any, Any, dict[str, Any]]]] = {
    "quadratic-curve": [
        ("theory", quadratic_curve.PROBLEM, ps.solve, {}),
        ("limit", quadratic_curve.PROBLEM, ps.ridgeless, {}),
    ],
    "quadratic-spectra": [("theory", quadratic_spectra.PROBLEM, quadratic_spectra.predicted, {})],
    "quadratic-width": [("theory", quadratic_width.PROBLEM, quadratic_width.predicted, {})],
    "bayes-erm": [
        ("bayes", bayes_erm.FACTORISED, ps.bayes_optimal, {}),
        ("fixed", bayes_erm.FACTORISED, ps.solve, {}),
        ("free_clean", bayes_erm.FREE, ps.ridgeless, {"noise": 0.0}),
    ],
    "bayes-amp": [
        ("softmax_theory", bayes_amp.PROBLEMS["softmax"], ps.bayes_optimal, {}),
        ("hardmax_theory", bayes_amp.PROBLEMS["hardmax"], ps.bayes_optimal, {}),
    ],
    "bilinear": [
        ("bayes", bilinear.PROBLEM, ps.bayes_optimal, {}),
        ("erm", bilinear.PROBLEM, ps.solve, {}),
        ("thresholds", bilinear.PROBLEM, ps.thresholds, {}),
    ],
}


@pytest.mark.parametrize("name", NAMES)
def test_random_cells_of_the_theory_come_out_again(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    for title, problem, run, fixed in AGAIN[name]:
        known = shipped(name)[title]
        variable = next(v for v in (ERROR, "rank", "minimal_nuclear_norm") if v in known)
        point = {str(axis): [float(rng.choice(known[axis].values))] for axis in known[variable].dims}
        value = known[variable].sel(point).values
        bar = known[f"{variable}_bar"].sel(point).values if f"{variable}_bar" in known else 0.0
        allowed = 4.0 * bar + 1e-5 * abs(value) + 1e-7
        assert abs(_at(problem, run, variable, fixed, point) - value) <= allowed, (title, point)
        axis = "alpha" if "alpha" in point else "rank"
        moved = {**point, axis: [0.4 * point[axis][0]]}  # a negative control
        assert abs(_at(problem, run, variable, fixed, moved) - value) > allowed, (title, moved)


def _at(problem: Any, run: Any, variable: str, fixed: dict[str, Any], point: dict[str, Any]) -> Any:
    grid: dict[str, Any] = {**fixed, **point}
    return ps.sweep(problem, run, processes=1, **grid)[variable].values


@pytest.mark.slow
def test_a_trained_cell_comes_out_again():
    known = shipped("bayes-amp")["softmax_trained"]
    again = ps.sweep(
        bayes_amp.PROBLEMS["softmax"],
        ps.simulate,
        d=[50],
        alpha=[0.35],
        seeds=int(known.seeds),
        trainer=bayes_amp.TRAINER,
        n_test=100,
        processes=1,
    )
    assert catalogue.differences({"softmax_trained": again}, {"softmax_trained": known}) == []
    assert float(again[ERROR][0, 0]) == pytest.approx(float(known[ERROR].sel(d=50, alpha=0.35)), rel=1e-6)


# --- quadratic networks


def test_the_error_peaks_near_the_interpolation_threshold():
    parts = shipped("quadratic-curve")
    threshold = float(parts["thresholds"]["interpolation"][0])
    assert threshold == pytest.approx(0.27579, abs=1e-5)
    error = parts["theory"][ERROR]
    peak = error.sel(alpha=slice(0.2, 0.5))
    place = float(peak.idxmax())
    assert 0.95 * threshold < place < 1.15 * threshold
    assert float(peak.max()) > 1.4 * float(error.sel(alpha=slice(0.1, 0.25)).min())
    limit = parts["limit"][ERROR]
    assert float(limit.idxmax()) == pytest.approx(threshold, rel=0.06)
    assert float(limit.max()) > 3.0 * float(peak.max())


def test_labels_are_fitted_up_to_the_threshold_only():
    parts = shipped("quadratic-curve")
    threshold, fitted = float(parts["thresholds"]["interpolation"][0]), parts["limit"]["train_error"]
    assert float(fitted.where(fitted.alpha < threshold, drop=True).max()) == pytest.approx(0.0, abs=1e-9)
    assert float(fitted.where(fitted.alpha > threshold, drop=True).min()) > 1e-5


def test_the_convex_solver_and_lbfgs_find_one_minimum():
    """Within the duality gap that the convex solver proves, and the gradient that L-BFGS leaves."""
    trained = shipped("quadratic-curve")["trained"]
    convex, gradient = (trained.sel(trainer=repr(t)) for t in (quadratic_curve.CONVEX, quadratic_curve.GRADIENT))
    apart = abs(convex["train_loss"] / gradient["train_loss"] - 1.0)
    assert float(apart.max()) < quadratic_curve.CONVEX.tol
    away = abs(convex[ERROR] / gradient[ERROR] - 1.0)
    assert float(away.sel(alpha=slice(0.1, None)).max()) < 1e-3
    assert float(away.max()) < 0.03  # on the fewest samples the loss is flat about its minimum
    spread = convex["train_loss_bar"] / convex["train_loss"]
    assert float(spread.min()) > 20 * float(apart.max())  # another minimum would show


@pytest.mark.parametrize("trainer", [quadratic_curve.CONVEX, quadratic_curve.GRADIENT])
def test_trained_networks_are_on_the_curves(trainer):
    parts = shipped("quadratic-curve")
    trained = parts["trained"].sel(trainer=repr(trainer))
    assert near(trained, parts["theory"], "rank", times=2.0)
    assert near(trained.sel(alpha=slice(0.25, None)), parts["theory"], ERROR, times=5.0)
    # On few samples small matrices have more to lose: a positive S cannot reach a label below -Tr S/sqrt(d). At alpha
    # = 0.05 the error is 17/d above the limit at d = 40 and 50, 14/d at d = 100.
    assert near(trained, parts["theory"], ERROR, times=16.0)
    many = trained.sel(alpha=slice(0.2, None))
    assert near(many, parts["theory"], "train_loss", times=3.0)
    moved = parts["theory"].assign_coords(alpha=1.3 * parts["theory"].alpha)
    assert not near(many, moved, "train_loss", times=3.0)


def test_spectra_split_and_their_right_bulk_has_the_mass_of_the_target():
    parts = shipped("quadratic-spectra")
    theory, trained = parts["theory"], parts["trained"]
    bulks = theory["mass"].notnull().sum("mass_0")
    assert [int(count) for count in bulks] == [1, 1, 1, 2, 2, 2]
    for alpha in theory.alpha.values[bulks.values == 2]:
        law = theory.sel(alpha=alpha)
        assert float(law["mass"][1]) == pytest.approx(quadratic_spectra.KAPPA_0, abs=1e-9)
        gap = 0.5 * float(law["right"][0] + law["left"][1])
        above = np.mean(trained["eigenvalues"].sel(alpha=alpha).values > gap)
        assert above == pytest.approx(quadratic_spectra.KAPPA_0, abs=0.01)


def test_spectra_have_the_predicted_zeros_and_masses():
    parts = shipped("quadratic-spectra")
    theory, trained = parts["theory"], parts["trained"]
    apart = abs(trained["rank"] - theory["rank"])
    assert bool((apart < 3.0 * trained["rank_bar"] + 1.0 / trained.d).all())
    for alpha in theory.alpha.values:
        law, values = theory.sel(alpha=alpha), trained["eigenvalues"].sel(alpha=alpha).values
        assert np.mean(values > quadratic_spectra.ZERO) == pytest.approx(
            float(trained["rank"].sel(alpha=alpha)), abs=5e-3
        )
        x, density = law["x"].values, law["density"].values
        mass = np.cumsum(density) * x[0]  # x[0] is one step from zero
        assert mass[-1] == pytest.approx(float(law["rank"]), rel=0.02)
        predicted = np.interp([0.5, 1.0, 2.0, 3.0], x, mass)
        seen = [np.mean((values > quadratic_spectra.ZERO) & (values < edge)) for edge in (0.5, 1.0, 2.0, 3.0)]
        np.testing.assert_allclose(seen, predicted, atol=0.025)


@pytest.mark.parametrize("alpha", quadratic_width.ALPHAS)
def test_the_minimum_is_flat_from_the_rank_on(alpha):
    parts = shipped("quadratic-width")
    theory, trained = (parts[title].sel(alpha=alpha) for title in ("theory", "trained"))
    rank = quadratic_width.enough(parts, alpha)
    assert rank == pytest.approx(float(ps.solve(quadratic_width.PROBLEM.replace(alpha=alpha)).rank), abs=1e-8)
    for name in ("train_loss", ERROR):
        for table, tight in ((theory, 1e-8), (trained, 1e-3)):
            wide = table[name].where(table.kappa >= rank + 0.08, drop=True)
            assert wide.size >= 4
            assert float(wide.max() / wide.min() - 1.0) < tight
    for table in (theory, trained):
        loss = table["train_loss"]
        narrow = loss.where(loss.kappa < rank - 0.1, drop=True)
        assert bool((narrow > 1.001 * loss[-1]).all())
        assert float(narrow[0]) > 2.0 * float(loss[-1])


def test_wide_networks_are_above_the_line_by_what_the_details_say():
    parts = shipped("quadratic-width")
    details = quadratic_width.details(parts)
    for alpha in quadratic_width.ALPHAS:
        away = quadratic_width.above(parts, alpha)
        # At alpha = 0.2 it is 8.2(1.0), 9.1(1.1) and 7.4(2.1) over d at d = 50, 100 and 200.
        assert 0.0 < away < 12.0 / float(parts["trained"].d)
        assert f"{away:.0%} more (alpha = {alpha:g})" in details


def test_narrow_students_are_where_the_heuristic_says():
    parts = shipped("quadratic-width")
    for alpha in quadratic_width.ALPHAS:
        theory, trained = (parts[title].sel(alpha=alpha) for title in ("theory", "trained"))
        line = theory["train_loss"].interp(kappa=trained.kappa)
        assert float(abs(trained["train_loss"] / line - 1.0).max()) < 0.2
        narrow = theory.kappa < theory["rank"].isel(kappa=-1) - 1e-3
        assert all("heuristic" in str(words) for words in theory["caveats"].values[narrow.values])
        assert not any(theory["caveats"].values[theory.kappa.values >= 0.6])


# --- Bayes


def test_methods_are_in_their_order():
    """Bayes below the best weight decay below a fixed one, and below the best ridge at this low rank."""
    parts = shipped("bayes-erm")
    best, free = parts["best"][ERROR], parts["free"][ERROR]
    bayes, fixed = (
        parts[title][ERROR].sel(alpha=best.alpha, method="nearest", tolerance=1e-9).values
        for title in ("bayes", "fixed")
    )
    assert (bayes < best.values).all()
    assert (best.values <= fixed * (1.0 + 1e-6)).all()
    assert (best.values < free.values).all()
    assert (fixed / best.values).max() > 1.2
    assert (free.values / best.values).max() > 2.0


def test_trained_methods_are_on_their_curves():
    parts = shipped("bayes-erm")
    for name in ("bayes", "best", "free"):
        few = parts[f"{name}_trained"].alpha < 0.15  # where the smallest data sets fluctuate
        assert near(parts[f"{name}_trained"].where(~few, drop=True), parts[name], ERROR, times=8.0), name
    shared = parts["bayes_trained"].alpha
    errors = [parts[f"{name}_trained"][ERROR].sel(alpha=shared).values for name in ("bayes", "best", "free")]
    assert (np.diff(errors, axis=0) > 0).all()


def test_clean_labels_are_recovered_from_the_thresholds_on():
    parts = shipped("bayes-erm")
    thresholds = parts["thresholds"].isel(noise=0)
    values = [float(thresholds[name]) for name in ("bayes_recovery", "perfect_recovery", "unfactorized_recovery")]
    assert values == pytest.approx([0.09, 0.127781, 0.25], abs=1e-6)
    for name, threshold in zip(("bayes", "best", "free"), values, strict=True):
        error = parts[f"{name}_clean"][ERROR]
        assert float(error.where(error.alpha > threshold + 1e-9, drop=True).max()) < 1e-6
        assert float(error.where(error.alpha < threshold - 1e-3, drop=True).min()) > 1e-4
    free = parts["free_clean"][ERROR]
    free = free.where(free.alpha < values[2] - 1e-3, drop=True)
    # It falls on a straight line to its threshold.
    slope, offset = np.polyfit(free.alpha.values, free.values, 1)
    assert -offset / slope == pytest.approx(values[2], rel=1e-6)


@pytest.mark.parametrize(
    ("name", "part", "place", "start"), [("bayes-erm", "bayes_clean", 0.09, 0.03), ("bilinear", "bayes", 0.36, 0.15)]
)
def test_lines_bend_at_their_kink_only(name, part, place, start):
    """Straight pieces of a drawn line turn little up to the threshold, which is one of their ends."""
    error = shipped(name)[part][ERROR]
    below = error.where((error.alpha > start) & (error.alpha < place + 1e-9), drop=True)
    assert float(below[-1]) == pytest.approx(0.0, abs=1e-6)
    slopes = np.diff(below.values) / np.diff(below.alpha.values)
    assert (np.abs(np.log(slopes[1:] / slopes[:-1])) < 0.25).all()
    coarse = below.isel(alpha=[*range(0, below.size - 1, 8), -1])  # a negative control
    slopes = np.diff(coarse.values) / np.diff(coarse.alpha.values)
    assert (np.abs(np.log(slopes[1:] / slopes[:-1])) > 0.25).any()


@pytest.mark.parametrize("name", ["softmax", "hardmax"])
def test_message_passing_is_on_the_bayes_curve(name):
    away = bayes_amp.apart(shipped("bayes-amp"), name)
    large = away.isel(d=-1)
    assert bool((abs(large[ERROR]) < 3.0 * large[f"{ERROR}_bar"] + 10.0 / int(large.d)).all())
    settled = abs(away.sel(alpha=slice(0.3, None))[ERROR]).mean("alpha")
    assert (np.diff(settled.values) < 0.0).all()


def test_the_two_channels_have_two_curves():
    parts = shipped("bayes-amp")
    softmax, hardmax = (parts[f"{name}_theory"][ERROR] for name in ("softmax", "hardmax"))
    assert float(hardmax.sel(alpha=0.35)) > 1.5 * float(softmax.sel(alpha=0.35))
    assert float(hardmax.sel(alpha=1.0)) == pytest.approx(0.0789, abs=5e-4)


# --- bilinear


def test_bilinear_errors_vanish_at_their_thresholds():
    parts = shipped("bilinear")
    strong, least = (bilinear.at_rank(parts, name) for name in ("strong_recovery", "minimal_nuclear_norm"))
    assert (strong, least) == pytest.approx((0.36, 0.571690), abs=1e-6)
    for error, threshold in ((parts["bayes"][ERROR], strong), (parts["erm"][ERROR].sel(weight_decay=0.0), least)):
        assert float(error.where(error.alpha > threshold, drop=True).max()) < 1e-9
        below = error.where(error.alpha < threshold - 0.005, drop=True)
        assert float(below.min()) > 1e-4
    decay = parts["erm"][ERROR].sel(weight_decay=bilinear.WEIGHT_DECAY)
    assert float(decay.min()) > 1e-3
    assert bool((parts["bayes"][ERROR] <= parts["erm"][ERROR]).all())


def test_bilinear_thresholds_are_in_their_order():
    table = shipped("bilinear")["thresholds"]
    assert bool((table["strong_recovery"] <= table["minimal_nuclear_norm"] + 1e-12).all())
    assert bool((table["weak_recovery"] <= table["strong_recovery"].sel(aspect=1.0) + 1e-12).all())
    full = table.sel(rank=1.0)
    np.testing.assert_allclose(full["strong_recovery"], 1.0)
    np.testing.assert_allclose(full["minimal_nuclear_norm"], 1.0)
    assert float(table["minimal_nuclear_norm"].sel(rank=0.2, aspect=2.0)) == pytest.approx(0.475278, abs=1e-6)


def test_trained_matrices_are_on_the_bilinear_curves():
    parts = shipped("bilinear")
    strong, weak = bilinear.WEIGHT_DECAY, bilinear.WEAK_DECAY
    for decay, other in ((strong, weak), (weak, strong)):
        trained, theory = (parts[title].sel(weight_decay=decay) for title in ("trained", "erm"))
        assert near(trained, theory, ERROR, times=5.0)
        assert not near(trained, parts["erm"].sel(weight_decay=other), ERROR, times=5.0)
