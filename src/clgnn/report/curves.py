"""ROC and precision-recall curves of a classifier, thinned to what a picture can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

MAX_POINTS = 200
MAX_CLASSES = 8


def curves(
    y: NDArray[Any], probabilities: NDArray[Any], classes: Sequence[str]
) -> dict[str, dict[str, Any]] | None:
    """The ROC and precision-recall curves of a classifier.

    Of two classes the rarer one is the one to find. Of several, each is told from all others; the largest
    ones are drawn, and the macro value is the mean over all that have nodes.

    Args:
        y: the true classes 0..C-1, ``[N]``.
        probabilities: ``[N, C]``.
        classes: the names of the classes.

    Returns:
        ``roc`` and ``precision_recall``: ``curves`` with ``name``, ``x``, ``y``, ``area`` and the ``share``
        of its nodes; ``macro``, their mean area; and how many classes were ``left_out`` of the picture. None
        if all nodes are of one class.

    Example:
        >>> y, p = np.array([0, 0, 0, 1]), np.array([0.1, 0.2, 0.3, 0.8])
        >>> found = curves(y, np.stack([1 - p, p], axis=1), ["no", "yes"])["roc"]
        >>> [one["name"] for one in found["curves"]], found["macro"]
        (['yes'], 1.0)
    """
    sizes = np.bincount(y, minlength=len(classes))
    there = np.flatnonzero(sizes)
    if len(there) < 2:
        return None
    ordered = there[np.argsort(-sizes[there], kind="stable")]
    wanted = ordered[1:] if len(classes) == 2 else ordered
    found = [(int(c), _of_class(y == c, probabilities[:, c])) for c in wanted]
    drawn = sorted(found[:MAX_CLASSES], key=lambda one: one[0])
    result = {}
    for kind in ("roc", "precision_recall"):
        result[kind] = {
            "curves": [
                {"name": str(classes[c]), "share": float(sizes[c] / len(y)), **both[kind]}
                for c, both in drawn
            ],
            "macro": float(np.mean([both[kind]["area"] for _, both in found])),
            "left_out": len(found) - len(drawn),
        }
    return result


def _of_class(is_it: NDArray[np.bool_], score: NDArray[Any]) -> dict[str, dict[str, Any]]:
    wrong, right, _ = roc_curve(is_it, score)
    precision, recall, _ = precision_recall_curve(is_it, score)
    area = float(average_precision_score(is_it, score))
    return {
        "roc": {"x": _thinned(wrong), "y": _thinned(right), "area": float(auc(wrong, right))},
        "precision_recall": {"x": _thinned(recall), "y": _thinned(precision), "area": area},
    }


def _thinned(values: NDArray[Any]) -> list[float]:
    """At most :data:`MAX_POINTS` of the values, the first and the last among them."""
    chosen = np.linspace(0, len(values) - 1, min(len(values), MAX_POINTS)).round().astype(int)
    return [round(float(value), 4) for value in values[chosen]]
