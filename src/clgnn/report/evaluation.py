"""The content of a report on one model, judged where the labels are known."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clgnn import __version__
from clgnn.estimators.metrics import LOWER_IS_BETTER, as_array, reliability
from clgnn.report.calibration import pooled
from clgnn.report.curves import curves
from clgnn.report.headline import of_classes, of_numbers, share
from clgnn.report.trials import describe

if TYPE_CHECKING:
    from clgnn.estimators.explanation import Explanation

_MAX_POINTS = 1000
_INDEPENDENT = (
    "Intervals are 95 %: Wilson's for shares, Student's t for the mean squared error. They take the judged "
    "nodes for independent; neighbours in a graph are alike, so the answer is less sure than they say."
)


def from_evaluation(
    values: Mapping[str, float],
    y: Tensor,
    predicted: Tensor,
    settings: Mapping[str, Any],
    *,
    classes: Sequence[str] | None = None,
    labels_seen: int = 0,
    name: str = "model",
    graph: dict[str, Any] | None = None,
    decided: Tensor | None = None,
) -> dict[str, Any]:
    """The content of a page on one model, judged where the labels are known.

    Args:
        values: the metrics, by name.
        y: the judged labels, ``[N]``: classes 0..C-1, or reals for regression.
        predicted: the probabilities ``[N, C]``; means and standard deviations ``[N, 2]`` for regression.
        settings: the settings of the model, and its ``kind``.
        classes: the class names, in order; None for regression.
        labels_seen: how many labels the model saw.
        name: the name of the model.
        graph: from :func:`clgnn.report.graph_view.view`.
        decided: the predicted classes ``[N]``; by default the most probable ones.
    """
    content: dict[str, Any] = {
        "kind": "evaluation",
        "name": name,
        "title": f"{name}: how good its predictions are",
        "lead": f"Judged on {len(y):,} nodes with a known label; the model was shown {labels_seen:,} labels.",
        "facts": [["Kind", str(settings.get("kind", "model"))], *made_now()],
        "notes": [_INDEPENDENT],
        "settings": {
            setting: plain_setting(value) for setting, value in settings.items() if setting != "kind"
        },
        "tables": [_metrics(values)],
        "graph": graph,
    }
    if classes is not None:
        decided = predicted.argmax(dim=1) if decided is None else decided
        return content | _of_classes(y, predicted, decided, classes, name, content["tables"])
    chosen = np.linspace(0, len(y) - 1, min(len(y), _MAX_POINTS)).astype(int)
    points = zip(as_array(y)[chosen], *as_array(predicted)[chosen].T, strict=True)
    said = of_numbers(name, as_array(y), as_array(predicted)[:, 0])
    return content | said | {"scatter": [[true, mean, std] for true, mean, std in points]}


def _metrics(values: Mapping[str, float]) -> dict[str, Any]:
    """The table of the metrics."""
    hint = dict.fromkeys(LOWER_IS_BETTER, " (lower is better)")
    return {
        "title": "Metrics",
        "caption": "On all judged nodes; lower is better where it says so",
        "columns": ["metric", "value"],
        "rows": [
            [f"{metric.replace('_', ' ')}{hint.get(metric, '')}", "–" if np.isnan(value) else f"{value:.4f}"]
            for metric, value in values.items()
        ],
    }


def _of_classes(
    y: Tensor,
    predicted: Tensor,
    decided: Tensor,
    classes: Sequence[str],
    name: str,
    tables: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """What a page shows of a classifier alone."""
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (y.cpu().numpy(), decided.cpu().numpy()), 1)
    said = of_classes(name, counts, classes)
    right, sizes = np.diag(counts).tolist(), counts.sum(axis=1).tolist()
    said["answer"]["classes"] = [
        {"name": str(one), "nodes": n, **share(k, n)} for one, k, n in zip(classes, right, sizes, strict=True)
    ]
    called = {"name": name, "family": "model", "family_name": name, "kind": "cl"}
    cell = {"dataset": "", "labels": 0, "percent": 0, "method": "model"}
    return {
        **said,
        **(curves(y.cpu().numpy(), as_array(predicted), classes) or {}),
        "confusion": {"classes": list(classes), "counts": counts.tolist()},
        "tables": [*tables, _by_class(counts, classes)],
        "datasets": {"": {"name": name, "metric": "accuracy", "unit": "%", "lower": False, "mark": ""}},
        "methods": {"model": {**describe(name), **called}},
        "cells": [cell | {"reliability": pooled([reliability(as_array(y), as_array(predicted))])}],
    }


def _by_class(counts: NDArray[np.int64], classes: Sequence[str]) -> dict[str, Any]:
    """The table of precision, recall and F1 of each class."""
    right, true, said = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)

    def ratio(part: Any, whole: Any) -> str:
        return f"{100 * part / whole:.1f}" if whole else "–"

    return {
        "title": "By class",
        "caption": "In %: of those predicted to be of the class, how many are (precision); of the class, how "
        "many were found (recall); and their harmonic mean (F1)",
        "columns": ["class", "nodes", "precision", "recall", "F1"],
        "rows": [
            [
                name,
                f"{true[c]:,}",
                ratio(right[c], said[c]),
                ratio(right[c], true[c]),
                ratio(2 * right[c], said[c] + true[c]),
            ]
            for c, name in enumerate(classes)
        ],
    }


def explanation_tables(found: Explanation, node: str, top: int = 10) -> list[dict[str, Any]]:
    """The tables of what the prediction of a node rests on, the ``top`` rows of each."""
    said = f"Node {node} is predicted to be {found.prediction}, by iteration {found.iteration}. It rests on "
    words = {
        "edges": "these edges most",
        "features": "these columns most, its own or those of nodes around it",
        "labels": "these labels most; p(..) is the share of the label samples that showed a class",
    }
    return [
        {
            "title": f"Why node {node}: {name}",
            "caption": said + words[name],
            "columns": [str(column) for column in table.columns],
            "rows": [
                [f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row]
                for row in table.head(top).itertuples(index=False)
            ],
        }
        for name, table in (("edges", found.edges), ("features", found.features), ("labels", found.labels))
        if len(table)
    ]


def made_now() -> list[list[str]]:
    """The facts of a page on when it was made, and with what."""
    return [
        ["Made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")],
        ["Versions", f"clgnn {__version__}, torch {torch.__version__}, Python {platform.python_version()}"],
    ]


def plain_setting(value: Any) -> Any:
    """A setting as JSON can say it: numbers and texts as they are, code by its name.

    Example:
        >>> plain_setting({"start": ["plain", "ica"], "gnn": len})
        {'start': ['plain', 'ica'], 'gnn': 'len'}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain_setting(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_setting(part) for part in value]
    return getattr(value, "__qualname__", None) or type(value).__qualname__
