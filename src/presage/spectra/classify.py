"""What type a spectrum is of: `presage.classify`."""

from __future__ import annotations

from typing import Any

from presage.laws.spectral_law import SpectralLaw
from presage.protocol import checks
from presage.protocol.prediction import Prediction
from presage.spectra.ensemble_type import EnsembleType
from presage.spectra.given_spectrum import GivenSpectrum, is_ensemble, of_factor, of_networks, of_one, refuse_size
from presage.spectra.spectrum_type import SpectrumType
from presage.spectra.verdict import verdict

BOOTSTRAP, MOST_DRAWS = 400, 100_000  # draws


def classify(
    spectrum: Any,
    *,
    law: Any = None,
    factor: bool = False,
    n: int | None = None,
    zero: float | None = None,
    seed: int = 0,
    bootstrap: int = BOOTSTRAP,
) -> SpectrumType | EnsembleType:
    """Tell what type a spectrum is of, with the evidence, or why that cannot be told.

    - rank-collapse: next to nothing but zeros.
    - random-like: one bulk, as near to a law of noise (semicircle, cut semicircle, Marchenko-Pastur) as noise is, and
      no eigenvalue beyond its edge by more than Tracy and Widom allow.
    - bleeding-out: such a bulk, and values that just stand out of it; bulk+spikes: values far above it.
    - heavy-tailed: a power law, by maximum likelihood, that a bootstrap does not reject and that is likelier than an
      exponential and no less likely than a lognormal. Nothing else is given an exponent as its type.
    - bulk-decay: a bulk out of which many values go on without a gap.

    How often it is right is tested. Of spectra of noise of 100 eigenvalues or more, at least 98 in 100 are random-like;
    spikes are counted right in 95 of 100 where they are apart and stronger than u, by ``u + 1/u = 2 + 2.9 n^(-2/3) +
    1.65 sqrt(2 (1 - 1/u^2)/n)``, 1.32 at n = 1000; the exponents of power laws are in their intervals in 90 or more.

    Args:
        spectrum: eigenvalues, a symmetric matrix, a law (which is taken at n quantiles), a prediction, or networks of
            `simulate`, each of which is classified.
        law: the law of the bulk, if it is known, such as `solve(problem).spectrum`; by default those of noise.
        factor: whether the spectrum is a factor W, of any shape: the eigenvalues of W W' are classified.
        n: how many eigenvalues stand for a law; by default 1000, or as many as its lightest part asks for.
        zero: eigenvalues of at most this size are zero; by default their rounding, or what the rank of a network says.
        seed: of the bootstrap; the same seed gives the same answer.
        bootstrap: draws that test a power law; 0 leaves the test out.

    Equation: [MM21], for the types; [CSN09], [V89], [J01], [C14] for the tests that tell them apart.
    Checked: tests/spectra/test_classify.py::test_one_law_shows_every_type
    Checked: tests/spectra/test_classify_rates.py::test_the_rates_of_classify
    """
    draws, number = _settings(seed, bootstrap)
    if law is not None:
        _check_law(law)

    def told(given: GivenSpectrum) -> SpectrumType:
        return verdict(given.values, zero=given.zero, law=law, seed=number, bootstrap=draws, notes=given.notes)

    _check_factor(factor, spectrum)
    if factor:
        refuse_size(n)
        return told(of_factor(spectrum, zero))
    if not is_ensemble(spectrum):
        return told(of_one(spectrum, n, zero))
    refuse_size(n)
    networks = of_networks(spectrum, zero)
    members = tuple(told(given) for given in networks.values())
    return EnsembleType(members, tuple(networks), tuple(getattr(spectrum, "caveats", ())))


def _settings(seed: Any, bootstrap: Any) -> tuple[int, int]:
    reason, remedy = "it is how many draws test a power law", "Leave it out, or use <bootstrap=0> for no test."
    draws = checks.integer("bootstrap", bootstrap, at_least=0, at_most=MOST_DRAWS, reason=reason, remedy=remedy)
    reason, remedy = "it is the seed of the bootstrap", "Use for example <seed=0>."
    return draws, checks.integer("seed", seed, at_least=0, reason=reason, remedy=remedy)


def _check_factor(factor: Any, spectrum: Any) -> None:
    """Complain about what is no matrix by its kind already, and about a matrix in place of True."""
    if not isinstance(factor, bool):
        reason, remedy = "it says whether the spectrum is a factor W", "Use classify(W, factor=True)."
        raise checks.complaint("factor", "be True or False", reason, f"a {type(factor).__name__}", remedy)
    if factor and (is_ensemble(spectrum) or isinstance(spectrum, SpectralLaw | Prediction)):
        reason, got = "a factor W is a matrix", f"a {type(spectrum).__name__}"
        raise checks.complaint("factor", "be left out for a law and for networks", reason, got, "Leave it out.")


def _check_law(law: Any) -> None:
    """Complain about what has no distribution function."""
    if isinstance(law, type) or not all(hasattr(law, name) for name in ("cdf", "quantile", "support", "density")):
        reason, remedy = "it is the law that the bulk is set beside", "Use for example law=solve(problem).spectrum."
        raise checks.complaint("law", "be a law of eigenvalues", reason, law, remedy)
