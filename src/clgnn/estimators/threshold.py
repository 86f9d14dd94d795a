"""The probability from which on a node is of the second of two classes, chosen by a metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clgnn.estimators.metrics import CLASSIFICATION, DECISIONS, Array, Metric, decisions, find_metric

MOST = 1000
"""So many thresholds are tried; of more, as many that lie evenly among the nodes."""


def threshold_metric(metric: str | Callable[[Array, Array], float], classes: Sequence[Any]) -> Metric:
    """The metric that a threshold for these classes is chosen by.

    Raises:
        ValueError: if there are not two classes, or if no threshold can change the metric.

    Example:
        >>> threshold_metric("f1:7", [3, 7]).name
        'f1:7'
        >>> threshold_metric("roc_auc", [3, 7])
        Traceback (most recent call last):
        ValueError: metric is 'roc_auc', which no threshold changes; expected accuracy, balanced_accuracy, ...
    """
    if len(classes) != 2:
        names = ", ".join(str(c) for c in classes[:5]) + ", .." * (len(classes) > 5)
        raise ValueError(
            f"a threshold is for two classes, and there are {len(classes)} ({names}): leave it out"
        )
    found = find_metric(metric, CLASSIFICATION, classes)
    if not found.decides and not callable(metric):
        raise ValueError(
            f"metric is {metric!r}, which no threshold changes; expected {', '.join(DECISIONS)} or f1:CLASS"
        )
    return found


def best_threshold(y: Array, probabilities: Array, metric: Metric) -> float:
    """The threshold with the best metric; of equals the one that is nearest to 0.5.

    Args:
        y: classes 0 and 1, ``[N]``.
        probabilities: ``[N, 2]``.
        metric: what is to be as high as possible, of classes and decisions.

    Raises:
        ValueError: if all labels are of one class, or if the metric is NaN for every threshold.

    Example:
        >>> p = np.array([0.1, 0.2, 0.4])
        >>> accuracy = threshold_metric("accuracy", [0, 1])
        >>> round(best_threshold(np.array([0, 1, 1]), np.stack([1 - p, p], axis=1), accuracy), 2)
        0.15
    """
    if len(np.unique(y)) < 2:
        raise ValueError(
            "all labels that are to choose the threshold are of one class; expected some of both: choose "
            "other validation nodes"
        )
    places = np.unique(np.concatenate([[0.0, 1.0], probabilities[:, 1]]))
    between = (places[1:] + places[:-1]) / 2
    if len(between) > MOST:
        between = between[np.linspace(0, len(between) - 1, MOST).round().astype(int)]
    tried: list[float] = sorted([0.5, *between.tolist()], key=lambda threshold: abs(threshold - 0.5))
    scores = [metric.measure(y, decisions(probabilities, threshold)) for threshold in tried]
    if np.isnan(scores).all():
        raise ValueError(f"{metric.name} is NaN for every threshold; choose it by another metric")
    return tried[int(np.nanargmax(scores))]
