"""Any result as a picture, in a line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from presage.checkpoints.head_report import HeadReport
from presage.checkpoints.weights_report import WeightsReport
from presage.plots.comparison import row_panel
from presage.plots.elsewhere import elsewhere_panel
from presage.plots.features import compared_panels, feature_panels
from presage.plots.learned import Learned, learned_by
from presage.plots.networks import histogram_panel, seeds_panel
from presage.plots.panel import Panel, drawn_into, drawn_on, given_axes, look, size
from presage.plots.recovery import recovery_panels
from presage.plots.scaling import scaling_panel
from presage.plots.spectrum import spectrum_panel
from presage.plots.spectrum_type import spectrum_type_panels
from presage.plots.table import table_panels
from presage.plots.thresholds import thresholds_panel
from presage.plots.trajectory import compared_panels as followed_panels
from presage.plots.trajectory import trajectory_panels
from presage.plots.values import Value, values_panel
from presage.plots.weights import head_panels, weights_panels
from presage.protocol import checks
from presage.protocol.columns import Columns
from presage.protocol.comparison import Comparison
from presage.protocol.ensemble import Ensemble
from presage.protocol.feature_comparison import FeatureComparison
from presage.protocol.feature_table import FeatureTable
from presage.protocol.observables import Observable, by_name
from presage.protocol.prediction import Result, SampleSizes
from presage.protocol.problem import LearningProblem
from presage.protocol.recovery import Recovery
from presage.protocol.scaling import Scaling
from presage.protocol.tabulated import is_optimum
from presage.protocol.trained_elsewhere import TrainedElsewhere
from presage.protocol.trajectory import Trajectory
from presage.protocol.trajectory_comparison import TrajectoryComparison
from presage.spectra.ensemble_type import EnsembleType
from presage.spectra.spectrum_type import SpectrumType

SPECTRUM = "spectrum"  # what `show` calls the law of what is learned


def plot(result: Any, *, ax: Any = None, show: str | Sequence[str] | None = None) -> Any:
    """Draw a result: what it is decides how, and its declarations say what the axes are called.

    A prediction is drawn as the spectrum that is learned, with the target behind it, or as its numbers where it has no
    spectrum; an optimum likewise, at its best strength; thresholds as marks along the number of samples; trained
    networks as a histogram; a comparison as one panel an observable, trained means against 1/d beside the prediction;
    a scaling law as the exact error against the number of samples among the laws of its phases;
    networks trained elsewhere as a histogram over the predicted law, with the outliers marked; the type of a spectrum
    as a histogram with the fitted bulk and, beside it, the tail that was fitted;
    sequential recovery as the features against the samples and the staircase of their number; the features of a target
    as what is learned along each and its error, with the networks where they were compared; a trajectory as its
    observables against the steps of the training, with the networks where they were compared; the heads of a file of
    weights as a map and their spectra, one head as its singular values beside those of random heads;
    the table of a sweep as curves with error bands, or as a map over two grids of numbers; a law as its density.

    Args:
        result: what `solve`, `simulate`, `compare`, `sweep`, `thresholds` or another verb returned, or a law.
        ax: matplotlib axes to draw into, as many as there are panels; by default a new figure of pyplot.
        show: the names of observables to draw instead, one panel each where they are drawn apart; `"spectrum"` is the
            law of what is learned.

    Returns:
        The axes; an array of them where there are several panels.
    """
    panels = panels_of(result, _names(show))
    if ax is not None:
        axes: Any = given_axes(ax, panels)
        drawn_into(axes, panels)
    else:
        import matplotlib.pyplot as plt

        _, _, width, height = size(panels)
        # Outside of `look`: the first figure chooses the backend, and what that of a notebook sets has to stay.
        figure = plt.figure(figsize=(width, height), layout="constrained")
        try:
            with look():
                axes = drawn_on(figure, panels)
        except BaseException:  # no empty figure is left behind to be shown by whoever shows the next one
            plt.close(figure)
            raise
    return axes[0] if len(panels) == 1 else np.array(axes, dtype=object)


def panels_of(result: Any, show: Sequence[str] = ()) -> list[Panel]:
    """The panels of any result; refuse what cannot be drawn with a sentence."""
    if isinstance(result, type):
        raise _not_drawn(result)
    if isinstance(result, Comparison):
        return _of_comparison(result, show)
    if isinstance(result, Columns):
        return _of_columns(result, show)
    if isinstance(result, Ensemble):
        return _of_networks(result, show)
    if isinstance(result, TrainedElsewhere):
        _chosen((), show, (SPECTRUM,))
        return [elsewhere_panel(result, Learned.of(result.solution))]
    if isinstance(result, SampleSizes):
        return [thresholds_panel(result, _chosen(result.observables, show) or result.observables)]
    if isinstance(result, SpectrumType | EnsembleType):
        return _of_type(result, show)
    if isinstance(result, WeightsReport | HeadReport):
        return _of_weights(result, show)
    if isinstance(result, Scaling):
        return _of_scaling(result, show)
    if isinstance(result, Result):
        return [_of_prediction(result, show)]
    if is_optimum(result):
        title = f"{result.name.replace('_', ' ')} of least error: {result.value:.4g}"
        return [_of_prediction(result.solution, show, title)]
    xarray = sys.modules.get("xarray")  # who has a table has imported it
    if xarray is not None and isinstance(result, xarray.Dataset):
        return table_panels(result, show)
    if hasattr(result, "density") and hasattr(result, "support"):
        return [_of_law(result, show)]
    if hasattr(result, "squared") and hasattr(result, "singular_values"):  # a law of a matrix without symmetry
        return [_of_law(result.singular_values, show, type(result).__name__)]
    raise _not_drawn(result)


def _names(show: Any) -> list[str]:
    if show is None:
        return []
    names = [show] if isinstance(show, str) else list(show) if isinstance(show, Sequence) else []
    if not names or not all(isinstance(name, str) for name in names):
        remedy = 'Use for example <show="rank">, or leave it out.'
        raise checks.complaint("show", "be names", "it says which numbers are drawn", show, remedy)
    return names


def _chosen(known: Sequence[Observable], show: Sequence[str], others: Sequence[str] = ()) -> list[Observable]:
    """The observables that are named; complain about a name that is none of them, and none of the others."""
    names = by_name(known)
    for name in show:
        if name not in names and name not in others:
            every = [*names, *others]
            remedy = f'Use for example <show="{every[0]}">.' if every else "Leave it out."
            must = f"be among {', '.join(every)}" if every else "be left out"
            raise checks.complaint("show", must, "this result has nothing else to draw", name, remedy)
    return [names[name] for name in show if name in names]


def _of_prediction(result: Any, show: Sequence[str], title: str = "") -> Panel:
    learned = learned_by(result)
    target = getattr(result, "target_law", None)
    drawable = isinstance(learned, Learned) or (learned != "" and target is not None)
    chosen = _chosen(result.known_observables, show, (SPECTRUM,) if drawable else ())
    if len(chosen) < len(show) and chosen:
        reason = "a spectrum and numbers do not fit one panel"
        raise checks.complaint("show", f'be "{SPECTRUM}" or observables', reason, list(show), "Draw them one by one.")
    if drawable and not chosen:
        return spectrum_panel(learned, result.spectrum_of, target, title=title)
    if not result.observables:
        raise _not_drawn(result)
    bars = result.error_bars
    named = chosen or [one for one in result.known_observables if not one.costly]
    return values_panel(
        [Value(one.axis, float(getattr(result, one.name)), float(bars.get(one.name, np.nan))) for one in named], title
    )


def _of_scaling(result: Scaling, show: Sequence[str]) -> list[Panel]:
    """The error around the point among its laws; numbers where they are named, or where the model has no curve."""
    curve = None if _chosen(result.known_observables, show) else result.curve()
    return [_of_prediction(result, show) if curve is None else scaling_panel(result, curve)]


def _of_networks(ensemble: Any, show: Sequence[str]) -> list[Panel]:
    others = (SPECTRUM,) if ensemble.arrays else ()
    chosen = by_name(_chosen(ensemble.measured, show, others))
    if not show:
        return [histogram_panel([ensemble])] if others else [seeds_panel(ensemble, one) for one in ensemble.measured]
    return [histogram_panel([ensemble]) if name == SPECTRUM else seeds_panel(ensemble, chosen[name]) for name in show]


def _of_comparison(found: Comparison, show: Sequence[str]) -> list[Panel]:
    observables = by_name(found.observables)
    rows = {row.name: row_panel(row, observables[row.name].axis) for row in found.rows}
    learned = learned_by(found.solution)
    has_spectrum = bool(found.ensembles[0].arrays) and isinstance(learned, Learned)
    others = (SPECTRUM,) if has_spectrum else ()
    _chosen([observables[name] for name in rows], show, others)
    names = show or [*rows, *others]
    if has_spectrum and SPECTRUM in names:
        rows[SPECTRUM] = histogram_panel(found.ensembles, learned if isinstance(learned, Learned) else None)
    return [rows[name] for name in names]


def _of_type(found: SpectrumType | EnsembleType, show: Sequence[str]) -> list[Panel]:
    """The panels of one spectrum; of several networks those of a typical one."""
    one = found.typical if isinstance(found, EnsembleType) else found
    panels = {panel.name: panel for panel in spectrum_type_panels(one)}
    _chosen((), show, tuple(panels))
    return [panels[name] for name in show or panels]


def _of_columns(table: Columns, show: Sequence[str]) -> list[Panel]:
    kinds: dict[type, Any] = {
        Recovery: recovery_panels,
        FeatureTable: feature_panels,
        FeatureComparison: compared_panels,
        Trajectory: trajectory_panels,
        TrajectoryComparison: followed_panels,
    }
    drawn = kinds.get(type(table))
    if drawn is None:
        raise _not_drawn(table)
    panels = {panel.name: panel for panel in drawn(table)}
    _chosen((), show, list(panels))
    return [panels[name] for name in show or panels]


def _of_weights(report: WeightsReport | HeadReport, show: Sequence[str]) -> list[Panel]:
    panels = head_panels(report) if isinstance(report, HeadReport) else weights_panels(report)
    known = {panel.name: panel for panel in panels}
    _chosen((), show, list(known))
    return [known[name] for name in show or known]


def _of_law(law: Any, show: Sequence[str], name: str = "") -> Panel:
    _chosen((), show)
    return spectrum_panel(Learned.of_law(law, "values"), "values", label=name or type(law).__name__)


def _not_drawn(result: Any) -> ValueError:
    reason, remedy = "there is nothing else that it can draw", "Pass for example <solve()>."
    if isinstance(result, LearningProblem):
        reason, remedy = "a problem is a question, and its answer is drawn", "Pass for example <solve()>."
    elif isinstance(result, list | tuple):
        reason, remedy = (
            "several results are a table",
            "Draw what sweep(problem, solve, alpha=[...]) returns.",
        )
    elif isinstance(result, Result):
        reason, remedy = "this one declares no observables and has no spectrum", "List them in `observables`."
    got = f"a {type(result).__name__}"
    if isinstance(result, type):
        reason, got = "a class is what results and laws are made of", f"the class {result.__name__}"
        remedy = f"Make one, {result.__name__}(...), and pass that."
    return checks.complaint("result", "be a result of presage", reason, got, remedy)
