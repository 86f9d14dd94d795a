"""The content of a report on one model, judged where the labels are known."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clgnn.metrics import LOWER_IS_BETTER, as_array, reliability
from clgnn.report.trials import describe, pooled

_MAX_POINTS = 1000


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
) -> dict[str, Any]:
    """The content of a page on one model, judged where the labels are known.

    Args:
        values: the metrics.
        y: the judged labels, ``[N]``: classes 0..C-1, or reals for regression.
        predicted: the probabilities ``[N, C]``; means and standard deviations ``[N, 2]`` for regression.
        settings: of the model.
        classes: the class names, in order; None for regression.
        labels_seen: how many labels the model saw.
        name: of the model.
        graph: from :func:`clgnn.report.graph_view.view`.
    """
    content: dict[str, Any] = {
        "kind": "evaluation",
        "title": f"{name}: how good its predictions are",
        "lead": f"Judged on {len(y):,} nodes with a known label; the model was shown {labels_seen:,} labels.",
        "facts": [["Kind", str(settings.get("kind", "model"))], *made_now()],
        "notes": [],
        "settings": {
            setting: plain_setting(value) for setting, value in settings.items() if setting != "kind"
        },
        "tables": [
            {
                "title": "Metrics",
                "caption": "On all judged nodes; lower is better where it says so",
                "columns": ["metric", "value"],
                "rows": [
                    [
                        metric.replace("_", " ")
                        + (" (lower is better)" if metric in LOWER_IS_BETTER else ""),
                        _number(value),
                    ]
                    for metric, value in values.items()
                ],
            }
        ],
        "graph": graph,
    }
    if classes is None:
        chosen = np.linspace(0, len(y) - 1, min(len(y), _MAX_POINTS)).astype(int)
        points = zip(as_array(y)[chosen], *as_array(predicted)[chosen].T, strict=True)
        content["scatter"] = [[true, mean, std] for true, mean, std in points]
        return content
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (y.cpu().numpy(), predicted.argmax(dim=1).cpu().numpy()), 1)
    content["confusion"] = {"classes": list(classes), "counts": counts.tolist()}
    content["tables"].append(_by_class(counts, classes))
    content["datasets"] = {"": {"name": name, "metric": "accuracy", "unit": "%", "mark": ""}}
    content["methods"] = {
        "model": {**describe(name), "name": name, "family": "model", "family_name": name, "kind": "cl"}
    }
    content["cells"] = [
        {
            "dataset": "",
            "labels": 0,
            "percent": 0,
            "method": "model",
            "reliability": pooled([reliability(as_array(y), as_array(predicted))]),
        }
    ]
    return content


def _by_class(counts: NDArray[np.int64], classes: Sequence[str]) -> dict[str, Any]:
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


def made_now() -> list[list[str]]:
    """When and with what a page was made."""
    return [
        ["Made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")],
        [
            "Versions",
            f"clgnn {version('clgnn')}, torch {torch.__version__}, Python {platform.python_version()}",
        ],
    ]


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.4f}"


def plain_setting(value: Any) -> Any:
    """A setting as JSON can say it; code by its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return getattr(value, "__qualname__", None) or type(value).__qualname__
