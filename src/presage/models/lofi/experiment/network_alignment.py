"""An ordinary network beside the selection: what its second layer learns, step by step, with PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from presage.models.lofi.experiment.lifts import QuadraticLift
from presage.models.lofi.experiment.signal_matrix import Reading, signal_matrix
from presage.models.lofi.experiment.true_inputs import explained, quadratic_forms, true_inputs
from presage.models.lofi.links import FeatureLink
from presage.protocol import checks
from presage.protocol.ensemble import Floats
from presage.protocol.extras import must_be_installed

HIDDEN = (512, 64)
RATE, BATCH, LAST = 2e-3, 256, 0.1  # of Adam, samples of a step, and by how much the last layer begins smaller
COMPONENTS = 8  # of the change of the second layer, that are looked at
UNSELECTED = slice(40, 100)  # ranks of directions that are not selected
LEAST = 14  # dimensions of which there are as many products
STEPS = (160, 320, 640, 960, 1280)


@final
@dataclass(frozen=True, eq=False)
class NetworkAlignment:
    """R^2 in a regression on what changed most in the second layer, after some steps of training."""

    steps: tuple[int, ...]
    selected: Floats = field(repr=False)  # of the directions that the signal matrix selects
    unselected: Floats = field(repr=False)  # of directions of the same matrix with small eigenvalues
    features: Floats = field(repr=False)  # of the features themselves
    test_error: Floats = field(repr=False)  # of the network, over the variance of the labels

    def __str__(self) -> str:
        rows = zip(self.steps, self.selected, self.unselected, self.features, self.test_error, strict=True)
        return "\n".join(
            f"step {step:<5} selected {s:.3f}  not selected {u:.3f}  features {h:.3f}  test error {e:.3f}"
            for step, s, u, h, e in rows
        )


def network_alignment(
    link: FeatureLink,
    *,
    d: int = 16,
    n: int = 16_000,
    n_test: int = 4000,
    steps: Sequence[int] = STEPS,
    seed: int = 0,
) -> NetworkAlignment:
    """Train a ReLU network d-512-64-1 with Adam, and see which directions of the inputs' products it learns.

    What changed of the second layer's inputs to its units on fresh samples is put into eight principal components.
    Regressions on these tell how much of a direction the network has learned.

    Args:
        link: the labels, of quadratic forms of the inputs as features.
        d: dimension of the inputs, of which there are at least 100 products.
        n: training samples.
        n_test: fresh samples.
        steps: after which steps it is looked at the network.
        seed: of all random numbers.
    """
    must_be_installed("network_alignment", link, "torch", "torch", "networks are trained with PyTorch")
    import torch

    remedy = "Use for example <steps=(160, 640)>."
    reason = "it is looked at the network after these steps"
    times = tuple(checks.integer("steps", one, at_least=1, reason=reason, remedy=remedy) for one in steps)
    if not times or list(times) != sorted(set(times)):
        raise checks.complaint("steps", "be increasing numbers, at least one", reason, steps, remedy)
    reason, remedy = "regressions are fitted to so many fresh samples", "Use for example <n_test=4000>."
    n_test = checks.integer("n_test", n_test, at_least=200, reason=reason, remedy=remedy)
    reason = f"directions of ranks {UNSELECTED.start} to {UNSELECTED.stop} among the d(d+1)/2 products are not selected"
    d = checks.integer("d", d, at_least=LEAST, reason=reason, remedy="Use for example <d=16>.")
    data = true_inputs(link, d=d, n=n, seed=seed)
    rng = np.random.default_rng([seed, 2])
    fresh = rng.standard_normal((n_test, d))
    h = quadratic_forms(fresh, data.forms)
    y, y_test = data.y - data.y.mean(), link(h) - data.y.mean()
    selected, unselected = _directions(data.x, y, fresh, link.features)
    with torch.random.fork_rng(devices=[]):  # so that random numbers of others stay as they are
        torch.manual_seed(seed)
        layers = [torch.nn.Linear(*shape) for shape in ((d, HIDDEN[0]), HIDDEN, (HIDDEN[1], 1))]
    with torch.no_grad():
        layers[-1].weight.mul_(LAST)
        layers[-1].bias.mul_(LAST)
    network = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    x, labels = torch.tensor(data.x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    test = torch.tensor(fresh, dtype=torch.float32)

    def inner() -> Floats:
        with torch.no_grad():
            return np.asarray(network[:3](test).numpy(), dtype=np.float64)

    before, rows = inner(), []
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    for step in range(1, times[-1] + 1):
        batch = torch.from_numpy(rng.integers(0, n, BATCH))
        optimiser.zero_grad()
        loss = torch.mean((network(x[batch])[:, 0] - labels[batch]) ** 2)
        loss.backward()
        optimiser.step()
        if step in times:
            change = inner() - before
            change -= change.mean(axis=0)
            components = np.linalg.svd(change, full_matrices=False)[0][:, :COMPONENTS]
            with torch.no_grad():
                error = np.mean((network(test)[:, 0].numpy() - y_test) ** 2) / np.var(y_test)
            rows.append([float(np.mean(explained(one, components))) for one in (selected, unselected, h)] + [error])
    columns = np.array(rows, dtype=np.float64).T
    return NetworkAlignment(times, *columns)


def _directions(x: Floats, y: Floats, fresh: Floats, count: int) -> Any:
    """Values on fresh samples of the leading eigenvectors of the signal matrix, and of some with small eigenvalues."""
    lift = QuadraticLift(x)
    values, vectors = np.linalg.eigh(signal_matrix(lift, x, y, Reading()).C)
    order = np.argsort(-np.abs(values), kind="stable")
    rows = lift.rows(fresh)
    return rows @ vectors[:, order[:count]], rows @ vectors[:, order[UNSELECTED]]
