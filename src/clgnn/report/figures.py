"""The figures, from our trials; matplotlib draws them, an optional extra: ``pip install "clgnn[plot]"``.

Colours are Okabe and Ito's, which colour-blind readers tell apart; what differs in colour differs in line or
marker as well.
"""

from __future__ import annotations

from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from clgnn.experiments import published as paper
from clgnn.experiments.published import CELL
from clgnn.experiments.statistics import cells
from clgnn.persistence import written
from clgnn.report import names
from clgnn.report.tables import with_and_without_predicted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_OURS, _THEIRS = _COLOURS[0], _COLOURS[1]
_GNN_COLOURS = dict(zip(names.GNNS, _COLOURS, strict=False))
_GNN_MARKERS = dict(zip(names.GNNS, "os^", strict=True))
_OTHER_MARKERS = "Dv<>PXph*d8"
_GREY = "#888888"
_PADS: dict[str, Any] = {"w_pad": 0.08, "h_pad": 0.08}  # inches: titles keep away from the ticks above them


def figures(trials: pd.DataFrame) -> dict[str, Figure]:
    """The figures that there are trials for, by name."""
    found = cells(trials)
    printed = pd.concat([paper.published("main"), paper.published("learning_curve")]).drop_duplicates(CELL)
    made = {
        "gains": gains(found, printed),
        "learning-curves": learning_curves(found),
        "by-iteration": by_iteration(trials),
        "time-against-accuracy": time_against_accuracy(found),
        "reliability": reliability(trials),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def write(folder: str | PathLike[str], trials: pd.DataFrame) -> list[Path]:
    """Writes ``<name>.svg`` of every figure that there are trials for; the same files for the same trials."""
    made = figures(trials)
    from matplotlib import rc_context

    paths = []
    for name, figure in made.items():
        path = Path(folder) / f"{name}.svg"
        with written(path) as temporary, rc_context({"svg.hashsalt": "clgnn"}):
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        paths.append(path)
    return paths


def gains(found: pd.DataFrame, published: pd.DataFrame) -> Figure | None:
    """The gain of every boosted GNN with its 95 % interval, the published one with its standard error.

    Args:
        found: of :func:`~clgnn.experiments.statistics.cells`.
        published: of :func:`~clgnn.experiments.published.published`, one table or several.
    """
    ours = found[found["method"].str.endswith("+cl") & found["gain"].notna()]
    if ours.empty:
        return None
    columns = _sorted(ours[CELL[:3]].drop_duplicates())
    gnns = sorted(ours["base"].unique(), key=names.method_order)
    figure = _figure(1.9 + 2.9 * len(gnns), 1.9 + 0.4 * len(columns))
    panels = figure.subplots(1, len(gnns), sharex=True, sharey=True, squeeze=False)[0]
    places = {column: i for i, column in enumerate(columns)}
    reach = _reach(ours, published)
    for axes, gnn in zip(panels, gnns, strict=True):
        axes.axvline(0, color="black", linewidth=0.8)
        for edge, (one, other) in enumerate(pairwise(columns)):
            if one[0] != other[0]:
                axes.axhline(edge + 0.5, color="#dddddd", linewidth=0.8)
        here = ours[ours["base"] == gnn]
        rows = [places[key] for key in here[CELL[:3]].itertuples(index=False, name=None)]
        errors = [here["gain"] - here["low"], here["high"] - here["gain"]]
        look = {"linestyle": "none", "capsize": 2.5, "markersize": 5.5, "elinewidth": 1.4}
        label = "ours, 95 % interval"
        axes.errorbar(
            here["gain"],
            np.array(rows) - 0.14,
            xerr=np.nan_to_num(errors),
            fmt="o",
            color=_OURS,
            label=label,
            **look,
        )
        there = published[published["method"] == f"{gnn}+cl"]
        there = there.loc[[key in places for key in there[CELL[:3]].itertuples(index=False, name=None)]]
        rows = [places[key] for key in there[CELL[:3]].itertuples(index=False, name=None)]
        label = "published, ± standard error"
        axes.errorbar(
            there["gain"], np.array(rows) + 0.16, xerr=there["gain_se"], fmt="D", color=_THEIRS, label=label,
            markerfacecolor="white", **look,
        )  # fmt: skip
        axes.set(title=names.method(gnn), xlim=reach, ylim=(len(columns) - 0.5, -0.5))
        axes.set_yticks(range(len(columns)), [_column(*column) for column in columns])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("gain of + CL, in points")
    _legend(figure, panels, columns=2)
    _remark(figure, [column[0] for column in columns])
    return figure


def learning_curves(found: pd.DataFrame) -> Figure | None:
    """Accuracy against the number of training labels: plain dashed, boosted solid; bands: standard errors."""
    datasets = [d for d, _ in names.CURVES if found.loc[found["dataset"] == d, "train_labels"].nunique() > 1]
    if not datasets:
        return None
    here = found[found["dataset"].isin(datasets)]
    percents = sorted(here["test_label_percent"].unique())
    figure = _figure(1 + 4 * len(percents), 1.2 + 2.9 * len(datasets))
    panels = figure.subplots(len(datasets), len(percents), squeeze=False, sharey="row", sharex="row")
    for row, dataset in zip(panels, datasets, strict=True):
        for axes, percent in zip(row, percents, strict=True):
            column = here[(here["dataset"] == dataset) & (here["test_label_percent"] == percent)]
            for gnn in names.GNNS:
                for method, line in ((gnn, "--"), (f"{gnn}+cl", "-")):
                    curve = column[column["method"] == method].sort_values("train_labels")
                    if len(curve):
                        _curve(axes, curve, "train_labels", "standard_error", gnn, line, names.method(method))
            axes.set_title(f"{names.dataset(dataset)}, {percent} % of test labels")
            axes.set_xticks(sorted(here.loc[here["dataset"] == dataset, "train_labels"].unique()))
            axes.tick_params(labelleft=True)
        row[0].set_ylabel("accuracy in %")
    for axes in panels[-1]:
        axes.set_xlabel("training labels")
    _legend(figure, panels.flat, columns=3)
    return figure


def by_iteration(trials: pd.DataFrame) -> Figure | None:
    """Accuracy by iteration, with predicted labels as input and with true ones only; standard deviations."""
    found = with_and_without_predicted(trials)
    if found.empty:
        return None
    found = found.assign(gnn=[method.split("+")[0] for method in found["method"]])
    keys = _sorted(found[[*CELL[:3], "gnn"]].drop_duplicates())
    wide = min(3, len(keys))
    tall = -(-len(keys) // wide)
    figure = _figure(1 + 3.6 * wide, 1.3 + 2.7 * tall)
    panels = figure.subplots(tall, wide, squeeze=False)
    for axes in panels.flat[len(keys) :]:
        axes.set_visible(False)
    for axes, (dataset, count, percent, gnn) in zip(panels.flat, keys, strict=False):
        here = found[(found[[*CELL[:3], "gnn"]] == [dataset, count, percent, gnn]).all(axis=1)]
        looks = (
            ("+cl", "-", "gcn", "with predicted labels"),
            ("+cl-observed", "--", "sage", "true labels only"),
        )
        for suffix, line, colour, label in looks:
            curve = here[here["method"] == f"{gnn}{suffix}"]
            _curve(axes, curve, "iteration", "standard_deviation", colour, line, label)
        axes.set_title(f"{names.dataset(dataset)} {count}, {percent} %, {names.method(gnn)}")
        axes.set_xlabel("iteration t")
        axes.xaxis.get_major_locator().set_params(integer=True)
    for row in panels:
        row[0].set_ylabel("accuracy in %")
    _legend(figure, panels.flat, columns=2)
    _remark(figure, [key[0] for key in keys])
    return figure


def time_against_accuracy(found: pd.DataFrame) -> Figure | None:
    """Seconds of a fit against accuracy, by dataset; a line joins a GNN and its boosted self."""
    found = found[found["seconds"] > 0]
    found = found.loc[
        [key in names.MAIN for key in zip(found["dataset"], found["train_labels"], strict=True)]
    ]
    found = found[~found["method"].str.contains("+cl-", regex=False)]
    if found.empty:
        return None
    datasets = [key for key in names.MAIN if (found["dataset"] == key[0]).any()]
    percents = sorted(found["test_label_percent"].unique())
    figure = _figure(3.2 + 2.5 * len(datasets), max(3.6, 1 + 2.7 * len(percents)))
    panels = figure.subplots(len(percents), len(datasets), squeeze=False, sharex="col", sharey="col")
    looks = _looks(found["method"].unique())
    for row, percent in zip(panels, percents, strict=True):
        for axes, (dataset, count) in zip(row, datasets, strict=True):
            here = found[(found["dataset"] == dataset) & (found["test_label_percent"] == percent)]
            here = here.set_index("method")
            for method in sorted(here.index, key=names.method_order):
                point = here.loc[method]
                if point["base"] in here.index:
                    plain = here.loc[point["base"]]
                    x, y = [plain["seconds"], point["seconds"]], [plain["mean"], point["mean"]]
                    axes.plot(x, y, color=looks[method]["color"], linewidth=1, alpha=0.6, zorder=1)
                axes.plot(point["seconds"], point["mean"], label=names.method(method), **looks[method])
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter("")  # labels of less than a decade would overlap
            axes.set_title(f"{names.dataset(dataset)} {count}, {percent} %")
            axes.tick_params(labelleft=True, labelbottom=True)
        row[0].set_ylabel("balanced accuracy in %" if datasets[0][0] == "friendster" else "accuracy in %")
    for axes in panels[-1]:
        axes.set_xlabel("seconds")
    _legend(figure, panels.flat, columns=1, place="outside right center")
    marked = set(names.TRAINS_ON_TEST_GRAPH) & set(found["method"])
    more = "†: trains on the observed labels of the test graph as well." if marked else ""
    _remark(figure, [dataset for dataset, _ in datasets], more)
    return figure


def reliability(trials: pd.DataFrame) -> Figure | None:
    """Accuracy by confidence, plain GNNs against the same GNNs boosted, all trials of a dataset together.

    Only trials count that were run both plain and boosted. A marker's area is the share of the nodes.
    """
    pooled = _pooled(trials)
    if not pooled:
        return None
    wide = min(3, len(pooled))
    tall = -(-len(pooled) // wide)
    figure = _figure(0.8 + 3.1 * wide, 1.2 + 3.0 * tall)
    panels = figure.subplots(tall, wide, squeeze=False, sharex=True, sharey=True)
    for axes in panels.flat[len(pooled) :]:
        axes.set_visible(False)
    for axes, (dataset, kinds) in zip(panels.flat, pooled.items(), strict=False):
        axes.plot([0, 1], [0, 1], color=_GREY, linewidth=0.8, linestyle=":")
        texts = []
        for (label, (confidence, accuracy, count)), colour, line, marker in zip(
            kinds.items(), (_THEIRS, _OURS), ("--", "-"), ("D", "o"), strict=True
        ):
            share = count / count.sum()
            look = {"color": colour, "marker": marker}
            axes.plot(confidence, accuracy, line, linewidth=1.4, label=label, markersize=3, **look)
            axes.scatter(
                confidence, accuracy, 400 * share, color=colour, marker=marker, alpha=0.25, linewidths=0
            )
            gap = 100 * float((share * np.abs(confidence - accuracy)).sum())
            texts.append(f"{label}: {gap:.1f}")
        axes.text(0.04, 0.96, "calibration error in %\n" + "\n".join(texts), va="top", fontsize=9,
                  transform=axes.transAxes)  # fmt: skip
        axes.set(title=names.dataset(dataset), xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.tick_params(labelbottom=True, labelleft=True)
        axes.set(xlabel="confidence", ylabel="accuracy")
    _legend(figure, panels.flat, columns=2)
    _remark(figure, set(pooled) - {"friendster"})  # a node counts as a node here
    return figure


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError('a figure needs matplotlib, which is not here: pip install "clgnn[plot]"') from error
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("constrained", **_PADS)
    return figure


def _curve(axes: Any, curve: pd.DataFrame, x: str, spread: str, colour: str, line: str, label: str) -> None:
    """A line with a marker and a band."""
    ink = _GNN_COLOURS[colour]
    fill = "white" if line == "--" else ink
    look = {"color": ink, "marker": _GNN_MARKERS[colour], "markersize": 5, "markerfacecolor": fill}
    axes.plot(curve[x], curve["mean"], line, label=label, **look)
    band = curve[spread].fillna(0)
    axes.fill_between(
        curve[x], curve["mean"] - band, curve["mean"] + band, color=ink, alpha=0.13, linewidth=0
    )


def _looks(methods: Any) -> dict[str, dict[str, Any]]:
    """A colour and a marker for each method: hollow for a plain GNN, full for its boosted self."""
    looks: dict[str, dict[str, Any]] = {}
    others = 0
    for method in sorted(methods, key=names.method_order):
        plain, _, boosted = method.partition("+")
        if plain in names.GNNS:
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


def _pooled(trials: pd.DataFrame) -> dict[str, dict[str, tuple[Any, Any, Any]]]:
    """Confidence, accuracy and count by bin, of plain and of boosted GNNs, by dataset."""
    done = trials[trials["status"] == "done"]
    done = done.loc[[isinstance(bins, dict) for bins in done["reliability"]]]
    keys = done[[*CELL, "trial"]].itertuples(index=False, name=None)
    by_key = dict(zip(keys, done["reliability"], strict=True))
    pooled: dict[str, dict[str, list[Any]]] = {}
    for (dataset, count, percent, method, trial), bins in by_key.items():
        plain = by_key.get((dataset, count, percent, method.removesuffix("+cl"), trial))
        if method.endswith("+cl") and plain is not None:
            kinds = pooled.setdefault(dataset, {"plain": [], "boosted": []})
            kinds["plain"].append(plain)
            kinds["boosted"].append(bins)
    return {
        dataset: {kind: _sum(bins) for kind, bins in pooled[dataset].items()}
        for dataset in sorted(pooled, key=names.dataset_order)
    }


def _sum(bins: list[dict[str, Any]]) -> tuple[Any, Any, Any]:
    """Several reliability diagrams in one; bins that no node is in are left out."""
    counts = np.array([b["count"] for b in bins], dtype=float)
    total = counts.sum(axis=0)
    means = []
    for name in ("confidence", "accuracy"):
        values = np.nan_to_num(np.array([b[name] for b in bins], dtype=float))  # an empty bin has none
        means.append((values * counts).sum(axis=0)[total > 0] / total[total > 0])
    return means[0], means[1], total[total > 0]


def _reach(ours: pd.DataFrame, published: pd.DataFrame) -> tuple[float, float]:
    """How far the gains' axis goes; intervals of two trials, twelve standard errors wide, may leave it."""
    sure = ours[ours["pairs"] > 2]
    there = published[published["gain"].notna() & published["method"].isin(ours["method"])]
    low = [0.0, ours["gain"].min(), sure["low"].min(), (there["gain"] - there["gain_se"]).min()]
    high = [0.0, ours["gain"].max(), sure["high"].max(), (there["gain"] + there["gain_se"]).max()]
    least, most = float(np.nanmin(low)), float(np.nanmax(high))
    room = 0.05 * (most - least) or 1.0
    return least - room, most + room


def _sorted(keys: pd.DataFrame) -> list[tuple[Any, ...]]:
    rows = list(keys.itertuples(index=False, name=None))
    return sorted(
        rows, key=lambda row: (names.dataset_order(row[0]), *row[1:3], *map(names.method_order, row[3:]))
    )


def _column(dataset: str, count: int, percent: int) -> str:
    return f"{names.dataset(dataset)} {count}, {percent} %"


def _legend(figure: Figure, panels: Any, columns: int, place: str = "outside upper center") -> None:
    """One for all panels, each name once."""
    entries: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        entries |= {label: entries.get(label, handle) for handle, label in zip(handles, labels, strict=True)}
        axes.grid(color="#eeeeee", zorder=0)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(entries.values(), entries.keys(), loc=place, ncols=columns, frameon=False, fontsize=9.5)


def _remark(figure: Figure, datasets: Any, more: str = "") -> None:
    """What must be said below a figure on these datasets."""
    remarks = {
        "facebook100/johns_hopkins55": "Facebook100 (Johns Hopkins) stands in for the paper's Facebook.",
        "friendster": "Friendster: balanced accuracy.",
    }
    there = [remark for dataset, remark in remarks.items() if dataset in set(datasets)]
    said = "  ".join(there + [more] * bool(more))
    if said:
        room = 0.25 / figure.get_figheight()
        figure.text(0.01, 0.01, said, fontsize=8.5, color="#555555", va="bottom").set_in_layout(False)
        figure.set_layout_engine("constrained", rect=(0, room, 1, 1 - room), **_PADS)
