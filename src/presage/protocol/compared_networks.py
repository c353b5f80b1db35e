"""Networks that are set beside a prediction: of its problem, of one kind, independent, and enough of them."""

from __future__ import annotations

from typing import Any

from presage.protocol import checks
from presage.protocol.ensemble import Ensemble
from presage.protocol.trajectory import Trajectory


def check_given(ensembles: tuple[Any, ...]) -> None:
    """Complain where nothing is given, or several ensembles as one list."""
    if not ensembles:
        remedy = "Pass simulate(problem, d=100) too."
        raise checks.complaint("ensembles", "be given", "there is nothing to compare with", ensembles, remedy)
    for one in ensembles:
        if isinstance(one, list | tuple) and any(isinstance(inner, Ensemble) for inner in one):
            reason, got = "what is in a list is read as the eigenvalues of a network", f"a list of {len(one)} ensembles"
            remedy = "Write compare(solution, *networks)."
            raise checks.complaint("ensembles", "be given one by one", reason, got, remedy)


def check_networks(prediction: Any, ensembles: tuple[Any, ...]) -> None:
    """Complain about what is no ensemble, about networks of another problem, and about too few of them."""
    for ensemble in ensembles:
        remedy = "Pass simulate(problem, d=100)."
        checks.instance("ensembles", ensemble, Ensemble, reason="they are trained networks", remedy=remedy)
        if ensemble.problem != prediction.problem:
            raise checks.complaint(
                "ensembles",
                "have the problem of the solution",
                f"the prediction is for {prediction.problem}",
                ensemble.problem,
                "Pass the same problem to solve and simulate.",
            )
        done = len(ensemble.seeds) - len(ensemble.failures)
        if done < 2:
            raise checks.complaint(
                "ensembles",
                "have at least two networks each",
                "one network has no standard error",
                f"{done} at d = {ensemble.d}",
                "Use more <seeds>.",
            )
    _one_kind(prediction, ensembles)


def _one_kind(prediction: Any, ensembles: tuple[Ensemble, ...]) -> None:
    """Complain about networks that are not independent, not of one kind, or not what the prediction is for."""
    for ensemble in ensembles:
        if ensemble.unpredicted and not isinstance(prediction, Trajectory):  # which knows its own trainer
            remedy = "Set their numbers beside it by hand, or compare those of another <trainer>."
            raise checks.complaint(
                "ensembles", "be what the prediction is about", ensemble.unpredicted, ensemble.trainer, remedy
            )
        if prediction.minimises != ensemble.trainer.minimises:
            reason = "a posterior mean is no minimum of the loss"
            remedy = "Compare <bayes_optimal()> with message passing for it, and <solve()> with the other trainers."
            raise checks.complaint("ensembles", "be trained for the prediction", reason, ensemble.trainer, remedy)
    kinds = {tuple(ensemble.conditions.items()) for ensemble in ensembles}
    if len(kinds) > 1:
        told = sorted(", ".join(f"{name} {value}" for name, value in kind) for kind in kinds)
        remedy = "Compare them one kind at a time."
        reason = "a mean over different tasks, tokens or centrings means nothing"
        raise checks.complaint("ensembles", "be of one kind", reason, told, remedy)
    networks = [(e.d, seed) for e in ensembles for seed in e.seeds]
    twice = sorted({network for network in networks if networks.count(network) > 1})
    if twice:
        reason = "networks of one seed and dimension have the same data, and counting them twice halves no error"
        remedy = "Use other <seeds>, for example simulate(problem, d=100, seeds=range(8, 16))."
        raise checks.complaint("ensembles", "have different seeds", reason, twice[:3], remedy)


def joined_by_dimension(ensembles: tuple[Ensemble, ...]) -> dict[int, list[Any]]:
    """Ensembles by dimension, increasing: those of one dimension count as one larger ensemble."""
    return {d: [e for e in ensembles if e.d == d] for d in sorted({e.d for e in ensembles})}
