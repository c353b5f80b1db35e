"""Every result as a picture: what is drawn is what the result says; what cannot be drawn is refused in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.plots.panel import picture
from presage.plots.plot import panels_of
from presage.protocol.numbers import Measured, plus_minus
from tests.spectra.noise import wigner

QUADRATIC = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=2.0, weight_decay=0.1, noise=0.5)
MATRIX = ps.bilinear_regression(ps.GaussianProduct(0.5, 2.0), alpha=0.5, noise=0.1, weight_decay=0.2)
VECTOR = ps.diagonal_network(ps.PointMasses([0.0, 1.0], [0.9, 0.1]), alpha=0.5, weight_decay=0.1, noise=0.1)


@pytest.fixture(autouse=True)
def pyplot():
    """No window, nothing that is left open, and no setting that stays changed."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    yield plt
    plt.close("all")
    assert dict(mpl.rcParams) == before


@pytest.fixture(scope="module")
def solution() -> Any:
    return ps.solve(QUADRATIC)


@pytest.fixture(scope="module")
def comparison(solution) -> Any:
    ensembles = [ps.simulate(QUADRATIC, d=d, seeds=3, n_test=200, processes=1) for d in (10, 20)]
    return ps.compare(solution, *ensembles)


@pytest.fixture(scope="module")
def table() -> Any:
    return ps.sweep(QUADRATIC, ps.solve, alpha=[4.0, 0.1, 1.0], weight_decay=[0.1, 1.0], processes=1, progress=False)


def words(axes: Any) -> str:
    """All that is written in the figure of some axes."""
    figure = np.ravel(axes)[0].figure
    figure.canvas.draw()
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text) if text.get_visible())


def drawn_mass(axes: Any) -> float:
    """Area under the shades of a picture."""
    from matplotlib.collections import PolyCollection

    def area(x: Any, y: Any) -> float:
        return 0.5 * abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1)))

    shades = [c for c in axes.collections if isinstance(c, PolyCollection)]
    return sum((area(*np.asarray(path.vertices).T) for shade in shades for path in shade.get_paths()), 0.0)


class TestPredictions:
    @pytest.mark.parametrize("problem", [QUADRATIC, QUADRATIC.replace(alpha=20.0), MATRIX])
    def test_the_area_under_the_shade_is_the_rank(self, problem):
        s = ps.solve(problem)
        assert drawn_mass(ps.plot(s)) == pytest.approx(s.rank, rel=5e-3)

    def test_the_area_of_the_entries_of_a_vector(self):
        s = ps.solve(VECTOR)
        axes = ps.plot(s)
        assert drawn_mass(axes) == pytest.approx(s.nonzero, rel=5e-3)
        assert axes.get_xlabel() == "entry"

    def test_zeros_and_the_target_are_told(self, solution):
        said = words(ps.plot(solution))
        assert f"learned (zero: {100 * (1 - solution.rank):.3g} %)" in said
        assert "target (zero: 50 %)" in said
        assert "eigenvalue" in said

    def test_a_law_of_standard_deviations_is_no_law_of_entries(self):
        assert "target" in words(ps.plot(ps.solve(VECTOR)))
        assert "target" not in words(ps.plot(ps.solve(VECTOR.replace(draw="gaussian"))))

    def test_one_stroke_an_outlier(self):
        target = ps.PointMasses(
            np.concatenate([[0.0], np.linspace(4.0, 40.0, 40)]), np.concatenate([[0.6], np.full(40, 0.01)])
        )
        s = ps.solve(ps.quadratic_network(target, alpha=20.0, weight_decay=0.01, noise=0.1))
        assert len(s.outliers) == 40
        axes = ps.plot(s)
        assert "40 outliers" in words(axes)
        strokes = [c for c in axes.collections if c.get_label() == "40 outliers"]
        assert len(strokes[0].get_segments()) == 40
        assert axes.get_xlim()[1] > s.outliers.max()

    def test_all_is_zero(self):
        s = ps.solve(QUADRATIC.replace(alpha=0.05, weight_decay=50.0))
        assert s.rank == 0.0
        assert "learned (zero: 100 %)" in words(ps.plot(s))

    def test_what_is_cut_off_is_said(self):
        assert "cut off above: the density reaches" in words(ps.plot(ps.MarchenkoPastur(1.0)))
        assert "cut off" not in words(ps.plot(ps.Semicircle(1.0)))

    def test_a_fit_that_is_the_target_says_so(self):
        exact = ps.bilinear_regression(ps.GaussianProduct(0.3, 2.0), alpha=3.0, noise=0.0, weight_decay=0.0)
        said = words(ps.plot(ps.solve(exact)))
        assert "the fit is the target itself" in said
        assert "singular value" in said

    def test_numbers_where_there_is_no_spectrum(self):
        s = ps.bayes_optimal(QUADRATIC)
        said = words(ps.plot(s))
        assert plus_minus(Measured(s.mmse, s.error_bars["mmse"])) in said
        assert "information" not in said  # takes long, and is drawn when it is asked for
        assert "information" in words(ps.plot(s, show="mutual_information"))

    def test_observables_of_a_solution(self, solution):
        axes = ps.plot(solution, show=["rank", "test_error"])
        assert [label.get_text() for label in axes.get_yticklabels()] == ["rank / d", "test error"]

    def test_the_other_predictions(self):
        assert "eigenvalue" in words(ps.plot(ps.ridgeless(QUADRATIC)))
        best = ps.optimal_regularization(QUADRATIC)
        assert f"weight decay of least error: {best.value:.4g}" in words(ps.plot(best))
        assert "± " in words(ps.plot(ps.bayes_optimal(MATRIX)))

    def test_atoms_of_a_recovered_target(self):
        clean = ps.quadratic_network(
            ps.PointMasses([0.0, 1.0, 2.0], [0.5, 0.3, 0.2]), alpha=5.0, weight_decay=0.1, noise=0.0
        )
        axes = ps.plot(ps.ridgeless(clean))
        assert "2 values, of mass up to 0.3" in words(axes)
        assert axes.get_ylabel() == "mass"


class TestThresholds:
    def test_marks_stand_at_the_thresholds(self):
        found = ps.thresholds(QUADRATIC)
        axes = ps.plot(found)
        marks = sorted(line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D")
        assert marks == pytest.approx(sorted(getattr(found, one.name) for one in found.observables))
        said = words(axes)
        assert "samples" in said
        assert "(clean labels)" in said
        assert axes.get_xscale() == "linear"  # learning begins at zero
        low = ps.thresholds(QUADRATIC.replace(target=ps.MarchenkoPastur(0.01)))
        assert ps.plot(low).get_xscale() == "log"

    def test_one_that_does_not_exist_is_said(self):
        found = ps.thresholds(ps.quadratic_network(ps.Semicircle(1.0), alpha=0.5, weight_decay=0.1, noise=0.1))
        assert "no alpha" in words(ps.plot(found))

    def test_of_other_models(self):
        assert "nuclear norm" in words(ps.plot(ps.thresholds(MATRIX)))
        assert len(ps.plot(ps.thresholds(VECTOR), show="interpolation").get_yticks()) == 1


class TestNetworks:
    def test_the_histogram_has_the_mass_that_is_not_zero(self, comparison):
        ensemble = comparison.ensembles[1]
        axes = ps.plot(ensemble)
        (steps,) = axes.patches
        heights, edges, _ = steps.get_data()
        assert float(heights @ np.diff(edges)) == pytest.approx(ensemble.mean("rank"))
        assert "d = 20" in words(axes)

    def test_observables_seed_by_seed(self, comparison):
        axes = ps.plot(comparison.ensembles[0], show=["rank", "test_error"])
        assert axes.shape == (2,)
        (dots,) = [line for line in axes[1].lines if line.get_marker() == "o"]
        assert dots.get_ydata() == pytest.approx(comparison.ensembles[0].test_error)


class TestComparison:
    def test_a_panel_an_observable_and_the_spectrum(self, comparison):
        axes = ps.plot(comparison)
        assert len(axes) == len(comparison.rows) + 1
        for axis, row in zip(axes, comparison.rows, strict=False):
            assert f"z = {row.z:+.1f}" in axis.get_title()
            (predicted,) = [line for line in axis.lines if line.get_label() == "predicted"]
            assert predicted.get_ydata()[0] == row.prediction
            assert [label.get_text() for label in axis.get_xticklabels()] == ["∞", "10", "20"]
        assert "predicted (zero:" in words(axes)

    def test_one_of_them(self, comparison):
        axes = ps.plot(comparison, show="rank")
        assert axes.get_ylabel() == "rank / d"
        (fit,) = [line for line in axes.lines if line.get_label() == "a + b/d"]
        row = comparison["rank"]
        assert fit.get_ydata()[0] == pytest.approx(row.a)
        assert ps.plot(comparison, show="spectrum").get_xlabel() == "eigenvalue"

    def test_a_single_dimension_is_not_extrapolated(self, comparison):
        axes = ps.plot(ps.compare(comparison.solution, comparison.ensembles[0]), show="rank")
        assert "a + b/d" not in words(axes)


class TestTables:
    def test_the_table_knows_its_axes_and_numbers(self, table, tmp_path):
        import xarray as xr

        assert table.alpha.attrs == {"long_name": "samples  $\\alpha = n/d^2$", "scale": "logarithmic"}
        assert table.weight_decay.attrs["long_name"] == "weight decay"
        assert table["rank"].attrs["fraction"] == 1
        assert table.test_error.attrs["long_name"] == "test error"
        assert table.train_error.attrs["brief"] == 0
        table.to_netcdf(tmp_path / "table.nc", engine="h5netcdf")
        with xr.open_dataset(tmp_path / "table.nc", engine="h5netcdf") as again:
            assert again["rank"].attrs == table["rank"].attrs
            assert len(ps.plot(again)) == 4

    def test_a_line_for_each_value_of_the_shorter_grid(self, table):
        axes = ps.plot(table, show="test_error")
        assert axes.get_xscale() == "log"
        assert len(axes.lines) == 2
        for line, decay in zip(axes.lines, (0.1, 1.0), strict=True):
            assert line.get_label() == f"weight decay {decay:g}"
            assert line.get_xdata() == pytest.approx([0.1, 1.0, 4.0])  # in order, whatever the grid was
            expected = table.test_error.sel(weight_decay=decay).sortby("alpha").values
            assert line.get_ydata() == pytest.approx(expected)
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("samples  $\\alpha = n/d^2$", "test error")

    def test_a_fraction_goes_from_zero_to_one(self, table):
        assert ps.plot(table, show="rank").get_ylim() == (0.0, 1.02)

    def test_two_long_grids_are_a_map(self):
        found = ps.sweep(
            VECTOR, ps.solve, alpha=np.geomspace(0.1, 4, 8), noise=np.linspace(0, 1, 7), processes=1, progress=False
        )
        axes = ps.plot(found, show="test_error")
        (mesh,) = axes.collections
        assert mesh.get_array().shape == (7, 8)
        assert mesh.get_array()[2, 3] == pytest.approx(float(found.test_error[3, 2]))
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
        assert axes.get_ylabel() == "variance of the label noise"

    def test_networks_are_dots_with_two_standard_errors(self):
        found = ps.sweep(QUADRATIC, ps.simulate, alpha=[0.5, 1.0], d=8, seeds=3, n_test=50, processes=1, progress=False)
        axes = ps.plot(found, show="rank")
        (bars,) = axes.containers
        _, _, (vertical,) = bars.lines
        low, high = vertical.get_segments()[0][:, 1]
        assert high - low == pytest.approx(4 * float(found["rank_bar"][0]))

    def test_a_function_of_ones_own(self):
        found = ps.sweep(VECTOR, gap, alpha=[0.5, 1.0, 2.0], processes=1, progress=False)
        assert ps.plot(found).get_ylabel() == "gap"

    def test_decades_are_drawn_by_their_logarithm_with_plain_ticks(self):
        found = ps.sweep(VECTOR, steep, alpha=[0.6, 1.0, 2.0], processes=1, progress=False)
        axes = ps.plot(found)
        assert axes.get_yscale() == "log"
        axes.figure.canvas.draw()
        ticks = [label.get_text() for label in axes.get_xticklabels(which="both")]
        assert "1" in ticks
        assert "2" in ticks
        assert not any("times" in label for label in ticks)


def gap(problem: Any) -> dict[str, float]:
    return {"gap": problem.alpha**2}


def steep(problem: Any) -> float:
    return float(10.0 ** (4 * problem.alpha))


def fails(problem: Any) -> float:
    raise ps.SolveError("It did not settle.", "Use another <alpha>.")


class TestAxes:
    def test_into_axes_of_ones_own(self, pyplot, solution, comparison):
        figure, (left, right) = pyplot.subplots(1, 2)
        assert ps.plot(solution, ax=left) is left
        assert ps.plot(comparison, ax=[left, right], show=["rank", "test_error"]).tolist() == [left, right]
        assert pyplot.get_fignums() == [figure.number]

    def test_the_wrong_number_of_axes(self, pyplot, solution, comparison):
        _, axes = pyplot.subplots(1, 2)
        with pytest.raises(ValueError, match=r"`ax` must be one axes: this picture has the panels spectrum. Got ax=2"):
            ps.plot(solution, ax=axes)
        with pytest.raises(ValueError, match=r'`ax` must be 6 axes.*Use show="test_error" for one'):
            ps.plot(comparison, ax=axes[0])
        with pytest.raises(ValueError, match=r"`ax` must be matplotlib axes"):
            ps.plot(solution, ax=3)

    def test_a_new_figure_is_one_of_pyplot_and_is_not_shown(self, pyplot, solution, monkeypatch):
        monkeypatch.setattr(pyplot, "show", lambda *_, **__: pytest.fail("shown"))
        axes = ps.plot(solution)
        assert pyplot.gcf() is axes.figure

    def test_what_a_backend_sets_with_the_first_figure_stays(self, pyplot, solution, monkeypatch):
        """That of a notebook becomes interactive then; a figure after one that is not would never be seen."""
        import matplotlib as mpl

        figure = pyplot.figure

        def first(**options):
            mpl.rcParams["interactive"] = True
            return figure(**options)

        monkeypatch.setattr(pyplot, "figure", first)
        before = mpl.rcParams["interactive"]
        try:
            ps.plot(solution)
            assert mpl.rcParams["interactive"]
        finally:
            mpl.rcParams["interactive"] = before

    def test_a_picture_that_fails_leaves_no_figure(self, pyplot, solution, monkeypatch):
        from presage.plots import panel

        monkeypatch.setattr(panel, "_explain", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ps.plot(solution)
        assert pyplot.get_fignums() == []

    def test_legends_lie_off_the_panels(self, comparison, table):
        for result in (comparison, table, comparison.solution, comparison.ensembles[0]):
            axes = np.ravel(ps.plot(result))
            figure = axes[0].figure
            figure.canvas.draw()
            legends = [*figure.legends, *(axis.get_legend() for axis in axes if axis.get_legend())]
            page = figure.bbox
            for legend in legends:
                box = legend.get_window_extent()
                assert page.x0 <= box.x0
                assert box.x1 <= page.x1
                assert page.y0 <= box.y0
                assert box.y1 <= page.y1
                assert not any(axis.get_window_extent().padded(-2).overlaps(box) for axis in axes)


@dataclass(frozen=True)
class Coin(ps.LearningProblem):
    alpha: float = field(default=1.0, metadata=ps.declared(ps.Number("throws", example=1.0)))
    model = ps.Model("coin", "a coin", {})


@dataclass(frozen=True)
class Guess(ps.Prediction):
    problem: Coin
    error: float
    observables = (ps.Observable("error", "how far off", "error of the guess"),)


@dataclass(frozen=True)
class Silent(ps.Prediction):
    problem: Coin


def test_a_model_of_ones_own():
    assert "error of the guess" in words(ps.plot(Guess(Coin(), 0.25)))


@pytest.mark.parametrize(
    ("result", "options", "sentence"),
    [
        (QUADRATIC, {}, "a problem is a question, and its answer is drawn. Got result='a Problem'. Pass for example"),
        ([1.0], {}, "several results are a table"),
        ("spectrum", {}, "`result` must be a result of presage"),
        (Silent(Coin()), {}, "declares no observables and has no spectrum"),
        (Guess(Coin(), 0.2), {"show": "rank"}, "`show` must be among error: this result has nothing else to draw"),
        (Guess(Coin(), 0.2), {"show": 3}, "`show` must be names"),
        (Guess(Coin(), 0.2), {"show": []}, "`show` must be names"),
        (ps.solve(VECTOR), {"show": ["spectrum", "nonzero"]}, "do not fit one panel"),
        (ps.thresholds(VECTOR), {"show": "rank"}, "`show` must be among interpolation, minimal_l1_norm"),
        (ps.Semicircle(1.0), {"show": "rank"}, "`show` must be left out"),
    ],
)
def test_what_cannot_be_drawn_is_refused(pyplot, result, options, sentence):
    with pytest.raises(ps.InputError) as error:
        ps.plot(result, **options)
    assert sentence in str(error.value)
    assert pyplot.get_fignums() == []


def test_tables_that_cannot_be_drawn(table):
    lost = ps.sweep(VECTOR, fails, alpha=[0.5, 1.0], processes=1, progress=False)
    with pytest.raises(ps.InputError, match=r"have a number to draw.*failed: It did not settle"):
        ps.plot(lost)
    with pytest.raises(
        ps.InputError, match=r"`show` must name numbers of the table.*Use one of test_error, train_loss"
    ):
        ps.plot(table, show="beauty")
    with pytest.raises(ps.InputError, match="name numbers, one a cell"):
        ps.plot(table, show="outcome")
    with pytest.raises(ps.InputError, match="have a grid of numbers"):
        ps.plot(table.isel(alpha=0, weight_decay=0))
    many = ps.sweep(
        VECTOR,
        gap,
        alpha=[0.5, 1.0, 2.0, 3.0],
        noise=[0.0, 0.1, 0.2],
        weight_decay=[0.1, 0.2, 0.3],
        processes=1,
        progress=False,
    )
    with pytest.raises(ps.InputError, match=r"at most 6 curves along alpha.*Got result=9"):
        ps.plot(many)
    assert len(ps.plot(many.isel(noise=0)).lines) == 3


def test_a_picture_without_windows(solution):
    """What the command line draws: the same panels, under a title that is broken into lines."""
    figure = picture(panels_of(solution), "a long title " * 20, ["something to know"])
    assert "caveat: something to know" in figure.get_supxlabel()
    assert "\n" in figure.get_suptitle()


class TestEdges:
    def test_a_bulk_too_narrow_to_see_is_told(self):
        target = ps.PointMasses(
            np.concatenate([[0.0], np.linspace(4.0, 40.0, 40)]), np.concatenate([[0.6], np.full(40, 0.01)])
        )
        s = ps.solve(ps.quadratic_network(target, alpha=20.0, weight_decay=0.01, noise=0.1))
        (bulk,) = s.bulks
        assert f"a bulk from {bulk.left:.3g} to {bulk.right:.3g}, too narrow to see" in " ".join(
            words(ps.plot(s)).split()
        )

    def test_rounding_is_not_drawn_as_mountains(self):
        found = ps.sweep(QUADRATIC, ps.solve, alpha=[1.0], processes=1, progress=False)
        low, high = ps.plot(found, show="test_error").get_ylim()
        assert high - low > 0.05 * high

    def test_long_words_are_broken_and_not_cut_off(self):
        laws = [ps.PointMasses(np.linspace(0.1, 3.0, count)) for count in (3, 9)]
        found = ps.sweep(QUADRATIC, ps.solve, alpha=[0.5, 1.0], target=laws, processes=1, progress=False)
        axes = ps.plot(found, show="rank")
        axes.figure.canvas.draw()
        box = axes.get_legend().get_window_extent()
        assert box.x1 <= axes.figure.bbox.x1
        assert repr(laws[1]) in " ".join(words(axes).split())


class TestSpectrumType:
    def test_a_bulk_and_what_stands_out(self):
        found = ps.classify(wigner(300, np.random.default_rng(0), (3.0, 2.5)))
        axes = ps.plot(found)
        assert axes.get_title() == "bulk+spikes"
        assert axes.get_xlabel() == "eigenvalue"
        assert "semicircle (as near as noise)" in words(axes)
        assert "2 stand out" in words(axes)
        (line,) = [one for one in axes.lines if len(one.get_xdata()) > 100]
        x, height = line.get_xdata(), line.get_ydata()
        assert np.trapezoid(height, x) == pytest.approx(298 / 300, abs=1e-3)  # the part of all that is in the bulk
        (stairs,) = [one for one in axes.patches if hasattr(one, "get_data")]
        values, edges = stairs.get_data()[:2]
        assert np.sum(values * np.diff(edges)) == pytest.approx(298 / 300)
        assert axes.get_xlim()[1] > found.spikes[0].value

    def test_values_far_away_are_told(self):
        axes = ps.plot(ps.classify(wigner(300, np.random.default_rng(0), (90.0, 3.0))))
        assert "1 of them further out, at 90" in words(axes)
        assert axes.get_xlim()[1] < 20.0

    def test_a_tail_on_logarithmic_axes(self):
        found = ps.classify(np.arange(1, 301) ** -1.25, bootstrap=20)
        histogram, tail = ps.plot(found)
        told = " ".join(words(histogram).split())
        assert "the nearest law, which is far" in told
        assert "100 further out, at" in told
        assert "stand out" not in told
        assert (tail.get_xscale(), tail.get_yscale()) == ("log", "log")
        (line,) = [one for one in tail.lines if one.get_linestyle() == "-"]
        slope = np.polyfit(np.log(line.get_xdata()), np.log(line.get_ydata()), 1)[0]
        assert slope == pytest.approx(1.0 - found.exponent)
        assert ps.plot(found, show="tail").get_title() == "a power law: p = 1"
        with pytest.raises(ps.InputError, match="be among spectrum, tail"):
            ps.plot(found, show="rank")

    def test_zeros_and_networks(self):
        assert "400 eigenvalues (zero: 100 %)" in words(ps.plot(ps.classify(np.zeros(400))))
        few = np.concatenate([np.zeros(400), [1.0, 2.0]])
        assert "2 that are not zero" in words(ps.plot(ps.classify(few)))
        rows = np.array([wigner(100, np.random.default_rng(seed)) for seed in range(3)])
        found = ps.classify(SimpleNamespace(eigenvalues=rows))
        assert ps.plot(found).get_title() == "random-like"


class TestTrainedElsewhere:
    def values(self, solution) -> Any:
        return np.sort(solution.learned_law.sample(60, np.random.default_rng(1)))

    def test_a_histogram_over_the_predicted_law(self, solution):
        values = self.values(solution)
        axes = ps.plot(ps.compare(solution, values, draws=50))
        assert drawn_mass(axes) == pytest.approx(solution.rank, rel=5e-3)
        steps = axes.patches[0].get_data()
        assert np.sum(steps.values * np.diff(steps.edges)) == pytest.approx(np.mean(values != 0.0))
        said = words(axes)
        assert f"1 network, d = 60 (zero: {100 * np.mean(values == 0.0):.3g} %)" in said
        assert "nothing speaks against the prediction" in said
        assert "outlier" not in said

    def test_outliers_are_marked(self, solution):
        values = self.values(solution)
        found = ps.compare(solution, np.append(values[:-1], 5.0 * values[-1]), draws=50)
        axes = ps.plot(found, show="spectrum")
        marks = [c for c in axes.collections if c.get_label() == "1 outlier"]
        assert [segment[0][0] for segment in marks[0].get_segments()] == [5.0 * values[-1]]
        assert axes.get_xlim()[1] > 5.0 * values[-1]
        assert "not as predicted: " in words(axes)

    def test_only_the_spectrum_can_be_asked_for(self, solution):
        with pytest.raises(ps.InputError, match="`show` must be among spectrum"):
            ps.plot(ps.compare(solution, self.values(solution), draws=5), show="rank")

    def test_networks_that_are_zero_are_drawn(self, solution):
        assert "1 network, d = 60 (zero: 100 %)" in words(ps.plot(ps.compare(solution, np.zeros(60), draws=5)))


def test_the_law_of_a_matrix_without_symmetry_is_drawn():
    axes = ps.plot(ps.GaussianProduct(0.5, 2.0))
    assert "GaussianProduct" in words(axes)


def test_networks_that_keep_numbers_only_are_drawn_by_them(comparison, monkeypatch):
    monkeypatch.setattr(type(comparison.ensembles[0]), "arrays", ())
    axes = ps.plot(comparison)
    assert len(axes) == len(comparison.rows)
    assert ps.plot(comparison, show="rank").get_ylabel()


class TestScaling:
    def test_the_exact_error_among_the_laws_of_its_phases(self):
        law = ps.PowerLaw(1.25, 100)
        found = ps.scaling(ps.quadratic_network(law, alpha=0.1, weight_decay=0.01, noise=0.5), factor=None)
        axes = ps.plot(found)
        lines = {str(line.get_label()): line for line in axes.get_lines()}
        assert {"exact", "composite law", f"here, in {found.phase}"} <= set(lines)
        assert {name for name in lines if name.startswith("law of")} == {
            f"law of {name}" for name in found.curve().laws
        }
        assert list(lines[f"here, in {found.phase}"].get_ydata()) == [found.error]
        assert axes.get_xscale() == axes.get_yscale() == "log"
        assert {text.get_text() for text in axes.texts} <= {name for name, *_ in found.curve().passed}
        assert ps.plot(found, show="error") is not axes

    def test_a_sweep_is_a_map_of_phases_with_their_names(self):
        problem = ps.quadratic_network(ps.PowerLaw(1.25, 50), alpha=0.1, weight_decay=0.01, noise=0.5)
        alpha, weight_decay = np.geomspace(1e-2, 1e2, 8), np.geomspace(1e-3, 1e2, 7)
        table = ps.sweep(problem, ps.scaling, alpha=alpha, weight_decay=weight_decay, factor=None, processes=1)
        names = {str(name) for name in table.phase.values.ravel()}
        meanings = table.phase_number.attrs["flag_meanings"].split()
        assert [meanings[int(number)] for number in table.phase_number.values.ravel()] == list(
            table.phase.values.ravel()
        )
        axes = ps.plot(table, show="phase_number")
        assert {text.get_text() for text in axes.texts} == names
        line = ps.plot(table.isel(weight_decay=[0]), show="phase_number")
        assert [tick.get_text() for tick in line.get_yticklabels()] == meanings
