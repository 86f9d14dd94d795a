"""How good predictions are: their labels, and their probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sklearn.metrics as sk
from numpy.typing import NDArray
from torch import Tensor

from clgnn.estimators.settings import LOWER_IS_BETTER

Array = NDArray[np.float64]


def calibration_error(y: Array, probabilities: Array, bins: int = 15) -> float:
    """Expected calibration error: how far confidence is from accuracy, over equally wide bins.

    Args:
        y: classes 0..C-1, ``[N]``.
        probabilities: ``[N, C]``.
        bins: of the confidence.

    Example:
        >>> import numpy as np
        >>> calibration_error(np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]]))
        0.5
    """
    found = reliability(y, probabilities, bins)
    gap = np.abs(np.subtract(found["accuracy"], found["confidence"]))
    return float(np.dot(gap, found["count"]) / len(y))


def reliability(y: Array, probabilities: Array, bins: int = 15) -> dict[str, list[float]]:
    """What a reliability diagram shows: by bin of confidence, its mean, the accuracy, and how many nodes.

    Arguments as for :func:`calibration_error`; the mean and the accuracy of an empty bin are 0.

    Example:
        >>> import numpy as np
        >>> reliability(np.array([0, 1]), np.array([[0.9, 0.1], [0.7, 0.3]]), bins=2)
        {'confidence': [0.0, 0.8], 'accuracy': [0.0, 0.5], 'count': [0.0, 2.0]}
    """
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    index = np.minimum((confidence * bins).astype(int), bins - 1)
    count = np.bincount(index, minlength=bins)
    sums = [np.bincount(index, values, minlength=bins) for values in (confidence, correct)]
    means = [(total / np.maximum(count, 1)).tolist() for total in sums]
    return {"confidence": means[0], "accuracy": means[1], "count": count.astype(float).tolist()}


def majority(y: Tensor) -> tuple[int, float]:
    """The most frequent class of integer labels ``[N]``, and its share: the accuracy of always saying it.

    Example:
        >>> import torch
        >>> majority(torch.tensor([2, 5, 5, 5]))
        (5, 0.75)
    """
    values, counts = y.unique(return_counts=True)
    most = int(counts.argmax())
    return int(values[most]), int(counts[most]) / len(y)


def _log_loss(y: Array, p: Array) -> float:
    return float(sk.log_loss(y, p / p.sum(axis=1, keepdims=True), labels=np.arange(p.shape[1])))


def _brier(y: Array, p: Array) -> float:
    labels = np.arange(p.shape[1])
    return float(sk.brier_score_loss(y, p / p.sum(axis=1, keepdims=True), labels=labels, scale_by_half=False))


def _by_class(y: Array, p: Array, score: Callable[[Array, Array], float]) -> float:
    """The mean of a score over the classes, each against the others; of the second class if there are two.

    Classes that all or none of the nodes have do not count; NaN if no class does.
    """
    classes = [1] if p.shape[1] == 2 else range(p.shape[1])
    found = [score(y == c, p[:, c]) for c in classes if 0 < int((y == c).sum()) < len(y)]
    return float(np.mean(found)) if found else float("nan")


CLASSIFICATION: dict[str, Callable[[Array, Array], float]] = {
    # scikit-learn's own checks its input at length, in every epoch
    "accuracy": lambda y, p: float(np.mean(p.argmax(axis=1) == y)),
    # of the classes that are there; scikit-learn's own warns when another one is predicted
    "balanced_accuracy": lambda y, p: float(
        sk.recall_score(y, p.argmax(axis=1), labels=np.unique(y), average="macro", zero_division=0)
    ),
    "macro_f1": lambda y, p: float(
        sk.f1_score(y, p.argmax(axis=1), labels=np.unique(y), average="macro", zero_division=0)
    ),
    "roc_auc": lambda y, p: _by_class(y, p, sk.roc_auc_score),
    "average_precision": lambda y, p: _by_class(y, p, sk.average_precision_score),
    "log_loss": _log_loss,
    "brier": _brier,
    "calibration_error": calibration_error,
}
"""Of true classes ``[N]`` and probabilities ``[N, C]``."""
DECISIONS = ("accuracy", "balanced_accuracy", "macro_f1")
"""Those that judge predicted classes, whatever their probabilities. The F1 score of one class does too."""


WITHIN_90 = 1.6449
"""So many standard deviations to either side of its mean hold 90 % of a Gaussian."""


def _gaussian_log_loss(y: Array, p: Array) -> float:
    mean, std = p.T
    return float(np.mean(0.5 * ((y - mean) / std) ** 2 + np.log(std) + 0.5 * np.log(2 * np.pi)))


REGRESSION: dict[str, Callable[[Array, Array], float]] = {
    "r2": lambda y, p: float(sk.r2_score(y, p[:, 0])) if len(y) > 1 else float("nan"),
    "rmse": lambda y, p: float(sk.root_mean_squared_error(y, p[:, 0])),
    "mae": lambda y, p: float(sk.mean_absolute_error(y, p[:, 0])),
    "log_loss": _gaussian_log_loss,
    "coverage_90": lambda y, p: float(np.mean(np.abs(y - p[:, 0]) <= WITHIN_90 * p[:, 1])),
}
"""Of true values ``[N]`` and the means and standard deviations ``[N, 2]``.

``coverage_90`` is the share of the values within the 90 % intervals: 0.9 is right.
"""


@dataclass(frozen=True)
class Metric:
    """How predictions are judged.

    Attributes:
        name: how it is called.
        measure: of true labels ``[N]`` and of probabilities ``[N, C]`` (means and deviations for numbers).
        lower_is_better: whether a lower value is the better one.
        decides: whether it judges the predicted classes alone, so that a threshold can change it.
    """

    name: str
    measure: Callable[[Array, Array], float]
    lower_is_better: bool = False
    decides: bool = False

    def at(self, threshold: float | None) -> Metric:
        """The metric where the second of two classes is predicted from this probability on.

        A metric of the probabilities themselves stays as it is, and all do without a threshold.

        Example:
            >>> import numpy as np
            >>> accuracy = find_metric("accuracy", CLASSIFICATION)
            >>> accuracy.at(0.3).measure(np.array([0, 1]), np.array([[0.9, 0.1], [0.6, 0.4]]))
            1.0
        """
        if threshold is None or not self.decides:
            return self
        return replace(self, measure=lambda y, p: self.measure(y, decisions(p, threshold)))


def decisions(probabilities: Array, threshold: float) -> Array:
    """Certainty of the second of two classes from a probability on, of the first below it, ``[N, 2]``.

    Example:
        >>> import numpy as np
        >>> decisions(np.array([[0.9, 0.1], [0.6, 0.4]]), 0.4).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    second = probabilities[:, 1] >= threshold
    return np.stack([~second, second], axis=1).astype(np.float64)


def find_metric(
    metric: str | Callable[[Array, Array], float],
    known: Mapping[str, Callable[[Array, Array], float]],
    classes: Sequence[Any] | None = None,
) -> Metric:
    """A metric by its name, or a function of one's own.

    Args:
        metric: one of ``known``; for classes also ``"f1:CLASS"``, the F1 score of one class, and
            ``"accuracy@0.3"``, the accuracy if the second of two classes is predicted from a probability of
            0.3 on; or a function of true classes 0..C-1 ``[N]`` and probabilities ``[N, C]``, where higher is
            better.
        known: the metrics that there are.
        classes: the classes as a user calls them; None before they are known, or for numbers.

    Raises:
        ValueError: if there is no such metric.

    Example:
        >>> import numpy as np
        >>> y, p = np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
        >>> [round(find_metric(m, CLASSIFICATION, [3, 7]).measure(y, p), 2) for m in ("f1:7", "accuracy@0.3")]
        [0.67, 1.0]
    """
    if callable(metric):
        return Metric(getattr(metric, "__name__", type(metric).__name__), metric)
    if not isinstance(metric, str):
        raise ValueError(f"metric is {metric!r}; expected one of {', '.join(known)}, or a function")
    if metric in known:
        return Metric(metric, known[metric], metric in LOWER_IS_BETTER, metric in DECISIONS)
    name, mark, rest = metric.partition("@") if "@" in metric else metric.partition(":")
    if name == "f1" and mark == ":" and known is CLASSIFICATION:
        if classes is None:
            return Metric(metric, known["macro_f1"], decides=True)  # yet to be known
        texts = [str(c) for c in classes]
        if rest in texts:
            c = texts.index(rest)
            return Metric(metric, lambda y, p: _f1(y == c, p.argmax(axis=1) == c), decides=True)
        raise ValueError(f"metric is {metric!r}; expected a class after f1:, one of {', '.join(texts)}")
    if name == "accuracy" and mark == "@" and known is CLASSIFICATION and _is_share(rest):
        threshold = float(rest)
        if classes is not None and len(classes) != 2:
            raise ValueError(f"metric is {metric!r}, which is for two classes; there are {len(classes)}")
        return Metric(metric, lambda y, p: float(np.mean((p[:, 1] >= threshold) == (y == 1))))
    further = ", f1:CLASS or accuracy@0.5" if known is CLASSIFICATION else ""
    raise ValueError(f"metric is {metric!r}; expected one of {', '.join(known)}{further}, or a function")


def _f1(y: Any, predicted: Any) -> float:
    return float(sk.f1_score(y, predicted, zero_division=0))


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def as_array(tensor: Tensor) -> Array:
    return np.asarray(tensor.detach().cpu().double().numpy())


__all__ = [
    "CLASSIFICATION",
    "DECISIONS",
    "LOWER_IS_BETTER",
    "REGRESSION",
    "Array",
    "Metric",
    "as_array",
    "calibration_error",
    "decisions",
    "find_metric",
    "majority",
    "reliability",
]
