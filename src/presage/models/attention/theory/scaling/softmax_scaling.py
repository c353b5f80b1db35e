"""What `scaling` reports of softmax attention: the error that has a law, and the floors that have none."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

from presage.laws.power_law import PowerLaw
from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory.scaling.softmax_map import (
    EffectiveNetwork,
    WellSampled,
    clean_noise,
    cutoff,
    effective_network,
    r_prime,
    ridgeless_alpha,
    well_sampled,
)
from presage.models.attention.theory.solution import Solution
from presage.models.attention.theory.solve import solve
from presage.protocol import checks

FACTOR = 3.0  # by which samples and weight decay are turned either way for a local exponent
CLOSE = 0.1  # how far noise level and cutoff may be off those of many samples, relative


class SoftmaxScaling(NamedTuple):
    """What `scaling` reports of softmax attention beside the law of its quadratic network."""

    R_prime: float  # |S/scale - S_0|^2/d, which has the laws of a quadratic network
    test_error_above_floor: float
    scale: float  # of the solution
    scale_floor: float  # to which it tends: s
    test_floor: float
    estimation_floor: float
    effective: EffectiveNetwork  # of many samples
    ridgeless_alpha: float  # samples of the quadratic network in the limit of vanishing weight decay
    well_sampled: bool  # whether noise level and cutoff are within a tenth of those of many samples
    noise_ratio: float  # 2 alpha delta^2/V, with clean labels 2 alpha delta^2/(V_1 R'): one with many samples
    cutoff_ratio: float  # c alpha M/lambda~: likewise
    local_exponents: dict[str, dict[str, float]]  # of R_prime and test_error_above_floor, in n and weight_decay
    bars: dict[str, float]
    notes: tuple[str, ...]


def softmax_scaling(problem: Problem, solution: Solution, *, factor: float | None = FACTOR) -> SoftmaxScaling:
    """What to report of softmax attention with a power-law target: R', the floors, the quadratic network that it is.

    `solution` is that of the problem. `factor` is by how much samples and weight decay are turned either way for the
    local exponents; None leaves them out, which saves four solves.
    """
    checks.instance(
        "channel",
        problem.channel,
        Softmax,
        reason="the map is that of a softmax",
        remedy="Quadratic networks and linear attention need none.",
    )
    checks.instance(
        "penalty",
        problem.penalty,
        NuclearPSD,
        reason="the laws are those of weight decay on the factors, which cuts small eigenvalues",
        remedy="Use NuclearPSD(weight_decay).",
    )
    channel: Any = problem.channel
    penalty: Any = problem.penalty
    found = well_sampled(channel, problem.Q_0, problem.noise)
    problem.must_have_a_penalty()
    lambda_tilde = penalty.lambda_tilde(problem.kappa)
    R_prime = r_prime(solution)
    noise = found.V if problem.noise > 0.0 else clean_noise(channel, problem.Q_0) * R_prime
    noise_ratio = 2.0 * problem.alpha * solution.delta**2 / noise
    cutoff_ratio = solution.cutoff / cutoff(found, problem.alpha, lambda_tilde)
    many = max(abs(noise_ratio - 1.0), abs(cutoff_ratio - 1.0)) < CLOSE
    around = {} if factor is None else _local_exponents(problem, solution, found, factor)
    return SoftmaxScaling(
        R_prime=R_prime,
        test_error_above_floor=solution.test_error - found.test_floor,
        scale=solution.scale,
        scale_floor=found.scale,
        test_floor=found.test_floor,
        estimation_floor=found.estimation_floor,
        effective=effective_network(found, problem.alpha),
        ridgeless_alpha=ridgeless_alpha(channel, problem.alpha),
        well_sampled=many,
        noise_ratio=noise_ratio,
        cutoff_ratio=cutoff_ratio,
        local_exponents=around,
        bars=_bars(solution, found),
        notes=_notes(found, problem.target, many=many),
    )


def _local_exponents(
    problem: Problem, solution: Solution, found: WellSampled, factor: float
) -> dict[str, dict[str, float]]:
    """Slopes of R' and of the test error above its floor, over a factor either side, where both ends are positive."""
    exponents: dict[str, dict[str, float]] = {"R_prime": {}, "test_error_above_floor": {}}
    for name, field in (("n", "alpha"), ("weight_decay", "weight_decay")):
        value = problem.alpha if field == "alpha" else problem.penalty.scaling
        ends = [solve(problem.replace(**{field: value * f}), init=solution) for f in (factor, 1.0 / factor)]
        for what, numbers in (
            ("R_prime", [r_prime(end) for end in ends]),
            ("test_error_above_floor", [end.test_error - found.test_floor for end in ends]),
        ):
            if min(numbers) > 0.0:
                exponents[what][name] = log(numbers[0] / numbers[1]) / (2.0 * log(factor))
    return exponents


def _bars(solution: Solution, found: WellSampled) -> dict[str, float]:
    """How far the numbers may be off: those of the floors, and of the solution."""
    scale, bars = solution.scale, solution.error_bars
    shift = abs(-2.0 * solution.q / scale**3 + 2.0 * solution.m / scale**2) * bars["scale"]
    return {
        "R_prime": bars["q"] / scale**2 + 2.0 * bars["m"] / scale + shift,
        "test_error_above_floor": bars["test_error"] + found.bars["test_floor"],
        "scale": bars["scale"],
        "scale_floor": found.bars["scale"],
        "test_floor": found.bars["test_floor"],
        "estimation_floor": found.bars["estimation_floor"],
    }


def _notes(found: WellSampled, target: SpectralLaw, *, many: bool) -> tuple[str, ...]:
    """What has a law and what has none, in words."""
    said = [
        "the estimation error has no scaling law: it tends to (1 - s)^2 Q_0 = "
        f"{found.estimation_floor:.4g}, since the learned matrix tends to s = {found.scale:.4g} times the target; R' "
        f"and the test error above its floor of {found.test_floor:.4g} have one."
    ]
    if isinstance(target, PowerLaw):
        share = float(target.atoms.positions[-1] ** 2) / (target.d * target.second_moment)
        said.append(
            f"the first eigenvalue alone makes {share:.0%} of the target at any d: scores of trained networks are not "
            "Gaussian as the theory has them, and their floor of the test error is another one."
        )
    if not many:
        said.append(
            "there are not many samples yet: noise level and cutoff are not those of the effective quadratic network, "
            "and laws hold in terms of noise level and cutoff, not of samples and weight decay."
        )
    return tuple(said)
