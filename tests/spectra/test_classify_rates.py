"""How often `classify` is right, over many spectra of which the type is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import presage as ps
from tests.spectra.noise import least_strength, quick_wigner, quick_wishart, wigner, wishart

SEED = 20261117
SPREAD = np.array([1.0, 1.25, 1.5, 1.75, 2.0])  # strengths of five directions, apart from one another
QUICK = {
    "Wigner": quick_wigner,
    "Wishart, ratio 1/4": lambda n, rng: quick_wishart(n, 4 * n, rng),
    "Wishart, ratio 0.8": lambda n, rng: quick_wishart(n, round(n / 0.8), rng),
    "Wishart, ratio 1": lambda n, rng: quick_wishart(n, n, rng),
    "rank deficient": lambda n, rng: quick_wishart(n, round(0.6 * n), rng),
    "cut semicircle": lambda n, rng: np.maximum(quick_wigner(n, rng) - 0.7, 0.0),
}


def counted(draw: Any, times: int, key: Callable[[Any], Any], **options: Any) -> Any:
    """How often each answer is given, of as many spectra."""
    rng = np.random.default_rng(SEED)
    return Counter(key(ps.classify(draw(rng), **options)) for _ in range(times))


def kind(found: Any) -> str:
    return str(found.kind)


def spikes(found: Any) -> int:
    return len(found.spikes)


def test_the_quick_noise_is_the_noise():
    # Of two ways to draw one law: the largest, the smallest and a middle eigenvalue have the same distribution.
    rng = np.random.default_rng(1)
    pairs = [
        (lambda: quick_wigner(60, rng, 2.0), lambda: wigner(60, rng, (2.0,))),
        (lambda: quick_wishart(40, 60, rng, 2.0), lambda: wishart(40, 60, rng, (2.0,))),
        (lambda: quick_wishart(60, 40, rng)[20:], lambda: wishart(60, 40, rng)[20:]),
    ]
    for quick, dense in pairs:
        one, other = (np.array([draw() for _ in range(400)]) for draw in (quick, dense))
        for at in (0, 20, -1):
            assert stats.ks_2samp(one[:, at], other[:, at]).pvalue > 1e-3


@pytest.mark.slow
def test_the_rates_of_classify():
    wrong = []

    def expect(what: str, rate: float, at_least: float) -> None:
        if rate < at_least:
            wrong.append(f"{what}: {rate:.3f} < {at_least}")

    for name, draw in QUICK.items():
        for n, times in ((100, 400), (300, 200), (1000, 60)):
            if name == "cut semicircle" and n == 100:
                continue  # too few are left of it
            found = counted(lambda rng, draw=draw, n=n: draw(n, rng), times, kind, bootstrap=0)
            print(f"{name}, n = {n}: {dict(found)}")
            expect(f"{name}, n = {n}, random-like", found["random-like"] / times, 0.98)

    for n, times in ((100, 200), (300, 100)):
        u = 1.05 * least_strength(n)
        for strengths in ((u,), u * SPREAD):
            found = counted(lambda rng, n=n, s=strengths: wigner(n, rng, s), times, spikes, bootstrap=0)
            print(f"Wigner, n = {n}, {len(strengths)} directions from {u:.2f}: {dict(found)}")
            expect(f"Wigner, n = {n}, {len(strengths)} directions", found[len(strengths)] / times, 0.95)
        for strengths in ((2.0,), 2.0 * SPREAD):
            found = counted(lambda rng, n=n, s=strengths: wishart(n, 2 * n, rng, s), times, spikes, bootstrap=0)
            print(f"Wishart, n = {n}, {len(strengths)} directions from 2: {dict(found)}")
            expect(f"Wishart, n = {n}, {len(strengths)} directions", found[len(strengths)] / times, 0.95)
    strong = 1.05 * least_strength(1000)
    found = counted(lambda rng: quick_wigner(1000, rng, strong), 60, spikes, bootstrap=0)
    print(f"Wigner, n = 1000, 1 direction of {strong:.2f}: {dict(found)}")
    expect("Wigner, n = 1000, 1 direction", found[1] / 60, 0.95)

    for n, times in ((300, 60), (1000, 30)):
        for a in (1.8, 2.5, 3.5):

            def covered(answer: Any, a: float = a) -> tuple[bool, str]:
                return answer.tail is not None and answer.tail.low <= a <= answer.tail.high, answer.kind

            found = counted(lambda rng, n=n, a=a: rng.pareto(a - 1.0, n) + 1.0, times, covered, bootstrap=200)
            print(f"Pareto {a}, n = {n}: (covered, type) {dict(found)}")
            expect(f"Pareto {a}, n = {n}, coverage", sum(c for (yes, _), c in found.items() if yes) / times, 0.9)
            if a < 3.0:  # a steeper one goes over less than a power of ten at these sizes
                heavy = sum(c for (_, of), c in found.items() if of == "heavy-tailed") / times
                expect(f"Pareto {a}, n = {n}, heavy-tailed", heavy, 0.9)
        for spread in (1.0, 2.0):
            found = counted(lambda rng, n=n, s=spread: rng.lognormal(0.0, s, n), times, kind, bootstrap=200)
            print(f"lognormal {spread}, n = {n}: {dict(found)}")
            expect(f"lognormal {spread}, n = {n}, no power law", 1.0 - found["heavy-tailed"] / times, 0.9)
        found = counted(lambda rng, n=n: rng.exponential(size=n), times, kind, bootstrap=200)
        print(f"exponential, n = {n}: {dict(found)}")
        expect(f"exponential, n = {n}, no power law", 1.0 - found["heavy-tailed"] / times, 1.0)
    assert wrong == []
