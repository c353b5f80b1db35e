"""What the caption of the figure on layers and kernels claims, read from the data; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import catalogue, features_layers
from presage.figures.catalogue import Parts


@functools.cache
def shipped() -> Parts:
    return catalogue.read(catalogue.shipped("features-layers"))


def test_it_is_drawn_and_its_details_say_how_it_was_made():
    parts = shipped()
    figure = features_layers.draw(parts)
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    assert len(figure.axes) == 2
    layers = parts["hermite"]
    assert f"{int(layers.seeds)} networks of d = {int(layers.d)}" in features_layers.details(parts)
    for part in parts.values():
        assert not [words for words in part["outcome"].values.ravel() if str(words) != "done"]


def test_layers_of_gaussian_coordinates_are_on_the_line():
    """From four samples a coordinate on, which is away from the threshold: within 0.05."""
    for table in (shipped()["surrogate"],):
        late = table.alpha.values > 4.0
        line = np.array([ps.solve(features_layers.SURROGATE.replace(alpha=float(a))).test_error for a in table.alpha])
        assert np.abs(table["test_error"].values - line)[late].max() < 0.05


def test_layers_learn_where_kernels_see_nothing():
    parts = shipped()
    assert float(parts["hermite"]["test_error"].values[-1]) < 0.3
    for kernel in features_layers.KERNELS:
        assert float(parts[kernel]["test_error"].values.min()) > 0.85, kernel
    surrogate = parts["surrogate"].sel(alpha=parts["rbf"].alpha[-1], method="nearest")
    assert float(surrogate["test_error"]) < float(parts["rbf"]["test_error"].values[-1]) - 0.1


def test_both_layers_trained_by_gradients_learn_with_more_samples():
    table = shipped()["gradients"]
    assert np.all(np.diff(table["first_overlap"].values) > 0)
    assert float(table["first_overlap"][-1]) > 0.9
    assert float(table["second_overlap"][-1]) > float(table["second_overlap"][0]) + 0.2


@pytest.mark.slow
def test_cells_are_computed_again():
    theory, layers, kernels = (shipped()[name] for name in ("theory", "hermite", "features"))
    at = int(np.random.default_rng(0).integers(theory.sizes["alpha"]))
    again = ps.solve(features_layers.SURROGATE.replace(alpha=float(theory.alpha[at])))
    assert again.test_error == pytest.approx(float(theory["test_error"][at]), abs=1e-9)
    size = {"d": int(layers.d), "seeds": int(layers.seeds), "n_test": int(layers.n_test)}
    networks = ps.simulate(features_layers.TRUE.replace(alpha=float(layers.alpha[0])), processes=1, **size)
    assert networks.mean("test_error") == pytest.approx(float(layers["test_error"][0]), abs=1e-4)
    problem = features_layers.TRUE.replace(alpha=float(kernels.alpha[0]))
    few = {"d": int(kernels.d), "seeds": int(kernels.seeds)}
    found = features_layers.shallow(problem, trainer=features_layers.KERNELS["features"], processes=1, **few)
    assert found["test_error"] == pytest.approx(float(kernels["test_error"][0]), abs=1e-4)


def test_every_problem_can_be_solved():
    for words, problem in features_layers.problems().items():
        assert ps.solve(problem).test_error <= 1.0, words
