"""Independent high-precision reference for Marchenko-Pastur [+] semicircle; imports nothing from presage.

With s = sqrt(kappa_0) and t = delta^2, the Stieltjes transform g of MP(kappa_0) [+] semicircle(delta) obeys

    x = z(g) = 1/g + kappa_0/(s - g) + t g,        g(x + i0) = h(x) - i pi rho(x),

and z is rational. An integral over the spectrum is therefore a contour integral in the lower half g-plane,

    int_c (x-c)^k g^n dx = int_{g(c)}^{g(upper edge)} (z(g)-c)^k g^n z'(g) dg,

whose antiderivative is elementary: powers of g and of u = s - g, and their two logarithms. Nothing is
discretised, so the only error is rounding (80 digits). Run as a script, this file checks it against direct
integration over x and against identities, and rewrites reference_values.json.
Floats are taken at their exact binary value.
"""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path
from typing import Any

import mpmath as mp

DIGITS = 80
NAMES = ("mass_above", "first", "J", "I", "hilbert_above", "cubic")
Number = Any  # int, float or mpmath.mpf
Laurent = dict[tuple[int, int], Any]  # {(i, j): coefficient} stands for sum of coefficient * g^i * u^j, u = s - g


def _slope(kappa_0: Any, t: Any, g: Any) -> Any:
    """z'(g)."""
    return -1 / g**2 + kappa_0 / (mp.sqrt(kappa_0) - g) ** 2 + t


def _edges_g(kappa_0: Any, t: Any) -> list[Any]:
    """The real g at which z'(g) = 0, in the order of the band edges z(g)."""
    s = mp.sqrt(kappa_0)
    # t g^2 (s-g)^2 + kappa_0 g^2 - (s-g)^2 = 0, scaled by 1/t
    coefficients = [1, -2 * s, s**2 + (kappa_0 - 1) / t, 2 * s / t, -(s**2) / t]
    roots = mp.polyroots(coefficients, maxsteps=2000, extraprec=4 * mp.mp.prec)
    real = [mp.re(g) for g in roots if abs(mp.im(g)) <= mp.mpf(10) ** (-DIGITS // 2) * abs(g)]
    return sorted(real, key=lambda g: _z(kappa_0, t, g))


def _z(kappa_0: Any, t: Any, g: Any) -> Any:
    return 1 / g + kappa_0 / (mp.sqrt(kappa_0) - g) + t * g


def edges(kappa_0: Number, delta: Number) -> list[Any]:
    """All band edges in increasing order: two (one bulk) or four (two bulks)."""
    with mp.workdps(DIGITS):
        k, t = mp.mpf(kappa_0), mp.mpf(delta) ** 2
        return [_z(k, t, g) for g in _edges_g(k, t)]


def stieltjes(kappa_0: Number, delta: Number, x: Number) -> Any:
    """g(x + i0) = h(x) - i pi rho(x); real outside the bands."""
    with mp.workdps(DIGITS):
        k, t, x = mp.mpf(kappa_0), mp.mpf(delta) ** 2, mp.mpf(x)
        s = mp.sqrt(k)
        band = edges(kappa_0, delta)
        inside = any(low < x < high for low, high in zip(band[::2], band[1::2], strict=True))
        # (1/g + kappa_0/(s-g) + t g - x) g (s-g) = 0
        coefficients = [-t, t * s + x, k - 1 - x * s, s]
        roots = mp.polyroots(coefficients, maxsteps=2000, extraprec=4 * mp.mp.prec)
        if inside:
            return min(roots, key=mp.im)
        # outside, the physical g is the one real root at which x decreases with g
        roots = [mp.re(g) for g in roots if abs(mp.im(g)) <= mp.mpf(10) ** (-DIGITS // 2) * abs(g)]
        (physical,) = [g for g in roots if _slope(k, t, g) < 0]
        return physical


def _multiply(a: Laurent, b: Laurent) -> Laurent:
    product: Laurent = {}
    for (i, j), x in a.items():
        for (k, m), y in b.items():
            product[i + k, j + m] = product.get((i + k, j + m), 0) + x * y
    return product


def _separate(terms: Laurent, s: Any) -> Laurent:
    """Rewrite with pure powers of g or of u, by g = s - u, u = s - g or 1/(g u) = (1/g + 1/u)/s."""
    pure: Laurent = {}
    todo = dict(terms)
    while todo:
        (i, j), x = todo.popitem()
        if i == 0 or j == 0:
            pure[i, j] = pure.get((i, j), 0) + x
            continue
        if i > 0:
            pieces = {(i - 1, j): s * x, (i - 1, j + 1): -x}
        elif j > 0:
            pieces = {(i, j - 1): s * x, (i + 1, j - 1): -x}
        else:
            pieces = {(i, j + 1): x / s, (i + 1, j): x / s}
        for key, y in pieces.items():
            todo[key] = todo.get(key, 0) + y
    return pure


def _antiderivative(terms: Laurent, s: Any, g: Any) -> Any:
    """Antiderivative in g of separated terms, continuous on the closed lower half plane without 0 and s."""
    u = s - g
    total = mp.mpf(0)
    for (i, j), x in terms.items():
        if j == 0:
            total += x * (mp.conj(mp.log(mp.conj(g))) if i == -1 else g ** (i + 1) / (i + 1))  # arg g in [-pi, 0]
        else:
            total -= x * (mp.log(u) if j == -1 else u ** (j + 1) / (j + 1))  # arg u in [0, pi]
    return total


def mp_functionals(kappa_0: Number, delta: Number, c: Number) -> dict[str, Any]:
    """Integrals over x > c, for any real c, of

    mass_above: rho        first: (x-c) rho        J: (x-c)^2 rho
    I: (x-c) h rho         hilbert_above: h rho    cubic: (h^2 - pi^2 rho^2/3) rho
    """
    with mp.workdps(DIGITS):
        k, t, cutoff = mp.mpf(kappa_0), mp.mpf(delta) ** 2, mp.mpf(c)
        s = mp.sqrt(k)
        end = _edges_g(k, t)[-1]
        if cutoff >= _z(k, t, end):
            return dict.fromkeys(NAMES, mp.mpf(0))
        start = stieltjes(kappa_0, delta, c)
        shifted: Laurent = {(-1, 0): mp.mpf(1), (0, -1): k, (1, 0): t, (0, 0): -cutoff}  # z(g) - c
        slope: Laurent = {(-2, 0): mp.mpf(-1), (0, -2): k, (0, 0): t}  # z'(g)

        def integral(power: int, n: int) -> Any:
            # -Im g^n/(n pi) is rho for n = 1, h rho for n = 2, (h^2 - pi^2 rho^2/3) rho for n = 3
            terms = _multiply(slope, {(n, 0): mp.mpf(1)})
            for _ in range(power):
                terms = _multiply(terms, shifted)
            terms = _separate(terms, s)
            return -mp.im(_antiderivative(terms, s, end) - _antiderivative(terms, s, start)) / (n * mp.pi)

        powers = {
            "mass_above": (0, 1),
            "first": (1, 1),
            "J": (2, 1),
            "I": (1, 2),
            "hilbert_above": (0, 2),
            "cubic": (0, 3),
        }
        return {name: integral(*powers[name]) for name in NAMES}


def by_quadrature(kappa_0: Number, delta: Number, c: Number) -> dict[str, Any]:
    """The same integrals by tanh-sinh quadrature over x: slow; shares only the cubic and the edges."""
    with mp.workdps(30):
        k, t, cutoff = mp.mpf(kappa_0), mp.mpf(delta) ** 2, mp.mpf(c)
        s = mp.sqrt(k)

        @functools.cache
        def integrands(x: Any) -> dict[str, Any]:
            roots = mp.polyroots([-t, t * s + x, k - 1 - x * s, s], maxsteps=500, extraprec=200)
            g = min(roots, key=mp.im)
            h, rho, y = mp.re(g), -mp.im(g) / mp.pi, x - cutoff
            values = (rho, y * rho, y**2 * rho, y * h * rho, h * rho, (h**2 - mp.pi**2 * rho**2 / 3) * rho)
            return dict(zip(NAMES, values, strict=True))

        band = edges(kappa_0, delta)
        pieces = [(max(a, cutoff), b) for a, b in zip(band[::2], band[1::2], strict=True) if b > cutoff]
        return {
            name: mp.fsum(mp.quad(lambda x, name=name: integrands(x)[name], [a, (a + b) / 2, b]) for a, b in pieces)
            for name in NAMES
        }


def identity_errors(kappa_0: Number, delta: Number, c: Number) -> dict[str, Any]:
    """Relative error of each identity that the integrals must satisfy."""
    with mp.workdps(DIGITS):
        k, d, cutoff = mp.mpf(kappa_0), mp.mpf(delta), mp.mpf(c)
        low = edges(k, d)[0] - 1
        whole = mp_functionals(k, d, low)
        mean = whole["first"] + low
        second = whole["J"] + 2 * low * mean - low**2
        step = mp.mpf(10) ** (-DIGITS // 4) * d  # central differences: truncation 1e-40, rounding 1e-60

        def relative(a: Any, b: Any) -> Any:
            return abs(a - b) / max(abs(b), mp.mpf(10) ** -30)

        def derivative(name: str, of: str) -> Any:
            up = mp_functionals(k, d + (of == "delta") * step, cutoff + (of == "c") * step)[name]
            down = mp_functionals(k, d - (of == "delta") * step, cutoff - (of == "c") * step)[name]
            return (up - down) / (2 * step)

        here = mp_functionals(k, d, cutoff)
        return {
            "mass = 1": relative(whole["mass_above"], 1),
            "mean = sqrt(kappa_0)": relative(mean, mp.sqrt(k)),
            "second = 1 + kappa_0 + delta^2": relative(second, 1 + k + d**2),
            "int h mu = 0": abs(whole["hilbert_above"]),
            "int x h mu = 1/2": relative(whole["I"], mp.mpf(1) / 2),
            "dJ/ddelta = 4 delta I": relative(derivative("J", "delta"), 4 * d * here["I"]),
            "dI/ddelta = 2 delta cubic": relative(derivative("I", "delta"), 2 * d * here["cubic"]),
            "dJ/dc = -2 first": relative(derivative("J", "c"), -2 * here["first"]),
            "dI/dc = -hilbert_above": relative(derivative("I", "c"), -here["hilbert_above"]),
            "dfirst/dc = -mass_above": relative(derivative("first", "c"), -here["mass_above"]),
        }


def _points() -> list[tuple[float, float, float]]:
    """Six named points and twelve random ones, with c in the right or left band, in the gap or below."""
    points = [
        (0.5, 0.7, 0.3),
        (0.2, 1.1, 0.05),
        (1.5, 0.3, 1.0),
        (0.5, 1e-3, 0.2),
        (0.05, 50.0, 3.0),
        (0.5, 0.05, 0.01),
    ]
    rng = random.Random(20250917)
    where = [
        "right",
        "gap",
        "left",
        "right",
        "gap",
        "below",
        "left",
        "right",
        "right",
        "below",
        "left",
        "right",
    ]
    for stratum, place in enumerate(where):
        while True:
            kappa_0 = float(f"{0.05 * 60 ** ((7 * stratum % 12 + rng.random()) / 12):.4g}")
            delta = float(f"{1e-4 * 1e6 ** ((stratum + rng.random()) / 12):.4g}")
            band = [float(x) for x in edges(kappa_0, delta)]
            if place != "gap" or len(band) == 4:
                break
        spans = {
            "right": (band[-2], band[-1]),
            "left": (band[0], band[1]),
            "gap": (band[1], band[-2]),
            "below": (2 * band[0] - band[-1], band[0]),
        }
        low, high = spans[place]
        points.append((kappa_0, delta, float(f"{low + rng.random() * (high - low):.4g}")))
    return points


def main() -> None:
    """Check every point, then write reference_values.json next to this file."""
    rows = []
    for number, point in enumerate(_points()):
        values = mp_functionals(*point)
        worst = max(identity_errors(*point).items(), key=lambda item: item[1])
        line = f"{point}: worst identity {worst[0]}: {mp.nstr(worst[1], 2)}"
        if worst[1] > 1e-25:
            raise ArithmeticError(line)
        if number < 9:
            direct = by_quadrature(*point)
            error = max(abs(direct[name] - values[name]) / abs(values[name]) for name in NAMES)
            line += f"; against quadrature over x {mp.nstr(error, 2)}"
            if error > 1e-20:
                raise ArithmeticError(line)
        print(line)
        rows.append(
            {
                "point": list(point),
                "values": {name: mp.nstr(value, 25, min_fixed=0, max_fixed=0) for name, value in values.items()},
                "edges": [mp.nstr(x, 25, min_fixed=0, max_fixed=0) for x in edges(*point[:2])],
            }
        )
    document = {"law": "MP(kappa_0) [+] semicircle(delta)", "point": "[kappa_0, delta, c]", "rows": rows}
    Path(__file__).with_name("reference_values.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
