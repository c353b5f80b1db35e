"""Training by presage beside PyTorch and cvxpy: prints tables, writes docs/benchmarks-training.md.

    python bench/training.py            a quarter of an hour, more on a slow machine
    python bench/training.py --quick    small sizes, a minute; prints, and writes nothing

Nothing here is asserted: the table says what was reached and what was not.
"""

from __future__ import annotations

import os

# All cores for every method, and before NumPy is imported: `make` gives a process one thread.
os.environ.pop("OPENBLAS_NUM_THREADS", None)
os.environ.pop("MKL_NUM_THREADS", None)
os.environ.pop("OMP_NUM_THREADS", None)
os.environ.pop("BLIS_NUM_THREADS", None)
os.environ.pop("VECLIB_MAXIMUM_THREADS", None)

import argparse
import datetime
import importlib.metadata
import importlib.util
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import presage as ps
from presage.models.attention.experiment.data import sample, sample_target
from presage.models.attention.experiment.gradient import start
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.tokens import Gaussian
from presage.models.bilinear.experiment.simulate import MatrixSetting
from presage.protocol.extras import EXTRAS, how_to_install
from presage.protocol.machine import available_cores
from presage.training.adam import AdamState
from presage.training.ordered_sums import one_blas_thread
from report import (
    PEAK_MEMORY,
    Check,
    Company,
    fresh_process,
    machine,
    markdown_table,
    met,
    prose,
    span,
    text_table,
    times,
    verdict,
    write,
)

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "docs" / "benchmarks-training.md"
CORES = available_cores()
NEAR = 1e-4  # relative distance from the least loss that counts as being there
LEARNING_RATE = 0.1
MOST_STEPS = 3000  # of PyTorch's Adam
ATTENTION_REACH = {0.5: 30.0, 4.0: 60.0}  # alpha, and how many times quicker than PyTorch is asked for
SCS_TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
SCS_DEFAULT = 1e-5  # what cvxpy gives SCS when nothing is asked for
SCS_SECONDS = 300.0
ALL_CORES = 0.7  # of the number of cores: how many times quicker all cores should be than one
LARGE_SECONDS = 600.0  # after which the large run by L-BFGS is given up
MISSING = f"not installed: pip install {' '.join(EXTRAS['bench'])}"
HINT = f"""PyTorch or cvxpy is missing: its rows stay empty. {how_to_install("bench")}; on Linux add
`--extra-index-url https://download.pytorch.org/whl/cpu` to leave out the gigabytes for graphics cards."""

Floats = np.ndarray


# ------------------------------------------------------------------------------------------------- sizes


@dataclass(frozen=True)
class Sizes:
    """How large everything is."""

    d: int = 100  # of attention
    rounds: int = 3
    quadratic_d: tuple[int, ...] = (30, 40, 50)
    kernel_n: int = 20_000
    kernel_rounds: int = 9
    scaling_d: tuple[int, ...] = (50, 100, 200, 400)
    scaling_n: int = 8000
    large_alpha: float = 40.0
    large_d: int = 100
    bilinear_d: int = 120


QUICK = Sizes(40, 1, (15, 20), 2000, 3, (25, 50, 100), 2000, 10.0, 40, 50)


# ------------------------------------------------------------------------------------------------ report


@dataclass(frozen=True)
class Row:
    """One line of the first table; `note` goes below it."""

    work: str
    ours: str
    beside: str
    ratio: str
    reach: str
    checks: tuple[Check, ...]
    note: str = ""

    @property
    def met(self) -> str:
        return met(self.checks)

    @property
    def cells(self) -> list[str]:
        return [self.work, self.ours, self.beside, self.ratio, self.reach, self.met]


@dataclass(frozen=True)
class Section:
    """A table with a heading and a few words."""

    title: str
    words: str
    lines: list[list[str]]


HEADER = ["work", "ours", "beside", "ratio", "reach", "met"]


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def small(value: float) -> str:
    """An excess of the loss: rounding below 1e-13 is shown as zero."""
    return f"{value:.1e}" if value > 1e-13 else "0"


def over(base: float | None, ours: float) -> str:
    return "" if base is None or not math.isfinite(ours) else times(base / ours)


# --------------------------------------------------------------------------------------------- instances


def attention_problem(alpha: float) -> ps.Problem:
    return ps.attention(ps.MarchenkoPastur(0.5), alpha=alpha, weight_decay=0.01, noise=0.5, n_tokens=2)


def quadratic_problem() -> ps.Problem:
    return ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.02, noise=0.5)


def instance(problem: ps.Problem, d: int, *, n: int | None = None, dtype: Any = np.float64, seed: int = 0) -> Objective:
    """The loss of one target and one training set, as `simulate` would make them."""
    rng = np.random.default_rng([seed, d])
    S_0 = sample_target(problem.target, d, rng)
    count = round(problem.alpha * d**2) if n is None else n
    samples = sample(
        S_0, problem.channel, count, rng, tokens=Gaussian(), noise=problem.noise, dtype=dtype, threads=CORES
    )
    return Objective(samples, problem.channel, problem.penalty, max(1, round(problem.kappa * d)), None, CORES)


# ---------------------------------------------------------------------------------------------- training


@dataclass(frozen=True)
class Way:
    """One training: rows (seconds, whole loss), the loss at its end, the seconds in all."""

    history: Floats
    loss: float
    seconds: float
    iterations: int
    converged: bool
    gap: float = math.inf

    def until(self, level: float) -> float:
        """Seconds until the loss is first at most `level`; infinite if it never is."""
        there = self.history[:, 1] <= level
        if there.any():
            return float(self.history[np.argmax(there), 0])
        return self.seconds if self.loss <= level else math.inf

    def steps_until(self, level: float) -> int:
        there = self.history[:, 1] <= level
        return int(np.argmax(there)) + 1 if there.any() else len(there)


def train(trainer: ps.Trainer, objective: Objective) -> Way:
    """Train by presage as `simulate` does: threads take parts of the samples, matrix products have one each."""
    with one_blas_thread():
        fit = trainer.fit(objective, np.random.default_rng(1))
    gap = fit.certificate.gap
    return Way(fit.history, fit.loss, fit.seconds, len(fit.history), fit.converged, gap)


def pytorch_adam(objective: Objective, level: float, most: int = MOST_STEPS) -> Way:
    """Full-batch Adam with autograd, from the start of presage's Adam, until the loss is at most `level`."""
    import torch

    samples, weight_decay = objective.samples, objective.penalty.weight_decay
    x = torch.from_numpy(samples.tokens).reshape(objective.n, samples.n_tokens, objective.d)
    y = torch.from_numpy(samples.labels)
    W = torch.from_numpy(start(objective, np.random.default_rng(1))).requires_grad_()
    optimiser = torch.optim.Adam([W], lr=LEARNING_RATE)
    pytorch_threads(lambda: pytorch_loss(W, x, y, weight_decay).backward())
    history: list[tuple[float, float]] = []
    began = time.perf_counter()
    for _ in range(most):
        optimiser.zero_grad()
        loss = pytorch_loss(W, x, y, weight_decay)
        loss.backward()
        history.append((time.perf_counter() - began, loss.item()))
        if history[-1][1] <= level:
            break
        optimiser.step()
    return Way(np.array(history), history[-1][1], history[-1][0], len(history), history[-1][1] <= level)


def pytorch_threads(call: Callable[[], object]) -> None:
    """Let PyTorch use all cores, or one where that is quicker: its threads wait badly on a machine that is shared."""
    import torch

    seconds = {}
    for threads in (1, CORES):
        torch.set_num_threads(threads)
        call()
        began = time.perf_counter()
        for _ in range(3):
            call()
        seconds[threads] = time.perf_counter() - began
    torch.set_num_threads(min(seconds, key=lambda threads: seconds[threads]))


def pytorch_loss(W: Any, x: Any, y: Any, weight_decay: float) -> Any:
    """Frobenius loss of attention and its weight decay: x is n x T x d, y is n x T x T, W is d x m."""
    import torch

    (d, m), T = W.shape, x.shape[1]
    z = x @ W
    scores = z @ z.transpose(1, 2) / math.sqrt(m * d)
    trace = W.square().sum() / math.sqrt(m * d)
    output = torch.softmax((scores - trace * torch.eye(T, dtype=W.dtype)) / math.sqrt(d), dim=-1)
    return (y - output).square().sum() + weight_decay * W.square().sum()


def middle(ways: Sequence[Way], level: float) -> float:
    """Median over the rounds of the seconds to `level`."""
    return statistics.median(way.until(level) for way in ways)


def attention(alpha: float, reach: float, sizes: Sizes) -> tuple[Row, Section]:
    """Everyone on one attention instance, in rounds, so that all see the same machine."""
    objective = instance(attention_problem(alpha), sizes.d)
    trainers = {
        "presage, AMP": ps.AMP(),
        "presage, L-BFGS": ps.LBFGS(),
        "presage, Adam": ps.Adam(lr=LEARNING_RATE),
    }
    ways: dict[str, list[Way]] = {name: [] for name in trainers}
    others: list[Way] = []
    for _ in range(sizes.rounds):
        for name, trainer in trainers.items():
            ways[name].append(train(trainer, objective))
        least = min(way.loss for found in ways.values() for way in found)
        if installed("torch"):
            others.append(pytorch_adam(objective, least * (1.0 + NEAR)))
    best = min([least, *(way.loss for way in others)])
    level = best * (1.0 + NEAR)
    base = middle(others, level) if others else None
    late = base is not None and not math.isfinite(base)
    if late:
        base = others[0].seconds
    lines = [["method", f"to {NEAR:g}", "iterations to there", "in all", "iterations", "excess at the end", "ratio"]]
    for name, found in ways.items():
        reached, whole = middle(found, level), statistics.median(way.seconds for way in found)
        lines.append(
            [
                name,
                span(reached) if math.isfinite(reached) else "not reached",
                str(found[0].steps_until(level)),
                span(whole) + ("" if found[0].converged else ", not converged"),
                str(found[0].iterations),
                small(found[0].loss / best - 1.0),
                over(base, reached),
            ]
        )
    first = min(ways, key=lambda name: middle(ways[name], level))
    quickest = middle(ways[first], level)
    work = f"attention, T=2, d={sizes.d}, alpha={alpha:g}: loss within {NEAR:g} of the least"
    title = f"Attention, alpha {alpha:g}, {objective.n} samples"
    if base is None:
        lines.append(["PyTorch, Adam", MISSING, "", "", "", "", ""])
        row = Row(work, f"{span(quickest)} ({first})", MISSING, "", f">= {reach:g}x", (Check("ratio", None),))
        return row, Section(title, "", lines)
    more = "> " if late else ""
    other, mine = others[0], ways[first][0]
    lines.append(
        [
            "PyTorch, Adam",
            more + span(base),
            str(other.steps_until(level)),
            "stopped there" if not late else f"stopped after {MOST_STEPS} steps",
            "",
            small(other.loss / best - 1.0),
            "1",
        ]
    )
    same = min(len(other.history), len(ways["presage, Adam"][0].history))
    agree = np.abs(other.history[:same, 1] / ways["presage, Adam"][0].history[:same, 1] - 1.0).max()

    def fastest(found: list[Way]) -> float:
        return min(min(way.until(level), way.seconds) for way in found)

    taken, needed = mine.steps_until(level), other.steps_until(level)
    note = f"""**Attention, alpha {alpha:g}**: the ratio is one of steps, {needed} of PyTorch against {taken} of
        {first}, times one of seconds a step, {span(base / needed)} against {span(quickest / taken)}. The losses
        of the two Adams agree to {agree:.0e} at each of the first {same} steps."""
    row = Row(
        work,
        f"{span(quickest)} ({first})",
        f"{more}{span(base)} (PyTorch, Adam)",
        f"{more}{times(base / quickest)} (least over least {more}{times(fastest(others) / fastest(ways[first]))})",
        f">= {reach:g}x",
        (Check("ratio", base / quickest >= reach),),
        note,
    )
    return row, Section(title, "", lines)


# ----------------------------------------------------------------------------- convex: quadratic network


@dataclass(frozen=True)
class Cone:
    """A solve by cvxpy and SCS."""

    tolerance: float
    seconds: float
    inside: float  # seconds that SCS itself reports, its set-up included
    iterations: int
    loss: float
    optimal: bool


def cvxpy_scs(objective: Objective, tolerance: float) -> Cone:
    """The convex problem in S as one would write it in cvxpy; the table of x x' - 1 is made before the clock runs."""
    import cvxpy as cp

    d, x, y = objective.d, objective.samples.tokens, objective.samples.labels[:, 0, 0]
    A = ((x[:, :, None] * x[:, None, :] - np.eye(d)) / math.sqrt(d)).reshape(objective.n, d * d)
    began = time.perf_counter()
    S = cp.Variable((d, d), PSD=True)
    penalty = d * objective.penalty.lambda_tilde(objective.kappa) * cp.trace(S)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(y - A @ cp.vec(S, order="C")) + penalty))
    problem.solve(solver=cp.SCS, eps=tolerance, max_iters=1_000_000, time_limit_secs=SCS_SECONDS)
    seconds = time.perf_counter() - began
    s, vectors = np.linalg.eigh(0.5 * (S.value + S.value.T))
    allowed = (vectors * np.maximum(s, 0.0)) @ vectors.T  # SCS leaves eigenvalues a little below zero
    stats = problem.solver_stats
    return Cone(
        tolerance,
        seconds,
        stats.solve_time + stats.setup_time,
        stats.num_iters,
        objective.at_S(allowed).value + objective.penalty_at(allowed),
        problem.status == cp.OPTIMAL,
    )


def cones(objective: Objective, least: float) -> list[Cone]:
    """SCS at ever smaller tolerances, until its loss is within 1e-6 of `least`."""
    found: list[Cone] = []
    for tolerance in SCS_TOLERANCES:
        found.append(cvxpy_scs(objective, tolerance))
        if not found[-1].optimal or (tolerance <= SCS_DEFAULT and found[-1].loss <= least * (1.0 + 1e-6)):
            break
    return found


def quadratic(sizes: Sizes) -> tuple[Row, Section]:
    """Quadratic networks, convex in S: everyone at each d; the row is that of the largest."""
    trainers = {
        "presage, proximal gradient": ps.ProximalGradient(),
        "presage, AMP": ps.AMP(),
        "presage, L-BFGS": ps.LBFGS(),
        "presage, Adam": ps.Adam(lr=LEARNING_RATE),
    }
    lines = [["d", "method", f"to {NEAR:g}", "in all", "iterations", "excess at the end", "ratio"]]
    for d in sizes.quadratic_d:
        objective = instance(quadratic_problem(), d)
        ways = {name: [train(trainer, objective) for _ in range(sizes.rounds)] for name, trainer in trainers.items()}
        least = min(way.loss for found in ways.values() for way in found)
        solved = cones(objective, least) if installed("cvxpy") else []
        best = min([least, *(cone.loss for cone in solved)])
        level = best * (1.0 + NEAR)
        near = min((cone.seconds for cone in solved if cone.loss <= level), default=None)
        for name, found in ways.items():
            reached, whole = middle(found, level), statistics.median(way.seconds for way in found)
            gap = f", proven {found[0].gap:.0e}" if "proximal" in name else ""
            excess = small(found[0].loss / best - 1.0) + gap
            cells = [span(reached), span(whole), str(found[0].iterations), excess, over(near, reached)]
            lines.append([str(d), name, *cells])
        for cone in solved:
            name = f"cvxpy, SCS, eps {cone.tolerance:g}" + (" (default)" if cone.tolerance == SCS_DEFAULT else "")
            whole = f"{span(cone.seconds)} (SCS itself {span(cone.inside)})" + ("" if cone.optimal else ", gave up")
            reached = span(cone.seconds) if cone.loss <= level else "not reached"
            excess = small(cone.loss / best - 1.0)
            cells = [reached, whole, str(cone.iterations), excess, "1" if cone.seconds == near else ""]
            lines.append([str(d), name, *cells])
        if not solved:
            lines.append([str(d), "cvxpy, SCS", MISSING, "", "", "", ""])
    section = Section(
        "Quadratic network",
        f"""Alpha 0.5, weight decay 0.02, convex in S. SCS at each tolerance starts anew and gives no loss on its way:
        its time to {NEAR:g} is that of the whole solve, and the ratio is taken from the quickest that ends there. Its
        matrix is made positive before its loss is taken.""",
        lines,
    )
    return quadratic_row(d, ways["presage, proximal gradient"], solved, best), section


def quadratic_row(d: int, found: list[Way], solved: list[Cone], best: float) -> Row:
    """Proximal gradient to a proven gap of 1e-6 beside the quickest SCS with a loss as near."""
    seconds, gap = statistics.median(way.seconds for way in found), found[0].gap
    checks = [Check("gap", gap <= 1e-6), Check("time", seconds <= 1.0)]
    work, ours = f"quadratic network, d={d}: proven within 1e-6 of the minimum", f"{span(seconds)} (gap {gap:.0e})"
    reach = "gap <= 1e-6; <= 1 s; >= 20x"
    if not solved:
        return Row(work, ours, MISSING, "", reach, (*checks, Check("ratio", None)))
    close = [cone for cone in solved if cone.loss <= best * (1.0 + 1e-6)]
    taken = min(close, key=lambda cone: cone.seconds) if close else solved[-1]
    default = next((cone for cone in solved if cone.tolerance == SCS_DEFAULT), taken)
    ratio = taken.seconds / seconds
    note = f"""**Quadratic network**: `ProximalGradient(tol=1e-6)` stops at a duality gap, a proof; SCS with eps
        {taken.tolerance:g} ends {taken.loss / best - 1.0:.0e} above the least loss found, and proves less. At its
        default, eps {default.tolerance:g}, cvxpy takes {span(default.seconds)} and ends
        {default.loss / best - 1.0:.0e} above: {times(default.seconds / seconds)} the time of ours."""
    return Row(
        work,
        ours,
        f"{span(taken.seconds)} (cvxpy, SCS, eps {taken.tolerance:g})",
        times(ratio),
        reach,
        (*checks, Check("ratio", ratio >= 20.0 if close else None)),
        note,
    )


# ---------------------------------------------------------------------------------- the value and gradient


@dataclass(frozen=True)
class Laps:
    """Seconds of single calls."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        return min(self.seconds)

    def __str__(self) -> str:
        return f"{span(self.median)} ({span(self.least)})"


def interleaved(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, Laps]:
    """Time the calls in turns, each after a rest and an uncounted call, so that all see the same machine."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(0.1)  # threads of the call before may still be spinning
            call()
            for _ in range(3):
                began = time.perf_counter()
                call()
                seconds[name].append(time.perf_counter() - began)
    return {name: Laps(tuple(found)) for name, found in seconds.items()}


def numpy_value_and_gradient(W: Floats, x: Floats, y: Floats, weight_decay: float) -> tuple[float, Floats]:
    """The loss of `pytorch_loss` and its gradient by hand, in plain NumPy."""
    (d, m), (n, T, _) = W.shape, x.shape
    flat = x.reshape(n * T, d)
    z = (flat @ W).reshape(n, T, m)
    scores = z @ z.transpose(0, 2, 1) / math.sqrt(m * d)
    R = (scores - np.sum(W * W) / math.sqrt(m * d) * np.eye(T, dtype=W.dtype)) / math.sqrt(d)
    weights = np.exp(R - R.max(axis=-1, keepdims=True))
    output = weights / weights.sum(axis=-1, keepdims=True)
    residual = output - y
    pull = 2.0 * output * (residual - np.sum(output * residual, axis=-1, keepdims=True))
    pull = (pull + pull.transpose(0, 2, 1)) / math.sqrt(m * d * d)
    gradient = flat.T @ (pull @ z).reshape(n * T, m) - np.trace(pull.sum(axis=0)) * W + 2.0 * weight_decay * W
    return float(np.sum(residual**2) + weight_decay * np.sum(W * W)), gradient


def kernel(dtype: Any, reach: float, sizes: Sizes) -> tuple[Row, list[list[str]]]:
    """Value and gradient in W of an attention loss beside a product of two square matrices, NumPy and PyTorch."""
    objective = instance(attention_problem(2.0), sizes.d, n=sizes.kernel_n, dtype=dtype)
    rng, name = np.random.default_rng(2), np.dtype(dtype).name
    W = start(objective, rng)
    n, T, d, m = objective.n, objective.samples.n_tokens, *W.shape
    x, y = objective.samples.tokens.reshape(n, T, d), objective.samples.labels.astype(dtype)
    cast, weight_decay = W.astype(dtype), objective.penalty.weight_decay
    size = 2000
    left, right = rng.standard_normal((2, size, size)).astype(dtype)
    product = np.empty_like(left)

    def ours() -> Any:
        with one_blas_thread():
            return objective.at_W(W)

    def plain() -> tuple[float, Floats]:
        return numpy_value_and_gradient(cast, x, y, weight_decay)

    calls: dict[str, Callable[[], object]] = {
        "gemm": lambda: np.dot(left, right, out=product),
        "presage": ours,
        "NumPy": plain,
    }
    value = ours().value
    apart = abs(plain()[0] / value - 1.0)
    if installed("torch"):
        import torch

        xs, ys, Ws = torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(cast).requires_grad_()

        def autograd() -> float:
            Ws.grad = None
            loss = pytorch_loss(Ws, xs, ys, weight_decay)
            loss.backward()
            return float(loss.item())

        pytorch_threads(autograd)
        calls["PyTorch autograd"] = autograd
        apart = max(apart, abs(autograd() / value - 1.0))
    laps = interleaved(calls, sizes.kernel_rounds)
    work, peak = 4.0 * n * T * d * m, 2.0 * size**3
    gemm, mine = laps.pop("gemm"), laps["presage"]
    share, best_share = ((work / a) / (peak / b) for a, b in ((mine.median, gemm.median), (mine.least, gemm.least)))
    called = "dgemm" if dtype is np.float64 else "sgemm"
    lines = [[name, called, str(gemm), speed(peak, gemm), "100 %", ""]]
    for method, lap in laps.items():
        part = 100.0 * (work / lap.median) / (peak / gemm.median)
        lines.append([name, method, str(lap), speed(work, lap), f"{part:.0f} %", times(lap.median / mine.median)])
    if "PyTorch autograd" not in laps:
        lines.append([name, "PyTorch autograd", MISSING, "", "", ""])
    row = Row(
        f"value and gradient, {name}, n={n}, T={T}, d=m={d}",
        f"{speed(work, mine)} GFLOP/s",
        f"{speed(peak, gemm)} GFLOP/s ({called})",
        f"{100 * share:.0f} % (best over best {100 * best_share:.0f} %)",
        f">= {100 * reach:g} %",
        (Check("share", share >= reach),),
        f"""**Value and gradient, {name}**: `Objective.at_W`. It is counted as two products of 4 n T d m operations,
        what one would write; it does with little more than half of them, since all that it multiplies is symmetric,
        and what else it does is not counted. {called} is the product of two matrices of size {size} by all cores. The
        values of all methods agree to {apart:.0e}.""",
    )
    return row, lines


def speed(work: float, lap: Laps) -> str:
    return f"{1e-9 * work / lap.median:.0f} ({1e-9 * work / lap.least:.0f})"


def kernels(sizes: Sizes) -> tuple[list[Row], Section]:
    double, single = kernel(np.float64, 0.75, sizes), kernel(np.float32, 0.7, sizes)
    head = ["numbers", "method", "seconds: median (least)", "GFLOP/s: median (best)", "of the product", "over presage"]
    section = Section(
        "Value and gradient",
        f"""{3 * sizes.kernel_rounds} calls of each, in turns. NumPy and PyTorch compute the same, with all cores, as
        one would write it.""",
        [head, *double[1], *single[1]],
    )
    return [double[0], single[0]], section


# ----------------------------------------------------------------------------------------------- scaling


def gradient_step(d: int, n: int, repeats: int = 5) -> Laps:
    """One step of presage's Adam: value, gradient, update."""
    objective = instance(attention_problem(0.25), d, n=n)
    adam, A = ps.Adam(lr=LEARNING_RATE), start(objective, np.random.default_rng(3))
    state = AdamState(np.zeros_like(A), np.zeros_like(A), 0)

    def step() -> None:
        adam.update(A, objective.at_W(A).gradient, state)

    step()
    seconds = []
    with one_blas_thread():
        for _ in range(repeats):
            began = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - began)
    return Laps(tuple(seconds))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Exponent of a power law through the points."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def scaling(sizes: Sizes) -> tuple[Row, Section]:
    """Time of a gradient step over d, at a fixed number of samples and at a fixed alpha."""
    T, lines = 2, [["", "d", "n", "seconds: median (least)", "ns over n T d^2", "GFLOP/s"]]
    exponents = []
    for name, samples in (
        (f"n = {sizes.scaling_n}", lambda d: sizes.scaling_n),
        ("alpha = 0.25", lambda d: d * d // 4),
    ):
        seconds = []
        for d in sizes.scaling_d:
            n = samples(d)
            laps = gradient_step(d, n)
            seconds.append(laps.median)
            unit = n * T * d * d
            lines.append(
                [name, str(d), str(n), str(laps), f"{1e9 * laps.median / unit:.3f}", f"{4e-9 * unit / laps.median:.0f}"]
            )
        exponents.append(slope(sizes.scaling_d, seconds))
    fixed, growing = exponents
    row = Row(
        f"gradient step, n={sizes.scaling_n}, T=2, d = {sizes.scaling_d[0]} ... {sizes.scaling_d[-1]}",
        f"d^{fixed:.2f}",
        "",
        "",
        "exponent <= 2.1",
        (Check("exponent", fixed <= 2.1),),
        f"""**Gradient step**: one step of presage's Adam in float64. The exponent is fitted to the times at fixed n;
        at fixed alpha, where n grows as d^2, it is {growing:.2f}, against 4 by count.""",
    )
    words = "Attention with two tokens and a student as wide as the tokens: the work is 4 n T d^2."
    return row, Section("Time of a gradient step", words, lines)


# ------------------------------------------------------------------------------------------------- large

LARGE = f"""
import json, time
import presage as ps
problem = ps.attention(ps.MarchenkoPastur(0.5), alpha=ALPHA, weight_decay=0.01, noise=0.5, n_tokens=2)
began = time.perf_counter()
e = ps.simulate(problem, d=DIMENSION, seeds=1, trainer=ps.TRAINER(), progress=False)
wall = time.perf_counter() - began
{PEAK_MEMORY}
print(json.dumps(dict(wall=wall, peak=peak, fit=float(e.seconds[0]), passes=int(e.evaluations[0]),
                      loss=float(e.train_loss[0]), test=float(e.test_error[0]), residual=float(e.residual[0]),
                      converged=bool(e.converged[0]))))
"""


def large(trainer: str, sizes: Sizes) -> Row:
    """One seed of many samples through `simulate`, in a process of its own."""
    alpha, d = sizes.large_alpha, sizes.large_d
    n = round(alpha * d * d)
    script = LARGE.replace("ALPHA", repr(alpha)).replace("DIMENSION", repr(d)).replace("TRAINER", trainer)
    work = f"`simulate`, alpha={alpha:g}, d={d}, n={n:,}, one seed, {trainer}"
    asked = trainer == "AMP"
    reach = "<= 5 min; <= 4 GB" if asked else ""
    try:
        found, wall = fresh_process(script, timeout=LARGE_SECONDS)
    except subprocess.TimeoutExpired:
        checks = (Check("time", False), Check("memory", None)) if asked else ()
        return Row(work, f"> {span(LARGE_SECONDS)}, given up", "", "", reach, checks)
    return Row(
        work,
        f"{span(wall)}, peak memory {found['peak'] / 1e9:.2f} GB",
        "",
        "",
        reach,
        (Check("time", wall <= 300.0), Check("memory", found["peak"] <= 4e9)) if asked else (),
        f"""**Large, {trainer}**: wall time of a whole fresh process, from drawing the data to the test error; the
        training alone takes {span(found["fit"])} and {found["passes"]} passes over the data. Loss over d^2
        {found["loss"]:.7f}, test error {found["test"]:.6f}, residual of the certificate {found["residual"]:.0e},
        {"converged" if found["converged"] else "not converged"}.""",
    )


# ---------------------------------------------------------------------------------------------- all cores


def all_cores(sizes: Sizes) -> Row:
    """One matrix without symmetry on all cores beside the same on one, in turns."""
    problem = ps.untied_linear_attention(ps.GaussianProduct(0.5), alpha=1.0, noise=0.1, weight_decay=0.1)
    setting = MatrixSetting(problem, sizes.bilinear_d, ps.ProximalGradient(), 2000)
    calls: dict[str, Callable[[], object]] = {
        "one": lambda: setting.train(0, threads=1),
        "all": lambda: setting.train(0, threads=CORES),
    }
    laps = interleaved(calls, sizes.rounds)
    one, every = laps["one"], laps["all"]
    ratio = one.median / every.median
    return Row(
        f"matrix without symmetry, `simulate` of one seed, d={sizes.bilinear_d}",
        f"{every} on {CORES} cores",
        f"{one} on one",
        f"{times(ratio)} (least over least {times(one.least / every.least)})",
        f"all cores: >= {ALL_CORES * CORES:.2g}x",
        (Check("ratio", ratio >= ALL_CORES * CORES),),
        f"""**Matrix without symmetry**: drawing the data, training by proximal gradient and the test, untied linear
        attention. Threads take parts of the samples and change no digit; drawing and the singular value decomposition
        of each step have one core. What is asked for is {100 * ALL_CORES:g} % of the number of cores.""",
    )


# ------------------------------------------------------------------------------------------------ the run


def warm_up() -> None:
    """Load or compile everything once, on tiny instances."""
    for dtype in (np.float64, np.float32):
        tiny = instance(attention_problem(0.5), 10, dtype=dtype)
        for trainer in (ps.AMP(steps=5), ps.LBFGS(steps=5), ps.Adam(steps=5)):
            train(trainer, tiny)
    tiny = instance(quadratic_problem(), 10)
    for trainer in (ps.ProximalGradient(steps=5), ps.AMP(steps=5), ps.LBFGS(steps=5), ps.Adam(steps=5)):
        train(trainer, tiny)
    if installed("cvxpy"):
        cvxpy_scs(tiny, 1e-3)
    if installed("torch"):
        pytorch_adam(instance(attention_problem(0.5), 10), 0.0, most=5)


def measure(sizes: Sizes) -> tuple[list[Row], list[Section]]:
    """Every row and every table."""
    began, company = time.perf_counter(), Company()

    def say(what: str) -> None:
        passed, others = time.perf_counter() - began, 100.0 * company.share
        print(f"{passed:6.0f} s  {what}  (others so far: {others:.0f} %)", file=sys.stderr, flush=True)

    say("warm-up")
    warm_up()
    rows, sections = [], []
    for alpha, reach in ATTENTION_REACH.items():
        say(f"attention, alpha {alpha:g}")
        row, section = attention(alpha, reach, sizes)
        rows.append(row)
        sections.append(section)
    say("quadratic network")
    row, section = quadratic(sizes)
    rows.append(row)
    sections.append(section)
    say("value and gradient")
    found, section = kernels(sizes)
    rows.extend(found)
    sections.append(section)
    say("scaling")
    row, section = scaling(sizes)
    rows.append(row)
    sections.append(section)
    say("all cores")
    rows.append(all_cores(sizes))
    for trainer in ("AMP", "LBFGS"):
        say(f"large, {trainer}")
        rows.append(large(trainer, sizes))
    return rows, sections


def summary() -> str:
    names = [name for name in ("torch", "cvxpy", "scs") if installed(name)]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return machine(f"{versions}; all cores for every method" if versions else "all cores for every method")


def document(rows: list[Row], sections: list[Section], machine_line: str, seconds: float, others: float) -> str:
    """The page docs/benchmarks-training.md."""
    parts = [
        "# Benchmarks of the training",
        prose(
            """presage beside what one would write with PyTorch (full-batch Adam with autograd, learning rate 0.1,
            float64, from standard Gaussian weights) and with cvxpy (the convex problem in S, solved by SCS), on the
            same data, in one run on one machine."""
        ),
        f"Written by `make bench` on {datetime.date.today().isoformat()}, in {span(seconds)}: run again, do not edit.",
        f"Machine: {machine_line}; other work took {100.0 * others:.0f} % of its cores during the run.",
        prose(
            f"""Times are wall seconds, compiled code loaded before. Training times are medians of three rounds, in
            each of which every method has its turn; of the slow cvxpy there is one. PyTorch has all cores, or one
            where it is quicker with one. "To {NEAR:g}" is the time until the loss, weight decay included, is first
            within {NEAR:g} (relative) of the least that any method found; the excess is what the loss is above that,
            relative. AMP knows the loss of a matrix one iteration late, and is timed by when it knows; its first losses
            are of passes in single precision, good to 1e-6. The ratio is
            the time of PyTorch or cvxpy over that of the method. Attention is two tokens, MP(0.5), noise 0.5, weight
            decay 0.01; the quadratic network is MP(0.2), noise 0.5, weight decay 0.02. Reach is what was asked for,
            met or not by the median."""
        ),
        markdown_table([HEADER, *(row.cells for row in rows)]),
        verdict(rows),
        "## What each row is",
        "\n".join(f"- {prose(row.note)}" for row in rows if row.note),
    ]
    for section in sections:
        parts += [f"## {section.title}", prose(section.words), markdown_table(section.lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes; print, write nothing")
    parser.add_argument("--output", type=Path, help="where to write the page (default: docs/benchmarks-training.md)")
    arguments = parser.parse_args()
    if arguments.quick and arguments.output:
        parser.error("--quick writes nothing: leave --output out")
    if not (installed("torch") and installed("cvxpy")):
        print(prose(HINT), file=sys.stderr)
    began, machine_line, company = time.perf_counter(), summary(), Company()
    rows, sections = measure(QUICK if arguments.quick else Sizes())
    if arguments.quick:  # what is asked for is asked of the full sizes
        rows = [replace(row, reach="", checks=()) for row in rows]
    others = company.share
    print(f"{machine_line}; other work {100.0 * others:.0f} %")
    print(text_table([HEADER, *(row.cells for row in rows)]))
    for section in sections:
        print(f"\n{section.title}\n\n{text_table(section.lines)}")
    if not arguments.quick:
        print("\n" + verdict(rows))
        path = arguments.output or OUTPUT
        write(path, document(rows, sections, machine_line, time.perf_counter() - began, others))
        print(f"\nwritten to {path.name}")


if __name__ == "__main__":
    main()
