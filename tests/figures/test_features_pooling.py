"""What the figure on poolings shows, read from the data that ships; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, features_pooling
from presage.figures.catalogue import Parts


@functools.cache
def shipped() -> Parts:
    return catalogue.load("features-pooling")


def test_it_is_drawn_with_every_pooling():
    figure = features_pooling.draw(shipped())
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [*features_pooling.POOLINGS]
    assert f"{int(shipped()['trained'].seeds)} tables of d = 400" in features_pooling.details(shipped())
    for part in shipped().values():
        assert {str(words) for words in part["outcome"].values.ravel()} == {"done"}


def test_better_weights_are_better_at_every_number_of_sequences():
    theory = shipped()["theory"]["alignment"]
    mean, harmonic, causal, best = (
        theory.sel(pooling=str(pooling)).values for pooling in features_pooling.POOLINGS.values()
    )
    assert np.all(mean <= harmonic)
    assert np.all(harmonic <= best)
    assert np.all(causal <= best)


def test_dots_lie_on_their_lines_away_from_the_transition():
    """Within four standard errors and 2/d, wherever alpha is twice the threshold or more."""
    trained = shipped()["trained"]
    checked = 0
    for pooling in features_pooling.POOLINGS.values():
        problem = features_pooling.PROBLEM.replace(pooling=pooling)
        least = ps.thresholds(problem).outlier
        for alpha in trained.alpha.values[trained.alpha.values > 2.0 * least]:
            dot = trained.sel(pooling=str(pooling), alpha=alpha)
            line = ps.solve(problem.replace(alpha=float(alpha))).alignment
            assert float(dot["alignment"]) == pytest.approx(line, abs=4 * float(dot["alignment_bar"]) + 2 / 400)
            checked += 1
    assert checked >= 20


def test_the_outlier_is_where_the_largest_eigenvalues_are():
    spectrum, tables = shipped()["spectrum"].isel(alpha=0), shipped()["eigenvalues"].isel(alpha=0)
    assert float(tables["top"]) == pytest.approx(float(spectrum["top"]), abs=4 * float(tables["top_bar"]) + 5 / 400)
    second = np.sort(tables["eigenvalues"].values, axis=-1)[..., -2]
    assert np.all(second < float(spectrum["edge"]) * 1.05)


def test_a_cell_is_computed_again():
    theory = shipped()["theory"].isel(pooling=2, alpha=30)
    problem = features_pooling.PROBLEM.replace(pooling=ps.CausalPooling(1.0), alpha=float(theory.alpha))
    assert ps.solve(problem).alignment == pytest.approx(float(theory["alignment"]), rel=1e-10)
