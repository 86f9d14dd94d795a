"""How figures look: colours, lines, legends and remarks. matplotlib draws them.

Colours are Okabe and Ito's, which colour-blind readers tell apart; what differs in colour differs in line or
marker as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from clgnn.data.datasets import FACEBOOK100
from clgnn.experiments.methods import GNNS
from clgnn.report import names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
OURS, THEIRS = _COLOURS[:2]
GREY = "#888888"
_GNN_COLOURS = dict(zip(GNNS, _COLOURS, strict=False))
_GNN_MARKERS = dict(zip(GNNS, "os^", strict=True))
_OTHER_MARKERS = "Dv<>PXph*d8"
_PADS: dict[str, Any] = {"w_pad": 0.08, "h_pad": 0.08}  # inches: titles keep away from the ticks above them


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches.

    Raises:
        ValueError: if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError(
            'a figure needs matplotlib, which is not installed; run pip install "clgnn[plot]"'
        ) from error
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("constrained", **_PADS)
    return figure


def new_grid(figure: Figure, count: int, wide: int = 3, **options: Any) -> list[Any]:
    """Panels in rows of at most ``wide``; those that are left over are hidden.

    Returns:
        The panels, row by row.
    """
    across, down = grid_size(count, wide)
    panels = list(figure.subplots(down, across, squeeze=False, **options).flat)
    for axes in panels[count:]:
        axes.set_visible(False)
    return panels[:count]


def grid_size(count: int, wide: int = 3) -> tuple[int, int]:
    """How many panels stand side by side, and how many rows there are.

    Example:
        >>> grid_size(5), grid_size(2)
        ((3, 2), (2, 1))
    """
    across = min(wide, count)
    return across, -(-count // across)


def draw_curve(
    axes: Any, points: pd.DataFrame, x: str, spread: str, colour: str, line: str, label: str
) -> None:
    """Draws the ``mean`` over a column as a line with markers, and a band of ``spread`` on both sides."""
    ink = _GNN_COLOURS[colour]
    fill = "white" if line == "--" else ink
    look = {"color": ink, "marker": _GNN_MARKERS[colour], "markersize": 5, "markerfacecolor": fill}
    axes.plot(points[x], points["mean"], line, label=label, **look)
    band = points[spread].fillna(0)
    low, high = points["mean"] - band, points["mean"] + band
    axes.fill_between(points[x], low, high, color=ink, alpha=0.13, linewidth=0)


def looks_of(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A colour and a marker for each method: hollow for a plain GNN, full for its boosted self."""
    looks: dict[str, dict[str, Any]] = {}
    others = 0
    for method in sorted(methods, key=names.method_order):
        plain, _, boosted = method.partition("+")
        if plain in GNNS:
            colour, marker = _GNN_COLOURS[plain], _GNN_MARKERS[plain]
            fill = colour if boosted else "white"
        else:
            colour = _COLOURS[3:][others % len(_COLOURS[3:])]
            marker = _OTHER_MARKERS[others % len(_OTHER_MARKERS)]
            fill = colour
            others += 1
        looks[method] = {
            "color": colour, "marker": marker, "markerfacecolor": fill, "linestyle": "none", "markersize": 7,
        }  # fmt: skip
    return looks


def add_legend(
    figure: Figure, panels: Iterable[Any], columns: int, place: str = "outside upper center"
) -> None:
    """Adds one legend for all panels, with each name once."""
    entries: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        entries |= {label: entries.get(label, handle) for handle, label in zip(handles, labels, strict=True)}
        axes.grid(color="#eeeeee", zorder=0)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(entries.values(), entries.keys(), loc=place, ncols=columns, frameon=False, fontsize=9.5)


def add_remark(figure: Figure, datasets: Iterable[str], more: Sequence[str] = ()) -> None:
    """Adds what must be said below a figure on these datasets, and more lines."""
    there = set(datasets)
    said = ["Facebook100 (Johns Hopkins) stands in for the paper's Facebook."] * (FACEBOOK100 in there)
    said += ["Friendster: balanced accuracy."] * ("friendster" in there)
    if said or more:
        room = 0.25 / figure.get_figheight()
        text = figure.text(0.01, 0.01, "  ".join([*said, *more]), fontsize=8.5, color="#555555", va="bottom")
        text.set_in_layout(False)
        figure.set_layout_engine("constrained", rect=(0, room, 1, 1 - room), **_PADS)
