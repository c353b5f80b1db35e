"""Time and accuracy of Bayes-optimal answers, thresholds and limits: prints a table, writes docs/benchmarks-core.md.

    python bench/core.py            a minute or two; the straightforward Bayes curve at five of its points
    python bench/core.py --quick    without the curve and the message passing; prints, and writes nothing
    python bench/core.py --full     the straightforward Bayes curve at all its points: some minutes more

Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import os

# One core, and before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import datetime
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import presage as ps
from presage.models.attention.bayes.curve import KNOTS
from report import (
    HEADER,
    PEAK_MEMORY,
    Check,
    Company,
    Row,
    Timing,
    fresh_process,
    machine,
    markdown_table,
    prose,
    relative,
    side_by_side,
    span,
    text_table,
    timed,
    times,
    verdict,
    write,
)
from straightforward import BayesEquation

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "docs" / "benchmarks-core.md"
KAPPA_0, NOISE = 0.5, 0.5
ALPHAS = np.geomspace(0.05, 10.0, 129)
SAMPLED = 5  # points of the curve at which the straightforward method is measured, unless --full
ACCURACY = 1e-6  # relative, of the straightforward curve
DAMPING = 0.5
ROUNDS = 5
FEATURES = 1000

Floats = np.ndarray


# ------------------------------------------------------------------------------------------ the problems


def attention(alpha: float = 0.5, target: ps.SpectralLaw | None = None, **options: Any) -> ps.Problem:
    law = target or ps.MarchenkoPastur(KAPPA_0)
    return ps.attention(law, alpha=alpha, noise=NOISE, **{"weight_decay": 0.01, **options})


def linear_attention(alpha: float = 0.5) -> ps.Problem:
    return ps.linear_attention(ps.MarchenkoPastur(KAPPA_0), alpha=alpha, weight_decay=0.01, noise=NOISE)


def network(alpha: float = 0.5, **options: Any) -> ps.Problem:
    law = ps.MarchenkoPastur(KAPPA_0)
    return ps.quadratic_network(law, alpha=alpha, noise=NOISE, **{"weight_decay": 0.01, **options})


def bilinear() -> ps.BilinearProblem:
    return ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=0.5, noise=0.1, weight_decay=0.1)


# -------------------------------------------------------------------------------------------------- rows


def bayes_rows() -> list[Row]:
    """One Bayes-optimal point, its test error and error bars included."""
    rows = []
    for name, make in (("linear attention", linear_attention), ("softmax attention", attention)):

        def call(make: Callable[[], ps.Problem] = make) -> ps.BayesSolution:
            found = ps.bayes_optimal(make())
            assert found.error_bars["test_error"] >= 0.0  # computed when asked for
            return found

        ours, problem = timed(call, 40), make()
        equation = BayesEquation(KAPPA_0, NOISE, problem.alpha * problem.channel.n_active, accuracy=1e-11)
        error = relative(ours.value.mmse, equation.by_iteration(equation.start()))
        rows.append(
            Row(
                f"Bayes point, {name}, T=2",
                "<= 20 ms",
                f"{ours}",
                (Check("time", ours.median <= 0.02),),
                f"""**Bayes point, {name}**: MP(0.5), noise 0.5, alpha 0.5; the error of the matrix and that of a fresh
                sample, both with error bars. MMSE {ours.value.mmse:.9f}, {error:.0e} (relative) from the
                straightforward method run to 1e-11; test error {ours.value.test_error:.6f} +-
                {ours.value.error_bars["test_error"]:.0e}.""",
            )
        )
    return rows


def thresholds_rows() -> list[Row]:
    """All thresholds of a problem, of which interpolation depends on the noise."""
    rows = []
    for name, law in (("MP(0.5)", ps.MarchenkoPastur(KAPPA_0)), ("PowerLaw(1.25, 400)", ps.PowerLaw(1.25, 400))):
        ours = timed(lambda law=law: ps.thresholds(attention(target=law)), 20)
        found = ours.value
        note = f"""**Thresholds, {name}**: attention, T=2, noise 0.5. In alpha: interpolation {found.interpolation:.6f},
            recovery with weight decay {found.perfect_recovery:.6f}, without factors {found.unfactorized_recovery:.6f},
            by the best of all methods {found.bayes_recovery:.6f}, weak recovery {found.weak_recovery:.6f}."""
        if isinstance(law, ps.MarchenkoPastur):
            best = (KAPPA_0 - KAPPA_0**2 / 2.0) / 2.0
            note += f" The closed form of the last but one is {best:.6f}."
        rows.append(
            Row(f"all thresholds, {name}", "<= 0.2 s", f"{ours}", (Check("time", ours.median <= 0.2),), prose(note))
        )
    return rows


def classify_rows() -> list[Row]:
    """The type of a spectrum of 1000 eigenvalues: of a power law, which takes longest, and of noise."""
    n, rng = 1000, np.random.default_rng(0)
    factor = rng.standard_normal((n, n))
    spectra = {"power law": np.arange(1, n + 1) ** -1.25, "noise": np.linalg.eigvalsh(factor @ factor.T)}
    rows = []
    for name, values in spectra.items():
        for draws, most in ((0, 0.1), (400, 0.5)):
            ours = timed(lambda values=values, draws=draws: ps.classify(values, bootstrap=draws), 10)
            note = f"""**Type of a spectrum, {name}, {draws} draws**: {ours.value.kind}, of {n} eigenvalues."""
            work = f"classify, n={n}, {name}, {'no bootstrap' if not draws else f'{draws} draws'}"
            rows.append(Row(work, f"<= {most:g} s", f"{ours}", (Check("time", ours.median <= most),), prose(note)))
    return rows


def feature_rows() -> list[Row]:
    """Parts of the error and every sample size of a thousand features."""
    problem = ps.quadratic_network(ps.PowerLaw(1.25, FEATURES), alpha=0.1, weight_decay=0.01, noise=NOISE)

    def answered() -> ps.Recovery:
        _ = ps.solve(problem).decomposition
        found: ps.Recovery = ps.recovery(problem)
        return found

    ours = timed(answered, 3)
    told = f"{ours}; {len(ours.value)} crossings, {len(ours.value.forgotten)} features are forgotten on the way"
    note = "**Features**: the parts of one error, and every n at which one of the features is learned or forgotten."
    name = f"parts and all n_i of {FEATURES} features"
    return [Row(name, "<= 2 s", told, (Check("time", ours.median <= 2.0),), prose(note))]


@dataclass(frozen=True)
class Curve:
    """The straightforward method at some points of the curve."""

    errors: Floats
    evaluations: int


def straightforward_curve(
    method: Callable[[BayesEquation, float], float], indices: Floats, neighbours: Floats
) -> Curve:
    """The MMSE at the alphas with these indices, each started from the answer at the alpha before it.

    Where that alpha is not computed here, its answer, t = delta^2, is taken from `neighbours` for nothing.
    """
    errors, evaluations, last = [], 0, (-1, math.nan)
    for k in indices.tolist():
        equation = BayesEquation(KAPPA_0, NOISE, float(ALPHAS[k]), ACCURACY)
        start = equation.start() if k == 0 else last[1] if last[0] == k - 1 else float(neighbours[k - 1])
        errors.append(method(equation, start))
        evaluations += equation.evaluations
        last = (k, (errors[-1] + 0.5 * NOISE) / (2.0 * equation.alpha))
    return Curve(np.array(errors), evaluations)


DAMPED = f"iteration with damping {DAMPING:g}"
METHODS: dict[str, Callable[[BayesEquation, float], float]] = {
    "plain iteration": lambda equation, t: equation.by_iteration(t),
    DAMPED: lambda equation, t: equation.by_iteration(t, DAMPING),
    "`scipy.optimize.root`": lambda equation, t: equation.by_root(t),
}


def curve_row(*, full: bool) -> tuple[Row, str]:
    """A Bayes curve of a quadratic network; and a table of its own for the straightforward methods."""

    def ours_whole() -> list[ps.BayesSolution]:
        return ps.bayes_curve(network(1.0), alpha=ALPHAS)

    points = len(ALPHAS)
    solved = ours_whole()
    exact = np.array([solution.mmse for solution in solved])
    neighbours = np.array([solution.delta**2 for solution in solved])
    # The middles of equal parts of the curve stand for these parts.
    indices = np.arange(points) if full else (points * (2 * np.arange(SAMPLED) + 1)) // (2 * SAMPLED)
    calls: dict[str, Callable[[], Any]] = {"ours": ours_whole}
    for name, method in METHODS.items():
        calls[name] = lambda method=method: straightforward_curve(method, indices, neighbours)
    found = side_by_side(calls, 1 if full else ROUNDS, warm=False)
    ours = found.pop("ours")
    scale = points / len(indices)

    lines = [["method", "CPU, 129 points", "integrals a point", "CPU an integral", "largest difference", "over ours"]]
    evaluations = KNOTS + sum(solution.evaluations for solution in solved)
    each = ours.median / evaluations
    lines.append(["ours", str(ours), f"{evaluations / points:.1f}", span(each), "", "1x"])
    ratios, differences = {}, {}
    for name, timing in found.items():
        ratios[name] = scale * timing.over(ours)
        differences[name] = float(np.abs(timing.value.errors / exact[indices] - 1.0).max())
        lines.append(
            [
                name,
                f"{span(scale * timing.median)} ({span(scale * timing.least)})",
                f"{timing.value.evaluations / len(indices):.1f}",
                span(timing.median / timing.value.evaluations),
                f"{differences[name]:.1e}",
                times(ratios[name]),
            ]
        )
    quickest = min(ratios, key=lambda name: ratios[name])
    how = "measured at all of them" if full else f"measured at {SAMPLED} of them and scaled"
    row = Row(
        "Bayes curve, quadratic network, 129 points",
        f">= 50x; difference <= {ACCURACY:g}",
        f"""{ours}, {times(ratios[quickest])} beside the quickest straightforward method ({quickest},
        {span(scale * found[quickest].median)}, {how}); largest difference {differences[quickest]:.0e};
        {times(ratios[DAMPED])} beside {DAMPED}""",
        (Check("ratio", ratios[quickest] >= 50.0), Check("difference", differences[quickest] <= ACCURACY)),
        """**Bayes curve**: MP(0.5), noise 0.5, alpha in `geomspace(0.05, 10, 129)`; below is how each straightforward
        method does. The ratio required is asked of the quickest of them.""",
    )
    where = "at all 129 points, once" if full else f"at {SAMPLED} of the 129 points, the middles of equal parts"
    section = "\n\n".join(
        [
            "## The Bayes curve beside straightforward methods",
            prose(
                f"""All straightforward methods take the density one x at a time by `np.roots`, integrate its cube
                by `quad` between edges that are known as roots of a polynomial, and start each alpha from the
                answer at the one before. They are asked for a relative accuracy of {ACCURACY:g}; the difference is
                the largest relative one of the MMSE from ours, which has no such setting and states
                {max(solution.error_bars["mmse"] / solution.mmse for solution in solved):.0e}. They are measured
                {where}{"" if full else ", and scaled to all"}; ours at all, in the same rounds. Ours is
                `bayes_curve`: a spline through 24 points of alpha as a function of the noise level, then Newton's
                method for each alpha. Damping is not needed here, where the iteration
                approaches from one side: it is in the table because state evolution is often iterated with it.
                `root` is what the public code of [MTMKZ24] calls, from a cold start and with integrals to 1e-4."""
            ),
            markdown_table(lines),
            ""
            if full
            else "Not run here: `python bench/core.py --full` runs the straightforward methods at all points.",
        ]
    ).rstrip()
    return row, section


BAYES_AMP = f"""
import json, time
import presage as ps
problem = ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)
trainer = ps.BayesAMP(ps.Denoiser(problem.target), noise=problem.noise)
began = time.perf_counter()
e = ps.simulate(problem, d=DIMENSION, seeds=1, trainer=trainer, processes=1, progress=False)
wall = time.perf_counter() - began
{PEAK_MEMORY}
print(json.dumps(dict(wall=wall, peak=peak, error=float(e.estimation_error[0]), test=float(e.test_error[0]),
                      steps=int(e.evaluations[0]), converged=bool(e.converged[0]))))
"""


def message_passing_row() -> Row:
    """Bayes-optimal message passing on one data set, in a process of its own."""
    fresh_process(BAYES_AMP.replace("DIMENSION", "20"))  # compiles what is not on disk
    found, wall = fresh_process(BAYES_AMP.replace("DIMENSION", "200"))
    best = ps.bayes_optimal(attention())
    return Row(
        "Bayes AMP, T=2, d=200, 20,000 samples, one seed",
        "<= 60 s; <= 1 GB",
        f"{span(wall)} wall, peak memory {found['peak'] / 1e9:.2f} GB",
        (Check("time", wall <= 60.0), Check("memory", found["peak"] <= 1e9)),
        f"""**Bayes AMP**: MP(0.5), noise 0.5, alpha 0.5; wall time of a whole fresh process, compiled code on disk,
        from drawing the data to the test error; `simulate` alone takes {span(found["wall"])} and {found["steps"]}
        iterations, {"converged" if found["converged"] else "not converged"}. Error of the matrix
        {found["error"]:.5f}, of a fresh sample {found["test"]:.5f}; in the limit of large d {best.mmse:.5f} and
        {best.test_error:.5f}.""",
    )


@dataclass(frozen=True)
class OwnSoftmax(ps.Channel):
    """The softmax as a user would write it; its loss is the default, the squared distance."""

    n_tokens: int = 2

    def output(self, z: ArrayLike) -> Floats:
        R = self.matrix(z)
        weights = np.exp(R - R.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class WrittenSoftmax(OwnSoftmax):
    """The same with the derivatives of the loss, row by row in the scores R and then in their components z."""

    def _scores(self) -> Floats:
        """The scores as a linear map: rows a, entries b, components of z."""
        return np.moveaxis(self.matrix(np.eye(self.n_in)), 0, -1)

    def slope(self, label: Floats, z: Floats) -> Floats:
        s = self.output(z)
        e = s - label
        in_R = 2.0 * s * (e - np.sum(s * e, axis=-1, keepdims=True))
        return np.asarray(np.einsum("...ab,abk->...k", in_R, self._scores()))

    def curvature(self, label: Floats, z: Floats) -> Floats:
        s = self.output(z)
        e, C = s - label, s[..., None] * (np.eye(self.n_tokens) - s[..., None, :])
        pull = e - np.sum(s * e, axis=-1, keepdims=True)
        rest = pull + s - np.sum(s * s, axis=-1, keepdims=True)
        in_R = 2.0 * (C * (pull + s)[..., None] - s[..., None] * (s * rest)[..., None, :])
        scores = self._scores()
        return np.asarray(np.einsum("...abc,abk,acl->...kl", in_R, scores, scores, optimize=True))


def channel_rows() -> list[Row]:
    """A user's softmax beside the built-in one, at the same accuracy."""

    def call(channel: ps.Channel) -> ps.Solution:
        solution = ps.solve(attention().replace(channel=channel), solver=ps.StateEvolution(accuracy=1e-3))
        assert isinstance(solution, ps.Solution)
        return solution

    found = side_by_side(
        {
            "built in": lambda: call(ps.Softmax(2)),
            "output": lambda: call(OwnSoftmax(2)),
            "written": lambda: call(WrittenSoftmax(2)),
        },
        ROUNDS,
    )
    built_in = found["built in"]

    def stated(timing: Timing[ps.Solution]) -> str:
        return f"{timing.value.test_error:.6f} +- {timing.value.error_bars['test_error']:.0e}"

    def agrees(timing: Timing[ps.Solution]) -> bool:
        bar = timing.value.error_bars["test_error"] + built_in.value.error_bars["test_error"]
        return abs(timing.value.test_error - built_in.value.test_error) <= bar

    rows = []
    for key, words in (("output", "only `output` written"), ("written", "with slope and curvature")):
        own, ratio = found[key], found[key].over(built_in)
        rows.append(
            Row(
                f"own softmax, T=2, {words}",
                "<= 20x built-in; within error bars",
                f"{own}, {times(ratio)} the built-in {built_in}; test error {stated(own)}, built-in {stated(built_in)}",
                (Check("ratio", ratio <= 20.0), Check("test error", agrees(own))),
            )
        )
    note = """**Own softmax**: one cold `solve` each, by turns, with `StateEvolution(accuracy=1e-3)`: MP(0.5), noise
        0.5, alpha 0.5, weight decay 0.01. The channel is written on the public interface, as in docs/add-a-channel.md
        (bench/core.py has it whole). The built-in one is more accurate than it is asked to be."""
    return [rows[0], Row(**{**vars(rows[1]), "note": note})]


def other_rows() -> list[Row]:
    """Times of what else there is; nothing is asked for."""
    narrow: dict[str, Any] = {"kappa": 0.3, "weight_decay": 0.05 / math.sqrt(0.3)}
    calls: list[tuple[str, Callable[[], Any], int]] = [
        ("vanishing weight decay, quadratic network, alpha=0.1", lambda: ps.ridgeless(network(0.1)), 10),
        ("vanishing weight decay, quadratic network, alpha=0.5", lambda: ps.ridgeless(network(0.5)), 10),
        ("vanishing weight decay, attention, alpha=0.1", lambda: ps.ridgeless(attention(0.1)), 10),
        ("vanishing weight decay, attention, alpha=0.5", lambda: ps.ridgeless(attention(0.5)), 5),
        ("best weight decay, quadratic network", lambda: ps.optimal_regularization(network()), 5),
        ("best weight decay, attention", lambda: ps.optimal_regularization(attention()), 3),
        ("bilinear regression, Bayes point", lambda: ps.bayes_optimal(bilinear()), 20),
        ("bilinear regression, trained point", lambda: ps.solve(bilinear()), 20),
        ("narrow student, quadratic network", lambda: ps.solve(network(0.5, **narrow)), 5),
        ("narrow student, attention", lambda: ps.solve(attention(1.0, **narrow)), 5),
    ]
    rows = []
    for name, call, repeats in calls:
        ours = timed(call, repeats)
        rows.append(Row(name, "", f"{ours}; {outcome(ours.value)}"))
    edge = ps.thresholds(network()).interpolation, ps.thresholds(attention()).interpolation
    note = f"""**The rest**: for the reader, nothing is asked of it. MP(0.5), noise 0.5, two tokens, alpha 0.5 and
        weight decay 0.01 where nothing else is said. Vanishing weight decay below and above interpolation (alpha
        {edge[0]:.3f} for the network, {edge[1]:.3f} for attention). Bilinear regression: `GaussianProduct(0.5)`, noise
        0.1, weight decay 0.1. Narrow students: kappa 0.3, weight decay 0.05/sqrt(kappa), and attention at alpha 1."""
    return [*rows[:-1], Row(**{**vars(rows[-1]), "note": note})]


def outcome(value: Any) -> str:
    """One number of an answer, for the table."""
    if isinstance(value, ps.BilinearBayes):
        return f"MMSE {value.mmse:.6f}"
    if isinstance(value, ps.Optimum):
        return f"at {value.value:.4g} test error {value.test_error:.6f}"
    return f"test error {value.test_error:.6f}"


# ------------------------------------------------------------------------------------------------ the run


def document(rows: list[Row], section: str, machine_line: str, seconds: float, others: float, mode: str) -> str:
    """The page docs/benchmarks-core.md."""
    command = "make bench" if mode == "default" else f"python bench/core.py --{mode}"
    parts = [
        "# Benchmarks of Bayes-optimal answers, thresholds and limits",
        prose(
            """What the theory answers beyond a single trained point: the best of all methods, thresholds, limits, and
            channels of one's own, in one run on one machine; the Bayes curve beside straightforward methods
            (bench/straightforward.py)."""
        ),
        f"Written by `{command}` on {datetime.date.today().isoformat()}, in {span(seconds)}: run again, do not edit.",
        f"Machine: {machine_line}; other work took {100.0 * others:.0f} % of its cores during the run.",
        prose(
            """Times are CPU seconds of one call on one core: the median, and in brackets the least, of several after a
            warm-up call; wall time only where the table says so. Problem and answer are made anew in each call. What
            is compared is timed by turns, and a ratio is the median of those of the rounds. Met or not is by the
            median."""
        ),
        markdown_table([HEADER, *(row.cells for row in rows)]),
        verdict(rows),
        section,
        "## What each row is",
        "\n".join(f"- {prose(row.note)}" for row in rows if row.note),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def measure(mode: str) -> tuple[list[Row], str]:
    """Every row, in the order of the table."""
    began = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {what}", file=sys.stderr, flush=True)

    section = ""
    say("Bayes points and thresholds")
    rows = [*bayes_rows(), *thresholds_rows(), *feature_rows(), *classify_rows()]
    if mode != "quick":
        say("Bayes curve")
        row, section = curve_row(full=mode == "full")
        rows.append(row)
        say("Bayes-optimal message passing")
        rows.append(message_passing_row())
    say("channels of one's own")
    rows.extend(channel_rows())
    say("the rest")
    rows.extend(other_rows())
    return [Row(**{**vars(row), "measured": prose(row.measured)}) for row in rows], section


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="skip curve and message passing; print, write nothing")
    parser.add_argument("--full", action="store_true", help="run the straightforward methods at all points")
    parser.add_argument("--output", type=Path, help="where to write the page (default: docs/benchmarks-core.md)")
    arguments = parser.parse_args()
    if arguments.quick and arguments.full:
        parser.error("--quick and --full exclude each other: choose one")
    mode = "quick" if arguments.quick else "full" if arguments.full else "default"
    began, machine_line, company = time.perf_counter(), machine("one thread a process"), Company()
    rows, section = measure(mode)
    others = company.share
    print(f"{machine_line}; other work {100.0 * others:.0f} %")
    print(text_table([HEADER, *(row.cells for row in rows)], most=40))
    if section:
        print("\n" + section)
    print("\n" + verdict(rows))
    path = arguments.output or (None if mode == "quick" else OUTPUT)
    if path is not None:
        write(path, document(rows, section, machine_line, time.perf_counter() - began, others, mode))
        print(f"\nwritten to {path.name}")


if __name__ == "__main__":
    main()
