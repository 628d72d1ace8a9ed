"""The figures of reports. Each is a pure function from numbers to an SVG document.

Text in a figure stays text, so it can be searched and needs no special fonts.
"""

from __future__ import annotations

import io
import math
from functools import wraps
from statistics import mean
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np

from tagger.reports.weight_effects import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE: Dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tagger",  # equal numbers give equal files
    "text.parse_math": False,  # a `$` in a label is a `$`
    "font.size": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.linewidth": 0.6,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}
_NO_METADATA = dict.fromkeys(["Creator", "Date", "Format", "Type"])

#: Lines also differ in shape. The colours, of Okabe & Ito (2008), are safe for the colour-blind.
_LINES: Sequence[Dict[str, Any]] = (
    {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    {"color": "#D55E00", "marker": "s", "linestyle": "-"},
    {"color": "#000000", "marker": "^", "linestyle": "-"},
    {"color": "#767676", "marker": "", "linestyle": "--"},
)


def _as_svg(draw: Callable[..., Figure]) -> Callable[..., str]:
    """Makes a function that draws a figure return it as an SVG document."""

    @wraps(draw)
    def draw_svg(*args: Any, **kwargs: Any) -> str:
        # Every AllenNLP command imports this module, but few draw.
        import matplotlib

        with matplotlib.rc_context(_STYLE):
            buffer = io.StringIO()
            draw(*args, **kwargs).savefig(buffer, format="svg", metadata=_NO_METADATA)
        return buffer.getvalue()

    return draw_svg


def _new_figure(width: float, height: float) -> Figure:
    """Returns an empty figure; sizes are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


@_as_svg
def draw_weight_panels(
    panels: Mapping[Tuple[str, str], Mapping[str, Curve]], notes: Mapping[Tuple[str, str], str]
) -> Figure:
    """Draws metrics against the weight of a label, with a row per label and a column per strategy.

    Lines are means over seeds; bands reach from the lowest seed to the highest.

    Args:
        panels: For each label and strategy, at most four curves by the name of their metric.
        notes: Texts for the panels of some labels and strategies.
    """
    labels, strategies = (list(dict.fromkeys(names)) for names in zip(*panels))
    # A page has room for four panels of full width.
    panel_width = 2.5 if len(strategies) <= 4 else 1.7
    figure = _new_figure(max(4.5, 1 + panel_width * len(strategies)), 0.6 + 2.0 * len(labels))
    grid = figure.subplots(len(labels), len(strategies), sharex=True, sharey=True, squeeze=False)
    for row, label in zip(grid, labels):
        for axes, strategy in zip(row, strategies):
            if (label, strategy) in panels:
                _draw_curves(axes, panels[label, strategy])
                if (label, strategy) in notes:
                    at_the_top = {"transform": axes.transAxes, "ha": "center", "color": "#b3400a"}
                    axes.text(0.5, 0.9, notes[label, strategy], **at_the_top)
        row[0].set_ylabel(f"{label}\nin %")
    for strategy, first, last in zip(strategies, grid[0], grid[-1]):
        first.set_title(strategy)
        last.set_xlabel("weight of the label")
    curves = [curve for panel in panels.values() for curve in panel.values()]
    _scale_weights(grid[0, 0], {weight for curve in curves for weight in curve})
    names = next(iter(panels.values()))
    handles = grid[0, 0].get_lines()[: len(names)]
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    return figure


def _draw_curves(axes: Axes, curves: Mapping[str, Curve]) -> None:
    for curve, line in zip(curves.values(), _LINES):
        weights = list(curve)
        axes.plot(weights, [100 * mean(curve[weight]) for weight in weights], **line)
        low, high = ([100 * of(curve[weight]) for weight in weights] for of in (min, max))
        axes.fill_between(weights, low, high, color=line["color"], alpha=0.15, linewidth=0)
    axes.axvline(1, color="#999999", linewidth=0.6)


def _scale_weights(axes: Axes, weights: Collection[float]) -> None:
    """Makes the axis logarithmic, centred at 1, with a tick at each weight."""
    reach = 1.15 * max(1.1, *(max(weight, 1 / weight) for weight in weights))
    axes.set_xscale("log")
    axes.set_xlim(1 / reach, reach)
    named: List[float] = []
    for weight in sorted(weights, key=lambda weight: (weight != 1, -abs(math.log(weight)))):
        # Tick labels closer than this would overlap.
        if all(abs(math.log(weight / other)) > math.log(reach) / 3.5 for other in named):
            named.append(weight)
    axes.set_xticks(list(weights), [f"{w:g}" if w in named else "" for w in weights])
    axes.set_xticks([], minor=True)


@_as_svg
def draw_epochs(
    panels: Mapping[str, Mapping[str, Sequence[float]]], best_epoch: Optional[int]
) -> Figure:
    """Draws curves over epochs, which are counted from 0, in panels side by side.

    Args:
        panels: For each title, at most four curves by name, with one number per epoch.
        best_epoch: The epoch that a vertical line marks, if any.
    """
    figure = _new_figure(3.75 * len(panels), 2.8)
    grid = figure.subplots(1, len(panels), squeeze=False)
    for axes, (title, curves) in zip(grid.flat, panels.items()):
        for (name, values), line in zip(curves.items(), _LINES):
            axes.plot(values, label=name, **line)
        if best_epoch is not None:
            axes.axvline(best_epoch, color="#999999", linewidth=0.6)
        axes.set_title(title)
        axes.set_xlabel("epoch")
        axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        axes.legend()
    return figure


@_as_svg
def draw_precision_recall(curves: Mapping[str, Tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Draws precision against recall, with a panel per label.

    Args:
        curves: Precision and recall by label, as `precision_recall_points` returns them.
    """
    num_columns = min(4, len(curves))
    num_rows = math.ceil(len(curves) / num_columns)
    figure = _new_figure(0.5 + 1.9 * num_columns, 0.4 + 1.9 * num_rows)
    grid = figure.subplots(num_rows, num_columns, sharex=True, sharey=True, squeeze=False)
    for axes, (label, (precision, recall)) in zip(grid.flat, curves.items()):
        axes.plot(recall, precision, color="#0072B2")
        axes.plot(recall[-1:], precision[-1:], "o", color="#0072B2")
        axes.set(title=label, xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    for axes in grid.flat[len(curves) :]:
        axes.set_visible(False)
    figure.supxlabel("recall", fontsize=9)
    figure.supylabel("precision", fontsize=9)
    return figure


@_as_svg
def draw_reliability(counts: np.ndarray) -> Figure:
    """Draws the share of right predictions, and the number of predictions, against their probability.

    Args:
        counts: (3, R), as `tagger.metrics.calibration.count_calibration` returns them.
    """
    borders = np.linspace(0, 1, counts.shape[1] + 1)
    some = counts[0] > 0
    number, total, right = counts[:, some]
    figure = _new_figure(3.6, 4.0)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    upper.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--")
    upper.plot(total / number, right / number, color="#0072B2", marker="o")
    upper.set(ylabel="share right", xlim=(0, 1), ylim=(0, 1.03))
    lower.bar(borders[:-1], counts[0], np.diff(borders), align="edge", color="#9fc5df", ec="white")
    lower.set(xlabel="probability", ylabel="entities")
    return figure
