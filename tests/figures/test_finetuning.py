"""What the figures on fine-tuning show, read from the data that ships; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, finetuning_decay, finetuning_samples, finetuning_selection
from presage.figures.catalogue import Parts

NAMES = ("finetuning-decay", "finetuning-samples", "finetuning-selection")


@functools.cache
def shipped(name: str) -> Parts:
    return catalogue.load(name)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_drawn_whole(name):
    module = catalogue.figure(name)
    parts = shipped(name)
    module.draw(parts).savefig(io.BytesIO(), format="png", dpi=50)
    assert "d = " in module.details(parts)
    for part in parts.values():
        assert not any(str(words).startswith("failed") for words in part["outcome"].values.ravel())


def test_the_best_weight_decay_is_another_for_the_overlap_of_reused_sequences():
    parts = shipped("finetuning-decay")
    x = parts["fresh"][finetuning_decay.X].values
    best = finetuning_decay.best_of_pretraining(parts)
    assert x[np.argmin(parts["fresh"]["test_error"].values)] == pytest.approx(best, rel=0.2)
    assert x[np.argmin(parts["reused"]["test_error"].values)] == pytest.approx(best, rel=0.3)
    assert x[np.argmax(parts["reused"]["overlap"].values)] < 0.2 * best
    assert np.all(parts["recalibrated"]["test_error"].values <= parts["fresh"]["test_error"].values + 2e-3)


def test_dots_lie_on_their_lines():
    """Within four standard errors and the correction of a finite size, which is of order 1/d for overlaps."""
    parts, checked = shipped("finetuning-decay"), 0
    for kind in finetuning_decay.KINDS:
        line, trained = parts[kind], parts[f"{kind} trained"]
        for x in trained[finetuning_decay.X].values:
            dot = trained.sel({finetuning_decay.X: x})
            at = np.interp(np.log(x), np.log(line[finetuning_decay.X].values), line["overlap"].values)
            assert float(dot["overlap"]) == pytest.approx(at, abs=4 * float(dot["overlap_bar"]) + 0.2 / int(trained.d))
            checked += 1
    assert checked == 15


def test_nobody_does_better_than_the_best_of_all_methods():
    parts = shipped("finetuning-samples")
    for kind in finetuning_samples.KINDS:
        best, line = parts[f"{kind} best"], parts[kind]
        at = np.interp(np.log(line.alpha.values), np.log(best.alpha.values), best["overlap"].values)
        assert np.all(line["overlap"].values <= at + 4e-3)
        threshold = float(parts[f"{kind} threshold"]["weak_recovery"].values.ravel()[0])
        assert np.all(best["overlap"].values[best.alpha.values < 0.9 * threshold] == 0.0)
        assert np.all(best["overlap"].values[best.alpha.values > 1.3 * threshold] > 0.2)


def test_message_passing_is_on_its_line():
    parts = shipped("finetuning-samples")
    best, dots = parts["linear best"], parts["linear messages"]
    threshold = float(parts["linear threshold"]["weak_recovery"].values.ravel()[0])
    for alpha in dots.alpha.values[dots.alpha.values > 2.0 * threshold]:
        dot = dots.sel(alpha=alpha)
        at = np.interp(np.log(alpha), np.log(best.alpha.values), best["overlap"].values)
        assert float(dot["overlap"]) == pytest.approx(at, abs=4 * float(dot["overlap_bar"]) + 0.02)


def test_fewer_labels_of_a_larger_pool_teach_more():
    parts = shipped("finetuning-selection")
    for kind in finetuning_selection.KINDS:
        line = parts[kind]
        order = np.argsort(line.selection.values)
        assert line["overlap"].values[order][0] > line["overlap"].values[order][-1]
    level = float(parts["linear recalibrated"]["overlap"].values.ravel()[0])
    assert float(parts["linear"]["overlap"].values[0]) == pytest.approx(level, abs=2e-4)


def test_a_cell_is_computed_again():
    cell = shipped("finetuning-decay")["reused"].isel({finetuning_decay.X: 10})
    problem = finetuning_decay.PROBLEM.replace(reuse="noise", pretraining_weight_decay=float(cell[finetuning_decay.X]))
    again = ps.solve(problem, accuracy=3e-4)
    assert again.overlap == pytest.approx(float(cell["overlap"]), abs=2 * again.error_bars["overlap"])
