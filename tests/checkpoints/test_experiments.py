"""The examples of docs/: a head that is trained inside of the setting of the theory shows what it says; scripts run."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
TINY_HEAD = ["--d", "8", "--h", "4", "--tokens", "2", "--features", "1", "--samples", "60"]
TINY_MODEL = ["--d", "16", "--heads", "1", "--layers", "1", "--tokens", "8", "--steps", "3", "--chars", "2000"]


@pytest.fixture(scope="module")
def untied():
    return runpy.run_path(str(EXAMPLES / "untied_attention.py"))


def fits(report):
    return {fit.law: fit for fit in report.measured.fits}


def test_the_gradient_of_the_untied_head_is_that_of_its_loss(untied):
    rng = np.random.default_rng(0)
    samples = untied["draw"](untied["Layer"](d=6, h=3, tokens=3, features=2), 5, rng)
    factors, direction = rng.standard_normal((2, 2 * 6 * 3))
    loss, step = untied["loss_and_gradient"], 1e-5
    ahead, behind = (loss(factors + sign * step * direction, samples, 0.3)[0] for sign in (1.0, -1.0))
    along = loss(factors, samples, 0.3)[1] @ direction
    assert (ahead - behind) / (2.0 * step) == pytest.approx(along, rel=1e-7)


def test_the_script_of_the_untied_head_prints_a_line_a_cell(untied, capsys):
    untied["main"]([*TINY_HEAD, "--decays", "1", "1000"])
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 4
    assert said[3].split()[:3] == ["60", "1000", "0"]  # strong decay leaves nothing


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_eight_planted_features_of_an_untied_head_are_found_in_its_weights(untied, seed):
    """Counts, balance, the law of the bulk and the strengths; a*delta falls with samples, c/delta grows with decay."""
    layer = untied["Layer"]()
    planted = layer.strengths / layer.strengths[0]
    found = {}
    for n, decay, far in ((1200, 1.0, 0.12), (1200, 4.0, 0.12), (5000, 1.0, 0.05)):
        report, trained = untied["experiment"](layer, n, decay, seed)
        assert trained.gradient < 1e-5  # at a minimum
        shrunk, random = fits(report)["shrunk"], fits(report)["random"]
        assert (report.rank, shrunk.spikes) == (layer.h, layer.features)
        assert shrunk.accepted
        assert not random.accepted
        assert report.p_spectrum < 0.01
        assert report.balance == pytest.approx(1.0, abs=1e-4)
        assert 1 <= report.at_least <= layer.features  # a lower bound
        assert report.fit is shrunk
        assert np.allclose(untied["strengths"](report), planted, rtol=far)
        found[n, decay] = shrunk
    assert found[1200, 1.0].slope > 1.8 * found[5000, 1.0].slope
    assert found[1200, 4.0].cutoff > 1.8 * found[1200, 1.0].cutoff


@pytest.mark.slow
@pytest.mark.parametrize(("n", "decay", "rank"), [(1200, 16.0, 8), (1200, 64.0, 0), (5000, 64.0, 8)])
def test_decay_leaves_the_features_and_then_nothing(untied, n, decay, rank):
    report, _ = untied["experiment"](untied["Layer"](), n, decay)
    assert report.rank == rank
    assert report.verdict == "too few values"
    assert report.measured.fits == ()


@pytest.mark.slow
def test_the_script_of_the_character_model_runs(capsys):
    pytest.importorskip("torch")
    runpy.run_path(str(EXAMPLES / "character_model.py"))["main"]([*TINY_MODEL, "--decays", "0", "1e-3"])
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in said[1:]] == [["2000", "0"], ["2000", "0.001"]]
    assert all(0.0 < float(line[-1]) < 10.0 for line in said[1:])  # nats
