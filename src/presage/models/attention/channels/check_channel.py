"""What is wrong with a channel of one's own, in sentences that say how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.differences import loss_of, loss_terms, writes
from presage.models.attention.channels.numeric_prox import minimise, numeric_prox
from presage.models.attention.channels.traits import BLIND, probes
from presage.models.attention.declaration import MOST_TOKENS
from presage.protocol.report import Report, tried

CLOSE = 1e-4  # relative difference of two ways to compute one thing that is still rounding and differences
RARE = 0.03  # fraction of points that may differ more: a kink of the loss may be near them
SIGMAS = (0.3, 3.0)  # of the proximal maps that are looked at
SAMPLES = 40  # whose proximal maps are compared with a search
SHARP = 1e3  # curvature beside the slope at which a proximal point sits on a kink


def check_channel(channel: Channel) -> Report:
    """Try a channel at random points and say what is wrong with it; never raises for a bad one."""
    with np.errstate(all="ignore"):
        return tried(_name(channel), "channel", channel, CHECKS)


def _name(channel: Any) -> str:
    try:
        return repr(channel)
    except Exception:  # a repr of the user's own
        return type(channel).__name__


def _tokens(channel: Channel) -> Iterator[str]:
    if not isinstance(channel, Channel):
        yield f"it is a {type(channel).__name__}, not a channel: derive the class from presage.Channel."
        return
    count = getattr(channel, "n_tokens", None)
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MOST_TOKENS:
        yield (
            f"n_tokens is {count!r}: it must be the number of tokens of a sample, 1 to {MOST_TOKENS}. "
            "Write for example n_tokens = 2 in the class."
        )


def _outputs(channel: Channel) -> Iterator[str]:
    z_0, z, _ = probes(channel)
    for name, method, points in (("output", channel.output, z), ("target_output", channel.target_output, z_0)):
        yield from _vectorised(name, method, points)


def _vectorised(name: str, method: Callable[[Floats], Floats], points: Floats) -> Iterator[str]:
    """Whether a method gives each sample of a batch what it gives that sample alone, and leaves its input alone."""
    before = points.copy()
    batch = np.asarray(method(points))
    if not np.array_equal(points, before):
        yield f"{name}(z) changes its argument: work on a copy of z."
        return
    if batch.shape[:1] != points.shape[:1]:
        yield (
            f"{name}(z) of {len(points)} samples has the shape {batch.shape}: the first axis must be that of z. "
            "Sum or index the last axes only, for example z[..., 0] and np.sum(..., axis=-1)."
        )
        return
    if not np.array_equal(batch, np.asarray(method(points)), equal_nan=True):
        yield f"{name}(z) is different at each call: random labels belong in `labels` and `likelihood`."
        return
    single = np.stack([np.asarray(method(point)) for point in points[:6]])
    if single.shape != batch[:6].shape or not np.allclose(single, batch[:6], rtol=1e-9, atol=1e-12, equal_nan=True):
        yield (
            f"{name}(z) gives a sample in a batch another value than the sample alone: write it with axes counted "
            "from the end (axis=-1), so that samples do not mix."
        )
        return
    if not np.isfinite(batch).all():
        yield f"{name}(z) is not finite at some z of size {np.abs(points).max():.2g}: write it without overflow."


def _likelihoods(channel: Channel) -> Iterator[str]:
    if channel.labels is None:
        return
    z_0, _, _ = probes(channel)
    each = np.asarray(channel.labels, dtype=np.float64)
    chances = [channel.likelihood(np.broadcast_to(y, (len(z_0), *y.shape)), z_0) for y in each]
    if any(np.shape(chance) != (len(z_0),) for chance in chances):
        yield f"likelihood(label, z_0) of {len(z_0)} samples has the shape {np.shape(chances[0])}: one number a sample."
        return
    total = np.sum(chances, axis=0)
    if np.min(chances) < 0.0:
        yield "likelihood(label, z_0) is negative at some z_0: it is a probability."
    worst = float(np.abs(total - 1.0).max())
    if not worst < 1e-8:
        yield (
            f"the likelihoods of all labels sum to {total[np.abs(total - 1.0).argmax()]:.6g} at some z_0, not to one: "
            "`labels` must hold every label, and likelihood(label, z_0) its probability."
        )


def _losses(channel: Channel) -> Iterator[str]:
    _, z, label = probes(channel)
    output = channel.output(z)
    loss = np.asarray(channel.loss(label, output))
    if loss.shape != (len(z),):
        yield (
            f"loss(label, output) of {len(z)} samples has the shape {loss.shape}: it must be one number a sample. "
            "Sum over the axes of the output, for example axis=(-2, -1) for a matrix."
        )
        return
    single = np.array([float(channel.loss(label[i], output[i])) for i in range(6)])
    if not np.allclose(single, loss[:6], rtol=1e-9, atol=1e-12, equal_nan=True):
        yield "loss(label, output) gives a sample in a batch another value than the sample alone: sum its last axes."
    if not np.isfinite(loss).all():
        yield "the loss is not finite at some z: write it without overflow, for example np.logaddexp(0, -t)."
    far = loss_of(channel, label, 30.0 * z)
    if not np.isfinite(far).all():
        yield "the loss is not finite at large z, where a network may begin: write it without overflow."


def _directions(channel: Channel) -> Iterator[str]:
    basis = np.asarray(channel.active_basis)
    if channel.n_active != basis.shape[1]:
        yield (
            f"n_active is {channel.n_active} and active_basis has {basis.shape[1]} columns: leave n_active out, it is "
            "counted from active_basis."
        )
        return
    if not writes(channel, "active_basis"):
        return
    if basis.shape[:1] != (channel.n_in,) or not np.allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-9):
        yield f"active_basis must have {channel.n_in} rows and orthonormal columns: take the Q of np.linalg.qr."
        return
    _, z, label = probes(channel)
    seen = z @ basis @ basis.T
    here = loss_of(channel, label, z)
    if not np.allclose(loss_of(channel, label, seen), here, rtol=BLIND, atol=BLIND * float(np.abs(here).max())):
        yield "the loss sees a direction that active_basis leaves out: leave active_basis out, it is found numerically."


def _derivatives(channel: Channel) -> Iterator[str]:
    _, z, label = probes(channel)
    everything = np.eye(channel.n_in)
    ours = loss_terms(_Plain(channel), label, z, everything)
    for name, theirs, expected in (
        ("slope", channel.slope, ours.slope),
        ("curvature", channel.curvature, ours.curvature),
    ):
        if not writes(channel, name):
            continue
        given = np.asarray(theirs(label, z))
        if given.shape != expected.shape:
            yield f"{name}(label, z) has the shape {given.shape}, not {expected.shape}: it is a derivative in z."
            continue
        size = np.abs(expected).reshape(len(z), -1).max(axis=1)
        off = np.abs(given - expected).reshape(len(z), -1).max(axis=1) > CLOSE * (size + size.mean())
        if off.mean() > RARE:
            at = int(np.flatnonzero(off)[0])
            yield (
                f"{name}(label, z) is not the derivative of the loss at {100 * off.mean():.0f} % of the points: at "
                f"z = {np.array2string(z[at], precision=3)} it is {np.array2string(given[at], precision=4)}, and "
                f"differences of the loss give {np.array2string(expected[at], precision=4)}. Mend it, or leave it out."
            )


class _Plain(Channel):
    """A channel's output and loss without the derivatives that it writes itself."""

    def __init__(self, channel: Channel) -> None:
        self.n_tokens = channel.n_tokens
        self.output = channel.output  # type: ignore[method-assign]
        self.loss = channel.loss  # type: ignore[method-assign]

    def output(self, z: Any) -> Floats:
        raise NotImplementedError


def _proxes(channel: Channel) -> Iterator[str]:
    """Compare the proximal map with Newton from many scattered starts."""
    z_0, z, label = (array[-SAMPLES:] for array in probes(channel))
    basis = channel.active_basis
    rng = np.random.default_rng(22)
    for Sigma in SIGMAS:

        def value(p: Floats, Sigma: float = Sigma) -> Floats:
            return np.asarray(0.5 * np.sum((p - z) ** 2, axis=-1) + Sigma * loss_of(channel, label, p))

        if channel.labels is None:
            p = channel.prox(z_0, z, Sigma)
        else:
            p = z + Sigma * numeric_prox(channel, label, z, Sigma)[0]
        if np.shape(p) != z.shape or not np.isfinite(p).all():
            yield f"prox(z_0, z, Sigma) must be finite and have the shape of z, {z.shape}. Or leave it out."
            return
        spread = 1.5 * rng.standard_normal((12, SAMPLES, basis.shape[1]))
        starts = [z @ basis + move for move in spread] + [z_0 @ basis]
        found = minimise(channel, label, z @ basis, Sigma, starts)
        lowest = value(z + (found.p - z @ basis) @ basis.T)
        bend = np.abs(found.terms.curvature).max(axis=(-2, -1))
        if np.mean(bend > SHARP * np.abs(found.terms.slope).max()) > RARE:
            yield (
                "the loss has a kink where its slope jumps, and proximal points sit on it: round it off, as the Huber "
                "loss does with an absolute value."
            )
            return
        missed = value(p) > lowest + 1e-6 * (1.0 + np.abs(lowest))
        if missed.mean() > RARE:
            yield (
                f"the proximal map misses the lowest minimum for {100 * missed.mean():.0f} % of the samples at Sigma = "
                f"{Sigma:g}: "
                + (
                    "the prox of the class is wrong; leave it out."
                    if writes(channel, "prox")
                    else "the loss has many narrow basins, and predictions will be rough."
                )
            )
            return


CHECKS: dict[str, Callable[[Channel], Iterator[str]]] = {
    "n_tokens": _tokens,
    "output and target_output": _outputs,
    "likelihood": _likelihoods,
    "loss": _losses,
    "slope and curvature": _derivatives,
    "active directions": _directions,
    "proximal map": _proxes,
}
