"""The figures of reports. Each is a pure function from numbers to an SVG document.

Text in a figure remains text, so it can be searched and needs no special fonts.
"""

import io
import itertools
from functools import wraps
from statistics import mean
from typing import Any, Callable, Collection, Dict, Mapping, Optional, Sequence, Tuple

import matplotlib
import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from tagger.tools.reports.page import PAGE
from tagger_texts.display import LABELS

_INK, _MUTED = PAGE["ink"].light, PAGE["fourth"].light
_STYLE: Dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tagger",  # makes equal data give equal files
    "text.parse_math": False,  # a `$` in a label is a plain `$`
    "font.size": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.linewidth": 0.6,
    **dict.fromkeys(
        ["text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"], _INK
    ),
    "figure.facecolor": PAGE["card"].light,
    "axes.facecolor": PAGE["card"].light,
    "grid.color": PAGE["line"].light,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}
_NO_METADATA = dict.fromkeys(["Creator", "Date", "Format", "Type"])

#: Lines also differ in shape. The colours (Okabe & Ito 2008) are safe for colour-blind readers.
_LINES: Sequence[Dict[str, Any]] = (
    {"color": PAGE["first"].light, "marker": "o", "linestyle": "-"},
    {"color": PAGE["second"].light, "marker": "s", "linestyle": "-"},
    {"color": PAGE["third"].light, "marker": "^", "linestyle": "-"},
    {"color": PAGE["fourth"].light, "marker": "", "linestyle": "--"},
)
#: The shapes of labels' lines, used in turn.
_SHAPES = ("o", "s", "^", "D", "v", "P")
#: The size of a panel in inches. Wide pages show three or four side by side, phones one.
_PANEL = (4.1, 3.0)


def _as_svg(draw: Callable[..., Figure]) -> Callable[..., str]:
    """Makes a function that draws a figure return an SVG document instead."""

    @wraps(draw)
    def draw_svg(*args: Any, **kwargs: Any) -> str:
        with matplotlib.rc_context(_STYLE):
            buffer = io.StringIO()
            draw(*args, **kwargs).savefig(buffer, format="svg", metadata=_NO_METADATA)
        return buffer.getvalue()

    return draw_svg


@_as_svg
def draw_variants(table: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Draws the runs of each variant of a study as dots with a bar at the mean, one panel per column."""
    titles = [
        title for title in next(iter(table.values())) if all(title in c for c in table.values())
    ]
    figure, panels = _panels(table, titles, 2.4 + 2.2 * len(titles), 0.7 + 0.26 * len(table))
    for axes, title, line in zip(panels, titles, itertools.cycle(_LINES)):
        for row, cells in enumerate(table.values()):
            values = cells[title]
            axes.plot(values, [row] * len(values), "o", color=line["color"], alpha=0.6)
            axes.plot([mean(values)], [row], "|", color=_INK, markersize=11)
        axes.margins(x=0.1)
    return figure


@_as_svg
def draw_differences(
    table: Mapping[str, Mapping[str, Tuple[float, float, float]]], baseline: str
) -> Figure:
    """Draws differences from a baseline, with a dot for each variant and a bar for its interval.

    Bars that lie entirely on one side of 0 are darker. The table maps names of variants and titles of
    columns to a difference and the lower and upper bound of its interval.
    """
    titles = list(dict.fromkeys(title for cells in table.values() for title in cells))
    figure, panels = _panels(table, titles, 2.6 + 1.9 * len(titles), 0.9 + 0.24 * len(table))
    for axes, title in zip(panels, titles):
        for row, cells in enumerate(table.values()):
            if title in cells:
                middle, low, high = cells[title]
                alpha = 1.0 if low > 0 or high < 0 else 0.45
                line = {"color": PAGE["first"].light, "alpha": alpha}
                axes.plot([low, high], [row, row], "-", **line)
                axes.plot([middle], [row], "o", **line)
        axes.axvline(0, color=_MUTED, linewidth=0.6)
    figure.supxlabel(f"difference from {baseline}, in points", fontsize=9)
    return figure


def _panels(
    rows: Collection[str], titles: Sequence[str], width: float, height: float
) -> Tuple[Figure, Sequence[Any]]:
    """Returns a figure with one panel for each title and the same rows in each."""
    figure = Figure(figsize=(width, height))
    panels = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
    for axes, title in zip(panels, titles):
        axes.set_title(title)
    panels[0].set_yticks(range(len(rows)), [_short(name, 45) for name in rows])
    panels[0].invert_yaxis()
    return figure, panels


@_as_svg
def draw_epochs(
    curves: Mapping[str, Sequence[float]],
    name: str,
    best_epoch: Optional[int],
    colours: Optional[Mapping[str, int]] = None,
    of: str = "epoch",
    first: int = 1,
) -> Figure:
    """Draws curves over epochs, or over something else that is counted from `first`.

    Each curve has one number per epoch, NaN where there is none. The curves are either at most four, or
    one for each label, with the indices of the labels' colours. A vertical line marks `best_epoch`.
    """
    figure = Figure(figsize=_PANEL)
    axes = figure.subplots()
    for line, (title, values) in zip(_lines(curves, colours), curves.items()):
        axes.plot(range(first, first + len(values)), values, label=_short(title), **line)
    if best_epoch is not None:
        axes.axvline(best_epoch, color=_MUTED, linewidth=0.6)
    axes.set(xlabel=of, ylabel=name)
    if name.startswith("F1"):
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, -0.03), min(high, 1.03))
    axes.xaxis.set_major_locator(
        MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)
    )
    _add_legend(figure, curves)
    return figure


@_as_svg
def draw_learning_curve(record: Mapping[str, Any]) -> Figure:
    """Draws measured qualities by size, and what is expected beyond as a line with its interval.

    `record` is the content of `curve.json`, which `allennlp learning-curve` writes.
    """
    figure = Figure(figsize=_PANEL)
    axes = figure.subplots()
    (line, other), curve = _LINES[:2], record["curves"]["all"]
    axes.plot(record["num_items"], curve["measured"], label="measured", **line)
    wanted, expected = record["num_wanted"], curve["expected"]
    axes.plot(wanted, expected["middle"], label="expected", **{**other, "linestyle": "--"})
    bounds = {"color": other["color"], "alpha": 0.15, "label": "90 % interval"}
    axes.fill_between(wanted, expected["low"], expected["high"], **bounds)
    axes.set(xlabel=record["noun"], ylabel=record["metric"], xscale="log")
    _label_decades(axes.xaxis)
    _add_legend(figure, ["measured", "expected", "90 % interval"])
    return figure


@_as_svg
def draw_precision_recall(
    curves: Mapping[str, Tuple[np.ndarray, np.ndarray, Tuple[float, float]]],
    colours: Mapping[str, int],
) -> Figure:
    """Draws precision against recall, with a curve for each label and a dot for the model itself."""
    figure = Figure(figsize=_PANEL)
    axes = figure.subplots()
    for line, (label, (precision, recall, of_model)) in zip(
        _lines(curves, colours), curves.items()
    ):
        # Only the points that are visible at this size; recall increases.
        borders = np.flatnonzero(np.diff((150 * recall).astype(int)))
        kept = np.unique(np.concatenate(([0], borders, borders + 1, [len(recall) - 1])))
        shape = line.pop("marker")
        axes.plot(recall[kept], precision[kept], label=_short(label), **line)
        axes.plot(*of_model[::-1], shape, color=line["color"], markersize=6)
    axes.set(xlabel="recall", ylabel="precision", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    _add_legend(figure, curves)
    return figure


@_as_svg
def draw_label_counts(numbers: Sequence[int], are_found: Sequence[bool], what: str) -> Figure:
    """Draws how often each label is gold, the most frequent first, on a logarithmic scale."""
    figure = Figure(figsize=_PANEL)
    axes = figure.subplots()
    titles = {True: "found", False: "never found"}
    for is_found, line in zip(titles, _LINES):
        places = [i for i, each in enumerate(are_found) if each == is_found]
        if places:
            heights = [numbers[i] for i in places]
            axes.bar(np.array(places) + 1, heights, color=line["color"], label=titles[is_found])
    axes.set(xlabel="labels, the most frequent first", ylabel=what, yscale="log", axisbelow=True)
    _label_decades(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    axes.set_ylim(bottom=0.7)
    _add_legend(figure, titles.values())
    return figure


def _label_decades(axis: Axis) -> None:
    """Labels 1, 2, 5, 10, ... on a logarithmic axis, without the mathematics of minor labels."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_locator(NullLocator())


def _lines(
    curves: Collection[str], colours: Optional[Mapping[str, int]]
) -> Sequence[Dict[str, Any]]:
    """Returns the line style of each curve."""
    if colours is None:
        return [dict(line) for line in _LINES]
    indices = [colours[label] for label in curves]
    return [
        {
            "color": LABELS[index].light,
            "marker": _SHAPES[i % len(_SHAPES)],
            # With many labels, two may share a colour.
            "linestyle": "--" if index in indices[:i] else "-",
        }
        for i, index in enumerate(indices)
    ]


def _add_legend(figure: Figure, names: Collection[str]) -> None:
    """Adds a legend below the figure, where it hides no curve."""
    longest = max((len(_short(name)) for name in names), default=0)
    figure.legend(loc="outside lower center", ncols=max(1, min(4, 48 // (longest + 5))))


def _short(name: str, longest: int = 24) -> str:
    """Shortens a name to fit into a figure, and keeps matplotlib from hiding it."""
    short = name if len(name) <= longest else f"{name[: longest - 1]}…"
    # Legends leave out names that start with an underscore.
    return f"\u200b{short}" if short.startswith("_") else short


@_as_svg
def draw_reliability(counts: np.ndarray, what: str) -> Figure:
    """Draws the share and number of right predictions from the counts of `count_calibration`, (3, R)."""
    borders = np.linspace(0, 1, counts.shape[1] + 1)
    number, total, right = counts[:, counts[0] > 0]
    figure = Figure(figsize=(_PANEL[0], 3.6))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    upper.plot([0, 1], [0, 1], color=_MUTED, linewidth=0.8, linestyle="--")
    upper.plot(total / number, right / number, color=PAGE["first"].light, marker="o")
    upper.set(ylabel="share right", xlim=(0, 1), ylim=(0, 1.03))
    pale = PAGE["pale"].light
    lower.bar(borders[:-1], counts[0], np.diff(borders), align="edge", color=pale, ec="white")
    lower.set(xlabel="probability", ylabel=what)
    return figure
