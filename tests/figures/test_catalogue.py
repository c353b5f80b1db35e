"""The list of figures: every name has its module and its data, and two computations of a figure can be compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import presage as ps
from presage import cite
from presage.figures import bayes_erm, catalogue, style
from presage.sweeps.identity import canonical

PROBLEM = ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.02, noise=0.5)


def table(alpha: list[float], **changes: float) -> xr.Dataset:
    """A sweep as `solve` would give it, with a value of alpha^2 and a bar of 0.01, changed at some points."""
    at = np.array(alpha)
    value = at**2
    for name, change in changes.items():
        value[int(name.removeprefix("point"))] += change
    data = {"error": ("alpha", value), "error_bar": ("alpha", np.full(at.shape, 0.01)), "note": ("alpha", at)}
    return xr.Dataset(data, coords={"alpha": at, "d": 80}, attrs={"version": "1", "seeds": "2"})


@pytest.mark.parametrize("name", catalogue.names())
def test_every_name_has_a_module(name):
    figure = catalogue.figure(name)
    assert figure.__doc__
    assert "\n" not in figure.TITLE
    assert len(figure.TITLE) <= 100
    for method in ("data", "draw", "caption", "details"):
        assert callable(getattr(figure, method))
    keys = re.findall(r"\[(\w+)\]", figure.SOURCE)
    assert keys
    assert set(keys) <= set(cite.references())


@pytest.mark.parametrize("name", catalogue.names())
def test_every_name_has_data_that_says_what_made_it(name):
    assert catalogue.shipped(name).stat().st_size <= 300_000
    parts = catalogue.load(name)
    assert parts
    for part, shipped in parts.items():
        assert re.fullmatch(r"\d+\.\d+.*", str(shipped.attrs["version"])), part
        assert str(shipped.attrs["seeds"]), part
        assert "problem" in shipped.attrs, part


def recorder(shipped: catalogue.Parts) -> catalogue.Sweep:
    """A sweep that computes nothing: it returns the grid it was given, with what the figures go on to use."""
    best = [table for table in shipped.values() if "strength" in table]

    def recorded(problem: Any, run: Any, **grid: Any) -> xr.Dataset:
        coords = {name: _labels(values) for name, values in grid.items()}
        axes = {name: len(labels) for name, labels in coords.items() if isinstance(labels, list)}
        names = ("test_error", "train_error", *bayes_erm.THRESHOLDS, "interpolation", "outcome", "seconds")
        zeros = {name: (tuple(axes), np.zeros(tuple(axes.values()))) for name in (*names, "train_error_bar")}
        attrs = {"problem": canonical(problem), "run": canonical(run)}
        table = xr.Dataset(zeros, coords=coords, attrs=attrs)
        if run in (ps.optimal_regularization, bayes_erm.best):
            table = table.assign(strength=table["test_error"])
        for known in best:  # networks are trained at the best strengths, which are not computed here
            if [known.attrs[name] for name in ("problem", "run")] == [attrs[name] for name in ("problem", "run")]:
                table = table.assign(strength=("alpha", known["strength"].values))
        return table

    return recorded


def _labels(values: Any) -> Any:
    """Values of a parameter as a sweep labels them: objects by their words."""
    if isinstance(values, (list, np.ndarray)):
        return [_labels(value) for value in values]
    return values if isinstance(values, (int, float, str)) else str(values)


def unlike(part: xr.Dataset, shipped: xr.Dataset) -> list[str]:
    """Settings in which two tables differ: the problem, the function, and every coordinate."""
    found = [name for name in ("problem", "run") if part.attrs[name] != shipped.attrs.get(name)]
    found += [str(name) for name in set(part.coords) ^ set(shipped.coords)]
    for name in set(part.coords) & set(shipped.coords):
        mine, yours = part[name].values, shipped[name].values
        same = np.allclose if mine.dtype.kind in "fiu" and mine.shape == yours.shape else np.array_equal
        if not same(mine, yours):
            found.append(str(name))
    return sorted(found)


@pytest.mark.parametrize("name", catalogue.names())
def test_shipped_data_is_of_the_settings_in_the_module(name):
    """Problem, function, alphas, sizes, seeds, trainers and solvers: a module that is changed needs new data."""
    shipped = catalogue.load(name)
    parts = catalogue.figure(name).data("full", sweep=recorder(shipped))
    assert set(parts) == set(shipped)
    for part, table in parts.items():
        assert unlike(table, shipped[part]) == [], part
    quick = catalogue.figure(name).data("quick", sweep=recorder({}))  # a negative control
    assert any(unlike(quick[part], shipped[part]) for part in quick)


def test_an_unknown_name_is_refused_in_words():
    for call in (catalogue.figure, catalogue.load):
        with pytest.raises(ValueError, match=r"`name` must be the name of a figure.*no-such.*bilinear"):
            call("no-such")


def test_what_is_saved_is_read_again(tmp_path: Path):
    parts = {
        "theory": ps.sweep(PROBLEM, ps.solve, alpha=[0.3, 0.5], weight_decay=0.05),
        "trained": ps.sweep(PROBLEM, ps.simulate, d=[10, 12], seeds=2, trainer=ps.LBFGS(), n_test=10, processes=1),
    }
    catalogue.save(parts, tmp_path / "figure.nc")
    again = catalogue.read(tmp_path / "figure.nc")
    assert list(again) == list(parts)
    for name, part in parts.items():
        assert again[name].attrs == part.attrs
        assert set(again[name].variables) == set(part.variables)
        for variable in part.variables:
            np.testing.assert_array_equal(again[name][variable].values, part[variable].values)
    assert catalogue.differences(again, parts) == []
    assert list(tmp_path.iterdir()) == [tmp_path / "figure.nc"]


def test_a_copy_does_not_differ():
    known = {"theory": table([0.1, 0.2, 0.3])}
    assert catalogue.differences({"theory": known["theory"].copy(deep=True)}, known) == []


def test_a_planted_difference_is_found():
    """Beyond four bars of both, where it is largest; below that it is chance."""
    known = {"theory": table([0.1, 0.2, 0.3, 0.4])}
    assert catalogue.differences({"theory": table([0.1, 0.2, 0.3, 0.4], point1=0.05)}, known) == []
    (found,) = catalogue.differences({"theory": table([0.1, 0.2, 0.3, 0.4], point1=0.06, point2=-0.07)}, known)
    assert found == "theory: error differs at 2 of 4 points, most at {'alpha': 0.3}."
    assert catalogue.differences({"theory": table([0.1, 0.2, 0.3, 0.4], point1=0.06)}, known, bars=6.0) == []


def test_only_shared_points_are_compared():
    """A coarser grid has points of its own; rounding does not make a point another one."""
    known = {"theory": table([0.1, 0.2, 0.3, 0.4], point3=5.0)}
    coarse = {"theory": table([0.1 + 1e-12, 0.25, 0.3])}
    assert catalogue.differences(coarse, known) == []
    coarse = {"theory": table([0.1 + 1e-12, 0.25, 0.3], point0=1.0, point1=1.0)}
    (found,) = catalogue.differences(coarse, known)
    assert "differs at 1 of 2 points" in found
    (found,) = catalogue.differences({"theory": table([0.15, 0.25])}, known)
    assert found == "theory: no point is shared, so that nothing was compared."


def test_a_cell_that_failed_on_one_side_is_a_difference():
    failed = table([0.1, 0.2, 0.3])
    failed["error"][1] = failed["error_bar"][1] = np.nan
    known = {"theory": table([0.1, 0.2, 0.3])}
    for new, old in (({"theory": failed}, known), (known, {"theory": failed})):
        (found,) = catalogue.differences(new, old)
        assert found == "theory: error differs at 1 of 3 points, most at {'alpha': 0.2}."
    assert catalogue.differences({"theory": failed}, {"theory": failed.copy()}) == []


def test_what_is_missing_is_a_difference():
    known = {"theory": table([0.1]), "trained": table([0.1])}
    assert catalogue.differences({"theory": table([0.1])}, known) == ["trained: was not computed again."]
    bare = {**known, "theory": known["theory"].drop_vars(["error", "error_bar"])}
    assert catalogue.differences(bare, known) == ["theory: error was not computed again."]


def test_numbers_without_a_bar_are_compared_too():
    """Thresholds, strengths and spectra have none: they come out again up to rounding, trained ones up to 1e-4."""
    known = {"thresholds": table([0.1, 0.2]).drop_vars(["error", "error_bar"])}
    for trained, allowed in ((False, 1e-6), (True, 1e-4)):
        old = {"thresholds": known["thresholds"].assign(n_seeds=3) if trained else known["thresholds"]}
        for times, differs in ((0.5, False), (3.0, True)):
            moved = {"thresholds": old["thresholds"].assign(note=old["thresholds"]["note"] + times * allowed)}
            said = ["thresholds: note differs at 2 of 2 points, most at {'alpha': 0.1}."] if differs else []
            assert catalogue.differences(moved, old) == said


def test_best_strengths_are_compared_as_well_as_they_are_known():
    known = {"best": xr.Dataset({"strength": ("alpha", [0.01, 0.02])}, {"alpha": [0.1, 0.2]})}
    assert catalogue.differences({"best": known["best"] * 1.01}, known) == []
    assert len(catalogue.differences({"best": known["best"] * 1.1}, known)) == 1


def test_a_part_without_numbers_is_not_said_to_agree():
    words = {"theory": xr.Dataset({"outcome": ("alpha", ["done"]), "seconds": ("alpha", [1.0])}, {"alpha": [0.1]})}
    assert catalogue.differences(words, words) == ["theory: has no number that could be compared."]


def test_spectra_of_fewer_seeds_are_compared_seed_by_seed():
    values = np.arange(12.0).reshape(1, 3, 4)
    known = {"trained": xr.Dataset({"eigenvalues": (("alpha", "seed", "eigenvalue"), values)}, {"alpha": [0.1]})}
    fewer = {"trained": known["trained"].isel(seed=slice(2))}
    assert catalogue.differences(fewer, known) == []
    moved = {"trained": fewer["trained"] + xr.DataArray([0.0, 0.1], dims="seed")}
    (found,) = catalogue.differences(moved, known)
    assert found.startswith("trained: eigenvalues differs at 4 of 8 points")


def test_caveats_of_single_seeds_are_counted_and_failures_come_first():
    said = "few samples. seed 0: stopped at 1e-3. seed 2: stopped at 2e-4. seed 3 failed: no memory."
    words = {"caveats": ("alpha", ["", said]), "outcome": ("alpha", ["done", "done"])}
    trained = xr.Dataset(words, attrs={"seeds": "4"})
    broken = xr.Dataset({"outcome": ("alpha", ["failed: no fixed point"])}, attrs={"seeds": "0"})
    assert style.caveats({"trained": trained, "theory": broken}) == [
        "theory: failed: no fixed point",
        "trained: few samples.",
        "trained: 2 of 4 seeds: stopped at 1e-3.",
        "trained: 1 of 4 seeds: failed: no memory.",
    ]


def test_networks_of_another_size_are_not_compared():
    """Their distance from the limit is another one, by a part of order 1/d."""
    known = {"trained": table([0.1, 0.2])}
    smaller = {"trained": table([0.1, 0.2], point0=3.0).assign_coords(d=40)}
    assert catalogue.differences(smaller, known) == [
        "trained: d is 40 here and 80 there, so that nothing was compared."
    ]


def test_points_are_matched_by_words_too():
    both = xr.concat([table([0.1]), table([0.1], point0=1.0)], "trainer").assign_coords(trainer=["LBFGS()", "AMP()"])
    assert catalogue.differences({"trained": both.isel(trainer=[1, 0])}, {"trained": both}) == []
    swapped = both.assign_coords(trainer=["AMP()", "LBFGS()"])
    (found,) = catalogue.differences({"trained": swapped}, {"trained": both})
    assert "differs at 2 of 2 points" in found
