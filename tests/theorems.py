"""What holds of every solution, whatever the problem: each function returns the sentences that are broken.

Numbers carry error bars, half widths of a 95 % interval: three of them are allowed, and the rounding of a sum of terms
of the size of what is compared. The minimum of a loss obeys more than its numbers alone: it is below the loss of any
matrix that the student could have learned, and it is squeezed between its neighbours in alpha and in the penalty. These
are theorems of the minimum, and checked where the prediction claims to be one: a student wide enough for its rank, and
for the neighbours a replicon below one.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isfinite, isnan, sqrt
from typing import Any, NamedTuple

import numpy as np

import presage as ps
from presage.laws.spectral_law import Floats

NUMBERS = ("test_error", "train_error", "train_loss", "estimation_error", "rank")
ROUNDING = 1e-8
BARS = 3.0
SAMPLES = 8192
MORE_DATA, MORE_PENALTY = 1.2, 1.3


def exceeds(left: float, right: float, slack: float) -> bool:
    """Whether ``left <= right`` fails by more than the slack and rounding (and it fails for a nan)."""
    return not left <= right + slack + ROUNDING * (abs(left) + abs(right)) + 1e-300


class Trial(NamedTuple):
    """The loss of a sample at a matrix that was not learned: its mean and how well that is known."""

    mean: float
    slack: float


def _sampled(values: Floats) -> Trial:
    return Trial(float(values.mean()), 6.0 * float(values.std()) / sqrt(len(values)))


def _samples(problem: ps.Problem) -> tuple[Floats, Floats, Floats]:
    """Pre-activations of the target without noise, and two draws of the noise in them."""
    rng = np.random.default_rng(1)
    clean, first, second = rng.standard_normal((3, SAMPLES, problem.channel.n_in))
    return sqrt(problem.Q_0) * clean, sqrt(0.5 * problem.noise) * first, sqrt(0.5 * problem.noise) * second


def loss_at_multiple(problem: ps.Problem, factor: float) -> Trial:
    """Expected loss of a sample at ``S = factor S_0``."""
    if isinstance(problem.channel, ps.Linear):
        spread = (1.0 - factor) ** 2 * problem.Q_0 + 0.5 * problem.noise
        return Trial(2.0 * problem.channel.n_in * spread, 0.0)
    clean, noise, _ = _samples(problem)
    return _sampled(problem.channel.loss_at(clean + noise, factor * clean))


def penalty_at_multiple(problem: ps.Problem, factor: float) -> float:
    """What is paid for ``S = factor S_0``, or more: ``E |x| <= sqrt(Q_0)``."""
    penalty = problem.penalty
    if isinstance(penalty, ps.NuclearPSD):
        return penalty.lambda_tilde(problem.kappa) * factor * problem.target.mean
    if isinstance(penalty, ps.Frobenius):
        return penalty.ridge * factor**2 * problem.Q_0
    assert isinstance(penalty, ps.ElasticSpectral)
    return penalty.nuclear * factor * sqrt(problem.Q_0) + penalty.ridge * factor**2 * problem.Q_0


def noise_floor(problem: ps.Problem) -> Trial:
    """Expected loss on a fresh sample that no learner goes below, since it cannot know the noise of the label."""
    channel = problem.channel
    if isinstance(channel, ps.Linear):
        return Trial(channel.n_in * problem.noise, 0.0)
    clean, noise, other = _samples(problem)
    if isinstance(channel, ps.Softmax):  # the variance of the label given the clean pre-activation
        return _sampled(0.5 * channel.loss(channel.target_output(clean + noise), channel.target_output(clean + other)))
    if isinstance(channel, ps.Huber):  # convex, and the noise is symmetric: best is the clean label
        return _sampled(channel.loss_at(noise, np.zeros_like(noise)))
    assert isinstance(channel, ps.PairComparison)  # the entropy of the label, even to one who knows the noise
    logit = channel.target_output(clean + noise)
    chance = 1.0 / (1.0 + np.exp(-np.abs(logit)))
    return _sampled(-chance * np.log(chance) + (1.0 - chance) * (np.abs(logit) - np.log(chance)))


def wide(solution: ps.Solution) -> bool:
    """Whether the student is as wide as the rank that it asks for: otherwise the prediction is a heuristic."""
    return not isinstance(solution.problem.penalty, ps.NuclearPSD) or solution.problem.kappa >= solution.wide_rank


def convex(problem: ps.Problem) -> bool:
    return isinstance(problem.channel, ps.Linear | ps.Huber | ps.PairComparison)


def broken_numbers(solution: ps.Solution | ps.BilinearSolution) -> Iterator[str]:
    """Finite numbers in their ranges, with error bars; caveats and the printed form in words."""
    for name in NUMBERS:
        if not isfinite(getattr(solution, name)):
            yield f"{name} is {getattr(solution, name)}"
        elif exceeds(0.0, getattr(solution, name), BARS * solution.error_bars[name]):
            yield f"{name} = {getattr(solution, name):.6g} is below zero"
    for name, bar in solution.error_bars.items():
        no_number = name in ("scale", "cutoff") and isnan(getattr(solution, name))
        infinite = name == "replicon" and getattr(solution, name) == inf
        if not (no_number or infinite or (isfinite(bar) and bar >= 0.0)):
            yield f"the error bar of {name} is {bar}"
    if solution.delta is not None and (not isfinite(solution.delta) or solution.delta < 0.0):
        yield f"delta is {solution.delta}"
    if not all(len(caveat.split()) > 1 and caveat.endswith(".") for caveat in solution.caveats):
        yield f"a caveat is no sentence: {solution.caveats}"
    if exceeds(solution.train_error, solution.test_error, 0.0):  # the proximal step lowers the loss of each sample
        yield f"train_error = {solution.train_error:.6g} is above test_error = {solution.test_error:.6g}"
    if str(solution).count("+-") < len(NUMBERS):
        yield "the printed form leaves out a number"


def broken_overlaps(solution: ps.Solution) -> Iterator[str]:
    """Overlaps are those of two matrices, and the penalty is what stationarity under a common factor makes it."""
    problem, bars = solution.problem, solution.error_bars
    m, q, Sigma = solution.overlaps
    m_hat, q_hat, Sigma_hat = solution.conjugates
    Q_0 = problem.Q_0
    most = min(1.0, problem.kappa) if isinstance(problem.penalty, ps.NuclearPSD) else 1.0
    if exceeds(solution.rank, most, 0.0):
        yield f"rank = {solution.rank:.8g} is above {most:g}"
    if exceeds(0.0, q, 0.0) or exceeds(0.0, Sigma, 0.0) or min(solution.conjugates) < 0.0:
        yield f"negative: {solution.overlaps}, {solution.conjugates}"
    # m is a difference of integrals of this size, and all that is left of it for a target that is zero is rounding.
    lost = ROUNDING * (q_hat * Sigma + Sigma_hat * q) / m_hat
    if exceeds(abs(m), sqrt(q * Q_0), lost):
        yield f"|m| = {abs(m):.8g} is above sqrt(q Q_0) = {sqrt(q * Q_0):.8g}"
    if problem.target.support[0, 0] >= 0.0 and exceeds(0.0, m, lost):
        yield f"m = {m:.6g} is negative for two positive matrices"
    distance = Q_0 - 2.0 * m + q
    if abs(distance - solution.estimation_error) > 1e-7 * (Q_0 + abs(m) + q):
        yield f"estimation_error = {solution.estimation_error:.8g}, but Q_0 - 2m + q = {distance:.8g}"
    paid = solution.train_loss - problem.alpha * solution.train_error
    if exceeds(0.0, paid, ROUNDING * solution.train_loss):
        yield f"the penalty is {paid:.6g}, negative"
    degree = {ps.NuclearPSD: 1.0, ps.Frobenius: 2.0}.get(type(problem.penalty))
    along = 0.5 * (m_hat * m + q_hat * Sigma - Sigma_hat * q)
    size = abs(m_hat * m) + abs(q_hat * Sigma) + abs(Sigma_hat * q) + solution.train_loss
    if degree and wide(solution) and abs(degree * paid - along) > 1e-6 * size:
        yield f"stationary under a common factor would need a penalty of {along / degree:.8g}, not {paid:.8g}"
    if not solution.replicon >= 0.0:
        yield f"replicon = {solution.replicon} is negative"
    if convex(problem) and wide(solution) and exceeds(solution.replicon, 1.0, BARS * bars["replicon"] + 1e-6):
        yield f"replicon = {solution.replicon:.6g} is above one for a convex loss"


def broken_spectrum(solution: ps.Solution) -> Iterator[str]:
    """The learned spectrum has mass one, second moment q, and the rank in its bulks."""
    spectrum, q = solution.spectrum, solution.overlaps.q
    top = float(spectrum.support[-1, 1])
    if abs(float(spectrum.cdf(top)) - 1.0) > 1e-6 or float(spectrum.cdf(float(spectrum.support[0, 0]) - 1.0)) > 1e-6:
        yield "the spectrum has not mass one"
    if solution.problem.penalty.lowest == 0.0 and abs(1.0 - float(spectrum.cdf(0.0)) - solution.rank) > 1e-6:
        yield f"the spectrum has mass {1.0 - float(spectrum.cdf(0.0)):.8g} above zero, the rank is {solution.rank:.8g}"
    second = spectrum.moment(2)
    if abs(second - q) > 1e-5 * (q + second) + BARS * solution.error_bars["q"]:
        yield f"the second moment of the spectrum is {second:.8g}, q is {q:.8g}"
    masses = [bulk.mass for bulk in solution.bulks]
    if min(masses, default=0.0) < -1e-7 or any(bulk.right < bulk.left for bulk in solution.bulks):
        yield f"a bulk is not one: {solution.bulks}"
    missing = solution.rank - sum(masses)
    if missing < -1e-6 or (missing > 1e-6 and not len(solution.outliers)):
        yield f"the bulks hold {sum(masses):.8g}, the rank is {solution.rank:.8g}"


def broken_bounds(solution: ps.Solution) -> Iterator[str]:
    """No learner beats the noise of the labels; the minimum is below what other matrices reach."""
    problem, bars = solution.problem, solution.error_bars
    floor = noise_floor(problem)
    if exceeds(floor.mean, solution.test_error, floor.slack + BARS * bars["test_error"]):
        yield f"test_error = {solution.test_error:.6g} is below the noise of the labels, {floor.mean:.6g}"
    if not wide(solution):
        return
    learnable = problem.penalty.lowest < 0.0 or problem.target.support[0, 0] >= 0.0
    learnable &= not isinstance(problem.penalty, ps.NuclearPSD) or problem.target.nonzero <= problem.kappa
    ratio = getattr(problem.channel, "beta_ratio", 1.0)
    for factor in (0.0, 0.5 * ratio, ratio) if learnable else (0.0,):
        trial = loss_at_multiple(problem, factor)
        most = problem.alpha * trial.mean + penalty_at_multiple(problem, factor)
        if exceeds(solution.train_loss, most, problem.alpha * trial.slack + BARS * bars["train_loss"]):
            yield f"train_loss = {solution.train_loss:.6g} is above {most:.6g}, the loss at {factor:g} times the target"


def broken_bilinear(solution: ps.BilinearSolution) -> Iterator[str]:
    """The same for a matrix without symmetry, where everything is convex and known in closed form."""
    problem, bars, noise = solution.problem, solution.error_bars, solution.problem.noise
    target, alpha, decay = problem.target, problem.alpha_eff, problem.weight_decay
    assert decay is not None
    if exceeds(solution.rank, 1.0, 0.0):
        yield f"rank = {solution.rank:.8g} is above one"
    if exceeds(problem.components * noise, solution.test_error, BARS * bars["test_error"]):
        yield f"test_error = {solution.test_error:.6g} is below the noise of the labels"
    positions, masses = target.squared.atoms
    mean = float(masses @ np.sqrt(positions)) if len(positions) and abs(masses.sum() - 1.0) < 1e-9 else None
    # E s <= sqrt(E s^2) where the mean singular value is not at hand; E s^2 = sqrt(aspect) Q_0.
    mean = sqrt(sqrt(target.aspect) * problem.Q_0) if mean is None else mean
    for factor in (0.0, 0.5, 1.0):
        most = alpha * ((1.0 - factor) ** 2 * problem.Q_0 + noise) + 2.0 * decay * factor * mean / sqrt(target.aspect)
        if exceeds(solution.train_loss, most, BARS * bars["train_loss"]):
            yield f"train_loss = {solution.train_loss:.6g} is above {most:.6g}, the loss at {factor:g} times the target"
    paid = solution.train_loss - problem.alpha * solution.train_error
    if exceeds(0.0, paid, ROUNDING * solution.train_loss):
        yield f"the penalty is {paid:.6g}, negative"
    if solution.delta:
        spectrum = solution.spectrum
        if abs(1.0 - spectrum.cdf(0.0) - solution.rank) > 1e-6:
            yield f"the spectrum has mass {1.0 - spectrum.cdf(0.0):.8g} above zero, the rank is {solution.rank:.8g}"
        first = 2.0 * decay * spectrum.moment(1) / sqrt(target.aspect)
        if abs(first - paid) > 1e-6 * (solution.train_loss + paid):
            yield f"the spectrum pays {first:.8g}, the loss says {paid:.8g}"


def broken(solution: ps.Solution | ps.BilinearSolution) -> list[str]:
    """Everything that one solution breaks."""
    if isinstance(solution, ps.BilinearSolution):
        return [*broken_numbers(solution), *broken_bilinear(solution)]
    found = [*broken_numbers(solution), *broken_overlaps(solution)]
    return found or [*broken_spectrum(solution), *broken_bounds(solution)]


def settled(solution: ps.Solution | ps.BilinearSolution) -> bool:
    """Whether the prediction claims to be the minimum."""
    return isinstance(solution, ps.BilinearSolution) or (wide(solution) and solution.replicon < 1.0)


def price(problem: Any) -> str | None:
    """The name of the one number that multiplies the penalty."""
    if isinstance(problem, ps.BilinearProblem) or isinstance(problem.penalty, ps.NuclearPSD):
        return "weight_decay"
    return "ridge" if isinstance(problem.penalty, ps.Frobenius) else None


def strength(problem: Any, name: str) -> float:
    return float(getattr(problem if isinstance(problem, ps.BilinearProblem) else problem.penalty, name))


def neighbours(problem: Any) -> dict[str, Any]:
    """The problem with more data, and with a stronger penalty."""
    found = {"alpha": problem.replace(alpha=MORE_DATA * problem.alpha)}
    name = price(problem)
    if name is not None and strength(problem, name) > 0.0:
        found[name] = problem.replace(**{name: MORE_PENALTY * strength(problem, name)})
    return found


def broken_between(solution: Any, name: str, other: Any) -> list[str]:
    """The minimum L between a problem and its neighbour.

    New samples at the old minimum cost the test error, at the new one the training error:
    ``(a' - a) train_error(a') <= L(a') - L(a) <= (a' - a) test_error(a)``. And likewise L is concave in the price of
    the weights, with what is paid a unit as its slope.
    """
    if not (settled(solution) and settled(other)):
        return []
    rise = other.train_loss - solution.train_loss
    slack = BARS * (other.error_bars["train_loss"] + solution.error_bars["train_loss"])
    if name == "alpha":
        step = other.problem.alpha - solution.problem.alpha
        low, high = step * other.train_error, step * solution.test_error
        slack += BARS * step * (other.error_bars["train_error"] + solution.error_bars["test_error"])
    else:
        before, after = (s.train_loss - s.problem.alpha * s.train_error for s in (solution, other))
        low, high = (1.0 - 1.0 / MORE_PENALTY) * after, (MORE_PENALTY - 1.0) * before
        slack += sum(BARS * s.problem.alpha * s.error_bars["train_error"] for s in (solution, other))
    slack += ROUNDING * (other.train_loss + solution.train_loss)
    if exceeds(low, rise, slack) or exceeds(rise, high, slack):
        return [f"train_loss rises by {rise:.8g} with {name}, outside of {low:.8g} to {high:.8g}"]
    return []
