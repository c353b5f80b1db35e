"""Pictures of weights: what is drawn, cell by cell and word by word."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.checkpoints.noise_band import noise_band
from presage.plots import weights as drawing
from presage.plots.panel import picture
from presage.plots.weights import weights_panels
from tests.checkpoints.planted import noise, planted

H, h, d = 3, 24, 64


@pytest.fixture(scope="module")
def report():
    """Layers 5 and 7 of a model: random heads, one with planted directions, one that is all zero."""
    rng = np.random.default_rng(0)
    zero = (np.zeros((d, h)), np.zeros((d, h)))
    layers = {5: [noise(h, d, rng), zero, noise(h, d, rng)], 7: [planted(h, d, 2, 6.0, rng), noise(h, d, rng), zero]}
    arrays = {
        f"encoder.layer.{n}.attention.self.{name}.weight": np.vstack([factors[at].T for factors in heads])
        for n, heads in layers.items()
        for at, name in enumerate(("query", "key"))
    }
    return ps.read_weights(arrays, heads=H, flips=5)


@pytest.fixture
def axes(report):
    figure = picture(weights_panels(report), "a model")
    figure.canvas.draw()
    return figure.axes[:2]


def words(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_a_square_a_head(report, axes):
    """Its colour is the logarithm of its stable rank over that of random heads; one that has none has no colour."""
    (shown,) = axes[0].get_images()
    ratio = np.ma.filled(shown.get_array(), np.nan)
    assert ratio.shape == (2, H)
    for row, layer in enumerate((5, 7)):
        for head in range(H):
            one = report.head(layer, head)
            wanted = np.log2(one.stable_rank / one.ranks_of_noise[0].mean)
            assert ratio[row, head] == pytest.approx(wanted, nan_ok=True)
    assert np.isnan(ratio[0, 1])
    assert np.isnan(ratio[1, 2])
    assert (shown.get_clim()[0], shown.get_clim()[1]) == (-3.0, 3.0)


def test_layers_and_heads_have_their_own_names(axes):
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["5", "7"]
    assert [label.get_text() for label in axes[0].get_xticklabels()] == ["0", "1", "2"]
    assert (axes[0].get_xlabel(), axes[0].get_ylabel()) == ("head", "layer")


def test_what_is_random_and_what_is_zero_are_marked(report, axes):
    marks = {line.get_label(): line.get_xydata().tolist() for line in axes[0].get_lines()}
    random = [[one.head, [5, 7].index(one.layer)] for one in report.every_head if one.verdict == "random"]
    assert len(random) == 3
    assert marks == {"as random": random, "all zero": [[1.0, 0.0], [2.0, 1.0]]}
    assert words(axes[0]) == ["as random", "all zero"]


def test_a_line_a_head_over_the_band(report, axes):
    lines = [line for line in axes[1].get_lines() if len(line.get_xdata())]
    assert len(lines) == 4  # heads that are all zero have no point on a logarithmic axis
    assert lines[0].get_ydata()[0] == pytest.approx(
        report.head(5, 0).top / np.sqrt(np.mean(report.head(5, 0).singular_values ** 2))
    )
    (band,) = axes[1].collections
    band_values = band.get_paths()[0].vertices[:, 1]
    assert band_values.max() == pytest.approx(noise_band("random", h, d, d).high.max())
    assert words(axes[1]) == ["99 % of random heads", "4 heads"]
    assert axes[1].get_yscale() == "log"
    ticks = [label.get_text() for label in axes[1].get_yticklabels(which="both") if label.get_text()]
    assert "1" in ticks
    assert not any("10^" in tick for tick in ticks)


def test_many_layers_are_named_by_their_numbers(report, monkeypatch):
    """Where there is no room for every name, those that are there stand at their rows."""
    monkeypatch.setattr(drawing, "MOST_NAMED", 1)
    figure = picture(weights_panels(report))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["5"]
    assert figure.axes[0].get_yticks().tolist() == [0]


def test_one_head(report):
    figure = picture([drawing.head_panels(report.head(7, 0))[0]])
    (axis,) = figure.axes
    head = report.head(7, 0)
    drawn = np.sort(np.concatenate([line.get_ydata() for line in axis.get_lines() if line.get_marker() in ("o", "D")]))
    assert drawn[::-1] == pytest.approx(head.singular_values)
    said = words(axis)
    assert said[0] == "99 % of random heads"
    assert f"{head.spikes} stand out" in said
    assert "reached by flipped signs" in said
    assert axis.get_title() == f"layer 7 head 0: {head.verdict}"
    assert all(tick >= 0 for tick in axis.get_xticks() if axis.get_xlim()[0] <= tick)


def test_a_head_that_is_all_zero_says_so(report):
    (axis,) = picture(drawing.head_panels(report.head(5, 1))).figure.axes
    assert [text.get_text() for text in axis.texts] == ["all its values are zero"]
    assert axis.get_legend() is None or "0 values" not in words(axis)


def test_nothing_is_drawn_of_no_heads():
    network = {"layers.0.weight": np.random.default_rng(0).standard_normal((30, 40))}
    report = ps.read_weights(network, matrices=True, flips=0)
    with pytest.raises(ValueError, match="`result` must have heads: a map has a square a head, and there are none"):
        ps.plot(report)
