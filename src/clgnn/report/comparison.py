"""The content of a report on a plain GNN and its boosted self, side by side on a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clgnn.data.graph import Graphs, Mask, as_list, as_mask, known
from clgnn.data.splits import Split
from clgnn.estimators.metrics import LOWER_IS_BETTER, as_array, reliability
from clgnn.estimators.node import NodeEstimator
from clgnn.experiments.comparison import SHARES
from clgnn.experiments.methods import competes
from clgnn.experiments.statistics import LEVEL, paired, standard_error
from clgnn.report import notes
from clgnn.report.calibration import pooled
from clgnn.report.evaluation import made_now, plain_setting
from clgnn.report.graph_view import view_split
from clgnn.report.headline import of_comparison
from clgnn.report.trials import describe, describe_dataset

Rows = Sequence[Mapping[str, Any]]
Values = Mapping[str, NDArray[np.float64]]


class Comparison:
    """What a report needs of every model, kept while models come and go.

    Args:
        data: the graph, or the graphs.
    """

    def __init__(self, data: Graphs) -> None:
        self.data = data
        self.settings: dict[str, dict[str, Any]] = {}
        self.bins: dict[str, list[dict[str, list[float]]]] = {}
        self.first: Split[Any] | None = None
        self.predicted: dict[str, tuple[Tensor, Tensor, Tensor]] = {}  # classes, probabilities, spread there

    def add(self, name: str, model: NodeEstimator, split: Split[Any], observed_mask: Mask | None) -> None:
        """Keeps the settings and the predictions of a fitted model."""
        found = model.predict_proba(self.data, observed_mask)
        probabilities = found if isinstance(found, Tensor) else torch.cat(found)
        y = torch.cat([graph.y for graph in as_list(self.data)])
        test = as_mask(split.test_mask, self.data, "test_mask") & known(y)
        truth = torch.searchsorted(model.classes_, y[test].contiguous())
        self.bins.setdefault(name, []).append(reliability(as_array(truth), as_array(probabilities[test])))
        self.settings.setdefault(name, model.get_params(deep=False))
        if self.first is None:
            self.first = split
        if self.first is split:
            drawn = model.spread(self.data, observed_mask)
            spread = drawn if isinstance(drawn, Tensor) else torch.cat(drawn)
            every = probabilities.new_zeros(len(probabilities), int(model.classes_.max()) + 1)
            every = every.index_copy(1, model.classes_, probabilities)
            self.predicted[name] = every.argmax(dim=1), every, spread

    def content(
        self, dataset: str, metric: str, rows: Rows, gnn: str, test_label_percent: int
    ) -> dict[str, Any]:
        """The content of the page; arguments as for :func:`from_comparison`."""
        if self.first is None:
            raise ValueError("no model was added; expected the plain and the boosted one of a split at least")
        classes, probabilities, spread = (
            {name: self.predicted[name][i] for name in ("plain", "boosted")} for i in range(3)
        )
        caption = f"{gnn} plain and boosted on {dataset}, the first split."
        labels = int(as_mask(self.first.train_mask, self.data, "train_mask").sum())
        drawn = view_split(self.data, classes, self.first, caption, probabilities, spread)
        return from_comparison(
            dataset, metric, rows, self.settings, gnn=gnn, train_labels=labels,
            test_label_percent=test_label_percent, bins=self.bins, graph=drawn,
        )  # fmt: skip


def from_comparison(
    dataset: str,
    metric: str,
    rows: Rows,
    settings: Mapping[str, Mapping[str, Any]],
    *,
    gnn: str = "gcn",
    train_labels: int = 0,
    test_label_percent: int = 0,
    bins: Mapping[str, Sequence[dict[str, list[float]]]] | None = None,
    graph: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of a page on a plain GNN and its boosted self, split by split.

    Args:
        dataset, metric: their names.
        rows: one row per split, from :func:`clgnn.experiments.comparison.compare`.
        settings: the settings of each contender, by name.
        gnn: the name of the GNN.
        train_labels, test_label_percent: the sizes of the splits.
        bins: the :func:`~clgnn.estimators.metrics.reliability` of each split, by name.
        graph: the graph of the first split, from :func:`clgnn.report.graph_view.view_split`.
    """
    scale = 100.0 if metric in SHARES else 1.0
    values = {name: scale * np.array([row[name] for row in rows], dtype=float) for name in settings}
    best = _best(values, metric in LOWER_IS_BETTER)
    column = {"dataset": dataset, "labels": train_labels, "percent": test_label_percent}
    cells = [
        {
            **column,
            **_cell(name, rows, values, given),
            "best": name in best,
            "reliability": pooled((bins or {}).get(name, ())),
        }
        for name, given in settings.items()
    ]
    methods = _methods(gnn, list(settings))
    seconds = sum(row[f"{name}_seconds"] for row in rows for name in settings)
    return {
        "kind": "comparison",
        "title": f"{dataset}: {gnn} plain and boosted",
        **of_comparison(
            dataset,
            gnn,
            metric,
            (values["boosted"], values["plain"]),
            points=metric in SHARES,
            lower=metric in LOWER_IS_BETTER,
        ),
        "lead": f"The same GNN without and with collective learning on {len(rows)} random "
        f"split{'s' if len(rows) > 1 else ''}, by the same loop and with as many gradient steps at most.",
        "facts": [["Splits", str(len(rows))], *made_now(), ["Time", f"{seconds:,.0f} seconds of fits"]],
        "notes": _notes(metric, list(settings)),
        "best": notes.best(settings),
        "datasets": {dataset: describe_dataset(dataset, metric, metric in SHARES)},
        "methods": methods,
        "cells": cells,
        "tables": [_by_split(rows, values, methods, metric)],
        "graph": graph,
    }


def _best(values: Values, lower: bool) -> set[str]:
    """The contenders with the best mean, of those that compete."""
    means = {name: (-1 if lower else 1) * found.mean() for name, found in values.items() if competes(name)}
    return {name for name, mean in means.items() if mean == max(means.values())}


def _cell(name: str, rows: Rows, values: Values, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a contender; the boosted GNN is compared with the plain one."""
    boosted = name == "boosted"
    gains = values[name] - values["plain"]
    found = paired(values[name], values["plain"]) if boosted else {}
    return {
        "method": name,
        "base": "plain" if boosted else None,
        "n": len(rows),
        "failed": 0,
        "mean": values[name].mean(),
        "se": standard_error(values[name]),
        **found,
        "significant": found.get("p", 1.0) < LEVEL,
        "seconds": np.mean([row[f"{name}_seconds"] for row in rows]),
        "settings": {key: plain_setting(value) for key, value in settings.items() if key != "seed"},
        "trials": [
            {
                "trial": row["split"],
                "value": value,
                "gain": gain if boosted else None,
                "settings": {},
                "seconds": row[f"{name}_seconds"],
            }
            for row, value, gain in zip(rows, values[name], gains, strict=True)
        ],
    }


def _methods(gnn: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How the page calls the contenders."""
    methods = {name: {**describe(name), "group": ""} for name in names}
    for name, kind in (("plain", "plain"), ("boosted", "cl")):
        methods[name] |= {"name": f"{gnn}, {name}", "family": gnn, "family_name": gnn, "kind": kind}
    return methods


def _notes(metric: str, names: Sequence[str]) -> list[str]:
    said = [
        "The interval of the gain is 95 %, by Student's t over the splits; p is of a two-sided paired t-test."
    ]
    if metric in LOWER_IS_BETTER:
        said.append(
            f"{metric.replace('_', ' ').capitalize()} is the better the lower it is: a good gain is negative."
        )
    return [*said, *notes.daggers(names)]


def _by_split(rows: Rows, values: Values, methods: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """A table with one row per split, and a last one with the means."""
    digits = 2 if metric in SHARES else 4
    gains = values["boosted"] - values["plain"]
    seconds = np.array([[row["plain_seconds"], row["boosted_seconds"]] for row in rows], dtype=float)
    scores = np.stack([values[name] for name in methods], axis=1)

    def line(first: str, numbers: Sequence[float], gain: float, times: Sequence[float]) -> list[str]:
        plain, boosted, *rest = (f"{number:.{digits}f}" for number in numbers)
        return [first, plain, boosted, f"{gain:+.{digits}f}", *rest, *(f"{second:.1f}" for second in times)]

    body = [line(str(row["split"]), scores[i], gains[i], seconds[i]) for i, row in enumerate(rows)]
    body.append(line("mean", scores.mean(axis=0), gains.mean(), seconds.mean(axis=0)))
    others = [found["name"] for name, found in methods.items() if name not in ("plain", "boosted")]
    return {
        "title": "By split",
        "caption": f"Test {metric.replace('_', ' ')}{' in %' if metric in SHARES else ''}; "
        "seconds of fit and test",
        "columns": ["split", "plain", "boosted", "gain", *others, "seconds plain", "seconds boosted"],
        "rows": body,
        "last": True,
    }
