"""The law of a phase at the numbers of a problem: its value, its exponents, its formula in words."""

from __future__ import annotations

from presage.models.attention.theory.scaling import laws
from presage.models.attention.theory.scaling.peak import peak_height
from presage.models.attention.theory.scaling.phase import WORDS, Place
from presage.protocol.scaling import ScalingLaw

ALL_LEARNED = "R = (2 alpha c^2 + D/2)/(2 alpha - 1),  c = L/(4 alpha - 2)"
FORMULAS = {
    "Ia": "R = 1 + (1 + D/2) (B/2) alpha^(2/5),  B = 1.5326",
    "Ib": "R = 1",
    "II": "R = (2g/(2g-1)) Z^(-1/2g) y^(2-1/g),  y = L sqrt(d)/(4 n_eff)",
    "III": ALL_LEARNED,
    "IV": "R = C_IV Z^(-1/2g) ((R + D/2)/(2 n_eff))^(1-1/2g),  C_IV = 24 g^3/((1+g)(4g^2-1))",
    "V": "R = (D/2) Jsc/(2 Isc - Jsc),  alpha = Isc(chi);  far below 1/4: 0.38315 D alpha^(2/5)",
    "peak": "R = (1/2) (3 pi D^2/(32 L))^(2/3)",
    "VIa": "R = D/(8 alpha - 2)",
    "VIb": ALL_LEARNED,
}
NOISELESS_IV = "R = (C_IV^2g/Z) (2 n_eff)^(1-2g),  C_IV = 24 g^3/((1+g)(4g^2-1))"
FAR_ABOVE = 10.0  # times ``D/2``: an error from which on the noise plays no part
SATURATED = "R = R_sat, the ridgeless error at the threshold of interpolation"


def law_value(place: Place, phase: str) -> float:
    """What the law of a phase says, at second moment one.

    Equation: derived, one of `laws`.
    Checked: tests/models/attention/theory/scaling/test_laws.py::test_laws_of_the_corners
    """
    units, alpha, L, D, saturated = place
    if phase == "peak" and saturated is not None:
        return peak_height(saturated, L, D)
    if phase == "II":
        return float(laws.law_II(units, alpha, L))
    if phase == "IV":
        return float(laws.law_IV(units, alpha, D))
    if phase in ("III", "VIb"):
        return float(laws.law_all_learned(alpha, L, D))
    if phase == "Ib":
        return 1.0
    return float({"Ia": laws.law_Ia, "V": laws.uniform_V, "VIa": laws.law_VIa}[phase](alpha, D))


def law_exponents(place: Place, phase: str) -> dict[str, float]:
    """Exponents of the law of a phase in the number of samples and in weight decay; the peak has none in samples.

    Equation: derived, from `laws`; IV has that of clean labels where its error is far above ``D/2``.
    Checked: tests/models/attention/theory/scaling/test_exponents.py::test_exponents_are_slopes_of_the_laws
    """
    units, _, L, _, saturated = place
    g = units.gamma
    if phase == "peak":
        grows = saturated is None or saturated.weight_decay <= L
        return {"weight_decay": -2.0 / 3.0 if grows else 0.0}
    if phase == "IV":
        return {"n": 1.0 - 2.0 * g if _is_clean(place) else -1.0 + 0.5 / g, "weight_decay": 0.0}
    both = {
        "Ia": (0.0, 0.0),
        "Ib": (0.0, 0.0),
        "II": (-(2.0 - 1.0 / g), 2.0 - 1.0 / g),
        "III": (-2.0, 2.0),
        "V": (0.4, 0.0),
        "VIa": (-1.0, 0.0),
        "VIb": (-1.0, 0.0),
    }
    return dict(zip(("n", "weight_decay"), both[phase], strict=True))


def law_here(place: Place, phase: str, size: float, exact: bool) -> ScalingLaw:
    """The law of a phase at a place, in the units of the problem: `size` is its second moment."""
    formula = NOISELESS_IV if phase == "IV" and place.D == 0.0 else FORMULAS[phase]
    if phase == "peak" and place.saturated is not None and place.saturated.weight_decay > place.L:
        formula = SATURATED
    value = size * law_value(place, phase)
    return ScalingLaw(phase, WORDS[phase], formula, value, law_exponents(place, phase), exact)


def _is_clean(place: Place) -> bool:
    """Whether in IV the error is far above the noise, so that it falls as it does for clean labels."""
    return bool(laws.law_IV(place.units, place.alpha, place.D) > FAR_ABOVE * 0.5 * place.D)
