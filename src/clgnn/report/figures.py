"""The figures of our trials; matplotlib draws them, an optional extra: ``pip install "clgnn[plot]"``."""

from __future__ import annotations

from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from clgnn.experiments.methods import CELL, GNNS
from clgnn.experiments.published import published
from clgnn.experiments.statistics import cells
from clgnn.files import written
from clgnn.report import names, notes
from clgnn.report.calibration import pooled
from clgnn.report.drawing import (
    GREY,
    OURS,
    THEIRS,
    add_legend,
    add_remark,
    draw_curve,
    grid_size,
    looks_of,
    new_figure,
    new_grid,
)
from clgnn.report.paper_tables import with_and_without_predicted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(trials: pd.DataFrame) -> dict[str, Figure]:
    """The figures that there are trials for, by name.

    Args:
        trials: one row per trial, from :func:`clgnn.experiments.ledger.read`.

    Raises:
        ValueError: if matplotlib is not installed.
    """
    found = cells(trials)
    printed = pd.concat([published("main"), published("learning_curve")]).drop_duplicates(CELL)
    made = {
        "gains": gains(found, printed),
        "learning-curves": learning_curves(found),
        "by-iteration": by_iteration(trials),
        "time-against-accuracy": time_against_accuracy(found),
        "reliability": reliability(trials),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def write(folder: str | PathLike[str], trials: pd.DataFrame) -> list[Path]:
    """Writes ``<name>.svg`` of every figure that there are trials for; returns the paths.

    The same trials give the same files.
    """
    made = figures(trials)
    from matplotlib import rc_context

    paths = []
    for name, figure in made.items():
        path = Path(folder) / f"{name}.svg"
        with written(path) as temporary, rc_context({"svg.hashsalt": "clgnn"}):
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        paths.append(path)
    return paths


def gains(found: pd.DataFrame, printed: pd.DataFrame) -> Figure | None:
    """The gain of every boosted GNN with its 95 % interval, and the published one with its standard error.

    Args:
        found: the cells, from :func:`~clgnn.experiments.statistics.cells`.
        printed: the paper's cells, from :func:`~clgnn.experiments.published.published`.
    """
    ours = found[found["method"].str.endswith("+cl") & found["gain"].notna()]
    if ours.empty:
        return None
    columns = _sorted(ours[CELL[:3]].drop_duplicates())
    gnns = sorted(ours["base"].unique(), key=names.method_order)
    figure = new_figure(1.9 + 2.9 * len(gnns), 1.9 + 0.4 * len(columns))
    panels = figure.subplots(1, len(gnns), sharex=True, sharey=True, squeeze=False)[0]
    places = {column: i for i, column in enumerate(columns)}
    reach = _reach(ours, printed)
    look = {"linestyle": "none", "capsize": 2.5, "markersize": 5.5, "elinewidth": 1.4}
    for axes, gnn in zip(panels, gnns, strict=True):
        axes.axvline(0, color="black", linewidth=0.8)
        for edge, (one, other) in enumerate(pairwise(columns)):
            if one[0] != other[0]:
                axes.axhline(edge + 0.5, color="#dddddd", linewidth=0.8)
        for alone, here in ours[ours["base"] == gnn].groupby(ours["low"].isna()):
            rows = [places[key] for key in here[CELL[:3]].itertuples(index=False, name=None)]
            errors = [here["gain"] - here["low"], here["high"] - here["gain"]]
            axes.errorbar(
                here["gain"], np.array(rows) - 0.14, xerr=np.nan_to_num(errors), fmt="o", color=OURS,
                markerfacecolor="white" if alone else OURS,
                label="ours, one split" if alone else "ours, 95 % interval", **look,
            )  # fmt: skip
        there = printed[printed["method"] == f"{gnn}+cl"]
        there = there.loc[[key in places for key in there[CELL[:3]].itertuples(index=False, name=None)]]
        rows = [places[key] for key in there[CELL[:3]].itertuples(index=False, name=None)]
        axes.errorbar(
            there["gain"], np.array(rows) + 0.16, xerr=there["gain_se"], fmt="D", color=THEIRS,
            label="published, ± standard error", markerfacecolor="white", **look,
        )  # fmt: skip
        axes.set(title=names.method(gnn), xlim=reach, ylim=(len(columns) - 0.5, -0.5))
        axes.set_yticks(range(len(columns)), [_column(*column) for column in columns])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("gain of + CL, in points")
    add_legend(figure, panels, columns=3)
    add_remark(figure, [column[0] for column in columns])
    return figure


def learning_curves(found: pd.DataFrame) -> Figure | None:
    """Accuracy against the number of training labels: plain dashed, boosted solid; bands: standard errors."""
    datasets = [d for d, _ in names.CURVES if found.loc[found["dataset"] == d, "train_labels"].nunique() > 1]
    if not datasets:
        return None
    here = found[found["dataset"].isin(datasets)]
    percents = sorted(here["test_label_percent"].unique())
    figure = new_figure(1 + 4 * len(percents), 1.2 + 2.9 * len(datasets))
    panels = figure.subplots(len(datasets), len(percents), squeeze=False, sharey="row", sharex="row")
    for row, dataset in zip(panels, datasets, strict=True):
        for axes, percent in zip(row, percents, strict=True):
            column = here[(here["dataset"] == dataset) & (here["test_label_percent"] == percent)]
            for gnn in GNNS:
                for method, line in ((gnn, "--"), (f"{gnn}+cl", "-")):
                    points = column[column["method"] == method].sort_values("train_labels")
                    if len(points):
                        label = names.method(method)
                        draw_curve(axes, points, "train_labels", "standard_error", gnn, line, label)
            axes.set_title(f"{names.dataset(dataset)}, {percent} % of test labels")
            axes.set_xticks(sorted(here.loc[here["dataset"] == dataset, "train_labels"].unique()))
            axes.tick_params(labelleft=True)
        row[0].set_ylabel("accuracy in %")
    for axes in panels[-1]:
        axes.set_xlabel("training labels")
    add_legend(figure, panels.flat, columns=3)
    return figure


def by_iteration(trials: pd.DataFrame) -> Figure | None:
    """Accuracy by iteration, with predicted labels as input and with true ones only; standard deviations."""
    found = with_and_without_predicted(trials)
    if found.empty:
        return None
    found = found.assign(gnn=[method.split("+")[0] for method in found["method"]])
    keys = _sorted(found[[*CELL[:3], "gnn"]].drop_duplicates())
    across, down = grid_size(len(keys))
    figure = new_figure(1 + 3.6 * across, 1.3 + 2.7 * down)
    panels = new_grid(figure, len(keys))
    for axes, (dataset, count, percent, gnn) in zip(panels, keys, strict=True):
        here = found[(found[[*CELL[:3], "gnn"]] == [dataset, count, percent, gnn]).all(axis=1)]
        looks = (
            ("+cl", "-", "gcn", "with predicted labels"),
            ("+cl-observed", "--", "sage", "true labels only"),
        )
        for suffix, line, colour, label in looks:
            points = here[here["method"] == f"{gnn}{suffix}"]
            draw_curve(axes, points, "iteration", "standard_deviation", colour, line, label)
        axes.set_title(f"{names.dataset(dataset)} {count}, {percent} %, {names.method(gnn)}")
        axes.set_xlabel("iteration t")
        axes.xaxis.get_major_locator().set_params(integer=True)
    for axes in panels[::across]:
        axes.set_ylabel("accuracy in %")
    add_legend(figure, panels, columns=2)
    add_remark(figure, [key[0] for key in keys])
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
    figure = new_figure(3.2 + 2.5 * len(datasets), max(3.6, 1 + 2.7 * len(percents)))
    panels = figure.subplots(len(percents), len(datasets), squeeze=False, sharex="col", sharey="col")
    looks = looks_of(found["method"].unique())
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
            axes.set_title(f"{names.dataset(dataset)} {count}, {percent} %")
            axes.tick_params(labelleft=True, labelbottom=True)
        row[0].set_ylabel("balanced accuracy in %" if datasets[0][0] == "friendster" else "accuracy in %")
    for axes in panels.flat:
        low, high = axes.get_xlim()
        axes.xaxis.get_major_locator().set_params(subs=(1, 2, 5) if high / low < 50 else (1,))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")  # labels of less than a decade would overlap
    for axes in panels[-1]:
        axes.set_xlabel("seconds")
    add_legend(figure, panels.flat, columns=1, place="outside right center")
    add_remark(figure, [dataset for dataset, _ in datasets], notes.daggers(found["method"]))
    return figure


def reliability(trials: pd.DataFrame) -> Figure | None:
    """Accuracy by confidence, plain GNNs against the same GNNs boosted, all trials of a dataset together.

    Only trials count that were run both plain and boosted. A marker's area is the share of the nodes.
    """
    found = _plain_and_boosted(trials)
    if not found:
        return None
    across, down = grid_size(len(found))
    figure = new_figure(0.8 + 3.1 * across, 1.2 + 3.0 * down)
    panels = new_grid(figure, len(found), sharex=True, sharey=True)
    looks = {"plain": (THEIRS, "--", "D"), "boosted": (OURS, "-", "o")}
    for axes, (dataset, kinds) in zip(panels, found.items(), strict=True):
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
        texts = []
        for kind, (colour, line, marker) in looks.items():
            bins = pd.DataFrame(pooled(kinds[kind])).query("count > 0").astype(float)
            confidence, accuracy = bins["confidence"], bins["accuracy"]
            share = bins["count"] / bins["count"].sum()
            look = {"color": colour, "marker": marker}
            axes.plot(confidence, accuracy, line, linewidth=1.4, label=kind, markersize=3, **look)
            axes.scatter(confidence, accuracy, 400 * share, alpha=0.25, linewidths=0, **look)
            texts.append(f"{kind}: {100 * float((share * (confidence - accuracy).abs()).sum()):.1f}")
        axes.text(0.04, 0.96, "calibration error in %\n" + "\n".join(texts), va="top", fontsize=9,
                  transform=axes.transAxes)  # fmt: skip
        axes.set(title=names.dataset(dataset), xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.tick_params(labelbottom=True, labelleft=True)
        axes.set(xlabel="confidence", ylabel="accuracy")
    add_legend(figure, panels, columns=2)
    add_remark(figure, set(found) - {"friendster"})  # a node counts as a node here
    return figure


def _plain_and_boosted(trials: pd.DataFrame) -> dict[str, dict[str, list[Any]]]:
    """The reliability of every trial that was run plain and boosted, by dataset and kind."""
    done = trials[trials["status"] == "done"]
    done = done.loc[[isinstance(bins, dict) for bins in done["reliability"]]]
    keys = done[[*CELL, "trial"]].itertuples(index=False, name=None)
    by_key = dict(zip(keys, done["reliability"], strict=True))
    found: dict[str, dict[str, list[Any]]] = {}
    for (dataset, count, percent, method, trial), bins in by_key.items():
        plain = by_key.get((dataset, count, percent, method.removesuffix("+cl"), trial))
        if method.endswith("+cl") and plain is not None:
            kinds = found.setdefault(dataset, {"plain": [], "boosted": []})
            kinds["plain"].append(plain)
            kinds["boosted"].append(bins)
    return {dataset: found[dataset] for dataset in sorted(found, key=names.dataset_order)}


def _reach(ours: pd.DataFrame, printed: pd.DataFrame) -> tuple[float, float]:
    """How far the gains' axis goes; intervals of two trials, twelve standard errors wide, may leave it."""
    sure = ours[ours["pairs"] > 2]
    there = printed[printed["gain"].notna() & printed["method"].isin(ours["method"])]
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
