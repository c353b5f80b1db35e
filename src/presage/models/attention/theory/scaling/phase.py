"""In which phase a point is: by the structure of its solution, and by the boundaries alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from presage.models.attention.theory.decomposition import threshold
from presage.models.attention.theory.scaling import boundaries
from presage.models.attention.theory.scaling.composite import FULL, costs
from presage.models.attention.theory.scaling.laws import law_peak
from presage.models.attention.theory.scaling.peak import WIDEST, Saturation, half_width, peak_height
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits

PHASES = ("Ia", "Ib", "II", "III", "IV", "V", "peak", "VIa", "VIb")
WORDS = {
    "Ia": "too few samples: nothing is learned, and a little noise is fitted",
    "Ib": "too much weight decay: the fit is zero",
    "II": "weight decay decides: features above the cutoff are learned, the others are not, and no noise is fitted",
    "III": "all features are learned, and shrinkage by weight decay costs more than noise",
    "IV": "features are learned one after the other, down to the noise level",
    "V": "fitted noise costs more than the features: the error grows towards interpolation",
    "peak": "the peak of interpolation: as many samples as can just be fitted",
    "VIa": "beyond interpolation: the noise of half of all directions, the last features still hidden in it",
    "VIb": "all features are learned, and the noise of all directions is what is left",
}


class Place(NamedTuple):
    """A point of the phase diagram, at second moment one; samples counted as those of a quadratic network."""

    units: PowerLawUnits
    alpha: float
    L: float  # lambda~
    D: float
    saturated: Saturation | None  # of the peak; None without noise, where there is none


def phase_by_structure(place: Place, delta: float, c: float, empty: bool) -> str:
    """The phase of a solution with this noise level and cutoff; `empty` says that its rank is zero.

    In this order: Ib if the fit is zero. The peak if alpha is within ``D/(8 R_peak)`` of the threshold of
    interpolation. III or VIb if every feature is learned (``s_d > s_*``), by which of the two terms of their exact law
    is larger. II if the cutoff is above the bulk, ``c >= 2 delta``. VIa beyond the threshold of interpolation. Before
    it V if the bulk costs more than the features, else Ia if none is learned, else IV.

    Equation: derived.
    Checked: tests/models/attention/theory/scaling/test_phase.py::test_every_phase_has_a_point
    Checked:
        tests/models/attention/theory/scaling/test_phase.py::test_structure_agrees_with_the_boundaries_within_a_factor_two
    """
    units, alpha, L, D, saturated = place
    if empty:
        return "Ib"
    if saturated is not None and abs(alpha - saturated.alpha) <= half_width(peak_height(saturated, L, D), D):
        return "peak"
    learned = units.above(threshold(delta, c))
    if learned == units.d and alpha > FULL:
        return "III" if boundaries.III_VIb(alpha, D) < L else "VIb"
    if c >= 2.0 * delta:
        return "II"
    if saturated is not None and alpha > saturated.alpha:
        return "VIa"
    bulk, features = costs(units, delta, c)
    if saturated is not None and bulk > features:
        return "V"
    return "Ia" if learned == 0 else "IV"


def phase_by_boundaries(units: PowerLawUnits, alpha: Any, L: Any, D: float, saturated: Saturation | None) -> Any:
    """Numbers of phases (places in `PHASES`) by the closed boundaries alone, over arrays: nothing is solved.

    Equation: derived, in the order of `phase_by_structure`.
    Checked:
        tests/models/attention/theory/scaling/test_phase.py::test_structure_agrees_with_the_boundaries_within_a_factor_two
    """
    alpha, L = np.broadcast_arrays(np.asarray(alpha, dtype=np.float64), np.asarray(L, dtype=np.float64))
    number = {name: k for k, name in enumerate(PHASES)}
    edge = boundaries.isolated_largest_weight_decay(units, alpha, D)
    cut = np.minimum(boundaries.above_the_noise(units, alpha, D), edge)
    early = np.where(alpha < boundaries.Ia_IV(units, D), number["Ia"], number["IV"])
    found = early
    if saturated is not None:
        noisy = np.where(
            early == number["Ia"], alpha > boundaries.Ia_V(D), boundaries.noise_costs_more(units, alpha, L, D)
        )
        found = np.where(noisy, number["V"], early)
        found = np.where(alpha > saturated.alpha, number["VIa"], found)
    found = np.where(cut < L, number["II"], found)
    with np.errstate(invalid="ignore"):
        last = np.where(boundaries.III_VIb(alpha, D) < L, number["III"], number["VIb"])
    found = np.where(boundaries.all_learned(units, alpha, L, D), last, found)
    if saturated is not None:
        with np.errstate(divide="ignore"):
            width = D / (8.0 * np.minimum(law_peak(L, D), saturated.error))
        at = (width <= WIDEST) & (np.abs(alpha - saturated.alpha) <= width)
        found = np.where(at, number["peak"], found)
    return np.where(edge < L, number["Ib"], found)
