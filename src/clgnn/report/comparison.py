"""The content of a report on a plain GNN and its boosted self, side by side on a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

from clgnn.graph import Graphs, Mask, as_list, as_mask, known
from clgnn.metrics import LOWER_IS_BETTER, as_array, reliability
from clgnn.report.evaluation import made_now, plain_setting
from clgnn.report.graph_view import view_split
from clgnn.report.names import TRAINS_ON_TEST_GRAPH
from clgnn.report.trials import describe, pooled
from clgnn.splits import Split

_SHARES = frozenset({"accuracy", "balanced_accuracy", "macro_f1"})  # shown in percent


class Comparison:
    """What a report needs of every model, kept while they come and go.

    Args:
        data: the graph, or the graphs.
    """

    def __init__(self, data: Graphs) -> None:
        self.data = data
        self.settings: dict[str, dict[str, Any]] = {}
        self.bins: dict[str, list[dict[str, list[Any]]]] = {}
        self.first: tuple[Split[Any], dict[str, Tensor]] | None = None  # a split, and what was predicted

    def add(self, name: str, model: Any, split: Split[Any], observed_mask: Mask | None) -> None:
        """Keeps the settings and the predictions of a fitted model."""
        found = model.predict_proba(self.data, observed_mask)
        probabilities = torch.cat(found) if isinstance(found, list) else found
        y = torch.cat([graph.y for graph in as_list(self.data)])
        test = as_mask(split.test_mask, self.data, "test_mask") & known(y)
        truth = torch.searchsorted(model.classes_, y[test].contiguous())
        self.bins.setdefault(name, []).append(reliability(as_array(truth), as_array(probabilities[test])))
        self.settings.setdefault(name, model.get_params(deep=False))
        if self.first is None:
            self.first = (split, {})
        if self.first[0] is split:
            self.first[1][name] = model.classes_[probabilities.argmax(dim=1)]

    def content(
        self, dataset: str, metric: str, rows: Sequence[Mapping[str, Any]], gnn: str, test_label_percent: int
    ) -> dict[str, Any]:
        """The content of the page; arguments as for :func:`from_comparison`."""
        if self.first is None:
            raise ValueError("no model was added; expected the plain and the boosted one of a split at least")
        split, predicted = self.first
        shown = {name: predicted[name] for name in ("plain", "boosted")}
        caption = f"{gnn} plain and boosted on {dataset}, the first split. Ringed nodes are predicted wrong."
        labels = int(as_mask(split.train_mask, self.data, "train_mask").sum())
        return from_comparison(
            dataset, metric, rows, self.settings, gnn=gnn, train_labels=labels,
            test_label_percent=test_label_percent, bins=self.bins,
            graph=view_split(self.data, shown, split, caption),
        )  # fmt: skip


def from_comparison(
    dataset: str,
    metric: str,
    rows: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Mapping[str, Any]],
    *,
    gnn: str = "gcn",
    train_labels: int = 0,
    test_label_percent: int = 0,
    bins: Mapping[str, Sequence[dict[str, list[Any]]]] | None = None,
    graph: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of a page on a plain GNN and its boosted self, split by split.

    Args:
        dataset, metric: their names.
        rows: one a split: ``split``, ``plain``, ``boosted``, a column a rival, and the
            ``<name>_seconds`` of each.
        settings: of each of them, by name.
        gnn: the name of the GNN.
        train_labels, test_label_percent: of the splits.
        bins: the :func:`~clgnn.metrics.reliability` of each split, by name.
        graph: of the first split, from :func:`clgnn.report.graph_view.view`.
    """
    share = metric in _SHARES
    scale = 100.0 if share else 1.0
    sign = -1 if metric in LOWER_IS_BETTER else 1
    names = list(settings)
    values = {name: scale * np.array([row[name] for row in rows], dtype=float) for name in names}
    best = max(names, key=lambda name: sign * values[name].mean())
    cells = []
    for name in names:
        gains = values[name] - values["plain"] if name == "boosted" else None
        kept = {setting: value for setting, value in settings[name].items() if setting != "seed"}
        cells.append({
            "dataset": dataset, "labels": train_labels, "percent": test_label_percent, "method": name,
            "base": None if gains is None else "plain", "n": len(rows), "failed": 0,
            "mean": values[name].mean(), "se": _error(values[name]),
            **(_gain(gains, sign) if gains is not None else {}),
            "best": name == best,
            "seconds": np.mean([row[f"{name}_seconds"] for row in rows]),
            "settings": {setting: plain_setting(value) for setting, value in kept.items()},
            "trials": [
                {
                    "trial": row["split"], "value": values[name][i],
                    "gain": None if gains is None else gains[i], "settings": {},
                    "seconds": row[f"{name}_seconds"],
                }
                for i, row in enumerate(rows)
            ],
            "reliability": pooled(list((bins or {}).get(name, ()))),
        })  # fmt: skip
    called = {"plain": f"{gnn}, plain", "boosted": f"{gnn}, boosted"}
    methods = {name: {**describe(name), "name": called.get(name, describe(name)["name"])} for name in names}
    for name, kind in (("plain", "plain"), ("boosted", "cl")):
        methods[name] |= {"family": gnn, "family_name": gnn, "kind": kind}
    for name in names:
        methods[name]["group"] = ""
    notes = [
        "The interval of the gain is 95 %, by Student's t over the splits; p is of a two-sided paired t-test."
    ]
    if sign < 0:
        notes.append(
            f"{metric.replace('_', ' ').capitalize()} is the better the lower it is: a good gain is negative."
        )
    if set(TRAINS_ON_TEST_GRAPH) & set(names) and test_label_percent:
        notes.append(
            "† These train on the labels of the test graph, which the others only see when they predict."
        )
    seconds = sum(row[f"{name}_seconds"] for row in rows for name in names)
    return {
        "kind": "comparison",
        "title": f"{dataset}: {gnn} plain and boosted",
        "lead": f"The same GNN without and with collective learning on {len(rows)} random "
        f"split{'s' if len(rows) > 1 else ''}, by the same loop and with as many gradient steps at most.",
        "facts": [["Splits", str(len(rows))], *made_now(), ["Time", f"{seconds:,.0f} seconds of fits"]],
        "notes": notes,
        "datasets": {
            dataset: {
                "name": dataset,
                "metric": metric.replace("_", " "),
                "unit": "%" if share else "",
                "mark": "",
            }
        },
        "methods": methods,
        "cells": cells,
        "tables": [_by_split(rows, names, methods, values, metric, share)],
        "graph": graph,
    }


def _gain(gains: NDArray[np.float64], sign: int) -> dict[str, Any]:
    error = _error(gains)
    if error is None:
        return {"gain": gains.mean()}
    reach = float(stats.t.ppf(0.975, len(gains) - 1)) * error
    p = float(2 * stats.t.sf(abs(gains.mean()) / error, len(gains) - 1)) if error > 0 else None
    return {
        "gain": gains.mean(),
        "gain_se": error,
        "low": gains.mean() - reach,
        "high": gains.mean() + reach,
        "p": p,
        "significant": p is not None and p < 0.05 and sign * gains.mean() > 0,
    }


def _by_split(
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    methods: Mapping[str, Any],
    values: Mapping[str, NDArray[np.float64]],
    metric: str,
    share: bool,
) -> dict[str, Any]:
    digits = 2 if share else 4
    gains = values["boosted"] - values["plain"]
    others = [name for name in names if name not in ("plain", "boosted")]

    def line(first: str, numbers: Sequence[float], gain: float, seconds: Sequence[float]) -> list[str]:
        plain, boosted, *rest = (f"{number:.{digits}f}" for number in numbers)
        return [first, plain, boosted, f"{gain:+.{digits}f}", *rest, *(f"{second:.1f}" for second in seconds)]

    body = [
        line(
            str(row["split"]),
            [values[name][i] for name in names],
            gains[i],
            [row["plain_seconds"], row["boosted_seconds"]],
        )
        for i, row in enumerate(rows)
    ]
    seconds = [float(np.mean([row[f"{name}_seconds"] for row in rows])) for name in ("plain", "boosted")]
    body.append(line("mean", [values[name].mean() for name in names], gains.mean(), seconds))
    headings = ["split", "plain", "boosted", "gain", *(methods[name]["name"] for name in others)]
    return {
        "title": "By split",
        "caption": f"Test {metric.replace('_', ' ')}{' in %' if share else ''}; seconds of fit and test",
        "columns": [*headings, "seconds plain", "seconds boosted"],
        "rows": body,
        "last": True,
    }


def _error(values: NDArray[np.float64]) -> float | None:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
