"""The rotation-invariant denoiser: its error, its optimality, and the information that it leaves."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.laws.random_frame import random_frame
from presage.spectra.quadrature import panels
from presage.spectra.symmetric.denoising import fisher_information

LAWS = [ps.MarchenkoPastur(0.5), ps.MarchenkoPastur(2.0), ps.PointMasses([0.0, 1.0], [0.7, 0.3]), ps.PowerLaw(1.2, 30)]


def noisy(law, delta, d, seed):
    rng = np.random.default_rng(seed)
    frame = random_frame(d, d, rng)
    S_0 = (frame * law.sample(d, rng)) @ frame.T
    G = rng.standard_normal((d, d))
    return S_0, S_0 + delta * (G + G.T) / np.sqrt(2 * d)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("delta", [0.2, 1.5])
def test_mmse_is_the_error_of_the_denoiser(law, delta):
    denoiser = ps.Denoiser(law)
    S_0, Y = noisy(law, delta, 600, 1)
    error = np.sum((denoiser.of_matrix(Y, delta) - S_0) ** 2) / 600
    with pytest.raises(ValueError, match="`noisy` must be a symmetric matrix"):
        denoiser.of_matrix(np.triu(Y), delta)
    assert error == pytest.approx(denoiser.mmse(delta), rel=0.03)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_no_other_map_of_the_eigenvalues_does_better(law):
    """Not even with a factor or a shift that is fitted with the target at hand; a wrong factor of two does worse."""
    delta, d = 0.7, 600
    denoiser = ps.Denoiser(law)
    S_0, Y = noisy(law, delta, d, 2)
    eigenvalues, vectors = np.linalg.eigh(Y)
    oracle = np.einsum("ik,ij,jk->k", vectors, S_0, vectors)
    ours = denoiser(eigenvalues, delta)
    best = np.sum((oracle - ours) ** 2) / d
    assert best < 0.05 * denoiser.mmse(delta)
    wrong = 0.5 * (eigenvalues + ours)  # x - delta^2 h
    assert np.sum((oracle - wrong) ** 2) / d > 5 * best


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("delta", [0.2, 1.5])
def test_the_posterior_mean_is_orthogonal_to_its_error(law, delta):
    """So that the target's norm is that of the estimate and that of the error."""
    denoiser = ps.Denoiser(law)
    x, mass = ps.FreeConvolution(law, delta).nodes_above(-np.inf)
    assert denoiser.mmse(delta) == pytest.approx(law.second_moment - mass @ denoiser(x, delta) ** 2, rel=1e-8)


def test_a_semicircle_is_denoised_linearly():
    """Gaussian target: Wiener's filter, in closed form."""
    denoiser = ps.Denoiser(ps.Semicircle(2.0, centre=0.5))
    x = np.linspace(-2.0, 3.0, 11)
    np.testing.assert_allclose(denoiser(x, 1.0), 0.5 + (x - 0.5) * 2 / 3, rtol=1e-10, atol=1e-12)
    assert denoiser.mmse(1.0) == pytest.approx(2 / 3, rel=1e-12)
    assert denoiser.information(1.0) == pytest.approx(0.25 * np.log(3.0), rel=1e-9)


@pytest.mark.parametrize("delta", [0.05, 0.4, 2.0])
def test_information_is_a_difference_of_logarithmic_energies(delta):
    """``I = (1/2) int int log|x-y| mu mu`` less that of the noise alone: atoms, whose potential is a sum of logarithms.

    ``int log(x - y) mu_t(dy) = int log(w - s) mu_0(ds) + (t/2) g^2`` at the subordination point w of x.
    """
    law = ps.PointMasses([-0.5, 0.0, 1.0], [0.2, 0.5, 0.3])
    free = ps.FreeConvolution(law, delta)
    p = panels(law, free.t, free.bands, lambda point: np.ones_like(point.x)[None], tail=1e-8)
    w, g = p.u + 1j * np.pi * free.t * p.rho, p.h - 1j * np.pi * p.rho
    potential = np.log(np.abs(w[..., None] - law.atoms.positions)) @ law.atoms.masses + 0.5 * free.t * (g**2).real
    energy = np.sum(p.mass * potential)
    of_the_noise = 0.5 * np.log(free.t) - 0.25
    assert ps.Denoiser(law).information(delta) == pytest.approx(0.5 * (energy - of_the_noise), rel=1e-7)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_error_over_noise_falls_with_the_noise(law):
    """So that the Bayes-optimal equation of a linear channel has one root only."""
    t = np.geomspace(1e-3, 1e2, 30)
    ratio = [ps.Denoiser(law).mmse(np.sqrt(value)) / value for value in t]
    assert (np.diff(ratio) < 1e-12).all()
    assert 0.0 < fisher_information(law, 0.5) * 0.25 <= 1.0


def test_a_denoiser_needs_a_law():
    with pytest.raises(ValueError, match=r"`law` must be a SpectralLaw.*MarchenkoPastur"):
        ps.Denoiser(0.5)  # type: ignore[arg-type]
