"""How figures look: numbers that can be read, nothing over the curves, footnotes whole and below the picture."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.patches import StepPatch

from presage.figures import attention_6, catalogue, quadratic_spectra, style
from presage.plots.scales import FEW, log_label

NAMES = catalogue.names()


@functools.cache
def drawn(name: str) -> Any:
    """The picture of the shipped data, laid out."""
    figure = catalogue.figure(name).draw(catalogue.load(name))
    figure.canvas.draw()
    return figure


# Axes of logarithms


@pytest.mark.parametrize(
    ("value", "low", "high", "label"),
    [
        (0.6, 0.3, 0.9, "0.6"),  # matplotlib's own would be 6 x 10^-1
        (0.5, 0.04, 0.9, "0.5"),
        (0.6, 0.04, 0.9, ""),
        (0.1, 0.04, 0.9, "0.1"),
        (100.0, 0.05, 1000.0, "100"),
        (200.0, 0.05, 1000.0, ""),
        (1e-6, 1e-7, 1.0, "$10^{-6}$"),
        (1.0, 1e-7, 1.0, "$10^{0}$"),
        (1e-6, 5e-7, 5e-5, "$10^{-6}$"),
        (7.0, 6.5, 9.5, "7"),  # or nothing but 8 would be there
        (7.0, 2.0, 9.5, ""),
    ],
)
def test_what_is_written_on_an_axis_of_logarithms(value, low, high, label):
    assert log_label(value, low, high) == label


def logarithmic_axes(figure: Any) -> Iterator[Any]:
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                yield axis


def written(axis: Any) -> list[str]:
    """The labels of an axis that are seen."""
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [t.label1.get_text() for t in ticks if low <= t.get_loc() <= high and t.label1.get_text()]


@pytest.mark.parametrize("name", NAMES)
def test_short_axes_of_logarithms_have_plain_numbers(name):
    for axis in logarithmic_axes(drawn(name)):
        low, high = axis.get_view_interval()
        labels = written(axis)
        assert len(labels) >= 2
        if np.log10(high / low) < FEW:
            assert all(low <= float(label) <= high for label in labels)
        else:
            assert len({"10^" in label for label in labels}) == 1  # all plain, or all powers


def test_errors_over_six_decades_are_on_an_axis_of_logarithms():
    parts, figure = catalogue.load("attention-6"), drawn("attention-6")
    for T in attention_6.TOKENS:
        clean = parts[f"trained_{T}"]["test_error"].sel(noise=0.0)
        assert float(clean.max() / clean.min()) > 10**4.5
    scales = np.reshape([axes.get_yscale() for axes in figure.axes], (2, 2))
    assert (scales == [["log", "linear"]] * 2).all()


def test_spectra_have_one_axis_of_densities():
    figure = drawn("quadratic-spectra")
    assert len(figure.axes) == len(quadratic_spectra.ALPHAS["full"])
    cut = [[text.get_text() for text in axes.texts if "cut" in text.get_text()] for axes in figure.axes]
    theory = catalogue.load("quadratic-spectra")["theory"]
    for said, axes, top in zip(cut, figure.axes, theory["density"].max("density_0").values, strict=True):
        assert said == ([f"cut, up to {top:.2g}"] if top > axes.get_ylim()[1] else [])


# Curves


def on_paper(axes: Any) -> np.ndarray:
    """Points along the curves of a panel, in pixels, close to each other."""
    points = [np.zeros((0, 2))]
    for line in axes.lines:
        path = line.get_transform().transform_path(line.get_path())
        seen = path.vertices[np.isfinite(path.vertices).all(axis=1)]
        if line.get_linestyle() == "None" or len(seen) < 2:
            points.append(seen)
        else:
            steps = np.linspace(0.0, 1.0, 60)[:, None, None]
            points.append((seen[:-1] + steps * np.diff(seen, axis=0)).reshape(-1, 2))
    for steps_of_histogram in (patch for patch in axes.patches if isinstance(patch, StepPatch)):
        path = steps_of_histogram.get_transform().transform_path(steps_of_histogram.get_path())
        seen = np.asarray(path.vertices, dtype=np.float64)
        points.append(seen[np.isfinite(seen).all(axis=1)])
    inside = axes.get_window_extent()  # what is beyond is cut off
    found = np.concatenate(points)
    return found[((found >= inside.min) & (found <= inside.max)).all(axis=1)]


def covers(box: Any, points: np.ndarray) -> bool:
    return bool(((points > [box.x0, box.y0]) & (points < [box.x1, box.y1])).all(axis=1).any())


@pytest.mark.parametrize("name", NAMES)
def test_legends_and_words_are_off_the_curves(name):
    figure = drawn(name)
    for axes in figure.axes:
        points = on_paper(axes)
        if not len(points):
            assert axes.collections  # a map: names stand on it, and there is no curve to hide
            continue
        for thing in (*axes.texts, *([axes.get_legend()] if axes.get_legend() else [])):
            assert not covers(thing.get_window_extent(), points), (name, axes.get_ylabel(), thing)
    for legend in figure.legends:
        assert not any(legend.get_window_extent().overlaps(axes.get_window_extent()) for axes in figure.axes)


def test_a_legend_on_a_curve_is_found():
    """A negative control of the test above."""
    with style.style():
        figure, axes = style.canvas()
        axes.plot([0.0, 1.0], [0.0, 1.0], label="a line")
        axes.legend(loc="center")
        figure.canvas.draw()
        assert covers(axes.get_legend().get_window_extent(), on_paper(axes))
        axes.legend(loc="upper left")
        figure.canvas.draw()
        assert not covers(axes.get_legend().get_window_extent(), on_paper(axes))


# Footnotes


def footnotes(figure: Any) -> str:
    note = figure.get_supxlabel()
    return " ".join(note.split()) if note else ""


@pytest.mark.parametrize("name", NAMES)
def test_footnotes_are_whole_numbered_and_below_the_picture(name):
    figure = drawn(name)
    said = footnotes(figure)
    if not said:
        assert not [line for line in style.caveats(catalogue.load(name)) if not line.startswith("thresholds")]
        return
    assert not re.search(r"and \d+ more", said)  # none was left out
    numbers = [int(number) for number in re.findall(r"\$\^\{(\d+)\}\$", said)]
    assert numbers == list(range(1, len(numbers) + 1))
    box = figure._supxlabel.get_window_extent()
    width, height = figure.canvas.get_width_height()
    assert box.x0 >= 0.0
    assert box.y0 >= 0.0
    assert box.x1 <= width
    assert box.y1 <= min(axes.get_tightbbox().y0 for axes in figure.axes) < height


def test_panels_keep_their_size_beside_footnotes():
    table = xr.Dataset({"y": ("x", [1.0, 2.0])}, {"x": [0.0, 1.0]}, {"seeds": "0"})
    said = table.assign(
        caveats=("x", ["it is rough, very rough, and nobody knows how much rougher it may be. " * 6, ""])
    )
    heights = []
    for parts in ({"theory": table}, {"theory": said}):
        with style.style():
            figure, axes = style.canvas()
            style.line(axes, table, "x", "y")
            style.print_caveats(figure, parts)
        figure.canvas.draw()
        heights.append(axes.get_window_extent().height)
    assert heights[1] == pytest.approx(heights[0], rel=0.03)


def test_a_caveat_says_where_it_holds():
    words = np.array(
        [["", "near 3 % of the samples.", "near 4 % of the samples. Another. the bar is 1e-2."], ["", "", ""]]
    )
    table = xr.Dataset(
        {"caveats": (("noise", "alpha"), words)}, {"noise": [0.0, 0.5], "alpha": [0.1, 0.25, 1.0]}, {"seeds": "0"}
    )
    assert style.caveats({"theory": table}) == [
        "theory at noise = 0, alpha = 0.25: near 3 % of the samples.",
        "theory at noise = 0, alpha = 1: near 4 % of the samples. Another.",
        "theory at noise = 0, alpha = 1: the bar is 1e-2.",
    ]
    sizes = table.isel(noise=0).rename(alpha="d").assign_coords(d=[100, 2000, 12345])
    assert style.caveats({"theory": sizes})[1] == "theory at d = 12345: near 4 % of the samples. Another."
    alike = table.assign(caveats=(("noise", "alpha"), [["", "near 3 %.", "near 4 %."]] * 2))
    assert style.caveats({"theory": alike}) == ["theory at alpha from 0.25 to 1 (4 points, numbers vary): near 3 %."]


def test_more_caveats_than_fit_are_counted():
    words = [f"{letter}: a reason." for letter in "abcdefgh"]
    table = xr.Dataset({"caveats": ("alpha", words)}, {"alpha": np.arange(8.0)}, {"seeds": "0"})
    with style.style():
        figure, _ = style.canvas()
        style.print_caveats(figure, {"theory": table}, most=6)
    assert "f: a reason." in footnotes(figure)
    assert "g: a reason." not in footnotes(figure)
    assert "and 2 more" in footnotes(figure)


# Captions


@pytest.mark.parametrize("name", NAMES)
def test_a_caption_is_short_and_details_are_apart(name):
    figure, parts = catalogue.figure(name), catalogue.load(name)
    caption, details = figure.caption(parts), figure.details(parts)
    assert 100 < len(caption) < 700
    for words in ("In print", "Differs from print", "seeds", "data sets", "standard errors"):
        assert words not in caption
    drawn_bars = any("seeds" in table.attrs and table.attrs["seeds"] != "none" for table in parts.values())
    counted = name == "scaling-spectra"  # bars of a histogram, which have none
    assert "two standard errors" in details or counted or not drawn_bars
    for text in (caption, details):
        assert text.endswith(".")
        assert "nan" not in text
