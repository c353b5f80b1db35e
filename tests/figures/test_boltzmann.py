"""What the figures on Boltzmann machines show, read from the data that ships; some of it computed again."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import presage as ps
from presage.figures import boltzmann_sequence, boltzmann_signal, boltzmann_time, catalogue
from presage.figures.boltzmann_machines import followed
from presage.figures.catalogue import Parts

NAMES = ("boltzmann-time", "boltzmann-signal", "boltzmann-sequence")


@functools.cache
def shipped(name: str) -> Parts:
    return catalogue.load(name)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_drawn(name):
    figure = catalogue.figure(name).draw(shipped(name))
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    for part in shipped(name).values():
        assert {str(words) for words in part["outcome"].values.ravel()} == {"done"}
    assert "machines of d = " in catalogue.figure(name).details(shipped(name))


@pytest.mark.parametrize(
    ("name", "observables"),
    [("boltzmann-time", boltzmann_time.SHOWN), ("boltzmann-sequence", boltzmann_sequence.SHOWN)],
)
def test_machines_go_the_predicted_way(name, observables):
    """At every dot: within four standard errors, the bar of the theory, and the effect of a finite size."""
    line, dots = shipped(name)["theory"], shipped(name)["machines"]
    at = dots["times"].values[0].astype(int)
    for observable in observables:
        predicted, bars = line[observable].values[:, at], line[f"{observable}_bar"].values[:, at]
        allowed = 4.0 * dots[f"{observable}_bar"].values + bars + 20.0 / float(dots.d)
        assert np.all(np.abs(dots[observable].values - predicted) < allowed)
    # The way is not a constant that anything would agree with.
    assert np.ptp(line[observables[0]].values[-1]) > 0.5


def test_fresh_samples_are_most_likely_on_the_way():
    one = shipped("boltzmann-time")["theory"].sel(signal=1.0)
    peak = int(np.argmax(one["test_likelihood"].values))
    assert 12 <= peak <= 18
    assert float(one["test_likelihood"][-1]) < 0.0 < float(one["test_likelihood"][peak])


def test_the_weaker_direction_comes_later():
    line = shipped("boltzmann-sequence")["theory"].isel(alpha=0)
    first, last = (line[name].values for name in boltzmann_sequence.SHOWN)
    half = [int(np.argmax(values > 0.5 * values[-1])) for values in (first, last)]
    assert half[1] > 5 * half[0]
    end = shipped("boltzmann-sequence")["end"].isel(alpha=0)
    assert first[-1] == pytest.approx(float(end["alignment"]), abs=0.02)
    assert last[-1] == pytest.approx(float(end["last_alignment"]), abs=0.02)


def test_machines_lie_on_their_lines_above_the_stability_line():
    trained, checked = shipped("boltzmann-signal")["trained"], 0
    for latents in boltzmann_signal.LATENTS:
        for signal in trained.signal.values[trained.signal.values >= 0.8]:
            found = ps.solve(boltzmann_signal.PROBLEM.replace(latents=latents, signal=float(signal)))
            dot = trained.sel(latents=latents, signal=signal)
            for name in ("alignment", "pca_alignment"):
                line = getattr(found, name)
                assert float(dot[name]) == pytest.approx(line, abs=4.0 * float(dot[f"{name}_bar"]) + 6.0 / 600)
                checked += 1
    assert checked >= 20


def test_lines_are_in_their_order():
    lines = shipped("boltzmann-signal")["lines"]
    below, onset, stable = (lines[name].values for name in boltzmann_signal.LINES)
    assert np.all(below < onset)
    assert np.all(onset < stable)
    at = ps.thresholds(boltzmann_signal.PROBLEM.replace(alpha=float(lines.alpha[12])))
    assert at.stability_signal == pytest.approx(float(lines.stability_signal[12]), rel=1e-6)


def test_machines_that_failed_are_left_out(monkeypatch):
    real = ps.simulate

    def one_fails(*arguments, **options):
        e = real(*arguments, **options)
        e.trajectory[0] = np.nan
        return e

    trainer = ps.BoltzmannDescent(m_0=0.1, q_0=0.25, steps=5)
    monkeypatch.setattr(ps, "simulate", one_fails)
    found = followed(boltzmann_time.PROBLEM, trainer, ("overlap",), d=40, seeds=3)
    np.testing.assert_allclose(found["times"], [0.0, 5.0])
    assert found["overlap"][0] == pytest.approx(0.1)
    assert np.all(np.isfinite(found["overlap_bar"]))
    with pytest.raises(ps.TrainError, match="machines failed"):
        followed(boltzmann_time.PROBLEM, trainer, ("overlap",), d=40, seeds=2)
