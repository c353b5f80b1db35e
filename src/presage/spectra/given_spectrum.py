"""Eigenvalues of whatever has a spectrum: a list, a symmetric matrix, a law, a prediction, trained networks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.laws.empirical import Empirical
from presage.laws.numerical_zeros import refuse_half_precision
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.protocol import checks
from presage.protocol.ensemble import Ensemble
from presage.protocol.largest_by_rank import largest_by_rank
from presage.protocol.prediction import Prediction
from presage.protocol.rounding import size_of_zero

ROUNDINGS, LEAST_ZERO = 8, 1e-10  # n roundings of the largest eigenvalue that are zero, so many times; at the least
ASYMMETRY = 1e-8  # of the entries of a matrix, relative to the largest
USUAL, MOST = 1000, 20_000  # eigenvalues that stand for a law; the most that are taken without being asked for
WEIGHTLESS = 1e-9  # what is lighter is rounding of a distribution function
RESOLVED = 20  # eigenvalues: a band or an atom of fewer is made one of exactly one, if it can be
EXAMPLE = "Use for example <spectrum=numpy.linalg.eigvalsh(S)>."
FACTOR = "Use <factor=True> if it is a factor W, of which W W' is classified"


class GivenSpectrum(NamedTuple):
    """The eigenvalues of one matrix, increasing, and what was made of what was given."""

    values: Floats
    zero: float  # size up to which they are zero
    notes: tuple[str, ...] = ()


def is_ensemble(spectrum: Any) -> bool:
    """Whether it holds the eigenvalues of several networks, one row each."""
    return not isinstance(spectrum, SpectralLaw | type) and hasattr(spectrum, "eigenvalues")


def of_networks(networks: Any, zero: float | None) -> dict[int, GivenSpectrum]:
    """The eigenvalues of each network by its seed; those that failed are left out.

    Training leaves small numbers where the minimum has zeros: where networks know their rank, it says which are zero.
    """
    rows = np.asarray(networks.eigenvalues)
    if rows.ndim != 2:
        reason, got = "networks have one row of eigenvalues each", f"eigenvalues of shape {rows.shape}"
        raise checks.complaint("spectrum", "hold a table of eigenvalues", reason, got, EXAMPLE)
    seeds = [int(seed) for seed in getattr(networks, "seeds", range(len(rows)))]
    failed = {*getattr(networks, "failures", ())}
    fraction = None
    if isinstance(networks, Ensemble):
        fraction = next((one.name for one in networks.measured if one.fraction), None)
    found = {}
    for index, seed in enumerate(seeds):
        if seed in failed:
            continue
        given = _of_list(rows[index], zero)
        if fraction is not None and zero is None:
            kept = np.sort(largest_by_rank(given.values, float(getattr(networks, fraction)[index])))
            blank = np.zeros(len(given.values) - len(kept))
            given = given._replace(values=np.sort(np.concatenate([blank, kept])))
        found[seed] = given
    if not found:
        reason = "every network failed" if failed else "there are none"
        raise checks.complaint("spectrum", "hold at least one network", reason, networks, "Pass <simulate()>.")
    return found


def of_factor(factor: Any, zero: float | None) -> GivenSpectrum:
    """The eigenvalues of W W', the squares of the singular values of W and zeros where W is thin."""
    array = np.atleast_1d(_numbers(factor))
    refuse_half_precision("spectrum", array)
    if array.ndim != 2 or 1 in array.shape:  # one column is how files have a list
        reason, got = "a factor W is a matrix", f"an array of shape {array.shape}"
        raise checks.complaint("factor", "be left out for a list", reason, got, "Leave it out, or pass W itself.")
    values = np.linalg.svd(array.astype(np.float64), compute_uv=False) ** 2
    found = _of_list(np.concatenate([values, np.zeros(len(array) - len(values))]), zero)
    return found if zero is not None else found._replace(zero=_size_of_zero(found.values, array.dtype))


def of_one(spectrum: Any, n: int | None, zero: float | None) -> GivenSpectrum:
    """The eigenvalues of a list, a matrix, a law or a prediction."""
    if isinstance(spectrum, Prediction):
        return _of_law(_learned(spectrum), n, zero)
    if isinstance(spectrum, Empirical):
        found = _of_list(np.asarray(spectrum.eigenvalues), zero)
        refuse_size(n)
        return found._replace(notes=spectrum.notes)
    if isinstance(spectrum, SpectralLaw):
        return _of_law(spectrum, n, zero)
    refuse_size(n)
    if hasattr(spectrum, "singular_values"):
        reason = f"a {type(spectrum).__name__} is of matrices without symmetry, which have singular values"
        remedy = "Pass their squares: the law `.squared`, or a row of `.singular_values**2`."
        raise checks.complaint("spectrum", "have eigenvalues", reason, f"a {type(spectrum).__name__}", remedy)
    array = _numbers(spectrum)
    refuse_half_precision("spectrum", array)
    if array.ndim == 2 and 1 not in array.shape:
        return _of_matrix(array, zero)
    return _of_list(array.ravel(), zero)


def refuse_size(n: int | None) -> None:
    """Complain about a number of eigenvalues where they are given."""
    if n is not None:
        reason = "it is how many eigenvalues stand for a law, and here they are given"
        raise checks.complaint("n", "be left out", reason, n, "Leave it out.")


def _numbers(spectrum: Any) -> NDArray[Any]:
    """An array of real numbers; complain about words, complex numbers and what is not finite."""
    reason = "it is a list of eigenvalues or a symmetric matrix"
    try:
        array = np.asarray(spectrum)
    except ValueError:  # rows of unequal length
        array = np.asarray(None)
    if array.dtype.kind == "c":
        reason, got = "eigenvalues of a symmetric matrix are real", f"numbers of {array.dtype}"
        remedy = "Compute them with numpy.linalg.eigvalsh, or pass the matrix itself."
        raise checks.complaint("spectrum", "be real numbers", reason, got, remedy)
    if array.dtype.kind not in "iuf":
        got = f"numbers of {array.dtype}" if isinstance(spectrum, np.ndarray) else _in_short(spectrum)
        raise checks.complaint("spectrum", "be real numbers", reason, got, EXAMPLE)
    if array.ndim not in (1, 2) or not array.size:
        reason, got = "it is empty" if not array.size else "it is neither", f"an array of shape {array.shape}"
        raise checks.complaint("spectrum", "be a list of eigenvalues or a symmetric matrix", reason, got, EXAMPLE)
    if not np.isfinite(array).all():
        bad = f"{int(np.sum(~np.isfinite(array)))} of {array.size} numbers that are not finite"
        must, why = "be finite numbers", "an eigenvalue that is not known has no place in a spectrum"
        raise checks.complaint("spectrum", must, why, bad, "Drop them only if you know why they are there.")
    return array


def _in_short(given: Any) -> Any:
    """What was given, for a message."""
    simple = given is None or isinstance(given, bool | int | float | str)
    return given if simple else f"a {type(given).__name__}"


def _of_matrix(array: NDArray[Any], zero: float | None) -> GivenSpectrum:
    rows, columns = array.shape
    if rows != columns:
        reason = "a matrix that is not square has singular values"
        remedy = f"{FACTOR}. Several spectra, one a row, are classified one by one."
        raise checks.complaint("spectrum", "be square if it is a matrix", reason, f"shape {array.shape}", remedy)
    matrix = array.astype(np.float64)
    if np.abs(matrix - matrix.T).max() > ASYMMETRY * np.abs(matrix).max():
        reason = "the eigenvalues of a matrix without symmetry are complex, and no bulk or tail on a line"
        remedy = f"{FACTOR}; a matrix A that should be symmetric is (A + A.T)/2."
        raise checks.complaint("spectrum", "be symmetric if it is a matrix", reason, f"shape {array.shape}", remedy)
    found = _of_list(np.linalg.eigvalsh(0.5 * (matrix + matrix.T)), zero)
    return found if zero is not None else found._replace(zero=_size_of_zero(found.values, array.dtype))


def _of_list(array: NDArray[Any], zero: float | None) -> GivenSpectrum:
    values = np.sort(array.astype(np.float64))
    if not np.isfinite(values).all():
        reason = "an eigenvalue that is not known has no place in a spectrum"
        raise checks.complaint("spectrum", "be finite numbers", reason, "nan or inf", "Drop such networks.")
    if zero is None:
        return GivenSpectrum(values, _size_of_zero(values, array.dtype))
    reason, remedy = "values of at most this size count as zero", "Leave it out, or use for example <zero=1e-6>."
    return GivenSpectrum(values, checks.real("zero", zero, at_least=0.0, reason=reason, remedy=remedy))


def _size_of_zero(values: Floats, dtype: Any) -> float:
    eps = float(np.finfo(dtype if np.dtype(dtype).kind == "f" else np.float64).eps)
    largest = float(np.abs(values).max())
    return max(size_of_zero(ROUNDINGS * len(values), eps, largest), LEAST_ZERO * largest)


def _learned(prediction: Prediction) -> SpectralLaw:
    """The law of the eigenvalues that a prediction has; complain about one of something else."""
    must, reason = "have a law of eigenvalues", "this prediction has no law of what is learned"
    if prediction.spectrum_of != "eigenvalues":
        reason = f"this prediction is of {prediction.spectrum_of}"
    try:
        law = prediction.learned_law
    except AttributeError as error:  # a fit that is the target itself says so
        law, reason = None, str(error).rstrip(".")
    if not isinstance(law, SpectralLaw) or prediction.spectrum_of != "eigenvalues":
        remedy = "Pass a prediction for a symmetric matrix, or eigenvalues."
        raise checks.complaint("spectrum", must, reason, f"a {type(prediction).__name__}", remedy)
    return law


def _of_law(law: SpectralLaw, n: int | None, zero: float | None) -> GivenSpectrum:
    """The quantiles of a law at (i - 1/2)/n: what a matrix of size n has, without its fluctuations."""
    size, notes = size_that_shows(law)
    if n is not None:
        reason, remedy = "it is how many eigenvalues stand for the law", "Leave it out, or use for example <n=1000>."
        size, notes = checks.integer("n", n, at_least=1, at_most=1_000_000, reason=reason, remedy=remedy), ()
    values = np.asarray(law.quantile((np.arange(size) + 0.5) / size), dtype=np.float64)
    told = f"a law has no number of eigenvalues: this is its type at n = {size}, by its quantiles."
    return _of_list(values, zero)._replace(notes=(*law.notes, told, *notes))


def size_that_shows(law: SpectralLaw) -> tuple[int, tuple[str, ...]]:
    """How many eigenvalues show every part of a law, and what they do not show, in sentences.

    1000, unless a band or an atom would then have a few only: its mass is that of one eigenvalue most often, of a
    target that was given by d numbers, and n = d puts exactly one there.
    """
    bands = np.array([row for row in np.asarray(law.support) if row[1] > row[0]]).reshape(-1, 2)
    inside = np.diff(law.cdf(bands), axis=1).ravel() if len(bands) else np.empty(0)
    masses = np.concatenate([inside, law.atoms.masses])
    lightest = float(masses[masses > WEIGHTLESS].min(initial=1.0))
    if lightest * USUAL >= RESOLVED:
        return USUAL, ()
    size = round(1.0 / lightest)
    if size <= MOST:
        return max(size, 1), ()
    return MOST, (f"the lightest part of the law has a mass of {lightest:.1e}, and {MOST} eigenvalues do not show it.",)
