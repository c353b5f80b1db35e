"""Bad input fails at construction, in one shape: what must hold, why, what was given, what to do instead."""

from __future__ import annotations

import dataclasses
import re
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from presage import (
    Empirical,
    FreeConvolution,
    Frobenius,
    Linear,
    MarchenkoPastur,
    NuclearPSD,
    PointMasses,
    PowerLaw,
    Problem,
    Semicircle,
    Softmax,
    StateEvolution,
    attention,
    functionals,
    linear_attention,
    quadratic_network,
    solve,
    unfactorized_attention,
)

SHAPE = re.compile(
    r"`(?P<name>\w+)` must (?P<must>.+?): (?P<reason>.+?)\. Got (?P=name)=(?P<value>.+?)\. (?P<remedy>[A-Z].+\.)", re.S
)
TARGET = MarchenkoPastur(0.5)
NETWORK = quadratic_network(TARGET, alpha=0.5, weight_decay=0.1)
ATTENTION = attention(TARGET, alpha=0.5, weight_decay=0.1, beta=1.5)
NOT_NUMBERS = [nan, inf, -inf, "0.5", None, True, [0.5], np.array([0.5, 0.6]), 1j, b"1"]


def untyped(value: object) -> Any:
    """The value, as something that the type checker lets through."""
    return value


def complaint(build) -> dict[str, str]:
    """The parts of the message that `build` fails with."""
    with pytest.raises(ValueError, match="must") as failure:
        build()
    match = SHAPE.fullmatch(str(failure.value))
    assert match, f"not of the one shape: {failure.value}"
    return match.groupdict()


SETTERS: dict[str, Any] = {
    "alpha": lambda x: quadratic_network(TARGET, alpha=x, weight_decay=0.1),
    "noise": lambda x: attention(TARGET, alpha=0.5, weight_decay=0.1, noise=x),
    "kappa": lambda x: linear_attention(TARGET, alpha=0.5, weight_decay=0.1, kappa=x),
    "weight_decay": NuclearPSD,
    "ridge": Frobenius,
    "kappa_0": MarchenkoPastur,
    "beta": lambda x: Softmax(2, x),
    "gamma": lambda x: PowerLaw(x, 10),
    "variance": Semicircle,
    "centre": lambda x: Semicircle(1.0, x),
    "n_tokens": Softmax,
    "d": lambda x: PowerLaw(1.0, x),
}


@pytest.mark.parametrize("bad", NOT_NUMBERS, ids=lambda bad: str(bad)[:12])
@pytest.mark.parametrize("name", SETTERS)
def test_what_is_not_a_finite_number_is_refused(name, bad):
    said = complaint(lambda: SETTERS[name](bad))
    assert said["name"] == name
    assert "number" in said["must"]
    assert said["value"] == repr(bad)


@pytest.mark.parametrize(
    ("build", "name", "must", "value"),
    [
        (lambda: quadratic_network(TARGET, alpha=-1.0, weight_decay=0.1), "alpha", "> 0", "-1.0"),
        (lambda: quadratic_network(TARGET, alpha=0, weight_decay=0.1), "alpha", "> 0", "0"),
        (lambda: quadratic_network(TARGET, alpha=1e19, weight_decay=0.1), "alpha", "<= 1e+18", "1e+19"),
        (lambda: quadratic_network(TARGET, alpha=10**400, weight_decay=0.1), "alpha", "<= 1e+18", repr(10**400)),
        (lambda: solve(attention(TARGET, alpha=1.0, weight_decay=0.0)), "weight_decay", "above 0", "0.0"),
        (lambda: attention(TARGET, alpha=1.0, weight_decay=-0.1), "weight_decay", ">= 0", "-0.1"),
        (lambda: attention(TARGET, alpha=1.0, weight_decay=0.1, noise=-0.5), "noise", ">= 0", "-0.5"),
        (lambda: attention(TARGET, alpha=1.0, weight_decay=0.1, noise=1e9), "noise", "<= 1e+06", "1000000000.0"),
        (lambda: attention(TARGET, alpha=1.0, weight_decay=0.1, kappa=0.0), "kappa", "> 0", "0.0"),
        (lambda: attention(TARGET, alpha=1.0, weight_decay=0.1, n_tokens=1), "n_tokens", ">= 2", "1"),
        (
            lambda: attention(TARGET, alpha=1.0, weight_decay=0.1, n_tokens=untyped(2.5)),
            "n_tokens",
            "whole number",
            "2.5",
        ),
        (lambda: attention(TARGET, alpha=1.0, weight_decay=0.1, n_tokens=1000), "n_tokens", "<= 64", "1000"),
        (lambda: attention(TARGET, alpha=1.0, weight_decay=0.1, beta=0.0), "beta", "> 0", "0.0"),
        (lambda: attention(TARGET, alpha=1.0, weight_decay=0.1, beta_0=-1.0), "beta_0", "> 0", "-1.0"),
        (lambda: solve(unfactorized_attention(TARGET, alpha=1.0, ridge=0.0)), "ridge", "above 0", "0.0"),
        (lambda: Linear(0), "n_tokens", ">= 1", "0"),
        (lambda: MarchenkoPastur(0), "kappa_0", ">= 1e-08", "0"),
        (lambda: MarchenkoPastur(-0.5), "kappa_0", ">= 1e-08", "-0.5"),
        (lambda: PowerLaw(0.0, 10), "gamma", "> 0", "0.0"),
        (lambda: PowerLaw(1.0, 0), "d", ">= 1", "0"),
        (lambda: PowerLaw(1.0, untyped(10.5)), "d", "whole number", "10.5"),
        (lambda: PowerLaw(1.0, 10, normalized=untyped("no")), "normalized", "True or False", "'no'"),
        (lambda: Semicircle(0.0), "variance", "> 0", "0.0"),
    ],
)
def test_a_number_out_of_range_is_refused(build, name, must, value):
    said = complaint(build)
    assert said["name"] == name
    assert must in said["must"]
    assert said["value"] == value


@pytest.mark.parametrize(
    "values", [None, [], [[1.0, 2.0]], 3.0, ["a", "b"], ["1", "2"], "12", [nan], [1.0, inf], np.array([1j])]
)
def test_values_that_are_no_list_of_real_numbers_are_refused(values):
    assert complaint(lambda: PointMasses(values))["name"] == "values"


@pytest.mark.parametrize(
    ("weights", "must"),
    [
        ([0.5, 0.6], "sum to one"),
        ([5.0, 5.0], "sum to one"),
        ([0.5, 0.4999], "sum to one"),
        ([0.0, 1.0], "be positive"),
        ([-0.5, 1.5], "be positive"),
        ([1.0], "one entry a value"),
        ([nan, 1.0], "finite"),
        ("ab", "real numbers"),
        (["0.5", "0.5"], "real numbers"),
    ],
)
def test_weights_that_are_no_probabilities_are_refused(weights, must):
    said = complaint(lambda: PointMasses([1.0, 2.0], weights))
    assert said["name"] == "weights"
    assert must in said["must"]


@pytest.mark.parametrize(
    ("given", "must"),
    [
        ([[0.0, 1.0], [2.0, 0.0]], "symmetric matrix"),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], "symmetric matrix"),
        ([[nan, 0.0], [0.0, 1.0]], "finite"),
        ([[1.0, 2.0], [3.0]], ""),
        (np.zeros((2, 2, 2)), "list"),
        ([], "list"),
        (None, "real numbers"),
        ("abc", "real numbers"),
        (["1", "2"], "real numbers"),
        (np.array([[1.0, 1j], [-1j, 1.0]]), "real numbers"),
    ],
    ids=["not symmetric", "not square", "nan", "ragged", "3-d", "empty", "None", "string", "strings", "complex"],
)
def test_eigenvalues_that_are_none_are_refused(given, must):
    said = complaint(lambda: Empirical(given))
    assert said["name"] == "eigenvalues"
    assert must in said["must"]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"target": "MP"}, "SpectralLaw"),
        ({"target": MarchenkoPastur}, "SpectralLaw"),
        ({"target": None}, "SpectralLaw"),
        ({"channel": "softmax"}, "Channel"),
        ({"channel": NuclearPSD(0.1)}, "Channel"),
        ({"penalty": 0.1}, "Penalty"),
        ({"penalty": Softmax(2)}, "Penalty"),
    ],
    ids=str,
)
def test_a_part_of_the_wrong_kind_is_refused(change, kind):
    parts = {"target": TARGET, "channel": Softmax(2), "penalty": NuclearPSD(0.1), "alpha": 1.0} | change
    for said in (complaint(lambda: Problem(**parts)), complaint(lambda: ATTENTION.replace(**change))):
        assert said["name"] == next(iter(change))
        assert kind in said["must"]


def test_a_zero_target_without_noise_is_refused():
    said = complaint(lambda: quadratic_network(PointMasses([0.0]), alpha=1.0, weight_decay=0.1))
    assert said["name"] == "target"
    assert "second moment" in said["must"]
    assert quadratic_network(PointMasses([0.0]), alpha=1.0, weight_decay=0.1, noise=0.1).Q_0 == 0


def test_an_unknown_name_is_refused_and_the_known_ones_are_listed():
    said = complaint(lambda: ATTENTION.replace(alpha=1.0, betta=2.0))
    assert said["name"] == "replace"
    assert "betta" in said["value"]
    for name in ATTENTION.names():
        assert name in said["remedy"]
    assert "beta" in complaint(lambda: NETWORK.replace(beta=2.0))["value"]
    assert complaint(lambda: NETWORK.replace(alpha=-1.0))["name"] == "alpha"
    assert complaint(lambda: NETWORK.replace(weight_decay=-1.0))["name"] == "weight_decay"


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: solve(untyped("attention")), "problem"),
        (lambda: solve(untyped(TARGET)), "problem"),
        (lambda: solve(NETWORK, solver=untyped("newton")), "solver"),
        (lambda: solve(NETWORK, solver=untyped(StateEvolution)), "solver"),
        (lambda: solve(NETWORK, tol=0.0), "tol"),
        (lambda: solve(NETWORK, tol=untyped("small")), "tol"),
        (lambda: solve(NETWORK, init=untyped("nearby")), "init"),
        (lambda: solve(ATTENTION, init=untyped(3.0)), "init"),
        (lambda: StateEvolution(accuracy=-1.0), "accuracy"),
        (lambda: StateEvolution(accuracy=nan), "accuracy"),
        (lambda: StateEvolution(most_nodes=0), "most_nodes"),
        (lambda: StateEvolution(seed=-1), "seed"),
    ],
)
def test_bad_input_of_a_solver_is_refused(build, name):
    assert complaint(build)["name"] == name


@pytest.mark.parametrize("delta", [0.0, -1.0, nan, inf, "1", None])
def test_a_semicircle_without_width_is_refused(delta):
    assert complaint(lambda: FreeConvolution(TARGET, delta))["name"] == "delta"
    assert complaint(lambda: functionals(TARGET, delta, 0.1))["name"] == "delta"


def test_a_cutoff_or_law_that_is_none_is_refused():
    assert complaint(lambda: functionals(TARGET, 1.0, nan))["name"] == "cutoff"
    assert complaint(lambda: FreeConvolution(untyped("MP"), 1.0))["name"] == "law"


def test_replace_reaches_the_parts():
    changed = ATTENTION.replace(alpha=2.0, weight_decay=0.02, kappa_0=0.7, n_tokens=3, noise=0.1)
    assert (changed.alpha, changed.noise) == (2.0, 0.1)
    assert changed.penalty == NuclearPSD(0.02)
    assert changed.target == MarchenkoPastur(0.7)
    assert changed.channel == Softmax(3, 1.5)
    assert ATTENTION.alpha == 0.5
    ridge = unfactorized_attention(PowerLaw(1.25, 40), alpha=1.0, ridge=0.1).replace(ridge=0.2, gamma=2.0, d=50)
    assert (ridge.penalty, ridge.target) == (Frobenius(0.2), PowerLaw(2.0, 50))
    both = NETWORK.replace(target=PointMasses([1.0, 2.0]), weight_decay=0.3)
    assert (both.target, both.penalty) == (PointMasses([1.0, 2.0]), NuclearPSD(0.3))
    inside = ATTENTION.replace(channel=Softmax(4), beta=0.5)
    assert inside.channel == Softmax(4, 0.5)


def test_equal_temperatures_stay_equal():
    assert ATTENTION.replace(beta=2.0).channel == Softmax(2, 2.0, 2.0)
    apart = ATTENTION.replace(beta_0=1.0)
    assert apart.channel == Softmax(2, 1.5, 1.0)
    assert apart.replace(beta=2.0).channel == Softmax(2, 2.0, 1.0)


def test_nothing_can_be_changed_in_place():
    for thing, name in (
        (NETWORK, "alpha"),
        (NETWORK.penalty, "weight_decay"),
        (ATTENTION.channel, "beta"),
        (TARGET, "kappa_0"),
        (PointMasses([1.0]), "values"),
        (PowerLaw(1.0, 5), "d"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, 1.0)


def test_numbers_of_other_types_become_floats():
    problem = quadratic_network(
        MarchenkoPastur(untyped(np.float32(0.5))), alpha=untyped(np.int64(2)), weight_decay=untyped(np.array(0.25))
    )
    assert (problem.alpha, problem.target, problem.penalty) == (2.0, TARGET, NuclearPSD(0.25))
    assert type(problem.alpha) is float
    assert Softmax(untyped(np.int64(3))).n_tokens == 3
    assert type(Softmax(untyped(3.0)).n_tokens) is int
